//! What a format is: its name, how a file of it is recognised, and what makes records of the file.

use super::{ImportError, Imported};
use super::{Input, Options};
use delaylab_model::Nanos;
use std::fmt;

/// A format that can be read. Each file of this folder that reads one has a `FORMAT`, which
/// `FORMATS` of the folder lists.
pub struct Format {
    /// Its name in messages; as one word in flags.
    pub name: &'static str,
    /// A command that makes such a file.
    pub command: &'static str,
    /// What stands in such a file, for whoever has one that is not read: a line of it, or a key.
    pub looks: &'static str,
    /// Words that such files have and others seldom: they tell to which format a file that none
    /// recognises is nearest.
    pub signs: &'static [&'static str],
    /// How its tool makes its summary.
    pub rules: Rules,
    /// Is this the beginning of a file of this format?
    pub(super) is: fn(&[u8]) -> bool,
    /// What the file holds.
    pub(super) read: fn(Input<'_>, &Options) -> Result<Imported, ImportError>,
}

/// How a tool makes its summary, where tools differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// Its standard deviation is by n; else by n − 1.
    pub deviation_by_n: bool,
    /// Its records are its packets; else samples of something, which its counts are not of.
    pub counts_records: bool,
    /// Its files have copies of replies, and not only how many there were.
    pub copies_in_records: bool,
    /// How far its delays may be from those of the times that it prints, because it has them from elsewhere.
    pub slack: Nanos,
    /// Its files have no end of their own: what is missing there leaves no trace.
    pub open_ended: bool,
    /// Its times are of the interface, not of a program.
    pub at_interface: bool,
}

impl Rules {
    /// Of most tools: by n − 1, packets, in a program.
    pub const USUAL: Rules = Rules {
        deviation_by_n: false,
        counts_records: true,
        copies_in_records: true,
        slack: 0,
        open_ended: false,
        at_interface: false,
    };
}

impl Format {
    /// The name as one word, for flags and names of runs.
    pub fn word(&self) -> String {
        let words = self.name.split(|c: char| !c.is_ascii_alphanumeric());
        let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
        words.join("-").to_ascii_lowercase()
    }

    /// The format of this name or word.
    pub fn named(name: &str) -> Option<&'static Format> {
        Self::all().find(|format| format.name == name || format.word() == name)
    }

    /// Every format that can be read.
    pub fn all() -> impl Iterator<Item = &'static Format> {
        super::FORMATS.iter().copied()
    }

    /// The format whose words a file has most of.
    pub(super) fn nearest(head: &[u8]) -> Option<&'static Format> {
        let head = String::from_utf8_lossy(head).to_lowercase();
        let found = |format: &Format| {
            let signs = format.signs.iter();
            signs
                .filter(|sign| head.contains(&sign.to_lowercase()))
                .count()
        };
        let all = Self::all().map(|format| (found(format), format));
        // Of several with as many, the first.
        let best = all.reduce(|best, next| if next.0 > best.0 { next } else { best });
        best.filter(|(count, _)| *count > 0)
            .map(|(_, format)| format)
    }
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Format {}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name)
    }
}
