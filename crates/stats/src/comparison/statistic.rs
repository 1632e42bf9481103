//! A functional of the pooled values of some streams, and how far it can be trusted.

use super::Design;
use crate::dependence::{self, Dependence};
use crate::far_quantile::{self, Beyond, JointTail};
use crate::features::Features;
use crate::functional::{Basis, Functional};
use crate::interval::{
    MIN_BEYOND, MIN_EFFECTIVE, too_correlated, too_few, too_few_beyond, too_slow,
};
use std::collections::BTreeSet;

/// So many packets show whether those far out come in clusters (as for the extremal index:
/// Leadbetter 1983).
const OUTERMOST: f64 = 30.0;
const ONLY_TRIALS: &str =
    "its packets do not tell how much it varies, so at least 3 trials are needed";

/// One stream of packets in one trial.
#[derive(Debug, Clone, Copy)]
pub struct Part<'a> {
    /// Index of its trial among those of the [`Resampling`](super::Resampling).
    pub trial: usize,
    /// In order of time; NaN for a packet without a value.
    pub values: &'a [f64],
}

impl Part<'_> {
    /// Has any of its packets a value?
    pub(super) fn has_values(&self) -> bool {
        self.values.iter().any(|value| !value.is_nan())
    }
}

/// A functional of the pooled values of some streams.
#[derive(Debug, Clone)]
pub struct Statistic<'a> {
    pub(super) functional: Functional,
    pub(super) parts: Vec<Part<'a>>,
    /// Of the values pooled; `None` where there are too few for it.
    pub value: Option<f64>,
    /// How many values.
    pub count: u64,
    /// How many independent values would say as much.
    pub effective: f64,
    /// Of how many of its trials each repeat is: together they say as much as one.
    trials_a_repeat: f64,
    /// The number of packets that say as much as one independent value, estimated.
    time: f64,
    pub(super) block: f64,
    pub(super) memory: f64,
    pub(super) features: Option<Features>,
    /// Of a far quantile with too few packets beyond it, the packets on its other side still tell.
    is_open: bool,
    /// Why it has no interval of its own; it may still be one point of a fit.
    pub doubt: Option<String>,
}

impl<'a> Statistic<'a> {
    /// Of these streams, pooled, of trials that are independent of each other.
    pub fn new(functional: Functional, parts: Vec<Part<'a>>) -> Self {
        Self::of_repeats(functional, parts, 1.0)
    }

    /// Of these streams, pooled, of trials of this design.
    pub fn of_design(functional: Functional, parts: Vec<Part<'a>>, design: &Design) -> Self {
        let there = parts.iter().filter(|part| part.has_values());
        let trials = there.map(|part| part.trial).collect();
        Self::of_repeats(functional, parts, design.trials_a_repeat(&trials))
    }

    fn of_repeats(functional: Functional, parts: Vec<Part<'a>>, trials_a_repeat: f64) -> Self {
        let mut pooled: Vec<f64> = parts
            .iter()
            .flat_map(|part| part.values.iter().copied().filter(|x| !x.is_nan()))
            .collect();
        let value = functional.value(&mut pooled);
        let mut statistic = Self {
            functional,
            parts,
            value,
            count: pooled.len() as u64,
            effective: pooled.len() as f64 / trials_a_repeat,
            trials_a_repeat,
            time: 1.0,
            block: 1.0,
            memory: 0.0,
            features: None,
            is_open: false,
            doubt: None,
        };
        statistic.settle(&mut pooled);
        statistic
    }

    fn settle(&mut self, pooled: &mut [f64]) {
        let Some(value) = self.value else {
            self.doubt = Some(too_few(self.count));
            return;
        };
        match self.dependence(value, pooled) {
            Some(found) => {
                let count = self.count as f64;
                self.time = count / found.effective;
                self.effective = match self.functional.basis() {
                    Basis::Deviations | Basis::Quantiles(_) => {
                        count / far_quantile::at_most(self.time, count)
                    }
                    _ => found.effective,
                } / self.trials_a_repeat;
                (self.block, self.memory) = (found.block, found.memory);
            }
            None => {
                (self.effective, self.time, self.block) = (0.0, f64::INFINITY, f64::INFINITY);
            }
        }
        self.doubt = self.find_doubt();
        let mut effective = self.effective.max(1.0);
        let is_known = !self.has_few() && self.effective >= MIN_EFFECTIVE;
        if is_known && self.tail_doubt().is_some() {
            effective = self.settle_open(pooled);
        }
        self.features = Features::new(self.functional, pooled, effective);
    }

