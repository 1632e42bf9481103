//! What was over time, panel by panel: mean and largest.

use crate::style::{Paint, Style};
use crate::table::{Cell, Table};
use crate::text::paragraph;
use delaylab_lab::finding::dimension::Dimension;
use delaylab_model::plan::Unit;
use delaylab_view::run::{Panel, RunData, SeriesShown};

/// Rows that are shown unless all are asked for.
const ROWS: usize = 8;

pub(super) fn section(run: &RunData, style: &Style) -> String {
    if run.series.is_empty() {
        return String::new();
    }
    let names = run.panels.first().into_iter().flat_map(Panel::of_trial);
    let names = names.map(|(name, _)| name.as_str());
    let heads = ["Over time", "of"].into_iter().chain(names);
    let heads = heads.map(Cell::left);
    let heads = heads.chain(["mean", "max"].map(Cell::new));
    let mut table = Table::default();
    table.row(heads.map(Cell::dim));
    let most = if style.verbose { usize::MAX } else { ROWS };
    for shown in run.series.iter().take(most) {
        table.row(row(run, shown));
    }
    let more = match run.series.len().saturating_sub(most) {
        0 => String::new(),
        more => format!("and {more} more (-v)\n"),
    };
    let note = "mean and max of whole trials, warm-up included; of each measure the port or flow with the largest mean";
    table.render(style) + &more + &paragraph(note, Paint::Dim, style)
}

fn row(run: &RunData, shown: &SeriesShown) -> impl Iterator<Item = Cell> {
    let panel = run.panels.get(shown.panel);
    let levels = panel.into_iter().flat_map(Panel::of_trial);
    let levels = levels.map(|(_, level)| Cell::left(&level.label));
    let lead = [Cell::left(&shown.series), Cell::left(&shown.of)];
    let max = has_maximum(&shown.series).then(|| value_of(shown.max, shown.unit));
    let max = max.unwrap_or_else(|| "–".to_owned());
    let figures = [value_of(shown.mean, shown.unit), max].map(Cell::new);
    lead.into_iter()
        .chain(levels)
        .chain(figures)
        .collect::<Vec<_>>()
        .into_iter()
}

/// A retransmission releases all that waited for it at once: the goodput of that moment is no rate of the path.
fn has_maximum(series: &str) -> bool {
    !matches!(series, "goodput" | "load_goodput")
}

fn value_of(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Share => format!("{:.1} %", 100.0 * value),
        Unit::CellsPerSecond => format!("{} cells/s", value.round()),
        Unit::Bytes => bytes(value),
        Unit::Cells | Unit::Packets if value == 1.0 => {
            let several = Dimension::from(unit).format(value);
            several.trim_end_matches('s').to_owned()
        }
        _ => Dimension::from(unit).format(value),
    }
}

/// `<1 B`, `532 B`, `64.0 kB`: a queue's mean is not known to the byte.
fn bytes(value: f64) -> String {
    let scaled = |scale: f64, unit: &str| {
        let value = value / scale;
        let digits = match value {
            small if small < 9.995 => 2,
            middle if middle < 99.95 => 1,
            _ => 0,
        };
        format!("{value:.digits$} {unit}")
    };
    match value {
        none if none <= 0.0 => "0 B".to_owned(),
        few if few < 1.0 => "<1 B".to_owned(),
        some if some < 999.5 => format!("{some:.0} B"),
        more if more < 999.5e3 => scaled(1e3, "kB"),
        _ => scaled(1e6, "MB"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_over_time_has_three_digits() {
        for (value, unit, text) in [
            (0.001_258, Unit::Bytes, "<1 B"),
            (0.0, Unit::Bytes, "0 B"),
            (532.0, Unit::Bytes, "532 B"),
            (63_986.0, Unit::Bytes, "64.0 kB"),
            (1_384_252.0, Unit::Bytes, "1.38 MB"),
            (999_960.0, Unit::Bytes, "1.00 MB"),
            (1.0, Unit::Cells, "1 cell"),
            (1085.0, Unit::Cells, "1085 cells"),
            (0.924, Unit::Share, "92.4 %"),
        ] {
            assert_eq!(value_of(value, unit), text);
        }
    }
}
