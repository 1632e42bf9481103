//! Which streams are one *group*: one probe under one combination of levels, its repeats together. What
//! a probe met is told from what another met beside it.

use super::panels::{self, KnownBy, known_by};
use super::sketch::Room;
use super::stream::probe_names;
use super::worst::worst_of;
use super::{Delays, Group, RunData, RunStream, ShownDelay, TrialData};
use delaylab_model::Nanos;
use delaylab_model::distinct::Distinct;
use delaylab_model::plan::{Factor, Level, compare_combinations, level_of};
use delaylab_model::record::Record;
use delaylab_model::trial::RecordFacts;
use delaylab_model::words::each_once;
use delaylab_stats::anatomy;
use delaylab_stats::summary::{Summary, SummaryBuilder};
use delaylab_stats::variation::{IpdvTally, Neighbours};
use std::collections::BTreeMap;

/// What a group is known by.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Key {
    factors: Vec<Factor>,
    probe: String,
}

impl Key {
    fn new(stream: &RunStream) -> Self {
        Self {
            factors: stream.factors.clone(),
            probe: stream.name.clone(),
        }
    }

    /// What it is looked up by.
    fn known_by(&self) -> (KnownBy<'_>, &str) {
        (known_by(&self.factors), &self.probe)
    }
}

/// The groups of a run in order, and to which of them each stream belongs.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Groups {
    pub(super) keys: Vec<Key>,
    pub(super) group_of: Vec<usize>,
}

impl Groups {
    pub(super) fn new(streams: &[RunStream], order: &[(String, Vec<Level>)]) -> Self {
        let probes = probe_names(streams);
        let place = |key: &Key| probes.iter().position(|name| *name == key.probe);
        let of_streams: Vec<_> = streams.iter().map(Key::new).collect();
        let mut keys = of_streams.clone();
        keys.sort_by(|a, b| {
            compare_combinations(&a.factors, &b.factors, order)
                .then_with(|| place(a).cmp(&place(b)))
        });
        keys.dedup();
        let places: BTreeMap<_, usize> = keys.iter().map(Key::known_by).zip(0..).collect();
        let at = |key: &Key| places.get(&key.known_by()).copied().unwrap_or(0);
        Self {
            group_of: of_streams.iter().map(at).collect(),
            keys,
        }
    }

    /// The streams of each group, in their order.
    pub(super) fn members(&self) -> Vec<Vec<usize>> {
        panels::members(self.keys.len(), self.group_of.iter().copied().map(Some))
    }
}

/// A group whose records still come.
#[derive(Debug)]
pub(super) struct OpenGroup {
    streams: usize,
    /// Where neither a stream nor a panel has the same records.
    summary: Option<SummaryBuilder>,
    /// Where the run has several probes, to be drawn beside each other.
    spread: Option<Spread>,
}

#[derive(Debug)]
struct Spread {
    facts: RecordFacts,
    room: Room,
    neighbours: Neighbours,
    ipdv: Delays,
    network_ipdv: IpdvTally,
}

impl OpenGroup {
    /// `shared`: another has the same streams, and their summary. `several`: the run has more probes, which
    /// have this room. Beyond
    /// `exact_limit` answered records its quantiles come from histograms.
    pub(super) fn new(
        streams: usize,
        facts: RecordFacts,
        shared: bool,
        several: Option<Room>,
        exact_limit: usize,
    ) -> Self {
        let own = streams > 1 && !shared;
        Self {
            streams,
            summary: own.then(|| SummaryBuilder::new(facts, exact_limit)),
            spread: several.map(|room| Spread::new(facts, exact_limit, room)),
        }
    }

    pub(super) const fn count(&mut self, sent: u64, lost: u64) {
        if let Some(summary) = &mut self.summary {
            summary.count(sent, lost);
        }
    }

    pub(super) fn push(&mut self, record: &Record) {
        if let Some(summary) = &mut self.summary {
            summary.push(record);
        }
        if let Some(spread) = &mut self.spread {
            let round_trip = record.round_trip().filter(|_| record.answered());
            spread.push(record, round_trip);
        }
    }

    /// `None` where it has no stream.
    pub(super) fn finish(
        self,
        key: &Key,
        panel: Option<usize>,
        elsewhere: Option<&Summary>,
    ) -> Option<Group> {
        let own = self.summary.map(|summary| summary.finish());
        let spread = self.spread.map(|spread| {
            let network = spread.network_ipdv.finish();
            let network = Some(network).filter(|ipdv| ipdv.count > 0);
            (spread.ipdv, network)
        });
        let (ipdv, network_ipdv) = spread.unwrap_or_default();
        Some(Group {
            factors: key.factors.clone(),
            probe: key.probe.clone(),
            trials: self.streams,
            panel,
            summary: own.or_else(|| elsewhere.cloned())?,
            ipdv,
            network_ipdv,
        })
    }
}

