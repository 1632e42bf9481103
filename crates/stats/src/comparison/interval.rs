//! From resamples to an interval.

use super::{RESAMPLES, Replicates, Resampling, degrees};
use crate::functional::Functional;
use crate::interval::CONFIDENCE;
use crate::student;
use std::collections::{BTreeMap, BTreeSet};

/// Fewer blocks than this beyond one a trial give no interval.
const MIN_DEGREES: f64 = 7.0;
/// How much larger than by chance the variance of repeats must be, because that of blocks is an
/// estimate, too.
const UNSURE: f64 = 1.2;
/// With fewer degrees of freedom trials must be significantly apart to count in the place of blocks.
const MIN_TRIAL_DEGREES: f64 = 3.0;
/// So many that Student's law is the normal one.
const MANY: u32 = 1000;
/// Draws that may fail (a deviation of one value) without making the interval void.
pub(super) const MAX_VOID: usize = RESAMPLES / 100;

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
}

impl Bounds {
    /// Do whole trials say how much it varies, so that only more of them would make it shorter?
    pub fn is_of_trials(&self) -> bool {
        self.from_packets == 0.0
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
        // Numbers of the same trials have no blocks of their own each.
        let blocks = self.free_blocks(&number.trials) as f64;
        let of_blocks = blocks.min(number.freedom.blocks);
        if !number.trials.is_empty() && of_blocks < MIN_DEGREES - 1e-6 {
            return Err(
                "the delay changes so slowly that there are too few independent stretches of it; \
                 longer trials or more of them are needed"
                    .to_owned(),
            );
        }
        let degrees = match number.trials.is_empty() {
            true => None,
            false => Some(degrees::whole(blocks.min(number.freedom.variance))),
        };
        let bounds = Bounds {
            degrees: degrees.unwrap_or(MANY),
            from_packets: f64::from(u8::from(!number.is_of_trials)),
            ..of_draws(&mut draws, number, self.factor(number, degrees))
        };
        Ok(self.of_repeats(number, &bounds).unwrap_or(bounds))
    }

    /// As many blocks of these trials as are free to differ from the others of their trial.
    pub(super) fn free_blocks(&self, trials: &BTreeSet<usize>) -> usize {
        let each = trials.iter();
        each.map(|&trial| self.blocks[trial].saturating_sub(1))
            .sum()
    }

    /// What percentiles are stretched by: Student's factor for few blocks, and what blocks of this
    /// length do not show of the variance. Draws of no blocks stay as they are.
    fn factor(&self, number: &Replicates, degrees: Option<u32>) -> f64 {
        let hidden = number.trials.iter().map(|&trial| self.hidden[trial]);
        let hidden = hidden.fold(0.0, f64::max);
        degrees.map_or(1.0, |degrees| {
            student::two_sided(CONFIDENCE, degrees) / 1.96 / (1.0 - hidden).sqrt()
        })
    }

    /// The interval by trials, where they tell of a larger variance than blocks do. To use it only where the variance
    /// is *significantly* larger would leave out what repeats differ by as long as few of them cannot prove it, and
    /// call two of the same different in up to 14 % of cases instead of 5 % (`examples/false_alarms.rs`). Of two or
    /// three trials it is used only then: with Student's factor of 4.3 to 12.7 they would tell nothing else.
    fn of_repeats(&self, number: &Replicates, by_blocks: &Bounds) -> Option<Bounds> {
        let spread = self.between_trials(number)?;
        let half = match (by_blocks.low.is_finite(), by_blocks.high.is_finite()) {
            (true, false) => number.value - by_blocks.low,
            (false, true) => by_blocks.high - number.value,
            _ => (by_blocks.high - by_blocks.low) / 2.0,
        };
        let from_blocks = (half / 1.96).powi(2);
        if !spread.variance.is_finite() || spread.variance <= from_blocks {
            return None;
        }
        let by_chance = from_blocks * chance_ratio(spread.degrees) * UNSURE;
        let is_significant = spread.variance > by_chance;
        if spread.degrees < MIN_TRIAL_DEGREES && !is_significant {
            return None;
        }
        let degrees = spread.effective_degrees;
        let half = student::two_sided(CONFIDENCE, degrees) * spread.variance.sqrt();
        Some(Bounds {
            low: (number.value - half).min(by_blocks.low),
            high: (number.value + half).max(by_blocks.high),
            repeats_differ: is_significant,
            degrees,
            from_packets: by_blocks.from_packets * from_blocks / spread.variance,
        })
    }

    /// The variance that trials show, of those that repeat each other.
    fn between_trials(&self, number: &Replicates) -> Option<Spread> {
        let mut strata = BTreeMap::<usize, [Vec<f64>; 2]>::new();
        let each = number.without.iter().zip(&number.alone);
        for (&trial, (&without, &alone)) in self.left_out.iter().zip(each) {
            if number.trials.contains(&trial) {
                let [here, own] = strata.entry(self.strata[trial]).or_default();
                here.push(without);
                own.push(alone);
            }
        }
        Spread::new(strata.into_values())
    }
}

/// The variance of a number as its trials show it.
struct Spread {
    variance: f64,
    /// Trials beyond the first of each stratum.
    degrees: f64,
    /// Fewer where some strata vary more than others.
    effective_degrees: u32,
}

impl Spread {
    /// Of what the number is without one trial each, and of one trial each: the larger of the two variances, because a
    /// quantile of trials whose values hardly overlap stays at one of them whichever other is left out. `None` where
    /// no trial is repeated.
    fn new(strata: impl Iterator<Item = [Vec<f64>; 2]>) -> Option<Self> {
        let mut parts = Vec::new();
        for [mut without, mut alone] in strata.filter(|[without, _]| without.len() > 1) {
            let free = (without.len() - 1) as f64;
            let jackknife = free * Functional::Sd.value(&mut without)?;
            let own = Functional::Sd.value(&mut alone).filter(|sd| sd.is_finite());
            let variance = jackknife.max(own.unwrap_or(0.0)).powi(2) / (free + 1.0);
            parts.push((variance, free));
        }
        (!parts.is_empty()).then(|| Self {
            variance: parts.iter().map(|(variance, _)| variance).sum(),
            degrees: parts.iter().map(|(_, free)| free).sum(),
            effective_degrees: degrees::whole(degrees::of_sum(parts.into_iter())),
        })
    }
}

/// 95 % quantile of χ²/df (Wilson and Hilferty 1931).
fn chance_ratio(df: f64) -> f64 {
    let part = 2.0 / (9.0 * df);
    (1.0 - part + 1.645 * part.sqrt()).powi(3)
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
    }
}
