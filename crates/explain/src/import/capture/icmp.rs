//! ICMP echo: a reply has its request's identifier and sequence number (RFC 792, RFC 4443).

use super::exchange::{Exchange, Reply, push};
use super::packet::{Icmp, Kind, Packet};
use crate::import::Imported;
use crate::import::order::{Unwrap, latest};
use delaylab_model::method::Method;
use delaylab_model::record::Outcome;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::net::IpAddr;

/// Who asks whom, under which identifier.
type Key = (IpAddr, IpAddr, u16);

/// Every echo session of a capture.
#[derive(Default)]
pub struct Echoes {
    sessions: BTreeMap<Key, Session>,
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
                let session = self.sessions.entry(key).or_default();
                let seq = session.numbers.whole(u64::from(message.seq));
                match session.exchanges.entry(seq) {
                    Entry::Occupied(_) => self.seen_twice += 1,
                    Entry::Vacant(place) => {
                        place.insert(Exchange::asked(packet));
                    }
                }
            }
            Kind::Reply => {
                let key = (packet.to, packet.from, message.id);
                match self
                    .sessions
                    .get_mut(&key)
                    .and_then(|session| session.latest(message.seq))
                {
                    Some(exchange) => exchange.answer(packet.time, Reply::from_packet(packet)),
                    None => self.strays += 1,
                }
            }
            Kind::Error => self.refuse(packet, message),
        }
    }

    fn refuse(&mut self, packet: &Packet, message: &Icmp) {
        // Errors about other traffic are not about echo.
        let Some((to, id, seq)) = message.about_request() else {
            return;
        };
        let session = self.sessions.get_mut(&(packet.to, to, id));
        if let Some(exchange) = session.and_then(|session| session.latest(seq))
            && exchange.outcome == Outcome::Lost
        {
            exchange.outcome = Outcome::Refused;
            exchange.refused_by = Some(packet.from);
        }
    }

    pub fn finish(self, imported: &mut Imported) {
        for ((from, to, id), session) in self.sessions {
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
