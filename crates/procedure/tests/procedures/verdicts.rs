//! Devices that misbehave, and senders that do.

use crate::device::*;
use delaylab_model::bench::BufferingWay;
use delaylab_model::path::{Reset, Switch};
use delaylab_model::plan::Plan;
use delaylab_model::probe::{Pacing, Probe};
use delaylab_model::quantity::{Duration, Share};
use delaylab_model::{MILLISECOND, SECOND};
use delaylab_procedure::bench::Stop;
use delaylab_procedure::course::Steps;
use delaylab_procedure::report::{Cell, Clause, Holds, Role};
use delaylab_procedure::system_recovery::Recovery;
use delaylab_procedure::{
    BuildError, Effort, Options, Procedure, ProcedureRun, Report, Setup, procedures,
};
use delaylab_procedure::{back_to_back, buffer_time, buffering, frame_loss, head_of_line, incast};
use delaylab_procedure::{latency, system_recovery, throughput};
use delaylab_stats::frames::{FrameFigures, FrameTrial};
use std::sync::Arc;

const DEVICE: Device = Device {
    ingress: 100_000_000,
    egress: 20_000_000,
    buffer: 16_000,
    overhead: 0,
    latency: 5_000,
    fault: Fault::None,
};

fn with(fault: Fault) -> Device {
    Device { fault, ..DEVICE }
}

fn find<S: Steps>(steps: S, device: Device) -> Option<S::Found> {
    let setup = setup(&DEVICE, 1, &[512], effort(&DEVICE));
    let mut course = ProcedureRun::new(steps, setup, Options::default());
    drive(&mut course, |planned| device.carry_out(&planned.trial));
    course.found()[0].found.clone()
}

fn clause(report: &Report, section: &str, says: &str) -> Clause {
    let mut clauses = report.conformance.iter();
    let found = clauses.find(|clause| clause.section == section && clause.says.contains(says));
    found.unwrap().clone()
}

fn is_stopped(by: Option<&Stop>, why: &str) -> bool {
    by.is_some_and(|stop| stop.to_string().contains(why))
}

#[test]
fn a_device_that_drops_all_has_no_throughput() {
    let device = with(Fault::DropsAll);
    let found = find(throughput::ThroughputSteps, device).unwrap();
    assert_eq!((found.load_e9, found.fps), (0, 0.0));
    assert!(find(latency::LatencySteps, device).is_none());
    assert!(find(system_recovery::SystemRecoverySteps, device).is_none());
    assert!(find(buffer_time::BufferTimeSteps, device).is_none());
    let loss = find(frame_loss::FrameLossSteps, device).unwrap();
    assert!(!loss.reached_zero && loss.points.len() == 10);
    assert!(
        loss.points
            .iter()
            .all(|point| point.loss_percent == Some(100.0))
    );
    let bursts = find(back_to_back::BackToBackSteps, device).unwrap();
    assert_eq!(bursts.repeats, [Some(0); 3]);
}

#[test]
fn a_device_that_drops_none_is_at_the_highest_rate() {
    let device = with(Fault::DropsNone);
    let found = find(throughput::ThroughputSteps, device).unwrap();
    assert!(found.is_highest && found.load() == Share(999_800_000));
    assert_eq!(found.points.len(), 1);
    let bursts = find(back_to_back::BackToBackSteps, device).unwrap();
    assert_eq!((bursts.frames, bursts.repeats.len()), (None, 3));
    assert!(find(buffer_time::BufferTimeSteps, device).is_none());
    // It is more than the lines carry, so an overload is tried. It loses nothing either.
    let recovery = find(system_recovery::SystemRecoverySteps, device).unwrap();
    assert_eq!(recovery.lost_in_overload, 0);
}

/// A host stumbles once: that one burst is no mean of all.
#[test]
fn bursts_at_the_cap_count_beside_the_others() {
    let device = with(Fault::DropsNone);
    let setup = setup(&device, 1, &[512], effort(&device));
    let mut course = ProcedureRun::new(back_to_back::BackToBackSteps, setup, Options::default());
    drive(&mut course, |planned| {
        let mut trial = device.carry_out(&planned.trial);
        if planned.repeat == 1 && trial.streams[0].sent > 31 {
            trial.streams[0].received -= 1;
        }
        trial
    });
    let found = course.found()[0].found.clone().unwrap();
    let cap = found.cap as f64;
    assert_eq!(found.repeats, [None, Some(31), None]);
    let frames = found.frames.unwrap();
    assert_eq!((frames.min, frames.max), (31.0, cap));
    assert!((frames.mean - (31.0 + 2.0 * cap) / 3.0).abs() < 1e-9);
    assert!(course.result().notes[0].contains("at least"));
}

/// A loss that is verified before it counts is not one that happened once.
#[test]
fn a_stray_loss_that_is_verified_does_not_count() {
    for (confirm, counts) in [(None, true), (Some(0), true), (Some(1), false)] {
        for name in ["back-to-back", "microburst"] {
            let known = procedures().iter().find(|known| known.name == name);
            let options = Options {
                confirm,
                ..Options::default()
            };
            let mut setup = setup(&DEVICE, 2, &[512], effort(&DEVICE));
            (setup.effort.burst_repeats, setup.effort.repeats) = (1, 1);
            let mut procedure = known.unwrap().begin(setup, options).unwrap();
            let mut stumbled = false;
            drive(&mut *procedure, |planned| {
                let mut trial = with(Fault::DropsNone).carry_out(&planned.trial);
                let sent: u64 = trial.streams.iter().map(|stream| stream.sent).sum();
                if sent > 31 && !stumbled {
                    stumbled = true;
                    trial.streams[0].received -= 1;
                }
                trial
            });
            let table = &procedure.result().tables[0];
            assert!(stumbled, "{name}");
            // Of bursts that pass as long as they are tried there is no figure.
            let found = &table.rows[0][1];
            assert_eq!(
                *found != Cell::Nothing,
                counts,
                "{name} {confirm:?}: {found:?}"
            );
        }
    }
}