impl Spread {
    fn new(facts: RecordFacts, exact_limit: usize, room: Room) -> Self {
        Self {
            facts,
            room,
            neighbours: Neighbours::default(),
            ipdv: Delays::default(),
            network_ipdv: IpdvTally::new(exact_limit),
        }
    }

    fn push(&mut self, record: &Record, round_trip: Option<Nanos>) {
        for ipdv in self.neighbours.meet(record, round_trip) {
            self.ipdv.push(ipdv, self.room.exact);
        }
        let network = round_trip.and_then(|_| anatomy::network(record, &self.facts));
        self.network_ipdv.push(record, network);
    }
}

/// Rows of a table: what they are told apart by, and what came of each.
pub struct Apart<'a> {
    /// Names of the factors, and `probe`.
    pub heads: Vec<&'a str>,
    /// A level of each, how many trials are in it, and their summary.
    pub rows: Vec<(Vec<&'a str>, usize, &'a Summary)>,
    /// Combinations of levels that have no row: all but the [`WORST`].
    pub left_out: usize,
}

/// Rows of groups at most.
pub const MOST_GROUPS: usize = 60;
/// How many groups are shown where there are more than fit: half of them by loss, half by their delays.
const SHOWN: usize = 20;
/// Which ones are shown where there are more than fit, in words.
pub const WORST: &str =
    "most loss and the largest p99, or maximum where too few packets were answered for a p99";

impl RunData {
    /// The names of its probes, in the order in which the experiment has them.
    pub fn probes(&self) -> Vec<&str> {
        // Groups of one combination stand in that order; not every combination has every probe.
        each_once(self.groups.iter().map(|group| group.probe.as_str()))
    }

    /// Factors of which it has more than one level.
    pub fn varied(&self) -> Vec<&str> {
        panels::varied(self.groups.iter().map(|group| group.factors.as_slice()))
    }

    /// Group by group: what one probe met says nothing of another, and what one combination of levels met nothing of the next. Of
    /// more groups than anyone reads the worst ones, unless `all` are asked for.
    pub fn apart(&self, all: bool) -> Apart<'_> {
        match all || self.groups.len() <= MOST_GROUPS {
            true => self.by_group(self.groups.iter().collect()),
            false => self.by_group(worst(&self.groups, self.shown_delay())),
        }
    }

    fn by_group<'a>(&'a self, groups: Vec<&'a Group>) -> Apart<'a> {
        let varied = self.varied();
        let probe = (self.probes().len() > 1).then_some("probe");
        let rows = groups.iter().map(|group| {
            let levels = varied.iter().map(|name| group.level(name));
            let levels = levels.chain(probe.map(|_| group.probe.as_str()));
            (levels.collect(), group.trials, &group.summary)
        });
        Apart {
            rows: rows.collect(),
            heads: varied.iter().copied().chain(probe).collect(),
            left_out: self.groups.len() - groups.len(),
        }
    }
}

/// The groups with the most loss, and of the others those that took the longest, in their order.
fn worst(groups: &[Group], delay: ShownDelay) -> Vec<&Group> {
    let summaries: Vec<_> = groups.iter().map(|group| [&group.summary]).collect();
    let places = worst_of(&summaries, delay, SHOWN);
    places.into_iter().map(|place| &groups[place]).collect()
}

impl Group {
    /// Its level of a factor; empty without.
    pub fn level(&self, factor: &str) -> &str {
        level_of(&self.factors, factor).map_or("", |level| &level.label)
    }
}

