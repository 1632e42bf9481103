//! Pieces of a stream, in order and apart from each other.

/// A set of bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// In order.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> {
        self.0.iter().copied()
    }

    /// The piece that has this byte.
    pub(crate) fn around(&self, byte: u64) -> Option<(u64, u64)> {
        let at = self.0.partition_point(|piece| piece.1 <= byte);
        self.0.get(at).copied().filter(|piece| piece.0 <= byte)
    }

    /// The first part of `start..end` that is not in it.
    pub(crate) fn first_gap(&self, start: u64, end: u64) -> Option<(u64, u64)> {
        let start = self.around(start).map_or(start, |piece| piece.1);
        let at = self.0.partition_point(|piece| piece.0 <= start);
        let end = self.0.get(at).map_or(end, |next| next.0.min(end));
        (start < end).then_some((start, end))
    }

    /// Adds `start..end`. False: all of it was there.
    pub(crate) fn insert(&mut self, start: u64, end: u64) -> bool {
        let from = self.0.partition_point(|p| p.1 < start);
        let to = self.0.partition_point(|p| p.0 <= end);
        let touched = &self.0[from..to];
        if touched.iter().any(|p| p.0 <= start && end <= p.1) {
            return false;
        }
        let first = touched.first().map_or(start, |p| p.0.min(start));
        let last = touched.last().map_or(end, |p| p.1.max(end));
        self.0.splice(from..to, [(first, last)]);
        true
    }

    /// Takes out the pieces that begin at or before `next`. Where the last of them ends, if any.
    pub(crate) fn take_until(&mut self, next: u64) -> Option<u64> {
        let reached = self.0.iter().take_while(|p| p.0 <= next).count();
        self.0.drain(..reached).next_back().map(|last| last.1)
    }
}
