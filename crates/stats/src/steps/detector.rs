//! Which model stands: constant, line, one jump, steps, or line and steps.

use super::alternatives;
use super::columns::{Beside, Columns, Found};
use super::joint;
use super::jumps::Jumps;
use super::model::{self, Chosen};
use super::noise::{self, RESOLUTION};
use super::risers::{self, Free, Running};
use super::vectors::{beyond, less_mean, squares};
use super::{Constant, Doubt, FALSE_ALARMS, Jump, LEAST_SIZES, Line, MARGIN};
use crate::least_squares::{self, Fit};
use crate::student;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// Of a standard normal variable, 95 % are below it: the power that "would be found" means.
const POWER: f64 = 1.645;
/// Where steps are uneven, so many columns are compared.
pub(super) const CLOSE: usize = 8;
/// A jump of more than so many steps is none of uneven steps.
const HIGHER: f64 = 0.5;

/// What was decided.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Decision {
    Constant(Constant),
    Line(Line),
    Steps(Chosen),
    CannotTell(Doubt),
}

/// What is ready for the delays of a set of sizes.
#[derive(Debug)]
pub(super) struct Detector {
    /// In order.
    pub(super) sizes: Vec<u32>,
    pub(super) x: Vec<f64>,
    pub(super) columns: Columns,
    widths: RangeInclusive<u32>,
    /// What models with steps pay for the search, in BIC.
    charge: f64,
    /// The same of models with steps and a jump.
    charge_with_jump: f64,
}

/// A decision, and what it was made with.
#[derive(Debug)]
pub(super) struct Decided {
    /// For the sizes that were used.
    pub(super) detector: Detector,
    pub(super) decision: Decision,
}

impl Decided {
    /// For these sizes, in order, and their delays. Where delay jumps beside the best model, the sizes
    /// from there on are left out, as long as those below it can tell.
    pub(super) fn decide(
        sizes: &[u32],
        delays: &[f64],
        widths: &RangeInclusive<u32>,
    ) -> Result<(Self, Option<Jump>), Doubt> {
        let mut detector = Detector::new(sizes, widths)?;
        let mut left_out = None;
        loop {
            let (decision, jump) = detector.decide(&delays[..detector.sizes.len()]);
            let below = jump.and_then(|jump| {
                let count = sizes.partition_point(|&size| size < jump.at);
                let detector = Detector::new(&sizes[..count], widths).ok()?;
                let sizes = sizes.len() - count;
                Some((detector, Jump { sizes, ..jump }))
            });
            let Some((smaller, jump)) = below else {
                return Ok((Self { detector, decision }, left_out));
            };
            (detector, left_out) = (smaller, Some(jump));
        }
    }
}

/// Delays, what the line leaves of them, and both models without steps.
pub(super) struct Plain {
    pub(super) centred: Vec<f64>,
    pub(super) beside_line: Vec<f64>,
    mean: f64,
    line: Fit,
}

impl Detector {
    /// For these sizes, in order; why they tell nothing.
    pub(super) fn new(sizes: &[u32], widths: &RangeInclusive<u32>) -> Result<Self, Doubt> {
        let different = sizes.iter().collect::<BTreeSet<_>>().len();
        if different < LEAST_SIZES {
            return Err(Doubt::FewSizes { sizes: different });
        }
        let columns = Columns::new(sizes, widths);
        if columns.count() == 0 {
            let width = *widths.start();
            return Err(Doubt::Narrow { width });
        }
        let one_width = widths.start() == widths.end();
        let charge = |columns| charge(sizes.len(), columns, one_width);
        Ok(Self {
            charge: charge(columns.count()),
            charge_with_jump: charge(columns.count() * sizes.len()),
            sizes: sizes.to_vec(),
            x: sizes.iter().map(|&size| f64::from(size)).collect(),
            columns,
            widths: widths.clone(),
        })
    }

    fn count(&self) -> f64 {
        self.sizes.len() as f64
    }

    /// BIC of a model with so many coefficients, charges for a search apart.
    fn bic(&self, squares: f64, coefficients: f64) -> f64 {
        let variance = (squares / self.count()).max(RESOLUTION);
        self.count() * variance.ln() + coefficients * self.count().ln()
    }

