//! `delaylab verify`: one JSON document and its JSON Schema.

use crate::json::Published;
use delaylab_store::verify::{Mismatch, Verified};
use schemars::JsonSchema;
use serde::Serialize;

/// What `delaylab verify --json` prints.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Document<'a> {
    /// Is nothing wrong with any run?
    pub intact: bool,
    /// Each run that was looked at.
    pub runs: Vec<Looked<'a>>,
}

/// What was asked for.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Config<'a> {
    /// The runs, and directories of runs, as named by the user.
    pub runs: &'a [String],
}

impl<'a> Published for Document<'a> {
    type Config = Config<'a>;
    const SCHEMA: &'static str = "delaylab/verify/2";
    const TITLE: &'static str = "delaylab verify";
}

/// A run that was looked at.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Looked<'a> {
    /// Where it is.
    pub folder: &'a str,
    /// `complete`, or `partial`: in progress, or interrupted.
    pub state: &'static str,
    /// `intact`: as recorded; `unlisted`: it has no manifest, and every row can be read; `damaged`; `unreadable`: this user may not read it.
    pub verdict: &'static str,
    /// How many files its manifest lists; null without one.
    pub files: Option<u64>,
    /// How many bytes these have; null without a manifest.
    pub bytes: Option<u64>,
    /// What is wrong, file by file.
    pub wrong: Vec<Wrong<'a>>,
}

/// A file that is not what was recorded.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Wrong<'a> {
    /// Its path within the run.
    pub file: &'a str,
    /// What is wrong with it, in words.
    pub reason: &'a str,
}

impl<'a> Document<'a> {
    /// Of these runs, each by its name.
    pub fn new(found: &'a [(String, Verified)]) -> Self {
        Self {
            intact: found.iter().all(|(_, run)| run.wrong.is_empty()),
            runs: found.iter().map(|(name, run)| looked(name, run)).collect(),
        }
    }
}

fn looked<'a>(folder: &'a str, run: &'a Verified) -> Looked<'a> {
    let wrong = run.wrong.iter().map(|mismatch| Wrong {
        file: &mismatch.file,
        reason: &mismatch.why,
    });
    Looked {
        folder,
        state: run.state.name(),
        verdict: verdict(run),
        files: run.files,
        bytes: run.files.map(|_| run.bytes),
        wrong: wrong.collect(),
    }
}

fn verdict(run: &Verified) -> &'static str {
    match (run.wrong.is_empty(), run.files) {
        (false, _) if run.wrong.iter().all(Mismatch::is_denied) => "unreadable",
        (false, _) => "damaged",
        (true, Some(_)) => "intact",
        (true, None) => "unlisted",
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::samples::verified as run;

    #[test]
    fn the_document_says_the_same() {
        let found = [
            ("a".to_owned(), run(Some(7), &[])),
            ("b".to_owned(), run(None, &[("records.parquet", "missing")])),
        ];
        let document = serde_json::to_value(Document::new(&found)).unwrap();
        assert_eq!(document["intact"], false);
        assert_eq!(document["runs"][0]["verdict"], "intact");
        assert_eq!(document["runs"][1]["verdict"], "damaged");
        assert!(document["runs"][1]["bytes"].is_null());
        let denied = [("manifest.json", "may not be read by this user")];
        let found = [("c".to_owned(), run(None, &denied))];
        let document = serde_json::to_value(Document::new(&found)).unwrap();
        assert_eq!(document["runs"][0]["verdict"], "unreadable");
    }
}
