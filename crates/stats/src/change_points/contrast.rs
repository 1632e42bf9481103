//! How sure is it that two neighbouring levels differ?

/// Values of a segment in ascending order, with what is asked of them again and again.
#[derive(Debug, Clone)]
pub(super) struct Level {
    values: Vec<f64>,
    median: f64,
    /// Mean absolute deviation from the median.
    spread: f64,
}

/// A median tells a shift of normal values with 2/π of the efficiency of a mean.
const OF_MEDIAN: f64 = 0.64;
/// Standard deviation of a normal law over its mean absolute deviation: √(π/2).
const OF_SPREAD: f64 = 1.2533;
/// Width of the middle half of a normal law, in standard deviations.
const OF_MIDDLE_HALF: f64 = 1.349;
/// Fewer values of both have no spread that could be trusted.
const LEAST_FOR_SPREAD: usize = 20;
/// More spreads apart is not surer …
const MOST_APART: f64 = 3.0;
/// … but for levels which are this many deviations apart: no wander within a level goes so far.
pub(super) const FAR: f64 = 20.0;
/// Values of the shorter level that show its deviation: of fewer, what one far value leaves behind looks like a level.
const LEAST_FAR: usize = 10;

impl Level {
    /// Of the values of a segment, in any order.
    pub(super) fn new(segment: &[f64]) -> Self {
        let mut values = segment.to_vec();
        values.sort_unstable_by(f64::total_cmp);
        Self::of_sorted(values)
    }

    fn of_sorted(values: Vec<f64>) -> Self {
        let middle = values.len() / 2;
        let median = f64::midpoint(values[(values.len() - 1) / 2], values[middle]);
        let deviations = values.iter().map(|value| (value - median).abs());
        let spread = deviations.sum::<f64>() / values.len() as f64;
        Self {
            values,
            median,
            spread,
        }
    }

    /// Both as one.
    pub(super) fn merge(&self, other: &Self) -> Self {
        let mut values = Vec::with_capacity(self.values.len() + other.values.len());
        let (mut a, mut b) = (self.values.as_slice(), other.values.as_slice());
        while let (Some(first), Some(second)) = (a.first(), b.first()) {
            let side = if first <= second { &mut a } else { &mut b };
            values.push(side[0]);
            *side = &side[1..];
        }
        values.extend_from_slice(a);
        values.extend_from_slice(b);
        Self::of_sorted(values)
    }

    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    pub(super) fn median(&self) -> f64 {
        self.median
    }

    /// Standard deviation of a normal law that spreads as far, or whose middle half does where that is less: a few
    /// values far away say nothing of the others. Where half of the values are equal, that is not known.
    pub(super) fn deviation(&self) -> f64 {
        let at = |quarter: usize| self.values[(self.values.len() - 1) * quarter / 4];
        let of_middle_half = (at(3) - at(1)) / OF_MIDDLE_HALF;
        let of_all = OF_SPREAD * self.spread;
        match of_middle_half > 0.0 {
            true => of_all.min(of_middle_half),
            false => of_all,
        }
    }

    /// As large as the square of a standard normal value if these are independent values of one law; the largest of
    /// three, each of which sees what the others do not:
    /// - Mann and Whitney's z²: small shifts, whatever the law. Of `n` values it is at most 3n/2.
    /// - the likelihood ratio of the shares on either side of the middle between both medians: a
    ///   short level far from a long one, of which z² says too little;
    /// - the shift of the median over the spread: levels far apart.
    pub(super) fn contrast(&self, other: &Self) -> f64 {
        if self.median == other.median {
            // Where most values are equal, a few others close together are no level.
            return 0.0;
        }
        let apart = self.ranks_apart(other).max(self.medians_apart(other));
        apart.max(self.shares_apart(other))
    }