/// So it is where they find the buffer, and what is sent no faster than it is forwarded finds none.
#[test]
fn a_stumble_is_not_the_buffer() {
    let setup = setup(&DEVICE, 1, &[512], effort(&DEVICE));
    let find = |stumbles: bool, factor: f64| {
        let steps = buffering::BufferingSteps;
        let mut course = ProcedureRun::new(steps, setup.clone(), Options::default());
        drive(&mut course, |planned| {
            let mut trial = with(Fault::DropsNone).carry_out(&slower(&planned.trial, factor));
            let passes = match (stumbles, planned.repeat) {
                (true, 0) => 31,
                (true, _) => u64::MAX,
                (false, _) => 90,
            };
            if trial.streams[0].sent > passes {
                trial.streams[0].received -= 1;
            }
            trial
        });
        let rows = course.result().tables[0].rows.clone();
        (course.found()[0].found.clone().unwrap(), rows)
    };
    let (found, rows) = find(true, 1.0);
    assert_eq!(found.bursts.repeats, [Some(31), None]);
    assert!(found.bursts.frames.unwrap().max > 500.0);
    assert_eq!(rows[0][8], 1_u64.into(), "one at the longest stream");
    let (found, _) = find(false, 1.0);
    assert!(found.bursts.frames.is_some() && found.held_frames.is_some());
    // Within the tolerance of the rate, and below what the port forwards.
    let (found, _) = find(false, 1.0099);
    assert_eq!((found.held_frames, found.held_bytes), (None, None));
}

/// A search that is never valid is left out of the mean, and not the frame size.
#[test]
fn a_search_that_is_never_valid_leaves_the_others() {
    let setup = setup(&DEVICE, 1, &[512], effort(&DEVICE));
    let mut course = ProcedureRun::new(back_to_back::BackToBackSteps, setup, Options::default());
    drive(&mut course, |planned| {
        let mut trial = DEVICE.carry_out(&planned.trial);
        if planned.repeat == 1 {
            trial.flaws.push("the sender was late".to_owned());
        }
        trial
    });
    let at = &course.found()[0];
    assert_eq!((at.invalid, at.left_out), (3, 1));
    let repeats = &at.found.as_ref().unwrap().repeats;
    assert!(repeats.len() == 2 && repeats[0].is_some() && repeats[0] == repeats[1]);
}

/// A stream has as many frames as are kept account of: more are refused where the first trial has them, and later ones are
/// never asked for.
#[test]
fn more_frames_than_are_kept_account_of_are_never_asked_for() {
    let fast = Device {
        ingress: 1_000_000_000,
        egress: 1_000_000_000,
        ..DEVICE
    };
    let begin = |name: &str, effort: Effort| {
        let known = procedures().iter().find(|known| known.name == name);
        let setup = setup(&fast, 2, &[512, 64], effort);
        known.unwrap().begin(setup, Options::default()).unwrap()
    };
    let short = Effort {
        trial: 13 * SECOND,
        ..Effort::rfc()
    };
    for (name, is_refused) in [
        ("throughput", true),
        ("mlrsearch", true),
        ("frame-loss", true),
        ("back-to-back", false),
        ("buffering", false),
        ("incast", false),
    ] {
        let why = begin(name, Effort::rfc()).first_trials().err();
        assert_eq!(why.is_some(), is_refused, "{name}");
        let asks = "89267781 frames of 64 B in a trial, more than the 20000000 that are kept account of: make \
                    design.procedure.trial 13s at most";
        assert!(why.is_none_or(|why| why.contains(asks)), "{name}");
        let first = begin(name, short).first_trials();
        assert_eq!(first.map(|trials| trials.len()), Ok(2), "{name}");
    }
    // At the throughput a stream of 120 s has too many: what there is to do stands where the figures would.
    let mut latency = begin("latency", short);
    assert!(latency.first_trials().is_ok());
    let mut most = 0;
    drive(&mut *latency, |planned| {
        let probes = planned.trial.probes.iter();
        most = most.max(probes.filter_map(|probe| probe.count).max().unwrap());
        let sent = |count: u64, last: i64| FrameFigures {
            sent: count,
            received: count,
            first_send: Some(0),
            last_send: Some(last),
            ..FrameFigures::default()
        };
        let probes = planned.trial.probes.iter();
        let start = |probe: &Probe| probe.frames.unwrap().start;
        let streams =
            probes.map(|p| sent(p.count.unwrap(), p.expected_duration().unwrap() - start(p)));
        FrameTrial::new(streams.collect())
    });
    assert!(most < 20_000_000);
    let rows = &latency.result().tables[0].rows;
    let remarks: Vec<_> = rows.iter().filter_map(|row| row.last()).collect();
    let Cell::Text(remark) = remarks[1] else {
        panic!("{rows:?}");
    };
    assert!(remark.contains("design.procedure.latency 26s"), "{remark}");
}

/// As many frames come after a reset as before, and the time in which the device settles is not counted.
#[test]
fn a_trial_with_a_reset_in_its_middle_is_about_as_long_as_the_others() {
    let mut setup = setup(&DEVICE, 1, &[512], effort(&DEVICE));
    setup.effort.settle = 5 * SECOND;
    let (trial, lasts) = (setup.effort.trial, MILLISECOND);
    setup.trial.path.switch = Some(Switch {
        reset: Some(Reset {
            at: Duration(5 * SECOND + trial / 2),
            lasts: Duration(lasts),
        }),
        ..Switch::default()
    });
    let known = procedures().iter().find(|known| known.name == "reset");
    let mut procedure = known.unwrap().begin(setup, Options::default()).unwrap();
    let mut resets = 0;
    drive(&mut *procedure, |planned| {
        let probe = &planned.trial.probes[0];
        if planned.factors[1].1.label == "reset" {
            resets += 1;
            let length = probe.expected_duration().unwrap() - probe.frames.unwrap().start;
            let expected = trial + 2 * lasts;
            assert!(
                (expected - MILLISECOND..=expected).contains(&length),
                "{length} {expected}"
            );
        }
        DEVICE.carry_out(&planned.trial)
    });
    assert!(resets > 0);
}

