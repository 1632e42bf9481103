//! When a reply that comes in pieces arrived: its first byte and its last.

use delaylab_kernel::ancillary::Ancillary;
use delaylab_model::Nanos;

/// The stamps of what has come of one reply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ReplyArrival {
    first: Option<Nanos>,
    latest: [Option<Nanos>; 2],
}

impl ReplyArrival {
    /// Another reply comes.
    pub const fn restart(&mut self) {
        *self = Self {
            first: None,
            latest: [None; 2],
        };
    }

    /// The stamps of a read that begins with the reply's first byte, and has no more than one segment of it.
    pub fn began(&mut self, beside: &Ancillary) {
        self.restart();
        self.first = beside.software;
        self.went_on(beside);
    }

    /// The stamps of a read. A segment that overtook a lost one came before the bytes in front of it, so the latest
    /// counts.
    pub fn went_on(&mut self, beside: &Ancillary) {
        let now = [beside.software, beside.hardware];
        self.latest = std::array::from_fn(|of| self.latest[of].max(now[of]));
    }

    /// When its first byte came.
    pub const fn first(&self) -> Option<Nanos> {
        self.first
    }

    /// When the whole of it was there.
    pub const fn whole(&self) -> Option<Nanos> {
        self.latest[0]
    }

    /// The same by the NIC's clock.
    pub const fn whole_hw(&self) -> Option<Nanos> {
        self.latest[1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(software: Nanos) -> Ancillary {
        Ancillary {
            software: Some(software),
            hardware: Some(software + 1_000),
            ..Ancillary::default()
        }
    }

    #[test]
    fn a_reply_is_there_with_the_latest_of_its_segments() {
        let mut arrival = ReplyArrival::default();
        arrival.began(&read(10));
        assert_eq!((arrival.first(), arrival.whole()), (Some(10), Some(10)));
        arrival.went_on(&read(40));
        // Sent once more, it came after those behind it: they overtook it.
        arrival.went_on(&read(30));
        let ended = (arrival.first(), arrival.whole(), arrival.whole_hw());
        assert_eq!(ended, (Some(10), Some(40), Some(1_040)));
        arrival.began(&read(50));
        assert_eq!((arrival.first(), arrival.whole()), (Some(50), Some(50)));
        arrival.restart();
        assert_eq!(arrival, ReplyArrival::default());
    }
}
