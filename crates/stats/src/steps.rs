//! Does delay rise with packet size in a line or in steps (seed 000)?
//!
//! A path that cuts packets into cells adds a step of q for each cell: delay is
//! y = a + b·s + q·⌊(s + o)/w⌋ for packets of s bytes, steps w bytes wide, and q ≥ 0. A robust number
//! for each size goes in ([`PerSize`]); what stands without steps (a constant, a line) is compared with
//! the best steps of all widths and offsets by BIC = n·ln(RSS/n) + k·ln n. Steps must be better by more
//! than [`MARGIN`], and they are charged for the search: that many columns are tried that one of them
//! fits any noise a little. The charge is ln n for the width and for the offset, or more, so that at
//! most one line in 200 is called steps ([`FALSE_ALARMS`]; Bonferroni's bound over the columns tried).
//!
//! Assumed: the numbers for each size err independently, alike in all sizes, and not far from normally
//! (what [`PerSize`] is for). Steps show as at least three levels; a single jump is told apart and is no
//! step. Sizes beyond an MTU are left out, because fragments bring steps of their own.
//!
//! By simulation (`examples/steps.rs`): of 145 sizes of 10 packets on an ATM path, with noise of half a
//! step on each packet, width and overhead (within one byte) are right in all of 1000; with noise of one
//! and a half steps in 96 %, of two steps in 65 % (86 % where only 48 bytes are sought). At most 2 of
//! 1000 straight lines are called steps, and no constant. [`simulate`] says so for any other design.

mod bootstrap;
mod columns;
mod detector;
mod framing;
mod per_size;
mod power;
#[cfg(test)]
mod tests;

pub use framing::{
    CELL_BITS, CELL_PAYLOAD, FRAMINGS, Framing, inverse_rate_sum, rate_of_equal_links,
};
pub use per_size::{PerSize, Point};
pub use power::{Design, Noise, Outcomes, Path, simulate};

use detector::{Decision, Detector};
use std::ops::RangeInclusive;

/// By how much the BIC of steps must be lower.
pub const MARGIN: f64 = 10.0;
/// Share of straight lines with normal noise that are called steps, at most.
pub const FALSE_ALARMS: f64 = 0.005;
/// Fewer sizes than this tell nothing.
pub const LEAST_SIZES: usize = 16;
/// Larger sizes are no packets.
const LARGEST_SIZE: u32 = 1 << 30;

/// What to look for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Widths of a step in bytes.
    pub widths: RangeInclusive<u32>,
    /// Largest IP packet that is not fragmented; larger sizes are left out. `None`: all count.
    pub mtu: Option<u32>,
    /// For the bootstrap.
    pub seed: u64,
}

impl Default for Settings {
    /// Steps of 8 to 96 bytes at any offset.
    fn default() -> Self {
        Self {
            widths: 8..=96,
            mtu: None,
            seed: 1,
        }
    }
}

impl Settings {
    /// Only steps of an ATM cell's 48 bytes: fewer columns are tried, so that lower steps show.
    pub fn atm() -> Self {
        Self {
            widths: CELL_PAYLOAD..=CELL_PAYLOAD,
            ..Self::default()
        }
    }

    /// The largest size to use; none comes near the largest number.
    fn largest(&self) -> u32 {
        self.mtu.unwrap_or(LARGEST_SIZE).min(LARGEST_SIZE)
    }
}

/// How delay rises with size.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// It does not, as far as can be seen.
    Constant(Constant),
    /// In a line, and steps that make up its slope would have been seen.
    Line(Line),
    /// In steps.
    Steps(Box<Steps>),
    /// Why neither can be said.
    CannotTell(String),
}

/// Delay that does not depend on size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Constant {
    /// Mean over the sizes, ns.
    pub delay_ns: f64,
    /// Standard deviation of a size's number about it, ns.
    pub residual_ns: f64,
    /// Ends of the slope's 95 % interval, ns a byte.
    pub slope_interval: (f64, f64),
    /// Steps of the largest width that always shows, if this high, are found in 95 % of cases, ns.
    pub visible_step_ns: Option<f64>,
}

