//! Ways to simulate that must not differ: queues served when somebody could tell or at every departure,
//! one event set or the other. And what must hold for every discipline under random traffic.

use crate::common::{Taken, every, poisson, probe, run, run_with, trial};
use delaylab_model::Nanos;
use delaylab_model::hop::Hop;
use delaylab_model::method::Method;
use delaylab_model::path::Discipline;
use delaylab_model::trial::Trial;
use delaylab_sim::engine::{Counts, Serving};
use delaylab_sim::event_set::{Ordered, Tournament};
use proptest::prelude::*;

/// Disciplines as `[path.switch]` has them, for packets. One that stands neither here nor among those for cells is tested too,
/// without parameters.
const DISCIPLINES: &[&str] = &[
    "discipline = \"fifo\"\nbuffer = \"20packets\"",
    "discipline = \"fifo\"\nbuffer = \"30kB\"\npool = \"shared\"",
    "discipline = \"per-flow\"\nbuffer = \"20packets\"",
    "discipline = \"drr\"\nbuffer = \"20packets\"",
    "discipline = \"priority\"\nbuffer = \"20packets\"",
    "discipline = \"wrr\"\nbuffer = \"20packets\"",
    "discipline = \"wfq\"\nbuffer = \"20packets\"",
    "discipline = \"red\"\nbuffer = \"60packets\"",
    "discipline = \"codel\"\nbuffer = \"100packets\"",
    "discipline = \"fq-codel\"\nbuffer = \"100packets\"",
    "discipline = \"fq-codel\"\nbuffer = \"100packets\"\nnear_empty = \"all\"",
    "discipline = \"pie\"\nbuffer = \"100packets\"\npie = { burst = \"15ms\" }",
    "discipline = \"dualpi2\"\nbuffer = \"100packets\"",
    "discipline = \"cake\"\nbuffer = \"150kB\"",
    "discipline = \"cake\"\nbuffer = \"150kB\"\ncake = { rate = \"50Mbit/s\", overhead = \"44B\", isolation = \"flows\" }",
    "buffer = \"40kB\"\nshaper = { rate = \"30Mbit/s\", burst = \"10kB\" }",
    "discipline = \"codel\"\nbuffer = \"100packets\"\nshaper = { rate = \"30Mbit/s\", burst = \"9kB\", ceil = \"70Mbit/s\" }",
    "flow_control = { kind = \"pause\", xoff = \"30kB\" }",
    "discipline = \"wfq\"\nweights = { best-effort = 2 }\nflow_control = { kind = \"pfc\", xoff = \"20kB\", quanta = 100, priorities = [\"best-effort\"] }",
    "buffer = \"20packets\"\npolicer = { rate = \"30Mbit/s\", burst = \"10kB\" }",
];

/// Loads go on for as long after the last packet, where one is lost: longer than any queue is.
const TIMEOUT: Nanos = 200_000_000;

const CELL_DISCIPLINES: &[(&str, &str)] = &[
    (
        "discipline = \"fifo\"\nbuffer = \"1000cells\"\npool = \"shared\"",
        "",
    ),
    (
        "discipline = \"per-flow\"\nbuffer = \"2000cells\"\npool = \"input\"",
        "",
    ),
    ("discipline = \"per-flow\"\nbuffer = \"500cells\"", ""),
    (
        "discipline = \"per-flow\"\nbuffer = \"2000cells\"\ncrossbar = { scheduler = \"pim\" }",
        "",
    ),
    (
        "buffer = \"500cells\"\npacket_discard = \"early\"\ncrossbar = { scheduler = \"islip\", iterations = 1 }",
        "",
    ),
    (
        "buffer = \"30kB\"\ncrossbar = { scheduler = \"fifo\" }\nreset = { at = \"300ms\", lasts = \"20ms\" }",
        "",
    ),
    (
        "discipline = \"efci\"\nbuffer = \"unlimited\"\nthreshold = \"300cells\"",
        "abr = \"eprca-1995\"",
    ),
    (
        "discipline = \"efci\"\nbuffer = \"unlimited\"\nthreshold = \"300cells\"",
        "abr = { preset = \"eprca-1995\", icr = \"155Mbit/s\" }",
    ),
    (
        "discipline = \"explicit-rate\"\nbuffer = \"unlimited\"",
        "abr = { preset = \"eprca-1995\", icr = \"155Mbit/s\" }",
    ),
    ("discipline = \"credit\"\ncredit = { n2 = 10, n3 = 20 }", ""),
    (
        "discipline = \"fifo\"\nbuffer = \"1000cells\"",
        "shaper = { cbr = \"20Mbit/s\" }",
    ),
];

