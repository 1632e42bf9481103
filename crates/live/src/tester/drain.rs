//! How long is waited behind the last frame (RFC 2544 §23 d).
//!
//! What a device holds for longer than the wait is not lost: the wait begins again with each frame that comes.

use delaylab_model::{Nanos, SECOND};

/// Longer than this is waited for nothing: frames that go round in a loop never end.
const LONGEST: Nanos = 60 * SECOND;

/// What is left of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    /// So long, unless another frame comes.
    Time(Nanos),
    /// No frame came for as long as was to be waited.
    Quiet,
    /// Frames came all the time.
    Endless,
}

/// A wait behind the last frame sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Drain {
    /// When the last frame was sent.
    pub(super) sent: Nanos,
    /// For how long no frame may come.
    pub(super) quiet: Nanos,
}

impl Drain {
    /// Now, if a frame last came then.
    pub(super) fn left(&self, now: Nanos, last_frame: Nanos) -> Left {
        let quiet = self.sent.max(last_frame).saturating_add(self.quiet);
        let longest = self.sent.saturating_add(LONGEST.max(self.quiet));
        if now >= quiet {
            Left::Quiet
        } else if now >= longest {
            Left::Endless
        } else {
            Left::Time(quiet.min(longest) - now)
        }
    }
}

impl Left {
    /// Why its trial does not count.
    pub(super) fn flaw(self) -> Option<String> {
        (self == Left::Endless).then(|| {
            format!(
                "frames still came {} s after the last was sent: is there a loop, or does the device hold more than that?",
                LONGEST / SECOND
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_model::MILLISECOND;

    const DRAIN: Drain = Drain {
        sent: 10 * SECOND,
        quiet: 200 * MILLISECOND,
    };

    /// A queue of so long, from which a frame leaves each millisecond.
    fn waited_for(queue: Nanos) -> (Nanos, Left) {
        let mut now = DRAIN.sent;
        loop {
            let last_frame = now.min(DRAIN.sent + queue);
            match DRAIN.left(now, last_frame) {
                Left::Time(left) => now += left.min(MILLISECOND),
                end => return (now - DRAIN.sent, end),
            }
        }
    }

    #[test]
    fn a_queue_is_waited_for_until_it_is_empty() {
        for queue in [
            0,
            100 * MILLISECOND,
            199 * MILLISECOND,
            201 * MILLISECOND,
            5 * SECOND,
        ] {
            assert_eq!(waited_for(queue), (queue + DRAIN.quiet, Left::Quiet));
        }
    }

    #[test]
    fn what_never_ends_is_a_flaw() {
        let (waited, end) = waited_for(3600 * SECOND);
        assert_eq!((waited, end), (LONGEST, Left::Endless));
        assert!(end.flaw().is_some());
        assert_eq!(Left::Quiet.flaw(), None);
    }

    #[test]
    fn a_wait_longer_than_the_longest_is_kept() {
        let drain = Drain {
            quiet: 2 * LONGEST,
            ..DRAIN
        };
        let left = drain.left(drain.sent + LONGEST, 0);
        assert_eq!(left, Left::Time(LONGEST));
    }
}
