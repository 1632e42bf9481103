//! Durations, sizes and rates as people write them: a number and a unit.
//!
//! `20ms`, `64B`, `10 Mbit/s`, `10mbit`. A bare number is refused where a unit is owed, because
//! `0.2` is seconds to one reader and milliseconds to the next; the error says what to write.

use crate::{MICROSECOND, MILLISECOND, Nanos, SECOND};

/// Why a quantity could not be read. The message names the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// A number without the unit that it owes.
    #[error(
        "`{text}` has no unit: write `{text}{suggestion}` if that is what you mean (units: {units})"
    )]
    MissingUnit {
        /// What was written.
        text: String,
        /// The unit that the writer most likely meant.
        suggestion: &'static str,
        /// Every unit that would do.
        units: &'static str,
    },
    /// A unit that this quantity does not have.
    #[error("`{unit}` is not a unit of {quantity} in `{text}` (units: {units})")]
    UnknownUnit {
        /// What was written.
        text: String,
        /// Its unit part.
        unit: String,
        /// "a duration", "a size" or "a rate".
        quantity: &'static str,
        /// Every unit that would do.
        units: &'static str,
    },
    /// A rate in bytes a second, which differs by one letter from one in bits a second.
    #[error("`{text}` is in bytes a second, and rates are in bits a second: write `{bits}bit/s`")]
    BytesPerSecond {
        /// What was written.
        text: String,
        /// The same in bits a second.
        bits: u64,
    },
    /// Not a number at all.
    #[error("`{text}` is not {quantity}: write a number and a unit, like `{example}`")]
    NotANumber {
        /// What was written.
        text: String,
        /// "a duration", "a size" or "a rate".
        quantity: &'static str,
        /// One that would do.
        example: &'static str,
    },
    /// A number that does not fit, is negative, or is finer than the quantity's resolution.
    #[error("`{text}` is out of range for {quantity}: {limit}")]
    OutOfRange {
        /// What was written.
        text: String,
        /// "a duration", "a size" or "a rate".
        quantity: &'static str,
        /// What would do.
        limit: &'static str,
    },
    /// Not of the form that is asked for.
    #[error("`{text}` is not {expected}")]
    Unlike {
        /// What was written.
        text: String,
        /// The form, with an example.
        expected: &'static str,
    },
}

struct Quantity {
    name: &'static str,
    example: &'static str,
    suggestion: &'static str,
    unit_list: &'static str,
    limit: &'static str,
    /// Unit (lower case unless `case_matters`) and how many of the base unit it is.
    units: &'static [(&'static str, i128)],
}

const DURATION: Quantity = Quantity {
    name: "a duration",
    example: "200ms",
    suggestion: "s",
    unit_list: "ns, us, ms, s, min, h",
    limit: "a whole number of nanoseconds from 0 to 292 years",
    units: &[
        ("ns", 1),
        ("us", MICROSECOND as i128),
        ("µs", MICROSECOND as i128),
        ("μs", MICROSECOND as i128),
        ("ms", MILLISECOND as i128),
        ("s", SECOND as i128),
        ("min", 60 * SECOND as i128),
        ("h", 3600 * SECOND as i128),
    ],
};

const SIZE: Quantity = Quantity {
    name: "a size",
    example: "64B",
    suggestion: "B",
    unit_list: "B, kB, KiB, MB, MiB, GB, GiB",
    limit: "a whole number of bytes",
    units: &[
        ("b", 1),
        ("byte", 1),
        ("bytes", 1),
        ("kb", 1000),
        ("kib", 1 << 10),
        ("mb", 1_000_000),
        ("mib", 1 << 20),
        ("gb", 1_000_000_000),
        ("gib", 1 << 30),
    ],
};

