//! Values as statistics ask for them, however the values are kept.
//!
//! A statistic is defined once, by what it asks of a [`Distribution`].

use crate::beyond::Beyond;
use crate::quantile::rank;

/// What a statistic may ask of values. `None` if they are too few, or if that is not known of them.
pub(crate) trait Distribution {
    /// Number of values.
    fn count(&mut self) -> Option<f64> {
        None
    }

    /// The smallest value.
    fn min(&mut self) -> Option<f64> {
        None
    }

    /// The largest value.
    fn max(&mut self) -> Option<f64> {
        None
    }

    /// Arithmetic mean.
    fn mean(&mut self) -> Option<f64> {
        None
    }

    /// Standard deviation, ddof 1.
    fn sd(&mut self) -> Option<f64> {
        None
    }

    /// The smallest value with at least this share of values at or below it.
    fn quantile(&mut self, _q: f64) -> Option<f64> {
        None
    }

    /// Share of values on one side of a bound.
    fn share(&mut self, _beyond: Beyond, _bound: f64) -> Option<f64> {
        None
    }
}

/// Values as they are, none of them NaN. A quantile puts them in another order.
pub(crate) struct Values<'a>(pub(crate) &'a mut [f64]);

impl Distribution for Values<'_> {
    fn count(&mut self) -> Option<f64> {
        Some(self.0.len() as f64)
    }

    fn min(&mut self) -> Option<f64> {
        self.0.iter().copied().reduce(f64::min)
    }

    fn max(&mut self) -> Option<f64> {
        self.0.iter().copied().reduce(f64::max)
    }

    fn mean(&mut self) -> Option<f64> {
        let first = *self.0.first()?;
        // About the first value, so that large times lose no digits.
        let sum: f64 = self.0.iter().map(|x| x - first).sum();
        Some(first + sum / self.0.len() as f64)
    }

    fn sd(&mut self) -> Option<f64> {
        let mean = self.mean()?;
        let squares: f64 = self.0.iter().map(|x| (x - mean).powi(2)).sum();
        (self.0.len() > 1).then(|| (squares / (self.0.len() - 1) as f64).sqrt())
    }

    fn quantile(&mut self, q: f64) -> Option<f64> {
        let rank = rank(self.0.len(), q)?;
        Some(*self.0.select_nth_unstable_by(rank, f64::total_cmp).1)
    }

    fn share(&mut self, beyond: Beyond, bound: f64) -> Option<f64> {
        let count = self.0.len() as f64;
        let hits = self.0.iter().filter(|&&x| beyond.holds(x, bound)).count();
        (count > 0.0).then(|| hits as f64 / count)
    }
}

/// Bins of a histogram by their lower ends, in order, with the number of values in each. A mean and a deviation are those
/// of the bins' lower ends too.
pub(crate) struct Bins<'a>(pub(crate) &'a [(f64, u64)]);

impl Bins<'_> {
    fn filled(&self) -> impl DoubleEndedIterator<Item = &(f64, u64)> {
        self.0.iter().filter(|bin| bin.1 > 0)
    }

    fn total(&self) -> u64 {
        self.0.iter().map(|bin| bin.1).sum()
    }

    fn average(&self, f: impl Fn(f64) -> f64) -> Option<f64> {
        let count = self.total();
        let sum: f64 = self.filled().map(|bin| f(bin.0) * bin.1 as f64).sum();
        (count > 0).then(|| sum / count as f64)
    }
}

impl Distribution for Bins<'_> {
    fn count(&mut self) -> Option<f64> {
        Some(self.total() as f64)
    }

    fn min(&mut self) -> Option<f64> {
        self.filled().next().map(|bin| bin.0)
    }

    fn max(&mut self) -> Option<f64> {
        self.filled().next_back().map(|bin| bin.0)
    }

    fn mean(&mut self) -> Option<f64> {
        self.average(|x| x)
    }

    fn sd(&mut self) -> Option<f64> {
        let mean = self.average(|x| x)?;
        let variance = self.average(|x| (x - mean).powi(2))?;
        let count = self.total();
        (count > 1).then(|| (variance * count as f64 / (count - 1) as f64).sqrt())
    }

    fn quantile(&mut self, q: f64) -> Option<f64> {
        let mut before = rank(self.total() as usize, q)? as u64;
        let within = self.filled().find(|bin| {
            let found = before < bin.1;
            before = before.saturating_sub(bin.1);
            found
        });
        within.map(|bin| bin.0)
    }

    fn share(&mut self, beyond: Beyond, bound: f64) -> Option<f64> {
        self.average(|x| f64::from(u8::from(beyond.holds(x, bound))))
    }
}

/// Values in their order, with how long each held. A quantile is the smallest value with at least this share of the time
/// at or below it.
pub(crate) struct Held<'a>(pub(crate) &'a [(f64, f64)]);

impl Held<'_> {
    fn there(&self) -> impl DoubleEndedIterator<Item = &(f64, f64)> {
        self.0.iter().filter(|(_, weight)| *weight > 0.0)
    }

    fn total(&self) -> f64 {
        self.there().map(|(_, weight)| weight).sum()
    }

    fn average(&self, f: impl Fn(f64) -> f64) -> Option<f64> {
        let all = self.total();
        let sum: f64 = self.there().map(|(value, weight)| f(*value) * weight).sum();
        (all > 0.0).then(|| sum / all)
    }
}

impl Distribution for Held<'_> {
    fn count(&mut self) -> Option<f64> {
        Some(self.there().count() as f64)
    }

    fn min(&mut self) -> Option<f64> {
        self.there().next().map(|(value, _)| *value)
    }

    fn max(&mut self) -> Option<f64> {
        self.there().next_back().map(|(value, _)| *value)
    }

    fn mean(&mut self) -> Option<f64> {
        self.average(|x| x)
    }

    /// Time has no degree of freedom to lose.
    fn sd(&mut self) -> Option<f64> {
        let mean = self.average(|x| x)?;
        self.average(|x| (x - mean).powi(2)).map(f64::sqrt)
    }

    fn quantile(&mut self, q: f64) -> Option<f64> {
        // A sum that close to its share has reached it.
        let enough = q * self.total() * (1.0 - 1e-12);
        let mut below = 0.0;
        let reached = self.there().find(|(_, weight)| {
            below += weight;
            below >= enough
        });
        let reached = reached.or_else(|| self.there().next_back());
        reached.map(|(value, _)| *value)
    }

    fn share(&mut self, beyond: Beyond, bound: f64) -> Option<f64> {
        self.average(|x| f64::from(u8::from(beyond.holds(x, bound))))
    }
}
