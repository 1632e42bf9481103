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

/// Coefficients of steps.
#[derive(Debug, Clone, Copy)]
pub(super) struct Model {
    intercept: f64,
    step: f64,
    slope: f64,
}

/// What one draw gave.
struct Draw {
    found: Found,
    model: Model,
}

/// The steps chosen, with their intervals.
pub(super) fn with_intervals(
    detector: &Detector,
    delays: &[f64],
    chosen: &Chosen,
    seed: u64,
) -> Steps {
    let (found, model) = (chosen.found, Model::new(&chosen.fit));
    let draws = draw(detector, delays, chosen, seed);
    let ends = |own: f64, of: &dyn Fn(&Draw) -> f64| {
        let mut values: Vec<f64> = draws.iter().map(of).collect();
        let mut at = |q: f64| Functional::Quantile(q).of(&mut values).unwrap_or(own);
        (at(TAIL), at(1.0 - TAIL))
    };
    let own = f64::from(found.width);
    let least = ends(own, &|draw| f64::from(draw.found.least_width)).0;
    let most = ends(own, &|draw| f64::from(draw.found.width)).1;
    Steps {
        width: found.width,
        width_interval: (
            found.least_width.min(least as u32),
            found.width.max(most as u32),
        ),
        width_draws: draws
            .iter()
            .map(|draw| (draw.found.least_width, draw.found.width))
            .collect(),
        offset: found.offset(),
        overhead: (found.offset() + 1) % found.width,
        overhead_interval: overheads(&found, &draws),
        step_ns: model.step,
        step_interval: ends(model.step, &|draw| draw.model.step),
        slope: model.slope,
        slope_interval: ends(model.slope, &|draw| draw.model.slope),
        intercept_ns: model.intercept,
        residual_ns: chosen.fit.residual_sd.unwrap_or(0.0),
        delta_bic: chosen.delta_bic,
        chance: chosen.chance,
        sizes: delays.len(),
    }
}

impl Model {
    pub(super) fn new(fit: &Fit) -> Self {
        let of = |index: usize| fit.coefficients.get(index).map_or(0.0, |c| c.value);
        Self {
            intercept: of(0),
            step: of(1),
            slope: of(2),
        }
    }

    /// Of these sizes, with the levels of `column`.
    pub(super) fn delays(&self, sizes: &[u32], column: &[f64]) -> Vec<f64> {
        let pairs = sizes.iter().zip(column);
        pairs
            .map(|(&s, level)| self.intercept + self.step * level + self.slope * f64::from(s))
            .collect()
    }
}

fn draw(detector: &Detector, delays: &[f64], chosen: &Chosen, seed: u64) -> Vec<Draw> {
    let count = delays.len();
    let mut random = SplitMix::new(seed);
    let column = chosen.found.column(&detector.sizes);
    let fitted = Model::new(&chosen.fit).delays(&detector.sizes, &column);
    // A fit takes some of the noise: with as many degrees of freedom as the draws will have.
    let stretch = (count as f64 / f64::from(chosen.fit.degrees)).sqrt();
    let pairs = delays.iter().zip(&fitted);
    let residuals: Vec<f64> = pairs.map(|(y, f)| stretch * (y - f)).collect();
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
        let model = Model::new(&detector.fit(&drawn, &found, chosen.beside)?);
        Some(Draw { found, model })
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
