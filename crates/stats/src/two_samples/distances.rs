//! Distances of two samples, in one pass over their pooled values in order.

/// Values of both sides in order, each with its place in the series laid end to end.
#[derive(Debug)]
pub(super) struct Pooled {
    ordered: Vec<(f64, u32)>,
    /// Values of A and of B.
    pub(super) counts: (u64, u64),
    /// For each place, NaN or not, whether it is A's.
    sides: Vec<bool>,
}

/// How far apart two samples are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Distances {
    /// P(A < B) + ½·P(A = B).
    pub(super) share_less: f64,
    /// Of the distribution functions, the largest.
    pub(super) largest: f64,
    /// Of the quantile functions, the mean.
    pub(super) mean: f64,
}

impl Pooled {
    pub(super) fn new(a: &[&[f64]], b: &[&[f64]]) -> Self {
        let series = || a.iter().chain(b).flat_map(|series| series.iter().copied());
        let first_of_b = a.iter().map(|series| series.len()).sum::<usize>();
        let mut ordered: Vec<(f64, u32)> = series().zip(0..).filter(|(x, _)| !x.is_nan()).collect();
        ordered.sort_unstable_by(|x, y| x.0.total_cmp(&y.0));
        let of_a = ordered
            .iter()
            .filter(|(_, place)| (*place as usize) < first_of_b)
            .count();
        Self {
            counts: (of_a as u64, (ordered.len() - of_a) as u64),
            ordered,
            sides: (0..series().count())
                .map(|place| place < first_of_b)
                .collect(),
        }
    }

    /// For each place, whether it is A's.
    pub(super) fn sides(&self) -> Vec<bool> {
        self.sides.clone()
    }

    pub(super) fn len(&self) -> usize {
        self.ordered.len()
    }

    /// The rank of a value among all, equal ones sharing theirs, from 0 to 1.
    pub(super) fn rank(&self, value: f64) -> f64 {
        let below = self.ordered.partition_point(|&(x, _)| x < value);
        let through = self.ordered.partition_point(|&(x, _)| x <= value);
        (below + through) as f64 / (2 * self.ordered.len()) as f64
    }

    /// Of the places that `is_a` gives to A from those it gives to B.
    pub(super) fn distances(&self, is_a: &[bool]) -> Distances {
        let of_a = self
            .ordered
            .iter()
            .filter(|(_, place)| is_a[*place as usize])
            .count() as f64;
        let of_b = self.ordered.len() as f64 - of_a;
        let (mut below_a, mut below_b) = (0.0, 0.0);
        let (mut pairs, mut largest, mut mean) = (0.0, 0.0_f64, 0.0);
        let mut before: Option<f64> = None;
        for group in self.ordered.chunk_by(|x, y| x.0 == y.0) {
            let apart: f64 = (below_a / of_a - below_b / of_b).abs();
            largest = largest.max(apart);
            mean += before.map_or(0.0, |before| apart * (group[0].0 - before));
            before = Some(group[0].0);
            let here_a = group
                .iter()
                .filter(|(_, place)| is_a[*place as usize])
                .count() as f64;
            let here_b = group.len() as f64 - here_a;
            pairs += here_b * (below_a + here_a / 2.0);
            below_a += here_a;
            below_b += here_b;
        }
        Distances {
            share_less: pairs / (of_a * of_b),
            largest,
            mean,
        }
    }

    /// Of U for independent values, corrected for ties (Lehmann 1975).
    pub(super) fn z(&self, share_less: f64) -> Option<f64> {
        let (a, b) = (self.counts.0 as f64, self.counts.1 as f64);
        let all = a + b;
        let groups = self.ordered.chunk_by(|x, y| x.0 == y.0);
        let ties: f64 = groups
            .map(|g| (g.len() as f64).powi(3) - g.len() as f64)
            .sum();
        let variance = a * b / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)));
        (variance > 0.0).then(|| (share_less - 0.5) * a * b / variance.sqrt())
    }
}
