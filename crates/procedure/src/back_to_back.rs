//! Back-to-back frames (RFC 2544 §26.4, RFC 1242 §3.1): the longest burst at the highest rate that
//! passes without loss.

use crate::bench::{Bench, Stop};
use crate::course::{AtSize, Steps};
use crate::report::{self, Cell, Clause, Figure, Holds, Report};
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

/// The longest burst of each of some repeats, which begins its search at the one before; `None`: that at the cap passed.
pub(crate) fn bursts(
    bench: &mut Bench<'_>,
    loads: &[(usize, Share)],
    cap: u64,
    repeats: u32,
) -> Result<Vec<Option<u64>>, Stop> {
    let mut hint = 1;
    let burst = |repeat| {
        let found = longest(bench, loads, (cap, hint), repeat, 0)?;
        hint = found.frames.unwrap_or(cap);
        Ok(found.frames)
    };
    (0..repeats.max(1)).map(burst).collect()
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
    /// Of the longest bursts, in frames of all streams together; without those at the cap.
    pub frames: Option<Spread>,
    /// Of each repeat; `None` where the longest burst that was tried passed.
    pub repeats: Vec<Option<u64>>,
    /// The longest burst that was tried.
    pub cap: u64,
}

/// The procedure.
#[derive(Debug, Clone, Copy)]
pub struct BackToBackSteps;

impl Steps for BackToBackSteps {
    type Found = BackToBack;

    fn size(&self, bench: &mut Bench<'_>) -> Result<BackToBack, Stop> {
        let loads = bench.all_at(Share::WHOLE);
        let cap = cap(bench, &loads);
        let repeats = bursts(bench, &loads, cap, bench.setup.effort.burst_repeats)?;
        Ok(BackToBack {
            frames: Spread::new(repeats.iter().flatten().map(|&frames| frames as f64)),
            repeats,
            cap,
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
            ]
        });
        let figure = Figure::new("Bursts by repeat", ("repeat", ""), ("burst", "frames"));
        let figure = figure.line_by_size(sizes, |found| {
            let bursts = found.repeats.iter().zip(1..);
            let bursts = bursts.filter_map(|(b, n)| Some((f64::from(n), (*b)? as f64)));
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
            Clause::new(
                "RFC 2544 §26.4",
                "with the minimum gap between frames",
                Holds::Yes,
                "asked for at 100 % of line rate; the rate that was reached is in the trials",
            ),
        ]);
        let mut notes = Vec::new();
        let mut found = sizes.iter().filter_map(|at| at.found.as_ref());
        if found.any(|b| b.repeats.contains(&None)) {
            let note = "Some bursts passed as long as they were tried: the device forwards at this \
                        rate, or its buffer is larger.";
            notes.push(note.to_owned());
        }
        Report {
            procedure: "back-to-back".to_owned(),
            title: "Back-to-back frames".to_owned(),
            sections: vec!["RFC 2544 §26.4".to_owned(), "RFC 1242 §3.1".to_owned()],
            tables: vec![table],
            figures: vec![figure],
            conformance,
            notes,
        }
    }
}
