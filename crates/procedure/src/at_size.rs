//! What a procedure found about one frame size.

use crate::bench::{Bench, Stop};
use schemars::JsonSchema;
use serde::Serialize;

/// What was found about a frame size, or why nothing was.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct AtSize<F> {
    /// Bytes, with the frame check sequence.
    pub size: u32,
    /// What was found.
    pub found: Option<F>,
    /// Why nothing was.
    pub why: Option<Stop>,
    /// Trials that it took.
    pub trials: usize,
    /// How many of them were invalid.
    pub invalid: u32,
    /// Repeats that were never valid and are left out.
    pub left_out: u32,
    /// Repeats that are the same simulation as others, and are not counted again.
    pub alike: u32,
}

/// What was found of each frame size of which something was.
pub(crate) fn all_found<F>(sizes: &[AtSize<F>]) -> impl Iterator<Item = &F> + Clone {
    sizes.iter().filter_map(|at| at.found.as_ref())
}

/// The same with the size.
pub(crate) fn found_by_size<F>(sizes: &[AtSize<F>]) -> impl Iterator<Item = (u32, &F)> {
    sizes
        .iter()
        .filter_map(|at| Some((at.size, at.found.as_ref()?)))
}

impl<F> AtSize<F> {
    /// What came out at the size of this bench, with the trials that it took.
    pub(crate) fn new(bench: &Bench<'_>, outcome: Result<F, Stop>) -> Self {
        let (found, why) = match outcome {
            Ok(found) => (Some(found), None),
            Err(stop) => (None, Some(stop)),
        };
        Self {
            size: bench.size,
            found,
            why,
            trials: bench.at,
            invalid: bench.invalid,
            left_out: bench.left_out,
            alike: bench.alike,
        }
    }

    /// Is something to be found about it that the trials did not give? Where the device has nothing that the procedure looks
    /// for, nothing is missing.
    pub(crate) const fn is_missing(&self) -> bool {
        !matches!(self.why, None | Some(Stop::Unfit(_)))
    }
}
