//! Server-sent events: that the list of runs changed, and how a run in progress goes.

use super::query::encode;
use super::timeline::{Cells, Grid};
use super::{Peer, Shared};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use delaylab_model::method::Method;
use delaylab_model::record::Record;
use delaylab_model::{MILLISECOND, Nanos, SECOND};
use delaylab_store::killed::{Remedy, remedy};
use delaylab_store::run::tail::{Tail, TailEvent};
use delaylab_view::run::{ShownDelay, Ways};
use delaylab_view::words::plural;
use futures_util::stream::unfold;
use http::{HeaderName, HeaderValue};
use serde_json::json;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fs;
use std::io::{self, ErrorKind};
use std::iter::once;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::{MissedTickBehavior, interval};

/// How often one looks.
pub(super) const EVERY: Duration = Duration::from_millis(500);
/// Length of a cell of the live view.
const CELL: Nanos = 100 * MILLISECOND;
/// Of a trial, what is shown: its last minute. All of it each time, as a packet that is given up belongs to a cell of
/// long ago.
const SHOWN: Nanos = 60 * SECOND;

/// A stream of what `next` says, asked every half second. Where that is nothing, a comment is sent: a browser that
/// left is noticed.
fn stream<S: Send + 'static>(
    peer: Peer,
    state: S,
    next: impl Fn(&Shared, S) -> (S, Option<Event>, Then) + Clone + Send + 'static,
) -> Response {
    let mut ticks = interval(EVERY);
    // After a look that took long, or a reader that did not read, there is a pause as ever.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let events = unfold(Some((state, ticks)), move |going| {
        let (peer, next) = (peer.clone(), next.clone());
        async move {
            let (mut state, mut ticks) = going?;
            loop {
                ticks.tick().await;
                let next = next.clone();
                let (then, event, after) = peer.blocking(move |shared| next(shared, state)).await?;
                state = then;
                if let Some(event) = event {
                    let going = matches!(after, Then::Continues).then_some((state, ticks));
                    return Some((Ok::<_, Infallible>(event), going));
                }
            }
        }
    });
    let events = Sse::new(events).keep_alive(KeepAlive::new().interval(EVERY));
    ([UNBUFFERED], events).into_response()
}

/// A proxy such as nginx hands each event on at once.
const UNBUFFERED: (HeaderName, HeaderValue) = (
    HeaderName::from_static("x-accel-buffering"),
    HeaderValue::from_static("no"),
);

/// What is behind an event.
enum Then {
    Continues,
    Ends,
}

fn event(name: &str, data: &str) -> Event {
    Event::default().event(name).data(data)
}

/// Says `changed` whenever the list of runs is another than the one before, first of all than the one of this name, as
/// long as the page listens.
pub(super) fn changes(peer: Peer, shown: Option<u64>) -> Response {
    stream(peer, shown, |shared, known| {
        let (now, is_other) = look(known, shared.list_name().ok());
        let changed = is_other.then(|| event("changed", "runs"));
        (now, changed, Then::Continues)
    })
}

/// Which list is known now, and whether it is another than before. One that cannot be read says nothing.
fn look(known: Option<u64>, now: Option<u64>) -> (Option<u64>, bool) {
    let is_other = known.zip(now).is_some_and(|(known, now)| known != now);
    (now.or(known), is_other)
}

/// Which run is followed.
#[derive(Clone)]
pub(super) struct InProgress {
    folder: PathBuf,
    /// Its device and inode, which it keeps when it gets its name; `None` where it has that already.
    id: Option<(u64, u64)>,
    /// Its name when it is complete. Where another run has that, a number is behind it.
    finished: String,
}

impl InProgress {
    /// The run in this folder of `runs`, and what it is called when it is complete.
    pub(super) fn new(runs: &Path, folder: &str, finished: &str) -> Self {
        let folder = runs.join(folder);
        Self {
            id: id(&folder).ok(),
            folder,
            finished: finished.to_owned(),
        }
    }

    /// That it has its name, or was removed. `None` as long as it is where it was, or that cannot be read.
    fn end(&self, shared: &Shared) -> Option<Event> {
        let is_gone = id(&self.folder).is_err_and(|error| error.kind() == ErrorKind::NotFound);
        let entries = is_gone.then(|| shared.entries().ok()).flatten()?;
        let names = entries.iter().map(|entry| entry.folder.as_str());
        Some(match self.name_now(&shared.runs, names) {
            Some(name) => event("finished", &format!("/run/{}", encode(name))),
            None => gone(),
        })
    }

    fn name_now<'a>(
        &self,
        runs: &Path,
        mut names: impl Iterator<Item = &'a str>,
    ) -> Option<&'a str> {
        let is_it = |name: &str| match self.id {
            Some(own) => id(&runs.join(name)).is_ok_and(|id| id == own),
            None => name == self.finished,
        };
        names.find(|name| name.starts_with(&self.finished) && is_it(name))
    }
}

