//! Which delay tables and figures show: one of them in all of a run.

use super::Ways;
use delaylab_model::Nanos;
use delaylab_model::record::Record;
use delaylab_stats::summary::{Distribution, Summary};

/// The delays that tables and figures show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShownDelay {
    /// From when a packet was due until its reply was read.
    Response,
    /// From when it was sent; of frames, until they arrived.
    RoundTrip,
}

impl ShownDelay {
    /// Of packets that go there and back the response: where that is nothing but the round trip, the two are the same. Frames have
    /// one delay, which is not to stand beside responses of others.
    pub const fn of(ways: Ways) -> Self {
        match ways {
            Ways::RoundTrip => ShownDelay::Response,
            Ways::OneWay | Ways::Both => ShownDelay::RoundTrip,
        }
    }

    /// What a table's head and an axis call it.
    pub const fn name(self, ways: Ways) -> &'static str {
        match (self, ways) {
            (ShownDelay::Response, _) => "response",
            (ShownDelay::RoundTrip, Ways::RoundTrip) => "round trip",
            (ShownDelay::RoundTrip, _) => "delay",
        }
    }

    /// Several of them, in a sentence.
    pub const fn plural(self) -> &'static str {
        match self {
            ShownDelay::Response => "responses",
            ShownDelay::RoundTrip => "round trips",
        }
    }

    /// That of this record, where it was answered.
    pub fn of_record(self, record: &Record) -> Option<Nanos> {
        let delay = match self {
            ShownDelay::Response => record.response(),
            ShownDelay::RoundTrip => record.round_trip(),
        };
        delay.filter(|_| record.answered())
    }

    /// Its distribution.
    pub const fn distribution(self, summary: &Summary) -> Option<&Distribution> {
        match self {
            ShownDelay::Response => summary.response.as_ref(),
            ShownDelay::RoundTrip => summary.round_trip.as_ref(),
        }
    }

    pub(super) const fn other(self) -> Self {
        match self {
            ShownDelay::Response => ShownDelay::RoundTrip,
            ShownDelay::RoundTrip => ShownDelay::Response,
        }
    }
}
