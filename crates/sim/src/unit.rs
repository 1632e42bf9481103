//! What moves on links and waits in queues: cells, or frames.
//!
//! A unit is two words, and nothing else: it is handed on in registers. A struct of small fields would be written to memory
//! field by field and then copied as a whole, which a CPU cannot forward from its store buffer: it waits, at every hop.

use crate::packet::{ChannelId, PacketId};
use delaylab_switch::{Item, Pdu};
use std::num::NonZeroU64;

/// A cell or a frame.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Unit {
    /// The packet that it is part of, above the channel that it goes by.
    whose: u64,
    /// From the lowest bit: bytes on the wire (16), ingress (16), hop, class queue, flags (8 each), DiffServ code point (6),
    /// a bit for a mark that is of this queue, and the highest bit is set, so that there is an `Option` of no more than two
    /// words.
    state: NonZeroU64,
}

const INGRESS: u32 = 16;
const HOP: u32 = 32;
const QUEUE: u32 = 40;
const FLAGS: u32 = 48;
const DSCP: u32 = 56;
const IS_SOME: NonZeroU64 = match NonZeroU64::new(1 << 63) {
    Some(bit) => bit,
    None => NonZeroU64::MIN,
};
const DSCP_MASK: u8 = 0x3f;
const MARKED_HERE: u64 = 1 << 62;

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
    /// At its source, in the first class queue, with the default code point.
    #[inline]
    pub fn new(packet: PacketId, channel: ChannelId, bytes: u16, flags: u8) -> Self {
        Self {
            whose: u64::from(packet) << 32 | u64::from(channel),
            state: IS_SOME | u64::from(bytes) | u64::from(flags) << FLAGS,
        }
    }

    /// The same in a class queue, with a DiffServ code point (6 bits).
    #[inline]
    #[must_use]
    pub fn in_class(self, queue: u8, dscp: u8) -> Self {
        let kept = self.state.get() & !(0xff << QUEUE | u64::from(DSCP_MASK) << DSCP);
        let class = u64::from(queue) << QUEUE | u64::from(dscp & DSCP_MASK) << DSCP;
        let state = IS_SOME | kept | class;
        Self { state, ..self }
    }

    /// The same one link later, come by this port of a switch.
    #[inline]
    #[must_use]
    pub fn come_by(self, ingress: u16) -> Self {
        let kept = self.state.get() & !(0xffff << INGRESS | MARKED_HERE);
        let state = IS_SOME | (kept + (1 << HOP)) | u64::from(ingress) << INGRESS;
        Self { state, ..self }
    }

    /// The same with these flags, too.
    #[inline]
    #[must_use]
    pub fn with(self, flags: u8) -> Self {
        let state = self.state | u64::from(flags) << FLAGS;
        Self { state, ..self }
    }

    /// Did the queue that it was in last mark it, and no other before?
    #[inline]
    pub const fn is_marked_here(&self) -> bool {
        self.state.get() & MARKED_HERE != 0
    }

    /// What it is part of.
    #[inline]
    pub const fn packet(&self) -> PacketId {
        (self.whose >> 32) as PacketId
    }

    /// Which way it goes.
    #[inline]
    pub const fn channel(&self) -> ChannelId {
        self.whose as ChannelId
    }

    /// Links behind it.
    #[inline]
    pub const fn hop(&self) -> u8 {
        (self.state.get() >> HOP) as u8
    }

    /// Is any of these flags set?
    #[inline]
    pub const fn has(&self, flags: u8) -> bool {
        (self.state.get() >> FLAGS) as u8 & flags != 0
    }
}

impl std::fmt::Debug for Unit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Unit")
            .field("packet", &self.packet())
            .field("channel", &self.channel())
            .field("bytes", &self.bytes())
            .field("ingress", &self.ingress())
            .field("hop", &self.hop())
            .field("queue", &self.queue())
            .field("flags", &((self.state.get() >> FLAGS) as u8))
            .field("dscp", &self.dscp())
            .finish()
    }
}

