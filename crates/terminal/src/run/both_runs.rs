//! Two runs beside each other, in one table.

use crate::style::{Paint, Style};
use crate::table::{Cell, Table};
use crate::text::paragraph;
use crate::text::width;
use delaylab_model::Nanos;
use delaylab_model::units::{format_duration, format_share, format_signed_duration};
use delaylab_stats::anatomy::StageSet;
use delaylab_view::both_runs::{BothRuns, Row, ratio};
use delaylab_view::run::{RunData, Ways};
use delaylab_view::words::{or_unknown, plural, short_name};

/// What a table shows of the two runs: as much as there is room for.
#[derive(Clone, Copy, Default)]
struct Shown {
    p99: bool,
    stage: bool,
}

/// A block of columns: what stands above it, and its heads.
type Block<'a> = (&'a str, &'a [&'a str]);

/// From all of it to the least.
fn narrower() -> [Shown; 3] {
    let flags = [[true, true], [true, false], [false, false]];
    flags.map(|[stage, p99]| Shown { p99, stage })
}

/// Both runs in one table, in lines that end in a line feed.
pub fn both_runs(first: &RunData, second: &RunData, style: &Style) -> String {
    let both = BothRuns::new(first, second);
    let head = [first, second].into_iter().zip(&both.names);
    let head = head.zip(columns(&both));
    let head = head.map(|((run, name), column)| one(run, name, &column, style));
    let (shown, table) = Table::first_that_fits(narrower(), |shown| table(&both, *shown), style);
    let sections = [
        head.collect::<String>(),
        table.render(style),
        paragraph(&note(&both, first.ways(), shown), Paint::Dim, style) + &alone(&both),
    ];
    style.glyphs(sections.join("\n"))
}

/// Letters of a name that has room above a column.
const NAME: usize = 10;

/// What the columns of the runs are called: names of runs are too long.
fn columns(both: &BothRuns) -> [String; 2] {
    if both.names.iter().all(|name| width(name) <= NAME) && both.names[0] != both.names[1] {
        return both.names.clone();
    }
    ["first", "second"].map(str::to_owned)
}

/// Which run it is, and what to read before trusting it.
fn one(run: &RunData, name: &str, column: &str, style: &Style) -> String {
    let head = &run.head;
    let title = match column == name {
        true => format!("--- {name}: {} ---", head.name),
        false => format!("--- {column} is {name}: {} ---", head.name),
    };
    let what = [head.folder.clone(), head.started.clone()].into_iter();
    let what: Vec<_> = what.chain(head.seed_words()).collect();
    let what = what.join(", ");
    let problems = run.problems.iter();
    let problems = problems.map(|problem| paragraph(problem, Paint::Warning, style));
    paragraph(&title, Paint::Bold, style)
        + &paragraph(&what, Paint::Dim, style)
        + &problems.collect::<String>()
}

fn table(both: &BothRuns, shown: Shown) -> Table {
    let [first, second] = &columns(both);
    let compared = [first, second, "ratio"];
    let mut blocks: Vec<Block<'_>> = vec![("p50", &compared)];
    blocks.extend(shown.p99.then_some(("p99", &compared[..])));
    // What was lost has no delay: without it the others mislead.
    blocks.extend(both.has_loss().then_some(("lost", &compared[..2])));
    let lead = both.heads.len().max(1);
    let above = (0..lead).map(|_| Cell::default());
    // Empty columns set them apart.
    let names = blocks.iter().flat_map(|(above, heads)| {
        let rest = heads.iter().skip(1).map(|_| "");
        ["", above].into_iter().chain(rest).map(Cell::new)
    });
    let mut table = Table::headed(above.chain(names));
    let heads = both.heads.iter().map(Cell::left);
    let heads: Vec<_> = heads
        .chain((both.heads.is_empty()).then(Cell::default))
        .collect();
    let each = blocks.iter().flat_map(|(_, heads)| {
        std::iter::once("")
            .chain(heads.iter().copied())
            .map(Cell::new)
    });
    let stage = shown.stage.then_some(["", "mostly in", "by"]);
    let stage = stage.into_iter().flatten().map(Cell::left);
    table.row(heads.into_iter().chain(each).chain(stage).map(Cell::dim));
    for row in &both.rows {
        table.row(cells(row, shown, both.has_loss()));
    }
    table
}

