//! Every procedure finds what was configured, in 200 random configurations.

use crate::device::*;
use delaylab_model::path::{Reset, Switch};
use delaylab_model::quantity::{Duration, Share};
use delaylab_model::{MILLISECOND, Nanos};
use delaylab_procedure::bench::Bench;
use delaylab_procedure::course::{AtSize, Steps};
use delaylab_procedure::{Options, ProcedureRun, Setup};
use delaylab_procedure::{back_to_back, buffer_time, buffering, frame_loss, latency, microburst};
use delaylab_procedure::{mlrsearch, reset, setup::SIZES, system_recovery, throughput};
use delaylab_stats::random::SplitMix;

const CONFIGURATIONS: u64 = 200;

/// A device, its ports and a frame size.
struct Case {
    device: Device,
    ports: usize,
    size: u32,
    setup: Setup,
}

impl Case {
    fn any(seed: u64, least_size: u32) -> Self {
        let mut random = SplitMix::new(seed);
        let device = any_device(&mut random);
        let sizes: Vec<u32> = SIZES
            .into_iter()
            .filter(|&size| size >= least_size)
            .collect();
        let size = sizes[between(&mut random, 0, sizes.len() as u64 - 1) as usize];
        let ports = between(&mut random, 1, 4) as usize;
        let setup = setup(&device, ports, &[size], effort(&device));
        Self {
            device,
            ports,
            size,
            setup,
        }
    }

    /// The load of each port at which the receiving port is just full.
    fn full(&self) -> f64 {
        self.device.egress as f64 / (self.ports as f64 * self.device.ingress as f64)
    }

    fn find<S: Steps>(&self, steps: S, options: Options) -> AtSize<S::Found> {
        let mut course = ProcedureRun::new(steps, self.setup.clone(), options);
        drive(&mut course, |planned| self.device.carry_out(&planned.trial));
        course.found()[0].clone()
    }

    /// The largest burst of all ports together that passes, one frame at a time.
    fn longest_burst(&self) -> u64 {
        let options = Options::default();
        let passes = |frames: u64| {
            struct Once(u64);
            impl Steps for Once {
                type Found = u64;
                fn size(
                    &self,
                    bench: &mut Bench<'_>,
                ) -> Result<u64, delaylab_procedure::bench::Stop> {
                    let loads = bench.all_at(Share::WHOLE);
                    let offer = bench.burst("test", &loads, self.0).as_fast_as_can_be();
                    Ok(throughput::lost(&*bench.trial(offer)?))
                }
                fn report(
                    &self,
                    _: &Setup,
                    _: &Options,
                    _: &[AtSize<u64>],
                ) -> delaylab_procedure::Report {
                    unreachable!("nobody asks")
                }
            }
            self.find(Once(frames), options.clone()).found == Some(0)
        };
        // What waits, what leaves: a linear walk around the estimate, so that no search is trusted.
        let held = self.device.holds(self.size) as f64;
        let forwarded = self.setup.egress_fps(self.size);
        let sent = self.ports as f64 * self.setup.fps(self.size, Share::WHOLE);
        let guess = (held / (1.0 - forwarded / sent).max(0.02)) as u64;
        let mut frames = guess.max(1);
        while !passes(frames) {
            frames -= 1;
        }
        while passes(frames + 1) {
            frames += 1;
        }
        frames
    }
}

fn cases(least_size: u32) -> impl Iterator<Item = Case> {
    (0..CONFIGURATIONS).map(move |seed| Case::any(seed * 7919 + 1, least_size))
}

#[test]
fn throughput_is_what_the_receiving_port_forwards() {
    for case in cases(64) {
        let options = Options::default();
        let (top, resolution) = (options.top.as_f64(), options.resolution.as_f64());
        let found = case
            .find(throughput::ThroughputSteps, options)
            .found
            .unwrap();
        let load = found.load().as_f64();
        let full = case.full();
        assert!(load >= full.min(top) - resolution - 1e-9, "{load} {full}");
        // A buffer lets a little more pass while it fills.
        let sent = load
            * case.ports as f64
            * case.setup.fps(case.size, Share::WHOLE)
            * case.setup.effort.trial as f64
            / 1e9;
        let buffered = (case.device.holds(case.size) as f64 + 2.0 + case.ports as f64) / sent;
        let most = full / (1.0 - buffered);
        assert!(load <= most.min(top) + resolution + 1e-9, "{load} {most}");
        assert_eq!(found.is_highest, load >= top - 1e-9);
    }
}

