//! How much the packets of several streams depend on each other: pooled over the streams, because
//! one of ten packets cannot tell by itself.

/// Blocks of a series at most, so that the work is bounded.
const MAX_BLOCKS: f64 = 2000.0;
/// Longer streams are summed in this many groups first, so that the work is bounded.
const GROUPS: usize = 4096;

/// What is left of packets that resemble each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Dependence {
    /// As many independent values would say as much.
    pub(crate) effective: f64,
    /// Packets that a block should have, so that blocks hardly resemble each other.
    pub(crate) block: f64,
    /// 2Σkρ(k) over Σρ(k), of an AR(1) with this autocorrelation time, in packets: blocks of L
    /// packets show a share of 1 − memory/L of the variance that a sum has.
    pub(crate) memory: f64,
}

/// Of several streams of deviations in order of time; NaN where there is none. `None` where the
/// streams are shorter than four times five of their own autocorrelation times.
pub(crate) fn of_streams<'a>(
    streams: impl Iterator<Item = &'a [f64]>,
    deviation: impl Fn(f64) -> f64,
) -> Option<Dependence> {
    of_streams_as(streams, deviation, |correlation| correlation)
}

/// The same, with what `of` makes of each autocorrelation in its place.
pub(crate) fn of_streams_as<'a>(
    streams: impl Iterator<Item = &'a [f64]>,
    deviation: impl Fn(f64) -> f64,
    of: impl Fn(f64) -> f64,
) -> Option<Dependence> {
    let streams: Vec<&[f64]> = streams.collect();
    let longest = streams.iter().map(|stream| stream.len()).max()?;
    let group = longest.div_ceil(GROUPS).max(1);
    let mut pooled = Pooled::default();
    for stream in streams {
        pooled.push(stream, group, &deviation);
    }
    pooled.dependence(group, &of)
}

#[derive(Default)]
struct Pooled {
    count: f64,
    squares: f64,
    /// For each stream, sums of groups of deviations from the stream's own mean.
    sums: Vec<Vec<f64>>,
}

impl Pooled {
    fn push(&mut self, stream: &[f64], group: usize, deviation: &impl Fn(f64) -> f64) {
        let present = || stream.iter().filter(|x| !x.is_nan());
        let Some(&first) = present().next() else {
            return;
        };
        // About the first, so that a stream that never changes has deviations of exactly zero.
        let first = deviation(first);
        let away = |x: &f64| deviation(*x) - first;
        let count = present().count() as f64;
        let mean = present().map(away).sum::<f64>() / count;
        let away = |x: &f64| if x.is_nan() { 0.0 } else { away(x) - mean };
        self.count += count;
        self.squares += present().map(|x| away(x).powi(2)).sum::<f64>();
        let groups = stream.chunks(group);
        self.sums
            .push(groups.map(|group| group.iter().map(away).sum()).collect());
    }

    fn dependence(&self, group: usize, of: &impl Fn(f64) -> f64) -> Option<Dependence> {
        if self.squares <= 0.0 || self.product(0) <= 0.0 {
            return Some(Dependence {
                effective: self.count,
                block: group as f64,
                memory: 0.0,
            });
        }
        // Products of two groups' sums are of as many pairs of values as a group has for each value. So this is the
        // mean autocorrelation of these pairs, and what `of` makes of it stands in the place of each.
        let size = group as f64;
        let own = |lag: usize| self.product(lag) / self.squares;
        let between = match group {
            1 => 1.0,
            _ => 1.0 + (size - 1.0) * of((own(0) - 1.0) / (size - 1.0)),
        };
        let between = between.max(f64::MIN_POSITIVE);
        let time = self.autocorrelation_time(|lag| size * of(own(lag) / size) / between)?;
        let longest = self.sums.iter().map(Vec::len).max()?;
        let effective = self.count / (between * time);
        Some(Dependence {
            effective: effective.min(self.count),
            block: (block_length(longest as f64, time) * group) as f64,
            memory: memory(time) * size,
        })
    }

    fn product(&self, lag: usize) -> f64 {
        let each = self.sums.iter().filter(|sums| sums.len() > lag);
        each.map(|sums| {
            let pairs = sums.iter().zip(&sums[lag..]);
            pairs.map(|(a, b)| a * b).sum::<f64>()
        })
        .sum()
    }

