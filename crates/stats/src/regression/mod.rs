//! Regression on several factors: what a delay depends on, how surely, and whether the model is apt.
//!
//! | module | holds |
//! |---|---|
//! | `model` | [`Model`]: terms that are products of powers of factors |
//! | `inflation` | [`Inflation`]: how much a term's error owes to the other terms |
//! | `adequacy` | is the spread the same everywhere, and is the model's form the right one? |
//!
//! Powers and products are formed in double-double and fitted there, so that a coefficient is good
//! to 13 digits and more, on the worst of NIST's reference sets too (`tests/strd.rs`).
//!
//! ```
//! use delaylab_stats::regression::Model;
//!
//! let size = vec![64.0, 64.0, 512.0, 512.0, 1518.0, 1518.0];
//! let buffer = vec![10.0, 100.0, 10.0, 100.0, 10.0, 100.0];
//! let delay = [3.1, 3.0, 12.2, 11.9, 32.4, 32.1];
//! let model = Model::new(["size", "buffer"]).constant().linear(0).linear(1);
//! let regression = model.fit(&[size, buffer], &delay).unwrap();
//! let slope = regression.fit.coefficients[1].inference.unwrap();
//! assert!(slope.interval.0 > 0.0195 && slope.interval.1 < 0.0207);
//! assert_eq!(regression.terms, ["constant", "size", "buffer"]);
//! ```

mod adequacy;
mod inflation;
mod model;
#[cfg(test)]
mod tests;

pub use crate::least_squares::{Coefficient, FTest, Fit, FitError, Inference};
pub use adequacy::ChiSquaredTest;
pub use inflation::Inflation;
pub use model::Model;

use crate::double_double::DoubleDouble;
use crate::least_squares::{Solution, is_constant};

/// A model fitted to observations.
#[derive(Debug, Clone)]
pub struct Regression {
    /// Names of the terms, in the order of the coefficients.
    pub terms: Vec<String>,
    /// Coefficients with plain errors, and how well they fit.
    pub fit: Fit,
    /// What the model says of each observation.
    pub fitted: Vec<f64>,
    /// Observations less what the model says.
    pub residuals: Vec<f64>,
    model: Model,
    factors: Vec<Vec<f64>>,
    columns: Vec<Vec<DoubleDouble>>,
    solution: Solution,
}

impl Model {
    /// Fits `y`, of which each observation has its level in each column of `factors`; one column for
    /// each factor of the model, in their order.
    ///
    /// # Errors
    /// `NotFinite` also where a power overflows or there are more or fewer columns than factors;
    /// `TooFew` also for a model without a term.
    pub fn fit(&self, factors: &[Vec<f64>], y: &[f64]) -> Result<Regression, FitError> {
        let unequal = |factor: &Vec<f64>| factor.len() != y.len();
        if factors.len() != self.factors() || factors.iter().any(unequal) {
            return Err(FitError::NotFinite);
        }
        let columns = self.columns(factors, y.len());
        let solution = Solution::new(&columns, y)?;
        let rounded = |value: &DoubleDouble| value.to_f64();
        Ok(Regression {
            terms: self.terms(),
            fit: solution.fit.clone(),
            fitted: solution.fitted.iter().map(rounded).collect(),
            residuals: solution.residuals.clone(),
            model: self.clone(),
            factors: factors.to_vec(),
            columns,
            solution,
        })
    }
}

impl Regression {
    fn has_constant(&self) -> bool {
        self.columns.iter().any(|column| is_constant(column))
    }
}
