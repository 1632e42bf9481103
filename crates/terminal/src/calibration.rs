//! Tables on a terminal.

use crate::style::{Paint, Style};
use crate::table::{Cell, Table};
use crate::text::{joined, paragraph, width, wrap};
use delaylab_explain::calibrate::Calibration;
use delaylab_explain::calibrate::overlay::{Group, Pair};
use delaylab_explain::calibrate::prediction::Predicted;
use delaylab_model::units::{format_share, format_signed_share};
use delaylab_view::calibration::words::{
    Fact, duration, facts, in_order, levels, measure, range, range_of_loss, used, varied,
};
use delaylab_view::calibration::{Calibrated, Prediction};
use delaylab_view::words::or_unknown;

/// What was found of a path, in lines that end in a line feed. `files`: where it was written.
pub fn calibration_text(shown: &Calibrated<'_>, files: &[(&str, String)], style: &Style) -> String {
    let title = format!("--- calibration of {} ---", shown.run);
    let head =
        paragraph(&title, Paint::Bold, style) + &paragraph(&used(shown.found), Paint::Dim, style);
    let sections = [
        head,
        found(shown.found, style),
        unknown(shown.found, style),
        overlay(shown.pairs, style),
    ];
    joined([style.glyphs(joined(sections)), written(files)])
}

/// What a change would make of it, in lines that end in a line feed.
pub fn prediction_text(shown: &Prediction<'_>, files: &[(&str, String)], style: &Style) -> String {
    let title = format!("--- prediction for {} ---", shown.run);
    let sets = shown
        .sets
        .iter()
        .map(|(path, value)| format!("{path} = {value}"));
    let changed = format!("changed: {}", sets.collect::<Vec<_>>().join(", "));
    let head = paragraph(&title, Paint::Bold, style) + &paragraph(&changed, Paint::Plain, style);
    let range = shown.found.why_no_range().unwrap_or(EXPECTED);
    let note = format!("response, for frames one way; {range}");
    let sections = [
        head,
        quantile(shown.groups, 0, style),
        quantile(shown.groups, 2, style),
        lost(shown.groups, style),
        paragraph(&note, Paint::Dim, style),
        unknown(shown.found, style),
    ];
    joined([style.glyphs(joined(sections)), written(files)])
}

const EXPECTED: &str = "expected: where a new run of the same length has it, 95 times of 100: what \
     simulations with other packets differ by, and as far off as the model is before the change and without load. \
     What was never measured, such as a discipline's parameters, may differ more";

fn found(found: &Calibration, style: &Style) -> String {
    let facts = facts(found);
    if facts.is_empty() {
        return String::new();
    }
    let whole = facts_table(&facts, |fact| vec![fact.from.clone()]);
    if whole.width() <= style.columns() {
        return whole.render(style);
    }
    // What it is from has the room that the others leave, in as many lines as it takes.
    let others = facts_table(&facts, |_| Vec::new()).width() - width(HEADS[3]);
    let room = style.columns().saturating_sub(others).max(FROM);
    facts_table(&facts, |fact| wrap(&fact.from, room)).render(style)
}

/// Of the table of what was found.
const HEADS: [&str; 4] = ["", "found", "95 %", "from"];
/// Columns that the words of what it is from have at least.
const FROM: usize = 12;

/// All that was found, what it is from in these lines.
fn facts_table(facts: &[Fact], from: impl Fn(&Fact) -> Vec<String>) -> Table {
    let mut table = Table::headed(HEADS.map(Cell::left));
    for fact in facts {
        let mut lines = from(fact).into_iter();
        let first = [
            fact.what.to_owned(),
            fact.value.clone(),
            fact.between.clone(),
            lines.next().unwrap_or_default(),
        ];
        table.row(first.map(Cell::left));
        for line in lines {
            table.row([String::new(), String::new(), String::new(), line].map(Cell::left));
        }
    }
    table
}

fn unknown(found: &Calibration, style: &Style) -> String {
    if found.unknown.is_empty() {
        return String::new();
    }
    let each = found.unknown.iter().map(|unknown| {
        let text = format!("{}. {} {}", unknown.what, unknown.why, unknown.remedy);
        paragraph(text.trim_end(), Paint::Plain, style)
    });
    paragraph("Not identified by this run:", Paint::Bold, style) + &each.collect::<String>()
}

