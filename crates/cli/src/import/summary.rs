//! What was imported, for people.

use delaylab_explain::import::{Disagreement, PrintedFigure, shown};
use delaylab_runner::imported_file::ImportedFile;
use delaylab_terminal::style::{Paint, Style};
use delaylab_terminal::table::{Cell, Table};
use delaylab_terminal::text::paragraph;
use delaylab_view::published::import::stream_name;
use delaylab_view::run::RunData;
use delaylab_view::words::{or_unknown, plural};

/// What was imported, the peer's own figures beside those of its packets, and the run as any other.
pub(super) fn text(
    found: &ImportedFile,
    data: &RunData,
    page: Option<&str>,
    style: &Style,
) -> String {
    let mut text = paragraph(&head(found), Paint::Bold, style);
    // Of a report, which has no packets to compare with, they are the run's own table.
    if !found.imported.said.is_empty() && data.figures_alone.is_none() {
        text += "\n";
        text += &figures(found).render(style);
    }
    text += "\n";
    style.glyphs(text) + &delaylab_terminal::run::summary(data, page, style)
}

/// `irtt.json is output of irtt 0.9.1: 1 stream, 12 packets, 8 answered`.
fn head(found: &ImportedFile) -> String {
    let imported = &found.imported;
    let records = || imported.streams.iter().map(|stream| &stream.records);
    let answered: u64 = records().map(|records| records.counts().answered()).sum();
    let packets: u64 = records().map(|records| records.len() as u64).sum();
    let version = imported.version.as_deref();
    let version = version.map_or_else(String::new, |version| format!(" {version}"));
    let format = imported.format;
    let what = match format.name {
        "capture" | "table" => format!("a {format}"),
        _ => format!("output of {format}{version}"),
    };
    format!(
        "{} is {what}: {}, {}, {answered} answered",
        found.file,
        plural(imported.streams.len() as u64, "stream"),
        plural(packets, "packet"),
    )
}

/// Each figure that the peer said, and what its packets give.
fn figures(found: &ImportedFile) -> Table {
    let imported = &found.imported;
    let several = imported.streams.len() > 1;
    let theirs = Cell::new(format!("{} says", imported.format));
    let ours = Cell::new("its packets give");
    let heads = row(several, "stream", Cell::left("figure"), theirs, ours);
    let mut table = Table::headed(heads);
    for said in &imported.said {
        let recomputed = or_unknown(said.ours, |value| shown(value, said.unit));
        let paint = Paint::Warning.when(disagrees(found, said));
        table.row(row(
            several,
            stream_name(imported, said.stream),
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

fn disagrees(found: &ImportedFile, said: &PrintedFigure) -> bool {
    let same = |it: &Disagreement| it.stream == said.stream && it.what == said.what;
    found.disagreements.iter().any(same)
}
