//! How high a step is where no two need be equally high and delay may jump once.
//!
//! The height of riser k is q + u_k with u_k normal about 0, so levels are a random walk with drift q
//! beside a constant, perhaps a slope and perhaps a jump. For each standard deviation of u on a grid, a
//! Kalman filter turns that into independent observations (Harvey 1989, chapter 3), least squares gives q
//! with its error. The marginal likelihood weighs slopes and jumps (Bayesian model averaging: Hoeting,
//! Madigan, Raftery and Volinsky 1999), and with each of them [`mixture`] weighs how uneven the steps are. The
//! estimate and its interval are those of all of these models together. So steps that differ widen the
//! interval, and a jump on a riser, which may as well be one high step, widens it as far as that is in doubt.

use super::mixture::{self, Component, Family, greatest, quantile, share};
use super::noise::RESOLUTION;
use super::vectors::{beyond, dot, take_off, take_off_all};
use crate::incomplete::ln_gamma;
use crate::tail::normal_below;

/// The largest standard deviation of steps, in steps, that is considered.
const MOST_UNEVEN: f64 = 0.5;
/// The chance that steps are even, before the delays are looked at.
const EVEN: f64 = 0.15;
/// A standard deviation of steps, in that of noise, at which each level is free.
const FREE: f64 = 1e3;
/// The grid of standard deviations: from this share of the error of one riser on, each so many times
/// the one before.
const LEAST_SHARE: f64 = 0.1;
const RATIO: f64 = 1.4;
/// Jumps are expected to be no higher than so many steps. Higher ones are found all the same.
const HIGH: f64 = 4.0;
/// Chances of a jump anywhere, and of one on a riser, before the delays are looked at.
const ANYWHERE: f64 = 0.25;
const ON_RISER: f64 = 0.25;
/// So many places of each kind are considered, at each of two standard deviations.
const PLACES: usize = 5;
/// Where the chance of a slope lies this near to 0 or 1, it is taken for settled.
const DOUBTFUL: f64 = 0.1;
/// Half of what lies outside an interval.
const TAIL: f64 = 0.025;
/// By so much the logarithm of the likelihood must be higher for steps to be called uneven.
const PLAINLY: f64 = 5.0;

/// What is known of a stair.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Stair {
    /// Mean height of a step, ns, and the ends of its 95 % interval.
    pub(super) step: f64,
    pub(super) interval: (f64, f64),
    /// ns a byte; `None` where steps alone fit better.
    pub(super) slope: Option<f64>,
    /// Index of the first size beyond a jump, and its height, ns.
    pub(super) jump: Option<(usize, f64)>,
    /// Standard deviation of the steps' heights, ns, where they plainly differ.
    pub(super) uneven: Option<f64>,
    /// Standard deviation of a size's number about the model, ns.
    pub(super) residual: f64,
    /// Logarithm of the likelihood of the models together.
    pub(super) score: f64,
}

/// Delays at levels of a stair.
pub(super) struct Levels<'a> {
    /// Bytes, in order.
    pub(super) sizes: &'a [f64],
    /// ⌊(s + o)/w⌋ of each.
    pub(super) column: &'a [f64],
    pub(super) delays: &'a [f64],
    /// Of a step, bytes.
    pub(super) width: f64,
    /// About how high a step is, ns, and how much a size's number errs.
    pub(super) height: f64,
    pub(super) noise: f64,
}

