//! Server-sent events: that the list of runs changed, and how a run in progress goes.

use super::http;
use super::timeline::{Cells, Grid};
use delaylab_model::record::Record;
use delaylab_model::{MILLISECOND, Nanos};
use delaylab_store::index::{Entry, Index};
use delaylab_store::run::tail::Tail;
use delaylab_view::words::plural;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

/// How often one looks.
const EVERY: Duration = Duration::from_millis(500);
/// Length of a cell of the live view.
const CELL: Nanos = 100 * MILLISECOND;
/// Cells of a trial that are told of: its last minute. All of them each time, as a packet that is given up
/// belongs to a cell of long ago.
const CELLS: usize = 600;

/// Begins a stream of events.
fn begin(out: &mut dyn Write) -> io::Result<()> {
    http::head(out, "200 OK", "text/event-stream", "")?;
    out.flush()
}

fn send(out: &mut dyn Write, event: &str, data: &str) -> io::Result<()> {
    write!(out, "event: {event}\ndata: {data}\n\n")?;
    out.flush()
}

/// Nothing happened: whoever left is noticed.
fn still_there(out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b":\n\n")?;
    out.flush()
}

/// Says `changed` whenever the list of runs does, until nobody listens.
pub(super) fn changes(runs: &Path, out: &mut dyn Write) -> io::Result<()> {
    begin(out)?;
    let list = || -> Option<Vec<Entry>> { Index::open(runs).ok()?.list().ok() };
    let mut known = list();
    loop {
        std::thread::sleep(EVERY);
        let now = list();
        if now != known {
            known = now;
            send(out, "changed", "runs")?;
        } else {
            still_there(out)?;
        }
    }
}

/// Tells of a run in progress until it ends; then says where it is.
pub(super) fn progress(folder: &Path, finished: &str, out: &mut dyn Write) -> io::Result<()> {
    begin(out)?;
    let mut tail = Tail::new(folder);
    let mut trials = Trials::new();
    loop {
        let push = |record: &Record| {
            let new = || Under::new(record.t_intended);
            trials.entry(record.trial).or_insert_with(new).push(record);
        };
        let Ok(running) = tail.read(push) else {
            return send(out, "finished", finished);
        };
        trials.retain(|trial, _| running.contains(trial));
        let data = told(&mut trials, &running);
        send(out, "progress", &data.to_string())?;
        std::thread::sleep(EVERY);
    }
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

fn told(trials: &mut Trials, running: &[u32]) -> serde_json::Value {
    for trial in trials.values_mut() {
        trial.grid.keep_last(CELLS);
    }
    let packets = |trial: &u32| {
        let packets = trials.get(trial).map_or(0, |under| under.packets);
        format!("trial {trial}: {}", plural(packets, "packet"))
    };
    let names: Vec<_> = running.iter().map(u32::to_string).collect();
    let says = match names.as_slice() {
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
