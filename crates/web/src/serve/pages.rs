//! The pages that only the server has: the list of runs, and what went wrong.

use super::query::encode;
use crate::html::served_frame;
use delaylab_store::index::Entry;
use delaylab_store::run::State;
use maud::{Markup, html};

/// The list of runs, the latest first: those that have every word of `search` in what is shown of them.
pub(super) fn runs(entries: &[Entry], search: &str) -> String {
    let words: Vec<_> = search.split_whitespace().map(str::to_lowercase).collect();
    let fits = |entry: &&Entry| words.iter().all(|word| shown(entry).contains(word));
    let found: Vec<_> = entries.iter().rev().filter(fits).collect();
    let count = format!("{} of {} runs", found.len(), entries.len());
    let body = html! {
        header { h1 { "Runs" } }
        form action="/" role="search" {
            label {
                "Search " input type="search" class="search" name="search" value=(search);
            }
            button { "Search" }
            span id="count" { (count) }
        }
        form action="/compare" data-changes="/changes" {
            div class="wide" tabindex="0" {
                table {
                    thead {
                        tr {
                            @for head in ["Compare", "run", "world", "started (UTC)", "state"] {
                                th scope="col" { (head) }
                            }
                            @for head in ["trials", "records"] {
                                th scope="col" class="figures" { (head) }
                            }
                        }
                    }
                    tbody { @for entry in found { (run_row(entry)) } }
                }
            }
            button { "Compare two runs" }
        }
    };
    served_frame("Runs", body)
}

/// What a search looks at.
fn shown(entry: &Entry) -> String {
    let known = |value: &Option<String>| value.clone().unwrap_or_default();
    let words = [
        entry.folder.clone(),
        known(&entry.name),
        known(&entry.world),
        known(&entry.started_utc),
        entry.state.name().to_owned(),
    ];
    words.join(" ").to_lowercase()
}

fn run_row(entry: &Entry) -> Markup {
    let folder = &entry.folder;
    let state = match (&entry.damage, entry.state) {
        (Some(damage), _) => format!("damaged: {damage}"),
        (None, State::Complete) => "complete".to_owned(),
        (None, State::Partial) => "in progress, or interrupted".to_owned(),
    };
    let started = entry.started_utc.as_deref().map(to_the_second);
    html! {
        tr {
            td { input type="checkbox" name="run" value=(folder) aria-label={ "Compare " (folder) }; }
            td class="name" { a href={ "/run/" (encode(folder)) } { (folder) } }
            td { (entry.world.as_deref().unwrap_or("–")) }
            td class="name" { (started.as_deref().unwrap_or("–")) }
            td { (state) }
            td class="figures" { (entry.trials) }
            td class="figures" { (entry.records) }
        }
    }
}

/// `2026-11-21T13:45:00.25Z` as people read it.
fn to_the_second(time: &str) -> String {
    time.chars().take(19).collect::<String>().replace('T', " ")
}

/// What went wrong, in a sentence.
pub(super) fn sorry(heading: &str, why: &str) -> String {
    let body = html! {
        header { h1 { (heading) } }
        p { (why) }
        p { a href="/" { "All runs" } }
    };
    served_frame(heading, body)
}
