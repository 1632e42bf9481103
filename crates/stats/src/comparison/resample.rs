//! Statistics made anew from the blocks drawn, and without one trial each.

use super::part_sums::PartSums;
use super::replicates::Freedom;
use super::squares::SquaresOfBlocks;
use super::{Part, RESAMPLES, Replicates, Resampling, Statistic};
use crate::features::Features;
use crate::functional::Basis;
use crate::interval::MIN_BEYOND;
use std::collections::{BTreeMap, BTreeSet};
use std::f64::consts::LN_2;

impl Resampling {
    /// What resampling makes of a statistic. `salt` tells one statistic of a comparison from
    /// another. `None` where it has no value, or only whole trials say how much it varies.
    pub fn replicates(&self, statistic: &Statistic<'_>, salt: u64) -> Option<Replicates> {
        let value = statistic.value?;
        match statistic.functional.basis() {
            Basis::Count => Some(self.constant(value)),
            Basis::Smallest => Some(self.floor(statistic, value, salt)),
            Basis::Largest => Some(self.ceiling(statistic, value, salt)),
            Basis::Mean | Basis::Deviations | Basis::Quantiles(_) | Basis::Share { .. } => {
                self.of_blocks(statistic, value, salt)
            }
            Basis::Trials => None,
        }
    }

    /// The same of a quantile of which one end alone is known ([`Statistic::is_open`]): draws on the other side are
    /// infinite.
    pub fn replicates_on_one_side(
        &self,
        statistic: &Statistic<'_>,
        salt: u64,
    ) -> Option<Replicates> {
        let mut found = self.replicates(statistic, salt)?;
        let (value, end) = (found.value, statistic.open_end());
        for (index, draw) in found.resampled.iter_mut().enumerate() {
            let is_beyond = (*draw - value) * end.signum() > 0.0;
            // Where it is one of the outermost values, hardly a draw is further out.
            if is_beyond || (*draw == value && index % 2 == 0) || index % 20 == 0 {
                *draw = end;
            }
        }
        found.as_drawn = true;
        Some(found)
    }

    fn of_blocks(&self, statistic: &Statistic<'_>, value: f64, salt: u64) -> Option<Replicates> {
        let features = statistic.features.as_ref()?;
        let sums = self.block_sums(statistic, features);
        let mut resampled = self.resampled(features, &sums);
        let is_share = matches!(statistic.functional.basis(), Basis::Share { .. });
        let trials = statistic.trials();
        if is_share {
            self.add_the_unseen(value, statistic.effective, salt, &mut resampled);
        }
        let squares = match statistic.functional.basis() {
            Basis::Deviations => SquaresOfBlocks::new(&sums, value),
            _ => None,
        };
        if let Some(squares) = &squares {
            squares.stretch_up(value, &mut resampled);
        }
        let each = self.left_out.iter();
        let without: Vec<f64> = each
            .map(|&out| self.without(features, &sums, out))
            .collect();
        let limit = match squares {
            Some(squares) => squares.degrees(),
            None => statistic
                .beyond()
                .map_or(f64::INFINITY, |beyond| beyond.degrees),
        };
        Some(Replicates {
            value,
            resampled,
            alone: self.alone(statistic, value, &without),
            without,
            freedom: Freedom::new(self.free_blocks(&trials), limit),
            trials,
            as_drawn: is_share,
            is_counted: is_share && is_of_events(statistic),
            is_of_trials: false,
            by_packets: false,
        })
    }