    /// Without steps; `None` where no line can be fitted.
    pub(super) fn plain(&self, delays: &[f64]) -> Option<Plain> {
        let line = least_squares::line(&self.x, delays).ok()?;
        let mean = delays.iter().sum::<f64>() / self.count();
        let (a, b) = (line.coefficients[0].value, line.coefficients[1].value);
        let rest = delays.iter().zip(&self.x).map(|(y, x)| y - a - b * x);
        Some(Plain {
            centred: delays.iter().map(|y| y - mean).collect(),
            beside_line: rest.collect(),
            mean,
            line,
        })
    }

    /// The model with these steps: a constant, the steps' height, beside a line its slope and, where
    /// there is a jump, its height.
    pub(super) fn fit(
        &self,
        delays: &[f64],
        found: &Found,
        (beside, jump): (Beside, Option<usize>),
    ) -> Option<Fit> {
        let mut columns = vec![vec![1.0; self.sizes.len()], found.column(&self.sizes)];
        if beside == Beside::Line {
            columns.push(self.x.clone());
        }
        columns.extend(jump.map(|index| beyond(self.sizes.len(), index)));
        least_squares::least_squares(&columns, delays).ok()
    }

    /// What stands, and where delay jumps beside it, if it does, so that the sizes beyond are of no use.
    pub(super) fn decide(&self, delays: &[f64]) -> (Decision, Option<Jump>) {
        let Some(plain) = self.plain(delays) else {
            return (Decision::CannotTell(Doubt::NoLine), None);
        };
        let constant = self.bic(squares(&plain.centred), 1.0);
        let line = self.bic(squares(&plain.beside_line), 2.0);
        let jumps = Jumps::new(&self.x, &plain.beside_line);
        let with_jump = self.bic(jumps.least_squares(), 4.0);
        let without = constant.min(line).min(with_jump);
        let alone = self.best_steps(delays, &plain);
        let alone = alone.filter(|(_, bic)| without - bic > MARGIN);
        let odd = match &alone {
            Some((chosen, _)) => self.jump_beside(chosen, delays).is_some(),
            None => with_jump < constant.min(line),
        };
        let joint = odd.then(|| self.best_joint(delays, &plain)).flatten();
        let joint = joint.filter(|(_, bic)| without - bic > MARGIN);
        let steps = [alone, joint].into_iter().flatten();
        let best = steps.min_by(|a, b| a.1.total_cmp(&b.1));
        match best {
            Some(best) if self.beats_alternatives(&best, delays) => {
                let (mut chosen, bic) = best;
                chosen.delta_bic = without - bic;
                chosen.chance = match chosen.jump {
                    None => {
                        self.chance(constant.min(line) - bic, self.columns.count(), self.charge)
                    }
                    Some(_) => {
                        let tried = self.columns.count() * self.sizes.len();
                        self.chance(with_jump - bic, tried, self.charge_with_jump)
                    }
                };
                let jump = self.ends_at(&chosen, delays);
                return (Decision::Steps(chosen), jump);
            }
            Some((chosen, _)) if self.two_risers(&chosen, delays) => {
                return (Decision::CannotTell(Doubt::FewRisers), None);
            }
            _ => {}
        }
        let enough = |squares| constant.min(line) - self.bic(squares, 4.0) > MARGIN;
        if let Some(jump) = jumps.firm(enough) {
            let doubt = Doubt::Jump { at: jump.at };
            return (Decision::CannotTell(doubt), Some(jump));
        }
        let decision = if constant - line > MARGIN {
            self.line(&plain)
        } else {
            Decision::Constant(self.constant(&plain))
        };
        (decision, None)
    }

