//! QR in double-double by modified Gram-Schmidt, each column orthogonalised twice.
//!
//! Once leaves the columns as far from orthogonal as they are ill-conditioned; "twice is enough"
//! (Parlett, The Symmetric Eigenvalue Problem, 6.9; Giraud, Langou and Rozložník 2005). With 31
//! digits to begin with, at least 16 are left for any columns that floats can tell apart.

use crate::double_double::DoubleDouble;
use crate::fit_error::FitError;

/// What is left of a column of length one may not be less: that much a combination of rounded
/// columns is off by.
const DEPENDENT: f64 = 8.0 * f64::EPSILON;

/// The space that columns span: an orthonormal basis, and how the columns are made of it.
#[derive(Debug, Clone)]
pub(crate) struct Basis {
    directions: Vec<Vec<DoubleDouble>>,
    /// Rows of R⁻¹ for columns near one: what of each direction goes into a coefficient.
    inverse: Vec<Vec<DoubleDouble>>,
    /// Powers of two that brought the columns near one, so that no square leaves a float's range.
    scales: Vec<f64>,
}

impl Basis {
    /// `Dependent` where a column is a combination of those before it, `NotFinite` where a sum
    /// overflows.
    pub(crate) fn new(columns: &[Vec<DoubleDouble>]) -> Result<Self, FitError> {
        let mut directions = Vec::new();
        let mut triangle = Vec::new();
        let mut scales = Vec::new();
        for column in columns {
            let scale = to_unit(column.iter().map(|value| value.to_f64()));
            let mut rest: Vec<_> = column.iter().map(|value| value.scaled(scale)).collect();
            let mut parts = remove(&directions, &mut rest);
            let length = norm(&rest);
            if !length.is_finite() {
                return Err(FitError::NotFinite);
            }
            parts.push(length);
            if length.to_f64() <= DEPENDENT * norm(&parts).to_f64() {
                return Err(FitError::Dependent);
            }
            let shortened = DoubleDouble::ONE / length;
            rest.iter_mut()
                .for_each(|value| *value = *value * shortened);
            directions.push(rest);
            triangle.push(parts);
            scales.push(scale);
        }
        Ok(Self {
            directions,
            inverse: inverse(&triangle),
            scales,
        })
    }

    /// How much of each direction is in `values`; what is left of them is orthogonal to all.
    pub(crate) fn remove_from(&self, values: &mut [DoubleDouble]) -> Vec<DoubleDouble> {
        remove(&self.directions, values)
    }

    /// The coefficient of a column in what has these parts along the directions.
    pub(crate) fn coefficient(&self, column: usize, parts: &[DoubleDouble]) -> DoubleDouble {
        dot(&self.inverse[column], parts).scaled(self.scales[column])
    }

    /// How far noise of one unit in each observation moves the coefficient of a column: the root of
    /// a diagonal entry of (XᵀX)⁻¹.
    pub(crate) fn error(&self, column: usize) -> DoubleDouble {
        norm(&self.inverse[column]).scaled(self.scales[column])
    }
}

/// Takes the parts along `directions` out of `values`, twice, and says how large they were.
fn remove(directions: &[Vec<DoubleDouble>], values: &mut [DoubleDouble]) -> Vec<DoubleDouble> {
    let mut parts = vec![DoubleDouble::ZERO; directions.len()];
    for _ in 0..2 {
        for (part, direction) in parts.iter_mut().zip(directions) {
            let along = dot(direction, values);
            let pairs = values.iter_mut().zip(direction);
            pairs.for_each(|(value, &entry)| *value -= along * entry);
            *part += along;
        }
    }
    parts
}

