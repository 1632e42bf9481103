//! Compares an interval with a bound, and says what would decide an undecided comparison.

use super::evaluate::{Evaluation, ends, finite};
use super::measured::Measured;
use super::plan::{self, Plan, Term};
use super::select::Selection;
use super::steps;
use crate::finding::check::{Beyond, Kind, Operator, Relation, Value, sign};
use crate::finding::dimension::Dimension;
use crate::finding::measure::Measure;
use crate::finding::verdict::{Compared, ComparisonScale, Ends, Evaluated, Verdict};
use delaylab_stats::comparison::{Bounds, Replicates};

/// Do not advise measuring more than this many times as many packets or repeats.
const MAX_FACTOR: f64 = 1000.0;

/// Compares two values. Returns the comparison and the statistics from which the values are computed.
pub(super) fn compare(
    left: &Value,
    relation: &Relation,
    right: &Value,
    within: &Selection,
    measured: &Measured<'_>,
    seed: u64,
) -> (Compared, Vec<Evaluated>) {
    let mut compared = unknown(left, relation, right);
    let mut plan = Plan::default();
    let terms = plan.term(left, within, measured).and_then(|a| {
        let b = plan.term(right, within, measured)?;
        let dimension = plan::common(&a, &b)?;
        Ok((a.0, b.0, dimension))
    });
    let (a, b, dimension) = match terms {
        Ok(terms) => terms,
        Err(why) => {
            (compared.verdict, compared.reason) = (why.verdict, why.reason);
            return (compared, Vec::new());
        }
    };
    let evaluation = Evaluation::new(&plan, measured, seed);
    compared.unit = dimension.to_string();
    let question = ComparisonContext {
        relation,
        measured,
        evaluation: &evaluation,
        scales: is_scale(left) && is_scale(right),
        dimension,
    };
    if let Err(reason) = question.settle(&mut compared, &a, &b) {
        compared.reason = reason;
    }
    // Those that are counted need no word.
    let leaves = plan.leaves.iter();
    let leaves = leaves.filter(|leaf| leaf.measure != Measure::Valid);
    if let Some(invalid) = measured.invalid(leaves.flat_map(|leaf| leaf.streams.iter().copied())) {
        compared.reason = format!("{}; {invalid}", compared.reason);
    }
    (compared, evaluation.evidence())
}

fn unknown(left: &Value, relation: &Relation, right: &Value) -> Compared {
    let comparison = match relation {
        Relation::Is(beyond) => format!("{left} {} {right}", sign(*beyond)),
        Relation::About { within, .. } => format!("{left} ≈ {right} within {}", within.text),
    };
    Compared {
        comparison,
        by: ComparisonScale::Difference,
        left: None,
        right: None,
        unit: Dimension::NUMBER.to_string(),
        value: None,
        value_unit: Dimension::NUMBER.to_string(),
        ends: Ends::default(),
        above: None,
        below: None,
        repeats_differ: false,
        of_trials: false,
        more_packets: None,
        more_repeats: None,
        more_time_ns: None,
        verdict: Verdict::Undecided,
        reason: String::new(),
    }
}

/// Is the value a scale (such as a standard deviation, perhaps times a number)? Two scales are compared by their ratio.
fn is_scale(value: &Value) -> bool {
    match value {
        Value::Statistic(statistic) => {
            matches!(statistic.kind, Kind::Of(functional, _) if functional.is_scale())
        }
        Value::Binary(Operator::Times, a, b) => {
            (is_scale(a) && is_number(b)) || (is_number(a) && is_scale(b))
        }
        Value::Binary(Operator::Over, a, b) => is_scale(a) && is_number(b),
        _ => false,
    }
}

const fn is_number(value: &Value) -> bool {
    matches!(value, Value::Number(_))
}

/// The range of a difference or ratio in which a comparison is true: above `above` and below `below`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Range {
    above: Option<f64>,
    below: Option<f64>,
    /// Whether the bounds belong to the range.
    closed: bool,
}

impl Range {
    /// The range for a relation. `centre`: 0 for a difference, 1 for a ratio.
    fn new(relation: &Relation, centre: f64) -> Self {
        let (above, below, closed) = match relation {
            Relation::Is(Beyond::Less) => (None, Some(centre), false),
            Relation::Is(Beyond::AtMost) => (None, Some(centre), true),
            Relation::Is(Beyond::More) => (Some(centre), None, false),
            Relation::Is(Beyond::AtLeast) => (Some(centre), None, true),
            Relation::About { within, .. } => (
                Some(centre - within.value),
                Some(centre + within.value),
                true,
            ),
        };
        Self {
            above,
            below,
            closed,
        }
    }

