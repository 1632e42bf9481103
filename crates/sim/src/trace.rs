//! Something over time, thinned to a bounded size without losing its extremes.
//!
//! Time is cut into buckets of one length, each with the least, the largest and the mean value (weighted
//! by how long it held). When there are too many, two and two become one of twice the length.
//!
//! Beside them is for how long it had each value, in bins that are exact below 512 and within 0.2 % above: no quantile
//! can be told from the means of buckets, which hide what is shorter than they are.

use delaylab_model::plan::Unit;
use delaylab_model::series::{SeriesPoint, SeriesValue};
use delaylab_model::{Nanos, Picos};
use delaylab_topology::time::nanos;
use std::sync::Arc;

/// Buckets at most. Half of it are there at least once there were so many.
const MOST: usize = 2048;
/// The first length: shorter than what a cell takes on a fast link.
const SHORTEST: Picos = 1_000_000;

/// A step function of time.
#[derive(Debug, Clone)]
pub struct Trace {
    /// All times within are from here on.
    began: Picos,
    length: Picos,
    buckets: Vec<Bucket>,
    /// The current bucket, not yet among the others.
    open: Bucket,
    ends: Picos,
    value: u64,
    since: Picos,
    /// For how long there was a value of each bin, as far as bins were needed; not of a count.
    held: Option<Vec<Picos>>,
}

/// Bins of each power of two, and as many for the values below.
const BINS: usize = 1 << BITS;
const BITS: u32 = 8;

/// The bin of a value: below 512 each has its own, then a power of two has 256.
#[inline]
const fn bin(value: u64) -> usize {
    let shift = (63 - BITS).saturating_sub((value | 1).leading_zeros());
    (shift as usize) * BINS + (value >> shift) as usize
}

/// Every value that there was between these, and for how long.
fn values(held: &[Picos], least: u64, most: u64) -> Vec<(f64, Picos)> {
    let there = held.iter().enumerate().filter(|(_, time)| **time > 0);
    let middle = |bin: usize| {
        let (from, to) = (first_of(bin), first_of(bin + 1).wrapping_sub(1));
        (from.max(least) as f64 + to.min(most) as f64) / 2.0
    };
    there.map(|(bin, time)| (middle(bin), *time)).collect()
}

/// No value was as large before.
#[cold]
#[inline(never)]
fn count_first(held: &mut Vec<Picos>, bin: usize, time: Picos) {
    held.resize(bin + 1, 0);
    held[bin] = time;
}

/// The least value of a bin.
const fn first_of(bin: usize) -> u64 {
    if bin < 2 * BINS {
        return bin as u64;
    }
    let shift = bin / BINS - 1;
    ((bin - shift * BINS) as u64) << shift
}

/// What was over time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OverTime {
    /// In order of time.
    pub points: Vec<Point>,
    /// Each value that there was, in their order, and for how long it held; of a count none.
    pub held: Vec<(f64, Picos)>,
}

impl OverTime {
    /// Of stretches that follow each other. Neighbours during which the value stayed the same are one: a port that is
    /// idle for most of the time has few, however finely time was cut.
    pub fn new(stretches: impl IntoIterator<Item = Point>, held: Vec<(f64, Picos)>) -> Self {
        let mut points: Vec<Point> = Vec::new();
        for point in stretches {
            match points.last_mut() {
                Some(last) if last.goes_on_in(&point) => last.length += point.length,
                _ => points.push(point),
            }
        }
        Self { points, held }
    }

