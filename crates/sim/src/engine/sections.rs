//! What sections of an experiment mean to the simulation: a switch's settings, a load's times.

use crate::network::{in_cells, wire};
use crate::refuse;
use delaylab_model::Picos;
use delaylab_model::dscp::Dscp;
use delaylab_model::load::Load as LoadSection;
use delaylab_model::path::{Framing, PacketDiscard, Path, Switch as SwitchSection};
use delaylab_model::world::Refusal;
use delaylab_switch::buffer::Bound;
use delaylab_switch::discard::Discard;
use delaylab_switch::{Counts, Settings};
use delaylab_traffic::abr::Parameters;
use delaylab_traffic::arrival::{Arrival, section};

/// IPv4 and UDP, or ICMP.
pub(super) const DATAGRAM_HEADERS: u32 = 20 + 8;
/// IPv4 and TCP, and the timestamp option of RFC 7323 with its padding.
pub(super) const TCP_HEADERS: u32 = 20 + 20;
pub(super) const TIMESTAMP_OPTION: u32 = 12;
/// IPv4 and TCP with a SYN's options: largest segment, SACK permitted, timestamps, window scale.
pub(super) const SYN_HEADERS: u32 = TCP_HEADERS + 20;
/// A load's packet when the experiment does not say.
pub const LOAD_PAYLOAD: u64 = 1024;
/// Socket buffers when the experiment does not say.
pub(super) const WINDOW_OF_1995: u64 = 64 << 10;
pub(super) const WINDOW: u64 = 4 << 20;

/// The class that a class has become when it arrives: the last switch may have changed it.
pub(super) fn remarked(path: &Path, class: Dscp) -> Dscp {
    let of_this = |name: &String| name.parse() == Ok(class);
    let rule = path.remark.iter().find(|(name, _)| of_this(name));
    rule.and_then(|(_, to)| to.parse().ok()).unwrap_or(class)
}

/// An IP packet that is sent without padding.
const LARGE: u32 = 1_000;

/// Class queues from the first that is served on: what `[path.queue]` and `[path.switch.weights]` name.
pub const QUEUES: [&str; 4] = ["network-control", "expedited", "best-effort", "scavenger"];

/// The queues of a switch between links of this framing.
///
/// # Errors
/// Names the field that means nothing.
pub fn switch_settings(
    section: &SwitchSection,
    path: &Path,
    framing: Framing,
) -> Result<Settings, Refusal> {
    let counts = if in_cells(framing) {
        Counts::Cells
    } else {
        Counts::Packets
    };
    let settings = Settings::read(section, counts, &QUEUES);
    let settings = settings.map_err(|refusal| refusal.within("path.switch"))?;
    // Of a packet that needs no padding.
    let overhead = match counts {
        Counts::Cells => 0,
        Counts::Packets => wire(framing, LARGE).bytes - LARGE,
    };
    let settings = settings.with_framing(overhead, section);
    let discard = section.packet_discard.unwrap_or_default();
    if discard != PacketDiscard::None && counts == Counts::Packets {
        return refuse(
            "path.switch.packet_discard",
            "is about cells: give `framing = \"aal5\"` too",
        );
    }
    let discard = packet_discard(discard, &settings);
    let settings = settings.with_discard(discard);
    let Some(abr) = &path.abr else {
        return Ok(settings);
    };
    let rate = path.rate.map_or(u64::MAX, |rate| rate.0);
    let parameters = Parameters::read(&abr.0, rate)?;
    Ok(settings.with_mark(parameters.mark))
}

/// Early packet discard begins at four fifths of the buffer (Romanow and Floyd 1995 leave it open).
pub(super) fn packet_discard(how: PacketDiscard, settings: &Settings) -> Discard {
    let most = |bound: u64| match bound {
        u64::MAX => u64::MAX,
        bound => bound - bound / 5,
    };
    match how {
        PacketDiscard::None => Discard::Cells,
        PacketDiscard::Partial => Discard::Partial,
        PacketDiscard::Early => Discard::Early {
            from: Bound {
                items: most(settings.memory.size.items),
                bytes: most(settings.memory.size.bytes),
            },
        },
    }
}

/// When a load's packets leave.
pub(super) fn arrivals(load: &LoadSection, start: Picos, seed: u64) -> Result<Arrival, Refusal> {
    section::arrivals(load, DATAGRAM_HEADERS, start, seed)
        .or_else(|(name, what)| refuse(format!("load.{}.{name}", load.name), what))
}

/// Does every packet of a replay fit?
pub(super) fn small_enough(load: &LoadSection, mtu: u32) -> Result<(), Refusal> {
    let mut packets = load.trace.iter().flat_map(|trace| trace.iter()).zip(1..);
    match packets.find(|(packet, _)| packet.bytes > mtu) {
        Some((packet, number)) => refuse(
            format!("load.{}.file", load.name),
            format!(
                "its packet {number} of {} B is over the MTU of {mtu} B",
                packet.bytes
            ),
        ),
        None => Ok(()),
    }
}

/// The class queue that a class has by itself (RFC 4594), or by the path's word.
pub fn queue_of(path: &Path, class: Dscp) -> u8 {
    let entries = path.queue.iter();
    let mut said = entries.filter(|(name, _)| name.parse() == Ok(class));
    if let Some((_, queue)) = said.next() {
        return QUEUES.iter().position(|name| name == queue).unwrap_or(2) as u8;
    }
    match class.code_point() {
        48..=63 => 0,
        40..=47 => 1,
        1 | 8 => 3,
        _ => 2,
    }
}
