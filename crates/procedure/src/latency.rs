//! Latency (RFC 2544 §26.2, RFC 1242 §3.8): how long one tagged frame takes in the middle of a stream
//! at the throughput, and the distribution over every frame.

use crate::bench::{Bench, Stop};
use crate::course::{AtSize, Steps, all_found};
use crate::report::{self, Clause, Figure, Holds, Report, Role, Table};
use crate::search::Spread;
use crate::setup::{Options, Setup};
use crate::throughput;
use delaylab_model::{Nanos, SECOND};
use delaylab_stats::frames::DelayFigures;
use schemars::JsonSchema;
use serde::Serialize;

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Latency {
    /// Of each sending port, as a share of the line rate, 0 to 1.
    pub load: f64,
    /// Frames a second of all streams together.
    pub fps: f64,
    /// Of tagged frames, one of each stream and repeat, in nanoseconds.
    pub tagged: Option<Spread>,
    /// Each tagged frame's, in the order of repeats.
    pub tagged_ns: Vec<Nanos>,
    /// Tagged frames that were lost.
    pub tagged_lost: u32,
    /// Least of every frame, in nanoseconds.
    pub min_ns: Option<Nanos>,
    /// Mean of every frame.
    pub mean_ns: Option<f64>,
    /// Largest median of a stream and repeat.
    pub p50_ns: Option<Nanos>,
    /// Largest 99th percentile of a stream and repeat; null where none has 100 frames that arrived.
    pub p99_ns: Option<Nanos>,
    /// Largest 99.9th percentile of a stream and repeat; null where none has 1000 frames that arrived.
    pub p999_ns: Option<Nanos>,
    /// Largest of every frame.
    pub max_ns: Option<Nanos>,
    /// Frames lost in all repeats.
    pub lost: u64,
    /// Frames a second as they came out, the least of all repeats, where those were fewer: the delay is that of a buffer that fills.
    pub forwarded_fps: Option<f64>,
}

/// What is said of tagged frames.
const TAGGED: [(&str, &str, Role); 7] = [
    ("rate", "frames/s", Role::Result),
    ("latency", "ns", Role::Result),
    ("min", "ns", Role::Spread),
    ("max", "ns", Role::Spread),
    ("sd", "ns", Role::Spread),
    ("tagged frames", "", Role::Effort),
    ("tagged frames lost", "", Role::Loss),
];

/// What is said of every frame.
const EVERY: [(&str, &str, Role); 7] = [
    ("min", "ns", Role::Spread),
    ("mean", "ns", Role::Result),
    ("worst p50", "ns", Role::Result),
    ("worst p99", "ns", Role::Result),
    ("worst p99.9", "ns", Role::Result),
    ("max", "ns", Role::Spread),
    ("lost", "", Role::Loss),
];

/// The procedure.
#[derive(Debug, Clone, Copy)]
pub struct LatencySteps;

impl Steps for LatencySteps {
    type Found = Latency;

    fn size(&self, bench: &mut Bench<'_>) -> Result<Latency, Stop> {
        let throughput = throughput::sustained(bench)?;
        let effort = bench.setup.effort;
        let (mut tagged_ns, mut delays) = (Vec::new(), Vec::new());
        let (mut lost, mut tagged_lost) = (0, 0);
        let trials = bench.repeats(effort.latency_repeats, |bench, repeat| {
            let offer = bench.at_load("latency", throughput.load(), effort.latency);
            bench.trial(offer.repeat(repeat))
        })?;
        for trial in &trials {
            lost += throughput::lost(trial);
            for stream in &trial.streams {
                tagged_ns.extend(stream.tagged_delay);
                tagged_lost += u32::from(stream.tagged_delay.is_none());
                delays.extend(stream.delay);
            }
        }
        let forwarded = trials
            .iter()
            .filter_map(|trial| throughput::forwarded_fps(trial));
        let most = |of: fn(&DelayFigures) -> Option<Nanos>| delays.iter().filter_map(of).max();
        let frames: f64 = delays.iter().map(|delay| delay.count as f64).sum();
        let sum: f64 = delays.iter().map(|d| d.mean * d.count as f64).sum();
        Ok(Latency {
            load: throughput.load().as_f64(),
            fps: throughput.fps,
            tagged: Spread::new(tagged_ns.iter().map(|&ns| ns as f64)),
            tagged_lost,
            min_ns: delays.iter().map(|delay| delay.min).min(),
            mean_ns: (frames > 0.0).then(|| sum / frames),
            p50_ns: most(|delay| Some(delay.p50)),
            p99_ns: most(|delay| delay.p99),
            p999_ns: most(|delay| delay.p999),
            max_ns: most(|delay| Some(delay.max)),
            tagged_ns,
            lost,
            forwarded_fps: forwarded.reduce(f64::min),
        })
    }

