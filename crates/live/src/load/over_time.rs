//! What a stream was, a few times a second, in flat memory.

use super::StreamRun;
use crate::gather::Message;
use delaylab_model::plan::Unit;
use delaylab_model::series::SeriesPoint;
use delaylab_model::{MILLISECOND, Nanos};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

/// From one point to the next.
pub(super) const EVERY: Nanos = 100 * MILLISECOND;

/// Hands a stream's series on.
pub(super) struct OverTime {
    trial: u32,
    of: Arc<str>,
    sender: SyncSender<Message>,
    /// When the stretch under way began.
    since: Nanos,
}

impl OverTime {
    pub(super) fn new(run: &StreamRun, sender: SyncSender<Message>) -> Self {
        Self {
            trial: run.trial,
            of: run.name().into(),
            sender,
            since: 0,
        }
    }

    /// The first stretch begins now.
    pub(super) fn begin(&mut self, now: Nanos) {
        self.since = now;
    }

    /// When the stretch under way is to end.
    pub(super) const fn due(&self) -> Nanos {
        self.since + EVERY
    }

    /// How long the stretch under way is by now.
    pub(super) const fn length(&self, now: Nanos) -> Nanos {
        now - self.since
    }

    /// Ends the stretch of a tcp connection: its window, in bytes, its smoothed round trip, in microseconds, what got
    /// through, in bits a second, and what was sent again. False: nothing takes the series any more.
    pub(super) fn of_tcp(
        &mut self,
        now: Nanos,
        window: f64,
        srtt: u32,
        rate: f64,
        again: u32,
    ) -> bool {
        let values = [
            ("cwnd", Unit::Bytes, window),
            ("srtt", Unit::Nanoseconds, f64::from(srtt) * 1e3),
            ("goodput", Unit::BitsPerSecond, rate),
            ("load_retransmits", Unit::Number, f64::from(again)),
        ];
        self.point(now, &values)
    }

    /// Ends the stretch: what each series was in it. False: nobody listens any more.
    pub(super) fn point(&mut self, now: Nanos, values: &[(&str, Unit, f64)]) -> bool {
        let (t, length) = (self.since, self.length(now));
        self.since = now;
        if length <= 0 {
            return true;
        }
        let point = |&(series, unit, value): &(&str, Unit, f64)| SeriesPoint {
            trial: self.trial,
            series: series.into(),
            of: self.of.clone(),
            unit,
            t,
            length,
            min: value,
            mean: value,
            max: value,
        };
        let points = values.iter().map(point).collect();
        self.sender.send(Message::Series(points)).is_ok()
    }
}

/// So many bytes in so long, in bits a second.
pub(super) fn rate(bytes: u64, length: Nanos) -> f64 {
    bytes as f64 * 8e9 / length.max(1) as f64
}
