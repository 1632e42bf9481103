//! Active queue management under TCP: where its queues settle, and who gets what of the line.

use crate::common::{Taken, every, mean, probe, run, trial};

/// Loads from hosts of their own over one line, and an echo every 10 ms beside them.
pub struct Line<'a> {
    pub rate: &'a str,
    /// One way.
    pub propagation: &'a str,
    pub loads: &'a str,
    pub switch: &'a str,
    pub seconds: u64,
}

impl Line<'_> {
    pub fn run(&self) -> Taken {
        let sections = format!(
            r#"
{loads}
[path]
rate = "1Gbit/s"
node = [
    {{ name = "a1", kind = "host" }},
    {{ name = "a2", kind = "host" }},
    {{ name = "a3", kind = "host" }},
    {{ name = "s1", kind = "switch" }},
    {{ name = "s2", kind = "switch" }},
    {{ name = "b1", kind = "host" }},
    {{ name = "b2", kind = "host" }},
    {{ name = "b3", kind = "host" }},
]
link = [
    {{ name = "in1", from = "a1", to = "s1" }},
    {{ name = "in2", from = "a2", to = "s1" }},
    {{ name = "in3", from = "a3", to = "s1" }},
    {{ name = "line", from = "s1", to = "s2", rate = "{rate}", propagation = "{half}" }},
    {{ name = "out1", from = "s2", to = "b1" }},
    {{ name = "out2", from = "s2", to = "b2" }},
    {{ name = "out3", from = "s2", to = "b3" }},
]
[path.switch]
{switch}
"#,
            loads = self.loads,
            rate = self.rate,
            half = self.propagation,
            switch = self.switch,
        );
        let mut echo = probe("echo", 100, every(10_000_000), self.seconds * 100);
        (echo.from, echo.to) = (Some("a1".to_owned()), Some("b1".to_owned()));
        run(&trial(&sections, vec![echo]))
    }
}

/// A load of TCP between the hosts of this number.
pub fn tcp(pair: u32, congestion: &str, streams: u32) -> String {
    format!(
        "[[load]]\nname = \"bulk{pair}\"\nkind = \"tcp\"\nfrom = \"a{pair}\"\nto = \"b{pair}\"\nstreams = {streams}\nstagger = \"13ms\"\ncongestion_control = \"{congestion}\"\n"
    )
}

/// Mean wait of the echoes at the line from a second on, in milliseconds.
pub fn wait(taken: &Taken, from: u64) -> f64 {
    let late = taken
        .hops
        .iter()
        .filter(|hop| &*hop.port == "s1→s2" && hop.seq >= from * 100);
    let waits: Vec<f64> = late
        .map(|hop| (hop.t_dequeue - hop.t_enqueue) as f64)
        .collect();
    mean(&waits) / 1e6
}

/// What stands at the line from a second on, in milliseconds of it, framing included.
pub fn backlog(taken: &Taken, from: u64, megabits: f64) -> f64 {
    let bytes = taken
        .series_of("backlog", "s1→s2", from as i64 * 1_000_000_000)
        .0;
    bytes * 8.0 / megabits / 1e3
}

#[test]
fn a_hundred_flows_behind_fq_codel_wait_for_each_other_unless_all_queues_count() {
    let standing = |near_empty: &str, window: &str| {
        let taken = Line {
            rate: "10Mbit/s",
            propagation: "1ms",
            loads: &(tcp(2, "cubic", 100) + window),
            switch: &format!("discipline = \"fq-codel\"\nnear_empty = \"{near_empty}\""),
            seconds: 20,
        }
        .run();
        backlog(&taken, 10, 10.0)
    };
    // A segment each: 1538 bytes of framing, 1.23 ms of the line.
    let one = "window = \"1448B\"\ntcp = { delayed_acks = \"none\" }\n";
    let (flow, all) = (standing("flow", one), standing("all", one));
    println!("one segment each: {flow:.1} ms per flow, {all:.1} ms of all");
    assert!((110.0..124.0).contains(&flow), "{flow}");
    assert!(all < 0.5 * flow, "{all}");
    // Whole windows, of two segments at least.
    let (flow, all) = (standing("flow", ""), standing("all", ""));
    println!("whole windows: {flow:.1} ms per flow, {all:.1} ms of all");
    assert!(all < flow);
}

#[test]
fn pie_holds_the_delay_of_tcp_near_its_target() {
    for (congestion, streams, options) in [
        ("reno", 5, ""),
        ("cubic", 5, ""),
        ("cubic", 20, ""),
        ("cubic", 5, "tcp = { ecn = true }\n"),
    ] {
        let taken = Line {
            rate: "20Mbit/s",
            propagation: "20ms",
            loads: &(tcp(2, congestion, streams) + options),
            switch: "discipline = \"pie\"",
            seconds: 40,
        }
        .run();
        let (stood, echo) = (backlog(&taken, 10, 20.0), wait(&taken, 10));
        let busy = taken.series_of("utilisation", "s1→s2", 10_000_000_000).0;
        let lost: u64 = taken.counts.dropped.values().sum();
        println!(
            "{streams} {congestion} {options}: backlog {stood:.1} ms, echoes {echo:.1} ms, busy {busy:.3}, {lost} dropped"
        );
        assert!((13.0..17.0).contains(&stood), "{stood}");
        assert!((13.0..17.0).contains(&echo), "{echo}");
        assert!(busy > 0.98, "{busy}");
    }
}
