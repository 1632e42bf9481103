//! The simulation against closed forms and independent figures (simulator.md). Each tolerance is written
//! down with its reason.

use crate::common::{every, largest, mean, poisson, probe, run, trial};
use delaylab_model::dscp::Dscp;
use delaylab_model::load::Packet;
use delaylab_model::{PICOS_PER_NANO, Picos};

/// Of a 53-byte cell at 155.52 Mbit/s.
const CELL_NS: f64 = 424e9 / 155.52e6;

/// Fast links into a switch with one slow link out: arrivals at its queue are as random as they are sent.
const SINGLE_QUEUE: &str = r#"
[path]
framing = "aal5"
rate = "100Gbit/s"
node = [
    { name = "a", kind = "host" },
    { name = "s", kind = "switch", switch = { discipline = "fifo", buffer = "unlimited" } },
    { name = "b", kind = "host" },
]
link = [
    { name = "in", from = "a", to = "s" },
    { name = "out", from = "s", to = "b", rate = "155.52Mbit/s" },
]
"#;

/// Waits at the queue of cells that come at random (one-cell packets of 40 bytes).
fn waits_at(load: f64, cells: u64) -> f64 {
    // One cell takes 100 µs, so that a mean gap in whole nanoseconds is exact enough.
    let sections = SINGLE_QUEUE.replace("155.52Mbit/s", "4.24Mbit/s");
    let gap = (100_000.0 / load) as i64;
    // Several streams, for waits within one are long remembered.
    let mut trial = trial(&sections, vec![probe("cells", 12, poisson(gap), cells / 8)]);
    let waits = (1..=8).map(|seed| {
        trial.seed = seed;
        mean(&run(&trial).waits(0, "s→b")) / 100_000.0
    });
    let waits: Vec<f64> = waits.collect();
    mean(&waits)
}

/// Loads, cells, and how far off their waits may be.
fn waits_are_those_of_m_d_1(cases: &[(f64, u64, f64)]) {
    for &(load, cells, tolerance) in cases {
        let expected = load / (2.0 * (1.0 - load));
        let seen = waits_at(load, cells);
        println!("M/D/1 at {load}: {seen:.4} cells, exactly {expected:.4}");
        assert!(
            (seen / expected - 1.0).abs() < tolerance,
            "{load}: {seen} {expected}"
        );
    }
}

#[test]
fn m_d_1() {
    // ρ/(2(1−ρ)) services. The closer to 1, the longer waits are remembered: between streams of 125,000
    // cells they differ by 5 % at ρ = 0.95 (one standard deviation), by 2 % at 0.9, 1 % below. Three
    // standard deviations of the mean of eight; of a quarter of the cells, six.
    waits_are_those_of_m_d_1(&[(0.5, 250_000, 0.02), (0.9, 1_000_000, 0.025)]);
}

#[test]
fn m_g_1() {
    // Pollaczek and Khinchine with two sizes: λE[S²]/(2(1−ρ)). 3 % of half a million packets.
    let gaps = [200_000, 300_000];
    let sizes = [1000, 9000];
    let probes = (0..2).map(|i| {
        probe(
            "p",
            sizes[i],
            poisson(gaps[i]),
            1_000_000 * 200_000 / gaps[i] as u64 / 2,
        )
    });
    let sections = SINGLE_QUEUE
        .replace("aal5\"", "ppp\"\nmtu = \"9188B\"")
        .replace("155.52Mbit/s", "400Mbit/s");
    let taken = run(&trial(&sections, probes.collect()));
    let service = |payload: u32| f64::from(payload + 28 + 2) * 8.0 / 400e6 * 1e9;
    let rate = |i: usize| 1.0 / gaps[i] as f64;
    let load: f64 = (0..2).map(|i| rate(i) * service(sizes[i])).sum();
    let residual: f64 = (0..2)
        .map(|i| rate(i) * service(sizes[i]).powi(2) / 2.0)
        .sum();
    let expected = residual / (1.0 - load);
    for i in 0..2 {
        let seen = mean(&taken.waits(i, "s→b"));
        println!("M/G/1 at {load:.3}, class {i}: {seen:.0} ns, exactly {expected:.0}");
        assert!((seen / expected - 1.0).abs() < 0.03, "{seen} {expected}");
    }
}

