//! What is said of a run that did not come to its end: how to go on with it.

use crate::exit::Failed;
use delaylab_model::shell::quoted;
use delaylab_store::killed::Remedy;
use delaylab_store::run::Run;
use std::path::Path;

/// How to go on with what is in this folder: a trial that counts with what is recorded of it is not carried out again.
pub fn how_to_resume(folder: &str) -> String {
    let run = Run::open(Path::new(folder)).ok();
    let how = match run.and_then(|run| run.remedy()) {
        Some(Remedy::Remove) => {
            return format!("No packet is recorded in {folder}. Remove the folder to discard it");
        }
        Some(Remedy::EndAsItStands) => "Make a complete run of it:",
        Some(Remedy::Continue) | None => "Continue with",
    };
    format!(
        "What was recorded is in {folder}. {how} `delaylab resume {}`",
        quoted(folder)
    )
}

/// A failure after which the run in this folder can be resumed, with how.
pub fn resumable(failed: Failed, folder: &str) -> Failed {
    failed.and(&how_to_resume(folder))
}
