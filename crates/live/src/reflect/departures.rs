//! When replies left: pairs the kernel's departure stamps with the replies that asked for one.

use crate::clocks::Clocks;
use delaylab_kernel::ancillary::QueuedError;
use delaylab_kernel::clock;
use delaylab_kernel::error_queue::ErrorQueue;
use delaylab_model::Nanos;
use delaylab_model::trial::StampPoint;
use delaylab_traffic::reflector::ReplyRef;
use std::collections::VecDeque;
use std::os::fd::BorrowedFd;

/// Replies whose stamp is awaited; the oldest is forgotten for one more.
const AWAITED: usize = 1024;

/// Replies are stamped one by one, most of them before the send call returns.
const BATCH: usize = 4;

/// A reply and the id that its stamp will have.
#[derive(Debug, Clone, Copy)]
struct Awaited {
    id: u32,
    reply: ReplyRef,
    sent: Nanos,
}

/// Replies under way to the driver.
#[derive(Debug, Default)]
pub struct Departures {
    awaited: VecDeque<Awaited>,
    queue: ErrorQueue<BATCH>,
}

impl Departures {
    /// A reply was sent whose stamp will have this id.
    pub fn expect(&mut self, id: u32, reply: ReplyRef, sent: Nanos) {
        if self.awaited.len() == AWAITED {
            self.awaited.pop_front();
        }
        self.awaited.push_back(Awaited { id, reply, sent });
    }

    /// Is any stamp awaited?
    pub fn any_awaited(&self) -> bool {
        !self.awaited.is_empty()
    }

    /// The ids begin anew: stamps under way can no longer be told apart.
    pub fn forget(&mut self) {
        self.awaited.clear();
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
            let more = self.queue.read(socket, |beside, _| {
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
                let Some(at) = awaited.iter().position(|awaited| awaited.id == id) else {
                    return;
                };
                if let Some(found) = awaited.remove(at) {
                    tell(found.reply, clocks.to_monotonic(real, found.sent, now));
                }
            });
            if !more.unwrap_or(false) {
                return;
            }
        }
    }
}
