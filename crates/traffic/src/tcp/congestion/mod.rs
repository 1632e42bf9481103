//! Congestion control. To add one: a file here, a line in [`Algorithm`].
//!
//! An algorithm grows the window with the ACKs outside recovery and says how far to cut it; when to
//! cut, and what to send again, is `recovery`'s. NewReno differs from Reno only there.

mod bbr;
mod cubic;
mod dctcp;
mod marks;
mod prague;
mod reno;
mod slow_start;

use super::rate::RateSample;
use super::settings::{Congestion, Settings};
use bbr::Bbr;
use cubic::Cubic;
use dctcp::Dctcp;
use delaylab_model::tcp::HyStart;
use delaylab_model::{PICOS_PER_SECOND, Picos};
use prague::Prague;
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
    pub(crate) now: Picos,
    /// A sample of the round-trip time.
    pub(crate) rtt: Option<Picos>,
    /// All below it is acknowledged; all below `sent` is out.
    pub(crate) next: u64,
    pub(crate) sent: u64,
}

/// What an ACK says of bytes that have arrived, for who models the path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Delivery {
    pub(crate) now: Picos,
    /// Bytes that are newly known to have arrived, and all that have.
    pub(crate) delivered: u64,
    pub(crate) total: u64,
    pub(crate) rate: Option<RateSample>,
    pub(crate) rtt: Option<Picos>,
    pub(crate) smoothed: Option<Picos>,
    /// Bytes in the network before the ACK and after it.
    pub(crate) pipe_before: u64,
    pub(crate) pipe: u64,
    /// A loss is being repaired.
    pub(crate) repairing: bool,
}

/// What grows the window, and by what it is cut.
#[derive(Debug, Clone)]
pub(crate) enum Algorithm {
    Reno(Reno),
    Cubic(Cubic),
    Dctcp(Dctcp),
    Prague(Prague),
    Bbr(Box<Bbr>),
}

impl Algorithm {
    pub(crate) fn new(settings: &Settings) -> Self {
        let hystart = match (settings.hystart, settings.congestion) {
            // Linux has it in CUBIC alone.
            (HyStart::Linux, congestion) if congestion != Congestion::Cubic => HyStart::None,
            (hystart, _) => hystart,
        };
        let mut reno = Reno::new(settings.growth, hystart);
        // In Linux `SO_MAX_PACING_RATE` turns pacing on.
        reno.slow_start.paced = settings.pacing || settings.most.is_some();
        match settings.congestion {
            Congestion::Reno | Congestion::NewReno => Self::Reno(reno),
            Congestion::Cubic => Self::Cubic(Cubic::new(reno, settings.reno_friendly)),
            Congestion::Dctcp => Self::Dctcp(Dctcp::new(reno)),
            Congestion::Prague => Self::Prague(Prague::new(reno)),
            Congestion::Bbr => Self::Bbr(Box::new(Bbr::new(settings.initial_window))),
        }
    }

    /// An ACK outside recovery; `smoothed` is the round-trip time.
    #[inline]
    pub(crate) fn grow(&mut self, window: &mut Window, acked: Acked, smoothed: Picos) {
        match self {
            Self::Reno(reno) => reno.grow(window, acked, smoothed),
            Self::Cubic(cubic) => cubic.grow(window, acked, smoothed),
            Self::Dctcp(dctcp) => dctcp.reno.grow(window, acked, smoothed),
            Self::Prague(prague) => prague.grow(window, acked, smoothed),
            Self::Bbr(_) => {}
        }
    }

    /// A segment was lost with `flight` bytes outstanding: sets the threshold.
    pub(crate) fn on_loss(&mut self, window: &mut Window, flight: u64) {
        match self {
            Self::Reno(reno) => reno.on_loss(window, flight),
            Self::Cubic(cubic) => cubic.on_loss(window, flight),
            Self::Dctcp(dctcp) => dctcp.reno.on_loss(window, flight),
            Self::Prague(prague) => prague.reno.on_loss(window, flight),
            Self::Bbr(_) => {}
        }
    }

    /// Does a model of the path say how much may be out, so that a loss does not?
    pub(crate) const fn is_model(&self) -> bool {
        matches!(self, Self::Bbr(_))
    }

    /// Does the algorithm itself keep the window too small for the path?
    pub(crate) const fn is_probing_rtt(&self) -> bool {
        match self {
            Self::Bbr(bbr) => bbr.is_probing_rtt(),
            _ => false,
        }
    }

