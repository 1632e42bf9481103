//! Intervals for correlated data.
//!
//! One delay resembles the next, because both met the same queue. An interval that takes them for
//! independent lies: at nominal 95 % it holds the mean of an AR(1) with φ = 0.9 only 35 % of the
//! time. Here the *effective sample size* n_eff, the number of independent values that would say
//! as much, decides how wide an interval is and whether there is one at all.
//!
//! - Mean: batch means. Values are averaged in batches, long enough for batches not to resemble
//!   each other; the batches then give Student's interval.
//! - Quantile: moving-block bootstrap. Blocks as long as the memory of the series asks for are
//!   drawn, and give the spread of the share at or below the quantile; the sample's distribution
//!   function takes that share back to a delay (Woodruff 1952). How long the memory is at a far quantile is
//!   told by the values at the median too: beyond the quantile lie too few.
//!
//! Of AR(1) series with φ of 0, 0.5, 0.9, 0.95 and 0.98 (`examples/coverage.rs`) an interval at nominal 95 % holds
//! the truth in 93 to 97 % where nearly all series get one. Where many are refused one, because the memory
//! takes a good part of the series or few values lie beyond the quantile, those that get one are the
//! ones that look as if it took less: the interval then holds less often, and up to one series in
//! eleven gets a wrong one of its mean; of quantiles, no more than where all get one.

mod batches;
mod blocks;
mod independent;

pub use batches::BatchMeans;
pub use blocks::of_quantile;
pub use independent::{Estimate, Z, of_difference, of_share};

/// Of every interval.
pub const CONFIDENCE: f64 = 0.95;
/// Fewer independent values than this give no interval.
pub(crate) const MIN_EFFECTIVE: f64 = 24.0;
/// As many independent values must lie beyond a quantile for it to have an interval.
pub const MIN_BEYOND: f64 = 5.0;

/// A mean, an interval around it, or why there is none.
#[derive(Debug, Clone, PartialEq)]
pub enum Interval {
    /// The true value lies inside with the stated confidence.
    Known {
        /// Lower end.
        low: f64,
        /// Upper end.
        high: f64,
    },
    /// No honest interval can be given.
    Refused {
        /// A clause for people: why, and how many packets more would settle it.
        reason: String,
    },
}

impl Interval {
    pub(crate) const fn refused(reason: String) -> Self {
        Self::Refused { reason }
    }
}

/// Of so few packets there is no interval.
pub(crate) fn too_few(count: u64) -> String {
    let more = (2.0 * MIN_EFFECTIVE - count as f64).max(1.0);
    format!(
        "{} too few to tell how much their delays depend on each other; about {more:.0} more are \
         needed",
        match count {
            1 => "1 packet is".to_owned(),
            count => format!("{count} packets are"),
        }
    )
}

/// Of values that resemble each other for longer than a 20th of them. So it may be any number that is missing, also where only
/// `needed`, how many independent values are, bounds it from below.
pub(crate) fn too_slow(count: u64, needed: f64) -> String {
    const FEWER_THAN: f64 = 20.0;
    let missing = match needed > MIN_EFFECTIVE {
        true => {
            let least = round_up(count as f64 * (needed / FEWER_THAN - 1.0));
            format!("at least {least:.0} more are needed")
        }
        false => "how many more are needed they do not show".to_owned(),
    };
    format!(
        "{count} packets say as much as fewer than {FEWER_THAN} independent ones, because each delay resembles the one before; \
         {missing}"
    )
}

/// `needed`: how many independent values are.
pub(crate) fn too_correlated(count: u64, effective: f64, needed: f64) -> String {
    let more = round_up(count as f64 * (needed / effective - 1.0).max(1.0));
    format!(
        "{count} packets say as much as about {effective:.0} independent ones, because each \
         delay resembles the one before; about {more:.0} more are needed"
    )
}

fn unsettled(count: u64) -> String {
    format!(
        "the {count} packets are fewer than the delay's slow changes need: even averages over \
         a tenth of them resemble their neighbours; about {count} more are needed"
    )
}

fn open_end(count: u64) -> String {
    format!(
        "the upper end would lie beyond the largest of {count} delays; about {count} more \
         packets are needed"
    )
}

