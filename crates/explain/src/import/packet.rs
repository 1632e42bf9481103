//! What is known of a packet of a peer that prints lines.

use delaylab_model::Nanos;
use delaylab_model::icmp::IcmpReason;
use delaylab_model::record::Outcome;
use std::net::IpAddr;

/// How it ended, and the figures of its reply.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Packet {
    pub outcome: Outcome,
    pub refused_by: Option<IpAddr>,
    pub icmp: Option<IcmpReason>,
    pub path_mtu: Option<u32>,
    pub round_trip: Option<Nanos>,
    pub sent_at: Option<Nanos>,
    pub ttl: Option<u8>,
    /// Bytes of its IP packet, where its line has them.
    pub size: Option<u32>,
    pub copies: u16,
    pub extent: u32,
}

impl Packet {
    /// Did a reply come?
    pub const fn replied(&self) -> bool {
        matches!(self.outcome, Outcome::Ok | Outcome::Corrupt)
    }

    /// What came later, for a packet that was settled before.
    pub fn and_later(mut self, later: Packet) -> Packet {
        if !self.replied() {
            return Packet {
                sent_at: later.sent_at.or(self.sent_at),
                size: later.size.or(self.size),
                ..later
            };
        }
        let more = later.copies.saturating_add(u16::from(later.replied()));
        self.copies = self.copies.saturating_add(more);
        self
    }
}
