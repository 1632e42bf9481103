//! The period at which starts have the same phase.
//!
//! Periods near the gaps that are most frequent are tried, near the mean gap, and near halves and thirds of these. The
//! phases of n starts at random, of any one period, have a mean of squared length 1/n on average, with an
//! exponential tail; what is asked for leaves random starts one chance in ten thousand over all that are tried.

use super::{MOST_MISSED, Regular, mean};
use delaylab_model::Nanos;
use std::f64::consts::TAU;

/// The mean phase is at least so long: 0 at random, 1 of an exact timer. One that waits for up to half of its
/// period each second time has 0.6, one that waits for 0.4 of it on average, exponentially, 0.37.
const LEAST_LENGTH: f64 = 0.25;
/// A logarithm of the chances against random starts.
const SURE: f64 = 9.2;
/// Gaps that differ by less are one kind.
const ALIKE: f64 = 1.1;
/// The frequent gap may be so many periods.
const MOST_SKIPPED: u32 = 3;
/// Starts that are nearer to each other than this share of the mean gap are of one burst.
const IN_A_BURST: f64 = 0.5;
/// So far around a candidate the period is looked for.
const AROUND: f64 = 0.12;
/// Frequencies for each one that the time observed tells apart.
const FINER: f64 = 4.0;
/// Starts of a stretch that are looked at: time grows with their square.
const MOST_STARTS: usize = 500;

/// The period of starts whose gaps are these, by the stretch that has most of them: a stretch of few has a
/// period by chance.
pub(super) fn regular(stretches: &[Vec<Nanos>], gaps: &[f64]) -> Option<Regular> {
    let starts = since_first(stretches.iter().max_by_key(|starts| starts.len())?);
    let lasts = starts.last().copied().filter(|&lasts| lasts > 0.0)?;
    let mean = mean(gaps);
    let step = 1.0 / (FINER * lasts);
    let (mut best, mut tried) = ((0.0, 0.0), 0.0);
    // A shorter period explains the starts of a longer one as well: it must do so better.
    for (times, gap) in
        (1..=MOST_SKIPPED).flat_map(|times| [(times, most_frequent(gaps)), (times, Some(mean))])
    {
        let around = f64::from(times) / gap?;
        if mean * around > MOST_MISSED {
            continue;
        }
        let mut frequency = around * (1.0 - AROUND);
        while frequency <= around * (1.0 + AROUND) {
            let length = mean_phase(&starts, frequency);
            if length > best.0 * ALIKE.powi(times as i32 - 1) {
                best = (length, frequency);
            }
            tried += 1.0;
            frequency += step;
        }
    }
    let (length, frequency) = best;
    let strength = strength(&starts, frequency, IN_A_BURST * mean);
    let sure = strength >= SURE + f64::ln(tried) && length >= LEAST_LENGTH;
    sure.then(|| {
        // The curvature of the logarithm of likelihood at its peak, as for Z² = 2·strength.
        let relative = 3_f64.sqrt() / (TAU / 2.0 * lasts * frequency * (2.0 * strength).sqrt());
        Regular {
            period_ns: 1.0 / frequency,
            error_ns: relative / frequency,
            share: length,
            gaps: gaps.len(),
        }
    })
}

/// How many times the squared length of the sum of phases is what independent bursts have on average.
fn strength(starts: &[f64], frequency: f64, apart: f64) -> f64 {
    let sum = |starts: &[f64]| phase_sum(starts.iter().map(|start| TAU * frequency * start));
    let square = |(x, y): (f64, f64)| x * x + y * y;
    let bursts = starts.chunk_by(|before, next| next - before < apart);
    let of_bursts: f64 = bursts.map(|burst| square(sum(burst))).sum();
    square(sum(starts)) / of_bursts.max(f64::MIN_POSITIVE)
}

fn since_first(starts: &[Nanos]) -> Vec<f64> {
    let first = starts.first().copied().unwrap_or(0);
    let some = starts.iter().take(MOST_STARTS);
    some.map(|&start| start.saturating_sub(first) as f64)
        .collect()
}

/// How long the mean of the phases is, of these times at this frequency: 1 if all are alike, 0 at random.
pub(crate) fn mean_phase(starts: &[f64], frequency: f64) -> f64 {
    let (x, y) = phase_sum(starts.iter().map(|start| TAU * frequency * start));
    x.hypot(y) / starts.len() as f64
}

/// The sum of unit vectors at these angles.
pub(crate) fn phase_sum(angles: impl Iterator<Item = f64>) -> (f64, f64) {
    angles.fold((0.0, 0.0), |(x, y), angle| {
        let (sin, cos) = angle.sin_cos();
        (x + cos, y + sin)
    })
}

/// The middle of where most gaps are alike.
fn most_frequent(gaps: &[f64]) -> Option<f64> {
    let mut gaps = gaps.to_vec();
    gaps.sort_unstable_by(f64::total_cmp);
    let end = |from: usize| gaps.partition_point(|&gap| gap <= ALIKE * gaps[from]);
    let from = (0..gaps.len()).max_by_key(|&from| end(from) - from)?;
    gaps.get((from + end(from)) / 2).copied()
}
