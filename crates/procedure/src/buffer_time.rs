//! Back-to-back frames, corrected (RFC 9004): how long a device can buffer.
//!
//! While a burst comes in, the device forwards. RFC 9004 takes what it forwarded meanwhile out of the
//! burst, and so comes from the longest burst to the buffer:
//!
//! - implied buffer time = longest burst / rate of the burst
//! - corrected buffer time = implied · (1 − throughput / rate of the burst)
//! - bytes = corrected time · rate of the burst · frame size
//!
//! RFC 9004 §6.4 takes the rate of the burst as the calculated highest rate. A software sender need not reach
//! it, so the figures of record are by the rate that was reached; those by the calculated rate are given as
//! well, and the clause says where the two rates differ. When the rate is near the throughput, the correction
//! is a small difference of two large rates; such sizes are left out. What the buffer takes in during a short trial is not
//! forwarded: the throughput is at most what the lines carry.

use crate::back_to_back::{BurstRate, RATE_UNKNOWN, Search, other_rates};
use crate::bench::{Bench, Stop};
use crate::course::{AtSize, Steps, all_found};
use crate::report::{self, Clause, Figure, Holds, Report, Role, Table};
use crate::search::Spread;
use crate::setup::{Options, Setup};
use crate::throughput;
use delaylab_model::SECOND;
use delaylab_model::quantity::Share;
use schemars::JsonSchema;
use serde::Serialize;

/// A burst that is longer than this share of the longest that is tried is too near to it.
const NEAR_THE_CAP: f64 = 0.9;

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct BufferTime {
    /// The longest burst of each search, in frames of all streams together.
    pub frames: Spread,
    /// Each search's.
    pub searches: Vec<u64>,
    /// Frames a second that the device forwards, of all streams together.
    pub throughput_fps: f64,
    /// Frames a second of the burst as they were sent; `None` where bursts were too short to tell, or had no stamps.
    pub achieved_fps: Option<f64>,
    /// Frames a second of the burst as calculated from the ports' rates: what RFC 9004 §6.4 asks for.
    pub calculated_fps: f64,
    /// By the rate that was reached; where that is not known, by the calculated one.
    #[serde(flatten)]
    pub by_achieved: Held,
    /// By the calculated rate.
    pub by_calculated: Held,
}

/// What a device can buffer, by one rate of the burst.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Held {
    /// Average burst over its rate, in seconds.
    pub implied_s: f64,
    /// Less what was forwarded meanwhile.
    pub corrected_s: f64,
    /// The buffer in frames.
    pub buffer_frames: f64,
    /// The buffer in bytes of frames with their check sequence.
    pub buffer_bytes: f64,
}

impl Held {
    /// After an average burst of `frames` of `size` bytes at `rate` frames a second (RFC 9004 §6.4).
    fn new(frames: f64, rate: f64, throughput: f64, size: u32) -> Self {
        let implied_s = frames / rate;
        let corrected_s = implied_s * (1.0 - throughput / rate);
        let buffer_frames = corrected_s * rate;
        Self {
            implied_s,
            corrected_s,
            buffer_frames,
            buffer_bytes: buffer_frames * f64::from(size),
        }
    }
}

/// What its table says of each frame size.
const COLUMNS: [(&str, &str, Role); 13] = [
    ("average burst", "frames", Role::Result),
    ("min", "frames", Role::Spread),
    ("max", "frames", Role::Spread),
    ("sd", "frames", Role::Spread),
    ("throughput", "frames/s", Role::Result),
    ("burst rate reached", "frames/s", Role::Result),
    ("implied buffer time", "s", Role::Result),
    ("corrected buffer time", "s", Role::Result),
    ("buffer", "frames", Role::Result),
    ("buffer", "B", Role::Result),
    ("burst rate calculated", "frames/s", Role::Result),
    ("corrected by it", "s", Role::Result),
    ("buffer by it", "B", Role::Result),
];

/// The procedure.
#[derive(Debug, Clone, Copy)]
pub struct BufferTimeSteps;

impl Steps for BufferTimeSteps {
    type Found = BufferTime;

    fn size(&self, bench: &mut Bench<'_>) -> Result<BufferTime, Stop> {
        let throughput = throughput::sustained(bench)?;
        if throughput.is_highest {
            let nothing = "a burst never fills the buffer";
            return Err(throughput::at_the_highest(bench, nothing));
        }
        let loads = bench.all_at(Share::WHOLE);
        let search = Search {
            confirm: confirm(bench.options),
            ..Search::at_full_rate(bench, &loads)
        };
        let cap = search.cap;
        let mut hint = 1;
        let found = bench.repeats(bench.setup.effort.burst_repeats, |bench, repeat| {
            let found = search.longest(bench, hint, repeat, |_, _| ())?;
            hint = found.frames.unwrap_or(cap);
            if hint as f64 > cap as f64 * NEAR_THE_CAP {
                let why = format!(
                    "bursts pass that are nearly as long as any that is tried ({cap} frames)"
                );
                return Err(Stop::Untried(why));
            }
            Ok((hint, found.achieved_fps))
        })?;
        let searches: Vec<u64> = found.iter().map(|(frames, _)| *frames).collect();
        let rates = found.iter().filter_map(|(_, rate)| *rate);
        let nominal = bench.fps(&loads);
        let frames = Spread::new(searches.iter().map(|&frames| frames as f64));
        let frames = frames.ok_or(Stop::Pending)?;
        // The lines carry no more: frames that are handed over faster wait before them.
        let reached = Spread::new(rates).map(|rates| rates.mean.min(nominal));
        let reached = reached.filter(|&achieved_fps| {
            BurstRate::new(achieved_fps, nominal, frames.min, loads.len()).is_certain()
        });
        let achieved = reached.unwrap_or(nominal);
        let least = bench.options.least_ratio * throughput.fps;
        if achieved < least {
            let why = format!(
                "bursts reached {achieved:.0} frames/s, less than {} times the {:.0} frames/s that the \
                 device forwards",
                bench.options.least_ratio, throughput.fps
            );
            // What the lines carry says of the device, and a slow sender does not.
            return Err(match nominal < least {
                true => Stop::Unfit(why),
                false => Stop::Untried(why),
            });
        }
        let held = |rate| Held::new(frames.mean, rate, throughput.fps, bench.size);
        Ok(BufferTime {
            frames,
            searches,
            throughput_fps: throughput.fps,
            achieved_fps: reached,
            calculated_fps: nominal,
            by_achieved: held(achieved),
            by_calculated: held(nominal),
        })
    }

