//! Packets of a peer that prints lines: gathered by sequence number in whatever order the lines
//! come, and made records when all have been read.

use super::decimal::{LARGEST, Time};
use super::imported::{Clock, Imported, Stream};
use super::order;
use delaylab_model::record::{Method, Outcome, Record};
use delaylab_model::trial::RecordFacts;
use delaylab_model::{Nanos, SECOND};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// More packets of a file without a line of their own than this are not believed: a file that names
/// packet 1 and packet 4 000 000 000 is broken.
const LOST_LIMIT: u64 = 1_000_000;

/// A reply as printed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reply {
    /// Its round trip, where the line has one.
    pub round_trip: Option<Time>,
    /// When it was read, where the line has a time stamp.
    pub read_at: Option<Nanos>,
    /// When its request was sent, where the file says that.
    pub sent_at: Option<Nanos>,
    /// TTL or hop limit.
    pub ttl: Option<u8>,
}

/// How its packet ended, and the reply's figures.
#[derive(Debug, Clone, Copy, Default)]
struct Packet {
    outcome: Outcome,
    refused_by: Option<IpAddr>,
    reply: Reply,
    copies: u16,
}

/// The packets of one stream.
pub struct Packets {
    by_seq: BTreeMap<u64, Packet>,
    /// First replies, in the order of their lines.
    arrived: Vec<u64>,
    repeats: Vec<Nanos>,
    step: Nanos,
}

/// What only the end of a file, or its head, says about a stream.
pub struct Frame {
    /// Which stream of the file.
    pub stream: usize,
    /// What to call it.
    pub name: String,
    /// How it asked.
    pub method: Method,
    /// Whom.
    pub target: String,
    /// Bytes of an IP packet.
    pub size: Option<u32>,
    /// The peer's number for its first packet. `None`: the first that is seen.
    pub first: Option<u64>,
    /// How many it sent, if packets without a line are to stand as lost; `None` where that is not
    /// known, and only the gaps between lines are.
    pub sent: Option<u64>,
    /// May packets without a line stand as lost at all?
    pub fill: bool,
    /// Time from one packet to the next, for times that have to be made up.
    pub period: Nanos,
}

impl Default for Packets {
    fn default() -> Self {
        Self::new()
    }
}

impl Frame {
    /// A stream of which nothing else is known: gaps are not filled, packets are a second apart.
    pub const fn new(stream: usize, name: String, method: Method) -> Self {
        Self {
            stream,
            name,
            method,
            target: String::new(),
            size: None,
            first: None,
            sent: None,
            fill: false,
            period: SECOND,
        }
    }
}

impl Packets {
    /// None yet.
    pub const fn new() -> Self {
        Self {
            by_seq: BTreeMap::new(),
            arrived: Vec::new(),
            repeats: Vec::new(),
            step: 1,
        }
    }

    /// Was anything said of any packet?
    pub fn is_empty(&self) -> bool {
        self.by_seq.is_empty()
    }

    /// How many were answered, and how many copies came beside.
    pub fn answered(&self) -> (u64, u64) {
        let copies = self
            .by_seq
            .values()
            .map(|packet| u64::from(packet.copies))
            .sum();
        (self.arrived.len() as u64, copies)
    }

    /// The number behind the largest so far.
    pub fn next(&self) -> u64 {
        self.by_seq
            .keys()
            .next_back()
            .map_or(0, |last| last.saturating_add(1))
    }

    /// Did any line have a round trip?
    pub fn timed(&self) -> bool {
        self.by_seq
            .values()
            .any(|packet| packet.reply.round_trip.is_some())
    }

    /// A reply came. A second one for the same packet is a copy.
    pub fn reply(&mut self, seq: u64, reply: Reply) {
        if let Some(time) = reply.round_trip {
            self.step = self.step.max(time.step);
        }
        let packet = self.by_seq.entry(seq).or_default();
        if packet.outcome == Outcome::Ok || packet.outcome == Outcome::Corrupt {
            packet.copies = packet.copies.saturating_add(1);
            self.repeats.extend(reply.round_trip.map(|time| time.nanos));
            return;
        }
        packet.outcome = Outcome::Ok;
        let sent_at = packet.reply.sent_at;
        packet.reply = reply;
        packet.reply.sent_at = reply.sent_at.or(sent_at);
        self.arrived.push(seq);
    }

