//! What ends the first slow start, and by how much the window grows until then. To add one: a file here, a line in
//! [`SlowStart`].

mod hystart;
mod hystart_plus;

use super::{Acked, Window};
use crate::tcp::settings::Growth;
use delaylab_model::Picos;
use delaylab_model::tcp::HyStart;

/// Slow start, and who watches for its end.
#[derive(Debug, Clone)]
pub(super) struct SlowStart {
    growth: Growth,
    watch: Watch,
    /// Segments leave at a rate.
    pub(super) paced: bool,
}

#[derive(Debug, Clone)]
enum Watch {
    /// Until something is lost.
    None,
    HyStartPlus(hystart_plus::HyStartPlus),
    HyStart(hystart::HyStart),
}

impl SlowStart {
    pub(super) const fn new(growth: Growth, watch: HyStart) -> Self {
        let watch = match watch {
            HyStart::None => Watch::None,
            HyStart::Rfc9406 => Watch::HyStartPlus(hystart_plus::HyStartPlus::new()),
            HyStart::Linux => Watch::HyStart(hystart::HyStart::new()),
        };
        Self {
            growth,
            watch,
            paced: false,
        }
    }

    /// An ACK: the window grows, or the threshold is set to what it is. `smoothed` is the round-trip time.
    pub(super) fn on_ack(&mut self, window: &mut Window, acked: &Acked, smoothed: Picos) {
        // RFC 9406 §4.3: the first slow start alone, where nothing was lost.
        if window.ssthresh < u64::MAX && matches!(self.watch, Watch::HyStartPlus(_)) {
            self.watch = Watch::None;
        }
        let counted = match self.growth {
            Growth::PerAck => window.mss,
            Growth::PerByte => acked.bytes.min(acked.limit * window.mss),
        };
        let bytes = match &mut self.watch {
            Watch::None => Some(counted),
            Watch::HyStartPlus(hystart) => hystart.on_ack(acked, window.mss, self.paced),
            Watch::HyStart(hystart) => {
                let over = hystart.ends(window, acked, smoothed, self.paced);
                (!over).then_some(counted)
            }
        };
        match bytes {
            Some(bytes) => window.add(bytes),
            None => window.ssthresh = window.cwnd,
        }
    }

    /// After a time-out slow start begins again, as does Linux's search for its end.
    pub(super) fn on_timeout(&mut self) {
        if let Watch::HyStart(hystart) = &mut self.watch {
            *hystart = hystart::HyStart::new();
        }
    }
}
