//! What cannot be simulated is refused before the run, by the name of its field.

use crate::common::{every, probe, run, trial};
use delaylab_model::path::Framing;
use delaylab_model::trial::Trial;
use delaylab_sim::{advice, refusals};
use delaylab_traffic::arrival::replay::parse;

const PAIRS: &str = "topology = \"pairs-on-a-trunk\"\nrate = \"10Mbit/s\"\n";

fn of_path(path: &str) -> Trial {
    trial(
        &format!("[path]\n{path}"),
        vec![probe("echo", 64, every(1_000_000), 3)],
    )
}

fn of_load(load: &str) -> Trial {
    let sections = format!("[[load]]\nname = \"bulk\"\n{load}\n[path]\n{PAIRS}");
    trial(&sections, vec![probe("echo", 64, every(1_000_000), 3)])
}

/// The trial, the field that is refused, and part of why.
fn cases() -> Vec<(Trial, &'static str, &'static str)> {
    let path = |text: &str| of_path(text);
    let on_pairs = |text: &str| of_path(&format!("{PAIRS}{text}"));
    vec![
        (
            path(""),
            "path.topology",
            "give a topology, like \"two-hosts\", or nodes and links",
        ),
        (
            path("topology = \"loopback\""),
            "path.topology",
            "a host that asks itself",
        ),
        (
            path("topology = \"two-hosts\""),
            "path.rate",
            "links need a rate",
        ),
        (
            path("topology = \"two-hosts\"\nrate = \"0bit/s\""),
            "path.rate",
            "a rate of zero",
        ),
        (
            path("topology = \"fat-tree\"\nports = 3\nrate = \"1Gbit/s\""),
            "path.ports",
            "an even number",
        ),
        (
            on_pairs("hops = 3"),
            "path.hops",
            "is of topology chain and routed",
        ),
        (
            on_pairs("senders = 3"),
            "path.senders",
            "is of topology many-to-one",
        ),
        (
            on_pairs("leaves = 3"),
            "path.leaves",
            "is of topology leaf-spine",
        ),
        (
            on_pairs("spines = 3"),
            "path.spines",
            "is of topology leaf-spine",
        ),
        (
            on_pairs("hosts = 3"),
            "path.hosts",
            "is of topology leaf-spine",
        ),
        (
            on_pairs("ports = 4"),
            "path.ports",
            "is of topology fat-tree",
        ),
        (
            path("topology = \"many-to-one\"\nrate = \"1Gbit/s\"\npairs = 3"),
            "path.pairs",
            "is of topology pairs-on-a-trunk, chain",
        ),
        (
            path("topology = \"two-hosts\"\nrate = \"1Gbit/s\"\npairs = 3"),
            "path.pairs",
            "would mean nothing here",
        ),
        (
            path("rate = \"1Mbit/s\"\nhops = 3\nnode = [{ name = \"a\", kind = \"host\" }]"),
            "path.hops",
            "would mean nothing here",
        ),
        (
            on_pairs("switch = { burst = \"2kB\" }"),
            "path.switch.burst",
            "is of kernel-tbf and kernel-htb",
        ),
        (
            on_pairs("switch = { explicit_rate = \"erica\" }"),
            "path.switch.explicit_rate",
            "leave it out",
        ),
        (
            on_pairs(
                "framing = \"aal5\"\nabr = \"tm-4.0\"\nswitch = { discipline = \"explicit-rate\", explicit_rate = \"erica\", threshold = \"500cells\" }",
            ),
            "path.switch.threshold",
            "measures the load",
        ),
        (
            path("topology = \"chain\"\nhops = 0\nrate = \"1Gbit/s\""),
            "path.hops",
            "none make no path",
        ),
        (
            path("topology = \"chain\"\nhops = 400\nrate = \"1Gbit/s\""),
            "probe.echo",
            "at most 255 links",
        ),
        (
            on_pairs("line = { trunc = { rate = \"1Gbit/s\" } }"),
            "path.line.trunc",
            "there is no link `trunc`",
        ),
        (
            on_pairs("line = { access = { rate = \"0bit/s\" } }"),
            "path.line.access.rate",
            "a rate of zero",
        ),
        (
            path(
                "line = { in1 = { rate = \"1Gbit/s\" } }\nnode = [{ name = \"a\", kind = \"host\" }]",
            ),
            "path.line.in1",
            "in [[path.link]]",
        ),
        (
            on_pairs("remark = { cs1 = \"xx\" }"),
            "path.remark.cs1",
            "not a traffic class",
        ),
        (
            of_load("kind = \"tcp\"\ndirection = \"down\"\nto = \"b1\""),
            "load.bulk.to",
            "turns the usual way round",
        ),
        (
            of_load("kind = \"transfers\""),
            "load.bulk.bytes",
            "how much is a transfer",
        ),
        (
            of_load("kind = \"transfers\"\nbytes = \"0B\""),
            "load.bulk.bytes",
            "never ends",
        ),
        (
            of_load("kind = \"transfers\"\nbytes = \"1kB\"\nrounds = 0"),
            "load.bulk.rounds",
            "set `streams` to 0",
        ),
        (
            of_load("kind = \"transfers\"\nbytes = \"1kB\"\npayload = \"100B\""),
            "load.bulk.payload",
            "say `bytes`",
        ),
        (
            of_load("kind = \"tcp\"\nbytes = \"1kB\""),
            "load.bulk.bytes",
            "goes with \"transfers\"",
        ),
        (
            of_load("kind = \"poisson\"\nrate = \"1Mbit/s\"\non = \"1s\""),
            "load.bulk.on",
            "goes with \"on-off\"",
        ),
        (
            of_load("kind = \"cbr\"\nrate = \"1Mbit/s\"\ntcp = { ecn = true }"),
            "load.bulk.tcp",
            "goes with \"tcp\", \"transfers\"",
        ),
        (on_pairs("mtu = \"20B\""), "path.mtu", "68 B"),
        (
            on_pairs("mtu = \"80B\""),
            "probe.echo.payload",
            "over the MTU of 80 B",
        ),
        (
            on_pairs("abr = \"eprca-1995\""),
            "path.abr",
            "ABR is for ATM",
        ),
        (
            on_pairs("shaper = { cbr = \"0bit/s\" }"),
            "path.shaper.cbr",
            "a rate of zero",
        ),
        (
            on_pairs("target = \"192.0.2.1\""),
            "path.target",
            "no target",
        ),
        (
            on_pairs("queue = { be = \"gold\" }"),
            "path.queue.be",
            "there is no queue `gold`",
        ),
        (
            on_pairs("switch = { buffer = \"0packets\" }"),
            "path.switch.buffer",
            "",
        ),
        (
            on_pairs("switch = { buffer = \"100cells\" }"),
            "path.switch.buffer",
            "the links carry packets",
        ),
        (
            on_pairs("switch = { shaper = { rate = \"0bit/s\", burst = \"2kB\" } }"),
            "path.switch.shaper",
            "nothing would pass",
        ),
        (
            on_pairs(
                "switch = { policer = { rate = \"1Mbit/s\", burst = \"2kB\", ceil = \"900kbit/s\" } }",
            ),
            "path.switch.policer",
            "the higher of the two rates",
        ),
        (
            on_pairs("switch = { discipline = \"kernel-tbf\" }"),
            "path.switch.discipline",
            "",
        ),
        (
            on_pairs("switch = { discipline = \"efci\", threshold = \"1kB\" }"),
            "path.switch.discipline",
            "path.abr",
        ),
        (
            on_pairs("switch = { packet_discard = \"early\" }"),
            "path.switch.packet_discard",
            "about cells",
        ),
        (
            on_pairs("switch = { crossbar = { scheduler = \"pim\" } }"),
            "path.switch.crossbar",
            "links must carry cells",
        ),
        (
            on_pairs("framing = \"aal5\"\nswitch = { erica = { interval = \"1s\" } }"),
            "path.switch.erica",
            "explicit-rate",
        ),
        (
            on_pairs(
                "framing = \"aal5\"\nabr = \"tm-4.0\"\nswitch = { discipline = \"explicit-rate\", explicit_rate = \"erica\", erica = { utilisation = \"0%\" } }",
            ),
            "path.switch.erica.utilisation",
            "above 0 %",
        ),
        (
            on_pairs(
                "framing = \"aal5\"\nswitch = { discipline = \"credit\", credit = { n2 = 10, n3 = 20 }, threshold = \"50cells\" }",
            ),
            "path.switch.threshold",
            "never does",
        ),
        (
            on_pairs("node = [{ name = \"a\", kind = \"host\" }]"),
            "path.node",
            "a topology by name",
        ),
        (
            path(
                "rate = \"1Mbit/s\"\nnode = [{ name = \"a\", kind = \"host\" }, { name = \"b\", kind = \"host\" }]",
            ),
            "probe.echo",
            "no links lead from `a` to `b`",
        ),
        (
            path(
                "rate = \"1Mbit/s\"\nnode = [{ name = \"a\", kind = \"host\" }, { name = \"a\", kind = \"switch\" }]",
            ),
            "path.node",
            "two nodes are called `a`",
        ),
        (
            path(
                "rate = \"1Mbit/s\"\nnode = [{ name = \"a\", kind = \"host\" }, { name = \"b\", kind = \"host\" }]\n\
                 link = [{ name = \"x\", from = \"a\", to = \"b\" }, { name = \"x\", from = \"b\", to = \"a\" }]",
            ),
            "path.link",
            "two links are called `x`",
        ),
        (
            path("rate = \"1Gbit/s\"\n[[path.node]]\nname = \"a;id\"\nkind = \"host\""),
            "path.node",
            "`a;id` cannot be a name",
        ),
        (
            path(
                "rate = \"1Gbit/s\"\n[[path.node]]\nname = \"a\"\nkind = \"host\"\n[[path.node]]\nname = \"b\"\nkind = \"host\"\n\
                 [[path.link]]\nname = \"../l\"\nfrom = \"a\"\nto = \"b\"",
            ),
            "path.link",
            "`../l` cannot be a name",
        ),
        (
            path(
                "rate = \"1Mbit/s\"\nnode = [{ name = \"a\", kind = \"host\" }]\nlink = [{ name = \"l\", from = \"a\", to = \"x\" }]",
            ),
            "path.link.l",
            "no node `x`",
        ),
        (
            path(
                "rate = \"1Mbit/s\"\nnode = [{ name = \"a\", kind = \"host\" }]\nlink = [{ name = \"l\", from = \"a\", to = \"a\" }]",
            ),
            "path.link.l",
            "two ends",
        ),
        (
            of_load("kind = \"tcp\"\nstreams = 1000000000"),
            "load.bulk.streams",
            "at most 1000000",
        ),
        (
            of_load("kind = \"tcp\"\nrate = \"0bit/s\""),
            "load.bulk.rate",
            "sends nothing",
        ),
        (
            of_load("kind = \"tcp\"\ncongestion_control = \"vegas\""),
            "load.bulk.congestion_control",
            "reno-1995, reno",
        ),
        (
            of_load("kind = \"tcp\"\nwindow = \"10B\""),
            "load.bulk.window",
            "smaller than any segment",
        ),
        (
            of_load("kind = \"tcp\"\ntcp = { sack = false, rack_tlp = true }"),
            "load.bulk.tcp.rack_tlp",
            "needs selective acknowledgements",
        ),
        (of_load("kind = \"cbr\""), "load.bulk.rate", "how much?"),
        (
            of_load("kind = \"cbr\"\nrate = \"0bit/s\""),
            "load.bulk.rate",
            "`streams` to 0",
        ),
        (
            of_load("kind = \"on-off\"\nrate = \"0bit/s\""),
            "load.bulk.on",
            "how long?",
        ),
        (
            of_load("kind = \"poisson\"\nrate = \"1Mbit/s\"\npayload = \"9kB\""),
            "load.bulk.payload",
            "MTU of 1500 B",
        ),
        (of_load("kind = \"replay\""), "load.bulk.file", "which file"),
        (
            of_load("kind = \"tcp\"\nstart = \"1h\""),
            "load.bulk.start",
            "nothing would be seen of it",
        ),
        (
            of_path(
                "topology = \"pairs-on-a-trunk\"\nrate = \"10Mbit/s\"\nswitch = { buffer = \"10B\" }",
            ),
            "path.switch.buffer",
            "no packet passes",
        ),
        // As the buffer counts it: 64 B of echo are 92 of IP and a frame of 130 with preamble and gap.
        (
            of_path(
                "topology = \"pairs-on-a-trunk\"\nrate = \"10Mbit/s\"\nswitch = { buffer = \"129B\" }",
            ),
            "path.switch.buffer",
            "takes 130 B of it, and this is 129 B",
        ),
        (
            of_path(
                "topology = \"pairs-on-a-trunk\"\nrate = \"10Mbit/s\"\nframing = \"aal5\"\nswitch = { buffer = \"52B\" }",
            ),
            "path.switch.buffer",
            "takes 53 B of it, and this is 52 B",
        ),
        (
            of_path(
                "topology = \"pairs-on-a-trunk\"\nrate = \"10Mbit/s\"\nframing = \"aal5\"\nswitch = { discipline = \"credit\", credit = { n2 = 10, n3 = 20 }, reset = { at = \"0s\", lasts = \"1s\" } }",
            ),
            "path.switch.reset",
            "its credit is lost for good",
        ),
        (
            of_path(
                "topology = \"pairs-on-a-trunk\"\nrate = \"10Mbit/s\"\nframing = \"aal5\"\nswitch = { discipline = \"codel\", packet_discard = \"partial\" }",
            ),
            "path.switch.packet_discard",
            "drops them when they leave",
        ),
        (
            of_path(
                "topology = \"pairs-on-a-trunk\"\nrate = \"10Mbit/s\"\nframing = \"aal5\"\nabr = \"tm-4.0\"\nswitch = { discipline = \"efci\", packet_discard = \"early\" }",
            ),
            "path.switch.packet_discard",
            "of an unlimited buffer no cell is lost",
        ),
        (
            of_path(
                "topology = \"pairs-on-a-trunk\"\nrate = \"10Mbit/s\"\nswitch = { reset = { at = \"1h\", lasts = \"1s\" } }",
            ),
            "path.switch.reset",
            "nothing would be seen of it",
        ),
        (
            of_load("kind = \"tcp\"\nfrom = \"s1\""),
            "load.bulk.from",
            "forwards and does not send",
        ),
        (
            of_load("kind = \"tcp\"\nto = \"b9\""),
            "load.bulk.to",
            "there is no node `b9`",
        ),
        (
            of_load("kind = \"tcp\"\nroute = \"scenic\""),
            "load.bulk",
            "by way of `scenic`",
        ),
    ]
}

