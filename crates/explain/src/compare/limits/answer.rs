//! From what was judged to an answer, and its sentence.

use super::{LimitResult, Outcome};
use crate::compare::both::{RUN, RUNS};
use crate::compare::words::{how_sure, of_losses};
use delaylab_lab::finding::Measure;
use delaylab_lab::finding::check::{Beyond, Bound, Kind, Limit};
use delaylab_lab::finding::dimension::Dimension;
use delaylab_lab::finding::verdict::{Compared, ComparisonScale, Evaluated, Part};
use delaylab_model::interval::Interval;
use delaylab_model::units::{format_share, format_signed_share, sign};
use delaylab_stats::comparison::Bounds;

/// A value and the interval around it; an end that nothing bounds is infinite.
#[derive(Clone, Copy)]
struct Estimate {
    value: f64,
    low: f64,
    high: f64,
    /// As [`Bounds::packets`].
    packets: Option<f64>,
}

impl Estimate {
    const fn new(value: f64, low: f64, high: f64) -> Self {
        Self {
            value,
            low,
            high,
            packets: None,
        }
    }

    /// With this interval instead.
    const fn with(self, tabled: &Bounds) -> Self {
        Self {
            packets: tabled.packets,
            ..Self::new(self.value, tabled.low, tabled.high)
        }
    }

    /// The same, unless nothing varies: of the same simulation in both runs tables do not know that.
    fn within(self, tabled: Option<&Bounds>) -> Self {
        let tabled = tabled.filter(|_| self.low < self.high);
        tabled.map_or(self, |tabled| self.with(tabled))
    }

    fn interval(self) -> Option<Interval> {
        let found = Interval::bounded(self.low, self.high)?;
        Some(found.of_packets(self.packets))
    }
}

/// What is asked of each part.
pub(super) struct Question<'a> {
    pub(super) limit: &'a Limit,
}

