//! What became of the packets, in numbers.

use std::collections::BTreeMap;

/// Why a packet gets no reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DropReason {
    /// Its source is not on the allow list.
    NotAllowed,
    /// From a port whose owner might answer the answer.
    SourcePort,
    /// Not made with our key, or without any where one is needed.
    WrongKey,
    /// It has come before, or is too old to tell.
    Replayed,
    /// Of a session that is not, or not from this source, or over.
    UnknownSession,
    /// It would begin a session, and all are taken.
    TooManySessions,
    /// Too short for its session, or for an answer that is no longer than it.
    TooShort,
    /// Larger than the reflector takes.
    TooLong,
    /// Not a request of its format.
    Malformed,
    /// More than its source, or all together, may have answered.
    RateLimited,
    /// It goes round between two hosts that answer each other.
    Loop,
    /// Written before the reflector started, or by a clock that differs too much from ours.
    Stale,
    /// The caller's buffer is shorter than the packet.
    NoRoom,
}

impl DropReason {
    delaylab_model::named! {
        NotAllowed "not_allowed";
        SourcePort "source_port";
        WrongKey "wrong_key";
        Replayed "replayed";
        UnknownSession "unknown_session";
        TooManySessions "too_many_sessions";
        TooShort "too_short";
        TooLong "too_long";
        Malformed "malformed";
        RateLimited "rate_limited";
        Loop "loop";
        Stale "stale";
        NoRoom "no_room";
    }
}

/// What became of the packets so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// udp and tcp sessions under way.
    pub sessions: usize,
    /// STAMP sessions under way.
    pub stamp_sessions: usize,
    /// Packets answered.
    pub replies: u64,
    /// Bytes of payload in them.
    pub reply_bytes: u64,
    /// Packets that came again in sessions without a key, and were answered again.
    pub duplicates: u64,
    /// STAMP packets answered without a count of our own, all sessions being taken.
    pub stateless: u64,
    /// Packets not answered, by [`DropReason::name`]; reasons that never came are left out.
    pub drops: BTreeMap<&'static str, u64>,
}

/// The counts behind [`Status`].
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub replies: u64,
    pub reply_bytes: u64,
    pub duplicates: u64,
    pub stateless: u64,
    drops: [u64; DropReason::ALL.len()],
}

impl Counters {
    pub fn drop(&mut self, reason: DropReason) {
        self.drops[reason as usize] += 1;
    }

    pub fn reply(&mut self, len: usize) {
        self.replies += 1;
        self.reply_bytes += len as u64;
    }

    pub fn drops(&self) -> BTreeMap<&'static str, u64> {
        let all = DropReason::ALL.map(DropReason::name).into_iter();
        all.zip(self.drops)
            .filter(|&(_, count)| count > 0)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_is_counted_under_its_own_name() {
        let mut counters = Counters::default();
        for (index, reason) in DropReason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, index);
            counters.drop(reason);
        }
        assert_eq!(counters.drops().len(), DropReason::ALL.len());
        assert!(counters.drops().values().all(|&count| count == 1));
        assert!(Counters::default().drops().is_empty());
    }
}
