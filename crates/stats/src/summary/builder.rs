//! Records in, a summary out.

use super::answers::Answers;
use super::irregular::Irregular;
use super::refusals::Refusals;
use super::rows::{Measure, Rows, Spilled};
use super::server::ServerTally;
use super::{AnatomyAt, Counts, Distribution, Histogram, Summary, Worst};
use crate::anatomy::{self, Part};
use crate::band::{self, Band, ByResponse, StampCounts};
use crate::loglinear;
use crate::passage::{Passage, is_told_by_acknowledgement};
use crate::quantile::carries;
use crate::sample::{Kept, Tally, Values};
use crate::variation::{Delays, Variation, VariationTally};
use delaylab_model::record::{Outcome, Record};
use delaylab_model::trial::RecordFacts;
use delaylab_model::{MICROSECOND, Nanos};

/// How many of the worst responses are kept.
const WORST: usize = 5;
/// Share of round trips in a trimmed mean (draft-ietf-ippm-responsiveness, TMP).
const TRIMMED: f64 = 0.95;

/// From the first packet's intended send to the last event.
#[derive(Debug, Clone, Copy)]
struct Span {
    first: Nanos,
    last: Nanos,
}

impl Span {
    fn add(&mut self, record: &Record) {
        self.first = self.first.min(record.t_intended);
        let events = [Some(record.t_intended), record.t_send, record.t_recv];
        self.last = events.into_iter().flatten().fold(self.last, Nanos::max);
    }
}

/// Takes records one by one and makes a [`Summary`].
#[derive(Debug)]
pub struct SummaryBuilder {
    facts: RecordFacts,
    exact_limit: usize,
    counts: Counts,
    refusals: Refusals,
    irregular: Irregular,
    span: Option<Span>,
    stamps: StampCounts,
    measures: [Tally; Measure::ALL.len()],
    rows: Rows,
    lateness: Kept,
    variation: VariationTally,
    /// `None` until a server was asked.
    server: Option<Box<ServerTally>>,
    /// Responses of which the stamps tell no network.
    without_network: Kept,
    answers: Answers,
    acknowledged_only: u64,
    worst: Vec<Record>,
}

impl SummaryBuilder {
    /// For a trial with these facts. Beyond `exact_limit` answered records, quantiles come from
    /// log-linear histograms, so memory stays flat (lateness: beyond as many sent). Below it, an
    /// answered record takes 80 bytes (88 without a stamp for its network), and any sent one 8 more.
    pub fn new(facts: RecordFacts, exact_limit: usize) -> Self {
        Self {
            facts,
            exact_limit,
            counts: Counts::default(),
            refusals: Refusals::default(),
            irregular: Irregular::default(),
            span: None,
            stamps: StampCounts::default(),
            measures: Default::default(),
            rows: Rows::Exact(Vec::new()),
            lateness: Kept::default(),
            variation: VariationTally::new(exact_limit),
            server: None,
            without_network: Kept::default(),
            answers: Answers::default(),
            acknowledged_only: 0,
            worst: Vec::new(),
        }
    }

    /// Takes packets of which only the numbers are known.
    pub const fn count(&mut self, sent: u64, lost: u64) {
        self.counts.add(sent, lost);
    }

    /// Takes one record, in any order of completion.
    pub fn push(&mut self, record: &Record) {
        self.counts.count(record);
        self.refusals.push(record);
        self.irregular.push(record);
        self.answers.push(record);
        let is_lost = record.outcome == Outcome::Lost;
        self.acknowledged_only += u64::from(is_lost && record.t_ack.is_some());
        self.span
            .get_or_insert(Span {
                first: record.t_intended,
                last: record.t_intended,
            })
            .add(record);
        // What it takes to have a connection is no lateness of the sender.
        if let Some(begun) = record.t_begin.or(record.t_send) {
            let lateness = begun.wrapping_sub(record.t_intended);
            self.lateness.push(lateness, self.exact_limit);
        }
        let answer = Some(record).filter(|record| record.answered());
        let passage = answer.and_then(|record| Passage::from_record(record, &self.facts));
        let round_trip = passage.and_then(|passage| passage.round_trip());
        self.variation.push(record, round_trip);
        if let Some(passage) = passage {
            if is_told_by_acknowledgement(record, &self.facts) {
                let server = self.server.get_or_insert_default();
                server.push(record, passage.response(), self.exact_limit);
            }
            self.answered(&passage);
            self.keep_if_bad(record, passage.response());
        }
    }

