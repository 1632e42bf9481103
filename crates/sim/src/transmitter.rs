//! Putting bytes on a line: exact times at any rate.
//!
//! A cell at 155.52 Mbit/s takes 2,726,337.45 ps. The fraction is carried from one cell to the next
//! while they follow each other, so that a busy line does not drift: after n units it is less than one
//! picosecond from the exact time.

use delaylab_model::{PICOS_PER_SECOND, Picos};

/// A line's sending end.
#[derive(Debug, Clone)]
pub struct Transmitter {
    /// Bits a second.
    rate: u64,
    /// Until then it is busy.
    free_at: Picos,
    /// Of a picosecond, in units of 1/rate.
    carry: u64,
    /// How long the last size took: most units are alike, and a division costs more than the rest.
    bytes: u32,
    whole: Picos,
    fraction: u64,
}

impl Transmitter {
    /// Of a line with so many bits a second, which is not zero.
    pub fn new(rate: u64) -> Self {
        Self {
            rate: rate.max(1),
            free_at: 0,
            carry: 0,
            bytes: 0,
            whole: 0,
            fraction: 0,
        }
    }

    /// From when on it can send.
    #[inline]
    pub const fn free_at(&self) -> Picos {
        self.free_at
    }

    /// Sends so many bytes from `start` on, which is not before it is free. When the last bit has left.
    #[inline]
    pub fn send(&mut self, start: Picos, bytes: u32) -> Picos {
        if bytes != self.bytes {
            self.measure(bytes);
        }
        // After a rest nothing is left to carry.
        let carried = if start == self.free_at { self.carry } else { 0 };
        let carry = carried + self.fraction;
        let over = u64::from(carry >= self.rate);
        self.carry = carry - over * self.rate;
        self.free_at = start + self.whole + over;
        self.free_at
    }

    #[cold]
    fn measure(&mut self, bytes: u32) {
        self.bytes = bytes;
        // Of any packet it fits into 64 bits, which the processor divides at once.
        if let Some(scaled) = (u64::from(bytes) * 8).checked_mul(PICOS_PER_SECOND) {
            (self.whole, self.fraction) = (scaled / self.rate, scaled % self.rate);
            return;
        }
        let scaled = u128::from(bytes) * 8 * u128::from(PICOS_PER_SECOND);
        let rate = u128::from(self.rate);
        self.whole = u64::try_from(scaled / rate).unwrap_or(Picos::MAX / 4);
        self.fraction = (scaled % rate) as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_million_cells_of_oc3_do_not_drift() {
        let mut line = Transmitter::new(155_520_000);
        for _ in 0..1_000_000 {
            line.send(line.free_at(), 53);
        }
        let exact = 424 * 1_000_000_000_000_000_000_u128 / 155_520_000;
        assert_eq!(u128::from(line.free_at()), exact);
    }

    #[test]
    fn a_rest_drops_the_fraction() {
        let mut line = Transmitter::new(155_520_000);
        line.send(0, 53);
        let end = line.send(10_000_000, 53);
        assert_eq!(end, 10_000_000 + 2_726_337);
    }

    #[test]
    fn what_64_bits_cannot_hold_is_exact_too() {
        let mut line = Transmitter::new(3_000_000_000);
        line.send(0, 3_000_000_000);
        assert_eq!(line.free_at(), 8 * PICOS_PER_SECOND);
        line.send(line.free_at(), 2_000_000_001);
        let bits = u128::from(8 * 5_000_000_001_u64) * u128::from(PICOS_PER_SECOND);
        assert_eq!(u128::from(line.free_at()), bits / 3_000_000_000);
    }

    proptest! {
        #[test]
        fn back_to_back_is_exact(rate in 1_000_u64..100_000_000_000, sizes in prop::collection::vec(1_u32..10_000, 1..100)) {
            let mut line = Transmitter::new(rate);
            let mut bits = 0_u128;
            for size in sizes {
                line.send(line.free_at(), size);
                bits += u128::from(size) * 8;
            }
            let exact = bits * u128::from(PICOS_PER_SECOND) / u128::from(rate);
            prop_assert_eq!(u128::from(line.free_at()), exact);
        }
    }
}
