//! From resamples to an interval.

use super::replicates::MAX_VOID;
use super::{RESAMPLES, Replicates, Resampling, degrees};
use crate::functional::Functional;
use crate::interval::{CONFIDENCE, Z};
use crate::student;
use std::collections::{BTreeMap, BTreeSet};

/// Fewer blocks than this beyond one a trial give no interval.
const MIN_DEGREES: f64 = 7.0;
/// How much larger than by chance the variance of repeats must be, because that of blocks is an
/// estimate, too.
const UNSURE: f64 = 1.2;
/// With fewer degrees of freedom trials must be significantly apart to count in the place of blocks.
const MIN_TRIAL_DEGREES: f64 = 3.0;
/// Quantile of the normal law at 95 %.
const AT_95: f64 = 1.645;
/// So many that Student's law is the normal one.
const MANY: u32 = 1000;

/// The interval of a number at 95 %. An end that nothing bounds is infinite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Trials, not packets, were the independent values, because repeats differ.
    pub repeats_differ: bool,
    /// Degrees of freedom of its width.
    pub degrees: u32,
    /// The share of its variance that more packets in each trial would make less; the rest only more trials would.
    pub from_packets: f64,
    /// It is no interval of a confidence, but that of so large a share of the packets of a side: one that has no steady level has no
    /// other.
    pub packets: Option<f64>,
}

impl Bounds {
    /// Do whole trials say how much it varies, so that only more of them would make it shorter?
    pub fn is_of_trials(&self) -> bool {
        self.from_packets == 0.0
    }

    /// The variance of a number at this value that has this interval; of the end that is known, where it is one.
    fn variance(&self, value: f64) -> f64 {
        let half = match (self.low.is_finite(), self.high.is_finite()) {
            (true, false) => value - self.low,
            (false, true) => self.high - value,
            _ => (self.high - self.low) / 2.0,
        };
        (half / Z).powi(2)
    }

    /// As far as the further of both on each side.
    fn and(self, other: &Self) -> Self {
        Self {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
            ..self
        }
    }

    /// By how much longer each side would be at this confidence.
    pub fn stretch(&self, confidence: f64) -> f64 {
        student::two_sided(confidence, self.degrees) / student::two_sided(CONFIDENCE, self.degrees)
    }
}

impl Resampling {
    /// The interval of a number at 95 %, or why there is none.
    pub fn interval(&self, number: &Replicates) -> Result<Bounds, String> {
        if !number.value.is_finite() {
            return Err("it is divided by 0, so it has no value".to_owned());
        }
        let mut draws: Vec<f64> = number.resampled.clone();
        draws.retain(|draw| !draw.is_nan());
        if draws.len() + MAX_VOID < RESAMPLES {
            return Err("too few packets or repeats bound it on either side".to_owned());
        }
        let by_blocks = self.by_blocks(number, &mut draws);
        let Some(spread) = self.between_repeats(number) else {
            return by_blocks;
        };
        if self.repeats_alone_tell(number, &spread) {
            return Ok(spread.bounds(number, by_blocks.as_ref().ok()));
        }
        let by_blocks = by_blocks?;
        Ok(self
            .by_repeats(number, &spread, &by_blocks)
            .unwrap_or(by_blocks))
    }

    /// The interval by the blocks that were drawn.
    fn by_blocks(&self, number: &Replicates, draws: &mut [f64]) -> Result<Bounds, String> {
        // Numbers of the same trials have no blocks of their own each.
        let blocks = self.free_blocks(&number.trials) as f64;
        let of_blocks = blocks.min(number.freedom.blocks);
        if !number.trials.is_empty() && of_blocks < MIN_DEGREES - 1e-6 {
            return Err(match self.design.shares_repeats(&number.trials) {
                true => {
                    "trials with the same random numbers say as much as one of them, which has too few independent stretches; \
                     longer trials or more repeats are needed"
                }
                false => {
                    "the delay changes so slowly that there are too few independent stretches of it; \
                     longer trials or more of them are needed"
                }
            }
            .to_owned());
        }
        let degrees = match number.trials.is_empty() {
            true => None,
            false => Some(degrees::whole(blocks.min(number.freedom.variance))),
        };
        Ok(Bounds {
            degrees: degrees.unwrap_or(MANY),
            from_packets: f64::from(u8::from(!number.is_of_trials)),
            ..of_draws(draws, number, self.factor(number, degrees))
        })
    }

