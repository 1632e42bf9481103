//! What is wrong with the checks of findings and with figures of parts, shown where they are written.

use super::diagnostic::{Origin, Problem, Source};
use super::sections::{Common, PLAIN_NAMES, is_plain_name};
use super::tree::{Key, Node};
use crate::finding::check::Value;
use crate::finding::{Finding, ParseError, Selection};
use delaylab_model::experiment::{Draw, FigureSection};
use std::ops::Range;

/// The findings of a tree, in its order, with where each is written. Those whose checks cannot be read are problems.
pub(super) fn findings<'a>(
    root: &'a Node,
    common: &Common,
    sources: &[Source],
    problems: &mut Vec<Problem>,
) -> Vec<(Finding, &'a Node)> {
    let mut findings = Vec::new();
    for (section, node) in common.findings.iter().zip(nodes(root, "finding")) {
        match Finding::read(section) {
            Ok(finding) => findings.push((finding, node)),
            Err(error) => {
                problems.push(misspelt(node, "check", &section.check, &error, sources));
            }
        }
    }
    findings
}

/// Figures of a tree that do not say what they mean.
pub(super) fn wrong_figures(root: &Node, common: &Common, sources: &[Source]) -> Vec<Problem> {
    let figures = common.figures.iter().zip(nodes(root, "figure"));
    let figures = figures.flat_map(|(figure, node)| wrong_figure(figure, node, sources));
    figures.collect()
}

fn nodes<'a>(root: &'a Node, list: &str) -> &'a [Node] {
    let nodes = root.table().and_then(|table| table.get(list));
    nodes.and_then(Node::array).unwrap_or_default()
}

fn wrong_figure(figure: &FigureSection, node: &Node, sources: &[Source]) -> Vec<Problem> {
    let mut problems = out_of_place(figure, node);
    if !is_plain_name(&figure.id) {
        let message = format!("`{}` cannot be a file's name", figure.id);
        problems.push(Problem::new(key(node, "id"), message).help(PLAIN_NAMES));
    }
    let measured = figure.measured.as_deref().filter(|text| !text.is_empty());
    for (name, text) in [("where", figure.levels.as_deref()), ("measured", measured)] {
        let wrong = text.and_then(|text| Some((text, Selection::parse(text).err()?)));
        if let Some((text, error)) = wrong {
            problems.push(misspelt(node, name, text, &error, sources));
        }
    }
    for text in &figure.values {
        if let Err(error) = Value::parse(text) {
            problems.push(misspelt(node, "values", text, &error, sources));
        }
    }
    problems
}

/// What a figure of this kind has not, and what it owes.
fn out_of_place(figure: &FigureSection, node: &Node) -> Vec<Problem> {
    let is_table = figure.draw == Draw::Table;
    let fields = [
        ("rows", figure.rows.is_some(), Draw::Table),
        ("columns", figure.columns.is_some(), Draw::Table),
        ("values", !figure.values.is_empty(), Draw::Table),
        ("printed", !figure.printed.is_empty(), Draw::Table),
        (
            "series",
            figure.series.is_some() && figure.draw != Draw::ByProbe,
            Draw::Series,
        ),
        ("against", figure.against.is_some(), Draw::DelayAgainstSize),
        (
            "statistics",
            !figure.statistics.is_empty(),
            Draw::DelayAgainstSize,
        ),
    ];
    let strangers = fields.into_iter();
    let strangers = strangers.filter(|&(_, given, owner)| given && figure.draw != owner);
    let mut problems: Vec<_> = strangers
        .map(|(name, _, owner)| {
            let message = format!("`{name}` goes with `draw = \"{}\"`", owner.name());
            Problem::new(key(node, name), message)
        })
        .collect();
    let with_measured = [Draw::DelayAgainstSize, Draw::ByProbe, Draw::Table];
    if figure.measured.is_some() && !with_measured.contains(&figure.draw) {
        let names = with_measured.map(Draw::name).join("`, `");
        let message = format!("`{}` draws one run", figure.draw.name());
        let problem = Problem::new(key(node, "measured"), message);
        problems.push(problem.help(format!("`measured` goes with `{names}`")));
    }
    if is_table && figure.values.is_empty() {
        let problem = Problem::new(&node.at, "a table without `values`");
        problems.push(problem.help("say what stands in its cells: values = [\"sd(ipdv)\"]"));
    }
    problems
}

pub(super) fn key<'a>(node: &'a Node, name: &str) -> &'a Origin {
    &node.nearest(&[Key::Name(name.to_owned())]).at
}

fn misspelt(
    node: &Node,
    name: &str,
    text: &str,
    error: &ParseError,
    sources: &[Source],
) -> Problem {
    let span = error.span.start..error.span.end;
    let at = within(key(node, name), text, span, sources);
    Problem::new(&at, &error.message)
}

/// Bytes of a text's value as bytes of the source: exact where the text has no escapes.
pub(super) fn within(at: &Origin, value: &str, span: Range<usize>, sources: &[Source]) -> Origin {
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
