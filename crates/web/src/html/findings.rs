//! The tally, then each finding in a line: verdict, claim, what decided it, and its interval drawn. What the source
//! has, the check, the reason and all numbers are behind a click.

use super::interval;
use super::table::{Column, Table};
use delaylab_view::run::words::{glyph, interval, quantity, tally};
use delaylab_view::run::{Evidence, FindingShown, RunData};
use delaylab_view::words::{UNKNOWN, or_unknown};
use maud::{Markup, html};

pub(super) fn section(run: &RunData) -> Markup {
    html! {
        @if let Some(tally) = tally(run) {
            section id="findings" {
                h2 { "Findings " span class="tally" { (tally) } }
                @for found in &run.findings { (finding(found)) }
            }
        }
    }
}

fn finding(finding: &FindingShown) -> Markup {
    html! {
        article class={ "finding " (finding.verdict.id().replace('_', "-")) } {
            p class="verdict" {
                span aria-hidden="true" { (glyph(finding.verdict)) }
                span class="word" { (finding.verdict.name()) }
            }
            div {
                h3 { span class="id" { (finding.id) } " " (finding.says) }
                p class="line" { (finding.line) }
                details {
                    summary { "Why, and the numbers" }
                    p { (finding.reason) }
                    // What the source gives, above what was found here.
                    @if !finding.printed.is_empty() {
                        p class="printed" { span { "In the source:" } " " (finding.printed) }
                    }
                    p class="check" { code { (finding.check) } }
                    (evidence(&finding.evidence, &finding.reason))
                }
            }
            @if let Some(decided) = &finding.decided { (interval::drawn(decided, &finding.line)) }
        }
    }
}

fn evidence(evidence: &[Evidence], reason: &str) -> Markup {
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
    let verdict = number.verdict;
    vec![
        number.level.clone(),
        number.what.clone(),
        or_unknown(number.value, |value| quantity(value, &number.unit)),
        interval(number).unwrap_or_else(|| UNKNOWN.to_owned()),
        match number.count {
            0 => String::new(),
            n => n.to_string(),
        },
        verdict.map_or(String::new(), |v| {
            format!("{}\u{a0}{}", glyph(v), v.name().replace(' ', "\u{a0}"))
        }),
    ]
}
