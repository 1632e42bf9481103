//! Findings as they are written, and what is wrong with their checks.

use super::diagnostic::{Origin, Problem, Source};
use super::tree::{Key, Node};
use crate::finding::Check;
use delaylab_model::experiment::Finding;
use std::ops::Range;

/// A finding as the file has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindingText {
    /// Its number.
    pub id: String,
    /// The claim in words.
    pub says: String,
    /// The claim as a comparison of statistics.
    pub check: String,
    at: Origin,
}

impl FindingText {
    /// Bytes of the check as bytes of the source: exact where the text has no escapes.
    pub(super) fn within(&self, span: Range<usize>, sources: &[Source]) -> Origin {
        let written = sources
            .get(self.at.source)
            .and_then(|source| source.text.get(self.at.span.clone()))
            .and_then(|text| text.find(&self.check));
        let Some(quotes) = written else {
            return self.at.clone();
        };
        let start = self.at.span.start + quotes;
        Origin {
            source: self.at.source,
            span: start + span.start..start + span.end,
        }
    }
}

/// The findings of a tree, each with where its check is written.
pub(super) fn texts(root: &Node, findings: Vec<Finding>) -> Vec<FindingText> {
    let nodes = root.table().and_then(|table| table.get("finding"));
    let nodes = nodes.and_then(Node::array).unwrap_or_default();
    let check = [Key::Name("check".to_owned())];
    findings
        .into_iter()
        .zip(nodes)
        .map(|(finding, node)| FindingText {
            id: finding.id,
            says: finding.says,
            check: finding.check,
            at: node.nearest(&check).at.clone(),
        })
        .collect()
}

/// Checks that are not written in their language.
pub(super) fn wrong_checks(findings: &[FindingText], sources: &[Source]) -> Vec<Problem> {
    findings
        .iter()
        .filter_map(|finding| {
            let error = Check::parse(&finding.check).err()?;
            let at = finding.within(error.span.start..error.span.end, sources);
            Some(Problem::new(&at, error.message))
        })
        .collect()
}