    fn holds(&self, bounds: &Bounds) -> Verdict {
        let over = |x: f64, bound: f64| x > bound || (self.closed && x == bound);
        let inside = self.above.is_none_or(|above| over(bounds.low, above))
            && self.below.is_none_or(|below| over(below, bounds.high));
        let outside = self.above.is_some_and(|above| !over(bounds.high, above))
            || self.below.is_some_and(|below| !over(below, bounds.low));
        match (inside, outside) {
            (true, _) => Verdict::True,
            (_, true) => Verdict::False,
            _ => Verdict::Undecided,
        }
    }

    /// By which factor the interval is too wide: the distance from the value to the interval's end, over the
    /// distance from the value to the bound inside the interval. At least 1.
    fn excess(&self, value: f64, bounds: &Bounds) -> f64 {
        let ends = self.above.into_iter().chain(self.below);
        let over = ends.filter(|bound| bounds.low <= *bound && *bound <= bounds.high);
        over.map(|bound| {
            let reach = if bound < value {
                value - bounds.low
            } else {
                bounds.high - value
            };
            reach / (value - bound).abs()
        })
        .fold(1.0, f64::max)
    }
}

/// How to compare two terms.
struct ComparisonContext<'a> {
    relation: &'a Relation,
    measured: &'a Measured<'a>,
    evaluation: &'a Evaluation<'a>,
    scales: bool,
    dimension: Dimension,
}