#[test]
fn each_is_refused_by_name_and_says_why() {
    for (trial, field, why) in cases() {
        let refused = refusals(&trial);
        let said = refused
            .iter()
            .any(|refusal| refusal.field == field && refusal.why().contains(why));
        assert!(said, "{field}: {why}: {refused:?}");
    }
}

#[test]
fn a_replay_with_packets_beyond_the_mtu_is_refused() {
    let mut trial = of_load("kind = \"replay\"\nfile = \"load.csv\"");
    let trace = parse("time,size\n0ms,100B\n1ms,100kB\n").unwrap();
    trial.loads[0].trace = Some(trace);
    let refused = refusals(&trial);
    assert_eq!(refused[0].field, "load.bulk.file");
    assert!(refused[0].reason.contains("packet 2"), "{refused:?}");
}

#[test]
fn what_is_likely_not_meant_is_said_and_simulated() {
    for (load, field, why) in [
        (
            "kind = \"tcp\"\nstreams = 5\nstagger = \"1h\"",
            "load.bulk.stagger",
            "nothing would be seen of it",
        ),
        (
            "kind = \"cbr\"\nrate = \"1Gbit/s\"\npayload = \"64B\"",
            "load.bulk.rate",
            "its line carries 10 Mbit/s",
        ),
        // 48 bytes of IP are 86 on the wire.
        (
            "kind = \"poisson\"\nrate = \"8Mbit/s\"\npayload = \"20B\"",
            "load.bulk.rate",
            "the loads of host a2 are 14.3333 Mbit/s",
        ),
        (
            "kind = \"cbr\"\nrate = \"5Mbit/s\"\nstreams = 2\nfrom = \"a1\"",
            "load.bulk.rate",
            "the loads of host a1 are 10.3612 Mbit/s",
        ),
        (
            "kind = \"on-off\"\nrate = \"20Mbit/s\"\non = \"30ms\"\noff = \"20ms\"",
            "load.bulk.rate",
            "the loads of host a2 are 12.4335 Mbit/s",
        ),
    ] {
        let trial = of_load(load);
        assert_eq!(refusals(&trial), []);
        let [said] = &advice(&trial)[..] else {
            panic!("{load}: {:?}", advice(&trial));
        };
        assert_eq!(said.field, field);
        assert!(said.reason.contains(why), "{}", said.reason);
    }
    for fits in [
        "kind = \"tcp\"",
        "kind = \"cbr\"\nrate = \"9Mbit/s\"\npayload = \"1400B\"",
        "kind = \"cbr\"\nrate = \"5Mbit/s\"\nstreams = 2",
        // Bursts wait, and are sent in the silence after them.
        "kind = \"on-off\"\nrate = \"20Mbit/s\"\non = \"10ms\"\noff = \"20ms\"",
    ] {
        assert_eq!(advice(&of_load(fits)), [], "{fits}");
    }
}