#[test]
fn m_m_1() {
    // ρ/(1−ρ) services behind exponential sizes. A replay has them; Poisson probes of the least size see
    // what arrivals see (PASTA). Sizes are whole bytes from 1 to 60,000, mean 1000: within 3 %.
    let mut random = delaylab_stats::random::SplitMix::new(5);
    let mut at = 0.0;
    let mut packets = Vec::new();
    let (mean_size, gap, rate) = (1000.0, 25_000.0, 400e6);
    let mut bits = 0.0;
    for _ in 0..800_000 {
        at += -gap * random.uniform().ln();
        let size = (-mean_size * random.uniform().ln()).ceil().min(60_000.0);
        bits += (size + 2.0) * 8.0;
        packets.push(Packet {
            at: at.round() as Picos * PICOS_PER_NANO,
            bytes: size as u32,
        });
    }
    let load = bits / rate / (at / 1e9);
    let sections = SINGLE_QUEUE
        .replace("aal5\"", "ppp\"\nmtu = \"65000B\"")
        .replace("155.52Mbit/s", "400Mbit/s")
        + "[[load]]\nname = \"random\"\nkind = \"replay\"";
    let probes = vec![probe("p", 0, poisson(1_000_000), 20_000)];
    let mut trial = trial(&sections, probes);
    trial.loads[0].trace = Some(packets.into());
    let taken = run(&trial);
    let service = (mean_size + 2.0) * 8.0 / rate * 1e9;
    let expected = load / (1.0 - load) * service;
    let seen = mean(&taken.waits(0, "s→b"));
    println!("M/M/1 at {load:.3}: {seen:.0} ns, exactly {expected:.0}");
    assert!((seen / expected - 1.0).abs() < 0.05, "{seen} {expected}");
}

/// Non-preemptive: W_k = ½Σλ_i E[S_i²] / ((1−σ_{k−1})(1−σ_k)).
fn priorities_wait_as_cobham_says_at(megabits: u32, seconds: u64) {
    let classes = ["ef", "be", "cs1"];
    let (gaps, sizes) = ([60_000, 50_000, 70_000], [300_u32, 700, 1100]);
    let probes = (0..3).map(|i| {
        let mut probe = probe(
            classes[i],
            sizes[i],
            poisson(gaps[i]),
            seconds * 1_000_000_000 / gaps[i] as u64,
        );
        probe.dscp = classes[i].parse::<Dscp>().unwrap();
        probe
    });
    let sections = SINGLE_QUEUE
        .replace("aal5\"", "ppp\"")
        .replace("155.52Mbit/s", &format!("{megabits}Mbit/s"))
        .replace("fifo", "priority");
    let taken = run(&trial(&sections, probes.collect()));
    let service = |i: usize| f64::from(sizes[i] + 30) * 8e3 / f64::from(megabits);
    let loads: Vec<f64> = (0..3).map(|i| service(i) / gaps[i] as f64).collect();
    let residual: f64 = (0..3).map(|i| loads[i] * service(i) / 2.0).sum();
    for class in 0..3 {
        let before: f64 = loads[..class].iter().sum();
        let expected = residual / ((1.0 - before) * (1.0 - before - loads[class]));
        let seen = mean(&taken.waits(class as u16, "s→b"));
        println!("Cobham, class {class}: {seen:.0} ns, exactly {expected:.0}");
        assert!(
            (seen / expected - 1.0).abs() < 0.05,
            "{class}: {seen} {expected}"
        );
    }
}

#[test]
fn priorities_wait_as_cobham_says() {
    // Two thirds of the line are used, so that waits are soon forgotten. 5 % for every class.
    priorities_wait_as_cobham_says_at(430, 6);
}

#[test]
fn cells_form_a_pipeline() {
    // (n + h − 1)·t_c + Σ(propagation + latency) one way, to the picosecond. At 424 Mbit/s a cell takes
    // one microsecond; stamps are whole nanoseconds, so the sum is exact.
    for hops in [1, 2, 5] {
        let sections = format!(
            "[path]\ntopology = \"chain\"\nhops = {hops}\nframing = \"aal5\"\nrate = \"424Mbit/s\"\npropagation = \"3us\"\nswitch = {{ latency = \"7us\" }}"
        );
        for (payload, cells) in [(12, 1), (64, 3), (1024, 23), (2048, 44)] {
            let taken = run(&trial(
                &sections,
                vec![probe("p", payload, every(1_000_000), 3)],
            ));
            let links = hops + 1;
            let one_way = (cells + links - 1) * 1000 + links * 3000 + hops * 7000;
            for record in &taken.records {
                assert_eq!(
                    record.r_rx.unwrap() - record.t_tx.unwrap(),
                    one_way,
                    "{hops} {payload}"
                );
                assert_eq!(record.response().unwrap(), 2 * one_way);
            }
        }
    }
}

const BULK: &str = r#"
[[load]]
name = "bulk"
kind = "tcp"
streams = 3
congestion_control = "reno-1995"
window = "64KiB"
[path]
topology = "pairs-on-a-trunk"
framing = "aal5"
rate = "155.52Mbit/s"
propagation = "5us"
[path.switch]
latency = "12us"
discipline = "fifo"
buffer = "13000cells"
"#;

