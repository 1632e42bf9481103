//! A capture: pcap or pcapng, requests and replies matched.
//!
//! | module | holds |
//! |---|---|
//! | `frames` | the file: packets with their times |
//! | `packet` | link, IP and transport headers taken off |
//! | `exchange` | a request and its answer, as a record |
//! | `icmp` | echo by identifier and sequence number |
//! | `udp` | swapped addresses and ports; by irtt's sequence, DNS's number, STAMP's sequence, an echoed beginning, or by order |
//! | `tcp` | data segments by sequence and acknowledgement |
//!
//! A capture sees a packet where it was taken. At the sender that is beside the driver: its times are
//! `t_tx` and `t_rx`, and nothing is known of user space.

mod exchange;
mod frames;
mod icmp;
mod packet;
mod tcp;
mod udp;

use super::{Format, ImportError, Imported, Input, Options, Rules};
use packet::{About, Packet, Transport};
use std::collections::BTreeMap;

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
    let frames = file.frames.len();
    let mut others = 0_u64;
    let mut of_unread_links: BTreeMap<u32, u64> = BTreeMap::new();
    for frame in &file.frames {
        if !packet::is_read(frame.link) {
            *of_unread_links.entry(frame.link).or_default() += 1;
            continue;
        }
        let Some(packet) = Packet::read(frame) else {
            others += 1;
            continue;
        };
        match &packet.transport {
            Transport::Icmp(message) => match message.about() {
                Some(About::Echo(echo)) => icmp.refuse(&packet, message, &echo),
                Some(About::Udp(datagram)) => udp.refuse(&packet, message, &datagram),
                None => icmp.take(&packet, message),
            },
            Transport::Udp(datagram) => udp.take(&packet, datagram),
            Transport::Tcp(segment) => tcp.take(&packet, segment),
        }
    }
    if others > 0 {
        imported.warn(format!(
            "{others} of {frames} packets of the capture are neither ICMP echo, UDP nor TCP, or are fragments, and were left out"
        ));
    }
    for (link, count) in of_unread_links {
        imported.warn(format!(
            "{count} of {frames} packets of the capture are of link type {link}, which is not read: capture at an interface of Ethernet, or with `tcpdump -y EN10MB`"
        ));
    }
    icmp.finish(&mut imported);
    udp.finish(&mut imported);
    tcp.finish(&mut imported);
    if imported.streams.is_empty() && frames > 0 {
        return Err(ImportError::NoExchange {
            frames,
            warnings: imported.warnings,
        });
    }
    if !imported.streams.is_empty() {
        imported.warn("the times are those of the place where the capture was taken: if that was not the sender, they leave out what lies before it");
    }
    Ok(imported)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::import;

    /// A capture of Ethernet, whose header says this of the link.
    fn with_link(link: u32) -> Vec<u8> {
        let mut bytes = include_bytes!("../../tests/data/import/icmp.pcap").to_vec();
        bytes[20..24].copy_from_slice(&link.to_le_bytes());
        bytes
    }

    #[test]
    fn a_link_that_is_not_read_is_named() {
        let error = import::read(&with_link(127), None).unwrap_err().to_string();
        assert!(
            error.contains("are of link type 127, which is not read"),
            "{error}"
        );
    }

    #[test]
    fn how_long_checksums_are_is_no_part_of_the_link() {
        let [plain, with_checksums] =
            [1, 0x2400_0001].map(|link| import::read(&with_link(link), None).unwrap());
        assert_eq!(with_checksums, plain);
    }
}
