//! The hops of a path trace for people: what all classes have in common once, and what differs beside it.

use crate::style::{Paint, Style};
use crate::table::{Cell, Table};
use crate::text::{joined, width};
use delaylab_model::Nanos;
use delaylab_model::dscp::{Dscp, ecn_name};
use delaylab_model::words::each_once;
use delaylab_traffic::path_trace::Packets;
use delaylab_traffic::path_trace::compare::Finding;
use delaylab_traffic::path_trace::hop::{ClassPath, Hop, Router};
use delaylab_view::trace::words::{self, Words};
use delaylab_view::trace::{Traced, quantile};
use delaylab_view::words::{plural, short_percent};
use delaylab_wire::mpls::Entry;
use std::collections::BTreeSet;
use std::net::IpAddr;

/// Columns before a note.
const INDENT: usize = 5;
/// So many round trips have a 99th percentile that is not their largest.
const ENOUGH_FOR_P99: u32 = 100;
/// A name shorter than this says nothing.
const SHORTEST_NAME: usize = 8;

/// The whole of it, in lines that end in a line feed.
pub fn render(traced: &Traced<'_>, style: &Style) -> String {
    let parts = [head(traced, style), hops(traced, style), end(traced, style)];
    style.glyphs(joined(parts))
}

fn head(traced: &Traced<'_>, style: &Style) -> String {
    let address = traced.address.ip().to_string();
    let target = if traced.target == address {
        address
    } else {
        format!("{} ({address})", traced.target)
    };
    let settings = traced.trace.settings();
    let classes: Vec<String> = settings.classes.iter().map(Dscp::to_string).collect();
    let method = match traced.method {
        method if method.has_port() => format!("{method} port {}", traced.address.port()),
        method => method.to_string(),
    };
    let mut facts = vec![method];
    match traced.packets {
        Packets::Crafted { payload, .. } if !traced.packets.are_tcp() => {
            facts.push(format!("{payload} B payload"));
        }
        Packets::Crafted { .. } => {}
        Packets::Handshakes => facts.push("handshakes".to_owned()),
        Packets::Questions(question) => facts.push(question.to_string()),
    }
    facts.push(classes.join(" "));
    if settings.ecn > 0 {
        facts.push(ecn_name(settings.ecn).to_owned());
    }
    let each = if classes.len() > 1 { " and class" } else { "" };
    let text = format!(
        "--- path to {target} ({}), {} a hop{each}, times in ms ---",
        facts.join(", "),
        plural(settings.queries.into(), "packet")
    );
    crate::text::paragraph(&text, Paint::Bold, style)
}

/// How much of each class has room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// A block of columns a class, with the spread of round trips.
    Wide,
    /// A block of columns a class, with their median alone.
    Narrow,
    /// A line a class.
    Stacked,
}

fn hops(traced: &Traced<'_>, style: &Style) -> String {
    if traced.paths.iter().all(|path| path.hops.is_empty()) {
        return String::new();
    }
    let fits = |lines: &Vec<Line>| table_of(lines).width() <= style.columns();
    let layouts = [Layout::Wide, Layout::Narrow].into_iter();
    let fitting = layouts.map(|layout| rows(traced, layout)).find(fits);
    let mut lines = fitting.unwrap_or_else(|| rows(traced, Layout::Stacked));
    add_names(&mut lines, traced, style);
    let legend = match traced.packets.tell_class() {
        true => crate::text::paragraph(LEGEND, Paint::Dim, style),
        false => String::new(),
    };
    drawn(&lines, style) + &legend
}

/// What the table's first figure is of.
const LEGEND: &str = "DSCP: class of the packet when it reached the hop; !: not as sent";

/// A line of the table, or one between its lines.
enum Line {
    /// With the address that it is about.
    Row(Vec<Cell>, Option<IpAddr>),
    Note(String, Paint),
}

fn table_of(lines: &[Line]) -> Table {
    let mut table = Table::default();
    for line in lines {
        if let Line::Row(cells, _) = line {
            table.row(cells.clone());
        }
    }
    table
}

/// Names stand behind everything else, as far as there is room.
fn add_names(lines: &mut [Line], traced: &Traced<'_>, style: &Style) {
    let cells = |line: &Line| match line {
        Line::Row(cells, _) => cells.len(),
        Line::Note(..) => 0,
    };
    let columns = lines.iter().map(cells).max().unwrap_or(0);
    // Two between columns, and two before the name.
    let taken = table_of(lines).width() + columns + 1;
    let room = style.columns().saturating_sub(taken);
    if room < SHORTEST_NAME {
        return;
    }
    for line in lines {
        if let Line::Row(cells, Some(address)) = line
            && let Some(name) = traced.names.get(address)
        {
            cells.push(Cell::left(shortened(name, room)).dim());
        }
    }
}

