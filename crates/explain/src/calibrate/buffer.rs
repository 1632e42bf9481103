//! How much the bottleneck holds: the limit that tells packets that were taken from those that were
//! dropped, by what stood before them.
//!
//! A queue with tail drop takes a packet if it still fits. So what stood before a packet, and the packet
//! itself, is within the limit if it was taken, and beyond it if it was dropped. The limit is where fewest packets
//! contradict it; it lies between that value and the next one seen. Where many were dropped far below it, the queue
//! does not wait until it is full.
//!
//! What stood is known from stamps, so the limit is less certain than that: by as much as limits differ that hardly more
//! packets contradict, by as much as the trials differ, and by a packet of the largest size at least.

use super::backlog::Standing;
use super::line::HALF;

/// Packets dropped that a limit needs.
const DROPPED: usize = 20;
/// Dropped with at least this share of room, and for two packets of the largest size, is dropped early.
const ROOM: f64 = 0.1;
/// This share dropped early is no accident: some are misjudged where stamps are late.
const EARLY: f64 = 0.1;
/// This share that contradicts the limit is no accident either: of a queue with tail drop it is some 5 %, behind late stamps too.
const CONTRADICTED: f64 = 0.1;
/// A limit that more than this share of what was dropped speaks against explains nothing.
const EXPLAINED: f64 = 0.5;

/// What a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    /// Bytes on the wire.
    Bytes,
    /// Packets, whatever their size.
    Packets,
}

impl Counts {
    /// As experiments and figures have it.
    pub(super) const fn unit(self) -> &'static str {
        match self {
            Counts::Bytes => "B",
            Counts::Packets => "packets",
        }
    }
}

/// How much a queue holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Buffer {
    /// What it counts.
    pub counts: Counts,
    /// Between these two is the limit: the most that was taken, the least that was not.
    pub between: (f64, f64),
    /// And with 95 % confidence.
    pub interval: (f64, f64),
    /// Packets that were taken, and dropped.
    pub packets: [usize; 2],
    /// Share of them that contradict the limit.
    pub contradict: f64,
    /// Share of the dropped for which there was room.
    pub early: f64,
}

impl Buffer {
    /// Of what stood in each trial. `None` where too little was dropped. The unit is the one that fewer packets contradict.
    pub(super) fn estimate(trials: &[Vec<Standing>]) -> Option<Self> {
        let standing = trials.concat();
        let bytes = Self::counting(&standing, Counts::Bytes)?;
        let packets = Self::counting(&standing, Counts::Packets)?;
        // Packets of one size cannot tell: bytes are usual.
        let all = if packets.contradict < bytes.contradict {
            packets
        } else {
            bytes
        };
        let each = trials.iter();
        Some(all.spread(each.filter_map(|trial| Self::counting(trial, all.counts))))
    }

    /// The same with an interval that has the limit of each of these trials.
    #[must_use]
    pub(super) fn spread(mut self, trials: impl Iterator<Item = Self>) -> Self {
        for trial in trials {
            let (low, high) = self.interval;
            self.interval = (low.min(trial.limit()), high.max(trial.limit()));
        }
        self
    }

    /// What tells packets that were taken from those that were dropped, counted in this unit.
    pub(super) fn counting(standing: &[Standing], counts: Counts) -> Option<Self> {
        match counts {
            Counts::Bytes => Self::counted(standing, counts, |one| one.bytes + one.wire),
            Counts::Packets => Self::counted(standing, counts, |one| one.packets + 1.0),
        }
    }

    fn counted(
        standing: &[Standing],
        counts: Counts,
        of: impl Fn(&Standing) -> f64,
    ) -> Option<Self> {
        let side = |dropped: bool| {
            let side = standing
                .iter()
                .filter(|one| one.waited.is_none() == dropped);
            let mut side: Vec<f64> = side.map(&of).collect();
            side.sort_by(f64::total_cmp);
            side
        };
        let [taken, dropped] = [side(false), side(true)];
        if dropped.len() < DROPPED {
            return None;
        }
        let Limit {
            between: (limit, next),
            wrong,
            hardly_worse: (low, high),
        } = least_contradicted(&taken, &dropped)?;
        let packet = match counts {
            Counts::Bytes => standing.iter().map(|one| one.largest).fold(0.0, f64::max),
            Counts::Packets => 1.0,
        };
        let room = limit - (ROOM * limit).max(2.0 * packet);
        let early = dropped.partition_point(|&value| value < room);
        Some(Self {
            counts,
            between: (limit, next),
            // What took a packet holds one.
            interval: (
                low.min(limit - packet).max(packet.min(limit)),
                high.max(next + packet),
            ),
            packets: [taken.len(), dropped.len()],
            contradict: wrong as f64 / (taken.len() + dropped.len()) as f64,
            early: early as f64 / dropped.len() as f64,
        })
    }

    /// So much of what it counts, in words.
    pub fn amount(&self, value: f64) -> String {
        format!("{value:.0} {}", self.counts.unit())
    }

    /// The middle of what it may be; the most packets that it took, between which and one more there is nothing.
    pub fn limit(&self) -> f64 {
        match self.counts {
            Counts::Bytes => f64::midpoint(self.between.0, self.between.1),
            Counts::Packets => self.between.0,
        }
    }

    /// Does it drop before it is full?
    pub fn drops_early(&self) -> bool {
        self.early > EARLY
    }

    /// The share that hardly more packets contradict than this limit: by no more than chance.
    pub(super) fn by_chance(&self) -> f64 {
        let all = (self.packets[0] + self.packets[1]) as f64;
        by_chance(self.contradict * all) / all
    }

