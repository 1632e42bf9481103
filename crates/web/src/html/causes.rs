//! Why packets were late: the answer, the causes with their evidence and what to do, the two ways, what was
//! varied, when the level changed, and what the run cannot tell.

use super::embedded::prose;
use super::section as titled;
use super::table::{Column, Table};
use delaylab_explain::causes::Cause;
use delaylab_explain::causes::ways::QUANTILES;
use delaylab_explain::compare::statistic_name;
use delaylab_model::units::{format_duration_f64, format_share};
use delaylab_stats::functional::Functional;
use delaylab_view::explain::words::{
    MEAN_RESPONSE, answers, asked_for_lines, clocks, difference, in_events, interval, longer_than,
    main, sentence, share_of_main, visible, way_name,
};
use delaylab_view::run::{Explanation, RunData};
use delaylab_view::words::{or_unknown, plural, short_percent};
use maud::{Markup, html};

/// Lesser causes and changes are in `delaylab explain -v`.
const SHOWN: usize = 6;
/// Conditions at most, and ways of them: the slowest.
const CONDITIONS: usize = 40;

pub(super) fn section(run: &RunData) -> Markup {
    let found = run.explanation.iter().find(|found| found.has_times());
    let body = html! {
        @if let Some(found) = found {
            (others(run, found))
            (conditions(found))
            (causes(found))
            (ways(found))
            (effects(found))
            (changes(found))
            (unknown(found))
        }
    };
    titled("why", "Why packets were late", body)
}

/// The first one stands at the top of the page, unless that is a benchmark's.
fn others(run: &RunData, found: &Explanation) -> Markup {
    let at_top = usize::from(run.benchmark.is_none());
    html! { @for answer in answers(found).skip(at_top) { p class="answer" { (answer) } } }
}

fn conditions(found: &Explanation) -> Markup {
    use Column::{Figures, Words};
    let conditions = &found.slow.conditions;
    if conditions.len() < 2 {
        return html! {};
    }
    let mut table = Table::new([
        ("combination", Words),
        ("mean response", Figures),
        ("increase", Figures),
        ("over", Words),
        ("mainly", Words),
        ("of the response", Figures),
        ("late", Figures),
        ("lost", Figures),
    ]);
    for condition in conditions.iter().take(CONDITIONS) {
        let [longer, than] = longer_than(condition).unwrap_or_default();
        table.row(vec![
            condition.label.clone(),
            format_duration_f64(condition.usual_ns.round()),
            longer,
            than,
            main(condition),
            share_of_main(condition),
            short_percent(condition.late_share()),
            format_share(condition.loss_share),
        ]);
    }
    html! {
        (table.render())
        p class="meta" { (MEAN_RESPONSE) "." }
        (more(conditions.len(), CONDITIONS, "combination"))
    }
}

fn causes(found: &Explanation) -> Markup {
    let all = found.found().count();
    html! {
        @if all > 0 {
            ol class="causes" { @for one in found.found().take(SHOWN) { (cause(found, one)) } }
        }
        (more(all, SHOWN, "cause"))
        (asked_for(found))
    }
}

/// What belongs to the condition.
fn asked_for(found: &Explanation) -> Markup {
    let lines = asked_for_lines(found);
    html! {
        @if !lines.is_empty() {
            p { "Part of the condition, and not ranked:" }
            ul { @for line in &lines { li { (line) } } }
        }
    }
}

fn cause(found: &Explanation, cause: &Cause) -> Markup {
    html! {
        li {
            h3 { (cause.headline()) }
            p {
                (short_percent(found.share_of_excess(cause))) " of the excess delay, "
                (short_percent(found.share_of_late(cause))) " of the late packets (" (in_events(cause)) ")"
            }
            ul { @for line in &cause.evidence { li { (prose(line)) } } }
            p class="remedy" { (prose(&cause.remedy)) }
        }
    }
}

/// Where those that are not shown can be read.
fn more(all: usize, shown: usize, what: &str) -> Markup {
    let more = all.saturating_sub(shown);
    html! {
        @if more > 0 {
            p {
                "And " (plural(more as u64, &format!("more {what}"))) ": "
                code { "delaylab explain -v" } "."
            }
        }
    }
}

fn ways(found: &Explanation) -> Markup {
    use Column::{Figures, Words};
    let head = [("each direction, above its minimum".to_owned(), Words)].into_iter();
    let quantiles = QUANTILES.map(|q| (statistic_name(Functional::Quantile(q)), Figures));
    let mut table = Table::new(head.chain(quantiles).chain([("clocks".to_owned(), Words)]));
    let known = |ns: f64| format_duration_f64(ns.round());
    for way in found.ways.iter().take(CONDITIONS) {
        let above = way.above.map(|ns| or_unknown(ns, known));
        let row = [way_name(way)].into_iter().chain(above);
        table.row(row.chain([clocks(way)]).collect());
    }
    html! {
        (table.render())
        (more(found.ways.len(), CONDITIONS, "direction"))
    }
}

fn effects(found: &Explanation) -> Markup {
    use Column::{Figures, Words};
    let mut table = Table::new([
        ("what was varied", Words),
        ("median response", Figures),
        ("95 %", Words),
        ("p99", Figures),
        ("95 %", Words),
    ]);
    for effect in &found.effects {
        let shifts = effect.shifts.iter();
        let shifts = shifts.flat_map(|shift| [difference(shift), interval(shift)]);
        table.row([effect.label()].into_iter().chain(shifts).collect());
    }
    table.render()
}

fn changes(found: &Explanation) -> Markup {
    let changes = &found.changes.found;
    let lines = changes.iter().take(SHOWN).map(sentence);
    let lines = lines.chain(visible(&found.changes));
    html! {
        (list("Changes of the median", lines.collect()))
        (more(changes.len(), SHOWN, "change"))
    }
}

fn unknown(found: &Explanation) -> Markup {
    let lines = found.unknown.iter().map(ToString::to_string);
    list("Not known from this run", lines.collect())
}

fn list(head: &str, lines: Vec<String>) -> Markup {
    html! {
        @if !lines.is_empty() {
            h3 { (head) }
            ul { @for line in &lines { li { (prose(line)) } } }
        }
    }
}
