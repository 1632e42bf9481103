//! The experiments built into delaylab. To add one, add a file in `experiments/` and a line here.

use super::diagnostic::Source;

/// An experiment of the catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Path below `experiments/`, without `.toml`. `run` accepts this path or the experiment's `name`.
    pub place: &'static str,
    /// Text of the file.
    pub text: &'static str,
}

macro_rules! entries {
    ($($place:literal)*) => {
        &[$(Entry {
            place: $place,
            text: include_str!(concat!("../../../../experiments/", $place, ".toml")),
        }),*]
    };
}

const ENTRIES: &[Entry] = entries! {
    "atm-response-time"
    "calibration"
    "class-jitter"
    "packet-size-latency"
    "switch-buffer"
    "switches-in-a-row"
    "tcp-and-forwarding"
    "wait-time-jitter"
    "examples/aqm"
    "examples/bufferbloat"
    "examples/classes"
    "examples/incast"
    "examples/l4s"
    "examples/pfc"
    "examples/resolver"
    "examples/switch-chain"
    "examples/web-response"
    "validation/efci-robustness"
    "validation/eprca-variants"
    "validation/kernel-tcp"
    "validation/kernel-tcp-loss"
    "validation/ns3-dumbbell"
    "validation/ns3-ensembles"
    "validation/pfc-headroom"
    "validation/planted-servers"
    "validation/soft-switch"
};

/// All built-in experiments.
pub const fn catalogue() -> &'static [Entry] {
    ENTRIES
}

impl Entry {
    /// The entry with this name or path.
    pub fn find(name: &str) -> Option<&'static Entry> {
        let known = |entry: &&Entry| entry.name() == name || entry.place == name;
        ENTRIES.iter().find(known)
    }

    /// The last part of the path, which is also the file's `name`.
    pub fn name(&self) -> &'static str {
        self.place.rsplit('/').next().unwrap_or(self.place)
    }

    /// The file as a source to read.
    pub fn source(&self) -> Source {
        Source {
            name: format!("{}.toml", self.place),
            text: self.text.to_owned(),
        }
    }
}