impl Question<'_> {
    /// `tabled`: the interval of the same change in a table.
    pub(super) fn answer(
        &self,
        part: Part,
        tabled: Option<&Bounds>,
    ) -> Result<LimitResult, String> {
        let [a, b] = RUNS.map(|run| in_run(&part.statistics, run));
        let a = match self.limit.bound {
            Bound::Value(_) => None,
            Bound::Change(_) | Bound::Share(_) => a,
        };
        let Some(b) = b else {
            return Err(of_two_runs(&part.reason));
        };
        let values = [a.and_then(|a| a.value), b.value];
        let compared = part.comparisons.first();
        let estimate = compared.and_then(|compared| self.estimate(compared, values));
        let own = matches!(self.limit.bound, Bound::Value(_));
        let estimate = estimate.map(|estimate| estimate.within(tabled.filter(|_| !own)));
        let estimate = estimate.or_else(|| self.tabled(values, tabled?));
        let estimate = self.fact(b).or(estimate);
        let unit = b.unit.clone();
        self.agree(&unit)?;
        let of_trials = match tabled {
            Some(bounds) => bounds.is_of_trials(),
            None => compared.is_some_and(|compared| compared.of_trials),
        };
        let (outcome, reason) = match estimate {
            Some(estimate) => {
                let outcome = self.outcome(estimate);
                let reason = self.sentence(values, &unit, (estimate, of_trials), outcome);
                (outcome, reason)
            }
            None => (Outcome::Undecided, self.doubt(&part.reason)),
        };
        Ok(LimitResult {
            limit: self.limit.to_string(),
            levels: part.levels,
            outcome,
            value_unit: match self.limit.bound {
                Bound::Share(_) => Dimension::NUMBER.to_string(),
                Bound::Value(_) | Bound::Change(_) => unit.clone(),
            },
            unit,
            a: values[0],
            b: values[1],
            value: estimate.map(|estimate| estimate.value),
            interval: estimate.and_then(Estimate::interval),
            bound: self.limit.bound.number().value,
            reason,
            streams: Default::default(),
        })
    }

    /// An error if the bound counts something else than the statistic does. What a slope or a series counts only the
    /// runs say. Zero fits all, and a change relative to A is a plain number.
    fn agree(&self, unit: &str) -> Result<(), String> {
        let (Bound::Value(bound) | Bound::Change(bound)) = &self.limit.bound else {
            return Ok(());
        };
        let of_bound = bound.dimension.to_string();
        match bound.value == 0.0 || unit == of_bound {
            true => Ok(()),
            false => {
                let remedy = quotient(unit).map_or_else(String::new, |example| {
                    format!(": write `{example}`, or a change such as +10%")
                });
                Err(format!(
                    "{} counts {unit}, and its bound {} counts {of_bound}{remedy}",
                    self.limit.statistic, bound.text
                ))
            }
        }
    }

    /// Why there is no interval. What is said of delays is said of losses where those are what is asked for.
    fn doubt(&self, reason: &str) -> String {
        let reason = of_two_runs(reason);
        match self.limit.statistic.measure() {
            Measure::Lost => of_losses(&reason),
            _ => reason,
        }
    }

    /// What is held against the bound, of the values of A and of B.
    fn value(&self, [a, b]: [Option<f64>; 2]) -> Option<f64> {
        let of_both = |by: fn(f64, f64) -> f64| a.zip(b).map(|(a, b)| by(a, b));
        match self.limit.bound {
            Bound::Value(_) => b,
            Bound::Change(_) => of_both(|a, b| b - a),
            Bound::Share(_) => of_both(|a, b| b / a - 1.0),
        }
    }

    /// What a table has where the packets alone give no interval.
    fn tabled(&self, values: [Option<f64>; 2], tabled: &Bounds) -> Option<Estimate> {
        let value = self.value(values)?;
        Some(Estimate::new(value, value, value).with(tabled))
    }

    /// Is the value itself beyond the bound, whatever its interval?
    pub(super) fn is_beyond(&self, held: &LimitResult) -> bool {
        self.value([held.a, held.b]).is_some_and(|value| {
            self.limit
                .beyond
                .holds(value, self.limit.bound.number().value)
        })
    }

    /// What is held against the bound.
    fn estimate(&self, compared: &Compared, [a, _]: [Option<f64>; 2]) -> Option<Estimate> {
        let value = compared.value?;
        let low = compared.ends.low.unwrap_or(f64::NEG_INFINITY);
        let high = compared.ends.high.unwrap_or(f64::INFINITY);
        let map = |f: &dyn Fn(f64) -> f64| Estimate::new(f(value), f(low), f(high));
        match (&self.limit.bound, compared.by) {
            (Bound::Share(_), ComparisonScale::Ratio) => Some(map(&|ratio| ratio - 1.0)),
            // Where both are 0 beyond doubt there is no ratio of them, and no change.
            (Bound::Share(_), ComparisonScale::Difference) => Some(map(&|_| 0.0)),
            (Bound::Change(_), ComparisonScale::Ratio) => {
                a.map(|a| map(&|ratio| (ratio - 1.0) * a))
            }
            (Bound::Value(_), _) if self.limit.statistic.is_share() => {
                Some(map(&|share| share.clamp(0.0, 1.0)))
            }
            _ => Some(Estimate::new(value, low, high)),
        }
    }

    /// B's own largest, smallest or number of values is what it is.
    fn is_fact(&self) -> bool {
        let own = matches!(self.limit.bound, Bound::Value(_));
        own && matches!(self.limit.statistic.kind, Kind::Of(statistic, _) if statistic.is_found())
    }

    fn fact(&self, b: &Evaluated) -> Option<Estimate> {
        let value = b.value.filter(|_| self.is_fact())?;
        Some(Estimate::new(value, value, value))
    }

    fn is_upward(&self) -> bool {
        matches!(self.limit.beyond, Beyond::More | Beyond::AtLeast)
    }

    fn outcome(&self, estimate: Estimate) -> Outcome {
        let bound = self.limit.bound.number().value;
        let holds = |value: f64| self.limit.beyond.holds(value, bound);
        // The end nearer to what is good, and the one further.
        let (near, far) = if self.is_upward() {
            (estimate.low, estimate.high)
        } else {
            (estimate.high, estimate.low)
        };
        let is_sure = match (&self.limit.bound, self.is_upward()) {
            (Bound::Value(_), _) => holds(near),
            (_, true) => near > bound.min(0.0),
            (_, false) => near < bound.max(0.0),
        };
        if holds(estimate.value) && is_sure {
            Outcome::Failed
        } else if holds(far) {
            Outcome::Undecided
        } else {
            Outcome::Passed
        }
    }

    /// `3.40 ms in B, 2.50 ms in A: +36 %, at 95 % from +20 % to +52 %`, and whether whole trials say so, as they do of a maximum.
    fn sentence(
        &self,
        values: [Option<f64>; 2],
        unit: &str,
        (estimate, of_trials): (Estimate, bool),
        outcome: Outcome,
    ) -> String {
        let own = |value: f64| self.shown(value, unit, false);
        let shown = |value: f64| match self.limit.bound {
            Bound::Value(_) => own(value),
            Bound::Change(_) => self.shown(value, unit, true),
            Bound::Share(_) => format_signed_share(value),
        };
        let [a, b] = values.map(|value| value.map(own).unwrap_or_default());
        let sides = match self.limit.bound {
            Bound::Value(_) => format!("{b} in B"),
            _ => format!("{b} in B, {a} in A: {}", shown(estimate.value)),
        };
        let [low, high] = [estimate.low, estimate.high].map(shown);
        let sure = how_sure(estimate.packets);
        // Ends that differ by less than is printed are not said to be two.
        let ends = match low == high {
            true => format!(", {sure} exact to the last digit"),
            false => format!(", {sure} from {low} to {high}"),
        };
        let interval = match (self.is_fact(), of_trials) {
            (true, _) => String::new(),
            (false, true) => ends + " (from the spread of trials, each as one value)",
            (false, false) => ends,
        };
        let beyond = self
            .limit
            .beyond
            .holds(estimate.value, self.limit.bound.number().value);
        let doubt = match (outcome, beyond) {
            (Outcome::Undecided, true) => "; that is beyond the bound, but may be by chance",
            (Outcome::Undecided, false) => "; that it is beyond the bound cannot be excluded",
            _ => "",
        };
        sides + &interval + doubt
    }

    fn shown(&self, value: f64, unit: &str, signed: bool) -> String {
        let share = self.limit.statistic.is_share();
        let sign = if signed || value < 0.0 {
            sign(value)
        } else {
            ""
        };
        let size = value.abs();
        if size.is_infinite() {
            return format!("{sign}infinity");
        }
        let text = match unit {
            "ns" => Dimension::TIME.format(size),
            "1" if share => format_share(size),
            "1" => Dimension::NUMBER.format(size),
            other => format!("{} {other}", Dimension::NUMBER.format(size)),
        };
        sign.to_owned() + &text
    }
}

