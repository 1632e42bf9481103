//! `delaylab verify`: one JSON document and its JSON Schema.

use crate::json::{Measured, Published, Reasons, with_reasons};
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
    pub files: Measured<u64>,
    /// How many bytes these have; null without a manifest.
    pub bytes: Measured<u64>,
    /// What is wrong, file by file.
    pub wrong: Vec<Wrong<'a>>,
    /// Why fields of this object are null.
    #[serde(skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
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
    let no_manifest = || "it has no manifest that can be read".to_owned();
    with_reasons!(Looked {
        folder,
        state: run.state.name(),
        verdict: verdict(run),
        files: Measured::or(run.files, no_manifest),
        bytes: Measured::or(run.files.map(|_| run.bytes), no_manifest),
        wrong: wrong.collect(),
    })
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
        let reasons = &document["runs"][1]["reasons"];
        assert_eq!(reasons["bytes"], "it has no manifest that can be read");
        assert!(document["runs"][0]["reasons"].is_null());
        let denied = [("manifest.json", "may not be read by this user")];
        let found = [("c".to_owned(), run(None, &denied))];
        let document = serde_json::to_value(Document::new(&found)).unwrap();
        assert_eq!(document["runs"][0]["verdict"], "unreadable");
    }
}
