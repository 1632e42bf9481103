//! How likely a planned run is to decide a finding, from the results of an earlier run.
//!
//! Each comparison of the earlier run has a value and an interval. With k times as many observations the next interval
//! is 1/√k as wide. The next value varies around the earlier one, with the errors of both runs: this is the
//! *assurance* of O'Hagan, Stevens and Campbell (2005), not the power at a value assumed to be true. The comparisons
//! of one claim are treated as independent.

use super::check::Claim;
use super::entry::Finding;
use super::verdict::{Compared, ComparisonScale, Judged, Part, Verdict};
use delaylab_stats::tail::{normal_below, normal_quantile};
use schemars::JsonSchema;
use serde::Serialize;

/// Size of the planned run relative to the earlier one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    /// Ratio of the numbers of packets, over all repeats.
    pub packets: f64,
    /// Ratio of the numbers of repeats.
    pub repeats: f64,
}

/// Chances of the verdicts of one finding, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Forecast {
    /// It is true.
    #[serde(rename = "true")]
    pub is_true: f64,
    /// It is false.
    #[serde(rename = "false")]
    pub is_false: f64,
}

impl Forecast {
    const UNKNOWN: Self = Self {
        is_true: 0.0,
        is_false: 0.0,
    };

    /// Chance of a verdict true or false.
    pub fn decided(self) -> f64 {
        self.is_true + self.is_false
    }

    /// The more likely verdict of true and false.
    pub fn likelier(self) -> Verdict {
        if self.is_true >= self.is_false {
            Verdict::True
        } else {
            Verdict::False
        }
    }

    const fn not(self) -> Self {
        Self {
            is_true: self.is_false,
            is_false: self.is_true,
        }
    }

    /// The forecast of a conjunction of independent claims.
    fn all(each: impl IntoIterator<Item = Self>) -> Self {
        let start = (1.0, 1.0);
        let (all_true, none_false) = each.into_iter().fold(start, |(t, f), next| {
            (t * next.is_true, f * (1.0 - next.is_false))
        });
        Self {
            is_true: all_true,
            is_false: 1.0 - none_false,
        }
    }
}

/// The forecast for a finding that an earlier run judged; `None` if the check has changed since, or was not applicable
/// in that run.
pub fn forecast(finding: &Finding, judged: &Judged, scale: Scale) -> Option<Forecast> {
    if finding.text != judged.check || judged.verdict == Verdict::NotApplicable {
        return None;
    }
    let applicable = judged.parts.iter();
    let applicable = applicable.filter(|part| part.verdict != Verdict::NotApplicable);
    let each = applicable.map(|part| of_part(&finding.check.claim, part, scale));
    Some(Forecast::all(each))
}

fn of_part(claim: &Claim, part: &Part, scale: Scale) -> Forecast {
    of_claim(claim, &mut part.comparisons.iter(), scale)
}

/// `compared`: the comparisons in the order in which they appear in the claim.
fn of_claim<'a>(
    claim: &Claim,
    compared: &mut impl Iterator<Item = &'a Compared>,
    scale: Scale,
) -> Forecast {
    match claim {
        Claim::All(claims) => {
            let each: Vec<_> = (claims.iter())
                .map(|claim| of_claim(claim, compared, scale))
                .collect();
            Forecast::all(each)
        }
        Claim::Any(claims) => {
            let each: Vec<_> = (claims.iter())
                .map(|claim| of_claim(claim, compared, scale).not())
                .collect();
            Forecast::all(each).not()
        }
        Claim::Not(inner) => of_claim(inner, compared, scale).not(),
        Claim::Compare(comparison) => {
            let each = compared.take(comparison.rest.len());
            Forecast::all(each.map(|compared| of_comparison(compared, scale)))
        }
    }
}

