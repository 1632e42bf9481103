//! How likely a planned run is to decide a finding, from the results of an earlier run.
//!
//! Each comparison of the earlier run has a value and an interval, whose two ends may be at different distances. With k
//! times as many observations each distance is 1/√k as long. The next value varies around the earlier one, with the
//! errors of both runs: this is the *assurance* of O'Hagan, Stevens and Campbell (2005), not the power at a value assumed
//! to be true. The comparisons of one claim are treated as independent.
//!
//! Where whole trials say how much a value varies, observations are repeats, and else packets. An undecided comparison of
//! which an end of the interval is not known has no forecast: where the end would be, the earlier run does not tell.
//!
//! A share of which no value was an example has the interval of the rule of three, 0 to 3/n. What is drawn there is the
//! next count: the number to expect in n values is exponential with mean 1, so that at least j come among k·n values with
//! a chance of (k/(k+1))^j. The interval of a count is that of Wilson's score, and of none again 0 to 3/(k·n).

use super::check::{Claim, Value};
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

/// Probabilities of the verdicts on one finding, 0 to 1; what they lack of 1 is that of `undecided`.
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
    /// Of a verdict that stays what it is.
    fn certain(verdict: Verdict) -> Self {
        let chance = |it| f64::from(u8::from(verdict == it));
        Self {
            is_true: chance(Verdict::True),
            is_false: chance(Verdict::False),
        }
    }

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
/// in that run, or if it left a comparison open ([`left_open`]).
pub fn forecast(finding: &Finding, judged: &Judged, scale: Scale) -> Option<Forecast> {
    let is_applicable = judged.verdict != Verdict::NotApplicable;
    if finding.text != judged.check || !is_applicable || left_open(judged).is_some() {
        return None;
    }
    let applicable = judged.parts.iter();
    let applicable = applicable.filter(|part| part.verdict != Verdict::NotApplicable);
    let each = applicable.map(|part| of_part(&finding.check.claim, part, scale));
    Some(Forecast::all(each))
}

/// Why an end of an interval was not known, of a finding that is undecided for it: how it will be with more packets, repeats
/// or levels, that run does not tell.
pub fn left_open(judged: &Judged) -> Option<&str> {
    let undecided = judged.verdict == Verdict::Undecided;
    let mut compared = judged.parts.iter().flat_map(|part| &part.comparisons);
    let open = compared.find(|compared| {
        let is_open = compared.ends.low.is_none() || compared.ends.high.is_none();
        compared.verdict == Verdict::Undecided && is_open
    });
    open.filter(|_| undecided)
        .map(|compared| compared.reason.as_str())
}

fn of_part(claim: &Claim, part: &Part, scale: Scale) -> Forecast {
    let forecast = of_claim(claim, &mut part.comparisons.iter(), scale);
    forecast.unwrap_or(Forecast::certain(Verdict::NotApplicable))
}

/// `compared`: the comparisons in the order in which they appear in the claim. `None` where nothing of it was there.
fn of_claim<'a>(
    claim: &Claim,
    compared: &mut impl Iterator<Item = &'a Compared>,
    scale: Scale,
) -> Option<Forecast> {
    match claim {
        Claim::All(claims) => {
            let each: Vec<_> = (claims.iter())
                .map(|claim| of_claim(claim, compared, scale))
                .collect();
            of_all(&each)
        }
        // What is not there leaves it to the others.
        Claim::Any(claims) => {
            let each: Vec<_> = (claims.iter())
                .map(|claim| of_claim(claim, compared, scale))
                .collect();
            let there: Vec<_> = each.into_iter().flatten().map(Forecast::not).collect();
            (!there.is_empty()).then(|| Forecast::all(there).not())
        }
        Claim::Not(inner) => of_claim(inner, compared, scale).map(Forecast::not),
        Claim::Compare(comparison) => {
            let sides = comparison.pairs().map(|(left, _, right)| (left, right));
            let each = sides.zip(compared).map(|(sides, compared)| {
                let is_there = compared.verdict != Verdict::NotApplicable;
                is_there.then(|| of_comparison(sides, compared, scale))
            });
            of_all(&each.collect::<Vec<_>>())
        }
    }
}

