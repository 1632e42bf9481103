//! Which request a stamp is of: the kernel numbers them by the offset of a send call's last byte.

use crate::prober::channel::QueueEvent;
use crate::prober::datagram::{for_each_stamp, stamp_of_byte};
use delaylab_kernel::error_queue::ErrorQueue;
use std::os::fd::BorrowedFd;

/// Requests of which stamps may still come.
const STAMPED: usize = 4;
/// Of each: entering the queueing discipline, handed to the driver, acknowledged.
const STAMPS: u32 = 3;

type Ends = [Option<(u32, u64)>; STAMPED];

/// The requests of one connection.
#[derive(Debug, Default)]
pub(super) struct RequestStamps {
    /// Bytes sent since stamps are asked for, as the kernel counts them.
    sent: u32,
    /// The last bytes of requests, and whose they are.
    ends: Ends,
    /// Stamps that have not come.
    due: u32,
    /// The error queue has something.
    pub waiting: bool,
}

impl RequestStamps {
    /// Request `seq` of so many bytes is about to be sent.
    pub fn asking(&mut self, seq: u64, length: usize) {
        let end = self.sent.wrapping_add(length as u32).wrapping_sub(1);
        self.ends.rotate_right(1);
        self.ends[0] = Some((end, seq));
        self.due += STAMPS;
    }

    /// So many bytes have been sent.
    pub const fn sent(&mut self, bytes: usize) {
        self.sent = self.sent.wrapping_add(bytes as u32);
    }

    /// Stamps count bytes from here on, `before` of which are sent already.
    pub fn restart(&mut self, before: u32) {
        *self = Self {
            sent: before,
            ..Self::default()
        };
    }

    /// Reads what the error queue has. `true`: there may be more.
    pub fn read(
        &mut self,
        socket: BorrowedFd<'_>,
        queue: &mut ErrorQueue,
        take: &mut dyn FnMut(QueueEvent),
    ) -> bool {
        if self.due == 0 && !self.waiting {
            return false;
        }
        self.waiting = false;
        let (ends, due) = (self.ends, &mut self.due);
        let read = queue.read(socket, STAMPED * STAMPS as usize, |beside, _| {
            let Some((point, id)) = stamp_of_byte(beside) else {
                return;
            };
            if let Some(seq) = whose(&ends, id) {
                *due = due.saturating_sub(1);
                for_each_stamp(beside, point, |point, at| {
                    take(QueueEvent::Stamp { seq, point, at });
                });
            }
        });
        // A connection that was reset says so first, and has no more stamps.
        read.unwrap_or(false)
    }
}

/// The request whose last byte has this number.
fn whose(ends: &Ends, id: u32) -> Option<u64> {
    let mut ends = ends.iter().flatten();
    ends.find(|(end, _)| *end == id).map(|(_, seq)| *seq)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kernels before 6.2 count what TLS has sent and the server not acknowledged.
    #[test]
    fn requests_are_found_behind_bytes_that_are_counted_too() {
        let mut stamps = RequestStamps::default();
        stamps.restart(64);
        for seq in [7, 8] {
            stamps.asking(seq, 100);
            stamps.sent(100);
        }
        let whose = [163, 263, 99].map(|id| whose(&stamps.ends, id));
        assert_eq!(whose, [Some(7), Some(8), None]);
    }
}
