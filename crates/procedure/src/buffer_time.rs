//! Back-to-back frames, corrected (RFC 9004): how long a device can buffer.
//!
//! While a burst comes in, the device forwards. RFC 9004 takes what it forwarded meanwhile out of the
//! burst, and so comes from the longest burst to the buffer:
//!
//! - implied buffer time = longest burst / rate of the burst
//! - corrected buffer time = implied · (1 − throughput / rate of the burst)
//! - bytes = corrected time · rate of the burst · frame size
//!
//! The rate of the burst is the one that was reached, because a software sender need not reach the line
//! rate. When it is near the throughput, the correction is a small difference of two large rates; such
//! sizes are left out.

use crate::back_to_back::{cap, longest};
use crate::bench::{Bench, Stop};
use crate::course::{AtSize, Steps};
use crate::report::{self, Clause, Figure, Holds, Report};
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
    /// Frames a second of the burst as they were sent.
    pub achieved_fps: f64,
    /// Average burst over its rate, in seconds.
    pub implied_s: f64,
    /// Less what was forwarded meanwhile.
    pub corrected_s: f64,
    /// The buffer in frames.
    pub buffer_frames: f64,
    /// The buffer in bytes of frames with their check sequence.
    pub buffer_bytes: f64,
}

/// The procedure.
#[derive(Debug, Clone, Copy)]
pub struct BufferTimeSteps;

impl Steps for BufferTimeSteps {
    type Found = BufferTime;

    fn size(&self, bench: &mut Bench<'_>) -> Result<BufferTime, Stop> {
        let throughput = throughput::find(bench)?;
        if throughput.load_e9 == 0 {
            return Err(Stop::Unfit("no load passed without loss".to_owned()));
        }
        if throughput.is_highest {
            let why = "the throughput is the highest rate: a burst never fills the buffer";
            return Err(Stop::Unfit(why.to_owned()));
        }
        let loads = bench.all_at(Share::WHOLE);
        let cap = cap(bench, &loads);
        let (mut searches, mut rates) = (Vec::new(), Vec::new());
        let mut hint = 1;
        for repeat in 0..bench.setup.effort.burst_repeats.max(1) {
            let confirm = bench.options.confirm;
            let found = longest(bench, &loads, (cap, hint), repeat, confirm)?;
            rates.extend(found.achieved_fps);
            hint = found.frames.unwrap_or(cap);
            if hint as f64 > cap as f64 * NEAR_THE_CAP {
                let why = format!(
                    "bursts pass that are nearly as long as any that is tried ({cap} frames)"
                );
                return Err(Stop::Unfit(why));
            }
            searches.push(hint);
        }
        let nominal = bench.fps(&loads);
        let achieved = Spread::of(rates).map_or(nominal, |rates| rates.mean);
        let least = bench.options.least_ratio * throughput.fps;
        if achieved < least {
            let why = format!(
                "bursts reached {achieved:.0} frames/s, less than {} times the {:.0} frames/s that the \
                 device forwards",
                bench.options.least_ratio, throughput.fps
            );
            return Err(Stop::Unfit(why));
        }
        let frames = Spread::of(searches.iter().map(|&frames| frames as f64));
        let frames = frames.ok_or(Stop::Pending)?;
        let implied_s = frames.mean / achieved;
        let corrected_s = implied_s * (1.0 - throughput.fps / achieved);
        let buffer_frames = corrected_s * achieved;
        Ok(BufferTime {
            frames,
            searches,
            throughput_fps: throughput.fps,
            achieved_fps: achieved,
            implied_s,
            corrected_s,
            buffer_frames,
            buffer_bytes: buffer_frames * f64::from(bench.size),
        })
    }

    fn report(&self, setup: &Setup, options: &Options, sizes: &[AtSize<BufferTime>]) -> Report {
        let columns = [
            ("average burst", "frames"),
            ("least", "frames"),
            ("largest", "frames"),
            ("sd", "frames"),
            ("throughput", "frames/s"),
            ("burst rate reached", "frames/s"),
            ("implied buffer time", "s"),
            ("corrected buffer time", "s"),
            ("buffer", "frames"),
            ("buffer", "B"),
        ];
        let table = report::by_size(
            "Back-to-back frames and buffer time",
            &columns,
            sizes,
            |found| {
                vec![
                    found.frames.mean.into(),
                    found.frames.min.into(),
                    found.frames.max.into(),
                    found.frames.sd.into(),
                    found.throughput_fps.into(),
                    found.achieved_fps.into(),
                    found.implied_s.into(),
                    found.corrected_s.into(),
                    found.buffer_frames.into(),
                    found.buffer_bytes.into(),
                ]
            },
        );
        let line = |of: fn(&BufferTime) -> f64| {
            let found = sizes
                .iter()
                .filter_map(|at| Some((at.size, at.found.as_ref()?)));
            let points = found.map(move |(size, found)| (f64::from(size), of(found)));
            points.collect::<Vec<_>>()
        };
        let times = Figure::new("Buffer time", ("frame size", "B"), ("buffer time", "s"))
            .line("implied", line(|found| found.implied_s))
            .line("corrected", line(|found| found.corrected_s));
        let searches = Figure::new("Bursts by search", ("search", ""), ("burst", "frames"));
        let searches = searches.line_by_size(sizes, |found| {
            let bursts = found.searches.iter().zip(1..);
            let bursts = bursts.map(|(&frames, n)| (f64::from(n), frames as f64));
            bursts.collect::<Vec<_>>()
        });
        Report {
            procedure: "buffer-time".to_owned(),
            title: "Back-to-back frames, corrected for what was forwarded meanwhile".to_owned(),
            sections: vec!["RFC 9004".to_owned(), "RFC 2544 §26.4".to_owned()],
            tables: vec![table],
            figures: vec![times, searches],
            conformance: clauses(setup, options),
            notes: Vec::new(),
        }
    }
}

fn clauses(setup: &Setup, options: &Options) -> Vec<Clause> {
    let effort = &setup.effort;
    let mut clauses = report::clauses_of_trials(setup);
    let ratio = options.least_ratio;
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
            if options.confirm > 0 {
                Holds::Yes
            } else {
                Holds::No
            },
            format!("a loss counts if it is there {} times", options.confirm + 1),
        ),
        Clause::times(
            "RFC 9004 §6.3",
            "several searches: average, least, largest, standard deviation",
            effort.burst_repeats,
            50,
        ),
        Clause::new(
            "RFC 9004 §6.4",
            "the highest rate in the correction",
            Holds::Yes,
            format!("the rate that was reached, if it is at least {ratio} times the throughput"),
        ),
    ]);
    clauses
}
