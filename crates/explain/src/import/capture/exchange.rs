//! A request in a capture and its answer, and streams of such exchanges.

use super::packet::{Icmp, IcmpNumbers, Packet};
use crate::import::{Clock, Imported, ImportedStream, order};
use delaylab_model::Nanos;
use delaylab_model::method::Method;
use delaylab_model::record::{Answer, Outcome, Record};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

/// A request and its answer.
#[derive(Debug, Clone)]
pub struct Exchange {
    pub sent: Nanos,
    /// Bytes of its IP packet.
    pub size: Option<u32>,
    pub dscp: u8,
    /// Its TTL or hop limit.
    pub ttl: u8,
    pub outcome: Outcome,
    pub answered: Option<Nanos>,
    /// TCP: when the far kernel acknowledged all of it, and when the first byte of the reply came.
    pub acknowledged: Option<Nanos>,
    pub first_byte: Option<Nanos>,
    /// TCP: the shortest round trip of its connection so far.
    pub least_round_trip: Option<Nanos>,
    pub reply: Reply,
    pub copies: u16,
    pub retransmits: Option<u32>,
    pub refused_by: Option<IpAddr>,
    /// What the ICMP error says.
    pub error: Option<IcmpNumbers>,
}

/// What is read from a reply's IP header, and of a name server's what it says.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reply {
    pub answer: Option<Answer>,
    pub dscp: Option<u8>,
    pub ecn: Option<u8>,
    pub ttl: Option<u8>,
}

impl Reply {
    pub fn from_packet(packet: &Packet) -> Self {
        Self {
            answer: None,
            dscp: Some(packet.dscp),
            ecn: Some(packet.ecn),
            ttl: Some(packet.ttl),
        }
    }
}

impl Exchange {
    pub fn asked(packet: &Packet) -> Self {
        Self {
            sent: packet.time,
            size: Some(packet.size),
            dscp: packet.dscp,
            ttl: packet.ttl,
            outcome: Outcome::Lost,
            answered: None,
            acknowledged: None,
            first_byte: None,
            least_round_trip: None,
            reply: Reply::default(),
            copies: 0,
            retransmits: None,
            refused_by: None,
            error: None,
        }
    }

    /// Has neither a reply come nor an error?
    pub fn waits(&self) -> bool {
        self.outcome == Outcome::Lost
    }

    /// An error came back, if no reply did.
    pub fn refuse(&mut self, packet: &Packet, message: &Icmp) {
        if self.outcome != Outcome::Lost {
            return;
        }
        self.outcome = Outcome::Refused;
        self.refused_by = Some(packet.from);
        self.error = Some(message.numbers);
    }

    /// A reply; a second one is a copy.
    pub fn answer(&mut self, time: Nanos, reply: Reply) {
        if self.answered.is_some() {
            self.copies = self.copies.saturating_add(1);
            return;
        }
        self.outcome = Outcome::Ok;
        self.answered = Some(time);
        self.reply = reply;
    }

    /// The reply, of which there has been a copy before.
    pub fn answer_after_copy(&mut self, time: Nanos, reply: Reply) {
        self.copies = self.copies.saturating_add(1);
        self.answered = Some(time);
        self.reply = reply;
    }

    fn record(&self, stream: u16, seq: u64, method: Method) -> Record {
        Record {
            dscp: self.dscp,
            ip_size: self.size,
            t_tx: Some(self.sent),
            t_ack: self.acknowledged,
            t_first: self.first_byte,
            t_rx: self.answered,
            least_round_trip: self.least_round_trip,
            answer: self.reply.answer,
            reply_dscp: self.reply.dscp,
            reply_ecn: self.reply.ecn,
            reply_ttl: self.reply.ttl,
            copies: self.copies,
            retransmits: self.retransmits,
            outcome: self.outcome,
            refused_by: self.refused_by,
            icmp: self.error.map(|error| error.reason),
            icmp_type: self.error.map(|error| error.icmp_type),
            icmp_code: self.error.map(|error| error.icmp_code),
            path_mtu: self.error.and_then(|error| error.path_mtu),
            ..Record::due(0, stream, seq, method, self.sent)
        }
    }
}

/// A client with a port of its own for every few requests asks this number with each at most.
const FEW: usize = 4;

/// Exchanges of clients with servers, by who asks from which port.
#[derive(Default)]
pub struct Clients {
    flows: BTreeMap<(IpAddr, SocketAddr), Vec<Asked>>,
}

/// What a client asked from a port.
struct Asked {
    from: SocketAddr,
    method: Method,
    exchanges: Vec<Exchange>,
}

impl Clients {
    pub fn add(
        &mut self,
        from: SocketAddr,
        server: SocketAddr,
        method: Method,
        exchanges: Vec<Exchange>,
    ) {
        let flows = self.flows.entry((from.ip(), server)).or_default();
        flows.push(Asked {
            from,
            method,
            exchanges,
        });
    }

    /// Adds a stream for each port of a client; those that it has for a few requests are one.
    pub fn push(self, imported: &mut Imported) {
        let mut streams = Vec::new();
        for ((client, server), flows) in self.flows {
            let has_few = |asked: &Asked| asked.exchanges.len() <= FEW;
            let are_several = flows.iter().filter(|asked| has_few(asked)).count() > 1;
            let mut together: Option<Asked> = None;
            for asked in flows {
                match &mut together {
                    _ if !are_several || !has_few(&asked) => {
                        streams.push((server, asked.from.to_string(), asked));
                    }
                    Some(all) => all.exchanges.extend(asked.exchanges),
                    None => together = Some(asked),
                }
            }
            if let Some(mut all) = together {
                all.exchanges.sort_by_key(|exchange| exchange.sent);
                streams.push((server, client.to_string(), all));
            }
        }
        streams.sort_by_key(|(server, _, asked)| (asked.from, *server));
        for (server, client, asked) in streams {
            let name = format!("{client} to {server}");
            let target = server.to_string();
            push(imported, name, target, asked.method, &asked.exchanges);
        }
    }
}

/// Adds a stream of these exchanges, numbered from 0 in the order of their requests.
pub fn push(
    imported: &mut Imported,
    name: String,
    target: String,
    method: Method,
    exchanges: &[Exchange],
) {
    let Some(first) = exchanges.first() else {
        return;
    };
    let index = u16::try_from(imported.streams.len()).unwrap_or(u16::MAX);
    let records = (0..)
        .zip(exchanges)
        .map(|(seq, exchange)| exchange.record(index, seq, method));
    let mut records: Vec<_> = records.collect();
    order::mark(&mut records);
    let one_size = exchanges.iter().all(|exchange| exchange.size == first.size);
    imported.streams.push(ImportedStream {
        size: first.size.filter(|_| one_size),
        clock: Clock::RealTime,
        records: records.into(),
        ..ImportedStream::new(name, target, method)
    });
}