#[test]
fn latency_is_that_of_a_lone_frame() {
    for mut case in cases(64) {
        // One port, and a load below the receiving port's rate, so that no frame waits.
        case.setup.streams.truncate(1);
        let load = (case.device.egress as f64 / case.device.ingress as f64).min(0.9) * 0.99;
        let options = Options {
            throughput: vec![(case.size, Share((load * 1e9) as u64))],
            ..Options::default()
        };
        let found = case.find(latency::LatencySteps, options).found.unwrap();
        let alone = case.device.alone(case.size);
        // Three times are cut to nanoseconds.
        let is_near = |ns: Nanos| (ns - alone).abs() <= 2;
        assert!(is_near(found.min_ns.unwrap()) && is_near(found.max_ns.unwrap()));
        assert!(is_near(found.p50_ns.unwrap()));
        assert_eq!(
            (found.tagged_ns.len(), found.tagged_lost, found.lost),
            (2, 0, 0)
        );
        assert!(found.tagged_ns.iter().all(|&ns| is_near(ns)));
    }
}

#[test]
fn loss_is_what_exceeds_the_receiving_port() {
    for case in cases(64) {
        let found = case
            .find(frame_loss::FrameLossSteps, Options::default())
            .found
            .unwrap();
        for point in &found.points {
            let sent = point.fps * case.setup.effort.trial as f64 / 1e9;
            let excess = (1.0 - case.setup.egress_fps(case.size) / point.fps).max(0.0);
            let held = (case.device.holds(case.size) as f64 + 2.0 + case.ports as f64) / sent;
            let loss = point.loss_percent.unwrap() / 100.0;
            assert!(
                loss <= excess + 0.001 && loss >= excess - held - 0.001,
                "{loss} {excess}"
            );
        }
        let last = found.points.len() - 1;
        if found.reached_zero {
            assert_eq!(found.points[last].loss_percent, Some(0.0));
            assert_eq!(found.points[last - 1].loss_percent, Some(0.0));
        } else {
            assert_eq!(found.points.len(), 10);
        }
    }
}

/// Whole steps below the highest rate, each once, wherever one begins.
#[test]
fn loads_of_a_loss_curve_fall() {
    for (top, below) in [(50, 40), (55, 50), (95, 90), (100, 90)] {
        let options = Options {
            top: Share(top * 10_000_000),
            ..Options::default()
        };
        for case in cases(64).take(20) {
            let found = case.find(frame_loss::FrameLossSteps, options.clone());
            let loads = found
                .found
                .unwrap()
                .points
                .into_iter()
                .map(|point| point.load);
            let loads: Vec<f64> = loads.collect();
            assert!(loads.windows(2).all(|pair| pair[1] < pair[0]), "{loads:?}");
            assert!((loads[0] - top as f64 / 100.0).abs() < 1e-9);
            assert!((loads[1] - below as f64 / 100.0).abs() < 1e-9, "{loads:?}");
        }
    }
}

#[test]
fn bursts_are_found_to_the_frame() {
    for case in cases(256) {
        if case.full() > 0.9 {
            continue;
        }
        let longest = case.longest_burst();
        let options = Options::default();
        let found = case
            .find(back_to_back::BackToBackSteps, options.clone())
            .found
            .unwrap();
        assert_eq!(found.repeats, vec![Some(longest); 3]);
        let found = case
            .find(microburst::MicroburstSteps, options)
            .found
            .unwrap();
        assert_eq!(found.bursts.repeats, vec![Some(longest); 2]);
        assert_eq!(found.relative_sd, Some(0.0));
    }
}

#[test]
fn the_corrected_buffer_is_the_configured_one() {
    let mut compared = 0;
    for case in cases(64) {
        let known = Share((case.full().min(1.0) * 1e9) as u64);
        let options = Options {
            throughput: vec![(case.size, known)],
            ..Options::default()
        };
        let at = case.find(buffer_time::BufferTimeSteps, options);
        let Some(found) = at.found else {
            assert!(case.full() > 1.0 / 3.001, "{:?}", at.why);
            continue;
        };
        compared += 1;
        // What arrives at once on other ports cannot be told from what waits.
        let tolerance = 1.0 + (case.ports - 1) as f64 / 3.0;
        let held = case.device.holds(case.size) as f64;
        let error = found.by_achieved.buffer_frames - held;
        assert!(
            error.abs() <= tolerance,
            "{} {held}",
            found.by_achieved.buffer_frames
        );
        let bytes = held * f64::from(case.size);
        assert!((found.by_achieved.buffer_bytes - bytes).abs() <= tolerance * f64::from(case.size));
        let rate = found.achieved_fps.unwrap_or(found.calculated_fps);
        let ratio = rate / found.throughput_fps;
        assert!((ratio * case.full() - 1.0).abs() < 1e-3, "{ratio}");
    }
    assert!(compared > 100, "{compared}");
}

