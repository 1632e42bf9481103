//! Pacing: when the next packet is due.
//!
//! Open loop is an absolute schedule: it never re-anchors, whatever happened to the packets before.
//! A late slot is sent late and says so; only its owner may give it up.
//! To add a kind: one file here, one line in [`Pacer`].

pub mod awake;
mod burst;
mod closed;
pub mod frames;
mod grid;
pub mod lead;
pub mod line;
mod poisson;
#[cfg(test)]
mod tests;

use delaylab_model::Nanos;
use delaylab_model::probe::Pacing;

/// When packets are due, one after the other.
#[derive(Debug, Clone)]
pub enum Pacer {
    /// Absolute grid.
    Grid(grid::Grid),
    /// Exponential gaps.
    Poisson(poisson::Poisson),
    /// Bursts on a grid.
    Burst(burst::Burst),
    /// After each reply.
    Closed(closed::Closed),
    /// Frames of a tester.
    Frames(frames::Frames),
}

/// When the next packet is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// At this time.
    At(Nanos),
    /// Once the packet under way has been answered or given up.
    AfterReply,
}

impl Pacer {
    /// Starts a schedule.
    pub fn new(pacing: Pacing, start: Nanos, seed: u64) -> Self {
        match pacing {
            Pacing::Every { interval_ns } => Pacer::Grid(grid::Grid::new(start, interval_ns)),
            Pacing::Poisson { mean_ns } => {
                Pacer::Poisson(poisson::Poisson::new(start, mean_ns, seed))
            }
            Pacing::Burst { burst, interval_ns } => {
                Pacer::Burst(burst::Burst::new(start, burst, interval_ns))
            }
            Pacing::Wait { wait_ns } => Pacer::Closed(closed::Closed::new(start, wait_ns)),
            Pacing::Frames { interval_ps } => {
                Pacer::Frames(frames::Frames::new(start, interval_ps))
            }
        }
    }

    /// When the next packet is due.
    #[inline]
    pub fn due(&self) -> Due {
        match self {
            Pacer::Grid(grid) => Due::At(grid.due()),
            Pacer::Poisson(poisson) => Due::At(poisson.due()),
            Pacer::Burst(burst) => Due::At(burst.due()),
            Pacer::Closed(closed) => closed.due(),
            Pacer::Frames(frames) => Due::At(frames.due()),
        }
    }

    /// The slot that was due has been used or given up: on to the next.
    #[inline]
    pub fn advance(&mut self) {
        match self {
            Pacer::Grid(grid) => grid.advance(),
            Pacer::Poisson(poisson) => poisson.advance(),
            Pacer::Burst(burst) => burst.advance(),
            Pacer::Closed(closed) => closed.advance(),
            Pacer::Frames(frames) => frames.advance(),
        }
    }

    /// The packet under way was answered (read at `end`) or given up (at `end`). Only a closed loop
    /// cares.
    #[inline]
    pub fn settled(&mut self, end: Nanos) {
        if let Pacer::Closed(closed) = self {
            closed.settled(end);
        }
    }

    /// Does it wait for replies?
    pub const fn is_closed_loop(&self) -> bool {
        matches!(self, Pacer::Closed(_))
    }
}