    /// Are these steps, with their BIC, better than any curve with up to two jumps, and no worse than a line with
    /// more? Each step may have a height of its own. Many jumps also fit single sizes that are late, which says nothing
    /// against steps: before these are compared, such sizes are moved to their level ([`Self::in_line`]).
    fn beats_alternatives(&self, (chosen, bic): &(Chosen, f64), delays: &[f64]) -> bool {
        let of = |squares: f64, coefficients: f64| self.bic(squares, coefficients);
        let charges = bic - of(chosen.squares(), 0.0);
        let own = |delays: &[f64]| {
            let fit = self.fit(delays, &chosen.found, (chosen.beside, chosen.jump))?;
            let even = of(model::squares_of(&fit), 0.0);
            let uneven = (self.free_of(chosen, delays))
                .and_then(|_| self.uneven_bic(chosen, delays))
                .map_or(even, |uneven| uneven.min(even));
            Some(charges + uneven)
        };
        let few = alternatives::with_few_jumps(&self.x, delays, of);
        let many = |delays: &[f64]| alternatives::with_many_jumps(&self.x, delays, of);
        let in_line = self.in_line(chosen, delays);
        own(delays).is_some_and(|own| few - own > MARGIN)
            && own(&in_line).is_some_and(|own| many(&in_line) > own)
    }

    /// These delays without single sizes that are far from all their neighbours ([`noise::less_spikes`]), and with those that are off
    /// their level by more than noise, and by less than half a step, moved to it.
    fn in_line(&self, chosen: &Chosen, delays: &[f64]) -> Vec<f64> {
        let mut delays = noise::less_spikes(delays);
        let column = self.levels(chosen, &chosen.found);
        let x = less_mean(&self.x);
        let free = Running::new(&x, &delays).free(&column, chosen.beside);
        let own_level = |level: &f64| free.levels.iter().find(|(of, ..)| of == level);
        let on_level = column
            .iter()
            .zip(&x)
            .map(|(level, x)| own_level(level).map_or(0.0, |(_, _, mean)| mean + free.slope * x));
        let on_level: Vec<f64> = on_level.collect();
        let off = |(delay, level): (&f64, &f64)| (delay - level).abs();
        let mut all_off: Vec<f64> = delays.iter().zip(&on_level).map(off).collect();
        let far = noise::FAR_OUT * noise::normal_sd(&mut all_off);
        let half = chosen.model().step / 2.0;
        for (delay, level) in delays.iter_mut().zip(&on_level) {
            let off = (*delay - level).abs();
            if far < off && off < half {
                *delay = *level;
            }
        }
        delays
    }

    /// The column of these steps, where a new level begins at the chosen jump.
    fn levels(&self, chosen: &Chosen, found: &Found) -> Vec<f64> {
        let mut column = found.column(&self.sizes);
        let jumped = chosen.jump.unwrap_or(column.len());
        column[jumped..].iter_mut().for_each(|level| *level += 0.5);
        column
    }

    /// Are these steps no more than two risers, which jumps of any heights there explain about as well as any curve with up
    /// to two jumps does?
    fn two_risers(&self, chosen: &Chosen, delays: &[f64]) -> bool {
        let column = chosen.found.column(&self.sizes);
        let running = Running::new(&less_mean(&self.x), &less_mean(delays));
        let free = running.free(&column, Beside::Constant);
        if free.levels.len() >= joint::LEVELS {
            return false;
        }
        // Both risers have a place and a height.
        let own = self.bic(free.squares, 5.0);
        let of = |squares: f64, coefficients: f64| self.bic(squares, coefficients);
        alternatives::with_few_jumps(&self.x, delays, of) > own - MARGIN
    }

    /// Of this column or one near it, each level with a mean of its own, before and beyond a jump; only
    /// coefficients that even steps do not have count.
    fn uneven_bic(&self, chosen: &Chosen, delays: &[f64]) -> Option<f64> {
        let x = less_mean(&self.x);
        let model = chosen.model();
        let running = Running::new(&x, &less_mean(&model.less_jump(delays)));
        let near = risers::best(&self.columns, &running, CLOSE);
        let running = Running::new(&x, &less_mean(delays));
        let of = |found: Found| {
            let column = self.levels(chosen, &found);
            let free = running.free(&column, chosen.beside);
            let own = 2 + usize::from(chosen.jump.is_some());
            self.bic(free.squares, free.levels.len() as f64 - own as f64)
        };
        let all = near.into_iter().chain([chosen.found]).map(of);
        all.min_by(f64::total_cmp)
    }

