//! What was imported, for people and for programs.

use super::Found;
use delaylab_explain::import::{Disagreement, Format, Imported, Said, Stream, ours, shown};
use delaylab_model::record::{Outcome, Record};
use delaylab_report::run::RunData;
use delaylab_report::run_terminal;
use delaylab_report::style::{Paint, Style, plural};
use delaylab_report::table::{Cell, Table, wrap};
use serde_json::{Value, json};

/// The document's version.
const SCHEMA: &str = "delaylab/import/1";

/// What was imported, the peer's own figures beside those of its packets, and the run as any other.
pub(super) fn text(found: &Found, data: &RunData, page: &str, style: &Style) -> String {
    let lines = wrap(&head(found), usize::from(style.width.max(80)));
    let lines = lines.iter().map(|line| style.paint(Paint::Bold, line));
    let mut text: String = lines.map(|line| line + "\n").collect();
    if !found.imported.said.is_empty() {
        text += "\n";
        text += &figures(found).render(style);
    }
    text += "\n";
    style.glyphs(text) + &run_terminal::summary(data, Some(page), style)
}

/// `irtt.json is output of irtt 0.9.1: 1 stream, 12 packets, 8 answered`.
fn head(found: &Found) -> String {
    let imported = &found.imported;
    let records = || imported.streams.iter().flat_map(|stream| &stream.records);
    let answered = records().filter(|record| record.answered()).count();
    let version = imported.version.as_deref();
    let version = version.map_or_else(String::new, |version| format!(" {version}"));
    let what = match imported.format {
        Format::Capture => "a capture".to_owned(),
        format => format!("output of {format}{version}"),
    };
    format!(
        "{} is {what}: {}, {}, {answered} answered",
        found.file,
        plural(imported.streams.len() as u64, "stream"),
        plural(records().count() as u64, "packet"),
    )
}

/// Each figure that the peer said, and what its packets give.
fn figures(found: &Found) -> Table {
    let imported = &found.imported;
    let several = imported.streams.len() > 1;
    let mut table = Table::default();
    let theirs = Cell::new(format!("{} says", imported.format));
    let heads = row(
        several,
        "stream",
        Cell::left("figure"),
        theirs,
        Cell::new("its packets give"),
    );
    table.row(heads.map(Cell::dim));
    for said in &imported.said {
        let recomputed = ours(imported, said);
        let recomputed = recomputed.map_or_else(|| "–".to_owned(), |value| shown(value, said.unit));
        let paint = if disagrees(found, said) {
            Paint::Warning
        } else {
            Paint::Plain
        };
        table.row(row(
            several,
            name(imported, said.stream),
            Cell::left(said.what.to_string()),
            Cell::new(shown(said.value, said.unit)),
            Cell::painted(recomputed, paint),
        ));
    }
    table
}

/// The stream is told where there are several.
fn row(
    several: bool,
    stream: &str,
    figure: Cell,
    theirs: Cell,
    ours: Cell,
) -> impl Iterator<Item = Cell> {
    let stream = several.then(|| Cell::left(stream));
    stream.into_iter().chain([figure, theirs, ours])
}

fn name(imported: &Imported, stream: usize) -> &str {
    let stream = imported.streams.get(stream);
    stream.map_or("", |stream| stream.name.as_str())
}

fn disagrees(found: &Found, said: &Said) -> bool {
    let same = |it: &Disagreement| it.stream == said.stream && it.what == said.what;
    found.disagreements.iter().any(same)
}

/// The same as one JSON document. `folder` is the run's, `page` its report.
pub(super) fn document(found: &Found, folder: &str, page: &str) -> Value {
    let imported = &found.imported;
    let streams: Vec<_> = imported.streams.iter().map(stream).collect();
    let said: Vec<_> = imported.said.iter().map(|it| said(imported, it)).collect();
    let disagreements = found.disagreements.iter();
    let disagreements: Vec<_> = disagreements.map(|it| disagreement(imported, it)).collect();
    json!({
        "schema": SCHEMA,
        "format": imported.format.name(),
        "version": imported.version,
        "folder": folder,
        "report": page,
        "streams": streams,
        "said": said,
        "disagreements": disagreements,
        "warnings": imported.warnings,
    })
}

fn stream(stream: &Stream) -> Value {
    let count = |of: fn(&Record) -> bool| stream.records.iter().filter(|it| of(it)).count();
    json!({
        "name": stream.name,
        "target": stream.target,
        "method": stream.method.name(),
        "packets": stream.records.len(),
        "answered": count(Record::answered),
        "lost": count(|record| record.outcome == Outcome::Lost),
    })
}

fn said(imported: &Imported, said: &Said) -> Value {
    json!({
        "stream": name(imported, said.stream),
        "what": said.what.to_string(),
        "theirs": said.value,
        "ours": ours(imported, said),
        "unit": said.unit,
        "printed": said.printed,
    })
}

fn disagreement(imported: &Imported, disagreement: &Disagreement) -> Value {
    json!({
        "stream": name(imported, disagreement.stream),
        "what": disagreement.what.to_string(),
        "theirs": disagreement.said,
        "ours": disagreement.ours,
        "unit": disagreement.unit,
        "sentence": disagreement.sentence,
    })
}
