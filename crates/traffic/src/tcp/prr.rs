//! Proportional rate reduction (RFC 9937): during recovery the window comes down to the threshold ACK by
//! ACK, and no burst leaves at its end.

/// One recovery.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Prr {
    /// Bytes that were in the network when it began (RecoverFS).
    from: u64,
    delivered: u64,
    out: u64,
}

/// What an ACK says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Progress {
    /// Bytes that are newly known to have arrived.
    pub(crate) delivered: u64,
    /// It acknowledges new data and shows no further loss (SafeACK).
    pub(crate) is_safe: bool,
    /// Bytes in the network.
    pub(crate) pipe: u64,
}

impl Prr {
    /// Recovery begins with so many bytes in the network.
    pub(crate) fn new(from: u64) -> Self {
        Self {
            from: from.max(1),
            ..Self::default()
        }
    }

    /// §6: the window after an ACK.
    pub(crate) fn on_ack(&mut self, ack: Progress, ssthresh: u64, mss: u64) -> Option<u64> {
        if ack.delivered == 0 {
            return None;
        }
        self.delivered += ack.delivered;
        let send = if ack.pipe > ssthresh {
            let due = u128::from(self.delivered) * u128::from(ssthresh);
            let due = due.div_ceil(u128::from(self.from)) as u64;
            due.saturating_sub(self.out)
        } else {
            let grow = self.delivered.saturating_sub(self.out).max(ack.delivered);
            let grow = if ack.is_safe { grow + mss } else { grow };
            grow.min(ssthresh - ack.pipe)
        };
        // The first retransmission leaves at once.
        let send = if self.out == 0 { send.max(mss) } else { send };
        Some(ack.pipe + send)
    }

    /// Something leaves.
    pub(crate) const fn on_sent(&mut self, bytes: u64) {
        self.out += bytes;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const MSS: u64 = 1000;

    fn ack(pipe: u64) -> Progress {
        Progress {
            delivered: MSS,
            is_safe: false,
            pipe,
        }
    }

    #[test]
    fn a_window_of_twenty_comes_down_to_ten_by_every_second_ack() {
        // RFC 6937 §3: one loss, CUBIC's and Reno's halves leave with every second ACK.
        let mut prr = Prr::new(20 * MSS);
        let mut pipe = 18 * MSS;
        let mut sent = 0;
        for _ in 0..18 {
            let cwnd = prr.on_ack(ack(pipe), 10 * MSS, MSS).unwrap();
            while pipe + MSS <= cwnd {
                pipe += MSS;
                sent += 1;
                prr.on_sent(MSS);
            }
            pipe -= MSS;
        }
        assert!((9..=10).contains(&sent), "{sent}");
        assert!((9 * MSS..=10 * MSS).contains(&pipe), "{pipe}");
    }

    #[test]
    fn below_the_threshold_it_grows_back_only_with_safe_acks() {
        let mut prr = Prr::new(20 * MSS);
        assert_eq!(prr.on_ack(ack(2 * MSS), 10 * MSS, MSS), Some(3 * MSS));
        prr.on_sent(MSS);
        assert_eq!(prr.on_ack(ack(2 * MSS), 10 * MSS, MSS), Some(3 * MSS));
        prr.on_sent(MSS);
        let safe = Progress {
            is_safe: true,
            ..ack(2 * MSS)
        };
        assert_eq!(prr.on_ack(safe, 10 * MSS, MSS), Some(4 * MSS));
        assert_eq!(prr.on_ack(ack(10 * MSS), 10 * MSS, MSS), Some(10 * MSS));
        let nothing = Progress {
            delivered: 0,
            ..ack(0)
        };
        assert_eq!(prr.on_ack(nothing, 10 * MSS, MSS), None);
    }
}
