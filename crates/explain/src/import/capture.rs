//! A capture: pcap or pcapng, requests and replies matched.
//!
//! | module | holds |
//! |---|---|
//! | `frames` | the file: packets with their times |
//! | `packet` | link, IP and transport headers taken off |
//! | `places` | the interface at which a flow is read |
//! | `exchange` | a request and its answer, as a record |
//! | `sightings` | requests that are in the capture several times |
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
mod places;
mod sightings;
mod tcp;
mod udp;

use super::{Format, ImportError, Imported, Input, Options, Rules};
use frames::Frame;
use packet::{About, Packet, Place, Transport};
use places::{Elsewhere, Places};
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
    let places = places(&file.frames);
    let mut flows = Flows::default();
    let mut at_others: BTreeMap<Place, Flows> = BTreeMap::new();
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
        match places.is_elsewhere(&packet) {
            true => at_others.entry(packet.place).or_default().take(&packet),
            false => flows.take(&packet),
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
    let mut elsewhere = Elsewhere::default();
    flows.finish(&mut imported, &mut elsewhere);
    for (place, flows) in at_others {
        let mut again = Imported::new(&FORMAT);
        flows.finish(&mut again, &mut elsewhere);
        elsewhere.imported(place, &again);
    }
    elsewhere.warn(&mut imported);
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

/// Where flows were seen, of a capture that may have packets of several interfaces.
fn places(frames: &[Frame]) -> Places {
    let mut places = Places::default();
    let first = frames.first().map(|frame| frame.interface);
    let are_several = |it: &Frame| packet::is_of_any(it.link) || Some(it.interface) != first;
    if frames.iter().any(are_several) {
        let packets = frames.iter().filter_map(Packet::read);
        packets.for_each(|packet| places.note(&packet));
    }
    places
}

/// All that is matched.
#[derive(Default)]
struct Flows<'a> {
    icmp: icmp::Echoes,
    udp: udp::Flows<'a>,
    tcp: tcp::Connections,
}

impl<'a> Flows<'a> {
    fn take(&mut self, packet: &Packet<'a>) {
        match &packet.transport {
            Transport::Icmp(message) => match message.about() {
                Some(About::Echo(echo)) => self.icmp.refuse(packet, message, &echo),
                Some(About::Udp(datagram)) => self.udp.refuse(packet, message, &datagram),
                None => self.icmp.take(packet, message),
            },
            Transport::Udp(datagram) => self.udp.take(packet, datagram),
            Transport::Tcp(segment) => self.tcp.take(packet, segment),
        }
    }

    fn finish(self, imported: &mut Imported, elsewhere: &mut Elsewhere) {
        self.icmp.finish(imported, elsewhere);
        self.udp.finish(imported, elsewhere);
        self.tcp.finish(imported);
    }
}

#[cfg(test)]
mod tests;