    fn answered(&mut self, passage: &Passage) {
        self.stamps.add(passage.known(), 1);
        for (measure, tally) in Measure::ALL.into_iter().zip(&mut self.measures) {
            if let Some(value) = measure.value(passage, &self.facts) {
                tally.push(value);
            }
        }
        if passage.network(&self.facts).is_none() {
            let response = passage.response();
            self.without_network.push(response, self.exact_limit);
        }
        match &mut self.rows {
            Rows::Exact(rows) if rows.len() < self.exact_limit => rows.push(*passage),
            Rows::Exact(rows) => {
                rows.push(*passage);
                let least = self.measures[Measure::RoundTrip as usize].moments.min();
                let spilled = Spilled::new(rows, least.unwrap_or(0), &self.facts);
                self.rows = Rows::Spilled(Box::new(spilled));
            }
            Rows::Spilled(spilled) => spilled.push(passage, &self.facts),
        }
    }

    fn keep_if_bad(&mut self, record: &Record, response: Nanos) {
        let worse = |kept: &Record| response_of(kept) >= response;
        let place = self.worst.partition_point(worse);
        if place < WORST {
            self.worst.truncate(WORST - 1);
            self.worst.insert(place, *record);
        }
    }

    /// How the packets so far ended.
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Bytes held on the heap, about.
    pub fn heap_bytes(&self) -> usize {
        let rows = match &self.rows {
            Rows::Exact(rows) => rows.capacity() * size_of::<Passage>(),
            Rows::Spilled(spilled) => spilled.heap_bytes(),
        };
        let server = self.server.as_ref();
        let server = server.map_or(0, |server| server.heap_bytes());
        rows + self.without_network.heap_bytes()
            + self.lateness.heap_bytes()
            + self.variation.heap_bytes()
            + server
    }

    /// The summary of all that was pushed.
    pub fn finish(&self) -> Summary {
        let measured = Measure::ALL.map(|measure| self.values(measure));
        let distributions = self.distributions(&measured);
        let distribution = |measure: Measure| distributions[measure as usize].clone();
        let round_trips = &measured[Measure::RoundTrip as usize];
        let round_trip = distribution(Measure::RoundTrip);
        Summary {
            histogram: round_trip.as_ref().map(|own| histogram(round_trips, own)),
            counts: self.counts,
            refusals: self.refusals.listed(),
            irregular: self.irregular.clone(),
            answers: self.answers.listed(),
            retransmitted: self.answers.retransmitted(),
            acknowledged_only: self.acknowledged_only,
            response: distribution(Measure::Response),
            round_trip,
            trimmed_round_trip: round_trips.trimmed_mean(TRIMMED),
            without_network: self.without_network.distribution(),
            network: distribution(Measure::Network),
            host: distribution(Measure::Host),
            forward: distribution(Measure::Forward),
            back: distribution(Measure::Back),
            lateness: self.lateness.distribution(),
            server: self.server.as_ref().and_then(|server| server.finish()),
            variation: self.variation(round_trips),
            anatomy: self.anatomy(),
            mean_anatomy: self.mean_anatomy(),
            worst: self
                .worst
                .iter()
                .map(|record| self.taken_apart(record))
                .collect(),
            within_500us: self.within(round_trips, 500 * MICROSECOND),
            quantile_error: self.is_spilled().then_some(loglinear::RELATIVE_ERROR),
            start: self.span.map_or(0, |span| span.first),
            span_ns: self
                .span
                .map_or(0, |span| span.last.wrapping_sub(span.first)),
        }
    }

    /// Of each measure. Most of the work is resampling, and several measures may have the same values, as where nothing but the network takes
    /// time.
    fn distributions(
        &self,
        measured: &[Values; Measure::ALL.len()],
    ) -> [Option<Distribution>; Measure::ALL.len()] {
        let mut found = [const { None }; Measure::ALL.len()];
        for (index, values) in measured.iter().enumerate() {
            let same = measured[..index]
                .iter()
                .position(|before| before.is_same(values));
            found[index] = match same {
                Some(before) => found[before].clone(),
                None => self.measures[index].distribution(values),
            };
        }
        found
    }

    fn is_spilled(&self) -> bool {
        matches!(self.rows, Rows::Spilled(_))
            || self.lateness.is_spilled()
            || self.variation.is_spilled()
    }

    fn values(&self, measure: Measure) -> Values {
        match &self.rows {
            Rows::Exact(rows) => {
                let values = rows
                    .iter()
                    .filter_map(|row| measure.value(row, &self.facts));
                Values::Exact(values.collect())
            }
            Rows::Spilled(spilled) => Values::Spilled(spilled.measures[measure as usize].clone()),
        }
    }

    fn variation(&self, round_trips: &Values) -> Variation {
        let moments = &self.measures[Measure::RoundTrip as usize].moments;
        self.variation.finish(&Delays {
            moments,
            pdv: self.pdv(round_trips),
        })
    }

    /// Median, p99 and p99.9 of PDV, each where at least one packet lies beyond it.
    fn pdv(&self, round_trips: &Values) -> [Option<Nanos>; 3] {
        let moments = &self.measures[Measure::RoundTrip as usize].moments;
        let mut order = round_trips.order();
        [(0.5, 2), (0.99, 100), (0.999, 1000)].map(|(q, packets)| {
            let above = match &self.rows {
                Rows::Spilled(spilled) => spilled.above_least.quantile(q),
                Rows::Exact(_) => None,
            };
            let delay = above.or_else(|| order.quantile(q))?;
            let pdv = delay.wrapping_sub(moments.min()?).max(0);
            (moments.count() >= packets).then_some(pdv)
        })
    }

