//! Double-double numbers: the unevaluated sum of two floats, about 31 decimal digits.
//!
//! Dekker 1971 and Knuth (The Art of Computer Programming, volume 2, 4.2.2) show how to catch the
//! rounding error of a sum or a product in a float of its own; Hida, Li and Bailey 2001 build the
//! arithmetic of pairs on that. A fused multiply-add gives the error of a product in one step.
//!
//! The range is that of a float. Below 1e-290 the error of a product is itself rounded, so
//! whoever multiplies scales first, by a power of two.

use std::cmp::Ordering;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

/// A float and what rounding it has left over: at most half a unit in its last place.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DoubleDouble {
    high: f64,
    low: f64,
}

/// The float next to a + b, and how far it is from it (Knuth).
fn two_sum(a: f64, b: f64) -> DoubleDouble {
    let high = a + b;
    let of_b = high - a;
    let low = (a - (high - of_b)) + (b - of_b);
    DoubleDouble { high, low }
}

/// The same where |a| ≥ |b| (Dekker).
fn quick_two_sum(a: f64, b: f64) -> DoubleDouble {
    let high = a + b;
    let low = b - (high - a);
    DoubleDouble { high, low }
}

/// The float next to a · b, and how far it is from it.
fn two_product(a: f64, b: f64) -> DoubleDouble {
    let high = a * b;
    let low = a.mul_add(b, -high);
    DoubleDouble { high, low }
}

impl DoubleDouble {
    /// 0.
    pub const ZERO: Self = Self::exact(0.0);
    /// 1.
    pub const ONE: Self = Self::exact(1.0);

    const fn exact(value: f64) -> Self {
        Self {
            high: value,
            low: 0.0,
        }
    }

    /// The float next to it.
    pub const fn to_f64(self) -> f64 {
        self.high
    }

    /// Neither infinite nor not a number.
    pub const fn is_finite(self) -> bool {
        self.high.is_finite() && self.low.is_finite()
    }

    /// Without its sign.
    pub fn abs(self) -> Self {
        if self.high < 0.0 { -self } else { self }
    }

    /// Its square.
    pub fn squared(self) -> Self {
        self * self
    }

    /// To a whole power, by squaring. Anything to the power 0 is 1.
    pub fn power(self, exponent: u32) -> Self {
        match exponent {
            0 => Self::ONE,
            1 => self,
            _ => {
                let half = self.power(exponent / 2).squared();
                if exponent.is_multiple_of(2) {
                    half
                } else {
                    half * self
                }
            }
        }
    }

    /// Square root, by one step of Newton from the float's (Karp and Markstein 1997). Not a number
    /// for what is negative.
    pub fn sqrt(self) -> Self {
        if self.high == 0.0 {
            return Self::ZERO;
        }
        let inverse = 1.0 / self.high.sqrt();
        let near = self.high * inverse;
        let rest = self - two_product(near, near);
        quick_two_sum(near, rest.high * inverse * 0.5)
    }

    /// Times a power of two: exact, as long as it stays in range.
    pub fn scaled(self, power_of_two: f64) -> Self {
        Self {
            high: self.high * power_of_two,
            low: self.low * power_of_two,
        }
    }
}

impl From<f64> for DoubleDouble {
    fn from(value: f64) -> Self {
        Self::exact(value)
    }
}

impl Neg for DoubleDouble {
    type Output = Self;

    fn neg(self) -> Self {
        Self {
            high: -self.high,
            low: -self.low,
        }
    }
}

impl Add for DoubleDouble {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let high = two_sum(self.high, other.high);
        let low = two_sum(self.low, other.low);
        let sum = quick_two_sum(high.high, high.low + low.high);
        quick_two_sum(sum.high, sum.low + low.low)
    }
}

impl Sub for DoubleDouble {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for DoubleDouble {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        let product = two_product(self.high, other.high);
        let crossed = self.high.mul_add(other.low, self.low * other.high);
        quick_two_sum(product.high, product.low + crossed)
    }
}

impl Div for DoubleDouble {
    type Output = Self;

    /// Long division, a float's worth of digits at a time.
    fn div(self, other: Self) -> Self {
        let first = self.high / other.high;
        let rest = self - other * first.into();
        let second = rest.high / other.high;
        let rest = rest - other * second.into();
        let third = rest.high / other.high;
        quick_two_sum(first, second) + third.into()
    }
}

