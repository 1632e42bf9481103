//! Linear least squares by QR in double-double: never by normal equations, which square the
//! condition.
//!
//! What goes in are floats, so the answer is good to about 15 digits for any columns that floats
//! can tell apart, and refused for others. Powers and products of a factor are better left to
//! [`crate::regression`], which forms them in double-double: rounded to floats first they are other
//! columns, and a polynomial of degree ten (NIST's Filip) keeps eight digits.

use crate::double_double::DoubleDouble;
pub use crate::fit_error::FitError;
use crate::gram_schmidt::{Basis, dot, norm, to_unit};
use crate::interval::CONFIDENCE;
use crate::{student, tail};

/// What is this small against the observations is a rounding error of the arithmetic: an exact
/// answer of zero. Double-double has 2⁻¹⁰⁴; the rest is for long sums.
const NOISE: f64 = 1.0 / (1_u128 << 90) as f64;

/// How far off an estimate may be, and whether it can be told from zero.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Inference {
    /// Standard error.
    pub error: f64,
    /// Estimate over standard error; zero where both are zero, infinite where only the error is.
    pub t: f64,
    /// Two-sided p value of `t`.
    pub p: f64,
    /// Ends of the 95 % interval.
    pub interval: (f64, f64),
}

impl Inference {
    /// `factor` is Student's t of 95 % for these `degrees`, at least one.
    pub(crate) fn new(value: f64, error: f64, factor: f64, degrees: u32) -> Self {
        let t = if value == 0.0 { 0.0 } else { value / error };
        Self {
            error,
            t,
            p: student::beyond(t, degrees),
            interval: (value - factor * error, value + factor * error),
        }
    }
}

/// A coefficient and what is known of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Coefficient {
    /// Its estimate.
    pub value: f64,
    /// For independent errors of one variance. `None` without a degree of freedom.
    pub inference: Option<Inference>,
}

impl Coefficient {
    /// Its 95 % interval; all there is without a degree of freedom.
    pub fn interval(&self) -> (f64, f64) {
        let unbounded = (f64::NEG_INFINITY, f64::INFINITY);
        self.inference
            .map_or(unbounded, |inference| inference.interval)
    }
}

/// A test by Fisher's F.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FTest {
    /// Ratio of the two variances. Infinite where the lower one is zero.
    pub f: f64,
    /// Degrees of freedom of the upper and of the lower variance.
    pub degrees: (u32, u32),
    /// Probability of a larger ratio by chance.
    pub p: f64,
}

impl FTest {
    /// Of two sums of squares. `None` where both are zero or one has no degree of freedom.
    pub(crate) fn new(squares: (f64, f64), degrees: (u32, u32)) -> Option<Self> {
        let known = degrees.0 > 0 && degrees.1 > 0 && squares != (0.0, 0.0);
        let f = squares.0 / f64::from(degrees.0) / (squares.1 / f64::from(degrees.1));
        known.then(|| Self {
            f,
            degrees,
            p: tail::fisher(f, degrees),
        })
    }
}

/// A fitted linear model.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// One for each column, in their order.
    pub coefficients: Vec<Coefficient>,
    /// How many observations there are.
    pub observations: usize,
    /// Observations less coefficients.
    pub degrees: u32,
    /// Standard deviation of the residuals, by `degrees`. `None` without one.
    pub residual_sd: Option<f64>,
    /// Share of the variation explained; about zero where the model has no constant. 1 where there
    /// is no variation to explain.
    pub r2: f64,
    /// `r2`, less what as many useless columns would explain. `None` without a degree of freedom.
    pub adjusted_r2: Option<f64>,
    /// Whether the columns, but for a constant, explain anything. `None` where there are none,
    /// without a degree of freedom, and where there is no variation to explain.
    pub f: Option<FTest>,
}

/// `y = a + b·x`: the constant first, then the slope.
pub fn line(x: &[f64], y: &[f64]) -> Result<Fit, FitError> {
    least_squares(&[vec![1.0; x.len()], x.to_vec()], y)
}

/// Fits `y` as a combination of `columns`. A column of ones makes it a model with a constant.
pub fn least_squares(columns: &[Vec<f64>], y: &[f64]) -> Result<Fit, FitError> {
    let exact = |column: &Vec<f64>| column.iter().map(|&value| value.into()).collect();
    let columns: Vec<Vec<DoubleDouble>> = columns.iter().map(exact).collect();
    Ok(Solution::new(&columns, y)?.fit)
}

/// A fit, and what of it further statistics are made of.
#[derive(Debug, Clone)]
pub(crate) struct Solution {
    pub(crate) fit: Fit,
    pub(crate) basis: Basis,
    pub(crate) fitted: Vec<DoubleDouble>,
    pub(crate) residuals: Vec<f64>,
}

