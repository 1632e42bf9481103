//! Delay as a linear function of what was varied (source 001).

use super::section as titled;
use super::table::{Column, Table};
use delaylab_view::run::RunData;
use delaylab_view::run::regression::{Fitted, Term, regressions};
use maud::Markup;

pub(super) fn section(run: &RunData) -> Markup {
    use Column::{Figures, Words};
    let mut table = Table::new([
        ("delay", Words),
        ("trials of", Words),
        ("model", Words),
        ("n", Figures),
        ("R²", Figures),
        ("term", Words),
        ("coefficient", Figures),
        ("95 % from", Figures),
        ("to", Figures),
        ("inflation", Figures),
        ("p linear", Figures),
        ("p one variance", Figures),
    ]);
    for fitted in regressions(run) {
        for (at, term) in fitted.terms.iter().enumerate() {
            table.row(row(&fitted, term, at == 0));
        }
    }
    titled("regression", "Regressions", table.render())
}

/// What is of the whole model stands in its first row.
fn row(fitted: &Fitted, term: &Term, first: bool) -> Vec<String> {
    let once = |text: String| if first { text } else { String::new() };
    let p = |p: Option<f64>| once(p.map_or(String::new(), |p| format!("{p:.3}")));
    let [low, high] = match term.interval {
        Some((low, high)) => [short(low), short(high)],
        None => [String::new(), String::new()],
    };
    vec![
        once(fitted.statistic.to_owned()),
        once(fitted.group.clone()),
        once(fitted.model.clone()),
        once(fitted.observations.to_string()),
        once(format!("{:.5}", fitted.r2)),
        term.name.clone(),
        short(term.value),
        low,
        high,
        term.inflation
            .map_or(String::new(), |inflation| format!("{inflation:.2}")),
        p(fitted.linear),
        p(fitted.even),
    ]
}

/// A time for each unit of the term's factors, with five digits that count.
fn short(ns: f64) -> String {
    let (scaled, unit) = match ns.abs() {
        size if size >= 1e9 => (ns / 1e9, "s"),
        size if size >= 1e6 => (ns / 1e6, "ms"),
        size if size >= 1e3 => (ns / 1e3, "µs"),
        _ => (ns, "ns"),
    };
    let size = scaled.abs().max(1e-3);
    let digits = (4.0 - size.log10().floor()).clamp(0.0, 4.0) as usize;
    format!("{scaled:.digits$} {unit}")
}
