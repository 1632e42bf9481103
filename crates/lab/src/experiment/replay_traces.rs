//! The files that replays name, read while their experiment is resolved: worlds get the packets and open no file.

use delaylab_model::load::{Load, LoadKind, ReplayTrace};
use delaylab_model::world::Refusal;
use delaylab_traffic::arrival::replay;
use std::collections::BTreeMap;
use std::fs;

/// What is in each file that was asked for, or why it cannot be had. All trials share it.
#[derive(Debug, Default)]
pub(super) struct ReplayTraces {
    files: BTreeMap<String, Result<ReplayTrace, String>>,
}

impl ReplayTraces {
    /// Gives each replay the packets of its file; returns what cannot be read, by the field that names it.
    pub(super) fn load(&mut self, loads: &mut [Load]) -> Vec<Refusal> {
        let mut unread = Vec::new();
        for load in loads {
            let Some(file) = load.file.as_ref().filter(|_| load.kind == LoadKind::Replay) else {
                continue;
            };
            let trace = self.files.entry(file.clone()).or_insert_with(|| read(file));
            match trace {
                Ok(trace) => load.trace = Some(trace.clone()),
                Err(why) => {
                    unread.push(Refusal::new(
                        format!("load.{}.file", load.name),
                        why.clone(),
                    ));
                }
            }
        }
        unread
    }
}

/// Only a regular file: others may have no end, and give something else when the run is resumed.
fn read(file: &str) -> Result<ReplayTrace, String> {
    let cannot_read = |error| format!("cannot read {file}: {error}");
    if !fs::metadata(file).map_err(cannot_read)?.is_file() {
        return Err(format!("{file} is not a regular file"));
    }
    let text = fs::read_to_string(file).map_err(cannot_read)?;
    replay::parse(&text).map_err(|error| format!("{file}: {error}"))
}
