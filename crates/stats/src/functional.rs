//! What is said of a distribution by one number: mean, quantile, share beyond a bound.
//!
//! Each is defined once, here, for values as they are, and again as a function of *features*: sums
//! over the values that can be made of blocks once and added up as often as resampling asks.
//! A packet without a value is NaN, so that all measures of a packet have the same index.

use crate::quantile::rank;

/// Which side of a bound is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beyond {
    /// Below it.
    Less,
    /// At or below it.
    AtMost,
    /// Above it.
    More,
    /// At or above it.
    AtLeast,
}

impl Beyond {
    /// Is `value` on this side of `bound`? NaN is on neither.
    pub fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Beyond::Less => value < bound,
            Beyond::AtMost => value <= bound,
            Beyond::More => value > bound,
            Beyond::AtLeast => value >= bound,
        }
    }

    /// The quantile beyond which this share of values lies on this side.
    pub(crate) fn outermost(self, share: f64) -> f64 {
        match self {
            Beyond::Less | Beyond::AtMost => share.min(0.5),
            Beyond::More | Beyond::AtLeast => 1.0 - share.min(0.5),
        }
    }

    /// Of two bounds the one that has more values beyond it.
    pub(crate) fn nearer(self, a: f64, b: f64) -> f64 {
        match self {
            Beyond::Less | Beyond::AtMost => a.max(b),
            Beyond::More | Beyond::AtLeast => a.min(b),
        }
    }
}

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

    /// Of these values, none of them NaN; puts them in another order. `None` where there are too
    /// few: none, or one for a standard deviation.
    pub fn value(self, values: &mut [f64]) -> Option<f64> {
        let count = values.len() as f64;
        match self {
            Functional::Count => Some(count),
            Functional::Min => values.iter().copied().reduce(f64::min),
            Functional::Max => values.iter().copied().reduce(f64::max),
            Functional::Mean => mean(values),
            Functional::Sd => sd(values),
            Functional::Quantile(q) => quantile(values, q),
            Functional::Iqr => Some(quantile(values, 0.75)? - quantile(values, 0.25)?),
            Functional::Share { beyond, bound } => {
                let hits = values.iter().filter(|&&x| beyond.holds(x, bound)).count();
                (count > 0.0).then(|| hits as f64 / count)
            }
        }
    }

    /// Of values that stand for several each: bins of a histogram by their lower ends, in order.
    /// A mean and a deviation are those of the bins' lower ends too.
    pub fn of_counted(self, bins: &[(f64, u64)]) -> Option<f64> {
        let filled = || bins.iter().filter(|bin| bin.1 > 0);
        let count: u64 = bins.iter().map(|bin| bin.1).sum();
        let average = |f: &dyn Fn(f64) -> f64| {
            let sum: f64 = filled().map(|bin| f(bin.0) * bin.1 as f64).sum();
            (count > 0).then(|| sum / count as f64)
        };
        let quantile = |q: f64| {
            let mut before = rank(count as usize, q)? as u64;
            let within = filled().find(|bin| {
                let found = before < bin.1;
                before = before.saturating_sub(bin.1);
                found
            });
            within.map(|bin| bin.0)
        };
        match self {
            Functional::Count => Some(count as f64),
            Functional::Min => filled().next().map(|bin| bin.0),
            Functional::Max => filled().next_back().map(|bin| bin.0),
            Functional::Mean => average(&|x| x),
            Functional::Sd => {
                let mean = average(&|x| x)?;
                let variance = average(&|x| (x - mean).powi(2))?;
                (count > 1).then(|| (variance * count as f64 / (count - 1) as f64).sqrt())
            }
            Functional::Quantile(q) => quantile(q),
            Functional::Iqr => Some(quantile(0.75)? - quantile(0.25)?),
            Functional::Share { beyond, bound } => {
                average(&|x| f64::from(u8::from(beyond.holds(x, bound))))
            }
        }
    }

    /// Of values that held for some time each, in their order: a quantile is the smallest value with at least this share
    /// of the time at or below it.
    pub fn of_weighted(self, held: &[(f64, f64)]) -> Option<f64> {
        let there = || held.iter().filter(|(_, weight)| *weight > 0.0);
        let all: f64 = there().map(|(_, weight)| weight).sum();
        let average = |f: &dyn Fn(f64) -> f64| {
            let sum: f64 = there().map(|(value, weight)| f(*value) * weight).sum();
            (all > 0.0).then(|| sum / all)
        };
        let quantile = |q: f64| {
            // A sum that close to its share has reached it.
            let enough = q * all * (1.0 - 1e-12);
            let mut below = 0.0;
            let reached = there().find(|(_, weight)| {
                below += weight;
                below >= enough
            });
            reached
                .or_else(|| there().next_back())
                .map(|(value, _)| *value)
        };
        match self {
            Functional::Count => Some(there().count() as f64),
            Functional::Min => there().next().map(|(value, _)| *value),
            Functional::Max => there().next_back().map(|(value, _)| *value),
            Functional::Mean => average(&|x| x),
            Functional::Sd => {
                let mean = average(&|x| x)?;
                average(&|x| (x - mean).powi(2)).map(f64::sqrt)
            }
            Functional::Quantile(q) => quantile(q),
            Functional::Iqr => Some(quantile(0.75)? - quantile(0.25)?),
            Functional::Share { beyond, bound } => {
                average(&|x| f64::from(u8::from(beyond.holds(x, bound))))
            }
        }
    }

    /// The least and the most that it can be, whatever the values.
    pub const fn range(self) -> (f64, f64) {
        match self {
            Functional::Count | Functional::Sd | Functional::Iqr => (0.0, f64::INFINITY),
            Functional::Share { .. } => (0.0, 1.0),
            Functional::Min | Functional::Max | Functional::Mean | Functional::Quantile(_) => {
                (f64::NEG_INFINITY, f64::INFINITY)
            }
        }
    }

    /// Is it counted or found among the values, and no estimate? Such a number has no sampling error that packets which
    /// depend on each other would enlarge.
    pub const fn is_found(self) -> bool {
        matches!(self, Functional::Count | Functional::Min | Functional::Max)
    }

    /// Is it one of the values, or between two of them?
    pub const fn is_among_values(self) -> bool {
        matches!(
            self,
            Functional::Min | Functional::Max | Functional::Mean | Functional::Quantile(_)
        )
    }

    /// The quantiles that it is made of.
    pub(crate) fn quantiles(self) -> Vec<f64> {
        match self {
            Functional::Quantile(q) => vec![q],
            Functional::Iqr => vec![0.25, 0.75],
            _ => Vec::new(),
        }
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    let first = *values.first()?;
    // About the first value, so that large times lose no digits.
    let sum: f64 = values.iter().map(|x| x - first).sum();
    Some(first + sum / values.len() as f64)
}