    /// A jump that these steps do not explain.
    fn jump_beside(&self, chosen: &Chosen, delays: &[f64]) -> Option<Jump> {
        let fitted = chosen
            .model()
            .delays(&self.x, &chosen.found.column(&self.sizes));
        let rest: Vec<f64> = delays.iter().zip(fitted).map(|(y, f)| y - f).collect();
        let without = self.bic(squares(&rest), 0.0);
        Jumps::new(&self.x, &rest).firm(|squares| without - self.bic(squares, 2.0) > MARGIN)
    }

    /// Where the stair ends, if beyond a jump delay does not go on in the same steps, as with
    /// fragments, or jumps once more by more than uneven steps do.
    fn ends_at(&self, chosen: &Chosen, delays: &[f64]) -> Option<Jump> {
        let model = chosen.model();
        let own = chosen.jump.and_then(|index| {
            let jump = Jump {
                at: self.sizes[index],
                sizes: self.sizes.len() - index,
                height_ns: model.jump_height(),
            };
            (!self.goes_on(chosen, index, delays)).then_some(jump)
        });
        let other = self.jump_beside(chosen, delays);
        let borne_out = self.free_of(chosen, delays).is_some();
        let other = other.filter(|jump| !borne_out || jump.height_ns.abs() > model.step * HIGHER);
        own.or(other)
    }

    /// Do the sizes from this one on lie on the same stair as those before, as far as can be told?
    fn goes_on(&self, chosen: &Chosen, index: usize, delays: &[f64]) -> bool {
        let column = chosen.found.column(&self.sizes);
        let (x, y) = (&self.x[index..], &delays[index..]);
        let running = Running::new(&less_mean(x), &less_mean(y));
        let count = x.len() as f64;
        let bic = |squares: f64, coefficients: f64| {
            count * (squares / count).max(RESOLUTION).ln() + coefficients * count.ln()
        };
        let free = |column: &[f64]| {
            let free = running.free(column, chosen.beside);
            bic(free.squares, free.levels.len() as f64)
        };
        let width = chosen.found.width;
        let shifted = (0..width).map(|offset| {
            let level = |size: &u32| f64::from((size + offset) / width);
            let column: Vec<f64> = self.sizes[index..].iter().map(level).collect();
            free(&column) + count.ln()
        });
        let line = running.free(&vec![0.0; x.len()], Beside::Line);
        let line = bic(line.squares, 2.0);
        free(&column[index..]) - shifted.fold(line, f64::min) <= MARGIN
    }

    /// The better of steps alone and steps beside a line, each with a jump, with its BIC.
    fn best_joint(&self, delays: &[f64], plain: &Plain) -> Option<(Chosen, f64)> {
        let model = |rest: &[f64], beside, coefficients: f64| {
            let joint = joint::best(&self.columns, &self.x, rest, beside)?;
            let chosen = self.chosen(delays, joint.found, (beside, Some(joint.index)))?;
            let bic = self.bic(chosen.squares(), coefficients) + self.charge_with_jump;
            Some((chosen, bic))
        };
        let alone = model(&plain.centred, Beside::Constant, 4.0);
        let with_line = model(&plain.beside_line, Beside::Line, 5.0);
        let both = [alone, with_line].into_iter().flatten();
        let best = both.min_by(|a, b| a.1.total_cmp(&b.1));
        best.filter(|(chosen, _)| self.free_of(chosen, delays).is_some())
    }

    /// Each level with a mean of its own, if there are enough risers to tell uneven steps from a few jumps, and
    /// there is a step at each.
    fn free_of(&self, chosen: &Chosen, delays: &[f64]) -> Option<Free> {
        let model = chosen.model();
        let rest: Vec<f64> = less_mean(&model.less_jump(delays));
        let column = chosen.found.column(&self.sizes);
        let free = Running::new(&less_mean(&self.x), &rest).free(&column, chosen.beside);
        let many = free.levels.len() >= joint::LEVELS;
        (many && free.bears_out(model.step, free.noise(delays.len()))).then_some(free)
    }

