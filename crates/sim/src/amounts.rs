//! How much came over time: amounts in stretches of one length, two of which become one where there are too many.

use crate::trace::{OverTime, Point};
use delaylab_model::{PICOS_PER_SECOND, Picos};

/// Stretches at most. Half of it are there at least once there were so many.
const MOST: usize = 2048;
/// The first length.
const SHORTEST: Picos = 1_000_000;

/// Bytes by when they came.
#[derive(Debug, Clone)]
pub struct Amounts {
    length: Picos,
    bytes: Vec<u64>,
    /// When the last of them ends: a division for each segment would be a twentieth of a simulation.
    until: Picos,
}

impl Default for Amounts {
    fn default() -> Self {
        Self {
            length: SHORTEST,
            bytes: Vec::new(),
            until: 0,
        }
    }
}

impl Amounts {
    /// So many more. Times come in their order.
    #[inline]
    pub fn add(&mut self, now: Picos, bytes: u64) {
        if now >= self.until {
            self.reach(now);
        }
        if let Some(last) = self.bytes.last_mut() {
            *last += bytes;
        }
    }

    /// The stretch of this time becomes the last.
    #[cold]
    fn reach(&mut self, now: Picos) {
        while now / self.length >= MOST as u64 {
            self.coarsen();
        }
        let at = now / self.length;
        if self.bytes.len() as u64 <= at {
            self.bytes.resize(at as usize + 1, 0);
        }
        self.until = self.bytes.len() as u64 * self.length;
    }

    fn coarsen(&mut self) {
        let joined = self.bytes.chunks(2).map(|pair| pair.iter().sum());
        self.bytes = joined.collect();
        self.length *= 2;
    }

    /// As rates, in bit/s, until `end`. In a stretch only the mean is known.
    pub fn finish(mut self, end: Picos) -> OverTime {
        self.add(end, 0);
        let starts = (0..).map(|index| index * self.length);
        let point = |(bytes, start): (u64, Picos)| {
            let length = self.length.min(end - start);
            let rate = bytes as f64 * 8.0 * PICOS_PER_SECOND as f64 / length as f64;
            (length > 0).then_some(Point {
                start,
                length,
                min: rate,
                mean: rate,
                max: rate,
            })
        };
        let stretches = self.bytes.iter().copied().zip(starts);
        OverTime::new(stretches.filter_map(point), Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_where_stretches_are_joined() {
        let mut amounts = Amounts::default();
        let gap = 7_777_777;
        for packet in 1..=10_000 {
            amounts.add(packet * gap, 1500);
        }
        let end = 10_000 * gap + 5;
        let points = amounts.finish(end).points;
        let finest = points.iter().map(|point| point.length).min();
        assert!(
            points.len() <= MOST && finest.is_some_and(|finest| finest <= 2 * end / MOST as u64)
        );
        let bits = |point: &Point| point.mean * point.length as f64 / PICOS_PER_SECOND as f64;
        let sum: f64 = points.iter().map(bits).sum();
        assert!((sum - 10_000.0 * 1500.0 * 8.0).abs() < 1.0, "{sum}");
        let last = points.last().map(|point| point.start + point.length);
        assert_eq!(last, Some(end));
    }
}