    /// Sums of each block of each part, block after block.
    fn block_sums(&self, statistic: &Statistic<'_>, features: &Features) -> Vec<PartSums> {
        let of_part = |part: &Part<'_>| {
            let blocks = self.blocks[part.trial];
            let count = part.values.len();
            let mut sums = PartSums::new(part.trial);
            let mut block = 0;
            let mut open = vec![0.0; features.width()];
            for (index, &value) in part.values.iter().enumerate().filter(|(_, x)| !x.is_nan()) {
                let own = index * blocks / count;
                if own != block {
                    sums.close(block, &mut open);
                    block = own;
                }
                features.add(value, &mut open);
            }
            sums.close(block, &mut open);
            sums
        };
        statistic.parts.iter().map(of_part).collect()
    }

    /// The statistic in each draw.
    fn resampled(&self, features: &Features, sums: &[PartSums]) -> Vec<f64> {
        let mut totals = vec![0.0; features.width() * RESAMPLES];
        for (block, feature, sum) in self.sums_of_repeats(features.width(), sums) {
            let weights = self.weights_of(block);
            let of_feature = feature * RESAMPLES..(feature + 1) * RESAMPLES;
            for (total, &weight) in totals[of_feature].iter_mut().zip(weights) {
                *total += f64::from(weight) * sum;
            }
        }
        let of_draw = |draw: usize| -> Vec<f64> {
            totals
                .iter()
                .skip(draw)
                .step_by(RESAMPLES)
                .copied()
                .collect()
        };
        (0..RESAMPLES)
            .map(|draw| features.finish(&of_draw(draw)))
            .collect()
    }

    /// Block of all, feature, sum. All that is drawn together is one sum, however many trials or streams of a repeat it is of: that each
    /// sum is weighted in every draw is most of the work.
    fn sums_of_repeats(&self, width: usize, parts: &[PartSums]) -> Vec<(usize, usize, f64)> {
        const NONE: u32 = u32::MAX;
        let blocks = self.weights.len() / RESAMPLES;
        let mut places = vec![NONE; blocks * width];
        let mut found = Vec::new();
        for part in parts {
            let start = self.starts[self.design.repeat(part.trial)];
            for &(block, feature, sum) in &part.sums {
                let (block, feature) = (start + block as usize, feature as usize);
                let place = &mut places[block * width + feature];
                if *place == NONE {
                    *place = found.len() as u32;
                    found.push((block, feature, sum));
                } else {
                    found[*place as usize].2 += sum;
                }
            }
        }
        found
    }

    /// Without one repeat; the other trials of its strata stand for those that it has of them.
    fn without(&self, features: &Features, sums: &[PartSums], out: usize) -> f64 {
        let mut totals = vec![0.0; features.width()];
        for part in sums {
            let weight = self.weight_without(part.trial, out);
            for &(_, feature, sum) in &part.sums {
                totals[feature as usize] += weight * sum;
            }
        }
        features.finish(&totals)
    }

    /// What a trial counts for without a repeat. Of a stratum that has no other trials nothing can be left out.
    fn weight_without(&self, trial: usize, out: usize) -> f64 {
        match self
            .with_values
            .left_without(self.design.stratum(trial), out)
        {
            None | Some((_, 0)) => 1.0,
            Some(_) if self.design.repeat(trial) == out => 0.0,
            Some((all, left)) => f64::from(all as f32 / left as f32),
        }
    }

    /// With one repeat for all others. Where repeats are not of the same strata, what leaving it out says of it.
    fn alone(&self, statistic: &Statistic<'_>, value: f64, without: &[f64]) -> Vec<f64> {
        let trials = statistic.trials();
        let is_even = self.has_all_strata_in_each_repeat(&trials);
        let each = self.left_out.iter().zip(without);
        each.map(|(&repeat, without)| {
            let own = |trial: &usize| self.design.repeat(*trial) == repeat;
            let own: BTreeSet<usize> = trials.iter().copied().filter(own).collect();
            if own.is_empty() {
                return value;
            }
            let alone = is_even.then(|| statistic.of_trials(&own));
            alone.flatten().map(|(alone, _)| alone).unwrap_or_else(|| {
                let strata = own.iter().map(|&trial| self.design.stratum(trial));
                let left =
                    strata.filter_map(|stratum| self.with_values.left_without(stratum, repeat));
                let repeats = left.map(|(all, left)| all as f64 / (all - left) as f64);
                let repeats = repeats.fold(1.0, f64::max);
                repeats * value - (repeats - 1.0) * without
            })
        })
        .collect()
    }

    /// Are these trials as many of each stratum in each of their repeats?
    fn has_all_strata_in_each_repeat(&self, trials: &BTreeSet<usize>) -> bool {
        let mut of_repeats = BTreeMap::<usize, Vec<usize>>::new();
        for &trial in trials {
            let strata = of_repeats.entry(self.design.repeat(trial)).or_default();
            strata.push(self.design.stratum(trial));
        }
        let mut strata = of_repeats.into_values().map(|mut strata| {
            strata.sort_unstable();
            strata
        });
        let first = strata.next();
        strata.all(|others| first.as_ref() == Some(&others))
    }

    /// A share of which hardly any value is an example may be as large as those not seen: with
    /// none in n, 3/n at 95 %. `effective`: so many independent values it is of.
    pub(super) fn add_the_unseen(&self, share: f64, effective: f64, salt: u64, draws: &mut [f64]) {
        let mut random = self.random(salt);
        let effective = effective.max(1.0);
        let rare = |share: f64| f64::from(u8::from(effective * share < MIN_BEYOND)) / effective;
        let unseen = rare(share) - rare(1.0 - share);
        for draw in draws {
            // Exponential, less its median.
            let moved = *draw + unseen * (-random.uniform().ln() - LN_2);
            *draw = moved.clamp(0.0, 1.0);
        }
    }
}

/// Is each of its values whether something happened, as a loss does? Shares of packets beyond a delay differ from trial to trial as its
/// level does.
fn is_of_events(statistic: &Statistic<'_>) -> bool {
    let values = statistic.parts.iter().flat_map(|part| part.values.iter());
    let mut known = values.filter(|value| !value.is_nan());
    known.all(|value| [0.0, 1.0].contains(value))
}
