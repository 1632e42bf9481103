//! The pages that only the server has: the list of runs, and what went wrong.

use super::query::encode;
use crate::html::{self, markup::text};
use delaylab_store::index::Entry;
use delaylab_store::run::State;

/// The list of runs, the latest first: those that have every word of `search` in what is shown of them.
pub(super) fn runs(entries: &[Entry], search: &str) -> String {
    let words: Vec<_> = search.split_whitespace().map(str::to_lowercase).collect();
    let fits = |entry: &&Entry| words.iter().all(|word| shown(entry).contains(word));
    let found: Vec<_> = entries.iter().rev().filter(fits).collect();
    let count = format!("{} of {} runs", found.len(), entries.len());
    let rows: String = found.into_iter().map(run_row).collect();
    let body = format!(
        "<header>\n<h1>Runs</h1>\n</header>\n\
         <form action=\"/\" role=\"search\">\n<label>Search <input type=\"search\" class=\"search\" name=\"search\" value=\"{search}\"></label>\n\
         <button>Search</button> <span id=\"count\">{count}</span>\n</form>\n\
         <form action=\"/compare\" data-changes=\"/changes\">\n<div class=\"wide\" tabindex=\"0\"><table>\n<thead><tr><th scope=\"col\">Compare</th>\
         <th scope=\"col\">run</th><th scope=\"col\">world</th><th scope=\"col\">started (UTC)</th>\
         <th scope=\"col\">state</th><th scope=\"col\" class=\"figures\">trials</th><th scope=\"col\" class=\"figures\">records</th></tr></thead>\n\
         <tbody>\n{rows}</tbody>\n</table></div>\n<button>Compare two runs</button>\n</form>\n",
        search = text(search),
    );
    html::served_frame("Runs", &body)
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

fn run_row(entry: &Entry) -> String {
    let known = |value: &Option<String>| text(value.as_deref().unwrap_or("–"));
    let folder = text(&entry.folder);
    let state = match (&entry.damage, entry.state) {
        (Some(damage), _) => text(&format!("damaged: {damage}")),
        (None, State::Complete) => "complete".into(),
        (None, State::Partial) => "in progress, or interrupted".into(),
    };
    format!(
        "<tr><td><input type=\"checkbox\" name=\"run\" value=\"{folder}\" aria-label=\"Compare {folder}\"></td>\
         <td class=\"name\"><a href=\"/run/{link}\">{folder}</a></td><td>{world}</td><td class=\"name\">{started}</td><td>{state}</td>\
         <td class=\"figures\">{trials}</td><td class=\"figures\">{records}</td></tr>\n",
        link = encode(&entry.folder),
        world = known(&entry.world),
        started = text(
            &entry
                .started_utc
                .as_deref()
                .map_or_else(|| "–".to_owned(), to_the_second)
        ),
        trials = entry.trials,
        records = entry.records,
    )
}

/// `2026-11-21T13:45:00.25Z` as people read it.
fn to_the_second(time: &str) -> String {
    time.chars().take(19).collect::<String>().replace('T', " ")
}

/// What went wrong, in a sentence.
pub(super) fn sorry(heading: &str, why: &str) -> String {
    let body = format!(
        "<header>\n<h1>{}</h1>\n</header>\n<p>{}</p>\n<p><a href=\"/\">All runs</a></p>\n",
        text(heading),
        text(why)
    );
    html::served_frame(heading, &body)
}
