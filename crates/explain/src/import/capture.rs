//! A capture: pcap or pcapng, requests and replies matched.
//!
//! | module | holds |
//! |---|---|
//! | `frames` | the file: packets with their times |
//! | `packet` | link, IP and transport headers taken off |
//! | `icmp` | echo by identifier and sequence number |
//! | `udp` | swapped addresses and ports; by irtt's sequence, by an echoed beginning, or by order |
//! | `tcp` | data segments by sequence and acknowledgement |
//!
//! A capture sees a packet where it was taken. At the sender that is beside the driver: its times are
//! `t_tx` and `t_rx`, and nothing is known of user space.

mod frames;
mod icmp;
mod packet;
mod tcp;
mod udp;

use super::order;
use super::{Clock, Format, ImportError, Imported, Input, Options, Rules, Stream};
use delaylab_model::Nanos;
use delaylab_model::method::Method;
use delaylab_model::record::{Outcome, Record};
use delaylab_model::trial::RecordFacts;
use packet::{Packet, Transport};

pub static FORMAT: Format = Format {
    name: "capture",
    command: "tcpdump -i INTERFACE -s 128 -w FILE",
    looks: "the magic number of pcap or pcapng",
    signs: &[],
    rules: Rules {
        at_interface: true,
        ..Rules::USUAL
    },
    is,
    read,
};

fn is(bytes: &[u8]) -> bool {
    frames::is(bytes)
}

fn read(input: Input<'_>, _: &Options) -> Result<Imported, ImportError> {
    let bytes = &input.bytes()?;
    let mut imported = Imported::new(&FORMAT);
    let file = frames::read(bytes)?;
    imported.version = file.application;
    imported.warnings = file.warnings;
    let mut icmp = icmp::Echoes::default();
    let mut udp = udp::Flows::default();
    let mut tcp = tcp::Connections::default();
    let (mut frames, mut others) = (0_u64, 0_u64);
    for frame in &file.frames {
        frames += 1;
        let Some(packet) = Packet::read(frame) else {
            others += 1;
            continue;
        };
        match &packet.transport {
            Transport::Icmp(message) => icmp.take(&packet, message),
            Transport::Udp(datagram) => udp.take(&packet, datagram),
            Transport::Tcp(segment) => tcp.take(&packet, segment),
        }
    }
    if others > 0 {
        imported.warn(format!(
            "{others} of {frames} packets of the capture are neither ICMP echo, UDP nor TCP, or are fragments, and were left out"
        ));
    }
    icmp.finish(&mut imported);
    udp.finish(&mut imported);
    tcp.finish(&mut imported);
    if !imported.streams.is_empty() {
        imported.warn("the times are those of the place where the capture was taken: if that was not the sender, they leave out what lies before it");
    }
    Ok(imported)
}

/// A request and what came of it.
#[derive(Debug, Clone)]
struct Exchange {
    sent: Nanos,
    /// Bytes of its IP packet.
    size: Option<u32>,
    dscp: u8,
    outcome: Outcome,
    answered: Option<Nanos>,
    reply: Reply,
    copies: u16,
    retransmits: Option<u32>,
    refused_by: Option<std::net::IpAddr>,
}

/// What is read from a reply's IP header.
#[derive(Debug, Clone, Copy, Default)]
struct Reply {
    dscp: Option<u8>,
    ecn: Option<u8>,
    ttl: Option<u8>,
}

impl Reply {
    fn from_packet(packet: &Packet) -> Self {
        Self {
            dscp: Some(packet.dscp),
            ecn: Some(packet.ecn),
            ttl: Some(packet.ttl),
        }
    }
}

impl Exchange {
    fn asked(packet: &Packet) -> Self {
        Self {
            sent: packet.time,
            size: Some(packet.size),
            dscp: packet.dscp,
            outcome: Outcome::Lost,
            answered: None,
            reply: Reply::default(),
            copies: 0,
            retransmits: None,
            refused_by: None,
        }
    }

    /// A reply; a second one is a copy.
    fn answer(&mut self, time: Nanos, reply: Reply) {
        if self.answered.is_some() {
            self.copies = self.copies.saturating_add(1);
            return;
        }
        self.outcome = Outcome::Ok;
        self.answered = Some(time);
        self.reply = reply;
    }

    fn record(&self, stream: u16, seq: u64, method: Method) -> Record {
        Record {
            dscp: self.dscp,
            ip_size: self.size,
            t_tx: Some(self.sent),
            t_rx: self.answered,
            reply_dscp: self.reply.dscp,
            reply_ecn: self.reply.ecn,
            reply_ttl: self.reply.ttl,
            copies: self.copies,
            retransmits: self.retransmits,
            outcome: self.outcome,
            refused_by: self.refused_by,
            ..Record::due(0, stream, seq, method, self.sent)
        }
    }
}

/// Adds a stream of these exchanges, numbered from 0 in the order of their requests.
fn push(
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
    imported.streams.push(Stream {
        name,
        method,
        target,
        size: first.size.filter(|_| one_size),
        clock: Clock::RealTime,
        records: records.into(),
        repeats: Vec::new(),
        step: 1,
        facts: RecordFacts::default(),
    });
}