impl ComparisonContext<'_> {
    fn settle(&self, compared: &mut Compared, a: &Term, b: &Term) -> Result<(), String> {
        self.check_unit()?;
        if let (Some(none), Term::Constant(claimed)) = (self.evaluation.without_steps(a), b) {
            compared.right = finite(*claimed);
            (compared.verdict, compared.reason) = steps::absent(none, self.relation, *claimed);
            return Ok(());
        }
        if let (Term::Constant(claimed), Some(none)) = (a, self.evaluation.without_steps(b)) {
            compared.left = finite(*claimed);
            let turned = self.relation.turned_round();
            (compared.verdict, compared.reason) = steps::absent(none, &turned, *claimed);
            return Ok(());
        }
        let found = self.by_intervals(compared, a, b);
        let is_open = compared.ends.low.is_none() || compared.ends.high.is_none();
        if compared.verdict == Verdict::Undecided && is_open {
            return self.by_sure_ends(compared, a, b).map_or(found, Ok);
        }
        found
    }

    fn by_intervals(&self, compared: &mut Compared, a: &Term, b: &Term) -> Result<(), String> {
        let evaluation = self.evaluation;
        let ends = [a, b].map(|term| evaluation.possible(term));
        let unseen: Vec<String> = [a, b]
            .iter()
            .filter_map(|term| evaluation.unseen(term))
            .collect();
        let is_bound = [a, b].iter().any(|term| matches!(term, Term::Constant(_)));
        let is_r2 = [a, b].map(|term| evaluation.is_r2(term));
        let (a, b) = (evaluation.replicates(a)?, evaluation.replicates(b)?);
        (compared.left, compared.right) = (finite(a.value), finite(b.value));
        compared.by = self.by(&a, &b)?;
        let (bounds, operator, value) = interval_by(compared.by, &a, &b, evaluation)?;
        let bounds = within(bounds, ends::result(operator, ends[0], ends[1]));
        let equal = match compared.by {
            ComparisonScale::Difference => 0.0,
            ComparisonScale::Ratio => 1.0,
        };
        let range = Range::new(self.relation, equal);
        compared.value_unit = self.value_dimension(compared.by).to_string();
        compared.value = finite(value);
        compared.ends = Ends::finite(bounds.low, bounds.high);
        (compared.above, compared.below) = (range.above, range.below);
        compared.repeats_differ = bounds.repeats_differ;
        compared.of_trials = bounds.is_of_trials();
        compared.verdict = range.holds(&bounds);
        let mut r2 = is_r2.into_iter().zip([a.value, b.value]);
        let r2 = r2.find_map(|(is_r2, value)| is_r2.then_some(value));
        let reach = (value - bounds.low).max(bounds.high - value);
        let power = power_of(!unseen.is_empty() && is_bound, r2, reach);
        let excess = range.excess(value, &bounds).powi(power);
        let undecided = compared.verdict == Verdict::Undecided;
        if undecided && excess < MAX_FACTOR && bounds.low.is_finite() && bounds.high.is_finite() {
            self.more(compared, &bounds, excess);
        }
        compared.reason = self.reason(compared, &bounds, value);
        for clause in unseen {
            compared.reason.push_str("; ");
            compared.reason.push_str(&clause);
        }
        if compared.verdict == Verdict::Undecided {
            let settle = self.what_would_settle(compared, &bounds);
            compared.reason.push_str(&settle);
        }
        Ok(())
    }

    /// Decides by the ends between which both sides surely are, where an interval is missing; `None` where these leave it open.
    fn by_sure_ends(&self, compared: &mut Compared, a: &Term, b: &Term) -> Option<()> {
        let ends = [a, b].map(|term| self.evaluation.sure_ends(term));
        let is_share = matches!(self.relation, Relation::About { relative: true, .. });
        let (by, operator, centre) = match is_share {
            true => (ComparisonScale::Ratio, Operator::Over, 1.0),
            false => (ComparisonScale::Difference, Operator::Minus, 0.0),
        };
        if is_share && ends.iter().any(|(low, _)| *low <= 0.0) {
            return None;
        }
        let (low, high) = ends::result(operator, ends[0], ends[1]);
        let range = Range::new(self.relation, centre);
        let verdict = range.holds(&Bounds {
            low,
            high,
            repeats_differ: false,
            degrees: 0,
            from_packets: 1.0,
            packets: None,
        });
        let [left, right] = [a, b].map(|term| self.evaluation.value(term));
        let value = operator.apply(left, right);
        if verdict == Verdict::Undecided || !value.is_finite() {
            return None;
        }
        let unit = self.value_dimension(by);
        (compared.left, compared.right) = (finite(left), finite(right));
        (compared.by, compared.value_unit) = (by, unit.to_string());
        (compared.value, compared.ends) = (finite(value), Ends::finite(low, high));
        (compared.above, compared.below) = (range.above, range.below);
        (compared.repeats_differ, compared.of_trials) = (false, false);
        compared.verdict = verdict;
        compared.reason = format!(
            "{} against {}: the {} is {} and surely {}: the values came and went too seldom for an interval, but often enough \
             for that",
            self.dimension.format(left),
            self.dimension.format(right),
            by_name(by),
            unit.format(value),
            between(unit, low, high),
        );
        Some(())
    }

    /// Sets the number of further packets or repeats that would decide the comparison. More packets reduce only their
    /// part of the variance, and none where each trial has one number; more repeats reduce all of it.
    fn more(&self, compared: &mut Compared, bounds: &Bounds, excess: f64) {
        let evaluation = self.evaluation;
        let packets = packets_that_settle(bounds.from_packets, excess);
        let (count, of_series) = (evaluation.count(), evaluation.has_series());
        let packets = packets.filter(|_| !bounds.repeats_differ && !of_series && count > 0);
        let times = match packets {
            Some(times) => {
                let more = times * count as f64;
                compared.more_packets = Some(two_digits(more));
                times
            }
            None if evaluation.repeats_are_copies() => return,
            None => {
                let repeats = self.measured.repeats();
                let more = ((excess - 1.0).max(0.1) * repeats as f64).ceil().max(1.0);
                compared.more_repeats = Some(two_digits(more));
                more / repeats as f64
            }
        };
        let taken = self.measured.time_taken();
        compared.more_time_ns = taken.map(|taken| (taken.ns * times) as u64);
    }

    fn check_unit(&self) -> Result<(), String> {
        match self.relation {
            Relation::About {
                within,
                relative: false,
            } if within.dimension != self.dimension => {
                let (wanted, found) = (self.dimension, within.dimension);
                Err(format!("{wanted} cannot be within a number of {found}"))
            }
            _ => Ok(()),
        }
    }

    /// Compare by ratio or by difference? By ratio for two scales and for `≈ … within 5 %`, if nearly all resamples
    /// of both values are positive. If not, scales are compared by difference, and `≈ … within 5 %` is an error unless
    /// the values are equal.
    fn by(&self, a: &Replicates, b: &Replicates) -> Result<ComparisonScale, String> {
        // Two values that are equal beyond doubt are within any share of each other, also where both are 0.
        let are_equal = || {
            let difference = Replicates::combine(&[a, b], |x| x[0] - x[1]);
            let bounds = self.evaluation.interval(&difference);
            bounds.is_ok_and(|bounds| bounds.low == 0.0 && bounds.high == 0.0)
        };
        let positive = a.is_positive() && b.is_positive();
        match self.relation {
            Relation::Is(_) if self.scales && positive => Ok(ComparisonScale::Ratio),
            Relation::Is(_) => Ok(ComparisonScale::Difference),
            Relation::About {
                relative: false, ..
            } => Ok(ComparisonScale::Difference),
            Relation::About { .. } if positive => Ok(ComparisonScale::Ratio),
            Relation::About { .. } if are_equal() => Ok(ComparisonScale::Difference),
            Relation::About { .. } => Err(format!(
                "{} and {} are not both clearly above zero, so that neither is a share of the other",
                self.dimension.format(a.value),
                self.dimension.format(b.value)
            )),
        }
    }

    fn value_dimension(&self, by: ComparisonScale) -> Dimension {
        match by {
            ComparisonScale::Difference => self.dimension,
            ComparisonScale::Ratio => Dimension::NUMBER,
        }
    }

    /// The reason of a verdict: "12 ms against 11 ms: the difference is 1 ms, at 95 % from 0.4 ms to 1.6 ms".
    fn reason(&self, compared: &Compared, bounds: &Bounds, value: f64) -> String {
        let side =
            |value: Option<f64>| value.map_or("infinity".to_owned(), |x| self.dimension.format(x));
        let (left, right) = (side(compared.left), side(compared.right));
        let unit = self.value_dimension(compared.by);
        let name = by_name(compared.by);
        let value = unit.format(value);
        let repeats = match (compared.repeats_differ, compared.of_trials) {
            (true, _) => {
                " (from the spread of repeats, which differ by more than their packets allow for)"
            }
            (false, true) => " (from the spread of trials, each as one value)",
            (false, false) => "",
        };
        let ends = between(unit, bounds.low, bounds.high);
        format!("{left} against {right}: the {name} is {value}, at 95 % {ends}{repeats}")
    }

    fn what_would_settle(&self, compared: &Compared, bounds: &Bounds) -> String {
        let evaluation = self.evaluation;
        if !(bounds.low.is_finite() && bounds.high.is_finite()) {
            return match (evaluation.open_end(), evaluation.has_extreme()) {
                (Some(why), _) => format!("; {why}"),
                (None, true) => "; how extreme it may become, only repeats can tell".to_owned(),
                (None, false) => "; what it is divided by may be 0".to_owned(),
            };
        }
        let time = self.measured.time_taken().zip(compared.more_time_ns);
        let time = time.map_or_else(String::new, |(taken, ns)| {
            format!(" ({})", taken.in_words(ns as f64))
        });
        match (compared.more_packets, compared.more_repeats) {
            (Some(more), _) => format!("; about {more} more packets{time} would settle it"),
            (None, Some(1)) => format!("; about one more repeat{time} would settle it"),
            (None, Some(more)) => format!("; about {more} more repeats{time} would settle it"),
            (None, None) if evaluation.repeats_are_copies() => {
                "; nothing in this simulation is random, so more repeats would be the same: longer trials may settle it".to_owned()
            }
            (None, None) => {
                "; that is too close to the bound for any reasonable number of packets or repeats"
                    .to_owned()
            }
        }
    }
}