#[test]
fn bursts_that_are_slower_than_the_line_are_no_bursts() {
    for (factor, expected) in [(1.0, Holds::Yes), (1.05, Holds::No)] {
        let setup = setup(&DEVICE, 2, &[512], effort(&DEVICE));
        let procedures = ["back-to-back", "microburst"].map(|name| {
            procedures()
                .iter()
                .find(|known| known.name == name)
                .unwrap()
        });
        for description in procedures {
            let mut procedure = description
                .begin(setup.clone(), Options::default())
                .unwrap();
            drive(&mut *procedure, |planned| {
                DEVICE.carry_out(&slower(&planned.trial, factor))
            });
            let clauses = procedure.result().conformance;
            let at_rate = |clause: &&Clause| {
                clause.says.contains("minimum gap") || clause.says.contains("intensity of 100 %")
            };
            assert_eq!(clauses.iter().find(at_rate).unwrap().holds, expected);
        }
    }
}

/// The buffer takes in what a short trial at the highest rate has too much, and not what an overload has.
#[test]
fn a_port_that_is_a_little_slower_than_the_line_can_be_overloaded() {
    let device = Device {
        egress: 95_000_000,
        ..DEVICE
    };
    let mut setup = setup(&device, 1, &[512], effort(&device));
    (setup.effort.trial, setup.effort.overload) = (10 * MILLISECOND, SECOND / 2);
    let mut course = ProcedureRun::new(
        system_recovery::SystemRecoverySteps,
        setup,
        Options::default(),
    );
    drive(&mut course, |planned| device.carry_out(&planned.trial));
    let at = &course.found()[0];
    let found = at.found.as_ref();
    assert!(
        found.is_some_and(|found| found.lost_in_overload > 0),
        "{at:?}"
    );
}

/// The rate of a sender that is slower than it is asked to be is the one at which frames passed or were lost.
#[test]
fn a_slow_sender_makes_no_device_faster() {
    let find = |device: Device, factor: f64| {
        let mut setup = setup(&device, 1, &[512], effort(&device));
        setup.effort.trial = 60 * SECOND;
        let steps = throughput::ThroughputSteps;
        let mut course = ProcedureRun::new(steps, setup.clone(), Options::default());
        drive(&mut course, |planned| {
            let trial = slower(&planned.trial, factor);
            let probe = &trial.probes[0];
            let (count, last) = (probe.count.unwrap(), probe.expected_duration().unwrap());
            let fps = (count - 1) as f64 * 1e9 / last as f64;
            let passes = device.fault == Fault::DropsNone || fps <= setup.egress_fps(512);
            FrameTrial::new(vec![FrameFigures {
                sent: count,
                received: count - u64::from(!passes),
                first_send: Some(0),
                last_send: Some(last),
                ..FrameFigures::default()
            }])
        });
        let found = course.found()[0].found.clone().unwrap();
        let carried = found.fps / setup.fps(512, Share::WHOLE);
        (carried, clause(&course.result(), "§26.1", "").why)
    };
    let device = Device {
        egress: 95_000_000,
        ..DEVICE
    };
    for factor in [1.0, 1.009] {
        let (carried, why) = find(device, factor);
        assert!((0.949..0.950_01).contains(&carried), "{carried}");
        assert_eq!(why, "within 0.1 % of line rate");
    }
    let (_, why) = find(with(Fault::DropsNone), 1.009);
    assert_eq!(why, "within 0.892 % of line rate");
}

#[test]
fn copies_and_disorder_are_not_loss_and_are_said() {
    let right = find(throughput::ThroughputSteps, DEVICE).unwrap();
    let twice = find(throughput::ThroughputSteps, with(Fault::Duplicates(7))).unwrap();
    let mixed = find(throughput::ThroughputSteps, with(Fault::Reorders(7))).unwrap();
    assert_eq!(
        (twice.load_e9, mixed.load_e9),
        (right.load_e9, right.load_e9)
    );
    assert!(twice.duplicates > 0 && mixed.reordered > 0);
    assert_eq!(
        (right.duplicates, right.reordered, right.corrupt),
        (0, 0, 0)
    );
}

#[test]
fn a_changed_frame_is_a_lost_one() {
    let found = find(throughput::ThroughputSteps, with(Fault::Corrupts(7))).unwrap();
    assert!(found.load_e9 == 0 && found.corrupt > 0);
}

#[test]
fn an_invalid_trial_is_repeated_and_never_a_loss() {
    let setup = setup(&DEVICE, 1, &[512], effort(&DEVICE));
    let right = find(throughput::ThroughputSteps, DEVICE).unwrap();
    let mut course = ProcedureRun::new(throughput::ThroughputSteps, setup, Options::default());
    let mut n = 0;
    drive(&mut course, |planned| {
        n += 1;
        let mut trial = DEVICE.carry_out(&planned.trial);
        if n % 3 != 0 {
            // The sender was too slow, or gave frames up.
            let stream = &mut trial.streams[0];
            let span = stream.last_send.unwrap() - stream.first_send.unwrap();
            match n % 2 {
                0 => stream.last_send = stream.last_send.map(|last| last + span / 20),
                _ => stream.sent -= 1,
            }
            stream.received = 0;
        }
        trial
    });
    let at = &course.found()[0];
    assert_eq!(at.found.as_ref().unwrap().load_e9, right.load_e9);
    assert_eq!(at.invalid as usize, at.trials / 3 * 2);
    assert!(
        course
            .result()
            .notes
            .iter()
            .any(|note| note.contains("were invalid"))
    );
}

