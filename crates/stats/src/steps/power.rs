//! What the detector finds in a design, by simulation: its false alarms and its power.

use super::detector::{Decided, Decision, Detector};
use super::noise::RESOLUTION;
use super::{Detection, Doubt, PerSize, Settings, Verdict};
use crate::random::SplitMix;
use std::ops::RangeInclusive;

/// Which packets are sent, and how their delays vary.
#[derive(Debug, Clone, PartialEq)]
pub struct Design {
    /// Bytes, each size once.
    pub sizes: Vec<u32>,
    /// Packets of each.
    pub packets: usize,
    /// What becomes of a size's packets.
    pub per_size: PerSize,
    /// The law of the noise on each packet.
    pub noise: Noise,
    /// Its standard deviation, ns.
    pub noise_sd_ns: f64,
}

/// A law of noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noise {
    /// Normal.
    Normal,
    /// Exponential: never less than nothing, and a tail.
    Exponential,
}

/// What delays are without noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Path {
    /// At no bytes, ns.
    pub intercept_ns: f64,
    /// ns a byte, beside the steps.
    pub slope: f64,
    /// Height of a step, ns; 0 for none.
    pub step_ns: f64,
    /// Width of a step, bytes.
    pub width: u32,
    /// Bytes that framing adds.
    pub overhead: u32,
}

impl Path {
    /// Of a packet of this size, ns.
    pub fn delay(&self, size: u32) -> f64 {
        let steps = (size + self.overhead).div_ceil(self.width);
        self.intercept_ns + self.slope * f64::from(size) + self.step_ns * f64::from(steps)
    }
}

/// How often each verdict came.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// Simulated measurements.
    pub runs: u32,
    /// Called constant.
    pub constant: u32,
    /// Called a line.
    pub line: u32,
    /// Called neither.
    pub cannot_tell: u32,
    /// Called steps. On a path without any these are false alarms.
    pub steps: u32,
    /// Of those, with the path's width.
    pub width_right: u32,
    /// Of those, with an overhead at most one byte off.
    pub overhead_right: u32,
}

impl std::ops::AddAssign for Outcomes {
    fn add_assign(&mut self, other: Self) {
        self.runs += other.runs;
        self.constant += other.constant;
        self.line += other.line;
        self.cannot_tell += other.cannot_tell;
        self.steps += other.steps;
        self.width_right += other.width_right;
        self.overhead_right += other.overhead_right;
    }
}

/// `runs` measurements of this path by this design. The same seed gives the same outcomes. No interval
/// is made, so that a measurement of 145 sizes takes well under a millisecond.
///
/// Errors: why these sizes tell nothing.
pub fn simulate(
    design: &Design,
    path: &Path,
    settings: &Settings,
    runs: u32,
) -> Result<Outcomes, Doubt> {
    let mut simulation = Simulation::new(design.clone(), settings)?;
    let mut outcomes = Outcomes::default();
    for _ in 0..runs {
        outcomes.add(&simulation.decide(path)?, path);
    }
    Ok(outcomes)
}

/// How many of 100 are enough to say that steps would have been seen.
pub const ENOUGH_OF_100: u32 = 95;
/// What each byte adds in steps as low as are meant at least, ns: a cell of 53 bytes for 48 on an ATM line
/// of 155.52 Mbit/s (ITU-T I.432).
pub const FASTEST: f64 = 424.0 / 48.0 / 155.52e6 * 1e9;
/// Steps so many times as high as noise that are not found are not found without noise either.
const STEEPEST: f64 = 1e4;
/// What most designs find.
const LIKELY: f64 = 4.0;

/// Whether steps of some width would have been found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Power {
    /// Their width, bytes.
    pub width: u32,
    /// As high as they were taken to be, ns: as makes up the slope, but no less than [`FASTEST`] makes.
    pub step_ns: f64,
    /// On so many of 100 simulated paths they are found, and their width.
    pub found: u32,
    /// Steps higher than this are found on [`ENOUGH_OF_100`], ns; `None` where none are at these sizes.
    pub least_ns: Option<f64>,
}

impl Power {
    /// Would they have been found?
    pub const fn is_enough(&self) -> bool {
        self.found >= ENOUGH_OF_100
    }

    /// About so many times as many packets of each size, or as many sizes, would find them: noise falls
    /// with the root of their number. `None` where no number of packets would.
    pub fn times_as_many(&self) -> Option<u32> {
        let times = (self.least_ns? / self.step_ns).powi(2);
        Some(times.ceil().max(1.0).min(f64::from(u32::MAX)) as u32)
    }
}

impl Detection {
    /// Would steps of this width have been found at these sizes and in this noise, beginning anywhere and
    /// beside a slope? `None` where too little is known of either.
    pub fn power(&self, width: u32, settings: &Settings) -> Option<Power> {
        let noise = self.residual_ns()?.max(RESOLUTION);
        let slope = self.slope().max(FASTEST);
        let settings = Settings {
            widths: self.widths.clone(),
            ..settings.clone()
        };
        let enough = |ratio| {
            let missed = hundred(&self.sizes, (width, ratio), &settings);
            let most = (100 - ENOUGH_OF_100) as usize;
            missed.is_ok_and(|paths| paths.filter(|found| !found).nth(most).is_none())
        };
        let step_ns = slope * f64::from(width);
        Some(Power {
            width,
            step_ns,
            found: found_of_100(&self.sizes, (width, step_ns / noise), &settings).unwrap_or(0),
            least_ns: least_found(enough).map(|ratio| ratio * noise),
        })
    }

