//! What a `[[load]]` means to the simulation, and the headers and windows that it counts with.

use delaylab_model::Picos;
use delaylab_model::load::Load as LoadSection;
use delaylab_model::refusal::{Refusal, refuse};
pub(super) use delaylab_topology::framing::{DATAGRAM_HEADERS, TCP_HEADERS};
use delaylab_traffic::arrival::{Arrival, section};

/// The timestamp option of RFC 7323 with its padding.
pub(super) const TIMESTAMP_OPTION: u32 = 12;
/// IPv4 and TCP with a SYN's options: largest segment, SACK permitted, timestamps, window scale.
pub(super) const SYN_HEADERS: u32 = TCP_HEADERS + 20;
/// Socket buffers when the experiment does not say.
pub(super) const WINDOW_OF_1995: u64 = 64 << 10;
pub(super) const WINDOW: u64 = 4 << 20;

/// When a load's packets leave.
pub(super) fn arrivals(load: &LoadSection, start: Picos, seed: u64) -> Result<Arrival, Refusal> {
    section::arrivals(load, DATAGRAM_HEADERS, start, seed)
        .map_err(|refusal| refusal.within(&format!("load.{}", load.name)))
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
