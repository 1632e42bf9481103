//! What series say of a trial, whatever it waits for at its end.

use crate::aqm::{Line, tcp};
use crate::common::{Taken, every, poisson, probe, run, run_with, trial};
use delaylab_model::trial::Trial;
use delaylab_sim::engine::Serving;
use delaylab_sim::event_set::Tournament;

/// 5 s of packets that fill a line of 10 Mbit/s and its buffer, and that long a time-out.
fn overload(timeout_ns: i64) -> Taken {
    let path = r#"
[path]
topology = "many-to-one"
rate = "1Gbit/s"
[path.line]
b1 = { rate = "10Mbit/s" }
[path.switch]
buffer = "100packets"
"#;
    let mut probe = probe("echo", 1_472, every(1_000_000), 5_000);
    probe.timeout = timeout_ns;
    run(&trial(path, vec![probe]))
}

#[test]
fn the_wait_for_what_was_lost_is_no_part_of_a_series() {
    let of = |timeout| {
        let taken = overload(timeout);
        ["utilisation", "backlog"].map(|series| taken.series_of(series, "s1→b1", 0).0)
    };
    let [busy, backlog] = of(500_000_000);
    assert!(busy > 0.99, "{busy}");
    for timeout in [2_000_000_000, 20_000_000_000] {
        let [other, behind] = of(timeout);
        assert!((other - busy).abs() < 1e-6, "{other}, not {busy}");
        assert!(
            (behind / backlog - 1.0).abs() < 1e-6,
            "{behind}, not {backlog}"
        );
    }
}

/// A load sends for as long as a probe waits, and is not counted meanwhile.
#[test]
fn the_wait_for_what_was_lost_counts_no_load() {
    let path = r#"
[path]
topology = "pairs-on-a-trunk"
rate = "100Mbit/s"
[path.switch]
buffer = "50kB"
policer = { rate = "6Mbit/s", burst = "10kB" }
[[load]]
name = "cbr"
kind = "cbr"
rate = "10Mbit/s"
payload = "972B"
"#;
    let of = |timeout: i64, seed: u64| {
        let mut probe = probe("echo", 100, poisson(10_000_000), 100);
        probe.timeout = timeout;
        let trial = Trial {
            seed,
            ..trial(path, vec![probe])
        };
        let taken = run(&trial);
        let eager = run_with::<Tournament>(&trial, Serving::Eager);
        assert_eq!(taken.records, eager.records);
        assert_eq!(taken.series, eager.series);
        let lost = taken.records.iter().filter(|record| !record.answered());
        let facts = &taken.facts[0];
        let last_is_lost = !taken.records[99].answered();
        let (_, _, drops) = taken.series_of("drops", "s1→s2", 0);
        (
            (lost.count(), facts.lost_load, facts.simulated, drops as u64),
            last_is_lost,
        )
    };
    // In some the last packet of the probe is lost, and in some it is not.
    let ends = (1..9).map(|seed| {
        let [short, long] = [200_000_000, 5_000_000_000].map(|timeout| of(timeout, seed));
        assert_eq!(short, long);
        let (_, lost, ..) = short.0;
        assert!(lost > Some(100));
        short.1
    });
    let ends: Vec<bool> = ends.collect();
    assert!(ends.contains(&true) && ends.contains(&false), "{ends:?}");
}

#[test]
fn fairness_is_of_flows_and_not_of_how_coarse_packets_are() {
    // 50 flows of 200 kbit/s each: in 100 ms a flow has 1.6 packets.
    let taken = Line {
        rate: "10Mbit/s",
        propagation: "10ms",
        apart: "0us",
        loads: &tcp(2, "cubic", 50),
        switch: "discipline = \"drr\"\nbuffer = \"500packets\"",
        seconds: 20,
    }
    .run();
    let (fair, least, _) = taken.series_of("fairness", "bulk2", 5_000_000_000);
    assert!(fair > 0.9, "{fair}, {least} at least");
}

#[test]
fn loads_that_are_not_tcp_have_no_fairness_and_none_is_foretold() {
    let voice = "[[load]]\nname = \"voice\"\nkind = \"cbr\"\nrate = \"1Mbit/s\"\nfrom = \"a2\"\nto = \"b2\"\nstreams = 3\n";
    // What is foretold is held against what there is.
    let taken = Line {
        rate: "10Mbit/s",
        propagation: "1ms",
        apart: "0us",
        loads: voice,
        switch: "discipline = \"fifo\"",
        seconds: 1,
    }
    .run();
    let mut names = taken.series.iter().map(|point| &*point.series);
    assert!(names.all(|name| name != "fairness"));
}
