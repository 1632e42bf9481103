//! In which order replies arrived: that of the rows of a table, unless their times say another one.

use crate::import::Records;
use crate::import::order::extents_at;
use delaylab_model::Nanos;
use delaylab_model::record::Record;
use std::collections::BTreeMap;

/// What the rows of a stream tell of it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Arrivals {
    /// Of those so far.
    latest: Option<Nanos>,
    /// By how much a reply arrived before one of a row above it, at most.
    most_before: Nanos,
    /// What the last digit of the finest time counts. Programs leave zeros at the end out.
    step: Option<Nanos>,
    /// Has a reply no time?
    is_untimed: bool,
}

impl Arrivals {
    /// The reply of the next row, and how exactly its time is known.
    pub fn note(&mut self, arrived: Option<Nanos>, step: Nanos) {
        let Some(arrived) = arrived else {
            self.is_untimed = true;
            return;
        };
        let latest = self.latest.map_or(arrived, |latest| latest.max(arrived));
        self.most_before = self.most_before.max(latest - arrived);
        self.latest = Some(latest);
        self.step = Some(self.step.map_or(step, |finest| finest.min(step)));
    }

    /// The records with the order of their times, where that is known and is not the order of the rows.
    pub fn reordered(&self, records: &Records) -> Option<Records> {
        let step = self.step?;
        if self.is_untimed || self.most_before <= step {
            return None;
        }
        let arrival = |record: Record| Some((record.t_recv?, record.seq));
        let mut arrived: Vec<(Nanos, u64)> = records.iter().filter_map(arrival).collect();
        arrived.sort_unstable();
        let extents = arrived.iter().zip(extents_at(&arrived, step));
        let overtaken: BTreeMap<u64, u32> = extents
            .filter(|(_, extent)| *extent > 0)
            .map(|(&(_, seq), extent)| (seq, extent))
            .collect();
        let marked = records.iter().map(|record| Record {
            reorder_extent: overtaken.get(&record.seq).copied().unwrap_or(0),
            ..record
        });
        Some(marked.collect())
    }
}
