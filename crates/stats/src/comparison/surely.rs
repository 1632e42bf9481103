//! Between which ends a statistic surely is, where packets resemble each other too much for an interval.
//!
//! A queue that fills and drains in seconds gives no interval in a trial of some seconds: too few stretches are independent. Yet
//! delays that went up and down several times do not stay below the least or above the largest of them for half of the time. So
//! passages are counted, from one quantile of the values to another or back: each ends a stretch that hardly resembles the last
//! one. With [`FEW`] of them the ends are as far again from the values seen as these are apart; with [`MANY`], a quantile in the
//! middle is among the values seen. Of a far quantile the ends are always as far again, and [`BEYOND`] passages have to lead there.
//!
//! What differs from trial to trial no passage shows. So each trial has to come to both quantiles of all values, which trials of
//! different levels do not, and the caller has to have more than one trial.
//!
//! By simulation, two sides of the same law are surely apart in at most 1 of 100 pairs: independent values, AR(1) with φ from 0.95
//! to 0.999, tails without a variance, and trials with levels of their own, two each.

use super::{Design, Part, Statistic};
use crate::functional::{Basis, Functional};
use crate::interval::MIN_EFFECTIVE;
use std::collections::BTreeMap;

/// Passages that say something at all.
const FEW: usize = 3;
/// Passages after which the ends are the values seen.
const MANY: usize = 6;
/// Passages to a far quantile and back that say something of it: four times it was beyond.
const BEYOND: usize = 8;
/// A quantile further out is a far one.
const FAR: f64 = 0.25;

impl Statistic<'_> {
    /// The ends of a mean or a quantile, of trials of this design; `None` where its values say too little, and for other
    /// statistics.
    pub fn surely_within(&self, design: &Design) -> Option<(f64, f64)> {
        if self.count_of_repeats() < MIN_EFFECTIVE {
            return None;
        }
        let quantile = match self.functional.basis() {
            Basis::Mean => 0.5,
            Basis::Quantiles(quantiles) => match quantiles[..] {
                [only] => only,
                _ => return None,
            },
            _ => return None,
        };
        let is_far = !(FAR..=1.0 - FAR).contains(&quantile);
        let marks = match quantile {
            q if q < FAR => [q, 0.5],
            q if q > 1.0 - FAR => [0.5, q],
            _ => [FAR, 1.0 - FAR],
        };
        let values = self.parts.iter().flat_map(|part| part.values);
        let mut values: Vec<f64> = values.copied().filter(|x| !x.is_nan()).collect();
        let [low, high] = marks.map(|q| Functional::Quantile(q).value(&mut values));
        let passages = self.passages([low?, high?], design)?;
        let least = Functional::Min.value(&mut values)?;
        let most = Functional::Max.value(&mut values)?;
        let further = match (passages, is_far) {
            (MANY.., false) => 0.0,
            (FEW.., false) | (BEYOND.., true) => most - least,
            _ => return None,
        };
        Some((least - further, most + further))
    }

    /// How often values come from at or below the one mark to at or above the other, or back, in all repeats; `None` where a
    /// stream comes to one of them alone. What chance did to a repeat it did to all of its streams: they count once.
    fn passages(&self, [low, high]: [f64; 2], design: &Design) -> Option<usize> {
        let mut of_repeats = BTreeMap::<usize, usize>::new();
        for part in self.parts.iter().filter(|part| part.has_values()) {
            let found = passages_of(part, low, high);
            if found == 0 {
                return None;
            }
            let most = of_repeats.entry(design.repeat(part.trial)).or_default();
            *most = found.max(*most);
        }
        Some(of_repeats.into_values().sum())
    }
}