    /// The anatomy of the responses so far at max and at those of p50, p90, p99 and p99.9 that so many packets
    /// carry: that of the summary, for those who want no more of it yet.
    pub fn anatomy(&self) -> Vec<AnatomyAt> {
        let usual = self.stamps.usual();
        let mut bands: Vec<AnatomyAt> = Vec::new();
        let mut add = |label, q: f64, band: Band, response: Option<Nanos>| {
            let mean = band.anatomy(label, usual, &self.facts);
            let is_carried = q <= 0.5 || carries(self.answers(), q);
            bands.extend(response.filter(|_| is_carried).map(|ns| mean.scaled_to(ns)));
        };
        match &self.rows {
            Rows::Exact(rows) => {
                let mut order = ByResponse::new(rows);
                for (label, q) in band::QUANTILES {
                    if let Some(ranks) = band::ranks(rows.len(), q) {
                        add(label, q, order.band(ranks), order.quantile(q));
                    }
                }
            }
            Rows::Spilled(spilled) => {
                let values = self.values(Measure::Response);
                let mut order = values.order();
                for (label, q) in band::QUANTILES {
                    if let Some(ranks) = band::ranks(self.answers() as usize, q) {
                        let response = order.quantile(q).map(|ns| self.within_range(ns));
                        add(label, q, spilled.stages.band(ranks), response);
                    }
                }
            }
        }
        let worst = self.worst.first();
        let worst = worst.and_then(|record| Passage::from_record(record, &self.facts));
        let largest = worst.map(|passage| Band::from_iter([&passage]));
        bands.extend(largest.map(|band| band.anatomy("max", usual, &self.facts)));
        bands
    }

    fn answers(&self) -> u64 {
        self.measures[Measure::Response as usize].moments.count()
    }

    /// A bin of the largest responses may reach beyond them.
    fn within_range(&self, ns: Nanos) -> Nanos {
        let moments = &self.measures[Measure::Response as usize].moments;
        let (min, max) = (moments.min().unwrap_or(ns), moments.max().unwrap_or(ns));
        ns.clamp(min, max)
    }

    fn mean_anatomy(&self) -> Option<AnatomyAt> {
        let all = match &self.rows {
            Rows::Exact(rows) => Band::from_iter(rows),
            Rows::Spilled(spilled) => spilled.stages.band(0..=usize::MAX),
        };
        let answered = self.measures[Measure::Response as usize].moments.count();
        (answered > 0).then(|| all.anatomy("mean", self.stamps.usual(), &self.facts))
    }

    fn taken_apart(&self, record: &Record) -> Worst {
        let parts = anatomy::parts(record, &self.facts).into_iter();
        Worst {
            record: *record,
            parts: parts
                .map(|(stages, ns)| Part {
                    stages,
                    ns: ns as f64,
                })
                .collect(),
            network_ns: anatomy::network(record, &self.facts),
            host_ns: anatomy::host(record, &self.facts),
        }
    }

    /// Share of round trips that are no further than `bound` from their mean.
    fn within(&self, round_trips: &Values, bound: Nanos) -> Option<f64> {
        let moments = &self.measures[Measure::RoundTrip as usize].moments;
        let mean = moments.mean()?;
        let is_near = |value: Nanos| (value as f64 - mean).abs() <= bound as f64;
        let near = match round_trips {
            Values::Exact(values) => values.iter().filter(|&&it| is_near(it)).count() as u64,
            // A bin as wide as the bound does not tell which side of it its values are on.
            Values::Spilled(_) if mean * loglinear::RELATIVE_ERROR > bound as f64 => return None,
            Values::Spilled(counts) => {
                let near = counts.iter().filter(|(middle, _)| is_near(*middle));
                near.map(|(_, times)| times).sum()
            }
        };
        Some(near as f64 / moments.count() as f64)
    }
}

/// Of round trips with this distribution: bins from the least of them to p99.
fn histogram(round_trips: &Values, of: &Distribution) -> Histogram {
    let &Distribution { min, max, p99, .. } = of;
    let mut histogram = Histogram::fitting(min, p99);
    match round_trips {
        Values::Exact(values) => values.iter().for_each(|&value| histogram.push(value)),
        Values::Spilled(counts) => counts
            .iter()
            .for_each(|(middle, times)| histogram.push_many(middle.clamp(min, max), times)),
    }
    histogram.max_ns = max;
    histogram
}

/// Of a record that was answered.
fn response_of(record: &Record) -> Nanos {
    record
        .t_recv
        .map_or(0, |t_recv| t_recv.wrapping_sub(record.t_intended))
}

#[cfg(test)]
mod tests;
