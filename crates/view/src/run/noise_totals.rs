//! What disturbed the host, summed up by who it was: the events themselves are many.

use super::NoiseTotal;
use delaylab_model::noise::{NoiseEvent, NoiseKind};
use delaylab_model::units::format_duration;
use std::collections::BTreeMap;

impl NoiseTotal {
    /// What [`NoiseTotal::cells`] are, but for the first, which says where.
    pub const HEADS: [&str; 5] = ["kind", "runs", "CPU time", "maximum", "packets overlapped"];

    /// As a row of a table.
    pub fn cells(&self) -> [String; 6] {
        [
            self.who.clone(),
            self.kind.name().replace('_', " "),
            self.events.to_string(),
            format_duration(self.total),
            format_duration(self.longest),
            self.packets.to_string(),
        ]
    }
}

/// Sums of the events so far.
#[derive(Default)]
pub(super) struct NoiseTotals(BTreeMap<NoiseKind, BTreeMap<String, NoiseTotal>>);

impl NoiseTotals {
    /// One event.
    pub(super) fn add(&mut self, event: &NoiseEvent) {
        let who = event.who.as_deref().unwrap_or(event.kind.name());
        let of_kind = self.0.entry(event.kind).or_default();
        if let Some(total) = of_kind.get_mut(who) {
            total.events += 1;
            total.total += event.length;
            total.longest = total.longest.max(event.length);
            return;
        }
        let total = NoiseTotal {
            who: who.to_owned(),
            kind: event.kind,
            events: 1,
            total: event.length,
            longest: event.length,
            packets: 0,
        };
        of_kind.insert(who.to_owned(), total);
    }

    /// The longest in all first. `packets` is how many met whom.
    pub(super) fn finish(self, packets: &BTreeMap<String, u64>) -> Vec<NoiseTotal> {
        let each = self.0.into_values().flat_map(BTreeMap::into_values);
        let mut totals: Vec<_> = each.collect();
        for total in &mut totals {
            // A thread that is stopped has no CPU that a packet could want.
            let met = packets
                .get(&total.who)
                .filter(|_| total.kind != NoiseKind::Stopped);
            total.packets = met.copied().unwrap_or(0);
        }
        totals.sort_by(|a, b| (b.total.cmp(&a.total)).then_with(|| a.who.cmp(&b.who)));
        totals
    }
}
