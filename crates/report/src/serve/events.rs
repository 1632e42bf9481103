//! Server-sent events: that the list of runs changed, and how a run in progress goes.

use super::http;
use super::timeline::{Cells, Grid};
use crate::style::plural;
use delaylab_model::record::Record;
use delaylab_model::{MILLISECOND, Nanos};
use delaylab_store::index::{Entry, Index};
use delaylab_store::run::tail::Tail;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

/// How often one looks.
const EVERY: Duration = Duration::from_millis(500);
/// Length of a cell of the live view.
const CELL: Nanos = 100 * MILLISECOND;
/// Cells that are told at once; the page keeps no more.
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
    let mut trials = BTreeMap::new();
    loop {
        let mut fresh = Vec::new();
        let Ok(running) = tail.read(|record| fresh.push(*record)) else {
            return send(out, "finished", finished);
        };
        trials.retain(|trial, _| running.contains(trial));
        let data = told(&mut trials, &running, &fresh);
        send(out, "progress", &data.to_string())?;
        std::thread::sleep(EVERY);
    }
}

/// Of a trial under way: when it began, and how many packets it has.
type Trials = BTreeMap<u32, (Nanos, u64)>;

fn told(trials: &mut Trials, running: &[u32], fresh: &[Record]) -> serde_json::Value {
    for record in fresh {
        let (_, packets) = trials.entry(record.trial).or_insert((record.t_intended, 0));
        *packets += 1;
    }
    let name = |trial: &u32| {
        let packets = trials.get(trial).map_or(0, |(_, packets)| *packets);
        format!("trial {trial} has {}", plural(packets, "packet"))
    };
    let names: Vec<_> = running.iter().map(name).collect();
    let says = if names.is_empty() {
        "No trial is under way.".to_owned()
    } else {
        format!("Under way: {}.", names.join(", "))
    };
    json!({ "says": says, "cells": cells(trials, running, fresh) })
}

/// The new records of the last trial: several at once are not drawn over each other.
fn cells(trials: &Trials, running: &[u32], fresh: &[Record]) -> Cells {
    let shown = running.last();
    let start = shown
        .and_then(|trial| trials.get(trial))
        .map_or(0, |(start, _)| *start);
    let mut grid = Grid::new(0, CELL);
    for record in fresh.iter().filter(|record| Some(&record.trial) == shown) {
        grid.push(record.t_intended - start, record);
    }
    grid.last(CELLS)
}
