//! How a run's figures read, the same on the page and on the terminal.

use super::{Evidence, RunData, Verdict};
use crate::style::{percent, short_percent};
use delaylab_lab::finding::dimension::format_number;
use delaylab_model::units::{format_duration, format_duration_f64};
use delaylab_stats::summary::Summary;

/// Heads of [`figures`]: packets, round trips, and what the median response is made of.
pub(crate) const FIGURE_HEADS: [&str; 8] =
    ["sent", "lost", "p50", "p99", "sd", "max", "host", "network"];

/// What came of a stream or panel, a cell each of [`FIGURE_HEADS`].
pub(crate) fn figures(summary: &Summary) -> [String; 8] {
    let counts = &summary.counts;
    let delays = summary.round_trip.as_ref();
    let time = |ns: Option<i64>| ns.map_or_else(unknown, format_duration);
    let sd = delays.and_then(|d| d.sd);
    let [host, network] = shares(summary).map(|share| share.map_or_else(unknown, short_percent));
    [
        counts.sent.to_string(),
        percent(counts.lost, counts.sent),
        time(delays.map(|d| d.p50)),
        time(delays.map(|d| d.p99)),
        sd.map_or_else(unknown, format_duration_f64),
        time(delays.map(|d| d.max)),
        host,
        network,
    ]
}

fn unknown() -> String {
    "–".to_owned()
}

/// Host and network in the median response, 0 to 1.
fn shares(summary: &Summary) -> [Option<f64>; 2] {
    let median = summary.anatomy.iter().find(|at| at.label == "p50");
    let share = |ns: Option<f64>| Some(ns? / median?.response_ns);
    [
        share(median.and_then(|at| at.host_ns)),
        share(median.and_then(|at| at.network_ns)),
    ]
}

/// A value with its unit: `1.25 ms`, `9188 B`, `4.2 ns/B`, `0.9993`.
pub(crate) fn quantity(value: f64, unit: &str) -> String {
    match unit {
        "ns" => format_duration_f64(value),
        _ if !value.is_finite() => unknown(),
        "1" | "" => format_number(value),
        _ => format!("{} {unit}", format_number(value)),
    }
}

/// A number's interval: `1.20 ms to 1.30 ms`, `at least 3.00 ms`; `None` where nothing bounds it.
pub(crate) fn interval(number: &Evidence) -> Option<String> {
    let end = |value| quantity(value, &number.unit);
    match (number.low, number.high) {
        (Some(low), Some(high)) => Some(format!("{} to {}", end(low), end(high))),
        (Some(low), None) => Some(format!("at least {}", end(low))),
        (None, Some(high)) => Some(format!("at most {}", end(high))),
        (None, None) => None,
    }
}

/// One character for a verdict: `✔`, `✘`, `?` or `–`.
pub(crate) const fn glyph(verdict: Verdict) -> char {
    match verdict {
        Verdict::True => '✔',
        Verdict::False => '✘',
        Verdict::Undecided => '?',
        Verdict::NotApplicable => '–',
    }
}

/// What came of the findings, counted; `None` where there are none.
pub(crate) fn answer(run: &RunData) -> Option<String> {
    let counts = Verdict::ALL.map(|verdict| {
        let of_it = run.findings.iter().filter(|it| it.verdict == verdict);
        (verdict, of_it.count())
    });
    let counts = counts.iter().filter(|(_, count)| *count > 0);
    let words: Vec<String> = counts
        .map(|(verdict, count)| format!("{count} {verdict}"))
        .collect();
    (!words.is_empty()).then(|| format!("Findings: {}.", words.join(", ")))
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
            (4.2, "ns/B", "4.2 ns/B"),
            (-0.000_000_000_01, "1", "-1.000e-11"),
            (-0.0, "1", "0"),
            (12_345.6, "1", "12346"),
            (0.0, "1", "0"),
            (f64::NAN, "1", "–"),
        ] {
            assert_eq!(quantity(value, unit), text);
        }
    }

    #[test]
    fn the_answer_counts_each_verdict() {
        let mut run = waits();
        assert_eq!(
            answer(&run).as_deref(),
            Some("Findings: 1 true, 1 false, 1 undecided.")
        );
        run.findings.truncate(1);
        run.findings[0].verdict = Verdict::NotApplicable;
        let expected = "Findings: 1 not applicable.";
        assert_eq!(answer(&run).as_deref(), Some(expected));
        assert_eq!(answer(&bare()), None);
    }
}