const RATE: Quantity = Quantity {
    name: "a rate",
    example: "10Mbit/s",
    suggestion: "bit/s",
    unit_list: "bit/s, kbit/s, Mbit/s, Gbit/s (or bit, kbit, mbit, gbit)",
    limit: "a whole number of bits a second",
    units: &[
        ("bit/s", 1),
        ("bit", 1),
        ("bps", 1),
        ("kbit/s", 1000),
        ("kbit", 1000),
        ("kbps", 1000),
        ("mbit/s", 1_000_000),
        ("mbit", 1_000_000),
        ("mbps", 1_000_000),
        ("gbit/s", 1_000_000_000),
        ("gbit", 1_000_000_000),
        ("gbps", 1_000_000_000),
    ],
};

/// Reads a duration such as `20ms`, `0.2 s` or `5us`, in nanoseconds.
pub fn parse_duration(text: &str) -> Result<Nanos, UnitError> {
    let value = DURATION.parse(text)?;
    Nanos::try_from(value).map_err(|_| DURATION.out_of_range(text))
}

/// Reads a size such as `64B`, `1.5 KiB`, in bytes.
pub fn parse_size(text: &str) -> Result<u64, UnitError> {
    let value = SIZE.parse(text)?;
    u64::try_from(value).map_err(|_| SIZE.out_of_range(text))
}

/// Reads a rate such as `10 Mbit/s` or `10mbit`, in bits a second.
pub fn parse_rate(text: &str) -> Result<u64, UnitError> {
    if let Some(bits) = bits_of_bytes(text) {
        return Err(UnitError::BytesPerSecond {
            text: text.to_owned(),
            bits,
        });
    }
    let value = RATE.parse(text)?;
    u64::try_from(value).map_err(|_| RATE.out_of_range(text))
}

/// Of a rate that is written in bytes a second, the bits a second: a capital B is bytes, as in `10MBps`.
fn bits_of_bytes(text: &str) -> Option<u64> {
    let (size, rest) = text.trim().split_at(text.trim().find('B')? + 1);
    let rest = rest.to_lowercase();
    let is_rate = ["ps", "/s", "yte/s", "ytes/s"].contains(&rest.as_str());
    parse_size(size).ok().filter(|_| is_rate)?.checked_mul(8)
}

impl Quantity {
    /// Exact: the decimal is never rounded through a float.
    fn parse(&self, text: &str) -> Result<i128, UnitError> {
        let trimmed = text.trim();
        let digits = trimmed
            .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'))
            .unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(digits);
        let unit = unit.trim();
        let number = number.replace('_', "");
        let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
        let all_digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
        if (whole.is_empty() && fraction.is_empty()) || !all_digits(whole) || !all_digits(fraction)
        {
            return Err(UnitError::NotANumber {
                text: text.to_owned(),
                quantity: self.name,
                example: self.example,
            });
        }
        if unit.is_empty() {
            return Err(UnitError::MissingUnit {
                text: trimmed.to_owned(),
                suggestion: self.suggestion,
                units: self.unit_list,
            });
        }
        let lower = unit.to_lowercase();
        let Some(&(_, scale)) = self.units.iter().find(|(name, _)| *name == lower) else {
            return Err(UnitError::UnknownUnit {
                text: text.to_owned(),
                unit: unit.to_owned(),
                quantity: self.name,
                units: self.unit_list,
            });
        };
        // 15 digits of fraction are finer than a nanosecond of any unit; a whole part of more than 19 fits nothing.
        if whole.len() > 19 || fraction.len() > 15 {
            return Err(self.out_of_range(text));
        }
        let parse =
            |part: &str| -> i128 { part.bytes().fold(0, |n, b| n * 10 + i128::from(b - b'0')) };
        let power = 10_i128.pow(fraction.len() as u32);
        // 34 digits fit; a unit may take them past what does.
        let scaled = (parse(whole) * power + parse(fraction)).checked_mul(scale);
        let whole_units = scaled.filter(|scaled| scaled % power == 0);
        let value = whole_units.ok_or_else(|| self.out_of_range(text))?;
        Ok(value / power)
    }

