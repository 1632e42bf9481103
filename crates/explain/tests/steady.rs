//! Causes that every packet pays, planted in simulated runs: the first sentence names each, whether there is another
//! condition to hold it against or only the minimum delay of the path.

use crate::causes::explain;
use delaylab_explain::causes::Explanation;
use delaylab_explain::causes::spent::Component;
use delaylab_stats::attribution::LateCause;

/// Two hosts and a switch, a packet each 20 ms, and what is planted.
fn experiment(payload: &str, planted: &str) -> String {
    format!(
        r#"
name = "steady"
title = "Delays that are always there"
world = "sim"

[[probe]]
name = "echo"
method = "udp"
payload = "{payload}"
pacing = {{ poisson = "20ms" }}
duration = "3s"

[path]
topology = "two-hosts"
framing = "ethernet"
rate = "100Mbit/s"
propagation = "100us"

{planted}
"#
    )
}

/// The same between nodes that are listed, so that they may differ.
fn with_nodes(planted: &str) -> String {
    let text = experiment("64B", "").replace("topology = \"two-hosts\"\n", "");
    format!(
        r#"{text}
[[path.link]]
name = "left"
from = "a"
to = "s1"

[[path.link]]
name = "right"
from = "s1"
to = "b"

[[path.node]]
name = "a"
kind = "host"

[[path.node]]
name = "s1"
kind = "switch"

[[path.node]]
name = "b"
kind = "host"
{planted}
"#
    )
    .replace(
        "method = \"udp\"",
        "method = \"udp\"\nfrom = \"a\"\nto = \"b\"",
    )
}

const FLOOD: &str = r#"
[[load]]
name = "flood"
kind = "cbr"
rate = "12Mbit/s"
payload = "1200B"

[path.line.b1]
rate = "10Mbit/s"
"#;

fn full_buffer(buffer: &str) -> String {
    format!("{FLOOD}\n[path.switch]\ndiscipline = \"fifo\"\nbuffer = \"{buffer}\"\n")
}

fn first_sentence(found: &Explanation) -> String {
    let answer = found.answer();
    let (first, _) = answer.split_once(". ").unwrap_or((&answer, ""));
    first.to_owned()
}

/// All of these are in the first sentence, and what is spent adds up to the response.
fn assert_said(text: &str, expected: &[&str]) -> Explanation {
    let found = explain(text, 7);
    let first = first_sentence(&found);
    for words in expected {
        assert!(first.contains(words), "no `{words}` in: {}", found.answer());
    }
    for condition in &found.slow.conditions {
        let all: f64 = condition.spent.iter().map(|spent| spent.ns).sum();
        assert!((all - condition.usual_ns).abs() < 1.0, "{condition:#?}");
    }
    found
}

#[test]
fn a_full_buffer_is_named_in_a_run_of_one_condition() {
    let found = assert_said(
        &experiment("64B", &full_buffer("60KB")),
        &["waiting in the queue of s1→b1", "which was full"],
    );
    let condition = &found.slow.conditions[0];
    assert!(condition.is_slow() && condition.queues["s1→b1"].is_full);
    let answer = found.answer();
    assert!(answer.contains("The run's own load (flood)"));
    // What was lost has no delay: it is said, with where.
    let dropped = "the queue of s1→b1 dropped packets (the buffer was full)";
    assert!(
        answer.contains("packets were lost") && answer.contains(dropped),
        "{answer}"
    );
    assert!(condition.loss_share > 0.0, "{condition:#?}");
}

#[test]
fn every_probe_knows_of_the_full_buffer_and_of_the_load_that_fills_it() {
    let other = "\n[[probe]]\nname = \"other\"\nmethod = \"udp\"\npayload = \"64B\"\npacing = { poisson = \"20ms\" }\n\
                 duration = \"3s\"\n\n[[load]]\nname = \"back\"\nkind = \"cbr\"\nrate = \"1Mbit/s\"\npayload = \"1200B\"\n\
                 direction = \"down\"\n";
    let found = explain(&experiment("64B", &(full_buffer("60KB") + other)), 7);
    assert_eq!(found.slow.conditions.len(), 2);
    for condition in &found.slow.conditions {
        assert!(condition.queues["s1→b1"].is_full, "{condition:#?}");
    }
    let said = found.slow_answer();
    assert!(
        said.contains("The run's own load (flood) goes through this queue."),
        "{said}"
    );
}

