//! The places where a capture saw its packets. At a router or a bridge it has each of them at several interfaces, and merged captures have
//! them from several hosts, each with a clock of its own.
//!
//! A flow is read at one place: that which saw both its requests and its replies, and of several the first. Where they passed different places, as
//! they do if the way back is another one, all of them are one.

use super::packet::{About, Kind, Packet, Place, Transport};
use super::sightings::Sighted;
use crate::import::Imported;
use delaylab_model::Nanos;
use delaylab_model::units::format_duration;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

/// The ends of a flow, whichever of them asks; of ICMP echo who asks, whom, and the identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Ends {
    Echo(IpAddr, IpAddr, u16),
    Udp(SocketAddr, SocketAddr),
    Tcp(SocketAddr, SocketAddr),
}

impl Ends {
    /// Of a packet, and which of both ways it goes.
    fn find(packet: &Packet) -> Option<(Self, bool)> {
        let in_order = |of: fn(SocketAddr, SocketAddr) -> Self, from, to| match from <= to {
            true => (of(from, to), true),
            false => (of(to, from), false),
        };
        let (source, destination) = (|port| packet.source(port), |port| packet.destination(port));
        Some(match &packet.transport {
            Transport::Udp(udp) => in_order(Self::Udp, source(udp.from), destination(udp.to)),
            Transport::Tcp(tcp) => in_order(Self::Tcp, source(tcp.from), destination(tcp.to)),
            Transport::Icmp(icmp) => match (icmp.kind, icmp.about()) {
                (Kind::Request, _) => (Self::Echo(packet.from, packet.to, icmp.id), true),
                (Kind::Reply, _) => (Self::Echo(packet.to, packet.from, icmp.id), false),
                (Kind::Error, Some(About::Echo(echo))) => {
                    (Self::Echo(packet.to, echo.to, echo.id), false)
                }
                // It comes back.
                (Kind::Error, Some(About::Udp(about))) => in_order(Self::Udp, about.to, about.from),
                (Kind::Error, None) => return None,
            },
        })
    }
}

/// Where a flow was seen, and what to read of it.
#[derive(Debug, Default)]
pub struct Places {
    flows: BTreeMap<Ends, BTreeMap<Place, Sight>>,
}

/// A flow at one place.
#[derive(Debug, Clone, Copy)]
struct Sight {
    first: Nanos,
    ways: [bool; 2],
}

impl Places {
    pub fn note(&mut self, packet: &Packet) {
        let Some((ends, way)) = Ends::find(packet) else {
            return;
        };
        let sight = Sight {
            first: packet.time,
            ways: [false; 2],
        };
        let places = self.flows.entry(ends).or_default();
        let sight = places.entry(packet.place).or_insert(sight);
        sight.first = sight.first.min(packet.time);
        sight.ways[usize::from(way)] = true;
    }

    /// Is this packet read elsewhere?
    pub fn is_elsewhere(&self, packet: &Packet) -> bool {
        let flow = Ends::find(packet).and_then(|(ends, _)| self.flows.get(&ends));
        let chosen = flow.and_then(chosen);
        chosen.is_some_and(|chosen| chosen != packet.place)
    }
}

/// The place where a flow is read; `None`: at all of them.
fn chosen(places: &BTreeMap<Place, Sight>) -> Option<Place> {
    let first = |both_ways: bool| {
        let all = places.iter();
        let of = all.filter(|(_, sight)| !both_ways || sight.ways == [true; 2]);
        of.min_by_key(|(_, sight)| sight.first)
            .map(|(&place, _)| place)
    };
    let goes = |way: usize| places.values().any(|sight| sight.ways[way]);
    let is_split = goes(0) && goes(1);
    first(true).or_else(|| first(false).filter(|_| !is_split))
}

/// Requests that are in the capture again, at other places than the one that counts.
#[derive(Debug, Default)]
pub struct Elsewhere {
    places: BTreeMap<String, Requests>,
    /// Flows whose packets passed two places in another order than their times say.
    contradicted: Vec<String>,
}

#[derive(Debug, Default)]
struct Requests {
    sent: u64,
    trips: Vec<Nanos>,
}

impl Elsewhere {
    /// Requests of a flow that were seen again at a place that the capture has no name for.
    pub fn take(&mut self, flow: &str, seen: &Sighted) {
        for exchange in &seen.again {
            let trip = exchange.answered.map(|at| at.saturating_sub(exchange.sent));
            self.add("a second place", trip);
        }
        if seen.contradicted {
            self.contradicted.push(flow.to_owned());
        }
    }

    /// What was imported at another place.
    pub fn imported(&mut self, place: Place, imported: &Imported) {
        let place = place.to_string();
        for record in imported.streams.iter().flat_map(|it| it.records.iter()) {
            let trip = record.t_rx.zip(record.t_tx);
            self.add(&place, trip.map(|(rx, tx)| rx.saturating_sub(tx)));
        }
    }

    fn add(&mut self, place: &str, trip: Option<Nanos>) {
        if !self.places.contains_key(place) {
            self.places.insert(place.to_owned(), Requests::default());
        }
        if let Some(requests) = self.places.get_mut(place) {
            requests.sent += 1;
            requests.trips.extend(trip);
        }
    }

    pub fn warn(self, imported: &mut Imported) {
        for flow in self.contradicted {
            imported.warn(format!(
                "{flow} was seen at two places whose clocks differ, and was left out: import the capture of each place by itself"
            ));
        }
        for (place, Requests { sent, mut trips }) in self.places {
            let answered = trips.len();
            let middle = answered / 2;
            let median = (answered > 0).then(|| *trips.select_nth_unstable(middle).1);
            let trips = median.map_or_else(String::new, |median| {
                format!(
                    ", their round trip there {} at the median",
                    format_duration(median)
                )
            });
            imported.warn(format!(
                "{sent} requests are in the capture again, at {place} ({answered} answered{trips}): they were left out, the first place that saw them counts"
            ));
        }
    }
}
