//! Pauses between neighbours: how much comes after XOFF, when senders stop and go on, who else waits.

use crate::common::{Taken, every, largest, mean, probe, run, trial};
use delaylab_model::dscp::Dscp;
use delaylab_model::probe::{Pacing, Probe};
use delaylab_model::refusal::Refusal;
use delaylab_model::trial::Trial;
use delaylab_sim::{advice, refusals};
use proptest::prelude::*;

/// Hosts at one switch: lines of 1 Gbit/s and 10 µs, on which a frame of 1538 bytes takes 12,304 ns, but for b's.
fn star(slow: &str, switch: &str, rest: &str) -> String {
    let hosts = ["c", "a", "b", "d", "e"];
    let nodes = hosts.map(|host| format!("[[path.node]]\nname = \"{host}\"\nkind = \"host\"\n"));
    let links = hosts.map(|host| {
        let rate = if host == "b" {
            format!("rate = \"{slow}\"\n")
        } else {
            String::new()
        };
        format!("[[path.link]]\nname = \"{host}\"\nfrom = \"{host}\"\nto = \"s\"\n{rate}")
    });
    format!(
        "[path]\nrate = \"1Gbit/s\"\npropagation = \"10us\"\n[path.switch]\nlatency = \"2936ns\"\n{switch}\n\
         [[path.node]]\nname = \"s\"\nkind = \"switch\"\n{}{}{rest}",
        nodes.concat(),
        links.concat()
    )
}

fn between(mut probe: Probe, from: &str, to: &str) -> Probe {
    (probe.from, probe.to) = (Some(from.to_owned()), Some(to.to_owned()));
    probe
}

/// Frames from `a` without a gap to a line that takes next to nothing, and one from `c` to `a` that begins to leave the
/// switch at the moment when XOFF is passed.
fn worst_case(headroom: &str) -> Trial {
    let switch = format!(
        "flow_control = {{ kind = \"pfc\", xoff = \"7690B\", response = \"1us\", {headroom} }}"
    );
    let loads = "[[load]]\nname = \"forth\"\nkind = \"cbr\"\nrate = \"2Gbit/s\"\npayload = \"1472B\"\nfrom = \"a\"\nto = \"b\"\n\
                 [[load]]\nname = \"back\"\nkind = \"cbr\"\nrate = \"1kbit/s\"\npayload = \"1472B\"\nstart = \"73824ns\"\nfrom = \"c\"\nto = \"a\"\n";
    let aside = between(probe("aside", 64, every(500_000), 2), "d", "e");
    trial(&star("100kbit/s", &switch, loads), vec![aside])
}

/// XOFF is passed at 99,064 ns by the seventh frame, as the first is on the line to `b`: five lie below it. The frame to
/// `a` takes until 111,368 ns, the PFC frame 672 ns, propagation 10 µs, the response 1 µs: at 123,040 ns `a` has just begun
/// its eleventh frame. Ten frames of 1538 bytes are held: five below XOFF, 7690 bytes beyond.
/// What is said of headroom; that loads are faster than their lines is meant here.
fn of_headroom(trial: &Trial) -> Vec<Refusal> {
    let said = advice(trial).into_iter();
    said.filter(|said| said.field.ends_with("headroom"))
        .collect()
}

#[test]
fn nothing_is_lost_with_the_headroom_of_the_link_and_a_frame_is_with_a_byte_less() {
    for (headroom, lost) in [
        ("", 0),
        ("headroom = \"7690B\"", 0),
        ("headroom = \"7689B\"", 1),
    ] {
        let trial = worst_case(headroom);
        assert_eq!(refusals(&trial), [], "{headroom}");
        let taken = run(&trial);
        let dropped: u64 = taken.counts.dropped.values().sum();
        assert_eq!(dropped, lost, "{headroom}: {:?}", taken.counts.dropped);
        assert_eq!(of_headroom(&trial).len() as u64, lost, "{headroom}");
        let (share, ..) = taken.series_of("paused", "a→s best-effort", 0);
        let end = taken
            .series
            .iter()
            .map(|point| point.t + point.length)
            .max();
        let paused = share * end.unwrap() as f64;
        let expected = (end.unwrap() - 123_040) as f64;
        assert!((paused - expected).abs() < 1.0, "{paused} {expected}");
    }
}