#[test]
fn what_is_never_valid_is_reported_as_that() {
    let setup = setup(&DEVICE, 1, &[512, 1024], effort(&DEVICE));
    let mut course = ProcedureRun::new(throughput::ThroughputSteps, setup, Options::default());
    let trials = drive(&mut course, |planned| {
        let mut trial = DEVICE.carry_out(&planned.trial);
        if planned.trial.probes[0].frames.unwrap().size == 512 {
            trial.flaws.push("the clock was set".to_owned());
        }
        trial
    });
    let at = &course.found()[0];
    assert_eq!((at.trials, at.invalid, &at.found), (3, 3, &None));
    assert_eq!(at.why, Some(Stop::Invalid("the clock was set".to_owned())));
    let sizes = clause(&course.result(), "§9.1", "");
    let why = "without 64, 128, 256, 1280, 1518; no figures of 512";
    assert_eq!((sizes.holds, &*sizes.why), (Holds::Shortened, why));
    assert!(course.found()[1].found.is_some() && trials > 3);
}

/// What the buffer of a device takes in until the end of a short trial is no rate that it sustains.
#[test]
fn a_throughput_beyond_the_line_is_marked_and_drawn_apart() {
    for (egress, is_beyond) in [(20, true), (100, false)] {
        let device = Device {
            egress: egress * 1_000_000,
            ..DEVICE
        };
        let setup = setup(&device, 1, &[512], effort(&device));
        let most = setup.theoretical_fps(512);
        let mut course = ProcedureRun::new(throughput::ThroughputSteps, setup, Options::default());
        drive(&mut course, |planned| device.carry_out(&planned.trial));
        let found = course.found()[0].found.clone().unwrap();
        assert_eq!(found.fps > most, is_beyond, "{found:?} {most}");
        let report = course.result();
        let remark = match is_beyond {
            true => "not sustained: more than the lines carry",
            false => "",
        };
        assert_eq!(report.tables[0].rows[0].last(), Some(&remark.into()));
        let points = |name: &str| {
            let line = report.figures[0]
                .lines
                .iter()
                .find(|line| line.name == name);
            line.map_or(0, |line| line.points.len())
        };
        let drawn = ["throughput", "not sustained"].map(points);
        assert_eq!(drawn, if is_beyond { [0, 1] } else { [1, 0] });
        let mut clauses = report.conformance.iter();
        let fastest = clauses.find(|clause| clause.section == "§26.1").unwrap();
        assert_eq!(fastest.holds, Holds::Shortened);
    }
}

/// The clause of RFC 2544 §26.3 is as the table says: without two trials that lose nothing it does not hold.
#[test]
fn a_loss_curve_that_never_ends_without_loss_does_not_conform() {
    // Of 100 Mbit/s the lowest loads are 10 and 20 Mbit/s: a port of 15 loses at one of them.
    for (egress, ends, holds) in [(15, "no", Holds::No), (40, "yes", Holds::Yes)] {
        let device = Device {
            egress: egress * 1_000_000,
            ..DEVICE
        };
        let setup = setup(&device, 1, &[512], effort(&device));
        let mut course = ProcedureRun::new(frame_loss::FrameLossSteps, setup, Options::default());
        drive(&mut course, |planned| device.carry_out(&planned.trial));
        let report = course.result();
        assert_eq!(report.tables[1].rows[0][1], ends.into());
        let clause = report.conformance.iter();
        let clause = clause.filter(|clause| clause.section == "§26.3");
        let clause = Vec::from_iter(clause.map(|clause| clause.holds));
        assert_eq!(clause, [holds], "{egress} Mbit/s");
    }
}

#[test]
fn a_point_that_is_never_valid_leaves_the_others() {
    let setup = setup(&DEVICE, 1, &[512], effort(&DEVICE));
    let mut course = ProcedureRun::new(frame_loss::FrameLossSteps, setup, Options::default());
    drive(&mut course, |planned| {
        let mut trial = DEVICE.carry_out(&planned.trial);
        if planned.factors[2].1.label == "80%" {
            trial.flaws.push("the sender was late".to_owned());
        }
        trial
    });
    let points = &course.found()[0].found.as_ref().unwrap().points;
    assert_eq!((points[2].load, points[2].loss_percent), (0.8, None));
    assert_eq!(points[2].why.as_deref(), Some("the sender was late"));
    assert!(points[3].loss_percent.is_some());
    let clause = clause(&course.result(), "§26.3", "");
    let why = "steps of 10 %; not measured: 80 % at 512 B";
    assert_eq!((clause.holds, &*clause.why), (Holds::No, why));
}

/// Whether more than the highest load that was tried passes is not known, and no report says that none does.
#[test]
fn a_highest_load_below_the_line_is_no_highest_rate() {
    let options = Options {
        top: Share(150_000_000),
        ..Options::default()
    };
    let report = |name: &str| {
        let known = procedures().iter().find(|known| known.name == name);
        let setup = setup(&DEVICE, 1, &[512], effort(&DEVICE));
        let mut procedure = known.unwrap().begin(setup, options.clone()).unwrap();
        drive(&mut *procedure, |planned| DEVICE.carry_out(&planned.trial));
        procedure.result()
    };
    for (name, section) in [("throughput", "§26.1"), ("frame-loss", "§26.3")] {
        let clause = clause(&report(name), section, "rate");
        assert_eq!(clause.holds, Holds::Shortened, "{name}");
        assert!(clause.why.contains("loads up to 15 % were tried"));
    }
    for name in ["buffer-time", "system-recovery"] {
        let report = report(name);
        let remark =
            "the throughput may be higher: loads up to 15 % were tried (design.procedure.top)";
        assert_eq!(report.tables[0].rows[0].last(), Some(&remark.into()));
        assert!(
            clause(&report, "§9.1", "")
                .why
                .contains("no figures of 512")
        );
    }
    assert!(report("latency").notes[0].contains("loads up to 15 %"));
}

