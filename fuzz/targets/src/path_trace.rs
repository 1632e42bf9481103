//! Answers to a path trace: ICMP errors with their quotes, extensions and labels, and replies of the target. The first
//! byte of an input says which flow is traced.

use crate::packets::emitted;
use delaylab_wire::icmp_error::{self, HEADER, IcmpError};
use delaylab_wire::icmp_extension::{Extension, with_label_stack};
use delaylab_wire::ip::Header;
use delaylab_wire::mpls;
use delaylab_wire::path_probe::{Flow, Mark, SMALLEST_PAYLOAD, Transport};

/// Checks one input.
pub fn check(data: &[u8]) {
    let Some((&kind, packet)) = data.split_first() else {
        return;
    };
    let v6 = kind & V6 != 0;
    let flow = flow(kind);
    if let Ok((header, at)) = Header::parse(packet) {
        assert!(at <= packet.len());
        let mut again = packet.to_vec();
        assert_eq!(header.emit(&mut again), Ok(()));
        assert_eq!(Header::parse(&again).map(|(again, _)| again), Ok(header));
    }
    if let Ok(error) = IcmpError::parse(packet, v6) {
        assert!(error.quote.len() + HEADER <= packet.len());
        if let Ok(mark) = flow.quoted(error.quote) {
            writes_again(&flow, mark);
        }
    }
    if let Ok(extension) = Extension::parse(packet) {
        let stack = extension.label_stack();
        assert!(stack.len() * mpls::SIZE <= packet.len());
        let again = with_label_stack(&stack);
        let again = Extension::parse(&again).map(|extension| extension.label_stack());
        assert_eq!(again, Ok(stack));
    }
    let _ = flow.echo_reply(packet);
    let _ = flow.udp_reply(packet);
    let _ = flow.tcp_reply(packet);
}

/// The bit of a flow's number that says IPv6. The bits above it say by which protocol.
const V6: u8 = 1;

fn flow(kind: u8) -> Flow {
    let [source, destination] = if kind & V6 != 0 {
        ["fd00::1", "fd00::2"].map(|address| address.parse().expect("an address"))
    } else {
        ["10.0.0.1", "10.0.0.2"].map(|address| address.parse().expect("an address"))
    };
    let transport = match kind >> 1 & 3 {
        0 => Transport::Udp {
            source: 40_000,
            port: 33_434,
        },
        1 => Transport::Icmp { id: 7 },
        _ => Transport::Tcp {
            source: 40_000,
            port: 80,
        },
    };
    Flow {
        source,
        destination,
        transport,
        token: 9,
    }
}

/// Checks that the mark of a packet is read as it was written.
fn writes_again(flow: &Flow, mark: Mark) {
    let mut packet = vec![0; flow.packet_size(SMALLEST_PAYLOAD)];
    assert_eq!(flow.emit(mark, &mut packet), Ok(()));
    assert_eq!(flow.quoted(&packet), Ok(mark));
}

/// Valid inputs: for each kind of flow, what a router and what the target answer, and the packet itself.
pub fn seeds() -> Vec<Vec<u8>> {
    let extension = with_label_stack(&[mpls::Entry::from_bits(0x05dc_1101)]);
    let mark = Mark {
        number: 3,
        traffic_class: 0xb8,
        ttl: 1,
    };
    let mut seeds = vec![[&[0], extension.as_slice()].concat()];
    for kind in 0..6_u8 {
        let v6 = kind & V6 != 0;
        let flow = flow(kind);
        let packet = emitted(flow.packet_size(SMALLEST_PAYLOAD), |packet| {
            flow.emit(mark, packet)
        });
        let exceeded = if v6 { [3, 0] } else { [11, 0] };
        let errors =
            [false, true].map(|old| icmp_error::compose(exceeded, v6, &packet, &extension, old));
        let reply = reply(&flow, &packet[if v6 { 40 } else { 20 }..]);
        let seed = |answer: Vec<u8>| [&[kind], answer.as_slice()].concat();
        seeds.extend(errors.map(seed));
        seeds.extend([reply, packet].map(seed));
    }
    seeds
}

/// What the target answers, given the packet behind its IP header.
fn reply(flow: &Flow, sent: &[u8]) -> Vec<u8> {
    match flow.transport {
        // The payload, without the UDP header.
        Transport::Udp { .. } => sent[8..].to_vec(),
        Transport::Icmp { .. } => {
            let kind = if flow.destination.is_ipv6() { 129 } else { 0 };
            [&[kind], &sent[1..]].concat()
        }
        Transport::Tcp { source, port } => {
            let number = sent[4..8].try_into().map(u32::from_be_bytes);
            let next = number.expect("four bytes").wrapping_add(1);
            let mut segment = vec![0; 20];
            segment[..2].copy_from_slice(&port.to_be_bytes());
            segment[2..4].copy_from_slice(&source.to_be_bytes());
            segment[8..12].copy_from_slice(&next.to_be_bytes());
            // Five words of header; RST and ACK.
            segment[12..14].copy_from_slice(&[0x50, 0x14]);
            segment
        }
    }
}
