//! What a reader sees first: what was asked and where, the answer in a sentence, the figure and the table that
//! show it.

use super::figures::{Stills, figure};
use super::table::{Column, Table};
use super::title;
use delaylab_figure::Drawing;
use delaylab_model::distinct::Distinct;
use delaylab_view::benchmark::conformance;
use delaylab_view::explain::words::answers;
use delaylab_view::run::figures_alone::FiguresAlone;
use delaylab_view::run::groups::WORST;
use delaylab_view::run::{RunData, ShownDelay};
use delaylab_view::words::{date_and_time, plural};
use maud::{Markup, html};

/// Rows of the table at most: the others are in the table of trials.
const ROWS: usize = 12;

/// `key` is the figure that stands beside the table.
pub(super) fn section(run: &RunData, key: Option<&Drawing>, artist: &Stills) -> Markup {
    let head = &run.head;
    // What a search tried on its way says nothing of the device.
    let answer = match &run.benchmark {
        Some(found) => Some(conformance(&found.conformance)),
        None => run.explanation.iter().flat_map(answers).next(),
    };
    html! {
        header {
            p class="meta" { (meta(run)) }
            h1 { (title(run)) }
            @if let Some(answer) = &answer { p class="answer" { (answer) } }
            @if !head.about.is_empty() { p class="about" { (head.about) } }
        }
        (problems(run))
        div class="top" {
            @if let Some(key) = key { (figure(key, artist)) }
            section id="summary" {
                h2 { "Summary" }
                (facts(run))
                @if run.benchmark.is_none() { (summary(run)) }
                @for note in &run.notes { p class="meta" { (note) } }
            }
        }
    }
}

/// `waits · live · 2026-… UTC · 18 trials, 7200 packets · seed 7`.
fn meta(run: &RunData) -> Markup {
    // Simulations that repeat another one exactly count once, as in the list of runs.
    let mut distinct = Distinct::new();
    let trials = run.trials.iter();
    let counting =
        trials.filter(|trial| distinct.is_first(trial.stream.trace_hash, trial.stream.probe));
    let packets: u64 = counting.map(|trial| trial.summary.counts.sent).sum();
    let words = [
        format!("{} world", run.head.world),
        utc(&run.head.started),
        format!(
            "{}, {}",
            plural(run.count_trials() as u64, "trial"),
            plural(packets, "packet")
        ),
    ];
    let words = words.into_iter().chain(run.head.seed_words());
    html! {
        span class="name" { (run.head.name) }
        @for word in words { " · " (word) }
    }
}

/// When it began; words where nobody knows.
fn utc(time: &str) -> String {
    match time.ends_with('Z') {
        true => format!("{} UTC", date_and_time(time)),
        false => time.to_owned(),
    }
}

/// Where the packets went, and from which host.
fn facts(run: &RunData) -> Markup {
    let head = &run.head;
    let target = head.target.clone().unwrap_or_default();
    let facts = [("Target", &target), ("Host", &head.host)];
    let facts = facts.into_iter().filter(|(_, what)| !what.is_empty());
    html! {
        dl class="facts" {
            @for (name, what) in facts { dt { (name) } dd { (what) } }
        }
    }
}

/// A row for each combination of levels: how much was lost, how long it took, and where.
fn summary(run: &RunData) -> Markup {
    if let Some(figures) = &run.figures_alone {
        return figures_alone(figures);
    }
    let digest = run.digest(Some(ROWS));
    let [factors, figures] = digest.heads();
    let factors = factors.into_iter().map(|head| (head, Column::Words));
    let figures = figures.into_iter().map(|head| (head, Column::Figures));
    let mut table = Table::new(factors.chain(figures)).known();
    let mut rows = digest.rows.iter();
    let is_split = rows.any(|row| row.network.or(row.host).is_some());
    digest.rows.iter().for_each(|row| table.row(row.cells()));
    let is_response = digest.delay == ShownDelay::Response.name(run.ways());
    let response = "Response: from when a packet was due until its reply was read.";
    let split = "Network and host: their parts of the median response.";
    let left_out = format!(
        "These are the {} rows with the {WORST}; {} more are among the trials below.",
        digest.rows.len(),
        digest.left_out
    );
    let notes = [
        is_response.then_some(response),
        is_split.then_some(split),
        (digest.left_out > 0).then_some(left_out.as_str()),
    ];
    let notes: Vec<&str> = notes.into_iter().flatten().collect();
    html! {
        (table.render())
        @if !notes.is_empty() { p class="meta" { (notes.join(" ")) } }
    }
}

/// What another tool said of its streams, where the run has no packets.
fn figures_alone(figures: &FiguresAlone) -> Markup {
    let heads = figures
        .heads
        .iter()
        .map(|head| (head.as_str(), Column::Figures));
    let mut table = Table::new([("stream", Column::Words)].into_iter().chain(heads));
    for (stream, cells) in &figures.rows {
        table.row([stream].into_iter().chain(cells).cloned().collect());
    }
    table.render()
}

fn problems(run: &RunData) -> Markup {
    let skipped = run.skipped.iter();
    let skipped = skipped.map(|(what, why)| format!("Skipped: {what}: {why}."));
    let problems = run.problems.iter().cloned();
    super::problems(problems.chain(skipped).collect())
}
