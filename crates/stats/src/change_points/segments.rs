//! The cheapest way to cut a series in segments of one level each.

/// First indices of segments but the first, so that the squares about the segments' means, and `penalty`
/// for each cut, are least together (Jackson and others 2005). No segment is shorter than `least`.
pub(super) fn cut(values: &[f64], penalty: f64, least: usize) -> Vec<usize> {
    let count = values.len();
    let sums = Sums::new(values);
    // The least cost of the first values, and where their last segment begins.
    let mut costs = vec![(f64::INFINITY, 0); count + 1];
    costs[0] = (-penalty, 0);
    for end in least..=count {
        for start in 0..=end - least {
            let cost = costs[start].0 + sums.squares(start, end) + penalty;
            if cost < costs[end].0 {
                costs[end] = (cost, start);
            }
        }
    }
    let mut cuts = Vec::new();
    let mut end = count;
    while costs[end].1 > 0 {
        end = costs[end].1;
        cuts.push(end);
    }
    cuts.reverse();
    cuts
}

/// Sums and sums of squares of the first values.
struct Sums(Vec<(f64, f64)>);

impl Sums {
    fn new(values: &[f64]) -> Self {
        let mut sums = (0.0, 0.0);
        let mut all = vec![sums];
        all.extend(values.iter().map(|x| {
            sums = (sums.0 + x, sums.1 + x * x);
            sums
        }));
        Self(all)
    }

    /// About their mean.
    fn squares(&self, start: usize, end: usize) -> f64 {
        let (first, last) = (self.0[start], self.0[end]);
        let sum = last.0 - first.0;
        (last.1 - first.1 - sum * sum / (end - start) as f64).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every way to cut a few values, one by one.
    fn least_cost(values: &[f64], penalty: f64, least: usize) -> f64 {
        let whole = Sums::new(values).squares(0, values.len());
        let last = (least..=values.len().saturating_sub(least)).map(|start| {
            let rest = Sums::new(&values[start..]).squares(0, values.len() - start);
            least_cost(&values[..start], penalty, least) + penalty + rest
        });
        last.fold(whole, f64::min)
    }

    proptest! {
        #[test]
        fn is_the_cheapest(
            values in proptest::collection::vec(-3_i32..3, 6..16),
            penalty in 0.1..10.0_f64,
            least in 1_usize..4,
        ) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let cuts = cut(&values, penalty, least);
            let sums = Sums::new(&values);
            let bounds: Vec<usize> =
                [0].into_iter().chain(cuts).chain([values.len()]).collect();
            let squares = bounds.windows(2).map(|ends| sums.squares(ends[0], ends[1]));
            let cost = squares.sum::<f64>() + penalty * (bounds.len() - 2) as f64;
            let expected = least_cost(&values, penalty, least);
            prop_assert!((cost - expected).abs() < 1e-9, "{cost} {expected}");
            prop_assert!(bounds.windows(2).all(|ends| ends[1] - ends[0] >= least));
        }
    }
}
