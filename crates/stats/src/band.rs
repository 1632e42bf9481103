//! The anatomy at a quantile: the mean anatomy of the records ranked by response around it.
//!
//! Quantiles of stages do not add up; the means of the stages over the same records do. They are scaled to the
//! quantile itself, so that every table has the same response at it: the records say how it divides.

use crate::anatomy::{Part, StageSet};
use crate::loglinear;
use crate::passage::{Known, Passage, PassageSum};
use crate::quantile::{self, Ranked};
use delaylab_model::Nanos;
use delaylab_model::trial::RecordFacts;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// The anatomy of the response at one quantile: it divides as the responses around it do on average (DESIGN: "Anatomy
/// at a quantile").
#[derive(Debug, Clone, PartialEq)]
pub struct AnatomyAt {
    /// `p50`, `p90`, `p99`, `p99.9` or `max`; `mean` of all.
    pub label: &'static str,
    /// How many records were averaged.
    pub records: u64,
    /// Records in the band that were left out because they lack a stamp that most have.
    pub left_out: u64,
    /// The response at the quantile, as in its distribution; the parts add up to it.
    pub response_ns: f64,
    /// Each part: its mean, scaled as the mean response is to the quantile.
    pub parts: Vec<Part>,
    /// Network likewise; `None` without the stamps for it.
    pub network_ns: Option<f64>,
    /// Host likewise, both ends.
    pub host_ns: Option<f64>,
}

impl AnatomyAt {
    /// All stages that it has.
    pub fn stages(&self) -> StageSet {
        self.parts
            .iter()
            .flat_map(|part| part.stages.iter())
            .collect()
    }

    /// What these stages take of it, where it has them as one part.
    pub fn ns_of(&self, stages: StageSet) -> Option<f64> {
        let part = self.parts.iter().find(|part| part.stages == stages);
        part.map(|part| part.ns)
    }

    /// Divides this response as it divides its own.
    pub(crate) fn scaled_to(mut self, response: Nanos) -> Self {
        let response = response as f64;
        if self.response_ns <= 0.0 || response <= 0.0 {
            return self;
        }
        let factor = response / self.response_ns;
        self.parts.iter_mut().for_each(|part| part.ns *= factor);
        self.response_ns = response;
        // Of a packet to a reflector both ends are all that is not network; a server is neither.
        let of_server = StageSet::OF_SERVERS.touches(self.stages());
        self.network_ns = self.network_ns.map(|network| network * factor);
        self.host_ns = match of_server {
            true => self.host_ns.map(|host| host * factor),
            false => self.network_ns.map(|network| response - network),
        };
        self
    }
}

/// Where the anatomy is taken, besides the largest response.
pub(crate) const QUANTILES: [(&str, f64); 4] =
    [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];

/// Ranks around a quantile: 0.5 % of all or 25 to each side, whichever is more, but at most half
/// the way to the nearer end.
pub(crate) fn ranks(count: usize, q: f64) -> Option<RangeInclusive<usize>> {
    let center = quantile::rank(count, q)?;
    let to_end = center.min(count - 1 - center);
    let half = (count / 200).max(25).min(to_end / 2);
    Some(center - half..=center + half)
}

/// How many of the answered records have each stamp.
#[derive(Debug, Clone, Default)]
pub(crate) struct StampCounts {
    answered: u64,
    with: [u64; Known::BITS],
}

impl StampCounts {
    pub(crate) fn add(&mut self, known: Known, records: u64) {
        self.answered += records;
        for (index, count) in self.with.iter_mut().enumerate() {
            *count += records * u64::from(known.bit(index));
        }
    }

    /// Those that at least half of them have: as replies that tell of others get lost, some lack one.
    pub(crate) fn usual(&self) -> Known {
        Known::from_bits(|index| self.with[index] * 2 >= self.answered)
    }
}

/// Records, summed by which stamps they have.
#[derive(Debug, Clone, Default)]
pub(crate) struct Band(BTreeMap<Known, PassageSum>);

impl<'a> FromIterator<&'a Passage> for Band {
    fn from_iter<I: IntoIterator<Item = &'a Passage>>(passages: I) -> Self {
        let mut band = Self::default();
        passages.into_iter().for_each(|passage| band.add(passage));
        band
    }
}

impl Band {
    /// The stamps to use: the usual ones, or, where fewer than half of the band's records have them all, those of
    /// them that the band shares.
    fn stamps(&self, usual: Known) -> Known {
        let usual = usual.stamps();
        let all = self.0.iter().filter(|(known, _)| known.covers(usual));
        let with: u64 = all.map(|(_, sum)| sum.count()).sum();
        if with > 0 && with * 2 >= self.count() {
            usual
        } else {
            self.0
                .keys()
                .fold(usual, |shared, known| shared.and(*known))
        }
    }

    /// The sum of those that have the stamps to use, these stamps, and how many lack one of them.
    fn sum(&self, usual: Known) -> (PassageSum, Known, u64) {
        let stamps = self.stamps(usual);
        let mut sum = PassageSum::default();
        let mut left_out = 0;
        let mut shared: Option<Known> = None;
        for (known, part) in &self.0 {
            if known.covers(stamps) {
                shared = Some(shared.map_or(*known, |shared| shared.and(*known)));
                sum.merge(part);
            } else {
                left_out += part.count();
            }
        }
        let stamps = shared.map_or(stamps, |shared| stamps.with_absences_of(shared));
        (sum, stamps, left_out)
    }

