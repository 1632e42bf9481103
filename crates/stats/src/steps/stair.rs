//! The steps that were chosen, looked at closely: a jump beside them, how uneven they are, and intervals.

use super::bootstrap;
use super::columns::{Beside, Found};
use super::detector::{CLOSE, Detector};
use super::model::{Chosen, Model};
use super::noise;
use super::risers::{self, Free, Running};
use super::uneven::{Levels, Stair};
use super::vectors::less_mean;
use super::{Jump, Steps, Uneven};

/// A column, and what is known of its stair.
struct Fitted {
    found: Found,
    stair: Stair,
}

/// The steps chosen, with their intervals.
pub(super) fn with_intervals(
    detector: &Detector,
    delays: &[f64],
    chosen: &Chosen,
    seed: u64,
) -> Steps {
    let close = Close::new(detector, delays, chosen);
    let Some(fitted) = close.fitted() else {
        // Least squares fitted them: what is here is as good.
        return close.steps(chosen, &close.plainly(), seed);
    };
    close.steps(chosen, &fitted, seed)
}

/// Sizes and delays about their means, and steps to begin with.
struct Close<'a> {
    detector: &'a Detector,
    delays: &'a [f64],
    x: Vec<f64>,
    y: Vec<f64>,
    first: Found,
    model: Model,
    beside: Beside,
    residual: f64,
    /// Of the step, by least squares.
    interval: (f64, f64),
}

impl<'a> Close<'a> {
    fn new(detector: &'a Detector, delays: &'a [f64], chosen: &Chosen) -> Self {
        Self {
            detector,
            delays,
            x: less_mean(&detector.x),
            y: less_mean(delays),
            first: chosen.found,
            model: chosen.model(),
            beside: chosen.beside,
            residual: chosen.fit.residual_sd.unwrap_or(0.0),
            interval: chosen.fit.coefficients[1].interval(),
        }
    }

    /// Each level with a mean of its own, less this jump.
    fn free(&self, found: &Found, jump: Option<(usize, f64)>) -> Free {
        let model = Model { jump, ..self.model };
        let rest = model.less_jump(&self.y);
        Running::new(&self.x, &rest).free(&found.column(&self.detector.sizes), Beside::Line)
    }

    fn stair(&self, found: Found) -> Option<Fitted> {
        let column = less_first(found.column(&self.detector.sizes));
        let slope = self.free(&found, self.model.jump).slope;
        let noise = noise::between_neighbours(&self.x, &self.y, &column, slope);
        let levels = Levels {
            sizes: &self.x,
            column: &column,
            delays: &self.y,
            width: f64::from(found.width),
            height: self.model.step,
            noise,
        };
        let stair = levels.stair()?;
        (stair.step > 0.0).then_some(Fitted { found, stair })
    }

    /// The first column, or the best near it where even steps alone do not explain the delays.
    fn fitted(&self) -> Option<Fitted> {
        let first = self.stair(self.first)?;
        if first.stair.uneven.is_none() && first.stair.jump.is_none() && self.model.jump.is_none() {
            return Some(first);
        }
        let rest = self.model.less_jump(&self.y);
        let running = Running::new(&self.x, &rest);
        let near = risers::best(&self.detector.columns, &running, CLOSE);
        let others = near.into_iter().filter(|found| *found != self.first);
        let all = others.filter_map(|found| self.stair(found)).chain([first]);
        all.max_by(|a, b| a.stair.score.total_cmp(&b.stair.score))
    }

    /// By least squares alone.
    fn plainly(&self) -> Fitted {
        Fitted {
            found: self.first,
            stair: Stair {
                step: self.model.step,
                interval: self.interval,
                slope: (self.beside == Beside::Line).then_some(self.model.slope),
                jump: self.model.jump,
                uneven: None,
                residual: self.residual,
                score: 0.0,
            },
        }
    }

