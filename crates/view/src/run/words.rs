//! How a run's figures read, the same on the page and on the terminal.

use super::{Evidence, RunData, Verdict};
use crate::words::UNKNOWN;
use delaylab_lab::finding::dimension::format_number;
use delaylab_model::units::{duration_unit, format_in_unit, rate_unit, with_minus};

/// The unit of a share, which is shown as a percentage.
pub const SHARE: &str = "share";
/// The unit of a difference of two shares, which is shown in percentage points.
pub const POINTS: &str = "points";

/// A value with its unit: `1.25 ms`, `9188 B`, `337 kB`, `883 Mbit/s`, `4.2 ns/B`, `0.999`, `5.25 %`, `−2.15 points`.
pub fn quantity(value: f64, unit: &str) -> String {
    if !value.is_finite() {
        return UNKNOWN.to_owned();
    }
    let scale = Scale::fitting(value, unit);
    scale.with_name(&scale.number(value))
}

/// A unit as values near some value are written in it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Scale<'a> {
    /// Of the unit in which values are kept.
    unit: &'a str,
    /// So many of those are one.
    size: f64,
    /// As it stands behind a number; empty for plain ones.
    name: &'a str,
}

impl<'a> Scale<'a> {
    fn fitting(value: f64, unit: &'a str) -> Self {
        let (size, name) = match unit {
            "ns" => duration_unit(value),
            "bit/s" => rate_unit(value),
            "B" if value.abs() >= 1e6 => (1e6, "MB"),
            "B" if value.abs() >= 1e5 => (1e3, "kB"),
            SHARE => (0.01, "%"),
            POINTS => (0.01, POINTS),
            "1" | "" => (1.0, ""),
            _ => (1.0, unit),
        };
        Self { unit, size, name }
    }

    /// Without the name.
    fn number(&self, value: f64) -> String {
        match self.unit {
            "ns" => format_in_unit(value, self.size),
            SHARE => with_minus(hundredths(value, value < 1.0)),
            POINTS => with_minus(hundredths(value, false)),
            _ => format_number(value / self.size),
        }
    }

    fn with_name(&self, number: &str) -> String {
        match self.name {
            "" => number.to_owned(),
            name => format!("{number} {name}"),
        }
    }

    /// Would this value be far too large or too small a number in it?
    fn suits(&self, value: f64) -> bool {
        value == 0.0
            || !["ns", "bit/s", "B"].contains(&self.unit)
            || (0.01..10_000.0).contains(&(value / self.size).abs())
    }
}

/// Of a share, with three significant digits and no more than four decimals: what is less is 0. What is below one has
/// the decimals that tell it from 100.
fn hundredths(share: f64, is_below_one: bool) -> String {
    let decimals = |percent: f64, digits: i32| {
        let before = percent.abs().max(1e-9).log10().floor() as i32;
        (digits - 1 - before).clamp(0, 4) as usize
    };
    let percent = share * 100.0;
    let (percent, digits) = match is_below_one {
        true => {
            let digits = decimals(percent, 3).max(decimals(100.0 - percent, 1));
            (percent.min(99.9999), digits)
        }
        false => (percent, decimals(percent, 3)),
    };
    let text = format!("{percent:.digits$}");
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    if text == "-0" { "0" } else { text }.to_owned()
}

/// Two values held against each other, their unit once where it is the same: `45.8 against 46.2 ms`.
pub fn against(left: f64, right: f64, unit: &str) -> String {
    let (a, b) = (Scale::fitting(left, unit), Scale::fitting(right, unit));
    match a.name == b.name || left == 0.0 {
        true => format!("{} against {}", b.number(left), quantity(right, unit)),
        false => format!("{} against {}", quantity(left, unit), quantity(right, unit)),
    }
}

/// A number's interval where it stands alone: `1.20–1.30 ms`, `at least 3.00 ms`; `None` where nothing bounds it.
pub fn interval(number: &Evidence) -> Option<String> {
    ends(number, true)
}

/// The same behind the number itself, whose unit it shares: `17.6–76.0`, `−15.9 to −12.5`.
pub fn interval_behind(number: &Evidence) -> Option<String> {
    ends(number, false)
}

