//! Random numbers for tests, the same in every run.

/// Independent standard normal values (Box and Muller 1958).
pub(crate) struct Gaussian {
    state: u64,
}

impl Gaussian {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
        }
    }

    /// Uniform in (0, 1), by xorshift64* (Vigna 2016).
    pub(crate) fn uniform(&mut self) -> f64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        let bits = self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11;
        (bits as f64 + 0.5) / (1_u64 << 53) as f64
    }

    pub(crate) fn next(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// An AR(1) of mean 0 and standard deviation 1.
pub(crate) fn ar1(phi: f64, count: usize, seed: u64) -> Vec<f64> {
    let mut noise = Gaussian::new(seed);
    let mut x = noise.next();
    let innovation = (1.0 - phi * phi).sqrt();
    (0..count)
        .map(|_| {
            x = phi * x + innovation * noise.next();
            x
        })
        .collect()
}