/// `beyond`: how many independent values lie beyond the quantile.
pub(crate) fn too_few_beyond(count: u64, effective: f64, beyond: f64) -> String {
    let more = round_up(count as f64 * (MIN_BEYOND / beyond - 1.0));
    format!(
        "{count} packets say as much as about {effective:.0} independent ones, of which only \
         {beyond:.1} lie beyond this quantile; about {more:.0} more packets are needed"
    )
}

/// To two digits: it is an estimate.
pub(crate) fn round_up(packets: f64) -> f64 {
    let unit = 10_f64.powf(packets.max(1.0).log10().floor() - 1.0).max(1.0);
    (packets / unit).ceil() * unit
}

/// Why there is no interval for quantiles that come from a histogram.
pub fn refuse_spilled() -> Interval {
    let why = "there were too many packets to keep, and resampling needs each of them in order";
    Interval::refused(why.to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::moments::Moments;
    use crate::quantile::Ranked;
    use crate::random::SplitMix;
    use crate::testing::Gaussian;
    use delaylab_model::Nanos;

    #[test]
    fn one_packet_is_one() {
        assert!(too_few(1).starts_with("1 packet is too few to tell"));
        assert!(too_few(2).starts_with("2 packets are too few to tell"));
    }

    /// An AR(1) around 1 ms with a stationary sd of 100 µs.
    pub(super) fn ar1(phi: f64, count: usize, seed: u64) -> Vec<Nanos> {
        let mut noise = Gaussian::new(seed);
        let mut x = noise.next();
        let innovation = (1.0 - phi * phi).sqrt();
        (0..count)
            .map(|_| {
                x = phi * x + innovation * noise.next();
                (1e6 + 1e5 * x).round() as Nanos
            })
            .collect()
    }

    fn of_mean(series: &[Nanos]) -> Interval {
        let mut batches = BatchMeans::default();
        series.iter().for_each(|&x| batches.push(x));
        batches.interval(&series.iter().copied().collect())
    }

    fn of_quantile(series: &[Nanos], q: f64) -> Interval {
        super::of_quantile(series, &mut Ranked::new(series.to_vec()), q)
    }

    fn independent_interval(series: &[Nanos]) -> Interval {
        let moments: Moments = series.iter().copied().collect();
        let half = 1.96 * moments.sd(1).unwrap() / (series.len() as f64).sqrt();
        let mean = moments.mean().unwrap();
        Interval::Known {
            low: mean - half,
            high: mean + half,
        }
    }

    /// Of the intervals that were given, the share that holds the truth; and the share given.
    fn coverage(
        phi: f64,
        count: usize,
        truth: f64,
        interval: impl Fn(&[Nanos]) -> Interval,
    ) -> (f64, f64) {
        const RUNS: u64 = 200;
        let (mut given, mut held) = (0.0, 0.0);
        for seed in 0..RUNS {
            if let Interval::Known { low, high } = interval(&ar1(phi, count, seed)) {
                given += 1.0;
                held += f64::from(u8::from(low <= truth && truth <= high));
            }
        }
        (held / given, given / RUNS as f64)
    }

    #[test]
    fn the_mean_of_correlated_delays_is_covered() {
        let (naive, _) = coverage(0.9, 1000, 1e6, independent_interval);
        assert!(naive < 0.5, "{naive}");
        for (phi, count) in [
            (0.0, 100),
            (0.0, 1000),
            (0.5, 300),
            (0.9, 1000),
            (0.9, 10_000),
        ] {
            let (held, given) = coverage(phi, count, 1e6, of_mean);
            assert!(
                held >= 0.915 && given > 0.9,
                "{phi} {count}: {held} {given}"
            );
        }
    }

    /// Times that are one of two: the median may be either, whichever it is in the sample.
    #[test]
    fn a_median_among_equal_values_is_covered() {
        let of = |first: usize| {
            let mut series: Vec<Nanos> = (0..24).map(|at| if at < first { 1 } else { 2 }).collect();
            SplitMix::new(3).shuffle(&mut series);
            of_quantile(&series, 0.5)
        };
        let both = Interval::Known {
            low: 1.0,
            high: 2.0,
        };
        assert_eq!([of(11), of(13)], [both.clone(), both]);
        let mut held = 0;
        for seed in 0..100 {
            let mut random = SplitMix::new(seed);
            let values = (0..100).map(|_| 1 + Nanos::from(random.uniform() > 0.52));
            let Interval::Known { low, .. } = of_quantile(&values.collect::<Vec<_>>(), 0.5) else {
                continue;
            };
            held += u8::from(low <= 1.0);
        }
        assert!(held >= 93, "{held}");
    }

    #[test]
    fn quantiles_of_correlated_delays_are_covered() {
        let (p90, p99) = (1e6 + 1e5 * 1.281_552, 1e6 + 1e5 * 2.326_348);
        for (phi, count, q, truth) in [
            (0.0, 200, 0.5, 1e6),
            (0.0, 2000, 0.99, p99),
            (0.5, 300, 0.5, 1e6),
            (0.5, 300, 0.9, p90),
            (0.9, 1000, 0.5, 1e6),
            (0.9, 3000, 0.9, p90),
            (0.9, 10_000, 0.99, p99),
        ] {
            let (held, given) = coverage(phi, count, truth, |s| of_quantile(s, q));
            assert!(
                held >= 0.91 && given > 0.9,
                "{phi} {count} {q}: {held} {given}"
            );
        }
    }

    /// Where the memory takes a good part of the series, few get an interval, and fewer a wrong one.
    #[test]
    fn short_series_seldom_have_a_wrong_interval() {
        for count in [100, 300] {
            let of = |interval: fn(&[Nanos]) -> Interval| {
                let (held, given) = coverage(0.9, count, 1e6, interval);
                if given > 0.0 {
                    given * (1.0 - held)
                } else {
                    0.0
                }
            };
            let (mean, median) = (of(of_mean), of(|s| of_quantile(s, 0.5)));
            assert!(mean <= 0.08 && median <= 0.08, "{count}: {mean} {median}");
        }
    }

    /// Twenty values beyond the quantile lie in few groups, which look independent now and then.
    #[test]
    fn a_far_quantile_of_a_series_with_much_memory_has_no_interval() {
        let p99 = |series: &[Nanos]| of_quantile(series, 0.99);
        let (_, given) = coverage(0.95, 2000, 1e6 + 1e5 * 2.326_348, p99);
        assert!(given < 0.01, "{given}");
    }

    /// Five packets lie beyond the p99 of 500. Clusters of larger numbers say little of how large clusters are.
    #[test]
    fn a_far_quantile_is_covered() {
        let p99 =
            |phi, count| coverage(phi, count, 1e6 + 1e5 * 2.326_348, |s| of_quantile(s, 0.99));
        let (held, given) = p99(0.0, 500);
        assert!(held >= 0.93 && given >= 0.95, "{held} {given}");
        let (held, given) = p99(0.7, 3000);
        assert!(held >= 0.935 && given == 1.0, "{held} {given}");
    }

    fn reason(interval: Interval) -> String {
        match interval {
            Interval::Refused { reason } => reason,
            Interval::Known { low, high } => panic!("given: {low} to {high}"),
        }
    }

    #[test]
    fn refuses_with_a_sentence() {
        assert!(reason(of_mean(&[1, 2, 3])).contains("3 packets are too few"));
        let independent = ar1(0.0, 200, 1);
        assert!(reason(of_quantile(&independent, 0.99)).contains("beyond this quantile"));
        assert!(reason(of_mean(&[])).contains("0 packets"));
        assert!(reason(of_quantile(&[], 0.5)).contains("0 packets"));
    }

    /// A series of half its own memory can look settled now and then, but not often.
    #[test]
    fn refuses_what_has_not_settled() {
        let refused = |interval: fn(&[Nanos]) -> Interval| {
            let walks = (0..100).map(|seed| ar1(0.999, 1000, seed));
            let walks = walks.filter(|walk| matches!(interval(walk), Interval::Refused { .. }));
            walks.count()
        };
        let (mean, median) = (refused(of_mean), refused(|walk| of_quantile(walk, 0.5)));
        assert!(mean >= 90 && median >= 90, "{mean} {median}");
    }

    #[test]
    fn delays_that_never_change_have_an_interval_of_no_width() {
        let same = vec![7; 1000];
        let none = Interval::Known {
            low: 7.0,
            high: 7.0,
        };
        assert_eq!(of_mean(&same), none);
        assert_eq!(of_quantile(&same, 0.5), none);
    }
}