    fn chosen(
        &self,
        delays: &[f64],
        found: Found,
        (beside, jump): (Beside, Option<usize>),
    ) -> Option<Chosen> {
        // Anew, because a gain is a difference of large numbers.
        let fit = self.fit(delays, &found, (beside, jump))?;
        Some(Chosen {
            found,
            beside,
            jump,
            fit,
            delta_bic: 0.0,
            chance: 1.0,
        })
    }

    /// The better of steps alone and steps beside a line, with its BIC.
    fn best_steps(&self, delays: &[f64], plain: &Plain) -> Option<(Chosen, f64)> {
        let model = |rest: &[f64], beside, coefficients: f64| {
            let found = self.columns.best(rest, beside)?;
            let chosen = self.chosen(delays, found, (beside, None))?;
            let bic = self.bic(chosen.squares(), coefficients) + self.charge;
            Some((chosen, bic))
        };
        let alone = model(&plain.centred, Beside::Constant, 2.0);
        let with_line = model(&plain.beside_line, Beside::Line, 3.0);
        let both = [alone, with_line].into_iter().flatten();
        both.min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// Bonferroni's bound for a gain in BIC of this much over models without steps, where this many were tried.
    fn chance(&self, delta: f64, tried: usize, charge: f64) -> f64 {
        let degrees = self.count() - 3.0;
        let t2 = degrees * (((delta + charge) / self.count()).exp() - 1.0);
        let one = student::beyond(t2.max(0.0).sqrt(), degrees as u32) / 2.0;
        (tried as f64 * one).min(1.0)
    }

    fn constant(&self, plain: &Plain) -> Constant {
        Constant {
            delay_ns: plain.mean,
            residual_ns: (squares(&plain.centred) / (self.count() - 1.0)).sqrt(),
            slope_interval: plain.line.coefficients[1].interval(),
        }
    }

    /// A line, if the design could have shown steps that make up its slope.
    fn line(&self, plain: &Plain) -> Decision {
        let slope = &plain.line.coefficients[1];
        let shown = |&(width, step): &(u32, f64)| f64::from(width) * slope.value.abs() >= step;
        let Some((widest, step)) = self.visible(plain).next() else {
            let width = *self.widths.start();
            return Decision::CannotTell(Doubt::Reach { width });
        };
        let Some((narrowest, _)) = self.visible(plain).take_while(shown).last() else {
            return Decision::CannotTell(Doubt::Noise {
                width: widest,
                step_ns: f64::from(widest) * slope.value.abs(),
                visible_ns: step,
                residual_ns: plain.line.residual_sd.unwrap_or(0.0),
            });
        };
        Decision::Line(Line {
            intercept_ns: plain.line.coefficients[0].value,
            slope: slope.value,
            slope_interval: slope.interval(),
            residual_ns: plain.line.residual_sd.unwrap_or(0.0),
            visible_widths: (narrowest, widest),
        })
    }

    /// For each width from the largest down, the height of steps that are found in 95 % of cases at
    /// any offset. Widths that do not always show three levels are left out.
    fn visible(&self, plain: &Plain) -> impl Iterator<Item = (u32, f64)> {
        let degrees = self.count() - 3.0;
        let threshold = (self.charge + MARGIN + self.count().ln()) / self.count();
        let t = (degrees * (threshold.exp() - 1.0)).sqrt();
        let sd = plain.line.residual_sd.unwrap_or(0.0).max(RESOLUTION.sqrt());
        let lengths = self.columns.shortest();
        lengths.map(move |(width, length)| (width, sd * (t + POWER) / length))
    }
}

/// What a search over this many columns pays: ln n for the offset and, where it is sought, the width,
/// but at least so much that a gain of [`MARGIN`] is as rare as [`FALSE_ALARMS`] says.
fn charge(count: usize, columns: usize, one_width: bool) -> f64 {
    let (n, degrees) = (count as f64, count as u32 - 3);
    let parameters = if one_width { 1.0 } else { 2.0 };
    let each = FALSE_ALARMS / columns as f64;
    let t = student::two_sided(1.0 - 2.0 * each, degrees);
    let rare = n * (1.0 + t * t / f64::from(degrees)).ln() - MARGIN;
    rare.max(parameters * n.ln())
}