    /// So few packets lie beyond a far quantile that they do not show how much packets resemble each other; those about the
    /// median do. Returns how many independent values say as much.
    fn settle_open(&mut self, pooled: &mut [f64]) -> f64 {
        let median = Functional::Quantile(0.5).value(pooled).unwrap_or(f64::NAN);
        let side = |x: f64| f64::from(u8::from(x <= median));
        let streams = self.parts.iter().map(|part| part.values);
        let Some(found) = dependence::of_streams(streams, side) else {
            return 1.0;
        };
        self.block = self.block.max(found.block);
        self.memory = self.memory.max(found.memory);
        let effective = found.effective / self.trials_a_repeat;
        self.is_open = effective >= MIN_EFFECTIVE;
        effective.min(self.effective)
    }

    /// Of the deviations that the functional's error is made of.
    fn dependence(&self, value: f64, pooled: &mut [f64]) -> Option<Dependence> {
        let of = |deviation: &dyn Fn(f64) -> f64| {
            dependence::of_streams(self.parts.iter().map(|part| part.values), deviation)
        };
        // Where several values are at a quantile, those below it say how far it is from them, and all at or below it are
        // only one side.
        let around = |bound: f64| {
            let at_or_below = of(&|x| f64::from(u8::from(x <= bound)));
            let values = self.parts.iter().flat_map(|part| part.values);
            match values.filter(|&&x| x == bound).nth(1) {
                Some(_) => longer(at_or_below, of(&|x| f64::from(u8::from(x < bound)))),
                None => at_or_below,
            }
        };
        let mut at = |q: f64| Functional::Quantile(q).value(pooled);
        match self.functional.basis() {
            Basis::Mean | Basis::Trials => of(&|x| x - value),
            Basis::Deviations => {
                let mean = Functional::Mean.value(pooled)?;
                // Few squares are most of their sum, so that they look more independent than they are. Those of normal
                // values have the squares of the values' autocorrelations.
                let streams = self.parts.iter().map(|part| part.values);
                let expected = dependence::of_streams_as(streams, |x| x - mean, |rho| rho * rho);
                longer(of(&|x| (x - mean).powi(2)), expected)
            }
            Basis::Quantiles(quantiles) => {
                let own = quantiles.iter().map(|&q| around(at(q)?));
                let own = own.reduce(longer)?;
                self.with_most_values(own, &quantiles, pooled)
            }
            // Few on one side hide whether they come in clusters; the packets nearest to the bound show it.
            Basis::Share { beyond, bound } => {
                let beyond = if value > 0.5 { beyond.others() } else { beyond };
                let hits = |bound: f64| move |x: f64| f64::from(u8::from(beyond.holds(x, bound)));
                let near = at(beyond.outermost(OUTERMOST / self.count as f64))?;
                longer(of(&hits(bound)), of(&hits(beyond.nearer(bound, near))))
            }
            Basis::Count | Basis::Smallest | Basis::Largest => Some(Dependence {
                effective: self.count as f64,
                block: 1.0,
                memory: 0.0,
            }),
        }
    }

    /// With what the flags at each of these quantiles alone, `own`, do not show. Beyond a far one lie too few values; those
    /// at the median tell of it. The distance of two changes with how far values are from the middle, which has a longer
    /// memory than the flags on either side where delays vary more at some times than at others.
    fn with_most_values(
        &self,
        own: Option<Dependence>,
        quantiles: &[f64],
        pooled: &mut [f64],
    ) -> Option<Dependence> {
        let mut at = |q: f64| Functional::Quantile(q).value(pooled);
        let (first, last) = (*quantiles.first()?, *quantiles.last()?);
        let (low, middle, high) = (at(first)?, at(0.5)?, at(last)?);
        let streams = self.parts.iter().map(|part| part.values);
        if first < last {
            let away = |x: f64| (x - middle).abs().min(high - low);
            return longer(own, dependence::of_streams(streams, away));
        }
        let Some(far) = JointTail::beyond(first) else {
            return own;
        };
        let is_low = |x: f64| f64::from(u8::from(x <= middle));
        longer(
            own,
            dependence::of_streams_as(streams, is_low, |rho| far.correlation(rho)),
        )
    }

    /// How many values there are of one trial of each repeat.
    pub(super) fn count_of_repeats(&self) -> f64 {
        self.count as f64 / self.trials_a_repeat
    }

    fn find_doubt(&self) -> Option<String> {
        let (count, effective) = (self.count_of_repeats() as u64, self.effective);
        match self.functional.basis() {
            Basis::Count | Basis::Largest => None,
            Basis::Smallest if count > 1 => None,
            Basis::Trials => Some(ONLY_TRIALS.to_owned()),
            _ if self.has_few() => Some(too_few(count)),
            _ if effective == 0.0 => {
                let beyond = self.functional.tail().map_or(0.0, |tail| MIN_BEYOND / tail);
                Some(too_slow(count, MIN_EFFECTIVE.max(beyond)))
            }
            _ if effective < MIN_EFFECTIVE => Some(too_correlated(count, effective, MIN_EFFECTIVE)),
            _ => self.tail_doubt(),
        }
    }

