//! A comparison on a terminal: the runs, what else differs, a table a pair or a row a pair, what must not
//! be, and the verdict at the end. Loss stands before delay: what was lost has none.

use crate::style::{Paint, Style};
use crate::table::{Cell, Table};
use crate::text::{FIRM_SPACE, joined};
use delaylab_explain::compare::PairFigures;
use delaylab_explain::compare::limits::Outcome;
use delaylab_lab::finding::Measure;
use delaylab_model::plan::level_of;
use delaylab_view::compare::benchmark::Benchmarks;
use delaylab_view::compare::rows::{self, Row};
use delaylab_view::compare::{Compared, Side};

/// Settings that are named; more are counted.
const DIFFERENCES: usize = 12;

/// The whole comparison, in lines that end in a line feed.
pub fn render(compared: &Compared, style: &Style) -> String {
    let pairs = &compared.comparison.pairs;
    let body = if let Some(found) = &compared.benchmark {
        benchmark(found, style)
    } else if compared.comparison.is_overview {
        overview(compared, style)
    } else {
        let each = pairs.iter().map(|pair| in_full(compared, pair, style));
        each.collect::<Vec<_>>().join("\n")
    };
    let sections = [
        heads(compared, style),
        circumstances(compared, style),
        body,
        notes(compared, style),
        limits(compared, style),
        paragraph(&compared.verdict(), Paint::Bold, style),
    ];
    style.glyphs(joined(sections))
}

/// Each result of both.
fn benchmark(found: &Benchmarks, style: &Style) -> String {
    let mut text = String::new();
    for rows in found.rows.chunk_by(|a, b| a.of == b.of) {
        let heads = [rows[0].of.as_str(), "A", "B", "% of A"];
        let mut table = Table::headed(heads.map(Cell::new));
        for row in rows {
            let paint = Paint::Bold.when(row.differs);
            let [a, b] = &row.texts;
            table.row([
                Cell::left(&row.heading),
                Cell::new(a),
                Cell::painted(b, paint),
                Cell::painted(row.change(), paint),
            ]);
        }
        text += &table.render(style);
    }
    text
}

fn heads(compared: &Compared, style: &Style) -> String {
    let each = ["A", "B"].iter().zip(&compared.sides);
    let heads = each.map(|(letter, side)| head(letter, side, style));
    let problems = compared.problems();
    let problems = problems.iter().map(|p| paragraph(p, Paint::Warning, style));
    heads.chain(problems).collect()
}

fn head(letter: &str, side: &Side, style: &Style) -> String {
    let title = format!("--- {letter}: {} ({}) ---", side.name, side.world);
    let what = format!("{}, {}", side.folder, side.when());
    paragraph(&title, Paint::Bold, style) + &paragraph(&what, Paint::Dim, style)
}

fn circumstances(compared: &Compared, style: &Style) -> String {
    let differences = &compared.differences;
    if differences.is_empty() {
        return paragraph(
            "Nothing else differs in what was recorded.",
            Paint::Dim,
            style,
        );
    }
    let mut table = Table::headed(["What else differs", "A", "B"].map(Cell::left));
    for difference in differences.iter().take(DIFFERENCES) {
        table.row(rows::circumstance(difference).map(|text| Cell::left(clipped(text, style))));
    }
    let more = differences.len().saturating_sub(DIFFERENCES);
    let more = match more {
        0 => String::new(),
        more => paragraph(&format!("and {more} more"), Paint::Dim, style),
    };
    table.render(style) + &more
}

/// Broken to the width, but never before a percent sign, nor in `p < 0.1 %`.
fn paragraph(text: &str, paint: Paint, style: &Style) -> String {
    let mut text = text.to_owned();
    for words in [" %", "p = ", "p < "] {
        text = text.replace(words, &words.replace(' ', &FIRM_SPACE.to_string()));
    }
    crate::text::paragraph(&text, paint, style)
}

const GAP: [char; 3] = ['.'; 3];

