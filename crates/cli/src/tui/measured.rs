//! What is kept of one probe while it runs: flat memory, however long it does.

use super::late::ExcursionFinder;
use super::log_bins::LogBins;
use super::strip::{ResponseParts, Strip};
use super::view::{Distribution, Excursions, ProbeView};
use delaylab_model::probe::{Probe, is_warm};
use delaylab_model::record::Record;
use delaylab_model::trial::RecordFacts;
use delaylab_model::{MILLISECOND, Nanos, SECOND};
use delaylab_stats::anatomy;
use delaylab_stats::loglinear::LogLinear;
use delaylab_stats::quantile::carries;
use delaylab_stats::summary::SummaryBuilder;

/// Answered packets whose stages are kept one by one for the anatomy; beyond, histograms hold them, which
/// is as good to look at and quicker to make a picture of.
const EXACT_LIMIT: usize = 2_000;
/// A column of the strip is at least so long.
const LEAST_COLUMN: Nanos = 200 * MILLISECOND;

/// One probe.
#[derive(Debug)]
pub(super) struct Measured {
    name: String,
    column: Nanos,
    /// Packets before this one are not shown: they are in no figure either.
    warm_up: u64,
    facts: RecordFacts,
    summary: SummaryBuilder,
    responses: LogLinear,
    /// Exact: a bin knows its values only roughly.
    extremes: Option<(Nanos, Nanos)>,
    strip: Strip,
    late: ExcursionFinder,
    /// When the first packet and the last one were due.
    due: Option<(Nanos, Nanos)>,
    /// Packets that were sent and due with the first.
    due_at_first: u64,
}

impl Measured {
    /// Nothing yet.
    pub(super) fn new(probe: &Probe) -> Self {
        let gap = probe.pacing.mean_gap().unwrap_or(0);
        let column = gap.max(LEAST_COLUMN);
        let facts = RecordFacts::default();
        Self::empty(probe.name.clone(), column, probe.warmup, facts)
    }

    fn empty(name: String, column: Nanos, warm_up: u64, facts: RecordFacts) -> Self {
        Self {
            name,
            column,
            warm_up,
            facts,
            summary: SummaryBuilder::new(facts, EXACT_LIMIT),
            responses: LogLinear::default(),
            extremes: None,
            strip: Strip::new(column),
            late: ExcursionFinder::new(facts),
            due: None,
            due_at_first: 0,
        }
    }

    /// The first record is about to come, and is to be read like this.
    pub(super) fn begin(&mut self, facts: RecordFacts) {
        let name = std::mem::take(&mut self.name);
        *self = Self::empty(name, self.column, self.warm_up, facts);
    }

    /// Takes a record.
    pub(super) fn take(&mut self, record: &Record) {
        if !is_warm(record.seq, self.warm_up) {
            return;
        }
        let due = record.t_intended;
        let (first, last) = self.due.unwrap_or((due, due));
        self.due = Some((first.min(due), last.max(due)));
        if due < first {
            self.due_at_first = 0;
        }
        self.due_at_first += u64::from(due <= first && record.t_send.is_some());
        self.summary.push(record);
        let response = record.response().filter(|_| record.answered());
        let took = response.map(|response| ResponseParts {
            response,
            host: anatomy::host(record, &self.facts),
            network: anatomy::network(record, &self.facts),
        });
        // A slot in which nothing was sent lacks no answer.
        if record.ended() {
            self.strip.push(due, took);
        }
        let Some(response) = response else {
            return;
        };
        let (least, most) = self.extremes.unwrap_or((response, response));
        self.extremes = Some((least.min(response), most.max(response)));
        self.responses.push(response);
        self.late.push(record, &self.responses);
    }

    /// What there is to see of it.
    pub(super) fn seen(&self) -> ProbeView {
        ProbeView {
            name: self.name.clone(),
            counts: self.summary.counts(),
            rate: self.rate(),
            distribution: self.distribution(),
            anatomy: self.summary.anatomy(),
            column: self.strip.length,
            columns: self.strip.columns(),
            excursions: Excursions {
                bound: self.late.bound(),
                count: self.late.count(),
                events: self.late.events(),
                latest: self.late.latest(),
            },
            start: self.due.map_or(0, |(first, _)| first),
        }
    }

    /// Packets a second, by when they were due.
    fn rate(&self) -> Option<f64> {
        let (first, last) = self.due?;
        let after = self.summary.counts().sent.saturating_sub(self.due_at_first);
        let seconds = (last - first) as f64 / SECOND as f64;
        (seconds > 0.0).then(|| after as f64 / seconds)
    }

    fn distribution(&self) -> Option<Distribution> {
        let (min, max) = self.extremes?;
        let at = |q| {
            let quantile = self.responses.quantile(q);
            quantile.map_or(max, |ns: Nanos| ns.clamp(min, max))
        };
        let count = self.responses.iter().map(|(_, times)| times).sum();
        let carried = |q| carries(count, q).then(|| at(q));
        let mut bins = LogBins::new(min, max);
        for (middle, times) in self.responses.iter() {
            bins.push_many(middle.clamp(min, max), times);
        }
        Some(Distribution {
            min,
            p50: at(0.5),
            p90: carried(0.9),
            p99: carried(0.99),
            max,
            bins,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_model::method::Method;
    use delaylab_model::record::Outcome;

    /// Packets of a burst are due at one time.
    #[test]
    fn bursts_are_counted_over_the_time_between_them() {
        let mut measured = Measured::new(&Probe::new("ping", Method::Udp));
        for seq in 0..20 {
            let due = (seq as i64 / 10) * SECOND;
            let mut record = Record::due(0, 0, seq, Method::Udp, due);
            (record.t_send, record.outcome) = (Some(due), Outcome::Lost);
            measured.take(&record);
        }
        assert_eq!(measured.seen().rate, Some(10.0));
    }

    #[test]
    fn only_what_was_sent_and_waited_for_may_be_unanswered() {
        let mut measured = Measured::new(&Probe::new("ping", Method::Udp));
        for (seq, sent, outcome) in [
            (0, None, Outcome::Skipped),
            (1, Some(1), Outcome::Skipped),
            (2, Some(2), Outcome::Lost),
        ] {
            let mut record = Record::due(0, 0, seq, Method::Udp, 0);
            (record.t_send, record.outcome) = (sent, outcome);
            measured.take(&record);
        }
        let columns = measured.strip.columns();
        let unanswered: u64 = columns.iter().map(|column| column.unanswered).sum();
        assert_eq!((unanswered, measured.seen().counts.lost), (1, 1));
    }
}
