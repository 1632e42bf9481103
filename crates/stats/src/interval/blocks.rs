//! The interval of a quantile from a moving-block bootstrap.

use super::{
    CONFIDENCE, Interval, MIN_BEYOND, MIN_EFFECTIVE, Z, open_end, too_correlated, too_few,
    too_few_beyond, too_slow,
};
use crate::dependence::{block_length, memory, sokal};
use crate::far_quantile::{self, Beyond, JointTail};
use crate::quantile::Ranked;
use crate::random::SplitMix;
use crate::student;
use delaylab_model::Nanos;

/// The interval at 95 % of the quantile `q` of a series in order of time, whose values `ranked`
/// holds too. Deterministic: the draws are seeded by a constant.
///
/// The work is bounded: 500 resamples of at most about 2000 blocks, so that blocks of a long
/// series may be longer than its memory asks for, and no more autocorrelations than some 30 for
/// each doubling of the lag.
pub fn of_quantile(series: &[Nanos], ranked: &mut Ranked<Nanos>, q: f64) -> Interval {
    let count = series.len() as u64;
    if (count as f64) < MIN_EFFECTIVE {
        return Interval::refused(too_few(count));
    }
    let Some(&quantile) = ranked.quantile(q) else {
        return Interval::refused(too_few(count));
    };
    let at_or_below = AtOrBelow::new(series, quantile);
    // Where several are at it, it falls when those below it become more.
    let below = AtOrBelow::new(series, quantile.saturating_sub(1));
    let ties = at_or_below.hits() - below.hits();
    let down_by = (ties > 1).then_some(&below);
    let tail = q.min(1.0 - q);
    let needed = MIN_EFFECTIVE.max(MIN_BEYOND / tail);
    let own = std::iter::once(&at_or_below).chain(down_by);
    let Some(time) = time_of(own, series, ranked, q) else {
        // Five times τ is more than a quarter of the series.
        return Interval::refused(too_slow(count, needed));
    };
    let effective = count as f64 / far_quantile::at_most(time, count as f64);
    let beyond = Beyond::new(tail, count as f64, time);
    if effective < MIN_EFFECTIVE {
        return Interval::refused(too_correlated(count, effective, needed));
    }
    if beyond.independent < MIN_BEYOND {
        return Interval::refused(too_few_beyond(count, effective, beyond.independent));
    }
    let length = block_length(count as f64, time);
    let factor = stretch(count as f64, length as f64, time, beyond.degrees);
    let (mut down, up) = at_or_below.bootstrap(length, factor);
    if let Some(down_by) = down_by {
        (down, _) = down_by.bootstrap(length, factor);
    }
    let first = ((q + down).max(0.0) * count as f64).ceil() as usize;
    let last = ((q + up) * count as f64).floor() as usize;
    match (ranked.at(first.saturating_sub(1)).copied(), ranked.at(last)) {
        (Some(low), Some(&high)) => Interval::Known {
            low: low as f64,
            high: high as f64,
        },
        _ => Interval::refused(open_end(count)),
    }
}

/// The autocorrelation time of the share at or below a quantile: what its own flags say (the most of these), and at least
/// what the values at the median tell of it ([`JointTail`]).
fn time_of<'a>(
    mut own: impl Iterator<Item = &'a AtOrBelow>,
    series: &[Nanos],
    ranked: &mut Ranked<Nanos>,
    q: f64,
) -> Option<f64> {
    let own = own.try_fold(0.0, |most: f64, flags| {
        Some(most.max(flags.autocorrelation_time(|correlation| correlation)?))
    })?;
    let (Some(far), Some(&median)) = (JointTail::beyond(q), ranked.quantile(0.5)) else {
        return Some(own);
    };
    let expected =
        AtOrBelow::new(series, median).autocorrelation_time(|flags| far.correlation(flags))?;
    Some(own.max(expected))
}

/// What the spread of blocks' sums is stretched by.
///
/// Blocks of L show a share of (1 − memory/L)·(1 − L/n) of the variance that a sum has: the first because
/// they end, the second because their mean is the sample's. And the variance is itself an estimate, from
/// few blocks and from few independent values beyond the quantile (`of_tail`: its degrees of freedom by these), which
/// Student's factor pays for.
fn stretch(count: f64, length: f64, time: f64, of_tail: f64) -> f64 {
    let shown = (1.0 - (memory(time) / length).min(0.5)) * (1.0 - length / count);
    let of_blocks = (count / length).ceil() - 1.0;
    student::two_sided(CONFIDENCE, of_blocks.min(of_tail) as u32) / Z / shown.sqrt()
}

const RESAMPLES: usize = 500;

/// A series of zeros and ones: is a value at or below a bound?
struct AtOrBelow {
    flags: Vec<u8>,
    /// How many of the first 0, 1, 2, … are.
    through: Vec<u32>,
}