/// No more than its third of the line: paths differ at their ends, so the middle goes.
fn clipped(text: String, style: &Style) -> String {
    let room = style.columns() / 3 - 2;
    let letters: Vec<char> = text.chars().collect();
    if letters.len() <= room {
        return text;
    }
    let (head, tail) = letters.split_at(room / 3);
    let tail = &tail[letters.len() - room + GAP.len()..];
    head.iter().chain(&GAP).chain(tail).collect()
}

/// One pair: its figures, and where they come from.
fn in_full(compared: &Compared, pair: &PairFigures, style: &Style) -> String {
    let looks = compared.comparison.looks;
    let several = compared.comparison.pairs.len() > 1;
    let mut text = String::new();
    if several {
        let varied = compared.comparison.varied();
        text += &paragraph(&pair.pair.label(&varied), Paint::Bold, style);
    }
    text += &paragraph(&rows::counts(pair), Paint::Plain, style);
    let rows = rows::most(pair, looks);
    if !rows.is_empty() {
        let table = |wide: &bool| figures(&rows, *wide);
        let (_, table) = Table::first_that_fits([true, false], table, style);
        text += &format!("\n{}", table.render(style));
        text += &paragraph(
            "95 % intervals, each for its figure alone; * differs from zero, allowing for how many figures are compared",
            Paint::Dim,
            style,
        );
    }
    text += &stages(pair, style);
    let tests = rows::tests(pair, compared.comparison.headline);
    if !tests.is_empty() {
        text += &format!("\n{}", paragraph(&tests, Paint::Dim, style));
    }
    for (quantity, why) in &pair.missing {
        let line = format!("{} not known: {why}", quantity.name());
        text += &paragraph(&line, Paint::Dim, style);
    }
    if several {
        text += &paragraph(&pair.verdict.text, Paint::Plain, style);
    }
    text
}

fn figures(rows: &[Row], wide: bool) -> Table {
    const INTERVAL: &str = "95 % interval";
    let heads = ["", "", "A", "B", "B − A", "", INTERVAL, "% of A", INTERVAL];
    let kept = if wide { heads.len() } else { 8 };
    let mut table = Table::headed(heads.into_iter().take(kept).map(Cell::new));
    for row in rows {
        let paint = Paint::Bold.when(row.is_clear);
        let cells = [
            Cell::left(&row.quantity),
            Cell::left(&row.statistic),
            Cell::new(&row.a),
            Cell::new(&row.b),
            Cell::painted(&row.difference, paint),
            Cell::left(if row.is_clear { "*" } else { "" }),
            Cell::new(&row.interval),
            Cell::painted(&row.share, paint),
            Cell::new(&row.share_interval),
        ];
        table.row(cells.into_iter().take(kept));
    }
    table
}

fn stages(pair: &PairFigures, style: &Style) -> String {
    let (heads, rows) = rows::stages(pair);
    if rows.len() < 3 {
        return String::new();
    }
    let heads = [""].into_iter().chain(heads);
    let mut table = Table::headed(heads.map(Cell::new));
    let last = rows.len() - 1;
    for (at, (stage, cells)) in rows.into_iter().enumerate() {
        let paint = Paint::Bold.when(at == last);
        let cells = [stage].into_iter().chain(cells);
        table.row(cells.map(|cell| Cell::painted(cell, paint)));
    }
    let caption = "B − A by stage, averaged over the responses around each quantile";
    format!(
        "\n{}{}",
        paragraph(caption, Paint::Dim, style),
        table.render(style)
    )
}

/// A row a pair.
fn overview(compared: &Compared, style: &Style) -> String {
    let comparison = &compared.comparison;
    let varied = comparison.varied();
    let any_stage = comparison
        .pairs
        .iter()
        .any(|pair| !mainly(compared, pair).is_empty());
    let table = |full: &bool| overview_table(compared, &varied, *full, any_stage);
    let (full, table) = Table::first_that_fits([true, false], table, style);
    let quantiles = if full { "p50, p99" } else { "p99" };
    let stage = match any_stage {
        true => "; mostly in: the stage with the largest share of the change",
        false => "",
    };
    let name = comparison.headline.name().replace('_', " ");
    let note = format!(
        "{quantiles}: {name}; differs: by more than repeats of one run do, allowing for how many figures are compared; no difference: \
         by no more than they do{stage}. Each pair in full: --json, -o FILE.html"
    );
    table.render(style) + &paragraph(&note, Paint::Dim, style)
}

