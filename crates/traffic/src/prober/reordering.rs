//! Reordering by RFC 4737: a packet is reordered if it arrives after one that was sent later (§3.3).

use std::collections::VecDeque;

/// Arrivals remembered for the extent; a longer one is reported as this.
const WINDOW: usize = 4096;

/// The arrivals so far.
#[derive(Debug, Default)]
pub struct Reordering {
    /// One more than the largest number that arrived (NextExp).
    next_expected: u64,
    arrivals: VecDeque<u64>,
}

impl Reordering {
    /// A packet arrived for the first time. Returns its extent (§4.2.1): how many arrivals back the
    /// earliest packet came that was sent after it; 0 is in order.
    #[inline]
    pub fn arrived(&mut self, seq: u64) -> u32 {
        let in_order = seq >= self.next_expected;
        let extent = if in_order { 0 } else { self.extent(seq) };
        self.next_expected = self.next_expected.max(seq + 1);
        if self.arrivals.len() == WINDOW {
            self.arrivals.pop_front();
        }
        self.arrivals.push_back(seq);
        extent
    }

    fn extent(&self, seq: u64) -> u32 {
        let earliest_later = self
            .arrivals
            .iter()
            .position(|&other| other > seq)
            .unwrap_or(0);
        (self.arrivals.len() - earliest_later) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extents(arrivals: &[u64]) -> Vec<u32> {
        let mut reordering = Reordering::default();
        arrivals
            .iter()
            .map(|&seq| reordering.arrived(seq))
            .collect()
    }

    /// The examples of RFC 4737 §7.1 to 7.3 (numbers from 0 here).
    #[test]
    fn examples_of_the_rfc() {
        assert_eq!(
            extents(&[0, 1, 2, 4, 5, 6, 7, 3, 8, 9]),
            [0, 0, 0, 0, 0, 0, 0, 4, 0, 0]
        );
        assert_eq!(extents(&[0, 1, 2, 4, 3]), [0, 0, 0, 0, 1]);
        assert_eq!(extents(&[0, 6, 7, 1, 2, 3]), [0, 0, 0, 2, 3, 4]);
    }

    #[test]
    fn loss_is_not_reordering() {
        assert_eq!(extents(&[0, 2, 5, 9]), [0, 0, 0, 0]);
    }

    #[test]
    fn the_window_is_bounded() {
        let mut reordering = Reordering::default();
        for seq in 1..10 * WINDOW as u64 {
            reordering.arrived(seq);
        }
        assert_eq!(reordering.arrived(0), WINDOW as u32);
        assert_eq!(reordering.arrivals.len(), WINDOW);
    }
}
