//! A row a measure, a column a quantile; intervals beside them when asked.

use crate::style::{Paint, Style};
use crate::table::{Cell, Table};
use crate::text::paragraph;
use delaylab_model::Nanos;
use delaylab_model::method::Responder;
use delaylab_model::trial::{ReflectorClock, Residence};
use delaylab_model::units::{format_duration, format_duration_f64};
use delaylab_stats::summary::{Distribution, Interval, Summary};
use delaylab_view::ping::Ping;
use delaylab_view::words::or_unknown;
use std::collections::BTreeMap;

const HEAD: [&str; 5] = ["", "min", "mean", "sd", "p50"];
/// A quantile, where there are packets enough for it.
type Carried = fn(&Distribution) -> Option<Nanos>;
/// Those that need more packets, and are left out where no measure has so many.
const UPPER: [(&str, Carried); 3] = [
    ("p90", Distribution::carried_p90),
    ("p99", Distribution::carried_p99),
    ("p99.9", Distribution::carried_p999),
];

pub(super) fn section(ping: &Ping<'_>, style: &Style) -> String {
    let rows = rows(ping);
    if rows.is_empty() {
        return String::new();
    }
    let carried = |of: &Carried| rows.iter().any(|(_, d)| of(d).is_some());
    let upper: Vec<_> = UPPER.iter().filter(|(_, of)| carried(of)).collect();
    let heads = HEAD.into_iter().chain(upper.iter().map(|(head, _)| *head));
    let mut table = Table::headed(heads.chain(["max"]).map(Cell::new));
    for (label, distribution) in &rows {
        let quantiles = upper.iter().map(|(_, of)| of(distribution));
        table.row(row(label, distribution, quantiles));
    }
    let mut text = table.render(style);
    for note in footnotes(ping) {
        text += &paragraph(&note, Paint::Dim, style);
    }
    if style.verbose {
        text += &intervals(&rows, style);
    }
    text
}

/// The measures that there are.
fn rows<'a>(ping: &Ping<'a>) -> Vec<(&'static str, &'a Distribution)> {
    let summary = ping.summary;
    let every = [
        ("response", &summary.response),
        ("round trip", &summary.round_trip),
        ("network ¹", &summary.network),
        ("host", &summary.host),
        ("forward ²", &summary.forward),
        ("back ²", &summary.back),
    ];
    let known = every
        .into_iter()
        .filter_map(|(label, d)| Some((label, d.as_ref()?)));
    known.chain(server_rows(summary)).collect()
}

/// One row where the stamps tell all of it, else one for each bound.
fn server_rows(summary: &Summary) -> Vec<(&'static str, &Distribution)> {
    let Some(server) = &summary.server else {
        return Vec::new();
    };
    let mut rows = match server.told == server.least.count {
        true => vec![("server", &server.least)],
        false => vec![
            ("server, at least ³", &server.least),
            ("server, at most", &server.most),
        ],
    };
    rows.extend(server.says.as_ref().map(|says| ("server says", says)));
    rows
}

fn row(label: &str, d: &Distribution, upper: impl Iterator<Item = Option<Nanos>>) -> Vec<Cell> {
    let sd = or_unknown(d.sd, format_duration_f64);
    let upper = upper.map(|ns| or_unknown(ns, format_duration));
    let moments = [
        label.to_owned(),
        format_duration(d.min),
        format_duration_f64(d.mean),
        sd,
        format_duration(d.p50),
    ];
    moments
        .into_iter()
        .chain(upper)
        .chain([format_duration(d.max)])
        .map(Cell::new)
        .collect()
}

fn footnotes(ping: &Ping<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    if ping.summary.network.is_some() {
        notes.push(network_note(ping));
    }
    notes.extend(untold(ping.summary));
    if let Some(server) = &ping.summary.server
        && server.told < server.least.count
    {
        notes.push(format!(
            "³ of {} of {} responses the server's kernel acknowledged the request late, or with the reply: the stamps \
             bound what the server took",
            server.least.count - server.told,
            server.least.count
        ));
    }
    if ping.summary.forward.is_some() || ping.summary.back.is_some() {
        notes.push(one_way_note(ping.facts.records.reflector_clock));
    }
    notes
}

/// Responses whose median is longer by more than this part of the median of all are slower; by less they may be so by chance.
const SLOWER: Nanos = 4;

