//! Credit flow control of one virtual channel over one hop (N23), at both ends of the link.
//!
//! ```text
//!   Upstream ──── cells ────► Downstream ──── cells ────► next hop
//!   counts Vs    ◄── Vr ────  counts Vr, says it after every N2
//! ```
//!
//! The upstream end counts the cells it has sent (Vs) and sends only while its credit
//! N2 + N3 − (Vs − Vr) is positive, so that the downstream end, with a buffer of N2 + N3 cells for the
//! channel, never loses one. A credit carries Vr as an absolute count: one that is lost is made good by
//! the next.
//!
//! References: H. T. Kung, T. Blackwell and A. Chapman, "Credit-based flow control for ATM networks:
//! credit update protocol, adaptive credit allocation, and statistical multiplexing", SIGCOMM 1994.
//!
//! Validation: no loss and never more than N2 + N3 held, with credits lost at random; the bandwidth
//! bound (N2 + N3)/(RTT + N2), reached where N2 divides N3; N2 = 10, N3 = 25, RTT = 100 gives 0.286 of
//! the bound's 0.318.

use delaylab_model::path;

/// The end that sends cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Upstream {
    window: u64,
    /// Vs.
    sent: u64,
    /// Vr, as last heard of.
    forwarded: u64,
}

impl Upstream {
    /// Nothing sent, credit for N2 + N3 cells.
    pub const fn new(credit: path::Credit) -> Self {
        Self {
            window: credit.n2 as u64 + credit.n3 as u64,
            sent: 0,
            forwarded: 0,
        }
    }

    /// How many cells may be sent before the next credit comes.
    #[inline]
    pub const fn credit(&self) -> u64 {
        (self.window + self.forwarded).saturating_sub(self.sent)
    }

    /// A cell is sent.
    #[inline]
    pub const fn send(&mut self) {
        self.sent += 1;
    }

    /// A credit came. One that was overtaken by another says nothing new, and none can be for more than
    /// was sent.
    #[inline]
    pub fn receive(&mut self, forwarded: u64) {
        self.forwarded = self.forwarded.max(forwarded.min(self.sent));
    }
}

/// The end that receives cells, and forwards them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Downstream {
    every: u64,
    /// Vr.
    forwarded: u64,
}

impl Downstream {
    /// Nothing forwarded. An N2 of 0 counts as 1.
    pub const fn new(credit: path::Credit) -> Self {
        Self {
            every: if credit.n2 == 0 { 1 } else { credit.n2 as u64 },
            forwarded: 0,
        }
    }

    /// A cell is forwarded. The credit to send upstream, after every N2 of them.
    #[inline]
    pub const fn forward(&mut self) -> Option<u64> {
        self.forwarded += 1;
        if self.forwarded.is_multiple_of(self.every) {
            Some(self.forwarded)
        } else {
            None
        }
    }

    /// Vr: the credit to send where one is owed for another reason, as after a link came back.
    pub const fn forwarded(&self) -> u64 {
        self.forwarded
    }
}