    /// Its values, trial by trial.
    pub(crate) fn parts(&self) -> &[Part<'a>] {
        &self.parts
    }

    /// Which statistic it is.
    pub const fn statistic(&self) -> Functional {
        self.functional
    }

    /// Are its values too few to tell how much they resemble each other?
    pub fn has_few(&self) -> bool {
        self.count_of_repeats() < MIN_EFFECTIVE
    }

    /// Do they resemble each other so much that they say as much as too few?
    pub fn is_correlated(&self) -> bool {
        !self.has_few() && self.effective < MIN_EFFECTIVE
    }

    /// Do they resemble each other for so long that they do not show for how long?
    pub fn is_too_slow(&self) -> bool {
        !self.has_few() && self.effective == 0.0
    }

    /// Do only whole trials say how much it varies?
    fn is_of_trials(&self) -> bool {
        self.functional.basis() == Basis::Trials
    }

    /// About so many times as many packets again would give it an interval; `None` where it has one, or its values are
    /// too few to tell.
    pub fn lacks(&self) -> Option<f64> {
        self.doubt.as_ref()?;
        if self.count == 0 || self.effective <= 0.0 || self.is_of_trials() {
            return None;
        }
        let beyond = self.beyond();
        let beyond = beyond.map_or(MIN_BEYOND, |beyond| beyond.independent);
        let times = (MIN_EFFECTIVE / self.effective).max(MIN_BEYOND / beyond);
        // As where they are refused: so few may resemble each other more than they show.
        let count = self.count_of_repeats();
        let few = (2.0 * MIN_EFFECTIVE - count) / count;
        let more = if count < MIN_EFFECTIVE {
            few.max(times - 1.0)
        } else {
            times - 1.0
        };
        (more > 0.0).then_some(more)
    }

    /// Of a far quantile, the values beyond it.
    pub(super) fn beyond(&self) -> Option<Beyond> {
        let tail = self.functional.tail()?;
        Some(Beyond::new(tail, self.count_of_repeats(), self.time))
    }

    /// Of a quantile with too few packets beyond it.
    fn tail_doubt(&self) -> Option<String> {
        let beyond = self.beyond()?.independent;
        let few = beyond < MIN_BEYOND * (1.0 - 1e-9);
        few.then(|| too_few_beyond(self.count_of_repeats() as u64, self.effective, beyond))
    }

    /// Is it a far quantile of which one end alone is known, because too few packets lie beyond it? Its resamples are those
    /// of [`super::Resampling::replicates_on_one_side`].
    pub const fn is_open(&self) -> bool {
        self.is_open
    }

    /// Where nothing bounds an open quantile.
    pub(super) fn open_end(&self) -> f64 {
        match self.functional.basis() {
            Basis::Quantiles(quantiles) if quantiles.iter().all(|q| *q < 0.5) => f64::NEG_INFINITY,
            _ => f64::INFINITY,
        }
    }

    /// Why it cannot even be one point of a fit: a point needs no interval of its own, but a
    /// value that resampling can move.
    pub fn point_doubt(&self) -> Option<String> {
        match self.value {
            None => self.doubt.clone(),
            Some(_) if self.effective == 0.0 || self.is_of_trials() => self.doubt.clone(),
            Some(_) => self.tail_doubt(),
        }
    }

    /// Of these trials alone, with how many values that is; `None` where they are too few for it.
    pub(super) fn of_trials(&self, trials: &BTreeSet<usize>) -> Option<(f64, usize)> {
        let parts = (self.parts.iter()).filter(|part| trials.contains(&part.trial));
        let values = parts.flat_map(|part| part.values.iter().copied());
        let mut values: Vec<f64> = values.filter(|x| !x.is_nan()).collect();
        Some((self.functional.value(&mut values)?, values.len()))
    }

    /// The trials that its values are of.
    pub fn trials(&self) -> BTreeSet<usize> {
        let there = self.parts.iter().filter(|part| part.has_values());
        there.map(|part| part.trial).collect()
    }
}

/// The one with fewer independent values, and the longer blocks.
fn longer(a: Option<Dependence>, b: Option<Dependence>) -> Option<Dependence> {
    let (a, b) = (a?, b?);
    Some(Dependence {
        effective: a.effective.min(b.effective),
        block: a.block.max(b.block),
        memory: a.memory.max(b.memory),
    })
}