fn of_comparison(compared: &Compared, scale: Scale) -> Forecast {
    let as_before = || match compared.verdict {
        Verdict::True => Forecast {
            is_true: 1.0,
            ..Forecast::UNKNOWN
        },
        Verdict::False => Forecast {
            is_false: 1.0,
            ..Forecast::UNKNOWN
        },
        Verdict::Undecided | Verdict::NotApplicable => Forecast::UNKNOWN,
    };
    // Ratios are compared on a logarithmic scale.
    let on_scale = |x: f64| match compared.by {
        ComparisonScale::Difference => x,
        // No ratio is below 0, though a share of more than all may be allowed.
        ComparisonScale::Ratio => x.max(0.0).ln(),
    };
    let (Some(value), Some(low), Some(high)) = (compared.value, compared.low, compared.high) else {
        return as_before();
    };
    let [value, low, high] = [value, low, high].map(on_scale);
    let error = (high - low) / 2.0 / normal_quantile(0.975);
    let times = if compared.repeats_differ {
        scale.repeats
    } else {
        scale.packets
    };
    let next = error / times.sqrt();
    if !next.is_finite() || next <= 0.0 {
        return as_before();
    }
    let reach = next * normal_quantile(0.975);
    let spread = error.hypot(next);
    let below = |x: f64| normal_below((x - value) / spread);
    let above = compared.above.map_or(f64::NEG_INFINITY, on_scale);
    let under = compared.below.map_or(f64::INFINITY, on_scale);
    Forecast {
        is_true: (below(under - reach) - below(above + reach)).max(0.0),
        is_false: below(above - reach) + 1.0 - below(under + reach),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn compared(value: f64, reach: f64, above: Option<f64>, below: Option<f64>) -> Compared {
        Compared {
            comparison: String::new(),
            by: ComparisonScale::Difference,
            left: None,
            right: None,
            unit: String::new(),
            value: Some(value),
            value_unit: String::new(),
            low: Some(value - reach),
            high: Some(value + reach),
            above,
            below,
            repeats_differ: false,
            more_packets: None,
            more_repeats: None,
            more_time_ns: None,
            verdict: Verdict::Undecided,
            reason: String::new(),
        }
    }

    fn times(packets: f64) -> Scale {
        Scale {
            packets,
            repeats: 1.0,
        }
    }

    /// At the bound itself, an earlier run that was as large leaves the next one an interval that misses the bound
    /// with P(|Z| > 1.96/√2) = 16.6 %, half to each side.
    #[test]
    fn at_the_bound_more_packets_decide_by_luck() {
        let forecast = of_comparison(&compared(0.0, 1.0, Some(0.0), None), times(1.0));
        assert!((forecast.is_true - 0.0829).abs() < 1e-3, "{forecast:?}");
        assert!((forecast.is_false - 0.0829).abs() < 1e-3, "{forecast:?}");
    }

    #[test]
    fn more_packets_decide_what_is_off_the_bound() {
        let near = compared(0.8, 1.0, Some(0.0), None);
        let chances = [1.0, 4.0, 100.0].map(|k| of_comparison(&near, times(k)).is_true);
        assert!(chances[0] < chances[1] && chances[1] < chances[2]);
        // What the earlier run did not know of the value stays: P(Z < 0.8·1.96).
        assert!((chances[2] - 0.92).abs() < 0.02, "{chances:?}");
    }

    #[test]
    fn repeats_count_where_they_differ() {
        let mut near = compared(0.8, 1.0, Some(0.0), None);
        near.repeats_differ = true;
        assert_eq!(
            of_comparison(&near, times(100.0)),
            of_comparison(&near, times(1.0))
        );
    }

    #[test]
    fn a_band_is_left_on_either_side() {
        let inside = of_comparison(&compared(0.0, 0.1, Some(-1.0), Some(1.0)), times(1.0));
        assert!(inside.is_true > 0.999 && inside.is_false < 1e-6);
        let wide = of_comparison(&compared(0.0, 9.0, Some(-1.0), Some(1.0)), times(1.0));
        assert_eq!(wide.is_true, 0.0);
        assert!(wide.decided() < 0.2, "{wide:?}");
    }

    /// Within 150 % of the other is any ratio up to 2.5.
    #[test]
    fn a_ratio_may_be_bounded_below_zero() {
        let ratio = Compared {
            by: ComparisonScale::Ratio,
            ..compared(1.2, 0.5, Some(-0.5), Some(2.5))
        };
        let forecast = of_comparison(&ratio, times(1.0));
        assert!(
            forecast.is_true > 0.8 && forecast.is_false < 0.01,
            "{forecast:?}"
        );
    }

    #[test]
    fn a_maximum_stays_as_it_was() {
        let mut largest = compared(5.0, 1.0, Some(0.0), None);
        largest.high = None;
        largest.verdict = Verdict::True;
        assert_eq!(of_comparison(&largest, times(2.0)).is_true, 1.0);
        largest.verdict = Verdict::Undecided;
        assert_eq!(of_comparison(&largest, times(2.0)).decided(), 0.0);
    }

    #[test]
    fn claims_are_put_together() {
        let text = "not (sd(response) > 1ms or p50(response) < 1ms) and max(response) > 2ms";
        let claim = crate::finding::Check::parse(text).unwrap().claim;
        let surely = |above: bool| {
            let mut compared = compared(0.0, 0.0, None, None);
            compared.verdict = if above { Verdict::True } else { Verdict::False };
            compared
        };
        let chance = |truths: [bool; 3]| {
            let each = truths.map(surely);
            of_claim(&claim, &mut each.iter(), times(1.0))
        };
        assert_eq!(chance([false, false, true]).is_true, 1.0);
        assert_eq!(chance([true, false, true]).is_false, 1.0);
        assert_eq!(chance([false, false, false]).is_false, 1.0);
    }
}
