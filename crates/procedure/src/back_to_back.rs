//! Back-to-back frames (RFC 2544 §26.4, RFC 1242 §3.1): the longest burst at the highest rate that
//! passes without loss.

use crate::bench::{Bench, Stop};
use crate::course::{AtSize, Steps};
use crate::report::{self, Cell, Clause, Figure, Report};
use crate::search::{self, Spread};
use crate::setup::{Options, Setup};
use crate::throughput;
use delaylab_model::SECOND;
use delaylab_model::quantity::Share;
use schemars::JsonSchema;
use serde::Serialize;

/// One search for the longest burst.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Longest {
    /// Frames of all streams together; `None`: no burst was long enough.
    pub(crate) frames: Option<u64>,
    /// Frames a second as sent, of the longest burst that was sent.
    pub(crate) achieved_fps: Option<f64>,
}

/// Looks for the longest burst at these loads that passes. A loss counts if it is there in every one of
/// `1 + confirm` trials (TST 009 §12.3.3, binary search with loss verification).
pub(crate) fn longest(
    bench: &mut Bench<'_>,
    loads: &[(usize, Share)],
    (cap, hint): (u64, u64),
    repeat: u32,
    confirm: u32,
) -> Result<Longest, Stop> {
    let mut sent = (0, None);
    let frames = search::longest(cap, hint, |frames| {
        for _ in 0..=confirm {
            let offer = bench.burst("burst", loads, frames);
            let trial = bench.trial(offer.repeat(repeat).as_fast_as_can_be())?;
            let rate = throughput::achieved_fps(&trial);
            if frames >= sent.0 && rate.is_some() {
                sent = (frames, rate);
            }
            if throughput::lost(&trial) == 0 {
                return Ok(true);
            }
        }
        Ok(false)
    })?;
    Ok(Longest {
        frames,
        achieved_fps: sent.1,
    })
}

/// The longest burst of each of some repeats.
pub(crate) struct Bursts {
    /// In frames of all streams together; `None`: that at the cap passed.
    pub(crate) repeats: Vec<Option<u64>>,
    /// Of all repeats: those that passed at the cap are at least as long as that. `None` where all of them did.
    pub(crate) frames: Option<Spread>,
    /// Frames a second as sent, the mean of the repeats.
    pub(crate) achieved_fps: Option<f64>,
}

/// Looks for the longest burst as often as `repeats`; each search begins at what the one before found.
pub(crate) fn bursts(
    bench: &mut Bench<'_>,
    loads: &[(usize, Share)],
    cap: u64,
    repeats: u32,
) -> Result<Bursts, Stop> {
    let mut hint = 1;
    let mut rates = Vec::new();
    let mut burst = |repeat| {
        let found = longest(bench, loads, (cap, hint), repeat, 0)?;
        rates.extend(found.achieved_fps);
        hint = found.frames.unwrap_or(cap);
        Ok(found.frames)
    };
    let repeats: Result<Vec<_>, Stop> = (0..repeats.max(1)).map(&mut burst).collect();
    let repeats = repeats?;
    let at_least = repeats.iter().map(|burst| burst.unwrap_or(cap) as f64);
    let any_lost = repeats.iter().any(Option::is_some);
    Ok(Bursts {
        frames: Spread::new(at_least).filter(|_| any_lost),
        achieved_fps: Spread::new(rates).map(|rates| rates.mean),
        repeats,
    })
}

/// Rates that differ by no more than this share are the same: two clocks are never the same (RFC 8239 §2.2).
const SAME_RATE: f64 = 0.000_2;

/// `64 B 40.3 %`: the frame sizes whose bursts reached another rate than the calculated one, and which share of it.
pub(crate) fn other_rates<F>(
    sizes: &[AtSize<F>],
    rates: impl Fn(&F) -> Option<(f64, f64)>,
) -> Vec<String> {
    let shares = sizes.iter().filter_map(|at| {
        let (achieved, calculated) = rates(at.found.as_ref()?)?;
        // The lines carry no more: frames that are handed over faster wait before them.
        Some((at.size, (achieved / calculated).min(1.0)))
    });
    let other = shares.filter(|(_, share)| 1.0 - share > SAME_RATE);
    other
        .map(|(size, share)| format!("{size} B {:.1} %", 100.0 * share))
        .collect()
}

/// Were bursts sent at the rate of the lines?
pub(crate) fn at_line_rate<F>(
    (section, says): (&str, &str),
    sizes: &[AtSize<F>],
    rates: impl Fn(&F) -> Option<(f64, f64)>,
) -> Clause {
    let mut found = sizes.iter().filter_map(|at| at.found.as_ref());
    let is_known = found.all(|found| rates(found).is_some());
    let other = other_rates(sizes, rates);
    Clause::measured(section, says, sizes, || match other.is_empty() {
        true if !is_known => Err("the rate that bursts reached is not known".to_owned()),
        true => Ok("at 100 % of line rate".to_owned()),
        false => Err(format!(
            "bursts reached less than the line rate ({}): a device passes longer ones then",
            other.join(", ")
        )),
    })
}