fn cells(row: &Row, shown: Shown, loss: bool) -> Vec<Cell> {
    let levels = row.levels.iter().map(Cell::left);
    let mut cells: Vec<_> = levels.collect();
    if cells.is_empty() {
        cells.push(Cell::default());
    }
    cells.extend(quantile(row.p50));
    if shown.p99 {
        cells.extend(quantile(row.p99));
    }
    if loss {
        let each = row
            .lost
            .map(|lost| Cell::new(or_unknown(lost, format_share)));
        cells.extend(std::iter::once(Cell::default()).chain(each));
    }
    if let (true, Some(difference)) = (shown.stage, row.difference) {
        cells.push(Cell::default());
        cells.push(Cell::left(stage_name(difference.stages)));
        cells.push(Cell::new(format_signed_duration(difference.ns)));
    }
    cells
}

fn quantile(both: [Option<Nanos>; 2]) -> [Cell; 4] {
    let [first, second] = both.map(|ns| Cell::new(or_unknown(ns, format_duration)));
    let ratio = or_unknown(ratio(both), times);
    [Cell::default(), first, second, Cell::new(ratio)]
}

/// The network, also where the reflector cannot be told from it: the note says so.
fn stage_name(stages: StageSet) -> String {
    if stages == StageSet::NETWORK_AND_REFLECTOR {
        return "network".to_owned();
    }
    short_name(stages)
}

/// Two digits of a ratio below 1 at least, three of another.
fn times(ratio: f64) -> String {
    match ratio {
        r if r < 1e-9 => "0".to_owned(),
        r if r < 0.0995 => format!("{r:.0$}", (1.0 - r.log10().floor()).max(4.0) as usize),
        r if r < 9.995 => format!("{r:.2}"),
        r if r < 99.95 => format!("{r:.1}"),
        r => format!("{r:.0}"),
    }
}

/// Explains the columns that are shown.
fn note(both: &BothRuns, ways: Ways, shown: Shown) -> String {
    let [first, second] = &columns(both);
    let merged = |row: &Row| {
        let difference = row.difference;
        difference.is_some_and(|d| d.stages == StageSet::NETWORK_AND_REFLECTOR)
    };
    let reflector = if both.rows.iter().any(merged) {
        "; network: includes the reflector, which one of the runs does not separate"
    } else {
        ""
    };
    let stage = match shown.stage {
        true => format!(
            "; mostly in: the stage whose mean differs most, and by how much it is longer in {second}{reflector}"
        ),
        false => String::new(),
    };
    let delays = ways.delays();
    format!("{delays}; ratio: {second} to {first}{stage}")
}

/// What only one of them has.
fn alone(both: &BothRuns) -> String {
    let each = both.names.iter().zip(both.alone);
    let lines = each.filter(|&(_, rows)| rows > 0);
    let line =
        |(name, rows): (&String, usize)| format!("{} only in {name}\n", plural(rows as u64, "row"));
    lines.map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_view::run::samples::classes;

    #[test]
    fn looks_as_agreed() {
        let first = classes();
        let mut second = classes();
        second.head.world = "sim".to_owned();
        second.groups.remove(1);
        for group in &mut second.groups {
            if let Some(anatomy) = &mut group.summary.mean_anatomy {
                anatomy.parts[2].ns += 25_000.0;
            }
            if let Some(delays) = &mut group.summary.round_trip {
                delays.p50 += 25_000;
                delays.p99 *= 20;
            }
        }
        let counts = &mut second.groups[1].summary.counts;
        counts.lost = counts.sent / 4;
        let rich = Style {
            unicode: true,
            width: 100,
            ..Style::PLAIN
        };
        insta::assert_snapshot!("both_runs_rich", both_runs(&first, &second, &rich));
        let plain = both_runs(&first, &second, &Style::PLAIN);
        crate::text::assert_plain("beside", &plain);
        insta::assert_snapshot!("both_runs_plain", plain);
    }

    #[test]
    fn ratios_have_three_digits() {
        assert_eq!(
            [0.0, 0.0004, 0.00428, 0.0149, 0.5, 1.0, 9.996, 42.25, 314.2].map(times),
            [
                "0", "0.00040", "0.0043", "0.0149", "0.50", "1.00", "10.0", "42.2", "314"
            ]
        );
    }
}