fn packets(switch: &str, seed: u64) -> Trial {
    let sections = format!(
        r#"
[[load]]
name = "bulk"
kind = "tcp"
streams = 2
congestion_control = "newreno"
[[load]]
name = "web"
kind = "on-off"
rate = "60Mbit/s"
payload = "1200B"
class = "ef"
on = "5ms"
off = "10ms"
[path]
topology = "pairs-on-a-trunk"
framing = "ethernet"
rate = "100Mbit/s"
propagation = "20us"
host = {{ per_packet = "5us" }}
[path.switch]
latency = "3us"
{switch}
"#
    );
    let mut trial = trial(
        &sections,
        vec![
            probe("echo", 100, every(1_000_000), 300),
            probe("other", 1000, poisson(700_000), 300),
        ],
    );
    trial.seed = seed;
    for probe in &mut trial.probes {
        probe.timeout = TIMEOUT;
    }
    trial
}

fn cells(switch: &str, path: &str, seed: u64) -> Trial {
    let sections = format!(
        r#"
[[load]]
name = "bulk"
kind = "tcp"
streams = 3
congestion_control = "reno-1995"
[path]
topology = "pairs-on-a-trunk"
framing = "aal5"
rate = "155.52Mbit/s"
propagation = "5us"
host = {{ per_packet = "150us", per_byte = "60ns" }}
{path}
[path.switch]
latency = "12us"
{switch}
"#
    );
    let mut trial = trial(&sections, vec![probe("echo", 512, every(5_000_000), 100)]);
    trial.seed = seed;
    trial.probes[0].timeout = TIMEOUT;
    trial
}

/// Exchanges over TCP whose replies and acknowledgements get lost on a congested way back.
fn exchanges(seed: u64) -> Trial {
    let sections = r#"
[[load]]
name = "back"
kind = "poisson"
rate = "9.8Mbit/s"
payload = "1000B"
from = "b2"
to = "a2"
[path]
topology = "pairs-on-a-trunk"
framing = "ethernet"
rate = "10Mbit/s"
propagation = "1ms"
switch = { buffer = "4packets" }
"#;
    let mut probe = probe("exchange", 300, every(20_000_000), 300);
    probe.method = Method::Tcp;
    let mut trial = trial(sections, vec![probe]);
    trial.seed = seed;
    trial
}

/// Credits that share their line with the cells that they are for.
fn credit_in_a_loop(seed: u64) -> Trial {
    let sections = r#"
[path]
topology = "switch-loopback"
framing = "aal5"
rate = "155.52Mbit/s"
switch = { discipline = "credit", credit = { n2 = 1, n3 = 3 } }
"#;
    let mut trial = trial(sections, vec![probe("echo", 1000, poisson(500_000), 300)]);
    trial.seed = seed;
    trial
}

fn all(seed: u64) -> Vec<Trial> {
    let packets = DISCIPLINES.iter().map(|switch| packets(switch, seed));
    let cells = CELL_DISCIPLINES
        .iter()
        .map(|(switch, path)| cells(switch, path, seed));
    let others = [exchanges(seed), credit_in_a_loop(seed)];
    let mut all: Vec<Trial> = packets.chain(cells).chain(others).collect();
    let unnamed = unnamed(&all, seed);
    all.extend(unnamed);
    all
}

/// A trial for each discipline of switches that none of these has.
fn unnamed(trials: &[Trial], seed: u64) -> Vec<Trial> {
    let switches = trials.iter().filter_map(|trial| trial.path.switch.as_ref());
    let named: Vec<_> = switches.filter_map(|switch| switch.discipline).collect();
    let own = Discipline::ALL.into_iter();
    let own = own.filter(|it| !it.is_of_the_kernel() && !named.contains(it));
    own.map(|discipline| {
        let mut trial = packets("buffer = \"20packets\"", seed);
        if let Some(switch) = &mut trial.path.switch {
            switch.discipline = Some(discipline);
        }
        trial
    })
    .collect()
}

/// Compared part by part: a difference in all of it would fill the screen.
fn assert_same(one: &Taken, other: &Taken, what: &str) {
    assert_eq!(one.hash, other.hash, "{what}: trace hash");
    assert!(one.records == other.records, "{what}: records");
    assert_eq!(one.facts, other.facts, "{what}: facts");
    assert!(one.series == other.series, "{what}: series");
    assert!(one.noise == other.noise, "{what}: noise");
    assert!(sorted(one) == sorted(other), "{what}: hops");
    let counts = |taken: &Taken| Counts {
        events: 0,
        ..taken.counts.clone()
    };
    assert_eq!(counts(one), counts(other), "{what}: counts");
}