fn written(files: &[(&str, String)]) -> String {
    let mut table = Table::default();
    for (what, path) in files {
        table.row([Cell::new(*what), Cell::left(path)]);
    }
    table.render(&Style::PLAIN)
}

/// What the table of both distributions shows: as much as there is room for.
#[derive(Clone, Copy, Default)]
struct Shown {
    wasserstein: bool,
    lost: bool,
}

/// From all of it to the least.
fn narrower() -> [Shown; 3] {
    let flags = [[true, true], [true, false], [false, false]];
    flags.map(|[wasserstein, lost]| Shown { wasserstein, lost })
}

fn overlay(pairs: &[Pair], style: &Style) -> String {
    let rows = in_order(pairs, |pair| &pair.measured);
    if rows.is_empty() {
        return String::new();
    }
    let table = |shown: &Shown| overlay_table(&rows, *shown);
    let (shown, table) = Table::first_that_fits(narrower(), table, style);
    let distance = match shown.wasserstein {
        true => "; W1: Wasserstein distance of the two distributions",
        false => "",
    };
    let note = format!(
        "response, for frames one way, with the noise of the unloaded trials added to the model; off: model less \
         measured{distance}"
    );
    table.render(style) + &paragraph(&note, Paint::Dim, style)
}

fn overlay_table(rows: &[&Pair], shown: Shown) -> Table {
    let heads = varied(rows.iter().map(|pair| &pair.measured));
    let mut table = Table::default();
    let columns = |quantiles: [&str; 6], wasserstein: &str, lost: [&str; 2]| {
        let wasserstein = shown.wasserstein.then_some(wasserstein);
        let lost = shown.lost.then_some(lost).into_iter().flatten();
        let cells = quantiles.into_iter().chain(wasserstein).chain(lost);
        cells.map(|head| Cell::new(head).dim()).collect::<Vec<_>>()
    };
    let lead = (0..=heads.len()).map(|_| Cell::default());
    table.row(lead.chain(columns(["p50", "", "", "p99", "", ""], "", ["lost", ""])));
    let names = names(&heads).map(Cell::dim);
    let each = ["measured", "model", "off", "measured", "model", "off"];
    table.row(names.chain(columns(each, "W1", ["measured", "model"])));
    for pair in rows {
        table.row(compared(pair, &heads, shown));
    }
    table
}

fn compared(pair: &Pair, heads: &[String], shown: Shown) -> Vec<Cell> {
    let unknown = || Cell::new("–");
    let distance = pair.distance(measure(&pair.measured));
    let mut cells: Vec<Cell> = own_levels(&pair.measured, heads).collect();
    for at in [0, 2] {
        match &distance {
            None => cells.extend((0..3).map(|_| unknown())),
            Some(distance) => {
                let [measured, model] = distance.quantiles[at].map(duration);
                cells.extend(
                    [measured, model, format_signed_share(distance.errors()[at])].map(Cell::new),
                );
            }
        }
    }
    if shown.wasserstein {
        cells.push(distance.map_or_else(unknown, |d| Cell::new(duration(d.wasserstein))));
    }
    if shown.lost {
        let lost = [&pair.measured, &pair.model];
        let lost = lost.map(|group| group.lost().map_or_else(unknown, share));
        cells.extend(lost);
    }
    cells
}

/// Heads of the columns of levels and of the probe.
fn names(heads: &[String]) -> impl Iterator<Item = Cell> {
    let heads = heads.iter().map(String::as_str);
    heads.chain(["probe"]).map(Cell::left)
}

/// What stands below them.
fn own_levels(group: &Group, heads: &[String]) -> impl Iterator<Item = Cell> {
    levels(group, heads).into_iter().map(Cell::left)
}

fn share(share: f64) -> Cell {
    Cell::new(format_share(share))
}

fn quantile(groups: &[Predicted], at: usize, style: &Style) -> String {
    let shown = in_order(groups, |group| &group.before.measured);
    let heads = varied(shown.iter().map(|group| &group.before.measured));
    let mut table = before_and_after(&heads);
    for group in shown {
        let kind = measure(&group.before.measured);
        let mut cells: Vec<_> = own_levels(&group.before.measured, &heads).collect();
        match group
            .before
            .distance(kind)
            .zip(group.expected(kind, groups))
        {
            None => cells.extend((0..4).map(|_| Cell::new("–"))),
            Some((before, expected)) => {
                let [measured, model] = before.quantiles[at].map(duration);
                cells.extend([measured, model, duration(expected[at].value)].map(Cell::new));
                cells.push(Cell::left(range(&expected[at])));
            }
        }
        table.row(cells);
    }
    let title = match at {
        0 => "Median",
        1 => "90th percentile",
        _ => "99th percentile",
    };
    paragraph(title, Paint::Bold, style) + &table.render(style)
}

