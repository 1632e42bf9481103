//! Refuses bounds that a statistic is never beyond, or always, whatever is measured.

use super::{Parsed, Parser};
use crate::finding::check::print::sign;
use crate::finding::check::syntax::{Fit, Kind, Number, Span, Statistic, Value};
use crate::finding::dimension::format_number;
use crate::finding::measure::Measure;
use delaylab_stats::functional::{Beyond, Functional};

/// The least and the largest value that a number can have; infinite where nothing bounds it.
type Range = [f64; 2];

const ANY: Range = [f64::NEG_INFINITY, f64::INFINITY];
const NOT_BELOW_0: Range = [0.0, f64::INFINITY];
const SHARE: Range = [0.0, 1.0];
/// What is never below 0 falls by all that it is at most, as a share of that.
const RELATIVE_CHANGE: Range = [-1.0, f64::INFINITY];

impl Statistic {
    pub(super) fn range(&self) -> Range {
        match &self.kind {
            Kind::Share(..) | Kind::On(Fit::R2, ..) => SHARE,
            Kind::On(Fit::Steps, ..) => NOT_BELOW_0,
            Kind::On(Fit::Slope, ..) => ANY,
            Kind::Of(functional, measure) => measure.range_of(*functional),
        }
    }

    /// That of its change from A to B.
    pub(super) fn range_of_change(&self) -> Range {
        let [least, most] = self.range();
        [least - most, most - least]
    }

    /// In errors about what it can be.
    fn subject(&self) -> String {
        match self.is_share() {
            true => "a share".to_owned(),
            false => self.to_string(),
        }
    }
}

/// `Some(true)` if all of a range is beyond the bound, `Some(false)` if nothing is.
fn always_or_never(range: Range, beyond: Beyond, bound: f64) -> Option<bool> {
    match range.map(|end| beyond.holds(end, bound)) {
        [true, true] => Some(true),
        [false, false] => Some(false),
        _ => None,
    }
}

const fn how_often(is_always: bool) -> &'static str {
    if is_always { "always" } else { "never" }
}

/// Checks.
impl Parser<'_> {
    /// An error at `span` if the first value is a statistic, and the second a number that it never has or is never beyond. `beyond`: `None`
    /// for `≈`.
    pub(super) fn can_compare(
        &self,
        value: &Value,
        beyond: Option<Beyond>,
        bound: Option<f64>,
        span: Span,
    ) -> Parsed<()> {
        let (Value::Statistic(statistic), Some(bound)) = (value, bound) else {
            return Ok(());
        };
        self.can_be(&statistic.subject(), statistic.range(), beyond, bound, span)
    }

    /// The same of the values of a measure.
    pub(super) fn can_be_beyond(
        &self,
        measure: Measure,
        beyond: Beyond,
        bound: Option<f64>,
        span: Span,
    ) -> Parsed<()> {
        let range = measure.range_of(Functional::Max);
        let check = |bound| self.can_be(measure.name(), range, Some(beyond), bound, span);
        bound.map_or(Ok(()), check)
    }

    fn can_be(
        &self,
        subject: &str,
        range: Range,
        beyond: Option<Beyond>,
        bound: f64,
        span: Span,
    ) -> Parsed<()> {
        let [least, most] = range;
        let known = beyond.and_then(|beyond| always_or_never(range, beyond, bound));
        let message = match known {
            _ if bound < least && most.is_infinite() => format!(
                "{subject} is never below 0, and is compared with less: a change is the difference of two statistics"
            ),
            _ if !(least..=most).contains(&bound) => format!(
                "{subject} is 0 to 1, and is compared with {}: write a percentage, like `5 %`",
                format_number(bound)
            ),
            Some(false) => format!(
                "{subject} is {}: this is never true",
                if bound == least {
                    "never below 0"
                } else {
                    "never above 1"
                }
            ),
            _ => return Ok(()),
        };
        self.error(span, message)
    }
}

/// Limits.
impl Parser<'_> {
    /// An error at `span` if B's own value of a statistic, or its change from A to B, is always beyond the bound, or never:
    /// `range` is that of which the bound is.
    pub(super) fn can_fail(
        &self,
        range: Range,
        statistic: &Statistic,
        beyond: Beyond,
        bound: &Number,
        span: Span,
    ) -> Parsed<()> {
        let Some(is_always) = always_or_never(range, beyond, bound.value) else {
            return Ok(());
        };
        let (how_often, subject) = (how_often(is_always), statistic.subject());
        let remedy = match range == SHARE && bound.value > 1.0 {
            true => "; write a percentage, like `5 %`",
            false => "",
        };
        let message = format!(
            "{subject} is {how_often} {} {}: this would {how_often} fail{remedy}",
            sign(beyond),
            bound.text
        );
        self.error(span, message)
    }

    /// The same of the change from A to B relative to A.
    pub(super) fn can_change_by_share(
        &self,
        statistic: &Statistic,
        beyond: Beyond,
        bound: &Number,
        span: Span,
    ) -> Parsed<()> {
        let [least, _] = statistic.range();
        let known = always_or_never(RELATIVE_CHANGE, beyond, bound.value);
        match known.filter(|_| least >= 0.0) {
            None => Ok(()),
            Some(is_always) => {
                let message = format!(
                    "{statistic} falls by 100 % at most: this would {} fail. Half of A's is `-50%`",
                    how_often(is_always)
                );
                self.error(span, message)
            }
        }
    }
}