#[test]
fn a_trial_whose_load_the_line_of_its_host_cannot_carry_says_so() {
    let said = |load: &str| {
        let warnings = run(&of_load(load)).facts[0].warnings.clone();
        warnings.iter().any(|warning| {
            warning
                == "less of load `bulk` was sent than planned: with framing, the loads of host a2 are 14.3333 Mbit/s, and its \
                    line carries 10 Mbit/s"
        })
    };
    assert!(said(
        "kind = \"cbr\"\nrate = \"8Mbit/s\"\npayload = \"20B\""
    ));
    assert!(!said(
        "kind = \"cbr\"\nrate = \"5Mbit/s\"\npayload = \"20B\""
    ));
}

#[test]
fn cells_carry_no_marks_of_ip() {
    let of_load = |load: &str| {
        let mut trial = of_load(load);
        trial.path.framing = Some(Framing::Aal5);
        trial
    };
    for (load, field) in [
        ("tcp = { ecn = true }", "load.bulk.tcp.ecn"),
        (
            "congestion_control = \"dctcp\"",
            "load.bulk.congestion_control",
        ),
        (
            "congestion_control = \"prague\"",
            "load.bulk.congestion_control",
        ),
    ] {
        let refused = refusals(&of_load(&format!("kind = \"tcp\"\n{load}")));
        assert_eq!(refused.len(), 1, "{load}");
        assert_eq!(refused[0].field, field);
        assert!(
            refused[0]
                .why()
                .contains("a switch that forwards cells sees none"),
            "{refused:?}"
        );
    }
    assert_eq!(
        refusals(&of_load("kind = \"tcp\"\ncongestion_control = \"reno\"")),
        []
    );
}

#[test]
fn what_can_be_simulated_is_not_refused() {
    assert_eq!(refusals(&of_path(PAIRS)), []);
    assert_eq!(refusals(&of_load("kind = \"tcp\"")), []);
}
