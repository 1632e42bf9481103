//! Reads the trace files of replay loads while the experiment is resolved. Worlds get the packets and open no file.

use delaylab_model::load::{Load, LoadKind, ReplayTrace};
use delaylab_model::refusal::Refusal;
use delaylab_traffic::arrival::replay;
use std::collections::BTreeMap;
use std::fs;

/// Each trace file, read once for all trials: its packets, or why it cannot be read.
#[derive(Debug, Default)]
pub(super) struct ReplayTraces {
    files: BTreeMap<String, Result<ReplayTrace, String>>,
}

impl ReplayTraces {
    /// Sets the packets of each replay load. Returns a refusal of `load.NAME.file` for each file that cannot be read.
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

/// Reads a regular file only. Others (pipes, devices) may never end, or differ when the run is resumed.
fn read(file: &str) -> Result<ReplayTrace, String> {
    let cannot_read = |error| format!("cannot read {file}: {error}");
    if !fs::metadata(file).map_err(cannot_read)?.is_file() {
        return Err(format!("{file} is not a regular file"));
    }
    let text = fs::read_to_string(file).map_err(cannot_read)?;
    replay::parse(&text).map_err(|error| format!("{file}: {error}"))
}
