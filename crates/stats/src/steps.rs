//! Does delay rise with packet size in a line or in steps (source 000)?
//!
//! A path that cuts packets into cells adds a step of q for each cell: delay is
//! y = a + b·s + q·⌊(s + o)/w⌋ for packets of s bytes, steps w bytes wide, and q ≥ 0. A robust number
//! for each size goes in ([`PerSize`]); what stands without steps (a constant, a line) is compared with
//! the best steps of all widths and offsets by BIC = n·ln(RSS/n) + k·ln n. Steps must be better by more
//! than [`MARGIN`], and they are charged for the search: that many columns are tried that one of them
//! fits any noise a little. The charge is ln n for the width and for the offset, or more, so that at
//! most one line in 200 is called steps ([`FALSE_ALARMS`]; Bonferroni's bound over the columns tried).
//!
//! Delay may jump once beside the steps, on a riser or off it: where steps alone do not explain the delays,
//! steps and a jump are fitted together, at every place, and must be better than a line with a jump by
//! [`MARGIN`] and a charge for so many more trials. Steps may be uneven. Their mean height and its interval
//! are an average over models: even steps and uneven ones, with and without a jump. That interval is for the
//! mean of all steps of such a line, of which those measured are a sample: few that differ make it wide.
//!
//! Assumed: the numbers for each size err independently, alike in all sizes, and not far from normally
//! (what [`PerSize`] is for); a size that lies off its level by less than half a step counts little against
//! steps. Steps show as at least three levels, with a jump beside them as four; a single jump is
//! no step, and two risers need not be steps ([`Doubt::FewRisers`]). Where delay jumps and the same steps do not
//! continue, as where fragments bring steps of their own, the sizes from there on are left out and named
//! ([`Detection::jump`]).
//!
//! By simulation (`examples/steps.rs`, 1000 random ATM paths and 1000 straight lines for each design):
//! with noise of half a step on each of 10 packets a size, width and overhead (within one byte) are right
//! on all of them; with noise of half a step on the number of each size, on 92 to 97 %, and on 98 to 99 %
//! where only 48 bytes are sought. At most 2 of 1000 straight lines are called steps. [`simulate`] says so for
//! any other design.

mod alternatives;
mod bootstrap;
mod columns;
mod detector;
mod doubt;
mod framing;
mod joint;
mod jumps;
mod mixture;
mod model;
mod noise;
mod per_size;
mod power;
mod risers;
mod stair;
#[cfg(test)]
mod tests;
mod uneven;
mod vectors;

pub use doubt::Doubt;
pub use framing::{
    CELL_BITS, CELL_PAYLOAD, FRAMINGS, Framing, inverse_rate_sum, rate_of_equal_links,
};
pub use per_size::{PerSize, Point};
pub use power::{
    Design, ENOUGH_OF_100, FASTEST, Noise, Outcomes, Path, Power, found_of_100, simulate,
};

use detector::{Decided, Decision};
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
        Self::default().only_cells()
    }

    /// The same, but for the widths.
    #[must_use]
    pub fn only_cells(&self) -> Self {
        Self {
            widths: CELL_PAYLOAD..=CELL_PAYLOAD,
            ..self.clone()
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
    /// Neither can be said.
    CannotTell(Doubt),
}

/// How delay rises with size, and up to which size.
#[derive(Debug, Clone, PartialEq)]
pub struct Detection {
    /// Of the sizes that were used.
    pub verdict: Verdict,
    /// Those, in order.
    pub sizes: Vec<u32>,
    /// Which widths were looked for, bytes.
    pub widths: RangeInclusive<u32>,
    /// What keeps the sizes beyond from being used, if anything does.
    pub jump: Option<Jump>,
}

/// A jump that no steps and no line explain, as where fragments or larger buffers begin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Jump {
    /// The smallest size beyond it, bytes.
    pub at: u32,
    /// Sizes beyond it.
    pub sizes: usize,
    /// How high it is, ns.
    pub height_ns: f64,
}

/// Steps that are plainly not equally high.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Uneven {
    /// Standard deviation of their heights, ns.
    pub sd_ns: f64,
    /// The lowest, ns.
    pub least_ns: f64,
    /// The highest, ns.
    pub most_ns: f64,
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
}