impl Item for Unit {
    #[inline]
    fn bytes(&self) -> u32 {
        u32::from(self.state.get() as u16)
    }

    #[inline]
    fn flow(&self) -> u32 {
        self.channel()
    }

    #[inline]
    fn queue(&self) -> u8 {
        (self.state.get() >> QUEUE) as u8
    }

    #[inline]
    fn ingress(&self) -> u16 {
        (self.state.get() >> INGRESS) as u16
    }

    /// EFCI is for data cells alone (TM 4.0 §5.10.6).
    #[inline]
    fn mark(&mut self) -> bool {
        let can = !self.has(MANAGEMENT);
        if can && !self.has(MARKED) {
            let state = self.with(MARKED).state | MARKED_HERE;
            *self = Self { state, ..*self };
        }
        can
    }

    #[inline]
    fn ecn_capable(&self) -> bool {
        self.has(ECT)
    }

    #[inline]
    fn dscp(&self) -> u8 {
        (self.state.get() >> DSCP) as u8 & DSCP_MASK
    }

    #[inline]
    fn low_latency(&self) -> bool {
        self.has(LOW_LATENCY) || (self.has(ECT) && self.has(MARKED))
    }

    #[inline]
    fn pdu(&self) -> Pdu {
        match (self.has(CELL_OF_PDU), self.has(END)) {
            (false, _) => Pdu::Apart,
            (true, false) => Pdu::Part,
            (true, true) => Pdu::End,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_two_words_also_if_there_is_none() {
        assert_eq!(size_of::<Unit>(), 16);
        assert_eq!(size_of::<Option<Unit>>(), 16);
    }

    #[test]
    fn nothing_spills_into_its_neighbour() {
        let full = Unit::new(u32::MAX, 0, u16::MAX, 0).in_class(0, 63);
        assert_eq!((full.packet(), full.channel()), (u32::MAX, 0));
        assert_eq!((full.bytes(), full.ingress(), full.hop()), (65_535, 0, 0));
        assert_eq!((full.queue(), full.dscp()), (0, 63));
        assert!(!full.has(u8::MAX));

        let other = Unit::new(0, u32::MAX, 0, u8::MAX).in_class(u8::MAX, 0);
        let other = other.come_by(7).come_by(u16::MAX);
        assert_eq!((other.packet(), other.channel()), (0, u32::MAX));
        assert_eq!(
            (other.bytes(), other.ingress(), other.hop()),
            (0, 65_535, 2)
        );
        assert_eq!((other.queue(), other.dscp()), (255, 0));
        assert_eq!(other.in_class(1, 2).come_by(3).hop(), 3);
        assert_eq!(other.in_class(1, 2).queue(), 1);
    }

    #[test]
    fn management_cells_are_not_marked() {
        let mut cell = Unit::new(0, 0, 53, MANAGEMENT);
        assert!(!cell.mark());
        assert!(!cell.has(MARKED));
        let mut cell = Unit::new(0, 0, 53, CELL_OF_PDU);
        assert!(cell.mark());
        assert!(cell.has(MARKED));
    }

    #[test]
    fn a_mark_is_of_the_first_queue_that_sets_it() {
        let mut frame = Unit::new(1, 2, 1538, ECT).in_class(3, 46);
        assert!(!frame.is_marked_here());
        assert!(frame.mark() && frame.mark() && frame.is_marked_here());
        let mut frame = frame.come_by(u16::MAX);
        assert!(frame.has(MARKED) && !frame.is_marked_here());
        assert!(frame.mark() && !frame.is_marked_here());
        assert_eq!((frame.hop(), frame.queue(), frame.dscp()), (1, 3, 46));
    }

    #[test]
    fn the_last_cell_ends_its_pdu() {
        let place = |flags| Unit::new(0, 0, 53, flags).pdu();
        assert_eq!(place(0), Pdu::Apart);
        assert_eq!(place(END), Pdu::Apart);
        assert_eq!(place(CELL_OF_PDU), Pdu::Part);
        assert_eq!(place(CELL_OF_PDU | END), Pdu::End);
    }
}
