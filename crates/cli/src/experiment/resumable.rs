//! What is said of a run that did not come to its end: how to go on with it.

use crate::exit::Failed;
use delaylab_model::shell::quoted;

/// How to go on with what is in this folder.
pub fn how_to_resume(folder: &str) -> String {
    format!(
        "What was recorded is in {folder}. Continue with `delaylab resume {}`",
        quoted(folder)
    )
}

/// A failure after which the run in this folder can be resumed, with how.
pub fn resumable(failed: Failed, folder: &str) -> Failed {
    failed.and(&how_to_resume(folder))
}