impl Solution {
    pub(crate) fn new(columns: &[Vec<DoubleDouble>], y: &[f64]) -> Result<Self, FitError> {
        check(columns, y)?;
        let basis = Basis::new(columns)?;
        // Squares of what is near one neither overflow nor lose digits.
        let scale = to_unit(y.iter().copied());
        let target: Vec<DoubleDouble> = y.iter().map(|y| (y * scale).into()).collect();
        let noise = norm(&target).to_f64() * NOISE;
        let mut rest = target.clone();
        let parts = basis.remove_from(&mut rest);
        if norm(&rest).to_f64() <= noise {
            rest.fill(DoubleDouble::ZERO);
        }
        let has_constant = columns.iter().any(|column| is_constant(column));
        let squares = Squares {
            rest: dot(&rest, &rest),
            total: total_squares(&target, has_constant),
            coefficients: columns.len() as u32,
            has_constant,
        };
        let degrees = (y.len() - columns.len()) as u32;
        let sd = squares.residual_sd(degrees);
        let factor = student::two_sided(CONFIDENCE, degrees);
        let coefficient = |column| {
            let error = basis.error(column).to_f64();
            let value = basis.coefficient(column, &parts).to_f64();
            let is_noise = value.abs() <= noise * error;
            let value = if is_noise { 0.0 } else { value / scale };
            let inference = |sd| Inference::new(value, sd * error / scale, factor, degrees);
            Coefficient {
                value,
                inference: sd.map(inference),
            }
        };
        let fit = Fit {
            coefficients: (0..columns.len()).map(coefficient).collect(),
            observations: y.len(),
            degrees,
            residual_sd: sd.map(|sd| sd / scale),
            r2: squares.r2(),
            adjusted_r2: squares.adjusted_r2(degrees),
            f: squares.f(degrees),
        };
        let unscaled = |value: DoubleDouble| value.scaled(1.0 / scale);
        let pairs = target.iter().zip(&rest);
        Ok(Self {
            fit,
            basis,
            fitted: pairs.map(|(&y, &rest)| unscaled(y - rest)).collect(),
            residuals: rest.iter().map(|&rest| unscaled(rest).to_f64()).collect(),
        })
    }
}

fn check(columns: &[Vec<DoubleDouble>], y: &[f64]) -> Result<(), FitError> {
    let finite = |column: &[DoubleDouble]| column.iter().all(|value| value.is_finite());
    let whole = |column: &Vec<DoubleDouble>| column.len() == y.len() && finite(column);
    if !(y.iter().all(|y| y.is_finite()) && columns.iter().all(whole)) {
        return Err(FitError::NotFinite);
    }
    if columns.is_empty() || y.len() < columns.len() {
        return Err(FitError::TooFew);
    }
    Ok(())
}

pub(crate) fn is_constant(column: &[DoubleDouble]) -> bool {
    column[0] != DoubleDouble::ZERO && column.iter().all(|&value| value == column[0])
}

/// Sum of the squares about the mean, or about zero. Exactly zero for equal values about their
/// mean.
pub(crate) fn total_squares(values: &[DoubleDouble], about_mean: bool) -> DoubleDouble {
    if !about_mean {
        return dot(values, values);
    }
    let away = |value: &DoubleDouble| *value - values[0];
    let mean = values.iter().map(away).sum::<DoubleDouble>() / (values.len() as f64).into();
    let squared = |value: &DoubleDouble| (away(value) - mean).squared();
    values.iter().map(squared).sum()
}

/// The analysis of variance.
struct Squares {
    rest: DoubleDouble,
    total: DoubleDouble,
    coefficients: u32,
    has_constant: bool,
}

impl Squares {
    fn residual_sd(&self, degrees: u32) -> Option<f64> {
        (degrees > 0).then(|| (self.rest / f64::from(degrees).into()).sqrt().to_f64())
    }

    fn unexplained(&self) -> DoubleDouble {
        if self.total == DoubleDouble::ZERO {
            return DoubleDouble::ZERO;
        }
        self.rest / self.total
    }

    fn r2(&self) -> f64 {
        (DoubleDouble::ONE - self.unexplained()).to_f64()
    }

    /// Columns beside the constant.
    fn explaining(&self) -> u32 {
        self.coefficients - u32::from(self.has_constant)
    }

    fn adjusted_r2(&self, degrees: u32) -> Option<f64> {
        let ratio = f64::from(degrees + self.explaining()) / f64::from(degrees);
        let adjusted = || DoubleDouble::ONE - self.unexplained() * ratio.into();
        (degrees > 0).then(|| adjusted().to_f64())
    }

