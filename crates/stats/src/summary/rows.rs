//! What is kept of answered records: a compact row of each, or flat memory.

use crate::band::StageTable;
use crate::loglinear::LogLinear;
use crate::passage::Passage;
use crate::variation::AboveOrigin;
use delaylab_model::Nanos;
use delaylab_model::trial::RecordFacts;

/// A measure of an answered record.
#[derive(Debug, Clone, Copy)]
pub(super) enum Measure {
    Response,
    RoundTrip,
    Network,
    Host,
    Forward,
    Back,
}

impl Measure {
    pub(super) const ALL: [Measure; 6] = [
        Measure::Response,
        Measure::RoundTrip,
        Measure::Network,
        Measure::Host,
        Measure::Forward,
        Measure::Back,
    ];

    pub(super) fn value(self, passage: &Passage, facts: &RecordFacts) -> Option<Nanos> {
        match self {
            Measure::Response => Some(passage.response()),
            Measure::RoundTrip => passage.round_trip(),
            Measure::Network => passage.network(facts),
            Measure::Host => passage.host(facts),
            Measure::Forward => passage.forward(),
            Measure::Back => passage.back(),
        }
    }
}

/// Answered records: every one, or what flat memory holds of them.
#[derive(Debug)]
pub(super) enum Rows {
    Exact(Vec<Passage>),
    Spilled(Box<Spilled>),
}

#[derive(Debug)]
pub(super) struct Spilled {
    pub(super) measures: [LogLinear; Measure::ALL.len()],
    pub(super) above_least: AboveOrigin,
    pub(super) stages: StageTable,
}

impl Spilled {
    pub(super) fn new(rows: &[Passage], least_round_trip: Nanos, facts: &RecordFacts) -> Self {
        let mut spilled = Self {
            measures: Default::default(),
            above_least: AboveOrigin::new(least_round_trip),
            stages: StageTable::default(),
        };
        rows.iter().for_each(|row| spilled.push(row, facts));
        spilled
    }

    pub(super) fn push(&mut self, row: &Passage, facts: &RecordFacts) {
        for (measure, counts) in Measure::ALL.into_iter().zip(&mut self.measures) {
            if let Some(value) = measure.value(row, facts) {
                counts.push(value);
            }
        }
        if let Some(delay) = row.round_trip() {
            self.above_least.push(delay);
        }
        self.stages.push(row);
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let measures: usize = self.measures.iter().map(LogLinear::heap_bytes).sum();
        measures + self.above_least.heap_bytes() + self.stages.heap_bytes()
    }
}
