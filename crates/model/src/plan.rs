//! Which trials a run consists of, and the trait that says which come next.

use crate::Nanos;
use crate::trial::Trial;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::fmt;

/// What a value counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Durations.
    Nanoseconds,
    /// Sizes.
    Bytes,
    /// Rates.
    BitsPerSecond,
    /// Buffers and thresholds in cells.
    Cells,
    /// Buffers in packets.
    Packets,
    /// Rates of ATM connections.
    CellsPerSecond,
    /// Shares; the value is between 0 and 1.
    Share,
    /// A plain number.
    #[default]
    Number,
}

impl Unit {
    crate::named! {
        Nanoseconds "nanoseconds";
        Bytes "bytes";
        BitsPerSecond "bits_per_second";
        Cells "cells";
        Packets "packets";
        CellsPerSecond "cells_per_second";
        Share "share";
        Number "number";
    }
}

/// One level of a factor: as it was written, and as a number where it is one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Level {
    /// As the experiment file has it.
    pub label: String,
    /// As a number, in `unit`; null where it is none.
    pub value: Option<f64>,
    /// What `value` counts; null without one.
    pub unit: Option<Unit>,
}

impl Level {
    /// A level that is a name.
    pub fn named(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            value: None,
            unit: None,
        }
    }

    /// Is it the same level, however it is written? 1ms is 1000us.
    pub fn is_same(&self, other: &Level) -> bool {
        let values = self.value.is_some() && (self.value, self.unit) == (other.value, other.unit);
        values || self.label == other.label
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.label)
    }
}

/// A factor's name and its level in one trial.
pub type Factor = (String, Level);

/// The labels of these levels: the same for all repeats of a combination.
pub fn labels(factors: &[Factor]) -> Vec<String> {
    let levels = factors.iter();
    levels.map(|(_, level)| level.label.clone()).collect()
}

/// This factor's level.
pub fn level_of<'a>(levels: &'a [Factor], name: &str) -> Option<&'a Level> {
    let mut levels = levels.iter();
    levels
        .find(|(known, _)| known == name)
        .map(|(_, level)| level)
}

/// The levels of a factor among these combinations, each once: numbers by value, names in the order in which `written` has
/// them, or else as they came.
pub fn levels_of(name: &str, all: &[Vec<Factor>], written: &[(String, Vec<Level>)]) -> Vec<Level> {
    let mut levels: Vec<Level> = Vec::new();
    for level in all.iter().filter_map(|levels| level_of(levels, name)) {
        if !levels.contains(level) {
            levels.push(level.clone());
        }
    }
    let written = order_of(name, written);
    levels.sort_by(|a, b| compare_levels(a, b, written));
    levels
}

/// Level by level: numbers by value, and behind them names in the order in which `written` has them, or else by their letters.
pub fn compare_combinations(
    a: &[Factor],
    b: &[Factor],
    written: &[(String, Vec<Level>)],
) -> Ordering {
    let unequal = a.iter().zip(b).map(|((name, a), (_, b))| {
        compare_levels(a, b, order_of(name, written)).then_with(|| a.label.cmp(&b.label))
    });
    let unequal = unequal.into_iter().find(|order| order.is_ne());
    unequal.unwrap_or(a.len().cmp(&b.len()))
}

fn order_of<'a>(name: &str, written: &'a [(String, Vec<Level>)]) -> &'a [Level] {
    let written = written.iter().find(|(known, _)| known == name);
    written.map_or(&[], |(_, levels)| levels)
}

fn compare_levels(a: &Level, b: &Level, written: &[Level]) -> Ordering {
    let place = |level: &Level| written.iter().position(|known| known.label == level.label);
    // A name among numbers is behind them: by its place it would be between two of which the larger is written first.
    match (a.value, b.value) {
        (Some(a), Some(b)) if a != b => a.total_cmp(&b),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        _ => place(a).cmp(&place(b)),
    }
}

/// A combination of levels, with its probe where that tells it from others: `case fifo, streams 4, probe echo`.
pub fn levels_in_words<'a>(
    levels: impl IntoIterator<Item = &'a Factor>,
    probe: Option<&str>,
) -> String {
    let levels = levels.into_iter();
    let levels = levels.map(|(name, level)| format!("{name} {level}"));
    let probe = probe.map(|probe| format!("probe {probe}"));
    levels.chain(probe).collect::<Vec<_>>().join(", ")
}

/// A trial and its place in the design.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    /// What to carry out.
    pub trial: Trial,
    /// Each factor and its level, in the order of the design.
    pub factors: Vec<Factor>,
    /// Which repeat of this combination of levels, from 0.
    pub repeat: u32,
}

/// Trials that are still to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Remaining {
    /// How many.
    pub trials: usize,
    /// How long they take together if no reply is waited for.
    pub expected: Nanos,
}

/// Says which trials come next.
///
/// A factorial design does not look back; a search does.
pub trait Plan {
    /// What the plan is told of a trial that is over.
    type Observation: ?Sized;

    /// Trials that may be carried out now, in this order. None while none is under way: it is over.
    fn next_trials(&mut self) -> Vec<Planned>;

    /// What came of a trial.
    fn observe(&mut self, planned: &Planned, seen: &Self::Observation);

    /// What is still to come, where the plan knows.
    fn remaining(&self) -> Option<Remaining>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_among_numbers_are_behind_them() {
        let of = |label: &str| Level {
            value: label.strip_suffix('B').and_then(|it| it.parse().ok()),
            ..Level::named(label)
        };
        let written = [(
            "buffer".to_owned(),
            ["128B", "unlimited", "64B"].map(of).to_vec(),
        )];
        let mut levels = ["unlimited", "64B", "128B", "none", "1B"].map(of);
        let ordered = |levels: &mut [Level]| {
            levels.sort_by(|a, b| compare_levels(a, b, &written[0].1));
            let labels = levels.iter().map(|level| level.label.clone());
            labels.collect::<Vec<_>>()
        };
        let first = ordered(&mut levels);
        assert_eq!(first, ["1B", "64B", "128B", "none", "unlimited"]);
        levels.reverse();
        assert_eq!(ordered(&mut levels), first);
    }

    #[test]
    fn a_combination_names_its_levels_and_its_probe() {
        let levels = [("case", "fifo"), ("streams", "4")];
        let levels = levels.map(|(name, level)| (name.to_owned(), Level::named(level)));
        assert_eq!(levels_in_words(&levels, None), "case fifo, streams 4");
        assert_eq!(
            levels_in_words(&levels[..1], Some("echo")),
            "case fifo, probe echo"
        );
        assert_eq!(levels_in_words(&[], Some("echo")), "probe echo");
        assert_eq!(levels_in_words(&[], None), "");
    }
}
