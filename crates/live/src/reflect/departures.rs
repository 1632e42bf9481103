//! When replies left: pairs the kernel's departure stamps with the replies that asked for one.
//!
//! Not every stamp comes: a reply may be dropped on its way to the driver. What is awaited is
//! therefore forgotten after a while, so that a lost stamp costs nothing for long.

use crate::clocks::Clocks;
use delaylab_kernel::ancillary::QueuedError;
use delaylab_kernel::clock;
use delaylab_kernel::error_queue::ErrorQueue;
use delaylab_model::trial::StampPoint;
use delaylab_model::{MICROSECOND, MILLISECOND, Nanos, SECOND};
use delaylab_traffic::reflector::ReplyRef;
use std::collections::VecDeque;
use std::os::fd::BorrowedFd;

/// Replies whose stamp is awaited; the oldest is forgotten for one more.
const AWAITED: usize = 1024;
/// A stamp that has not come by then never will.
const KEPT: Nanos = SECOND;
/// The same for a reply behind which a later one has been stamped already.
const KEPT_IF_OVERTAKEN: Nanos = 10 * MILLISECOND;
/// How far a converted stamp may be off.
const CLOCKS_AGREE: Nanos = 10 * MICROSECOND;

/// Replies are stamped one by one, most of them before the send call returns.
const BATCH: usize = 4;

/// A reply and the id that its stamp will have.
#[derive(Debug, Clone, Copy)]
struct Awaited {
    id: u32,
    reply: ReplyRef,
    /// A time before it was sent.
    sent: Nanos,
}

/// Replies under way to the driver.
#[derive(Debug, Default)]
pub struct Departures {
    awaited: Waiting,
    queue: ErrorQueue<BATCH>,
    /// Until then stamps with ids that were given anew may come.
    ambiguous_until: Nanos,
}

impl Departures {
    /// A reply was sent whose stamp will have this id.
    pub fn expect(&mut self, id: u32, reply: ReplyRef, sent: Nanos) {
        self.awaited.push(Awaited { id, reply, sent });
    }

    /// Is any stamp awaited?
    pub fn any_awaited(&self) -> bool {
        !self.awaited.0.is_empty()
    }

    /// May a stamp be asked for now, and be told from those under way?
    pub fn may_ask(&self, now: Nanos) -> bool {
        now >= self.ambiguous_until
    }

    /// The ids begin anew: what is under way now would be taken for what is sent next.
    pub fn restart(&mut self, now: Nanos) {
        if self.any_awaited() {
            self.ambiguous_until = now + KEPT;
        }
        self.awaited.0.clear();
    }

    /// Reads the stamps that have come and tells of each.
    pub fn read(
        &mut self,
        socket: BorrowedFd<'_>,
        clocks: &Clocks,
        mut tell: impl FnMut(ReplyRef, Nanos),
    ) {
        let awaited = &mut self.awaited;
        loop {
            let now = clock::monotonic();
            let more = self.queue.read(socket, 1, |beside, _| {
                let (
                    Some(QueuedError::Stamp {
                        point: StampPoint::TTx,
                        id,
                    }),
                    Some(real),
                ) = (beside.error, beside.software)
                else {
                    return;
                };
                let left = |sent| clocks.to_monotonic(real, sent, now);
                if let Some((reply, left)) = awaited.stamped(id, left, now) {
                    tell(reply, left);
                }
            });
            awaited.forget_sent_before(now - KEPT);
            if !more.unwrap_or(false) {
                return;
            }
        }
    }
}

/// Replies that wait for their stamps, in the order they were sent.
#[derive(Debug, Default)]
struct Waiting(VecDeque<Awaited>);

impl Waiting {
    fn push(&mut self, awaited: Awaited) {
        if self.0.len() == AWAITED {
            self.0.pop_front();
        }
        self.0.push_back(awaited);
    }

    /// The reply whose stamp has this id, and when it left, as `left` tells for a reply sent at its
    /// argument. A stamp from before that is another reply's, of an earlier run of ids.
    fn stamped(
        &mut self,
        id: u32,
        left: impl Fn(Nanos) -> Nanos,
        now: Nanos,
    ) -> Option<(ReplyRef, Nanos)> {
        let at = self.0.iter().position(|awaited| awaited.id == id)?;
        let Awaited { reply, sent, .. } = self.0[at];
        let left = left(sent);
        if left < sent - CLOCKS_AGREE {
            return None;
        }
        self.0.remove(at);
        self.forget_sent_before(sent.min(now - KEPT_IF_OVERTAKEN));
        Some((reply, left))
    }