#[test]
fn check_says_how_much_headroom_a_link_needs() {
    let advice = of_headroom(&worst_case("headroom = \"7689B\""));
    assert_eq!(advice[0].field, "path.switch.flow_control.headroom");
    let reason = &advice[0].reason;
    assert!(
        reason.contains("7689 B") && reason.contains("7690 B"),
        "{reason}"
    );
}

/// Twelve frames from `a` at once to a line of 100 Mbit/s, on which one takes 123,040 ns.
fn twelve(kind: &str, more: &str, others: Vec<Probe>) -> Taken {
    let switch = format!(
        "discipline = \"priority\"\nflow_control = {{ kind = \"{kind}\", xoff = \"7690B\", xon = \"4614B\", response = \"1us\", {more} }}"
    );
    let at_once = Pacing::Burst {
        burst: 12,
        interval_ns: 1_000_000_000,
    };
    let mut probes = vec![between(probe("twelve", 1_472, at_once, 12), "a", "b")];
    probes.extend(others);
    run(&trial(&star("100Mbit/s", &switch, ""), probes))
}

fn sent(taken: &Taken, probe: u16) -> Vec<i64> {
    let own = taken.records.iter().filter(|record| record.probe == probe);
    own.map(|record| record.t_tx.unwrap()).collect()
}

/// XOFF at 99,064 ns; 672 ns, 10 µs and 1 µs later, at 110,736 ns, `a` has just begun its tenth frame. The first leaves the
/// switch at 25,240 ns and another every 123,040 ns: at 763,480 ns three are left, which is XON, and 11,672 ns later `a`
/// goes on.
#[test]
fn a_sender_stops_and_goes_on_when_it_should() {
    let mut expected: Vec<i64> = (0..10).map(|frame| frame * 12_304).collect();
    expected.extend([775_152, 775_152 + 12_304]);
    for kind in ["pfc", "pause"] {
        let taken = twelve(kind, "", vec![]);
        assert_eq!(sent(&taken, 0), expected, "{kind}");
        // XOFF and XON.
        let control = taken.counts.sent - 2 * 12;
        assert_eq!(control, 2, "{kind}");
    }
}

#[test]
fn a_pause_is_asked_for_again_before_it_is_over() {
    // 100 quanta of 512 ns: every 25.6 µs from 99,064 to 763,480 ns there is one more frame.
    let taken = twelve("pfc", "quanta = 100", vec![]);
    assert_eq!(sent(&taken, 0)[10], 775_152);
    let control = taken.counts.sent - 2 * 12;
    assert_eq!(control, 2 + (763_480 - 99_064) / 25_600);
}

#[test]
fn a_priority_that_is_not_paused_goes_on() {
    let mut urgent = between(probe("urgent", 100, every(400_000), 2), "a", "e");
    urgent.dscp = "ef".parse::<Dscp>().unwrap();
    let with = |kind, more| sent(&twelve(kind, more, vec![urgent.clone()]), 1)[1];
    assert_eq!(with("pfc", "priorities = [\"best-effort\"]"), 400_000);
    assert_eq!(with("pfc", ""), 400_000);
    // PAUSE stops all, and the frames before it go first.
    assert!(with("pause", "") > 775_152);
}

/// A load to a slow host, and an exchange beside it over the same trunk with a fast one.
fn victim(switch: &str) -> Taken {
    let sections = format!(
        "[[load]]\nname = \"culprit\"\nkind = \"cbr\"\nrate = \"800Mbit/s\"\npayload = \"1400B\"\nfrom = \"a1\"\nto = \"b1\"\n\
         [path]\ntopology = \"pairs-on-a-trunk\"\npairs = 2\nrate = \"1Gbit/s\"\npropagation = \"1us\"\n\
         line = {{ b1 = {{ rate = \"100Mbit/s\" }} }}\n[path.switch]\nbuffer = \"100kB\"\n{switch}\n"
    );
    let echo = between(probe("victim", 100, every(100_000), 300), "a2", "b2");
    run(&trial(&sections, vec![echo]))
}