/// Levels that change nothing: the repeats of one are the simulations of the other.
#[test]
fn copies_of_a_simulation_have_its_late_packets_and_no_more() {
    let text = experiment(
        "64B",
        "[path.switch]\ndiscipline = \"fifo\"\nbuffer = \"100KB\"\n[sweep]\nbuffer = { set = \"path.switch.buffer\", to = \
         [\"100KB\", \"200KB\"] }\n[design]\nrepeats = 3\n[[load]]\nname = \"burst\"\nkind = \"on-off\"\nrate = \"90Mbit/s\"\n\
         on = \"5ms\"\noff = \"200ms\"\npayload = \"1000B\"\n",
    );
    let found = explain(&text.replace("poisson", "every"), 7);
    assert_eq!((found.trials, found.repeated), (3, 3));
    assert!(found.late > 0, "{found:#?}");
    for condition in &found.slow.conditions {
        assert_eq!(
            (condition.late_packets(), condition.answered),
            (found.late, found.answered)
        );
        assert!(condition.mean_ns > condition.usual_ns, "{condition:#?}");
    }
    assert!(
        !found.late_answer().contains("of that in"),
        "{}",
        found.late_answer()
    );
}

#[test]
fn a_full_buffer_is_named_against_a_shorter_one() {
    let swept = "\n[sweep]\nbuffer = { set = \"path.switch.buffer\", to = [\"3KB\", \"60KB\"] }\n";
    let text = experiment("64B", &(full_buffer("60KB") + swept));
    let expected = ["the queue of s1→b1", "which was full", "of buffer 60KB"];
    let found = assert_said(&text, &expected);
    assert!(
        found.answer().contains("as long as buffer 3KB"),
        "{}",
        found.answer()
    );
}

#[test]
fn a_slow_link_is_named_in_a_run_of_one_condition() {
    let slow = "[path.line.b1]\nrate = \"2Mbit/s\"\n";
    let expected = ["serialisation on the link s1–b1", "2.00 Mbit/s"];
    assert_said(&experiment("1200B", slow), &expected);
}

#[test]
fn links_that_are_all_slow_are_named_together() {
    let text = experiment("1200B", "").replace("100Mbit/s", "1Mbit/s");
    assert_said(&text, &["serialisation on the links of the path"]);
}

#[test]
fn a_frame_goes_one_way_and_a_switch_s_own_time_is_no_serialisation() {
    let frames = "method = \"frame\"\nframe_size = \"1518B\"";
    let text = experiment("64B", "[path.switch]\nlatency = \"100us\"\n")
        .replace("method = \"udp\"\npayload = \"64B\"", frames)
        .replace("poisson = \"20ms\"", "load = \"2%\"");
    let found = explain(&text, 7);
    let condition = &found.slow.conditions[0];
    let links = condition.in_component(&Component::Links);
    // Two links, 1538 octets each at 100 Mbit/s.
    assert!((links - 246_080.0).abs() < 1.0, "{condition:#?}");
}

#[test]
fn a_slow_link_is_named_against_a_fast_one() {
    let swept = "[path.line.b1]\nrate = \"2Mbit/s\"\n[sweep]\nlink = { set = \"path.line.b1.rate\", to = \
                 [\"2Mbit/s\", \"100Mbit/s\"] }\n";
    let expected = ["of link 2Mbit/s", "serialisation on the link s1–b1"];
    assert_said(&experiment("1200B", swept), &expected);
}

