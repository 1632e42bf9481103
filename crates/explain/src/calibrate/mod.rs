//! Calibration (seed 003): what a measured path is made of, as a simulation needs to know it.
//!
//! From one run that holds trials without load and trials that overflow the bottleneck's buffer: what the hosts
//! cost a packet and a byte, the least delay as a line in size, the rate of the bottleneck, how much it
//! holds, and whether all flows wait in one queue. What the run does not show is said, with what would
//! show it.
//!
//! | module | holds |
//! |---|---|
//! | [`seen`] | what a run saw: its trials and streams, read from disk |
//! | [`mod@line`] | a constant and a slope, of the least or the median of each size |
//! | [`hosts`] | the four lines of the hosts, and their noise |
//! | [`passage`] | when each packet went in and came out, and how large it was on the wire |
//! | [`rate`] | how fast the bottleneck sends while it never rests |
//! | [`backlog`] | what stood before each packet, taken or dropped |
//! | [`buffer`] | the limit that tells the two apart |
//! | [`queue`] | whether packets wait for those of other flows |
//! | [`unknown`] | what the run cannot identify, and why |
//! | [`model`] | the path as an experiment for the world `sim` |
//! | [`overlay`] | measured and simulated distributions side by side |
//! | [`prediction`] | what a change would make of them |
//!
//! Sizes are those on the wire, framing included: it is what lines send and what the simulator's buffers
//! count.

pub mod backlog;
pub mod buffer;
pub mod hosts;
pub mod line;
pub mod model;
pub mod overlay;
pub mod passage;
pub mod prediction;
pub mod queue;
pub mod rate;
pub mod seen;
pub mod unknown;

use buffer::Buffer;
use hosts::Hosts;
use line::{Line, Statistic};
use passage::{Overflow, Passage, Ways};
use queue::Queue;
use rate::Rate;
use seen::{Seen, Trial};
use unknown::Unknown;

/// What is known of a path.
#[derive(Debug, Clone)]
pub struct Calibration {
    /// Are the two directions told apart?
    pub ways: Ways,
    /// Trials that were used: without load, and overflowing.
    pub trials: [usize; 2],
    /// Trials that were left out, because they are not what their experiment meant.
    pub flawed: usize,
    /// What the hosts cost.
    pub hosts: Hosts,
    /// Least delay of the network against size on the wire: there, or there and back where the ways are together.
    pub forward: Option<Line>,
    /// The same on the way back.
    pub back: Option<Line>,
    /// The bottleneck's rate.
    pub rate: Option<Rate>,
    /// What it holds.
    pub buffer: Option<Buffer>,
    /// Which packet is next.
    pub queue: Option<Queue>,
    /// What the run does not show.
    pub unknown: Vec<Unknown>,
}

/// Finds out what the trials show.
pub fn calibrate(seen: &Seen) -> Calibration {
    let ways = Ways::of(seen);
    let usable = || seen.trials.iter().filter(|trial| !trial.flawed);
    let unloaded: Vec<&Trial> = usable().filter(|trial| trial.is_unloaded()).collect();
    let delays = |way| line::of_trials(&unloaded, seen.framing, Statistic::Least, way);
    let (forward, back) = match ways {
        Ways::Apart => (delays(passage::forward), delays(passage::back)),
        Ways::Together => (delays(passage::both), None),
    };
    let overflows: Vec<Overflow> = usable()
        .filter(|trial| trial.overflows())
        .filter_map(|trial| Overflow::of(trial, seen.framing, ways, forward.as_ref()))
        .collect();
    let rate = Rate::of(&overflows);
    let standing = rate
        .iter()
        .flat_map(|rate| overflows.iter().map(|overflow| overflow.standing(rate)));
    let standing: Vec<_> = standing.flatten().collect();
    let found = Calibration {
        ways,
        trials: [unloaded.len(), overflows.len()],
        flawed: seen.trials.iter().filter(|trial| trial.flawed).count(),
        hosts: Hosts::of(&unloaded, seen.framing, ways, [&forward, &back]),
        buffer: Buffer::of(&standing),
        queue: rate.as_ref().and_then(|rate| Queue::of(&standing, rate)),
        forward,
        back,
        rate,
        unknown: Vec::new(),
    };
    Calibration {
        unknown: unknown::list(seen, &found),
        ..found
    }
}

impl Calibration {
    /// Slope of the way there alone, in nanoseconds a byte on the wire.
    fn slope(&self) -> Option<f64> {
        let share = match self.ways {
            Ways::Apart => 1.0,
            Ways::Together => 0.5,
        };
        Some(self.forward.as_ref()?.slope.value * share)
    }

    /// What the lines before and behind the bottleneck add to a byte each, in nanoseconds.
    fn beside(&self) -> Option<f64> {
        let rate = self.rate.as_ref()?;
        Some(((self.slope()? - rate.ns_per_byte.value) / 2.0).max(0.0))
    }
}

/// The largest packet of these.
fn largest<'a>(passages: impl Iterator<Item = &'a Passage>) -> f64 {
    passages.map(|passage| passage.wire).fold(0.0, f64::max)
}