/// Trials of 20 times the buffer let 5 % more pass than the receiving port forwards.
#[test]
fn what_short_trials_let_pass_makes_no_buffer_smaller() {
    let mut compared = 0;
    for case in cases(64) {
        let options = Options::default();
        let resolution = options.resolution.as_f64();
        let at = case.find(buffer_time::BufferTimeSteps, options);
        let Some(found) = at.found else {
            continue;
        };
        compared += 1;
        // What arrives at once on other ports cannot be told from what waits.
        let at_once = 1.0 + (case.ports - 1) as f64 / 3.0;
        let tolerance = at_once + resolution * found.frames.mean;
        let held = case.device.holds(case.size) as f64;
        let error = found.by_achieved.buffer_frames - held;
        assert!(error.abs() <= tolerance, "{held}: {error} of {tolerance}");
    }
    assert!(compared > 100, "{compared}");
}

/// Short trials let the buffer pass for throughput (here a twentieth more than the line carries); the correction does not
/// take it for what was forwarded.
#[test]
fn the_corrected_buffer_is_by_what_the_line_carries() {
    for (egress, size) in [(10, 64), (20, 512), (33, 512)] {
        let device = Device {
            ingress: 100_000_000,
            egress: egress * 1_000_000,
            buffer: 65_536,
            overhead: 20,
            latency: 0,
            fault: Fault::None,
        };
        let case = Case {
            device,
            ports: 1,
            size,
            setup: setup(&device, 1, &[size], effort(&device)),
        };
        let at = case.find(buffer_time::BufferTimeSteps, Options::default());
        let found = at.found.unwrap_or_else(|| panic!("{size} B: {:?}", at.why));
        let (held, holds) = (found.by_achieved.buffer_frames, device.holds(size) as f64);
        assert!((held - holds).abs() <= 1.0, "{size} B: {held} of {holds}");
    }
}

#[test]
fn a_slight_overload_finds_the_same_buffer() {
    let mut compared = 0;
    for mut case in cases(512) {
        case.setup.effort.trial *= 20;
        let at = case.find(buffering::BufferingSteps, Options::default());
        let Some(found) = at.found else {
            assert!(case.ports == 1 && case.full() > 0.99, "{:?}", at.why);
            continue;
        };
        compared += 1;
        let held = case.device.holds(case.size) as f64;
        let tolerance = 2.0 + case.ports as f64;
        let frames = found.held_frames.unwrap();
        assert!((frames - held).abs() <= tolerance, "{frames} {held}");
        let bytes = found.held_bytes_by_latency.unwrap();
        assert!((bytes - held * f64::from(case.size)).abs() <= tolerance * f64::from(case.size));
        // The highest latency rises up to the inflection.
        let passed = found.points.iter().filter(|point| point.lost == 0);
        let rising: Vec<Nanos> = passed.filter_map(|point| point.highest_ns).collect();
        assert!(rising.is_sorted());
    }
    assert!(compared > 150, "{compared}");
}

/// A sender is off by as much as half of the excess.
#[test]
fn what_is_held_is_reckoned_by_the_rate_that_was_reached() {
    for mut case in cases(512).take(20) {
        case.setup.effort.trial *= 20;
        let steps = buffering::BufferingSteps;
        let mut course = ProcedureRun::new(steps, case.setup.clone(), Options::default());
        drive(&mut course, |planned| {
            case.device.carry_out(&slower(&planned.trial, 1.005))
        });
        let found = course.found()[0].found.clone();
        let Some(frames) = found.and_then(|found| found.held_frames) else {
            continue;
        };
        let held = case.device.holds(case.size) as f64;
        let tolerance = 0.1 * held + 3.0 + case.ports as f64;
        assert!((frames - held).abs() <= tolerance, "{frames} {held}");
    }
}