impl Levels<'_> {
    /// The models together; `None` where a step cannot be told from what is beside it.
    pub(super) fn stair(&self) -> Option<Stair> {
        let all = self.components();
        let (mut kept, score) = mixture::kept(&all);
        if kept.is_empty() {
            return None;
        }
        let sloped = share(&kept, |c| c.slope.is_some());
        if !(DOUBTFUL..=1.0 - DOUBTFUL).contains(&sloped) {
            kept.retain(|c| c.slope.is_some() == (sloped > 0.5));
        }
        let sloped = sloped > 0.5;
        let jumps = share(&kept, |c| c.jump.is_some()) > 0.5;
        let likeliest = |a: &&Component, b: &&Component| a.likelihood.total_cmp(&b.likelihood);
        let stands = |c: &&Component| c.slope.is_some() == sloped && c.jump.is_some() == jumps;
        let standing = all.iter().filter(stands).max_by(likeliest);
        let chosen = standing.or(kept.first())?;
        // Beside a jump, or without one, as it stands.
        let even = (all.iter()).filter(|c| c.spread == 0.0 && c.jump.is_some() == jumps);
        let uneven = chosen.likelihood - greatest(even, |c| c.likelihood) > PLAINLY;
        Some(Stair {
            step: quantile(&kept, 0.5),
            interval: (quantile(&kept, TAIL), quantile(&kept, 1.0 - TAIL)),
            slope: chosen.slope,
            jump: chosen.jump,
            uneven: uneven.then_some(chosen.spread),
            residual: chosen.residual,
            score,
        })
    }

    fn count(&self) -> f64 {
        self.sizes.len() as f64
    }

    /// Delays are whole nanoseconds.
    fn least_noise(&self) -> f64 {
        self.noise.max(RESOLUTION.sqrt())
    }

    /// How many risers there are.
    fn risers(&self) -> f64 {
        let ends = self.column.first().zip(self.column.last());
        ends.map_or(1.0, |(first, last)| (last - first).max(1.0))
    }

    /// Standard deviations of the steps, with logarithms of their chances: even steps as often as all others,
    /// of which all orders of magnitude are alike above the error of a riser, and all values below it.
    fn spreads(&self) -> Vec<(f64, f64)> {
        let error = self.least_noise() * (2.0 * (self.risers() + 1.0) / self.count()).sqrt();
        let most = MOST_UNEVEN * self.height;
        let mut spreads = Vec::new();
        let mut spread = LEAST_SHARE * error;
        while spread < most {
            spreads.push((spread, RATIO.ln() * spread / spread.hypot(error)));
            spread *= RATIO;
        }
        let total: f64 = spreads.iter().map(|(_, chance)| chance).sum();
        let uneven = spreads.into_iter().map(|(spread, chance)| {
            let chance = (1.0 - EVEN) * chance / total;
            (spread, chance.ln())
        });
        [(0.0, EVEN.ln())].into_iter().chain(uneven).collect()
    }

    /// Does a level begin at this size?
    fn on_riser(&self, index: usize) -> bool {
        self.column[index] > self.column[index - 1]
    }

    /// Where a jump may lie: the best places on risers and off them, for even steps and for the most
    /// uneven.
    fn places(&self, spreads: &[(f64, f64)]) -> Vec<usize> {
        let mut places = Vec::new();
        let ends = spreads.first().into_iter().chain(spreads.last());
        for &(spread, _) in ends {
            let Some(base) = Base::new(self, spread, true) else {
                continue;
            };
            let mut gains: Vec<(f64, usize)> = (2..self.sizes.len() - 1)
                .filter(|&index| self.sizes[index] > self.sizes[index - 1])
                .filter_map(|index| {
                    let jump = base.with_jump(index)?;
                    (jump.height > 0.0).then_some((jump.gain, index))
                })
                .collect();
            gains.sort_by(|a, b| b.0.total_cmp(&a.0));
            for on_riser in [true, false] {
                let kind = gains.iter().map(|&(_, index)| index);
                places.extend(kind.filter(|&i| self.on_riser(i) == on_riser).take(PLACES));
            }
        }
        places.sort_unstable();
        places.dedup();
        places
    }

    /// Without and with a slope, without and with each jump, each with all spreads.
    fn components(&self) -> Vec<Component> {
        let spreads = self.spreads();
        let places = self.places(&spreads);
        let places = [None]
            .into_iter()
            .chain(places.into_iter().map(Some))
            .collect::<Vec<_>>();
        let mut all = Vec::new();
        for sloped in [false, true] {
            let bases = spreads.iter().filter_map(|&(spread, prior)| {
                let base = Base::new(self, spread, sloped)?;
                Some((base, prior))
            });
            let bases: Vec<(Base, f64)> = bases.collect();
            let Some(free) = Base::new(self, FREE * self.least_noise(), sloped) else {
                continue;
            };
            let families = places.iter().filter_map(|&place| {
                let prior = self.prior(sloped, place);
                let members = bases.iter();
                let members = members.filter_map(|(base, own)| base.component(own + prior, place));
                let on_riser = place.is_some_and(|place| self.on_riser(place));
                Some(Family {
                    members: members.collect(),
                    free: free.component(prior, place)?,
                    degrees: (self.risers() as u32).saturating_sub(1 + u32::from(on_riser)),
                })
            });
            all.extend(families.flat_map(Family::weighed));
        }
        all
    }

    /// Logarithm of the chance of a slope and a jump there, or none, before the delays are looked at.
    fn prior(&self, sloped: bool, place: Option<usize>) -> f64 {
        // No slope steeper than twice what the steps make.
        let range = if sloped {
            2.0 * self.height / self.width
        } else {
            1.0
        };
        let chance = match place {
            None => 1.0 - ANYWHERE - ON_RISER,
            Some(place) => {
                let places = if self.on_riser(place) {
                    ON_RISER / self.risers()
                } else {
                    ANYWHERE / self.count()
                };
                places / (HIGH * self.height)
            }
        };
        (chance / range).ln()
    }
}

