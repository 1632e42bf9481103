//! Active queue management under TCP: where its queues settle, and who gets what of the line.

use crate::common::{Taken, every, mean, poisson, probe, run, trial};

/// Loads from hosts of their own over one line, and two probes beside them, one of them ECT(1).
pub struct Line<'a> {
    pub rate: &'a str,
    /// One way.
    pub propagation: &'a str,
    /// Of the access line of host a3.
    pub apart: &'a str,
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
    {{ name = "in3", from = "a3", to = "s1", propagation = "{apart}" }},
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
            apart = self.apart,
            switch = self.switch,
        );
        let probes = [("echo", 0), ("l4s", 1)].map(|(name, ecn)| {
            let mut echo = probe(name, 100, every(20_000_000), self.seconds * 50);
            (echo.from, echo.to) = (Some("a1".to_owned()), Some("b1".to_owned()));
            echo.ecn = ecn;
            echo
        });
        run(&trial(&sections, probes.into()))
    }
}

/// A load of TCP between the hosts of this number.
pub fn tcp(pair: u32, congestion: &str, streams: u32) -> String {
    format!(
        "[[load]]\nname = \"bulk{pair}\"\nkind = \"tcp\"\nfrom = \"a{pair}\"\nto = \"b{pair}\"\nstreams = {streams}\nstagger = \"13ms\"\ncongestion_control = \"{congestion}\"\n"
    )
}

/// Mean wait of a probe's packets at the line from a second on, in milliseconds.
pub fn wait(taken: &Taken, probe: u16, from: u64) -> f64 {
    let late = taken
        .hops
        .iter()
        .filter(|hop| hop.probe == probe && &*hop.port == "s1→s2" && hop.seq >= from * 50);
    let waits: Vec<f64> = late
        .map(|hop| (hop.t_dequeue - hop.t_enqueue) as f64)
        .collect();
    mean(&waits) / 1e6
}

/// What gets to the host of this number from a second on, in Mbit/s.
pub fn rate(taken: &Taken, host: u32, from: i64) -> f64 {
    let port = format!("s2→b{host}");
    taken
        .series_of("utilisation", &port, from * 1_000_000_000)
        .0
        * 1_000.0
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
            apart: "0us",
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
            apart: "0us",
            loads: &(tcp(2, congestion, streams) + options),
            switch: "discipline = \"pie\"",
            seconds: 25,
        }
        .run();
        let (stood, echo) = (backlog(&taken, 10, 20.0), wait(&taken, 0, 10));
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

#[test]
fn prague_and_classic_flows_share_a_line_behind_dualpi2_and_prague_hardly_waits() {
    let marked = "tcp = { ecn = true }\n";
    for (classic, streams, options) in [
        ("reno", 1, ""),
        ("cubic", 1, ""),
        ("reno", 5, marked),
        ("cubic", 5, ""),
    ] {
        let taken = Line {
            rate: "40Mbit/s",
            propagation: "5ms",
            apart: "0us",
            loads: &format!(
                "{}{options}{}",
                tcp(2, classic, streams),
                tcp(3, "prague", streams)
            ),
            switch: "discipline = \"dualpi2\"",
            seconds: 25,
        }
        .run();
        let [slow, fast] = [0, 1].map(|probe| wait(&taken, probe, 10));
        let [one, other] = [2, 3].map(|host| rate(&taken, host, 10));
        let busy = taken.series_of("utilisation", "s1→s2", 10_000_000_000).0;
        println!(
            "{streams} {classic} {options:?}: {one:.1} and Prague {other:.1} Mbit/s, \
                 Classic {slow:.2} ms, L4S {fast:.2} ms, busy {busy:.3}"
        );
        let ratio = other / one;
        assert!((0.65..1.5).contains(&ratio), "{ratio}");
        assert!((13.0..17.0).contains(&slow), "{slow}");
        assert!(fast < 1.0, "{fast}");
        assert!(busy > 0.98, "{busy}");
    }
}

/// A run of loads from 10 s on: how often the line dropped or marked, and what the loads were.
struct Stationary {
    taken: Taken,
    seconds: u64,
}

impl Stationary {
    const FROM: u64 = 10;
    /// Packets a second of each of the two probes.
    const PROBE: f64 = 50.0;

    fn run(loads: &str, switch: &str, rate: &str) -> Self {
        let seconds = 70;
        let line = Line {
            rate,
            propagation: "20ms",
            apart: "0us",
            loads,
            switch,
            seconds,
        };
        let taken = line.run();
        Self { taken, seconds }
    }

