//! Flow control between neighbours: PAUSE (IEEE 802.3 Annex 31B) and priority flow control (PFC, IEEE 802.1Qbb).
//!
//! ```text
//!   upstream port ──── frames ────► input buffer of a priority ──── next hop
//!   stops the priority  ◄─ XOFF ──  holds more than `xoff`; what still comes goes into the headroom
//!   goes on             ◄─ XON ───  holds `xon` or less
//! ```
//!
//! [`Guards`] count what each input port holds of each priority (PAUSE has one for all) and say when the other end of the
//! link is to be told. How long frames take to get there is the driver's. A pause ends by itself after its quanta, so it is asked
//! for again while it is needed.
//!
//! [`Link::headroom`] is what comes after `xoff` was passed. The longest time from there to the stop is: a frame that the
//! link back has just begun, the PFC frame behind it, propagation, the response of the other end; before that, what was on its way
//! (propagation, and the time through the switch, as a frame counts once it is in the queue). A frame that the other end has
//! just begun is finished, and the frame that passes `xoff` lies beyond it itself: two of the largest frames more.
//!
//! References: IEEE 802.1Q-2018, 36.1.3 and Annex N (IEEE 802.1Qbb-2011, Annex O: delay values); IEEE 802.3-2018, Annex
//! 31B.3.7, the most quanta between a PAUSE frame's coming and the stop.
//!
//! Validation: in crate `sim`: what is held reaches `xoff` and the headroom to the byte and nothing is lost, with one byte less a
//! frame is; never more for random rates, lengths, frames and traffic.

use crate::item::{Backlog, Item};
use delaylab_model::path::FlowControlKind;
use delaylab_model::{PICOS_PER_SECOND, Picos};

/// Priorities of IEEE 802.1Q.
pub const PRIORITIES: usize = 8;
/// Priorities as bits.
pub type Set = u8;

/// A PAUSE or PFC frame on the wire: 64 bytes, preamble, start of frame and gap.
pub const FRAME: u32 = 64 + 8 + 12;
/// A quantum of pause time.
const QUANTUM_BITS: u64 = 512;

/// Of a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// What a pause stops.
    pub kind: FlowControlKind,
    /// Priorities that lose nothing.
    pub lossless: Set,
    /// Bytes that an input port holds of a priority before it asks for a pause.
    pub xoff: u64,
    /// And when it ends it. None: two of the largest frames less.
    pub xon: Option<u64>,
    /// Bytes beyond `xoff`. None: what the link needs.
    pub headroom: Option<u64>,
    /// Pause time of a frame.
    pub quanta: u16,
    /// Of the other end. None: what the standard allows.
    pub response: Option<Picos>,
}

impl Parameters {
    /// The bit of what is counted and stopped together with this class queue.
    #[inline]
    const fn group(&self, queue: u8) -> u8 {
        match self.kind {
            FlowControlKind::Pause => 0,
            FlowControlKind::Pfc => queue % PRIORITIES as u8,
        }
    }

    /// The class queues that a set of groups stops.
    pub const fn queues(&self, groups: Set) -> Set {
        match self.kind {
            FlowControlKind::Pause if groups != 0 => Set::MAX,
            _ => groups,
        }
    }
}

/// A link to an input port, and what it carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// Bits a second, each way.
    pub rate: u64,
    /// One way.
    pub propagation: Picos,
    /// From a frame's coming to its being in a queue of the switch.
    pub latency: Picos,
    /// From the coming of a frame that asks for a pause to the stop.
    pub response: Picos,
    /// The largest frame on the wire, in bytes, either way.
    pub largest: u32,
}

impl Link {
    /// Bytes that come at most after what is held was at `xoff`.
    pub fn headroom(&self) -> u64 {
        let time =
            2 * u128::from(self.propagation) + u128::from(self.latency) + u128::from(self.response);
        let bits_by_picoseconds = time.saturating_mul(u128::from(self.rate));
        let meanwhile = bits_by_picoseconds.div_ceil(8 * u128::from(PICOS_PER_SECOND));
        let frames = 3 * u64::from(self.largest) + u64::from(FRAME);
        u64::try_from(meanwhile).map_or(u64::MAX, |bytes| bytes.saturating_add(frames))
    }

    /// How long a pause of so many quanta lasts.
    pub fn pause(&self, quanta: u16) -> Picos {
        time_of(u64::from(quanta) * QUANTUM_BITS, self.rate)
    }

    /// The least quanta with which a pause that is asked for again at half its time never lapses, although the frame that
    /// asks waits for the largest one.
    pub fn least_quanta(&self) -> u64 {
        2 * 8 * u64::from(self.largest) / QUANTUM_BITS + 1
    }
}

