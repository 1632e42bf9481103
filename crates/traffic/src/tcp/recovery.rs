//! What duplicate ACKs mean: fast retransmit and fast recovery (RFC 5681 §3.2), and NewReno's answer
//! to partial ACKs (RFC 6582).

use super::congestion::Window;

/// Duplicate ACKs that are taken for a loss.
const THRESHOLD: u32 = 3;

/// What the sender is to do after a duplicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnDuplicate {
    /// Wait for more.
    Wait,
    /// The first segment is lost: cut the window and send it again.
    Lost,
    /// In recovery: a segment has left the network.
    Inflate,
}

/// What the sender is to do after an ACK of new data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnNew {
    /// Not in recovery.
    Open,
    /// Recovery is over.
    Done,
    /// The next hole is lost too. `first`: no partial ACK came before it.
    Partial { first: bool },
}

/// Counts duplicates, knows when recovery ends.
#[derive(Debug, Clone)]
pub(crate) struct Recovery {
    /// NewReno's rules hold.
    careful: bool,
    duplicates: u32,
    active: bool,
    partial: bool,
    /// NewReno: what was outstanding when a loss was last taken up, until that is over.
    recover: Option<u64>,
}

impl Recovery {
    pub(crate) const fn new(careful: bool) -> Self {
        Self {
            careful,
            duplicates: 0,
            active: false,
            partial: false,
            recover: None,
        }
    }

    /// Segments that left the network and are not reflected in the window (RFC 3042).
    pub(crate) const fn limited_transmit(&self) -> u32 {
        if self.active || self.duplicates >= THRESHOLD {
            0
        } else {
            self.duplicates
        }
    }

    /// `next` is acknowledged once more; `sent` is out.
    pub(crate) fn on_duplicate(&mut self, next: u64, sent: u64) -> OnDuplicate {
        self.duplicates += 1;
        if self.active {
            return OnDuplicate::Inflate;
        }
        // RFC 6582 §4.1: after a time-out, duplicates of what was sent again needlessly are no loss.
        // 1995 did not look.
        let needless = self.careful && self.recover.is_some_and(|recover| next <= recover);
        if self.duplicates != THRESHOLD || needless {
            return OnDuplicate::Wait;
        }
        self.active = true;
        self.partial = false;
        self.recover = Some(sent);
        OnDuplicate::Lost
    }

    /// Everything below `next` is acknowledged.
    pub(crate) fn on_new(&mut self, next: u64) -> OnNew {
        if !self.active {
            self.duplicates = 0;
            self.recover = self.recover.filter(|&recover| next <= recover);
            return OnNew::Open;
        }
        if self.careful && self.recover.is_some_and(|recover| next < recover) {
            let first = !self.partial;
            self.partial = true;
            return OnNew::Partial { first };
        }
        self.duplicates = 0;
        self.active = false;
        self.recover = None;
        OnNew::Done
    }

    /// Is a loss, or a time-out, still being made good? The window has been cut for it: a time-out
    /// meanwhile leaves the threshold alone, for what is outstanding has grown with the duplicates
    /// (RFC 5681 §3.1, RFC 6582 §3.2). 1995 did not look.
    pub(crate) fn is_repairing(&self, next: u64) -> bool {
        self.careful && self.recover.is_some_and(|recover| next < recover)
    }

    /// Is what a time-out gave up still being sent again?
    pub(crate) fn is_after_time_out(&self, next: u64) -> bool {
        !self.active && self.recover.is_some_and(|recover| next < recover)
    }

    /// All that is out, up to `sent`, is sent again.
    pub(crate) fn on_timeout(&mut self, sent: u64) {
        self.duplicates = 0;
        self.active = false;
        self.recover = Some(sent);
    }
}

impl Window {
    /// RFC 5681 §3.2 step 3: the three duplicates have left the network.
    pub(crate) const fn enter_recovery(&mut self) {
        self.cwnd = self.ssthresh.saturating_add(THRESHOLD as u64 * self.mss);
    }

    /// Step 4.
    pub(crate) const fn inflate(&mut self) {
        self.cwnd = self.cwnd.saturating_add(self.mss);
    }