    fn report(&self, setup: &Setup, options: &Options, sizes: &[AtSize<BufferTime>]) -> Report {
        Report {
            procedure: "buffer-time".to_owned(),
            title: "Back-to-back frames, corrected for what was forwarded meanwhile".to_owned(),
            sections: vec!["RFC 9004".to_owned(), "RFC 2544 §26.4".to_owned()],
            tables: vec![table(sizes)],
            figures: vec![times(sizes), searches(sizes)],
            conformance: clauses(setup, options, sizes),
            notes: Vec::new(),
        }
    }
}

fn table(sizes: &[AtSize<BufferTime>]) -> Table {
    let title = "Back-to-back frames and buffer time";
    report::by_size(title, &COLUMNS, sizes, |found| {
        vec![
            found.frames.mean.into(),
            found.frames.min.into(),
            found.frames.max.into(),
            found.frames.sd.into(),
            found.throughput_fps.into(),
            found.achieved_fps.into(),
            found.by_achieved.implied_s.into(),
            found.by_achieved.corrected_s.into(),
            found.by_achieved.buffer_frames.into(),
            found.by_achieved.buffer_bytes.into(),
            found.calculated_fps.into(),
            found.by_calculated.corrected_s.into(),
            found.by_calculated.buffer_bytes.into(),
        ]
    })
}

fn times(sizes: &[AtSize<BufferTime>]) -> Figure {
    Figure::over_size("Buffer time", ("buffer time", "s"))
        .points("implied", sizes, |found| Some(found.by_achieved.implied_s))
        .points("corrected", sizes, |found| {
            Some(found.by_achieved.corrected_s)
        })
}

fn searches(sizes: &[AtSize<BufferTime>]) -> Figure {
    let searches = Figure::new("Bursts by search", ("search", ""), ("burst", "frames"));
    searches.line_by_size(sizes, |found| {
        let bursts = found.searches.iter().zip(1..);
        let bursts = bursts.map(|(&frames, n)| (f64::from(n), frames as f64));
        bursts.collect::<Vec<_>>()
    })
}

/// How often a loss is verified: RFC 9004 §6.2 asks for it.
fn confirm(options: &Options) -> u32 {
    options.confirm.unwrap_or(1)
}

fn clauses(setup: &Setup, options: &Options, sizes: &[AtSize<BufferTime>]) -> Vec<Clause> {
    let effort = &setup.effort;
    let mut clauses = report::clauses_of_trials(setup, sizes);
    clauses.extend([
        Clause::new(
            "RFC 9004 §6.1",
            "only frame sizes whose throughput is below the highest rate",
            Holds::Yes,
            "others are left out",
        ),
        Clause::lasts(
            "RFC 9004 §6.2",
            "wait 2 s for the buffer to empty and frames to arrive",
            effort.drain,
            2 * SECOND,
        ),
        Clause::new(
            "RFC 9004 §6.2",
            "a binary search with loss verification",
            if confirm(options) > 0 {
                Holds::Yes
            } else {
                Holds::No
            },
            format!(
                "a loss counts if it is there {} times",
                confirm(options) + 1
            ),
        )
        .of_found(sizes),
        Clause::times(
            "RFC 9004 §6.3",
            "several searches: average, minimum, maximum, standard deviation",
            sizes,
            |found| found.searches.len(),
            50,
        ),
        rate_of_the_correction(setup.streams.len(), sizes),
    ]);
    clauses
}

fn rate_of_the_correction(streams: usize, sizes: &[AtSize<BufferTime>]) -> Clause {
    let short = other_rates(sizes, |found| {
        let (achieved, calculated) = (found.achieved_fps?, found.calculated_fps);
        Some(BurstRate::new(
            achieved,
            calculated,
            found.frames.min,
            streams,
        ))
    });
    let is_known = all_found(sizes).all(|found| found.achieved_fps.is_some());
    let says = "the calculated highest rate in the correction";
    Clause::measured("RFC 9004 §6.4", says, sizes, || match short.is_empty() {
        true if !is_known => Err(RATE_UNKNOWN.to_owned()),
        true => Ok("the rate that was reached is this one".to_owned()),
        false => Err(format!(
            "bursts reached another share of it ({}): figures are by the rate that was reached, the last columns by \
             the calculated one",
            short.join(", ")
        )),
    })
}
