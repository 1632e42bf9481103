//! How far width, offset and height can be trusted: the model's residuals are drawn anew.

use super::Steps;
use super::columns::{Beside, Found};
use super::detector::{Chosen, Detector};
use crate::functional::Functional;
use crate::least_squares::Fit;
use crate::random::SplitMix;

const RESAMPLES: usize = 400;
/// Share of draws that lies beyond each end of an interval.
const TAIL: f64 = 0.025;
/// Fewer draws of the same width say nothing of its offset.
const LEAST_ALIKE: usize = 40;

/// One draw.
struct Draw {
    found: Found,
    step: f64,
    slope: f64,
}

/// The steps chosen, with their intervals.
pub(super) fn with_intervals(
    detector: &Detector,
    delays: &[f64],
    chosen: &Chosen,
    seed: u64,
) -> Steps {
    let fit = detector.fit(delays, &chosen.found, chosen.beside);
    let found = chosen.found;
    let (intercept, step, slope) = fit.as_ref().map_or((f64::NAN, f64::NAN, f64::NAN), numbers);
    let draws = fit.map_or_else(Vec::new, |fit| draw(detector, delays, chosen, &fit, seed));
    let ends = |of: &dyn Fn(&Draw) -> f64| {
        let mut values: Vec<f64> = draws.iter().map(of).collect();
        let mut at = |q: f64| Functional::Quantile(q).of(&mut values).unwrap_or(f64::NAN);
        (at(TAIL), at(1.0 - TAIL))
    };
    let least = ends(&|draw| f64::from(draw.found.least_width)).0;
    let most = ends(&|draw| f64::from(draw.found.width)).1;
    let residual = residuals(detector, delays, chosen, (intercept, step, slope));
    let free = (delays.len() - parameters(chosen.beside)) as f64;
    Steps {
        width: found.width,
        width_interval: (
            found.least_width.min(least as u32),
            found.width.max(most as u32),
        ),
        offset: found.offset(),
        overhead: (found.offset() + 1) % found.width,
        overhead_interval: overheads(&found, &draws),
        step_ns: step,
        step_interval: ends(&|draw| draw.step),
        slope,
        slope_interval: ends(&|draw| draw.slope),
        intercept_ns: intercept,
        residual_ns: (residual.iter().map(|r| r * r).sum::<f64>() / free).sqrt(),
        delta_bic: chosen.delta_bic,
        chance: chosen.chance,
        sizes: delays.len(),
    }
}

const fn parameters(beside: Beside) -> usize {
    match beside {
        Beside::Constant => 2,
        Beside::Line => 3,
    }
}

/// Constant, height and slope.
fn numbers(fit: &Fit) -> (f64, f64, f64) {
    let of = |index: usize| fit.coefficients.get(index).map_or(0.0, |c| c.value);
    (of(0), of(1), of(2))
}

fn residuals(
    detector: &Detector,
    delays: &[f64],
    chosen: &Chosen,
    model: (f64, f64, f64),
) -> Vec<f64> {
    let fitted = fitted(detector, chosen, model);
    delays.iter().zip(fitted).map(|(y, f)| y - f).collect()
}

fn fitted(
    detector: &Detector,
    chosen: &Chosen,
    (intercept, step, slope): (f64, f64, f64),
) -> Vec<f64> {
    let column = chosen.found.column(&detector.sizes);
    let pairs = detector.sizes.iter().zip(column);
    pairs
        .map(|(&size, level)| intercept + step * level + slope * f64::from(size))
        .collect()
}

fn draw(
    detector: &Detector,
    delays: &[f64],
    chosen: &Chosen,
    fit: &Fit,
    seed: u64,
) -> Vec<Draw> {
    let count = delays.len();
    let mut random = SplitMix::new(seed);
    let fitted = fitted(detector, chosen, numbers(fit));
    let mut residuals = residuals(detector, delays, chosen, numbers(fit));
    // A fit takes some of the noise: with as many degrees of freedom as the draws will have.
    let stretch = (count as f64 / (count - parameters(chosen.beside)) as f64).sqrt();
    residuals.iter_mut().for_each(|r| *r *= stretch);
    let once = |_| {
        let drawn: Vec<f64> = (fitted.iter())
            .map(|f| f + residuals[random.below(count)])
            .collect();
        let plain = detector.plain(&drawn)?;
        let rest = match chosen.beside {
            Beside::Constant => &plain.centred,
            Beside::Line => &plain.beside_line,
        };
        let found = detector.columns.best(rest, chosen.beside)?;
        let (_, step, slope) = numbers(&detector.fit(&drawn, &found, chosen.beside)?);
        Some(Draw { found, step, slope })
    };
    (0..RESAMPLES).filter_map(once).collect()
}

/// The overheads of draws with the same width, those that the sizes do not tell apart among them.
fn overheads(found: &Found, draws: &[Draw]) -> (i64, i64) {
    let width = i64::from(found.width);
    let own = i64::from(found.offset() + 1) % width;
    let alike = || draws.iter().filter(|draw| draw.found.width == found.width);
    if alike().count() < LEAST_ALIKE {
        return (0, width - 1);
    }
    let away = |draw: &Draw| {
        let start = i64::from(draw.found.first_offset) + 1 - own;
        let start = (start + width / 2).rem_euclid(width) - width / 2;
        (start, start + i64::from(draw.found.alike) - 1)
    };
    let mut starts: Vec<i64> = alike().map(|draw| away(draw).0).collect();
    let mut ends: Vec<i64> = alike().map(|draw| away(draw).1).collect();
    starts.sort_unstable();
    ends.sort_unstable();
    let tail = (TAIL * starts.len() as f64) as usize;
    let (low, high) = (starts[tail], ends[ends.len() - 1 - tail]);
    if high - low >= width - 1 {
        (0, width - 1)
    } else {
        (own + low, own + high)
    }
}