impl AtOrBelow {
    fn new(series: &[Nanos], bound: Nanos) -> Self {
        let flags: Vec<u8> = series.iter().map(|&x| u8::from(x <= bound)).collect();
        let mut through = Vec::with_capacity(flags.len() + 1);
        through.push(0);
        let mut sum = 0;
        through.extend(flags.iter().map(|&flag| {
            sum += u32::from(flag);
            sum
        }));
        Self { flags, through }
    }

    fn count(&self) -> usize {
        self.flags.len()
    }

    fn hits(&self) -> u32 {
        self.through[self.count()]
    }

    fn share(&self) -> f64 {
        f64::from(self.hits()) / self.count() as f64
    }

    /// Autocovariance at a lag, with divisor n.
    fn autocovariance(&self, lag: usize) -> f64 {
        let rest = self.count() - lag;
        let pairs = self.flags[..rest].iter().zip(&self.flags[lag..]);
        let both: u32 = pairs.map(|(a, b)| u32::from(a & b)).sum();
        let heads = f64::from(self.through[rest]);
        let tails = f64::from(self.through[self.count()] - self.through[lag]);
        let share = self.share();
        let sum = f64::from(both) - share * (heads + tails) + share * share * rest as f64;
        sum / self.count() as f64
    }

    /// [`sokal`]'s; `None` where its window is more than a quarter of the series. `of`: what to sum in place of ρ.
    fn autocorrelation_time(&self, of: impl Fn(f64) -> f64) -> Option<f64> {
        let variance = self.autocovariance(0);
        if variance <= 0.0 {
            return Some(1.0);
        }
        let correlation = |lag| of(self.autocovariance(lag) / variance);
        sokal(self.count() / 4, correlation).ok()
    }

    /// How far, at 95 %, the share moves down and up from resample to resample of moving blocks.
    /// Blocks wrap around the end, so that each value is drawn equally often (Politis and Romano
    /// 1992).
    fn bootstrap(&self, length: usize, factor: f64) -> (f64, f64) {
        if [0, self.count()].contains(&(self.hits() as usize)) {
            return (0.0, 0.0); // whatever is drawn
        }
        let blocks = self.count().div_ceil(length);
        let mut random = SplitMix::new(0x6465_6c61_796c_6162);
        let mut sums: Vec<u64> = (0..RESAMPLES)
            .map(|_| {
                let starts = (0..blocks).map(|_| random.below(self.count()));
                starts.map(|start| self.in_block(start, length)).sum()
            })
            .collect();
        sums.sort_unstable();
        let tail = ((1.0 - CONFIDENCE) / 2.0 * RESAMPLES as f64) as usize;
        let drawn = (blocks * length) as f64;
        let deviation = |sum: u64| (sum as f64 / drawn - self.share()) * factor;
        (deviation(sums[tail]), deviation(sums[RESAMPLES - 1 - tail]))
    }

    fn in_block(&self, start: usize, length: usize) -> u64 {
        let end = start + length;
        let count = self.count();
        let sum = if end <= count {
            self.through[end] - self.through[start]
        } else {
            self.through[count] - self.through[start] + self.through[(end - count).min(count)]
        };
        u64::from(sum)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::interval::tests::ar1;

    /// Of a normal AR(1), flags at a far quantile depend on each other as the flags at the median tell.
    #[test]
    fn the_median_tells_of_the_tail() {
        let series = ar1(0.9, 400_000, 3);
        let of = |z: f64| AtOrBelow::new(&series, (1e6 + 1e5 * z).round() as Nanos);
        for (q, z) in [(0.5, 0.0), (0.9, 1.281_552), (0.99, 2.326_348)] {
            let own = of(z).autocorrelation_time(|flags| flags).unwrap();
            let far = JointTail::beyond(q);
            let told = of(0.0).autocorrelation_time(|flags| {
                far.as_ref().map_or(flags, |far| far.correlation(flags))
            });
            assert!(
                (told.unwrap() / own - 1.0).abs() < 0.1,
                "{q}: {told:?} {own}"
            );
        }
    }

    #[test]
    fn autocorrelation_time_of_a_median_split() {
        // Flags of a Gaussian AR(1) at its median: ρ(k) = (2/π)·asin(φᵏ).
        let series = ar1(0.9, 200_000, 3);
        let time = AtOrBelow::new(&series, 1_000_000).autocorrelation_time(|flags| flags);
        let lags = (1..200).map(|k| std::f64::consts::FRAC_2_PI * 0.9_f64.powi(k).asin());
        let expected = 1.0 + 2.0 * lags.sum::<f64>();
        assert!(
            (time.unwrap() / expected - 1.0).abs() < 0.1,
            "{time:?} {expected}"
        );
    }
}