    /// [`sokal`]'s, in groups. Where even the longest stream is too short for a window, what it has. `correlation`: ρ of groups.
    fn autocorrelation_time(&self, correlation: impl Fn(usize) -> f64) -> Option<f64> {
        let longest = self.sums.iter().map(Vec::len).max()?;
        let limit = longest / 4;
        let has = |largest| (limit < SHORT).then_some(largest);
        sokal(limit, correlation).map_or_else(has, Some)
    }
}

/// Length of moving blocks that makes the error of their variance least for an AR(1) with this
/// autocorrelation time: (2φ / (1 − φ²))^⅔ · (3n/2)^⅓, with φ = (τ − 1) / (τ + 1) (Carlstein 1986;
/// Künsch 1989).
pub(crate) fn block_length(count: f64, time: f64) -> usize {
    let phi = (time - 1.0) / (time + 1.0);
    let memory = 2.0 * phi / (1.0 - phi * phi);
    let best = memory.powf(2.0 / 3.0) * (1.5 * count).cbrt();
    best.max(time).max(count / MAX_BLOCKS).ceil() as usize
}

/// An integrated autocorrelation time: the largest τ(m) = 1 + 2Σρ(k), k ≤ m, with m as far as five times itself
/// (Sokal's window). Far lags are taken in steps of a 32nd of the lag. Where the window goes beyond `limit` lags, the
/// largest so far is the error.
///
/// The largest, because the ρ of a series that wanders slowly are pulled below zero by its own mean, and would hide how
/// long its memory is.
pub(crate) fn sokal(limit: usize, correlation: impl Fn(usize) -> f64) -> Result<f64, f64> {
    let (mut time, mut largest) = (1.0_f64, 1.0_f64);
    let mut lag = 0;
    while (lag as f64) < 5.0 * largest {
        let step = (lag / 32).max(1);
        lag += step;
        if lag > limit {
            return Err(largest);
        }
        time += 2.0 * step as f64 * correlation(lag);
        largest = largest.max(time);
    }
    Ok(largest)
}

/// How much of a block's length is lost at its ends, of an AR(1) with this autocorrelation time: blocks of L show a share of
/// 1 − memory/L of the variance that a sum has.
pub(crate) fn memory(time: f64) -> f64 {
    (time - 1.0 / time) / 2.0
}

/// A quarter of a stream of fewer packets than four times this holds no window of five.
const SHORT: usize = 6;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::ar1;

    fn dependence(streams: &[Vec<f64>]) -> Option<Dependence> {
        of_streams(streams.iter().map(Vec::as_slice), |x| x)
    }

    #[test]
    fn autocorrelation_time_of_an_ar1() {
        // τ = (1 + φ)/(1 − φ): 3 at φ = ½, 19 at φ = 0.9; the same in groups of 50.
        for (phi, count, expected) in [(0.5, 4000, 3.0), (0.9, 4000, 19.0), (0.9, 200_000, 19.0)] {
            let found = dependence(&[ar1(phi, count, 5)]).unwrap();
            let time = count as f64 / found.effective;
            assert!(
                (time / expected - 1.0).abs() < 0.35,
                "{phi} {count}: {time}"
            );
            assert!(found.block > time && found.block < count as f64 / 8.0);
        }
    }

    #[test]
    fn many_short_streams_tell_together() {
        let streams: Vec<_> = (0..50).map(|seed| ar1(0.0, 10, seed)).collect();
        let found = dependence(&streams).unwrap();
        assert!(found.effective > 400.0 && found.block < 3.0, "{found:?}");
    }

    #[test]
    fn refuses_a_walk_and_takes_a_constant() {
        let walks = (0..50).filter(|&seed| dependence(&[ar1(0.999, 1000, seed)]).is_none());
        assert!(walks.count() > 40);
        let constant = dependence(&[vec![3.0; 100]]).unwrap();
        assert_eq!(constant.effective, 100.0);
        let levels = [vec![0.1; 100], vec![0.7; 200]];
        let found = of_streams(levels.iter().map(Vec::as_slice), |x| x - 1.0 / 3.0).unwrap();
        assert_eq!(found.effective, 300.0);
    }

    #[test]
    fn a_packet_without_a_value_does_not_count() {
        let mut stream = ar1(0.0, 1000, 1);
        stream.iter_mut().step_by(2).for_each(|x| *x = f64::NAN);
        let found = dependence(&[stream]).unwrap();
        assert!(found.effective <= 500.0 && found.effective > 300.0);
    }
}