/// What the experiment made of a path is not what is slow beside a queue, however much longer that path takes.
#[test]
fn a_queue_comes_before_the_distance_of_another_path() {
    let text = experiment("64B", &full_buffer("6KB"));
    let cases = "[[case]]\nname = \"near\"\n[[case]]\nname = \"far\"\nset = { \"path.propagation\" = \"35ms\", \
                 \"load.flood.rate\" = \"10kbit/s\" }\n";
    let found = assert_said(&(text + cases), &["of case near", "the queue of s1→b1"]);
    let far = &found.slow.conditions[1];
    let main = far.main().map(|main| main.component);
    assert!(far.is_slow(), "{far:#?}");
    assert_eq!(main, Some(Component::Propagation));
}

#[test]
fn a_busy_reflector_is_named_in_a_run_of_one_condition() {
    let text = with_nodes("host = { per_packet = \"3ms\" }");
    assert_said(&text, &["reflector's host"]);
}

#[test]
fn a_busy_reflector_is_named_against_an_idle_one() {
    let text = with_nodes("host = { per_packet = \"3ms\" }")
        + "\n[sweep]\ncost = { set = \"path.node.b.host.per_packet\", to = [\"3ms\", \"10us\"] }\n";
    assert_said(&text, &["of cost 3ms", "reflector's host"]);
}

#[test]
fn the_stages_of_the_prober_are_its_host_together() {
    let text = experiment("64B", "[path.host]\nper_packet = \"3ms\"\n");
    assert_said(
        &text.replace("poisson", "every"),
        &["time in the prober's host ("],
    );
}

/// A reflector that takes about as long as a full queue, or less than the distance.
#[test]
fn a_second_cause_is_named_as_well() {
    let paced =
        |planted: &str| with_nodes(planted).replace("poisson = \"20ms\"", "every = \"40ms\"");
    // The load goes to a host of its own.
    let other = "\n[[path.link]]\nname = \"trunk\"\nfrom = \"s1\"\nto = \"s2\"\nrate = \"10Mbit/s\"\n\n\
                 [[path.link]]\nname = \"sink\"\nfrom = \"s2\"\nto = \"c\"\n\n\
                 [[path.node]]\nname = \"s2\"\nkind = \"switch\"\n\n\
                 [[path.node]]\nname = \"c\"\nkind = \"host\"\n\n\
                 [[load]]\nname = \"flood\"\nkind = \"cbr\"\nfrom = \"a\"\nto = \"c\"\nrate = \"12Mbit/s\"\n\
                 payload = \"1200B\"\n\n[path.switch]\ndiscipline = \"fifo\"\nbuffer = \"15KB\"\n";
    let queue = paced(&format!("host = {{ per_packet = \"8ms\" }}\n{other}"));
    let queue = queue.replace("from = \"s1\"\nto = \"b\"", "from = \"s2\"\nto = \"b\"");
    assert_said(
        &queue,
        &[
            "is time in the reflector's host: 16.",
            "is waiting in the queue of s1→s2, which was full",
        ],
    );
    let far = paced("host = { per_packet = \"8ms\" }");
    let far = far.replace("propagation = \"100us\"", "propagation = \"10ms\"");
    assert_said(
        &far,
        &[
            "71 % of the response of 56.0 ms ",
            "is the minimum delay of its path (40.0 ms propagation",
            "; 29 % is time in the reflector's host: 16.0 ms",
        ],
    );
}

#[test]
fn a_path_without_queues_is_not_slow() {
    let found = assert_said(&experiment("64B", ""), &["the minimum delay of its path"]);
    assert!(!found.slow.conditions[0].is_slow());
    let swept = "[sweep]\nlatency = { set = \"path.switch.latency\", to = [\"1us\", \"2us\"] }\n[path.switch]\n\
                 latency = \"1us\"\n";
    assert_said(&experiment("64B", swept), &["No combination is slow"]);
}

