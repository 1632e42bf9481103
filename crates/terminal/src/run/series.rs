//! What was over time, combination by combination of levels: mean and largest.

use crate::style::{Paint, Style};
use crate::table::{Cell, Table};
use crate::text::paragraph;
use delaylab_lab::finding::dimension::Dimension;
use delaylab_model::plan::{Factor, Unit, level_of};
use delaylab_model::series::COUNTS;
use delaylab_model::units::{format_in_unit, format_share};
use delaylab_view::run::{RunData, SeriesShown};
use delaylab_view::words::or_unknown;

/// Combinations that are shown unless all are asked for.
const ROWS: usize = 20;

pub(super) fn section(run: &RunData, style: &Style) -> String {
    let combinations = SeriesShown::combinations(run.series.iter(), &run.levels);
    match combinations.as_slice() {
        [] => String::new(),
        [_] => below_each_other(run, style),
        _ => by_combination(run, &combinations, style),
    }
}

/// A row for each series.
fn below_each_other(run: &RunData, style: &Style) -> String {
    let heads = ["Over time", "of"].map(Cell::left).into_iter();
    let heads = heads.chain(["mean", "max"].map(Cell::new));
    let mut table = Table::headed(heads);
    for shown in run.series.iter().filter(|shown| has_any(shown)) {
        let lead = [Cell::left(&shown.series), Cell::left(&shown.of)];
        let max = has_maximum(&shown.series).then_some(shown.max);
        let max = or_unknown(max, |max| value_of(max, shown.unit));
        let figures = [value_of(shown.mean, shown.unit), max].map(Cell::new);
        table.row(lead.into_iter().chain(figures));
    }
    let note = "mean and max of whole trials, warm-up included; of each measure the port or flow with the largest mean";
    table.render(style) + &paragraph(note, Paint::Dim, style)
}

/// A row for each combination, in as many tables as it takes to have columns for all series.
fn by_combination(run: &RunData, combinations: &[&[Factor]], style: &Style) -> String {
    let mut kinds: Vec<_> = run.series.chunk_by(|a, b| a.series == b.series).collect();
    kinds.retain(|kind| kind.iter().any(has_any));
    let leading = kinds.iter().find(|kind| kind[0].series == "backlog");
    let leading = leading.or(kinds.first()).copied().unwrap_or(&[]);
    let (factors, combinations) = telling(run.varied(), &kinds, combinations);
    let rows = match style.verbose {
        true => combinations.clone(),
        false => largest(leading, &combinations),
    };
    kinds.retain(|kind| rows.iter().any(|row| of_combination(kind, row).is_some()));
    let mut tables = Vec::new();
    let mut rest = kinds.as_slice();
    while !rest.is_empty() {
        let fits = |count: &usize| {
            let table = table(&factors, &rest[..*count], &rows);
            table.width() <= style.columns()
        };
        let count = (1..=rest.len()).rev().find(fits).unwrap_or(1);
        tables.push(table(&factors, &rest[..count], &rows).render(style));
        rest = &rest[count..];
    }
    let mut text = format!("{}\n", style.paint(Paint::Dim, "Over time")) + &tables.join("\n");
    let left_out = combinations.len() - rows.len();
    if left_out > 0 {
        let by = &leading[0].series;
        text += &format!("and {left_out} more combinations with a smaller {by} (-v)\n");
    }
    let named = |is_exception: bool| {
        let named = kinds.iter().filter_map(|kind| {
            let shown = rows.iter().filter_map(|row| of_combination(kind, row));
            let shown = shown.filter(|shown| shown.is_exception == is_exception);
            let of = SeriesShown::ports_or_flows(shown)?;
            Some(format!("{} of {of}", kind[0].series))
        });
        named.collect::<Vec<_>>().join(", ")
    };
    let same = run
        .varied()
        .into_iter()
        .filter(|name| !factors.contains(name));
    let same = match same.collect::<Vec<_>>().as_slice() {
        [] => String::new(),
        names => format!("the same at every level of {}; ", names.join(" and ")),
    };
    let note = format!(
        "{same}means, and the largest values (max), over whole trials, warm-up included; of each measure the port or flow with \
         the largest mean: {}",
        named(false)
    );
    let exceptions = named(true);
    let note = match exceptions.is_empty() {
        true => note,
        false => {
            format!("{note}; * another one that has more than twice as much there: {exceptions}")
        }
    };
    text + &paragraph(&note, Paint::Dim, style)
}