/// Of claims that all have to hold, of which some may be about what is not there.
fn of_all(each: &[Option<Forecast>]) -> Option<Forecast> {
    let absent = Forecast::certain(Verdict::NotApplicable);
    let is_there = each.iter().any(Option::is_some);
    is_there.then(|| Forecast::all(each.iter().map(|forecast| forecast.unwrap_or(absent))))
}

fn of_comparison(sides: (&Value, &Value), compared: &Compared, scale: Scale) -> Forecast {
    let times = match compared.repeats_differ || compared.of_trials {
        true => scale.repeats,
        false => scale.packets,
    };
    let Some(found) = Found::new(sides, compared) else {
        return Forecast::certain(compared.verdict);
    };
    let above = (compared.above).map_or([0.0, 1.0], |bound| found.chances(bound, times));
    let below = (compared.below).map_or([1.0, 0.0], |bound| found.chances(bound, times));
    Forecast {
        is_true: (below[0] + above[1] - 1.0).max(0.0),
        is_false: (above[0] + below[1]).min(1.0),
    }
}

/// What an earlier run found: a value, and how far the ends of its interval are from it.
struct Found {
    by: ComparisonScale,
    value: f64,
    down: f64,
    up: f64,
    /// Is it a share of which no value, or every value, was an example, and a constant?
    is_unseen: bool,
}

/// Is it a share of none or of all?
fn is_edge(side: &Value, value: Option<f64>) -> bool {
    let is_share = matches!(side, Value::Statistic(statistic) if statistic.is_share());
    is_share && [Some(0.0), Some(1.0)].contains(&value)
}

impl Found {
    /// `None` where there is no interval, or nothing varies. What is true or false whatever the missing end is, is taken to
    /// reach as far to that side as to the other.
    fn new((left, right): (&Value, &Value), compared: &Compared) -> Option<Self> {
        let on_scale = |x| on_scale(compared.by, x);
        let value = on_scale(compared.value?);
        let down = (compared.ends.low).map(|low| (value - on_scale(low)).max(0.0));
        let up = (compared.ends.high).map(|high| (on_scale(high) - value).max(0.0));
        let is_decided = compared.verdict != Verdict::Undecided;
        let (down, up) = match (down, up) {
            (Some(down), Some(up)) => (down, up),
            (Some(known), None) | (None, Some(known)) if is_decided => (known, known),
            _ => return None,
        };
        let is_edge = is_edge(left, compared.left) || is_edge(right, compared.right);
        let found = Self {
            by: compared.by,
            value,
            down,
            up,
            is_unseen: is_edge && down.min(up) == 0.0,
        };
        let width = down + up;
        (width.is_finite() && width > 0.0).then_some(found)
    }

    /// The chances that the interval of a run that is this many times as large is all below a bound, and all above it.
    fn chances(&self, bound: f64, times: f64) -> [f64; 2] {
        let distance = on_scale(self.by, bound) - self.value;
        if !self.is_unseen {
            let shrunk = times.sqrt();
            let (down, up) = (self.down / shrunk, self.up / shrunk);
            let below = |distance: f64| self.is_below(distance, times);
            return [below(distance - up), 1.0 - below(distance + down)];
        }
        if self.up > 0.0 {
            next_count(distance / self.up, times)
        } else {
            let [nearer, beyond] = next_count(-distance / self.down, times);
            [beyond, nearer]
        }
    }

    /// The chance that the next value is less than the earlier one and this.
    fn is_below(&self, distance: f64, times: f64) -> f64 {
        let reach = if distance > 0.0 { self.up } else { self.down };
        let error = reach / normal_quantile(0.975);
        let spread = error.hypot(error / times.sqrt());
        match spread > 0.0 {
            true => normal_below(distance / spread),
            false => f64::from(distance > 0.0),
        }
    }
}

