//! The exact period, and which events come when it says.

use super::score::Exposure;
use crate::regularity::phase_sum;
use delaylab_model::Nanos;
use std::f64::consts::TAU;

/// Shares of the period that events may scatter over.
const WINDOWS: [f64; 7] = [0.02, 0.04, 0.08, 0.12, 0.2, 0.3, 0.4];
/// Golden sections of the interval that the period is sought in.
const SECTIONS: usize = 40;
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// Events by their phase.
#[derive(Debug)]
pub(super) struct Folded {
    pub(super) period_ns: f64,
    pub(super) share: f64,
    pub(super) due: Nanos,
    pub(super) tolerance_ns: f64,
    /// The harmonic that the period was told from.
    harmonic: f64,
    lasts: f64,
}

impl Folded {
    /// Of events among probes, both in order of time, near the frequency of this index.
    pub(super) fn new(
        events: &[Nanos],
        probes: &[Nanos],
        exposure: &Exposure,
        peak: usize,
    ) -> Self {
        let first = probes.first().copied().unwrap_or(0);
        let since = |&time: &Nanos| time.saturating_sub(first) as f64;
        let times: Vec<f64> = events.iter().map(since).collect();
        let middle = peak as f64 * exposure.step;
        let reach = exposure.step;
        let highest = exposure.high as f64 * exposure.step;
        let (frequency, harmonic) = by_harmonics(&times, (middle, reach), highest);
        let phases = |times: &mut dyn Iterator<Item = f64>| {
            let mut phases: Vec<f64> = times.map(|t| (t * frequency).rem_euclid(1.0)).collect();
            phases.sort_unstable_by(f64::total_cmp);
            phases
        };
        let of_events = phases(&mut times.iter().copied());
        let of_probes = phases(&mut probes.iter().map(since));
        let (share, start, width) = best_window(&of_events, &of_probes);
        Self {
            period_ns: 1.0 / frequency,
            share,
            due: first + ((start + width / 2.0) / frequency).round() as Nanos,
            tolerance_ns: width / 2.0 / frequency,
            harmonic,
            lasts: probes.last().map_or(0.0, since),
        }
    }

    /// Relative standard error of the period, where events are spread over the time observed: the
    /// curvature of Z²/2, a logarithm of likelihood, at its peak.
    pub(super) fn error(&self, score: f64) -> f64 {
        let of_frequency = 3_f64.sqrt() / (TAU / 2.0 * self.lasts * score.sqrt());
        of_frequency * self.period_ns / self.harmonic
    }
}

/// The frequency within reach of this one, told from the highest harmonic that is about as strong: its
/// error is the smaller. Each time the harmonic is doubled, so that its peak cannot be missed.
fn by_harmonics(times: &[f64], (middle, reach): (f64, f64), highest: f64) -> (f64, f64) {
    let mut frequency = strongest(times, middle - reach, middle + reach);
    let enough = power(times, frequency) / 2.0;
    let mut harmonic = 1.0;
    while 2.0 * harmonic * frequency <= highest {
        let near = 2.0 * harmonic * frequency;
        let next = strongest(times, near - reach, near + reach);
        if power(times, next) < enough {
            break;
        }
        harmonic *= 2.0;
        frequency = next / harmonic;
    }
    (frequency, harmonic)
}

/// The frequency with the largest sum of phases in an interval that holds one peak.
fn strongest(times: &[f64], mut low: f64, mut high: f64) -> f64 {
    for _ in 0..SECTIONS {
        let part = GOLDEN * (high - low);
        if power(times, high - part) > power(times, low + part) {
            high = low + part;
        } else {
            low = high - part;
        }
    }
    (low + high) / 2.0
}

/// Squared sum of the phases.
fn power(times: &[f64], frequency: f64) -> f64 {
    let (x, y) = phase_sum(times.iter().map(|t| TAU * frequency * t));
    x * x + y * y
}

/// The window of phases with most events beyond those that would be there by chance: their share of
/// all, where it begins, and how wide it is. Phases are in order, from 0 to 1.
fn best_window(events: &[f64], probes: &[f64]) -> (f64, f64, f64) {
    let within = |phases: &[f64], start: f64, width: f64| {
        let below = |phase: f64| phases.partition_point(|&p| p <= phase) as f64;
        let least = phases.partition_point(|&p| p < start) as f64;
        let end = start + width;
        let wrapped = if end >= 1.0 { below(end - 1.0) } else { 0.0 };
        (below(end) - least + wrapped) / phases.len() as f64
    };
    let mut best = (0.0, 0.0, WINDOWS[0]);
    for width in WINDOWS {
        for &start in events {
            let by_chance = within(probes, start, width).min(0.999);
            let beyond = (within(events, start, width) - by_chance) / (1.0 - by_chance);
            if beyond > best.0 {
                best = (beyond, start, width);
            }
        }
    }
    best
}