/// Constant, slope if any, and stair, as independent observations.
struct Base<'a> {
    of: &'a Levels<'a>,
    filter: Filter,
    /// Variance of a riser by that of noise.
    ratio: f64,
    sloped: bool,
    /// Orthonormal: the constant, the slope if any, and last the stair.
    basis: Vec<Vec<f64>>,
    /// Length of what of the stair is not in the others.
    length: f64,
    /// Logarithm of the determinant of XᵀX.
    ln_design: f64,
    rest: Vec<f64>,
    step: f64,
    squares: f64,
}

/// What a jump explains.
struct WithJump {
    gain: f64,
    height: f64,
    /// Squared length of its column beside the others, and how much of the stair is in it.
    squares: f64,
    along: f64,
}

impl<'a> Base<'a> {
    fn new(of: &'a Levels<'a>, spread: f64, sloped: bool) -> Option<Self> {
        let ratio = (spread / of.least_noise()).powi(2);
        let filter = Filter::new(of.column, ratio);
        let constant = vec![1.0; of.sizes.len()];
        let mut columns = vec![filter.apply(&constant)];
        if sloped {
            columns.push(filter.apply(of.sizes));
        }
        columns.push(filter.apply(of.column));
        let mut basis: Vec<Vec<f64>> = Vec::new();
        let (mut length, mut ln_design) = (0.0, 0.0);
        for mut column in columns {
            let whole = dot(&column, &column);
            take_off_all(&mut column, &basis);
            let squares = dot(&column, &column);
            if squares < 1e-9 * whole {
                return None;
            }
            length = squares.sqrt();
            ln_design += squares.ln();
            column.iter_mut().for_each(|value| *value /= length);
            basis.push(column);
        }
        let mut rest = filter.apply(of.delays);
        let mut step = 0.0;
        for _ in 0..2 {
            for (index, unit) in basis.iter().enumerate() {
                let along = take_off(&mut rest, unit);
                if index + 1 == basis.len() {
                    step += along / length;
                }
            }
        }
        Some(Self {
            squares: dot(&rest, &rest),
            of,
            filter,
            ratio,
            sloped,
            basis,
            length,
            ln_design,
            rest,
            step,
        })
    }

