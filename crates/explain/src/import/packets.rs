//! Packets of a peer that prints lines: gathered by sequence number in whatever order the lines
//! come, and made records when all have been read. Only the newest are held as they are: those before
//! them are settled, and take a few bytes each.

use super::decimal::Time;
use super::imported::{Imported, ImportedStream};
use super::order::Extents;
use super::packet::Packet;
use super::placed::RecordMaker;
use super::records::{Addresses, at_place};
use super::rows::{Row, Rows};
use delaylab_model::icmp::IcmpReason;
use delaylab_model::method::Method;
use delaylab_model::record::{Outcome, Record};
use delaylab_model::{Nanos, SECOND};
use std::collections::{BTreeMap, VecDeque};
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

impl From<Time> for Reply {
    /// With this round trip, and nothing else.
    fn from(round_trip: Time) -> Self {
        Some(round_trip).into()
    }
}

impl From<Option<Time>> for Reply {
    /// The same, where it is known.
    fn from(round_trip: Option<Time>) -> Self {
        Self {
            round_trip,
            ..Self::default()
        }
    }
}

/// So many of the newest packets may still get replies, copies and errors at no cost. Numbers of 16 bits wrap
/// within it.
const NEWEST: usize = 1 << 16;

/// The newest packets in the order of their numbers, of which most come one after the other.
#[derive(Default)]
struct Newest(VecDeque<(u64, Packet)>);

impl Newest {
    const fn new() -> Self {
        Self(VecDeque::new())
    }

    fn last(&self) -> Option<u64> {
        self.0.back().map(|&(last, _)| last)
    }

    fn place(&self, seq: u64) -> Option<usize> {
        self.0.binary_search_by_key(&seq, |&(it, _)| it).ok()
    }

    fn get_mut(&mut self, seq: u64) -> Option<&mut Packet> {
        let at = self.place(seq)?;
        Some(&mut self.0[at].1)
    }

    fn entry(&mut self, seq: u64) -> &mut Packet {
        let at = match self.last() {
            None => Err(0),
            Some(last) if last < seq => Err(self.0.len()),
            Some(last) if last == seq => Ok(self.0.len() - 1),
            Some(_) => self.0.binary_search_by_key(&seq, |&(it, _)| it),
        };
        if let Err(at) = at {
            self.0.insert(at, (seq, Packet::default()));
        }
        let (Ok(at) | Err(at)) = at;
        &mut self.0[at].1
    }
}

/// Columns of a settled packet.
const COLUMNS: usize = 11;

/// The packets of one stream.
pub struct Packets {
    newest: Newest,
    settled: Rows<COLUMNS>,
    /// The last number that was settled.
    settled_to: Option<u64>,
    /// What came for packets after they had been settled.
    later: BTreeMap<u64, Packet>,
    refusers: Addresses,
    extents: Extents,
    first: Option<u64>,
    answered: u64,
    copies: u64,
    timed: bool,
    dated: bool,
    repeats: Vec<Nanos>,
    step: Nanos,
}

impl Default for Packets {
    fn default() -> Self {
        Self::new()
    }
}

