//! Which packet a departure stamp is of.
//!
//! The kernel numbers the packets of a socket from 0 (`OPT_ID`). Whether a failed send call has used a number depends
//! on where in the kernel it failed, and on the kernel: until Linux 6.9 ("net-timestamp: make sk_tskey more predictable
//! in error path") also a call that failed while the packet was made kept its number. So behind a failed call the next
//! number is in doubt, and the kernel has to show it:
//!
//! - The queue is read before the next packet is sent. What is new in it is of the packet that failed.
//! - One packet, the trial, is sent. The first stamp that is not of an earlier packet is the trial's, and its number ends
//!   the doubt.
//! - Until then further packets leave without stamps, for which the kernel counts nothing. A trial that is answered or
//!   given up without a stamp is followed by another.
//!
//! The numbers are never restarted: stamps of packets still queued could not be told from new ones.

use super::sequence::widen_near;
use delaylab_model::Nanos;
use std::collections::VecDeque;

/// Runs remembered: stamps of packets before them are long read.
const RUNS: usize = 256;

/// A run of packets whose numbers go in step.
#[derive(Debug, Clone, Copy)]
struct Run {
    id: u64,
    seq: u64,
    packets: u64,
}

/// What is known of the next number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Next {
    /// It is `next_id`.
    #[default]
    Known,
    /// It is `next_id` or up to so much more, and the next packet is the trial.
    AwaitsTrial { more: u64 },
    /// The same, and this packet has it.
    OnTrial { more: u64, seq: u64 },
}

/// The numbers used so far.
#[derive(Debug, Default)]
pub struct StampIds {
    runs: VecDeque<Run>,
    /// All before it have been used.
    next_id: u64,
    next: Next,
    /// No stamp of the trial is earlier, in real time.
    trial_since: Nanos,
}

impl StampIds {
    /// A packet is about to be sent. The clock is read only where its stamps will be held against it.
    #[inline]
    pub fn sending(&mut self, real_time: impl FnOnce() -> Nanos) {
        if let Next::AwaitsTrial { .. } = self.next {
            self.trial_since = real_time();
        }
    }

    /// This packet was sent, and with stamps unless one is on trial.
    #[inline]
    pub fn sent(&mut self, seq: u64) {
        match self.next {
            Next::Known => self.used(seq),
            Next::AwaitsTrial { more } => self.next = Next::OnTrial { more, seq },
            Next::OnTrial { .. } => {}
        }
    }

    /// A send call failed.
    pub fn failed(&mut self) {
        self.next = match self.next {
            Next::Known => Next::AwaitsTrial { more: 1 },
            Next::AwaitsTrial { more } => Next::AwaitsTrial { more: more + 1 },
            // It was to be sent without stamps.
            trial @ Next::OnTrial { .. } => trial,
        };
    }

    /// Packets before this one have been answered or given up, and their stamps read.
    pub fn over(&mut self, before: u64) {
        if let Next::OnTrial { more, seq } = self.next
            && seq < before
        {
            self.next = Next::AwaitsTrial { more: more + 1 };
        }
    }

    /// Are further packets to be sent without stamps?
    #[inline]
    pub fn is_on_trial(&self) -> bool {
        matches!(self.next, Next::OnTrial { .. })
    }

    /// The packet that a stamp of this number is of. `real`: the time of a stamp that the kernel makes on the packet's
    /// way; only such a one shows which number is the trial's, because others may come long behind it.
    #[inline]
    pub fn seq(&mut self, id: u32, real: Option<Nanos>) -> Option<u64> {
        let wide = widen_near(self.next_id, id);
        // Nearest to a number below 0.
        if wide as u32 != id {
            return None;
        }
        if wide < self.next_id {
            let run = self.runs.iter().rev().find(|run| run.id <= wide)?;
            return (wide - run.id < run.packets).then(|| run.seq + (wide - run.id));
        }
        self.shown(wide, real)
    }

