//! What the detector finds in a design, by simulation: its false alarms and its power.

use super::detector::{Decision, Detector};
use super::{PerSize, Settings};
use crate::random::SplitMix;

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

/// `runs` measurements of this path by this design. The same seed gives the same outcomes. No interval
/// is made, so that a measurement of 145 sizes takes well under a millisecond.
///
/// Errors: why these sizes tell nothing.
pub fn simulate(
    design: &Design,
    path: &Path,
    settings: &Settings,
    runs: u32,
) -> Result<Outcomes, String> {
    let limit = settings.largest();
    let mut sizes: Vec<u32> = design
        .sizes
        .iter()
        .copied()
        .filter(|&s| s <= limit)
        .collect();
    sizes.sort_unstable();
    let detector = Detector::new(&sizes, &settings.widths)?;
    let mut random = SplitMix::new(settings.seed);
    let mut outcomes = Outcomes {
        runs,
        ..Outcomes::default()
    };
    for _ in 0..runs {
        let delays = sizes
            .iter()
            .map(|&size| design.measure(path, size, &mut random));
        outcomes.add(detector.decide(&delays.collect::<Vec<_>>()), path);
    }
    Ok(outcomes)
}

impl Design {
    /// The number that stands for a size in one measurement, ns.
    pub(super) fn measure(&self, path: &Path, size: u32, random: &mut SplitMix) -> f64 {
        let delay = path.delay(size);
        let packet = |_| delay + self.noise_sd_ns * self.noise.draw(random);
        let delays: Vec<f64> = (0..self.packets.max(1)).map(packet).collect();
        self.per_size.of(&delays).unwrap_or(delay)
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
    fn add(&mut self, decision: Decision, path: &Path) {
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