    /// Events a second: `drops` or `marks` of the line.
    fn rate_of(&self, series: &str) -> f64 {
        let from = Self::FROM as i64 * 1_000_000_000;
        let (_, least, most) = self.taken.series_of(series, "s1→s2", from);
        (most - least) / (self.seconds - Self::FROM) as f64
    }

    /// Segments a second of the load of this number, all its streams together.
    fn segments(&self, pair: u32) -> f64 {
        let from = Self::FROM as i64 * 1_000_000_000;
        let load = format!("bulk{pair}");
        self.taken.series_of("load_goodput", &load, from).0 / (8.0 * 1_448.0)
    }

    /// The round trip of packets that wait at the line as Classic echoes do, in seconds.
    fn round_trip(&self) -> f64 {
        (40.0 + wait(&self.taken, 0, Self::FROM)) / 1e3
    }
}

/// Reno's window is 1.22/√p where losses are spread evenly, as PIE spreads them, and 1.31/√p where they are drawn, as DualPI2
/// draws them (Mathis et al., "The macroscopic behavior of the TCP congestion avoidance algorithm", 1997). DualPI2 marks L4S
/// packets with k·√p_C, k = 2 (RFC 9332 §2.1).
#[test]
fn renos_window_and_the_marks_of_l4s_are_those_of_the_published_laws() {
    let near =
        |value: f64, law: f64| assert!((value / law - 1.0).abs() < 0.15, "{value}, not {law}");
    let pie = Stationary::run(&tcp(2, "reno", 5), "discipline = \"pie\"", "20Mbit/s");
    let dropped = pie.rate_of("drops");
    let p = dropped / (pie.segments(2) + 2.0 * Stationary::PROBE + dropped);
    let window = pie.segments(2) * pie.round_trip() / 5.0;
    println!(
        "PIE: p {p:.5}, {window:.1} segments: {:.2}/√p",
        window * p.sqrt()
    );
    near(window * p.sqrt(), 1.22);

    let loads = tcp(2, "reno", 3) + &tcp(3, "prague", 3);
    let dual = Stationary::run(&loads, "discipline = \"dualpi2\"", "40Mbit/s");
    let dropped = dual.rate_of("drops");
    let p = dropped / (dual.segments(2) + Stationary::PROBE + dropped);
    let marked = dual.rate_of("marks") / (dual.segments(3) + Stationary::PROBE);
    let window = dual.segments(2) * dual.round_trip() / 3.0;
    println!(
        "DualPI2: p_C {p:.5}, {window:.1} segments: {:.2}/√p_C",
        window * p.sqrt()
    );
    println!("p_L {marked:.4}: {:.2}·√p_C", marked / p.sqrt());
    near(window * p.sqrt(), 1.31);
    near(marked / p.sqrt(), 2.0);
}

#[test]
fn pragues_rate_does_not_depend_on_round_trips_below_25_ms() {
    let taken = Line {
        rate: "40Mbit/s",
        propagation: "1ms",
        apart: "8ms",
        loads: &(tcp(2, "prague", 2) + &tcp(3, "prague", 2)),
        switch: "discipline = \"dualpi2\"",
        seconds: 25,
    }
    .run();
    let [short, long] = [2, 3].map(|host| rate(&taken, host, 10));
    println!("round trips of 2 and 18 ms: {short:.1} and {long:.1} Mbit/s");
    assert!((0.75..1.33).contains(&(short / long)), "{short} {long}");
}

#[test]
fn cake_shapes_is_fair_between_hosts_and_keeps_delays_low() {
    // One connection from a2 and eight from a3.
    let of = |isolation: &str| {
        Line {
            rate: "40Mbit/s",
            propagation: "10ms",
            apart: "0us",
            loads: &(tcp(2, "cubic", 1) + &tcp(3, "cubic", 8)),
            switch: &format!(
                "discipline = \"cake\"\ncake = {{ rate = \"20Mbit/s\", overhead = \"38B\", isolation = \"{isolation}\" }}"
            ),
            seconds: 30,
        }
        .run()
    };
    for (isolation, expected) in [("triple", 10.0), ("flows", 20.0 / 9.0)] {
        let taken = of(isolation);
        let [one, eight] = [2, 3].map(|host| rate(&taken, host, 10));
        let echo = wait(&taken, 0, 10);
        println!("{isolation}: {one:.2} and {eight:.2} Mbit/s, the echo waits {echo:.2} ms");
        assert!((one / expected - 1.0).abs() < 0.1, "{isolation}: {one}");
        // Of 20 Mbit/s by Ethernet's framing the echoes have 0.07.
        assert!((19.0..20.01).contains(&(one + eight)), "{one} {eight}");
        assert!(echo < 2.0, "{echo}");
    }
}

