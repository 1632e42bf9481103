//! The experiments that come with delaylab. A new one is a file in `experiments/` and a line here.

use super::diagnostic::Source;

/// An experiment of the catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// By which `run` knows it: the file's name and its `name`.
    pub name: &'static str,
    /// The file.
    pub text: &'static str,
}

macro_rules! entries {
    ($($name:literal)*) => {
        &[$(Entry {
            name: $name,
            text: include_str!(concat!("../../../../experiments/", $name, ".toml")),
        }),*]
    };
}

const ENTRIES: &[Entry] = entries! {
    "packet-size-latency"
    "wait-time-jitter"
};

/// All of them, by name.
pub const fn catalogue() -> &'static [Entry] {
    ENTRIES
}

impl Entry {
    /// The entry of this name.
    pub fn find(name: &str) -> Option<&'static Entry> {
        ENTRIES.iter().find(|entry| entry.name == name)
    }

    /// To be read.
    pub fn source(&self) -> Source {
        Source {
            name: format!("{}.toml", self.name),
            text: self.text.to_owned(),
        }
    }
}
