//! Congestion control. To add one: a file here, a line in [`Algorithm`].
//!
//! An algorithm grows the window with the ACKs outside recovery and says how far to cut it; when to
//! cut, and what to send again, is `recovery`'s. NewReno differs from Reno only there.

mod cubic;
mod dctcp;
mod reno;

use super::settings::{Congestion, Settings};
use cubic::Cubic;
use dctcp::Dctcp;
use delaylab_model::Picos;
use reno::Reno;

/// The congestion window and the slow start threshold, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    pub(crate) cwnd: u64,
    pub(crate) ssthresh: u64,
    pub(crate) mss: u64,
    /// More than this is never sent, so the window does not grow beyond it.
    pub(crate) largest: u64,
}

impl Window {
    pub(crate) fn new(settings: &Settings) -> Self {
        let mss = u64::from(settings.mss.max(1));
        Self {
            cwnd: settings.initial_window.max(mss),
            ssthresh: u64::MAX,
            mss,
            largest: settings.window.max(mss),
        }
    }

    pub(crate) const fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    fn add(&mut self, bytes: u64) {
        let wanted = self.cwnd.saturating_add(bytes).min(self.largest);
        self.cwnd = self.cwnd.max(wanted);
    }

    /// Two segments at least (RFC 5681 equation 4).
    fn set_threshold(&mut self, bytes: u64) {
        self.ssthresh = bytes.max(2 * self.mss);
    }
}

/// What an ACK outside recovery covers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Acked {
    /// New bytes.
    pub(crate) bytes: u64,
    /// Segments that it may add in slow start (L of RFC 3465 §2.2), if bytes count.
    pub(crate) limit: u64,
}

/// What grows the window, and by what it is cut.
#[derive(Debug, Clone)]
pub(crate) enum Algorithm {
    Reno(Reno),
    Cubic(Cubic),
    Dctcp(Dctcp),
}

impl Algorithm {
    pub(crate) fn new(settings: &Settings) -> Self {
        let reno = Reno::new(settings.growth);
        match settings.congestion {
            Congestion::Reno | Congestion::NewReno => Self::Reno(reno),
            Congestion::Cubic => Self::Cubic(Cubic::new(reno)),
            Congestion::Dctcp => Self::Dctcp(Dctcp::new(reno)),
        }
    }

    /// An ACK outside recovery.
    #[inline]
    pub(crate) fn grow(&mut self, window: &mut Window, acked: Acked, now: Picos, rtt: Picos) {
        match self {
            Self::Reno(reno) => reno.grow(window, acked),
            Self::Cubic(cubic) => cubic.grow(window, acked, now, rtt),
            Self::Dctcp(dctcp) => dctcp.reno.grow(window, acked),
        }
    }

    /// A segment was lost with `flight` bytes outstanding: sets the threshold.
    pub(crate) fn on_loss(&mut self, window: &mut Window, flight: u64) {
        match self {
            Self::Reno(reno) => reno.on_loss(window, flight),
            Self::Cubic(cubic) => cubic.on_loss(window, flight),
            Self::Dctcp(dctcp) => dctcp.reno.on_loss(window, flight),
        }
    }

    /// A time-out. The window is one segment (RFC 5681 §3.1); the threshold is set by the first of
    /// several in a row only.
    pub(crate) fn on_timeout(&mut self, window: &mut Window, flight: u64, first: bool) {
        if first {
            self.on_loss(window, flight);
        }
        if let Self::Cubic(cubic) = self {
            cubic.on_timeout();
        }
        window.cwnd = window.mss;
    }

    /// Every ACK of new data, for who counts marks.
    #[inline]
    pub(crate) fn count_marks(&mut self, acked: u64, marked: bool, next: u64, sent: u64) {
        if let Self::Dctcp(dctcp) = self {
            dctcp.count(acked, marked, next, sent);
        }
    }

    /// An echo of a mark, once a window: cuts it.
    pub(crate) fn on_mark(&mut self, window: &mut Window, flight: u64) {
        match self {
            Self::Dctcp(dctcp) => dctcp.on_mark(window),
            _ => self.on_loss(window, flight),
        }
        window.cwnd = window.cwnd.min(window.ssthresh);
    }

    /// Nothing was sent for a while: a curve over time starts anew.
    pub(crate) fn on_idle(&mut self) {
        if let Self::Cubic(cubic) = self {
            cubic.on_idle();
        }
    }

    /// DCTCP's estimate of the share of marked bytes.
    pub(crate) const fn alpha(&self) -> Option<f64> {
        match self {
            Self::Dctcp(dctcp) => Some(dctcp.alpha()),
            _ => None,
        }
    }
}
