//! Figures in sentences.

use super::values::Quantity;
use delaylab_lab::finding::Measure;
use delaylab_lab::finding::dimension::Dimension;
use delaylab_stats::functional::Functional;
use delaylab_stats::two_samples::Shift;

/// A nanosecond, the step of clocks: no time is a multiple of less.
const LEAST_TIME: f64 = 1.0;

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

/// What ends are of ([`packets`](delaylab_stats::comparison::Bounds::packets)).
pub(super) const fn how_sure(packets: Option<f64>) -> &'static str {
    match packets {
        None => "at 95 %",
        Some(share) if share > 0.5 => "for nine tenths of the packets",
        Some(_) => "half of its packets",
    }
}

/// A value of a measure with its unit.
pub(super) fn shown(measure: Measure, value: f64) -> String {
    let dimension = measure.dimension().unwrap_or(Dimension::NUMBER);
    dimension.format(value)
}

/// How far a statistic of this measure moved, as a factor; `None` where a side has none.
pub(super) fn change(measure: Measure, shift: &Shift) -> Option<f64> {
    let is_time = Quantity::Measure(measure).is_time();
    Some(factor(
        shift.a?,
        shift.b?,
        if is_time { LEAST_TIME } else { 0.0 },
    ))
}

/// From `a` to `b`: how many times the smaller of them the larger is, as a logarithm, below 0 where it falls. Nothing is a
/// multiple of less than `least`, and where there is no such bound 0 and what it became are as far apart as they are.
fn factor(a: f64, b: f64, least: f64) -> f64 {
    match a.abs().min(b.abs()).max(least) {
        0.0 => b - a,
        smaller => ((b - a).abs() / smaller).ln_1p().copysign(b - a),
    }
}

/// Is a change by `other`, as [`change`], covered by a sentence about one by `told`: the same way, and not more than twice as far?
pub(super) fn is_told_by(told: f64, other: f64) -> bool {
    told * other > 0.0 && other.abs() <= told.abs() + std::f64::consts::LN_2
}

/// What is said of delays, of losses.
pub(super) fn of_losses(reason: &str) -> String {
    let reason = reason.replace(
        "each delay resembles the one before",
        "packets are lost several in a row",
    );
    let reason = reason.replace("the delay changes", "the share of lost packets changes");
    reason.replace(
        "how much their delays depend",
        "how much their losses depend",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_a_factor_of_at_least_a_nanosecond_and_of_any_share() {
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
        close(factor(20e6, 40e6, LEAST_TIME), 2_f64.ln());
        close(factor(40e6, 20e6, LEAST_TIME), -2_f64.ln());
        close(factor(0.0, 2.0, LEAST_TIME), 3_f64.ln());
        close(factor(0.01, 0.05, 0.0), 5_f64.ln());
        close(factor(0.0, 0.05, 0.0), 0.05);
    }

    #[test]
    fn a_change_of_twice_as_far_or_the_other_way_is_not_told_by_another() {
        let by = |times: f64| factor(1e6, 1e6 * times, LEAST_TIME);
        assert!(is_told_by(by(1.03), by(1.9)) && is_told_by(by(1.5), by(1.1)));
        assert!(!is_told_by(by(1.03), by(2.1)) && !is_told_by(by(1.03), by(0.99)));
    }
}