fn passages_of(part: &Part<'_>, low: f64, high: f64) -> usize {
    let mut side = None;
    let mut passages = 0;
    for &value in part.values {
        let next = match value {
            x if x <= low => Some(false),
            x if x >= high => Some(true),
            _ => continue,
        };
        passages += usize::from(side.is_some() && side != next);
        side = next;
    }
    passages
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::random::SplitMix;
    use crate::testing::ar1;

    fn surely(functional: Functional, trials: &[Vec<f64>]) -> Option<(f64, f64)> {
        let parts = trials.iter().enumerate();
        let parts = parts.map(|(trial, values)| Part { trial, values });
        let statistic = Statistic::new(functional, parts.collect());
        statistic.surely_within(&Design::from(vec![0; trials.len()]))
    }

    /// A saw: rises from `from` by `by` in `period` packets, and falls at once.
    fn saw(count: usize, period: usize, from: f64, by: f64) -> Vec<f64> {
        let tooth = |at: usize| from + by * (at % period) as f64 / (period - 1) as f64;
        (0..count).map(tooth).collect()
    }

    #[test]
    fn passages_tell_where_a_quantile_is() {
        let median = Functional::Quantile(0.5);
        let p99 = Functional::Quantile(0.99);
        assert_eq!(
            surely(median, &[saw(400, 100, 30.0, 10.0)]),
            Some((30.0, 40.0))
        );
        assert_eq!(
            surely(p99, &[saw(500, 100, 30.0, 10.0)]),
            Some((20.0, 50.0))
        );
        assert_eq!(
            surely(median, &[saw(250, 100, 30.0, 10.0)]),
            Some((20.0, 50.0))
        );
        assert_eq!(surely(p99, &[saw(400, 100, 30.0, 10.0)]), None);
        assert_eq!(surely(median, &[saw(100, 100, 30.0, 10.0)]), None);
        // A trial that stays on one side of the quartiles of all.
        let apart = [saw(400, 100, 30.0, 10.0), saw(400, 100, 50.0, 10.0)];
        assert_eq!(surely(median, &apart), None);
        assert_eq!(surely(Functional::Sd, &[saw(400, 100, 30.0, 10.0)]), None);
        assert_eq!(surely(median, &[saw(20, 2, 30.0, 10.0)]), None);
    }

    /// Trials with the same random numbers say as much as one of them.
    #[test]
    fn passages_of_one_repeat_count_once() {
        let values = saw(250, 100, 30.0, 10.0);
        let part = |trial| Part {
            trial,
            values: &values,
        };
        let parts = || vec![part(0), part(1), part(1)];
        let statistic = Statistic::new(Functional::Mean, parts());
        let same = Design::new(vec![0, 1], &[Some(7), Some(7)]);
        assert_eq!(statistic.surely_within(&same), Some((20.0, 50.0)));
        let own = Design::new(vec![0, 1], &[Some(7), Some(8)]);
        assert_eq!(statistic.surely_within(&own), Some((30.0, 40.0)));
    }

    #[test]
    fn what_is_equal_is_never_surely_apart() {
        type Law = fn(u64) -> Vec<f64>;
        let laws: [(&str, Law); 7] = [
            ("independent", |seed| ar1(0.0, 200, seed)),
            ("0.95", |seed| ar1(0.95, 400, seed)),
            ("0.99", |seed| ar1(0.99, 400, seed)),
            ("0.999", |seed| ar1(0.999, 400, seed)),
            ("heavy tails", |seed| {
                let mut random = SplitMix::new(seed);
                (0..300)
                    .map(|_| random.uniform().powf(-1.0 / 1.2))
                    .collect()
            }),
            ("heavy tails with a memory", |seed| {
                ar1(0.95, 400, seed)
                    .into_iter()
                    .map(|x| (2.0 * x).exp())
                    .collect()
            }),
            ("levels", |seed| {
                let level = 5.0 * SplitMix::new(seed).normal();
                ar1(0.95, 400, seed)
                    .into_iter()
                    .map(|x| level + x)
                    .collect()
            }),
        ];
        let [median, p99] = [0.5, 0.99].map(Functional::Quantile);
        for (name, law) in laws {
            for (one, other) in [
                (median, median),
                (p99, p99),
                (p99, median),
                (Functional::Mean, Functional::Mean),
            ] {
                let are_apart = |seed: u64| {
                    let trials: Vec<_> = (0..4).map(|trial| law(4 * seed + trial)).collect();
                    let a = surely(one, &trials[..2]);
                    let ends = a.zip(surely(other, &trials[2..]));
                    ends.is_some_and(|(a, b)| a.1 < b.0 || b.1 < a.0)
                };
                let apart = (0..200).filter(|&seed| are_apart(seed)).count();
                assert!(apart <= 2, "{name} {one:?} {other:?}: {apart}");
            }
        }
    }
}
