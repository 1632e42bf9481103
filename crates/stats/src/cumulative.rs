//! Shares of records at or below a value, with a band: where the share of all such records lies, of which these are a
//! sample. The line of another run scatters about it as well, and lies outside the band more often.
//!
//! Delays follow each other, so packets are no independent draws, and a band made of their number would be far
//! too narrow. What is independent are trials; where there are too few of them, long stretches of a trial take their
//! place (batch means). Each is a cluster, and the share is a ratio of sums over clusters (Cochran, Sampling
//! Techniques, §6): its variance is that of what each cluster has more than its part.

use crate::interval::CONFIDENCE;
use crate::loglinear::Sparse as Cluster;
use crate::student;
use delaylab_model::Nanos;

/// Clusters at most: beyond, neighbours are put together.
const MOST: usize = 32;
/// From so many trials on, trials are the clusters.
const TRIALS: usize = 3;
/// Fewer stretches of a trial than this say nothing of each other.
const LEAST_STRETCHES: usize = 8;
/// Stretches shorter than this, in records, are no batches.
const LEAST_LENGTH: u64 = 10;
/// Stretches that follow each other more closely than this are too short for what the delays do.
const MOST_DEPENDENT: f64 = 0.7;

/// Values of which the median says what is usual: the very first may have waited for what no other waits for.
const FIRST: usize = 1_000;

/// Takes values trial by trial, in memory that does not grow with their number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cumulative {
    /// The first values and their trials, until there are enough of them for an origin.
    first: Vec<(u32, Nanos)>,
    /// Their median: bins are of the distance from it, so that a small spread on a long delay stays visible.
    origin: Option<Nanos>,
    /// One for each trial, or for neighbours.
    trials: Vec<Cluster>,
    /// How many trials each of them holds, but for the last, which may hold fewer.
    trials_each: usize,
    /// How many the last one holds.
    trials_in_last: usize,
    current: Option<u32>,
    distinct: usize,
    /// Stretches of so many records, for as long as there are few trials.
    stretches: Vec<Cluster>,
    length: u64,
}

impl Cumulative {
    /// Takes a value of this trial. Those of a trial come together.
    pub fn push(&mut self, trial: u32, value: Nanos) {
        match self.origin {
            Some(origin) => self.add(trial, value.saturating_sub(origin)),
            None => {
                self.first.push((trial, value));
                if self.first.len() == FIRST {
                    self.settle();
                }
            }
        }
    }

    /// Counts the first values by their distance from their median.
    fn settle(&mut self) {
        let first = std::mem::take(&mut self.first);
        let mut values: Vec<Nanos> = first.iter().map(|(_, value)| *value).collect();
        values.sort_unstable();
        self.origin = values.get(values.len() / 2).copied();
        for (trial, value) in first {
            self.push(trial, value);
        }
    }

    /// Takes the distance of a value of this trial.
    fn add(&mut self, trial: u32, value: Nanos) {
        if self.current.replace(trial) != Some(trial) {
            self.begin_trial();
        }
        if let Some(last) = self.trials.last_mut() {
            last.push(value);
        }
        if self.distinct < TRIALS {
            self.push_to_stretch(value);
        }
    }

    fn begin_trial(&mut self) {
        self.distinct += 1;
        self.trials_each = self.trials_each.max(1);
        if self.distinct == TRIALS {
            self.stretches = Vec::new();
        }
        if self.trials.is_empty() || self.trials_in_last == self.trials_each {
            if self.trials.len() == MOST {
                self.trials = in_pairs(&self.trials);
                self.trials_each *= 2;
            }
            self.trials.push(Cluster::default());
            self.trials_in_last = 0;
        }
        self.trials_in_last += 1;
    }

    fn push_to_stretch(&mut self, value: Nanos) {
        self.length = self.length.max(1);
        let is_full = |last: &Cluster| last.count() >= self.length;
        if self.stretches.last().is_none_or(is_full) {
            if self.stretches.len() == MOST {
                self.stretches = in_pairs(&self.stretches);
                self.length *= 2;
            }
            self.stretches.push(Cluster::default());
        }
        if let Some(last) = self.stretches.last_mut() {
            last.push(value);
        }
    }

