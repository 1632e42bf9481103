//! What the rows of a trial keep of packets that were not answered: from the pass that writes the records, so that none is read
//! for it again.

use crate::trial_row::TrialRow;
use delaylab_model::record::Record;
use delaylab_stats::unanswered::UnansweredTally;

/// The rows of a trial, and what their records say so far.
pub(crate) struct KeptUnanswered<'a>(Vec<(&'a TrialRow, UnansweredTally)>);

impl<'a> KeptUnanswered<'a> {
    pub(crate) fn new(rows: &'a [TrialRow]) -> Self {
        Self(
            rows.iter()
                .map(|row| (row, UnansweredTally::default()))
                .collect(),
        )
    }

    /// Takes records of one probe, in the order of their numbers. Those that warm it up do not count.
    pub(crate) fn see(&mut self, records: &[Record]) {
        let Some(first) = records.first() else {
            return;
        };
        if let Some((row, tally)) = self.0.iter_mut().find(|(row, _)| row.probe == first.probe) {
            let counting = records.iter().filter(|record| row.counts(record.seq));
            counting.for_each(|record| tally.push(record));
        }
    }

    /// The rows with it. What one of them says already stays.
    pub(crate) fn rows(self) -> Vec<TrialRow> {
        let rows = self.0.into_iter().map(|(row, tally)| {
            let mut row = row.clone();
            let unanswered = row.facts.unanswered.take();
            row.facts.unanswered = unanswered.or_else(|| tally.finish());
            row
        });
        rows.collect()
    }
}
