//! Runs as a live host records them, of which every stamp is known.

use crate::causes::{carry_out, explain_in};
use delaylab_explain::causes::{self, Explanation, slow::Baseline};
use delaylab_model::method::Method;
use delaylab_model::plan::Unit;
use delaylab_model::record::{Outcome, Record};
use delaylab_model::refusal::Refusal;
use delaylab_model::rows::Rows;
use delaylab_model::series::SeriesPoint;
use delaylab_model::trial::{ProbeFacts, RecordFacts, ReflectorClock, Residence, Trial};
use delaylab_model::units::format_duration;
use delaylab_model::world::{Sink, TrialFacts, World, WorldError};
use delaylab_model::{MICROSECOND, MILLISECOND, Nanos};
use delaylab_stats::anatomy::{Stage, StageSet};
use delaylab_stats::attribution::LateCause;

/// Packets of a probe in each trial.
const PACKETS: u64 = 200;

/// How the records of a trial read, and how long a packet is under way: there, at the reflector and back, µs.
struct Known {
    clock: fn(&Trial) -> ReflectorClock,
    takes: fn(&Trial, u64) -> [Nanos; 3],
}

impl World for Known {
    fn refusals(&self, _: &Trial) -> Vec<Refusal> {
        Vec::new()
    }

    fn run(&mut self, trial: &Trial, sink: &mut dyn Sink) -> Result<TrialFacts, WorldError> {
        let records = RecordFacts {
            reflector_clock: (self.clock)(trial),
            residence: Residence::ToDriver,
        };
        sink.begin(0, &records).unwrap();
        for seq in 0..PACKETS {
            let due = seq as Nanos * 100 * MILLISECOND;
            let mut at = due;
            let mut after = |us: Nanos| {
                at += us * MICROSECOND;
                Some(at)
            };
            let [there, reflector, back] = (self.takes)(trial, seq);
            let mut record = Record::due(trial.id, 0, seq, Method::Udp, due);
            record.t_send = after(1);
            record.t_sched = after(1);
            record.t_tx = after(1);
            record.r_rx = after(there);
            record.r_user = record.r_rx;
            record.r_tx = after(reflector);
            record.t_rx = after(back);
            record.t_recv = after(1);
            record.outcome = Outcome::Ok;
            sink.record(&record).unwrap();
        }
        Ok(TrialFacts::from(vec![ProbeFacts {
            records,
            ..ProbeFacts::default()
        }]))
    }
}

/// A testbed whose only queue is the kernel's. It holds more in the first half of a trial, as its packets show.
struct KernelQueue(Known);

impl World for KernelQueue {
    fn refusals(&self, _: &Trial) -> Vec<Refusal> {
        Vec::new()
    }

    fn run(&mut self, trial: &Trial, sink: &mut dyn Sink) -> Result<TrialFacts, WorldError> {
        let mut facts = self.0.run(trial, sink)?;
        let half = PACKETS as Nanos / 2 * 100 * MILLISECOND;
        let point = |(t, mean, max)| SeriesPoint {
            trial: trial.id,
            series: "backlog".into(),
            of: "s1→b1".into(),
            unit: Unit::Bytes,
            t,
            length: half,
            min: 0.0,
            mean,
            max,
        };
        let points = [(0, 43_200.0, 59_900.0), (half, 30_000.0, 40_000.0)].map(point);
        sink.rows(Rows::Series(&points)).unwrap();
        let warning = "packets were dropped at s1→b1: the kernel's queue";
        facts.probes[0].warnings = vec![warning.to_owned()];
        Ok(facts)
    }
}

fn experiment(design: &str) -> String {
    format!(
        r#"
name = "known"
title = "Packets whose stamps are known"
world = "sim"

[[probe]]
name = "echo"
method = "udp"
payload = "64B"
pacing = {{ every = "100ms" }}
duration = "20s"

[path]
topology = "two-hosts"
framing = "ethernet"
rate = "100Mbit/s"

{design}
"#
    )
}

/// Nothing is known of the path, as of a live one.
fn of_a_live_path(world: &mut Known, design: &str, baseline: Baseline<'_>) -> Explanation {
    let runs = tempfile::tempdir().unwrap();
    let (run, _) = carry_out(runs.path(), &experiment(design), 1, ("live", world));
    causes::explain(&run, None, baseline)
}

/// No table has what each packet met in it, but what it held is known.
#[test]
fn a_full_queue_of_the_kernel_is_named_with_about_how_long_packets_waited() {
    let design = "[path.line.b1]\nrate = \"10Mbit/s\"\n[path.switch]\ndiscipline = \"kernel-tbf\"\nbuffer = \"60kB\"\n\
                  [[load]]\nname = \"up\"\nkind = \"tcp\"\nstreams = 2\n";
    let mut world = KernelQueue(Known {
        clock: |_| ReflectorClock::Same,
        takes: |_, seq| [if seq < PACKETS / 2 { 36_000 } else { 25_440 }, 10, 100],
    });
    let runs = tempfile::tempdir().unwrap();
    let text = experiment(design);
    let (run, resolved) = carry_out(runs.path(), &text, 1, ("testbed", &mut world));
    let found = causes::explain(&run, Some(&resolved), Baseline::Best);
    let says =
        "is waiting in the queue of s1→b1, which was full: about 29.3 ms of 30.8 ms on average.";
    let answer = found.slow_answer();
    assert!(answer.contains(says), "{answer}");
    let load = "The run's own load (up, 2 streams) goes through this queue.";
    assert!(answer.contains(load), "{answer}");
    let condition = &found.slow.conditions[0];
    assert!(condition.queues["s1→b1"].is_estimate, "{condition:#?}");
}