    /// RFC 6582 §3.2 step 3, partial: what was acknowledged has left, the retransmission is out.
    pub(crate) const fn deflate(&mut self, acked: u64) {
        self.cwnd = self.cwnd.saturating_sub(acked);
        if acked >= self.mss || self.cwnd < self.mss {
            self.inflate();
        }
    }

    /// RFC 5681 §3.2 step 6; with NewReno not more than lets two segments out at once (RFC 6582 §3.2
    /// step 3, full, option 1).
    pub(crate) fn leave_recovery(&mut self, careful: bool, flight: u64) {
        let calm = flight.max(self.mss) + self.mss;
        self.cwnd = if careful {
            self.ssthresh.min(calm)
        } else {
            self.ssthresh
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after_three(recovery: &mut Recovery, next: u64, sent: u64) -> OnDuplicate {
        recovery.on_duplicate(next, sent);
        recovery.on_duplicate(next, sent);
        recovery.on_duplicate(next, sent)
    }

    #[test]
    fn the_third_duplicate_is_a_loss_and_later_ones_inflate() {
        let mut recovery = Recovery::new(false);
        assert_eq!(after_three(&mut recovery, 0, 8000), OnDuplicate::Lost);
        assert_eq!(recovery.on_duplicate(0, 8000), OnDuplicate::Inflate);
        // Reno: any new ACK ends it.
        assert_eq!(recovery.on_new(2000), OnNew::Done);
        assert_eq!(recovery.on_new(3000), OnNew::Open);
    }

    #[test]
    fn newreno_stays_until_all_is_acknowledged() {
        let mut recovery = Recovery::new(true);
        assert_eq!(after_three(&mut recovery, 0, 8000), OnDuplicate::Lost);
        assert_eq!(recovery.on_new(2000), OnNew::Partial { first: true });
        assert_eq!(recovery.on_new(4000), OnNew::Partial { first: false });
        assert_eq!(recovery.on_new(8000), OnNew::Done);
        assert_eq!(after_three(&mut recovery, 8000, 9000), OnDuplicate::Lost);
    }

    #[test]
    fn duplicates_of_a_needless_retransmission_are_no_loss() {
        let mut newreno = Recovery::new(true);
        newreno.on_timeout(8000);
        assert_eq!(newreno.on_new(8000), OnNew::Open);
        assert_eq!(after_three(&mut newreno, 8000, 9000), OnDuplicate::Wait);
        assert_eq!(newreno.on_new(8001), OnNew::Open);
        assert_eq!(after_three(&mut newreno, 8001, 9000), OnDuplicate::Lost);
        let mut reno = Recovery::new(false);
        reno.on_timeout(8000);
        assert_eq!(after_three(&mut reno, 8000, 9000), OnDuplicate::Lost);
    }

    #[test]
    fn a_loss_is_made_good_until_all_that_was_out_is_acknowledged() {
        let mut newreno = Recovery::new(true);
        assert!(!newreno.is_repairing(0));
        after_three(&mut newreno, 0, 8000);
        assert!(newreno.is_repairing(0) && !newreno.is_after_time_out(0));
        newreno.on_timeout(9000);
        newreno.on_new(8000);
        assert!(newreno.is_repairing(8000) && newreno.is_after_time_out(8000));
        newreno.on_new(9000);
        assert!(!newreno.is_repairing(9000) && !newreno.is_after_time_out(9000));
        // 1995 cut again.
        let mut reno = Recovery::new(false);
        after_three(&mut reno, 0, 8000);
        assert!(!reno.is_repairing(0));
    }

    #[test]
    fn windows_in_recovery_by_the_rfcs() {
        let mut window = Window {
            cwnd: 10_000,
            ssthresh: 5000,
            mss: 1000,
            largest: 100_000,
        };
        window.enter_recovery();
        assert_eq!(window.cwnd, 8000);
        window.inflate();
        assert_eq!(window.cwnd, 9000);
        window.deflate(3000);
        assert_eq!(window.cwnd, 7000);
        window.deflate(500);
        assert_eq!(window.cwnd, 6500);
        window.leave_recovery(true, 2000);
        assert_eq!(window.cwnd, 3000);
        window.leave_recovery(false, 2000);
        assert_eq!(window.cwnd, 5000);
    }
}