    /// As many blocks of these trials as are free to differ from the others of their repeat.
    pub(super) fn free_blocks(&self, trials: &BTreeSet<usize>) -> usize {
        let each = trials.iter();
        let each = each.map(|&trial| (self.design.repeat(trial), self.blocks[trial]));
        let of_repeats: BTreeMap<usize, usize> = each.filter(|(_, blocks)| *blocks > 0).collect();
        let free = of_repeats.values().map(|blocks| blocks.saturating_sub(1));
        free.sum()
    }

    /// What percentiles are stretched by: Student's factor for few blocks, and what blocks of this
    /// length do not show of the variance. Draws of no blocks stay as they are.
    fn factor(&self, number: &Replicates, degrees: Option<u32>) -> f64 {
        let hidden = number.trials.iter().map(|&trial| self.hidden[trial]);
        let hidden = hidden.fold(0.0, f64::max);
        degrees.map_or(1.0, |degrees| {
            student::two_sided(CONFIDENCE, degrees) / Z / (1.0 - hidden).sqrt()
        })
    }

    /// Are several of its trials of one repeat, and are there enough repeats? Then what these differ by is all that is chance:
    /// blocks hold what trials have in common for chance as far as it is not of the same moments. Draws that hold more than
    /// blocks do, as that of which there was no example may yet come, still count.
    fn repeats_alone_tell(&self, number: &Replicates, spread: &Spread) -> bool {
        let is_repeated = |&trial: &usize| {
            let (stratum, repeat) = (self.design.stratum(trial), self.design.repeat(trial));
            let left = self.with_values.left_without(stratum, repeat);
            left.is_some_and(|(_, left)| left > 0)
        };
        let is_of_blocks = !number.as_drawn && !number.is_of_trials;
        is_of_blocks
            // Values of few steps may be equal in every repeat, and still vary.
            && spread.variance > 0.0
            && spread.variance.is_finite()
            && spread.degrees >= MIN_TRIAL_DEGREES
            && self.design.shares_repeats(&number.trials)
            && number.trials.iter().all(is_repeated)
    }

    /// The interval by repeats, where they tell of a larger variance than blocks do. To use it only where the variance
    /// is *significantly* larger would leave out what repeats differ by as long as few of them cannot prove it, and
    /// call two of the same different in up to 14 % of cases instead of 5 % (`examples/false_alarms.rs`). Of two or
    /// three repeats it is used only then: with Student's factor of 4.3 to 12.7 they would tell nothing else.
    fn by_repeats(
        &self,
        number: &Replicates,
        spread: &Spread,
        by_blocks: &Bounds,
    ) -> Option<Bounds> {
        if !spread.variance.is_finite() || number.by_packets {
            return None;
        }
        if number.is_counted {
            return spread.of_counts(number, by_blocks);
        }
        let found = spread.bounds(number, Some(by_blocks));
        let is_larger = spread.variance > by_blocks.variance(number.value);
        let is_sure = found.repeats_differ || spread.degrees >= MIN_TRIAL_DEGREES;
        (is_larger && is_sure).then(|| found.and(by_blocks))
    }

    /// The variance that repeats show, of those of the same trials.
    fn between_repeats(&self, number: &Replicates) -> Option<Spread> {
        let own = number.trials.iter();
        let own = own.map(|&trial| (self.design.repeat(trial), self.design.part(trial)));
        let own: BTreeMap<usize, usize> = own.collect();
        let mut parts = BTreeMap::<usize, [Vec<f64>; 2]>::new();
        let each = number.without.iter().zip(&number.alone);
        for (repeat, (&without, &alone)) in self.left_out.iter().zip(each) {
            if let Some(part) = own.get(repeat) {
                let [here, own] = parts.entry(*part).or_default();
                here.push(without);
                own.push(alone);
            }
        }
        Spread::new(parts.into_values())
    }
}

/// The variance of a number as its repeats show it.
struct Spread {
    variance: f64,
    /// Repeats beyond the first of each part of the design.
    degrees: f64,
    /// Fewer where some parts vary more than others.
    effective_degrees: u32,
}

