//! Delay variation by probe, as source 004 prints it: a row for each combination of levels, a block of
//! columns for each probe. Where that is too wide, or there is one combination: a row for each probe.

use crate::style::{Paint, Style};
use crate::table::{Cell, Table};
use crate::text::paragraph;
use delaylab_model::units::format_duration_f64;
use delaylab_view::run::groups::MOST_GROUPS;
use delaylab_view::run::variation::{Combination, DELAY, HEADS, Of, combinations, figures};
use delaylab_view::run::{Group, RunData};
use delaylab_view::words::or_unknown;

/// Columns of a block: as many as there is room for.
const COLUMNS_OF_A_BLOCK: [&[&str]; 3] = [
    &["n", "mean", "sd", "IQR"],
    &["n", "sd", "IQR"],
    &["sd", "IQR"],
];

/// Heads of [`figures`] that are left out, the first ones first, where the terminal is too narrow.
const EXPENDABLE: [&str; 4] = ["IPDV mean", DELAY, "p99", "n"];

pub(super) fn section(run: &RunData, style: &Style) -> String {
    if run.probes().len() < 2 {
        return String::new();
    }
    let measures = Of::judged(run).into_iter();
    let tables: Vec<String> = measures.map(|of| table_of(run, of, style)).collect();
    tables.join("\n")
}

fn table_of(run: &RunData, of: Of, style: &Style) -> String {
    let all = combinations(run);
    let groups = shown(run, of, style);
    let (table, left_out) = match side_by_side(run, &all, of, style) {
        Some(table) => (table, 0),
        None => (
            below_each_other(run, &groups, of, style),
            run.groups.len() - groups.len(),
        ),
    };
    let drawn = table.render(style);
    let mut heads = drawn.lines().take(2).flat_map(str::split_whitespace);
    let counted = if heads.any(|head| head == "n") {
        "; n pairs"
    } else {
        ""
    };
    let note = format!(
        "IPDV of the {} (RFC 3393), of packets that follow each other{counted}",
        of.words(run.ways())
    );
    let more = match left_out {
        0 => String::new(),
        more => format!(
            "of {} rows the {} with the largest sd: -v shows all; ",
            groups.len() + more,
            groups.len()
        ),
    };
    drawn + &paragraph(&(more + &note), Paint::Dim, style)
}