/// With none in the values of an earlier run, whose interval ends at 1: the chances that the interval of `times` as many
/// values ends below `bound`, and that it begins above.
fn next_count(bound: f64, times: f64) -> [f64; 2] {
    const UNSEEN: f64 = 3.0;
    if bound < 0.0 {
        return [0.0, 1.0];
    }
    let at_least = |count: f64| (times / (times + 1.0)).powf(count);
    let expected = UNSEEN * times * bound;
    let reach = normal_quantile(0.975) * expected.sqrt();
    let none_is_below = if expected > UNSEEN { 1.0 } else { 0.0 };
    let first_not_below = (expected - reach).ceil().max(none_is_below);
    let first_above = (expected + reach).floor() + 1.0;
    [1.0 - at_least(first_not_below), at_least(first_above)]
}

/// Ratios are compared on a logarithmic scale. None is below 0, though a share of more than all may be allowed.
fn on_scale(by: ComparisonScale, x: f64) -> f64 {
    match by {
        ComparisonScale::Difference => x,
        ComparisonScale::Ratio => x.max(0.0).ln(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::verdict::Ends;
    use super::*;
    use delaylab_model::experiment::FindingSection;

    fn compared(value: f64, reach: f64, above: Option<f64>, below: Option<f64>) -> Compared {
        Compared {
            comparison: String::new(),
            by: ComparisonScale::Difference,
            left: None,
            right: None,
            unit: String::new(),
            value: Some(value),
            value_unit: String::new(),
            ends: Ends::finite(value - reach, value + reach),
            above,
            below,
            repeats_differ: false,
            of_trials: false,
            more_packets: None,
            more_repeats: None,
            more_time_ns: None,
            verdict: Verdict::Undecided,
            reason: String::new(),
        }
    }

    /// Of a comparison with this check's two sides.
    fn forecast_of(check: &str, compared: &Compared, scale: Scale) -> Forecast {
        let claim = crate::finding::Check::parse(check).unwrap().claim;
        of_claim(&claim, &mut std::iter::once(compared), scale).unwrap()
    }

    #[test]
    fn an_alternative_that_is_not_there_decides_nothing() {
        let absent = Compared {
            verdict: Verdict::NotApplicable,
            value: None,
            ..compared(0.0, 1.0, None, None)
        };
        let failing = Compared {
            verdict: Verdict::False,
            ..compared(-5.0, 0.1, Some(0.0), None)
        };
        let of = |check: &str| {
            let claim = crate::finding::Check::parse(check).unwrap().claim;
            of_claim(&claim, &mut [&absent, &failing].into_iter(), times(1.0))
        };
        let either = of("p50(response) > 1ms or p50(delay) > 1ms").unwrap();
        assert!(either.is_false > 0.99, "{either:?}");
        let both = of("p50(response) > 1ms and p50(delay) > 1ms").unwrap();
        assert!(both.is_false > 0.99, "{both:?}");
        assert_eq!(of("p50(response) > 1ms"), None);
    }

    fn of_comparison(compared: &Compared, scale: Scale) -> Forecast {
        forecast_of("p50(response) > 1ms", compared, scale)
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
        let by_repeats =
            |near: &Compared| of_comparison(near, times(100.0)) == of_comparison(near, times(1.0));
        assert!(!by_repeats(&near));
        near.repeats_differ = true;
        assert!(by_repeats(&near));
        (near.repeats_differ, near.of_trials) = (false, true);
        assert!(by_repeats(&near));
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

    /// It is beyond the bound already, and can but become larger.
    #[test]
    fn a_maximum_stays_as_it_was() {
        let mut largest = compared(5.0, 0.0, Some(0.0), None);
        largest.ends.high = None;
        largest.verdict = Verdict::True;
        assert_eq!(of_comparison(&largest, times(2.0)).is_true, 1.0);
    }

    /// p99 of a few hundred packets has a lower end alone. True by that end, it may be so by a hair; undecided, it says nothing
    /// of a run with enough packets for both ends.
    #[test]
    fn an_interval_with_one_end_is_no_promise() {
        let mut quantile = compared(1.1, 1.0, Some(0.0), None);
        (quantile.ends.high, quantile.verdict) = (None, Verdict::True);
        let near = of_comparison(&quantile, times(1.0)).is_true;
        assert!((0.5..0.7).contains(&near), "{near}");

        let check = "p99(response) < 5ms";
        let finding = Finding::read(&FindingSection {
            id: "p99".to_owned(),
            says: "The tail is short".to_owned(),
            check: check.to_owned(),
            printed: None,
        });
        let finding = finding.unwrap();
        let judged = |verdict: Verdict| Judged {
            id: "p99".to_owned(),
            says: String::new(),
            check: check.to_owned(),
            verdict,
            reason: String::new(),
            parts: vec![Part {
                levels: Vec::new(),
                verdict,
                reason: String::new(),
                statistics: Vec::new(),
                comparisons: vec![Compared {
                    ends: Ends::finite(-0.5, f64::INFINITY),
                    verdict,
                    reason: "more packets are needed".to_owned(),
                    ..compared(0.5, 1.0, None, Some(0.0))
                }],
            }],
        };
        let undecided = judged(Verdict::Undecided);
        assert_eq!(left_open(&undecided), Some("more packets are needed"));
        assert_eq!(forecast(&finding, &undecided, times(100.0)), None);
        let decided = judged(Verdict::False);
        assert_eq!(left_open(&decided), None);
        assert!(forecast(&finding, &decided, times(100.0)).is_some());
    }

    /// Of none of 1000 lost, the interval ends at 3/1000. As many packets again cannot end it below 1/1000; ten times as
    /// many do with at most 3 lost, thirty times with at most 19.
    #[test]
    fn what_was_never_seen_is_counted() {
        let none = |share: f64, bound: f64, reach: [f64; 2]| Compared {
            left: Some(share),
            right: Some(bound),
            ends: Ends::finite(share - bound - reach[0], share - bound + reach[1]),
            ..compared(share - bound, 0.0, None, Some(0.0))
        };
        let lost = none(0.0, 1e-3, [0.0, 3e-3]);
        let check = "share(lost > 0) < 0.1 %";
        for (k, is_true) in [
            (1.0, 0.0),
            (10.0, 1.0 - (10.0_f64 / 11.0).powi(4)),
            (30.0, 1.0 - (30.0_f64 / 31.0).powi(20)),
        ] {
            let forecast = forecast_of(check, &lost, times(k));
            assert!(
                (forecast.is_true - is_true).abs() < 1e-9,
                "{k}: {forecast:?}"
            );
        }
        // All that arrived is the same the other way round.
        let all = Compared {
            above: Some(0.0),
            below: None,
            ..none(1.0, 0.999, [3e-3, 0.0])
        };
        let mirrored = forecast_of("share(response > 0) > 99.9 %", &all, times(10.0));
        let forecast = forecast_of(check, &lost, times(10.0));
        assert!((mirrored.is_true - forecast.is_true).abs() < 1e-9);
        assert!((mirrored.is_false - forecast.is_false).abs() < 1e-9);
        // Even one packet shows that some are lost.
        let any = Compared {
            above: Some(0.0),
            below: None,
            ..none(0.0, 0.0, [0.0, 3e-3])
        };
        let forecast = forecast_of("mean(lost) > 0", &any, times(1.0));
        assert_eq!((forecast.is_true, forecast.is_false), (0.5, 0.0));
    }

    /// Of 10 ms, between 9 and 20, the next upper end is as far from its value again: 15 ms are out of reach.
    #[test]
    fn an_interval_reaches_further_to_one_side() {
        let skewed = Compared {
            ends: Ends::finite(-6.0, 5.0),
            ..compared(-5.0, 0.0, None, Some(0.0))
        };
        let chances = [1.0, 4.0, 100.0].map(|k| of_comparison(&skewed, times(k)));
        assert!(chances[0].is_true < 0.01, "{chances:?}");
        assert!(chances[2].is_true > 0.7, "{chances:?}");
        // To the other side an end is near, and a bound there is seldom passed.
        assert!(
            chances.iter().all(|chance| chance.is_false < 0.25),
            "{chances:?}"
        );
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
            of_claim(&claim, &mut each.iter(), times(1.0)).unwrap()
        };
        assert_eq!(chance([false, false, true]).is_true, 1.0);
        assert_eq!(chance([true, false, true]).is_false, 1.0);
        assert_eq!(chance([false, false, false]).is_false, 1.0);
    }
}
