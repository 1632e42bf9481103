//! What a procedure found about one frame size.

use crate::bench::Stop;
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
}

impl<F> AtSize<F> {
    /// Of this outcome, and of the trials that it took.
    pub(crate) fn new(
        size: u32,
        outcome: Result<F, Stop>,
        trials: usize,
        invalid: u32,
        left_out: u32,
    ) -> Self {
        let (found, why) = match outcome {
            Ok(found) => (Some(found), None),
            Err(stop) => (None, Some(stop)),
        };
        Self {
            size,
            found,
            why,
            trials,
            invalid,
            left_out,
        }
    }

    /// Is something to be found about it that the trials did not give? Where the device has nothing that the procedure looks
    /// for, nothing is missing.
    pub(crate) const fn is_missing(&self) -> bool {
        !matches!(self.why, None | Some(Stop::Unfit(_)))
    }
}
