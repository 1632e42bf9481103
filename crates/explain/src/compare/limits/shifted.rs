//! The change of a statistic from A to B as the tables of a comparison have it.

use crate::compare::asked::SEED;
use crate::compare::both::{Both, RUN, RUNS};
use crate::compare::figures::LOST;
use delaylab_lab::finding::check::{Beyond, Bound, Kind, Limit, Value};
use delaylab_lab::finding::verdict::FixedLevel;
use delaylab_lab::finding::{Data, Measure, Selection, StreamInfo, Values};
use delaylab_stats::comparison::Bounds;
use delaylab_stats::functional::Functional;
use delaylab_stats::two_samples::{self, Series};

/// The interval of the change that a limit is about, where that is of one probe under one combination of levels: what a
/// table says of it in the same comparison. `None` where no table has it, or it has no interval there.
pub(super) fn bounds(limit: &Limit, levels: &[FixedLevel], both: &Both<'_>) -> Option<Bounds> {
    let (functional, measure) = tabled(limit)?;
    let selection = Selection::at(levels).within(&limit.statistic.selectors);
    let streams = both.streams();
    let chosen = selection.streams(streams).ok()?;
    let chosen = chosen.into_iter();
    let chosen: Vec<usize> = chosen.filter(|&at| streams[at].can_have(measure)).collect();
    let first = &streams[*chosen.first()?];
    if !chosen.iter().all(|&at| is_same_pair(first, &streams[at])) {
        return None;
    }
    let [a, b] = RUNS.map(|run| {
        let of_run = chosen.iter().filter(|&&at| is_of(&streams[at], run));
        let values = of_run.map(|&at| match both.values(at, measure) {
            Ok(Values::Packets(values)) => Some((values, streams[at].seed)),
            _ => None,
        });
        values.collect::<Option<Vec<_>>>()
    });
    let (a, b) = (a?, b?);
    let [a, b] = [&a, &b].map(|side| -> Vec<Series<'_>> {
        let each = side.iter();
        each.map(|(values, seed)| Series {
            values,
            seed: *seed,
        })
        .collect()
    });
    match limit.bound {
        Bound::Share(_) => two_samples::shift(functional, &a, &b, SEED).relative.ok(),
        Bound::Change(_) => two_samples::shift(functional, &a, &b, SEED).absolute.ok(),
        // What has no steady level has no interval of its own.
        Bound::Value(_) if functional == Functional::Quantile(0.5) => {
            two_samples::median_within(&b)
        }
        Bound::Value(_) => None,
    }
}

/// What tables have: means and quantiles, and the share of lost packets.
fn tabled(limit: &Limit) -> Option<(Functional, Measure)> {
    match &limit.statistic.kind {
        Kind::Of(functional @ (Functional::Mean | Functional::Quantile(_)), measure)
            if !measure.is_yes_or_no() =>
        {
            Some((*functional, *measure))
        }
        Kind::Of(Functional::Mean, Measure::Lost) => Some((LOST, Measure::Lost)),
        Kind::Share(Measure::Lost, Beyond::More, bound) => {
            let is_zero = matches!(&**bound, Value::Number(number) if number.value == 0.0);
            is_zero.then_some((LOST, Measure::Lost))
        }
        _ => None,
    }
}

fn is_of(stream: &StreamInfo, run: &str) -> bool {
    stream.level(RUN).is_some_and(|level| level.label == run)
}

/// Are both of one probe under one combination of levels, in whichever run?
fn is_same_pair(one: &StreamInfo, other: &StreamInfo) -> bool {
    let levels = |stream: &StreamInfo| {
        let levels = stream.factors.iter().filter(|(name, _)| name != RUN);
        levels.cloned().collect::<Vec<_>>()
    };
    one.probe == other.probe && levels(one) == levels(other)
}