    /// At each of these values, how far from this run's share at or below it another run's would lie, with 95 %
    /// confidence; `None` where there is too little to say.
    pub fn half_widths(&self, values: &[Nanos]) -> Option<Vec<f64>> {
        if !self.first.is_empty() {
            let mut settled = self.clone();
            settled.settle();
            return settled.half_widths(values);
        }
        let clusters = match self.distinct >= TRIALS {
            true => &self.trials,
            false => &self.stretches,
        };
        let is_of_trials = self.distinct >= TRIALS;
        let all: u64 = clusters.iter().map(|cluster| cluster.count()).sum();
        let enough =
            is_of_trials || clusters.len() >= LEAST_STRETCHES && self.length >= LEAST_LENGTH;
        if clusters.len() < 2 || all == 0 || !enough {
            return None;
        }
        let dependence = match is_of_trials {
            true => 0.0,
            false => lag_one(&excesses(clusters, median(clusters)?).1).max(0.0),
        };
        if dependence > MOST_DEPENDENT {
            return None;
        }
        // What is left of the dependence of stretches is taken for that of an AR(1).
        let wider = (1.0 + dependence) / (1.0 - dependence);
        let df = u32::try_from(clusters.len() - 1).ok()?;
        let t = student::two_sided(CONFIDENCE, df);
        let origin = self.origin?;
        let spread = |value: Nanos| {
            let (share, excess) = excesses(clusters, value);
            let squares: f64 = excess.iter().map(|it| it * it).sum();
            let variance =
                wider * squares * clusters.len() as f64 / f64::from(df) / (all * all) as f64;
            (share, variance)
        };
        let (share, variance) = spread(median(clusters)?);
        let of_middle = share * (1.0 - share) / variance;
        // Where none is above the median clusters say nothing of how alike their packets are.
        let independent = match of_middle.is_nan() {
            true => all as f64,
            false => of_middle,
        };
        // Where nearly all are on one side, clusters do not show how many of the rest were not seen: at 95 % up to three in
        // as many as are independent.
        let unseen = 3.0 / independent.clamp(1.0, all as f64);
        let at = |value: &Nanos| {
            let (share, variance) = spread(value.saturating_sub(origin));
            let half = t * variance.sqrt();
            match share.min(1.0 - share) < unseen {
                true => half.max(unseen),
                false => half,
            }
        };
        Some(values.iter().map(at).collect())
    }
}

/// The share at or below a value, and how many more of each cluster are than this share of it.
fn excesses(clusters: &[Cluster], value: Nanos) -> (f64, Vec<f64>) {
    let below: Vec<u64> = clusters.iter().map(|it| it.at_or_below(value)).collect();
    let all: u64 = clusters.iter().map(|cluster| cluster.count()).sum();
    let share = below.iter().sum::<u64>() as f64 / all as f64;
    let pairs = clusters.iter().zip(&below);
    let excess = pairs.map(|(cluster, &below)| below as f64 - share * cluster.count() as f64);
    (share, excess.collect())
}

fn median(clusters: &[Cluster]) -> Option<Nanos> {
    let mut all = Cluster::default();
    clusters.iter().for_each(|cluster| all.merge(cluster));
    all.quantile(0.5)
}

/// Correlation of neighbours whose mean is zero.
fn lag_one(values: &[f64]) -> f64 {
    let squares: f64 = values.iter().map(|it| it * it).sum();
    let products: f64 = values.windows(2).map(|pair| pair[0] * pair[1]).sum();
    if squares > 0.0 {
        products / squares
    } else {
        0.0
    }
}

