//! What the delay of frames is made of (source 001).

use super::section as titled;
use super::table::{Column, Table};
use delaylab_model::units::format_duration_f64;
use delaylab_view::run::RunData;
use maud::{Markup, html};

/// More rows nobody reads.
const ROWS: usize = 200;

pub(super) fn section(run: &RunData) -> Markup {
    use Column::{Figures, Words};
    let mut table = Table::new([
        ("trials of", Words),
        ("probe", Words),
        ("delay", Figures),
        ("forwarding", Figures),
        ("propagation", Figures),
        ("transceiving", Figures),
    ]);
    for split in run.splits.iter().take(ROWS) {
        let parts = [
            split.delay,
            split.forwarding,
            split.propagation,
            split.transceiving(),
        ];
        let names = [split.label.clone(), split.probe.clone()];
        table.row(
            names
                .into_iter()
                .chain(parts.map(format_duration_f64))
                .collect(),
        );
    }
    if run.splits.is_empty() {
        return html! {};
    }
    let left_out = run.splits.len().saturating_sub(ROWS);
    let body = html! {
        p {
            "Means. Forwarding: waiting in the devices, being sent by them, and their latency. Transceiving: what is \
             left, at both ends; with the line of the port that sends."
        }
        (table.render())
        @if left_out > 0 { p { "And " (left_out) " more." } }
    };
    titled("split", "What the delay of frames is made of", body)
}
