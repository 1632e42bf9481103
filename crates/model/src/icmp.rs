//! Why a router or host gave a packet up, as its ICMP error says (RFC 792, RFC 1812 §5.2.7, RFC 4443).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What an ICMP or ICMPv6 error means. Type and code are numbered differently in the two; the meaning is one.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum IcmpReason {
    /// The TTL or hop limit ran out on the way.
    TtlExceeded,
    /// A router has no route to the network.
    NoRoute,
    /// The last router cannot find the host on its link.
    HostUnreachable,
    /// The packet arrived, and nothing listens on the port.
    PortUnreachable,
    /// The packet arrived, and the host does not speak its protocol.
    ProtocolUnreachable,
    /// A firewall or a policy forbids it.
    Prohibited,
    /// It is larger than the MTU of the next link and must not be fragmented.
    TooBig,
    /// Anything else; type and code say what.
    Other,
}

impl IcmpReason {
    crate::named! {
        TtlExceeded "ttl_exceeded";
        NoRoute "no_route";
        HostUnreachable "host_unreachable";
        PortUnreachable "port_unreachable";
        ProtocolUnreachable "protocol_unreachable";
        Prohibited "prohibited";
        TooBig "too_big";
        Other "other";
    }

    /// What a person reads.
    pub const fn text(self) -> &'static str {
        match self {
            IcmpReason::TtlExceeded => "TTL exceeded",
            IcmpReason::NoRoute => "no route to the network",
            IcmpReason::HostUnreachable => "host unreachable",
            IcmpReason::PortUnreachable => "port unreachable",
            IcmpReason::ProtocolUnreachable => "protocol unreachable",
            IcmpReason::Prohibited => "administratively prohibited",
            IcmpReason::TooBig => "fragmentation needed",
            IcmpReason::Other => "ICMP error",
        }
    }

    /// The same, with what would have fit where a router says that.
    pub fn describe(self, path_mtu: Option<u32>) -> String {
        match path_mtu {
            Some(mtu) => format!("{}: MTU {mtu} B", self.text()),
            None => self.text().to_owned(),
        }
    }

    /// Of this type and code, of ICMP or, for `v6`, of ICMPv6.
    pub const fn from_code(kind: u8, code: u8, v6: bool) -> Self {
        if v6 {
            Self::from_v6(kind, code)
        } else {
            Self::from_v4(kind, code)
        }
    }

    const fn from_v4(kind: u8, code: u8) -> Self {
        match (kind, code) {
            (11, 0) => IcmpReason::TtlExceeded,
            (3, 2) => IcmpReason::ProtocolUnreachable,
            (3, 3) => IcmpReason::PortUnreachable,
            (3, 0 | 6 | 11) => IcmpReason::NoRoute,
            (3, 1 | 7 | 8 | 12) => IcmpReason::HostUnreachable,
            (3, 9 | 10 | 13) => IcmpReason::Prohibited,
            (3, 4) => IcmpReason::TooBig,
            _ => IcmpReason::Other,
        }
    }

    const fn from_v6(kind: u8, code: u8) -> Self {
        match (kind, code) {
            (3, 0) => IcmpReason::TtlExceeded,
            (1, 4) => IcmpReason::PortUnreachable,
            (4, 1) => IcmpReason::ProtocolUnreachable,
            (1, 0) => IcmpReason::NoRoute,
            (1, 3) => IcmpReason::HostUnreachable,
            (1, 1 | 2 | 5 | 6) => IcmpReason::Prohibited,
            (2, _) => IcmpReason::TooBig,
            _ => IcmpReason::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_meaning_has_two_numbers() {
        for (v4, v6, reason) in [
            ((11, 0), (3, 0), IcmpReason::TtlExceeded),
            ((3, 0), (1, 0), IcmpReason::NoRoute),
            ((3, 1), (1, 3), IcmpReason::HostUnreachable),
            ((3, 3), (1, 4), IcmpReason::PortUnreachable),
            ((3, 13), (1, 1), IcmpReason::Prohibited),
            ((3, 4), (2, 0), IcmpReason::TooBig),
            ((12, 0), (4, 0), IcmpReason::Other),
        ] {
            assert_eq!(IcmpReason::from_code(v4.0, v4.1, false), reason);
            assert_eq!(IcmpReason::from_code(v6.0, v6.1, true), reason);
        }
    }
}
