//! Why packets of a run were late, for people: the answer, the stages, the causes with what to do, what
//! factors do, when the level changed, and what cannot be told.

use crate::style::{Paint, Style};
use crate::table::{Cell, Table};
use crate::text::{joined, paragraph, wrap};
use delaylab_explain::causes::effects::Effect;
use delaylab_explain::causes::slow::Combination;
use delaylab_explain::causes::stages::StageTimes;
use delaylab_explain::causes::ways::QUANTILES;
use delaylab_explain::causes::{Cause, Explanation};
use delaylab_explain::compare::statistic_name;
use delaylab_model::units::{format_duration_f64, format_share};
use delaylab_stats::anatomy::in_common;
use delaylab_stats::functional::Functional;
use delaylab_view::explain::words::{
    MEAN_RESPONSE, WITH_OWN_LOAD, asked_for_lines, clocks, difference, in_events, interval,
    longer_than, main, sentence, share_of_main, visible, way_name,
};
use delaylab_view::run::Head;
use delaylab_view::words::{or_unknown, plural, short_percent};
use std::collections::BTreeSet;

/// Causes, effects and changes that are shown unless all are asked for.
const SHOWN: usize = 6;
/// Conditions whose stages are shown unless all are asked for.
const SHOWN_STAGES: usize = 3;

/// The whole page, in lines that end in a line feed.
pub fn render(head: &Head, found: &Explanation, style: &Style) -> String {
    let sections = [
        title(head, found, style),
        slow(found, style),
        stages(found, style),
        ways(found, style),
        causes(found, style),
        effects(found, style),
        changes(found, style),
        unknown(found, style),
    ];
    style.glyphs(joined(sections))
}

fn title(head: &Head, found: &Explanation, style: &Style) -> String {
    let name = format!("--- {} ({}) ---", head.name, head.world);
    let repeated = match found.repeated {
        0 => String::new(),
        same => {
            format!(" ({same} more repeat one of these simulations exactly and are not counted)")
        }
    };
    let (handshakes, shaken) = found.handshakes;
    let too_late = match found.too_late {
        0 => String::new(),
        some => format!(", {some} of them after their time-out"),
    };
    let beside = match handshakes {
        0 => String::new(),
        some => format!(
            "; {} in addition, {shaken} answered",
            plural(some, "handshake")
        ),
    };
    let when = format!(
        "{}, {}{repeated}, {} sent, {} answered{too_late}{beside}",
        head.started,
        plural(found.trials as u64, "trial"),
        plural(found.sent - handshakes, "packet"),
        found.answered - shaken
    );
    let [first, second] = found.delay_and_loss(
        paragraph(&found.slow_answer(), Paint::Bold, style),
        paragraph(&found.some_lost_answer(), Paint::Warning, style),
    );
    paragraph(&name, Paint::Bold, style)
        + &paragraph(&when, Paint::Dim, style)
        + &paragraph(&found.flawed_answer(), Paint::Warning, style)
        + &paragraph(&found.lost_answer(), Paint::Warning, style)
        + &paragraph(&found.changed_answer(), Paint::Bold, style)
        + &first
        + &second
        + &paragraph(&found.irregular_answer(), Paint::Warning, style)
        + &paragraph(&found.late_answer(), Paint::Bold, style)
}

