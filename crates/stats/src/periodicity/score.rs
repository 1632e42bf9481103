//! Z² over all frequencies, beside what the probes' own times give, and its threshold.

use super::fourier::{Complex, Fourier};
use crate::random::SplitMix;
use delaylab_model::Nanos;

/// Ticks of a cycle of the highest frequency.
const TICKS: f64 = 4.0;
/// Frequencies for each one that the time observed tells apart, at least.
const FINER: f64 = 2.0;
/// Draws that the threshold is simulated by, two at a time.
const DRAWS: usize = 60;
/// Euler's constant: the mean of Gumbel's law lies so far above its place, in units of its scale.
const EULER: f64 = 0.577_215_664_901_532_9;
/// A mode of the probes' times that varies less than this is one value.
const SINGULAR: f64 = 1e-6;
/// A lower frequency is the fundamental if its Z² is at least this share of the highest one.
const FUNDAMENTAL: f64 = 0.5;

/// When there were probes, by frequency.
#[derive(Debug)]
pub(super) struct Exposure {
    fourier: Fourier,
    /// The tick of each probe.
    ticks: Vec<usize>,
    /// The probes' own sums at each frequency, from 0 to twice the highest.
    sums: Vec<Complex>,
    /// Indices of the lowest and the highest frequency that are looked at.
    pub(super) low: usize,
    pub(super) high: usize,
    /// Cycles per ns from one frequency to the next.
    pub(super) step: f64,
}

impl Exposure {
    /// Of probes that follow each other, at least two of them apart; `range` in cycles per ns.
    pub(super) fn new(probes: &[Nanos], range: (f64, f64)) -> Self {
        let first = probes.iter().copied().min().unwrap_or(0);
        let last = probes.iter().copied().max().unwrap_or(0);
        let lasts = last.saturating_sub(first) as f64;
        let tick = 1.0 / (TICKS * range.1);
        let length = (FINER * lasts / tick).ceil() as usize + 2;
        let fourier = Fourier::new(length.next_power_of_two());
        let step = 1.0 / (tick * fourier.length() as f64);
        // Rounded: a grid's times lie in the middle of a tick, and a little jitter moves none to the next.
        let tick_of = |&time: &Nanos| (time.saturating_sub(first) as f64 / tick).round() as usize;
        let ticks: Vec<usize> = probes.iter().map(tick_of).collect();
        let mut exposure = Self {
            ticks,
            sums: Vec::new(),
            low: (range.0 / step).ceil() as usize,
            high: (range.1 / step).floor() as usize,
            step,
            fourier,
        };
        let mut values = vec![(0.0, 0.0); exposure.fourier.length()];
        exposure
            .ticks
            .iter()
            .for_each(|&tick| values[tick].0 += 1.0);
        exposure.fourier.transform(&mut values);
        exposure.sums = values;
        exposure
    }

    /// Z² of these probes at each frequency; 0 below the lowest.
    pub(super) fn scores(&self, events: &[usize]) -> Vec<f64> {
        let [scores, _] = self.scores_of_two([events, &[]]);
        scores
    }

    /// Of two sets of probes: one is the real part of what is transformed, the other the imaginary one.
    fn scores_of_two(&self, events: [&[usize]; 2]) -> [Vec<f64>; 2] {
        let mut values = vec![(0.0, 0.0); self.fourier.length()];
        for &probe in events[0] {
            values[self.ticks[probe]].0 += 1.0;
        }
        for &probe in events[1] {
            values[self.ticks[probe]].1 += 1.0;
        }
        self.fourier.transform(&mut values);
        let mut scores = [vec![0.0; self.high + 1], vec![0.0; self.high + 1]];
        for k in self.low..=self.high {
            let (x, mirrored) = (values[k], values[values.len() - k]);
            let real = ((x.0 + mirrored.0) / 2.0, (x.1 - mirrored.1) / 2.0);
            let imaginary = ((x.1 + mirrored.1) / 2.0, (mirrored.0 - x.0) / 2.0);
            scores[0][k] = self.score(k, real, events[0].len() as f64);
            scores[1][k] = self.score(k, imaginary, events[1].len() as f64);
        }
        scores
    }

