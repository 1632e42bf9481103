//! Something over time, thinned to a bounded size without losing its extremes.
//!
//! Time is cut into buckets of one length, each with the least, the largest and the mean value (weighted
//! by how long it held). When there are too many, two and two become one of twice the length.

use delaylab_model::Picos;

/// Buckets at most. Half of it are there at least once there were so many.
const MOST: usize = 2048;
/// The first length: shorter than what a cell takes on a fast link.
const SHORTEST: Picos = 1_000_000;

/// A step function of time.
#[derive(Debug, Clone)]
pub struct Trace {
    length: Picos,
    buckets: Vec<Bucket>,
    /// The current bucket, not yet among the others.
    open: Bucket,
    ends: Picos,
    value: u64,
    since: Picos,
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
    const fn of(value: u64) -> Self {
        Self {
            min: value,
            max: value,
            area: 0,
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

impl Trace {
    /// Starts with this value at time zero.
    pub fn new(value: u64) -> Self {
        Self {
            length: SHORTEST,
            buckets: Vec::new(),
            open: Bucket::of(value),
            ends: SHORTEST,
            value,
            since: 0,
        }
    }

    /// The value changes. Times come in their order.
    #[inline]
    pub fn set(&mut self, now: Picos, value: u64) {
        if now >= self.ends {
            self.advance(now);
        }
        self.open.area += u128::from(self.value) * u128::from(now - self.since);
        self.since = now;
        self.value = value;
        self.open.min = self.open.min.min(value);
        self.open.max = self.open.max.max(value);
    }

    /// Closes the buckets that end by `now`.
    #[cold]
    fn advance(&mut self, now: Picos) {
        while now >= self.ends {
            // A value that holds for long needs no short buckets.
            while self.buckets.len() + 1 >= MOST || (now - self.ends) / self.length > MOST as u64 {
                self.coarsen();
                if now < self.ends {
                    return;
                }
            }
            self.open.area += u128::from(self.value) * u128::from(self.ends - self.since);
            self.since = self.ends;
            self.ends += self.length;
            let closed = std::mem::replace(&mut self.open, Bucket::of(self.value));
            self.buckets.push(closed);
        }
    }

    /// Two and two become one.
    fn coarsen(&mut self) {
        let odd = if self.buckets.len() % 2 == 1 {
            self.buckets.pop()
        } else {
            None
        };
        let joined = self
            .buckets
            .chunks_exact(2)
            .map(|pair| pair[0].join(pair[1]));
        self.buckets = joined.collect();
        self.open = odd.map_or(self.open, |odd| odd.join(self.open));
        self.length *= 2;
        self.ends = (self.buckets.len() as u64 + 1) * self.length;
    }

    /// All of it until `end`.
    pub fn finish(mut self, end: Picos) -> Vec<Point> {
        self.set(end, self.value);
        let last = self.buckets.len() as u64 * self.length;
        let open = self.open;
        let point = |(bucket, start, length): (Bucket, Picos, Picos)| Point {
            start,
            length,
            min: bucket.min as f64,
            mean: bucket.area as f64 / length as f64,
            max: bucket.max as f64,
        };
        let length = self.length;
        let whole = self.buckets.into_iter().zip((0..).map(|i| i * length));
        let whole = whole.map(|(bucket, start)| (bucket, start, length));
        let rest = (end > last).then(|| (open, last, end - last));
        whole.chain(rest).map(point).collect()
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
        let points = trace.finish(10_000_000_000_000);
        assert!(points.len() <= MOST);
        let peaks: Vec<_> = points.iter().filter(|point| point.max == 7.0).collect();
        assert_eq!(peaks.len(), 1);
        assert!((peaks[0].start..peaks[0].start + peaks[0].length).contains(&3_000_000_000));
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
            let points = trace.finish(end);
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
