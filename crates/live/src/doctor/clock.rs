//! What a read of `CLOCK_MONOTONIC` costs: two reads are in each probe, whatever else is.

use super::{Spread, in_own_thread};
use crate::noise::gaps;
use delaylab_model::Nanos;
use schemars::JsonSchema;
use serde::Serialize;
use std::io;

/// Cost of a clock read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ClockCheck {
    /// From one read to the next. The largest are the host's interruptions, not the clock's.
    pub read: Spread,
    /// Reads that were earlier than the one before: must be 0.
    pub negative_steps: usize,
}

/// Reads the clock so many times, at least once, back to back.
pub(super) fn measure(reads: usize) -> io::Result<ClockCheck> {
    let steps = in_own_thread(|| steps(reads.max(1)))?;
    let negative_steps = steps.iter().filter(|&&step| step < 0).count();
    let read = Spread::new(steps).ok_or(io::ErrorKind::InvalidData)?;
    Ok(ClockCheck {
        read,
        negative_steps,
    })
}

fn steps(reads: usize) -> Vec<Nanos> {
    // Written to before, so that no page fault falls between two reads.
    let mut steps = vec![-1; reads];
    gaps::read(&mut steps);
    steps
}
