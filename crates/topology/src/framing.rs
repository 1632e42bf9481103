//! How IP packets are put on links: bytes and cells on the wire, and how large a packet may be.

use delaylab_model::headers;
use delaylab_model::path::{Framing, Path};
use delaylab_model::probe::Probe;
use delaylab_model::refusal::{Refusal, refuse};

/// IPv4 and UDP, or ICMP.
pub const DATAGRAM_HEADERS: u32 = headers::of_datagrams(false);
/// IPv4 and TCP without options.
pub const TCP_HEADERS: u32 = headers::of_segments(false);

/// How packets are put on every link of this path.
pub fn framing_of(path: &Path) -> Framing {
    path.framing.unwrap_or_default()
}

/// The largest IP packet of a link: by default RFC 894, RFC 2225 §7.3 (9180 behind LLC and SNAP).
///
/// # Errors
/// Links carry none of that size.
pub fn mtu(path: &Path) -> Result<u32, Refusal> {
    let usual = match framing_of(path) {
        Framing::Aal5 => 9188,
        Framing::Aal5Llc => 9180,
        Framing::Ethernet | Framing::Ppp => 1500,
    };
    let mtu = path.mtu.map_or(usual, |mtu| mtu.0);
    match u32::try_from(mtu) {
        Ok(mtu) if (68..=65_000).contains(&mtu) => Ok(mtu),
        _ => refuse(
            "path.mtu",
            "an IP packet has 68 B (RFC 791) to 65000 B here",
        ),
    }
}

/// Refuses frames of a tester that are larger than this largest IP packet allows. A tag is not counted (IEEE 802.3ac).
///
/// # Errors
/// Names their size.
pub fn frames_that_fit(probe: &Probe, mtu: u32) -> Result<(), Refusal> {
    match probe.frames.filter(|frames| frames.ip_size() > mtu) {
        None => Ok(()),
        Some(frames) => {
            let (size, needed) = (frames.size, frames.ip_size());
            let field = format!("probe.{}.frame_size", probe.name);
            let why = format!("a frame of {size} B does not fit links whose MTU is {mtu} B");
            Err(Refusal::new(field, why).remedy(format!("raise `path.mtu` to {needed}B")))
        }
    }
}

/// Bytes on the wire of an IP packet, and how many units it is sent in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wire {
    /// Cells, or one frame.
    pub units: u32,
    /// Bytes of each.
    pub bytes: u32,
}

impl Wire {
    /// Bytes of all of them.
    pub const fn total_bytes(self) -> u32 {
        self.units.saturating_mul(self.bytes)
    }
}

/// An ATM cell.
pub const CELL: u32 = 53;
/// What of it is payload.
pub const CELL_PAYLOAD: u32 = 48;
/// The AAL5 trailer (ITU-T I.363.5).
const AAL5_TRAILER: u32 = 8;
/// LLC and SNAP before an IP packet (RFC 2684 §5).
const LLC_SNAP: u32 = 8;
/// Ethernet header and frame check sequence; a frame has 64 bytes at least (IEEE 802.3 §3.2.7).
const ETHERNET: u32 = 14 + 4;
const LEAST_FRAME: u32 = 64;
/// Preamble, start of frame, gap.
const ETHERNET_GAP: u32 = 7 + 1 + 12;
/// The header of ns-3's point-to-point links.
const PPP: u32 = 2;

/// An IP packet of this size on a link of this framing.
#[inline]
pub fn wire(framing: Framing, ip_size: u32) -> Wire {
    let cells = |sdu: u32| Wire {
        units: (sdu + AAL5_TRAILER).div_ceil(CELL_PAYLOAD),
        bytes: CELL,
    };
    let frame = |bytes| Wire { units: 1, bytes };
    match framing {
        Framing::Aal5 => cells(ip_size),
        Framing::Aal5Llc => cells(ip_size + LLC_SNAP),
        Framing::Ethernet => frame((ip_size + ETHERNET).max(LEAST_FRAME) + ETHERNET_GAP),
        Framing::Ppp => frame(ip_size + PPP),
    }
}

/// Is it sent in cells?
pub const fn in_cells(framing: Framing) -> bool {
    matches!(framing, Framing::Aal5 | Framing::Aal5Llc)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_the_seeds_sizes() {
        // atm.md: UDP payload to cells, with or without LLC/SNAP.
        let sizes = [64, 128, 256, 512, 1024, 2048];
        for framing in [Framing::Aal5, Framing::Aal5Llc] {
            let cells = sizes.map(|payload| wire(framing, payload + 28).units);
            assert_eq!(cells, [3, 4, 7, 12, 23, 44], "{framing:?}");
        }
        assert_eq!(wire(Framing::Aal5, 9188).units, 192);
        assert_eq!(wire(Framing::Aal5Llc, 9180).units, 192);
        assert_eq!(wire(Framing::Aal5Llc, 9180).total_bytes(), 192 * CELL);
    }

    #[test]
    fn frames_have_their_overhead() {
        assert_eq!(wire(Framing::Ppp, 1052).bytes, 1054);
        assert_eq!(wire(Framing::Ethernet, 1500).bytes, 1538);
        assert_eq!(wire(Framing::Ethernet, 28).bytes, 84);
        assert_eq!(wire(Framing::Ethernet, 28).total_bytes(), 84);
    }
}
