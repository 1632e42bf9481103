//! What happened to the host while packets were under way: gaps of the CPU sentinel, and events of its
//! clocks. Of each stretch of time the longest of each kind is kept, and how many there were.

use delaylab_model::noise::{NoiseEvent, NoiseKind};
use delaylab_model::record::{ClockEvent, Record};
use delaylab_model::{MICROSECOND, Nanos};
use serde::Serialize;
use std::collections::BTreeMap;

/// Marks at most: then each stretch is twice as long.
const MOST: usize = 2_048;

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Happening {
    /// The CPU sentinel found this long without itself.
    SentinelGap,
    /// The real-time clock was set.
    Step,
    /// The host was suspended.
    Suspend,
    /// Reading the clock took long.
    SlowClockRead,
}

impl Happening {
    /// What a record says of the clocks. A slow read stands among the noise, with its length.
    fn from_event(event: ClockEvent) -> Option<Self> {
        match event {
            ClockEvent::None | ClockEvent::SlowClockRead => None,
            ClockEvent::Step => Some(Self::Step),
            ClockEvent::Suspend => Some(Self::Suspend),
        }
    }

    /// What others did on some CPU is none: most of it no packet met.
    pub fn of_noise(kind: NoiseKind) -> Option<Self> {
        match kind {
            NoiseKind::SentinelGap => Some(Self::SentinelGap),
            NoiseKind::SlowClockRead => Some(Self::SlowClockRead),
            NoiseKind::Scheduled
            | NoiseKind::Interrupt
            | NoiseKind::Softirq
            | NoiseKind::Stopped => None,
        }
    }
}

/// Where a trial stands in the time that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// What is added to its clock.
    pub shift: Nanos,
    /// When its first packet was due.
    pub start: Nanos,
    /// When its last one was.
    pub end: Nanos,
}

/// Something that happened, once or several times in a stretch of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// What.
    pub kind: Happening,
    /// When the longest of them began, or when the packet that met it was due.
    pub t: Nanos,
    /// How long it lasted, where that is known.
    pub length: Option<Nanos>,
    /// How many.
    pub count: u64,
}

impl Mark {
    /// Of what a record says of the clocks; it was due then.
    pub fn from_record(record: &Record, t: Nanos) -> Option<Self> {
        Some(Self {
            kind: Happening::from_event(record.clock_event)?,
            t,
            length: None,
            count: 1,
        })
    }

    /// Of noise in a trial that stands there. Before its first packet and after its last nothing is marked: there other
    /// trials stand.
    pub fn from_noise(event: &NoiseEvent, trial: Place) -> Option<Self> {
        let t = event.start.saturating_add(trial.shift);
        let mark = Self {
            kind: Happening::of_noise(event.kind)?,
            t,
            length: Some(event.length),
            count: 1,
        };
        (trial.start..=trial.end).contains(&t).then_some(mark)
    }
}

/// Marks over time. The longest of each stretch are never lost, nor is their number.
#[derive(Debug, Clone, PartialEq)]
pub struct Marks {
    width: Nanos,
    kept: BTreeMap<(Nanos, Happening), Mark>,
}

impl Default for Marks {
    fn default() -> Self {
        Self::of_width(MICROSECOND)
    }
}

impl Marks {
    /// One of each kind in each stretch so long, in nanoseconds.
    pub fn of_width(width: Nanos) -> Self {
        Self {
            width: width.max(1),
            kept: BTreeMap::new(),
        }
    }

    /// Adds a mark, in order of time.
    pub fn push(&mut self, mark: Mark) {
        self.add(mark);
        while self.kept.len() > MOST {
            self.width = self.width.saturating_mul(2);
            for (_, mark) in std::mem::take(&mut self.kept) {
                self.add(mark);
            }
        }
    }

    fn add(&mut self, mark: Mark) {
        let place = (mark.t.div_euclid(self.width), mark.kind);
        let Some(there) = self.kept.get_mut(&place) else {
            self.kept.insert(place, mark);
            return;
        };
        let count = there.count + mark.count;
        if mark.length > there.length {
            *there = mark;
        }
        there.count = count;
    }

    /// In order of time.
    pub fn iter(&self) -> impl Iterator<Item = &Mark> {
        self.kept.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        // More marks than are kept in half of the cases.
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn the_longest_and_the_number_are_kept(
            gaps in prop::collection::vec((0..10_000_000_000_i64, 1..1_000_000_i64), 1..2 * MOST),
        ) {
            let mut marks = Marks::default();
            for &(t, length) in &gaps {
                marks.push(Mark { kind: Happening::SentinelGap, t, length: Some(length), count: 1 });
            }
            prop_assert!(marks.iter().count() <= MOST);
            prop_assert_eq!(marks.iter().map(|mark| mark.count).sum::<u64>(), gaps.len() as u64);
            let longest = gaps.iter().map(|(_, length)| Some(*length)).max();
            prop_assert_eq!(marks.iter().map(|mark| mark.length).max(), longest);
        }
    }
}
