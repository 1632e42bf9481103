//! Numbers that wrap, and replies that overtake each other.

use delaylab_model::Nanos;
use delaylab_model::record::Record;
use std::collections::VecDeque;

/// Makes 16-bit sequence numbers whole again: each is the one nearest to the one before.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unwrap {
    last: Option<u64>,
}

impl Unwrap {
    /// How many there are of 16 bits.
    pub const TURN: u64 = 1 << 16;

    /// Is the next number 0 because numbers of 16 bits end here?
    pub fn is_at_a_turn(&self) -> bool {
        self.last.is_some_and(|last| nearest(last, 0) > 0)
    }

    /// The whole number. One that has more than 16 bits is whole already.
    pub fn whole(&mut self, number: u64) -> u64 {
        let whole = match self.last {
            Some(last) if number < Self::TURN => nearest(last, number),
            _ => number,
        };
        self.last = Some(whole);
        whole
    }
}

/// The number nearest to `last` whose low 16 bits are `low`.
fn nearest(last: u64, low: u64) -> u64 {
    let here = (last & !(Unwrap::TURN - 1)) | low;
    let half = Unwrap::TURN / 2;
    if here.saturating_add(half) < last {
        here.saturating_add(Unwrap::TURN)
    } else if here > last.saturating_add(half) && here >= Unwrap::TURN {
        here - Unwrap::TURN
    } else {
        here
    }
}

/// As [`Extents`], of packets with the times at which they arrived, in the order of these. Of two that arrived within
/// `tolerance`, neither overtook the other.
pub fn extents_at(arrived: &[(Nanos, u64)], tolerance: Nanos) -> Vec<u32> {
    let mut largest: Vec<u64> = Vec::with_capacity(arrived.len());
    let mut extents = Vec::with_capacity(arrived.len());
    let mut before = 0;
    for (index, &(at, seq)) in arrived.iter().enumerate() {
        while before < index && arrived[before].0.saturating_add(tolerance) < at {
            before += 1;
        }
        let overtaken_at = largest[..before].partition_point(|&it| it <= seq);
        let extent = match overtaken_at < before {
            true => index - overtaken_at,
            false => 0,
        };
        extents.push(u32::try_from(extent).unwrap_or(u32::MAX));
        largest.push(largest.last().map_or(seq, |&it| it.max(seq)));
    }
    extents
}

/// RFC 4737 §4.2.1 for packets in the order in which they arrived: for each, how many arrived since
/// the first that was sent after it; 0 is in order. Of packets that came more than some ten thousand replies late, the
/// extent is at least that.
pub struct Extents {
    /// Each that was larger than all before it, and how many had arrived.
    largest: VecDeque<(u64, u64)>,
    arrived: u64,
}

impl Extents {
    const HELD: usize = 1 << 16;

    /// Nothing has arrived.
    pub const fn new() -> Self {
        Self {
            largest: VecDeque::new(),
            arrived: 0,
        }
    }

    /// The extent of the next arrival.
    pub fn next(&mut self, seq: u64) -> u32 {
        let at = self.arrived;
        self.arrived += 1;
        if self
            .largest
            .back()
            .is_none_or(|&(largest, _)| seq >= largest)
        {
            if self.largest.len() == Self::HELD {
                self.largest.pop_front();
            }
            self.largest.push_back((seq, at));
            return 0;
        }
        let overtaken = self.largest.partition_point(|&(before, _)| before <= seq);
        let by = self.largest.get(overtaken).map_or(0, |&(_, by)| at - by);
        u32::try_from(by).unwrap_or(u32::MAX)
    }
}

/// Fills `reorder_extent` in from when replies were read, or where nobody read them from when they
/// arrived.
pub fn mark(records: &mut [Record]) {
    let when = |record: &Record| record.t_recv.or(record.t_rx);
    let mut arrived: Vec<usize> = (0..records.len())
        .filter(|&at| when(&records[at]).is_some())
        .collect();
    arrived.sort_by_key(|&at| when(&records[at]));
    let mut extents = Extents::new();
    for at in arrived {
        records[at].reorder_extent = extents.next(records[at].seq);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_wrap_go_on() {
        let mut unwrap = Unwrap::default();
        let whole: Vec<_> = [65_534, 65_535, 0, 65_533, 2, 1]
            .map(|number| unwrap.whole(number))
            .to_vec();
        assert_eq!(whole, [65_534, 65_535, 65_536, 65_533, 65_538, 65_537]);
        assert_eq!(Unwrap::default().whole(70_000), 70_000);
        let mut largest = Unwrap::default();
        let last = [u64::MAX, 65_535, 0].map(|number| largest.whole(number));
        assert_eq!(last, [u64::MAX; 3]);
    }

    #[test]
    fn a_packet_that_was_overtaken_by_two_has_extent_two() {
        let mut extents = Extents::new();
        let of_one = [1, 2, 4, 5, 3, 6].map(|seq| extents.next(seq));
        assert_eq!(of_one, [0, 0, 0, 0, 2, 0]);
        let mut extents = Extents::new();
        assert_eq!([3, 2, 1].map(|seq| extents.next(seq)), [0, 1, 2]);
    }

    #[test]
    fn packets_that_arrived_together_did_not_overtake_each_other() {
        let arrived = [(10, 1), (20, 3), (22, 2), (40, 5), (60, 4)];
        assert_eq!(extents_at(&arrived, 0), [0, 0, 1, 0, 1]);
        assert_eq!(extents_at(&arrived, 2), [0, 0, 0, 0, 1]);
        assert_eq!(extents_at(&[(10, 2), (10, 1)], 0), [0, 0]);
    }
}
