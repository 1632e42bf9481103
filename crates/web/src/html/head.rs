//! What was asked, and the answer in a sentence.

use super::title;
use delaylab_view::run::words::tally;
use delaylab_view::run::{RunData, Verdict};
use delaylab_view::words::plural;
use maud::{Markup, html};

pub(super) fn section(run: &RunData) -> Markup {
    let head = &run.head;
    html! {
        header {
            p class="name" { (head.name) }
            h1 { (title(run)) }
            @if !head.about.is_empty() { p class="about" { (head.about) } }
            p class="meta" { (meta(run)) }
        }
        @if let Some(tally) = tally(run) {
            p class={ "answer " (mood(run)) } { "Findings: " (tally) }
        }
        (problems(run))
        @for note in &run.notes { p { (note) } }
    }
}

/// `live world · 2026-… · 18 trials · 7,200 packets · seed 7`.
fn meta(run: &RunData) -> String {
    let packets: u64 = run.trials.iter().map(|t| t.summary.counts.sent).sum();
    let mut trials: Vec<_> = run.trials.iter().map(|t| t.stream.trial).collect();
    trials.sort_unstable();
    trials.dedup();
    let words = [
        format!("{} world", run.head.world),
        run.head.started.clone(),
        plural(trials.len() as u64, "trial"),
        plural(packets, "packet"),
    ];
    let words = words.into_iter().chain(run.head.seed_words());
    words.collect::<Vec<_>>().join(" · ")
}

/// The CSS class for the verdicts of all findings.
fn mood(run: &RunData) -> &'static str {
    let verdicts = run.findings.iter().map(|finding| finding.verdict);
    match Verdict::wherever_applicable(verdicts) {
        Verdict::True => "all-true",
        _ => "",
    }
}

fn problems(run: &RunData) -> Markup {
    let skipped = run.skipped.iter();
    let skipped = skipped.map(|(what, why)| format!("Skipped: {what}: {why}."));
    let problems = run.problems.iter().cloned();
    super::problems(problems.chain(skipped).collect())
}