    /// A number came that was not known to be used.
    fn shown(&mut self, id: u64, real: Option<Nanos>) -> Option<u64> {
        let ahead = id - self.next_id;
        match self.next {
            Next::OnTrial { more, seq } => {
                if ahead > more || real.is_none_or(|real| real < self.trial_since) {
                    return None;
                }
                self.next_id = id;
                self.next = Next::Known;
                self.used(seq);
                Some(seq)
            }
            Next::AwaitsTrial { more } => {
                self.next_id = id + 1;
                self.next = match more.checked_sub(ahead + 1) {
                    // Every failed call is accounted for.
                    Some(0) => Next::Known,
                    Some(more) => Next::AwaitsTrial { more },
                    None => Next::AwaitsTrial { more: 1 },
                };
                None
            }
            // Something has used numbers without our knowledge.
            Next::Known => {
                self.next_id = id + 1;
                self.failed();
                None
            }
        }
    }

    #[inline]
    fn used(&mut self, seq: u64) {
        match self.runs.back_mut() {
            Some(run) if (run.id + run.packets, run.seq + run.packets) == (self.next_id, seq) => {
                run.packets += 1;
            }
            _ => self.begin_run(seq),
        }
        self.next_id += 1;
    }

    fn begin_run(&mut self, seq: u64) {
        if self.runs.len() == RUNS {
            self.runs.pop_front();
        }
        self.runs.push_back(Run {
            id: self.next_id,
            seq,
            packets: 1,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Sends packet `seq` at real time `seq`.
    fn send(ids: &mut StampIds, seq: u64) {
        ids.sending(|| seq as Nanos);
        ids.sent(seq);
    }

    proptest! {
        /// Whichever failed calls the kernel counts, and whether or not a failed packet is stamped: where each packet's
        /// stamp is read at once, every number finds its packet and nothing else does.
        #[test]
        fn numbers_find_their_packets(calls in proptest::collection::vec((0..4_u8, any::<bool>()), 1..200)) {
            let mut ids = StampIds::default();
            let mut packets = Vec::new();
            let mut next_id = 0;
            for (seq, (call, stamped)) in (0_u64..).zip(calls) {
                let (fails, counts) = (call >= 2, call % 2 == 1);
                if fails {
                    ids.failed();
                    if counts && stamped {
                        prop_assert_eq!(ids.seq(next_id, Some(seq as Nanos)), None);
                    }
                    next_id += u32::from(counts);
                } else {
                    send(&mut ids, seq);
                    prop_assert_eq!(ids.seq(next_id, Some(seq as Nanos)), Some(seq));
                    packets.push((next_id, seq));
                    next_id += 1;
                }
            }
            let found: Vec<_> = (0..next_id).filter_map(|id| Some((id, ids.seq(id, None)?))).collect();
            prop_assert_eq!(found, packets);
            prop_assert_eq!(ids.seq(u32::MAX, None), None);
        }
    }

    #[test]
    fn a_trial_without_a_stamp_is_followed_by_another() {
        let mut ids = StampIds::default();
        send(&mut ids, 0);
        ids.failed();
        send(&mut ids, 2);
        assert!(ids.is_on_trial());
        // A NIC's stamp may come long behind its packet.
        assert_eq!(ids.seq(1, None), None);
        ids.over(2);
        assert!(ids.is_on_trial());
        ids.over(3);
        send(&mut ids, 9);
        // A stamp of the first trial that comes only now.
        assert_eq!(ids.seq(1, Some(2)), None);
        // The call that failed had no number, but the first trial had.
        assert_eq!(ids.seq(2, Some(9)), Some(9));
        assert_eq!(ids.seq(1, Some(2)), None);
        assert_eq!(ids.seq(0, Some(0)), Some(0));
    }

    #[test]
    fn numbers_that_nothing_known_has_used_end_the_trust() {
        let mut ids = StampIds::default();
        send(&mut ids, 0);
        assert_eq!(ids.seq(5, Some(0)), None);
        send(&mut ids, 1);
        assert!(ids.is_on_trial());
        assert_eq!(ids.seq(9, Some(1)), None);
        assert_eq!(ids.seq(6, Some(1)), Some(1));
    }
}