fn ends(number: &Evidence, alone: bool) -> Option<String> {
    let unit = number.unit.as_str();
    let (low, high) = match (number.low, number.high) {
        (Some(low), Some(high)) => (low, high),
        (Some(low), None) => return Some(format!("at least {}", quantity(low, unit))),
        (None, Some(high)) => return Some(format!("at most {}", quantity(high, unit))),
        (None, None) => return None,
    };
    let to = if low < 0.0 { " to " } else { "–" };
    let scale = Scale::fitting(number.value.unwrap_or(high), unit);
    if !(scale.suits(low) && scale.suits(high)) {
        return Some(format!(
            "{} to {}",
            quantity(low, unit),
            quantity(high, unit)
        ));
    }
    let both = format!("{}{to}{}", scale.number(low), scale.number(high));
    Some(if alone { scale.with_name(&both) } else { both })
}

/// One character for a verdict: `✔`, `✘`, `?` or `–`.
pub const fn glyph(verdict: Verdict) -> char {
    match verdict {
        Verdict::True => '✔',
        Verdict::False => '✘',
        Verdict::Undecided => '?',
        Verdict::NotApplicable => '–',
    }
}

/// What came of the findings, counted: `2 true, 1 undecided`; `None` where there are none.
pub fn tally(run: &RunData) -> Option<String> {
    let counts = Verdict::ALL.map(|verdict| {
        let of_it = run.findings.iter().filter(|it| it.verdict == verdict);
        (verdict, of_it.count())
    });
    let counts = counts.iter().filter(|(_, count)| *count > 0);
    let words: Vec<String> = counts
        .map(|(verdict, count)| format!("{count} {verdict}"))
        .collect();
    (!words.is_empty()).then(|| words.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::samples::{bare, waits};

    #[test]
    fn quantities_have_their_units_and_three_digits() {
        for (value, unit, text) in [
            (1_250_000.0, "ns", "1.25 ms"),
            (0.989_12, "1", "0.989"),
            (9_188.0, "B", "9188 B"),
            (882_768_890.0, "bit/s", "883 Mbit/s"),
            (4.2, "ns/B", "4.2 ns/B"),
            (-0.000_000_000_01, "1", "−1.00e-11"),
            (-0.0, "1", "0"),
            (12_345.6, "1", "12346"),
            (0.0, "1", "0"),
            (0.031_01, SHARE, "3.1 %"),
            (1.0, SHARE, "100 %"),
            (0.9876, SHARE, "98.8 %"),
            (0.9996, SHARE, "99.96 %"),
            (0.999_990_04, SHARE, "99.999 %"),
            (0.999_999_99, SHARE, "99.9999 %"),
            (0.0, SHARE, "0 %"),
            (-0.021_49, POINTS, "−2.15 points"),
            (-9.531e-5, POINTS, "−0.0095 points"),
            (-1e-9, POINTS, "0 points"),
            (f64::NAN, "1", "–"),
            (f64::NAN, "ns", "–"),
            (f64::INFINITY, "ns", "–"),
        ] {
            assert_eq!(quantity(value, unit), text);
        }
    }

    #[test]
    fn an_interval_has_its_unit_once() {
        let number = |value, low, high, unit: &str| Evidence {
            value: Some(value),
            low: Some(low),
            high: Some(high),
            unit: unit.to_owned(),
            ..Evidence::default()
        };
        for (number, behind, alone) in [
            (
                number(45_800.0, 17_600.0, 76_000.0, "ns"),
                "17.6–76.0",
                "17.6–76.0 µs",
            ),
            (
                number(951e3, 902e3, 1.25e6, "ns"),
                "902–1250",
                "902–1250 µs",
            ),
            (
                number(-0.143, -0.159, -0.125, POINTS),
                "−15.9 to −12.5",
                "−15.9 to −12.5 points",
            ),
            (
                number(500.0, 100.0, 3e9, "ns"),
                "100 ns to 3.00 s",
                "100 ns to 3.00 s",
            ),
            (number(1.004, 1.003, 1.005, "1"), "1.00–1.00", "1.00–1.00"),
        ] {
            assert_eq!(interval_behind(&number).as_deref(), Some(behind));
            assert_eq!(interval(&number).as_deref(), Some(alone));
        }
        assert_eq!(against(45.83e6, 46.21e6, "ns"), "45.8 against 46.2 ms");
        assert_eq!(against(951e3, 3.03e6, "ns"), "951 µs against 3.03 ms");
        assert_eq!(against(0.0, 0.05, SHARE), "0 against 5 %");
    }

    #[test]
    fn the_tally_counts_each_verdict() {
        let mut run = waits();
        assert_eq!(tally(&run).as_deref(), Some("1 true, 1 false, 1 undecided"));
        run.findings.truncate(1);
        run.findings[0].verdict = Verdict::NotApplicable;
        let expected = "1 not applicable";
        assert_eq!(tally(&run).as_deref(), Some(expected));
        assert_eq!(tally(&bare()), None);
    }
}