#[test]
fn congestion_spreads_to_those_who_have_no_part_in_it() {
    let lossy = victim("");
    let lossless = victim("flow_control = { kind = \"pfc\", xoff = \"40kB\" }");
    assert!(!lossy.counts.dropped.is_empty());
    assert!(lossless.counts.dropped.is_empty());
    let late = |taken: &Taken| largest(&taken.responses(0, 100));
    println!(
        "a victim's response: {:.1} µs with losses, {:.1} µs with PFC",
        late(&lossy) / 1e3,
        late(&lossless) / 1e3
    );
    // Without pauses a packet waits for one of the culprit's. With them s1 holds 40 kB of it on a trunk that gives it
    // 100 Mbit/s: 3 ms.
    assert!(late(&lossy) < 60_000.0);
    assert!(mean(&lossless.responses(0, 100)) > 1_000_000.0);
    // Pauses cascade: s2 stops s1, which stops a1. The culprit gets an eighth of what it sends.
    for port in ["s1→s2 best-effort", "a1→s1 best-effort"] {
        let (share, ..) = lossless.series_of("paused", port, 10_000_000);
        assert!((0.8..0.95).contains(&share), "{port}: {share}");
    }
    let (busy, ..) = lossless.series_of("utilisation", "s2→b1", 10_000_000);
    assert!(busy > 0.999, "{busy}");
}

#[test]
fn what_cannot_be_is_refused_by_its_field() {
    let pfc = "flow_control = { kind = \"pfc\", xoff = \"40kB\", quanta = 48 }";
    let echo = between(probe("echo", 64, every(1_000), 1), "a", "b");
    let small = trial(&star("1Gbit/s", pfc, ""), vec![echo]);
    let [refusal] = &refusals(&small)[..] else {
        panic!("{:?}", refusals(&small));
    };
    assert_eq!(refusal.field, "path.switch.flow_control.quanta");
    assert!(refusal.reason.contains("give 49"), "{}", refusal.reason);
    let one = "[path]\nrate = \"1Gbit/s\"\ntopology = \"two-hosts\"\n";
    for (text, field) in [
        (
            format!("{one}framing = \"ppp\"\nswitch = {{ flow_control = {{ kind = \"pfc\", xoff = \"1kB\" }} }}"),
            "path.framing",
        ),
        (
            format!("{one}framing = \"aal5\"\nswitch = {{ flow_control = {{ kind = \"pfc\", xoff = \"1kB\" }} }}"),
            "path.switch.flow_control",
        ),
        (
            format!("{one}shaper = {{ cbr = \"1Mbit/s\" }}\nswitch = {{ flow_control = {{ kind = \"pause\", xoff = \"1kB\" }} }}"),
            "path.shaper",
        ),
        (
            "[path]\nrate = \"1Gbit/s\"\nnode = [{ name = \"a\", kind = \"host\" }, { name = \"b\", kind = \"host\" }, { name = \"s\", kind = \"switch\", switch = { flow_control = { kind = \"pfc\", xoff = \"1kB\" } } }]\nlink = [{ name = \"a\", from = \"a\", to = \"s\" }, { name = \"b\", from = \"b\", to = \"s\" }]".to_owned(),
            "path.node.s.switch.flow_control",
        ),
    ] {
        let refusals = refusals(&trial(&text, vec![probe("echo", 64, every(1_000), 1)]));
        assert_eq!(refusals[0].field, field, "{refusals:?}");
    }
}

/// Traffic of random sizes both ways, more than the last line takes, over two switches.
#[derive(Debug, Clone)]
struct Crowded {
    megabits: u64,
    /// How many times as fast the others are as the last line.
    slow: u64,
    propagation: u32,
    latency: u32,
    response: Option<u32>,
    mtu: u32,
    sizes: Vec<u32>,
    xoff: u32,
    /// In hundredths of that.
    xon: u32,
    kind: usize,
    discipline: usize,
    quanta: u16,
    seed: u64,
}

