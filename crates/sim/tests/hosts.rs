//! What hosts do to packets: conditions differ, waits matter, and no distance makes the host noisier.

use crate::common::{Taken, mean, probe, run, trial};
use delaylab_model::Nanos;
use delaylab_model::noise::NoiseKind;
use delaylab_model::probe::{HostCondition, Pacing};
use delaylab_model::trial::Trial;

/// A closed loop to a switch that sends everything back, over links of this delay.
fn closed_loop(host: &str, propagation: &str, wait: Nanos, count: u64) -> Trial {
    let path = format!(
        "[path]\ntopology = \"switch-loopback\"\nrate = \"155.52Mbit/s\"\npropagation = \"{propagation}\"\n[path.host]\n{host}"
    );
    trial(
        &path,
        vec![probe("echo", 64, Pacing::Wait { wait_ns: wait }, count)],
    )
}

fn in_condition(mut trial: Trial, condition: HostCondition, seed: u64) -> Taken {
    (trial.host, trial.seed) = (condition, seed);
    run(&trial)
}

fn sd(values: &[f64]) -> f64 {
    let centre = mean(values);
    let squares: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    (squares / (values.len() - 1) as f64).sqrt()
}

/// The larger half of a spread that a few long delays do not move.
fn width(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() * 9 / 10] - values[values.len() / 10]
}

const LINUX: &str = "noise = \"linux\"";
const MILLI: Nanos = 1_000_000;

#[test]
fn every_condition_has_a_spread_of_its_own() {
    let sds = HostCondition::ALL.map(|condition| {
        let taken = in_condition(closed_loop(LINUX, "0ms", MILLI, 3000), condition, 1);
        sd(&taken.responses(0, 0))
    });
    let [normal, quiet, stressed] = sds;
    assert!(quiet > 5_000.0, "{sds:?}");
    assert!(normal > quiet, "{sds:?}");
    assert!(stressed > 2.0 * normal, "{sds:?}");
}

#[test]
fn trials_of_another_seed_are_others_and_those_of_one_seed_the_same() {
    let taken =
        |condition, seed| in_condition(closed_loop(LINUX, "0ms", MILLI, 200), condition, seed);
    let first = taken(HostCondition::Quiet, 1);
    assert_eq!(first, taken(HostCondition::Quiet, 1));
    assert_ne!(first.hash, taken(HostCondition::Quiet, 2).hash);
    assert_ne!(first.hash, taken(HostCondition::Normal, 1).hash);
    assert_ne!(
        taken(HostCondition::Normal, 1).hash,
        taken(HostCondition::Stressed, 1).hash
    );
}

/// Seed 002, finding 1: who waits sleeps, and is woken late once more.
#[test]
fn a_wait_before_the_next_packet_widens_the_distribution() {
    for condition in [HostCondition::Quiet, HostCondition::Normal] {
        let widths = [0, MILLI, 100 * MILLI].map(|wait| {
            let taken = in_condition(closed_loop(LINUX, "2.5ms", wait, 3000), condition, 1);
            width(taken.responses(0, 0))
        });
        assert!(widths[1] > 1.15 * widths[0], "{condition:?}: {widths:?}");
        assert!(widths[2] > 1.15 * widths[0], "{condition:?}: {widths:?}");
    }
}

/// The set-up of source 002. A daemon of a strict period beats with the closed loop: on one of two paths it meets many
/// packets, on the other hardly any.
#[test]
fn a_longer_path_does_not_meet_a_daemon_more_often() {
    let variances = |strict: &str| {
        ["0ms", "2.5ms"].map(|propagation| {
            let path = format!(
                "[path]\ntopology = \"switch-loopback\"\nframing = \"aal5\"\nrate = \"155.52Mbit/s\"\n\
                 propagation = \"{propagation}\"\nshaper = {{ cbr = \"1Mbit/s\" }}\n\
                 [[path.host.daemon]]\nname = \"daemon\"\nevery = \"55ms\"\nbusy = \"1ms\"\n\
                 busy_sd = \"10%\"\n{strict}"
            );
            let of_seed = |seed| {
                let echo = probe("echo", 9154, Pacing::Wait { wait_ns: MILLI }, 1000);
                let taken = in_condition(trial(&path, vec![echo]), HostCondition::Normal, seed);
                sd(&taken.responses(0, 0)).powi(2)
            };
            (1..=5).map(of_seed).collect::<Vec<f64>>()
        })
    };
    let [lan, wan] = variances("");
    let ratio = mean(&wan) / mean(&lan);
    assert!((0.8..1.25).contains(&ratio), "{ratio}: {lan:?} {wan:?}");
    let longer = wan.iter().zip(&lan).filter(|(wan, lan)| wan > lan);
    assert!((1..5).contains(&longer.count()), "{lan:?} {wan:?}");
    // It is the period that did it.
    let [lan, wan] = variances("every_sd = \"0%\"");
    let ratio = mean(&wan) / mean(&lan);
    assert!(!(0.5..2.0).contains(&ratio), "{ratio}: {lan:?} {wan:?}");
}

#[test]
fn what_disturbs_the_measuring_host_is_in_its_noise() {
    let host =
        "noise = \"linux\"\nclock_read = { cost = \"20ns\", slow_share = \"1%\", slow = \"10ms\" }";
    let taken = in_condition(
        closed_loop(host, "0ms", 10 * MILLI, 2000),
        HostCondition::Normal,
        1,
    );
    let count = |kind| {
        taken
            .noise
            .iter()
            .filter(|event| event.kind == kind)
            .count()
    };
    assert!(count(NoiseKind::Scheduled) > 100);
    assert!(count(NoiseKind::Interrupt) > 5);
    let slow = count(NoiseKind::SlowClockRead);
    assert!((20..80).contains(&slow), "{slow}");
    let reads: u64 = taken.clock_reads.iter().map(|bin| bin.count).sum();
    assert_eq!(reads, 4000);
    let dearest = taken.clock_reads.iter().map(|bin| bin.to_ns).max();
    assert!(dearest.unwrap() > 10 * MILLI);
}

/// An ideal host costs nothing, and says so where the experiment asks for a condition.
#[test]
fn a_host_without_noise_cannot_be_stressed() {
    let warnings = |host: &str, condition| {
        let taken = in_condition(closed_loop(host, "0ms", MILLI, 20), condition, 1);
        taken.facts[0].warnings.join(" ")
    };
    assert!(warnings("", HostCondition::Stressed).contains("path.host.noise"));
    assert_eq!(warnings("", HostCondition::Quiet), "");
    assert_eq!(warnings(LINUX, HostCondition::Stressed), "");
}