#[test]
fn codel_behind_a_shaper_holds_its_target_and_a_fifo_its_buffer() {
    let of = |switch: &str| {
        let taken = Line {
            rate: "1Gbit/s",
            propagation: "10ms",
            apart: "0us",
            loads: &tcp(2, "cubic", 4),
            switch,
            seconds: 30,
        }
        .run();
        (wait(&taken, 0, 10), rate(&taken, 2, 10))
    };
    let shaper = "shaper = { rate = \"20Mbit/s\", burst = \"10kB\", header = \"38B\" }";
    let (fifo, through) = of(&format!(
        "discipline = \"fifo\"\nbuffer = \"250kB\"\n{shaper}"
    ));
    println!("fifo: {fifo:.1} ms, {through:.2} Mbit/s");
    // 250 kB at 20 Mbit/s are 100 ms.
    assert!((60.0..101.0).contains(&fifo), "{fifo}");
    assert!((19.5..20.01).contains(&through), "{through}");
    let (codel, through) = of(&format!(
        "discipline = \"codel\"\nbuffer = \"250kB\"\n{shaper}"
    ));
    println!("codel: {codel:.1} ms, {through:.2} Mbit/s");
    assert!((2.0..10.0).contains(&codel), "{codel}");
    assert!((19.0..20.01).contains(&through), "{through}");
}

/// Two probes into a line of 10 Mbit/s behind this discipline, for 20 s: 12.3 Mbit/s of large packets, and a few small ones.
/// Mean waits of both from 5 s on, in milliseconds, and the shares of them that were lost.
fn overloaded(discipline: &str) -> [(f64, f64); 2] {
    let path = format!(
        r#"
[path]
topology = "many-to-one"
senders = 2
rate = "100Mbit/s"
[path.line]
b1 = {{ rate = "10Mbit/s" }}
[path.switch]
discipline = "{discipline}"
"#
    );
    let mut flood = probe("flood", 1_472, every(1_000_000), 20_000);
    (flood.ecn, flood.from, flood.to) = (1, Some("a1".to_owned()), Some("b1".to_owned()));
    let mut few = probe("few", 200, poisson(10_000_000), 2_000);
    (few.from, few.to) = (Some("a2".to_owned()), Some("b1".to_owned()));
    let taken = run(&trial(&path, vec![flood, few]));
    [(0, 5_000), (1, 500)].map(|(probe, from)| {
        let late = taken
            .hops
            .iter()
            .filter(|hop| hop.probe == probe && hop.seq >= from && &*hop.port == "s1→b1");
        let waits: Vec<f64> = late
            .map(|hop| (hop.t_dequeue - hop.t_enqueue) as f64 / 1e6)
            .collect();
        let sent = taken
            .records
            .iter()
            .filter(|record| record.probe == probe && record.seq >= from);
        let passed = waits.len() as f64 / sent.count() as f64;
        (mean(&waits), 1.0 - passed)
    })
}

#[test]
fn an_l4s_load_that_ignores_marks_waits_near_the_target_and_classic_with_it() {
    let [(flood, lost), (few, few_lost)] = overloaded("dualpi2");
    println!("L4S {flood:.1} ms, {lost:.3} lost; Classic {few:.1} ms, {few_lost:.3} lost");
    assert!((10.0..20.0).contains(&flood), "{flood}");
    assert!(few < 20.0, "{few}");
    // The line takes 10 of 12.5 Mbit/s; both are dropped alike (RFC 9332, 2.5.1).
    assert!(
        (0.15..0.35).contains(&lost) && few_lost < 0.35,
        "{lost} {few_lost}"
    );
}

#[test]
fn flows_below_their_share_lose_nothing_behind_queues_of_flows() {
    for discipline in ["per-flow", "drr", "wrr", "wfq"] {
        let [(_, lost), (few, few_lost)] = overloaded(discipline);
        assert!(lost > 0.15, "{discipline}: {lost}");
        assert!(
            few_lost == 0.0 && few < 3.0,
            "{discipline}: {few_lost}, {few} ms"
        );
    }
    let [_, (_, few_lost)] = overloaded("fifo");
    assert!(few_lost > 0.05, "{few_lost}");
}