/// The streams' summary that a group of these streams shares, of a stream or a panel.
pub(super) fn elsewhere<'a>(
    members: &[usize],
    trials: &'a [TrialData],
    panels: &'a [super::Panel],
) -> Option<&'a Summary> {
    let mut distinct = Distinct::new();
    let streams = members.iter().filter_map(|&member| trials.get(member));
    let counted = streams.filter(|trial| distinct.is_first(trial.stream.trace_hash, ()));
    let count = counted.count();
    let trial = trials.get(*members.first()?)?;
    match count {
        1 => Some(&trial.summary),
        _ => panels.get(trial.panel?).map(|panel| &panel.summary),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::run::{Disturbance, RunDataBuilder};
    use delaylab_lab::finding::{Measure, Values};
    use delaylab_model::method::Method;
    use delaylab_model::record::Outcome;
    use delaylab_stats::functional::Functional;
    use proptest::prelude::*;

    fn stream(trial: u32, probe: u16, case: &str) -> RunStream {
        RunStream {
            trial,
            probe,
            name: ["ef", "be"][usize::from(probe)].to_owned(),
            frames: false,
            factors: vec![("case".to_owned(), Level::named(case))],
            steps: Vec::new(),
            to_utc: None,
            repeat: trial / 2,
            facts: RecordFacts::default(),
            trace_hash: None,
        }
    }

    fn record(trial: u32, probe: u16, seq: u64, delay: Option<Nanos>) -> Record {
        let mut record = Record::due(trial, probe, seq, Method::Icmp, 1_000 * seq as Nanos);
        record.t_send = Some(record.t_intended);
        if let Some(delay) = delay {
            record.t_recv = Some(record.t_intended + delay);
            record.outcome = Outcome::Ok;
        }
        record
    }

    /// What findings take a statistic of: the values of each stream, one stream behind the other.
    fn pooled(streams: &[Vec<Record>], measure: Measure) -> Vec<f64> {
        let values = streams.iter().flat_map(|records| {
            let values = measure.of_records(records.iter(), &RecordFacts::default());
            match values {
                Ok(Values::Packets(values)) => values,
                _ => Vec::new(),
            }
        });
        values.filter(|value| !value.is_nan()).collect()
    }

    #[test]
    fn probes_stand_in_the_order_of_the_experiment() {
        let streams = [
            stream(0, 0, "b"),
            stream(0, 1, "b"),
            stream(1, 0, "a"),
            stream(1, 1, "a"),
        ];
        let order = [("case".to_owned(), ["b", "a"].map(Level::named).to_vec())];
        let run = RunDataBuilder::new(streams.to_vec(), &order, 100).finish(RunData::default());
        let groups: Vec<_> = run
            .groups
            .iter()
            .map(|l| (l.level("case"), l.probe.as_str()))
            .collect();
        assert_eq!(groups, [("b", "ef"), ("b", "be"), ("a", "ef"), ("a", "be")]);
        assert_eq!(
            (run.probes(), run.varied()),
            (vec!["ef", "be"], vec!["case"])
        );
        assert_eq!(run.apart(false).heads, ["case", "probe"]);
    }

    #[test]
    fn one_probe_keeps_its_panels() {
        let streams = vec![stream(0, 0, "a"), stream(1, 0, "b")];
        let run = RunDataBuilder::new(streams, &[], 100).finish(RunData::default());
        assert_eq!(run.apart(false).heads, ["case"]);
        assert_eq!(run.groups.len(), 2);
    }

    /// Three cases lose packets, and one of those that do not has late ones.
    #[test]
    fn many_combinations_are_never_pooled_and_the_worst_are_shown() {
        let cases: Vec<String> = (0..80).map(|case| format!("case {case:02}")).collect();
        let streams = cases
            .iter()
            .zip(0..)
            .map(|(case, trial)| stream(trial, 0, case));
        let mut builder = RunDataBuilder::new(streams.collect(), &[], 1_000);
        for trial in 0..80 {
            for seq in 0..200 {
                let lost = trial < 3 && seq % 10 == 0;
                let late = if trial == 70 {
                    50_000
                } else {
                    Nanos::from(trial)
                };
                let delay = (!lost).then_some(1_000 + late);
                builder.push(&record(trial, 0, seq, delay), Disturbance::default());
            }
            builder.end_trial(trial);
        }
        let run = builder.finish(RunData::default());
        let apart = run.apart(false);
        let shown: Vec<&str> = apart.rows.iter().map(|(levels, ..)| levels[0]).collect();
        let late = (63..80).map(|case| format!("case {case}"));
        let expected: Vec<String> = (0..3)
            .map(|case| format!("case {case:02}"))
            .chain(late)
            .collect();
        assert_eq!(shown, expected);
        assert_eq!((apart.left_out, run.apart(true).rows.len()), (60, 80));
    }

    #[test]
    fn what_has_too_few_packets_for_a_p99_may_be_the_worst() {
        let trials: Vec<RunStream> = (0..4)
            .map(|trial| stream(trial, 0, &format!("case {trial}")))
            .collect();
        let mut builder = RunDataBuilder::new(trials, &[], 1_000);
        for (trial, packets, delay) in [
            (0, 200, 1_000),
            (1, 200, 2_000),
            (2, 30, 90_000),
            (3, 200, 3_000),
        ] {
            for seq in 0..packets {
                builder.push(&record(trial, 0, seq, Some(delay)), Disturbance::default());
            }
            builder.end_trial(trial);
        }
        let run = builder.finish(RunData::default());
        let mut summaries: Vec<_> = run
            .groups
            .iter()
            .map(|group| group.summary.clone())
            .collect();
        assert_eq!(
            summaries[2].round_trip.as_ref().unwrap().carried_p99(),
            None
        );
        // The first waits for long before it is sent.
        summaries[0].response.as_mut().unwrap().p99 = 80_000;
        let sets: Vec<_> = summaries.iter().map(|summary| [summary]).collect();
        let places = |delay| worst_of(&sets, delay, 2);
        assert_eq!(places(ShownDelay::RoundTrip), [2, 3]);
        assert_eq!(places(ShownDelay::Response), [0, 2]);
    }

    /// One loses some packets, four lose all of them, and the last had none to lose.
    #[test]
    fn what_was_never_answered_leaves_room_for_what_is_slow() {
        let cases = (0..8).map(|trial| stream(trial, 0, &format!("case {trial}")));
        let mut builder = RunDataBuilder::new(cases.collect(), &[], 1_000);
        for (trial, seq) in (0..7).flat_map(|trial| (0..200).map(move |seq| (trial, seq))) {
            let answered = trial < 2 || (trial == 2 && seq > 9);
            let record = record(trial, 0, seq, answered.then_some(1_000));
            builder.push(&record, Disturbance::default());
        }
        let run = builder.finish(RunData::default());
        let summaries: Vec<_> = run.groups.iter().map(|group| [&group.summary]).collect();
        let places = |most| worst_of(&summaries, ShownDelay::RoundTrip, most);
        assert_eq!(places(4), [0, 2, 3, 4]);
        assert_eq!(places(5), [0, 1, 2, 3, 4]);
    }

    proptest! {
        /// Two cases, two probes, two repeats; lost packets end a time-out after the others.
        #[test]
        fn figures_are_those_of_findings(
            delays in prop::collection::vec(prop::option::weighted(0.9, 100_i64..100_000), 8 * 12),
        ) {
            let keys: Vec<(u32, u16)> = (0..4).flat_map(|trial| [(trial, 0), (trial, 1)]).collect();
            let case = |trial: u32| ["a", "b"][trial as usize % 2];
            let streams = keys.iter().map(|&(trial, probe)| stream(trial, probe, case(trial)));
            let mut builder = RunDataBuilder::new(streams.collect(), &[], 1_000);
            let of_stream = keys.iter().zip(delays.chunks(12)).map(|(&(trial, probe), delays)| {
                let seqs = (0..).zip(delays);
                seqs.map(|(seq, &delay)| record(trial, probe, seq, delay)).collect::<Vec<_>>()
            });
            let of_stream: Vec<_> = of_stream.collect();
            for records in &of_stream {
                let (answered, lost): (Vec<_>, Vec<_>) = records.iter().partition(|r| r.answered());
                for record in answered.into_iter().chain(lost) {
                    builder.push(record, Disturbance::default());
                }
                let last = &records[0];
                if last.probe == 1 {
                    builder.end_trial(last.trial);
                }
            }
            let run = builder.finish(RunData::default());
            prop_assert_eq!(run.groups.len(), 4);
            for group in &run.groups {
                let own = keys.iter().zip(&of_stream).filter(|((trial, probe), _)| {
                    case(*trial) == group.level("case") && ["ef", "be"][usize::from(*probe)] == group.probe
                });
                let own: Vec<_> = own.map(|(_, records)| records.clone()).collect();
                let statistic = |measure, functional: Functional| {
                    functional.value(&mut pooled(&own, measure))
                };
                // Without stamps nothing is known of the network.
                prop_assert_eq!(group.network_ipdv, None);
                let variation = &group.summary.variation;
                let pairs = statistic(Measure::Ipdv, Functional::Count);
                prop_assert_eq!(Some(variation.ipdv_count as f64), pairs);
                let mut drawn = 0;
                group.ipdv.for_each(|_, times| drawn += times);
                prop_assert_eq!(drawn, variation.ipdv_count);
                let close = |ours: Option<f64>, theirs: Option<f64>| match (ours, theirs) {
                    (Some(ours), Some(theirs)) => (ours - theirs).abs() <= 1e-9 * (1.0 + theirs.abs()),
                    (ours, theirs) => ours == theirs,
                };
                prop_assert!(close(variation.ipdv_mean_ns, statistic(Measure::Ipdv, Functional::Mean)));
                prop_assert!(close(variation.ipdv_sd_ns, statistic(Measure::Ipdv, Functional::Sd)));
                if variation.ipdv_count >= 4 {
                    let iqr = statistic(Measure::Ipdv, Functional::Iqr);
                    prop_assert_eq!(variation.ipdv_iqr_ns.map(|ns| ns as f64), iqr);
                }
                let delays = group.summary.round_trip.as_ref();
                for (ours, q) in [(delays.map(|d| d.p50), 0.5), (delays.map(|d| d.p99), 0.99)] {
                    let theirs = statistic(Measure::RoundTrip, Functional::Quantile(q));
                    prop_assert_eq!(ours.map(|ns| ns as f64), theirs);
                }
                let lost = pooled(&own, Measure::Lost).iter().sum::<f64>();
                prop_assert_eq!(group.summary.counts.lost as f64, lost);
            }
        }
    }
}
