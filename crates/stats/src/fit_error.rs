//! Why a linear model cannot be fitted.

/// Why there is no fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FitError {
    /// Fewer observations than coefficients.
    #[error("fewer observations than coefficients")]
    TooFew,
    /// A column is a combination of the others, up to what a float can tell.
    #[error("a term of the model is a combination of the others")]
    Dependent,
    /// A value that is not a finite number, or columns of unequal length.
    #[error("a value is not a finite number, or columns differ in length")]
    NotFinite,
}
