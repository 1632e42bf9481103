//! Idle and under load, side by side by stage.

use super::across;
use crate::style::{Paint, Style};
use crate::table::{Cell, Table};
use crate::text::paragraph;
use delaylab_live::load::StreamReport;
use delaylab_model::load::{Direction, LoadKind};
use delaylab_model::units::{format_duration, format_duration_f64, format_part, format_rate};
use delaylab_model::words::each_once;
use delaylab_stats::anatomy::StageSet;
use delaylab_stats::summary::{AnatomyAt, Summary};
use delaylab_view::words::{plural, short_name};
use delaylab_view::working::{Working, on_its_own};

/// Quantiles at which the two are held beside each other.
const AT: [&str; 2] = ["p50", "p99"];

/// Idle beside each load, in lines that end in a line feed; of several loads a table of all comes last.
pub fn working_latency(loaded: &[Working<'_>], style: &Style) -> String {
    let mut sections: Vec<_> = loaded.iter().map(|part| section(part, style)).collect();
    match loaded {
        [only] => sections.push(paragraph(&only.verdict(), Paint::Bold, style)),
        several => sections.push(across::section(several, style)),
    }
    style.glyphs(sections.join("\n"))
}

/// One load.
fn section(working: &Working<'_>, style: &Style) -> String {
    let title = format!("--- under load: {} ---", working.load);
    let mut text = style.paint(Paint::Bold, &title) + "\n";
    for stream in working.streams {
        text += &paragraph(&sentence(stream), Paint::Plain, style);
    }
    text += "\n";
    text += &paragraph(
        "Where the time goes: each stage, averaged over the responses around the quantile",
        Paint::Dim,
        style,
    );
    text += &table(working).render(style);
    let of_streams = working.streams.iter();
    let of_streams = of_streams.flat_map(|it| it.flaws().into_iter().chain(it.warnings()));
    let facts = working.loaded.facts;
    let of_probe = facts.flaws.iter().cloned();
    let of_probe = of_probe.chain(facts.warnings.iter().cloned());
    for warning in of_streams.chain(of_probe) {
        text += &paragraph(&format!("warning: {warning}"), Paint::Warning, style);
    }
    text
}

/// `bulk 1 (cubic): goodput up 94.1 Mbit/s over 10.0 s, 12 segments retransmitted`.
fn sentence(stream: &StreamReport) -> String {
    let name = &stream.name;
    let Some(lasted) = stream.lasted else {
        return format!("{name}: never began");
    };
    let over = format_duration(lasted);
    let goodput = stream.goodput().map(format_rate);
    if stream.kind == LoadKind::Tcp {
        let algorithm = stream.congestion_control.as_deref().unwrap_or("tcp");
        let again = stream.retransmits;
        let again = again.map(|count| format!(", {} retransmitted", plural(count, "segment")));
        return format!(
            "{name} ({algorithm}): goodput {} {} over {over}{}",
            stream.direction.name(),
            goodput.unwrap_or_default(),
            again.unwrap_or_default()
        );
    }
    let sent = stream.sent.bytes as f64 * 8e9 / lasted.max(1) as f64;
    let arrived = match (goodput, stream.lost()) {
        (None, _) => "what arrived is not known".to_owned(),
        (Some(goodput), None) => format!("{goodput} arrived, how many were lost is not known"),
        (Some(goodput), Some(lost)) => {
            let lost = format_part(lost, stream.sent.packets);
            format!("{goodput} arrived, {lost} lost")
        }
    };
    format!("{name}: {} sent in {over}, {arrived}", format_rate(sent))
}

fn table(working: &Working<'_>) -> Table {
    let (idle, loaded) = (working.idle.summary, working.loaded.summary);
    // A quantile that neither has packets enough for is left out.
    let carried = |at: &&str| {
        [idle, loaded]
            .iter()
            .any(|summary| summary.anatomy_at(at).is_some())
    };
    let at: Vec<&str> = AT.into_iter().filter(carried).collect();
    let heads = at
        .iter()
        .flat_map(|at| [format!("{at} idle"), "loaded".to_owned()]);
    let heads = std::iter::once(String::new()).chain(heads);
    let mut table = Table::headed(heads.map(Cell::new));
    let mut line = |label: Cell, value: &dyn Fn(&AnatomyAt) -> Option<f64>, paint| {
        let cell = |(summary, at): (&Summary, &str)| {
            let ns = summary.anatomy_at(at).and_then(value);
            Cell::painted(ns.map(format_duration_f64).unwrap_or_default(), paint)
        };
        let cells = at.iter().flat_map(|&at| [(idle, at), (loaded, at)]);
        table.row(std::iter::once(label).chain(cells.map(cell)));
    };
    for stages in stages(&[idle, loaded]) {
        let part = |at: &AnatomyAt| at.ns_of(stages);
        line(Cell::new(short_name(stages)), &part, Paint::Plain);
    }
    let response = |at: &AnatomyAt| Some(at.response_ns);
    line(
        Cell::painted("response", Paint::Bold),
        &response,
        Paint::Bold,
    );
    table.row([]);
    let both = |label: &str, value: &dyn Fn(&Summary) -> String| {
        [label.to_owned(), value(idle), value(loaded)].map(Cell::new)
    };
    table.row(both("lost", &|summary| {
        format_part(summary.counts.lost, summary.counts.ended())
    }));
    let rpm = |rpm: Option<f64>| rpm.map_or_else(String::new, |rpm| format!("{rpm:.0}"));
    let row = [on_its_own(idle), working.responsiveness()].map(rpm);
    let row = std::iter::once("responsiveness, RPM".to_owned()).chain(row);
    table.row(row.map(Cell::new));
    for direction in [Direction::Up, Direction::Down] {
        if let Some(goodput) = working.goodput(direction) {
            let label = format!("goodput {}", direction.name());
            table.row([label, String::new(), format_rate(goodput)].map(Cell::new));
        }
    }
    table
}

/// The stages of both, each once, in the order of the packet's way.
fn stages(summaries: &[&Summary]) -> Vec<StageSet> {
    let bands = summaries
        .iter()
        .flat_map(|summary| AT.into_iter().filter_map(|at| summary.anatomy_at(at)));
    each_once(bands.flat_map(|at| &at.parts).map(|part| part.stages))
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_view::samples::full;
    use delaylab_view::samples::{delayed, streams};

    #[test]
    fn looks_as_agreed() {
        let (idle, streams) = (full(), streams());
        let loaded = delayed(&idle, 20_000_000);
        let working = Working {
            idle: idle.ping(),
            loaded: loaded.ping(),
            load: "tcp",
            streams: &streams,
        };
        let text = working_latency(&[working], &Style::PLAIN);
        crate::text::assert_plain("working", &text);
        insta::assert_snapshot!(text);
    }

    #[test]
    fn what_is_wrong_with_a_probe_or_a_stream_is_said_once() {
        let (mut idle, mut streams) = (full(), streams());
        idle.facts.warnings.clear();
        let mut loaded = delayed(&idle, 20_000_000);
        loaded.facts.flaws = vec!["the connection was lost after 12 packets".to_owned()];
        streams[0].failed = Some("the other end closed it".to_owned());
        let working = Working {
            idle: idle.ping(),
            loaded: loaded.ping(),
            load: "tcp",
            streams: &streams,
        };
        let text = working_latency(&[working], &Style::PLAIN);
        for said in ["the connection was lost", "the other end closed it"] {
            assert_eq!(text.matches(said).count(), 1, "{text}");
        }
    }

    #[test]
    fn what_is_not_known_of_a_stream_is_not_said() {
        let mut stream = streams().remove(0);
        stream.retransmits = None;
        let tcp = "tcp (cubic): goodput up 10.0 Mbit/s over 10.0 s";
        assert_eq!(sentence(&stream), tcp);
        (stream.kind, stream.received) = (LoadKind::Cbr, None);
        let cbr = "tcp: 10.0 Mbit/s sent in 10.0 s, what arrived is not known";
        assert_eq!(sentence(&stream), cbr);
        stream.lasted = None;
        assert_eq!(sentence(&stream), "tcp: never began");
    }

    /// Up fills a queue, down none; both at once fill the same one.
    #[test]
    fn each_way_and_both_look_as_agreed() {
        let (idle, up) = (full(), streams());
        let mut down = streams();
        down[0].name = "down".to_owned();
        down[0].direction = Direction::Down;
        let both = [up.clone(), down.clone()].concat();
        let [loaded, more] = [20_000_000, 25_000_000].map(|ns| delayed(&idle, ns));
        let part = |load, ping, streams| Working {
            idle: idle.ping(),
            loaded: ping,
            load,
            streams,
        };
        let parts = [
            part("rrul up", loaded.ping(), &up[..]),
            part("rrul down", idle.ping(), &down[..]),
            part("rrul both", more.ping(), &both[..]),
        ];
        let text = working_latency(&parts, &Style::PLAIN);
        crate::text::assert_plain("rrul", &text);
        insta::assert_snapshot!(text);
    }
}