    fn f(&self, degrees: u32) -> Option<FTest> {
        let explained = (self.total - self.rest).to_f64().max(0.0);
        let squares = (explained, self.rest.to_f64());
        FTest::new(squares, (self.explaining(), degrees))
            .filter(|_| self.total > DoubleDouble::ZERO)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    /// By hand: y = 3/2 + 3x/5 leaves −1/10, 3/10, −3/10, 1/10, squares of 1/5, of 2 in all.
    #[test]
    fn a_line_through_four_points() {
        let fit = line(&[0.0, 1.0, 2.0, 3.0], &[1.4, 2.4, 2.4, 3.4]).unwrap();
        let near = |found: f64, expected: f64| (found - expected).abs() < 1e-14;
        assert!(near(fit.coefficients[0].value, 1.5) && near(fit.coefficients[1].value, 0.6));
        assert_eq!((fit.observations, fit.degrees), (4, 2));
        assert!(near(fit.residual_sd.unwrap(), 0.1_f64.sqrt()));
        assert!(near(fit.r2, 0.9) && near(fit.adjusted_r2.unwrap(), 0.85));
        // F of one column is its t squared, with the same p.
        let f = fit.f.unwrap();
        let slope = fit.coefficients[1].inference.unwrap();
        assert!(near(f.f / 18.0, 1.0) && near(slope.t * slope.t / 18.0, 1.0));
        assert!(near(f.p, slope.p) && f.degrees == (1, 2));
        assert!(near(slope.error, 0.02_f64.sqrt()));
        // Student's t has a closed form for two degrees: p √(2/(1 − p²)).
        let half = 0.95 * f64::sqrt(2.0 / 0.0975) * slope.error;
        assert!(near(slope.interval.0, 0.6 - half) && near(slope.interval.1, 0.6 + half));
    }

    #[test]
    fn without_a_constant_variation_is_about_zero() {
        let fit = least_squares(&[vec![1.0, 2.0]], &[1.0, 3.0]).unwrap();
        // The slope is 7/5 and leaves 1/5 of 10.
        assert!((fit.r2 - 0.98).abs() < 1e-15);
        assert!((fit.adjusted_r2.unwrap() - 0.96).abs() < 1e-15);
        assert!((fit.f.unwrap().f - 49.0).abs() < 1e-13);
        let constant = least_squares(&[ones(3)], &[1.0, 2.0, 3.0]).unwrap();
        assert_eq!((constant.r2, constant.f), (0.0, None));
    }

    fn ones(count: usize) -> Vec<f64> {
        vec![1.0; count]
    }

    #[test]
    fn refuses_what_has_no_answer() {
        assert_eq!(line(&[1.0], &[1.0]), Err(FitError::TooFew));
        assert_eq!(line(&[], &[]), Err(FitError::TooFew));
        assert_eq!(line(&[2.0; 4], &[1.0; 4]), Err(FitError::Dependent));
        assert_eq!(
            line(&[1.0, f64::NAN], &[1.0, 2.0]),
            Err(FitError::NotFinite)
        );
        assert_eq!(line(&[1.0, 2.0], &[1.0]), Err(FitError::NotFinite));
        let zeros = [ones(3), vec![0.0; 3]];
        assert_eq!(least_squares(&zeros, &[1.0; 3]), Err(FitError::Dependent));
    }

    #[test]
    fn two_points_leave_no_degree_of_freedom() {
        let fit = line(&[1.0, 2.0], &[3.0, 5.0]).unwrap();
        assert!((fit.coefficients[1].value - 2.0).abs() < 1e-12);
        assert_eq!((fit.degrees, fit.r2), (0, 1.0));
        assert_eq!(
            (fit.residual_sd, fit.adjusted_r2, fit.f),
            (None, None, None)
        );
        assert_eq!(fit.coefficients[1].inference, None);
    }

    proptest! {
        #[test]
        fn a_line_is_found_again(
            a in -1e6..1e6_f64, b in -1e3..1e3_f64,
            x in proptest::collection::btree_set(0_u16..10_000, 3..40),
        ) {
            let x: Vec<f64> = x.into_iter().map(f64::from).collect();
            let y: Vec<f64> = x.iter().map(|x| a + b * x).collect();
            let fit = line(&x, &y).unwrap();
            let scale = y.iter().fold(1.0_f64, |most, y| most.max(y.abs()));
            let slope_scale = scale / (x[x.len() - 1] - x[0]);
            prop_assert!((fit.coefficients[1].value - b).abs() < 1e-9 * slope_scale.max(1.0));
            prop_assert!(fit.r2 > 1.0 - 1e-6 || b.abs() < 1e-3);
        }
    }
}
