//! Figures in sentences.

use delaylab_lab::finding::Measure;
use delaylab_lab::finding::dimension::Dimension;
use delaylab_model::units::format_duration_f64;
use delaylab_stats::functional::Functional;

/// A share of 1 as a percentage, to two digits: `0.52 %`, `3.1 %`, `34 %`; of nearly all, `99.8 %`: never all where it is not.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent.abs() {
        0.0 => "0 %".to_owned(),
        p if p < 0.00995 => "<0.01 %".to_owned(),
        p if p < 0.995 => format!("{percent:.2} %"),
        p if p < 9.95 => format!("{percent:.1} %"),
        p if (99.5..100.0).contains(&p) => format!("{:.1} %", (percent * 10.0).trunc() / 10.0),
        _ => format!("{percent:.0} %"),
    }
}

/// The beginning of a sentence.
pub(super) fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(letters).collect()
}

/// With its sign: `+3.1 %`, `−34 %`.
pub fn signed_percent(share: f64) -> String {
    let size = share.abs();
    let tiny = size > 0.0 && percent(size).starts_with('<');
    let size = if tiny {
        "0.00 %".to_owned()
    } else {
        percent(size)
    };
    sign(share).to_owned() + &size
}

/// With its sign: `+1.20 ms`. Less than half a nanosecond is none.
pub fn signed_duration(ns: f64) -> String {
    let ns = if ns.abs() < 0.5 { 0.0 } else { ns };
    sign(ns).to_owned() + &format_duration_f64(ns.abs())
}

/// `+`, `−`, or nothing.
pub fn sign(value: f64) -> &'static str {
    match value {
        v if v > 0.0 => "+",
        v if v < 0.0 => "−",
        _ => "",
    }
}

/// The name of a statistic: `mean`, `p50`, `p99.9`.
pub fn statistic_name(statistic: Functional) -> String {
    match statistic {
        Functional::Quantile(q) => format!("p{}", (q * 1e6).round() / 1e4),
        other => other.name(),
    }
}

/// The name of a measure: `round trip`.
pub(super) fn name(measure: Measure) -> String {
    measure.name().replace('_', " ")
}

/// A value of a measure with its unit.
pub(super) fn shown(measure: Measure, value: f64) -> String {
    let dimension = measure.dimension().unwrap_or(Dimension::NUMBER);
    dimension.format(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_two_digits() {
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(percent(0.00001), "<0.01 %");
        assert_eq!(percent(0.0052), "0.52 %");
        assert_eq!(percent(0.031), "3.1 %");
        assert_eq!(percent(0.994), "99 %");
        assert_eq!(percent(499.0 / 500.0), "99.8 %");
        assert_eq!(percent(0.99999), "99.9 %");
        assert_eq!(percent(1.0), "100 %");
        assert_eq!(signed_percent(-12.5), "−1250 %");
        assert_eq!(signed_percent(-1e-9), "−0.00 %");
        assert_eq!(signed_duration(1_200_000.0), "+1.20 ms");
        assert_eq!(signed_duration(-0.4), "0 ns");
    }
}