fn in_pairs(clusters: &[Cluster]) -> Vec<Cluster> {
    let merged = clusters.chunks(2).map(|pair| {
        let mut sum = Cluster::default();
        pair.iter().for_each(|cluster| sum.merge(cluster));
        sum
    });
    merged.collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::random::SplitMix;

    const MEAN: f64 = 1_000_000.0;

    /// A stationary AR(1) around [`MEAN`], each trial with a level of its own; and the share at or below the mean.
    fn pushed(
        random: &mut SplitMix,
        trials: u32,
        packets: u32,
        phi: f64,
        apart: f64,
    ) -> (Cumulative, f64) {
        let mut cumulative = Cumulative::default();
        let mut below = 0;
        for trial in 0..trials {
            let level = MEAN + apart * random.normal();
            let mut deviation = random.normal();
            for _ in 0..packets {
                deviation = phi * deviation + (1.0 - phi * phi).sqrt() * random.normal();
                let value = (level + 20_000.0 * deviation) as Nanos;
                below += u32::from(value <= MEAN as Nanos);
                cumulative.push(trial, value);
            }
        }
        (cumulative, f64::from(below) / f64::from(trials * packets))
    }

    /// How often the band at the true median holds one half.
    fn coverage(trials: u32, packets: u32, phi: f64, apart: f64) -> f64 {
        let mut random = SplitMix::new(7);
        let held = (0..400).filter(|_| {
            let (cumulative, share) = pushed(&mut random, trials, packets, phi, apart);
            let half = cumulative.half_widths(&[MEAN as Nanos]).unwrap()[0];
            (share - 0.5).abs() <= half
        });
        held.count() as f64 / 400.0
    }

    #[test]
    fn the_band_holds_the_true_share_as_often_as_it_says() {
        for (trials, packets, phi, apart) in [
            (1, 2_000, 0.0, 0.0),
            (1, 4_000, 0.9, 0.0),
            (2, 2_000, 0.8, 0.0),
            (5, 300, 0.0, 0.0),
            // Here packets would say next to nothing of what the next trial has.
            (6, 300, 0.5, 20_000.0),
        ] {
            let held = coverage(trials, packets, phi, apart);
            assert!(
                (0.91..=0.99).contains(&held),
                "{trials} {phi} {apart}: {held}"
            );
        }
    }

    #[test]
    fn too_little_has_no_band() {
        let mut random = SplitMix::new(1);
        assert_eq!(Cumulative::default().half_widths(&[5]), None);
        let (few, _) = pushed(&mut random, 1, 60, 0.0, 0.0);
        assert_eq!(few.half_widths(&[5]), None);
        // A delay that drifts has no level to be near.
        let mut drifting = Cumulative::default();
        (0..5_000).for_each(|k| drifting.push(0, k * 1_000));
        assert_eq!(drifting.half_widths(&[2_500_000]), None);
    }

    /// It may have waited for an address, and the others differ by less than a bin of its distance.
    #[test]
    fn a_slow_first_value_makes_no_other_band() {
        let mut random = SplitMix::new(1);
        let (mut usual, mut slow) = (Cumulative::default(), Cumulative::default());
        slow.push(0, 20 * MEAN as Nanos);
        for k in 0..8_000 {
            let value = (MEAN + 10_000.0 * random.normal()) as Nanos;
            usual.push(k / 2_000, value);
            slow.push(k / 2_000, value);
        }
        let values = [-10_000, 0, 10_000].map(|by| MEAN as Nanos + by);
        let [usual, slow] = [usual, slow].map(|it| it.half_widths(&values).unwrap());
        for (usual, slow) in usual.iter().zip(slow) {
            assert!((slow / usual - 1.0).abs() < 0.05, "{usual} {slow}");
        }
    }

    #[test]
    fn memory_is_flat_and_nothing_is_lost() {
        let mut random = SplitMix::new(1);
        let (cumulative, _) = pushed(&mut random, 200, 11, 0.0, 0.0);
        assert!(cumulative.trials.len() <= MOST);
        let counts = cumulative.trials.iter().map(|cluster| cluster.count());
        assert_eq!(counts.sum::<u64>(), 2_200);
        let beyond = cumulative.half_widths(&[Nanos::MAX]).unwrap()[0];
        assert!((3.0 / 2_200.0..0.01).contains(&beyond), "{beyond}");
    }

    /// Of thirty packets none was later: up to a tenth may be.
    #[test]
    fn what_was_not_seen_may_be_there() {
        let mut cumulative = Cumulative::default();
        for trial in 0..3 {
            (0..10).for_each(|packet| cumulative.push(trial, packet));
        }
        let half = cumulative.half_widths(&[9]).unwrap()[0];
        assert!((half - 0.1).abs() < 1e-9, "{half}");
        // Nor where all are equal, and trials do not differ at all.
        let mut equal = Cumulative::default();
        for trial in 0..3 {
            (0..10).for_each(|_| equal.push(trial, 7));
        }
        let half = equal.half_widths(&[7]).unwrap()[0];
        assert!((half - 0.1).abs() < 1e-9, "{half}");
    }
}
