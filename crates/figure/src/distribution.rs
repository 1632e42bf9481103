//! How often each round trip occurred, in bins shared by all panels. What lies far beyond is in one
//! bin at the right that says so (source 002).

use super::{Figure, Table, axis, drawn_note, left_out, parse, side_by_side, silent_note};
use delaylab_model::Nanos;
use delaylab_model::units::{duration_unit, format_duration, format_share};
use delaylab_stats::summary::Histogram;
use delaylab_view::run::{Panel, RunData, ShownDelay};
use serde_json::{Value, json};

pub(super) struct Distribution;

const COLUMNS: &str =
    "panel from_ns to_ns packets share overflow largest_ns shown_from_ns shown_to_ns share_text";
const PANEL: usize = 0;
const FROM: usize = 1;
const SHARE: usize = 4;
const OVERFLOW: usize = 5;

/// Height of the axis as a multiple of the highest bar: the text of the overflow bin is above the bars.
const ABOVE: f64 = 1.2;

impl Figure for Distribution {
    fn about(&self, run: &RunData) -> String {
        let beyond = match Bins::new(run) {
            None => return "Nothing to count.".to_owned(),
            Some(Bins::Shared(bins)) => format!("from {} on", exact(bins.end())),
            Some(Bins::Apart) => "far beyond the median".to_owned(),
        };
        let drawn = drawn_note(run);
        let left_out = left_out_note(run);
        let beyond = match has_overflow(&self.table(run)) {
            true => format!(
                " The bin at the right, set apart, holds all round trips {beyond}, with their number and the largest."
            ),
            false => String::new(),
        };
        format!("Share of the answered packets in each bin.{beyond}{left_out}{drawn}")
    }

    fn table(&self, run: &RunData) -> Table {
        let mut table = Table::new(COLUMNS);
        let Some(bins) = Bins::new(run) else {
            return table;
        };
        let shown = run.shown_delay();
        for panel in varied(run) {
            let Some(mut histogram) = bins.of_panel(panel, shown) else {
                continue;
            };
            let delays = &panel.sketch.shown().delays;
            delays.for_each(|delay, times| histogram.push_many(delay, times));
            rows(&mut table, panel, &histogram);
        }
        table
    }

    fn spec(&self, run: &RunData, table: &Table) -> Value {
        let mut spec = parse(include_str!("specs/distribution.json"));
        let mut overflow_from = "overflow_from";
        match Bins::new(run) {
            Some(Bins::Shared(bins)) => {
                let domain = json!([bins.start_ns, overflow_bin(&bins).1]);
                spec["params"][0]["value"] = json!(bins.end());
                spec["spec"]["encoding"]["x"]["scale"]["domain"] = domain;
            }
            Some(Bins::Apart) => {
                spec["params"][0]["value"] = overflow_by_panel(table);
                spec["resolve"] = json!({ "scale": { "x": "independent" } });
                // What one shows close up would be nothing of another.
                if let Some(layer) = spec["spec"]["layer"][0].as_object_mut() {
                    layer.remove("params");
                }
                overflow_from = "overflow_from[parent.panel]";
            }
            None => {}
        }
        let x = &mut spec["spec"]["encoding"]["x"];
        axis::unit(x, ends(run));
        let label = x["axis"]["labelExpr"].as_str().unwrap_or_default();
        x["axis"]["labelExpr"] = json!(format!("datum.value > {overflow_from} ? '' : {label}"));
        if has_overflow(table) {
            let shares = table.rows.iter().filter_map(|row| row[SHARE].as_f64());
            let highest = ABOVE * shares.fold(0.0, f64::max);
            spec["spec"]["encoding"]["y"]["scale"] = json!({ "domainMax": highest, "nice": false });
        }
        side_by_side(&mut spec, &varied(run), 3, 16);
        spec
    }
}

/// From where on each panel has its overflow bin; those without one are not there.
fn overflow_by_panel(table: &Table) -> Value {
    let rows = table.rows.iter().filter(|row| row[OVERFLOW] == true);
    let from = rows.filter_map(|row| Some((row[PANEL].as_str()?.to_owned(), row[FROM].clone())));
    Value::Object(from.collect())
}

/// Does any panel have round trips far beyond the others?
fn has_overflow(table: &Table) -> bool {
    table.rows.iter().any(|row| row[OVERFLOW] == true)
}

/// With every digit that it has: an edge of a bin has few.
fn exact(ns: Nanos) -> String {
    let (scale, unit) = duration_unit(ns as f64);
    format!("{} {unit}", ns as f64 / scale)
}

/// What always takes the same, but for how it was rounded, is a number and no histogram.
fn is_varied(panel: &Panel, shown: ShownDelay) -> bool {
    let delays = shown.distribution(&panel.summary);
    delays.is_some_and(|delays| delays.max - delays.min > 1)
}

