//! What moves on links: cells, or frames; and the packets that they are of.

use delaylab_model::Picos;
use delaylab_switch::{Item, Pdu};
use delaylab_traffic::abr::ResourceManagement;
use delaylab_traffic::tcp::{Ack, Segment};

/// A flow's one way: in ATM a virtual channel.
pub type ChannelId = u32;
/// A packet's place in the arena.
pub type PacketId = u32;

/// A cell or a frame. 16 bytes, for millions of them move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit {
    /// What it is part of.
    pub packet: PacketId,
    /// Which way it goes.
    pub channel: ChannelId,
    /// On the wire.
    pub bytes: u16,
    /// The port of the switch by which it came in.
    pub ingress: u16,
    /// Links behind it.
    pub hop: u8,
    /// Its class queue.
    pub queue: u8,
    /// What else there is to know.
    pub flags: u8,
    /// Its DiffServ code point.
    pub dscp: u8,
}

/// The last unit of its packet.
pub const END: u8 = 1;
/// A switch marked it: the EFCI bit, or CE.
pub const MARKED: u8 = 2;
/// A resource management cell.
pub const MANAGEMENT: u8 = 4;
/// Of a probe: its way through each queue is recorded.
pub const TRACED: u8 = 8;
/// May be marked instead of dropped (RFC 3168).
pub const ECT: u8 = 16;
/// A cell of an AAL5 PDU.
pub const CELL_OF_PDU: u8 = 32;
/// A credit for the other end of one link.
pub const CREDIT: u8 = 64;
/// Of L4S traffic: sent as ECT(1) or CE (RFC 9331).
pub const LOW_LATENCY: u8 = 128;

/// The bit of ECT(1) in an IP header's ECN field, also set in CE.
pub const ECT_1: u8 = 0b01;

impl Unit {
    /// Is any of these flags set?
    #[inline]
    pub const fn has(&self, flags: u8) -> bool {
        self.flags & flags != 0
    }
}

impl Item for Unit {
    #[inline]
    fn bytes(&self) -> u32 {
        u32::from(self.bytes)
    }

    #[inline]
    fn flow(&self) -> u32 {
        self.channel
    }

    #[inline]
    fn queue(&self) -> u8 {
        self.queue
    }

    #[inline]
    fn ingress(&self) -> u16 {
        self.ingress
    }

    /// EFCI is for data cells alone (TM 4.0 §5.10.6).
    #[inline]
    fn mark(&mut self) -> bool {
        let can = !self.has(MANAGEMENT);
        self.flags |= if can { MARKED } else { 0 };
        can
    }

    #[inline]
    fn ecn_capable(&self) -> bool {
        self.has(ECT)
    }

    #[inline]
    fn dscp(&self) -> u8 {
        self.dscp
    }

    #[inline]
    fn low_latency(&self) -> bool {
        self.has(LOW_LATENCY) || (self.has(ECT) && self.has(MARKED))
    }

    #[inline]
    fn pdu(&self) -> Pdu {
        match self.flags & (CELL_OF_PDU | END) {
            0 | END => Pdu::Apart,
            CELL_OF_PDU => Pdu::Part,
            _ => Pdu::End,
        }
    }
}

/// What a packet is for. `flow` is the number of the flow that knows what to do with it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Content {
    /// A probe's packet on its way out.
    Request(Echo),
    /// The same on its way back.
    Reply(Echo),
    /// A segment of a TCP connection.
    Data {
        /// Of the connection.
        flow: u32,
        /// Offsets and flags.
        segment: Segment,
    },
    /// An acknowledgement of a TCP connection.
    Ack {
        /// Of the connection.
        flow: u32,
        /// What it says.
        ack: Ack,
    },
    /// Load that nobody answers.
    Load {
        /// Of the load.
        flow: u32,
    },
    /// A frame of a tester.
    Frame {
        /// Of the stream.
        flow: u32,
        /// Its number.
        seq: u64,
    },
    /// An RM cell.
    Management(ResourceManagement),
    /// A credit: so many cells of the channel have been forwarded by the next hop.
    Credit {
        /// Which channel.
        channel: ChannelId,
        /// In all.
        forwarded: u64,
    },
}

/// What a probe's packet carries and collects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Echo {
    /// Of the probe.
    pub flow: u32,
    /// Its number.
    pub seq: u64,
    /// When the reflector's host had it.
    pub r_rx: Picos,
    /// When the reflector had read it.
    pub r_user: Picos,
    /// When the reply began to leave.
    pub r_tx: Picos,
    /// When the probe's host had the reply.
    pub t_rx: Picos,
}

/// A packet under way.
#[derive(Debug, Clone, Copy)]
pub struct Packet {
    /// Which way it goes.
    pub channel: ChannelId,
    /// Bytes of the IP packet.
    pub ip_size: u32,
    /// Units that have neither arrived nor been dropped.
    pub left: u32,
    /// One of them was dropped: so is the packet.
    pub lost: bool,
    /// One of them was marked.
    pub marked: bool,
    /// What it is for.
    pub content: Content,
    /// When its last unit came to the queue that it is in, and what was before it there.
    pub queued: (Picos, u64),
}

impl Packet {
    /// Of so many units, none of which has left.
    pub const fn new(channel: ChannelId, ip_size: u32, units: u32, content: Content) -> Self {
        Self {
            channel,
            ip_size,
            left: units,
            lost: false,
            marked: false,
            content,
            queued: (0, 0),
        }
    }
}

/// Packets under way, found by number.
#[derive(Debug, Default)]
pub struct Arena {
    packets: Vec<Packet>,
    free: Vec<PacketId>,
}

impl Arena {
    /// Takes a packet in.
    pub fn add(&mut self, packet: Packet) -> PacketId {
        if let Some(id) = self.free.pop() {
            self.packets[id as usize] = packet;
            return id;
        }
        self.packets.push(packet);
        (self.packets.len() - 1) as PacketId
    }

    /// The packet of this number.
    #[inline]
    pub fn get(&mut self, id: PacketId) -> &mut Packet {
        &mut self.packets[id as usize]
    }

    /// Gives its place to another.
    pub fn remove(&mut self, id: PacketId) -> Packet {
        self.free.push(id);
        self.packets[id as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_small() {
        assert!(size_of::<Unit>() <= 16);
    }

    #[test]
    fn management_cells_are_not_marked() {
        let mut unit = Unit {
            packet: 0,
            channel: 0,
            bytes: 53,
            ingress: 0,
            hop: 0,
            queue: 0,
            flags: MANAGEMENT,
            dscp: 0,
        };
        assert!(!unit.mark());
        assert!(!unit.has(MARKED));
        unit.flags = CELL_OF_PDU;
        assert!(unit.mark());
        assert!(unit.has(MARKED));
    }
}
