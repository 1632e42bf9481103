//! How much of a simulation's beginning is not what it settles to: MSER-5.
//!
//! Values are averaged in batches of five; of all truncations the one is taken that makes the standard
//! error of the mean of what remains least (White 1997; White, Cobb and Spratt 2000).

/// Values of a batch.
const BATCH: usize = 5;
/// Fewer batches say nothing of where they settle.
const LEAST: usize = 20;

/// How many values at the beginning to leave out. `None`: there are too few, or they have not settled
/// by the middle.
pub fn mser5(values: &[f64]) -> Option<usize> {
    let means: Vec<f64> = values
        .chunks_exact(BATCH)
        .map(|batch| batch.iter().sum::<f64>() / BATCH as f64)
        .collect();
    if means.len() < LEAST {
        return None;
    }
    let cut = least_error(&means);
    (cut <= means.len() / 2).then_some(cut * BATCH)
}

/// The truncation with the least standard error. The last batches are left alone: a few that happen to
/// agree have a small one.
fn least_error(means: &[f64]) -> usize {
    let (mut best, mut least) = (0, f64::INFINITY);
    let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
    for (cut, value) in means.iter().enumerate().rev() {
        // From the end on, so that each truncation adds one value (Welford 1962).
        count += 1.0;
        let away = value - mean;
        mean += away / count;
        squares += away * (value - mean);
        let error = squares / (count * count);
        if means.len() - cut >= BATCH && error <= least {
            (best, least) = (cut, error);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix;

    #[test]
    fn what_never_changes_needs_none() {
        assert_eq!(mser5(&[7.0; 500]), Some(0));
    }

    #[test]
    fn a_start_that_is_elsewhere_is_left_out() {
        let mut random = SplitMix::new(3);
        for away in [50, 100, 200] {
            let value = |i| random.normal() + if i < away { 20.0 } else { 0.0 };
            let values: Vec<f64> = (0..1000).map(value).collect();
            let cut = mser5(&values).unwrap_or(0);
            assert!((away..away + 60).contains(&cut), "{away}: {cut}");
        }
    }

    #[test]
    fn what_settles_late_or_is_short_is_not_told() {
        let values: Vec<f64> = (0..1000)
            .map(|i| if i < 800 { f64::from(i) } else { 0.0 })
            .collect();
        assert_eq!(mser5(&values), None);
        assert_eq!(mser5(&[1.0; 99]), None);
    }

    #[test]
    fn the_error_is_that_of_the_definition() {
        let mut random = SplitMix::new(5);
        let means: Vec<f64> = (0..60)
            .map(|i| random.normal() + 10.0 / f64::from(i + 1))
            .collect();
        let error = |cut: usize| {
            let rest = &means[cut..];
            let count = rest.len() as f64;
            let mean = rest.iter().sum::<f64>() / count;
            rest.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (count * count)
        };
        let cuts = 0..=means.len() - BATCH;
        let least = cuts.min_by(|&a, &b| error(a).total_cmp(&error(b)));
        assert_eq!(Some(least_error(&means)), least);
    }
}