    fn report(&self, setup: &Setup, options: &Options, sizes: &[AtSize<Latency>]) -> Report {
        let mut conformance = report::clauses_of_trials(setup, sizes);
        conformance.extend(clauses(setup, sizes));
        Report {
            procedure: "latency".to_owned(),
            title: "Latency at the throughput".to_owned(),
            sections: vec!["RFC 2544 §26.2".to_owned(), "RFC 1242 §3.8".to_owned()],
            tables: vec![tagged_frames(sizes), every_frame(sizes)],
            figures: vec![figure(sizes)],
            conformance,
            notes: notes(options, sizes),
        }
    }
}

fn tagged_frames(sizes: &[AtSize<Latency>]) -> Table {
    report::by_size("Latency of tagged frames", &TAGGED, sizes, |found| {
        let tagged = found.tagged;
        let mut row = vec![
            found.fps.into(),
            tagged.map(|t| t.mean).into(),
            tagged.map(|t| t.min).into(),
            tagged.map(|t| t.max).into(),
            tagged.and_then(|t| t.sd).into(),
            tagged.map_or(0, |t| t.count).into(),
            u64::from(found.tagged_lost).into(),
        ];
        if let Some(forwarded) = found.forwarded_fps {
            let why = throughput::not_sustained(forwarded);
            row.push(format!("{why}; the delay rises through the stream").into());
        }
        row
    })
}

fn every_frame(sizes: &[AtSize<Latency>]) -> Table {
    report::by_size("Latency of every frame", &EVERY, sizes, |found| {
        vec![
            found.min_ns.into(),
            found.mean_ns.into(),
            found.p50_ns.into(),
            found.p99_ns.into(),
            found.p999_ns.into(),
            found.max_ns.into(),
            found.lost.into(),
        ]
    })
}

fn figure(sizes: &[AtSize<Latency>]) -> Figure {
    let figure = Figure::over_size("Latency by frame size", ("latency", "ns"));
    let mean = |found: &Latency| Some(found.tagged?.mean);
    figure.points("mean of tagged frames", sizes, mean)
}

fn notes(options: &Options, sizes: &[AtSize<Latency>]) -> Vec<String> {
    let mut notes = Vec::new();
    let mut found = all_found(sizes);
    if let Some(tried) = options.cut_off(found.clone().map(|latency| latency.load)) {
        notes.push(format!("The throughput may be higher: {tried}."));
    }
    if found.any(|latency| latency.lost > 0) {
        let note = "Frames were lost at the throughput: the streams of this test last longer than \
                    the trials that found it, or it varies.";
        notes.push(note.to_owned());
    }
    notes
}

fn clauses(setup: &Setup, sizes: &[AtSize<Latency>]) -> [Clause; 4] {
    let effort = &setup.effort;
    // Repeats that were invalid, and tagged frames that were lost, are in no mean.
    let streams = setup.streams.len().max(1);
    let tagged = |found: &Latency| found.tagged_ns.len() / streams;
    [
        Clause::lasts(
            "RFC 2544 §26.2",
            "streams of 120 s",
            effort.latency,
            120 * SECOND,
        ),
        Clause::lasts(
            "RFC 2544 §26.2",
            "the tagged frame after 60 s",
            effort.latency / 2,
            60 * SECOND,
        ),
        Clause::times(
            "RFC 2544 §26.2",
            "the mean of 20 repeats",
            sizes,
            tagged,
            20,
        ),
        Clause::new(
            "RFC 1242 §3.8",
            "say how a frame's time in the device is counted",
            Holds::Yes,
            "from just before it is sent to its arrival as a whole. Store-and-forward latency (last bit in to \
             first bit out) is less by the frame's time on both lines, bit-forwarding latency (first bit in \
             to first bit out) by its time on the receiving line",
        ),
    ]
}
