//! The packets of a stream, a few bytes each.

use super::rows::{Row, Rows};
use delaylab_model::Nanos;
use delaylab_model::icmp::IcmpReason;
use delaylab_model::method::Method;
use delaylab_model::record::{Answer, ClockEvent, Outcome, Record};
use delaylab_model::trial::StampPoint;
use delaylab_stats::moments::Moments;
use delaylab_stats::summary::Counts;
use std::fmt;
use std::net::IpAddr;

/// Columns of a record.
const COLUMNS: usize = 46;
/// Its number and when it was due: they go on.
const MOVING: usize = 2;

/// Records, in the order in which they were added.
#[derive(Clone, PartialEq)]
pub struct Records {
    rows: Rows<COLUMNS>,
    len: usize,
    refusers: Addresses,
    counts: Counts,
    /// Round trips without the time that a stamping reflector took.
    trips: Moments,
    earliest: Option<Nanos>,
    /// Which stamps of [`StampPoint::ALL`] any of them has.
    stamped: [bool; StampPoint::ALL.len()],
    last: Option<u64>,
    in_order: bool,
}

/// Addresses, and a small number for each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Addresses(Vec<IpAddr>);

impl Addresses {
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Its number.
    pub fn place(&mut self, address: IpAddr) -> i64 {
        let known = self.0.iter().position(|&known| known == address);
        let at = known.unwrap_or_else(|| {
            self.0.push(address);
            self.0.len() - 1
        });
        i64::try_from(at).unwrap_or(0)
    }

    /// Of this number.
    pub fn at(&self, place: Option<i64>) -> Option<IpAddr> {
        at_place(&self.0, place)
    }
}

impl Records {
    /// None yet.
    pub fn new() -> Self {
        Self {
            rows: Rows::new(MOVING),
            len: 0,
            refusers: Addresses::new(),
            counts: Counts::default(),
            trips: Moments::EMPTY,
            earliest: None,
            stamped: [false; StampPoint::ALL.len()],
            last: None,
            in_order: true,
        }
    }

    /// How many there are.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Is there none?
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds one.
    pub fn push(&mut self, record: &Record) {
        self.len += 1;
        self.counts.count(record);
        // Files do not say when lost packets were sent, but that they were.
        let is_implied = record.t_send.is_none() && record.outcome.was_sent();
        self.counts.sent += u64::from(is_implied);
        if let Some(trip) = without_reflector(record) {
            self.trips.push(trip);
        }
        let due = record.t_intended;
        self.earliest = Some(self.earliest.map_or(due, |earliest| earliest.min(due)));
        for (seen, point) in self.stamped.iter_mut().zip(StampPoint::ALL) {
            *seen |= record.stamp(point).is_some();
        }
        self.in_order &= self.last.is_none_or(|last| last <= record.seq);
        self.last = Some(record.seq);
        let by = record.refused_by.map(|by| self.refusers.place(by));
        self.rows.push(&row(record, by));
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = Record> {
        self.rows.iter().map(|row| record(&row, &self.refusers))
    }

    /// Each of them by its number, for the last time: their memory is given back on the way. What they come to is
    /// still known.
    pub fn drain(&mut self) -> Box<dyn Iterator<Item = Record> + '_> {
        let rows = std::mem::replace(&mut self.rows, Rows::new(MOVING));
        let refusers = &self.refusers;
        let records = rows.drain().map(|row| record(&row, refusers));
        if self.in_order {
            return Box::new(records);
        }
        let mut all: Vec<Record> = records.collect();
        all.sort_by_key(|record| record.seq);
        Box::new(all.into_iter())
    }

    /// Are their numbers in order?
    pub const fn in_order(&self) -> bool {
        self.in_order
    }

    /// When the earliest was due.
    pub const fn earliest(&self) -> Option<Nanos> {
        self.earliest
    }

    /// Has any of them this stamp?
    pub fn stamped(&self, point: StampPoint) -> bool {
        let mut points = self.stamped.iter().zip(StampPoint::ALL);
        points.any(|(seen, it)| *seen && it == point)
    }

    /// Number `at` of them; it is looked for from the first on.
    pub fn get(&self, at: usize) -> Option<Record> {
        self.iter().nth(at)
    }

    /// How they ended.
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Their round trips, without the time that a stamping reflector took.
    pub const fn trips(&self) -> Moments {
        self.trips
    }
}

/// [`row`] and [`record`], which have the same columns in the same order.
macro_rules! columns {
    (times: $($time:ident)+; numbers: $($number:ident)+; known: $($known:ident)+;) => {
        /// A record as numbers; times since it was due.
        fn row(record: &Record, by: Option<i64>) -> Row<COLUMNS> {
            let due = record.t_intended;
            [
                Some(record.seq as i64),
                Some(due),
                $(record.$time.map(|time| time.wrapping_sub(due)),)+
                $(Some(i64::from(record.$number)),)+
                $(record.$known.map(|value| value as i64),)+
                place(&Method::ALL, record.method),
                place(&Outcome::ALL, record.outcome),
                place(&ClockEvent::ALL, record.clock_event),
                by,
                record.icmp.map(|icmp| icmp as i64),
                record.answer.map(answer_number),
                record.least_round_trip,
                record.server_says,
            ]
        }

        /// As it was when [`row`] made this of it.
        fn record(row: &Row<COLUMNS>, refusers: &Addresses) -> Record {
            let [
                seq,
                due,
                $($time,)+
                $($number,)+
                $($known,)+
                method,
                outcome,
                clock_event,
                by,
                icmp,
                said,
                least_round_trip,
                server_says,
            ] = *row;
            let due = due.unwrap_or(0);
            Record {
                seq: seq.unwrap_or(0) as u64,
                t_intended: due,
                $($time: $time.map(|since| due.wrapping_add(since)),)+
                $($number: $number.unwrap_or(0) as _,)+
                $($known: $known.map(|value| value as _),)+
                method: at_place(&Method::ALL, method).unwrap_or_default(),
                outcome: at_place(&Outcome::ALL, outcome).unwrap_or_default(),
                clock_event: at_place(&ClockEvent::ALL, clock_event).unwrap_or_default(),
                refused_by: refusers.at(by),
                icmp: at_place(&IcmpReason::ALL, icmp),
                answer: said.and_then(answer),
                least_round_trip,
                server_says,
            }
        }
    };
}

