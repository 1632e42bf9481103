//! Sides of a bound: which values lie beyond it.

/// Which side of a bound is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beyond {
    /// Below it.
    Less,
    /// At or below it.
    AtMost,
    /// Above it.
    More,
    /// At or above it.
    AtLeast,
}

impl Beyond {
    /// Is `value` on this side of `bound`? NaN is on neither.
    pub fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Beyond::Less => value < bound,
            Beyond::AtMost => value <= bound,
            Beyond::More => value > bound,
            Beyond::AtLeast => value >= bound,
        }
    }

    /// The side on which the bound is of a value that is on this side of it.
    #[must_use]
    pub const fn turned_round(self) -> Self {
        match self {
            Beyond::Less => Beyond::More,
            Beyond::AtMost => Beyond::AtLeast,
            Beyond::More => Beyond::Less,
            Beyond::AtLeast => Beyond::AtMost,
        }
    }

    /// The side of the values that are not on this one.
    #[must_use]
    pub const fn others(self) -> Self {
        match self {
            Beyond::Less => Beyond::AtLeast,
            Beyond::AtMost => Beyond::More,
            Beyond::More => Beyond::AtMost,
            Beyond::AtLeast => Beyond::Less,
        }
    }

    /// The quantile beyond which this share of values lies on this side.
    pub(crate) fn outermost(self, share: f64) -> f64 {
        match self {
            Beyond::Less | Beyond::AtMost => share.min(0.5),
            Beyond::More | Beyond::AtLeast => 1.0 - share.min(0.5),
        }
    }

    /// Of two bounds the one that has more values beyond it.
    pub(crate) fn nearer(self, a: f64, b: f64) -> f64 {
        match self {
            Beyond::Less | Beyond::AtMost => a.max(b),
            Beyond::More | Beyond::AtLeast => a.min(b),
        }
    }
}
