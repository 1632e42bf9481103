//! What `delaylab doctor` prints: figures first, what they mean next, what to do at the end.

use crate::style::{Paint, Style};
use crate::table::{Cell, Table};
use crate::text::{joined, wrap};
use delaylab_live::doctor::{
    Area, Checkup, Finding, FindingState, MethodStamps, NoiseFloor, Spread, WakeUp,
};
use delaylab_model::trial::{Delivery, StampPoint};
use delaylab_model::units::{format_duration, format_share};

/// The whole report, in lines that end in a line feed.
pub fn render(checkup: &Checkup, style: &Style) -> String {
    let sections = [
        host(checkup, style),
        stamps(checkup, style),
        wakeups(checkup, style),
        noise(checkup, style),
        findings(checkup, style),
        next(checkup, style),
    ];
    style.glyphs(joined(sections))
}

fn headed(title: &str, body: String, style: &Style) -> String {
    format!("{}\n{body}", style.paint(Paint::Bold, title))
}

fn host(checkup: &Checkup, style: &Style) -> String {
    let host = &checkup.host;
    let kind = if host.virtualised {
        "virtual machine"
    } else {
        "no hypervisor seen"
    };
    let facts = [
        host.kernel.as_ref().map(|kernel| format!("Linux {kernel}")),
        host.cpu_model.clone(),
        host.cpus.map(|cpus| format!("CPUs: {cpus}")),
        Some(kind.to_owned()),
        host.clock_source
            .as_ref()
            .map(|source| format!("clock source {source}")),
    ];
    let facts: Vec<String> = facts.into_iter().flatten().collect();
    headed("This host", indented(&facts.join(", "), 2, style), style)
}

fn stamps(checkup: &Checkup, style: &Style) -> String {
    if checkup.stamps.is_empty() {
        return String::new();
    }
    let points = StampPoint::ALL.into_iter().map(|point| point.name());
    let mut table = Table::headed(["", ""].into_iter().chain(points).map(Cell::new));
    for row in &checkup.stamps {
        table.row(stamp_cells(row));
    }
    headed(
        "Stamps, as delivered by packets to this host itself",
        table.render(style),
        style,
    )
}

fn stamp_cells(row: &MethodStamps) -> Vec<Cell> {
    let mut cells = vec![
        Cell::new(format!("  {}", row.method)),
        Cell::left(row.family.as_str()),
    ];
    match &row.result {
        Ok(delivered) => cells.extend(StampPoint::ALL.map(|point| delivery(delivered, point))),
        // The reason is among the findings.
        Err(_) => cells.push(Cell::painted("none", Paint::Warning)),
    }
    cells
}

fn delivery(delivered: &[(StampPoint, Delivery)], point: StampPoint) -> Cell {
    match delivered
        .iter()
        .find(|(other, _)| *other == point)
        .map(|(_, delivery)| delivery)
    {
        Some(Delivery::Delivered) => Cell::new("yes"),
        Some(Delivery::Missing) => Cell::painted("missing", Paint::Warning),
        Some(Delivery::Unsupported) => Cell::new("no").dim(),
        Some(Delivery::Off) | None => Cell::new("–").dim(),
    }
}

fn wakeups(checkup: &Checkup, style: &Style) -> String {
    let mut table = heading(["p50", "p99", "max"]);
    for row in &checkup.wakeups {
        table.row(wakeup_cells(row, row.setting == checkup.best_setting));
    }
    headed("How late a sleep ends", table.render(style), style)
}

fn wakeup_cells(row: &WakeUp, best: bool) -> Vec<Cell> {
    let mut cells = vec![Cell::new(format!("  {}", row.setting.name()))];
    match (row.lateness, &row.refused) {
        (Some(Spread { p50, p99, max, .. }), _) => cells.extend([p50, p99, max].map(duration)),
        (None, reason) => {
            cells.extend(["–"; 3].map(|none| Cell::new(none).dim()));
            cells.extend(reason.as_ref().map(|reason| Cell::left(reason).dim()));
        }
    }
    cells.extend(best.then(|| Cell::left("best here")));
    cells
}

