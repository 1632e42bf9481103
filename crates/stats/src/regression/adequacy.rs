//! What the residuals say of the model: a spread that varies makes plain errors wrong, a wrong form
//! makes the coefficients wrong.

use super::{FTest, Regression};
use crate::double_double::DoubleDouble;
use crate::gram_schmidt::{Basis, dot, to_unit};
use crate::least_squares::Solution;
use crate::tail;
use std::collections::BTreeMap;

/// Squared residuals that differ by less than this share are equal: the rest is rounding.
const EQUAL: f64 = 1e-9;

/// Residuals that are no more than this share of what was observed are its rounding.
const ROUNDING: f64 = 4.0 * f64::EPSILON;

/// A test by χ².
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChiSquaredTest {
    /// What is compared with χ².
    pub statistic: f64,
    /// Its degrees of freedom.
    pub degrees: u32,
    /// Probability of a larger one by chance.
    pub p: f64,
}

impl Regression {
    /// Does the spread of the residuals depend on the terms? The test of Breusch and Pagan 1979 in
    /// Koenker's form of 1981, which needs no normal residuals: n·R² of the squared residuals on
    /// the terms. A small p says that plain errors are wrong.
    ///
    /// `None` for a model of a constant alone, without a degree of freedom, and where nothing is
    /// left over.
    pub fn heteroscedasticity(&self) -> Option<ChiSquaredTest> {
        let degrees = self.model.varying().count() as u32;
        if degrees == 0 || self.fit.degrees == 0 || self.leaves_nothing() {
            return None;
        }
        let unit = to_unit(self.residuals.iter().copied());
        let squares = self.residuals.iter().map(|rest| (rest * unit).powi(2));
        let squares: Vec<f64> = squares.collect();
        let mut columns = self.columns.clone();
        if !self.has_constant() {
            columns.push(vec![DoubleDouble::ONE; squares.len()]);
        }
        let fit = Solution::new(&columns, &squares).ok()?.fit;
        if fit.degrees == 0 {
            return None;
        }
        let as_first = |square: &f64| (square - squares[0]).abs() <= EQUAL * squares[0];
        let r2 = if squares.iter().all(as_first) {
            0.0
        } else {
            fit.r2
        };
        let statistic = squares.len() as f64 * r2;
        Some(ChiSquaredTest {
            statistic,
            degrees,
            p: tail::chi_squared(statistic, degrees),
        })
    }

    /// Is the form of the model right? Ramsey's RESET of 1969: do the square and the cube of what
    /// the model says explain what it leaves over? A small p speaks against the form, for instance
    /// against a straight line.
    ///
    /// `None` where they are combinations of the terms (a line through two levels), for a model of a
    /// constant alone, without a degree of freedom, and where nothing is left over.
    pub fn reset(&self) -> Option<FTest> {
        let mut columns = self.columns.clone();
        let mut fuller = None;
        for power in self.powers_of_fitted() {
            columns.push(power);
            match Basis::new(&columns) {
                Ok(basis) => fuller = Some(basis),
                Err(_) => drop(columns.pop()),
            }
        }
        let basis = fuller.filter(|_| !self.leaves_nothing())?;
        let unit = to_unit(self.residuals.iter().copied());
        let scaled = self.residuals.iter().map(|rest| (rest * unit).into());
        let mut rest: Vec<DoubleDouble> = scaled.collect();
        // The model's own terms explain nothing of its residuals: all this is the powers'.
        let parts = basis.remove_from(&mut rest);
        let squares = (dot(&parts, &parts).to_f64(), dot(&rest, &rest).to_f64());
        let added = (columns.len() - self.columns.len()) as u32;
        FTest::new(squares, (added, self.fit.degrees - added))
    }

    /// Is the form of the model right? Compares what it leaves over between settings of the factors
    /// with what repeats of one setting differ by (Fisher's test of lack of fit). Better than
    /// `reset` where there are repeats. A small p speaks against the form.
    ///
    /// `None` without repeats, where there are no more settings than coefficients, and where
    /// nothing is left over.
    pub fn lack_of_fit(&self) -> Option<FTest> {
        if self.leaves_nothing() {
            return None;
        }
        let mut settings = BTreeMap::<Vec<u64>, Vec<f64>>::new();
        for (at, &rest) in self.residuals.iter().enumerate() {
            // Plus zero, so that −0 is the same level as 0.
            let level = |factor: &Vec<f64>| (factor[at] + 0.0).to_bits();
            let setting = self.factors.iter().map(level).collect();
            settings.entry(setting).or_default().push(rest);
        }
        let (mut between, mut within) = (0.0, 0.0);
        for rests in settings.values() {
            let count = rests.len() as f64;
            let mean = rests.iter().sum::<f64>() / count;
            between += count * mean * mean;
            within += rests.iter().map(|rest| (rest - mean).powi(2)).sum::<f64>();
        }
        let settings_left = settings.len().checked_sub(self.columns.len())?;
        let repeats = self.fit.observations - settings.len();
        FTest::new((between, within), (settings_left as u32, repeats as u32))
    }

    /// Residuals that are no more than the rounding of the observations.
    fn leaves_nothing(&self) -> bool {
        largest(&self.residuals) <= ROUNDING * largest(&self.fitted)
    }

    /// Square and cube of the fitted values about the first, in units near their range: in a model
    /// with a constant that spans the same as powers of the values themselves. Nothing where the
    /// fitted values do not vary.
    fn powers_of_fitted(&self) -> Vec<Vec<DoubleDouble>> {
        let fitted = &self.solution.fitted;
        let away = || fitted.iter().map(|&value| value - fitted[0]);
        let rounded: Vec<f64> = away().map(DoubleDouble::to_f64).collect();
        if largest(&rounded) <= ROUNDING * largest(&self.fitted) {
            return Vec::new();
        }
        let unit = to_unit(rounded.into_iter());
        let power = |exponent| {
            away()
                .map(|away| away.scaled(unit).power(exponent))
                .collect()
        };
        vec![power(2), power(3)]
    }
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most, value| most.max(value.abs()))
}
