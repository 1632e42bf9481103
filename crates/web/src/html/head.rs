//! What was asked, and the answer in a sentence.

use super::markup::text;
use super::title;
use delaylab_view::run::words::tally;
use delaylab_view::run::{RunData, Verdict};
use delaylab_view::words::plural;

pub(super) fn section(run: &RunData) -> String {
    let head = &run.head;
    let mut page = format!("<header>\n<p class=\"name\">{}</p>\n", text(&head.name));
    page += &format!("<h1>{}</h1>\n", text(title(run)));
    if !head.about.is_empty() {
        page += &format!("<p class=\"about\">{}</p>\n", text(&head.about));
    }
    page += &format!("<p class=\"meta\">{}</p>\n</header>\n", text(&meta(run)));
    page += &answered(run);
    page += &problems(run);
    for note in &run.notes {
        page += &format!("<p>{}</p>\n", text(note));
    }
    page
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

/// What came of the findings.
fn answered(run: &RunData) -> String {
    match tally(run) {
        Some(tally) => format!(
            "<p class=\"answer {}\">Findings: {}</p>\n",
            mood(run),
            text(&tally)
        ),
        None => String::new(),
    }
}

fn mood(run: &RunData) -> &'static str {
    let verdicts = run.findings.iter().map(|finding| finding.verdict);
    match Verdict::wherever_applicable(verdicts) {
        Verdict::True => "all-true",
        _ => "",
    }
}

fn problems(run: &RunData) -> String {
    if run.problems.is_empty() && run.skipped.is_empty() {
        return String::new();
    }
    let problems = run.problems.iter().map(|problem| text(problem));
    let skipped = run.skipped.iter();
    let skipped = skipped.map(|(what, why)| text(&format!("Skipped: {what}: {why}.")));
    let items = problems
        .chain(skipped)
        .map(|item| format!("<li>{item}</li>\n"));
    format!(
        "<aside class=\"problems\">\n<h2>Before you trust the figures</h2>\n<ul>\n{}</ul>\n</aside>\n",
        items.collect::<String>()
    )
}
