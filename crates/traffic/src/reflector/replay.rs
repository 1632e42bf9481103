//! The anti-replay window: which of the newest 1024 sequence numbers have come (RFC 4303 §3.4.3;
//! in blocks, as RFC 6479 has it, so that moving on never shifts the whole).

/// Numbers remembered behind the newest one.
pub(super) const WINDOW: u32 = 1024;

/// One block more than the window has: the newest is never quite full.
const BLOCKS: usize = WINDOW as usize / 64 + 1;

/// Which sequence numbers have come.
#[derive(Debug, Clone, Default)]
pub(super) struct ReplayWindow {
    /// One above the newest number; 0 before the first.
    next: u64,
    seen: [u64; BLOCKS],
}

impl ReplayWindow {
    /// Takes note of `seq`. False if it has come before or is too old to tell.
    pub fn admit(&mut self, seq: u32) -> bool {
        let seq = u64::from(seq);
        if seq + u64::from(WINDOW) < self.next {
            return false;
        }
        if seq >= self.next {
            self.move_to(seq);
        }
        let block = &mut self.seen[block_of(seq)];
        let bit = 1 << (seq % 64);
        let is_new = *block & bit == 0;
        *block |= bit;
        is_new
    }

    /// Clears the blocks between the newest number and `seq`, which becomes the newest.
    fn move_to(&mut self, seq: u64) {
        let first = if self.next == 0 {
            0
        } else {
            (self.next - 1) / 64 + 1
        };
        let last = seq / 64;
        let first = first.max((last + 1).saturating_sub(BLOCKS as u64));
        for block in first..=last {
            self.seen[(block % BLOCKS as u64) as usize] = 0;
        }
        self.next = seq + 1;
    }
}

const fn block_of(seq: u64) -> usize {
    (seq / 64 % BLOCKS as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_window_has_1024_numbers() {
        let mut window = ReplayWindow::default();
        assert!(window.admit(5000));
        assert!(window.admit(5000 - 1023));
        assert!(!window.admit(5000 - 1023));
        assert!(!window.admit(5000 - 1025));
        assert!(window.admit(u32::MAX));
        assert!(!window.admit(u32::MAX));
        assert!(!window.admit(0));
    }

    proptest! {
        /// Against the plain definition: a set of all that came, and the newest.
        #[test]
        fn the_window_is_the_set_it_stands_for(
            start in 0u32..5000, steps in proptest::collection::vec(-1500i64..1500, 1..400),
        ) {
            let mut window = ReplayWindow::default();
            let mut seen = BTreeSet::new();
            let mut at = i64::from(start);
            for step in steps {
                at = (at + step).max(0);
                let seq = at as u32;
                let newest = seen.last().copied().unwrap_or(0);
                let too_old = seq + WINDOW < newest + u32::from(!seen.is_empty());
                let expected = !too_old && !seen.contains(&seq);
                prop_assert_eq!(window.admit(seq), expected, "seq {} newest {}", seq, newest);
                seen.insert(seq);
            }
        }
    }
}
