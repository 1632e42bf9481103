//! What stood in the bottleneck's queue before each packet, taken or dropped.
//!
//! Nobody looks into the queue. But a line that never rests puts its packets out one behind the other, so when
//! each began to leave follows from when it and its neighbours came out; and what came before a
//! packet and had not yet begun to leave stood before it. It holds for every discipline that does not idle.

use super::passage::{Overflow, Passage};
use super::rate::Rate;

/// Neighbours that are asked when a packet left: stamps are late now and then, never early.
const NEIGHBOURS: usize = 20;

/// A packet that came to the queue.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Standing {
    /// Which stream of its trial it is of.
    pub stream: usize,
    /// Is it of the stream that overflows the queue?
    pub flood: bool,
    /// Its bytes on the wire.
    pub wire: f64,
    /// Bytes that stood before it; what is being sent does not stand.
    pub bytes: f64,
    /// Packets that stood before it.
    pub packets: f64,
    /// How long it waited, in nanoseconds; `None`: it was dropped.
    pub waited: Option<f64>,
    /// The largest packet of its trial.
    pub largest: f64,
}

/// How a packet leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sends {
    /// Bit by bit: while it is being sent it stands no more.
    AtItsRate,
    /// All of it once there are tokens for it; until then it stands.
    AtOnce,
}

impl Overflow {
    /// Every packet, with what it found. `first`: nanoseconds a byte of a rate that is higher at first.
    pub(super) fn standing(&self, rate: &Rate, sends: Sends, first: Option<f64>) -> Vec<Standing> {
        let byte = rate.ns_per_byte.value;
        let fastest = first.unwrap_or(byte);
        let own = match sends {
            Sends::AtItsRate => byte,
            Sends::AtOnce => 0.0,
        };
        let [constant, slope] = self.least;
        // What the line to the queue takes for a byte; there, where only the sum of both ways is known.
        let there = slope * self.ways.there();
        let before = ((there - own) / 2.0).max(0.0);
        let behind = (slope - own - before).max(0.0);
        // Put off by what all packets take, so that a packet that meets no other is sent as it comes.
        let came = |passage: &Passage| passage.sent + constant + before * passage.wire;
        let arrived = self.arrived();
        let left = departures(&arrived, [byte, fastest], behind);
        let arrivals = arrived.iter().map(|passage| (came(passage), passage.wire));
        let arrivals = Running::from_events(arrivals.collect());
        let begun = arrived.iter().zip(left).map(|(passage, left)| {
            let begun = left - passage.wire * own;
            (begun.max(came(passage)), passage.wire)
        });
        let begun = Running::from_events(begun.collect());
        let largest = super::largest(self.passages.iter());
        let standing = |passage: &Passage| {
            let now = came(passage);
            let [into, out] = [arrivals.before(now), begun.through(now)];
            Standing {
                stream: passage.stream,
                flood: passage.stream == self.flood,
                wire: passage.wire,
                bytes: (into.bytes - out.bytes).max(0.0),
                packets: (into.packets - out.packets).max(0.0),
                waited: self.waited(passage),
                largest,
            }
        };
        self.passages.iter().map(standing).collect()
    }
}

/// When the last bit of each left the bottleneck: the earliest time that its own stamp and those of its
/// neighbours allow. At the slowest rate it follows those before it; at the fastest, those behind it follow it.
fn departures(arrived: &[Passage], [slowest, fastest]: [f64; 2], behind: f64) -> Vec<f64> {
    let mut sum = 0.0;
    let each = arrived.iter().map(|passage| {
        sum += passage.wire;
        let out = passage.out.unwrap_or(f64::INFINITY);
        (out - behind * passage.wire, sum)
    });
    let each: Vec<(f64, f64)> = each.collect();
    let departure = |at: usize| {
        let (_, own) = each[at];
        let first = at.saturating_sub(NEIGHBOURS);
        let near = &each[first..each.len().min(at + NEIGHBOURS + 1)];
        let allowed = near.iter().map(|&(left, sum)| {
            let byte = if sum > own { fastest } else { slowest };
            left + (own - sum) * byte
        });
        allowed.fold(f64::INFINITY, f64::min)
    };
    (0..each.len()).map(departure).collect()
}

/// Sums over time.
struct Running {
    at: Vec<f64>,
    bytes: Vec<f64>,
}

/// How much has come.
struct Sum {
    bytes: f64,
    packets: f64,
}

impl Running {
    fn from_events(mut events: Vec<(f64, f64)>) -> Self {
        events.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut bytes = vec![0.0];
        for (_, wire) in &events {
            bytes.push(bytes[bytes.len() - 1] + wire);
        }
        Self {
            at: events.into_iter().map(|(at, _)| at).collect(),
            bytes,
        }
    }

    fn before(&self, now: f64) -> Sum {
        self.first(self.at.partition_point(|&at| at < now))
    }

    fn through(&self, now: f64) -> Sum {
        self.first(self.at.partition_point(|&at| at <= now))
    }

    fn first(&self, count: usize) -> Sum {
        Sum {
            bytes: self.bytes[count],
            packets: count as f64,
        }
    }
}