fn sd(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
    (values.len() > 1).then(|| (squares / (values.len() - 1) as f64).sqrt())
}

fn quantile(values: &mut [f64], q: f64) -> Option<f64> {
    let rank = rank(values.len(), q)?;
    Some(*values.select_nth_unstable_by(rank, f64::total_cmp).1)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn names_are_read_as_they_are_printed() {
        for name in [
            "count", "min", "mean", "iqr", "p1", "p50", "p99", "p999", "p995", "p999999",
        ] {
            let functional = Functional::named(name).map(Functional::name);
            assert_eq!(functional.as_deref(), Some(name));
        }
        for name in ["p", "p0", "p100", "p990", "p123", "share", "median"] {
            assert_eq!(Functional::named(name), None, "{name}");
        }
    }
    use proptest::prelude::*;

    const ALL: [Functional; 10] = [
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

    #[test]
    fn by_hand() {
        let expected = [8.0, 1.0, 9.0, 4.0, 6_f64.sqrt(), 3.0, 9.0, 3.0];
        for (functional, expected) in ALL.into_iter().zip(expected) {
            let mut values = [2.0, 1.0, 3.0, 4.0, 5.0, 3.0, 9.0, 5.0];
            let found = functional.value(&mut values).unwrap();
            assert!((found - expected).abs() < 1e-12, "{functional:?}: {found}");
        }
        let mut values = [2.0, 1.0, 3.0, 4.0, 5.0, 3.0, 9.0, 5.0];
        assert_eq!(ALL[8].value(&mut values), Some(0.5));
        assert_eq!(ALL[9].value(&mut values), Some(0.5));
    }

    #[test]
    fn nothing_has_no_mean() {
        for functional in ALL.into_iter().filter(|&f| f != Functional::Count) {
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
            for functional in ALL.into_iter().filter(|&f| f != Functional::Count) {
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
            for functional in ALL {
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