    /// Mann and Whitney's z², corrected for ties.
    fn ranks_apart(&self, other: &Self) -> f64 {
        let (a, b) = (&self.values, &other.values);
        let (mut i, mut j) = (0, 0);
        // Pairs in which the other's value is the larger, ties counted by half; Σt³ − t over ties of t.
        let (mut larger, mut ties) = (0.0, 0.0);
        while let Some(value) = least(a.get(i), b.get(j)) {
            let below = i as f64;
            let of = |values: &[f64]| values.iter().take_while(|x| **x == value).count();
            let (in_a, in_b) = (of(&a[i..]), of(&b[j..]));
            (i, j) = (i + in_a, j + in_b);
            larger += in_b as f64 * (below + in_a as f64 / 2.0);
            let tied = (in_a + in_b) as f64;
            ties += tied.powi(3) - tied;
        }
        let (a, b) = (a.len() as f64, b.len() as f64);
        let all = a + b;
        let variance = a * b / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)));
        if variance > 0.0 {
            (larger - a * b / 2.0).powi(2) / variance
        } else {
            0.0
        }
    }

    /// The shift of the median, squared, over its variance.
    fn medians_apart(&self, other: &Self) -> f64 {
        let (a, b) = (self.len() as f64, other.len() as f64);
        if self.len() + other.len() < LEAST_FOR_SPREAD {
            return 0.0;
        }
        let deviation = OF_SPREAD * (self.spread * a + other.spread * b) / (a + b);
        let apart = (self.median - other.median).abs() / deviation;
        let squared = (OF_MEDIAN * apart * apart).min(MOST_APART * MOST_APART);
        squared.max(self.far_apart(other)) * a * b / (a + b)
    }

    /// The square of the shift of the median over the larger deviation, where that is far; else 0. Values that
    /// are rounded deviate by a step at least.
    fn far_apart(&self, other: &Self) -> f64 {
        let shift = (self.median - other.median).abs();
        let deviation = self.deviation().max(other.deviation());
        if self.len().min(other.len()) < LEAST_FAR || shift < FAR * deviation {
            return 0.0;
        }
        let both = self.merge(other).values;
        let steps = both.windows(2).map(|pair| pair[1] - pair[0]);
        let step = steps
            .filter(|step| *step > 0.0)
            .fold(f64::INFINITY, f64::min);
        let apart = shift / deviation.max(step);
        if apart < FAR {
            0.0
        } else {
            OF_MEDIAN * apart * apart
        }
    }

    /// The largest contrast of levels of `a` and of `b` values that are not far apart.
    pub(super) fn most(a: f64, b: f64) -> f64 {
        let all = a + b;
        let shares = 2.0 * (all * all.ln() - a * a.ln() - b * b.ln());
        (MOST_APART * MOST_APART * a * b / all).max(shares)
    }

    /// How many deviations apart levels of `a` and of `b` values have this contrast, where they are far apart.
    pub(super) fn far_for(contrast: f64, a: f64, b: f64) -> f64 {
        (contrast * (a + b) / (a * b) / OF_MEDIAN).sqrt().max(FAR)
    }

    /// Twice the logarithm of the likelihood ratio (G²) of the shares below the middle between both medians.
    fn shares_apart(&self, other: &Self) -> f64 {
        let middle = f64::midpoint(self.median, other.median);
        let below = |level: &Self| {
            let less = level.values.partition_point(|x| *x < middle);
            let not_more = level.values.partition_point(|x| *x <= middle);
            f64::midpoint(less as f64, not_more as f64)
        };
        let likelihood = |below: f64, all: f64| {
            let term = |count: f64| {
                if count > 0.0 {
                    count * (count / all).ln()
                } else {
                    0.0
                }
            };
            term(below) + term(all - below)
        };
        let (a, b) = (self.len() as f64, other.len() as f64);
        let (below_a, below_b) = (below(self), below(other));
        let apart = likelihood(below_a, a) + likelihood(below_b, b);
        2.0 * (apart - likelihood(below_a + below_b, a + b))
    }
}

fn least(a: Option<&f64>, b: Option<&f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(*b)),
        (one, other) => one.or(other).copied(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mann_and_whitney_by_hand() {
        // Of nine pairs b is larger in seven and equal in one: U 7.5, mean 4.5, one tie of two.
        let (a, b) = (Level::new(&[3.0, 1.0, 4.0]), Level::new(&[5.0, 4.0, 2.5]));
        let variance = 9.0 / 12.0 * (7.0 - 6.0 / 30.0);
        let u = 1.0 + 2.5 + 3.0;
        assert!((a.ranks_apart(&b) - (u - 4.5_f64).powi(2) / variance).abs() < 1e-12);
        assert!((a.ranks_apart(&b) - b.ranks_apart(&a)).abs() < 1e-12);
    }

    #[test]
    fn levels_that_are_apart_are_sure_by_their_lengths() {
        let level = |from: f64, count: usize| {
            Level::new(
                &(0..count)
                    .map(|i| from + (i % 5) as f64)
                    .collect::<Vec<_>>(),
            )
        };
        let (short, long) = (level(100.0, 5), level(0.0, 500));
        // 2(5·ln(505/5) + 500·ln(505/500))
        let shares = 2.0 * (5.0 * 101_f64.ln() + 500.0 * 1.01_f64.ln());
        assert!((short.contrast(&long) - shares).abs() < 1e-9);
        let medians = MOST_APART * MOST_APART * 2500.0 / 505.0;
        assert!((short.medians_apart(&long) - medians).abs() < 1e-9);
        assert!(short.ranks_apart(&long) < 16.0);
        assert_eq!(level(0.0, 50).contrast(&level(0.0, 20)), 0.0);
        assert!(medians.max(shares) <= Level::most(5.0, 500.0) + 1e-9);
        let merged = short.merge(&long);
        assert_eq!((merged.len(), merged.median), (505, 2.0));
        assert!(merged.values.is_sorted());
    }

    #[test]
    fn levels_that_are_far_apart_are_the_surer_the_further() {
        let level = |from: f64, step: f64, count: usize| {
            Level::new(
                &(0..count)
                    .map(|i| from + step * (i % 5) as f64)
                    .collect::<Vec<_>>(),
            )
        };
        let low = level(0.0, 1.0, 40);
        let far = |from: f64| level(from, 1.0, 20).far_apart(&low);
        assert_eq!(far(15.0), 0.0);
        assert!(far(1e3) > 1e5 && far(1e4) > 99.0 * far(1e3));
        let needed = 1e4;
        let apart = Level::far_for(needed, 20.0, 40.0) * low.deviation();
        let contrast = level(apart, 1.0, 20).contrast(&low);
        assert!((contrast / needed - 1.0).abs() < 1e-9, "{contrast}");
        // Too few values; values that are rounded, and never vary by less than the shift.
        assert_eq!(level(1e3, 1.0, 9).far_apart(&low), 0.0);
        assert_eq!(level(1.0, 0.0, 20).far_apart(&level(0.0, 0.0, 20)), 0.0);
    }
}