/// The factors of which some levels look different, and the combinations of those, each once: what looks the same at
/// every level of another factor need not be read again.
fn telling<'a, 'f>(
    mut factors: Vec<&'f str>,
    kinds: &[&[SeriesShown]],
    combinations: &[&'a [Factor]],
) -> (Vec<&'f str>, Vec<&'a [Factor]>) {
    let with_figures = |combination: &&'a [Factor]| (*combination, figures(kinds, combination));
    let mut rows: Vec<_> = combinations.iter().map(with_figures).collect();
    for factor in factors.clone() {
        let others = |combination: &'a [Factor]| {
            let others = combination
                .iter()
                .filter(|(name, _)| name != factor && factors.contains(&name.as_str()));
            others.collect::<Vec<_>>()
        };
        let mut kept: Vec<(&'a [Factor], Vec<String>)> = Vec::new();
        let looks_the_same = rows.iter().all(|(combination, figures)| {
            let known = kept
                .iter()
                .find(|(known, _)| others(known) == others(combination));
            let same = known.is_none_or(|(_, known)| known == figures);
            if known.is_none() {
                kept.push((*combination, figures.clone()));
            }
            same
        });
        if looks_the_same {
            rows = kept;
            factors.retain(|name| *name != factor);
        }
    }
    (factors, rows.into_iter().map(|(row, _)| row).collect())
}

/// Of many combinations those with the largest mean, in their order.
fn largest<'a>(kind: &[SeriesShown], combinations: &[&'a [Factor]]) -> Vec<&'a [Factor]> {
    let mean = |place: &usize| {
        let shown = of_combination(kind, combinations[*place]);
        shown.map_or(f64::NEG_INFINITY, SeriesShown::rank)
    };
    let mut places: Vec<usize> = (0..combinations.len()).collect();
    places.sort_by(|a, b| mean(b).total_cmp(&mean(a)));
    places.truncate(ROWS);
    places.sort_unstable();
    places.iter().map(|&place| combinations[place]).collect()
}

fn of_combination<'a>(kind: &'a [SeriesShown], factors: &[Factor]) -> Option<&'a SeriesShown> {
    kind.iter().find(|shown| shown.factors == factors)
}

fn table(factors: &[&str], kinds: &[&[SeriesShown]], rows: &[&[Factor]]) -> Table {
    let heads = kinds.iter().flat_map(|kind| {
        let max = has_column_of_maximum(kind).then_some("max");
        [kind[0].series.as_str()]
            .into_iter()
            .chain(max)
            .map(Cell::new)
    });
    let names = factors.iter().map(|name| Cell::left(*name));
    let mut table = Table::headed(names.chain(heads));
    for combination in rows {
        let label = |name| level_of(combination, name).map_or("", |level| &level.label);
        let levels = factors.iter().map(|name| Cell::left(label(name)));
        let figures = figures(kinds, combination).into_iter();
        table.row(levels.chain(figures.map(Cell::new)));
    }
    table
}

/// Of one combination, a cell for each column.
fn figures(kinds: &[&[SeriesShown]], combination: &[Factor]) -> Vec<String> {
    let figures = kinds.iter().flat_map(|kind| {
        let shown = of_combination(kind, combination);
        let value = |of: fn(&SeriesShown) -> f64| {
            or_unknown(shown, |shown| value_of(of(shown), shown.unit))
        };
        let max = has_column_of_maximum(kind).then(|| value(|shown| shown.max));
        let mark = match shown.is_some_and(|shown| shown.is_exception) {
            true => "*",
            false => "",
        };
        let mean = format!("{mark}{}", value(|shown| shown.mean));
        [mean].into_iter().chain(max)
    });
    figures.collect()
}

/// The largest share of a stretch is nearly always all of it.
fn has_column_of_maximum(kind: &[SeriesShown]) -> bool {
    has_maximum(&kind[0].series) && kind[0].unit != Unit::Share
}

/// A retransmission releases all that waited for it at once: the goodput of that moment is no rate of the path. A count
/// has one number each trial.
fn has_maximum(series: &str) -> bool {
    !matches!(series, "goodput" | "load_goodput") && !COUNTS.contains(&series)
}

/// A count of nothing needs no row: most queues drop and mark nothing.
fn has_any(shown: &SeriesShown) -> bool {
    shown.max > 0.0 || !COUNTS.contains(&shown.series.as_str())
}