#[test]
fn a_burst_rate_near_the_throughput_is_refused() {
    let near = Device {
        egress: 50_000_000,
        ..DEVICE
    };
    let setup = setup(&near, 1, &[512], effort(&near));
    let mut course = ProcedureRun::new(buffer_time::BufferTimeSteps, setup, Options::default());
    drive(&mut course, |planned| near.carry_out(&planned.trial));
    let at = &course.found()[0];
    assert!(at.found.is_none() && is_stopped(at.why.as_ref(), "less than 3 times"));
}

/// RFC 9004 §6.4 corrects by the calculated rate: what the tester reached may not stand for it unsaid.
#[test]
fn a_burst_below_the_calculated_rate_is_said_and_both_are_given() {
    for (factor, conforms) in [(1.0, Holds::Yes), (1.004, Holds::No)] {
        let setup = setup(&DEVICE, 1, &[512], effort(&DEVICE));
        let mut course = ProcedureRun::new(buffer_time::BufferTimeSteps, setup, Options::default());
        drive(&mut course, |planned| {
            DEVICE.carry_out(&slower(&planned.trial, factor))
        });
        let found = course.found()[0].found.clone().unwrap();
        let ratio = found.calculated_fps / found.achieved_fps.unwrap();
        assert!((ratio - factor).abs() < 1e-4, "{ratio}");
        let (achieved, calculated) = (found.by_achieved, found.by_calculated);
        assert_eq!(
            factor > 1.0,
            calculated.buffer_bytes > achieved.buffer_bytes + 1.0
        );
        assert_eq!(
            factor > 1.0,
            calculated.implied_s < achieved.implied_s * 0.999
        );
        let clauses = course.result().conformance;
        let clause = clauses
            .iter()
            .find(|clause| clause.section == "§6.4")
            .unwrap();
        assert_eq!(clause.holds, conforms);
        assert_eq!(
            factor > 1.0,
            clause.why.contains("512 B 99.60 %"),
            "{}",
            clause.why
        );
    }
}

/// Of one or two frames of a stream there is no rate: it is not said to be the calculated one, and not to be another.
#[test]
fn bursts_of_a_few_frames_have_no_rate() {
    let small = Device {
        buffer: 1_100,
        ..DEVICE
    };
    let setup = setup(&small, 3, &[512], effort(&small));
    let mut course = ProcedureRun::new(buffer_time::BufferTimeSteps, setup, Options::default());
    drive(&mut course, |planned| {
        let mut trial = small.carry_out(&planned.trial);
        // Of three frames; the last is sent late.
        if planned.factors[1].1.label == "burst" {
            for stream in &mut trial.streams {
                stream.last_send = stream.last_send.map(|last| last + 4_000);
            }
        }
        trial
    });
    let found = course.found()[0].found.clone().unwrap();
    assert_eq!(found.achieved_fps, None);
    assert_eq!(found.by_achieved, found.by_calculated);
    let report = course.result();
    assert_eq!(report.tables[0].rows[0][6], Cell::Nothing);
    assert_eq!(clause(&report, "§6.4", "").holds, Holds::No);
}

/// Three streams on four ports, of lines of 100 Mbit/s into such lines.
fn four_ports() -> Setup {
    four_ports_into(100)
}

fn four_ports_into(egress: u64) -> Setup {
    let device = Device {
        egress: egress * 1_000_000,
        ..DEVICE
    };
    let mut setup = setup(&device, 1, &[512], effort(&DEVICE));
    setup.streams = vec![stream(0, "free"), stream(0, "full"), stream(1, "full")];
    setup
}

#[test]
fn blocking_is_told_from_congestion() {
    let faults = [(Fault::None, false), (Fault::Blocks, true)];
    // Half of a sending line is more than a slow receiving port takes: it would lose without any blocking.
    let cases = faults
        .into_iter()
        .flat_map(|fault| [(fault, 100), (fault, 20)]);
    for ((fault, blocked), egress) in cases {
        let device = Device {
            egress: egress * 1_000_000,
            fault,
            ..DEVICE
        };
        let mut course = ProcedureRun::new(
            head_of_line::HeadOfLineSteps,
            four_ports_into(egress),
            Options::default(),
        );
        let mut free = 0;
        drive(&mut course, |planned| {
            free += planned.trial.probes[0].count.unwrap();
            device.carry_out(&planned.trial)
        });
        let found = course.found()[0].found.as_ref().unwrap();
        assert!(found.lost_congested > 0);
        assert_eq!((found.sent, found.repeats.len()), (free, 2));
        assert_eq!(found.is_blocked(), Some(blocked), "{egress} Mbit/s");
    }
}