/// What only the end of a file, or its head, says about a stream.
pub struct Frame {
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

impl Frame {
    /// A stream of which nothing else is known: gaps are not filled, packets are a second apart.
    pub const fn new(name: String, method: Method) -> Self {
        Self {
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

    /// The same, called as its target is.
    pub fn of_target(target: String, method: Method) -> Self {
        Self {
            target: target.clone(),
            ..Self::new(target, method)
        }
    }
}

impl Packets {
    /// None yet.
    pub const fn new() -> Self {
        Self {
            newest: Newest::new(),
            settled: Rows::new(2),
            settled_to: None,
            later: BTreeMap::new(),
            refusers: Addresses::new(),
            extents: Extents::new(),
            first: None,
            answered: 0,
            copies: 0,
            timed: false,
            dated: false,
            repeats: Vec::new(),
            step: 1,
        }
    }

    /// Was anything said of any packet?
    pub const fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// How many were answered, and how many copies came beside.
    pub const fn answered(&self) -> (u64, u64) {
        (self.answered, self.copies)
    }

    /// The number behind the largest so far.
    pub fn next(&self) -> u64 {
        self.last().map_or(0, |last| last.saturating_add(1))
    }

    fn last(&self) -> Option<u64> {
        self.newest.last().or(self.settled_to)
    }

    /// Was anything said of this packet? Of those before the newest, it is taken to be so.
    pub fn knows(&self, seq: u64) -> bool {
        self.is_settled(seq) || self.newest.place(seq).is_some()
    }

    /// When it was sent, if that is known of one of the newest.
    pub fn sent_at(&self, seq: u64) -> Option<Nanos> {
        self.newest.0[self.newest.place(seq)?].1.sent_at
    }

    /// Was it answered? Of those before the newest, it is taken to be so.
    pub fn is_answered(&self, seq: u64) -> bool {
        let at = self.newest.place(seq);
        self.is_settled(seq) || at.is_some_and(|at| self.newest.0[at].1.replied())
    }

    fn is_settled(&self, seq: u64) -> bool {
        self.settled_to.is_some_and(|to| seq <= to)
    }

    /// Did any line have a round trip?
    pub const fn timed(&self) -> bool {
        self.timed
    }

    /// What is known of a packet. What is known of one that was settled is put together at the end.
    fn packet(&mut self, seq: u64) -> &mut Packet {
        self.first = Some(self.first.map_or(seq, |first| first.min(seq)));
        if self.is_settled(seq) {
            return self.later.entry(seq).or_default();
        }
        if self.newest.0.len() > NEWEST
            && let Some((oldest, packet)) = self.newest.0.pop_front()
        {
            self.settle(oldest, &packet);
            if seq <= oldest {
                return self.later.entry(seq).or_default();
            }
        }
        self.newest.entry(seq)
    }

    fn settle(&mut self, seq: u64, packet: &Packet) {
        let refused_by = packet.refused_by.map(|by| self.refusers.place(by));
        self.settled.push(&[
            Some(seq as i64),
            packet.sent_at,
            packet.round_trip,
            Some(packet.outcome as i64),
            packet.ttl.map(i64::from),
            packet.size.map(i64::from),
            Some(packet.copies.into()),
            Some(packet.extent.into()),
            refused_by,
            packet.icmp.map(|icmp| icmp as i64),
            packet.path_mtu.map(i64::from),
        ]);
        self.settled_to = Some(seq);
    }

    /// A reply came. A second one for the same packet is a copy.
    pub fn reply(&mut self, seq: u64, reply: Reply) {
        if let Some(time) = reply.round_trip {
            self.step = self.step.max(time.step);
            self.timed = true;
        }
        let round_trip = reply.round_trip.map(|time| time.nanos);
        // Most time stamps are of the reading; the round trip leads back to the sending.
        let from_reading = || Some(reply.read_at? - round_trip?);
        let sent_at = reply.sent_at.or_else(from_reading);
        self.dated |= sent_at.is_some();
        let packet = self.packet(seq);
        if packet.replied() {
            packet.copies = packet.copies.saturating_add(1);
            self.copies += 1;
            self.repeats.extend(round_trip);
            return;
        }
        packet.outcome = Outcome::Ok;
        packet.round_trip = round_trip;
        packet.ttl = reply.ttl;
        packet.sent_at = sent_at.or(packet.sent_at);
        let extent = self.extents.next(seq);
        // Most overtake nothing.
        if extent > 0 {
            self.packet(seq).extent = extent;
        }
        self.answered += 1;
    }

    /// A reply, if it has a round trip; without one, nothing has come so far, and its time is that of sending.
    pub fn answered_or_not(&mut self, seq: u64, reply: Reply) {
        match reply.round_trip {
            Some(_) => self.reply(seq, reply),
            None => self.unanswered_since(seq, reply.sent_at.or(reply.read_at)),
        }
    }

    /// Its IP packet had so many bytes, if its line says so.
    pub fn sized(&mut self, seq: u64, bytes: Option<u32>) {
        if bytes.is_some() {
            self.packet(seq).size = bytes;
        }
    }

    /// The reply had other bytes than the request.
    pub fn corrupt(&mut self, seq: u64) {
        if let Some(packet) = self.newest.get_mut(seq) {
            packet.outcome = Outcome::Corrupt;
        }
    }

    /// Nothing has come so far; a reply may still.
    pub fn unanswered(&mut self, seq: u64) {
        self.packet(seq);
    }

    /// As [`Packets::unanswered`], of a packet that was sent at this time.
    pub fn unanswered_since(&mut self, seq: u64, sent_at: Option<Nanos>) {
        self.dated |= sent_at.is_some();
        let packet = self.packet(seq);
        packet.sent_at = packet.sent_at.or(sent_at);
    }

    /// Somebody sent an error instead.
    pub fn refused(&mut self, seq: u64, by: Option<IpAddr>) {
        self.refused_because(seq, by, None, None);
    }

    /// The same, where the error says why and, of a packet that was too big, what would have fit.
    pub fn refused_because(
        &mut self,
        seq: u64,
        by: Option<IpAddr>,
        icmp: Option<IcmpReason>,
        path_mtu: Option<u32>,
    ) {
        let packet = self.packet(seq);
        if packet.outcome == Outcome::Lost {
            packet.outcome = Outcome::Refused;
            packet.refused_by = by;
            (packet.icmp, packet.path_mtu) = (icmp, path_mtu);
        }
    }

    /// Adds the stream, and returns its place among those of the file.
    pub fn add(self, frame: Frame, imported: &mut Imported) -> usize {
        let stream = self.finish(frame, imported);
        imported.streams.push(stream);
        imported.streams.len() - 1
    }

    /// The stream, which is to be the next one of the file. Adds what there is to warn of.
    pub fn finish(self, frame: Frame, imported: &mut Imported) -> ImportedStream {
        // A number before the peer's first means that it counts otherwise than its head says.
        let first = match (frame.first, self.first) {
            (Some(first), Some(seen)) => first.min(seen),
            (first, seen) => first.or(seen).unwrap_or(0),
        };
        let last = self.fill_to(first, &frame, imported);
        let stream = u16::try_from(imported.streams.len()).unwrap_or(u16::MAX);
        let due = Record {
            ip_size: frame.size,
            ..Record::due(0, stream, 0, frame.method, 0)
        };
        let (step, dated) = (self.step, self.dated);
        let (repeats, packets) = self.in_order();
        let mut placed = RecordMaker::new(due, first, frame.period, dated);
        let mut next = first;
        for (seq, packet) in packets {
            if last.is_some() {
                (next..seq).for_each(|lost| placed.take(lost, Packet::default()));
            }
            placed.take(seq, packet);
            next = seq.saturating_add(1);
        }
        if let Some(last) = last {
            (next..=last).for_each(|lost| placed.take(lost, Packet::default()));
        }
        ImportedStream {
            size: frame.size,
            clock: placed.clock(),
            records: placed.finish(),
            repeats,
            step,
            ..ImportedStream::new(frame.name, frame.target, frame.method)
        }
    }

    /// Up to which number packets that no line names were lost; `None`: they are left out.
    fn fill_to(&self, first: u64, frame: &Frame, imported: &mut Imported) -> Option<u64> {
        if !frame.fill {
            return None;
        }
        let sent = frame.sent.filter(|&sent| sent > 0);
        let last_sent = sent.map(|sent| first.saturating_add(sent - 1));
        let last = self.last().max(last_sent)?;
        let lines = (self.settled.len() + self.newest.0.len()) as u64;
        let missing = (last - first).saturating_add(1).saturating_sub(lines);
        if missing > LOST_LIMIT.saturating_sub(imported.filled) {
            imported.warn(format!(
                "packets {first} to {last} have lines for only {lines} of them; the others were left out"
            ));
            return None;
        }
        imported.filled += missing;
        Some(last)
    }

    /// Round trips of copies, and every packet by its number.
    fn in_order(self) -> (Vec<Nanos>, impl Iterator<Item = (u64, Packet)>) {
        let refusers = self.refusers;
        let mut later = self.later.into_iter().peekable();
        let mut settled = self
            .settled
            .drain()
            .map(move |row| settled(&row, &refusers))
            .peekable();
        let old = std::iter::from_fn(move || {
            let before = |&(seq, _): &(u64, Packet)| settled.peek().is_none_or(|&(it, _)| seq < it);
            if let Some(new) = later.next_if(before) {
                return Some(new);
            }
            let (seq, packet) = settled.next()?;
            let more = later.next_if(|&(it, _)| it == seq);
            Some((seq, more.map_or(packet, |(_, more)| packet.and_later(more))))
        });
        (self.repeats, old.chain(self.newest.0))
    }
}

fn settled(row: &Row<COLUMNS>, refusers: &Addresses) -> (u64, Packet) {
    let [
        seq,
        sent_at,
        round_trip,
        outcome,
        ttl,
        size,
        copies,
        extent,
        by,
        icmp,
        path_mtu,
    ] = *row;
    let packet = Packet {
        outcome: at_place(&Outcome::ALL, outcome).unwrap_or_default(),
        refused_by: refusers.at(by),
        icmp: at_place(&IcmpReason::ALL, icmp),
        path_mtu: path_mtu.map(|mtu| mtu as u32),
        round_trip,
        sent_at,
        ttl: ttl.map(|ttl| ttl as u8),
        size: size.map(|size| size as u32),
        copies: copies.unwrap_or(0) as u16,
        extent: extent.unwrap_or(0) as u32,
    };
    (seq.unwrap_or(0) as u64, packet)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::import::imported::Clock;
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
        let first = stream.records.get(0).unwrap();
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

    #[test]
    fn what_comes_after_a_packet_was_settled_still_counts() {
        let mut packets = Packets::new();
        let many = 3 * NEWEST as u64;
        for seq in (0..many).filter(|seq| *seq != 5 && *seq != 7) {
            packets.reply(seq, reply(10, Some(1_000 * seq as Nanos + 10)));
        }
        packets.reply(5, reply(20, Some(5_020)));
        packets.reply(6, reply(30, Some(6_030)));
        assert_eq!(packets.next(), many);
        let stream = packets.finish(
            Frame {
                first: Some(0),
                ..frame(Some(many))
            },
            &mut Imported::new(&ping::FORMAT),
        );
        assert_eq!(stream.records.len() as u64, many);
        let at = |seq| stream.records.get(seq).unwrap();
        assert_eq!((at(5).round_trip(), at(5).t_intended), (Some(20), 5_000));
        assert!(at(5).reorder_extent as usize >= NEWEST);
        assert_eq!((at(6).round_trip(), at(6).copies), (Some(10), 1));
        assert_eq!((at(7).outcome, at(7).t_intended), (Outcome::Lost, 7_000));
        assert_eq!(at(100_000).t_intended, 100_000_000);
    }
}