/// Rows are aligned with each other, across the notes between them.
fn drawn(lines: &[Line], style: &Style) -> String {
    let rendered = table_of(lines).render(style);
    let mut rows = rendered.lines();
    let mut out = String::new();
    for line in lines {
        match line {
            Line::Row(..) => out += &format!("{}\n", rows.next().unwrap_or_default()),
            Line::Note(text, paint) => {
                for line in crate::text::wrap(text, style.columns() - INDENT) {
                    out += &format!("{:INDENT$}{}\n", "", style.paint(*paint, &line));
                }
            }
        }
    }
    out
}

fn shortened(name: &str, room: usize) -> String {
    if width(name) <= room {
        return name.to_owned();
    }
    name.chars().take(room - 1).chain(['…']).collect()
}

/// Text of an emphasis, aligned left.
fn left(text: impl Into<String>, paint: Paint) -> Cell {
    Cell::left("").then(text, paint)
}

fn rows(traced: &Traced<'_>, layout: Layout) -> Vec<Line> {
    let mut lines = heading(traced, layout);
    let ttls: BTreeSet<u8> = traced
        .paths
        .iter()
        .flat_map(|path| path.hops.iter().map(|hop| hop.ttl))
        .collect();
    for ttl in ttls {
        let addresses = addresses(traced, ttl);
        let shown: Vec<Option<IpAddr>> = if addresses.is_empty() {
            vec![None]
        } else {
            addresses.into_iter().map(Some).collect()
        };
        for (index, address) in shown.into_iter().enumerate() {
            lines.extend(address_lines(traced, layout, ttl, index == 0, address));
        }
        lines.extend(notes(traced, ttl));
    }
    lines
}

