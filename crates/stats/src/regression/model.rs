//! What is fitted: a sum of terms, each a product of powers of the factors.

use crate::double_double::DoubleDouble;

/// A linear model of named factors. Terms stand in the order in which they were added; one that was
/// added twice makes the fit fail as dependent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    factors: Vec<String>,
    terms: Vec<Term>,
}

/// The exponent of each factor.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Term(Vec<u32>);

impl Model {
    /// Of these factors, without a term yet.
    pub fn new<Name: Into<String>>(factors: impl IntoIterator<Item = Name>) -> Self {
        Self {
            factors: factors.into_iter().map(Into::into).collect(),
            terms: Vec::new(),
        }
    }

    /// A constant and all powers of one factor up to this degree.
    pub fn polynomial(factor: impl Into<String>, degree: u32) -> Self {
        let constant = Self::new([factor]).constant();
        (1..=degree).fold(constant, |model, exponent| model.power(0, exponent))
    }

    /// And a constant.
    #[must_use]
    pub fn constant(self) -> Self {
        self.interaction(&[])
    }

    /// And this factor itself, by its index.
    ///
    /// # Panics
    /// Where there is no such factor.
    #[must_use]
    pub fn linear(self, factor: usize) -> Self {
        self.interaction(&[factor])
    }

    /// And this power of a factor.
    ///
    /// # Panics
    /// Where there is no such factor.
    #[must_use]
    pub fn power(self, factor: usize, exponent: u32) -> Self {
        self.interaction(&vec![factor; exponent as usize])
    }

    /// And the product of these factors; one that is named twice is squared.
    ///
    /// # Panics
    /// Where there is no such factor.
    #[must_use]
    pub fn interaction(mut self, factors: &[usize]) -> Self {
        let mut exponents = vec![0; self.factors.len()];
        factors.iter().for_each(|&factor| exponents[factor] += 1);
        self.terms.push(Term(exponents));
        self
    }

    /// How many factors it has.
    pub fn factors(&self) -> usize {
        self.factors.len()
    }

    /// Names of its terms: `constant`, `size`, `size^2`, `size × buffer`.
    pub fn terms(&self) -> Vec<String> {
        let name = |term: &Term| term.name(&self.factors);
        self.terms.iter().map(name).collect()
    }

    /// A column for each term, of `count` observations.
    pub(super) fn columns(&self, factors: &[Vec<f64>], count: usize) -> Vec<Vec<DoubleDouble>> {
        let zero = vec![DoubleDouble::ZERO; factors.len()];
        self.columns_about(&zero, factors, count)
    }

    /// The same, of the factors less these values.
    pub(super) fn columns_about(
        &self,
        centres: &[DoubleDouble],
        factors: &[Vec<f64>],
        count: usize,
    ) -> Vec<Vec<DoubleDouble>> {
        let level = |factor: usize, at: usize| DoubleDouble::from(factors[factor][at]);
        let away = |factor: usize, at: usize| level(factor, at) - centres[factor];
        let column = |term: &Term| {
            let value = |at| term.value(|factor| away(factor, at));
            (0..count).map(value).collect()
        };
        self.terms.iter().map(column).collect()
    }

    /// Which terms are not the constant.
    pub(super) fn varying(&self) -> impl Iterator<Item = usize> {
        let indices = 0..self.terms.len();
        indices.filter(|&index| self.terms[index].0.iter().any(|&exponent| exponent > 0))
    }
}

impl Term {
    fn value(&self, level: impl Fn(usize) -> DoubleDouble) -> DoubleDouble {
        let powers = self.0.iter().enumerate();
        powers
            .map(|(factor, &exponent)| level(factor).power(exponent))
            .fold(DoubleDouble::ONE, |product, power| product * power)
    }

    fn name(&self, factors: &[String]) -> String {
        let powers = self.0.iter().zip(factors);
        let parts: Vec<String> = powers
            .filter_map(|(exponent, factor)| match exponent {
                0 => None,
                1 => Some(factor.clone()),
                _ => Some(format!("{factor}^{exponent}")),
            })
            .collect();
        if parts.is_empty() {
            return "constant".to_owned();
        }
        parts.join(" × ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_columns_of_terms() {
        let model = Model::new(["size", "buffer"])
            .constant()
            .linear(1)
            .power(0, 2)
            .interaction(&[0, 1, 1]);
        let names = ["constant", "buffer", "size^2", "size × buffer^2"];
        assert_eq!(model.terms(), names);
        assert_eq!(model.varying().collect::<Vec<_>>(), [1, 2, 3]);
        let columns = model.columns(&[vec![3.0], vec![5.0]], 1);
        let values = columns.iter().map(|column| column[0].to_f64());
        assert_eq!(values.collect::<Vec<_>>(), [1.0, 5.0, 9.0, 75.0]);
        let centres = [1.0.into(), 4.0.into()];
        let columns = model.columns_about(&centres, &[vec![3.0], vec![5.0]], 1);
        let values = columns.iter().map(|column| column[0].to_f64());
        assert_eq!(values.collect::<Vec<_>>(), [1.0, 1.0, 4.0, 2.0]);
    }

    #[test]
    fn a_polynomial_has_all_powers() {
        let terms = Model::polynomial("x", 3).terms();
        assert_eq!(terms, ["constant", "x", "x^2", "x^3"]);
    }

    #[test]
    fn powers_keep_more_digits_than_a_float_has() {
        let x = 1.0 + f64::EPSILON;
        let columns = Model::polynomial("x", 2).columns(&[vec![x]], 1);
        let rounded = DoubleDouble::from(x * x);
        assert_eq!((columns[2][0] - rounded).to_f64(), f64::EPSILON.powi(2));
    }
}