    /// Every ACK, for a model of the path.
    pub(crate) fn on_delivery(&mut self, window: &mut Window, ack: &Delivery) {
        if let Self::Bbr(bbr) = self {
            bbr.on_delivery(window, ack);
        }
    }

    /// Recovery begins (RFC 6675 §5 step 4.2), with so much in the network and `total` arrived.
    pub(crate) fn enter_recovery(&mut self, window: &mut Window, pipe: u64, total: u64) {
        match self {
            Self::Bbr(bbr) => bbr.enter_recovery(window, pipe, total),
            _ => window.cwnd = window.ssthresh,
        }
    }

    /// While a loss is repaired an ACK shows that so much more is lost, for who models the path.
    pub(crate) fn lose_more(&self, window: &mut Window, lost: u64) {
        if self.is_model() {
            Bbr::lose_more(window, lost);
        }
    }

    /// The window after recovery.
    pub(crate) const fn after_recovery(&self, window: &Window) -> u64 {
        match self {
            Self::Bbr(_) => window.cwnd,
            _ => window.ssthresh,
        }
    }

    /// Bytes a second at which segments leave if they are paced (Linux: twice the window a round trip in
    /// slow start, 1.2 times else; Prague no more than the window).
    pub(crate) fn pacing_rate(&self, window: &Window, smoothed: Option<Picos>) -> f64 {
        if let Self::Bbr(bbr) = self {
            return bbr.pacing_rate(smoothed);
        }
        let Some(rtt) = smoothed.filter(|&rtt| rtt > 0) else {
            return f64::MAX;
        };
        let early = window.cwnd < window.ssthresh / 2;
        let gain = match self {
            _ if early => 2.0,
            Self::Prague(_) => 1.0,
            _ => 1.2,
        };
        gain * window.cwnd as f64 * PICOS_PER_SECOND as f64 / rtt as f64
    }

    /// A time-out. The window is one segment (RFC 5681 §3.1).
    pub(crate) fn on_timeout(&mut self, window: &mut Window) {
        match self {
            Self::Cubic(cubic) => cubic.on_timeout(),
            Self::Bbr(bbr) => bbr.on_timeout(window),
            _ => {}
        }
        window.cwnd = window.mss;
    }

    /// Every ACK of new data, for who counts marks; `at` is now and the smoothed round-trip time.
    #[inline]
    pub(crate) fn count_marks(
        &mut self,
        acked: u64,
        marked: bool,
        next: u64,
        sent: u64,
        at: (Picos, Picos),
    ) {
        match self {
            Self::Dctcp(dctcp) => dctcp.count(acked, marked, next, sent),
            Self::Prague(prague) => prague.count(acked, marked, next, sent, at),
            _ => {}
        }
    }

    /// May an echo of a mark cut the window now?
    pub(crate) const fn may_cut(&self, now: Picos) -> bool {
        match self {
            Self::Prague(prague) => prague.may_cut(now),
            _ => true,
        }
    }

    /// An echo of a mark, once a window: cuts it, with `less` by less than a loss does (RFC 8511).
    pub(crate) fn on_mark(
        &mut self,
        window: &mut Window,
        flight: u64,
        less: bool,
        at: (Picos, Picos),
    ) {
        match self {
            Self::Dctcp(dctcp) => dctcp.on_mark(window),
            Self::Prague(prague) => prague.on_mark(window, at.0, at.1),
            Self::Reno(reno) if less => reno.cut(window, flight, reno::BETA_ECN),
            Self::Cubic(cubic) if less => cubic.cut(window, flight, cubic::BETA_ECN),
            Self::Bbr(_) => return,
            _ => self.on_loss(window, flight),
        }
        window.cwnd = window.cwnd.min(window.ssthresh);
    }

    /// Nothing was sent for so long that the window is the first one again: a curve over time starts anew.
    pub(crate) fn on_restart(&mut self) {
        if let Self::Cubic(cubic) = self {
            cubic.on_restart();
        }
    }

    /// Sends again, with nothing outstanding.
    pub(crate) fn after_idle(&mut self, last_sent: Picos, now: Picos) {
        match self {
            Self::Cubic(cubic) => cubic.after_idle(last_sent, now),
            Self::Bbr(bbr) => bbr.after_idle(),
            _ => {}
        }
    }

    /// DCTCP's or Prague's estimate of the share of marked bytes.
    pub(crate) const fn alpha(&self) -> Option<f64> {
        match self {
            Self::Dctcp(dctcp) => Some(dctcp.alpha()),
            Self::Prague(prague) => Some(prague.alpha()),
            _ => None,
        }
    }
}
