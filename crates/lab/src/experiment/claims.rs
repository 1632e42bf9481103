//! What is wrong with the checks of findings, shown where they are written.

use super::diagnostic::{Origin, Problem, Source};
use super::tree::{Key, Node};
use crate::finding::Check;
use delaylab_model::experiment::Finding;
use std::ops::Range;

/// Checks of a tree's findings that are not written in their language.
pub(super) fn wrong_checks(root: &Node, findings: &[Finding], sources: &[Source]) -> Vec<Problem> {
    let nodes = root.table().and_then(|table| table.get("finding"));
    let nodes = nodes.and_then(Node::array).unwrap_or_default();
    let key = [Key::Name("check".to_owned())];
    let wrong = |(finding, node): (&Finding, &Node)| {
        let error = Check::parse(&finding.check).err()?;
        let span = error.span.start..error.span.end;
        let at = within(&node.nearest(&key).at, &finding.check, span, sources);
        Some(Problem::new(&at, error.message))
    };
    findings.iter().zip(nodes).filter_map(wrong).collect()
}

/// Bytes of a text's value as bytes of the source: exact where the text has no escapes.
fn within(at: &Origin, value: &str, span: Range<usize>, sources: &[Source]) -> Origin {
    let written = sources
        .get(at.source)
        .and_then(|source| source.text.get(at.span.clone()))
        .and_then(|text| text.find(value));
    let Some(quotes) = written else {
        return at.clone();
    };
    let start = at.span.start + quotes;
    Origin {
        source: at.source,
        span: start + span.start..start + span.end,
    }
}
