//! How fast the bottleneck sends: bytes that came out over the time that they took, while it never rested.

use super::line::Estimate;
use super::passage::{Overflow, Passage};
use delaylab_stats::least_squares::least_squares;

/// Stretches between packets of the flood that make one observation for the interval.
const BLOCK: usize = 50;
/// Fewer say nothing.
const STRETCHES: usize = 100;

/// The rate of a bottleneck.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// Nanoseconds a byte on the wire.
    pub ns_per_byte: Estimate,
    /// How long it was seen to be busy, in nanoseconds.
    pub busy: f64,
    /// Bytes that it sent meanwhile.
    pub bytes: f64,
}

/// Bytes and nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
struct Stretch {
    bytes: f64,
    ns: f64,
}

impl Rate {
    /// `None` where no trial kept the bottleneck busy.
    pub(super) fn estimate(overflows: &[Overflow]) -> Option<Self> {
        Self::of_stretches(&overflows.iter().flat_map(stretches).collect::<Vec<_>>())
    }

    /// The same of the second half of each trial, when what passes at once after a rest has passed.
    pub(super) fn late(overflows: &[Overflow]) -> Option<Self> {
        let late = overflows.iter().flat_map(|overflow| {
            let mut all = stretches(overflow);
            all.split_off(all.len() / 2)
        });
        Self::of_stretches(&late.collect::<Vec<_>>())
    }

    fn of_stretches(stretches: &[Stretch]) -> Option<Self> {
        if stretches.len() < STRETCHES {
            return None;
        }
        let sum = |some: &[Stretch]| {
            some.iter().fold(Stretch::default(), |sum, one| Stretch {
                bytes: sum.bytes + one.bytes,
                ns: sum.ns + one.ns,
            })
        };
        let blocks = stretches.chunks_exact(BLOCK).map(sum);
        let blocks: Vec<f64> = blocks.map(|block| block.ns / block.bytes).collect();
        let fit = least_squares(&[vec![1.0; blocks.len()]], &blocks).ok()?;
        let Stretch { bytes, ns } = sum(stretches);
        let value = ns / bytes;
        let half = fit.coefficients[0].inference.map(|found| {
            let (low, high) = found.interval;
            (high - low) / 2.0
        });
        Some(Self {
            ns_per_byte: Estimate {
                value,
                interval: half.map(|half| (value - half, value + half)),
            },
            busy: ns,
            bytes,
        })
    }

    /// In bits a second.
    pub fn bits_per_second(&self) -> Estimate {
        let bits = |ns_per_byte: f64| 8e9 / ns_per_byte;
        let Estimate { value, interval } = self.ns_per_byte;
        Estimate {
            value: bits(value),
            interval: interval.map(|(low, high)| (bits(high), bits(low))),
        }
    }
}

/// From one packet of the flood to the next, where the next came to the queue before the one had left it:
/// in between the line cannot have rested. All that came out meanwhile was sent meanwhile.
fn stretches(overflow: &Overflow) -> Vec<Stretch> {
    let mut stretches = Vec::new();
    let mut last: Option<f64> = None;
    let mut bytes = 0.0;
    for Passage {
        stream,
        wire,
        out,
        sent,
    } in overflow.arrived()
    {
        bytes += wire;
        let Some(out) = out.filter(|_| stream == overflow.flood) else {
            continue;
        };
        let waited = out - sent - overflow.undisturbed(wire);
        if let Some(ns) = last.map(|last| out - last)
            && waited > ns
        {
            stretches.push(Stretch { bytes, ns });
        }
        (last, bytes) = (Some(out), 0.0);
    }
    stretches
}
