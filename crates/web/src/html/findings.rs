//! The tally, then each finding with its verdict and the number that decided it; the reason in words and the numbers to
//! judge it by behind a click.

use super::markup::text;
use super::section as titled;
use super::table::{Column, Table};
use delaylab_view::run::words::{glyph, interval, quantity, tally};
use delaylab_view::run::{Evidence, FindingShown, RunData, Verdict};

pub(super) fn section(run: &RunData) -> String {
    let Some(tally) = tally(run) else {
        return String::new();
    };
    let findings: String = run.findings.iter().map(finding).collect();
    let tally = format!("<p class=\"tally\">{}</p>\n", text(&tally));
    titled("findings", "Findings", &(tally + &findings))
}

fn finding(finding: &FindingShown) -> String {
    format!(
        "<article class=\"finding {class}\">\n<h3><span class=\"id\">{id}</span> {says}</h3>\n\
         {printed}<p><span class=\"verdict\">{glyph} {verdict}</span> {line}</p>\n\
         <p class=\"check\"><code>{check}</code></p>\n\
         <details><summary>Why, and the numbers</summary>\n<p>{reason}</p>\n{evidence}</details>\n</article>\n",
        class = class(finding.verdict),
        id = text(&finding.id),
        says = text(&finding.says),
        printed = printed(finding),
        glyph = glyph(finding.verdict),
        verdict = finding.verdict.name(),
        line = text(&finding.line),
        reason = text(&finding.reason),
        check = text(&finding.check),
        evidence = evidence(&finding.evidence, &finding.reason),
    )
}

/// What the source gives, above what was found here.
fn printed(finding: &FindingShown) -> String {
    if finding.printed.is_empty() {
        return String::new();
    }
    format!(
        "<p class=\"printed\"><span>In the source:</span> {}</p>\n",
        text(&finding.printed)
    )
}

const fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::True => "true",
        Verdict::False => "false",
        Verdict::Undecided => "undecided",
        Verdict::NotApplicable => "not-applicable",
    }
}

fn evidence(evidence: &[Evidence], reason: &str) -> String {
    use Column::{Code, Figures, Words};
    let mut table = Table::new([
        ("for", Words),
        ("statistic", Code),
        ("value", Figures),
        ("95 % interval", Figures),
        ("values", Figures),
        ("holds", Words),
    ]);
    for number in evidence {
        // What the verdict gives as its reason need not be read twice.
        let note = Some(&number.note).filter(|note| *note != reason);
        table.row_with_note(row(number), note.cloned().unwrap_or_default());
    }
    table.render()
}

fn row(number: &Evidence) -> Vec<String> {
    let known = |value: Option<String>| value.unwrap_or_else(|| "–".to_owned());
    let verdict = number.verdict;
    vec![
        number.level.clone(),
        number.what.clone(),
        known(number.value.map(|value| quantity(value, &number.unit))),
        known(interval(number)),
        match number.count {
            0 => String::new(),
            n => n.to_string(),
        },
        verdict.map_or(String::new(), |v| {
            format!("{}\u{a0}{}", glyph(v), v.name().replace(' ', "\u{a0}"))
        }),
    ]
}
