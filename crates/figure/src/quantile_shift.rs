//! How far each quantile moved from one run to another, with its interval: a panel a pair.

use super::{Drawing, Table, WIDTH, axis, not_drawn, order_panels, parse};
use delaylab_explain::compare::statistic_name;
use delaylab_explain::compare::{Comparison, PairFigures, Quantity, Silent};
use delaylab_stats::functional::Functional;
use delaylab_view::compare::{Compared, rows};
use delaylab_view::run::without_numbers;
use serde_json::{Value, json};

const COLUMNS: &str = "pair quantile a b shift low high difference interval";
const PAIR: usize = 0;
const SHIFT: usize = 4;
/// More panels are not drawn.
pub(super) const PANELS: usize = 12;
/// What an axis takes of a panel.
const MARGIN: usize = 60;

/// The figure; `None` where no quantile moved by a known amount, or none was asked for.
pub fn drawing(compared: &Compared) -> Option<Drawing> {
    let comparison = &compared.comparison;
    let table = table(comparison);
    let name = comparison.headline.name().replace('_', " ");
    let left_out = left_out(comparison) + &silent(comparison);
    let unbounded = unbounded(comparison);
    let about = format!(
        "How much longer B's {name} is than A's at each quantile; the band is its 95 % interval, each quantile by \
         itself.{unbounded}{left_out}"
    );
    let spec = spec(comparison, &table);
    let shown = !table.rows.is_empty();
    shown.then(|| {
        let title = "Shift of each quantile";
        Drawing::new(["quantile_shift", title], about, &table, spec)
    })
}

/// How many more pairs there are.
pub(super) fn left_out(comparison: &Comparison) -> String {
    not_drawn(comparison.pairs.len().saturating_sub(PANELS), "pair")
}

/// Reasons that are said; of more the table has the others.
const REASONS: usize = 2;

/// Why some quantiles have no interval, where some have none.
fn unbounded(comparison: &Comparison) -> String {
    let pairs = comparison.pairs.iter().take(PANELS);
    let shifts = pairs.flat_map(|pair| &pair.curve).map(|point| &point.shift);
    let shifts = shifts.filter(|shift| shift.difference().is_some());
    let mut reasons: Vec<&str> = Vec::new();
    for why in shifts.filter_map(|shift| shift.absolute.as_ref().err()) {
        let is_known = |known: &&str| without_numbers(known) == without_numbers(why);
        if !reasons.iter().any(is_known) {
            reasons.push(why);
        }
    }
    reasons.truncate(REASONS);
    match reasons[..] {
        [] => String::new(),
        _ => format!(" Where there is none: {}.", reasons.join("; ")),
    }
}

/// The pairs that have no panel, as one of their sides lost everything.
fn silent(comparison: &Comparison) -> String {
    let varied = comparison.varied();
    let pairs = comparison.pairs.iter().take(PANELS);
    let silent = pairs.filter(|pair| pair.silent.is_some());
    let silent: Vec<_> = silent.map(|pair| pair.pair.label(&varied)).collect();
    super::left_out("one side was never answered", &silent)
}

pub(super) fn labels(comparison: &Comparison) -> Vec<String> {
    let varied = comparison.varied();
    let pairs = comparison.pairs.iter().take(PANELS);
    pairs.map(|pair| label(pair, &varied)).collect()
}

/// A pair of which one side lost everything says so where its line would be.
fn label(pair: &PairFigures, varied: &[String]) -> String {
    let label = pair.pair.label(varied);
    match pair.silent {
        None => label,
        Some(Silent::A) => format!("{label}: A is never answered"),
        Some(Silent::B) => format!("{label}: B is never answered"),
    }
}

