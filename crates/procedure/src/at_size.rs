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
    /// Repeats that are the same simulation as others, and are not counted again.
    pub alike: u32,
}

impl<F> AtSize<F> {
    /// Is something to be found about it that the trials did not give? Where the device has nothing that the procedure looks
    /// for, nothing is missing.
    pub(crate) const fn is_missing(&self) -> bool {
        !matches!(self.why, None | Some(Stop::Unfit(_)))
    }
}
