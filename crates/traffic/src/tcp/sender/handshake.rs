//! SYN, SYN-ACK, and an ACK with the first data or alone (RFC 9293 §3.5). Nobody refuses a connection here.

use super::Sender;
use crate::tcp::{Ack, Segment};
use delaylab_model::Picos;

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Handshake {
    /// A SYN is to be sent.
    Due,
    /// It is out.
    Sent,
    /// The SYN-ACK is to be acknowledged.
    Answered,
    Done,
}

impl Handshake {
    pub(super) const fn new(wanted: bool) -> Self {
        if wanted { Self::Due } else { Self::Done }
    }

    pub(super) const fn is_done(self) -> bool {
        matches!(self, Self::Done)
    }
}

impl Sender {
    pub(super) fn poll_handshake(&mut self, now: Picos) -> Option<Segment> {
        let syn = match self.handshake {
            Handshake::Due => true,
            Handshake::Answered => false,
            Handshake::Sent | Handshake::Done => return None,
        };
        self.handshake = match syn {
            true => Handshake::Sent,
            false => Handshake::Done,
        };
        if syn && self.deadline.is_none() {
            self.deadline = Some(self.timer.expiry(now));
        }
        Some(Segment {
            offset: 0,
            len: 0,
            retransmit: syn && self.timeouts > 0,
            push: false,
            // RFC 3168 §6.1.1: neither is marked.
            ect: false,
            cwr: false,
            syn,
            sent: now,
        })
    }

    /// The SYN-ACK; later ones, of SYNs that were sent again, change nothing.
    pub(super) fn on_handshake_ack(&mut self, now: Picos, ack: &Ack) {
        if !ack.syn || self.handshake != Handshake::Sent {
            return;
        }
        // Karn: not of a SYN that was sent twice, unless its timestamp says which one this answers.
        if self.settings.timestamps || self.timeouts == 0 {
            self.note_handshake(ack.echo, now);
        }
        if self.timeouts > 0 {
            self.timer.after_lost_syn();
        }
        self.handshake = Handshake::Answered;
        self.deadline = None;
    }

    /// What a handshake tells of the round trip, to who asked for it and to who answered: its segment left at `sent`.
    pub fn note_handshake(&mut self, sent: Picos, now: Picos) {
        self.timer.sample(sent, now);
        // RFC 8985 §6.2, step 1: of every measurement, this one as well.
        if let Some(selective) = &mut self.selective {
            selective.note_round_trip(now.saturating_sub(sent));
        }
    }

    /// RFC 5681 §3.1: after a lost SYN the first window is one segment.
    pub(super) fn handshake_timed_out(&mut self) {
        self.handshake = Handshake::Due;
        self.window.cwnd = self.window.mss;
        self.retransmits += 1;
    }
}
