//! Trials whose levels differ by factors: 90, 250 and 310 ms against 8.3, 8.4 and 8.6 ms.
//!
//! A queue of a second in one trial and of a tenth of a second in the next gives the difference of two sides an interval that
//! reaches zero, although each trial of one side lies far from each of the other. The logarithms of such levels spread more alike,
//! and sides are told apart by these, where two tests agree: Student's t of both sides' spread together, which finds two sides of one
//! law apart as seldom as is asked for, and the 95 % intervals of each side alone, which do not overlap. The latter keep a side that
//! hardly spreads from vouching for one that does.

use crate::comparison::{Bounds, ByTrial, Statistic};
use crate::functional::{Basis, Functional};
use crate::interval::CONFIDENCE;
use crate::student;

/// Of B − A, absolute and relative to A, or why there is none.
pub(super) type Intervals = (Result<Bounds, String>, Result<Bounds, String>);

/// The logarithms of the levels of one side's trials.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Level {
    mean: f64,
    sd: f64,
    count: f64,
    degrees: u32,
}

impl Level {
    /// `None` where a trial has a level of zero or less.
    fn new(by_trial: &ByTrial) -> Option<Self> {
        let mut levels: Vec<f64> = by_trial.values().map(f64::ln).collect();
        let count = levels.len() as f64;
        let mean = levels.iter().sum::<f64>() / count;
        let sd = Functional::Sd.value(&mut levels)?;
        let is_known = mean.is_finite() && sd.is_finite();
        is_known.then_some(Self {
            mean,
            sd,
            count,
            degrees: by_trial.repeats as u32,
        })
    }

    /// The sum of squares about the mean.
    fn squares(&self) -> f64 {
        self.sd * self.sd * f64::from(self.degrees)
    }

    /// The 95 % interval of the level, about this value as well: that of all values is not always in the middle of those of trials.
    fn ends(&self, value: f64) -> [f64; 2] {
        let reach = student::two_sided(CONFIDENCE, self.degrees) * self.sd / self.count.sqrt();
        let (low, high) = (self.mean.min(value.ln()), self.mean.max(value.ln()));
        [low - reach, high + reach].map(f64::exp)
    }
}

/// The levels of both sides' trials. The side whose trials are longer by their logarithms is the one whose values are longer in all.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Levels {
    sides: [Level; 2],
    /// Of A and of B, of all values.
    values: [f64; 2],
}

impl Levels {
    /// Of a mean or a quantile, where enough trials of each side tell it; `None` of anything else.
    pub(super) fn new(
        [a, b]: &[Statistic<'_>; 2],
        by_trial: &[Option<ByTrial>; 2],
    ) -> Option<Self> {
        let is_level = match a.statistic().basis() {
            Basis::Mean => true,
            Basis::Quantiles(quantiles) => quantiles.len() == 1,
            _ => false,
        };
        let [of_a, of_b] = by_trial.each_ref().map(Option::as_ref);
        let found = Self {
            sides: [Level::new(of_a?)?, Level::new(of_b?)?],
            values: [a.value?, b.value?],
        };
        (is_level && found.agree_with_values()).then_some(found)
    }

    /// Is the side whose trials are longer by their logarithms the one whose values are longer in all?
    fn agree_with_values(&self) -> bool {
        let ([of_a, of_b], [a, b]) = (self.sides, self.values);
        (of_b.mean - of_a.mean) * (b - a) > 0.0
    }

    /// Is one side's level surely longer than the other's, at this confidence?
    pub fn are_apart(&self, confidence: f64) -> bool {
        let [[a_low, a_high], [b_low, b_high]] = self.ends();
        let have_gap = a_high < b_low || b_high < a_low;
        let [of_a, of_b] = self.sides;
        let degrees = of_a.degrees + of_b.degrees;
        let variance = (of_a.squares() + of_b.squares()) / f64::from(degrees);
        let error = (variance * (1.0 / of_a.count + 1.0 / of_b.count)).sqrt();
        let reach = student::two_sided(confidence, degrees) * error;
        have_gap && (of_b.mean - of_a.mean).abs() > reach
    }

    /// The 95 % interval of each side's level.
    fn ends(&self) -> [[f64; 2]; 2] {
        [0, 1].map(|side| self.sides[side].ends(self.values[side]))
    }

    /// Of B − A, absolute and relative to A: wider than at 95 %, as both sides may be at their far ends.
    pub(super) fn intervals(&self) -> Intervals {
        let ([of_a, of_b], [a, b]) = (self.sides, self.values);
        let [[a_low, a_high], [b_low, b_high]] = self.ends();
        let degrees = of_a.degrees.min(of_b.degrees);
        // The ends of a level hold its value up to rounding.
        let bounds = |low: f64, value: f64, high: f64| Bounds {
            low: low.min(value),
            high: high.max(value),
            repeats_differ: true,
            degrees,
            from_packets: 0.0,
            packets: None,
        };
        let relative = bounds(b_low / a_high - 1.0, b / a - 1.0, b_high / a_low - 1.0);
        (
            Ok(bounds(b_low - a_high, b - a, b_high - a_low)),
            Ok(relative),
        )
    }
}
