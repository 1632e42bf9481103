//! Reads the trace files of replay loads while the experiment is resolved. Worlds get the packets and open no file.

use delaylab_model::load::{Load, LoadKind, ReplayTrace};
use delaylab_model::refusal::Refusal;
use delaylab_model::units::format_hexadecimal;
use delaylab_traffic::arrival::replay;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;

/// Each trace file, read once for all trials: its packets, or why it cannot be read.
#[derive(Debug, Default)]
pub(super) struct ReplayTraces {
    files: BTreeMap<String, Result<Trace, String>>,
    recorded: BTreeMap<String, String>,
}

#[derive(Debug)]
struct Trace {
    packets: ReplayTrace,
    /// Of the file, as `sha256sum` has it.
    sha256: String,
}

impl ReplayTraces {
    /// Of an experiment that was resolved when the files had these digests: other ones would be another experiment.
    pub(super) fn recorded(digests: &BTreeMap<String, String>) -> Self {
        Self {
            files: BTreeMap::new(),
            recorded: digests.clone(),
        }
    }

    /// Sets the packets of each replay load. Returns a refusal of `load.NAME.file` for each file that cannot be read.
    pub(super) fn load(&mut self, loads: &mut [Load]) -> Vec<Refusal> {
        let mut unread = Vec::new();
        for load in loads {
            let Some(file) = load.file.as_ref().filter(|_| load.kind == LoadKind::Replay) else {
                continue;
            };
            let recorded = self.recorded.get(file);
            let trace = self.files.entry(file.clone());
            match trace.or_insert_with(|| read(file, recorded)) {
                Ok(trace) => load.trace = Some(trace.packets.clone()),
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

    /// The digest of each file that was read.
    pub(super) fn into_digests(self) -> BTreeMap<String, String> {
        let files = self.files.into_iter();
        files
            .filter_map(|(file, trace)| Some((file, trace.ok()?.sha256)))
            .collect()
    }
}

/// Reads a regular file only. Others (pipes, devices) may never end, or differ when the run is resumed.
fn read(file: &str, recorded: Option<&String>) -> Result<Trace, String> {
    let cannot_read = |error| format!("cannot read {file}: {error}");
    if !fs::metadata(file).map_err(cannot_read)?.is_file() {
        return Err(format!("{file} is not a regular file"));
    }
    let text = fs::read_to_string(file).map_err(cannot_read)?;
    let sha256 = format_hexadecimal(&Sha256::digest(&text));
    if let Some(recorded) = recorded.filter(|recorded| **recorded != sha256) {
        return Err(format!(
            "{file} is not the file that this run began with: its SHA-256 is {sha256}, and was {recorded}"
        ));
    }
    let packets = replay::parse(&text).map_err(|error| format!("{file}: {error}"))?;
    Ok(Trace { packets, sha256 })
}