    /// The mean anatomy of those that have the stamps to use.
    pub(crate) fn anatomy(
        &self,
        label: &'static str,
        usual: Known,
        facts: &RecordFacts,
    ) -> AnatomyAt {
        let (sum, stamps, left_out) = self.sum(usual);
        AnatomyAt {
            label,
            records: sum.count(),
            left_out,
            response_ns: sum.mean_response(),
            parts: sum.mean_parts(stamps),
            network_ns: sum.mean_network(stamps, facts),
            host_ns: sum.mean_host(stamps, facts),
        }
    }

    pub(crate) fn add(&mut self, passage: &Passage) {
        self.0.entry(passage.known()).or_default().add(passage);
    }

    pub(crate) fn merge(&mut self, other: &Band) {
        for (known, sum) in &other.0 {
            self.0.entry(*known).or_default().merge(sum);
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.0.values().map(PassageSum::count).sum()
    }

    /// The mean response of all; `None` without any.
    pub(crate) fn mean_response(&self) -> Option<f64> {
        let mut all = PassageSum::default();
        self.0.values().for_each(|sum| all.merge(sum));
        (all.count() > 0).then(|| all.mean_response())
    }

    /// The mean response of those that have the stamps which most have, and its parts.
    pub(crate) fn mean(&self) -> Option<(f64, Vec<Part>)> {
        let mut counts = StampCounts::default();
        for (known, sum) in &self.0 {
            counts.add(*known, sum.count());
        }
        let (sum, stamps, _) = self.sum(counts.usual());
        (sum.count() > 0).then(|| (sum.mean_response(), sum.mean_parts(stamps)))
    }

    /// Those that are most like one with these stamps: with the same; else with the same stages; else all.
    pub(crate) fn like(&self, known: Known) -> Band {
        let only = |is: &dyn Fn(Known) -> bool| {
            let found = self.0.iter().filter(|(known, _)| is(**known));
            Some(Band(found.map(|(known, sum)| (*known, *sum)).collect()))
                .filter(|band| !band.0.is_empty())
        };
        only(&|other| other == known)
            .or_else(|| only(&|other| other.has_stages_of(known)))
            .unwrap_or_else(|| self.clone())
    }
}

/// Every answered record, ranked by its response; equal ones in order of completion.
pub(crate) struct ByResponse<'a> {
    rows: &'a [Passage],
    ranked: Ranked<(Nanos, u32)>,
}

impl<'a> ByResponse<'a> {
    pub(crate) fn new(rows: &'a [Passage]) -> Self {
        let keys = rows.iter().zip(0..).map(|(row, i)| (row.response(), i));
        Self {
            rows,
            ranked: Ranked::new(keys.collect()),
        }
    }

    /// The response at this quantile.
    pub(crate) fn quantile(&mut self, q: f64) -> Option<Nanos> {
        self.ranked.quantile(q).map(|&(response, _)| response)
    }

    pub(crate) fn band(&mut self, ranks: RangeInclusive<usize>) -> Band {
        let keys = self.ranked.between(*ranks.start(), *ranks.end());
        keys.iter().map(|&(_, i)| &self.rows[i as usize]).collect()
    }
}

/// Sums of stages for each bin of the response: bands in flat memory. A band is then every bin
/// that it touches, whole.
#[derive(Debug, Clone, Default)]
pub(crate) struct StageTable(BTreeMap<(i32, Known), PassageSum>);

impl StageTable {
    pub(crate) fn push(&mut self, passage: &Passage) {
        let bin = loglinear::bin_of(passage.response());
        let cell = self.0.entry((bin, passage.known())).or_default();
        cell.add(passage);
    }

    pub(crate) fn band(&self, ranks: RangeInclusive<usize>) -> Band {
        let mut bins: BTreeMap<i32, u64> = BTreeMap::new();
        for (&(bin, _), cell) in &self.0 {
            *bins.entry(bin).or_default() += cell.count();
        }
        let mut through = 0;
        bins.retain(|_, count| {
            let first = through;
            through += *count;
            first <= *ranks.end() as u64 && through > *ranks.start() as u64
        });
        let mut band = Band::default();
        for (&(bin, known), cell) in &self.0 {
            if bins.contains_key(&bin) {
                band.0.entry(known).or_default().merge(cell);
            }
        }
        band
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.0.len() * size_of::<((i32, Known), PassageSum)>()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn bands_are_as_wide_as_defined() {
        for (count, q, expected) in [
            (100_000, 0.5, 49_499..=50_499),
            (1000, 0.5, 474..=524),
            (1000, 0.99, 984..=994),
            (1000, 0.999, 998..=998),
            (1, 0.5, 0..=0),
            (10, 0.5, 2..=6),
        ] {
            assert_eq!(ranks(count, q), Some(expected), "{count} {q}");
        }
        assert_eq!(ranks(0, 0.5), None);
    }
}
