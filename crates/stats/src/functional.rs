//! What is said of a distribution by one number: mean, quantile, share beyond a bound.
//!
//! Everything that holds for one of these statistics stands here: its name ([`Functional::PLAIN`]), its definition (`of`),
//! what kind of number it is (`nature`) and what its interval is computed from ([`Functional::basis`]). All else asks for
//! these facts, so that a new statistic is a line in each of them.
//!
//! A packet without a value is NaN, so that all measures of a packet have the same index.

pub use crate::beyond::Beyond;
use crate::distribution::{Bins, Distribution, Held, Values};

/// A number that a distribution has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Functional {
    /// How many values.
    Count,
    /// Smallest.
    Min,
    /// Largest.
    Max,
    /// Arithmetic mean.
    Mean,
    /// Standard deviation, ddof 1.
    Sd,
    /// The smallest value with at least this share of values at or below it.
    Quantile(f64),
    /// p75 − p25.
    Iqr,
    /// Share of values on one side of a bound, 0 to 1.
    Share {
        /// Which side.
        beyond: Beyond,
        /// The bound.
        bound: f64,
    },
}

/// What kind of number a statistic is: its unit, its range and how two of it compare follow.
enum Nature {
    /// A number of values.
    Count,
    /// A share, 0 to 1.
    Share,
    /// One of the values, or between two of them.
    Location,
    /// How far values are apart, in their unit.
    Scale,
}

/// What the interval of a statistic is computed from. The ways to compute one ask for this, and not which statistic it is.
#[derive(Debug, Clone, PartialEq)]
pub enum Basis {
    /// The number of values, which is exact.
    Count,
    /// The smallest value.
    Smallest,
    /// The largest value.
    Largest,
    /// The mean of the values.
    Mean,
    /// The squares of the values' deviations from their mean.
    Deviations,
    /// These quantiles, in rising order.
    Quantiles(Vec<f64>),
    /// The share of values on one side of a bound.
    Share {
        /// Which side.
        beyond: Beyond,
        /// The bound.
        bound: f64,
    },
    /// Anything else: only how far whole trials are apart says how much it varies.
    Trials,
}

/// Names of quantiles are exact to a part of these.
const PARTS: f64 = 1e6;

/// `p1` to `p99` in percent; from three digits on, all nines but perhaps the last: `p999`, `p995`.
fn quantile_named(name: &str) -> Option<f64> {
    let digits = name.strip_prefix('p')?;
    let all_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
    let leads = digits.len() <= 2 || digits.starts_with("99");
    let whole = all_digits && leads && (1..=6).contains(&digits.len());
    if !whole || digits.starts_with('0') || (digits.len() > 2 && digits.ends_with('0')) {
        return None;
    }
    let number: u32 = digits.parse().ok()?;
    let scale = match digits.len() {
        1 | 2 => 10_000,
        length => 10_u32.pow(6 - length as u32),
    };
    Some(f64::from(number * scale) / PARTS)
}

