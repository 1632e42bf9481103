//! TCP end systems: one direction of bulk data, as state machines that are handed `now`.
//!
//! A [`Sender`] and a [`Receiver`] are the two halves of one connection. Connections start with a
//! handshake or established, by [`Settings`], and never close: there is no FIN. Offsets are bytes of the
//! stream in 64 bits, so nothing wraps. Headers are the caller's: a segment's length is its payload.
//!
//! | module | decides |
//! |---|---|
//! | [`settings`] | what an implementation of 1995, of ns-3 and of today does by default |
//! | `sender` | what leaves and when: windows, Nagle, retransmission |
//! | `recovery` | without SACK, what duplicate ACKs mean: fast retransmit and fast recovery |
//! | `sack`, `scoreboard` | with SACK, what arrived, what is lost and what is in the network (RFC 2018, 6675) |
//! | `prr` | how far the window comes down with each ACK of a recovery (RFC 9937) |
//! | `rack`, `tail_loss` | losses by time, and the probe of a tail (RFC 8985) |
//! | `rate`, `pacing` | delivery rate samples, and segments that leave at a rate |
//! | `congestion` | how the congestion window grows and shrinks; a file for each algorithm |
//! | `ranges` | pieces of a stream, in order and apart from each other |
//! | `timer` | the retransmission time-out: RFC 6298, or the coarse ticks of 1995 |
//! | `receiver` | when an ACK leaves; `reassembly`, `delayed` and `echo` are its parts |
//!
//! The receiving application reads at once, so the advertised window never closes and there is no
//! persist timer. Without SACK, after a time-out everything is sent again from the first hole, as in
//! 1995. Nothing is undone where a retransmission turns out to have been needless.

mod congestion;
mod delayed;
mod echo;
mod pacing;
mod prr;
mod rack;
mod ranges;
mod rate;
mod reassembly;
mod receiver;
mod recovery;
mod sack;
mod scoreboard;
mod sender;
pub mod settings;
mod tail_loss;
#[cfg(test)]
mod tests;
mod timer;

pub use receiver::Receiver;
pub use sack::SackOption;
pub use sender::Sender;
pub use settings::{Application, Congestion, DelayedAck, Growth, Halved, Settings, Timer};

use delaylab_model::Picos;

/// Data on its way to the receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Of its first byte in the stream.
    pub offset: u64,
    /// Payload.
    pub len: u32,
    /// Sent before, all or part of it.
    pub retransmit: bool,
    /// The last that the application has written so far.
    pub push: bool,
    /// May be marked instead of dropped (ECT, RFC 3168).
    pub ect: bool,
    /// The congestion window was reduced: stop echoing (RFC 3168).
    pub cwr: bool,
    /// It opens the connection. Without it and without payload it is the last of the handshake.
    pub syn: bool,
    /// When it was sent: the timestamp option (RFC 7323).
    pub sent: Picos,
}

impl Segment {
    /// The offset after its last byte.
    pub const fn end(&self) -> u64 {
        self.offset + self.len as u64
    }
}

/// What the receiver says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ack {
    /// The first byte that is still missing.
    pub next: u64,
    /// Bytes from there that may be outstanding.
    pub window: u64,
    /// Congestion was experienced (ECE).
    pub ece: bool,
    /// `sent` of the segment that caused it, by the rules of RFC 7323 §4.3.
    pub echo: Picos,
    /// It answers a SYN.
    pub syn: bool,
    /// What has come beyond `next`.
    pub sack: SackOption,
}