fn spread_name(traced: &Traced<'_>) -> &'static str {
    if traced.trace.settings().queries < ENOUGH_FOR_P99 {
        "max"
    } else {
        "p99"
    }
}

fn figures_heading(traced: &Traced<'_>, layout: Layout) -> Vec<Cell> {
    let names = match layout {
        Layout::Narrow => vec!["lost", "median"],
        _ => vec!["lost", "min", "median", spread_name(traced)],
    };
    let names = names.into_iter().map(Cell::new);
    let cells = [Cell::left("DSCP")].into_iter().chain(names);
    let mut cells: Vec<Cell> = cells.map(Cell::dim).collect();
    leave_class_out(traced, &mut cells);
    cells
}

fn heading(traced: &Traced<'_>, layout: Layout) -> Vec<Line> {
    let first = ["hop", "address"].map(|name| Cell::left(name).dim());
    if layout == Layout::Stacked {
        let class = Cell::left("class").dim();
        let cells = first.into_iter().chain([class]);
        let row = cells.chain(figures_heading(traced, layout)).collect();
        return vec![Line::Row(row, None)];
    }
    let mut names = vec![Cell::default(), Cell::default()];
    let mut row = first.to_vec();
    for path in &traced.paths {
        let figures = figures_heading(traced, layout);
        names.push(Cell::default());
        names.push(left(path.class.to_string(), Paint::Bold));
        names.extend(figures.iter().skip(1).map(|_| Cell::default()));
        row.push(Cell::default());
        row.extend(figures);
    }
    if traced.paths.len() == 1 {
        return vec![Line::Row(row, None)];
    }
    vec![Line::Row(names, None), Line::Row(row, None)]
}

/// The first column of a class says with which class its packets arrived: nothing, where that cannot be read.
fn leave_class_out(traced: &Traced<'_>, cells: &mut Vec<Cell>) {
    if !traced.packets.tell_class() {
        cells.remove(0);
    }
}

/// Was an answer from there waited for?
fn is_asked(traced: &Traced<'_>, ttl: u8) -> bool {
    let mut hops = traced.paths.iter().filter_map(|path| path.hop(ttl));
    hops.any(|hop| hop.sent > 0)
}

/// Who answers at this distance, in the order of the classes.
fn addresses(traced: &Traced<'_>, ttl: u8) -> Vec<IpAddr> {
    let hops = traced.paths.iter().filter_map(|path| path.hop(ttl));
    each_once(
        hops.flat_map(|hop| &hop.routers)
            .map(|router| router.address),
    )
}

fn address_lines(
    traced: &Traced<'_>,
    layout: Layout,
    ttl: u8,
    first: bool,
    address: Option<IpAddr>,
) -> Vec<Line> {
    let ttl_cell = |shown: bool| match shown {
        true => Cell::new(format!("{ttl:>3}")),
        false => Cell::default(),
    };
    let address_cell = match address {
        Some(address) => Cell::left(address.to_string()),
        None if is_asked(traced, ttl) => Cell::left("no answer").dim(),
        None => Cell::left("–").dim(),
    };
    let figures = |path| {
        let mut cells = figures(traced, layout, path, ttl, first, address);
        leave_class_out(traced, &mut cells);
        cells
    };
    if layout != Layout::Stacked {
        let mut cells = vec![ttl_cell(first), address_cell];
        for path in &traced.paths {
            cells.push(Cell::default());
            cells.extend(figures(path));
        }
        return vec![Line::Row(cells, address)];
    }
    let mut lines = Vec::new();
    for path in &traced.paths {
        let figures = figures(path);
        if figures.iter().all(|cell| cell.plain().is_empty()) {
            continue;
        }
        let shown = lines.is_empty();
        let shown_address = if shown {
            address_cell.clone()
        } else {
            Cell::default()
        };
        let class = Cell::left(path.class.to_string());
        let cells = [ttl_cell(first && shown), shown_address, class];
        let cells = cells.into_iter().chain(figures).collect();
        lines.push(Line::Row(cells, address.filter(|_| shown)));
    }
    lines
}

/// What a class has to say of an address: which class arrived there, the loss of the hop beside its main
/// address, round trips. Empty cells where the address is not on its path.
fn figures(
    traced: &Traced<'_>,
    layout: Layout,
    path: &ClassPath,
    ttl: u8,
    first: bool,
    address: Option<IpAddr>,
) -> Vec<Cell> {
    let columns = if layout == Layout::Narrow { 3 } else { 5 };
    let nothing = vec![Cell::default(); columns];
    let Some(hop) = path.hop(ttl) else {
        return nothing;
    };
    let at = hop.routers.iter().position(|r| Some(r.address) == address);
    let Some(at) = at else {
        // Where nobody answers this class, its loss stands in the hop's first line.
        if first && hop.routers.is_empty() {
            let dash = Cell::new("–").dim();
            let mut cells = vec![Cell::left("–").dim(), loss(path, hop)];
            cells.resize(columns, dash);
            return cells;
        }
        return nothing;
    };
    let router = &hop.routers[at];
    let mut cells = vec![class_seen(path, router)];
    cells.push(if at == 0 {
        loss(path, hop)
    } else {
        Cell::default()
    });
    let spread = if spread_name(traced) == "max" {
        1.0
    } else {
        0.99
    };
    let quantiles: &[f64] = match layout {
        Layout::Narrow => &[0.5],
        _ => &[0.0, 0.5, spread],
    };
    let shown = quantiles.iter().map(|&q| quantile(&router.round_trips, q));
    cells.extend(shown.map(|value| Cell::new(value.map_or("–".into(), milliseconds))));
    cells
}

/// The class as it arrived there, with a mark where it is not as it was sent.
fn class_seen(path: &ClassPath, router: &Router) -> Cell {
    let most = router.seen.iter().max_by_key(|&(_, count)| count);
    let Some((&byte, _)) = most else {
        return Cell::left("–").dim();
    };
    let (dscp, ecn) = Dscp::from_traffic_class(byte);
    let (sent_dscp, sent_ecn) = Dscp::from_traffic_class(path.traffic_class);
    let mut text = dscp.to_string();
    if ecn > 0 || sent_ecn > 0 {
        text += &format!("+{}", ecn_name(ecn));
    }
    if (dscp, ecn) == (sent_dscp, sent_ecn) {
        return Cell::left(text).dim();
    }
    left(text + "!", Paint::Warning)
}

/// In brackets where it is none of the path.
fn loss(path: &ClassPath, hop: &Hop) -> Cell {
    if hop.sent == 0 {
        return Cell::new("–").dim();
    }
    let share = short_percent(hop.unanswered() as f64 / hop.sent.max(1) as f64);
    if hop.unanswered() == 0 {
        return Cell::new(share).dim();
    }
    if path.limits_answers(hop) {
        return Cell::new(format!("({share})")).dim();
    }
    Cell::painted(share, Paint::Warning)
}

/// In milliseconds, to three digits or so.
fn milliseconds(ns: Nanos) -> String {
    let ms = ns as f64 / 1e6;
    let digits = match ms {
        ms if ms < 0.0995 => 3,
        ms if ms < 9.995 => 2,
        ms if ms < 99.95 => 1,
        _ => 0,
    };
    format!("{ms:.digits$}")
}

/// What happens to classes here, and the labels that packets arrived with.
fn notes(traced: &Traced<'_>, ttl: u8) -> Vec<Line> {
    let mut lines = Vec::new();
    for finding in &traced.findings {
        let here = match finding {
            Finding::Remarked { at, .. }
            | Finding::EcnChanged { at, .. }
            | Finding::Parts { at, .. } => *at,
            _ => continue,
        };
        if here == ttl {
            // Where a class is back on the path stands in the verdict, and in the table.
            let mut finding = finding.clone();
            if let Finding::Parts { meets, .. } = &mut finding {
                *meets = None;
            }
            lines.push(Line::Note(words::one(&finding, traced), Paint::Warning));
        }
    }
    lines.extend(labels(traced, ttl));
    lines
}

/// Label stacks, the classes that have the same in one line.
fn labels(traced: &Traced<'_>, ttl: u8) -> Vec<Line> {
    let mut stacks: Vec<(&Vec<Entry>, Vec<String>)> = Vec::new();
    let mut answering = 0;
    for path in &traced.paths {
        let Some(hop) = path.hop(ttl) else { continue };
        answering += usize::from(!hop.routers.is_empty());
        let of_hop = hop.routers.iter().flat_map(|router| router.labels.keys());
        for stack in of_hop.collect::<BTreeSet<_>>() {
            let name = path.class.to_string();
            match stacks.iter_mut().find(|(known, _)| *known == stack) {
                Some((_, classes)) => classes.push(name),
                None => stacks.push((stack, vec![name])),
            }
        }
    }
    let line = |(stack, classes): (&Vec<Entry>, Vec<String>)| {
        let who = if classes.len() == answering && traced.paths.len() > 1 || traced.paths.len() == 1
        {
            String::new()
        } else {
            format!("{}: ", classes.join(", "))
        };
        let labels: Vec<String> = stack.iter().map(label).collect();
        Line::Note(format!("{who}MPLS {}", labels.join(", ")), Paint::Dim)
    };
    stacks.into_iter().map(line).collect()
}

fn label(entry: &Entry) -> String {
    let bottom = if entry.bottom { " S" } else { "" };
    format!(
        "label {} CoS {} TTL {}{bottom}",
        entry.label, entry.cos, entry.ttl
    )
}

fn end(traced: &Traced<'_>, style: &Style) -> String {
    let Words { verdict, notes } = words::words(traced);
    let mut out = String::new();
    let late: u64 = traced
        .paths
        .iter()
        .flat_map(|path| path.hops.iter().map(|hop| hop.late))
        .sum();
    let mut notes = notes;
    if late > 0 {
        let came = plural(late, "answer");
        notes.push(format!(
            "{came} came after the time-out (-W) and counted as lost."
        ));
    }
    if traced.stopped {
        notes.push("Stopped before the end.".to_owned());
    }
    for note in notes {
        out += &crate::text::paragraph(&note, Paint::Plain, style);
    }
    out + &crate::text::paragraph(&verdict, Paint::Bold, style)
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_view::trace::samples::samples;

    #[test]
    fn looks_as_agreed() {
        let rich = Style {
            color: true,
            unicode: true,
            width: 120,
            verbose: false,
        };
        for (name, sample) in samples() {
            let traced = sample.traced();
            let plain = render(&traced, &Style::PLAIN);
            crate::text::assert_plain(name, &plain);
            insta::assert_snapshot!(format!("{name}_plain"), plain);
            insta::assert_snapshot!(format!("{name}_rich"), render(&traced, &rich));
        }
    }

    #[test]
    fn round_trips_have_three_digits_or_so() {
        for (ns, shown) in [
            (12_345, "0.012"),
            (99_600, "0.10"),
            (1_234_567, "1.23"),
            (9_996_000, "10.0"),
            (123_456_789, "123"),
        ] {
            assert_eq!(milliseconds(ns), shown);
        }
    }
}
