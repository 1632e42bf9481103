//! Delivery rate samples (draft-ietf-ccwg-bbr §4.1): bytes that arrived over the time in which they were
//! sent, or acknowledged, whichever is longer.

use delaylab_model::Picos;

/// What is kept with each transmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Stamp {
    /// Bytes that had arrived then, and when the last of them did.
    delivered: u64,
    delivered_at: Picos,
    /// When the first segment of the flight was sent.
    first_at: Picos,
    /// The application had nothing more to send.
    app_limited: bool,
}

/// A sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RateSample {
    /// Bytes a second.
    pub(crate) rate: f64,
    /// At least so much, and maybe the path bears more.
    pub(crate) app_limited: bool,
    /// Bytes that had arrived when the segment was sent.
    pub(crate) prior_delivered: u64,
}

/// The connection's counters.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DeliveryRate {
    delivered: u64,
    delivered_at: Picos,
    first_at: Picos,
    /// What is sent until so much has arrived is limited by the application.
    limited_until: u64,
    /// Of the ACK under way: the newest segment's stamp and when that was sent.
    newest: Option<(Stamp, Picos)>,
}

impl DeliveryRate {
    /// Bytes that have arrived.
    pub(crate) const fn delivered(&self) -> u64 {
        self.delivered
    }

    /// A segment leaves; nothing else is `out`?
    #[inline]
    pub(crate) const fn on_sent(&mut self, now: Picos, nothing_out: bool) -> Stamp {
        if nothing_out {
            self.first_at = now;
            self.delivered_at = now;
        }
        Stamp {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_at: self.first_at,
            app_limited: self.limited_until > 0,
        }
    }

    /// The application has nothing more to send, with so many bytes in the network.
    pub(crate) fn on_app_limited(&mut self, pipe: u64) {
        self.limited_until = (self.delivered + pipe).max(1);
    }

    /// A segment, sent at `at`, has arrived.
    #[inline]
    pub(crate) fn on_delivered(&mut self, now: Picos, bytes: u64, stamp: Stamp, at: Picos) {
        self.delivered += bytes;
        self.delivered_at = now;
        if self.newest.is_none_or(|(_, newest)| at >= newest) {
            self.newest = Some((stamp, at));
            self.first_at = at;
        }
    }

    /// All of an ACK is taken in. No sample where it took less than the least round trip: that is a
    /// segment which was sent twice.
    pub(crate) fn sample(&mut self, least: Option<Picos>) -> Option<RateSample> {
        if self.delivered > self.limited_until {
            self.limited_until = 0;
        }
        let (stamp, at) = self.newest.take()?;
        let sending = at.saturating_sub(stamp.first_at);
        let arriving = self.delivered_at.saturating_sub(stamp.delivered_at);
        let interval = sending.max(arriving);
        if interval == 0 || least.is_some_and(|least| interval < least) {
            return None;
        }
        let bytes = self.delivered - stamp.delivered;
        Some(RateSample {
            rate: bytes as f64 * delaylab_model::PICOS_PER_SECOND as f64 / interval as f64,
            app_limited: stamp.app_limited,
            prior_delivered: stamp.delivered,
        })
    }
}
