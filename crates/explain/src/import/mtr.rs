//! The columns of mtr's reports, which its json, csv and text share. Each hop is a stream without
//! records: a report has no packets.
//!
//! mtr's standard deviation is by n − 1 (mtr, ui/net.c, `net_stdev`).

use super::by_line;
use super::decimal;
use super::figure::{Delay, Figure, PrintedFigure, PrintedSummary, Statistic};
use super::{Format, Hop, Imported, ImportedStream, Input, date};
use delaylab_model::method::Method;
use delaylab_model::{MILLISECOND, Nanos};

/// The warning of every report.
const NO_PACKETS: &str =
    "an mtr report has figures and no packets; `mtr --raw` prints every round trip";

/// What a column is; `None` for those without a meaning elsewhere (geometric means, jitter of its own).
fn figure(column: &str) -> Option<Figure> {
    let round_trip = |statistic| Figure::Of(Delay::RoundTrip, statistic);
    Some(match column {
        "Loss%" => Figure::LossShare,
        "Snt" => Figure::Sent,
        "Rcv" => Figure::Received,
        "Drop" => Figure::Lost,
        "Last" => round_trip(Statistic::Last),
        "Avg" => round_trip(Statistic::Mean),
        "Best" => round_trip(Statistic::Min),
        "Wrst" => round_trip(Statistic::Max),
        "StDev" => round_trip(Statistic::Deviation),
        _ => return None,
    })
}

/// A stream for a hop of the way `to` a target that has no record yet. It is called by its number and by who answers there, so that hops are
/// told apart wherever the stream is named.
pub fn hop(number: u64, target: &str, to: &str) -> ImportedStream {
    let name = match target {
        "" | "???" => format!("hop {number}"),
        host => format!("hop {number} {host}"),
    };
    ImportedStream {
        hop: Some(Hop::new(number, to)),
        ..ImportedStream::new(name, target, Method::Icmp)
    }
}

/// An empty report.
pub fn report(format: &'static Format) -> Imported {
    let mut imported = Imported::new(format);
    imported.warn(NO_PACKETS);
    imported
}

/// What stands above the hops of a report.
#[derive(Default)]
pub struct Head {
    /// The names of its columns.
    pub columns: Vec<String>,
    /// When mtr began.
    pub began: Option<Nanos>,
}

/// A report that is read line by line, or those of several calls.
pub fn by_line(
    input: Input<'_>,
    format: &'static Format,
    take: impl Fn(&mut Head, &str, &mut Imported) -> bool,
) -> Imported {
    let warn = |_: Head, imported: &mut Imported| imported.warn(NO_PACKETS);
    finish(by_line::by_line(input, format, Head::default(), take, warn))
}

/// Adds a hop of a call that began then. The names of all calls but the first say when, so that they are told apart.
pub fn add(imported: &mut Imported, mut hop: ImportedStream, began: Option<Nanos>) {
    if let Some(began) = began {
        let first = *imported.began.get_or_insert(began);
        if first != began {
            hop.name = format!("{} from {}", hop.name, date::shown(began));
        }
    }
    imported.streams.push(hop);
}

/// Adds what a column says of the hop that was added last.
pub fn say(imported: &mut Imported, column: &str, value: &str) {
    let Some(stream) = imported.streams.len().checked_sub(1) else {
        return;
    };
    let Some(what) = figure(column) else { return };
    let printed = format!("{column} {value}");
    let mut said = PrintedSummary::default();
    match what {
        Figure::LossShare => {
            said.percent(what, decimal::number(value.trim_end_matches('%')), printed);
        }
        Figure::Of(..) => said.time(what, decimal::time(value, MILLISECOND), printed),
        _ => said.count(what, value.parse::<u64>().ok(), printed),
    }
    imported.sum_up(stream, said);
}

/// The report as it is read whole. Of a hop that never answered mtr prints delays of 0, which none was.
pub fn finish(mut imported: Imported) -> Imported {
    let never_answered = |said: &PrintedFigure| match said.what {
        Figure::LossShare => said.value >= 1.0,
        Figure::Received => said.value == 0.0,
        _ => false,
    };
    let said = imported.said.iter();
    let silent: Vec<usize> = said
        .filter(|said| never_answered(said))
        .map(|said| said.stream)
        .collect();
    let is_delay = |said: &PrintedFigure| matches!(said.what, Figure::Of(..));
    imported
        .said
        .retain(|said| !(is_delay(said) && silent.contains(&said.stream)));
    imported
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_hop_that_never_answered_has_no_delay() {
        let text = "HOST: prober  Loss%   Snt   Last   Avg  Best  Wrst StDev\n\
                    \x20 1.|-- 10.0.0.254  0.0%  10  0.1  0.1  0.1  0.1  0.0\n\
                    \x20 2.|-- ???  100.0  10  0.0  0.0  0.0  0.0  0.0\n";
        let imported = super::super::read(text.as_bytes(), None).unwrap();
        let of = |stream| {
            let said = imported
                .said
                .iter()
                .filter(move |said| said.stream == stream);
            said.map(|said| said.what).collect::<Vec<_>>()
        };
        assert!(of(0).iter().any(|what| matches!(what, Figure::Of(..))));
        assert_eq!(of(1), [Figure::LossShare, Figure::Sent]);
    }
}
