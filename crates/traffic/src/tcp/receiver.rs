//! The receiving half.

use super::delayed::Delayed;
use super::echo::Echo;
use super::reassembly::{Placed, Reassembly};
use super::sack::{Reports, SackOption};
use super::settings::Settings;
use super::{Ack, Segment};
use delaylab_model::Picos;

/// The receiving half of a connection.
///
/// After every call look at `next_timeout` again.
#[derive(Debug, Clone)]
pub struct Receiver {
    window: u64,
    reassembly: Reassembly,
    delayed: Delayed,
    echo: Echo,
    /// Without SACK nothing is reported.
    reports: Option<Reports>,
    /// What was last acknowledged, and the timestamp to echo (RFC 7323 §4.3).
    acked: u64,
    timestamp: Picos,
}

impl Receiver {
    /// A connection with nothing received.
    pub fn new(settings: &Settings) -> Self {
        Self::opened(settings, 0)
    }

    /// The same, whose handshake was at this time: that is echoed until data comes in order (RFC 7323 §4.3).
    pub fn opened(settings: &Settings, at: Picos) -> Self {
        Self {
            window: settings.window,
            reassembly: Reassembly::default(),
            delayed: Delayed::new(settings),
            echo: Echo::new(settings),
            reports: settings.sack.then(Reports::default),
            acked: 0,
            timestamp: at,
        }
    }

    /// A segment came in; `ce`: it was marked on its way. The ACK, if one is to leave now.
    pub fn on_segment(&mut self, now: Picos, segment: &Segment, ce: bool) -> Option<Ack> {
        if segment.syn {
            return Some(self.answer(segment));
        }
        if segment.len == 0 {
            return None; // the last of the handshake
        }
        // RFC 8257 §3.2: what was held back is acknowledged as it came, before the state changes.
        let before = (self.echo.flips(ce) && self.delayed.holds()).then(|| self.ack(false));
        self.echo.on_segment(ce, segment.cwr);
        if segment.offset <= self.acked {
            self.timestamp = self.timestamp.max(segment.sent);
        }
        let placed = self.reassembly.add(segment.offset, segment.end());
        match (placed, &mut self.reports) {
            (Placed::Known, _) => self.delayed.note_duplicate(),
            (Placed::Beyond, Some(reports)) => reports.note(segment.offset),
            _ => {}
        }
        // RFC 5681 §4.2: out of order, or filling a gap, is acknowledged at once. The ACK from before
        // the change of state is then left out: there is one at most for each segment.
        if placed != Placed::InOrder || !self.delayed.hold(now, segment.len) {
            return Some(self.ack(placed == Placed::Known));
        }
        before
    }

    fn answer(&self, segment: &Segment) -> Ack {
        Ack {
            next: 0,
            window: self.window,
            ece: false,
            echo: segment.sent,
            syn: true,
            sack: SackOption::default(),
        }
    }

    /// When [`Receiver::on_timeout`] wants to be called.
    pub const fn next_timeout(&self) -> Option<Picos> {
        self.delayed.deadline()
    }

    /// The time has come: the ACK that was held back. Earlier calls change nothing.
    pub fn on_timeout(&mut self, now: Picos) -> Option<Ack> {
        let due = self.delayed.deadline().is_some_and(|at| now >= at);
        due.then(|| self.ack(false))
    }

    /// Bytes handed to the application, in order.
    pub const fn delivered(&self) -> u64 {
        self.reassembly.next()
    }

    /// `duplicate`: what causes it had come before.
    fn ack(&mut self, duplicate: bool) -> Ack {
        self.delayed.sent();
        self.acked = self.reassembly.next();
        let pieces = self.reassembly.pieces();
        let reports = self.reports.as_mut();
        Ack {
            next: self.acked,
            window: self.window,
            ece: self.echo.ece(),
            echo: self.timestamp,
            syn: false,
            sack: reports.map_or_else(SackOption::default, |reports| {
                reports.option(self.acked, pieces, duplicate)
            }),
        }
    }
}