#[test]
fn incast_puts_tcp_beside_a_burst() {
    let mut setup = setup(&DEVICE, 3, &[512], effort(&DEVICE));
    (setup.effort.repeats, setup.effort.trial) = (4, SECOND);
    let mut course = ProcedureRun::new(incast::IncastSteps, setup, Options::default());
    drive(&mut course, |planned| {
        let mut trial = DEVICE.carry_out(&planned.trial);
        let [burst] = &planned.trial.probes[..] else {
            panic!("one burst");
        };
        // TCP goes on behind it as long as before.
        assert_eq!(burst.timeout, burst.frames.unwrap().start);
        let names = planned.trial.loads.iter().map(|load| load.name.as_str());
        let all = names.chain(["of the experiment"]).map(Arc::from);
        trial.goodput_bps = all.map(|name| (name, 3e6)).collect();
        if planned.trial.loads.len() == 2 && planned.repeat > 1 {
            trial.flaws.push("the sender was late".to_owned());
        }
        trial
    });
    let points = &course.found()[0].found.as_ref().unwrap().points;
    assert_eq!((points[0].repeats, points[1].repeats), (4, 2));
    let goodput = |n: usize| points[n].goodput_bps.unwrap().mean;
    assert_eq!((points.len(), goodput(0), goodput(1)), (2, 3e6, 6e6));
    assert_eq!((points[0].sent, points[1].sent), (400, 200));
    assert!(course.result().notes[0].contains("6 of 12 trials"));
    assert!(course.result().notes[1].contains("2 repeats were never valid"));
    let report = course.result();
    assert_eq!(clause(&report, "§1.2", "relative").holds, Holds::Yes);
    // The least of them, and each beside what it is of.
    assert_eq!(clause(&report, "§3.3", "").why, "2 times");
    let repeats = Vec::from_iter(report.tables[0].rows.iter().map(|row| row[8].clone()));
    assert_eq!(repeats, [4_u64.into(), 2_u64.into()]);
    let columns = report.tables[0].columns.iter();
    let spread = columns.filter(|column| column.role == Role::Spread);
    let spread = Vec::from_iter(spread.map(|column| column.name.as_str()));
    assert_eq!(spread, ["latency, min", "latency, max"]);
}

/// A burst alone is no incast: nothing says that TCP was sent where nothing was counted.
#[test]
fn incast_without_tcp_does_not_conform() {
    let setup = setup(&DEVICE, 3, &[512], effort(&DEVICE));
    let mut course = ProcedureRun::new(incast::IncastSteps, setup, Options::default());
    drive(&mut course, |planned| DEVICE.carry_out(&planned.trial));
    let report = course.result();
    for section in ["§6.2", "§6.3"] {
        assert_eq!(clause(&report, section, "").holds, Holds::No, "{section}");
    }
}

/// A frame size that never was valid is in tables with several rows for each size, too.
#[test]
fn a_size_without_a_result_has_a_row_that_says_why() {
    for (name, ports) in [
        ("incast", 3),
        ("frame-loss", 1),
        ("mlrsearch", 1),
        ("microburst", 3),
    ] {
        let setup = setup(&DEVICE, ports, &[512], effort(&DEVICE));
        let procedure = procedures().iter().find(|known| known.name == name);
        let mut procedure = procedure.unwrap().begin(setup, Options::default()).unwrap();
        drive(&mut *procedure, |planned| {
            let mut trial = DEVICE.carry_out(&planned.trial);
            trial.flaws.push("the clock was set".to_owned());
            trial
        });
        let report = procedure.result();
        let says = "No figures at 512 B: remarks say why.";
        assert!(report.notes.iter().any(|note| note == says));
        let [row] = &report.tables[0].rows[..] else {
            panic!("{name}: {:?}", report.tables[0]);
        };
        assert_eq!(row.last(), Some(&"invalid: the clock was set".into()));
        assert_eq!(row.len(), report.tables[0].columns.len());
        let mut clauses = report.conformance.iter();
        let of_6_and_4 = |clause: &&Clause| ["§6.2", "§6.3", "§4.2"].contains(&&*clause.section);
        let is_search = |clause: &&Clause| {
            clause.rfc == "RFC 9971" || ["§26.3", "§3.3"].contains(&&*clause.section)
        };
        let of_found = clauses.clone().find(is_search).map(|clause| clause.holds);
        assert!(
            matches!(of_found, None | Some(Holds::NotApplicable)),
            "{name}"
        );
        let measured = clauses.find(of_6_and_4).map(|clause| clause.holds);
        assert!(
            matches!(measured, None | Some(Holds::NotApplicable)),
            "{name}"
        );
    }
}

/// One frame size that was measured does not make up for another that was not.
#[test]
fn a_size_without_figures_does_not_conform() {
    for (name, ports) in [
        ("incast", 3),
        ("microburst", 3),
        ("buffering", 1),
        ("mlrsearch", 1),
    ] {
        let known = procedures().iter().find(|known| known.name == name);
        let holds = |of_512: bool| {
            let setup = setup(&DEVICE, ports, &[512, 1024], effort(&DEVICE));
            let mut procedure = known.unwrap().begin(setup, Options::default()).unwrap();
            drive(&mut *procedure, |planned| {
                let mut trial = DEVICE.carry_out(&planned.trial);
                if !of_512 && planned.trial.probes[0].frames.unwrap().size == 512 {
                    trial.flaws.push("the sender was late".to_owned());
                }
                trial
            });
            let clauses = procedure.result().conformance.into_iter();
            let mut clauses =
                clauses.filter(|clause| clause.says.contains("every frame size that"));
            let clause = clauses.next().unwrap();
            (clause.holds, clause.why)
        };
        assert_eq!(
            holds(true),
            (Holds::Yes, "all of them".to_owned()),
            "{name}"
        );
        assert_eq!(
            holds(false),
            (Holds::No, "none of 512 B".to_owned()),
            "{name}"
        );
    }
}

/// The clause counts what the mean is of.
#[test]
fn a_mean_of_fewer_repeats_is_shortened() {
    let asked = |report: Report, says: &str| {
        let mut clauses = report.conformance.into_iter();
        let clause = clauses.find(|clause| clause.says.contains(says)).unwrap();
        (clause.holds, clause.why)
    };
    let mut setup = setup(&DEVICE, 1, &[512], effort(&DEVICE));
    (setup.effort.latency_repeats, setup.effort.repeats) = (20, 1);
    let none = ProcedureRun::new(latency::LatencySteps, setup.clone(), Options::default());
    let says = "mean of 20 repeats";
    assert_eq!(asked(none.result(), says).0, Holds::NotApplicable);
    let mut course = none;
    drive(&mut course, |planned| {
        let mut trial = DEVICE.carry_out(&planned.trial);
        let is_latency = planned.factors[1].1.label == "latency";
        if is_latency && planned.repeat == 3 {
            trial.flaws.push("the clock was set".to_owned());
        }
        trial
    });
    let less = |times: u32| (Holds::Shortened, format!("{times} times instead of 20"));
    assert_eq!(asked(course.result(), says), less(19));
    let mut course = ProcedureRun::new(latency::LatencySteps, setup.clone(), Options::default());
    drive(&mut course, |planned| {
        let mut trial = DEVICE.carry_out(&planned.trial);
        if planned.repeat < 15 {
            trial.streams[0].tagged_delay = None;
        }
        trial
    });
    assert_eq!(asked(course.result(), says), less(5));
    let mut course = ProcedureRun::new(
        system_recovery::SystemRecoverySteps,
        setup,
        Options::default(),
    );
    drive(&mut course, |planned| DEVICE.carry_out(&planned.trial));
    let less = "once instead of 2".to_owned();
    let says = "mean of several repeats";
    assert_eq!(asked(course.result(), says), (Holds::Shortened, less));
}

