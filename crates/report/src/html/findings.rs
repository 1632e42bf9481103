//! Each finding with its verdict, the reason in words, and the numbers to judge it by.

use super::markup::text;
use super::section as titled;
use super::table::{Column, Table};
use crate::run::words::{glyph, interval, quantity};
use crate::run::{Evidence, FindingShown, RunData, Verdict};

/// Numbers that are shown at once; more wait behind a click.
const AT_ONCE: usize = 12;

pub(super) fn section(run: &RunData) -> String {
    let findings: String = run.findings.iter().map(finding).collect();
    titled("findings", "Findings", &findings)
}

fn finding(finding: &FindingShown) -> String {
    format!(
        "<article class=\"finding {class}\">\n<h3><span class=\"id\">{id}</span> {says}</h3>\n\
         {printed}<p><span class=\"verdict\">{glyph} {verdict}</span> {reason}</p>\n\
         <p class=\"check\"><code>{check}</code></p>\n{evidence}</article>\n",
        class = class(finding.verdict),
        id = text(&finding.id),
        says = text(&finding.says),
        printed = printed(finding),
        glyph = glyph(finding.verdict),
        verdict = finding.verdict.name(),
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
    let drawn = table.render();
    if drawn.is_empty() {
        return drawn;
    }
    let open = if evidence.len() > AT_ONCE {
        ""
    } else {
        " open"
    };
    format!("<details{open}><summary>The numbers</summary>\n{drawn}</details>\n")
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
