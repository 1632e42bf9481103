//! A calibrated path as it may be too: the rate, the bucket and the buffer drawn from where their intervals have them.
//!
//! What the lines of the hosts and of the minimum delay are off by is not drawn: without load the model shows it.

use super::Calibration;
use super::buffer::Buffer;
use super::limiter::{Bucket, Limiter};
use super::line::{Estimate, HALF};
use delaylab_stats::random::SplitMix;

impl Calibration {
    /// One draw.
    #[must_use]
    pub fn drawn(&self, random: &mut SplitMix) -> Self {
        let mut drawn = self.clone();
        let policed = matches!(self.limiter, Some(Limiter::Policer(_)));
        if let Some(rate) = &mut drawn.rate {
            rate.ns_per_byte.value = if policed {
                // All rates within contradict what was seen as little.
                within(rate.ns_per_byte, random)
            } else {
                around(rate.ns_per_byte, random)
            };
        }
        if let Some(Limiter::Shaper(Bucket { burst, .. }) | Limiter::Policer(Bucket { burst, .. })) =
            &mut drawn.limiter
            && let Some(burst) = burst
        {
            burst.value = within(*burst, random);
        }
        if let Some(Buffer {
            between, interval, ..
        }) = &mut drawn.buffer
        {
            let limit = uniform(*interval, random);
            *between = (limit, limit);
        }
        drawn
    }
}

/// Its logarithm is normal, with 95 % in the interval: a rate is more than 0.
fn around(estimate: Estimate, random: &mut SplitMix) -> f64 {
    let Some((low, high)) = estimate.interval else {
        return estimate.value;
    };
    estimate.value * ((high / low).ln() / 2.0 / HALF * random.normal()).exp()
}

/// Anywhere in the interval.
fn within(estimate: Estimate, random: &mut SplitMix) -> f64 {
    estimate
        .interval
        .map_or(estimate.value, |interval| uniform(interval, random))
}

fn uniform((low, high): (f64, f64), random: &mut SplitMix) -> f64 {
    low + (high - low) * random.uniform()
}

#[cfg(test)]
mod tests {
    use super::super::buffer::Counts;
    use super::super::calibrate;
    use super::super::run_trials::RunTrials;
    use super::*;

    #[test]
    fn draws_are_where_the_intervals_are() {
        let mut random = SplitMix::new(1);
        let known = Estimate {
            value: 7.0,
            interval: None,
        };
        assert!(around(known, &mut random) == 7.0 && within(known, &mut random) == 7.0);
        let estimate = Estimate {
            value: 10.0,
            interval: Some((8.0, 12.5)),
        };
        let inside = |value: f64| (8.0..=12.5).contains(&value);
        let draws = 4000;
        let normal = (0..draws).filter(|_| inside(around(estimate, &mut random)));
        let share = normal.count() as f64 / f64::from(draws);
        assert!((0.94..0.96).contains(&share), "{share}");
        assert!((0..draws).all(|_| inside(within(estimate, &mut random))));
        let little_known = Estimate {
            value: 900.0,
            interval: Some((50.0, 16_200.0)),
        };
        assert!((0..draws).all(|_| around(little_known, &mut random) > 0.0));
    }

    #[test]
    fn a_buffer_is_drawn_from_its_interval() {
        let found = Calibration {
            buffer: Some(Buffer {
                counts: Counts::Bytes,
                between: (63_999.0, 64_002.0),
                interval: (62_534.0, 65_468.0),
                packets: [12_000, 4_000],
                contradict: 0.0,
                early: 0.0,
            }),
            ..calibrate(&RunTrials::default())
        };
        let mut random = SplitMix::new(1);
        let mut limits = Vec::from_iter((0..100).map(|_| {
            found
                .drawn(&mut random)
                .buffer
                .map_or(0.0, |one| one.limit())
        }));
        limits.sort_by(f64::total_cmp);
        assert!(
            limits[0] >= 62_534.0 && limits[99] <= 65_468.0,
            "{limits:?}"
        );
        assert!(limits[99] - limits[0] > 2_500.0, "{limits:?}");
    }
}
