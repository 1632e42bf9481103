//! The noise floor: how often, and for how long, a CPU is taken away from a thread that only reads
//! the clock.

use super::{Spread, in_own_thread};
use crate::noise::gaps;
use crate::touched::touched;
use delaylab_kernel::scheduling;
use delaylab_model::{MICROSECOND, Nanos, SECOND};
use schemars::JsonSchema;
use serde::Serialize;
use std::io;

/// How to look for gaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoiseOptions {
    /// How long on each CPU.
    pub length: Nanos,
    /// Two clock reads further apart than this are a gap.
    pub threshold: Nanos,
    /// At most so many CPUs, evenly chosen, one after the other.
    pub max_cpus: usize,
}

impl Default for NoiseOptions {
    fn default() -> Self {
        Self {
            length: SECOND,
            threshold: 5 * MICROSECOND,
            max_cpus: 8,
        }
    }
}

/// The gaps of one CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NoiseFloor {
    /// Number of the CPU.
    pub cpu: usize,
    /// How long it was watched.
    #[serde(rename = "length_ns")]
    pub length: Nanos,
    /// From this length on it is a gap.
    #[serde(rename = "threshold_ns")]
    pub threshold: Nanos,
    /// The gaps' own distribution; null where there were none.
    pub gaps: Option<Spread>,
    /// How long all gaps are together.
    #[serde(rename = "total_ns")]
    pub total: Nanos,
    /// Mean cost of one look: gaps are seen this coarsely.
    #[serde(rename = "cost_ns")]
    pub cost: Nanos,
}

/// Watches the CPUs that this thread may run on.
pub(super) fn measure(options: NoiseOptions) -> io::Result<Vec<NoiseFloor>> {
    let allowed: Vec<usize> = scheduling::affinity()?.into_iter().collect();
    let step = allowed.len().div_ceil(options.max_cpus.max(1)).max(1);
    allowed
        .into_iter()
        .step_by(step)
        .map(|cpu| in_own_thread(|| watch(cpu, options))?)
        .collect()
}

fn watch(cpu: usize, options: NoiseOptions) -> io::Result<NoiseFloor> {
    scheduling::pin(cpu)?;
    // Room for a gap each 10 µs of a second: neither an allocation nor a page fault while watching.
    let mut lengths = touched(100_000, 1);
    let mut end = None;
    let go_on = |now| now < *end.get_or_insert(now + options.length);
    let looked = gaps::look(options.threshold, go_on, |_, gap| lengths.push(gap));
    Ok(NoiseFloor {
        cpu,
        length: looked.length,
        threshold: options.threshold,
        gaps: Spread::new(lengths),
        total: looked.missing,
        cost: looked.cost(),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn gaps_are_part_of_the_time() {
        let options = NoiseOptions {
            length: 20_000_000,
            threshold: 1,
            max_cpus: 1,
        };
        let floors = measure(options).unwrap();
        assert_eq!(floors.len(), 1);
        let floor = floors[0];
        assert!(floor.length >= options.length && floor.total <= floor.length);
        assert!(floor.gaps.unwrap().min > options.threshold);
    }
}