/// Hops come when they are noticed, in any order.
fn sorted(taken: &Taken) -> Vec<Hop> {
    let mut hops = taken.hops.clone();
    hops.sort_by_key(|hop| (hop.probe, hop.seq, hop.direction, hop.hop));
    hops
}

#[test]
fn every_way_to_simulate_does_the_same() {
    for (index, trial) in all(7).into_iter().enumerate() {
        does_the_same(&trial, index % 4 == 0);
    }
}

/// Beside the usual way: served at every departure, and with the other event set if that is asked for.
fn does_the_same(trial: &Trial, also_ordered: bool) {
    let usual = run_with::<Tournament>(trial, Serving::Lazy);
    assert!(usual.counts.hops > 1000);
    let what = format!("{:?}", trial.path.switch);
    let eager = run_with::<Tournament>(trial, Serving::Eager);
    assert_same(&usual, &eager, &format!("eager: {what}"));
    if also_ordered {
        let plain = run_with::<Ordered>(trial, Serving::Lazy);
        assert_same(&usual, &plain, &format!("ordered: {what}"));
    }
}

/// The same with every event set, in `make test-all`.
mod long {
    #[test]
    fn every_event_set_does_the_same_for_every_discipline() {
        for trial in super::all(11) {
            super::does_the_same(&trial, true);
        }
    }
}

#[test]
fn another_seed_is_another_simulation() {
    let [one, other] = [1, 2].map(|seed| run(&packets(DISCIPLINES[0], seed)).hash);
    assert_ne!(one, other);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1))]
    /// Of each simulation all that must hold: to simulate is what takes long.
    #[test]
    fn whatever_the_seed_the_bounds_are_kept(seed in any::<u64>()) {
        for trial in all(seed) {
            let taken = run(&trial);
            nothing_is_lost_or_made_up(&trial, &taken)?;
            stamps_are_in_their_order(&taken)?;
            credit_loses_nothing_and_rates_keep_their_bounds(&trial, &taken)?;
        }
    }
}

type Checked = Result<(), TestCaseError>;

fn nothing_is_lost_or_made_up(trial: &Trial, taken: &Taken) -> Checked {
    let counts = &taken.counts;
    let dropped: u64 = counts.dropped.values().sum();
    let accounted = counts.delivered + dropped + counts.under_way;
    prop_assert_eq!(counts.sent, accounted, "{:?}", trial.path.switch);
    // Every packet of every probe ends in one record, in its order.
    for (probe, index) in trial.probes.iter().zip(0..) {
        let records = taken.records.iter();
        let own = records.filter(|record| record.probe == index);
        let seqs: Vec<_> = own.map(|record| record.seq).collect();
        prop_assert_eq!(seqs, (0..probe.count.unwrap()).collect::<Vec<_>>());
    }
    Ok(())
}

fn stamps_are_in_their_order(taken: &Taken) -> Checked {
    for record in taken.records.iter().filter(|record| record.answered()) {
        let stamps = [
            Some(record.t_intended),
            record.t_send,
            record.t_sched,
            record.t_tx,
            record.r_rx,
            record.r_user,
            record.r_tx,
            record.t_rx,
            record.t_recv,
        ];
        // Where the switch sends packets back nobody stamps them.
        let loops = record.r_rx.is_none();
        let stamps: Vec<_> = stamps.into_iter().flatten().collect();
        prop_assert_eq!(stamps.len(), if loops { 6 } else { 9 });
        prop_assert!(stamps.is_sorted(), "{:?}", record);
    }
    Ok(())
}

fn credit_loses_nothing_and_rates_keep_their_bounds(trial: &Trial, taken: &Taken) -> Checked {
    let switch = trial.path.switch.as_ref();
    if switch.is_some_and(|switch| switch.discipline == Some(Discipline::Credit)) {
        prop_assert!(taken.counts.dropped.is_empty());
    }
    // MCR 0.5 and PCR 155 Mbit/s, in whole cells a second.
    let (least, most) = ((0.5e6_f64 / 424.0).floor(), (155e6_f64 / 424.0).ceil());
    for point in taken.series.iter().filter(|point| &*point.series == "acr") {
        prop_assert!(point.min >= least && point.max <= most);
    }
    Ok(())
}
