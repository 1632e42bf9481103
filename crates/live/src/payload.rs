//! What fills a packet.

use delaylab_model::probe::Fill;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A packet of `length` bytes, filled. The same seed gives the same bytes.
pub fn filled(fill: &Fill, length: usize, seed: u64) -> Vec<u8> {
    let mut packet = vec![0; length];
    match fill {
        Fill::Zeros => {}
        Fill::Random => ChaCha8Rng::seed_from_u64(seed).fill_bytes(&mut packet),
        Fill::Pattern(pattern) => {
            for (byte, pattern) in packet.iter_mut().zip(pattern.iter().cycle()) {
                *byte = *pattern;
            }
        }
    }
    packet
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fills_to_the_last_byte() {
        assert_eq!(filled(&Fill::Zeros, 3, 1), [0, 0, 0]);
        assert_eq!(filled(&Fill::Pattern(vec![1, 2]), 5, 1), [1, 2, 1, 2, 1]);
        assert_eq!(filled(&Fill::Pattern(vec![]), 2, 1), [0, 0]);
        assert_eq!(filled(&Fill::Random, 100, 1), filled(&Fill::Random, 100, 1));
        assert_ne!(filled(&Fill::Random, 100, 1), filled(&Fill::Random, 100, 2));
    }
}