    fn steps(&self, chosen: &Chosen, fitted: &Fitted, seed: u64) -> Steps {
        let Fitted { found, stair } = fitted;
        let beside = match stair.slope {
            None => Beside::Constant,
            Some(_) => Beside::Line,
        };
        let mut model = Model {
            intercept: 0.0,
            step: stair.step,
            slope: stair.slope.unwrap_or(0.0),
            jump: stair.jump,
        };
        let column = found.column(&self.detector.sizes);
        let fitted = model.delays(&self.detector.x, &column);
        let rest = self.delays.iter().zip(&fitted).map(|(y, f)| y - f);
        model.intercept = rest.sum::<f64>() / self.delays.len() as f64;
        let mut fitted = model.delays(&self.detector.x, &column);
        let mut coefficients = 2 + usize::from(stair.slope.is_some());
        let mut away = Vec::new();
        if stair.uneven.is_some() {
            away = self.follow_levels(found, &mut fitted);
            coefficients += away.len() - 1;
        }
        let residuals: Vec<f64> = self
            .delays
            .iter()
            .zip(&fitted)
            .map(|(y, f)| y - f)
            .collect();
        let of = (found, beside);
        let draws = bootstrap::draw(self.detector, of, &model, (&residuals, coefficients), seed);
        let least = bootstrap::ends(f64::from(found.least_width), &draws, |draw| {
            f64::from(draw.found.least_width)
        });
        let most = bootstrap::ends(f64::from(found.width), &draws, |draw| {
            f64::from(draw.found.width)
        });
        Steps {
            width: found.width,
            width_interval: (
                found.least_width.min(least.0 as u32),
                found.width.max(most.1 as u32),
            ),
            width_draws: draws
                .iter()
                .map(|draw| (draw.found.least_width, draw.found.width))
                .collect(),
            offset: found.offset(),
            overhead: (found.offset() + 1) % found.width,
            overhead_interval: bootstrap::overheads(found, &draws),
            step_ns: model.step,
            step_interval: stair.interval,
            slope: model.slope,
            slope_interval: bootstrap::ends(model.slope, &draws, |draw| draw.slope),
            intercept_ns: model.intercept,
            residual_ns: stair.residual,
            delta_bic: chosen.delta_bic,
            chance: chosen.chance,
            sizes: self.delays.len(),
            jump: stair.jump.map(|(index, height_ns)| Jump {
                at: self.detector.sizes[index],
                sizes: self.delays.len() - index,
                height_ns,
            }),
            uneven: stair.uneven.map(|sd_ns| self.uneven(sd_ns, found, stair)),
            away,
        }
    }

    /// Moves what is fitted to the mean of each level, and says by how much.
    fn follow_levels(&self, found: &Found, fitted: &mut [f64]) -> Vec<(u32, f64)> {
        let rest = self.delays.iter().zip(&*fitted).map(|(y, f)| y - f);
        let rest: Vec<f64> = rest.collect();
        let column = found.column(&self.detector.sizes);
        let free = Running::new(&self.x, &rest).free(&column, Beside::Constant);
        let levels = free.levels.iter();
        let away: Vec<_> = levels
            .map(|&(level, _, mean)| (level as u32, mean))
            .collect();
        for (value, &level) in fitted.iter_mut().zip(&column) {
            let of_level = away.iter().find(|(at, _)| *at == level as u32);
            *value += of_level.map_or(0.0, |(_, mean)| *mean);
        }
        away
    }

    /// How much the steps differ.
    fn uneven(&self, sd_ns: f64, found: &Found, stair: &Stair) -> Uneven {
        let slope = stair.slope.unwrap_or(0.0);
        let jump = Model {
            jump: stair.jump,
            ..self.model
        };
        let rest = jump.less_jump(&self.y);
        let rest: Vec<f64> = rest
            .iter()
            .zip(&self.x)
            .map(|(y, x)| y - slope * x)
            .collect();
        let column = found.column(&self.detector.sizes);
        let free = Running::new(&self.x, &rest).free(&column, Beside::Constant);
        let heights = free.heights().map(|(height, _)| height);
        let (least_ns, most_ns) = heights
            .fold((f64::INFINITY, 0.0_f64), |(least, most), height| {
                (least.min(height), most.max(height))
            });
        Uneven {
            sd_ns,
            least_ns,
            most_ns,
        }
    }
}

fn less_first(mut column: Vec<f64>) -> Vec<f64> {
    let first = column.first().copied().unwrap_or(0.0);
    column.iter_mut().for_each(|level| *level -= first);
    column
}