    /// The reply had other bytes than the request.
    pub fn corrupt(&mut self, seq: u64) {
        if let Some(packet) = self.by_seq.get_mut(&seq) {
            packet.outcome = Outcome::Corrupt;
        }
    }

    /// Nothing has come so far; a reply may still.
    pub fn unanswered(&mut self, seq: u64) {
        self.by_seq.entry(seq).or_default();
    }

    /// As [`Packets::unanswered`], of a packet that was sent at this time.
    pub fn unanswered_since(&mut self, seq: u64, sent_at: Option<Nanos>) {
        let packet = self.by_seq.entry(seq).or_default();
        packet.reply.sent_at = packet.reply.sent_at.or(sent_at);
    }

    /// Somebody sent an error instead.
    pub fn refused(&mut self, seq: u64, by: Option<IpAddr>) {
        let packet = self.by_seq.entry(seq).or_default();
        if packet.outcome == Outcome::Lost {
            packet.outcome = Outcome::Refused;
            packet.refused_by = by;
        }
    }

    /// The stream. Adds what there is to warn of.
    pub fn finish(mut self, frame: Frame, imported: &mut Imported) -> Stream {
        let seen = self.by_seq.keys().next().copied();
        // A number before the peer's first means that it counts otherwise than its head says.
        let first = match (frame.first, seen) {
            (Some(first), Some(seen)) => first.min(seen),
            (first, seen) => first.or(seen).unwrap_or(0),
        };
        if frame.fill {
            self.fill(first, frame.sent, imported);
        }
        let placed = Placed::of(&self.by_seq, first, frame.period);
        let stream = u16::try_from(frame.stream).unwrap_or(u16::MAX);
        let mut records: Vec<_> = self
            .by_seq
            .iter()
            .map(|(&seq, packet)| {
                let record = Record::due(0, stream, seq - first, frame.method, 0);
                record_of(packet, record, frame.size, placed.at(seq, packet))
            })
            .collect();
        for (seq, extent) in self.arrived.iter().zip(order::extents(&self.arrived)) {
            if let Ok(index) = records.binary_search_by_key(&(seq - first), |record| record.seq) {
                records[index].reorder_extent = extent;
            }
        }
        Stream {
            name: frame.name,
            method: frame.method,
            target: frame.target,
            size: frame.size,
            clock: placed.clock(),
            records,
            repeats: self.repeats,
            step: self.step,
            facts: RecordFacts::default(),
        }
    }

    /// Packets that no line names were lost.
    fn fill(&mut self, first: u64, sent: Option<u64>, imported: &mut Imported) {
        let last_seen = self.by_seq.keys().next_back().copied();
        let last_sent = sent
            .filter(|&sent| sent > 0)
            .map(|sent| first.saturating_add(sent - 1));
        let Some(last) = last_seen.max(last_sent) else {
            return;
        };
        let lines = self.by_seq.len() as u64;
        let missing = (last - first).saturating_add(1).saturating_sub(lines);
        if missing > LOST_LIMIT.saturating_sub(imported.filled) {
            imported.warn(format!(
                "packets {first} to {last} have lines for only {lines} of them; the others were left out"
            ));
            return;
        }
        imported.filled += missing;
        for seq in first..=last {
            self.unanswered(seq);
        }
    }
}

fn record_of(packet: &Packet, due: Record, size: Option<u32>, sent: Nanos) -> Record {
    let round_trip = packet.reply.round_trip.map(|time| time.nanos);
    Record {
        ip_size: size,
        t_intended: sent,
        t_send: round_trip.map(|_| sent).or(packet.reply.sent_at),
        t_recv: round_trip.map(|round_trip| sent + round_trip),
        reply_ttl: packet.reply.ttl,
        copies: packet.copies,
        outcome: packet.outcome,
        refused_by: packet.refused_by,
        ..due
    }
}

/// When packets were sent: known of those with a time stamp, and of the others by their place
/// between them.
struct Placed {
    /// (sequence number, when sent), by sequence number.
    known: Vec<(u64, Nanos)>,
    first: u64,
    period: Nanos,
}

impl Placed {
    fn of(packets: &BTreeMap<u64, Packet>, first: u64, period: Nanos) -> Self {
        let known = packets
            .iter()
            .filter_map(|(&seq, packet)| Some((seq, sent_at(packet)?)))
            .collect();
        Self {
            known,
            first,
            period,
        }
    }

