//! Where the time goes: a row a stage, a column a quantile, and the bar of host against network.

use crate::bar::widths;
use crate::style::{Paint, Style};
use crate::table::{Cell, Table};
use crate::text::paragraph;
use crate::text::wrap;
use delaylab_model::units::format_duration_f64;
use delaylab_model::words::each_once;
use delaylab_stats::anatomy::Place;
use delaylab_stats::summary::AnatomyAt;
use delaylab_view::missing::{self, WrittenIn};
use delaylab_view::ping::Ping;
use delaylab_view::words::short_name;
use delaylab_view::words::{plural, short_percent};

/// Columns of a cell: a time, a space, a share.
const CELL: usize = 12;
/// Columns of the longest name of a single stage.
const LABEL: usize = 15;

pub(super) fn section(ping: &Ping<'_>, style: &Style) -> String {
    let columns = columns(ping);
    if columns.is_empty() {
        return String::new();
    }
    let mut table = Table::default();
    if columns.len() > 1 {
        table.row(header(columns));
    }
    stage_rows(&mut table, columns, style);
    total_rows(&mut table, columns);
    let mut text = paragraph(caption(columns), Paint::Dim, style) + &table.render(style);
    for note in footnotes(ping, columns) {
        text += &paragraph(&note, Paint::Dim, style);
    }
    text
}

/// Every quantile; but one packet is every quantile at once.
fn columns<'a>(ping: &Ping<'a>) -> &'a [AnatomyAt] {
    let every = &ping.summary.anatomy;
    let answered = ping.summary.response.as_ref().map_or(0, |d| d.count);
    if answered < 2 {
        &every[..every.len().min(1)]
    } else {
        every
    }
}

fn caption(columns: &[AnatomyAt]) -> &'static str {
    match columns {
        [_] => "Where the time of this one packet goes",
        _ => "Where the time goes: each stage, averaged over the responses around the quantile",
    }
}

fn header(columns: &[AnatomyAt]) -> Vec<Cell> {
    let labels = columns.iter().map(|at| at.label);
    let cells = [""].into_iter().chain(labels);
    cells.map(|head| Cell::painted(head, Paint::Dim)).collect()
}

fn stage_rows(table: &mut Table, columns: &[AnatomyAt], style: &Style) {
    let room = style
        .columns()
        .saturating_sub(columns.len() * (CELL + 1))
        .max(LABEL);
    // In the order of the packet's way.
    let parts = columns.iter().flat_map(|at| &at.parts);
    for stages in each_once(parts.map(|part| part.stages)) {
        let mut lines = wrap(&short_name(stages), room);
        let last = lines.pop().unwrap_or_default();
        for line in lines {
            table.row([Cell::new(line)]);
        }
        table.row(row(Cell::new(last), columns, |at| at.ns_of(stages)));
    }
}

fn total_rows(table: &mut Table, columns: &[AnatomyAt]) {
    table.row([]);
    let told_apart = columns.iter().any(|at| at.network_ns.is_some());
    if told_apart {
        let label = Cell::new("network ").then("░", Paint::Network);
        table.row(row(label, columns, |at| at.network_ns));
        let label = Cell::new("host ").then("█", Paint::Host);
        table.row(row(label, columns, |at| at.host_ns));
        if columns.iter().any(|at| in_server(at).is_some()) {
            let label = Cell::new("server ").then("▚", Paint::Server);
            table.row(row(label, columns, in_server));
        }
    }
    let response = columns
        .iter()
        .map(|at| time_and_share(at.response_ns, None, Paint::Bold));
    table.row(
        [Cell::painted("response", Paint::Bold)]
            .into_iter()
            .chain(response),
    );
    if told_apart {
        table.row([Cell::default()].into_iter().chain(columns.iter().map(bar)));
    }
}

fn row(label: Cell, columns: &[AnatomyAt], ns: impl Fn(&AnatomyAt) -> Option<f64>) -> Vec<Cell> {
    let cell = |at: &AnatomyAt| match ns(at) {
        Some(ns) => time_and_share(ns, Some(ns / at.response_ns), Paint::Plain),
        None => Cell::default(),
    };
    [label]
        .into_iter()
        .chain(columns.iter().map(cell))
        .collect()
}

/// `14.9 µs  13%`, always as wide.
fn time_and_share(ns: f64, share: Option<f64>, paint: Paint) -> Cell {
    let share = share
        .filter(|share| share.is_finite())
        .map(short_percent)
        .unwrap_or_default();
    Cell::painted(format_duration_f64(ns), paint).then(format!(" {share:>4}"), Paint::Dim)
}