impl Functional {
    /// Those that are no quantiles and have no bound, by their names.
    pub const PLAIN: [(&'static str, Self); 6] = [
        ("count", Self::Count),
        ("min", Self::Min),
        ("max", Self::Max),
        ("mean", Self::Mean),
        ("sd", Self::Sd),
        ("iqr", Self::Iqr),
    ];

    /// Its name: `min`, `p50`, `p999`; of a share, `share`.
    pub fn name(self) -> String {
        let known = Self::PLAIN.iter().find(|row| row.1 == self);
        match (known, self) {
            (Some((name, _)), _) => (*name).to_owned(),
            (None, Functional::Quantile(q)) => {
                let digits = format!("{:06}", (q * PARTS).round());
                let kept = digits.trim_end_matches('0').len().max(2);
                format!("p{}", digits[..kept].trim_start_matches('0'))
            }
            (None, _) => "share".to_owned(),
        }
    }

    /// The functional of this name; shares, which have a bound, are none.
    pub fn named(name: &str) -> Option<Self> {
        let known = Self::PLAIN.iter().find(|row| row.0 == name);
        let known = known.map(|row| row.1);
        known.or_else(|| quantile_named(name).map(Functional::Quantile))
    }

    /// Its definition.
    pub(crate) fn computed_from(self, values: &mut impl Distribution) -> Option<f64> {
        match self {
            Functional::Count => values.count(),
            Functional::Min => values.min(),
            Functional::Max => values.max(),
            Functional::Mean => values.mean(),
            Functional::Sd => values.sd(),
            Functional::Quantile(q) => values.quantile(q),
            Functional::Iqr => Some(values.quantile(0.75)? - values.quantile(0.25)?),
            Functional::Share { beyond, bound } => values.share(beyond, bound),
        }
    }

    /// What kind of number it is.
    const fn nature(self) -> Nature {
        match self {
            Functional::Count => Nature::Count,
            Functional::Share { .. } => Nature::Share,
            Functional::Min | Functional::Max | Functional::Mean | Functional::Quantile(_) => {
                Nature::Location
            }
            Functional::Sd | Functional::Iqr => Nature::Scale,
        }
    }

    /// What its interval is computed from.
    pub fn basis(self) -> Basis {
        match self {
            Functional::Count => Basis::Count,
            Functional::Min => Basis::Smallest,
            Functional::Max => Basis::Largest,
            Functional::Mean => Basis::Mean,
            Functional::Sd => Basis::Deviations,
            Functional::Quantile(q) => Basis::Quantiles(vec![q]),
            Functional::Iqr => Basis::Quantiles(vec![0.25, 0.75]),
            Functional::Share { beyond, bound } => Basis::Share { beyond, bound },
        }
    }

    /// Of these values, none of them NaN; puts them in another order. `None` where there are too
    /// few: none, or one for a standard deviation.
    pub fn value(self, values: &mut [f64]) -> Option<f64> {
        self.computed_from(&mut Values(values))
    }

    /// Of values that stand for several each: bins of a histogram by their lower ends, in order.
    pub fn of_counted(self, bins: &[(f64, u64)]) -> Option<f64> {
        self.computed_from(&mut Bins(bins))
    }

    /// Of values that held for some time each, in their order.
    pub fn of_weighted(self, held: &[(f64, f64)]) -> Option<f64> {
        self.computed_from(&mut Held(held))
    }

    /// The least and the most that it can be, whatever the values.
    pub const fn range(self) -> (f64, f64) {
        match self.nature() {
            Nature::Count | Nature::Scale => (0.0, f64::INFINITY),
            Nature::Share => (0.0, 1.0),
            Nature::Location => (f64::NEG_INFINITY, f64::INFINITY),
        }
    }

    /// Is it a plain number, whatever the unit of the values?
    pub const fn is_number(self) -> bool {
        matches!(self.nature(), Nature::Count | Nature::Share)
    }

    /// Is it one of the values, or between two of them?
    pub const fn is_among_values(self) -> bool {
        matches!(self.nature(), Nature::Location)
    }

    /// Does it say how far values are apart? Two such numbers are compared by their ratio.
    pub const fn is_scale(self) -> bool {
        matches!(self.nature(), Nature::Scale)
    }

    /// Is it counted or found among the values, and no estimate? Such a number has no sampling error that packets which
    /// depend on each other would enlarge.
    pub fn is_found(self) -> bool {
        match self.basis() {
            Basis::Count | Basis::Smallest | Basis::Largest => true,
            Basis::Mean
            | Basis::Deviations
            | Basis::Quantiles(_)
            | Basis::Share { .. }
            | Basis::Trials => false,
        }
    }

    /// The share of values beyond its outermost quantile, which may be so small that too few values lie there. `None`
    /// without quantiles, and for quartiles: as many values as any interval needs have enough beyond them.
    pub(crate) fn tail(self) -> Option<f64> {
        let Basis::Quantiles(quantiles) = self.basis() else {
            return None;
        };
        let shares = quantiles.iter().map(|q| q.min(1.0 - q));
        let outermost = shares.reduce(f64::min);
        outermost.filter(|share| quantiles.len() == 1 || *share < 0.25)
    }
}

/// One of each, for tests.
#[cfg(test)]
pub(crate) const EXAMPLES: [Functional; 10] = [
    Functional::Count,
    Functional::Min,
    Functional::Max,
    Functional::Mean,
    Functional::Sd,
    Functional::Quantile(0.5),
    Functional::Quantile(0.999),
    Functional::Iqr,
    Functional::Share {
        beyond: Beyond::More,
        bound: 3.0,
    },
    Functional::Share {
        beyond: Beyond::AtMost,
        bound: 3.0,
    },
];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_are_read_as_they_are_printed() {
        let plain = Functional::PLAIN.map(|(name, _)| name);
        let quantiles = ["p1", "p50", "p99", "p999", "p995", "p999999"];
        for name in plain.into_iter().chain(quantiles) {
            let functional = Functional::named(name).map(Functional::name);
            assert_eq!(functional.as_deref(), Some(name));
        }
        for name in ["p", "p0", "p100", "p990", "p123", "share", "median"] {
            assert_eq!(Functional::named(name), None, "{name}");
        }
    }

