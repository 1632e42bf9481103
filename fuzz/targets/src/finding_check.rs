//! Checks of findings, limits of comparisons, and selectors: what is read is written and read as the same; what is
//! not is pointed at.

use crate::text::{self, text};
use delaylab_lab::experiment::catalogue::catalogue;
use delaylab_lab::finding::{Check, Limit, Selection};

/// Checks one input.
pub fn check(data: &[u8]) {
    let text = text(data);
    match Check::parse(text) {
        Ok(check) => {
            check.names();
            assert_eq!(Check::parse(&check.to_string()).ok(), Some(check));
        }
        Err(error) => {
            assert!(error.span.end <= text.len());
            error.pretty(text);
        }
    }
    match Limit::parse(text) {
        Ok(limit) => assert_eq!(Limit::parse(&limit.to_string()).ok(), Some(limit)),
        Err(error) => {
            error.pretty(text);
        }
    }
    if let Err(error) = Selection::parse(text) {
        error.pretty(text);
    }
}

/// Valid inputs: the checks of the catalogue, and a few of what it lacks.
pub fn seeds() -> Vec<Vec<u8>> {
    let lines = catalogue().iter().flat_map(|entry| entry.text.lines());
    let checks = lines.filter_map(|line| line.strip_prefix("check = \"")?.strip_suffix('"'));
    let others = [
        "p99(response) < +10%",
        "mean(queueing) > 20us",
        "wait=1ms, condition in [quiet, normal]",
    ];
    text::seeds(checks.chain(others))
}
