//! Lengths of time in an experiment as picoseconds, and what they are in records.

use delaylab_model::quantity::Duration;
use delaylab_model::refusal::{Refusal, refuse};
use delaylab_model::{Nanos, PICOS_PER_NANO, Picos, SECOND};

/// A clock in picoseconds lasts 213 days; nothing in an experiment may last half as long.
const LONGEST: Nanos = 100 * 86_400 * SECOND;

/// Is this a length of time that such a clock has?
///
/// # Errors
/// It is below zero, or too long.
pub fn in_time(field: impl Into<String>, length: Option<Duration>) -> Result<(), Refusal> {
    match length {
        Some(Duration(nanos)) if nanos < 0 => refuse(field, "a time is not below zero"),
        Some(Duration(nanos)) if nanos > LONGEST => refuse(field, "a time is at most 100 days"),
        _ => Ok(()),
    }
}

/// Records count whole nanoseconds: what has begun counts, so that stamps keep their order.
#[inline]
pub const fn nanos(at: Picos) -> Nanos {
    (at / PICOS_PER_NANO) as Nanos
}

/// In picoseconds; nothing is zero.
pub fn picos(length: Option<Duration>) -> Picos {
    length.map_or(0, Duration::picos)
}
