//! Figures of a stream of frames (RFC 2544, RFC 1242): how many went through a device and how long
//! each took, one way, on one clock.
//!
//! | part | holds |
//! |---|---|
//! | [`FramesBuilder`] | records in, [`FrameFigures`] out, in flat memory |
//! | [`FrameFigures`] | what came of a stream |
//! | [`FrameTrial`] | what came of a trial: every stream of it, and why it may not count |

mod builder;
mod silence;

pub use builder::FramesBuilder;
pub use silence::Silence;

use delaylab_model::Nanos;
use std::sync::Arc;

/// Frames that come out slower than they are sent by less than this share come out as they are sent.
const BEHIND: f64 = 1e-3;

/// The distribution of a one-way delay, in nanoseconds: arrival at the receiving port less the time
/// just before sending. Quantiles are nearest ranks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DelayFigures {
    /// How many frames.
    pub count: u64,
    /// Smallest.
    pub min: Nanos,
    /// Arithmetic mean.
    pub mean: f64,
    /// Largest.
    pub max: Nanos,
    /// Standard deviation (ddof 1); `None` under two frames.
    pub sd: Option<f64>,
    /// Median.
    pub p50: Nanos,
    /// 99th percentile; `None` of fewer than 100 frames, of which it would be the largest under another name.
    pub p99: Option<Nanos>,
    /// 99.9th percentile; `None` of fewer than 1000.
    pub p999: Option<Nanos>,
}

/// What came of one stream of frames.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FrameFigures {
    /// Frames that were due.
    pub asked: u64,
    /// Frames that were sent: those due less those given up or refused by the sender's own host.
    pub sent: u64,
    /// Frames that arrived as they were sent, each once.
    pub received: u64,
    /// Frames that arrived with other bytes.
    pub corrupt: u64,
    /// Copies beyond the first.
    pub duplicates: u64,
    /// Frames that arrived behind a later one (RFC 4737).
    pub reordered: u64,
    /// When the first was sent.
    pub first_send: Option<Nanos>,
    /// When the last was sent.
    pub last_send: Option<Nanos>,
    /// When the last that did not arrive as it was sent was sent.
    pub last_lost: Option<Nanos>,
    /// Of every frame received.
    pub delay: Option<DelayFigures>,
    /// The longest time between two arrivals, one behind the other, in which a frame was lost: else it may be the sender's.
    pub longest_silence: Option<Silence>,
    /// How much later frames come out for each second of the stream, in its second half: the least delay of its last quarter less
    /// that of the quarter before. What disturbs a frame now and then has no part in it. `None` of a stream that is too short.
    pub falls_behind: Option<f64>,
    /// Of the tagged frame; `None` if it was lost or none was tagged (RFC 2544 §26.2).
    pub tagged_delay: Option<Nanos>,
}

impl FrameFigures {
    /// Frames sent that did not arrive as they were sent.
    pub const fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.received)
    }

    /// Lost of those sent, 0 to 1 (RFC 1242 §3.6); `None` if none was sent.
    pub fn loss_ratio(&self) -> Option<f64> {
        (self.sent > 0).then(|| self.lost() as f64 / self.sent as f64)
    }

    /// Frames a second as they came out in the second half; `None` where they were as many as were sent, to 0.1 % or to a frame.
    pub fn forwarded_fps(&self) -> Option<f64> {
        let (behind, sent) = (self.falls_behind?, self.achieved_fps()?);
        let frames = behind * self.sent as f64 / 2.0;
        (behind > BEHIND && frames > 1.0).then(|| sent / (1.0 + behind))
    }

    /// Frames a second as sent, from first bit to first bit; `None` under two frames.
    pub fn achieved_fps(&self) -> Option<f64> {
        let span = self.last_send?.checked_sub(self.first_send?)?;
        (self.sent > 1 && span > 0).then(|| (self.sent - 1) as f64 * 1e9 / span as f64)
    }
}

/// What came of a trial with frames.
///
/// A trial with a flaw is invalid: it says nothing of the device, and its losses are never the
/// device's.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FrameTrial {
    /// What came of each probe, in the order of the trial's probes.
    pub streams: Vec<FrameFigures>,
    /// Bits of payload a second of each load that was beside them, by its name, where they are counted.
    pub goodput_bps: Vec<(Arc<str>, f64)>,
    /// The same in two trials is the same simulation twice. `None`: not simulated.
    pub trace_hash: Option<u64>,
    /// Why it is not what was asked for, as sentences. A rate that was not reached need not be one
    /// of them: a procedure compares rates itself, and some take the rate as it was.
    pub flaws: Vec<String>,
}

#[cfg(test)]
mod tests;