impl Spread {
    /// Of what the number is without one repeat each, and of one repeat each: the larger of the two variances, because a
    /// quantile of trials whose values hardly overlap stays at one of them whichever other is left out. `None` where
    /// nothing is repeated.
    fn new(strata: impl Iterator<Item = [Vec<f64>; 2]>) -> Option<Self> {
        let mut parts = Vec::new();
        for [mut without, mut alone] in strata.filter(|[without, _]| without.len() > 1) {
            let free = (without.len() - 1) as f64;
            let jackknife = free * Functional::Sd.value(&mut without)?;
            let own = Functional::Sd.value(&mut alone).filter(|sd| sd.is_finite());
            let variance = jackknife.max(own.unwrap_or(0.0)).powi(2) / (free + 1.0);
            parts.push((variance, free));
        }
        let degrees: f64 = parts.iter().map(|(_, free)| free).sum();
        (!parts.is_empty()).then(|| Self {
            variance: parts.iter().map(|(variance, _)| variance).sum(),
            degrees,
            effective_degrees: degrees::whole(degrees::of_sum(parts.into_iter()).min(degrees)),
        })
    }

    /// The interval of a share of events, such as losses, where it is wider than that of blocks. Counts of independent events vary
    /// by a known amount, and those of trials by more where trials differ: whichever interval is the wider one then errs in no more
    /// than 5 %, however much they differ (`examples/false_alarms.rs`). Both sides of one law vary alike, so that the degrees of
    /// all count, even if one side had hardly an event. Of fewer than [`MIN_TRIAL_DEGREES`] what blocks say stands for those that
    /// are missing: with 4.3 to 12.7 times the error nothing else would be told.
    fn of_counts(&self, number: &Replicates, by_blocks: &Bounds) -> Option<Bounds> {
        let missing = (MIN_TRIAL_DEGREES - self.degrees).max(0.0);
        let degrees = self.degrees + missing;
        let from_blocks = by_blocks.variance(number.value);
        let variance = (self.degrees * self.variance + missing * from_blocks) / degrees;
        let pooled = Self {
            variance,
            degrees,
            effective_degrees: degrees::whole(degrees),
        };
        let found = Bounds {
            repeats_differ: self.repeats_differ(from_blocks),
            ..pooled.bounds(number, Some(by_blocks))
        };
        let is_wider = found.low < by_blocks.low || found.high > by_blocks.high;
        is_wider.then(|| found.and(by_blocks))
    }

    /// Is it significantly larger than this variance of blocks?
    fn repeats_differ(&self, from_blocks: f64) -> bool {
        self.variance > from_blocks * chance_ratio(self.degrees, AT_95) * UNSURE
    }

    /// The interval of a number that varies by this, and how that compares with what blocks say.
    fn bounds(&self, number: &Replicates, by_blocks: Option<&Bounds>) -> Bounds {
        let degrees = self.effective_degrees;
        let half = student::two_sided(CONFIDENCE, degrees) * self.variance.sqrt();
        let from_blocks = by_blocks.map(|bounds| bounds.variance(number.value));
        let of_packets =
            by_blocks
                .zip(from_blocks)
                .map(|(bounds, from)| match from < self.variance {
                    true => bounds.from_packets * from / self.variance,
                    false => bounds.from_packets,
                });
        Bounds {
            low: number.value - half,
            high: number.value + half,
            repeats_differ: from_blocks.is_some_and(|from| self.repeats_differ(from)),
            degrees,
            from_packets: of_packets.unwrap_or(0.0),
            packets: None,
        }
    }
}

/// Quantile of χ²/df (Wilson and Hilferty 1931), at this one of the normal law.
fn chance_ratio(df: f64, z: f64) -> f64 {
    let part = 2.0 / (9.0 * df);
    (1.0 - part + z * part.sqrt()).powi(3)
}

/// Percentiles of the draws, and the same moved so that the median draw is the value: a statistic
/// that resampling pulls to one side (R²) is bounded by the wider of the two.
fn of_draws(draws: &mut [f64], number: &Replicates, factor: f64) -> Bounds {
    draws.sort_unstable_by(f64::total_cmp);
    let value = number.value;
    let tail = ((1.0 - CONFIDENCE) / 2.0 * draws.len() as f64) as usize;
    let (first, last) = (draws[tail], draws[draws.len() - 1 - tail]);
    let median = if number.as_drawn {
        value
    } else {
        draws[draws.len() / 2]
    };
    let down = (first - median).min(first - value).min(0.0);
    let up = (last - median).max(last - value).max(0.0);
    Bounds {
        low: value + factor * down,
        high: value + factor * up,
        repeats_differ: false,
        degrees: MANY,
        from_packets: 1.0,
        packets: None,
    }
}