/// What the selectors of a statistic say where it is of a run: `'A or B'=A`.
fn selector(run: &str) -> String {
    format!("'{RUN}'={run}")
}

/// The statistic of a limit in this run. A fit stands behind the statistics that it goes through.
fn in_run<'a>(statistics: &'a [Evaluated], run: &str) -> Option<&'a Evaluated> {
    let selector = selector(run);
    let mut latest = statistics.iter().rev();
    latest.find(|evaluated| evaluated.statistic.contains(&selector))
}

/// How a bound in a unit such as that of a slope is written: `1ns / 1B`.
fn quotient(unit: &str) -> Option<String> {
    let (over, under) = unit.rsplit_once('/')?;
    let over = if over == "1" { "" } else { over };
    Some(format!("1{over} / 1{under}"))
}

/// What was said of one run in which the run is a factor.
fn of_two_runs(reason: &str) -> String {
    let mut text = reason
        .replace("this run has no factor", "the two runs share no factor")
        .replace("no trial of this run has", "no pair of the two runs has")
        .replace("this run kept no", "the two runs kept no");
    for run in RUNS {
        let factor = selector(run);
        text = text
            .replace(&format!(" | {factor})"), &format!(") of {run}"))
            .replace(&format!(", {factor})"), &format!(") of {run}"))
            .replace(&format!(" {factor},"), "")
            .replace(&format!(" and {factor}"), &format!(" in {run}"));
    }
    text
}
