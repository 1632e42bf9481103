//! Why packets were late: the answer, the causes with their evidence and what to do, the two ways, what was
//! varied, when the level changed, and what the run cannot tell.

use super::markup::{prose, text};
use super::section as titled;
use super::table::{Column, Table};
use delaylab_explain::causes::Cause;
use delaylab_explain::causes::ways::QUANTILES;
use delaylab_explain::compare::verdict::statistic_name;
use delaylab_model::units::format_duration_f64;
use delaylab_stats::functional::Functional;
use delaylab_view::explain::words::{
    asked_for_lines, clocks, difference, in_events, interval, longer_than, lost_share, main,
    sentence, share_of_main, visible, way_name,
};
use delaylab_view::run::{Explanation, RunData};
use delaylab_view::words::{plural, short_percent};

/// Lesser causes and changes are in `delaylab explain -v`.
const SHOWN: usize = 6;

pub(super) fn section(run: &RunData) -> String {
    let found = run.explanation.iter().find(|found| found.answered > 0);
    let body = found.map_or_else(String::new, |found| {
        [
            answers(found),
            conditions(found),
            causes(found),
            ways(found),
            effects(found),
            changes(found),
            unknown(found),
        ]
        .concat()
    });
    titled("why", "Why packets were late", &body)
}

fn answers(found: &Explanation) -> String {
    let answers = [
        found.lost_answer(),
        found.slow_answer(),
        found.some_lost_answer(),
        found.late_answer(),
    ];
    let said = answers.iter().filter(|answer| !answer.is_empty());
    said.map(|answer| format!("<p class=\"answer\">{}</p>\n", text(answer)))
        .collect()
}

fn conditions(found: &Explanation) -> String {
    use Column::{Figures, Words};
    let conditions = &found.slow.conditions;
    if conditions.len() < 2 {
        return String::new();
    }
    let mut table = Table::new([
        ("condition", Words),
        ("mean response", Figures),
        ("longer by", Figures),
        ("than", Words),
        ("mainly", Words),
        ("of the response", Figures),
        ("late", Figures),
        ("lost", Figures),
    ]);
    for condition in conditions {
        let [longer, than] = longer_than(condition).unwrap_or_default();
        let late = condition.late_packets() as f64 / condition.answered.max(1) as f64;
        table.row(vec![
            condition.label.clone(),
            format_duration_f64(condition.usual_ns.round()),
            longer,
            than,
            main(condition),
            share_of_main(condition),
            short_percent(late),
            lost_share(condition),
        ]);
    }
    table.render()
}

fn causes(found: &Explanation) -> String {
    let shown = found.found().take(SHOWN);
    let items: String = shown.map(|one| cause(found, one)).collect();
    let list = match items.is_empty() {
        true => String::new(),
        false => format!("<ol class=\"causes\">\n{items}</ol>\n"),
    };
    list + &more(found.found().count(), "cause") + &asked_for(found)
}

/// What belongs to the condition.
fn asked_for(found: &Explanation) -> String {
    let lines = asked_for_lines(found);
    let items: String = lines
        .iter()
        .map(|line| format!("<li>{}</li>\n", text(line)))
        .collect();
    match items.is_empty() {
        true => String::new(),
        false => format!("<p>Part of the condition, and not ranked:</p>\n<ul>\n{items}</ul>\n"),
    }
}

fn cause(found: &Explanation, cause: &Cause) -> String {
    let evidence = cause.evidence.iter();
    let evidence: String = evidence
        .map(|line| format!("<li>{}</li>\n", prose(line)))
        .collect();
    format!(
        "<li>\n<h3>{}</h3>\n<p>{} of the time lost, {} of the late packets ({})</p>\n<ul>\n{evidence}</ul>\n\
         <p class=\"remedy\">{}</p>\n</li>\n",
        text(&cause.headline()),
        short_percent(found.share_of_lost(cause)),
        short_percent(found.share_of_late(cause)),
        in_events(cause),
        prose(&cause.remedy),
    )
}

fn more(all: usize, what: &str) -> String {
    match all.saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(
            "<p>And {}: <code>delaylab explain -v</code>.</p>\n",
            plural(more as u64, &format!("more {what}"))
        ),
    }
}

fn ways(found: &Explanation) -> String {
    use Column::{Figures, Words};
    let head = [("each way, above its minimum".to_owned(), Words)].into_iter();
    let quantiles = QUANTILES.map(|q| (statistic_name(Functional::Quantile(q)), Figures));
    let mut table = Table::new(head.chain(quantiles).chain([("clocks".to_owned(), Words)]));
    for way in &found.ways {
        let above = way.above.map(|ns| format_duration_f64(ns.round()));
        let row = [way_name(way)].into_iter().chain(above);
        table.row(row.chain([clocks(way)]).collect());
    }
    table.render()
}

fn effects(found: &Explanation) -> String {
    use Column::{Figures, Words};
    let mut table = Table::new([
        ("what was varied", Words),
        ("median response", Figures),
        ("95 %", Words),
        ("p99", Figures),
        ("95 %", Words),
    ]);
    for effect in &found.effects {
        let label = format!("{} {} → {}", effect.factor, effect.from, effect.to);
        let shifts = effect.shifts.iter();
        let shifts = shifts.flat_map(|shift| [difference(shift), interval(shift)]);
        table.row([label].into_iter().chain(shifts).collect());
    }
    table.render()
}

fn changes(found: &Explanation) -> String {
    let changes = &found.changes.found;
    let lines = changes.iter().take(SHOWN).map(sentence);
    let lines = lines.chain(visible(&found.changes));
    list("Changes of level", lines) + &more(changes.len(), "change")
}

fn unknown(found: &Explanation) -> String {
    let lines = found.unknown.iter();
    let lines =
        lines.map(|unknown| format!("{}: {}; {}", unknown.what, unknown.why, unknown.remedy));
    list("What this run cannot tell", lines)
}

fn list(head: &str, lines: impl Iterator<Item = String>) -> String {
    let items: String = lines
        .map(|line| format!("<li>{}</li>\n", prose(&line)))
        .collect();
    match items.is_empty() {
        true => String::new(),
        false => format!("<h3>{head}</h3>\n<ul>\n{items}</ul>\n"),
    }
}