fn noise(checkup: &Checkup, style: &Style) -> String {
    let mut table = heading(["taken away", "gaps", "gap p99", "gap max", "one clock read"]);
    for floor in &checkup.noise {
        table.row(noise_cells(floor));
    }
    let threshold = checkup.noise.first().map_or(0, |floor| floor.threshold);
    headed(
        &format!(
            "CPU time taken away, in gaps above {}",
            format_duration(threshold)
        ),
        table.render(style),
        style,
    )
}

fn noise_cells(floor: &NoiseFloor) -> Vec<Cell> {
    let share = floor.total as f64 / floor.length.max(1) as f64;
    let count = floor.gaps.map_or(0, |gaps| gaps.count);
    let of_gaps = |pick: fn(Spread) -> i64| {
        floor
            .gaps
            .map_or(Cell::new("–"), |gaps| duration(pick(gaps)))
    };
    vec![
        Cell::new(format!("  CPU {}", floor.cpu)),
        Cell::new(format_share(share)),
        Cell::new(count.to_string()),
        of_gaps(|gaps| gaps.p99),
        of_gaps(|gaps| gaps.max),
        duration(floor.cost),
    ]
}

fn heading<const N: usize>(columns: [&str; N]) -> Table {
    Table::headed([""].into_iter().chain(columns).map(Cell::new))
}

fn duration(ns: i64) -> Cell {
    Cell::new(format_duration(ns))
}

fn findings(checkup: &Checkup, style: &Style) -> String {
    let areas = [
        Area::Stamps,
        Area::Clock,
        Area::Noise,
        Area::Quiet,
        Area::Reflector,
    ];
    areas
        .into_iter()
        .map(|area| findings_of(checkup, area, style))
        .filter(|text| !text.is_empty())
        .collect::<Vec<_>>()
        .join("\n")
}

fn findings_of(checkup: &Checkup, area: Area, style: &Style) -> String {
    let lines = checkup
        .findings
        .iter()
        .filter(|finding| finding.area == area)
        .map(|finding| lines_of(finding, style));
    let body: String = lines.collect();
    if body.is_empty() {
        body
    } else {
        headed(title(area), body, style)
    }
}

fn title(area: Area) -> &'static str {
    match area {
        Area::Stamps => "Probes and stamps",
        Area::Clock => "Clocks",
        Area::Noise => "How undisturbed this host is",
        Area::Quiet => "What `--condition quiet` can do",
        Area::Reflector => "Reflector",
    }
}

/// Columns before what was seen: indent, state, name.
const SEEN_AT: usize = 2 + 6 + 17;

fn lines_of(finding: &Finding, style: &Style) -> String {
    let (mark, paint) = match finding.state {
        FindingState::Ok => ("ok", Paint::Plain),
        FindingState::Degraded => ("warn", Paint::Host),
        FindingState::Missing => ("no", Paint::Warning),
    };
    let state = style.paint(paint, &format!("{mark:<6}"));
    let seen = indented(&finding.seen, SEEN_AT, style);
    let cost = finding
        .cost
        .as_ref()
        .map(|cost| dim(&indented(cost, SEEN_AT, style), style));
    format!(
        "  {state}{:<17}{}{}",
        finding.name,
        seen.trim_start(),
        cost.unwrap_or_default()
    )
}

fn dim(lines: &str, style: &Style) -> String {
    lines
        .lines()
        .map(|line| style.paint(Paint::Dim, line) + "\n")
        .collect()
}

/// Each remedy once, what is missing before what is only a warning.
fn next(checkup: &Checkup, style: &Style) -> String {
    let mut bad: Vec<&Finding> = checkup
        .findings
        .iter()
        .filter(|finding| finding.remedy.is_some())
        .collect();
    bad.sort_by_key(|finding| std::cmp::Reverse(finding.state));
    let mut steps: Vec<(&str, Vec<&str>)> = Vec::new();
    for finding in bad {
        let remedy = finding.remedy.as_deref().unwrap_or_default();
        match steps.iter_mut().find(|(known, _)| *known == remedy) {
            Some((_, names)) => names.push(&finding.name),
            None => steps.push((remedy, vec![&finding.name])),
        }
    }
    if steps.is_empty() {
        return headed(
            "What to do next",
            "  Nothing is left to do here: delaylab ping TARGET\n".into(),
            style,
        );
    }
    let steps = steps
        .into_iter()
        .map(|(remedy, names)| step(remedy, &names, style));
    headed("What to do next", steps.collect(), style)
}

