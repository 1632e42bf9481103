//! The receiving half.

use super::delayed::Delayed;
use super::echo::Echo;
use super::reassembly::{Placed, Reassembly};
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
    /// What was last acknowledged, and the timestamp to echo (RFC 7323 §4.3).
    acked: u64,
    timestamp: Picos,
}

impl Receiver {
    /// An established connection with nothing received.
    pub fn new(settings: &Settings) -> Self {
        Self {
            window: settings.window,
            reassembly: Reassembly::default(),
            delayed: Delayed::new(settings),
            echo: Echo::new(settings),
            acked: 0,
            timestamp: 0,
        }
    }

    /// A segment came in; `ce`: it was marked on its way. The ACK, if one is to leave now.
    pub fn on_segment(&mut self, now: Picos, segment: &Segment, ce: bool) -> Option<Ack> {
        // RFC 8257 §3.2: what was held back is acknowledged as it came, before the state changes.
        let before = (self.echo.flips(ce) && self.delayed.holds()).then(|| self.ack());
        self.echo.on_segment(ce, segment.cwr);
        if segment.offset <= self.acked {
            self.timestamp = self.timestamp.max(segment.sent);
        }
        let placed = self.reassembly.add(segment.offset, segment.end());
        // RFC 5681 §4.2: out of order, or filling a gap, is acknowledged at once. The ACK from before
        // the change of state is then left out: there is one at most for each segment.
        if placed != Placed::InOrder || !self.delayed.hold(now) {
            return Some(self.ack());
        }
        before
    }

    /// When [`Receiver::on_timeout`] wants to be called.
    pub const fn next_timeout(&self) -> Option<Picos> {
        self.delayed.deadline()
    }

    /// The time has come: the ACK that was held back. Earlier calls change nothing.
    pub fn on_timeout(&mut self, now: Picos) -> Option<Ack> {
        let due = self.delayed.deadline().is_some_and(|at| now >= at);
        due.then(|| self.ack())
    }

    /// Bytes handed to the application, in order.
    pub const fn delivered(&self) -> u64 {
        self.reassembly.next()
    }

    fn ack(&mut self) -> Ack {
        self.delayed.sent();
        self.acked = self.reassembly.next();
        Ack {
            next: self.acked,
            window: self.window,
            ece: self.echo.ece(),
            echo: self.timestamp,
        }
    }
}