    /// The rows of a series of this thing in a trial, when time zero is `began`.
    pub fn rows(
        self,
        trial: u32,
        series: &str,
        of: &Arc<str>,
        unit: Unit,
        began: Nanos,
    ) -> (Vec<SeriesPoint>, Vec<SeriesValue>) {
        let series: Arc<str> = series.into();
        let point = |point: Point| {
            let (start, end) = (nanos(point.start), nanos(point.start + point.length));
            SeriesPoint {
                trial,
                series: series.clone(),
                of: of.clone(),
                unit,
                t: began + start,
                length: end - start,
                min: point.min,
                mean: point.mean,
                max: point.max,
            }
        };
        let value = |(value, length)| SeriesValue {
            trial,
            series: series.clone(),
            of: of.clone(),
            unit,
            value,
            length: nanos(length),
        };
        let points = self.points.into_iter().map(point).collect();
        (points, self.held.into_iter().map(value).collect())
    }
}

/// A stretch of time.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    min: u64,
    max: u64,
    /// Value times picoseconds.
    area: u128,
}

impl Bucket {
    const fn holding(value: u64) -> Self {
        Self {
            min: value,
            max: value,
            area: 0,
        }
    }

    /// From then on, for so long.
    fn at(self, start: Picos, length: Picos) -> Point {
        let mean = match self.min == self.max {
            true => self.min as f64,
            false => self.area as f64 / length as f64,
        };
        Point {
            start,
            length,
            min: self.min as f64,
            mean,
            max: self.max as f64,
        }
    }

    fn join(self, other: Self) -> Self {
        Self {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
            area: self.area + other.area,
        }
    }
}

/// A bucket and where it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// From.
    pub start: Picos,
    /// For so long.
    pub length: Picos,
    /// Least value.
    pub min: f64,
    /// Mean over time.
    pub mean: f64,
    /// Largest value.
    pub max: f64,
}

impl Point {
    /// Has the value stayed what it was?
    #[allow(clippy::float_cmp)] // whole numbers, or the same quotient
    fn goes_on_in(&self, next: &Self) -> bool {
        let held = |point: &Self| point.min == point.max;
        held(self) && held(next) && self.min == next.min
    }
}

impl Trace {
    /// Starts with this value at time zero.
    pub fn new(value: u64) -> Self {
        Self::starting(0, value)
    }

    /// Starts with this value; there was none before.
    pub fn starting(began: Picos, value: u64) -> Self {
        Self {
            began,
            length: SHORTEST,
            buckets: Vec::new(),
            open: Bucket::holding(value),
            ends: SHORTEST,
            value,
            since: 0,
            held: Some(Vec::new()),
        }
    }

    /// A count, from 0: how long it stood at each number says nothing, and is not kept.
    pub fn of_count() -> Self {
        Self {
            held: None,
            ..Self::new(0)
        }
    }

    /// The value changes. Times come in their order.
    #[inline]
    pub fn set(&mut self, now: Picos, value: u64) {
        if value == self.value {
            return;
        }
        self.hold(now - self.began);
        self.value = value;
        self.open.min = self.open.min.min(value);
        self.open.max = self.open.max.max(value);
    }

    /// What it is now.
    pub const fn value(&self) -> u64 {
        self.value
    }

    /// The value has been what it is until now.
    #[inline]
    fn hold(&mut self, now: Picos) {
        if now >= self.ends {
            self.advance(now);
        }
        self.count(now);
    }

    /// From the last count until now.
    #[inline]
    fn count(&mut self, now: Picos) {
        let time = now - self.since;
        self.since = now;
        self.open.area += u128::from(self.value) * u128::from(time);
        let Some(held) = &mut self.held else {
            return;
        };
        let bin = bin(self.value);
        match held.get_mut(bin) {
            Some(held) => *held += time,
            None => count_first(held, bin, time),
        }
    }

    /// Closes the buckets that end by `now`.
    #[cold]
    #[inline(never)]
    fn advance(&mut self, now: Picos) {
        while now >= self.ends {
            // A value that holds for long needs no short buckets.
            while self.buckets.len() + 1 >= MOST || (now - self.ends) / self.length > MOST as u64 {
                self.coarsen();
                if now < self.ends {
                    return;
                }
            }
            self.count(self.ends);
            self.ends += self.length;
            let closed = std::mem::replace(&mut self.open, Bucket::holding(self.value));
            self.buckets.push(closed);
            self.pass_whole_buckets(now);
        }
    }