/// Every combination of levels, the slowest first: how long it takes, against what, where, and how many were late.
fn slow(found: &Explanation, style: &Style) -> String {
    let conditions = &found.slow.conditions;
    if conditions.len() < 2 {
        return String::new();
    }
    let shown = style.shown(conditions.len(), SHOWN);
    let lost = conditions
        .iter()
        .any(|condition| condition.loss_share > 0.0);
    let head = [
        Cell::left("Combination"),
        Cell::new("mean response"),
        Cell::new("increase"),
        Cell::left("mainly"),
        Cell::new("share"),
        Cell::new("late"),
        Cell::new("lost"),
    ];
    let columns = if lost { head.len() } else { head.len() - 1 };
    let mut table = Table::headed(head.into_iter().take(columns));
    for condition in conditions.iter().take(shown) {
        table.row(row(condition).into_iter().take(columns));
    }
    let packets = if lost { "late, lost" } else { "late" };
    let note = format!(
        "{MEAN_RESPONSE}; {}mainly, share: the part to look at, and its share of that mean; \
         {packets}: of the packets",
        increase_note(conditions)
    );
    let own_load = match found.run_load_causes().next() {
        Some(_) => format!("; {WITH_OWN_LOAD}"),
        None => String::new(),
    };
    table.render(style)
        + &rest(conditions.len(), shown, "combination", style)
        + &paragraph(&format!("{note}{own_load}"), Paint::Dim, style)
}

/// What the slow ones take longer than.
fn increase_note(conditions: &[Combination]) -> String {
    let references = conditions.iter().filter_map(longer_than);
    let references: BTreeSet<String> = references.map(|[_, than]| than).collect();
    let mut references = references.into_iter();
    match (references.next(), references.next()) {
        (None, _) => String::new(),
        (Some(one), None) => format!("increase: over {one}; "),
        _ => {
            "increase: over the combination or delay that each is compared with (--json names it); "
                .to_owned()
        }
    }
}

fn row(condition: &Combination) -> [Cell; 7] {
    let longer = longer_than(condition);
    let [longer, _] = longer.unwrap_or_default();
    [
        Cell::left(condition.label.clone()),
        Cell::new(whole(condition.usual_ns)),
        Cell::new(longer),
        Cell::left(main(condition)),
        Cell::new(share_of_main(condition)),
        Cell::new(short_percent(condition.late_share())),
        Cell::new(format_share(condition.loss_share)),
    ]
}

/// How a packet spends its time, and where late ones spend more: of each condition, where these differ.
fn stages(found: &Explanation, style: &Style) -> String {
    // A packet under way when the clock was set is late, and tells nothing of stages.
    let of_late = found.stages.iter().filter(|stages| stages.late > 0);
    let of_late = Vec::from_iter(of_late);
    if of_late.is_empty() {
        return String::new();
    }
    let shown = style.shown(of_late.len(), SHOWN_STAGES);
    let each = of_late.iter().take(shown);
    let tables: String = each.map(|stages| of_condition(stages, style)).collect();
    let note = match found.run_load_causes().next() {
        Some(_) => {
            let note = format!("{WITH_OWN_LOAD}; the sentences above leave them out");
            paragraph(&note, Paint::Dim, style)
        }
        None => String::new(),
    };
    tables + &rest(of_late.len(), shown, "combination", style) + &note
}

fn of_condition(stages: &StageTimes, style: &Style) -> String {
    let title = match stages.label.as_str() {
        "" => String::new(),
        label => paragraph(&format!("{label}:"), Paint::Dim, style),
    };
    let heads = [
        "Mean by stage",
        "packets not late",
        "late packets: excess",
        "share",
    ];
    let mut table = Table::headed(heads.map(Cell::new));
    for [usual, more] in in_common(&stages.usual, &stages.excess) {
        let each = more.ns / stages.late as f64;
        table.row([
            Cell::new(usual.stages.name()),
            Cell::new(whole(usual.ns)),
            Cell::new(whole(each)),
            Cell::new(short_percent(more.ns.max(0.0) / stages.excess_ns)),
        ]);
    }
    table.row([
        Cell::new("response"),
        Cell::new(whole(stages.usual_ns())),
        Cell::new(whole(stages.excess_ns / stages.late as f64)),
    ]);
    title + &table.render(style)
}

/// Less than a nanosecond is nothing.
fn whole(ns: f64) -> String {
    format_duration_f64(ns.round())
}

