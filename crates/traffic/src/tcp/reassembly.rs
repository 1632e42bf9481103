//! What has come: all below `next`, and pieces beyond it.

use super::ranges::Ranges;

/// Where a segment fell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Placed {
    /// At the end of what was there; nothing is missing.
    InOrder,
    /// At the end, with pieces beyond: it filled a gap or a part of one.
    Filled,
    /// Beyond the end: a gap is before it.
    Beyond,
    /// All of it was there.
    Known,
}

/// What has come in order, and the pieces beyond it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reassembly {
    next: u64,
    pieces: Ranges,
}

impl Reassembly {
    pub(crate) const fn next(&self) -> u64 {
        self.next
    }

    /// Beyond `next`.
    pub(crate) const fn pieces(&self) -> &Ranges {
        &self.pieces
    }

    #[inline]
    pub(crate) fn add(&mut self, start: u64, end: u64) -> Placed {
        if end <= self.next {
            return Placed::Known;
        }
        if start > self.next {
            return match self.pieces.insert(start, end) {
                true => Placed::Beyond,
                false => Placed::Known,
            };
        }
        self.next = end;
        if self.pieces.is_empty() {
            return Placed::InOrder;
        }
        // They are apart, so only the last of them can reach further.
        let reached = self.pieces.take_until(self.next).unwrap_or(0);
        self.next = self.next.max(reached);
        Placed::Filled
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn gaps_are_filled_in_any_order() {
        let mut stream = Reassembly::default();
        assert_eq!(stream.add(0, 10), Placed::InOrder);
        assert_eq!(stream.add(20, 30), Placed::Beyond);
        assert_eq!(stream.add(40, 50), Placed::Beyond);
        assert_eq!(stream.add(20, 25), Placed::Known);
        assert_eq!(stream.add(10, 15), Placed::Filled);
        assert_eq!(stream.next(), 15);
        assert_eq!(stream.add(5, 22), Placed::Filled);
        assert_eq!(stream.next(), 30);
        assert_eq!(stream.add(30, 40), Placed::Filled);
        assert_eq!(stream.next(), 50);
        assert_eq!(stream.add(50, 60), Placed::InOrder);
        assert_eq!(stream.add(50, 60), Placed::Known);
    }

    proptest! {
        #[test]
        fn it_is_a_set_of_bytes(pieces in proptest::collection::vec((0_u64..60, 1_u64..12), 0..60)) {
            let mut stream = Reassembly::default();
            let mut bytes = [false; 80];
            for (start, len) in pieces {
                let known = (start..start + len).all(|b| bytes[b as usize]);
                bytes[start as usize..(start + len) as usize].fill(true);
                let placed = stream.add(start, start + len);
                prop_assert_eq!(placed == Placed::Known, known);
                let next = bytes.iter().position(|b| !b).unwrap_or(bytes.len());
                prop_assert_eq!(stream.next(), next as u64);
            }
        }
    }
}
