//! The pages that only the server has: the list of runs, and what went wrong.

use super::list_name;
use super::query::encode;
use crate::html::served_frame;
use delaylab_lab::finding::Verdict;
use delaylab_model::units::{format_duration, format_part};
use delaylab_model::words::plural;
use delaylab_store::index::{Entry, Partial};
use delaylab_view::words::{UNKNOWN, date_and_time, or_unknown};
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
        form action="/compare" data-changes={ "/changes?list=" (list_name(entries)) } {
            div class="wide" tabindex="0" {
                table class="sortable runs" {
                    thead {
                        tr {
                            th scope="col" { "Compare" }
                            th scope="col" { "run" }
                            th scope="col" class="spare" { "target" }
                            th scope="col" { "findings" }
                            @for head in ["lost", "p50", "p99"] { th scope="col" class="figures" { (head) } }
                            th scope="col" class="figures spare" { "packets" }
                            @for head in ["started (UTC)", "state"] { th scope="col" class="spare" { (head) } }
                        }
                    }
                    tbody { @for entry in found { (run_row(entry)) } }
                }
            }
            p class="meta" {
                "Loss: of the probe and combination of levels that lost the largest share. p50 and p99: of the response in \
                 the slowest trial, the one with the largest p99, or median where too few packets were answered for a \
                 p99. Packets and loss: without warm-up; simulations that repeat another one exactly count once."
            }
            button type="submit" { "Compare two runs" }
        }
    };
    served_frame("Runs", body)
}

/// What a search looks at.
fn shown(entry: &Entry) -> String {
    let known = |value: &Option<String>| value.clone().unwrap_or_default();
    let came = &entry.overview;
    let words = [
        entry.folder.clone(),
        known(&entry.name),
        known(&entry.world),
        known(&entry.started_utc),
        entry.state().name().to_owned(),
        known(&came.title),
        known(&came.target),
        verdicts(entry),
        state(entry),
        lost(entry),
        time(came.p50),
        time(came.p99),
        came.sent.to_string(),
        entry
            .started_utc
            .as_deref()
            .map(date_and_time)
            .unwrap_or_default(),
    ];
    words.join(" ").to_lowercase()
}

/// `2 true, 1 undecided`; words where it has none. What is not judged yet, or cannot be read, is not known.
fn verdicts(entry: &Entry) -> String {
    let counts = &entry.overview.verdicts;
    let words = Verdict::ALL.into_iter().filter_map(|verdict| {
        let count = counts.get(&verdict.id())?;
        Some(format!("{count} {verdict}"))
    });
    match words.collect::<Vec<_>>().join(", ") {
        words if !words.is_empty() => words,
        _ if is_unusual(entry) => UNKNOWN.to_owned(),
        _ => "no findings".to_owned(),
    }
}

fn state(entry: &Entry) -> String {
    match (&entry.damage, entry.partial) {
        (Some(denied), _) if entry.is_denied() => format!("not readable: {denied}"),
        (Some(damage), _) => format!("damaged: {damage}"),
        (None, None) => match entry.overview.invalid {
            0 => "complete".to_owned(),
            some => format!(
                "complete; {some} of {} invalid",
                plural(entry.trials, "trial")
            ),
        },
        (None, Some(Partial::InProgress)) => "in progress".to_owned(),
        (None, Some(Partial::Interrupted)) => "interrupted".to_owned(),
        (None, Some(Partial::Shard)) => "shard: not merged yet".to_owned(),
    }
}

/// Is it not complete, or not whole?
fn is_unusual(entry: &Entry) -> bool {
    entry.damage.is_some() || entry.partial.is_some()
}

/// Is there something to be known of it that is said where there is no room for its state?
fn is_to_be_said(entry: &Entry) -> bool {
    is_unusual(entry) || entry.overview.invalid > 0
}

fn lost(entry: &Entry) -> String {
    let most = entry.overview.most_lost;
    or_unknown(most, |[lost, sent]| format_part(lost, sent))
}

fn time(ns: Option<i64>) -> String {
    or_unknown(ns, format_duration)
}

fn run_row(entry: &Entry) -> Markup {
    let folder = &entry.folder;
    let came = &entry.overview;
    let state = state(entry);
    let world = entry.world.as_deref().unwrap_or(UNKNOWN);
    let started = entry.started_utc.as_deref().map(date_and_time);
    html! {
        tr {
            td { input type="checkbox" name="run" value=(folder) aria-label={ "Compare " (folder) }; }
            td {
                @if let Some(title) = &came.title { (title) br; }
                a href={ "/run/" (encode(folder)) } { (folder) }
                // Where there is no room for its column.
                @if is_to_be_said(entry) { span class="narrow" { br; (state) } }
            }
            td class="spare" { (came.target.as_deref().unwrap_or(world)) }
            td { (verdicts(entry)) }
            td class="figures" { (lost(entry)) }
            td class="figures" { (time(came.p50)) }
            td class="figures" { (time(came.p99)) }
            td class="figures spare" { (came.sent) }
            td class="name spare" { (started.as_deref().unwrap_or(UNKNOWN)) }
            td class="spare" { (state) }
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_store::overview::Overview;

    fn entry() -> Entry {
        Entry {
            folder: "lossy-20261127T145156Z.partial".to_owned(),
            name: Some("lossy".to_owned()),
            world: Some("live".to_owned()),
            started_utc: Some("2026-11-27T14:51:56Z".to_owned()),
            partial: Some(Partial::Interrupted),
            trials: 2,
            records: 1_000,
            damage: None,
            overview: Overview {
                sent: 1_234,
                most_lost: Some([54, 100]),
                p99: Some(1_500_000),
                ..Overview::default()
            },
        }
    }

    #[test]
    fn whatever_a_row_shows_is_found() {
        let found = |search: &str| runs(&[entry()], search).contains("1 of 1 runs");
        for search in ["interrupted", "54", "1234", "14:51:56", UNKNOWN, "LIVE"] {
            assert!(found(search), "{search}");
        }
        assert!(found(&format_duration(1_500_000)));
        assert!(!found("complete") && !found("54.1"));
    }

    #[test]
    fn a_list_is_another_one_where_it_shows_something_else() {
        let name = |change: fn(&mut Entry)| {
            let mut entry = entry();
            change(&mut entry);
            list_name(&[entry])
        };
        let before = name(|_| {});
        let unseen: [fn(&mut Entry); 2] = [|entry| entry.records += 1, |entry| entry.trials += 1];
        assert!(unseen.into_iter().all(|change| name(change) == before));
        let seen: [fn(&mut Entry); 3] = [
            |entry| entry.overview.sent += 1,
            |entry| entry.partial = None,
            |entry| entry.folder.push('2'),
        ];
        assert!(seen.into_iter().all(|change| name(change) != before));
        assert_ne!(list_name(&[entry(), entry()]), before);
    }

    #[test]
    fn a_run_has_no_findings_once_it_is_complete() {
        let says = |partial, damage: Option<&str>| {
            verdicts(&Entry {
                partial,
                damage: damage.map(str::to_owned),
                ..entry()
            })
        };
        assert_eq!(says(None, None), "no findings");
        assert_eq!(says(Some(Partial::InProgress), None), UNKNOWN);
        assert_eq!(says(None, Some("findings.json is cut off")), UNKNOWN);
    }
}
