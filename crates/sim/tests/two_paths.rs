//! Classes beside a congested trunk: where what is too much waits, and what routers make of the classes.

use crate::common::{Taken, every, probe, run, trial};
use delaylab_model::dscp::Dscp;
use delaylab_model::method::Method;
use delaylab_model::probe::Pacing;

/// BE probed by TCP beside twenty streams of BE and twenty of SS in its queue of 64 KiB, as class-jitter has it.
fn beside_forty(path: &str) -> Taken {
    let sections = format!(
        r#"
load = [
    {{ name = "be-bulk", kind = "tcp", streams = 20, route = "congested", from = "a4", to = "b4" }},
    {{ name = "ss-bulk", kind = "tcp", class = "cs1", streams = 20, route = "congested", from = "a5", to = "b5" }},
]
[path]
topology = "two-paths"
pairs = 5
rate = "100Mbit/s"
mtu = "1512B"
route = {{ be = "congested", cs1 = "control" }}
queue = {{ be = "scavenger" }}
{path}
[path.switch]
discipline = "wfq"
weights = {{ network-control = 10, expedited = 40, best-effort = 45, scavenger = 5 }}
queue_buffer = "64KiB"
"#
    );
    let mut asks = probe(
        "be",
        1460,
        Pacing::Wait {
            wait_ns: 10_000_000,
        },
        100,
    );
    asks.method = Method::Tcp;
    asks.reply_payload = Some(1000);
    asks.timeout = 1_000_000_000;
    run(&trial(&sections, vec![asks]))
}

#[test]
fn what_is_too_much_is_lost_at_the_trunk_and_not_kept_at_the_hosts() {
    let taken = beside_forty("line = { access = { rate = \"1Gbit/s\" } }");
    let dropped: u64 = taken.counts.dropped.values().sum();
    assert!(dropped > 1000, "{dropped}");
    // What a stream has under way is its part of the trunk's queue, as in a testbed: 44 kB at most there.
    for stream in 1..=20 {
        let (mean, _, most) = taken.series_of("cwnd", &format!("be-bulk {stream}"), 500_000_000);
        assert!(
            mean < 10_000.0 && most < 44_000.0,
            "{stream}: {mean}, {most}"
        );
    }
    let lost = taken
        .records
        .iter()
        .filter(|record| record.response().is_none());
    assert!(lost.count() <= 2, "{:?}", taken.counts);
    let (backlog, _, _) = taken.series_of("backlog", "s1→s2 congested", 500_000_000);
    assert!((32_000.0..63_000.0).contains(&backlog), "{backlog}");
}

#[test]
fn a_line_has_its_own_rate_and_propagation() {
    let sections = |line: &str| {
        format!("path = {{ topology = \"two-hosts\", rate = \"100Mbit/s\", line = {{ {line} }} }}")
    };
    let response = |line: &str| {
        let ask = probe("ask", 972, every(10_000_000), 1);
        run(&trial(&sections(line), vec![ask])).responses(0, 0)[0]
    };
    // 1038 bytes on four lines.
    assert_eq!(response(""), 332_160.0);
    assert_eq!(response("access = { rate = \"1Gbit/s\" }"), 33_216.0);
    assert_eq!(response("b1 = { rate = \"1Gbit/s\" }"), 182_688.0);
    let far = "access = { propagation = \"1ms\" }, a1 = { propagation = \"2ms\" }";
    assert_eq!(response(far), 6_332_160.0);
}

#[test]
fn what_a_router_made_of_a_class_comes_back() {
    let sections = r#"
[path]
topology = "two-paths"
rate = "100Mbit/s"
route = { cs1 = "control" }
remark = { cs1 = "be" }
"#;
    let class = |name: &str| name.parse::<Dscp>().unwrap();
    for (method, reply) in [(Method::Icmp, Some(0)), (Method::Udp, Some(0))] {
        let mut ask = probe("ss", 100, every(10_000_000), 3);
        ask.method = method;
        ask.dscp = class("cs1");
        let mut ef = ask.clone();
        (ef.name, ef.dscp) = ("ef".to_owned(), class("ef"));
        let taken = run(&trial(sections, vec![ask, ef]));
        for record in &taken.records {
            let expected = if record.probe == 0 { reply } else { Some(46) };
            assert_eq!(record.reply_dscp, expected, "{method:?}");
            assert_eq!(record.r_dscp, expected, "{method:?}");
        }
    }
}
