//! How a run's figures read, the same on the page and on the terminal.

use super::{Evidence, RunData, Verdict};
use delaylab_lab::finding::dimension::{Dimension, format_number};
use delaylab_model::units::format_duration_f64;

fn unknown() -> String {
    "–".to_owned()
}

/// The unit of a share, which is shown as a percentage.
pub(crate) const SHARE: &str = "share";
/// The unit of a difference of two shares, which is shown in percentage points.
pub(crate) const POINTS: &str = "points";

/// A value with its unit: `1.25 ms`, `9188 B`, `882.8 Mbit/s`, `4.2 ns/B`, `0.9993`, `5.25 %`, `−2.15 points`.
pub fn quantity(value: f64, unit: &str) -> String {
    let text = with_hyphen(value, unit);
    match text.strip_prefix('-') {
        Some(rest) => format!("−{rest}"),
        None => text,
    }
}

fn with_hyphen(value: f64, unit: &str) -> String {
    match unit {
        "ns" => format_duration_f64(value),
        _ if !value.is_finite() => unknown(),
        "bit/s" => Dimension::RATE.format(value),
        SHARE => format!("{} %", hundredths(value)),
        POINTS => format!("{} points", hundredths(value)),
        "1" | "" => format_number(value),
        _ => format!("{} {unit}", format_number(value)),
    }
}

/// Of a share, with three significant digits and no more than four decimals: what is less is 0.
fn hundredths(share: f64) -> String {
    let percent = share * 100.0;
    let before = percent.abs().max(1e-9).log10().floor() as i32;
    let digits = (2 - before).clamp(0, 4) as usize;
    let text = format!("{percent:.digits$}");
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    if text == "-0" { "0" } else { text }.to_owned()
}

/// A number's interval: `1.20 ms to 1.30 ms`, `at least 3.00 ms`; `None` where nothing bounds it.
pub fn interval(number: &Evidence) -> Option<String> {
    let end = |value| quantity(value, &number.unit);
    match (number.low, number.high) {
        (Some(low), Some(high)) => Some(format!("{} to {}", end(low), end(high))),
        (Some(low), None) => Some(format!("at least {}", end(low))),
        (None, Some(high)) => Some(format!("at most {}", end(high))),
        (None, None) => None,
    }
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
    fn quantities_have_their_units_and_four_digits() {
        for (value, unit, text) in [
            (1_250_000.0, "ns", "1.25 ms"),
            (0.989_12, "1", "0.9891"),
            (9_188.0, "B", "9188 B"),
            (882_768_890.0, "bit/s", "882.8 Mbit/s"),
            (4.2, "ns/B", "4.2 ns/B"),
            (-0.000_000_000_01, "1", "−1.000e-11"),
            (-0.0, "1", "0"),
            (12_345.6, "1", "12346"),
            (0.0, "1", "0"),
            (0.031_01, SHARE, "3.1 %"),
            (1.0, SHARE, "100 %"),
            (0.0, SHARE, "0 %"),
            (-0.021_49, POINTS, "−2.15 points"),
            (-9.531e-5, POINTS, "−0.0095 points"),
            (-1e-9, POINTS, "0 points"),
            (f64::NAN, "1", "–"),
        ] {
            assert_eq!(quantity(value, unit), text);
        }
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