fn gone() -> Event {
    event("removed", "This run was removed.")
}

/// Says it to a page of a run in progress that is not there any more.
pub(super) fn removed(peer: Peer) -> Response {
    stream(peer, (), |_, ()| ((), Some(gone()), Then::Ends))
}

/// The device and inode of a folder.
fn id(folder: &Path) -> io::Result<(u64, u64)> {
    let facts = fs::symlink_metadata(folder)?;
    Ok((facts.dev(), facts.ino()))
}

/// Tells of a run in progress until it ends; then says where it is.
pub(super) fn progress(peer: Peer, run: InProgress) -> Response {
    let state = (Tail::new(&run.folder), Trials::new());
    stream(peer, state, move |shared, (mut tail, mut trials)| {
        let push = |event: TailEvent<'_>| match event {
            TailEvent::Began(trial) => trials.retain(|(of, _), _| *of != trial),
            TailEvent::Record(record) => {
                let under = trials.entry((record.trial, record.probe));
                under.or_insert_with(|| Under::new(record)).push(record);
            }
        };
        let Ok(running) = tail.read(push) else {
            return match run.end(shared) {
                Some(end) => ((tail, trials), Some(end), Then::Ends),
                // A file cannot be read for now.
                None => ((tail, trials), None, Then::Continues),
            };
        };
        trials.retain(|(trial, _), _| running.contains(trial));
        let left = tail.is_idle().then(|| remedy(&run.folder));
        let data = state_of(&mut trials, &running, left);
        let state = event("progress", &data.to_string());
        ((tail, trials), Some(state), Then::Continues)
    })
}

/// Those under way, by trial and probe: round trips of two probes have no mean.
type Trials = BTreeMap<(u32, u16), Under>;

/// A probe of a trial under way.
struct Under {
    method: Method,
    /// When its first packet was due.
    start: Nanos,
    packets: u64,
    /// What came of them lately.
    grid: Grid,
}

impl Under {
    fn new(first: &Record) -> Self {
        let delay = ShownDelay::of(Ways::new(once(first.method.is_one_way())));
        Self {
            method: first.method,
            start: first.t_intended,
            packets: 0,
            grid: Grid::new(delay, 0, CELL),
        }
    }

    fn push(&mut self, record: &Record) {
        self.packets += 1;
        self.grid.push(record.t_intended - self.start, record);
    }
}

fn of_trial(trials: &Trials, trial: u32) -> impl Iterator<Item = (u16, &Under)> {
    let probes = trials.range((trial, 0)..=(trial, u16::MAX));
    probes.map(|(&(_, probe), under)| (probe, under))
}

/// `trial 3: 200 packets of probe 0 (icmp), 10 packets of probe 1 (http)`.
fn packets(trials: &Trials, trial: u32) -> String {
    let several = of_trial(trials, trial).nth(1).is_some();
    let counts = of_trial(trials, trial).map(|(probe, under)| {
        let packets = plural(under.packets, "packet");
        match several {
            true => format!("{packets} of probe {probe} ({})", under.method),
            false => packets,
        }
    });
    let counts: Vec<_> = counts.collect();
    let counts = match counts.is_empty() {
        true => plural(0, "packet"),
        false => counts.join(", "),
    };
    format!("trial {trial}: {counts}")
}

/// How a run in progress goes, for its page: in words, in counts, and its last minute. `left`: what there is to do with it, where no
/// process writes it any more.
fn state_of(trials: &mut Trials, running: &[u32], left: Option<Remedy>) -> serde_json::Value {
    for trial in trials.values_mut() {
        trial.grid.keep_last(SHOWN);
    }
    let names: Vec<_> = running.iter().map(u32::to_string).collect();
    let says = match (left, names.as_slice()) {
        (Some(remedy), names) => interrupted(names, remedy),
        (None, []) => "No trial is under way.".to_owned(),
        (None, [one]) => format!("Trial {one} is under way."),
        (None, all) => format!("Trials {} are under way.", all.join(", ")),
    };
    let counts: Vec<_> = running
        .iter()
        .map(|trial| packets(trials, *trial))
        .collect();
    // Of several at once the last, and its first probe: they are not drawn over each other.
    let shown = running
        .last()
        .and_then(|trial| of_trial(trials, *trial).next());
    let shown = shown.map(|(_, under)| under);
    let cells = shown.map_or_else(Cells::default, |under| under.grid.cells());
    json!({ "says": says, "counts": counts.join(", "), "cells": cells })
}

