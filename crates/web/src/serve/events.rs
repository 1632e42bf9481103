//! Server-sent events: that the list of runs changed, and how a run in progress goes.

use super::timeline::{Cells, Grid};
use super::{Peer, Shared};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use delaylab_model::record::Record;
use delaylab_model::{MILLISECOND, Nanos, SECOND};
use delaylab_store::index::Entry;
use delaylab_store::run::tail::{Tail, TailEvent};
use delaylab_view::words::plural;
use futures_util::stream::unfold;
use serde_json::json;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::Path;
use std::time::Duration;
use tokio::time::interval;

/// How often one looks.
const EVERY: Duration = Duration::from_millis(500);
/// Length of a cell of the live view.
const CELL: Nanos = 100 * MILLISECOND;
/// Of a trial, what is told of: its last minute. All of it each time, as a packet that is given up belongs to a cell of
/// long ago.
const SHOWN: Nanos = 60 * SECOND;

/// A stream of what `next` says, asked every half second. Where that is nothing, a comment is sent: a browser that
/// left is noticed.
fn stream<S: Send + 'static>(
    peer: Peer,
    state: S,
    next: impl Fn(&Shared, S) -> (S, Option<Event>, Then) + Clone + Send + 'static,
) -> Response {
    let ticks = interval(EVERY);
    let told = unfold(Some((state, ticks)), move |going| {
        let (peer, next) = (peer.clone(), next.clone());
        async move {
            let (mut state, mut ticks) = going?;
            loop {
                ticks.tick().await;
                let next = next.clone();
                let (then, event, after) = peer.blocking(move |shared| next(shared, state)).await?;
                state = then;
                if let Some(event) = event {
                    let going = matches!(after, Then::GoesOn).then_some((state, ticks));
                    return Some((Ok::<_, Infallible>(event), going));
                }
            }
        }
    });
    Sse::new(told)
        .keep_alive(KeepAlive::new().interval(EVERY))
        .into_response()
}

/// What is behind an event.
enum Then {
    GoesOn,
    Ends,
}

fn event(name: &str, data: &str) -> Event {
    Event::default().event(name).data(data)
}

/// Says `changed` whenever the list of runs does, until nobody listens.
pub(super) fn changes(peer: Peer) -> Response {
    /// `None` where the index cannot be read.
    type List = Option<Vec<Entry>>;
    stream(peer, None::<List>, |shared, known| {
        let now: List = shared.entries().ok();
        let has_changed = known.is_some_and(|known| known != now);
        let told = has_changed.then(|| event("changed", "runs"));
        (Some(now), told, Then::GoesOn)
    })
}

/// Tells of a run in progress until it ends; then says where it is.
pub(super) fn progress(peer: Peer, folder: &Path, finished: String) -> Response {
    let state = (Tail::new(folder), Trials::new());
    stream(peer, state, move |_, (mut tail, mut trials)| {
        let push = |event: TailEvent<'_>| match event {
            TailEvent::Began(trial) => drop(trials.remove(&trial)),
            TailEvent::Record(record) => {
                let new = || Under::new(record.t_intended);
                trials.entry(record.trial).or_insert_with(new).push(record);
            }
        };
        let Ok(running) = tail.read(push) else {
            let told = event("finished", &finished);
            return ((tail, trials), Some(told), Then::Ends);
        };
        trials.retain(|trial, _| running.contains(trial));
        let data = told(&mut trials, &running, tail.is_idle());
        let told = event("progress", &data.to_string());
        ((tail, trials), Some(told), Then::GoesOn)
    })
}

/// Those under way.
type Trials = BTreeMap<u32, Under>;

/// A trial under way.
struct Under {
    /// When its first packet was due.
    start: Nanos,
    packets: u64,
    /// What came of them lately.
    grid: Grid,
}

impl Under {
    fn new(start: Nanos) -> Self {
        Self {
            start,
            packets: 0,
            grid: Grid::new(0, CELL),
        }
    }

    fn push(&mut self, record: &Record) {
        self.packets += 1;
        self.grid.push(record.t_intended - self.start, record);
    }
}

/// `is_idle`: no process writes the run any more.
fn told(trials: &mut Trials, running: &[u32], is_idle: bool) -> serde_json::Value {
    for trial in trials.values_mut() {
        trial.grid.keep_last(SHOWN);
    }
    let packets = |trial: &u32| {
        let packets = trials.get(trial).map_or(0, |under| under.packets);
        format!("trial {trial}: {}", plural(packets, "packet"))
    };
    let names: Vec<_> = running.iter().map(u32::to_string).collect();
    let says = match names.as_slice() {
        [] if is_idle => {
            "No process writes this run any more: `delaylab resume` continues it, or `delaylab merge` where it is a shard."
                .to_owned()
        }
        all if is_idle => format!(
            "No process writes this run any more: it was interrupted in trial {}, and `delaylab resume` continues it.",
            all.join(", ")
        ),
        [] => "No trial is under way.".to_owned(),
        [one] => format!("Trial {one} is under way."),
        all => format!("Trials {} are under way.", all.join(", ")),
    };
    let counts: Vec<_> = running.iter().map(packets).collect();
    // Of several at once the last: they are not drawn over each other.
    let shown = running.last().and_then(|trial| trials.get(trial));
    let cells = shown.map_or_else(Cells::default, |under| under.grid.cells());
    json!({ "says": says, "counts": counts.join(", "), "cells": cells })
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_model::method::Method;

    /// A trial of packets that were sent so far apart.
    fn under_way(packets: u64, every: Nanos) -> Trials {
        let mut under = Under::new(0);
        for seq in 0..packets {
            let due = seq as Nanos * every;
            let mut record = Record::due(2, 0, seq, Method::Udp, due);
            record.t_send = Some(due);
            under.push(&record);
        }
        Trials::from([(2, under)])
    }

    #[test]
    fn a_run_that_no_process_writes_is_not_under_way() {
        let mut trials = under_way(3, CELL);
        let goes_on = told(&mut trials, &[2], false);
        assert_eq!(goes_on["says"], "Trial 2 is under way.");
        let says = told(&mut trials, &[2], true)["says"].to_string();
        assert!(
            says.contains("interrupted in trial 2") && says.contains("delaylab resume"),
            "{says}"
        );
        assert!(
            !told(&mut trials, &[], true)["says"]
                .to_string()
                .contains("interrupted")
        );
    }

    #[test]
    fn what_is_told_is_a_minute_however_slow_the_packets() {
        for every in [CELL, SECOND, 45 * SECOND] {
            let told = told(&mut under_way(2_000, every), &[2], false);
            let times = told["cells"]["t_s"]
                .as_array()
                .map_or(&[][..], Vec::as_slice);
            let ends = [times.first(), times.last()].map(|t| t.and_then(|t| t.as_f64()));
            let [Some(first), Some(last)] = ends else {
                panic!("{told}");
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
