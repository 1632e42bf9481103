//! Steps that were found and fitted, and what their coefficients make of a size.

use super::columns::{Beside, Found};
use crate::least_squares::Fit;

/// Steps that were found.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Chosen {
    pub(super) found: Found,
    pub(super) beside: Beside,
    /// Index of the smallest size beyond a jump beside them.
    pub(super) jump: Option<usize>,
    pub(super) fit: Fit,
    pub(super) delta_bic: f64,
    pub(super) chance: f64,
}

impl Chosen {
    /// What the fit leaves.
    pub(super) fn squares(&self) -> f64 {
        squares_of(&self.fit)
    }

    /// Its coefficients.
    pub(super) fn model(&self) -> Model {
        Model::new(&self.fit, self.beside, self.jump)
    }
}

/// What a fit leaves.
pub(super) fn squares_of(fit: &Fit) -> f64 {
    fit.residual_sd.unwrap_or(0.0).powi(2) * f64::from(fit.degrees)
}

/// Coefficients of steps.
#[derive(Debug, Clone, Copy)]
pub(super) struct Model {
    pub(super) intercept: f64,
    pub(super) step: f64,
    pub(super) slope: f64,
    /// Index of the smallest size beyond a jump, and its height.
    pub(super) jump: Option<(usize, f64)>,
}

impl Model {
    pub(super) fn new(fit: &Fit, beside: Beside, jump: Option<usize>) -> Self {
        let of = |index: usize| fit.coefficients.get(index).map_or(0.0, |c| c.value);
        let (slope, last) = match beside {
            Beside::Constant => (0.0, 2),
            Beside::Line => (of(2), 3),
        };
        Self {
            intercept: of(0),
            step: of(1),
            slope,
            jump: jump.map(|index| (index, of(last))),
        }
    }

    /// 0 without a jump.
    pub(super) fn jump_height(&self) -> f64 {
        self.jump.map_or(0.0, |(_, height)| height)
    }

    /// Of these sizes, which are on these levels.
    pub(super) fn delays(&self, sizes: &[f64], column: &[f64]) -> Vec<f64> {
        let pairs = sizes.iter().zip(column).enumerate();
        pairs
            .map(|(index, (size, level))| {
                self.intercept + self.step * level + self.slope * size + self.jump_at(index)
            })
            .collect()
    }

    /// Delays as they would be without the jump.
    pub(super) fn less_jump(&self, delays: &[f64]) -> Vec<f64> {
        let pairs = delays.iter().enumerate();
        pairs
            .map(|(index, delay)| delay - self.jump_at(index))
            .collect()
    }

    fn jump_at(&self, index: usize) -> f64 {
        let jump = self.jump.filter(|(first, _)| index >= *first);
        jump.map_or(0.0, |(_, height)| height)
    }
}
