//! ICMP echo: a reply has its request's identifier and sequence number (RFC 792, RFC 4443).
//!
//! Programs in containers often have the same identifier each time: numbers that begin again are of another session.

use super::exchange::{Exchange, Reply, push};
use super::packet::{Echo, Icmp, Kind, Packet};
use super::places::Elsewhere;
use super::sightings::{Repeats, Sighted, Sightings};
use crate::import::Imported;
use crate::import::order::Unwrap;
use delaylab_model::method::Method;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Who asks whom, under which identifier.
type Key = (IpAddr, IpAddr, u16);

/// Every echo session of a capture.
#[derive(Default)]
pub struct Echoes {
    requests: BTreeMap<Key, Requests>,
    strays: u64,
}

#[derive(Default)]
struct Requests {
    numbers: Unwrap,
    sightings: Sightings<u64>,
}

impl Requests {
    /// What requests with this number may be called, the latest first.
    fn tags(&self, seq: u16) -> [Option<u64>; 2] {
        let mut numbers = self.numbers;
        let near = numbers.whole(seq.into());
        [Some(near), near.checked_sub(Unwrap::TURN)]
    }

    fn answer(&mut self, packet: &Packet, seq: u16) -> bool {
        let reply = Reply::from_packet(packet);
        let mut tags = self.tags(seq).into_iter().flatten();
        tags.any(|tag| self.sightings.answer(&tag, packet.time, reply))
    }

    /// The request with this number that waits for its reply.
    fn waiting(&mut self, seq: u16) -> Option<&mut Exchange> {
        let tags = self.tags(seq);
        let tag = tags
            .into_iter()
            .flatten()
            .find(|tag| self.sightings.waits(tag))?;
        self.sightings.waiting(&tag)
    }
}

impl Echoes {
    pub fn take(&mut self, packet: &Packet, message: &Icmp) {
        match message.kind {
            Kind::Request => {
                let key = (packet.from, packet.to, message.id);
                let requests = self.requests.entry(key).or_default();
                let tag = requests.numbers.whole(message.seq.into());
                requests.sightings.ask(tag, Exchange::asked(packet));
            }
            Kind::Reply => {
                let requests = self.requests.get_mut(&(packet.to, packet.from, message.id));
                let answers = requests.is_some_and(|it| it.answer(packet, message.seq));
                self.strays += u64::from(!answers);
            }
            // About other traffic.
            Kind::Error => {}
        }
    }

    /// An error about a request.
    pub fn refuse(&mut self, packet: &Packet, message: &Icmp, echo: &Echo) {
        let requests = self.requests.get_mut(&(packet.to, echo.to, echo.id));
        if let Some(exchange) = requests.and_then(|it| it.waiting(echo.seq)) {
            exchange.refuse(packet, message);
        }
    }

    pub fn finish(self, imported: &mut Imported, elsewhere: &mut Elsewhere) {
        for ((from, to, id), requests) in self.requests {
            let name = format!("{from} to {to} id {id}");
            let seen: Sighted = requests.sightings.finish(Repeats::Never);
            elsewhere.take(&name, &seen);
            for exchanges in seen.sessions {
                push(
                    imported,
                    name.clone(),
                    to.to_string(),
                    Method::Icmp,
                    &exchanges,
                );
            }
        }
        if self.strays > 0 {
            imported.warn(format!(
                "{} echo replies have no request in the capture",
                self.strays
            ));
        }
    }
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
        echoes.finish(&mut imported, &mut Elsewhere::default());
        let trips = imported.streams.iter().map(|stream| {
            let trip = |record: delaylab_model::record::Record| {
                Some((record.t_rx? - record.t_tx?) / delaylab_model::MILLISECOND)
            };
            stream.records.iter().map(trip).collect()
        });
        let copies = imported
            .streams
            .iter()
            .map(|it| it.records.counts().duplicate);
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

    /// Not in a session each.
    #[test]
    fn numbers_that_never_rise_are_of_one_session() {
        let packets = [0, 1_000, 2_000].map(|ms| [(ms, REQUEST, 1), (ms + 20, REPLY, 1)]);
        let session = vec![Some(20); 3];
        assert_eq!(finished(&packets.concat()), (vec![session], 0));
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
