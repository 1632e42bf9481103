//! Figures in sentences.

use delaylab_lab::finding::Measure;
use delaylab_lab::finding::dimension::Dimension;
use delaylab_stats::functional::Functional;

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
