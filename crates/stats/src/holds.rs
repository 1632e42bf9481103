//! Packets that something held and let go together: a host that was stopped, a link that was away for a moment.
//!
//! Whatever holds all packets for a second and lets them go at once delays the first of them by a second and the last one by
//! nothing: their delay falls by as much as the time at which they are due rises. No quantile is needed to see that, so it is
//! seen however many packets of a stream were held. A queue that drains looks the same.

use crate::excursion::Spread;
use delaylab_model::{MILLISECOND, Nanos};
use std::ops::RangeInclusive;

/// Shorter ones are excursions as others are.
const LEAST: Nanos = 100 * MILLISECOND;
/// Packets that are due closer together say no more than one: what lets them go takes some time for each.
const STEP: Nanos = 10 * MILLISECOND;
/// Fewer packets at least a step apart may be so by chance.
const LEAST_STEPS: usize = 5;
/// Packets that are due this many times as far apart as they come back were held; so was one that waited this many times as long
/// as it came back after the one before, as where what lets them go stops for a moment.
const TIMES: Nanos = 4;
/// A stream whose quartiles are closer together has no more packets in holds than its own median and quartiles bear: with
/// two of five packets in one of 100 ms they are 37 ms apart.
const WIDE: Nanos = 25 * MILLISECOND;

/// A packet: when it was due, and how long it took.
pub type Packet = (Nanos, Nanos);

/// Packets that were held and let go together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// When the first of them was due.
    pub from: Nanos,
    /// When the last of them was back.
    pub until: Nanos,
    /// Which they are.
    pub packets: RangeInclusive<usize>,
}

impl Hold {
    /// How long it was.
    pub const fn length(&self) -> Nanos {
        self.until.saturating_sub(self.from)
    }

    /// How many packets were held.
    pub fn count(&self) -> usize {
        self.packets.clone().count()
    }
}

/// A row of packets at least a step apart of which each came back soon after the one before.
#[derive(Debug, Clone, Copy)]
struct Row {
    first: usize,
    last: usize,
    steps: usize,
    /// When the first and the last of them to come back did.
    back: (Nanos, Nanos),
}

impl Row {
    fn begin(at: usize, packet: Packet) -> Self {
        let back = back(packet);
        Self {
            first: at,
            last: at,
            steps: 1,
            back: (back, back),
        }
    }

    /// With this packet, unless it came back too late to have been held as the others were. The shortest of all takes `least`.
    fn with(self, at: usize, packet: Packet, before: Packet, least: Nanos) -> Option<Self> {
        let apart = packet.0.saturating_sub(before.0);
        let waited = packet.1.saturating_sub(least);
        let late = back(packet).saturating_sub(back(before));
        (late.saturating_mul(TIMES) <= apart.max(waited)).then(|| Self {
            last: at,
            steps: self.steps + 1,
            back: (self.back.0.min(back(packet)), self.back.1.max(back(packet))),
            ..self
        })
    }

    fn hold(self, packets: &[Packet]) -> Option<Hold> {
        let (from, last_due) = (packets[self.first].0, packets[self.last].0);
        let apart = last_due.saturating_sub(from);
        let is_one = self.steps >= LEAST_STEPS
            && apart >= LEAST
            && (self.back.1.saturating_sub(self.back.0)).saturating_mul(TIMES) <= apart;
        is_one.then_some(Hold {
            from,
            until: self.back.1,
            packets: self.first..=self.last,
        })
    }
}

fn back((due, took): Packet) -> Nanos {
    due.saturating_add(took)
}

/// The holds of a stream, in order of time. Its packets are in the order in which they were due.
pub fn find(packets: &[Packet]) -> Vec<Hold> {
    let mut holds = Vec::new();
    let least = packets.iter().map(|(_, took)| *took).min().unwrap_or(0);
    let mut open: Option<Row> = None;
    for (at, &packet) in packets.iter().enumerate() {
        let row = match open {
            None => Row::begin(at, packet),
            Some(row) if packet.0.saturating_sub(packets[row.last].0) < STEP => continue,
            Some(row) => row
                .with(at, packet, packets[row.last], least)
                .unwrap_or_else(|| {
                    holds.extend(row.hold(packets));
                    Row::begin(at, packet)
                }),
        };
        open = Some(row);
    }
    holds.extend(open.and_then(|row| row.hold(packets)));
    holds
}

