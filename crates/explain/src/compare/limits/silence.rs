//! What was answered in A and never in B: no statistic of what was answered shows it, because it is not among it.

use crate::compare::both::{Both, RUN, RUNS};
use crate::compare::outage::Outages;
use crate::compare::pairs::{Named, names};
use delaylab_lab::finding::check::{Beyond, Bound, Kind, Limit, Selector, Statistic};
use delaylab_lab::finding::dimension::Dimension;
use delaylab_lab::finding::verdict::FixedLevel;
use delaylab_lab::finding::{Data, Measure, Selection, StreamInfo, Values};
use delaylab_model::plan::Factor;
use delaylab_model::words::a_few;

/// Combinations that are named.
const NAMED: usize = 3;

/// How packets of one combination ended.
#[derive(Default, Clone, Copy)]
struct Ends {
    answered: u64,
    lost: u64,
}

/// One probe under one combination of levels, in A and in B.
struct Combination {
    factors: Vec<Factor>,
    probe: String,
    runs: [Ends; 2],
}

/// The combinations that a limit is about, under these levels, of which A was answered and B never; empty where the
/// limit is of no delay.
pub(super) fn unanswered(limit: &Limit, levels: &[FixedLevel], both: &Both<'_>) -> String {
    if !is_of_delay(&limit.statistic) {
        return String::new();
    }
    let selection = Selection::at(levels).within(&selectors(&limit.statistic));
    // What cannot be selected is said where the limit is judged.
    let streams = selection.streams(both.streams()).unwrap_or_default();
    let mut all: Vec<Combination> = Vec::new();
    for index in streams {
        add(&mut all, both, index);
    }
    let named: Vec<Named<'_>> = all.iter().map(|c| (&c.factors, &c.probe)).collect();
    // Of B's own value A does not matter.
    let is_own = matches!(limit.bound, Bound::Value(_));
    let silent = all.iter().zip(names(&named));
    let silent =
        silent.filter(|(c, _)| c.runs[1].is_silent() && (is_own || c.runs[0].answered > 0));
    let silent: Vec<String> = silent.map(|(_, name)| name).collect();
    match silent.len() {
        0 => String::new(),
        _ if silent.len() == all.len() => "nothing of B was answered".to_owned(),
        _ => format!("nothing of B was answered with {}", a_few(&silent, NAMED)),
    }
}

/// The outages of B among what a limit of loss is about, where A had none or does not matter; empty where there are none, or the
/// limit is of something else, or asks for more loss.
pub(super) fn outage(limit: &Limit, levels: &[FixedLevel], both: &Both<'_>) -> String {
    let is_of_loss = limit.statistic.measure() == Measure::Lost && limit.statistic.is_share();
    if !is_of_loss || !matches!(limit.beyond, Beyond::More | Beyond::AtLeast) {
        return String::new();
    }
    let selection = Selection::at(levels).within(&selectors(&limit.statistic));
    let streams = selection.streams(both.streams()).unwrap_or_default();
    let of_run = |at: usize| -> Vec<usize> {
        let all = streams.iter().copied();
        all.filter(|&index| {
            let stream = &both.streams()[index];
            stream.series.is_none() && run(stream) == Some(at)
        })
        .collect()
    };
    let is_own = matches!(limit.bound, Bound::Value(_));
    if !is_own && Outages::new(both, &of_run(0)).is_any() {
        return String::new();
    }
    Outages::new(both, &of_run(1)).words("B")
}

impl Ends {
    /// Fewer packets may all be lost by chance.
    const fn is_silent(self) -> bool {
        const FEW: u64 = 3;
        self.answered == 0 && self.lost >= FEW
    }
}

fn is_of_delay(statistic: &Statistic) -> bool {
    match &statistic.kind {
        Kind::Of(functional, _) if functional.is_number() => false,
        Kind::Of(_, measure) | Kind::Share(measure, ..) => {
            measure.dimension() == Some(Dimension::TIME) && !measure.is_of_flow()
        }
        Kind::On(_, inner, _) => is_of_delay(inner),
    }
}

/// Of the statistic, and of the one that a fit goes through.
fn selectors(statistic: &Statistic) -> Vec<Selector> {
    let inner = match &statistic.kind {
        Kind::On(_, inner, _) => selectors(inner),
        _ => Vec::new(),
    };
    let own = statistic.selectors.iter().cloned();
    own.chain(inner).collect()
}

fn add(all: &mut Vec<Combination>, both: &Both<'_>, index: usize) {
    let stream = &both.streams()[index];
    if stream.series.is_some() {
        return;
    }
    let Some(run) = run(stream) else { return };
    let factors = stream.factors.iter().filter(|(name, _)| name != RUN);
    let factors: Vec<Factor> = factors.cloned().collect();
    let same = |c: &Combination| c.factors == factors && c.probe == stream.probe;
    let at = all.iter().position(same).unwrap_or_else(|| {
        all.push(Combination {
            factors,
            probe: stream.probe.clone(),
            runs: [Ends::default(); 2],
        });
        all.len() - 1
    });
    if let Ok(Values::Packets(values)) = both.values(index, Measure::Lost) {
        let lost = values.iter().filter(|value| **value > 0.0).count() as u64;
        let known = values.iter().filter(|value| !value.is_nan()).count() as u64;
        let ends = &mut all[at].runs[run];
        ends.lost += lost;
        ends.answered += known - lost;
    }
}

fn run(stream: &StreamInfo) -> Option<usize> {
    let level = stream.level(RUN)?;
    RUNS.iter().position(|run| *run == level.label)
}
