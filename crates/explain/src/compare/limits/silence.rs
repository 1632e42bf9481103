//! What was answered in A and not in B: no statistic of what was answered shows it, because it is not among it.

use crate::compare::both::{Both, RUN, RUNS};
use crate::compare::outage::{Ends, Outages};
use crate::compare::pairs::{Named, names};
use delaylab_lab::finding::check::{Beyond, Bound, Kind, Limit, Selector, Statistic};
use delaylab_lab::finding::dimension::Dimension;
use delaylab_lab::finding::verdict::FixedLevel;
use delaylab_lab::finding::{Data, Measure, Selection, StreamInfo};
use delaylab_model::plan::Factor;
use delaylab_model::words::a_few;

/// Combinations that are named.
const NAMED: usize = 3;

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
        let outages = all.outages(both);
        let clauses: Vec<String> = silent.clone().into_iter().chain(outages).collect();
        Self {
            // The share of lost packets says it, unless what was not answered is not lost.
            unanswered: silent.filter(|_| all.are_nowhere_lost()),
            outage: (!clauses.is_empty()).then(|| clauses.join("; ")),
        }
    }
}

/// One probe under one combination of levels.
struct Combination {
    factors: Vec<Factor>,
    probe: String,
    /// Its streams in A and in B.
    streams: [Vec<usize>; 2],
    outages: [Outages; 2],
}

impl Combination {
    fn ends(&self) -> [Ends; 2] {
        self.outages.each_ref().map(|side| side.ends)
    }
}

/// Those that a limit is about.
struct Combinations {
    all: Vec<Combination>,
    is_own: bool,
}

impl Combinations {
    fn new(limit: &Limit, levels: &[FixedLevel], both: &Both<'_>) -> Self {
        let selection = Selection::at(levels).within(&selectors(&limit.statistic));
        // What cannot be selected is said where the limit is judged.
        let streams = selection.streams(both.streams()).unwrap_or_default();
        let mut all: Vec<Combination> = Vec::new();
        for index in streams {
            add(&mut all, &both.streams()[index], index);
        }
        for combination in &mut all {
            let streams = combination.streams.each_ref();
            combination.outages = streams.map(|streams| Outages::new(both, streams));
        }
        let is_own = matches!(limit.bound, Bound::Value(_));
        Self { all, is_own }
    }

    fn is_silent(&self, combination: &Combination) -> bool {
        let [a, b] = combination.ends();
        b.is_silent() && (self.is_own || a.answered > 0)
    }

    /// `nothing of B was answered with wait 4ms`.
    fn silent(&self) -> Option<String> {
        let silent = |combination: &Combination| self.is_silent(combination);
        let place = self.place(silent)?;
        let ends = self.all.iter().filter(|c| silent(c));
        let ends = ends.fold(Ends::default(), |sum, c| sum.and(c.ends()[1]));
        let how = match ends.are_lost() {
            true => String::new(),
            false => format!(" ({})", ends.words()),
        };
        Some(format!("nothing of B was answered{place}{how}"))
    }

    /// `B is not answered any more from 900 ms on (247 packets in a row) with wait 4ms`.
    fn outages(&self, both: &Both<'_>) -> Option<String> {
        let has = |combination: &Combination| {
            let [a, b] = &combination.outages;
            b.is_any() && (self.is_own || b.is_worse_than(a))
        };
        let place = self.place(has)?;
        let streams = self.all.iter().filter(|c| has(c));
        let streams: Vec<usize> = streams.flat_map(|c| c.streams[1].iter().copied()).collect();
        Some(Outages::new(both, &streams).words("B") + &place)
    }

    /// Was nothing of B answered, and not all of that lost?
    fn are_nowhere_lost(&self) -> bool {
        let mut all = self.all.iter();
        all.all(|c| self.is_silent(c) && !c.ends()[1].are_lost())
    }

    /// ` with wait 4ms; wait 8ms`, of those of which this holds; empty where it holds of all, `None` where of none.
    fn place(&self, holds: impl Fn(&Combination) -> bool) -> Option<String> {
        let each = self.all.iter();
        let named: Vec<Named<'_>> = each.map(|c| (&c.factors, &c.probe)).collect();
        let chosen = self.all.iter().zip(names(&named)).filter(|(c, _)| holds(c));
        let chosen: Vec<String> = chosen.map(|(_, name)| name).collect();
        match chosen.len() {
            0 => None,
            all if all == self.all.len() => Some(String::new()),
            _ => Some(format!(" with {}", a_few(&chosen, NAMED))),
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

/// Of the statistic, and of the one that a fit goes through.
fn selectors(statistic: &Statistic) -> Vec<Selector> {
    let inner = match &statistic.kind {
        Kind::On(_, inner, _) => selectors(inner),
        _ => Vec::new(),
    };
    let own = statistic.selectors.iter().cloned();
    own.chain(inner).collect()
}

fn add(all: &mut Vec<Combination>, stream: &StreamInfo, index: usize) {
    let run = stream.level(RUN);
    let run = run.and_then(|level| RUNS.iter().position(|run| *run == level.label));
    let Some(run) = run.filter(|_| stream.series.is_none()) else {
        return;
    };
    let factors = stream.factors.iter().filter(|(name, _)| name != RUN);
    let factors: Vec<Factor> = factors.cloned().collect();
    let same = |c: &Combination| c.factors == factors && c.probe == stream.probe;
    let at = all.iter().position(same).unwrap_or_else(|| {
        all.push(Combination {
            factors,
            probe: stream.probe.clone(),
            streams: Default::default(),
            outages: Default::default(),
        });
        all.len() - 1
    });
    all[at].streams[run].push(index);
}