    const fn clock(&self) -> Clock {
        if self.known.is_empty() {
            Clock::MadeUp
        } else {
            Clock::RealTime
        }
    }

    fn at(&self, seq: u64, packet: &Packet) -> Nanos {
        if let Some(sent) = sent_at(packet) {
            return sent;
        }
        let next = self.known.partition_point(|&(known, _)| known < seq);
        let before = next.checked_sub(1).and_then(|index| self.known.get(index));
        let sent = match (before, self.known.get(next)) {
            (Some(&(s0, t0)), Some(&(s1, t1))) => {
                let share = i128::from(seq - s0) * i128::from(t1 - t0);
                i128::from(t0) + share / i128::from(s1 - s0)
            }
            (Some(&(s0, t0)), None) => i128::from(t0) + self.steps(seq - s0),
            (None, Some(&(s1, t1))) => i128::from(t1) - self.steps(s1 - seq),
            (None, None) => self.steps(seq - self.first),
        };
        let largest = i128::from(LARGEST);
        Nanos::try_from(sent.clamp(-largest, largest)).unwrap_or(0)
    }

    fn steps(&self, count: u64) -> i128 {
        i128::from(count) * i128::from(self.period)
    }
}

/// Most time stamps are of the reading; the round trip leads back to the sending.
fn sent_at(packet: &Packet) -> Option<Nanos> {
    let reply = &packet.reply;
    let from_reading = || Some(reply.read_at? - reply.round_trip?.nanos);
    reply.sent_at.or_else(from_reading)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::ping;
    use delaylab_model::MILLISECOND;

    fn reply(round_trip: Nanos, read_at: Option<Nanos>) -> Reply {
        Reply {
            round_trip: Some(Time {
                nanos: round_trip,
                step: 1,
            }),
            read_at,
            ..Reply::default()
        }
    }

    fn frame(sent: Option<u64>) -> Frame {
        Frame {
            stream: 0,
            name: String::new(),
            method: Method::Icmp,
            target: String::new(),
            size: None,
            first: Some(1),
            sent,
            fill: true,
            period: 100,
        }
    }

    #[test]
    fn what_has_no_line_was_lost_and_stands_between_its_neighbours() {
        let mut packets = Packets::new();
        packets.reply(2, reply(10, Some(1_010)));
        packets.reply(5, reply(10, Some(1_310)));
        let mut imported = Imported::new(&ping::FORMAT);
        let stream = packets.finish(frame(Some(6)), &mut imported);
        assert_eq!((imported.warnings.len(), imported.filled), (0, 4));
        assert_eq!(stream.clock, Clock::RealTime);
        let seen: Vec<_> = stream
            .records
            .iter()
            .map(|record| (record.seq, record.t_intended, record.outcome))
            .collect();
        use Outcome::{Lost, Ok};
        assert_eq!(
            seen,
            [
                (0, 900, Lost),
                (1, 1_000, Ok),
                (2, 1_100, Lost),
                (3, 1_200, Lost),
                (4, 1_300, Ok),
                (5, 1_400, Lost)
            ]
        );
    }

    #[test]
    fn a_late_line_makes_a_lost_packet_an_answered_one_and_a_second_a_copy() {
        let mut packets = Packets::new();
        packets.unanswered(1);
        packets.reply(2, reply(MILLISECOND, None));
        packets.reply(1, reply(3 * MILLISECOND, None));
        packets.reply(1, reply(4 * MILLISECOND, None));
        packets.refused(1, None);
        let stream = packets.finish(frame(None), &mut Imported::new(&ping::FORMAT));
        let first = stream.records[0];
        assert_eq!(
            (first.outcome, first.copies, first.reorder_extent),
            (Outcome::Ok, 1, 1)
        );
        assert_eq!(first.round_trip(), Some(3 * MILLISECOND));
        assert_eq!(stream.repeats, [4 * MILLISECOND]);
        assert_eq!(stream.clock, Clock::MadeUp);
    }

    #[test]
    fn a_gap_that_cannot_be_is_not_filled() {
        let mut packets = Packets::new();
        packets.reply(1, reply(1, None));
        packets.reply(u64::MAX, reply(1, None));
        let mut imported = Imported::new(&ping::FORMAT);
        let stream = packets.finish(frame(None), &mut imported);
        assert_eq!((stream.records.len(), imported.warnings.len()), (2, 1));
    }
}