#[test]
fn a_fifo_recovers_at_once() {
    for case in cases(256) {
        let at = case.find(system_recovery::SystemRecoverySteps, Options::default());
        let Some(found) = at.found else {
            assert!(case.full() > 0.99, "{:?}", at.why);
            continue;
        };
        let Some(recovery) = found.recovery_ns else {
            let overload = found.overload / case.full().min(1.0);
            assert!(found.lost_in_overload == 0 && overload < 1.06, "{overload}");
            continue;
        };
        // At half load, what came at once from several ports is all that may still be lost.
        let gap = 1e9 / case.setup.fps(case.size, Share((found.half * 1e9) as u64));
        assert!(recovery.max <= gap, "{recovery:?} {gap}");
    }
}

#[test]
fn a_reset_is_as_long_as_it_lasts() {
    for (seed, mut case) in cases(64).enumerate().take(60) {
        let lasts = MILLISECOND * (1 + seed as Nanos % 40);
        case.setup.trial.path.switch = Some(Switch {
            reset: Some(Reset {
                at: Duration(3 * MILLISECOND),
                lasts: Duration(lasts),
            }),
            ..Switch::default()
        });
        let found = case
            .find(reset::ResetSteps, Options::default())
            .found
            .unwrap();
        let silence = found.silence_ns.unwrap();
        // The gap between frames, and what had waited to leave.
        let gap = 2e9 / case.setup.fps(case.size, Share((found.load * 1e9) as u64));
        let waited = case.device.buffer as f64 * 8.3e9 / case.device.egress as f64;
        let least = (lasts as f64 - waited).max(0.0);
        assert!(
            silence.min >= least && silence.max <= lasts as f64 + gap,
            "{silence:?} {lasts}"
        );
        assert!(found.lost > 0);
    }
}

#[test]
fn mlrsearch_bounds_enclose_what_the_port_forwards() {
    for case in cases(256) {
        let trial = case.setup.effort.trial;
        let goals = [mlrsearch::Goal::rfc2544(), mlrsearch::Goal::tst009()];
        let tolerant = mlrsearch::Goal {
            name: "2 % loss".to_owned(),
            loss_ratio: 0.02,
            ..mlrsearch::Goal::rfc2544()
        };
        let goals = goals.into_iter().chain([tolerant]);
        let options = Options {
            goals: goals.map(|goal| goal.with_trials_of(trial)).collect(),
            ..Options::default()
        };
        let width = options.goals[0].width.as_f64();
        let found = case.find(mlrsearch::MlrsearchSteps, options).found.unwrap();
        let full = case.full();
        for goal in &found.goals {
            if !goal.is_regular {
                assert!(goal.upper_bound.is_none() && full > 0.9, "{goal:?} {full}");
                continue;
            }
            let (lower, upper) = (goal.lower_bound.unwrap(), goal.upper_bound.unwrap());
            assert!(lower < upper && upper - lower <= width + 1e-9);
            assert!(upper > full - 1e-9, "{goal:?} {full}");
            let conditional = goal.conditional_throughput_fps.unwrap();
            assert!(conditional <= goal.lower_bound_fps.unwrap() + 1e-6);
        }
        let loads: Vec<f64> = found
            .goals
            .iter()
            .filter_map(|goal| goal.lower_bound)
            .collect();
        assert!(loads[2] >= loads[0], "more loss, more load");
        assert_eq!(loads[0], loads[1], "a device that never varies");
    }
}

#[test]
fn mlrsearch_names_goals_first_and_says_what_short_trials_let_pass() {
    let case = Case::any(3, 256);
    let goals = [mlrsearch::Goal::rfc2544(), mlrsearch::Goal::tst009()];
    let goals = goals.map(|goal| goal.with_trials_of(case.setup.effort.trial));
    let options = Options {
        goals: goals.to_vec(),
        ..Options::default()
    };
    let found = case.find(mlrsearch::MlrsearchSteps, options.clone());
    let report = mlrsearch::MlrsearchSteps.report(&case.setup, &options, &[found]);
    let table = &report.tables[0];
    let names: Vec<_> = table.columns.iter().map(|column| &column.name).collect();
    assert_eq!(names[..2], ["goal", "frame size"]);
    let most = names.iter().position(|name| *name == "theoretical maximum");
    let theory = delaylab_procedure::report::Cell::from(case.setup.theoretical_fps(case.size));
    for row in &table.rows {
        assert_eq!(row[most.unwrap()], theory, "{row:?}");
    }
    assert!(
        report
            .notes
            .iter()
            .any(|note| note.contains("let the device's buffer pass"))
    );
}
