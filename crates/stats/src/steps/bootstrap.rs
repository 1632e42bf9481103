//! How far width, offset and slope can be trusted: the model's residuals are drawn anew.

use super::columns::{Beside, Found};
use super::detector::Detector;
use super::model::Model;
use crate::functional::Functional;
use crate::random::SplitMix;

const RESAMPLES: usize = 400;
/// Share of draws that lies beyond each end of an interval.
const TAIL: f64 = 0.025;
/// Fewer draws of the same width say nothing of its offset.
const LEAST_ALIKE: usize = 40;

/// What one draw gave.
pub(super) struct Draw {
    pub(super) found: Found,
    pub(super) slope: f64,
}

/// Ends of the 95 % interval of what each draw gave, or this alone.
pub(super) fn ends(own: f64, draws: &[Draw], of: impl Fn(&Draw) -> f64) -> (f64, f64) {
    let mut values: Vec<f64> = draws.iter().map(of).collect();
    let mut at = |q: f64| Functional::Quantile(q).value(&mut values).unwrap_or(own);
    (at(TAIL), at(1.0 - TAIL))
}

/// Steps sought in even ones with these coefficients, and residuals that are drawn anew. `residuals` are
/// of a fit with so many coefficients: it takes some of the noise.
pub(super) fn draw(
    detector: &Detector,
    (found, beside): (&Found, Beside),
    model: &Model,
    (residuals, coefficients): (&[f64], usize),
    seed: u64,
) -> Vec<Draw> {
    let count = residuals.len();
    let mut random = SplitMix::new(seed);
    let even = Model {
        jump: None,
        ..*model
    };
    let fitted = even.delays(&detector.x, &found.column(&detector.sizes));
    // With as many degrees of freedom as the draws will have.
    let degrees = count.saturating_sub(coefficients).max(1);
    let stretch = (count as f64 / degrees as f64).sqrt();
    let once = |_| {
        let drawn: Vec<f64> = (fitted.iter())
            .map(|f| f + stretch * residuals[random.below(count)])
            .collect();
        let plain = detector.plain(&drawn)?;
        let rest = match beside {
            Beside::Constant => &plain.centred,
            Beside::Line => &plain.beside_line,
        };
        let found = detector.columns.best(rest, beside)?;
        let fit = detector.fit(&drawn, &found, (beside, None))?;
        let slope = Model::new(&fit, beside, None).slope;
        Some(Draw { found, slope })
    };
    (0..RESAMPLES).filter_map(once).collect()
}

/// The overheads of draws with the same width, those that the sizes do not tell apart among them.
pub(super) fn overheads(found: &Found, draws: &[Draw]) -> (i64, i64) {
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