/// A table of predictions, with its heads.
fn before_and_after(heads: &[String]) -> Table {
    let each = ["measured", "its model", "predicted"].map(Cell::new);
    Table::headed(names(heads).chain(each).chain([Cell::left("expected")]))
}

/// Loss, where there is any.
fn lost(groups: &[Predicted], style: &Style) -> String {
    let loses = |group: &&Predicted| {
        let each = [&group.before.measured, &group.before.model, &group.after];
        let each = each.into_iter().filter_map(Group::lost);
        each.chain(group.lost.iter().copied())
            .any(|lost| lost > 0.0)
    };
    let shown = in_order(groups, |group| &group.before.measured);
    let heads = varied(shown.iter().map(|group| &group.before.measured));
    let mut table = before_and_after(&heads);
    let losing: Vec<_> = shown.into_iter().filter(loses).collect();
    if losing.is_empty() {
        return String::new();
    }
    for group in losing {
        let cells = own_levels(&group.before.measured, &heads);
        let expected = group.expected_loss();
        let [measured, model] = [&group.before.measured, &group.before.model].map(Group::lost);
        let each = [measured, model, expected.map(|expected| expected.value)];
        let each = each.map(|lost| lost.map_or_else(|| Cell::new("–"), share));
        let range = or_unknown(expected.as_ref(), range_of_loss);
        table.row(cells.chain(each).chain([Cell::left(range)]));
    }
    paragraph("Lost", Paint::Bold, style) + &table.render(style)
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_explain::calibrate::calibrate;
    use delaylab_explain::calibrate::run_trials::RunTrials;
    use delaylab_view::calibration::samples::Sample;

    const RICH: Style = Style {
        unicode: true,
        width: 100,
        ..Style::PLAIN
    };

    fn files() -> Vec<(&'static str, String)> {
        vec![
            ("Model:", "model.toml".to_owned()),
            ("Figures:", "calibration.html".to_owned()),
        ]
    }

    #[test]
    fn looks_as_agreed() {
        let sample = Sample::made();
        let calibration = |style| calibration_text(&sample.calibrated(), &files(), style);
        let prediction = |style| prediction_text(&sample.prediction(), &files(), style);
        insta::assert_snapshot!("calibration_rich", calibration(&RICH));
        insta::assert_snapshot!("prediction_rich", prediction(&RICH));
        for plain in [calibration(&Style::PLAIN), prediction(&Style::PLAIN)] {
            crate::text::assert_plain("calibration", &plain);
        }
    }

    #[test]
    fn intervals_are_there_in_a_narrow_terminal() {
        let sample = Sample::made();
        for width in [80, 90, 100, 200] {
            let style = Style { width, ..RICH };
            let text = found(sample.calibrated().found, &style);
            for words in ["95 %", "62526 B to 65476 B", "± 205 ns, ± 0.96 ns/B"] {
                assert!(text.contains(words), "{words}:\n{text}");
            }
            let fits = |line: &str| crate::text::width(line) <= usize::from(width);
            assert!(text.lines().all(fits), "{text}");
        }
    }

    #[test]
    fn a_prediction_says_what_it_assumes() {
        let sample = Sample::without_rate();
        let text = prediction_text(&sample.prediction(), &[], &RICH);
        for words in [
            "Not identified by this run:\nsome of the hosts' costs.",
            "     899 µs  –\n",
            "expected: no range",
        ] {
            assert!(text.contains(words), "{words}:\n{text}");
        }
        assert!(!text.contains("95 times of 100"), "{text}");
    }

    #[test]
    fn nothing_found_is_said_without_tables() {
        let found = calibrate(&RunTrials::default());
        let shown = Calibrated {
            run: "runs/empty",
            model: None,
            found: &found,
            pairs: &[],
        };
        insta::assert_snapshot!("calibration_empty", calibration_text(&shown, &[], &RICH));
    }
}
