//! RACK (RFC 8985 §6): a segment is lost when one that was sent well after it has arrived.

use super::scoreboard::{Fate, Scoreboard, THRESHOLD};
use delaylab_model::Picos;
use std::collections::VecDeque;

/// Recoveries for which a longer reordering window is kept (§6.2 step 4).
const PERSIST: u32 = 16;

/// A transmission that was not known to have arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arrived {
    pub(crate) at: Picos,
    pub(crate) end: u64,
    /// It was sent more than once.
    pub(crate) again: bool,
}

/// What RACK remembers.
#[derive(Debug, Clone)]
pub(crate) struct Rack {
    /// When the newest segment that has arrived was sent, and where it ends.
    newest: (Picos, u64),
    /// Of what the last ACK told, the round trip of the segment that was sent last; and so far of the ACK under way.
    rtt: Picos,
    rtt_of_ack: Option<Picos>,
    /// The end of the highest segment that has arrived.
    highest: u64,
    reordered: bool,
    /// The reordering window in quarters of the least round trip.
    quarters: u64,
    persists: u32,
    /// Duplicates are not counted again below it: once a round trip.
    round_end: u64,
    /// Transmissions in the order of time: when, and where the segment begins.
    order: VecDeque<(Picos, u64)>,
    /// When the next segment is lost if nothing is heard of it.
    deadline: Option<Picos>,
}

impl Rack {
    pub(crate) const fn new() -> Self {
        Self {
            newest: (0, 0),
            rtt: 0,
            rtt_of_ack: None,
            highest: 0,
            reordered: false,
            quarters: 1,
            persists: PERSIST,
            round_end: 0,
            order: VecDeque::new(),
            deadline: None,
        }
    }

    pub(crate) const fn deadline(&self) -> Option<Picos> {
        self.deadline
    }

    pub(crate) fn on_sent(&mut self, now: Picos, start: u64) {
        self.order.push_back((now, start));
    }

    /// Steps 1 to 3. `echo` is the timestamp that the ACK echoes, where it says something of this
    /// segment; `least` is the least round-trip time.
    pub(crate) fn on_arrived(&mut self, sent: Arrived, now: Picos, least: Picos, echo: Picos) {
        let rtt = now.saturating_sub(sent.at);
        if sent.again {
            // Which of the two has arrived?
            if echo < sent.at || rtt < least {
                return;
            }
        } else if sent.end < self.highest {
            self.reordered = true;
        }
        self.newest = self.newest.max((sent.at, sent.end));
        self.rtt_of_ack = Some(self.rtt_of_ack.map_or(rtt, |newest| newest.min(rtt)));
    }

    /// All that the ACK says has arrived: the highest ends here.
    pub(crate) fn all_arrived(&mut self, highest: u64) {
        self.highest = self.highest.max(highest);
        self.rtt = self.rtt_of_ack.take().unwrap_or(self.rtt);
    }

    /// Step 4: an ACK of what had come before. The window was too short.
    pub(crate) fn on_duplicate(&mut self, una: u64, nxt: u64) {
        if una >= self.round_end {
            self.round_end = nxt;
            self.quarters += 1;
            self.persists = PERSIST;
        }
    }

    /// A recovery is over, after a time-out as well.
    pub(crate) const fn on_recovered(&mut self) {
        self.persists = self.persists.saturating_sub(1);
        if self.persists == 0 {
            self.quarters = 1;
        }
    }

    /// Step 4: how much later a segment may come that was sent before the newest. Where no reordering was
    /// seen, three that have arrived beyond it are enough.
    fn window(&self, board: &Scoreboard, repairing: bool, least: Picos, smoothed: Picos) -> Picos {
        if !self.reordered && (repairing || board.arrived_count() >= THRESHOLD) {
            return 0;
        }
        (least.saturating_mul(self.quarters) / 4).min(smoothed)
    }

    /// Step 5: marks what is lost, and says when to look again.
    pub(crate) fn detect(
        &mut self,
        board: &mut Scoreboard,
        now: Picos,
        repairing: bool,
        [least, smoothed]: [Picos; 2],
    ) {
        self.deadline = None;
        let wait = self.rtt + self.window(board, repairing, least, smoothed);
        while let Some(&(at, start)) = self.order.front() {
            let sent = board.find(start);
            let end = match sent.filter(|sent| sent.at == at && sent.fate == Fate::Out) {
                Some(sent) => sent.end,
                None => {
                    self.order.pop_front();
                    continue;
                }
            };
            if (at, end) >= self.newest {
                return;
            }
            if at + wait > now {
                self.deadline = Some(at + wait);
                return;
            }
            board.lose(start);
            self.order.pop_front();
        }
    }

    /// §6.3, at a time-out: was this sent so long ago that it is lost too?
    pub(crate) fn is_overdue(&self, at: Picos, now: Picos, least: Picos) -> bool {
        at.saturating_add(self.rtt + least / 4) <= now
    }
}

#[cfg(test)]
mod tests;
