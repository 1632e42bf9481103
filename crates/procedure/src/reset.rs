//! Reset (RFC 2544 §26.6): how long a device forwards nothing when it is reset.
//!
//! The world resets the device in the middle of a stream at the throughput of the smallest frames. The
//! result is the time from the last frame before to the first behind: the longest in which a frame was lost, since a sender
//! may have been silent, too.

use crate::bench::{Bench, Stop};
use crate::course::{AtSize, Steps};
use crate::report::{self, Cell, Clause, Figure, Holds, Report};
use crate::search::Spread;
use crate::setup::{Options, Setup};
use crate::throughput;
use delaylab_model::Nanos;
use delaylab_stats::frames::FrameTrial;
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ResetTime {
    /// Of each sending port, as a share of the line rate, 0 to 1.
    pub load: f64,
    /// From the last frame before to the first behind, in nanoseconds.
    pub silence_ns: Option<Spread>,
    /// Each repeat's; `None` if no frame was lost between two that arrived.
    pub repeats: Vec<Option<Nanos>>,
    /// Frames lost in all repeats.
    pub lost: u64,
}

/// The procedure.
#[derive(Debug, Clone, Copy)]
pub struct ResetSteps;

impl Steps for ResetSteps {
    type Found = ResetTime;

    fn size(&self, bench: &mut Bench<'_>) -> Result<ResetTime, Stop> {
        let throughput = throughput::sustained(bench)?;
        let effort = bench.setup.effort;
        let reset = bench.setup.reset();
        let until = reset.map_or(0, |reset| reset.at.0.saturating_add(reset.lasts.0));
        let length = effort.trial.max(until.saturating_mul(2));
        let trials = bench.repeats(effort.repeats, |bench, repeat| {
            let offer = bench.at_load("reset", throughput.load(), length);
            let mut offer = offer.repeat(repeat);
            offer.reset = true;
            bench.trial(offer)
        })?;
        let silence = |trial: &Cow<'_, FrameTrial>| {
            let silences = trial.streams.iter().filter_map(|s| s.longest_silence);
            silences.map(|silence| silence.length()).max()
        };
        let repeats: Vec<_> = trials.iter().map(silence).collect();
        Ok(ResetTime {
            load: throughput.load().as_f64(),
            silence_ns: Spread::new(repeats.iter().flatten().map(|&ns| ns as f64)),
            repeats,
            lost: trials.iter().map(|trial| throughput::lost(trial)).sum(),
        })
    }

    fn report(&self, setup: &Setup, options: &Options, sizes: &[AtSize<ResetTime>]) -> Report {
        let columns = [
            ("load", "% of line rate"),
            ("reset time", "ns"),
            ("min", "ns"),
            ("max", "ns"),
            ("sd", "ns"),
            ("lost", "frames"),
            ("repeats", ""),
        ];
        let table = report::by_size("Reset", &columns, sizes, |found| {
            vec![
                report::percent(found.load).into(),
                found.silence_ns.map(|ns| ns.mean).into(),
                found.silence_ns.map(|ns| ns.min).into(),
                found.silence_ns.map(|ns| ns.max).into(),
                found.silence_ns.and_then(|ns| ns.sd).into(),
                report::per_repeat(found.lost, found.repeats.len()),
                Cell::Count(found.repeats.len() as u64),
            ]
        });
        let figure = Figure::new("Reset by repeat", ("repeat", ""), ("reset time", "ns"));
        let figure = figure.line_by_size(sizes, |found| {
            let repeats = found.repeats.iter().zip(1..);
            let repeats = repeats.filter_map(|(ns, n)| Some((f64::from(n), (*ns)? as f64)));
            repeats.collect::<Vec<_>>()
        });
        let mut conformance = report::clauses_of_trials(setup, sizes);
        conformance.retain(|clause| clause.section != "§9.1");
        let smallest = setup.sizes == [crate::setup::SIZES[0]];
        let found = sizes.iter().filter_map(|at| at.found.as_ref());
        let cut_off = options.cut_off(found.map(|found| found.load));
        let size = format!("{:?} B", setup.sizes);
        let (holds, why) = match (smallest, cut_off) {
            (false, _) => (Holds::No, size),
            (true, Some(tried)) => (Holds::Shortened, format!("{size}; {tried}")),
            (true, None) => (Holds::Yes, size),
        };
        conformance.extend([
            Clause::new(
                "RFC 2544 §26.6",
                "at the throughput of the smallest frames of the medium",
                holds,
                why,
            )
            .of_found(sizes),
            Clause::new(
                "RFC 2544 §26.6",
                "a reset of hardware, of software and of power",
                Holds::Shortened,
                "the reset that the path describes; its kind is not known here",
            ),
        ]);
        Report {
            procedure: "reset".to_owned(),
            title: "Reset".to_owned(),
            sections: vec!["RFC 2544 §26.6".to_owned(), "RFC 6201".to_owned()],
            tables: vec![table],
            figures: vec![figure],
            conformance,
            notes: Vec::new(),
        }
    }
}
