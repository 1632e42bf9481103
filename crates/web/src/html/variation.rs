//! Delay variation by probe: as source 004 prints it, and with all figures.

use super::section as titled;
use super::table::{Column, Table};
use delaylab_model::units::{format_duration, format_duration_f64};
use delaylab_view::run::RunData;
use delaylab_view::run::variation::{Combination, HEADS, Of, combinations, figures};
use delaylab_view::words::or_unknown;
use maud::{Markup, html};

pub(super) fn section(run: &RunData) -> Markup {
    if run.probes().len() < 2 {
        return html! {};
    }
    let all = combinations(run);
    let body = html! {
        @for of in Of::judged(run) {
            p {
                "IPDV of the " (of.words(run.ways())) " (RFC 3393): D(i) − D(i−1) of packets that follow each \
                 other and were both answered; n such pairs."
            }
            @if all.len() > 1 { (side_by_side(run, &all, of)) }
            (each(run, of))
        }
    };
    titled("variation", "Delay variation by probe", body)
}

/// A row for each combination of levels; of each probe sd and IQR.
fn side_by_side(run: &RunData, all: &[Combination<'_>], of: Of) -> Markup {
    let words = |name: &str| (name.to_owned(), Column::Words);
    let factors = run.varied().into_iter().map(words);
    let probes = run.probes().into_iter().flat_map(|probe| {
        ["sd", "IQR"].map(|figure| (format!("{probe}: {figure}"), Column::Figures))
    });
    let mut table = Table::new(factors.chain(probes));
    for combination in all {
        let levels = combination.levels.iter().map(|level| (*level).to_owned());
        let figures = combination.groups.iter().flat_map(|group| {
            let ipdv = group.and_then(|group| of.ipdv(group));
            let sd = or_unknown(ipdv.and_then(|v| v.sd), format_duration_f64);
            [sd, or_unknown(ipdv.and_then(|v| v.iqr), format_duration)]
        });
        table.row(levels.chain(figures).collect());
    }
    table.render()
}

/// A row for each probe of each combination, with all figures.
fn each(run: &RunData, of: Of) -> Markup {
    let factors = run.varied();
    let lead = factors.iter().copied().chain(["probe"]);
    let lead = lead.map(|name| (name, Column::Words));
    let heads = HEADS.map(|head| (run.delay_words(head), Column::Figures));
    let lead = lead.map(|(name, column)| (name.to_owned(), column));
    let mut table = Table::new(lead.chain(heads));
    let shown = run.shown_delay();
    for group in &run.groups {
        let levels = factors.iter().map(|name| group.level(name).to_owned());
        let lead = levels.chain([group.probe.clone()]);
        table.row(lead.chain(figures(group, of, shown)).collect());
    }
    table.render()
}
