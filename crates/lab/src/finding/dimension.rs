//! Physical dimensions of numbers, so that a duration is never compared with a size.

use delaylab_model::plan::Unit;
use delaylab_model::units::{format_duration_f64, rate_unit, with_minus};
use std::fmt;

/// Exponent of each base unit (see `UNITS`). All are 0 for a plain number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Dimension {
    powers: [i8; 5],
}

/// Units in the order of `Dimension::powers`.
const UNITS: [&str; 5] = ["ns", "B", "bit/s", "cells", "packets"];

impl Dimension {
    /// A plain number, or a share.
    pub const NUMBER: Dimension = Dimension { powers: [0; 5] };
    /// Nanoseconds.
    pub const TIME: Dimension = Dimension::base(0);
    /// Bytes.
    pub const SIZE: Dimension = Dimension::base(1);
    /// Bits a second.
    pub const RATE: Dimension = Dimension::base(2);
    /// ATM cells.
    pub const CELLS: Dimension = Dimension::base(3);
    /// Packets.
    pub const PACKETS: Dimension = Dimension::base(4);

    const fn base(index: usize) -> Self {
        let mut powers = [0; 5];
        powers[index] = 1;
        Self { powers }
    }

    fn each(self, other: Self, f: impl Fn(i8, i8) -> i8) -> Self {
        let pairs = self.powers.iter().zip(other.powers);
        let mut powers = [0; 5];
        for (power, (&a, b)) in powers.iter_mut().zip(pairs) {
            *power = f(a, b);
        }
        Self { powers }
    }

    /// The dimension of a product.
    #[must_use]
    pub fn times(self, other: Self) -> Self {
        self.each(other, i8::saturating_add)
    }

    /// The dimension of a quotient.
    #[must_use]
    pub fn per(self, other: Self) -> Self {
        self.each(other, i8::saturating_sub)
    }

    /// A value with its unit for people: `1.25 ms`, `8.1 ns/B`. A share is shown as a plain number, not in percent.
    pub fn format(self, value: f64) -> String {
        if self == Self::TIME && value.is_finite() {
            return format_duration_f64(value);
        }
        if self == Self::RATE && value.is_finite() {
            let (scale, unit) = rate_unit(value);
            return format!("{} {unit}", format_number(value / scale));
        }
        let number = format_number(value);
        match self {
            Self::NUMBER => number,
            _ if value.is_infinite() => number,
            _ => format!("{number} {self}"),
        }
    }
}

/// A number with three significant digits, but with all digits before the point, and a typographic minus sign.
/// Zeros at the end of the fraction mean that it was rounded.
pub fn format_number(value: f64) -> String {
    match value {
        0.0 => return "0".to_owned(), // never "-0"
        f64::INFINITY => return "infinity".to_owned(),
        f64::NEG_INFINITY => return "−infinity".to_owned(),
        _ => {}
    }
    let magnitude = value.abs();
    if !(1e-4..1e15).contains(&magnitude) {
        return with_minus(format!("{value:.2e}"));
    }
    let digits = (2 - magnitude.log10().floor() as i32).clamp(0, 6) as usize;
    let text = format!("{value:.digits$}");
    let is_exact = text.parse::<f64>().is_ok_and(|shown| shown == value);
    let text = match is_exact && text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    };
    with_minus(text)
}

impl From<Unit> for Dimension {
    fn from(unit: Unit) -> Self {
        match unit {
            Unit::Nanoseconds => Self::TIME,
            Unit::Bytes => Self::SIZE,
            Unit::BitsPerSecond | Unit::CellsPerSecond => Self::RATE,
            Unit::Cells => Self::CELLS,
            Unit::Packets => Self::PACKETS,
            Unit::Share | Unit::Number => Self::NUMBER,
        }
    }
}

impl fmt::Display for Dimension {
    /// `ns`, `ns/B`, `ns^2`, or `1` for a plain number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = |sign: i8| {
            let powers = UNITS.iter().zip(self.powers);
            let chosen = powers.filter(move |(_, power)| power.signum() == sign);
            let named = chosen.map(|(unit, power)| match power.unsigned_abs() {
                1 => (*unit).to_owned(),
                power => format!("{unit}^{power}"),
            });
            named.collect::<Vec<_>>().join("·")
        };
        match (units(1), units(-1)) {
            (over, under) if over.is_empty() && under.is_empty() => f.write_str("1"),
            (over, under) if under.is_empty() => f.write_str(&over),
            (over, under) if over.is_empty() => write!(f, "1/{under}"),
            (over, under) => write!(f, "{over}/{under}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values() {
        let slope = Dimension::TIME.per(Dimension::SIZE);
        assert_eq!(slope.to_string(), "ns/B");
        assert_eq!(slope.format(8.125), "8.12 ns/B");
        assert_eq!(slope.times(Dimension::SIZE), Dimension::TIME);
        assert_eq!(Dimension::TIME.format(1_250_000.0), "1.25 ms");
        assert_eq!(Dimension::RATE.format(10_605_440.0), "10.6 Mbit/s");
        assert_eq!(Dimension::RATE.format(-12.0), "−12 bit/s");
        assert_eq!(Dimension::NUMBER.format(0.99964), "1.000");
        assert_eq!(Dimension::NUMBER.format(1000.0), "1000");
        assert_eq!(Dimension::NUMBER.format(0.5), "0.5");
        assert_eq!(Dimension::NUMBER.format(1.004), "1.00");
        assert_eq!(Dimension::NUMBER.format(0.0), "0");
        assert_eq!(Dimension::NUMBER.format(1e-9), "1.00e-9");
        assert_eq!(Dimension::TIME.format(f64::INFINITY), "infinity");
        assert_eq!(Dimension::NUMBER.format(-0.0), "0");
        assert_eq!(Dimension::TIME.times(Dimension::TIME).to_string(), "ns^2");
        assert_eq!(Dimension::NUMBER.per(Dimension::TIME).to_string(), "1/ns");
    }
}