/// Which way takes longer now and then.
fn ways(found: &Explanation, style: &Style) -> String {
    if found.ways.is_empty() {
        return String::new();
    }
    let quantiles = QUANTILES.map(|q| Cell::new(statistic_name(Functional::Quantile(q))));
    let head = [Cell::left("Above minimum, by direction")].into_iter();
    let head = head.chain(quantiles).chain([Cell::left("clocks")]);
    let mut table = Table::headed(head);
    let shown = style.shown(found.ways.len(), SHOWN);
    for way in found.ways.iter().take(shown) {
        let name = [Cell::left(way_name(way))].into_iter();
        let above = way.above.map(|ns| Cell::new(or_unknown(ns, whole)));
        table.row(name.chain(above).chain([Cell::left(clocks(way)).dim()]));
    }
    table.render(style) + &rest(found.ways.len(), shown, "direction", style)
}

fn causes(found: &Explanation, style: &Style) -> String {
    let causes: Vec<&Cause> = found.found().collect();
    let shown = style.shown(causes.len(), SHOWN);
    let mut text = match causes.is_empty() {
        true => String::new(),
        false => paragraph("Causes, worst first", Paint::Dim, style),
    };
    for (cause, number) in causes.iter().zip(1..).take(shown) {
        text += &self::cause(found, cause, number, style);
    }
    text + &rest(causes.len(), shown, "cause", style) + &asked_for(found, style)
}

/// What belongs to the condition, a line each.
fn asked_for(found: &Explanation, style: &Style) -> String {
    let lines = asked_for_lines(found);
    if lines.is_empty() {
        return String::new();
    }
    let head = "Part of the condition, and not ranked";
    let lines = lines.iter().map(|line| indented("- ", line, style));
    paragraph(head, Paint::Dim, style) + &lines.collect::<String>()
}

fn rest(all: usize, shown: usize, what: &str, style: &Style) -> String {
    match all - shown {
        0 => String::new(),
        more => {
            let more = plural(more as u64, &format!("more {what}"));
            paragraph(&format!("{more} (-v)"), Paint::Dim, style)
        }
    }
}

fn cause(found: &Explanation, cause: &Cause, number: usize, style: &Style) -> String {
    let head = format!(
        "{number}. {}: {} of the excess delay, {} of the late packets ({})",
        cause.headline(),
        short_percent(found.share_of_excess(cause)),
        short_percent(found.share_of_late(cause)),
        in_events(cause),
    );
    let evidence = cause
        .evidence
        .iter()
        .map(|line| indented("- ", line, style));
    hanging(&head, style) + &evidence.collect::<String>() + &indented("→ ", &cause.remedy, style)
}

/// A numbered head: what is too long for a line goes on below its first word.
fn hanging(head: &str, style: &Style) -> String {
    let lines = wrap(head, style.columns() - 3).into_iter().enumerate();
    let lines = lines.map(|(at, line)| if at == 0 { line } else { format!("   {line}") });
    lines
        .map(|line| style.paint(Paint::Bold, &line) + "\n")
        .collect()
}

fn indented(mark: &str, text: &str, style: &Style) -> String {
    let lines = wrap(text, style.columns() - 5).into_iter().enumerate();
    lines
        .map(|(at, line)| match at {
            0 => format!("   {mark}{line}\n"),
            _ => format!("     {line}\n"),
        })
        .collect()
}

fn effects(found: &Explanation, style: &Style) -> String {
    if found.effects.is_empty() {
        return String::new();
    }
    let heads = ["What was varied", "median response", "", "p99", ""];
    let mut table = Table::headed(heads.map(Cell::new));
    for effect in &found.effects {
        table.row(
            [Cell::new(effect.label())]
                .into_iter()
                .chain(shifts(effect)),
        );
    }
    table.render(style)
}

fn shifts(effect: &Effect) -> impl Iterator<Item = Cell> {
    effect.shifts.iter().flat_map(|shift| {
        [
            Cell::painted(difference(shift), Paint::Bold.when(shift.is_sure())),
            Cell::left(interval(shift)).dim(),
        ]
    })
}

