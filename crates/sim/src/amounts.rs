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

    /// As rates, in bit/s, until `end`. In a stretch only the mean is known. What is left at the end belongs to the stretch
    /// before: of the little time up to a last packet its rate would be as large as chance has it.
    pub fn finish(mut self, end: Picos) -> OverTime {
        self.add(end, 0);
        let whole = ((end / self.length) as usize).max(1);
        let rest: u64 = self.bytes.drain(whole.min(self.bytes.len())..).sum();
        if let Some(last) = self.bytes.last_mut() {
            *last += rest;
        }
        let starts = (0..).map(|index| index * self.length);
        let point = |(bytes, start): (u64, Picos)| {
            let is_last = start / self.length + 1 == whole as u64;
            let length = if is_last { end - start } else { self.length };
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

    #[test]
    fn a_packet_at_the_very_end_is_in_a_rate_of_a_whole_stretch() {
        for (end, points) in [(10, 1), (1_000_003, 1), (3_000_000, 2), (3_000_001, 2)] {
            let mut amounts = Amounts::default();
            amounts.add(end, 1_500);
            let over_time = amounts.finish(end).points;
            let last = over_time
                .last()
                .map(|point| (point.start + point.length, point.mean));
            let length = end.min(1_000_000) + end.saturating_sub(1_000_000) % 1_000_000;
            let rate = 12_000.0 * PICOS_PER_SECOND as f64 / length as f64;
            assert_eq!((over_time.len(), last), (points, Some((end, rate))));
        }
    }
}