/// A packet is in each switch for so long, whatever the network carries: it is known, and is part of the least delay.
#[test]
fn the_latency_of_switches_is_named_and_is_part_of_the_minimum_delay() {
    let chain = experiment("64B", "[path.switch]\nlatency = \"3ms\"\n").replace(
        "topology = \"two-hosts\"",
        "topology = \"chain\"\nhops = 3\npairs = 1",
    );
    let least = [
        "is the minimum delay of its path",
        "(18.0 ms latency of switches",
    ];
    let found = assert_said(&chain, &least);
    let condition = &found.slow.conditions[0];
    let latency = condition.in_component(&Component::Latency);
    assert!((latency - 18e6).abs() < 1.0, "{condition:#?}");
    assert!(!condition.is_slow(), "{condition:#?}");
    let swept =
        chain + "[sweep]\nlatency = { set = \"path.switch.latency\", to = [\"3ms\", \"1us\"] }\n";
    let named = ["of latency 3ms is the latency of switches (6 × 3.00 ms): 18.0 ms"];
    assert_said(&swept, &named);
}

/// Packets of the probe alone wait for each other at a shaper, and the line has nothing to do with it.
#[test]
fn what_a_shaper_holds_back_is_not_the_lines() {
    let shaper = "[path.switch.shaper]\nrate = \"400kbit/s\"\nburst = \"200B\"\n";
    let found = explain(&experiment("64B", shaper).replace("3s", "20s"), 7);
    let worst = &found.causes[0];
    let queue = |what: &LateCause| matches!(what, LateCause::Queue { port } if **port == *"s1→b1");
    assert!(queue(&worst.what), "{:#?}", found.causes);
    let remedy = &worst.remedy;
    assert!(remedy.contains("give the shaper a higher rate"), "{remedy}");
}

#[test]
fn what_condition_stressed_asks_for_is_no_finding() {
    let stressed = "[host]\ncondition = \"stressed\"\n[path.host]\nnoise = \"linux\"\n";
    let text = experiment("64B", stressed).replace("3s", "20s");
    let found = explain(&text, 7);
    let asked_for = found.causes.iter().filter(|cause| cause.role.is_run_load());
    assert!(asked_for.count() > 0, "{:#?}", found.causes);
    let late = found.late_answer();
    assert!(late.contains("as condition stressed asks"), "{late}");
    let (findings, _) = late.split_once("Not in these figures").unwrap_or(("", ""));
    assert!(!findings.contains("slices"), "{late}");
}

/// Every packet of condition `is` is lost; the warning names it and has these words.
fn assert_blackout(text: &str, label: &str, expected: &[&str]) {
    let found = explain(text, 7);
    let said = found.lost_answer();
    assert_eq!(found.blackouts.len(), 1, "{said}");
    assert_eq!(found.blackouts[0].label, label);
    for words in expected {
        assert!(said.contains(words), "no `{words}` in: {said}");
    }
}

#[test]
fn a_policer_that_lets_nothing_pass_is_the_reason_of_a_blackout() {
    let text = experiment(
        "64B",
        "[sweep]\nburst = { set = \"path.switch.policer.burst\", to = [\"20B\", \"1MB\"] }\n\
        [path.switch.policer]\nrate = \"1kbit/s\"\nburst = \"1MB\"\n",
    );
    assert_blackout(
        &text,
        "burst 20B",
        &["of burst 20B was lost", "s1→b1", "policer"],
    );
}

#[test]
fn a_queue_that_outlasts_the_time_out_is_the_reason_of_a_blackout() {
    let swept =
        "\n[sweep]\nload = { set = \"load.flood.rate\", to = [\"1Mbit/s\", \"90Mbit/s\"] }\n";
    let text = experiment("64B", &(full_buffer("60MB") + swept));
    let text = text.replace("duration = \"3s\"", "duration = \"3s\"\ntimeout = \"20ms\"");
    assert_blackout(
        &text,
        "load 90Mbit/s",
        &[
            "waited in the queue of s1→b1",
            "longer than their time-out of 20",
        ],
    );
}

#[test]
fn what_answers_has_no_blackout() {
    assert!(explain(&experiment("64B", ""), 7).blackouts.is_empty());
}
