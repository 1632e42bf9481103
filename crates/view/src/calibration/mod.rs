//! A calibrated path, and what a change would make of it.
//!
//! | file | makes |
//! |---|---|
//! | `words.rs` | what was found, as rows of words that the faces share |
//! | `json.rs` | one JSON document, times in whole nanoseconds |

mod json;
#[cfg(any(test, feature = "samples"))]
pub mod samples;
pub mod words;

pub use json::{Calibration, Config, PredictionConfig, Predictions};

use delaylab_explain::calibrate;
use delaylab_explain::calibrate::overlay::Pair;
use delaylab_explain::calibrate::prediction::Predicted;

/// What `delaylab calibrate` shows.
#[derive(Debug)]
pub struct Calibrated<'a> {
    /// The measured run.
    pub run: &'a str,
    /// The model's run; `None`: nothing could be made a model of.
    pub model: Option<&'a str>,
    /// What was found.
    pub found: &'a calibrate::Calibration,
    /// Measured and simulated.
    pub pairs: &'a [Pair],
}

/// What `delaylab predict` shows.
#[derive(Debug)]
pub struct Prediction<'a> {
    /// The measured run.
    pub run: &'a str,
    /// The run of the changed model.
    pub model: &'a str,
    /// What was changed, path and value.
    pub sets: &'a [(String, String)],
    /// What was found of the path.
    pub found: &'a calibrate::Calibration,
    /// Before and after.
    pub groups: &'a [Predicted],
}
