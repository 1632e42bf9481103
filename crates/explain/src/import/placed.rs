//! When packets were sent: known of those with a time stamp, and of the others by their place between
//! them.

use super::decimal::LARGEST;
use super::imported::Clock;
use super::packet::Packet;
use super::records::Records;
use delaylab_model::Nanos;
use delaylab_model::record::Record;

/// Makes packets records, in the order of their numbers.
pub struct RecordMaker {
    /// What all records have.
    due: Record,
    first: u64,
    period: Nanos,
    /// Does any packet have a time?
    dated: bool,
    /// The last packet with one.
    before: Option<(u64, Nanos)>,
    /// Those after it, which wait for the next.
    waiting: Vec<(u64, Packet)>,
    records: Records,
}

impl RecordMaker {
    pub fn new(due: Record, first: u64, period: Nanos, dated: bool) -> Self {
        Self {
            due,
            first,
            period,
            dated,
            before: None,
            waiting: Vec::new(),
            records: Records::new(),
        }
    }

    /// Of what clock the times are.
    pub const fn clock(&self) -> Clock {
        if self.dated {
            Clock::RealTime
        } else {
            Clock::MadeUp
        }
    }

    /// The next packet.
    pub fn take(&mut self, seq: u64, packet: Packet) {
        match packet.sent_at {
            Some(at) => {
                self.settle(Some((seq, at)));
                self.add(seq, &packet, at);
                self.before = Some((seq, at));
            }
            None if self.dated => self.waiting.push((seq, packet)),
            None => {
                let at = bounded(self.steps(seq - self.first));
                self.add(seq, &packet, at);
            }
        }
    }

    /// Every packet.
    pub fn finish(mut self) -> Records {
        self.settle(None);
        self.records
    }

    /// Those that waited for this one.
    fn settle(&mut self, next: Option<(u64, Nanos)>) {
        for (seq, packet) in std::mem::take(&mut self.waiting) {
            let at = match (self.before, next) {
                (Some((s0, t0)), Some((s1, t1))) => {
                    let share = i128::from(seq - s0) * (i128::from(t1) - i128::from(t0));
                    i128::from(t0) + share / i128::from(s1 - s0)
                }
                (Some((s0, t0)), None) => i128::from(t0) + self.steps(seq - s0),
                (None, Some((s1, t1))) => i128::from(t1) - self.steps(s1 - seq),
                (None, None) => self.steps(seq - self.first),
            };
            self.add(seq, &packet, bounded(at));
        }
    }

    fn add(&mut self, seq: u64, packet: &Packet, at: Nanos) {
        self.records.push(&Record {
            seq: seq - self.first,
            t_intended: at,
            t_send: packet.round_trip.map(|_| at).or(packet.sent_at),
            t_recv: packet.round_trip.map(|round_trip| at + round_trip),
            reply_ttl: packet.ttl,
            ip_size: packet.size.or(self.due.ip_size),
            copies: packet.copies,
            reorder_extent: packet.extent,
            outcome: packet.outcome,
            refused_by: packet.refused_by,
            icmp: packet.icmp,
            path_mtu: packet.path_mtu,
            ..self.due
        });
    }

    fn steps(&self, count: u64) -> i128 {
        i128::from(count) * i128::from(self.period)
    }
}

fn bounded(at: i128) -> Nanos {
    let largest = i128::from(LARGEST);
    Nanos::try_from(at.clamp(-largest, largest)).unwrap_or(0)
}