fn table(comparison: &Comparison) -> Table {
    let mut table = Table::new(COLUMNS);
    let headline = Quantity::Measure(comparison.headline);
    for (label, pair) in labels(comparison).iter().zip(&comparison.pairs) {
        for point in &pair.curve {
            let shift = &point.shift;
            let Some(difference) = shift.difference() else {
                continue;
            };
            // The band has the confidence that it is said to have.
            let bounds = shift.absolute.as_ref().ok();
            let bounds = bounds.filter(|bounds| bounds.packets.is_none());
            let end = |end: Option<f64>| end.filter(|end| end.is_finite());
            let texts = rows::row(headline, shift, 1);
            table.row([
                json!(label),
                json!(statistic_name(Functional::Quantile(point.quantile))),
                json!(texts.a),
                json!(texts.b),
                json!(difference),
                json!(end(bounds.map(|bounds| bounds.low))),
                json!(end(bounds.map(|bounds| bounds.high))),
                json!(texts.difference),
                json!(texts.interval),
            ]);
        }
    }
    table
}

/// Sets the panels of these pairs out in one column or two, where an axis takes `margin` of each.
pub(super) fn lay_out(spec: &mut Value, labels: &[String], margin: usize) {
    let columns = labels.len().clamp(1, 2);
    spec["columns"] = json!(columns);
    spec["spec"]["width"] = json!(WIDTH / columns - margin);
    order_panels(&mut spec["facet"], labels);
}

fn spec(comparison: &Comparison, table: &Table) -> Value {
    let mut spec = parse(include_str!("specs/quantile_shift.json"));
    lay_out(&mut spec, &labels(comparison), MARGIN);
    let first = comparison.pairs.first().map_or(&[][..], |pair| &pair.curve);
    let names = first.iter();
    let names: Vec<_> = names
        .map(|point| statistic_name(Functional::Quantile(point.quantile)))
        .collect();
    spec["spec"]["encoding"]["x"]["sort"] = json!(names);
    if Quantity::Measure(comparison.headline).is_time() {
        let shifts = table.largest_by(PAIR, SHIFT);
        axis::unit(&mut spec["spec"]["layer"][2]["encoding"]["y"], shifts);
    }
    spec
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_view::compare::samples::samples;

    #[test]
    fn numbers_under_the_pointer_have_their_unit() {
        let [(_, compared), ..] = samples();
        let table = table(&compared.comparison);
        assert!(!table.rows.is_empty());
        for row in &table.rows {
            for text in [2, 3, 7].map(|column| row[column].as_str().unwrap()) {
                assert!(text.ends_with('s') && text.contains(' '), "{text}");
            }
        }
    }

    #[test]
    fn why_there_is_no_band_is_the_reason_of_its_quantiles() {
        let [(_, mut compared), ..] = samples();
        let curve = |compared: &mut Compared, found: Result<_, String>| {
            for point in &mut compared.comparison.pairs[0].curve {
                point.shift.absolute = found.clone();
            }
        };
        let [first, ..] = &compared.comparison.pairs[0].curve[..] else {
            panic!("a curve");
        };
        let bounds = first.shift.absolute.clone();
        compared.comparison.pairs.truncate(1);
        curve(&mut compared, bounds);
        assert!(!drawing(&compared).unwrap().about.contains("there is none"));
        curve(&mut compared, Err("the delay changes so slowly".to_owned()));
        let about = drawing(&compared).unwrap().about;
        let said = " Where there is none: the delay changes so slowly.";
        assert!(about.contains(said), "{about}");
    }

    #[test]
    fn a_pair_that_lost_everything_is_named_where_it_has_no_panel() {
        let [(_, mut compared), ..] = samples();
        let mut broken = compared.comparison.pairs[0].clone();
        broken.silent = Some(Silent::B);
        broken.curve.clear();
        let comparison = &mut compared.comparison;
        comparison.pairs.push(broken);
        let label = comparison.pairs[1].pair.label(&comparison.varied());
        let about = drawing(&compared).unwrap().about;
        let said = format!(" Not drawn, as one side was never answered: {label}.");
        assert!(about.contains(&said), "{about}");
    }
}