columns! {
    times: t_send t_sched t_tx t_tx_hw r_rx r_user r_tx t_rx t_rx_hw t_recv t_begin t_resolved t_connected t_secured t_ack t_first;
    numbers: trial probe dscp copies reorder_extent;
    known: ip_size cpu r_dscp reply_dscp reply_ecn reply_ttl reflector_seq retransmits icmp_type icmp_code path_mtu errno
        reply_bytes connection answer_ttl;
}

/// Numbers of answers that were truncated lie by so much below those of the others.
const TRUNCATED: i64 = 1 << 16;

/// An answer as a number: statuses as they are, the others below zero.
fn answer_number(answer: Answer) -> i64 {
    match answer {
        Answer::Status(status) => status.into(),
        Answer::Open => -1,
        Answer::Closed => -2,
        Answer::Code(code) => -3 - i64::from(code),
        Answer::Truncated(code) => -3 - i64::from(code) - TRUNCATED,
    }
}

/// What [`answer_number`] made of it.
fn answer(number: i64) -> Option<Answer> {
    match number {
        -1 => Some(Answer::Open),
        -2 => Some(Answer::Closed),
        ..0 => match u16::try_from(-3 - number) {
            Ok(code) => Some(Answer::Code(code)),
            Err(_) => u16::try_from(-3 - number - TRUNCATED)
                .ok()
                .map(Answer::Truncated),
        },
        _ => u16::try_from(number).ok().map(Answer::Status),
    }
}

/// A round trip, without what a stamping reflector took of it.
pub(super) fn without_reflector(record: &Record) -> Option<Nanos> {
    let stamps = record.r_user.zip(record.r_rx);
    let within = stamps.map_or(0, |(sent, read)| sent.wrapping_sub(read));
    Some(
        record
            .t_recv?
            .wrapping_sub(record.t_send?)
            .wrapping_sub(within),
    )
}

fn place<T: PartialEq>(all: &[T], one: T) -> Option<i64> {
    let at = all.iter().position(|it| *it == one)?;
    i64::try_from(at).ok()
}

/// What stands at this place of a list.
pub(super) fn at_place<T: Copy>(all: &[T], place: Option<i64>) -> Option<T> {
    all.get(usize::try_from(place?).ok()?).copied()
}

impl Default for Records {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Records {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl FromIterator<Record> for Records {
    fn from_iter<I: IntoIterator<Item = Record>>(records: I) -> Self {
        let mut all = Self::new();
        records.into_iter().for_each(|record| all.push(&record));
        all
    }
}

impl From<Vec<Record>> for Records {
    fn from(records: Vec<Record>) -> Self {
        records.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_comes_back_as_it_was() {
        let of_servers = [Answer::Open, Answer::Closed, Answer::Status(404)];
        let of_names = [0, 3, 4095].map(|code| [Answer::Code(code), Answer::Truncated(code)]);
        for said in of_names.into_iter().flatten().chain(of_servers) {
            assert_eq!(answer(answer_number(said)), Some(said));
        }
    }

    #[test]
    fn a_record_comes_back_as_it_was() {
        let full = Record {
            dscp: 46,
            ip_size: Some(84),
            t_send: Some(1_001),
            t_sched: Some(1_002),
            t_tx: Some(1_003),
            t_tx_hw: Some(-5),
            r_rx: Some(2_000),
            r_user: Some(2_001),
            r_tx: Some(2_002),
            t_rx: Some(3_000),
            t_rx_hw: Some(7),
            t_recv: Some(3_001),
            cpu: Some(3),
            r_dscp: Some(1),
            reply_dscp: Some(2),
            reply_ecn: Some(3),
            reply_ttl: Some(64),
            reflector_seq: Some(u32::MAX),
            copies: 2,
            reorder_extent: 9,
            retransmits: Some(4),
            outcome: Outcome::Refused,
            refused_by: "192.0.2.1".parse().ok(),
            errno: Some(-101),
            t_begin: Some(1_004),
            t_resolved: Some(1_005),
            t_connected: Some(1_006),
            t_secured: Some(1_007),
            t_ack: Some(1_008),
            t_first: Some(1_009),
            least_round_trip: Some(11),
            answer: Some(Answer::Code(3)),
            reply_bytes: Some(12),
            connection: Some(13),
            answer_ttl: Some(14),
            server_says: Some(15),
            clock_event: ClockEvent::Suspend,
            ..Record::due(3, 7, u64::MAX, Method::Frame, 1_000)
        };
        let bare = Record::due(0, 0, 0, Method::Icmp, -1);
        let records: Records = [full, bare, full].into_iter().collect();
        assert_eq!(records.iter().collect::<Vec<_>>(), [full, bare, full]);
        assert_eq!((records.len(), records.in_order()), (3, false));
    }
}