prop_compose! {
    fn crowded()(
        (megabits, slow) in (100_u64..100_000, 2_u64..20),
        (propagation, latency, response) in (0_u32..20_000, 0_u32..5_000, prop::option::of(0_u32..10_000)),
        (mtu, sizes) in (600_u32..9_000, prop::collection::vec(40_u32..9_000, 4)),
        (xoff, xon) in (1_u32..100_000, 0_u32..100),
        (kind, discipline) in (0_usize..3, 0_usize..5),
        (quanta, seed) in (1_000_u16..u16::MAX, any::<u64>()),
    ) -> Crowded {
        Crowded { megabits, slow, propagation, latency, response, mtu, sizes, xoff, xon, kind, discipline, quanta, seed }
    }
}

fn loses_nothing(crowded: Crowded) -> Result<(), TestCaseError> {
    let Crowded {
        megabits,
        slow,
        propagation,
        latency,
        response,
        mtu,
        sizes,
        xoff,
        xon,
        kind,
        discipline,
        quanta,
        seed,
    } = crowded;
    let kind = [
        "kind = \"pause\"",
        "kind = \"pfc\"",
        "kind = \"pfc\", priorities = [\"best-effort\", \"expedited\"]",
    ][kind];
    let discipline = [
        "fifo",
        "priority",
        "wrr\"\nweights = { expedited = 2 }\n#",
        "wfq\"\nweights = { scavenger = 2 }\n#",
        "drr",
    ][discipline];
    let response = response.map_or(String::new(), |ns| format!("response = \"{ns}ns\","));
    let payload = |size: u32| size.min(mtu - 28);
    // What a line takes of the longest load.
    let gap = (u64::from(mtu) * 8_000 / megabits).max(100);
    let mut sections = format!(
        "[path]\ntopology = \"pairs-on-a-trunk\"\npairs = 3\nrate = \"{megabits}Mbit/s\"\npropagation = \"{propagation}ns\"\nmtu = \"{mtu}B\"\n\
         line = {{ b1 = {{ rate = \"{}kbit/s\" }} }}\n[path.switch]\nlatency = \"{latency}ns\"\nbuffer = \"unlimited\"\ndiscipline = \"{discipline}\"\n\
         flow_control = {{ {kind}, xoff = \"{xoff}B\", xon = \"{}B\", quanta = {quanta}, {response} }}\n",
        megabits * 1_000 / slow,
        u64::from(xoff) * u64::from(xon) / 100,
    );
    for (at, ((from, to), class)) in [
        (("a1", "b1"), "be"),
        (("a2", "b1"), "ef"),
        (("b2", "a1"), "be"),
        (("b3", "a2"), "be"),
    ]
    .into_iter()
    .enumerate()
    {
        sections += &format!(
            "[[load]]\nname = \"l{at}\"\nkind = \"poisson\"\nrate = \"{}kbit/s\"\npayload = \"{}B\"\nclass = \"{class}\"\nfrom = \"{from}\"\nto = \"{to}\"\n",
            megabits * 1_000 * 9 / 10,
            payload(sizes[at]),
        );
    }
    let mut trial = trial(
        &sections,
        vec![between(
            probe("echo", 64, every((gap * 20) as i64), 20),
            "a3",
            "b3",
        )],
    );
    trial.probes[0].timeout = (gap * 1_000) as i64;
    trial.seed = seed;
    prop_assert_eq!(refusals(&trial), []);
    let taken = run(&trial);
    prop_assert!(
        taken.counts.dropped.is_empty(),
        "{:?}",
        taken.counts.dropped
    );
    let Taken { counts, .. } = taken;
    prop_assert!(counts.sent >= counts.delivered + counts.under_way);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(15))]
    #[test]
    fn nothing_is_lost(crowded in crowded()) {
        loses_nothing(crowded)?;
    }
}

/// The same with many more, in `make test-all`.
mod long {
    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn nothing_is_lost_of_whatever_is_sent(crowded in crowded()) {
            loses_nothing(crowded)?;
        }
    }
}
