//! Packets: what cells and frames are of, and what it is for.

use delaylab_model::Picos;
use delaylab_traffic::abr::ResourceManagement;
use delaylab_traffic::tcp::{Ack, Segment};

/// A flow's one way: in ATM a virtual channel.
pub type ChannelId = u32;
/// A packet's place in the arena.
pub type PacketId = u32;

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

impl Content {
    /// Is it of a probe over datagrams?
    const fn is_echo(&self) -> bool {
        matches!(self, Content::Request(_) | Content::Reply(_))
    }
}

/// What a probe's packet carries and collects.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
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
    /// One of them has arrived.
    pub came: bool,
    /// One of them was marked.
    pub marked: bool,
    /// What it is for.
    pub content: Content,
    /// When its last unit came to the queue that it is in, or to the switch that held it as it paused, and what was before it in that
    /// queue.
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
            came: false,
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
    /// Requests and replies of probes among them.
    echoes: usize,
}

impl Arena {
    /// Takes a packet in.
    pub fn add(&mut self, packet: Packet) -> PacketId {
        self.echoes += usize::from(packet.content.is_echo());
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
        let packet = self.packets[id as usize];
        self.echoes -= usize::from(packet.content.is_echo());
        packet
    }

    /// Are there packets of probes over datagrams, on their way out or back?
    #[inline]
    pub const fn has_echoes(&self) -> bool {
        self.echoes > 0
    }
}