impl AddAssign for DoubleDouble {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for DoubleDouble {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Sum for DoubleDouble {
    fn sum<I: Iterator<Item = Self>>(values: I) -> Self {
        values.fold(Self::ZERO, |sum, value| sum + value)
    }
}

impl PartialOrd for DoubleDouble {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        let high = self.high.partial_cmp(&other.high)?;
        Some(high.then(self.low.partial_cmp(&other.low)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A pair whose parts are whole numbers, and its exact value.
    fn pair(high: i64, low: i32) -> (DoubleDouble, i128) {
        let high = i128::from(high) << 53;
        let sum = DoubleDouble::from(high as f64) + f64::from(low).into();
        (sum, high + i128::from(low))
    }

    fn exact(value: DoubleDouble) -> i128 {
        value.high as i128 + value.low as i128
    }

    fn close(found: DoubleDouble, expected: DoubleDouble) -> bool {
        (found - expected).abs().to_f64() <= 1e-30 * expected.abs().to_f64()
    }

    proptest! {
        #[test]
        fn sums_and_differences_of_whole_numbers_are_exact(
            a in -(1_i64 << 50)..1 << 50, b: i32, c in -(1_i64 << 50)..1 << 50, d: i32,
        ) {
            let ((x, whole_x), (y, whole_y)) = (pair(a, b), pair(c, d));
            prop_assert_eq!(exact(x + y), whole_x + whole_y);
            prop_assert_eq!(exact(x - y), whole_x - whole_y);
            prop_assert_eq!(x.partial_cmp(&y), Some(whole_x.cmp(&whole_y)));
        }

        #[test]
        fn the_product_of_two_floats_is_exact(a in -(1_i64 << 53)..1 << 53, b in -(1_i64 << 53)..1 << 53) {
            let product = DoubleDouble::from(a as f64) * DoubleDouble::from(b as f64);
            prop_assert_eq!(exact(product), i128::from(a) * i128::from(b));
        }

        #[test]
        fn division_and_root_undo_product_and_square(
            a in 1e-3..1e3_f64, b in -1e-20..1e-20_f64, c in 1e-3..1e3_f64, d in -1e-20..1e-20_f64,
        ) {
            let x = DoubleDouble::from(a) + b.into();
            let y = DoubleDouble::from(c) + d.into();
            prop_assert!(close(x * y / y, x));
            prop_assert!(close((x / y) * y, x));
            prop_assert!(close(x.squared().sqrt(), x));
            prop_assert!(close(x.sqrt().squared(), x));
        }
    }

    #[test]
    fn thirty_digits_of_a_third_and_of_a_root() {
        let third = DoubleDouble::ONE / 3.0.into();
        assert_eq!(third.high, 1.0 / 3.0);
        // 1/3 is 0.0101… in binary, so that a float falls short of it by 2⁻⁵⁴/3.
        assert!((third.low * 3.0 * 2_f64.powi(54) - 1.0).abs() < 1e-15);
        // √2 = 1.41421356237309504880168872420969807856967…
        let root = DoubleDouble::from(2.0).sqrt();
        assert_eq!(root.high, std::f64::consts::SQRT_2);
        assert!((root.low / -9.667_293_313_452_913e-17 - 1.0).abs() < 1e-14);
    }

    #[test]
    fn powers_are_repeated_products() {
        let tenth = DoubleDouble::ONE / 10.0.into();
        let mut product = DoubleDouble::ONE;
        for exponent in 0..20 {
            assert!(close(tenth.power(exponent), product), "{exponent}");
            product = product * tenth;
        }
        assert_eq!(DoubleDouble::from(-3.0).power(5).to_f64(), -243.0);
        assert!(!DoubleDouble::from(1e200).power(2).is_finite());
    }

    #[test]
    fn special_values() {
        assert_eq!(DoubleDouble::ZERO.sqrt(), DoubleDouble::ZERO);
        assert!(DoubleDouble::from(-1.0).sqrt().to_f64().is_nan());
        assert_eq!(DoubleDouble::from(-2.5).abs(), 2.5.into());
        let scaled = (DoubleDouble::ONE / 3.0.into()).scaled(0.25);
        assert_eq!(scaled, DoubleDouble::ONE / 12.0.into());
    }
}