fn value_of(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Share if is_near_an_end(value) => format_share(value),
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

/// With one digit behind the point it would be nothing, or all.
fn is_near_an_end(share: f64) -> bool {
    share > 0.0 && share < 1.0 && !(0.0005..0.9995).contains(&share)
}

/// `<1 B`, `532 B`, `64.0 kB`: a queue's mean is not known to the byte.
fn bytes(value: f64) -> String {
    let scaled = |scale, unit| format!("{} {unit}", format_in_unit(value, scale));
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
    use delaylab_model::plan::Level;
    use delaylab_view::run::Group;
    use delaylab_view::run::samples::queues;

    /// A run that has no combination yet, and a series and a group to make some of.
    fn without_combinations() -> (RunData, SeriesShown, Group) {
        let mut run = queues();
        let (series, group) = (run.series[0].clone(), run.groups[0].clone());
        run.levels.clear();
        run.groups.clear();
        run.series.clear();
        (run, series, group)
    }

    #[test]
    fn a_share_is_neither_nothing_nor_all_where_it_is_not() {
        let shown = [0.0, 0.0004, 0.924, 0.9996, 1.0].map(|share| value_of(share, Unit::Share));
        assert_eq!(shown, ["0.0 %", "0.04 %", "92.4 %", "99.9 %", "100.0 %"]);
    }

    #[test]
    fn combinations_are_never_put_together_and_many_are_not_all_shown() {
        let (mut run, one, group) = without_combinations();
        let named =
            |number: usize| vec![("case".to_owned(), Level::named(format!("case {number:02}")))];
        for number in 0..50 {
            let factors = named(number);
            run.groups.push(Group {
                factors: factors.clone(),
                ..group.clone()
            });
            let mean = 100.0 * (number % 7) as f64;
            run.series.push(SeriesShown {
                factors,
                mean,
                ..one.clone()
            });
        }
        let text = section(&run, &Style::PLAIN);
        let shown = text
            .lines()
            .filter(|line| line.starts_with("case ") && line.contains("cells"))
            .count();
        assert_eq!(shown, ROWS, "{text}");
        assert!(
            text.contains("case 06") && !text.contains("case 00"),
            "{text}"
        );
        assert!(
            text.contains("and 30 more combinations with a smaller backlog (-v)"),
            "{text}"
        );
        let in_full = Style {
            verbose: true,
            ..Style::PLAIN
        };
        assert_eq!(section(&run, &in_full).matches("case ").count(), 51);
    }

    #[test]
    fn levels_that_look_the_same_are_one_row() {
        let (mut run, one, group) = without_combinations();
        for (streams, mean) in [("1", 100.0), ("2", 200.0)] {
            for place in ["near", "far"] {
                let named = |name: &str, level: &str| (name.to_owned(), Level::named(level));
                let factors = vec![named("streams", streams), named("place", place)];
                let series = SeriesShown {
                    factors: factors.clone(),
                    mean,
                    ..one.clone()
                };
                run.series.push(series);
                run.groups.push(Group {
                    factors,
                    ..group.clone()
                });
            }
        }
        let text = section(&run, &Style::PLAIN);
        let rows: Vec<_> = text.lines().take(4).collect();
        assert!(
            rows[1].starts_with("streams") && !rows[1].contains("place"),
            "{text}"
        );
        assert!(
            rows[2].contains("100 cells") && rows[3].contains("200 cells"),
            "{text}"
        );
        assert!(text.contains("the same at every level of place"), "{text}");
        // What differs at one level alone is shown at every level.
        run.series[3].mean = 300.0;
        let text = section(&run, &Style::PLAIN);
        assert!(
            text.contains("place") && text.contains("300 cells"),
            "{text}"
        );
        assert_eq!(text.matches("cells").count(), 8, "{text}");
    }

    #[test]
    fn another_port_is_marked_where_it_stands_for_the_usual_one() {
        let (mut run, one, group) = without_combinations();
        for (case, of, mean) in [
            ("PFC", "leaf→spine", 600.0),
            ("tail drop", "leaf→host", 60.0),
        ] {
            let factors = vec![("case".to_owned(), Level::named(case))];
            let group = group.clone();
            run.groups.push(Group {
                factors: factors.clone(),
                ..group
            });
            run.series.push(SeriesShown {
                factors,
                of: of.to_owned(),
                is_exception: of == "leaf→host",
                mean,
                ..one.clone()
            });
        }
        let text = section(&run, &Style::PLAIN);
        assert!(
            text.contains(" 600 cells") && text.contains("*60 cells"),
            "{text}"
        );
        let note = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            note.contains("largest mean: backlog of leaf→spine; * another"),
            "{text}"
        );
        assert!(note.ends_with("there: backlog of leaf→host"), "{text}");
    }

    #[test]
    fn a_count_has_one_number_and_no_row_of_nothing() {
        let mut run = queues();
        let one = run.series[0].clone();
        let count = |series: &str, number: f64| SeriesShown {
            series: series.to_owned(),
            unit: Unit::Packets,
            mean: number,
            max: number,
            ..one.clone()
        };
        run.series = vec![one.clone(), count("drops", 7.0), count("marks", 0.0)];
        let text = section(&run, &Style::PLAIN);
        let drops = text.lines().find(|line| line.starts_with("drops"));
        let is_one = |line: &str| line.contains("7 packets") && line.ends_with('–');
        assert!(drops.is_some_and(is_one), "{text}");
        assert!(!text.contains("marks"), "{text}");
        let other = SeriesShown {
            factors: vec![("case".to_owned(), Level::named("other"))],
            ..one.clone()
        };
        run.series.insert(1, other);
        let text = section(&run, &Style::PLAIN);
        assert!(text.contains("drops") && !text.contains("marks"), "{text}");
        assert_eq!(text.matches("7 packets").count(), 1, "{text}");
    }

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
