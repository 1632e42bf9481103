//! How fast the bottleneck sends: bytes that came out over the time that they took, while it never rested.

use super::line::Estimate;
use super::passage::{Overflow, Passage};
use delaylab_stats::least_squares::least_squares;

/// Stretches between packets of the flood that make one observation for the interval.
const BLOCK: usize = 50;
/// Fewer say nothing.
const STRETCHES: usize = 100;

/// Without an overflow, most stretches pass at a rate that differs by less than this share.
const ALIKE: f64 = 0.1;
const MOST: f64 = 0.8;

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
        let all = overflows.iter().flat_map(|one| stretches(one, one.flood));
        Self::of_stretches(&all.collect::<Vec<_>>())
    }

    /// The same of trials in which nothing overflows and packets of a probe wait for those before them. `None` where they did
    /// not come out at one rate: what held them was not the line.
    pub(super) fn of_own_queues(trials: &[Overflow]) -> Option<Self> {
        let stretches: Vec<Stretch> = trials.iter().flat_map(longest_stretches).collect();
        let rate = Self::of_stretches(&stretches)?;
        let is_alike = |one: &&Stretch| {
            let ns_per_byte = one.ns / one.bytes;
            (ns_per_byte - rate.ns_per_byte.value).abs() < ALIKE * rate.ns_per_byte.value
        };
        let alike = stretches.iter().filter(is_alike).count();
        (alike as f64 >= MOST * stretches.len() as f64).then_some(rate)
    }

    /// The same of the second half of each trial, when what passes at once after a rest has passed.
    pub(super) fn late(overflows: &[Overflow]) -> Option<Self> {
        let late = overflows.iter().flat_map(|overflow| {
            let mut all = stretches(overflow, overflow.flood);
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
        // Of the logarithm: the interval of few blocks that differ is wide, and a rate is more than 0.
        let blocks = blocks.map(|block| (block.ns / block.bytes).ln());
        let blocks: Vec<f64> = blocks.filter(|rate| rate.is_finite()).collect();
        let fit = least_squares(&[vec![1.0; blocks.len()]], &blocks).ok()?;
        let Stretch { bytes, ns } = sum(stretches);
        let value = ns / bytes;
        let times = fit.coefficients[0].inference.map(|found| {
            let (low, high) = found.interval;
            ((high - low) / 2.0).exp()
        });
        Some(Self {
            ns_per_byte: Estimate {
                value,
                interval: times.map(|times| (value / times, value * times)),
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

/// Those of the stream that has most of them.
fn longest_stretches(trial: &Overflow) -> Vec<Stretch> {
    let streams = trial.passages.iter().map(|passage| passage.stream);
    let last = streams.max().unwrap_or(0);
    let each = (0..=last).map(|stream| stretches(trial, stream));
    each.max_by_key(Vec::len).unwrap_or_default()
}

/// From one packet of the flood to the next, where the next came to the queue before the one had left it:
/// in between the line cannot have rested. All that came out meanwhile was sent meanwhile.
fn stretches(overflow: &Overflow, flood: usize) -> Vec<Stretch> {
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
        let Some(out) = out.filter(|_| stream == flood) else {
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Two blocks that differ say little of the rate, and not that packets may take less than no time.
    #[test]
    fn a_rate_of_two_blocks_is_more_than_zero() {
        let stretch = |ns_per_byte: f64| Stretch {
            bytes: 1000.0,
            ns: 1000.0 * ns_per_byte,
        };
        let half = |ns_per_byte: f64| vec![stretch(ns_per_byte); BLOCK];
        let rate = Rate::of_stretches(&[half(700.0), half(1100.0)].concat()).unwrap();
        let (low, high) = rate.ns_per_byte.interval.unwrap();
        assert!(0.0 < low && low < 700.0 && high > 1100.0, "{low} {high}");
        let bits = rate.bits_per_second().interval.unwrap();
        assert!(0.0 < bits.0 && bits.0 < bits.1, "{bits:?}");
        // Many that differ little: as wide on both sides.
        let even = [half(790.0), half(800.0), half(810.0)].concat();
        let rate = Rate::of_stretches(&even).unwrap();
        let (low, high) = rate.ns_per_byte.interval.unwrap();
        assert!(
            (800.0 - low - 24.0).abs() < 2.0 && (high - 800.0 - 25.5).abs() < 2.0,
            "{low} {high}"
        );
    }
}
