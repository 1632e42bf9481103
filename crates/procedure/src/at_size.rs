//! What a procedure found about one frame size.

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
    pub why: Option<String>,
    /// Trials that it took.
    pub trials: usize,
    /// How many of them were invalid.
    pub invalid: u32,
    /// Repeats that were never valid and are left out.
    pub left_out: u32,
}