#[test]
fn a_window_limited_fifo_holds_the_windows() {
    // Backlog = ΣW − bandwidth·delay. A window of 65,536 B is 7 whole segments of 9148 B, and the silly
    // window rule may send what is left over: 7 × 192 cells to 65,536/9148 × 192; the pipe itself holds
    // 3 links of 5 µs, 2 switches of 12 µs, and what is being sent on the hosts' links. 3 %.
    let taken = run(&trial(BULK, vec![probe("p", 64, every(5_000_000), 1000)]));
    let (backlog, _, most) = taken.series_of("backlog", "s1→s2", 1_000_000_000);
    println!("three windows of 64 KiB: backlog {backlog:.0} cells, at most {most:.0}");
    let windows = 3.0 * 7.0 * 192.0;
    assert!(
        backlog < windows * 1.03 && backlog > windows * 0.75,
        "{backlog} of {windows}"
    );
    // What the echo waits is that backlog.
    let response = mean(&taken.responses(0, 200));
    assert!(
        (response / (backlog * CELL_NS) - 1.0).abs() < 0.05,
        "{response}"
    );
}

#[test]
fn per_vc_shares_the_line_and_fifo_does_not() {
    // 23 cells against three backlogged channels take about 23·4·t_c; 13,000 cells in a FIFO 35.4 ms.
    let sections = BULK.replace("\"fifo\"", "\"per-flow\"");
    let taken = run(&trial(
        &sections,
        vec![probe("p", 1024, every(5_000_000), 400)],
    ));
    let waits = taken.hops.iter().filter(|hop| &*hop.port == "s1→s2");
    let waits: Vec<_> = waits.filter(|hop| hop.seq >= 200).collect();
    // From the first cell's arrival to the last one's departure: the last one's wait, and the 22 cells
    // between the first and it.
    let passage: Vec<f64> = waits
        .iter()
        .map(|hop| (hop.t_dequeue - hop.t_enqueue) as f64 + 22.0 * CELL_NS)
        .collect();
    let expected = 23.0 * 4.0 * CELL_NS;
    let seen = mean(&passage);
    println!("per-VC: {seen:.0} ns for 23 cells, about {expected:.0}");
    assert!((seen / expected - 1.0).abs() < 0.1, "{seen} {expected}");

    let sections = BULK
        .replace("64KiB", "1MiB")
        .replace("streams = 3", "streams = 6");
    let mut echo = probe("p", 64, every(5_000_000), 600);
    // Where one is lost, the load goes on for as long.
    echo.timeout = 100_000_000;
    let taken = run(&trial(&sections, vec![echo]));
    let longest = largest(&taken.waits(0, "s1→s2"));
    println!(
        "FIFO of 13,000 cells: at most {:.2} ms, its length is {:.2}",
        longest / 1e6,
        13_000.0 * CELL_NS / 1e6
    );
    // The queue fills up, and an echo every 5 ms comes within 3 % of when it is full.
    assert_eq!(taken.series_of("backlog", "s1→s2", 0).2, 13_000.0);
    let full = 13_000.0 * CELL_NS;
    assert!(longest <= full && longest > 0.97 * full, "{longest}");
}

/// simulator.md's dumbbell.
fn dumbbell(streams: u32) -> crate::common::Taken {
    let sections = format!(
        r#"
[[load]]
name = "bulk"
kind = "tcp"
streams = {streams}
congestion_control = "ns-3"
window = "65536B"
payload = "8192B"
stagger = "100ms"
[path]
topology = "pairs-on-a-trunk"
framing = "ppp"
rate = "155.52Mbit/s"
propagation = "5us"
mtu = "9188B"
[path.switch]
discipline = "fifo"
buffer = "624000B"
"#
    );
    run(&trial(
        &sections,
        vec![probe("echo", 1024, every(5_000_000), 2000)],
    ))
}

#[test]
fn ns3_without_load_is_met_exactly() {
    let taken = dumbbell(0);
    // 6 × 1054 bytes and 6 × 5 µs: 355.30864 µs. Stamps are whole nanoseconds.
    assert!(
        taken
            .responses(0, 0)
            .iter()
            .all(|&response| response == 355_308.0)
    );
}

#[test]
fn ns3_beside_tcp_is_met_within_a_percent() {
    for (streams, mean_us, max_us) in [(1, 2162.0, 2389.0), (3, 9070.0, 9285.0)] {
        let responses = dumbbell(streams).responses(0, 100);
        let (seen, most) = (mean(&responses) / 1e3, largest(&responses) / 1e3);
        println!(
            "ns-3 beside {streams}: mean {seen:.1} µs of {mean_us}, max {most:.1} of {max_us}"
        );
        assert!((seen / mean_us - 1.0).abs() < 0.01, "{seen} {mean_us}");
        assert!((most / max_us - 1.0).abs() < 0.02, "{most} {max_us}");
    }
}

/// The same for longer and closer to what the line takes, in `make test-all`.
mod long {
    use super::*;

    #[test]
    fn m_d_1_close_to_what_the_line_takes() {
        waits_are_those_of_m_d_1(&[
            (0.5, 1_000_000, 0.01),
            (0.8, 1_000_000, 0.015),
            (0.9, 1_000_000, 0.025),
            (0.95, 1_000_000, 0.055),
        ]);
    }

    #[test]
    fn priorities_wait_as_cobham_says_where_five_sixths_of_the_line_are_used() {
        priorities_wait_as_cobham_says_at(350, 20);
    }
}
