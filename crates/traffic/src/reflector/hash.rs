//! A fast hash for short keys, seeded so that nobody outside can choose keys that collide.

use std::hash::{BuildHasher, Hasher};

/// Begins each hash with the same secret number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seed(pub u64);

/// Takes in eight bytes at a time.
pub(super) struct Fold(u64);

/// An odd number without pattern: the fraction of the golden ratio.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// Both halves of a 128-bit product, one upon the other: every bit of the result hangs on many.
fn fold(word: u64) -> u64 {
    let product = u128::from(word) * u128::from(FACTOR);
    (product as u64) ^ (product >> 64) as u64
}

impl BuildHasher for Seed {
    type Hasher = Fold;

    fn build_hasher(&self) -> Fold {
        Fold(self.0)
    }
}

impl Hasher for Fold {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = fold(self.0 ^ word);
    }

    fn write_u16(&mut self, word: u16) {
        self.write_u64(u64::from(word));
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    fn write_u128(&mut self, word: u128) {
        self.write_u64(word as u64);
        self.write_u64((word >> 64) as u64);
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn write_isize(&mut self, word: isize) {
        self.write_u64(word as u64);
    }

    fn finish(&self) -> u64 {
        fold(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_keys_spread() {
        let mut buckets = [0; 64];
        for key in 0..64_000u128 {
            let hash = Seed(7).hash_one(key << 80);
            buckets[(hash % 64) as usize] += 1;
            assert_ne!(hash, Seed(8).hash_one(key << 80));
        }
        assert!(buckets.iter().all(|&count| (700..1300).contains(&count)));
    }
}
