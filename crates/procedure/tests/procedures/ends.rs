//! Whatever a device does, a plan ends, decides by what it observed alone, and reports numbers.

use crate::device::*;
use delaylab_model::MILLISECOND;
use delaylab_model::path::{Reset, Switch};
use delaylab_model::plan::Planned;
use delaylab_model::quantity::Duration;
use delaylab_procedure::bench::is_step;
use delaylab_procedure::report::Cell;
use delaylab_procedure::{Effort, Options, Procedure, Report, Setup, procedures};
use delaylab_stats::frames::{DelayFigures, FrameFigures, FrameTrial};
use delaylab_stats::random::SplitMix;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn setup_of(name: &str) -> Setup {
    let device = any_device(&mut SplitMix::new(1));
    let mut setup = setup(&device, 3, &[64, 1518], Effort::quick());
    if name == "head-of-line-blocking" {
        setup.streams = vec![stream(0, "free"), stream(0, "full"), stream(1, "full")];
    }
    setup.trial.path.switch = Some(Switch {
        reset: Some(Reset {
            at: Duration(MILLISECOND),
            lasts: Duration(MILLISECOND),
        }),
        ..Switch::default()
    });
    setup
}

fn built(name: &str) -> Box<dyn Procedure> {
    let procedure = procedures().iter().find(|p| p.name == name).unwrap();
    procedure.begin(setup_of(name), Options::default()).unwrap()
}

/// Frames are lost, delayed, doubled and given up as a seed has it.
fn chaos(random: &mut SplitMix, planned: &Planned) -> FrameTrial {
    let streams = planned.trial.probes.iter().map(|probe| {
        let count = probe.count.unwrap();
        let start = probe.frames.unwrap().start;
        let last = start + (probe.expected_duration().unwrap() - start).max(1);
        let lost = match random.next() % 3 {
            0 => random.next() % (count + 1),
            1 => 1,
            _ => 0,
        };
        let received = count - lost.min(count);
        let ns = (random.next() % 1_000_000) as i64;
        let delay = DelayFigures {
            count: received,
            min: ns,
            mean: ns as f64,
            max: ns,
            sd: Some(0.0),
            p50: ns,
            p99: Some(ns),
            p999: Some(ns),
        };
        FrameFigures {
            asked: count,
            sent: count - u64::from(random.next().is_multiple_of(50)),
            received,
            corrupt: random.next() % 2,
            duplicates: random.next() % 3,
            reordered: random.next() % 3,
            first_send: Some(start),
            last_send: Some(last),
            last_lost: (lost > 0).then_some(last),
            delay: (received > 0).then_some(delay),
            longest_silence: None,
            falls_behind: (random.next().is_multiple_of(4))
                .then(|| (random.next() % 3) as f64 / 10.0),
            tagged_delay: (received > 0).then_some(ns),
        }
    });
    let mut trial = FrameTrial::new(streams.collect());
    if random.next().is_multiple_of(40) {
        trial.flaws.push("chance".to_owned());
    }
    trial
}

fn is_sound(report: &Report) {
    assert!(!report.tables.is_empty() && !report.conformance.is_empty());
    for table in &report.tables {
        for row in &table.rows {
            assert_eq!(row.len(), table.columns.len(), "{}", table.title);
            for cell in row {
                assert!(!matches!(cell, Cell::Number(n) if !n.is_finite()));
            }
        }
    }
    let lines = report.figures.iter().flat_map(|figure| &figure.lines);
    for (x, y) in lines.flat_map(|line| &line.points) {
        assert!(x.is_finite() && y.is_finite());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_plan_ends_and_reports(seed in any::<u64>()) {
        for description in procedures() {
            let mut random = SplitMix::new(seed);
            let mut procedure = built(description.name);
            let trials = drive(&mut *procedure, |planned| chaos(&mut random, planned));
            // Two sizes, few repeats, three attempts.
            prop_assert!(trials <= 2000, "{}: {trials}", description.name);
            let report = procedure.result();
            prop_assert_eq!(&report.procedure, description.name);
            is_sound(&report);
        }
    }

    #[test]
    fn a_run_that_was_cut_short_goes_on_as_if_it_had_not_been(seed in any::<u64>(), cut in 0_usize..40) {
        for description in procedures() {
            let mut random = SplitMix::new(seed);
            let mut whole = built(description.name);
            let mut seen: Vec<(Planned, FrameTrial)> = Vec::new();
            drive(&mut *whole, |planned| {
                let trial = chaos(&mut random, planned);
                seen.push((planned.clone(), trial.clone()));
                trial
            });
            let mut resumed = built(description.name);
            for (planned, trial) in seen.iter().take(cut) {
                let again = resumed.next_trials();
                prop_assert_eq!(&again[..], std::slice::from_ref(planned));
                resumed.observe(planned, trial);
            }
            let mut rest = seen.iter().skip(cut);
            drive(&mut *resumed, |planned| {
                let (before, trial) = rest.next().unwrap();
                assert_eq!(before, planned);
                trial.clone()
            });
            prop_assert_eq!(resumed.result(), whole.result());
        }
    }
}

/// Figures tell trials apart by what was asked for, and never by how far the search had come.
#[test]
fn a_trial_is_told_apart_by_its_frame_size_alone() {
    for procedure in procedures() {
        let mut plan = built(procedure.name);
        let planned = plan.next_trials();
        let factors = planned.iter().flat_map(|planned| &planned.factors);
        let told_apart: BTreeSet<_> = factors
            .map(|(name, _)| name.as_str())
            .filter(|name| !is_step(name))
            .collect();
        assert!(
            told_apart == ["frame size"].into() || planned.is_empty(),
            "{}: {told_apart:?}",
            procedure.name
        );
    }
}

#[test]
fn a_report_of_nothing_is_sound() {
    for description in procedures() {
        let report = built(description.name).result();
        is_sound(&report);
        assert!(
            report
                .notes
                .iter()
                .any(|note| note.contains("not done yet"))
        );
    }
}

#[test]
fn the_estimate_is_near_what_it_takes() {
    let device = Device {
        ingress: 100_000_000,
        egress: 20_000_000,
        buffer: 30_000,
        overhead: 20,
        latency: 0,
        fault: Fault::None,
    };
    for description in procedures() {
        if ["reset", "head-of-line-blocking"].contains(&description.name) {
            continue;
        }
        let setup = setup(&device, 2, &[512], effort(&device));
        let mut procedure = description.begin(setup, Options::default()).unwrap();
        let expected = procedure.remaining().unwrap().trials as f64;
        let trials = drive(&mut *procedure, |planned| device.carry_out(&planned.trial)) as f64;
        let ratio = expected / trials;
        assert!(
            (0.5..2.0).contains(&ratio),
            "{}: {expected} {trials}",
            description.name
        );
    }
}