    fn forget_sent_before(&mut self, time: Nanos) {
        while self.0.front().is_some_and(|oldest| oldest.sent < time) {
            self.0.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::clocks::RealTime;
    use delaylab_traffic::reflector::{
        Access, Arrival, Now, Policy, Port, Reflector, Reply, Verdict,
    };
    use proptest::prelude::*;
    use std::os::fd::AsFd;

    /// A reply that asks for a stamp, as only a reflector makes them.
    fn reply() -> ReplyRef {
        let mut reflector = Reflector::new(Policy::new(Access::Open { allow: vec![] }), [1; 32]);
        let now = Now {
            mono: SECOND,
            real: SECOND,
            clock_steps: 0,
        };
        let arrival = Arrival {
            r_rx: None,
            r_user: SECOND,
            traffic_class: None,
            ttl: None,
            overflowed: 0,
        };
        let from = "127.0.0.1:40000".parse().unwrap();
        let (packet, mut buffer) = ([0; 44], [0; 44]);
        match reflector.datagram(now, from, Port::Stamp, &arrival, &packet, &mut buffer) {
            Verdict::Reply(Reply {
                stamp: Some(stamp), ..
            }) => stamp,
            other => panic!("{other:?}"),
        }
    }

    fn sent_at(times: &[Nanos]) -> Waiting {
        let reply = reply();
        let mut waiting = Waiting::default();
        for (id, &sent) in times.iter().enumerate() {
            let id = id as u32;
            waiting.push(Awaited { id, reply, sent });
        }
        waiting
    }

    fn ids(waiting: &Waiting) -> Vec<u32> {
        waiting.0.iter().map(|awaited| awaited.id).collect()
    }

    #[test]
    fn a_later_stamp_ends_the_wait_for_old_replies_before_it() {
        let ms = |n: Nanos| SECOND + n * MILLISECOND;
        let mut waiting = sent_at(&[ms(0), ms(1), ms(15), ms(20), ms(21)]);
        let left = waiting.stamped(3, |sent| sent + 5, ms(21));
        assert_eq!(left, Some((reply(), ms(20) + 5)));
        assert_eq!(ids(&waiting), [2, 4]);
    }

    #[test]
    fn a_stamp_from_before_a_reply_was_sent_is_not_its_own() {
        let mut waiting = sent_at(&[SECOND]);
        let early = SECOND - MILLISECOND;
        assert_eq!(waiting.stamped(0, |_| early, 2 * SECOND), None);
        assert_eq!(ids(&waiting), [0]);
        assert!(waiting.stamped(0, |_| SECOND + 9, 2 * SECOND).is_some());
    }

    #[test]
    fn ids_given_anew_wait_for_the_old_ones() {
        let mut departures = Departures::default();
        departures.restart(SECOND);
        assert!(departures.may_ask(SECOND));
        departures.expect(0, reply(), SECOND);
        departures.restart(SECOND);
        assert!(!departures.any_awaited() && !departures.may_ask(2 * SECOND - 1));
        assert!(departures.may_ask(2 * SECOND));
    }

    #[test]
    fn a_stamp_that_never_comes_is_not_awaited_for_ever() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let now = clock::monotonic();
        let mut departures = Departures::default();
        departures.expect(0, reply(), now - 2 * KEPT);
        departures.expect(1, reply(), now + 3600 * SECOND);
        departures.read(
            socket.as_fd(),
            &Clocks::new(RealTime::of_kernel()),
            |_, _| panic!("no stamp"),
        );
        assert_eq!(ids(&departures.awaited), [1]);
    }

    proptest! {
        #[test]
        fn what_waits_is_bounded_and_in_order(gaps in proptest::collection::vec(0..SECOND, 0..3000)) {
            let times: Vec<_> = gaps
                .iter()
                .scan(0, |at, gap| {
                    *at += gap;
                    Some(*at)
                })
                .collect();
            let waiting = sent_at(&times);
            prop_assert_eq!(waiting.0.len(), times.len().min(AWAITED));
            prop_assert!(waiting.0.iter().is_sorted_by_key(|awaited| awaited.sent));
        }
    }
}