    #[test]
    fn by_hand() {
        let expected = [8.0, 1.0, 9.0, 4.0, 6_f64.sqrt(), 3.0, 9.0, 3.0];
        for (functional, expected) in EXAMPLES.into_iter().zip(expected) {
            let mut values = [2.0, 1.0, 3.0, 4.0, 5.0, 3.0, 9.0, 5.0];
            let found = functional.value(&mut values).unwrap();
            assert!((found - expected).abs() < 1e-12, "{functional:?}: {found}");
        }
        let mut values = [2.0, 1.0, 3.0, 4.0, 5.0, 3.0, 9.0, 5.0];
        assert_eq!(EXAMPLES[8].value(&mut values), Some(0.5));
        assert_eq!(EXAMPLES[9].value(&mut values), Some(0.5));
    }

    #[test]
    fn nothing_has_no_mean() {
        for functional in EXAMPLES.into_iter().filter(|&f| f != Functional::Count) {
            assert_eq!(functional.value(&mut []), None);
            assert_eq!(functional.of_counted(&[(1.0, 0)]), None);
        }
        assert_eq!(Functional::Sd.value(&mut [1.0]), None);
    }

    proptest! {
        #[test]
        fn values_that_hold_for_whole_numbers_are_values(counts in proptest::collection::vec(0_u64..6, 1..10)) {
            let bins: Vec<_> = (0..).map(f64::from).zip(counts).collect();
            let held: Vec<_> = bins.iter().map(|&(x, n)| (x, n as f64)).collect();
            let each = bins.iter().flat_map(|&(x, n)| std::iter::repeat_n(x, n as usize));
            let mut values: Vec<f64> = each.collect();
            let n = values.len() as f64;
            for functional in EXAMPLES.into_iter().filter(|&f| f != Functional::Count) {
                let (one, other) = (functional.value(&mut values), functional.of_weighted(&held));
                // Time has no degree of freedom to lose.
                let one = match functional {
                    Functional::Sd if n == 1.0 => Some(0.0),
                    Functional::Sd => one.map(|sd| sd * ((n - 1.0) / n).sqrt()),
                    _ => one,
                };
                match one.zip(other) {
                    Some((one, other)) => prop_assert!((one - other).abs() < 1e-9, "{functional:?}"),
                    None => prop_assert_eq!(one, other),
                }
            }
        }

        #[test]
        fn counted_values_are_values(counts in proptest::collection::vec(0_u64..6, 1..10)) {
            let bins: Vec<_> = (0..).map(f64::from).zip(counts).collect();
            let each = bins.iter().flat_map(|&(x, n)| std::iter::repeat_n(x, n as usize));
            let mut values: Vec<f64> = each.collect();
            for functional in EXAMPLES {
                let (least, most) = functional.range();
                prop_assert!(functional.value(&mut values).is_none_or(|x| least <= x && x <= most));
                let (one, other) = (functional.value(&mut values), functional.of_counted(&bins));
                match one.zip(other) {
                    Some((one, other)) => prop_assert!((one - other).abs() < 1e-9),
                    None => prop_assert_eq!(one, other),
                }
            }
        }
    }
}
