//! The anti-replay window: which of the newest sequence numbers have come (RFC 4303 §3.4.3;
//! in blocks, as RFC 6479 has it, so that moving on never shifts the whole).

/// Which of the newest 1024 have come: what sessions need, of which there are many.
pub(crate) type ReplayWindow = SequenceWindow<17>;

/// Which of the newest 16,384 have come: a tenth of a second at the highest rates.
pub(crate) type LongWindow = SequenceWindow<257>;

/// Which sequence numbers have come. The window has 64 numbers for each block but one: the newest block is never quite
/// full.
#[derive(Debug, Clone)]
pub(crate) struct SequenceWindow<const BLOCKS: usize> {
    /// One above the newest number; 0 before the first.
    next: u64,
    seen: [u64; BLOCKS],
}

impl<const BLOCKS: usize> Default for SequenceWindow<BLOCKS> {
    fn default() -> Self {
        Self {
            next: 0,
            seen: [0; BLOCKS],
        }
    }
}

impl<const BLOCKS: usize> SequenceWindow<BLOCKS> {
    /// Numbers remembered behind the newest one.
    const WINDOW: u64 = (BLOCKS as u64 - 1) * 64;

    /// The whole number of which a packet carries the low 32 bits: the one nearest to the newest. What would be before
    /// the first of all is ahead.
    pub fn widen(&self, seq: u32) -> u64 {
        let back = (self.next as u32).wrapping_sub(seq);
        let ahead = seq.wrapping_sub(self.next as u32);
        match self.next.checked_sub(back.into()) {
            Some(behind) if back <= ahead => behind,
            _ => self.next + u64::from(ahead),
        }
    }

    /// Takes note of `seq`. False if it has come before or is too old to tell.
    pub fn admit(&mut self, seq: u64) -> bool {
        self.note(seq) == Some(false)
    }

    /// Takes note of `seq`. Has it come before? `None`: it is too old to tell.
    pub fn note(&mut self, seq: u64) -> Option<bool> {
        if seq < self.next.saturating_sub(Self::WINDOW) {
            return None;
        }
        if seq >= self.next {
            self.move_to(seq);
        }
        let block = &mut self.seen[Self::block_of(seq)];
        let bit = 1 << (seq % 64);
        let came_before = *block & bit != 0;
        *block |= bit;
        Some(came_before)
    }

    /// Has a higher number come?
    pub const fn is_behind(&self, seq: u64) -> bool {
        seq.saturating_add(1) < self.next
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
        self.next = seq.saturating_add(1);
    }

    const fn block_of(seq: u64) -> usize {
        (seq / 64 % BLOCKS as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    const WINDOW: u32 = ReplayWindow::WINDOW as u32;

    #[test]
    fn the_window_has_1024_numbers() {
        let mut window = ReplayWindow::default();
        assert!(window.admit(5000));
        assert!(window.admit(5000 - 1023));
        assert!(!window.admit(5000 - 1023));
        assert!(!window.admit(5000 - 1025));
        assert!(window.admit(u64::from(u32::MAX)));
        assert!(!window.admit(u64::from(u32::MAX)));
        assert_eq!(window.note(0), None);
        // Whatever comes from outside.
        assert!(window.admit(u64::MAX) && !window.admit(u64::MAX));
        assert!(window.is_behind(5) && !window.is_behind(u64::MAX));
    }

    #[test]
    fn the_number_goes_on_where_32_bits_end() {
        let mut window = ReplayWindow::default();
        assert_eq!(window.widen(u32::MAX), u64::from(u32::MAX));
        assert!(window.admit(u64::from(u32::MAX) - 1));
        let turn = 1_u64 << 32;
        for (seq, whole) in [(0, turn), (u32::MAX, turn - 1), (1, turn + 1)] {
            assert_eq!(window.widen(seq), whole);
            assert!(window.admit(whole) && !window.admit(whole));
        }
        assert_eq!(window.widen(5000), turn + 5000);
        assert!(!window.admit(5));
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
                prop_assert_eq!(window.widen(seq), u64::from(seq));
                prop_assert_eq!(window.admit(seq.into()), expected, "seq {} newest {}", seq, newest);
                seen.insert(seq);
            }
        }
    }
}