/// Delay that rises in steps.
#[derive(Debug, Clone, PartialEq)]
pub struct Steps {
    /// Width w, bytes.
    pub width: u32,
    /// Smallest and largest width that the sizes allow for at 95 %.
    pub width_interval: (u32, u32),
    /// The smallest and the largest width that fit best in each resample.
    pub width_draws: Vec<(u32, u32)>,
    /// Offset o, 0 to w − 1: the middle of those that the sizes do not tell apart.
    pub offset: u32,
    /// What framing adds to each packet, modulo w: (o + 1) mod w.
    pub overhead: u32,
    /// Ends of the 95 % interval of the overhead, which may lie below 0 or beyond w: they count modulo
    /// w. All overheads are in it where resampling seldom gives the same width.
    pub overhead_interval: (i64, i64),
    /// Mean height q of a step, ns.
    pub step_ns: f64,
    /// Ends of its 95 % interval, for the mean of all steps of such a line: wider where those that were
    /// measured differ.
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
    /// A jump beside the steps, which go on beyond it.
    pub jump: Option<Jump>,
    /// How much the steps differ, where they plainly do.
    pub uneven: Option<Uneven>,
    /// Where they do: how far each level ⌊(s + o)/w⌋ lies from even steps, ns.
    away: Vec<(u32, f64)>,
}

impl Steps {
    /// Of a packet of this size by these steps, ns.
    pub fn delay(&self, size: u32) -> f64 {
        let level = (size + self.offset) / self.width;
        let jump = self.jump.filter(|jump| size >= jump.at);
        let away = self.away.iter().find(|(at, _)| *at == level);
        self.intercept_ns
            + self.slope * f64::from(size)
            + self.step_ns * f64::from(level)
            + jump.map_or(0.0, |jump| jump.height_ns)
            + away.map_or(0.0, |(_, away)| *away)
    }

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
pub fn detect(points: &[Point], settings: &Settings) -> Detection {
    let limit = settings.largest();
    let usable = |point: &&Point| point.size <= limit && point.delay_ns.is_finite();
    let mut points: Vec<Point> = points.iter().filter(usable).copied().collect();
    points.sort_by_key(|point| point.size);
    let sizes: Vec<u32> = points.iter().map(|point| point.size).collect();
    let delays: Vec<f64> = points.iter().map(|point| point.delay_ns).collect();
    let (decided, jump) = match Decided::decide(&sizes, &delays, &settings.widths) {
        Ok(decided) => decided,
        Err(doubt) => {
            return Detection {
                verdict: Verdict::CannotTell(doubt),
                sizes,
                widths: settings.widths.clone(),
                jump: None,
            };
        }
    };
    let verdict = match &decided.decision {
        Decision::Constant(constant) => Verdict::Constant(*constant),
        Decision::Line(line) => Verdict::Line(*line),
        Decision::CannotTell(doubt) => Verdict::CannotTell(*doubt),
        Decision::Steps(found) => Verdict::Steps(Box::new(stair::with_intervals(
            &decided.detector,
            &delays[..decided.detector.sizes.len()],
            found,
            settings.seed,
        ))),
    };
    Detection {
        verdict,
        sizes: decided.detector.sizes,
        widths: settings.widths.clone(),
        jump,
    }
}

/// Steps of any width, as [`detect`]; steps of an ATM cell alone where that finds none, because they
/// show when they are lower, or where it leaves open whether they are an ATM cell's. At most twice
/// [`FALSE_ALARMS`] of straight lines are called steps (by simulation one in 1000).
pub fn detect_cells(points: &[Point], settings: &Settings) -> Detection {
    let any = detect(points, settings);
    if let Verdict::Steps(found) = &any.verdict {
        let (low, high) = found.width_interval;
        if found.width == CELL_PAYLOAD || !(low..=high).contains(&CELL_PAYLOAD) {
            return any;
        }
    }
    let cells = detect(points, &settings.only_cells());
    match cells.verdict {
        Verdict::Steps(_) => cells,
        _ => any,
    }
}
