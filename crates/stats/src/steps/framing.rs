//! What steps say of the line: cells, what framing adds, and rates.

/// Bytes of an ATM cell that carry payload (ITU-T I.361).
pub const CELL_PAYLOAD: u32 = 48;
/// Bits of an ATM cell on the line: 53 bytes.
pub const CELL_BITS: u32 = 424;

/// A way to carry IP packets in AAL5.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Framing {
    /// What it is called.
    pub name: &'static str,
    /// Bytes that it adds to the IP packet before that is cut into cells, AAL5's trailer of 8 among
    /// them.
    pub overhead: u32,
}

/// AAL5 (ITU-T I.363.5) with what RFC 2684 (LLC/SNAP or nothing, routed or bridged), RFC 2364 (PPP: 2
/// bytes of protocol) and RFC 2516 (PPPoE: 6 and PPP's 2, over bridged) put before the packet, and behind
/// it where the check sequence of bridged Ethernet goes along. Bridged is 14 bytes of Ethernet, behind 2 of
/// padding or 10 of LLC, SNAP and padding.
pub const FRAMINGS: [Framing; 12] = [
    framing("IPoA, VC-mux", 8),
    framing("PPPoA, VC-mux", 10),
    framing("PPPoA, LLC", 14),
    framing("IPoA, LLC/SNAP", 16),
    framing("bridged, VC-mux", 24),
    framing("bridged with FCS, VC-mux", 28),
    framing("bridged, LLC/SNAP", 32),
    framing("PPPoE, VC-mux", 32),
    framing("bridged with FCS, LLC/SNAP", 36),
    framing("PPPoE with FCS, VC-mux", 36),
    framing("PPPoE, LLC/SNAP", 40),
    framing("PPPoE with FCS, LLC/SNAP", 44),
];

const fn framing(name: &'static str, overhead: u32) -> Framing {
    Framing { name, overhead }
}

impl Framing {
    /// Cells of an IP packet: ⌈(packet + overhead)/48⌉.
    pub const fn cells(self, ip_size: u32) -> u32 {
        (ip_size + self.overhead).div_ceil(CELL_PAYLOAD)
    }
}

/// Σ1/C over the links of the way there and back that a step of this height crosses, in seconds a bit:
/// a step of q ns brings `bits` more on each, so q = bits·Σ1/C. An ATM cell has [`CELL_BITS`], which at
/// 1 Mbit/s down and up makes steps of 848 µs.
pub fn inverse_rate_sum(step_ns: f64, bits: u32) -> f64 {
    step_ns / 1e9 / f64::from(bits)
}

/// The rate in bit/s that each of `links` has, if all have the same.
pub fn rate_of_equal_links(step_ns: f64, bits: u32, links: u32) -> f64 {
    f64::from(links) / inverse_rate_sum(step_ns, bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_megabit_each_way() {
        assert!((inverse_rate_sum(848_000.0, CELL_BITS) - 2e-6).abs() < 1e-18);
        assert!((rate_of_equal_links(848_000.0, CELL_BITS, 2) - 1e6).abs() < 1e-6);
    }

    /// Payloads of UDP (28 bytes of headers) and their cells.
    #[test]
    fn cells_of_packets() {
        let cells = [
            (64, 3),
            (128, 4),
            (256, 7),
            (512, 12),
            (1024, 23),
            (2048, 44),
        ];
        for (payload, cells) in cells {
            // Routed, without and with LLC/SNAP.
            for index in [0, 3] {
                assert_eq!(FRAMINGS[index].cells(payload + 28), cells, "{payload}");
            }
        }
        assert_eq!(FRAMINGS[0].cells(9188), 192);
    }
}