/// A command stays on one line, to be copied.
fn step(remedy: &str, names: &[&str], style: &Style) -> String {
    let names = style.paint(Paint::Dim, &format!("for {}:", names.join(", ")));
    format!("  {names}\n    {remedy}\n")
}

fn indented(text: &str, columns: usize, style: &Style) -> String {
    let lines = wrap(text, style.columns().saturating_sub(columns)).into_iter();
    lines
        .map(|line| format!("{:columns$}{line}\n", ""))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_kernel::host_info::{Availability, HostInfo};
    use delaylab_live::doctor::{Access, ClockCheck, Setting, findings};
    use delaylab_model::SECOND;
    use delaylab_model::method::Method;

    const SPREAD: Spread = Spread {
        count: 500,
        min: 900,
        p50: 4_200,
        p99: 61_000,
        max: 1_250_000,
    };

    /// A small virtual machine, as an ordinary user sees it.
    fn modest() -> Checkup {
        let setcap = "sudo setcap cap_net_raw,cap_sys_nice+p /usr/bin/delaylab";
        let delivered = StampPoint::ALL.map(|point| match point {
            StampPoint::TTxHw | StampPoint::TRxHw => (point, Delivery::Unsupported),
            StampPoint::TSched => (point, Delivery::Missing),
            _ => (point, Delivery::Delivered),
        });
        let row = |method, result| MethodStamps {
            method,
            family: "IPv4".into(),
            result,
        };
        let wakeup = |setting, lateness| WakeUp {
            setting,
            lateness,
            round_p50: Vec::new(),
            round_p99: Vec::new(),
            refused: None,
        };
        let mut checkup = Checkup {
            host: HostInfo {
                kernel: Some("6.12.0".into()),
                cpu_model: Some("Some CPU".into()),
                cpus: Some(1),
                virtualised: true,
                clock_source: Some("kvm-clock".into()),
                clock_sources: vec!["kvm-clock".into()],
                synchronisation: None,
                ping_group_range: None,
                tracefs: Availability::No,
                netem: Availability::Unknown,
                ptp_clocks: Vec::new(),
            },
            stamps: vec![
                row(Method::Icmp, Err("no socket: permission denied".into())),
                row(Method::Udp, Ok(delivered.to_vec())),
            ],
            clock: ClockCheck {
                read: Spread {
                    p50: 32,
                    p99: 40,
                    ..SPREAD
                },
                negative_steps: 0,
            },
            wakeups: vec![
                wakeup(
                    Setting::Default,
                    Some(Spread {
                        p50: 53_000,
                        ..SPREAD
                    }),
                ),
                wakeup(Setting::FineSlack, Some(SPREAD)),
                WakeUp {
                    refused: Some("Operation not permitted".into()),
                    ..wakeup(Setting::Fifo, None)
                },
            ],
            best_setting: Setting::FineSlack,
            noise: vec![NoiseFloor {
                cpu: 0,
                length: SECOND,
                threshold: 5_000,
                gaps: Some(SPREAD),
                total: SECOND / 20,
                cost: 33,
            }],
            access: Access {
                setcap: Some(setcap.into()),
                cpuset: Some(1),
                ..Access::default()
            },
            findings: Vec::new(),
        };
        checkup.findings = findings::find(&checkup);
        checkup
    }

    #[test]
    fn looks_as_agreed() {
        insta::assert_snapshot!(render(&modest(), &Style::PLAIN));
    }

    #[test]
    fn every_line_but_a_command_fits() {
        let text = render(&modest(), &Style::PLAIN);
        let long = text
            .lines()
            .filter(|line| line.len() > 80 && !line.starts_with("    "));
        assert_eq!(long.collect::<Vec<_>>(), Vec::<&str>::new());
        assert!(text.is_ascii());
    }

    #[test]
    fn a_remedy_is_told_once_and_nothing_left_says_so() {
        let mut checkup = modest();
        assert_eq!(
            render(&checkup, &Style::PLAIN)
                .matches("sudo setcap")
                .count(),
            1
        );
        checkup.findings.clear();
        assert!(render(&checkup, &Style::PLAIN).contains("Nothing is left to do here"));
    }
}