/// The most that IEEE 802.3 Annex 31B.3.7 allows from the coming of a PAUSE frame to the stop.
pub fn response_of_the_standard(rate: u64) -> Picos {
    const MEGABIT: u64 = 1_000_000;
    let quanta = match rate.div_ceil(MEGABIT) {
        0..=100 => 1,
        101..=1_000 => 2,
        1_001..=10_000 => 60,
        10_001..=25_000 => 80,
        25_001..=40_000 => 118,
        40_001..=100_000 => 394,
        _ => 905,
    };
    time_of(quanta * QUANTUM_BITS, rate)
}

fn time_of(bits: u64, rate: u64) -> Picos {
    let scaled = u128::from(bits) * u128::from(PICOS_PER_SECOND);
    u64::try_from(scaled / u128::from(rate.max(1))).unwrap_or(Picos::MAX / 4)
}

/// Thresholds of an input port, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// Above it a pause is asked for.
    pub xoff: u64,
    /// At it or below the pause ends.
    pub xon: u64,
    /// Beyond `xoff`.
    pub headroom: u64,
}

impl Limits {
    /// Of this link, by what is given and by what it needs.
    pub fn new(parameters: &Parameters, link: &Link) -> Self {
        let below = parameters.xoff.saturating_sub(2 * u64::from(link.largest));
        Self {
            xoff: parameters.xoff,
            xon: parameters.xon.unwrap_or(below),
            headroom: parameters.headroom.unwrap_or_else(|| link.headroom()),
        }
    }
}

/// What an input port holds, and whether the other end of its link was asked to stop.
#[derive(Debug, Clone, Copy, Default)]
struct Guard {
    limits: Limits,
    held: [u64; PRIORITIES],
    stopped: Set,
}

/// All input ports of a switch.
#[derive(Debug, Clone)]
pub struct Guards {
    parameters: Parameters,
    inputs: Vec<Guard>,
}

impl Guards {
    /// Without any room until [`Guards::limit`].
    pub fn new(parameters: Parameters, inputs: usize) -> Self {
        Self {
            parameters,
            inputs: vec![Guard::default(); inputs],
        }
    }

    /// The thresholds of an input port. One that is not there is left alone.
    pub fn limit(&mut self, input: usize, limits: Limits) {
        if let Some(guard) = self.inputs.get_mut(input) {
            guard.limits = limits;
        }
    }

    /// What it is by.
    pub const fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Does this class queue lose nothing?
    #[inline]
    pub const fn is_lossless(&self, queue: u8) -> bool {
        self.parameters.lossless >> (queue % PRIORITIES as u8) & 1 == 1
    }

    /// Is there room for it at the input by which it came?
    pub fn admits<T: Item>(&self, item: &T) -> bool {
        let group = usize::from(self.parameters.group(item.queue()));
        self.inputs
            .get(usize::from(item.ingress()))
            .is_some_and(|guard| {
                let most = guard.limits.xoff.saturating_add(guard.limits.headroom);
                guard.held[group].saturating_add(u64::from(item.bytes())) <= most
            })
    }

    /// The bytes that its group holds of what came by its input; `None` where it may be lost.
    fn held(&mut self, item: &impl Item) -> Option<&mut u64> {
        if !self.is_lossless(item.queue()) {
            return None;
        }
        let group = usize::from(self.parameters.group(item.queue()));
        let guard = self.inputs.get_mut(usize::from(item.ingress()))?;
        Some(&mut guard.held[group])
    }

    /// It was put into a queue.
    pub fn takes<T: Item>(&mut self, item: &T) {
        let bytes = u64::from(item.bytes());
        if let Some(held) = self.held(item) {
            *held += bytes;
        }
    }

    /// It left its queue.
    pub fn gives<T: Item>(&mut self, item: &T) {
        let bytes = u64::from(item.bytes());
        if let Some(held) = self.held(item) {
            *held -= bytes;
        }
    }

    /// Something of this class queue came by the input port, or left again: which groups the other end is now to be told
    /// of, because they have passed a threshold.
    pub fn change(&mut self, input: usize, queue: u8) -> Set {
        let group = self.parameters.group(queue);
        let Some(guard) = self.inputs.get_mut(input) else {
            return 0;
        };
        let (held, bit) = (guard.held[usize::from(group)], 1 << group);
        let stops = match guard.stopped & bit {
            0 => held > guard.limits.xoff,
            _ => held > guard.limits.xon,
        };
        let before = guard.stopped;
        guard.stopped = if stops { before | bit } else { before & !bit };
        before ^ guard.stopped
    }

    /// The groups of which the other end is to send nothing.
    pub fn stopped(&self, input: usize) -> Set {
        self.inputs.get(input).map_or(0, |guard| guard.stopped)
    }
}

/// What some class queues hold together.
pub(crate) fn sum_of(held: &[Backlog; PRIORITIES], queues: Set) -> Backlog {
    let of = |all: Backlog, (queue, held): (usize, &Backlog)| match queues >> queue & 1 {
        1 => all.and(*held),
        _ => all,
    };
    held.iter().enumerate().fold(Backlog::default(), of)
}

#[cfg(test)]
mod tests;
