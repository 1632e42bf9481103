//! What was answered in A and not in B: no statistic of what was answered shows it, because it is not among it.

use super::selectors;
use crate::compare::both::Both;
use crate::compare::outage::{Endings, Outages, significant};
use crate::compare::pairs::{Named, Pair, names};
use delaylab_lab::finding::check::{Beyond, Bound, Kind, Limit, Statistic};
use delaylab_lab::finding::dimension::Dimension;
use delaylab_lab::finding::verdict::FixedLevel;
use delaylab_lab::finding::{Data, Measure, Selection};
use delaylab_model::words::a_few;
use std::ptr;

/// Combinations that are named.
const MAX_NAMED: usize = 3;

/// What B did not answer among what a limit is about, as clauses.
#[derive(Debug, Default)]
pub(super) struct Silence {
    /// Combinations of which A was answered and B never: whatever the statistic of the others is, the limit has failed.
    pub(super) unanswered: Option<String>,
    /// Outages that B has and A has not: the loss that B is beyond is no chance.
    pub(super) outage: Option<String>,
}

impl Silence {
    /// Of a limit under these levels. Of B's own value A does not matter.
    pub(super) fn new(limit: &Limit, levels: &[FixedLevel], both: &Both<'_>) -> Self {
        let of_loss = is_of_loss(limit);
        if !of_loss && !is_of_delay(&limit.statistic) {
            return Self::default();
        }
        let all = Combinations::new(limit, levels, both);
        let silent = all.silent();
        if !of_loss {
            return Self {
                unanswered: silent,
                outage: None,
            };
        }
        let outages = all.outages();
        let clauses: Vec<String> = silent.clone().into_iter().chain(outages).collect();
        Self {
            // The share of lost packets says it, unless what was not answered is not lost.
            unanswered: silent.filter(|_| all.are_nowhere_lost()),
            outage: (!clauses.is_empty()).then(|| clauses.join("; ")),
        }
    }
}

/// One probe under one combination of levels.
struct Combination<'a> {
    pair: &'a Pair,
    outages: [Outages; 2],
    /// Was nothing of B answered, where other packets were, and is that no chance?
    is_silent: bool,
}

impl<'a> Combination<'a> {
    /// `None` of one that is not selected.
    fn new(pair: &'a Pair, selected: &[usize], both: &Both<'_>) -> Option<Self> {
        let streams = pair.streams.each_ref().map(|all| {
            let chosen = all.iter().copied();
            let chosen: Vec<usize> = chosen
                .filter(|at| selected.binary_search(at).is_ok())
                .collect();
            chosen
        });
        let is_any = streams.iter().any(|side| !side.is_empty());
        is_any.then(|| Self {
            pair,
            outages: Outages::of_both([both; 2], streams.each_ref().map(Vec::as_slice)),
            is_silent: false,
        })
    }

    fn ends(&self) -> [Endings; 2] {
        self.outages.each_ref().map(|side| side.ends)
    }
}

/// Those that a limit is about.
struct Combinations<'a> {
    all: Vec<Combination<'a>>,
    is_own: bool,
}

impl<'a> Combinations<'a> {
    fn new(limit: &Limit, levels: &[FixedLevel], both: &'a Both<'_>) -> Self {
        let selection = Selection::at(levels).within(&selectors(&limit.statistic));
        // What cannot be selected is said where the limit is judged.
        let streams = selection.streams(both.streams()).unwrap_or_default();
        let all = both.pairs.iter();
        let all = all.filter_map(|pair| Combination::new(pair, &streams, both));
        let mut found = Self {
            all: all.collect(),
            is_own: matches!(limit.bound, Bound::Value(_)),
        };
        let p_values = found.all.iter().map(|of| found.p_of_silence(of));
        let p_values: Vec<Option<f64>> = p_values.collect();
        for (combination, is_significant) in found.all.iter_mut().zip(significant(&p_values)) {
            combination.is_silent = is_significant;
        }
        found
    }

    /// How likely its silence is by chance. Of B's own value its other combinations say what chance does, and not A.
    fn p_of_silence(&self, combination: &Combination<'_>) -> Option<f64> {
        let [a, b] = combination.ends();
        let others = match self.is_own {
            true => {
                let all = self.all.iter();
                let others = all.filter(|other| !ptr::eq(other.pair, combination.pair));
                others.fold(Endings::default(), |sum, other| sum.and(other.ends()[1]))
            }
            false => a,
        };
        match others.answered {
            0 => (self.is_own && b.is_silent()).then_some(0.0),
            _ => b.p_of_silence(others),
        }
    }

    /// `nothing of B was answered with wait 4ms`.
    fn silent(&self) -> Option<String> {
        let place = self.place(|combination| combination.is_silent)?;
        let ends = self.all.iter().filter(|c| c.is_silent);
        let ends = ends.fold(Endings::default(), |sum, c| sum.and(c.ends()[1]));
        let how = match ends.are_lost() {
            true => String::new(),
            false => format!(" ({})", ends.words()),
        };
        Some(format!("nothing of B was answered{place}{how}"))
    }

    /// `B is not answered any more from 900 ms on (247 packets in a row) with wait 4ms`.
    fn outages(&self) -> Option<String> {
        let has = |combination: &Combination<'_>| {
            let [a, b] = &combination.outages;
            b.is_any() && (self.is_own || b.is_worse_than(a))
        };
        let place = self.place(has)?;
        let of_b = self.all.iter().filter(|c| has(c)).map(|c| &c.outages[1]);
        Some(of_b.fold(Outages::default(), Outages::and).words("B") + &place)
    }

    /// Was nothing of B answered, and not all of that lost?
    fn are_nowhere_lost(&self) -> bool {
        let mut all = self.all.iter();
        all.all(|c| c.is_silent && !c.ends()[1].are_lost())
    }

    /// ` with wait 4ms; wait 8ms`, of those of which this holds; empty where it holds of all, `None` where of none.
    fn place(&self, holds: impl Fn(&Combination<'_>) -> bool) -> Option<String> {
        let named: Vec<Named<'_>> = self.all.iter().map(|c| c.pair.named()).collect();
        let chosen = self.all.iter().zip(names(&named)).filter(|(c, _)| holds(c));
        let chosen: Vec<String> = chosen.map(|(_, name)| name).collect();
        match chosen.len() {
            0 => None,
            all if all == self.all.len() => Some(String::new()),
            _ => Some(format!(" with {}", a_few(&chosen, MAX_NAMED))),
        }
    }
}

/// Of the share that is lost, and not one that asks for more of it?
fn is_of_loss(limit: &Limit) -> bool {
    let is_share = limit.statistic.measure() == Measure::Lost && limit.statistic.is_share();
    is_share && matches!(limit.beyond, Beyond::More | Beyond::AtLeast)
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