fn varied(run: &RunData) -> Vec<&Panel> {
    let shown = run.shown_delay();
    let drawn = run.drawn_panels().into_iter();
    drawn.filter(|panel| is_varied(panel, shown)).collect()
}

/// Which panels are left out, and why.
fn left_out_note(run: &RunData) -> String {
    let shown = run.shown_delay();
    let drawn = run.drawn_panels().into_iter();
    let same = drawn.filter(|panel| !is_varied(panel, shown));
    let same = same.filter_map(|panel| {
        let delays = shown.distribution(&panel.summary)?;
        Some(format!("{} ({})", panel.label, format_duration(delays.min)))
    });
    let same: Vec<_> = same.collect();
    left_out("every round trip takes the same", &same) + &silent_note(run)
}

/// Panels share their bins so that they compare; but not where one of them would fill only a few of them.
enum Bins {
    Shared(Histogram),
    Apart,
}

/// Panels of which one fills less than this part of what all span have bins of their own.
const LEAST_PART: i64 = 8;

impl Bins {
    /// `None` where nothing was answered.
    fn new(run: &RunData) -> Option<Self> {
        let shown = run.shown_delay();
        let ranges = varied(run).into_iter();
        let ranges: Vec<_> = ranges.filter_map(|panel| range(panel, shown)).collect();
        // What is always the same, but for how it was rounded, is a number.
        if ranges.iter().all(|(low, high)| high - low <= 1) {
            return None;
        }
        let low = ranges.iter().map(|&(low, _)| low).min()?;
        let high = ranges.iter().map(|&(_, high)| high).max()?;
        let narrowest = ranges
            .iter()
            .map(|&(low, high)| high.saturating_sub(low))
            .min()?;
        let apart = high.saturating_sub(low) / LEAST_PART > narrowest;
        Some(if apart {
            Bins::Apart
        } else {
            Bins::Shared(Histogram::fitting(low, high))
        })
    }

    /// Empty ones for this panel.
    fn of_panel(&self, panel: &Panel, shown: ShownDelay) -> Option<Histogram> {
        match self {
            Bins::Shared(bins) => Some(bins.clone()),
            Bins::Apart => range(panel, shown).map(|(low, high)| Histogram::fitting(low, high)),
        }
    }
}

/// Where the bins of each panel end.
fn ends(run: &RunData) -> Vec<Nanos> {
    let shown = run.shown_delay();
    let ranges = varied(run).into_iter();
    let ranges = ranges.filter_map(|panel| range(panel, shown));
    match Bins::new(run) {
        None => Vec::new(),
        Some(Bins::Shared(bins)) => vec![bins.end()],
        Some(Bins::Apart) => ranges.map(|(_, high)| high).collect(),
    }
}

/// From the least delay of a panel to where its excursions begin.
fn range(panel: &Panel, shown: ShownDelay) -> Option<(Nanos, Nanos)> {
    let delays = shown.distribution(&panel.summary)?;
    Some((delays.min, panel.bound(shown)?.min(delays.max)))
}

/// Where the overflow bin is drawn: a gap beyond the others.
fn overflow_bin(bins: &Histogram) -> (Nanos, Nanos) {
    let step = bins.end().saturating_sub(bins.start_ns) / 20;
    let from = bins.end().saturating_add(step);
    (from, from.saturating_add(step))
}