/// What they are held against is what is usual in the other repeats.
#[test]
fn a_repeat_that_is_slow_as_a_whole_is_late_by_what_it_takes_more() {
    let mut world = Known {
        clock: |_| ReflectorClock::Unrelated,
        takes: |trial, seq| {
            let reflector = if trial.id == 2 { 8_000 } else { 10 };
            [10_000 + seq as Nanos % 10, reflector, 10_000]
        },
    };
    let found = explain_in(&mut world, &experiment("[design]\nrepeats = 3\n"), 1);
    let [cause] = &found.causes[..] else {
        panic!("{:#?}", found.causes)
    };
    assert_eq!(cause.what, LateCause::Reflector { here: false });
    assert_eq!(cause.packets, PACKETS);
    let each = cause.excess_ns / PACKETS as f64;
    assert!((each - 7_990e3).abs() < 1e3, "{each}");
}

/// Small packets have no room for the reflector's stamps.
#[test]
fn a_condition_that_is_not_slow_tells_all_its_stages_apart() {
    let sizes = "[sweep]\nsize = { set = \"probe.echo.payload\", to = [\"40B\", \"200B\"] }\n";
    let mut world = Known {
        clock: |trial| match trial.probes[0].payload {
            40 => ReflectorClock::None,
            _ => ReflectorClock::Unrelated,
        },
        takes: |trial, _| match trial.probes[0].payload {
            40 => [500, 4_000, 500],
            _ => [550, 4_000, 550],
        },
    };
    let found = of_a_live_path(&mut world, sizes, Baseline::Best);
    let said = found.slow_answer();
    assert!(
        said.starts_with("No combination is slow against the best one")
            && said.contains("78 % of the response of size 200B is time in the reflector's host"),
        "{said}"
    );
}

/// A reflector that is stopped answers all packets that came meanwhile at one moment. Each is late, however many they are.
#[test]
fn the_longer_a_stall_the_more_packets_are_late() {
    const FROM: u64 = 20;
    for share in [10, 25, 30, 45, 60, 80] {
        // The probe's payload says of how many packets in a hundred.
        let design =
            format!("[sweep]\nsize = {{ set = \"probe.echo.payload\", to = [\"{share}B\"] }}\n");
        let mut world = Known {
            clock: |_| ReflectorClock::Unrelated,
            takes: |trial, seq| {
                let until = FROM + u64::from(trial.probes[0].payload) * PACKETS / 100;
                let stopped = match (FROM..until).contains(&seq) {
                    true => (until - seq) as Nanos * 100_000,
                    false => 0,
                };
                [20, 10 + seq as Nanos * 7 % 11 + stopped, 20]
            },
        };
        let found = explain_in(&mut world, &experiment(&design), 1);
        let [cause] = &found.causes[..] else {
            panic!("{share}: {:#?}", found.causes)
        };
        assert_eq!(cause.what, LateCause::Reflector { here: false });
        assert_eq!((cause.packets, cause.events), (share * PACKETS / 100, 1));
        let length = format_duration(cause.packets as Nanos * 100 * MILLISECOND);
        let stall = format!(
            "a stall of {length}, from 2.00 s on (trial 0): {} packets",
            cause.packets
        );
        let evidence = cause.evidence.join("; ");
        assert!(evidence.contains(&stall), "{share}: {evidence}");
    }
}

/// The way there becomes shorter, then longer again: the larger of both changes comes first, whenever it was.
#[test]
fn a_change_of_level_is_said_with_the_stage_in_which_it_arose() {
    let mut world = Known {
        clock: |_| ReflectorClock::Same,
        takes: |_, seq| {
            let jitter = (seq * 7919 % 101) as Nanos;
            let there = match seq {
                0..60 => 3_000,
                60..130 => 1_000,
                _ => 5_000,
            };
            [there + jitter, 10, 400 + jitter]
        },
    };
    for (clock, stages) in [
        (ReflectorClock::Same, StageSet::only(Stage::ForwardPath)),
        (ReflectorClock::Unrelated, StageSet::BOTH_WAYS),
    ] {
        world.clock = match clock {
            ReflectorClock::Same => |_| ReflectorClock::Same,
            _ => |_| ReflectorClock::Unrelated,
        };
        let found = explain_in(&mut world, &experiment(""), 1);
        let changes: Vec<_> = (found.changes.found.iter())
            .map(|change| (change.after > change.before, change.stages))
            .collect();
        assert_eq!(changes, [(true, Some(stages)), (false, Some(stages))]);
    }
}
