//! Random numbers for resampling: the same in every run and on every machine.

/// SplitMix64 (Steele, Lea and Flood 2014): small, fast, the same everywhere.
#[derive(Debug, Clone)]
pub struct SplitMix(u64);

impl SplitMix {
    /// From this seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// All 64 bits.
    #[allow(clippy::should_implement_trait)] // it never ends
    #[inline]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform from 0 to `bound`, which is not among them.
    #[inline]
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }

    /// Random permutation in place (Fisher and Yates 1938).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    /// Uniform between 0 and 1, neither among them.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// Standard normal (Box and Muller 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Student's t; `df` at least 1.
    pub fn student(&mut self, df: usize) -> f64 {
        let normal = self.normal();
        let squares: f64 = (0..df).map(|_| self.normal().powi(2)).sum();
        normal / (squares / df as f64).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reference_values_of_the_authors() {
        let mut random = SplitMix::new(1_234_567);
        assert_eq!(random.next(), 6_457_827_717_110_365_317);
        assert_eq!(random.next(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn students_t_has_its_tails() {
        let mut random = SplitMix::new(1);
        let beyond = (0..20_000).filter(|_| random.student(3).abs() > 3.182_446);
        let share = beyond.count() as f64 / 20_000.0;
        assert!((0.044..0.056).contains(&share), "{share}");
    }
}