/// Delay that rises in a line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// Delay at no bytes, ns.
    pub intercept_ns: f64,
    /// ns a byte.
    pub slope: f64,
    /// Ends of its 95 % interval.
    pub slope_interval: (f64, f64),
    /// Standard deviation of a size's number about the line, ns.
    pub residual_ns: f64,
    /// If the whole slope came in steps of any width from the first to the second, they would be found
    /// in 95 % of cases. Nothing is said of other widths.
    pub visible_widths: (u32, u32),
    /// Steps of the largest of these widths that are this high are found in 95 % of cases, ns.
    pub visible_step_ns: f64,
}

/// Delay that rises in steps.
#[derive(Debug, Clone, PartialEq)]
pub struct Steps {
    /// Width w, bytes.
    pub width: u32,
    /// Smallest and largest width that the sizes allow for at 95 %.
    pub width_interval: (u32, u32),
    /// Offset o, 0 to w − 1: the middle of those that the sizes do not tell apart.
    pub offset: u32,
    /// What framing adds to each packet, modulo w: (o + 1) mod w.
    pub overhead: u32,
    /// Ends of the 95 % interval of the overhead, which may lie below 0 or beyond w: they count modulo
    /// w. All overheads are in it where resampling seldom gives the same width.
    pub overhead_interval: (i64, i64),
    /// Height q of a step, ns.
    pub step_ns: f64,
    /// Ends of its 95 % interval.
    pub step_interval: (f64, f64),
    /// What delay rises by beside the steps, ns a byte; 0 where steps alone do.
    pub slope: f64,
    /// Ends of its 95 % interval.
    pub slope_interval: (f64, f64),
    /// Delay of a packet on step 0 at no bytes, a, ns.
    pub intercept_ns: f64,
    /// Standard deviation of a size's number about the model, ns.
    pub residual_ns: f64,
    /// BIC of the best model without steps, less this one's.
    pub delta_bic: f64,
    /// Chance that a straight line with such noise fits some steps this well, at most.
    pub chance: f64,
    /// Sizes that were used.
    pub sizes: usize,
}

impl Steps {
    /// May framing add this much to each packet, by the interval?
    pub fn may_add(&self, bytes: u32) -> bool {
        let (low, high) = self.overhead_interval;
        let width = i64::from(self.width);
        (i64::from(bytes) - low).rem_euclid(width) <= high - low
    }

    /// The known ATM framings that the intervals allow for; none where cells of 48 bytes are ruled out.
    pub fn framings(&self) -> Vec<Framing> {
        let (low, high) = self.width_interval;
        let cells = self.width == CELL_PAYLOAD && (low..=high).contains(&CELL_PAYLOAD);
        let known = FRAMINGS
            .iter()
            .filter(|framing| self.may_add(framing.overhead));
        known.filter(|_| cells).copied().collect()
    }
}

/// How the delays of these points rise with size. The same points and seed give the same verdict. What it
/// assumes, and how often it errs, stands at the head of this module.
pub fn detect(points: &[Point], settings: &Settings) -> Verdict {
    let limit = settings.largest();
    let usable = |point: &&Point| point.size <= limit && point.delay_ns.is_finite();
    let mut points: Vec<Point> = points.iter().filter(usable).copied().collect();
    points.sort_by_key(|point| point.size);
    let sizes: Vec<u32> = points.iter().map(|point| point.size).collect();
    let delays: Vec<f64> = points.iter().map(|point| point.delay_ns).collect();
    let detector = match Detector::new(&sizes, &settings.widths) {
        Ok(detector) => detector,
        Err(reason) => return Verdict::CannotTell(reason),
    };
    match detector.decide(&delays) {
        Decision::Constant(constant) => Verdict::Constant(constant),
        Decision::Line(line) => Verdict::Line(line),
        Decision::CannotTell(reason) => Verdict::CannotTell(reason),
        Decision::Steps(found) => Verdict::Steps(Box::new(bootstrap::with_intervals(
            &detector,
            &delays,
            &found,
            settings.seed,
        ))),
    }
}
