//! Exponential gaps (RFC 2330 §11.1.1): the samples see the path as it is on average.

use delaylab_model::Nanos;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// The next arrival and the numbers for those after it.
#[derive(Debug, Clone)]
pub struct Poisson {
    next: Nanos,
    mean: Nanos,
    random: Box<ChaCha8Rng>,
}

impl Poisson {
    /// The first packet is due one gap after `start`; equal seeds give equal schedules.
    pub fn new(start: Nanos, mean: Nanos, seed: u64) -> Self {
        let mut schedule = Self {
            next: start,
            mean,
            random: Box::new(ChaCha8Rng::seed_from_u64(seed)),
        };
        schedule.advance();
        schedule
    }

    /// The next arrival.
    pub const fn due(&self) -> Nanos {
        self.next
    }

    /// On to the one after it.
    pub fn advance(&mut self) {
        // 53 random bits, uniform in (0, 1]: the logarithm is finite.
        let uniform = ((self.random.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        let gap = -uniform.ln() * self.mean as f64;
        self.next = self.next.saturating_add(gap.round() as Nanos);
    }
}
