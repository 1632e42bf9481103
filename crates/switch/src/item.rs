//! What a queue holds, and what becomes of what it does not.

/// What a queue needs to know of what it holds. Cheap to move: it is moved in and out.
pub trait Item {
    /// What byte limits, quanta and weights count.
    fn bytes(&self) -> u32;

    /// Its flow or virtual channel: a small dense number, because queues are found by index.
    fn flow(&self) -> u32;

    /// Its class queue: priority serves 0 first.
    fn queue(&self) -> u8 {
        0
    }

    /// The port it came in by, for buffers of input ports.
    fn ingress(&self) -> u16 {
        0
    }

    /// Sets its congestion mark (the EFCI bit of a data cell, CE in an IP header). False: it cannot be
    /// marked, as an RM cell cannot.
    fn mark(&mut self) -> bool {
        false
    }

    /// Do its ends understand a mark in place of a drop (RFC 3168)?
    fn ecn_capable(&self) -> bool {
        false
    }

    /// Does it belong into a queue for L4S traffic: is it ECT(1) or CE (RFC 9331)?
    fn low_latency(&self) -> bool {
        false
    }

    /// Its DiffServ code point.
    fn dscp(&self) -> u8 {
        0
    }

    /// Its place in an AAL5 PDU, for early and partial packet discard.
    fn pdu(&self) -> Pdu {
        Pdu::Apart
    }
}

/// The place of a cell in an AAL5 PDU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pdu {
    /// In none: a packet, or an RM cell.
    Apart,
    /// In one, and not its last.
    Part,
    /// The last of one.
    End,
}

/// Why an item was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cause {
    /// The buffer, or its port's share of it, was full.
    BufferFull,
    /// Random early detection.
    Red,
    /// CoDel's control law.
    CoDel,
    /// PIE's probability.
    Pie,
    /// DualPI2's probability.
    DualPi2,
    /// COBALT's control law.
    Cobalt,
    /// The whole PDU was refused at its first cell.
    EarlyPacketDiscard,
    /// A cell of its PDU was lost before it.
    PartialPacketDiscard,
    /// The policer's bucket had too few tokens.
    Policer,
    /// It is larger than the shaper's bucket.
    Shaper,
    /// It came after its input port had asked for a pause, and the headroom was full.
    Headroom,
    /// The switch was reset, or not yet up again.
    Reset,
    /// Its loss was asked for.
    Asked,
}

impl Cause {
    /// Why, in words.
    pub const fn words(self) -> &'static str {
        match self {
            Cause::BufferFull => delaylab_model::trial::Dropped::FULL,
            Cause::Red => "random early detection",
            Cause::CoDel => "CoDel",
            Cause::Pie => "PIE",
            Cause::DualPi2 => "DualPI2",
            Cause::Cobalt => "COBALT",
            Cause::EarlyPacketDiscard => "early packet discard",
            Cause::PartialPacketDiscard => "a cell of their packet had been lost",
            Cause::Policer => "the policer's bucket was empty",
            Cause::Shaper => "they were larger than the shaper's bucket",
            Cause::Headroom => "the headroom behind XOFF was full",
            Cause::Reset => "the switch was reset",
            Cause::Asked => delaylab_model::trial::Dropped::ASKED,
        }
    }
}

/// An item that will not be forwarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dropped<T> {
    /// What was dropped.
    pub item: T,
    /// And why.
    pub cause: Cause,
}

impl<T> Dropped<T> {
    /// This item, for this cause.
    pub const fn new(item: T, cause: Cause) -> Self {
        Self { item, cause }
    }
}

/// How much is queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Backlog {
    /// Cells or packets.
    pub items: u64,
    /// Bytes of them.
    pub bytes: u64,
}

/// In what the length of a queue is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Length {
    /// In bytes.
    #[default]
    Bytes,
    /// In cells or packets.
    Items,
}

impl Length {
    /// Of what a queue holds.
    #[inline]
    pub(crate) const fn measure(self, held: Backlog) -> u64 {
        match self {
            Self::Bytes => held.bytes,
            Self::Items => held.items,
        }
    }
}

impl Backlog {
    /// Is nothing queued?
    pub const fn is_empty(&self) -> bool {
        self.items == 0
    }

    /// Both together.
    pub(crate) const fn and(self, other: Self) -> Self {
        Self {
            items: self.items + other.items,
            bytes: self.bytes + other.bytes,
        }
    }

    /// One more.
    #[inline]
    pub(crate) const fn add(&mut self, bytes: u32) {
        self.items += 1;
        self.bytes += bytes as u64;
    }

    /// One less.
    #[inline]
    pub(crate) const fn remove(&mut self, bytes: u32) {
        self.items -= 1;
        self.bytes -= bytes as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_model::trial::Dropped as Sentence;

    #[test]
    fn what_a_discipline_chooses_to_drop_is_known_by_its_words() {
        use Cause::*;
        let chosen = [Red, CoDel, Pie, DualPi2, Cobalt, EarlyPacketDiscard];
        assert_eq!(chosen.map(Cause::words), Sentence::CHOSEN);
        for lost in [
            BufferFull,
            PartialPacketDiscard,
            Policer,
            Shaper,
            Headroom,
            Reset,
        ] {
            assert!(!Sentence::CHOSEN.contains(&lost.words()));
        }
    }
}