    /// Standard deviation of a size's number about what was fitted, ns.
    pub fn residual_ns(&self) -> Option<f64> {
        match &self.verdict {
            Verdict::Constant(constant) => Some(constant.residual_ns),
            Verdict::Line(line) => Some(line.residual_ns),
            Verdict::Steps(steps) => Some(steps.residual_ns),
            Verdict::CannotTell(Doubt::Noise { residual_ns, .. }) => Some(*residual_ns),
            Verdict::CannotTell(_) => None,
        }
    }

    /// By how much delay rises without steps, ns a byte; 0 where that is not known.
    fn slope(&self) -> f64 {
        match &self.verdict {
            Verdict::Line(line) => line.slope.abs(),
            Verdict::CannotTell(Doubt::Noise { width, step_ns, .. }) => step_ns / f64::from(*width),
            _ => 0.0,
        }
    }
}

/// The height, in standard deviations of noise, from which on steps are found often enough, to a tenth.
fn least_found(enough: impl Fn(f64) -> bool) -> Option<f64> {
    let mut high = LIKELY;
    while !enough(high) {
        high *= 2.0;
        if high > STEEPEST {
            return None;
        }
    }
    let mut low = high / 2.0;
    while enough(low) {
        (low, high) = (low / 2.0, low);
    }
    while high > 1.1 * low {
        let middle = (low * high).sqrt();
        if enough(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(high)
}

/// Of 100 paths whose delay rises in steps of this width, as high as so many standard deviations of the
/// number of each size, and as much again in a slope, beginning anywhere: how many are found, and their
/// width.
///
/// Errors: why these sizes tell nothing.
pub fn found_of_100(sizes: &[u32], steps: (u32, f64), settings: &Settings) -> Result<u32, Doubt> {
    let found = hundred(sizes, steps, settings)?;
    Ok(found.map(u32::from).sum())
}

/// Whether each of those is found.
fn hundred(
    sizes: &[u32],
    (width, ratio): (u32, f64),
    settings: &Settings,
) -> Result<impl Iterator<Item = bool>, Doubt> {
    // Delays are whole nanoseconds: far above one, that says nothing.
    const NOISE_NS: f64 = 1e3;
    let step_ns = ratio * NOISE_NS;
    let design = Design {
        sizes: sizes.to_vec(),
        packets: 1,
        per_size: PerSize::TrimmedMean,
        noise: Noise::Normal,
        noise_sd_ns: NOISE_NS,
    };
    let mut simulation = Simulation::new(design, settings)?;
    Ok((0..100).map(move |run| {
        let path = Path {
            intercept_ns: 0.0,
            slope: step_ns / f64::from(width),
            step_ns,
            width,
            // Each hundredth of a step once.
            overhead: run * width / 100,
        };
        let decision = simulation.decide(&path);
        matches!(decision, Ok(Decision::Steps(chosen)) if chosen.found.width == width)
    }))
}

/// A design that is carried out again and again.
struct Simulation {
    design: Design,
    widths: RangeInclusive<u32>,
    sizes: Vec<u32>,
    detector: Detector,
    random: SplitMix,
}

impl Simulation {
    fn new(design: Design, settings: &Settings) -> Result<Self, Doubt> {
        let limit = settings.largest();
        let small = design.sizes.iter().copied().filter(|&size| size <= limit);
        let mut sizes: Vec<u32> = small.collect();
        sizes.sort_unstable();
        Ok(Self {
            detector: Detector::new(&sizes, &settings.widths)?,
            random: SplitMix::new(settings.seed),
            design,
            widths: settings.widths.clone(),
            sizes,
        })
    }

    /// What one measurement of this path comes to.
    fn decide(&mut self, path: &Path) -> Result<Decision, Doubt> {
        let sizes = self.sizes.iter();
        let delays: Vec<f64> = sizes
            .map(|&size| self.design.measure(path, size, &mut self.random))
            .collect();
        let (decision, jump) = self.detector.decide(&delays);
        if jump.is_none() {
            return Ok(decision);
        }
        let decided = Decided::decide(&self.sizes, &delays, &self.widths)?;
        Ok(decided.0.decision)
    }
}

impl Design {
    /// The number that stands for a size in one measurement, ns.
    pub(super) fn measure(&self, path: &Path, size: u32, random: &mut SplitMix) -> f64 {
        let delay = path.delay(size);
        let packet = |_| delay + self.noise_sd_ns * self.noise.draw(random);
        let delays: Vec<f64> = (0..self.packets.max(1)).map(packet).collect();
        self.per_size.value(&delays).unwrap_or(delay)
    }
}

impl Noise {
    /// With standard deviation 1.
    fn draw(self, random: &mut SplitMix) -> f64 {
        match self {
            Noise::Normal => random.normal(),
            Noise::Exponential => -random.uniform().ln(),
        }
    }
}

impl Outcomes {
    fn add(&mut self, decision: &Decision, path: &Path) {
        self.runs += 1;
        match decision {
            Decision::Constant(_) => self.constant += 1,
            Decision::Line(_) => self.line += 1,
            Decision::CannotTell(_) => self.cannot_tell += 1,
            Decision::Steps(chosen) => {
                self.steps += 1;
                if chosen.found.width == path.width {
                    self.width_right += 1;
                    let overhead = (chosen.found.offset() + 1) % path.width;
                    let away = (overhead + path.width - path.overhead % path.width) % path.width;
                    self.overhead_right += u32::from(away.min(path.width - away) <= 1);
                }
            }
        }
    }
}