#[test]
fn durations_of_the_rfcs_conform_and_short_ones_do_not() {
    for (effort, expected) in [(Effort::rfc(), false), (Effort::quick(), true)] {
        let mut setup = setup(&DEVICE, 1, &[512], effort);
        setup.sizes = delaylab_procedure::setup::SIZES.to_vec();
        let course = ProcedureRun::new(throughput::ThroughputSteps, setup, Options::default());
        let clauses = course.result().conformance;
        let is_short = clauses
            .iter()
            .any(|clause| clause.holds == Holds::Shortened);
        assert_eq!(is_short, expected);
        assert!(clauses.iter().all(|clause| clause.holds != Holds::No));
    }
}

#[test]
fn what_cannot_begin_says_why() {
    let build = |name: &str, setup: Setup| {
        let procedure = procedures().iter().find(|p| p.name == name).unwrap();
        procedure.begin(setup, Options::default()).err()
    };
    let one = || setup(&DEVICE, 1, &[512], Effort::quick());
    assert_eq!(build("reset", one()), Some(BuildError::NoReset));
    assert!(matches!(
        build("microburst", one()),
        Some(BuildError::Streams { has: 1, .. })
    ));
    assert!(matches!(
        build("head-of-line-blocking", one()),
        Some(BuildError::Ports { .. })
    ));
    let none = Setup {
        sizes: Vec::new(),
        ..one()
    };
    assert_eq!(build("throughput", none), Some(BuildError::NoSize));
    for streams in [
        [stream(0, "out"), stream(1, "other")],
        [stream(0, "out"), stream(0, "out")],
    ] {
        for name in ["microburst", "incast"] {
            let setup = Setup {
                streams: streams.to_vec(),
                ..one()
            };
            assert!(matches!(build(name, setup), Some(BuildError::Ports { .. })));
        }
    }
    assert_eq!(build("head-of-line-blocking", four_ports()), None);
}

#[test]
fn a_size_without_room_for_the_signature_is_left_out() {
    let setup = setup(&DEVICE, 1, &[60, 512], effort(&DEVICE));
    let mut course = ProcedureRun::new(throughput::ThroughputSteps, setup, Options::default());
    drive(&mut course, |planned| DEVICE.carry_out(&planned.trial));
    assert!(is_stopped(course.found()[0].why.as_ref(), "64 B"));
    assert!(course.found()[1].found.is_some());
}

#[test]
fn streams_of_one_port_share_it_and_ports_add_up() {
    let device = Device {
        egress: 100_000_000,
        ..DEVICE
    };
    let mut setup = four_ports();
    setup.streams.truncate(2);
    let mut course = ProcedureRun::new(
        throughput::ThroughputSteps,
        setup.clone(),
        Options::default(),
    );
    drive(&mut course, |planned| {
        for probe in &planned.trial.probes {
            let Pacing::Frames { interval_ps } = probe.pacing else {
                panic!("frames are paced as frames");
            };
            assert!(interval_ps >= 2 * 532 * 80_000, "half of the line each");
        }
        device.carry_out(&planned.trial)
    });
    let found = course.found()[0].found.as_ref().unwrap();
    assert!(found.is_highest);
    assert!((found.fps / setup.theoretical_fps(512) - 0.9998).abs() < 1e-6);
    setup.streams = vec![stream(0, "a"), stream(1, "b")];
    assert_eq!(setup.theoretical_fps(512), 2.0 * setup.egress_fps(512));
    // Two lines into one port: all send half at most, also what goes elsewhere.
    setup.streams.push(stream(2, "a"));
    assert_eq!(setup.theoretical_fps(512), 1.5 * setup.egress_fps(512));
}

/// What a stream that does not send would take of its port is not missing there.
#[test]
fn a_port_is_overloaded_by_the_streams_that_send() {
    let mut setup = four_ports();
    let begins = |setup: &Setup| {
        let options = Options {
            way: BufferingWay::Port,
            ..Options::default()
        };
        let mut course = ProcedureRun::new(buffering::BufferingSteps, setup.clone(), options);
        !course.next_trials().is_empty()
    };
    assert!(begins(&setup));
    // Load and excess on one line are more than it carries.
    setup.streams[1].from = setup.streams[2].from.clone();
    assert!(!begins(&setup));
}

#[test]
fn a_trial_says_what_it_is() {
    let setup = setup(&DEVICE, 2, &[512], Effort::rfc());
    let mut course = ProcedureRun::new(throughput::ThroughputSteps, setup, Options::default());
    let planned = course.next_trials().remove(0);
    let levels: Vec<String> = planned
        .factors
        .iter()
        .map(|f| format!("{} {}", f.0, f.1))
        .collect();
    let frames = 2 * (60.0 / (532.0 * 8.0 / (100e6 * 0.9998))) as u64;
    let expected = [
        "frame size 512B".to_owned(),
        "phase throughput".to_owned(),
        "load 99.98%".to_owned(),
        format!("frames {frames}"),
        "step 1".to_owned(),
        "attempt 1".to_owned(),
    ];
    assert_eq!(levels, expected);
    let [first, second] = &planned.trial.probes[..] else {
        panic!("two streams");
    };
    assert_eq!(
        (first.from.as_deref(), second.from.as_deref()),
        (Some("p0"), Some("p1"))
    );
    assert_eq!(first.count, Some(frames / 2));
    let frames = first.frames.unwrap();
    assert_eq!((frames.start, first.timeout), (5 * SECOND, 2 * SECOND));
    assert_eq!(planned.trial.path.switch, None);
}