const fn by_name(by: ComparisonScale) -> &'static str {
    match by {
        ComparisonScale::Difference => "difference",
        ComparisonScale::Ratio => "ratio",
    }
}

/// The interval of a comparison by difference or by ratio, the operation, and its result.
fn interval_by(
    by: ComparisonScale,
    a: &Replicates,
    b: &Replicates,
    evaluation: &Evaluation<'_>,
) -> Result<(Bounds, Operator, f64), String> {
    match by {
        ComparisonScale::Difference => {
            let difference = Replicates::combine(&[a, b], |x| x[0] - x[1]);
            let bounds = evaluation.interval(&difference)?;
            Ok((bounds, Operator::Minus, difference.value))
        }
        ComparisonScale::Ratio => {
            let logarithm = Replicates::combine(&[a, b], |x| (x[0] / x[1]).ln());
            let bounds = evaluation.interval(&logarithm)?;
            let exponential = Bounds {
                low: bounds.low.exp(),
                high: bounds.high.exp(),
                ..bounds
            };
            Ok((exponential, Operator::Over, a.value / b.value))
        }
    }
}

/// "from 1 ms to 2 ms", "at least 1 ms".
fn between(unit: Dimension, low: f64, high: f64) -> String {
    let [from, to] = [low, high].map(|end| unit.format(end));
    match (low.is_finite(), high.is_finite()) {
        (true, false) => format!("at least {from}"),
        (false, true) => format!("at most {to}"),
        _ => format!("from {from} to {to}"),
    }
}

