//! A capture: pcap or pcapng, requests and replies matched.
//!
//! | module | holds |
//! |---|---|
//! | `frames` | the file: packets with their times |
//! | `packet` | link, IP and transport headers taken off |
//! | `exchange` | a request and its answer, as a record |
//! | `icmp` | echo by identifier and sequence number |
//! | `udp` | swapped addresses and ports; by irtt's sequence, by an echoed beginning, or by order |
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
    icmp.finish(&mut imported);
    udp.finish(&mut imported);
    tcp.finish(&mut imported);
    if !imported.streams.is_empty() {
        imported.warn("the times are those of the place where the capture was taken: if that was not the sender, they leave out what lies before it");
    }
    Ok(imported)
}