/// `None` where one combination is all there is, or no block of columns is narrow enough.
fn side_by_side(run: &RunData, all: &[Combination<'_>], of: Of, style: &Style) -> Option<Table> {
    if all.len() < 2 || (all.len() > MOST_GROUPS && !style.verbose) {
        return None;
    }
    let names = [run.varied(), run.probes()];
    let head = of.head(run.ways());
    let tables = COLUMNS_OF_A_BLOCK
        .into_iter()
        .map(|columns| grouped([&names[0], &names[1]], all, (of, &head), columns));
    let mut fitting = tables.skip_while(|table| table.width() > style.columns());
    fitting.next()
}

/// `of`: the measure, and what it is called.
fn grouped(
    [factors, probes]: [&[&str]; 2],
    all: &[Combination<'_>],
    (of, head): (Of, &str),
    columns: &[&str],
) -> Table {
    let blank = || Cell::default();
    let above = (1..factors.len()).map(|_| blank());
    let above = [Cell::left(head)].into_iter().chain(above);
    let names = probes.iter().flat_map(|probe| {
        // An empty column sets the blocks apart.
        let rest = (1..columns.len()).map(|_| blank());
        [blank(), Cell::new(*probe)].into_iter().chain(rest)
    });
    let mut table = Table::headed(above.chain(names));
    let levels = factors.iter().map(|name| Cell::left(*name));
    let heads = probes.iter().flat_map(|_| {
        let heads = columns.iter().map(|head| Cell::new(*head));
        [blank()].into_iter().chain(heads)
    });
    table.row(levels.chain(heads).map(Cell::dim));
    for combination in all {
        let levels = combination.levels.iter().map(|level| Cell::left(*level));
        let cells = combination.groups.iter().flat_map(|group| {
            let cells = columns.iter().map(|head| Cell::new(cell(*group, of, head)));
            [blank()].into_iter().chain(cells)
        });
        table.row(levels.chain(cells));
    }
    table
}

fn cell(group: Option<&Group>, of: Of, head: &str) -> String {
    let ipdv = group.and_then(|group| of.ipdv(group));
    let time = |ns: Option<f64>| or_unknown(ns, format_duration_f64);
    match head {
        "n" => ipdv.map_or_else(String::new, |v| v.count.to_string()),
        "mean" => time(ipdv.and_then(|v| v.mean)),
        "sd" => time(ipdv.and_then(|v| v.sd)),
        _ => time(ipdv.and_then(|v| v.iqr).map(|ns| ns as f64)),
    }
}

/// The groups that are shown where each has a row: of very many those that vary most, in their order.
fn shown<'a>(run: &'a RunData, of: Of, style: &Style) -> Vec<&'a Group> {
    let sd = |group: &Group| of.ipdv(group).and_then(|ipdv| ipdv.sd).unwrap_or(-1.0);
    let mut groups: Vec<_> = run.groups.iter().enumerate().collect();
    if !style.verbose && groups.len() > MOST_GROUPS {
        groups.sort_by(|(_, a), (_, b)| sd(b).total_cmp(&sd(a)));
        groups.truncate(MOST_GROUPS);
        groups.sort_by_key(|(at, _)| *at);
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// A row for each of these groups.
fn below_each_other(run: &RunData, groups: &[&Group], of: Of, style: &Style) -> Table {
    let narrower = 0..=EXPENDABLE.len();
    let table = |left_out: &usize| plain(run, groups, of, &EXPENDABLE[..*left_out]);
    Table::first_that_fits(narrower, table, style).1
}

fn plain(run: &RunData, groups: &[&Group], of: Of, left_out: &[&str]) -> Table {
    let factors = run.varied();
    let kept = |head: &&str| !left_out.contains(head);
    let heads = HEADS
        .iter()
        .filter(|head| kept(head))
        .map(|head| Cell::new(run.delay_words(head)));
    let lead = factors.iter().copied().chain(["probe"]).map(Cell::left);
    let mut table = Table::headed(lead.chain(heads));
    let shown = run.shown_delay();
    for group in groups {
        let lead = factors.iter().map(|name| Cell::left(group.level(name)));
        let lead = lead.chain([Cell::left(&group.probe)]);
        let cells = HEADS.iter().zip(figures(group, of, shown));
        let cells = cells.filter(|(head, _)| kept(head));
        table.row(lead.chain(cells.map(|(_, text)| Cell::new(text))));
    }
    table
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::text::width;
    use delaylab_stats::variation::Ipdv;
    use delaylab_view::run::FindingShown;
    use delaylab_view::run::samples::{classes, waits};

    fn of_width(run: &RunData, width: u16) -> String {
        let style = Style {
            unicode: true,
            width,
            ..Style::PLAIN
        };
        section(run, &style)
    }

    #[test]
    fn one_probe_has_no_table() {
        assert_eq!(of_width(&waits(), 100), "");
    }

    #[test]
    fn groups_hold_what_there_is_room_for() {
        let mut run = classes();
        for group in &mut run.groups {
            let case = &mut group.factors[0].1.label;
            *case = format!("tcp,{case:->18}").replace(' ', "");
        }
        for (columns, heads) in [(80, 6), (100, 9), (130, 12)] {
            let text = of_width(&run, columns);
            let lines: Vec<_> = text.lines().collect();
            assert!(
                lines.iter().all(|line| width(line) <= usize::from(columns)),
                "{text}"
            );
            assert_eq!(
                lines[0].split_whitespace().collect::<Vec<_>>(),
                ["IPDV,", "round", "trip", "ef", "be", "ss"]
            );
            assert_eq!(lines[1].split_whitespace().count(), 1 + heads, "{text}");
            assert_eq!(lines.len(), 2 + 5 + 1);
            let first = &run.groups[0].summary.variation;
            assert!(
                lines[2].contains(&format_duration_f64(first.ipdv_sd_ns.unwrap())),
                "{text}"
            );
        }
    }

    #[test]
    fn one_combination_is_a_row_a_probe() {
        let mut run = classes();
        run.groups.truncate(3);
        let text = of_width(&run, 100);
        let lines: Vec<_> = text.lines().collect();
        assert!(lines[0].starts_with("probe"), "{text}");
        assert!(
            lines[1].starts_with("ef") && lines[3].starts_with("ss"),
            "{text}"
        );
        assert_eq!(lines.len(), 5);
    }

    /// As the table of trials and the figures show it.
    #[test]
    fn its_delay_is_the_one_that_is_shown_elsewhere() {
        let mut run = classes();
        run.groups.truncate(3);
        for group in &mut run.groups {
            group.summary.response.as_mut().unwrap().p50 = 7_000_000_000;
        }
        let text = of_width(&run, 130);
        assert!(
            text.contains("response p50") && text.contains("7.00 s"),
            "{text}"
        );
    }

    #[test]
    fn the_delay_that_findings_judge_is_shown() {
        let mut run = classes();
        let round_trip = of_width(&run, 100);
        for group in &mut run.groups {
            let mut network = Ipdv::from(&group.summary.variation);
            network.iqr = Some(777_000);
            group.network_ipdv = Some(network);
        }
        assert_eq!(of_width(&run, 100), round_trip);
        let finding = |check: &str| FindingShown {
            check: check.to_owned(),
            ..waits().findings[0].clone()
        };
        run.findings = vec![finding("sd(ipdv(network) | probe=be) > 1ms")];
        let network = of_width(&run, 100);
        assert!(network.starts_with("IPDV, network"), "{network}");
        assert!(network.contains("777 µs"), "{network}");
        run.findings.push(finding("sd(ipdv | probe=be) > 1ms"));
        assert_eq!(of_width(&run, 100), format!("{network}\n{round_trip}"));
    }

    #[test]
    fn many_probes_stand_below_each_other() {
        let mut run = classes();
        let groups = run.groups.clone();
        for copy in 1..10 {
            run.groups.extend(groups.iter().cloned().map(|mut group| {
                group.probe += &copy.to_string();
                group
            }));
        }
        // The last varies most.
        let last = run.groups.last_mut().unwrap();
        last.summary.variation.ipdv_sd_ns = Some(7e9);
        let text = of_width(&run, 100);
        assert!(
            text.contains("of 150 rows the 60 with the largest sd: -v"),
            "{text}"
        );
        assert!(text.contains("7.00 s"), "{text}");
        assert!(text.lines().all(|line| width(line) <= 100));
        let all = Style {
            verbose: true,
            width: 100,
            ..Style::PLAIN
        };
        assert!(section(&run, &all).lines().count() > 150);
    }
}
