//! Exponential gaps (RFC 2330 §11.1.1): what many independent sources look like together.

use super::Packet;
use delaylab_model::{PICOS_PER_SECOND, Picos};
use delaylab_stats::random::SplitMix;

/// An exponential time of this mean, rounded to the picosecond.
pub(super) fn exponential(mean: f64, random: &mut SplitMix) -> Picos {
    (-random.uniform().ln() * mean).round() as Picos
}

/// Packets at exponential gaps.
#[derive(Debug, Clone)]
pub struct Poisson {
    last: Picos,
    mean: f64,
    bytes: u32,
    random: SplitMix,
}

impl Poisson {
    /// Packets of `bytes`, on average `rate` bit/s, the first one gap after `start`. A rate of 0 has no
    /// packets. Equal seeds give equal packets.
    pub fn new(start: Picos, bytes: u32, rate: u64, seed: u64) -> Self {
        let bits = f64::from(bytes) * 8.0;
        Self {
            last: start,
            mean: bits * PICOS_PER_SECOND as f64 / rate as f64,
            bytes,
            random: SplitMix::new(seed),
        }
    }
}

impl Iterator for Poisson {
    type Item = Packet;

    #[inline]
    fn next(&mut self) -> Option<Packet> {
        // A rate of 0 is an infinite mean: the gap saturates and the clock ends.
        let gap = exponential(self.mean, &mut self.random);
        self.last = self.last.checked_add(gap).filter(|&at| at < Picos::MAX)?;
        Some(Packet {
            at: self.last,
            bytes: self.bytes,
        })
    }
}