/// What the rows `network` and `host` leave out.
fn untold(summary: &Summary) -> Option<String> {
    let (told, of, others) = summary.untold()?;
    let all = summary.response.as_ref()?;
    let slower = match others.p50 > all.p50.saturating_add(all.p50 / SLOWER) {
        true => ", which are slower",
        false => "",
    };
    Some(format!(
        "network and host are of {told} of {of} responses. Of the other {}{slower}, the stamps do not tell them: response \
         p50 {}, max {}",
        others.count,
        format_duration(others.p50),
        format_duration(others.max)
    ))
}

/// What `network` holds beside the network.
fn network_note(ping: &Ping<'_>) -> String {
    if ping.run.probe.method.asks_server() || ping.summary.server.is_some() {
        return "¹ without the server; with the TCP handshake, where one was made, and driver and interrupt delay \
                (software stamps)"
            .to_owned();
    }
    let reflector = match ping.facts.records.residence {
        Residence::ToDriver => "",
        Residence::ToUser => "the reflector's send stack, ",
        Residence::Unknown if ping.run.probe.method.responder() == Some(Responder::Kernel) => {
            "the target's own time, "
        }
        Residence::Unknown => "the reflector, ",
    };
    format!("¹ includes {reflector}driver and interrupt delay (software stamps)")
}

fn one_way_note(clock: ReflectorClock) -> String {
    match clock {
        ReflectorClock::Bounded { error_ns } => {
            let error = format_duration(error_ns);
            format!("² one way, by two synchronised clocks: off by at most {error}")
        }
        _ => "² one way, by one clock".to_owned(),
    }
}

/// Intervals at 95 %, and why some are not given.
fn intervals(rows: &[(&str, &Distribution)], style: &Style) -> String {
    let mut table = Table::headed(["95 % interval", "mean", "p50", "p99"].map(Cell::new));
    let mut refused: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (label, d) in rows {
        let label = label.trim_end_matches([' ', '¹', '²', '³']);
        let estimates = [
            ("mean", &d.mean_interval),
            ("p50", &d.p50_interval),
            ("p99", &d.p99_interval),
        ];
        for (name, interval) in estimates {
            if let Interval::Refused { reason } = interval {
                refused
                    .entry(reason)
                    .or_default()
                    .push(format!("{label} {name}"));
            }
        }
        let cells = estimates.map(|(_, interval)| interval_cell(interval));
        table.row([Cell::new(label)].into_iter().chain(cells));
    }
    let reasons = refused
        .iter()
        .map(|(reason, which)| format!("no interval of {}: {reason}", which.join(", ")));
    let reasons: String = reasons
        .map(|line| paragraph(&line, Paint::Dim, style))
        .collect();
    format!("\n{}{reasons}", table.render(style))
}

fn interval_cell(interval: &Interval) -> Cell {
    match interval {
        Interval::Known { low, high } => {
            let (low, high) = (format_duration_f64(*low), format_duration_f64(*high));
            Cell::new(format!("{low} – {high}"))
        }
        Interval::Refused { .. } => Cell::painted("–", Paint::Dim),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_model::MICROSECOND;
    use delaylab_model::method::Method;
    use delaylab_model::record::{Outcome, Record};
    use delaylab_model::trial::RecordFacts;
    use delaylab_stats::summary::SummaryBuilder;

    /// Of 586 responses of 30 ms, 14 lack a stamp because a later reply was lost; they take so much longer.
    fn of_14(longer: Nanos) -> String {
        let facts = RecordFacts {
            reflector_clock: ReflectorClock::Unrelated,
            residence: Residence::ToDriver,
        };
        let mut builder = SummaryBuilder::new(facts, 1000);
        for seq in 0..586 {
            let is_known = seq >= 14;
            let mut record = Record::due(0, 0, seq, Method::Udp, 0);
            let at = |us: Nanos| Some(us * MICROSECOND);
            (record.t_send, record.t_sched, record.t_tx) = (at(1), at(2), at(3));
            (record.r_rx, record.r_user) = (at(5_000), at(5_001));
            record.r_tx = at(5_010).filter(|_| is_known);
            let back = 29_990 + if is_known { 0 } else { longer };
            (record.t_rx, record.t_recv) = (at(back), at(back + 10));
            record.outcome = Outcome::Ok;
            builder.push(&record);
        }
        untold(&builder.finish()).unwrap()
    }

    #[test]
    fn what_takes_hardly_longer_is_not_called_slower() {
        let same = of_14(180);
        assert!(
            same.contains("Of the other 14, the stamps do not tell them: response p50 30.2 ms"),
            "{same}"
        );
        let slow = of_14(9_000);
        assert!(
            slow.contains("Of the other 14, which are slower, the stamps"),
            "{slow}"
        );
    }
}
