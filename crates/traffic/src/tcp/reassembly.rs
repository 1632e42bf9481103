//! What has come: all below `next`, and pieces beyond it.

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

/// The pieces, in order, apart from each other.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reassembly {
    next: u64,
    pieces: Vec<(u64, u64)>,
}

impl Reassembly {
    pub(crate) const fn next(&self) -> u64 {
        self.next
    }

    #[inline]
    pub(crate) fn add(&mut self, start: u64, end: u64) -> Placed {
        if end <= self.next {
            Placed::Known
        } else if start > self.next {
            self.insert(start, end)
        } else {
            self.next = end;
            self.absorb()
        }
    }

    /// Takes in the pieces that have become part of the stream.
    fn absorb(&mut self) -> Placed {
        if self.pieces.is_empty() {
            return Placed::InOrder;
        }
        let reached = self.pieces.iter().take_while(|p| p.0 <= self.next).count();
        // They are apart, so only the last of them can reach further.
        if let Some(last) = self.pieces.drain(..reached).next_back() {
            self.next = self.next.max(last.1);
        }
        Placed::Filled
    }

    fn insert(&mut self, start: u64, end: u64) -> Placed {
        let from = self.pieces.partition_point(|p| p.1 < start);
        let to = self.pieces.partition_point(|p| p.0 <= end);
        let touched = &self.pieces[from..to];
        if touched.iter().any(|p| p.0 <= start && end <= p.1) {
            return Placed::Known;
        }
        let first = touched.first().map_or(start, |p| p.0.min(start));
        let last = touched.last().map_or(end, |p| p.1.max(end));
        self.pieces.splice(from..to, [(first, last)]);
        Placed::Beyond
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
