//! The long-run variance of a series, less what changes of its level add.

/// Median of χ² with one degree of freedom.
const MEDIAN: f64 = 0.4549;
/// Fewer differences of means say nothing.
const LEAST_BLOCKS: usize = 50;
/// Autocorrelation at distance one, at most.
const MOST_PHI: f64 = 0.95;

/// That of an AR(1) with the variance and autocorrelation that differences over one and two values show,
/// if none of them goes over one of these cuts. Levels do not move it, and neither do cuts that should
/// not be there.
pub(super) fn within(values: &[f64], cuts: &[usize]) -> f64 {
    // Half the mean square over h values is σ²(1 − φʰ).
    let one = half_square(values, cuts, 1);
    if one <= 0.0 {
        return 0.0;
    }
    let phi = half_square(values, cuts, 2) / one - 1.0;
    // φ is an estimate: about a standard error more.
    let phi = phi + 1.0 / (values.len() as f64).sqrt();
    let phi = phi.clamp(0.0, MOST_PHI);
    one * (1.0 + phi) / (1.0 - phi).powi(2)
}

/// Half the mean square of differences over so many values.
fn half_square(values: &[f64], cuts: &[usize], apart: usize) -> f64 {
    let bounds: Vec<usize> = [0]
        .iter()
        .chain(cuts)
        .chain([&values.len()])
        .copied()
        .collect();
    let (mut sum, mut count) = (0.0, 0);
    for ends in bounds.windows(2) {
        let segment = &values[ends[0]..ends[1]];
        let pairs = segment.iter().zip(segment.iter().skip(apart));
        sum += pairs.map(|(a, b)| (a - b).powi(2)).sum::<f64>();
        count += segment.len().saturating_sub(apart);
    }
    sum / f64::from(count.max(1) as u32) / 2.0
}

/// That which means of blocks of 4, 8, 16, … values show: the largest. From the median of their
/// differences, which a few changes of level do not move. For memories longer than an AR(1)'s.
pub(super) fn of_blocks(values: &[f64]) -> f64 {
    let lengths = (2..).map(|power| 1_usize << power);
    let lengths = lengths.take_while(|&length| values.len() / length >= LEAST_BLOCKS);
    let each = lengths.map(|length| {
        let blocks = values.chunks_exact(length);
        let means: Vec<f64> = blocks
            .map(|b| b.iter().sum::<f64>() / length as f64)
            .collect();
        let pairs = means.windows(2);
        let mut squares: Vec<f64> = pairs.map(|pair| (pair[0] - pair[1]).powi(2)).collect();
        let middle = squares.len() / 2;
        let median = *squares.select_nth_unstable_by(middle, f64::total_cmp).1;
        length as f64 * median / MEDIAN / 2.0
    });
    each.fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ar1;

    #[test]
    fn of_an_ar1_with_changes_of_level() {
        let cuts: Vec<usize> = (1..10).map(|i| 100 * i).collect();
        for phi in [0.0, 0.5, 0.8] {
            let expected = (1.0 + phi) / (1.0 - phi);
            for shift in [0.0, 3.0] {
                let of = |seed| {
                    let level = |i: usize| {
                        if (i / 100).is_multiple_of(2) {
                            0.0
                        } else {
                            shift
                        }
                    };
                    let series = ar1(phi, 1000, seed).into_iter().enumerate();
                    within(
                        &series.map(|(i, x)| x + level(i)).collect::<Vec<_>>(),
                        &cuts,
                    )
                };
                let ratio = (0..20).map(of).sum::<f64>() / 20.0 / expected;
                assert!((0.9..2.5).contains(&ratio), "{phi} {shift}: {ratio}");
            }
            let of = |seed| of_blocks(&ar1(phi, 10_000, seed));
            let ratio = (0..20).map(of).sum::<f64>() / 20.0 / expected;
            assert!((0.9..1.6).contains(&ratio), "{phi}: {ratio}");
        }
    }

    #[test]
    fn what_never_changes_has_none() {
        assert_eq!(
            (within(&[0.0; 500], &[]), of_blocks(&[0.0; 500])),
            (0.0, 0.0)
        );
        let levels = [[1.0; 50], [7.0; 50]].concat();
        assert_eq!(within(&levels, &[50]), 0.0);
    }
}