/// That no process writes a run any more, with the trials that were under way, and what to do with it.
fn interrupted(trials: &[String], remedy: Remedy) -> String {
    let remedy = match (remedy, trials) {
        (Remedy::Continue, []) => {
            "`delaylab resume` continues it, or `delaylab merge` where it is a shard"
        }
        (Remedy::Continue, _) => "`delaylab resume` continues it",
        (Remedy::EndAsItStands, _) => "`delaylab resume` makes a complete run of what is recorded",
        (Remedy::Remove, _) => "no packet of it is recorded, and its folder can be removed",
    };
    match trials {
        [] => format!("No process writes this run any more: {remedy}."),
        all => format!(
            "No process writes this run any more: it was interrupted in trial {}, and {remedy}.",
            all.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_list_that_cannot_be_read_has_not_changed() {
        for (known, now, expected) in [
            (None, Some(1), (Some(1), false)),
            (Some(1), Some(1), (Some(1), false)),
            (Some(1), Some(2), (Some(2), true)),
            (Some(1), None, (Some(1), false)),
            (None, None, (None, false)),
        ] {
            assert_eq!(look(known, now), expected, "{known:?} {now:?}");
        }
    }

    #[test]
    fn a_run_is_found_by_its_folder_where_its_name_was_taken() {
        let runs = tempfile::tempdir().unwrap();
        let [partial, whole, second] = ["a.partial", "a", "a-2"].map(|name| runs.path().join(name));
        fs::create_dir(&partial).unwrap();
        let run = InProgress::new(runs.path(), "a.partial", "a");
        fs::create_dir(&whole).unwrap();
        fs::rename(&partial, &second).unwrap();
        let now = |run: &InProgress, names: [&'static str; 2]| {
            run.name_now(runs.path(), names.into_iter())
        };
        assert_eq!(now(&run, ["a", "a-2"]), Some("a-2"));
        assert_eq!(now(&run, ["a", "b"]), None, "it was removed");
        let ended_before = InProgress::new(runs.path(), "a.partial", "a");
        assert_eq!(now(&ended_before, ["a-2", "a"]), Some("a"));
    }

    /// Packets of a probe that were sent so far apart, each with this round trip.
    fn probe(probe: u16, packets: u64, every: Nanos, round_trip: Nanos) -> Under {
        let record = |seq| {
            let due = seq as Nanos * every;
            let mut record = Record::due(2, probe, seq, Method::Udp, due);
            (record.t_send, record.t_recv) = (Some(due), Some(due + round_trip));
            record
        };
        let mut under = Under::new(&record(0));
        (0..packets).for_each(|seq| under.push(&record(seq)));
        under
    }

    /// A trial of one.
    fn under_way(packets: u64, every: Nanos) -> Trials {
        Trials::from([((2, 0), probe(0, packets, every, 1_000))])
    }

    #[test]
    fn the_round_trips_of_two_probes_are_not_mixed() {
        let mut trials = under_way(3, CELL);
        let alone = state_of(&mut trials, &[2], None);
        assert_eq!(alone["counts"], "trial 2: 3 packets");
        trials.insert((2, 1), probe(1, 5, CELL, 200 * MILLISECOND));
        let both = state_of(&mut trials, &[2], None);
        assert_eq!(both["cells"], alone["cells"]);
        assert_eq!(
            both["counts"],
            "trial 2: 3 packets of probe 0 (udp), 5 packets of probe 1 (udp)"
        );
        assert_eq!(
            state_of(&mut trials, &[3], None)["counts"],
            "trial 3: 0 packets"
        );
    }

    #[test]
    fn a_run_that_no_process_writes_is_not_under_way() {
        let mut trials = under_way(3, CELL);
        let goes_on = state_of(&mut trials, &[2], None);
        assert_eq!(goes_on["says"], "Trial 2 is under way.");
        let begins = "No process writes this run any more: ";
        let (none, one): (&[u32], &[u32]) = (&[], &[2]);
        for (running, left, says) in [
            (
                one,
                Remedy::Continue,
                "it was interrupted in trial 2, and `delaylab resume` continues it.",
            ),
            (
                none,
                Remedy::Continue,
                "`delaylab resume` continues it, or `delaylab merge` where it is a shard.",
            ),
            (
                one,
                Remedy::EndAsItStands,
                "it was interrupted in trial 2, and `delaylab resume` makes a complete run of what is recorded.",
            ),
            (
                none,
                Remedy::Remove,
                "no packet of it is recorded, and its folder can be removed.",
            ),
        ] {
            let state = state_of(&mut trials, running, Some(left));
            assert_eq!(state["says"], format!("{begins}{says}"));
        }
    }

    #[test]
    fn a_minute_is_shown_however_slow_the_packets() {
        for every in [CELL, SECOND, 45 * SECOND] {
            let state = state_of(&mut under_way(2_000, every), &[2], None);
            let times = state["cells"]["t_s"]
                .as_array()
                .map_or(&[][..], Vec::as_slice);
            let ends = [times.first(), times.last()].map(|t| t.and_then(|t| t.as_f64()));
            let [Some(first), Some(last)] = ends else {
                panic!("{state}");
            };
            assert!(last - first <= 60.0, "{first} to {last}");
            let expected = (60 * SECOND / every).max(1) as usize;
            assert!(
                (expected..=expected + 1).contains(&times.len()),
                "{}",
                times.len()
            );
        }
    }
}
