//! Delay against size as the step detector sees it (seed 000): one number for each size, and the line or
//! the stairs that it found, in a panel for each combination of levels.

use super::{Figure, Table, parse};
use delaylab_view::run::RunData;
use delaylab_view::run::sweeps::{labels, shown};
use serde_json::{Value, json};

pub(super) struct Steps;

const COLUMNS: [&str; 5] = ["panel", "of", "size_bytes", "kind", "delay_ns"];
/// Panels at most: the page says of every other what was found.
const PANELS: usize = 12;

impl Figure for Steps {
    fn name(&self) -> &'static str {
        "steps"
    }

    fn title(&self) -> &'static str {
        "Steps in delay against size"
    }

    fn about(&self, run: &RunData) -> String {
        let left_out = match run.sweeps.len().saturating_sub(PANELS) {
            0 => String::new(),
            more => format!(" {more} more combinations are not drawn."),
        };
        format!(
            "Points are one robust number for each size (the mean of the inner 80 %, or the least); lines are what was \
             found in them: a line or stairs, over the sizes that were used.{left_out}"
        )
    }

    fn table(&self, run: &RunData) -> Table {
        let mut table = Table::new(&COLUMNS);
        let labels = labels(run);
        for one in shown(run).filter(|one| one.sweep < PANELS) {
            let panel = labels.get(one.sweep);
            let of = one.name(&[]);
            let fitted = one.way.fitted();
            let kinds = [("measured", &one.way.points), ("found", &fitted)];
            for (kind, points) in kinds {
                for point in points {
                    let delay = json!(point.delay_ns.round());
                    let size = json!(point.size);
                    table.row([json!(panel), json!(of), size, json!(kind), delay]);
                }
            }
        }
        table
    }

    fn spec(&self, run: &RunData) -> Value {
        let mut spec = parse(include_str!("specs/steps.json"));
        let labels = labels(run);
        let drawn = labels.len().min(PANELS);
        super::order_panels(&mut spec["facet"], &labels[..drawn]);
        if drawn > 1 {
            spec["columns"] = json!(2);
            spec["spec"]["width"] = json!(super::WIDTH / 2 - 60);
        }
        let ways = run.sweeps.iter().map(|sweep| sweep.ways.len()).max();
        if ways.is_none_or(|ways| ways < 2) {
            spec["spec"]["encoding"]["color"]["legend"] = Value::Null;
        }
        spec
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_view::run::samples::{sizes, waits};

    #[test]
    fn without_sizes_there_is_nothing_to_show() {
        assert!(Steps.table(&waits()).rows.is_empty());
    }

    #[test]
    fn the_stairs_lie_among_the_points() {
        let table = Steps.table(&sizes());
        let of = |kind: &str| {
            let rows = table.rows.iter().filter(|row| row[3] == kind);
            let delays = rows.map(|row| row[4].as_f64().unwrap());
            delays.fold((f64::MAX, f64::MIN), |(low, high), delay| {
                (low.min(delay), high.max(delay))
            })
        };
        let (measured, found) = (of("measured"), of("found"));
        let room = 0.02 * (measured.1 - measured.0);
        assert!((measured.0 - found.0).abs() < room && (measured.1 - found.1).abs() < room);
    }
}
