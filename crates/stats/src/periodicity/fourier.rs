//! The discrete Fourier transform of a power of two of values (Cooley and Tukey 1965).

use std::f64::consts::TAU;

/// A complex number: real part, imaginary part.
pub(super) type Complex = (f64, f64);

/// Transforms of one length.
#[derive(Debug)]
pub(super) struct Fourier {
    /// e^{2πik/N}, k below N/2.
    roots: Vec<Complex>,
}

impl Fourier {
    /// Of `length` values, a power of two, at least 2.
    pub(super) fn new(length: usize) -> Self {
        let root = |k: usize| {
            let (sin, cos) = (TAU * k as f64 / length as f64).sin_cos();
            (cos, sin)
        };
        Self {
            roots: (0..length / 2).map(root).collect(),
        }
    }

    /// How many values.
    pub(super) fn length(&self) -> usize {
        2 * self.roots.len()
    }

    /// Σ x(t)·e^{2πikt/N} in place of x(k); `values` has the length of the transform.
    pub(super) fn transform(&self, values: &mut [Complex]) {
        let length = self.length();
        let shift = usize::BITS - length.trailing_zeros();
        for index in 0..length {
            let mirrored = index.reverse_bits() >> shift;
            if index < mirrored {
                values.swap(index, mirrored);
            }
        }
        let mut half = 1;
        while half < length {
            let stride = self.roots.len() / half;
            for block in values.chunks_exact_mut(2 * half) {
                let (low, high) = block.split_at_mut(half);
                for ((a, b), &w) in low
                    .iter_mut()
                    .zip(high)
                    .zip(self.roots.iter().step_by(stride))
                {
                    let turned = (b.0 * w.0 - b.1 * w.1, b.0 * w.1 + b.1 * w.0);
                    *b = (a.0 - turned.0, a.1 - turned.1);
                    *a = (a.0 + turned.0, a.1 + turned.1);
                }
            }
            half *= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix;

    #[test]
    fn is_the_sum_of_the_definition() {
        let mut random = SplitMix::new(1);
        for length in [2, 4, 64] {
            let values: Vec<Complex> = (0..length)
                .map(|_| (random.normal(), random.normal()))
                .collect();
            let mut found = values.clone();
            Fourier::new(length).transform(&mut found);
            for (k, found) in found.iter().enumerate() {
                let mut sum = (0.0, 0.0);
                for (t, x) in values.iter().enumerate() {
                    let (sin, cos) = (TAU * (k * t) as f64 / length as f64).sin_cos();
                    sum.0 += x.0 * cos - x.1 * sin;
                    sum.1 += x.0 * sin + x.1 * cos;
                }
                assert!((sum.0 - found.0).abs() + (sum.1 - found.1).abs() < 1e-12);
            }
        }
    }
}