/// The longest of them, and how many packets it held; packets in any order.
pub fn longest(mut packets: Vec<Packet>) -> Option<Hold> {
    packets.sort_unstable();
    find(&packets).into_iter().max_by_key(Hold::length)
}

/// May enough packets be held that the median and the quartiles of all are theirs?
pub const fn may_be_most(of_all: Spread) -> bool {
    of_all.iqr >= WIDE
}

/// What responses usually are, without those of packets that were held; `None` where all were, or none. Packets in any order.
pub fn spread_without(mut packets: Vec<Packet>) -> Option<Spread> {
    packets.sort_unstable();
    let holds = find(&packets);
    if holds.is_empty() {
        return None;
    }
    let is_held = |at: &usize| {
        let next = holds.partition_point(|hold| hold.packets.end() < at);
        holds
            .get(next)
            .is_some_and(|hold| hold.packets.contains(at))
    };
    let others = packets.iter().enumerate();
    let others = others.filter(|(at, _)| !is_held(at));
    let mut others: Vec<f64> = others.map(|(_, (_, took))| *took as f64).collect();
    Spread::from_responses(&mut others)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::random::SplitMix;

    const MS: Nanos = MILLISECOND;

    /// A packet each `interval`, of which those that are due within are held until the end.
    fn held(interval: Nanos, count: Nanos, held: std::ops::Range<Nanos>) -> Vec<Packet> {
        let packet = |at: Nanos| {
            let due = at * interval;
            let took = 50_000 + at * 7_919 % 10_000;
            // What lets them go takes 20 µs for each.
            let waited = held.end - due + (due - held.start) / interval * 20_000;
            (
                due,
                if held.contains(&due) {
                    took + waited
                } else {
                    took
                },
            )
        };
        (0..count).map(packet).collect()
    }

    #[test]
    fn however_many_packets_are_held_they_are_told_from_the_others() {
        for interval in [MS / 5, MS, 10 * MS, 40 * MS] {
            for share in [5, 10, 25, 30, 45, 60, 80, 95] {
                let count = 4_000 * MS / interval;
                let (from, until) = (100 * MS, (100 + 40 * share) * MS);
                let packets = held(interval, count, from..until);
                let holds = find(&packets);
                let [hold] = &holds[..] else {
                    panic!("{interval} {share}: {holds:?}")
                };
                let off = (hold.from - from)
                    .abs()
                    .max((hold.length() - 40 * share * MS).abs());
                assert!(
                    off <= interval.max(STEP) + 400 * MS,
                    "{interval} {share}: {hold:?}"
                );
                let there = packets.iter().filter(|(_, took)| *took > 70_000).count();
                assert!(hold.count().abs_diff(there) <= (STEP / interval) as usize + 1);
                let usual = spread_without(packets).unwrap();
                assert!(usual.bound() < MS, "{usual:?}");
            }
        }
    }

    #[test]
    fn what_lets_packets_go_may_stop_for_a_moment() {
        let mut packets = held(10 * MS, 400, 1_000 * MS..2_500 * MS);
        let waits = packets
            .iter_mut()
            .filter(|(due, _)| (1_110 * MS..2_500 * MS).contains(due));
        waits.for_each(|(_, took)| *took += 30 * MS);
        // The last of them were let go one after the other, and are no part of it.
        let [hold] = &find(&packets)[..] else {
            panic!("{:?}", find(&packets))
        };
        assert!((149..=152).contains(&hold.count()), "{hold:?}");
        let length = hold.length() / MS;
        assert!((1_500..1_550).contains(&length), "{hold:?}");
    }

    #[test]
    fn delays_that_vary_are_not_held() {
        for (interval, most) in [
            (MS, 80.0),
            (10 * MS, 80.0),
            (10 * MS, 300.0),
            (100 * MS, 300.0),
        ] {
            let found: usize = (0..20)
                .map(|seed| {
                    let mut random = SplitMix::new(seed);
                    let took = |at| (at * interval, (random.uniform() * most * 1e6) as Nanos);
                    find(&(0..2_000).map(took).collect::<Vec<_>>()).len()
                })
                .sum();
            assert!(found <= 40, "{interval} {most}: {found}");
        }
        assert_eq!(find(&held(10 * MS, 400, 0..0)), []);
        assert_eq!(spread_without(held(10 * MS, 400, 0..0)), None);
        // A short one is an excursion as others are.
        assert_eq!(find(&held(10 * MS, 400, 1_000 * MS..1_060 * MS)), []);
        assert_eq!(longest(Vec::new()), None);
    }
}
