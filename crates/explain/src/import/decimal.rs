//! Decimal numbers as printed: exact, and knowing how coarse they are.
//!
//! 22.9 ms is 22 900 000 ns in steps of 100 000 ns, and no float is on the way.

use delaylab_model::Nanos;
use delaylab_model::{MICROSECOND, MILLISECOND, SECOND};

/// No time of a file is beyond this: sums and differences of two stay in range.
pub const LARGEST: Nanos = Nanos::MAX / 4;

/// A time as printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Time {
    /// Its value.
    pub nanos: Nanos,
    /// What the last printed digit counts, at least 1.
    pub step: Nanos,
}

/// A number as printed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Number {
    /// Its value.
    pub value: f64,
    /// What the last printed digit counts.
    pub step: f64,
}

/// Is its first character a digit?
pub fn begins_with_digit(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
}

/// The digits before and behind the point, if there is nothing else.
fn parts(text: &str) -> Option<(&str, &str)> {
    let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.len() <= 18 && part.bytes().all(|byte| byte.is_ascii_digit());
    (!whole.is_empty() && digits(whole) && digits(rest)).then_some((whole, rest))
}

/// A time that counts `unit` nanoseconds: `time("22.9", MILLISECOND)`. `None` where it is no plain
/// decimal number (a sign, an exponent, NaN) or beyond [`LARGEST`].
pub fn time(text: &str, unit: Nanos) -> Option<Time> {
    let (whole, rest) = parts(text)?;
    // At most 18 digits each.
    let digits = |part: &str| {
        part.bytes()
            .fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'))
    };
    let scale = 10_i64.pow(u32::try_from(rest.len()).ok()?);
    // Most fit into 64 bits, of which a product is divided faster.
    let behind = match digits(rest).checked_mul(unit) {
        Some(product) => product / scale,
        None => {
            let product = i128::from(digits(rest)) * i128::from(unit);
            Nanos::try_from(product / i128::from(scale)).ok()?
        }
    };
    let nanos = digits(whole).checked_mul(unit)?.checked_add(behind)?;
    let step = (unit / scale).max(1);
    (nanos <= LARGEST).then_some(Time { nanos, step })
}

/// As [`time`], with a sign or an exponent if there is one: what tables and JSON have. An exponent is
/// read by way of a float, and known to a nanosecond at best.
pub fn any_time(text: &str, unit: Nanos) -> Option<Time> {
    if let Some(positive) = text.strip_prefix('-') {
        let time = any_time(positive, unit)?;
        return (!positive.starts_with(['-', '+'])).then_some(Time {
            nanos: -time.nanos,
            ..time
        });
    }
    let text = text.strip_prefix('+').unwrap_or(text);
    if let Some(plain) = time(text, unit) {
        return Some(plain);
    }
    // `.5`, `5.` and `1e-3`; neither `inf` nor `nan`.
    if !text.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    float_time(text.parse().ok()?, unit)
}

/// A time of which three digits count, as `%.3g` prints them.
pub const fn of_three_digits(time: Time) -> Time {
    let mut step = time.step;
    while time.nanos.abs() / 1_000 >= step {
        step *= 10;
    }
    Time { step, ..time }
}

/// A time from a number that was not printed as a decimal.
pub fn float_time(value: f64, unit: Nanos) -> Option<Time> {
    let nanos = value * unit as f64;
    (nanos.is_finite() && nanos.abs() <= LARGEST as f64).then_some(Time {
        nanos: nanos.round() as Nanos,
        step: 1,
    })
}

/// A plain number.
pub fn number(text: &str) -> Option<Number> {
    let (_, rest) = parts(text)?;
    Some(Number {
        value: text.parse().ok()?,
        step: 0.1_f64.powi(i32::try_from(rest.len()).ok()?),
    })
}

/// A duration as Go programs print them: `23.41ms`, `192µs`, `1m2.5s`. They leave zeros at the end
/// out, so that the text does not say how coarse it is.
pub fn go_duration(text: &str) -> Option<Nanos> {
    const UNITS: [(&str, Nanos); 7] = [
        ("ns", 1),
        ("µs", MICROSECOND),
        ("us", MICROSECOND),
        ("ms", MILLISECOND),
        ("s", SECOND),
        ("m", 60 * SECOND),
        ("h", 3600 * SECOND),
    ];
    let mut rest = text;
    let mut sum: Nanos = 0;
    while !rest.is_empty() {
        let unit_at = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (digits, behind) = rest.split_at(unit_at);
        let end = behind
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(behind.len());
        let (name, next) = behind.split_at(end);
        let (_, unit) = UNITS.iter().find(|(known, _)| *known == name)?;
        let part = time(digits, *unit)?;
        sum = sum.checked_add(part.nanos).filter(|&sum| sum <= LARGEST)?;
        rest = next;
    }
    (!text.is_empty()).then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nanos(text: &str, unit: Nanos) -> Option<(Nanos, Nanos)> {
        time(text, unit).map(|time| (time.nanos, time.step))
    }

    #[test]
    fn times_are_exact_and_know_their_step() {
        assert_eq!(nanos("22.9", MILLISECOND), Some((22_900_000, 100_000)));
        assert_eq!(nanos("0.031", MILLISECOND), Some((31_000, 1_000)));
        assert_eq!(nanos("7", MILLISECOND), Some((7_000_000, 1_000_000)));
        assert_eq!(
            nanos("1795305832.353917", SECOND),
            Some((1_795_305_832_353_917_000, 1_000))
        );
        assert_eq!(nanos("82.1985", MICROSECOND), Some((82_198, 1)));
    }

    #[test]
    fn what_is_no_plain_number_is_none() {
        for text in [
            "", ".", ".5", "-1", "+1", "1e3", "NaN", "inf", "1.2.3", "1 ", "٣",
        ] {
            assert_eq!(time(text, SECOND), None, "{text}");
            assert!(number(text).is_none(), "{text}");
        }
        assert_eq!(time("9223372036", SECOND), None);
        assert_eq!(time("999999999999999999.999999999999999999", SECOND), None);
    }

    #[test]
    fn three_digits_count() {
        let step = |text| any_time(text, MILLISECOND).map(|time| of_three_digits(time).step);
        assert_eq!(step("0.411"), Some(1_000));
        assert_eq!(step("1"), Some(MILLISECOND));
        assert_eq!(step("-1.98"), Some(10_000));
        assert_eq!(step("1.23e+03"), Some(10 * MILLISECOND));
        assert_eq!(step("0"), Some(MILLISECOND));
    }

    #[test]
    fn durations_of_go() {
        assert_eq!(go_duration("23.41ms"), Some(23_410_000));
        assert_eq!(go_duration("192µs"), Some(192_000));
        assert_eq!(go_duration("733ns"), Some(733));
        assert_eq!(go_duration("1m2.5s"), Some(62_500_000_000));
        for text in ["", "5", "ms", "5parsecs", "1m2", "n/a"] {
            assert_eq!(go_duration(text), None, "{text}");
        }
    }
}