/// Rows of the inverse of an upper triangle, which is given by its columns.
fn inverse(columns: &[Vec<DoubleDouble>]) -> Vec<Vec<DoubleDouble>> {
    let size = columns.len();
    let mut rows = vec![vec![DoubleDouble::ZERO; size]; size];
    for (index, row) in rows.iter_mut().enumerate() {
        row[index] = DoubleDouble::ONE / columns[index][index];
        for at in index + 1..size {
            let known = dot(&row[index..at], &columns[at][index..at]);
            row[at] = -known / columns[at][at];
        }
    }
    rows
}

/// A power of two that brings the largest of these near one; 1 where all are zero.
pub(crate) fn to_unit(values: impl Iterator<Item = f64>) -> f64 {
    let largest = values.fold(0.0, |most: f64, value| most.max(value.abs()));
    if largest == 0.0 {
        return 1.0;
    }
    // 2¹⁰²³ is the largest power that there is.
    let exponent = largest.log2().floor().clamp(-1000.0, 1000.0);
    2_f64.powi(-(exponent as i32))
}

/// Sum of the products of two vectors.
pub(crate) fn dot(a: &[DoubleDouble], b: &[DoubleDouble]) -> DoubleDouble {
    a.iter().zip(b).map(|(&a, &b)| a * b).sum()
}

/// Length of a vector.
pub(crate) fn norm(values: &[DoubleDouble]) -> DoubleDouble {
    dot(values, values).sqrt()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Hilbert's matrix, of condition 10¹³ at ten columns.
    fn hilbert(size: usize) -> Vec<Vec<DoubleDouble>> {
        let entry = |i: usize, j: usize| DoubleDouble::ONE / ((i + j + 1) as f64).into();
        let column = |j| (0..size + 3).map(|i| entry(i, j)).collect();
        (0..size).map(column).collect()
    }

    #[test]
    fn directions_are_orthonormal_whatever_the_columns() {
        let basis = Basis::new(&hilbert(10)).unwrap();
        for (index, a) in basis.directions.iter().enumerate() {
            for b in &basis.directions[..index] {
                assert!(dot(a, b).abs().to_f64() < 1e-30);
            }
            let length = dot(a, a) - DoubleDouble::ONE;
            assert!(length.abs().to_f64() < 1e-30);
        }
    }

    #[test]
    fn coefficients_of_the_columns_themselves_are_units() {
        let columns = hilbert(9);
        let basis = Basis::new(&columns).unwrap();
        for (index, column) in columns.iter().enumerate() {
            let mut rest = column.clone();
            let parts = basis.remove_from(&mut rest);
            assert!(norm(&rest).to_f64() < 1e-30);
            for other in 0..columns.len() {
                let expected = f64::from(u8::from(other == index));
                let found = basis.coefficient(other, &parts).to_f64();
                assert!((found - expected).abs() < 1e-17, "{index} {other}: {found}");
            }
        }
    }

    #[test]
    fn sizes_of_columns_do_not_matter() {
        for size in [1e-300, 1.0, 1e300] {
            let column = [1.0, 2.0, 3.0].map(|x| DoubleDouble::from(x * size));
            let basis = Basis::new(&[vec![size.into(); 3], column.to_vec()]).unwrap();
            let mut values = [4.0, 6.0, 8.0].map(DoubleDouble::from);
            let parts = basis.remove_from(&mut values);
            let slope = basis.coefficient(1, &parts).to_f64() * size;
            assert!((slope - 2.0).abs() < 1e-14, "{size}: {slope}");
            let error = basis.error(1).to_f64() * size;
            assert!((error - 0.5_f64.sqrt()).abs() < 1e-14, "{size}: {error}");
        }
    }

    #[test]
    fn what_only_rounding_tells_apart_is_dependent() {
        let x: Vec<f64> = (0..50).map(|i| f64::from(i).sqrt()).collect();
        let rounded = |factor: f64| x.iter().map(|x| (x * factor).into()).collect();
        let columns: [Vec<DoubleDouble>; 2] = [rounded(1.0), rounded(0.1)];
        assert_eq!(Basis::new(&columns).err(), Some(FitError::Dependent));
    }
}