/// Host against network at a glance. Whatever is there at all has a block.
fn bar(at: &AnatomyAt) -> Cell {
    let (Some(host), Some(network)) = (at.host_ns, at.network_ns) else {
        return Cell::default();
    };
    let server = in_server(at).unwrap_or(0.0);
    // Set-up and transfer are neither.
    let rest = (at.response_ns - host - network - server).max(0.0);
    let rest = rest * f64::from(u8::from(rest > 1e-9 * at.response_ns));
    let times = [host, network, server, rest];
    let mut widths = widths(&times, CELL);
    if widths.iter().sum::<usize>() == 0 {
        widths[times.len() - 1] = CELL;
    }
    let fills = ["█", "░", "▚", "·"];
    let paints = [Paint::Host, Paint::Network, Paint::Server, Paint::Dim];
    let pieces = widths.into_iter().zip(fills).zip(paints);
    pieces.fold(Cell::default(), |cell, ((width, fill), paint)| {
        cell.then(fill.repeat(width), paint)
    })
}

/// The server's time, where it is told apart.
fn in_server(at: &AnatomyAt) -> Option<f64> {
    let part = at
        .parts
        .iter()
        .find(|part| part.stages.place() == Place::Server);
    part.map(|part| part.ns)
}

fn footnotes(ping: &Ping<'_>, columns: &[AnatomyAt]) -> Vec<String> {
    let mut notes = Vec::new();
    // Of a server the table above bounds what the stamps do not tell apart.
    let is_bounded = ping.summary.server.is_some();
    let probe = &ping.run.probe;
    if !is_bounded && probe.method.is_request() && !probe.is_acknowledged() {
        let note = "By UDP nothing is acknowledged: network and server are one stage. --transport tcp tells them apart";
        notes.push(note.to_owned());
    } else if !is_bounded && columns.iter().all(|at| at.network_ns.is_none()) {
        notes.push(match ping.summary.network {
            // Other packets have them, and their network has a row above.
            Some(_) => "Host and network cannot be separated here: packets around these quantiles lack the stamps for it"
                .to_owned(),
            None => format!(
                "Host and network cannot be separated ({})",
                missing::network(ping.facts, WrittenIn::PingOptions)
            ),
        });
    }
    let left_out = columns.iter().map(|at| at.left_out).max().unwrap_or(0);
    if left_out > 0 {
        let packets = plural(left_out, "packet");
        notes.push(format!(
            "Up to {packets} a column left out: a stamp that most packets have is missing"
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_view::samples::{full, no_kernel_stamps};
    use proptest::prelude::*;

    fn at(response_ns: f64, host_ns: f64, network_ns: f64) -> AnatomyAt {
        AnatomyAt {
            label: "p50",
            records: 1,
            left_out: 0,
            response_ns,
            parts: Vec::new(),
            network_ns: Some(network_ns),
            host_ns: Some(host_ns),
        }
    }

    #[test]
    fn whatever_is_there_has_a_block() {
        let drawn = |host, network| bar(&at(host + network, host, network)).plain();
        assert_eq!(drawn(1.0, 1e9), "█░░░░░░░░░░░");
        assert_eq!(drawn(1e9, 1.0), "███████████░");
        assert_eq!(drawn(50.0, 50.0), "██████░░░░░░");
        assert_eq!(drawn(0.0, 10.0), "░░░░░░░░░░░░");
    }

    /// Few packets: those at the quantiles may be the ones that lack a stamp.
    #[test]
    fn packets_elsewhere_that_have_the_stamps_are_not_denied() {
        let notes = |mut sample: delaylab_view::samples::Sample| {
            for at in &mut sample.summary.anatomy {
                (at.network_ns, at.host_ns) = (None, None);
            }
            footnotes(&sample.ping(), &sample.summary.anatomy).join("\n")
        };
        let some = notes(full());
        assert!(
            some.contains("packets around these quantiles lack"),
            "{some}"
        );
        let none = notes(no_kernel_stamps());
        assert!(
            none.contains("cannot be separated (not delivered"),
            "{none}"
        );
    }

    proptest! {
        #[test]
        fn a_bar_is_always_as_long(response: f64, host: f64, network: f64) {
            prop_assert_eq!(bar(&at(response, host, network)).plain().chars().count(), CELL);
        }
    }
}