    /// Closes those that end by `now` and begin with the current value, which they keep, as far as there is room for them.
    fn pass_whole_buckets(&mut self, now: Picos) {
        let ending = now.checked_sub(self.ends);
        let ending = ending.map_or(0, |beyond| beyond / self.length + 1);
        let room = (MOST - 1).saturating_sub(self.buckets.len());
        let count = room.min(usize::try_from(ending).unwrap_or(room));
        if count == 0 {
            return;
        }
        let time = count as u64 * self.length;
        let held = Bucket {
            area: u128::from(self.value) * u128::from(self.length),
            ..Bucket::holding(self.value)
        };
        self.buckets.extend(std::iter::repeat_n(held, count));
        self.count(self.since + time);
        self.ends += time;
        self.open.area = 0;
    }

    /// Two and two become one.
    fn coarsen(&mut self) {
        let pairs = self.buckets.len() / 2;
        let odd = (self.buckets.len() % 2 == 1).then(|| self.buckets[2 * pairs]);
        for pair in 0..pairs {
            self.buckets[pair] = self.buckets[2 * pair].join(self.buckets[2 * pair + 1]);
        }
        self.buckets.truncate(pairs);
        self.open = odd.map_or(self.open, |odd| odd.join(self.open));
        self.length *= 2;
        self.ends = (self.buckets.len() as u64 + 1) * self.length;
    }

