//! The regularised incomplete beta and gamma functions, of which the tails of F, t and χ² are made.
//!
//! Continued fractions by Lentz's method (Thompson and Barnett 1986), so that a small tail has as
//! many correct digits as a large one.

/// Partial quotients after which a fraction has long converged, for any degrees of freedom that
/// observations in memory can have.
const STEPS: u32 = 100_000;

/// ln Γ(x) for positive x: Stirling's series (Abramowitz and Stegun 6.1.41), from where six of its
/// terms give all digits.
pub(crate) fn ln_gamma(x: f64) -> f64 {
    let (mut shifted, mut product) = (x, 1.0);
    while shifted < 10.0 {
        product *= shifted;
        shifted += 1.0;
    }
    let inverse = 1.0 / shifted;
    let square = inverse * inverse;
    let terms = [
        -691.0 / 360_360.0,
        1.0 / 1188.0,
        -1.0 / 1680.0,
        1.0 / 1260.0,
        -1.0 / 360.0,
        1.0 / 12.0,
    ];
    let series = terms.iter().fold(0.0, |sum, term| sum * square + term) * inverse;
    let half_ln_tau = std::f64::consts::TAU.ln() / 2.0;
    (shifted - 0.5) * shifted.ln() - shifted + half_ln_tau + series - f64::ln(product)
}

/// Numerators and denominators of a fraction, one after another, as ratios to those before.
struct Lentz {
    value: f64,
    numerator: f64,
    denominator: f64,
}

impl Lentz {
    const TINY: f64 = 1e-300;

    fn new(first: f64) -> Self {
        let first = Self::not_zero(first);
        Self {
            value: first,
            numerator: first,
            denominator: 0.0,
        }
    }

    fn not_zero(value: f64) -> f64 {
        if value.abs() < Self::TINY {
            Self::TINY
        } else {
            value
        }
    }

    /// Adds the partial quotient a/(b + …); true when it changes nothing any more.
    fn step(&mut self, a: f64, b: f64) -> bool {
        self.denominator = 1.0 / Self::not_zero(b + a * self.denominator);
        self.numerator = Self::not_zero(b + a / self.numerator);
        let factor = self.numerator * self.denominator;
        self.value *= factor;
        (factor - 1.0).abs() < f64::EPSILON
    }
}

/// I_x(a, b) for positive a and b, with `rest` = 1 − x, which the caller knows better.
pub(crate) fn beta(x: f64, rest: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if rest <= 0.0 {
        return 1.0;
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - beta_fraction(rest, x, b, a);
    }
    beta_fraction(x, rest, a, b)
}

/// The fraction 8.17.22 of the Digital Library of Mathematical Functions, good for small x.
fn beta_fraction(x: f64, rest: f64, a: f64, b: f64) -> f64 {
    let mut fraction = Lentz::new(1.0);
    for index in 0..STEPS {
        let m = f64::from(index / 2);
        let quotient = if index % 2 == 0 {
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        } else {
            let m = m + 1.0;
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        };
        if fraction.step(quotient, 1.0) {
            break;
        }
    }
    let ln_front = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * rest.ln();
    (ln_front.exp() / (a * fraction.value)).min(1.0)
}

/// Q(a, x), the upper tail of the gamma function, for positive a.
pub(crate) fn gamma_beyond(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    if x.is_infinite() {
        return 0.0;
    }
    let front = (a * x.ln() - x - ln_gamma(a)).exp();
    if x < a + 1.0 {
        (1.0 - front * gamma_series(a, x)).max(0.0)
    } else {
        front / gamma_fraction(a, x)
    }
}

/// Σ xⁿ/(a (a + 1) … (a + n)), good for small x (DLMF 8.11.4).
fn gamma_series(a: f64, x: f64) -> f64 {
    let mut term = 1.0 / a;
    let mut sum = term;
    for index in 1..=STEPS {
        term *= x / (a + f64::from(index));
        sum += term;
        if term < sum * f64::EPSILON {
            break;
        }
    }
    sum
}

/// Legendre's fraction, good for large x (DLMF 8.9.2, its even part).
fn gamma_fraction(a: f64, x: f64) -> f64 {
    let mut fraction = Lentz::new(x + 1.0 - a);
    for index in 1..=STEPS {
        let n = f64::from(index);
        if fraction.step(-n * (n - a), x + 1.0 - a + 2.0 * n) {
            break;
        }
    }
    fraction.value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ln_gamma_of_whole_and_half_numbers() {
        let mut factorial = 1.0_f64;
        for n in 1..=20 {
            let found = ln_gamma(f64::from(n));
            assert!((found - factorial.ln()).abs() < 1e-13, "{n}: {found}");
            factorial *= f64::from(n);
        }
        let half = std::f64::consts::PI.sqrt().ln();
        assert!((ln_gamma(0.5) - half).abs() < 1e-14);
        assert!((ln_gamma(1.5) - (half - 2_f64.ln())).abs() < 1e-14);
    }

    /// I_x(a, 1) = xᵃ, I_x(1, b) = 1 − (1 − x)ᵇ, I_x(a, b) = 1 − I_{1−x}(b, a).
    #[test]
    fn beta_in_closed_form() {
        for x in [1e-8, 0.01, 0.3, 0.5, 0.77, 0.999] {
            for a in [0.5, 1.0, 7.5, 200.0] {
                let power: f64 = f64::powf(x, a);
                let found = beta(x, 1.0 - x, a, 1.0);
                assert!((found - power).abs() <= 1e-12 * power, "{x} {a}: {found}");
                let expected = -f64::exp_m1(a * f64::ln_1p(-x));
                let found = beta(x, 1.0 - x, 1.0, a);
                assert!((found / expected - 1.0).abs() < 1e-11, "{x} {a}: {found}");
                let other = beta(1.0 - x, x, a, 3.5);
                assert!((beta(x, 1.0 - x, 3.5, a) + other - 1.0).abs() < 1e-12);
            }
        }
    }

    /// Q(1, x) = e⁻ˣ and Q(a + 1, x) = Q(a, x) + xᵃ e⁻ˣ/Γ(a + 1).
    #[test]
    fn gamma_by_its_recurrence() {
        for x in [1e-6, 0.1, 1.0, 2.5, 30.0, 400.0] {
            let first = gamma_beyond(1.0, x);
            assert!((first / f64::exp(-x) - 1.0).abs() < 1e-12, "{x}");
            for a in [0.5, 1.0, 2.5, 17.0] {
                let step = (a * f64::ln(x) - x - ln_gamma(a + 1.0)).exp();
                let found = gamma_beyond(a + 1.0, x) - gamma_beyond(a, x);
                assert!((found - step).abs() < 1e-12, "{x} {a}");
            }
        }
    }
}