#[test]
fn recovery_is_from_the_fall_of_the_load_to_the_last_loss() {
    let mut setup = setup(&DEVICE, 1, &[512], effort(&DEVICE));
    setup.effort.repeats = 4;
    let mut course = ProcedureRun::new(
        system_recovery::SystemRecoverySteps,
        setup,
        Options::default(),
    );
    drive(&mut course, |planned| {
        let mut trial = DEVICE.carry_out(&planned.trial);
        if let [before, behind] = &mut trial.streams[..] {
            if planned.repeat == 2 {
                before.received = before.sent;
            }
            let after = if planned.repeat == 0 {
                Some(7_000_000)
            } else {
                None
            };
            behind.last_lost = match after {
                Some(after) => behind.first_send.map(|send| send + after),
                None => behind.last_send,
            };
            if planned.repeat == 3 {
                // Every second frame is lost, and the last one arrives.
                behind.received = behind.sent.div_ceil(2);
                let interval = (behind.last_send.unwrap() - behind.first_send.unwrap())
                    / (behind.sent as i64 - 1);
                behind.last_lost = behind.last_send.map(|last| last - interval);
            }
        }
        trial
    });
    let found = course.found()[0].found.as_ref().unwrap();
    let recovered = Recovery::Recovered(7_000_000);
    let still = Recovery::StillLosing;
    let expected = [recovered, still, Recovery::NotOverloaded, still];
    assert_eq!(found.repeats, expected);
    assert_eq!(
        found.recovery_ns.map(|ns| (ns.count, ns.mean)),
        Some((1, 7e6))
    );
    let clauses = course.result().conformance;
    let overload = |clause: &&Clause| clause.says.contains("110 %");
    assert_eq!(clauses.iter().find(overload).unwrap().holds, Holds::No);
    // RFC 2544 §26.5: half "of the above rate".
    assert!((found.half - found.overload / 2.0).abs() < 1e-9);
    assert!(found.lost_in_overload > 0);
}

#[test]
fn a_tagged_frame_that_is_lost_has_no_latency() {
    let setup = setup(&DEVICE, 1, &[512], effort(&DEVICE));
    let mut course = ProcedureRun::new(latency::LatencySteps, setup, Options::default());
    drive(&mut course, |planned| {
        let mut trial = DEVICE.carry_out(&planned.trial);
        if planned.repeat == 1 {
            trial.streams[0].tagged_delay = None;
        }
        trial
    });
    let found = course.found()[0].found.as_ref().unwrap();
    assert_eq!((found.tagged_ns.len(), found.tagged_lost), (1, 1));
    assert_eq!(found.tagged.unwrap().count, 1);
}

/// A port that forwards slower than its line, as a shaper or a CPU does: what its buffer takes in until the end of a short trial is
/// no rate at which latency is measured.
#[test]
fn a_rate_above_what_comes_out_is_not_sustained() {
    let slow = Device {
        egress: 10_000_000,
        ..DEVICE
    };
    let forwards = 10e6 / 8.0 / (512.0 + 20.0);
    let found = find(throughput::ThroughputSteps, slow).unwrap();
    let out = found.forwarded_fps.unwrap();
    assert!(found.fps > 1.002 * forwards, "{found:?}");
    assert!((out / forwards - 1.0).abs() < 1e-3, "{out} {forwards}");
    let setup = setup(&DEVICE, 1, &[512], effort(&DEVICE));
    let mut course = ProcedureRun::new(throughput::ThroughputSteps, setup, Options::default());
    drive(&mut course, |planned| slow.carry_out(&planned.trial));
    let remark = format!("not sustained: frames came out at {out:.1}/s");
    let report = course.result();
    assert_eq!(report.tables[0].rows[0].last(), Some(&remark.into()));

    let found = find(latency::LatencySteps, slow).unwrap();
    assert!(found.fps <= 1.001 * forwards, "{found:?}");
    assert_eq!(found.forwarded_fps, None, "{found:?}");
    let tagged = found.tagged.unwrap();
    assert!(tagged.max < 1.1 * slow.alone(512) as f64, "{tagged:?}");
}

/// Repeats of which every trial is the same simulation as one of another repeat are one.
#[test]
fn repeats_that_are_one_simulation_count_once() {
    for (is_alike, expected) in [(true, 1), (false, 3)] {
        let effort = Effort {
            latency_repeats: 3,
            ..effort(&DEVICE)
        };
        let setup = setup(&DEVICE, 1, &[512], effort);
        let mut course = ProcedureRun::new(latency::LatencySteps, setup, Options::default());
        drive(&mut course, |planned| {
            let hash = match is_alike {
                true => planned.trial.probes[0].count.unwrap(),
                false => u64::from(planned.trial.id),
            };
            FrameTrial {
                trace_hash: Some(hash),
                ..DEVICE.carry_out(&planned.trial)
            }
        });
        let at = &course.found()[0];
        let found = at.found.as_ref().unwrap();
        assert_eq!(found.tagged_ns.len(), expected, "{at:?}");
        assert_eq!(at.alike as usize, 3 - expected, "{at:?}");
        let report = course.result();
        let said = report
            .notes
            .iter()
            .any(|note| note.starts_with("2 repeats not counted again"));
        assert_eq!(said, is_alike, "{:?}", report.notes);
    }
}
