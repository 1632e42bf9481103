//! Vectors that have a number for each size.

/// 1 from this index on.
pub(super) fn beyond(count: usize, index: usize) -> Vec<f64> {
    (0..count)
        .map(|i| f64::from(u8::from(i >= index)))
        .collect()
}

/// These values less their mean.
pub(super) fn less_mean(values: &[f64]) -> Vec<f64> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter().map(|value| value - mean).collect()
}

/// Sum of the squares.
pub(super) fn squares(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum()
}

/// Takes off what of a column lies along a unit vector, and says how much.
pub(super) fn take_off(column: &mut [f64], unit: &[f64]) -> f64 {
    let along = dot(column, unit);
    column
        .iter_mut()
        .zip(unit)
        .for_each(|(c, u)| *c -= along * u);
    along
}

/// Takes off what of a column lies along any of these orthogonal unit vectors.
pub(super) fn take_off_all(column: &mut [f64], basis: &[Vec<f64>]) {
    // Twice, for the digits.
    for unit in basis.iter().chain(basis) {
        take_off(column, unit);
    }
}

/// Sum of the products of two vectors.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
