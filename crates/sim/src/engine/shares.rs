//! How evenly the streams of a load get through: Jain's index of what each received in stretches of time.
//!
//! (Σx)²/(n·Σx²) of n streams is 1 where all received the same, and 1/n where one received everything. A stretch in which
//! nothing was received lasts until something is. It is of the streams that had begun by its start: one that has not is not
//! starved. The first begins with the second stream: one alone shares nothing.
//!
//! A stretch is 100 ms, or as long as a fair share of the line takes for 20 packets where that is longer: of one or two packets
//! each the index would say how coarse packets are, not who is favoured. n streams that get 0 to 2 packets each, by chance,
//! have an index of about a half.
//!
//! Reference: R. Jain, D. Chiu and W. Hawe, "A quantitative measure of fairness and discrimination for resource allocation
//! in shared computer systems", DEC Research Report TR-301, 1984.

use delaylab_model::plan::Unit;
use delaylab_model::series::SeriesPoint;
use delaylab_model::{PICOS_PER_SECOND, Picos};
use delaylab_topology::time::nanos;
use std::sync::Arc;

/// The shortest stretch.
const SHORTEST: Picos = PICOS_PER_SECOND / 10;
/// Packets that a fair share has in a stretch, at least.
const PACKETS: u64 = 20;

/// The stretch for packets of this size in `bytes`, where a fair share is `fair` bit/s.
pub(super) fn stretch(bytes: u32, fair: u64) -> Picos {
    let bits = u128::from(bytes) * 8 * u128::from(PACKETS);
    let time = bits * u128::from(PICOS_PER_SECOND) / u128::from(fair.max(1));
    Picos::try_from(time).unwrap_or(Picos::MAX).max(SHORTEST)
}

/// The streams of one load.
#[derive(Debug)]
pub(super) struct Shares {
    load: Arc<str>,
    stretch: Picos,
    /// What each stream received in the stretch that began then.
    received: Vec<u64>,
    /// When each stream begins.
    begins: Vec<Picos>,
    since: Picos,
    last: Picos,
    /// Start, end and index of each stretch before.
    stretches: Vec<(Picos, Picos, f64)>,
}

impl Shares {
    /// Of a load whose streams begin then, in stretches of this length.
    pub(super) fn new(load: &str, begins: Vec<Picos>, stretch: Picos) -> Self {
        let mut in_order = begins.clone();
        in_order.sort_unstable();
        let second = in_order.get(1).or(in_order.first());
        Self {
            load: load.into(),
            stretch,
            received: vec![0; begins.len()],
            since: second.copied().unwrap_or(0),
            begins,
            last: 0,
            stretches: Vec::new(),
        }
    }

    /// Whose streams they are.
    pub(super) fn load(&self) -> &Arc<str> {
        &self.load
    }

    /// Is there more than one stream to share anything?
    pub(super) fn is_shared(&self) -> bool {
        self.received.len() > 1
    }

    /// When a stream received something last.
    pub(super) fn last(&self) -> Picos {
        self.last
    }

    /// A stream received so many bytes.
    pub(super) fn received(&mut self, now: Picos, stream: u32, bytes: u64) {
        let past = now.saturating_sub(self.since);
        if past >= self.stretch {
            self.close(now - past % self.stretch);
        }
        self.last = now;
        if now < self.since {
            return;
        }
        if let Some(received) = self.received.get_mut(stream as usize) {
            *received += bytes;
        }
    }

    fn close(&mut self, at: Picos) {
        let streams = self.received.iter().zip(&self.begins);
        let begun = streams.filter(|(_, begins)| **begins <= self.since);
        let found = index(begun.map(|(&received, _)| received));
        if let Some(index) = found {
            self.stretches.push((self.since, at, index));
        }
        // What only streams received that began meanwhile is shared by none; they count from now on.
        if found.is_some() || self.received.iter().any(|&bytes| bytes > 0) {
            self.since = at;
            self.received.fill(0);
        }
    }

    /// The series, if there are streams to share anything.
    pub(super) fn series(mut self, trial: u32, end: Picos) -> Vec<SeriesPoint> {
        if !self.is_shared() {
            return Vec::new();
        }
        self.received(end.max(self.last), 0, 0);
        let series: Arc<str> = "fairness".into();
        let point = |&(from, to, index): &(Picos, Picos, f64)| SeriesPoint {
            trial,
            series: series.clone(),
            of: self.load.clone(),
            unit: Unit::Share,
            t: nanos(from),
            length: nanos(to) - nanos(from),
            min: index,
            mean: index,
            max: index,
        };
        self.stretches.iter().map(point).collect()
    }
}

