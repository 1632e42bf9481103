//! System recovery (RFC 2544 §26.5): how long loss goes on after an overload.
//!
//! Each stream offers 110 % of the throughput, and then half of that. A is when the load falls, B when
//! the last frame that was lost was sent.

use crate::bench::{Bench, Offer, Stop, Stream};
use crate::course::{AtSize, Steps};
use crate::report::{self, Cell, Clause, Figure, Report};
use crate::search::Spread;
use crate::setup::{Options, Setup};
use crate::throughput;
use delaylab_model::quantity::Share;
use delaylab_model::{Nanos, SECOND};
use delaylab_stats::frames::FrameTrial;
use schemars::JsonSchema;
use serde::Serialize;

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SystemRecovery {
    /// Load of the overload, as a share of the line rate, 0 to 1.
    pub overload: f64,
    /// Load behind it.
    pub half: f64,
    /// B − A in nanoseconds, of the repeats in which loss ended.
    pub recovery_ns: Option<Spread>,
    /// Each repeat's; `None` where loss had not ended with the trial.
    pub repeats: Vec<Option<Nanos>>,
    /// Frames lost in the overload, in all repeats.
    pub lost_in_overload: u64,
}

/// The procedure.
#[derive(Debug, Clone, Copy)]
pub struct SystemRecoverySteps;

impl Steps for SystemRecoverySteps {
    type Found = SystemRecovery;

    fn size(&self, bench: &mut Bench<'_>) -> Result<SystemRecovery, Stop> {
        let throughput = throughput::sustained(bench)?;
        let overload = Share(throughput.load_e9 * 11 / 10).min(bench.options.top);
        if throughput.is_highest || overload <= throughput.load() {
            let why = "the throughput is the highest rate: nothing overloads the device";
            return Err(Stop::Unfit(why.to_owned()));
        }
        let half = Share((overload.0 / 2).max(1));
        let (mut repeats, mut lost_in_overload) = (Vec::new(), 0);
        for repeat in 0..bench.setup.effort.repeats.max(1) {
            let offer = offer(bench, overload, half).repeat(repeat);
            let trial = bench.trial(offer)?;
            let streams = trial.streams.len() / 2;
            let before = trial.streams.iter().take(streams);
            lost_in_overload += before.map(|stream| stream.lost()).sum::<u64>();
            repeats.push(recovery(&trial));
        }
        Ok(SystemRecovery {
            overload: overload.as_f64(),
            half: half.as_f64(),
            recovery_ns: Spread::new(repeats.iter().flatten().map(|&ns| ns as f64)),
            repeats,
            lost_in_overload,
        })
    }

    fn report(&self, setup: &Setup, _: &Options, sizes: &[AtSize<SystemRecovery>]) -> Report {
        let columns = [
            ("overload", "% of line rate"),
            ("half", "% of line rate"),
            ("recovery time", "ns"),
            ("min", "ns"),
            ("max", "ns"),
            ("lost in overload", "frames"),
            ("repeats", ""),
            ("repeats that did not recover", ""),
        ];
        let table = report::by_size("System recovery", &columns, sizes, |found| {
            let never = found.repeats.iter().filter(|repeat| repeat.is_none());
            vec![
                report::percent(found.overload).into(),
                report::percent(found.half).into(),
                found.recovery_ns.map(|ns| ns.mean).into(),
                found.recovery_ns.map(|ns| ns.min).into(),
                found.recovery_ns.map(|ns| ns.max).into(),
                report::per_repeat(found.lost_in_overload, found.repeats.len()),
                Cell::Count(found.repeats.len() as u64),
                Cell::Count(never.count() as u64),
            ]
        });
        let points = sizes.iter().filter_map(|at| {
            let recovery = at.found.as_ref()?.recovery_ns?;
            Some((f64::from(at.size), recovery.mean))
        });
        let figure = Figure::new("Recovery", ("frame size", "B"), ("recovery time", "ns"));
        let mut conformance = report::clauses_of_trials(setup);
        let mut notes = Vec::new();
        let mut found = sizes.iter().filter_map(|at| at.found.as_ref());
        let overloaded = found.all(|recovery| recovery.lost_in_overload > 0);
        if !overloaded {
            let note = "An overload lost no frame: it was too short for the device's buffer.";
            notes.push(note.to_owned());
        }
        conformance.extend([
            Clause::lasts(
                "RFC 2544 §26.5",
                "an overload of 60 s",
                setup.effort.overload,
                60 * SECOND,
            ),
            Clause::measured(
                "RFC 2544 §26.5",
                "overload by 110 % of the throughput, or the highest rate if that is less",
                sizes,
                || match overloaded {
                    true => Ok("then half of the overload".to_owned()),
                    false => Err("an overload lost no frame".to_owned()),
                },
            ),
            Clause::times(
                "RFC 2544 §26.5",
                "the mean of several repeats",
                sizes,
                |found| found.repeats.iter().flatten().count(),
                2,
            ),
        ]);
        Report {
            procedure: "system-recovery".to_owned(),
            title: "System recovery".to_owned(),
            sections: vec!["RFC 2544 §26.5".to_owned()],
            tables: vec![table],
            figures: vec![figure.line("mean of repeats", points)],
            conformance,
            notes,
        }
    }
}

/// All streams at the overload, and behind it all of them at half.
fn offer(bench: &Bench<'_>, overload: Share, half: Share) -> Offer {
    let effort = &bench.setup.effort;
    let part = |load, length, start| {
        let each = bench.all_at(load).into_iter();
        each.map(move |(of, load)| Stream {
            of,
            load,
            count: bench.frames_in(length, load),
            start,
        })
    };
    let before = part(overload, effort.overload, 0);
    let behind = part(half, effort.trial, effort.overload);
    Offer::new("recovery", before.chain(behind).collect())
}

/// B − A; `None` if the very last frame was lost too.
fn recovery(trial: &FrameTrial) -> Option<Nanos> {
    let behind = || trial.streams.iter().skip(trial.streams.len() / 2);
    let fell = behind().filter_map(|stream| stream.first_send).min()?;
    let ends_lossy = |s: &&delaylab_stats::frames::FrameFigures| {
        s.last_lost.is_some() && s.last_lost == s.last_send
    };
    if behind().any(|stream| ends_lossy(&stream)) {
        return None;
    }
    let last = trial.streams.iter().filter_map(|s| s.last_lost).max();
    Some(last.map_or(0, |lost| lost.saturating_sub(fell).max(0)))
}