    /// Does it tell what was dropped? Where packets are lost at random any limit is contradicted by all of those.
    pub(super) fn explains(&self) -> bool {
        let [taken, dropped] = self.packets;
        let contradict = self.contradict * (taken + dropped) as f64;
        !self.drops_early() && contradict < EXPLAINED * dropped as f64
    }

    /// Does no limit tell what was taken from what was dropped?
    pub fn is_contradicted(&self) -> bool {
        self.contradict > CONTRADICTED
    }
}

/// What tells values that were taken from those that were dropped.
struct Limit {
    /// The largest value that is still taken, and the least beyond it.
    between: (f64, f64),
    /// How many contradict that.
    wrong: usize,
    /// The least and the largest limit of those that more contradict by no more than chance.
    hardly_worse: (f64, f64),
}

/// The most that differ from this number by no more than chance.
fn by_chance(wrong: f64) -> f64 {
    wrong + HALF * wrong.sqrt()
}

fn least_contradicted(taken: &[f64], dropped: &[f64]) -> Option<Limit> {
    let wrong = |limit: f64| {
        let beyond = taken.len() - taken.partition_point(|&value| value <= limit);
        beyond + dropped.partition_point(|&value| value <= limit)
    };
    let tried = || taken.iter().map(|&limit| (wrong(limit), limit));
    let (wrong, limit) = tried().min_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)))?;
    let next = dropped[dropped.partition_point(|&value| value <= limit)..].first();
    let most = by_chance(wrong as f64);
    let near = tried().filter(|(wrong, _)| *wrong as f64 <= most);
    let hardly_worse = near.fold((limit, limit), |(low, high), (_, limit)| {
        (low.min(limit), high.max(limit))
    });
    Some(Limit {
        between: (limit, next.copied().unwrap_or(limit)),
        wrong,
        hardly_worse,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn standing(bytes: f64, wire: f64, taken: bool) -> Standing {
        Standing {
            stream: 0,
            flood: true,
            wire,
            bytes,
            packets: (bytes / 100.0).floor(),
            waited: taken.then_some(bytes),
            largest: 100.0,
        }
    }

    #[test]
    fn too_few_drops_say_nothing() {
        let taken: Vec<_> = (0..100)
            .map(|at| standing(f64::from(at), 50.0, true))
            .collect();
        assert_eq!(Buffer::estimate(&[taken]), None);
        assert_eq!(Buffer::estimate(&[]), None);
    }

    /// A model whose buffer takes no packet is none.
    #[test]
    fn the_least_that_a_queue_may_hold_is_a_packet() {
        let trial = (0..100).map(|at| standing(f64::from(at) * 4.0, 100.0, at <= 10));
        let found = Buffer::estimate(&[trial.collect()]).unwrap();
        assert!(found.limit() < 200.0, "{found:?}");
        assert_eq!(found.interval.0, 100.0, "{found:?}");
    }

    /// Stamps that are all a little late, and trials that are so by more or less: what stood is off in all of them.
    #[test]
    fn an_interval_has_the_limit_where_all_stamps_are_late() {
        let limit = 64_000.0;
        let trial = |late: f64| -> Vec<Standing> {
            let each = (0..2000).map(|at| {
                let bytes = 60_000.0 + 4.0 * f64::from(at);
                standing(bytes + late, 100.0, bytes + 100.0 <= limit)
            });
            each.collect()
        };
        let one = Buffer::estimate(&[trial(-14.0)]).unwrap();
        assert!(one.between.1 < limit, "{one:?}");
        assert!(
            one.interval.0 <= limit && limit <= one.interval.1,
            "{one:?}"
        );
        let trials = Buffer::estimate(&[trial(-14.0), trial(-14.0), trial(-400.0)]).unwrap();
        assert_eq!(trials.counts, Counts::Bytes);
        assert!(trials.interval.0 < limit - 390.0, "{trials:?}");
    }

    proptest! {
        #[test]
        fn a_limit_is_bracketed(
            limit in 1000_u32..100_000,
            packets in proptest::collection::vec((0_u32..120_000, 60_u32..1500), 500..600),
        ) {
            let all: Vec<_> = packets
                .iter()
                .map(|&(bytes, wire)| standing(bytes.into(), wire.into(), bytes + wire <= limit))
                .collect();
            let dropped = all.iter().filter(|one| one.waited.is_none()).count();
            let taken = all.len() - dropped;
            prop_assume!(dropped >= DROPPED && taken > 0);
            let found = Buffer::estimate(&[all]).unwrap();
            prop_assert_eq!(found.contradict, 0.0);
            if found.counts == Counts::Bytes {
                prop_assert!(found.between.0 <= f64::from(limit) && f64::from(limit) < found.between.1);
            }
            prop_assert!(!found.drops_early());
        }

        #[test]
        fn late_stamps_move_it_little(seed in 0_u64..50) {
            let mut random = delaylab_stats::random::SplitMix::new(seed);
            let limit = 20_000.0;
            let each = (0..2000).map(|_| {
                let bytes = 18_000.0 + 4_000.0 * random.uniform();
                let taken = bytes + 500.0 <= limit;
                // One in ten is misjudged by a packet.
                let off = if random.uniform() < 0.1 { 1466.0 } else { 0.0 };
                standing(bytes + off, 500.0, taken)
            });
            let found = Buffer::estimate(&[each.collect()]).unwrap();
            prop_assert!((found.limit() - limit).abs() < 100.0, "{found:?}");
        }
    }
}