    /// v'·Σ⁻¹·v of the sums of `count` events, v their distance from the mean and Σ the covariance of as
    /// many probes drawn without replacement.
    fn score(&self, k: usize, sum: Complex, count: f64) -> f64 {
        let all = self.ticks.len() as f64;
        let (cos, sin) = (self.sums[k].0 / all, self.sums[k].1 / all);
        let double = self.sums[(2 * k) % self.sums.len()];
        let (cos2, sin2) = (double.0 / all, double.1 / all);
        let (cc, ss) = (
            (1.0 + cos2) / 2.0 - cos * cos,
            (1.0 - cos2) / 2.0 - sin * sin,
        );
        let cs = sin2 / 2.0 - cos * sin;
        let determinant = cc * ss - cs * cs;
        if determinant < SINGULAR {
            return 0.0;
        }
        let (c, s) = (sum.0 - count * cos, sum.1 - count * sin);
        let squares = (ss * c * c - 2.0 * cs * c * s + cc * s * s) / determinant;
        squares / (count * (all - count) / (all - 1.0))
    }

    /// What the largest Z² of events that last so many probes each exceeds in this share of series without a
    /// period.
    pub(super) fn threshold(&self, lengths: &[usize], false_alarms: f64, seed: u64) -> f64 {
        let mut random = SplitMix::new(seed);
        let mut lengths = lengths.to_vec();
        let largest = |scores: Vec<f64>| scores.into_iter().fold(0.0, f64::max);
        let mut sum = 0.0;
        for _ in 0..DRAWS / 2 {
            let (one, other) = (
                self.draw(&mut lengths, &mut random),
                self.draw(&mut lengths, &mut random),
            );
            let [one, other] = self.scores_of_two([&one, &other]).map(largest);
            sum += one + other;
        }
        let mean = sum / DRAWS as f64;
        let place = mean - 2.0 * EULER;
        place - 2.0 * (-(-false_alarms).ln_1p()).ln()
    }

    /// The first probes of events of these lengths, at least one probe apart: every arrangement is as likely as every
    /// other, as it is where each probe is disturbed by chance. Events leave each other little room where they are
    /// long or many: their distances are then not those of single probes at random.
    fn draw(&self, lengths: &mut [usize], random: &mut SplitMix) -> Vec<usize> {
        random.shuffle(lengths);
        let taken: usize = lengths.iter().map(|length| length + 1).sum();
        // The last one needs no probe behind it.
        let mut free = (self.ticks.len() + 1).saturating_sub(taken);
        let mut at = 0;
        let mut drawn = Vec::with_capacity(lengths.len());
        while let Some(length) = lengths.get(drawn.len()) {
            let left = lengths.len() - drawn.len();
            if random.below(free + left) < left {
                drawn.push(at);
                at += length + 1;
            } else {
                free -= 1;
                at += 1;
            }
        }
        drawn
    }
}

/// The frequency that the events have, beyond the threshold: the lowest that the strongest is a whole
/// multiple of and that is about as strong. Short events at regular intervals are as strong at every
/// multiple; what has the fundamental alone is never strong below it.
pub(super) fn fundamental(scores: &[f64], exposure: &Exposure, threshold: f64) -> Option<usize> {
    let ranks = 0..scores.len();
    let strongest = ranks.max_by(|&a, &b| scores[a].total_cmp(&scores[b]))?;
    if scores[strongest] <= threshold {
        return None;
    }
    let enough = threshold.max(FUNDAMENTAL * scores[strongest]);
    let times = (2..=strongest / exposure.low.max(1)).rev();
    let lower = times.map(|times| (strongest + times / 2) / times);
    let mut lower = lower.filter(|&index| scores[index] >= enough);
    Some(lower.next().unwrap_or(strongest))
}