fn rows(table: &mut Table, panel: &Panel, histogram: &Histogram) {
    let all = histogram.count().max(1) as f64;
    // The overflow bin has no upper edge of its own, but a largest value.
    let mut row = |from: Nanos, shown: (Nanos, Nanos), packets: u64, largest: Option<Nanos>| {
        let to = largest.is_none().then_some(shown.1);
        table.row([
            json!(panel.label),
            json!(from),
            json!(to),
            json!(packets),
            json!(packets as f64 / all),
            json!(largest.is_some()),
            json!(largest),
            json!(shown.0),
            json!(shown.1),
            json!(format_share(packets as f64 / all)),
        ]);
    };
    for (bin, &packets) in (0..).zip(&histogram.bins) {
        let from = histogram
            .start_ns
            .saturating_add(histogram.width_ns.saturating_mul(bin));
        let to = from.saturating_add(histogram.width_ns);
        if packets > 0 {
            row(from, (from, to), packets, None);
        }
    }
    if histogram.overflow > 0 {
        let shown = overflow_bin(histogram);
        row(
            histogram.end(),
            shown,
            histogram.overflow,
            Some(histogram.max_ns),
        );
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_view::run::samples::waits;

    #[test]
    fn every_packet_is_in_a_bin_and_the_late_ones_in_the_marked_one() {
        let run = waits();
        let table = Distribution.table(&run);
        for panel in &run.panels {
            let rows = table
                .rows
                .iter()
                .filter(|row| row[0] == panel.label.as_str());
            let packets: u64 = rows.clone().map(|row| row[3].as_u64().unwrap()).sum();
            assert_eq!(packets, panel.summary.response.as_ref().unwrap().count);
            let overflow: Vec<_> = rows.filter(|row| row[5] == true).collect();
            let bins = Bins::new(&run)
                .unwrap()
                .of_panel(panel, ShownDelay::Response)
                .unwrap();
            let beyond = panel.sketch.shown().delays.count_beyond(bins.end() - 1);
            assert_eq!(
                overflow.first().map_or(0, |row| row[3].as_u64().unwrap()),
                beyond
            );
            if let Some(row) = overflow.first() {
                assert_eq!(row[6], panel.summary.response.as_ref().unwrap().max);
            }
        }
    }

    /// Bins of 50 µs from 86.15 ms on do not begin at 86.1 ms.
    #[test]
    fn the_bound_in_the_caption_is_an_edge_of_a_bin() {
        let mut run = waits();
        run.panels.truncate(1);
        let Some(Bins::Shared(bins)) = Bins::new(&run) else {
            panic!("one panel");
        };
        let about = Distribution.about(&run);
        let bound = about.split_once(" from ").unwrap().1;
        let bound = bound.split_once(" on,").unwrap().0.replace(' ', "");
        let bound = delaylab_model::units::parse_duration(&bound).unwrap();
        assert_eq!(bound, bins.end());
        assert_eq!(exact(86_150_000), "86.15 ms");
        assert_eq!(exact(400), "400 ns");
    }

    #[test]
    fn a_bin_that_is_not_drawn_is_not_described() {
        let mut run = waits();
        assert!(Distribution.about(&run).contains("set apart"));
        for panel in &mut run.panels {
            // Excursions begin beyond the largest.
            let delays = panel.summary.response.as_mut().unwrap();
            delays.p50 = delays.max;
        }
        assert!(!has_overflow(&Distribution.table(&run)));
        assert!(!Distribution.about(&run).contains("set apart"));
    }

    #[test]
    fn panels_that_are_left_out_are_named() {
        let mut run = waits();
        run.panels[0].summary.response = None;
        let same = run.panels[1].summary.response.as_mut().unwrap();
        (same.min, same.max) = (7_000, 7_000);
        let about = Distribution.about(&run);
        for (why, label) in [
            ("nothing was answered", run.panels[0].label.clone()),
            (
                "every round trip takes the same",
                format!("{} (7.00 µs)", run.panels[1].label),
            ),
        ] {
            let note = format!(" Not drawn, as {why}: {label}.");
            assert!(about.contains(&note), "{about}");
        }
    }

    #[test]
    fn panels_far_apart_have_bins_of_their_own() {
        let mut run = waits();
        // One is a hundred times as wide as another.
        assert!(matches!(Bins::new(&run), Some(Bins::Apart)));
        let first = run.panels[0].clone();
        run.panels = vec![first.clone(), first];
        assert!(matches!(Bins::new(&run), Some(Bins::Shared(_))));
        let far = run.panels[0].summary.response.as_mut().unwrap();
        for value in [&mut far.min, &mut far.p50, &mut far.max] {
            *value += 5_000_000;
        }
        assert!(matches!(Bins::new(&run), Some(Bins::Apart)));
        let spec = Distribution.spec(&run, &Distribution.table(&run));
        assert_eq!(spec["resolve"]["scale"]["x"], "independent");
        assert_eq!(spec["spec"]["layer"][0]["params"], Value::Null);
    }

    /// A number below an orange bin would be of no time.
    #[test]
    fn bins_set_apart_have_no_number_below_in_any_panel() {
        let run = waits();
        let bins = Bins::new(&run).unwrap();
        assert!(matches!(bins, Bins::Apart));
        let spec = Distribution.spec(&run, &Distribution.table(&run));
        let from = spec["params"][0]["value"].as_object().unwrap();
        assert!(from.len() > 1, "{from:?}");
        for (label, from) in from {
            let panel = run.panels.iter().find(|panel| panel.label == *label);
            assert_eq!(
                *from,
                bins.of_panel(panel.unwrap(), ShownDelay::Response)
                    .unwrap()
                    .end()
            );
        }
        let label = &spec["spec"]["encoding"]["x"]["axis"]["labelExpr"];
        let label = label.as_str().unwrap();
        assert!(
            label.starts_with("datum.value > overflow_from[parent.panel] ? ''"),
            "{label}"
        );
    }
}
