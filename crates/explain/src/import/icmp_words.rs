//! What ping-like tools call ICMP errors.
//!
//! iputils: `Destination Host Unreachable`, `Time to live exceeded`, `Frag needed and DF set (mtu = 1400)`,
//! `Packet filtered`; over IPv6 `Destination unreachable: No route`, `Time exceeded: Hop limit`,
//! `Packet too big: mtu=1280`. Windows: `TTL expired in transit`, `Packet needs to be fragmented but DF set`.
//! hping3 (logicmp.c): `Network Unreachable`, `Fragmentation Needed/DF set`, `TTL 0 during transit`. RouterOS: `TTL exceeded`.

use super::text::{after, has, leading_number};
use delaylab_model::icmp::IcmpReason;

/// Words and what they mean; the first that a line has counts.
const WORDS: [(&str, IcmpReason); 25] = [
    ("Time to live exceeded", IcmpReason::TtlExceeded),
    ("Time exceeded: Hop limit", IcmpReason::TtlExceeded),
    ("TTL expired", IcmpReason::TtlExceeded),
    ("TTL exceeded", IcmpReason::TtlExceeded),
    ("TTL 0 during transit", IcmpReason::TtlExceeded),
    ("Frag needed", IcmpReason::TooBig),
    ("frag needed", IcmpReason::TooBig),
    ("needs to be fragmented", IcmpReason::TooBig),
    ("Fragmentation Needed", IcmpReason::TooBig),
    ("Packet too big", IcmpReason::TooBig),
    ("Port Unreachable", IcmpReason::PortUnreachable),
    ("Port unreachable", IcmpReason::PortUnreachable),
    ("port unreachable", IcmpReason::PortUnreachable),
    ("Protocol Unreachable", IcmpReason::ProtocolUnreachable),
    ("Packet filtered", IcmpReason::Prohibited),
    ("rohibited", IcmpReason::Prohibited),
    ("Net Unreachable", IcmpReason::NoRoute),
    ("Network Unreachable", IcmpReason::NoRoute),
    ("net unreachable", IcmpReason::NoRoute),
    ("No route", IcmpReason::NoRoute),
    ("Host Unreachable", IcmpReason::HostUnreachable),
    ("host unreachable", IcmpReason::HostUnreachable),
    ("Address unreachable", IcmpReason::HostUnreachable),
    ("Host Unknown", IcmpReason::HostUnreachable),
    ("Redirect", IcmpReason::Other),
];

/// What the line says of why; `None` where it says that in other words.
pub(super) fn reason(line: &str) -> Option<IcmpReason> {
    let known = |(words, reason): &(&str, IcmpReason)| has(line, words).then_some(*reason);
    WORDS.iter().find_map(known)
}

/// What would have fit, where the line has it.
pub(super) fn path_mtu(line: &str) -> Option<u32> {
    let said = after(line, "mtu")?.trim_start_matches([' ', '=']);
    let mtu = leading_number(said)?;
    u32::try_from(mtu).ok().filter(|&mtu| mtu > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_several_tools() {
        for (line, expected, mtu) in [
            (
                "From 10.0.0.9 icmp_seq=3 Destination Host Unreachable",
                Some(IcmpReason::HostUnreachable),
                None,
            ),
            (
                "From 10.0.0.9 icmp_seq=1 Time to live exceeded",
                Some(IcmpReason::TtlExceeded),
                None,
            ),
            (
                "From 10.0.0.9 icmp_seq=1 Frag needed and DF set (mtu = 1400)",
                Some(IcmpReason::TooBig),
                Some(1400),
            ),
            (
                "From 2001:db8::1 icmp_seq=1 Packet too big: mtu=1280",
                Some(IcmpReason::TooBig),
                Some(1280),
            ),
            (
                "From 2001:db8::1 icmp_seq=1 Destination unreachable: No route",
                Some(IcmpReason::NoRoute),
                None,
            ),
            (
                "From 2001:db8::1 icmp_seq=1 Destination unreachable: Administratively prohibited",
                Some(IcmpReason::Prohibited),
                None,
            ),
            (
                "Reply from 10.0.0.9: TTL expired in transit.",
                Some(IcmpReason::TtlExceeded),
                None,
            ),
            ("From 10.0.0.9 icmp_seq=1 Parameter problem", None, None),
        ] {
            assert_eq!((reason(line), path_mtu(line)), (expected, mtu), "{line}");
        }
    }
}