    fn with_jump(&self, index: usize) -> Option<WithJump> {
        let mut column = self.filter.apply(&beyond(self.rest.len(), index));
        let whole = dot(&column, &column);
        let mut along = 0.0;
        for unit in &self.basis {
            along = take_off(&mut column, unit) / self.length;
        }
        let squares = dot(&column, &column);
        if squares < 1e-9 * whole {
            return None;
        }
        let height = dot(&column, &self.rest) / squares;
        Some(WithJump {
            gain: height * height * squares,
            height,
            squares,
            along,
        })
    }

    /// With the logarithm of its prior chance.
    fn component(&self, prior: f64, place: Option<usize>) -> Option<Component> {
        let jump = match place {
            Some(place) => Some((place, self.with_jump(place)?)),
            None => None,
        };
        let coefficients = self.basis.len() + usize::from(jump.is_some());
        let degrees = self.rest.len() as f64 - coefficients as f64;
        let explained = jump.as_ref().map_or(0.0, |(_, jump)| jump.gain);
        // Delays are whole nanoseconds.
        let floor = RESOLUTION * degrees;
        let squares = (self.squares - explained).max(0.0) + floor;
        let variance = squares / degrees;
        let mut likelihood = prior + ln_gamma(degrees / 2.0)
            - degrees / 2.0 * (std::f64::consts::PI * squares).ln()
            - (self.filter.ln_determinant + self.ln_design) / 2.0;
        let (mut step, mut relative) = (self.step, self.length.powi(-2));
        if let Some((_, jump)) = &jump {
            // Jumps are upward.
            let upward = normal_below(jump.height / (variance / jump.squares).sqrt());
            likelihood += upward.max(f64::MIN_POSITIVE).ln() - jump.squares.ln() / 2.0;
            step -= jump.height * jump.along;
            relative += jump.along.powi(2) / jump.squares;
        }
        let jump = jump.map(|(place, jump)| (place, jump.height));
        Some(Component {
            likelihood,
            weight: likelihood,
            squares,
            step,
            error: (variance * relative).sqrt(),
            degrees,
            spread: self.ratio.sqrt() * variance.sqrt(),
            slope: self.sloped.then(|| self.slope(step, jump)),
            jump,
            residual: variance.sqrt(),
        })
    }

    /// Beside a step and a jump of these heights.
    fn slope(&self, step: f64, jump: Option<(usize, f64)>) -> f64 {
        let mut rest = self.of.delays.to_vec();
        for (value, level) in rest.iter_mut().zip(self.of.column) {
            *value -= step * level;
        }
        if let Some((index, height)) = jump {
            rest.iter_mut()
                .skip(index)
                .for_each(|value| *value -= height);
        }
        let rest = self.filter.apply(&rest);
        let mut sizes = self.filter.apply(self.of.sizes);
        take_off(&mut sizes, &self.basis[0]);
        dot(&rest, &sizes) / dot(&sizes, &sizes)
    }
}

/// Makes a random walk in noise independent observations.
struct Filter {
    /// For each size, how far the level follows it, and the inverse of its standard deviation.
    gains: Vec<(f64, f64)>,
    ln_determinant: f64,
}

impl Filter {
    /// `ratio`: variance of a riser by that of noise.
    fn new(column: &[f64], ratio: f64) -> Self {
        let (mut variance, mut ln_determinant) = (0.0, 0.0);
        let mut before = column.first().copied().unwrap_or(0.0);
        let gains = column.iter().map(|&level| {
            variance += ratio * (level - before);
            before = level;
            let whole: f64 = variance + 1.0;
            let gain = variance / whole;
            ln_determinant += whole.ln();
            variance /= whole;
            (gain, whole.sqrt().recip())
        });
        Self {
            gains: gains.collect(),
            ln_determinant,
        }
    }

    fn apply(&self, values: &[f64]) -> Vec<f64> {
        let mut level = 0.0;
        let pairs = values.iter().zip(&self.gains);
        pairs
            .map(|(value, (gain, scale))| {
                let away = value - level;
                level += gain * away;
                away * scale
            })
            .collect()
    }
}