/// How many times the present packets to add in each trial. `share`: the part of the variance that comes from packets;
/// `excess`: the factor by which the variance is too large. `None` if no reasonable number would do.
fn packets_that_settle(share: f64, excess: f64) -> Option<f64> {
    let left = 1.0 / excess - (1.0 - share);
    (left > 0.0)
        .then(|| (share / left - 1.0).max(0.1))
        .filter(|more| *more < MAX_FACTOR)
}

/// By which power of the ratio of two lengths of an interval it needs more values. An error shrinks as the root of their number:
/// by the second. `is_unseen`: with none in n values, up to 3 in n are possible, which shrinks as the values grow. So does
/// what an R² lacks of 1 where that is noise: its interval then reaches far below a value near 1.
fn power_of(is_unseen: bool, r2: Option<f64>, reach: f64) -> i32 {
    /// As many times as far as the value is from 1.
    const FAR: f64 = 3.0;
    let is_noise = r2.is_some_and(|r2| reach > FAR * (1.0 - r2));
    match is_unseen || is_noise {
        true => 1,
        false => 2,
    }
}

/// Without what is not possible.
fn within(bounds: Bounds, (least, most): (f64, f64)) -> Bounds {
    Bounds {
        low: bounds.low.max(least),
        high: bounds.high.min(most),
        ..bounds
    }
}

/// Rounded up.
pub(crate) fn two_digits(count: f64) -> u64 {
    let unit = 10_f64.powf((count.max(1.0).log10().floor() - 1.0).max(0.0));
    ((count / unit).ceil() * unit) as u64
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn bounds(low: f64, high: f64) -> Bounds {
        Bounds {
            low,
            high,
            repeats_differ: false,
            degrees: 1000,
            from_packets: 1.0,
            packets: None,
        }
    }

    #[test]
    fn an_interval_on_one_side_tells() {
        use Verdict::*;
        for (beyond, low, high, verdict) in [
            (Beyond::Less, -2.0, -1.0, True),
            (Beyond::Less, -2.0, 1.0, Undecided),
            (Beyond::Less, 1.0, 2.0, False),
            (Beyond::Less, 0.0, 0.0, False),
            (Beyond::AtMost, 0.0, 0.0, True),
            (Beyond::AtMost, 0.0, 1.0, Undecided),
            (Beyond::More, 0.0, 0.0, False),
            (Beyond::More, 0.0, 1.0, Undecided),
            (Beyond::More, 1.0, f64::INFINITY, True),
            (Beyond::AtLeast, 0.0, 1.0, True),
            (Beyond::AtLeast, -1.0, f64::INFINITY, Undecided),
        ] {
            let range = Range::new(&Relation::Is(beyond), 0.0);
            assert_eq!(
                range.holds(&bounds(low, high)),
                verdict,
                "{beyond:?} {low} {high}"
            );
        }
    }

    #[test]
    fn about_is_between() {
        let range = Range {
            above: Some(0.95),
            below: Some(1.05),
            closed: true,
        };
        assert_eq!(range.holds(&bounds(0.96, 1.04)), Verdict::True);
        assert_eq!(range.holds(&bounds(0.9, 1.0)), Verdict::Undecided);
        assert_eq!(range.holds(&bounds(1.06, 1.2)), Verdict::False);
        assert!((range.excess(1.0, &bounds(0.8, 1.2)) - 4.0).abs() < 1e-9);
    }

    /// Of four fifths of the variance packets can make less, the rest stays.
    #[test]
    fn packets_settle_only_what_they_are_of() {
        let near = |more: Option<f64>, expected: f64| (more.unwrap() - expected).abs() < 1e-9;
        assert!(near(packets_that_settle(1.0, 4.0), 3.0));
        assert!(near(packets_that_settle(0.8, 2.0), 5.0 / 3.0));
        assert_eq!(packets_that_settle(0.8, 5.0), None);
        assert_eq!(packets_that_settle(0.1, 2.0), None);
    }

    #[test]
    fn what_noise_takes_of_an_r2_shrinks_as_packets_grow() {
        assert_eq!(power_of(false, None, 1.0), 2);
        assert_eq!(power_of(true, None, 1.0), 1);
        assert_eq!(power_of(false, Some(0.999), 0.3), 1);
        // A curve that is no line.
        assert_eq!(power_of(false, Some(0.9), 0.05), 2);
    }

    #[test]
    fn four_times_the_packets_halve_an_interval() {
        let range = Range::new(&Relation::Is(Beyond::More), 0.0);
        assert_eq!(range.excess(1.0, &bounds(-1.0, 3.0)), 2.0);
        assert_eq!(two_digits(1234.0), 1300);
        assert_eq!(two_digits(3.2), 4);
    }
}
