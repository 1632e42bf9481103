//! Checks the `[[finding]]` and `[[figure]]` sections, and lists the names that they use with their places.

use super::diagnostic::{Origin, Problem, Source};
use super::literal::within;
use super::sections::{Common, PLAIN_NAMES, is_plain_name};
use super::tree::Node;
use crate::finding::check::{LevelText, Name, NameKind, Value};
use crate::finding::dimension::Dimension;
use crate::finding::{Finding, Judged, Measure, ParseError, Selection, Verdict};
use crate::suggest::choices;
use delaylab_model::experiment::{Draw, FigureSection, FindingSection};

/// A name used in a finding or figure, and where it is written.
pub(super) type Use = (Origin, NameKind);

/// The findings of a tree in its order, each with its node. A check that cannot be parsed is a problem.
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
                problems.push(misspelt(key(node, "check"), &section.check, error, sources));
            }
        }
    }
    findings
}

/// The findings that this version cannot read: not applicable, and why.
pub(super) fn unread(common: &Common) -> Vec<Judged> {
    let unread = |section: &FindingSection| {
        let error = Finding::read(section).err()?;
        Some(Judged {
            id: section.id.clone(),
            says: section.says.clone(),
            check: section.check.clone(),
            verdict: Verdict::NotApplicable,
            reason: format!("this version does not read its check: {}", error.message),
            parts: Vec::new(),
        })
    };
    common.findings.iter().filter_map(unread).collect()
}

/// Every factor, level and measure that findings and figures of a tree name. Texts that cannot be parsed are skipped.
pub(super) fn names(root: &Node, common: &Common, sources: &[Source]) -> Vec<Use> {
    let mut uses = Vec::new();
    for (finding, node) in findings(root, common, sources, &mut Vec::new()) {
        let named = finding.check.names();
        uses.extend(written(named, key(node, "check"), &finding.text, sources));
    }
    for (figure, node) in common.figures.iter().zip(nodes(root, "figure")) {
        uses.extend(names_of_figure(figure, node, sources));
    }
    uses
}

/// Problems of slopes in findings that are compared with a number of another dimension. `factor`: the dimension of a
/// factor's levels.
pub(super) fn wrong_slopes(
    root: &Node,
    common: &Common,
    sources: &[Source],
    factor: &dyn Fn(&str) -> Option<Dimension>,
) -> Vec<Problem> {
    let findings = findings(root, common, sources, &mut Vec::new()).into_iter();
    let wrong = findings.filter_map(|(finding, node)| {
        let (span, message) = finding.check.wrong_slope(factor)?;
        let at = key(node, "check");
        let at = within(at, &finding.text, span, sources);
        Some(Problem::new(&at, message))
    });
    wrong.collect()
}

fn names_of_figure(figure: &FigureSection, node: &Node, sources: &[Source]) -> Vec<Use> {
    let mut uses = Vec::new();
    if let Some(text) = figure.levels.as_deref() {
        let named = Selection::parse(text).map_or_else(|_| Vec::new(), |chosen| chosen.names());
        uses.extend(written(named, key(node, "where"), text, sources));
    }
    for (text, at) in values(figure, node) {
        let named = Value::parse(text).map_or_else(|_| Vec::new(), |value| value.names());
        uses.extend(written(named, at, text, sources));
    }
    let factors = [
        ("against", &figure.against),
        ("rows", &figure.rows),
        ("columns", &figure.columns),
    ];
    for (field, factor) in factors {
        let kind = factor
            .clone()
            .map(|name| NameKind::Factor { name, of: None });
        uses.extend(kind.map(|kind| (key(node, field).clone(), kind)));
    }
    let series = figure.series.as_deref().and_then(Measure::named);
    uses.extend(series.map(|series| (key(node, "series").clone(), NameKind::Measure(series))));
    let printed = node.table_at("printed").filter(|_| figure.rows.is_some());
    for entry in printed.into_iter().flat_map(|table| &table.0) {
        let level = NameKind::Level {
            factor: figure.rows.clone().unwrap_or_default(),
            level: LevelText::named(&entry.key),
            beyond: None,
            of: None,
        };
        uses.push((entry.key_at.clone(), level));
    }
    uses
}

/// Turns spans in a text into places in the file in which the text is written.
fn written(named: Vec<Name>, at: &Origin, text: &str, sources: &[Source]) -> Vec<Use> {
    let use_of = |name: Name| (within(at, text, name.span, sources), name.kind);
    named.into_iter().map(use_of).collect()
}

/// Problems of the figures of a tree.
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
            problems.push(misspelt(key(node, name), text, error, sources));
        }
    }
    for (text, at) in values(figure, node) {
        if let Err(error) = Value::parse(text) {
            problems.push(misspelt(at, text, error, sources));
        }
    }
    if let Some(series) = figure.series.as_deref() {
        problems.extend(no_series(series, key(node, "series")));
    }
    problems
}

/// The expressions for the cells of a table figure, and where each is written.
fn values<'a>(figure: &'a FigureSection, node: &'a Node) -> Vec<(&'a String, &'a Origin)> {
    let places = nodes(node, "values").iter().map(|node| &node.at);
    figure.values.iter().zip(places).collect()
}

/// A problem if no series has this name.
fn no_series(name: &str, at: &Origin) -> Option<Problem> {
    let series = || Measure::all().filter(|measure| measure.is_series());
    if series().any(|measure| measure.name() == name) {
        return None;
    }
    let problem = Problem::new(at, format!("there is no series `{name}`"));
    let help = choices(name, series().map(Measure::name));
    Some(problem.help_if(help))
}

/// Problems of fields that do not fit the kind of figure (`draw`), or that are missing for it.
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
    if is_table && figure.rows.is_some() && figure.rows == figure.columns {
        let what = "`columns` is the factor of `rows`: a cell has one level of it";
        let problem = Problem::new(key(node, "columns"), what);
        problems.push(problem.help("leave one of the two out"));
    }
    if is_table && figure.values.is_empty() {
        let problem = Problem::new(&node.at, "a table without `values`");
        problems.push(problem.help("say what stands in its cells: values = [\"sd(ipdv)\"]"));
    }
    problems
}

fn key<'a>(node: &'a Node, name: &str) -> &'a Origin {
    &node.nearest(&[name.into()]).at
}

fn misspelt(at: &Origin, text: &str, error: ParseError, sources: &[Source]) -> Problem {
    Problem::new(&within(at, text, error.span, sources), error.message).help_if(error.help)
}