/// What the table cannot say of bursts that passed at the cap.
pub(crate) fn at_the_cap<'a>(mut repeats: impl Iterator<Item = &'a [Option<u64>]>) -> Vec<String> {
    let note = "Some bursts passed as long as they were tried: the device forwards at this rate, or its buffer is \
                larger. Beside others they count as long as that, so mean and maximum are at least what is given.";
    let any = repeats.any(|repeats| repeats.contains(&None));
    any.then(|| note.to_owned()).into_iter().collect()
}

/// The longest burst that is tried, in frames of all streams together.
pub(crate) fn cap(bench: &Bench<'_>, loads: &[(usize, Share)]) -> u64 {
    let each = loads
        .iter()
        .map(|&(_, load)| bench.frames_in(bench.setup.effort.burst, load));
    each.sum::<u64>().max(1)
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct BackToBack {
    /// Of the longest bursts, in frames of all streams together. Those that passed at the cap count as long as that;
    /// `None` where all did.
    pub frames: Option<Spread>,
    /// Of each repeat; `None` where the longest burst that was tried passed.
    pub repeats: Vec<Option<u64>>,
    /// The longest burst that was tried.
    pub cap: u64,
    /// Frames a second of the longest bursts as they were sent.
    pub achieved_fps: Option<f64>,
    /// Frames a second of all streams together as calculated from the ports' rates.
    pub calculated_fps: f64,
}

/// The procedure.
#[derive(Debug, Clone, Copy)]
pub struct BackToBackSteps;

impl Steps for BackToBackSteps {
    type Found = BackToBack;

    fn size(&self, bench: &mut Bench<'_>) -> Result<BackToBack, Stop> {
        let loads = bench.all_at(Share::WHOLE);
        let cap = cap(bench, &loads);
        let found = bursts(bench, &loads, cap, bench.setup.effort.burst_repeats)?;
        Ok(BackToBack {
            frames: found.frames,
            repeats: found.repeats,
            cap,
            achieved_fps: found.achieved_fps,
            calculated_fps: bench.fps(&loads),
        })
    }

    fn report(&self, setup: &Setup, _: &Options, sizes: &[AtSize<BackToBack>]) -> Report {
        let columns = [
            ("average burst", "frames"),
            ("min", "frames"),
            ("max", "frames"),
            ("sd", "frames"),
            ("repeats", ""),
            ("repeats at the longest burst", ""),
            ("longest burst", "frames"),
            ("burst rate reached", "frames/s"),
        ];
        let table = report::by_size("Back-to-back frames", &columns, sizes, |found| {
            let at_cap = found.repeats.iter().filter(|burst| burst.is_none()).count();
            vec![
                found.frames.map(|frames| frames.mean).into(),
                found.frames.map(|frames| frames.min).into(),
                found.frames.map(|frames| frames.max).into(),
                found.frames.and_then(|frames| frames.sd).into(),
                Cell::Count(found.repeats.len() as u64),
                Cell::Count(at_cap as u64),
                found.cap.into(),
                found.achieved_fps.into(),
            ]
        });
        let figure = Figure::new("Bursts by repeat", ("repeat", ""), ("burst", "frames"));
        let figure = figure.line_by_size(sizes, |found| {
            let bursts = found.repeats.iter().zip(1..);
            let bursts = bursts.map(|(b, n)| (f64::from(n), b.unwrap_or(found.cap) as f64));
            bursts.collect::<Vec<_>>()
        });
        let effort = &setup.effort;
        let mut conformance = report::clauses_of_trials(setup);
        conformance.extend([
            Clause::lasts(
                "RFC 2544 §26.4",
                "bursts of 2 s at least",
                effort.burst,
                2 * SECOND,
            ),
            Clause::times(
                "RFC 2544 §26.4",
                "50 repeats",
                sizes,
                |found| found.repeats.len(),
                50,
            ),
            at_line_rate(
                ("RFC 2544 §26.4", "with the minimum gap between frames"),
                sizes,
                |found| Some((found.achieved_fps?, found.calculated_fps)),
            ),
        ]);
        let found = sizes.iter().filter_map(|at| at.found.as_ref());
        Report {
            procedure: "back-to-back".to_owned(),
            title: "Back-to-back frames".to_owned(),
            sections: vec!["RFC 2544 §26.4".to_owned(), "RFC 1242 §3.1".to_owned()],
            tables: vec![table],
            figures: vec![figure],
            conformance,
            notes: at_the_cap(found.map(|found| found.repeats.as_slice())),
        }
    }
}