    fn out_of_range(&self, text: &str) -> UnitError {
        UnitError::OutOfRange {
            text: text.to_owned(),
            quantity: self.name,
            limit: self.limit,
        }
    }
}

/// Writes a duration for people, to about three digits: `18.3 µs`, `1.25 ms`, `40 ns`.
pub fn format_duration(ns: Nanos) -> String {
    format_duration_f64(ns as f64)
}

/// As [`format_duration`], for means and other fractions of a nanosecond.
pub fn format_duration_f64(ns: f64) -> String {
    if ns == 0.0 {
        return "0 ns".to_owned();
    }
    let (scale, unit) = duration_unit(ns);
    format!("{} {unit}", format_in_unit(ns, scale))
}

/// As [`format_duration_f64`], with its sign: `+1.20 ms`. Less than half a nanosecond is none.
pub fn format_signed_duration(ns: f64) -> String {
    let ns = if ns.abs() < 0.5 { 0.0 } else { ns };
    sign(ns).to_owned() + &format_duration_f64(ns.abs())
}

/// The unit in which a duration is written for people, and how many nanoseconds that is.
pub fn duration_unit(ns: f64) -> (f64, &'static str) {
    const SCALES: [(f64, &str); 4] = [(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")];
    // 999.6 µs would print as "1000 µs": step up when rounding would.
    let fits = |(scale, _): &(f64, &str)| ns.abs() >= scale * 0.9995;
    SCALES.into_iter().find(fits).unwrap_or((1.0, "ns"))
}

/// Writes a rate in bits a second for people, to about three digits: `94.1 Mbit/s`.
pub fn format_rate(bits: f64) -> String {
    let (scale, unit) = rate_unit(bits);
    format!("{} {unit}", format_in_unit(bits, scale))
}

/// The unit in which a rate is written for people, and how many bits a second that is.
pub fn rate_unit(bits: f64) -> (f64, &'static str) {
    const SCALES: [(f64, &str); 3] = [(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")];
    let fits = |(scale, _): &(f64, &str)| bits.abs() >= scale * 0.9995;
    SCALES.into_iter().find(fits).unwrap_or((1.0, "bit/s"))
}

/// A duration or rate in a unit of `scale` nanoseconds or bits a second, to about three digits and without the unit's name.
pub fn format_in_unit(ns: f64, scale: f64) -> String {
    let value = ns / scale;
    let digits = match value.abs() {
        0.0 => 0,
        v if v >= 99.95 || (scale == 1.0 && v >= 9.95) => 0,
        v if v >= 9.995 => 1,
        v if v >= 0.9995 => 2,
        _ => 3,
    };
    with_minus(format!("{value:.digits$}"))
}

/// A number for people, with the minus sign that is as wide as the plus: `−1.5`.
pub fn with_minus(number: String) -> String {
    match number.strip_prefix('-') {
        Some(rest) => format!("−{rest}"),
        None => number,
    }
}

/// Writes bytes as digests are written: two digits each, `0a9f`.
pub fn format_hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Writes a share of 1 as a percentage for people, to two digits: `0.52 %`, `3.1 %`, `34 %`. Never 0 where something is, nor
/// 100 where not all is: `<0.01 %`, `99.8 %`. A share of nothing is `–`.
pub fn format_share(share: f64) -> String {
    let percent = share * 100.0;
    let text = match percent.abs() {
        p if !p.is_finite() => return "–".to_owned(),
        0.0 => "0".to_owned(),
        p if p < 0.00995 => "<0.01".to_owned(),
        p if p < 0.995 => format!("{percent:.2}"),
        p if p < 9.95 => format!("{percent:.1}"),
        p if (99.5..100.0).contains(&p) => format!("{:.1}", (percent * 10.0).trunc() / 10.0),
        _ => format!("{percent:.0}"),
    };
    with_minus(text) + " %"
}

/// As [`format_share`], with its sign: `+3.1 %`, `−34 %`.
pub fn format_signed_share(share: f64) -> String {
    if !share.is_finite() {
        return format_share(share);
    }
    let size = format_share(share.abs());
    // A sign before `<` would say that it is less than that, not how small it is.
    let size = if size.starts_with('<') {
        "0.00 %".to_owned()
    } else {
        size
    };
    sign(share).to_owned() + &size
}

/// Writes what share `part` is of `whole`, as [`format_share`] does.
pub fn format_part(part: u64, whole: u64) -> String {
    format_share(part as f64 / whole as f64)
}

/// `+`, `−`, or nothing.
pub fn sign(value: f64) -> &'static str {
    match value {
        v if v > 0.0 => "+",
        v if v < 0.0 => "−",
        _ => "",
    }
}

/// Writes a duration as a file or flag takes it back, exactly: `200ms`, `1500us`.
pub fn write_duration(ns: Nanos) -> String {
    let minute = 60 * SECOND;
    for (unit, scale) in [
        ("h", 60 * minute),
        ("min", minute),
        ("s", SECOND),
        ("ms", MILLISECOND),
        ("us", MICROSECOND),
    ] {
        if ns != 0 && ns % scale == 0 {
            return format!("{}{unit}", ns / scale);
        }
    }
    format!("{ns}ns")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_has_no_decimals() {
        assert_eq!(format_in_unit(0.0, 1.0), "0");
        assert_eq!(format_in_unit(0.25, 1.0), "0.250");
    }

    #[test]
    fn reads_what_people_write() {
        assert_eq!(parse_duration("0.2s"), Ok(200 * MILLISECOND));
        assert_eq!(parse_duration(" 20 ms "), Ok(20 * MILLISECOND));
        assert_eq!(parse_duration("5µs"), Ok(5_000));
        assert_eq!(parse_duration("1.5us"), Ok(1_500));
        assert_eq!(parse_duration("2min"), Ok(120 * SECOND));
        assert_eq!(parse_size("64B"), Ok(64));
        assert_eq!(parse_size("1.5 KiB"), Ok(1536));
        assert_eq!(parse_rate("10 Mbit/s"), Ok(10_000_000));
        assert_eq!(parse_rate("10mbit"), Ok(10_000_000));
        assert_eq!(parse_rate("155.52Mbit/s"), Ok(155_520_000));
    }

    #[test]
    fn a_bare_number_is_refused_with_the_remedy() {
        let error = parse_duration("0.2").unwrap_err();
        assert!(error.to_string().contains("`0.2s`"), "{error}");
        let error = parse_size("56").unwrap_err();
        assert!(error.to_string().contains("`56B`"), "{error}");
    }

    /// Wrong by a factor of 8 if they were taken for bits.
    #[test]
    fn a_rate_in_bytes_is_refused_with_the_bits_that_it_is() {
        for (text, bits) in [
            ("10MBps", 80_000_000),
            ("10 MB/s", 80_000_000),
            ("5kB/s", 40_000),
            ("1.5KiB/s", 12_288),
            ("3Bps", 24),
            ("2GByte/s", 16_000_000_000),
        ] {
            let error = parse_rate(text).unwrap_err().to_string();
            assert!(error.contains(&format!("write `{bits}bit/s`")), "{error}");
            assert_eq!(parse_rate(&format!("{bits}bit/s")), Ok(bits));
        }
        for text in ["10Mbps", "10mbps", "10MBit/s", "10MBIT", "10 Mbit"] {
            assert_eq!(parse_rate(text), Ok(10_000_000), "{text}");
        }
        assert_eq!(parse_size("10MB"), Ok(10_000_000));
    }

    #[test]
    fn refuses_what_it_cannot_hold() {
        assert!(matches!(
            parse_duration("0.5ns"),
            Err(UnitError::OutOfRange { .. })
        ));
        assert!(matches!(
            parse_duration("9999999999999h"),
            Err(UnitError::OutOfRange { .. })
        ));
        assert!(matches!(
            parse_size("1222122010101056.010010110101090gb"),
            Err(UnitError::OutOfRange { .. })
        ));
        assert!(matches!(
            parse_duration("-1s"),
            Err(UnitError::NotANumber { .. })
        ));
        assert!(matches!(
            parse_duration("1.2.3s"),
            Err(UnitError::NotANumber { .. })
        ));
        assert!(matches!(
            parse_duration("5 parsecs"),
            Err(UnitError::UnknownUnit { .. })
        ));
        assert!(matches!(
            parse_duration("."),
            Err(UnitError::NotANumber { .. })
        ));
        assert!(matches!(
            parse_rate("10MB"),
            Err(UnitError::UnknownUnit { .. })
        ));
    }

    #[test]
    fn rates_have_three_digits() {
        for (bits, text) in [
            (0.0, "0 bit/s"),
            (640.0, "640 bit/s"),
            (999_600.0, "1.00 Mbit/s"),
            (12_500_000.0, "12.5 Mbit/s"),
            (-2e9, "−2.00 Gbit/s"),
        ] {
            assert_eq!(format_rate(bits), text, "{bits}");
        }
    }

    #[test]
    fn shares_have_two_digits_and_never_round_to_none_or_all() {
        for (share, text) in [
            (0.0, "0 %"),
            (-0.0, "0 %"),
            (1e-9, "<0.01 %"),
            (0.00009949, "<0.01 %"),
            (0.0000996, "0.01 %"),
            (0.0052, "0.52 %"),
            (0.00996, "1.0 %"),
            (0.031, "3.1 %"),
            (-0.031, "−3.1 %"),
            (0.0996, "10 %"),
            (0.597, "60 %"),
            (0.994, "99 %"),
            (499.0 / 500.0, "99.8 %"),
            (0.99999, "99.9 %"),
            (1.0, "100 %"),
            (12.5, "1250 %"),
            (f64::NAN, "–"),
            (f64::INFINITY, "–"),
        ] {
            assert_eq!(format_share(share), text, "{share}");
        }
        assert_eq!(format_part(48, 14_280), "0.34 %");
        assert_eq!(format_part(999_999, 1_000_000), "99.9 %");
        assert_eq!(format_part(0, 0), "–");
    }

    #[test]
    fn shares_with_a_sign_have_it_once() {
        let shares = [0.004, -0.134, 0.0, -12.5, -1e-9, f64::NAN].map(format_signed_share);
        assert_eq!(format_signed_duration(1_200_000.0), "+1.20 ms");
        assert_eq!(format_signed_duration(-1_500.0), "−1.50 µs");
        assert_eq!(format_signed_duration(-0.4), "0 ns");
        assert_eq!(
            shares,
            ["+0.40 %", "−13 %", "0 %", "−1250 %", "−0.00 %", "–"]
        );
    }

    #[test]
    fn prints_three_digits() {
        for (ns, text) in [
            (0, "0 ns"),
            (7, "7.00 ns"),
            (40, "40 ns"),
            (999, "999 ns"),
            (1_000, "1.00 µs"),
            (18_345, "18.3 µs"),
            (999_960, "1.00 ms"),
            (125_000_000, "125 ms"),
            (-1_500, "−1.50 µs"),
        ] {
            assert_eq!(format_duration(ns), text, "{ns}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(ns in 0_i64..=i64::MAX) {
            prop_assert_eq!(parse_duration(&write_duration(ns)), Ok(ns));
        }

        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = (parse_duration(&text), parse_size(&text), parse_rate(&text));
        }

        #[test]
        fn no_number_panics(text in "[0-9]{0,20}(\\.[0-9]{0,16})?(ns|ms|h|B|GiB|bit|Gbit/s)") {
            let _ = (parse_duration(&text), parse_size(&text), parse_rate(&text));
        }
    }
}