    /// All of it until `end`, or until the last change if that was later.
    pub fn finish(mut self, end: Picos) -> OverTime {
        let end = end.saturating_sub(self.began).max(self.since);
        self.hold(end);
        let all = self
            .buckets
            .iter()
            .fold(self.open, |all, bucket| all.join(*bucket));
        let held = self.held.unwrap_or_default();
        let held = values(&held, all.min, all.max);
        let last = self.buckets.len() as u64 * self.length;
        let (open, began) = (self.open, self.began);
        let point =
            |(bucket, start, length): (Bucket, Picos, Picos)| bucket.at(began + start, length);
        let length = self.length;
        let whole = self.buckets.into_iter().zip((0..).map(|i| i * length));
        let whole = whole.map(|(bucket, start)| (bucket, start, length));
        let rest = (end > last).then(|| (open, last, end - last));
        OverTime::new(whole.chain(rest).map(point), held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_short_peak_is_not_lost() {
        let mut trace = Trace::new(0);
        trace.set(3_000_000_000, 7);
        trace.set(3_000_000_001, 0);
        let points = trace.finish(10_000_000_000_000).points;
        assert!(points.len() <= MOST);
        let peaks: Vec<_> = points.iter().filter(|point| point.max == 7.0).collect();
        assert_eq!(peaks.len(), 1);
        assert!((peaks[0].start..peaks[0].start + peaks[0].length).contains(&3_000_000_000));
    }

    /// A queue that is 1000 for a thousandth of each 1024th of the time, and 1 else.
    #[test]
    fn what_is_shorter_than_a_bucket_is_not_averaged_away() {
        let mut trace = Trace::new(1);
        let period = 1_000_000_000;
        for at in (period..=3000 * period).step_by(period as usize) {
            trace.set(at, 1000);
            trace.set(at + 2_000_000, 1);
        }
        let held = trace.finish(3001 * period).held;
        let [(low, long), (high, short)] = held[..] else {
            panic!("{held:?}");
        };
        assert_eq!((low, high), (1.0, 1000.0));
        assert!(
            (short as f64 / long as f64 - 0.002).abs() < 1e-4,
            "{held:?}"
        );
    }

    #[test]
    fn a_count_is_kept_over_time_and_not_by_value() {
        let (mut count, mut value) = (Trace::of_count(), Trace::new(0));
        for drops in 1..=5 {
            count.set(drops * 1_000_000_000, drops);
            value.set(drops * 1_000_000_000, drops);
        }
        let (count, value) = (count.finish(10_000_000_000), value.finish(10_000_000_000));
        assert_eq!(count.points, value.points);
        assert_eq!((count.held.len(), value.held.len()), (0, 6));
    }

    #[test]
    fn a_value_that_stays_is_one_stretch() {
        let mut trace = Trace::new(3);
        trace.set(5_000_000_000, 7);
        let points = trace.finish(1_000_000_000_000).points;
        let [before, between, after] = points[..] else {
            panic!("{points:?}");
        };
        assert_eq!((before.min, before.mean, before.max), (3.0, 3.0, 3.0));
        assert_eq!((between.min, between.max), (3.0, 7.0));
        assert_eq!((after.min, after.mean, after.max), (7.0, 7.0, 7.0));
        assert_eq!(after.start + after.length, 1_000_000_000_000);
    }

    #[test]
    fn what_begins_later_has_no_value_before() {
        let (second, began) = (1_000_000_000_000, 5_000_000_000_000);
        let mut trace = Trace::starting(began, 20);
        trace.set(began + second, 100);
        let OverTime { points, held } = trace.finish(began + 4 * second);
        assert_eq!(points.first().map(|point| point.start), Some(began));
        let whole: Picos = points.iter().map(|point| point.length).sum();
        assert_eq!(whole, 4 * second);
        assert_eq!(held, [(20.0, second), (100.0, 3 * second)]);
        // It would have begun after the end.
        assert_eq!(
            Trace::starting(began, 20).finish(second),
            OverTime::default()
        );
    }

    #[test]
    fn bins_follow_each_other() {
        let mut last = 0;
        for value in (0..5000).chain([1 << 20, (1 << 40) + 12_345, u64::MAX / 2]) {
            let own = bin(value);
            assert!(own >= last, "{value}");
            last = own;
            assert!(
                first_of(own) <= value && value < first_of(own + 1),
                "{value}"
            );
            let width = first_of(own + 1) - first_of(own);
            assert!(
                width as f64 <= 1.0 + value as f64 / 256.0,
                "{value}: {width}"
            );
        }
    }

    proptest! {
        #[test]
        fn mean_and_extremes_are_kept(steps in prop::collection::vec((1_u64..3_000_000_000, 0_u32..1000), 1..3000)) {
            let mut trace = Trace::new(0);
            let (mut now, mut value, mut area, mut most) = (0, 0.0, 0.0, 0.0_f64);
            for (gap, next) in steps {
                now += gap;
                area += value * gap as f64;
                value = f64::from(next);
                most = most.max(value);
                trace.set(now, u64::from(next));
            }
            let end = now + 1_000_000;
            area += value * 1_000_000.0;
            let OverTime { points, held } = trace.finish(end);
            let time: Picos = held.iter().map(|(_, time)| time).sum();
            prop_assert_eq!(time, end);
            let by_value: f64 = held.iter().map(|(value, time)| value * *time as f64).sum();
            prop_assert!((by_value - area).abs() <= 2e-3 * area.max(1.0), "{by_value} {area}");
            prop_assert!(held.windows(2).all(|two| two[0].0 < two[1].0));
            prop_assert!(held.iter().all(|(value, _)| *value <= most));
            prop_assert!(points.len() <= MOST);
            let kept: f64 = points.iter().map(|point| point.mean * point.length as f64).sum();
            prop_assert!((kept - area).abs() <= 1e-6 * area.max(1.0), "{kept} {area}");
            prop_assert_eq!(points.iter().map(|point| point.max).fold(0.0, f64::max), most);
            let mut at = 0;
            for point in &points {
                prop_assert_eq!(point.start, at);
                at += point.length;
            }
            prop_assert_eq!(at, end);
        }
    }
}