/// Jain's; None of nothing.
fn index(received: impl Iterator<Item = u64>) -> Option<f64> {
    let (mut streams, mut sum, mut squares) = (0_u32, 0.0, 0.0);
    for bytes in received {
        streams += 1;
        sum += bytes as f64;
        squares += (bytes as f64).powi(2);
    }
    (sum > 0.0).then(|| sum * sum / (f64::from(streams) * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_is_jain_s() {
        assert_eq!(index([7, 7, 7].into_iter()), Some(1.0));
        assert_eq!(index([9, 0, 0].into_iter()), Some(1.0 / 3.0));
        assert_eq!(index([1, 2, 3].into_iter()), Some(36.0 / 42.0));
        assert_eq!(index([0, 0].into_iter()), None);
    }

    #[test]
    fn stretches_follow_each_other_and_silence_belongs_to_the_next() {
        let ms = PICOS_PER_SECOND / 1000;
        let mut shares = Shares::new("bulk", vec![0, 0], SHORTEST);
        shares.received(10 * ms, 0, 5);
        shares.received(20 * ms, 1, 5);
        shares.received(130 * ms, 0, 5);
        shares.received(450 * ms, 0, 5);
        shares.received(500 * ms, 1, 10);
        let ends: Vec<_> = (shares.series(0, 1100 * ms).into_iter())
            .map(|point| (point.t / 1_000_000, point.length / 1_000_000, point.mean))
            .collect();
        assert_eq!(
            ends,
            [
                (0, 100, 1.0),
                (100, 300, 0.5),
                (400, 100, 0.5),
                (500, 600, 0.5)
            ]
        );
        assert!(
            Shares::new("alone", vec![0], SHORTEST)
                .series(0, ms)
                .is_empty()
        );
    }

    #[test]
    fn streams_that_have_not_begun_are_not_starved() {
        let ms = PICOS_PER_SECOND / 1000;
        let mut shares = Shares::new("bulk", vec![500 * ms, 700 * ms], SHORTEST);
        for at in 0..5 {
            shares.received((510 + 100 * at) * ms, 0, 5);
            if at >= 2 {
                shares.received((520 + 100 * at) * ms, 1, if at == 2 { 5 } else { 15 });
            }
        }
        let points: Vec<_> = (shares.series(0, 1_000 * ms).into_iter())
            .map(|point| (point.t / 1_000_000, point.length / 1_000_000, point.mean))
            .collect();
        assert_eq!(points, [(700, 100, 1.0), (800, 100, 0.8), (900, 100, 0.8)]);
    }

    #[test]
    fn a_stream_that_begins_later_does_not_hide_that_the_first_starves() {
        let ms = PICOS_PER_SECOND / 1000;
        let mut shares = Shares::new("bulk", vec![0, 150 * ms], SHORTEST);
        shares.received(10 * ms, 0, 5);
        for at in 1..5 {
            shares.received((60 + 100 * at) * ms, 1, 5);
        }
        let points = shares.series(0, 500 * ms).into_iter();
        let points: Vec<_> = points
            .map(|point| (point.t / 1_000_000, point.mean))
            .collect();
        assert_eq!(points, [(150, 0.5), (250, 0.5), (350, 0.5)]);
    }

    /// One segment of the first stream before all of them starve.
    #[test]
    fn a_load_that_is_starved_is_not_fair() {
        let ms = PICOS_PER_SECOND / 1000;
        let mut shares = Shares::new("lo", vec![0, 17 * ms], SHORTEST);
        shares.received(10 * ms, 0, 1448);
        shares.received(50 * ms, 0, 1448);
        let points = shares.series(0, 21_900 * ms).into_iter();
        let points: Vec<_> = points
            .map(|point| (point.t / 1_000_000, point.mean))
            .collect();
        assert_eq!(points, [(17, 0.5)]);
    }

    #[test]
    fn a_fair_share_has_twenty_packets_in_a_stretch() {
        // 1500 bytes: 240 kbit, of 200 kbit/s.
        assert_eq!(stretch(1_500, 200_000), PICOS_PER_SECOND * 12 / 10);
        assert_eq!(stretch(1_500, 10_000_000), SHORTEST);
        assert_eq!(stretch(1_500, 0), 240_000 * PICOS_PER_SECOND);
    }
}
