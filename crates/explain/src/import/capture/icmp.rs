//! ICMP echo: a reply has its request's identifier and sequence number (RFC 792, RFC 4443).
//!
//! Programs in containers often have the same identifier each time: numbers that begin again are of another session.

use super::exchange::{Exchange, Reply, push};
use super::packet::{Echo, Icmp, Kind, Packet};
use crate::import::Imported;
use crate::import::order::{Unwrap, latest};
use delaylab_model::method::Method;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::net::IpAddr;

/// Who asks whom, under which identifier.
type Key = (IpAddr, IpAddr, u16);

/// Every echo session of a capture.
#[derive(Default)]
pub struct Echoes {
    /// One after the other, of each key.
    sessions: BTreeMap<Key, Vec<Session>>,
    strays: u64,
    seen_twice: u64,
}

#[derive(Default)]
struct Session {
    numbers: Unwrap,
    exchanges: BTreeMap<u64, Exchange>,
}

impl Session {
    /// The latest request with this sequence number.
    fn latest(&mut self, seq: u16) -> Option<&mut Exchange> {
        let (&last, _) = self.exchanges.last_key_value()?;
        self.exchanges.get_mut(&latest(last, seq)?)
    }
}

impl Echoes {
    pub fn take(&mut self, packet: &Packet, message: &Icmp) {
        match message.kind {
            Kind::Request => {
                let key = (packet.from, packet.to, message.id);
                let sessions = self.sessions.entry(key).or_default();
                self.seen_twice += u64::from(ask(sessions, packet, message));
            }
            Kind::Reply => {
                let key = (packet.to, packet.from, message.id);
                match self.latest(&key, message.seq) {
                    Some(exchange) => exchange.answer(packet.time, Reply::from_packet(packet)),
                    None => self.strays += 1,
                }
            }
            // About other traffic.
            Kind::Error => {}
        }
    }

    /// An error about a request.
    pub fn refuse(&mut self, packet: &Packet, message: &Icmp, echo: &Echo) {
        if let Some(exchange) = self.latest(&(packet.to, echo.to, echo.id), echo.seq) {
            exchange.refuse(packet, message);
        }
    }

    /// The latest request with this number.
    fn latest(&mut self, key: &Key, seq: u16) -> Option<&mut Exchange> {
        let sessions = self.sessions.get_mut(key)?.iter_mut().rev();
        sessions.filter_map(|session| session.latest(seq)).next()
    }

    pub fn finish(self, imported: &mut Imported) {
        let each = |(key, sessions): (Key, Vec<Session>)| {
            sessions.into_iter().map(move |session| (key, session))
        };
        for ((from, to, id), session) in self.sessions.into_iter().flat_map(each) {
            let exchanges: Vec<_> = session.exchanges.into_values().collect();
            push(
                imported,
                format!("{from} to {to} id {id}"),
                to.to_string(),
                Method::Icmp,
                &exchanges,
            );
        }
        if self.seen_twice > 0 {
            imported.warn(format!("{} echo requests are in the capture twice (seen on two interfaces?): the first counts", self.seen_twice));
        }
        if self.strays > 0 {
            imported.warn(format!(
                "{} echo replies have no request in the capture",
                self.strays
            ));
        }
    }
}

/// Takes a request; true if it was seen before, at another interface.
fn ask(sessions: &mut Vec<Session>, packet: &Packet, message: &Icmp) -> bool {
    let number = u64::from(message.seq);
    if let Some(session) = sessions.last_mut() {
        // Numbers that never rise do not begin again.
        let is_one = session.exchanges.len() == 1;
        match session.exchanges.entry(session.numbers.whole(number)) {
            Entry::Vacant(place) => {
                place.insert(Exchange::asked(packet));
                return false;
            }
            Entry::Occupied(mut known) => {
                if known.get_mut().is_seen_again(packet.time) || is_one {
                    return true;
                }
            }
        }
    }
    let mut session = Session::default();
    let seq = session.numbers.whole(number);
    session.exchanges.insert(seq, Exchange::asked(packet));
    sessions.push(session);
    false
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::import::capture::packet::testing::with_icmp;
    use crate::import::ping;

    const REQUEST: u8 = 8;
    const REPLY: u8 = 0;

    /// Of each stream the round trips in ms, and how many copies.
    fn finished(packets: &[(i64, u8, u8)]) -> (Vec<Vec<Option<i64>>>, u64) {
        let mut echoes = Echoes::default();
        for &(ms, kind, seq) in packets {
            let (from, to) = if kind == REQUEST { (1, 2) } else { (2, 1) };
            let message = [kind, 0, 0, 0, 0, 1, 0, seq];
            with_icmp(&message, ms, from, to, |packet, icmp| {
                echoes.take(packet, icmp)
            });
        }
        let mut imported = Imported::new(&ping::FORMAT);
        echoes.finish(&mut imported);
        let trips = imported.streams.iter().map(|stream| {
            let trip = |record: delaylab_model::record::Record| {
                Some((record.t_rx? - record.t_tx?) / delaylab_model::MILLISECOND)
            };
            stream.records.iter().map(trip).collect()
        });
        let copies = imported.streams.iter().map(|it| it.records.counts().copies);
        (trips.collect(), copies.sum())
    }

    #[test]
    fn numbers_that_begin_again_are_of_another_session() {
        let run = |from: i64, trip: i64| {
            [0, 1].map(|seq| {
                let at = from + 1_000 * i64::from(seq);
                [(at, REQUEST, seq), (at + trip, REPLY, seq)]
            })
        };
        let packets = [run(0, 20).concat(), run(3_000, 30).concat()].concat();
        let sessions = vec![vec![Some(20); 2], vec![Some(30); 2]];
        assert_eq!(finished(&packets), (sessions, 0));
    }

    #[test]
    fn what_is_seen_at_two_interfaces_is_no_copy() {
        let seen = [
            (0, REQUEST, 0),
            (0, REQUEST, 0),
            (20, REPLY, 0),
            (20, REPLY, 0),
        ];
        assert_eq!(finished(&seen), (vec![vec![Some(20)]], 0));
        let copied = [(0, REQUEST, 0), (20, REPLY, 0), (21, REPLY, 0)];
        assert_eq!(finished(&copied).1, 1);
    }
}