fn changes(found: &Explanation, style: &Style) -> String {
    let visible = visible(&found.changes);
    let changes = &found.changes.found;
    if changes.is_empty() && visible.is_none() {
        return String::new();
    }
    let shown = style.shown(changes.len(), SHOWN);
    let lines = changes.iter().take(shown).map(sentence).chain(visible);
    let lines = lines.map(|line| indented("- ", &line, style));
    paragraph("Changes of the median", Paint::Dim, style)
        + &lines.collect::<String>()
        + &rest(changes.len(), shown, "change", style)
}

fn unknown(found: &Explanation, style: &Style) -> String {
    if found.unknown.is_empty() {
        return String::new();
    }
    let lines = found.unknown.iter();
    let lines = lines.map(|unknown| indented("- ", &unknown.to_string(), style));
    paragraph("Not known from this run", Paint::Dim, style) + &lines.collect::<String>()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_explain::causes::ways::OneWay;
    use delaylab_model::plan::Level;
    use delaylab_stats::anatomy::{Part, Stage};
    use delaylab_view::run::samples::waits;

    #[test]
    fn looks_as_agreed() {
        let run = waits();
        let found = run.explanation.as_ref().unwrap();
        let text = render(&run.head, found, &Style::PLAIN);
        crate::text::assert_plain("explain", &text);
        insta::assert_snapshot!(text);
    }

    #[test]
    fn conditions_that_differ_have_stages_and_ways_of_their_own() {
        let run = waits();
        let mut found = run.explanation.clone().unwrap();
        let part = |ns: f64| Part {
            stages: Stage::ForwardPath.into(),
            ns,
        };
        let conditions = ["fifo", "codel", "fq", "none"].into_iter().zip(1..);
        found.stages = conditions
            .clone()
            .map(|(case, at)| StageTimes {
                label: format!("case {case}"),
                usual: vec![part(20e6 * f64::from(at))],
                excess: vec![part(9e6)],
                late: 3,
                excess_ns: 9e6,
                ..StageTimes::default()
            })
            .collect();
        let way = found.ways[0].clone();
        found.ways = conditions
            .map(|(case, _)| OneWay {
                factors: Some(vec![("case".to_owned(), Level::named(case))]),
                ..way.clone()
            })
            .collect();
        let text = stages(&found, &Style::PLAIN);
        let titles: Vec<_> = text
            .lines()
            .filter(|line| line.starts_with("case"))
            .collect();
        assert_eq!(titles, ["case fifo:", "case codel:", "case fq:"], "{text}");
        assert!(text.contains("1 more combination (-v)"), "{text}");
        let text = ways(&found, &Style::PLAIN);
        for case in ["fifo", "codel", "fq", "none"] {
            let line = format!("echo, forward, case {case}");
            assert!(text.contains(&line), "{text}");
        }
    }

    /// Late are packets, too, that the clock was set under, and of what delayed them nothing is known.
    #[test]
    fn late_packets_without_a_delay_have_no_table_of_stages() {
        let mut found = waits().explanation.unwrap();
        found.late = 3;
        found.stages = vec![StageTimes {
            usual: vec![Part {
                stages: Stage::ForwardPath.into(),
                ns: 20e6,
            }],
            ..StageTimes::default()
        }];
        assert_eq!(stages(&found, &Style::PLAIN), "");
    }

    #[test]
    fn without_answers_there_is_a_sentence() {
        let lost = Explanation {
            sent: 3,
            ..Explanation::default()
        };
        for (found, expected) in [
            (lost, "No packet was answered"),
            (Explanation::default(), "No complete trial has a packet"),
        ] {
            let text = render(&Head::default(), &found, &Style::PLAIN);
            assert!(text.contains(expected), "{text}");
            assert!(!text.contains("NaN") && !text.contains("Causes"), "{text}");
        }
    }
}