fn overview_table(compared: &Compared, varied: &[String], full: bool, any_stage: bool) -> Table {
    let quantiles: &[(&str, f64)] = if full {
        &[("p50", 0.5), ("p99", 0.99)]
    } else {
        &[("p99", 0.99)]
    };
    let heads = varied.iter().map(Cell::left);
    let each = quantiles.iter().flat_map(|(name, _)| {
        [
            format!("{name} A"),
            format!("{name} B"),
            "change".to_owned(),
        ]
    });
    let heads = heads.chain(["lost A", "lost B"].map(Cell::new));
    let heads = heads.chain(each.map(Cell::new));
    let headline = compared.comparison.headline;
    let last = ["verdict", "mostly in"];
    let last = &last[..1 + usize::from(any_stage)];
    let heads = heads.chain(last.iter().copied().map(Cell::left));
    let mut table = Table::headed(heads);
    for pair in &compared.comparison.pairs {
        let level = |name: &String| {
            let level = level_of(&pair.pair.factors, name);
            level.map_or(&pair.pair.probes[0], |level| &level.label)
        };
        let cells = varied.iter().map(|name| Cell::left(level(name)));
        let lost = rows::loss(pair, compared.comparison.looks);
        let paint = Paint::Warning.when(lost.is_clear);
        let cells = cells.chain([Cell::new(lost.a), Cell::painted(lost.b, paint)]);
        let each = quantiles
            .iter()
            .flat_map(|(_, q)| of_quantile(pair, headline, *q));
        let end = [
            Cell::left(pair.verdict.kind.words()),
            Cell::left(mainly(compared, pair)),
        ];
        table.row(cells.chain(each).chain(end.into_iter().take(last.len())));
    }
    table
}

/// The stage that most of the change is in.
fn mainly(compared: &Compared, pair: &PairFigures) -> String {
    let comparison = &compared.comparison;
    rows::mostly_in(pair, comparison.headline, comparison.looks)
}

fn of_quantile(pair: &PairFigures, headline: Measure, q: f64) -> [Cell; 3] {
    let row = rows::of_quantile(pair, headline, q);
    [row.a, row.b, row.share].map(Cell::new)
}

fn notes(compared: &Compared, style: &Style) -> String {
    let notes = compared.notes();
    let notes = notes
        .iter()
        .map(|note| paragraph(note, Paint::Plain, style));
    notes.collect()
}

fn limits(compared: &Compared, style: &Style) -> String {
    let lines = compared.limits.iter().map(|held| {
        let paint = match held.outcome {
            _ if compared.fails(held) => Paint::Warning,
            Outcome::Passed => Paint::Good,
            _ => Paint::Plain,
        };
        let levels = rows::levels(held);
        let strict = match held.outcome {
            Outcome::Undecided if compared.strict => " (fails, as --strict asks)",
            _ => "",
        };
        let text = format!("{}: {levels}{}{strict}", held.limit, held.reason);
        paragraph(&format!("{}: {text}", held.outcome.words()), paint, style)
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_view::compare::samples::samples;

    #[test]
    fn looks_as_agreed_and_no_figure_is_not_a_number() {
        let rich = Style {
            unicode: true,
            width: 110,
            ..Style::PLAIN
        };
        for (name, compared) in samples() {
            insta::assert_snapshot!(format!("{name}_rich"), render(&compared, &rich));
            let plain = render(&compared, &Style::PLAIN);
            crate::text::assert_plain(name, &plain);
            assert!(
                !plain.contains("NaN") && !plain.contains("inf"),
                "{name}: {plain}"
            );
            insta::assert_snapshot!(format!("{name}_plain"), plain);
        }
    }
}
