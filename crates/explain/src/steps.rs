//! Does delay rise with size in a line or in steps (`docs/packet-size-latency.md`), in any run that has packets of several sizes?
//!
//! Packets are gathered by what they share but for their size: each combination of levels of the other
//! factors and each probe is a [`Sweep`], whatever world measured it; what was imported has no factors,
//! and is told apart by probe. A sweep is looked at there and back together and, where the reflector's
//! stamps allow for it, in each direction by itself ([`Way`]).
//!
//! | module | does |
//! |---|---|
//! | `gather` | records in, one by one; sweeps out |
//! | `way` | one number for each size, and what the detector finds in them |
//! | `words` | what was found, in sentences |

mod gather;
#[cfg(test)]
mod tests;
mod way;
mod words;

pub use gather::{Gatherer, Member};
pub use words::{candidates, line_rate};

use delaylab_model::plan::{Factor, levels_in_words};
use delaylab_stats::steps::{Detection, PerSize, Point};

/// Packets of several sizes that have all else in common.
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep {
    /// The levels that they share, in the order of the design.
    pub factors: Vec<Factor>,
    /// The probe's name; empty where it is each probe that has a size of its own.
    pub probe: String,
    /// There and back, and each direction by itself where it is known. Never empty.
    pub ways: Vec<Way>,
}

/// Which way packets went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// There and back.
    Both,
    /// To the reflector.
    Forward,
    /// From it.
    Return,
}

/// The delay of a sweep's packets one way, against their size.
#[derive(Debug, Clone, PartialEq)]
pub struct Way {
    /// Which.
    pub direction: Direction,
    /// What was measured, for people: `network` (with the time in the reflector where its stamps do not tell it), `round trip`, `one-way
    /// delay`.
    pub measure: &'static str,
    /// What stands for the delays of a size: whichever varies less from size to size.
    pub per_size: PerSize,
    /// Packets that count.
    pub packets: usize,
    /// One for each size, in order.
    pub points: Vec<Point>,
    /// What the detector found in them.
    pub detection: Detection,
    /// Which cells would have been found; `None` where steps were, or too little is known.
    pub power: Option<Power>,
}

/// The fastest line in cells that is looked for, bit/s: ATM25 (ITU-T I.432.5), above any DSL.
pub const FASTEST: f64 = 25.6e6;

/// Which cells would have been found at the sizes of a sweep and in its noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Power {
    /// Higher steps than this are found on 95 of 100 simulated paths, ns; `None` where none are.
    pub found_ns: Option<f64>,
    /// Higher steps than this are not there, ns: they would have been found, or delay would rise more
    /// with size.
    pub excluded_ns: Option<f64>,
    /// Steps this high are looked for, ns: those that make up the slope, but none lower than those of the
    /// [`FASTEST`] line.
    pub wanted_ns: f64,
}

impl Power {
    /// Are all cells that are looked for excluded?
    pub fn is_enough(&self) -> bool {
        self.excluded_ns.is_some_and(|ns| ns <= self.wanted_ns)
    }

    /// About so many times as many packets of each size would find them: noise falls with the root of
    /// their number. `None` where no number of packets would.
    pub fn times_as_many(&self) -> Option<u32> {
        let times = (self.found_ns? / self.wanted_ns).powi(2);
        Some(times.ceil().clamp(1.0, f64::from(u32::MAX)) as u32)
    }
}

/// Does delay rise in steps?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Yes.
    Steps,
    /// Not in cells: they would have been found.
    NoCells,
    /// The packets do not say.
    Undecided,
}

impl Answer {
    /// For programs.
    pub const fn key(self) -> &'static str {
        match self {
            Answer::Steps => "steps",
            Answer::NoCells => "no_cells",
            Answer::Undecided => "undecided",
        }
    }
}

impl Direction {
    /// For people and programs.
    pub const fn name(self) -> &'static str {
        match self {
            Direction::Both => "both",
            Direction::Forward => "forward",
            Direction::Return => "return",
        }
    }

    /// How many directions it is.
    pub const fn count(self) -> u32 {
        match self {
            Direction::Both => 2,
            Direction::Forward | Direction::Return => 1,
        }
    }
}

impl Sweep {
    /// Its levels and its probe, for people: `condition quiet, probe echo`.
    pub fn label(&self) -> String {
        let probe = (!self.probe.is_empty()).then_some(self.probe.as_str());
        levels_in_words(&self.factors, probe)
    }
}
