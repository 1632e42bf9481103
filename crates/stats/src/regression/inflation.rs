//! Variance inflation: how many times larger a coefficient's variance is than if the other terms
//! told nothing of its own (Marquardt 1970). 1 for orthogonal terms; above 10 is commonly held to be
//! trouble.

use super::Regression;
use crate::double_double::DoubleDouble;
use crate::gram_schmidt::{Basis, to_unit};
use crate::least_squares::{is_constant, total_squares};

/// Variance inflation of one term.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Inflation {
    /// Index of the term.
    pub term: usize,
    /// Of the terms as the model has them. Powers and products of factors that lie far from zero
    /// resemble the factors, so that this is large whatever the design.
    pub raw: f64,
    /// Of the same terms made of factors less their means: what the design itself is to blame for
    /// (Marquardt 1980). The same as `raw` where the terms are a constant and factors. `None`
    /// where a term then is a combination of the others.
    pub centred: Option<f64>,
}

impl Regression {
    /// For each term but the constant. Variation is about the mean in a model with a constant, else
    /// about zero.
    pub fn inflation(&self) -> Vec<Inflation> {
        let centres: Vec<_> = self.factors.iter().map(|factor| mean(factor)).collect();
        let observations = self.fit.observations;
        let columns = self
            .model
            .columns_about(&centres, &self.factors, observations);
        let centred = Basis::new(&columns).ok();
        let terms = self.model.varying();
        terms
            .map(|term| Inflation {
                term,
                raw: of_term(&self.columns, &self.solution.basis, term),
                centred: centred.as_ref().map(|basis| of_term(&columns, basis, term)),
            })
            .collect()
    }
}

fn mean(values: &[f64]) -> DoubleDouble {
    let sum: DoubleDouble = values.iter().map(|&value| value.into()).sum();
    sum / (values.len() as f64).into()
}

fn of_term(columns: &[Vec<DoubleDouble>], basis: &Basis, term: usize) -> f64 {
    let about_mean = columns.iter().any(|column| is_constant(column));
    let unit = to_unit(columns[term].iter().map(|value| value.to_f64()));
    let scaled = columns[term].iter().map(|value| value.scaled(unit));
    let spread = total_squares(&scaled.collect::<Vec<_>>(), about_mean).sqrt();
    let error = basis.error(term).scaled(1.0 / unit);
    (error * spread).squared().to_f64()
}
