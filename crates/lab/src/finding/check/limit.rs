//! Limits: conditions that must not hold in the second of two runs, such as `p99(response) > +10%`.
//!
//! ```text
//! limit     = [ "for each" each { "," each } ":" ] ( statistic | "lost" ) ( "<" | "<=" | ">" | ">=" ) bound
//! bound     = ( "+" | "-" ) percent       change from the first run, relative to the first run
//!           | ( "+" | "-" ) quantity      change from the first run
//!           | percent | quantity | number value in the second run
//!           | quantity "/" quantity       that of a slope, like `8ns / 1B`; with a sign, a change of it
//! ```
//!
//! `statistic` and `each` are as in checks. `lost` is the share of packets that were never answered,
//! `share(lost > 0)`. For a share, a change in percent is a difference in percentage points: lost from 1 % to
//! 3 % is `+2%`.

use super::print::{self, sign};
use super::syntax::{Each, Kind, Number, Statistic, Value};
use crate::finding::measure::Measure;
use delaylab_stats::functional::{Beyond, Functional};
use std::fmt;

/// A condition that must not hold in B, the second of two runs A and B.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// The limit is checked for each combination of levels of these factors.
    pub each: Vec<Each>,
    /// The statistic, computed in both runs.
    pub statistic: Statistic,
    /// The forbidden side of the bound.
    pub beyond: Beyond,
    /// The bound.
    pub bound: Bound,
}

/// The bound of a limit.
#[derive(Debug, Clone, PartialEq)]
pub enum Bound {
    /// A bound on the value in B.
    Value(Number),
    /// A bound on B − A.
    Change(Number),
    /// A bound on (B − A)/A.
    Share(Number),
}

impl Bound {
    /// The number with its sign.
    pub const fn number(&self) -> &Number {
        match self {
            Bound::Value(number) | Bound::Change(number) | Bound::Share(number) => number,
        }
    }
}

impl Statistic {
    /// The measure of the statistic; for a fit, the measure of the fitted statistic.
    pub fn measure(&self) -> Measure {
        match &self.kind {
            Kind::Of(_, measure) | Kind::Share(measure, ..) => *measure,
            Kind::On(_, of, _) => of.measure(),
        }
    }

    /// Is it `share(lost > 0)` without selectors, which is written `lost`?
    fn is_lost(&self) -> bool {
        let bound = match &self.kind {
            Kind::Share(Measure::Lost, Beyond::More, bound) => Some(&**bound),
            _ => None,
        };
        let is_zero = matches!(bound, Some(Value::Number(number)) if number.value == 0.0);
        is_zero && self.selectors.is_empty()
    }

    /// Is it a share, 0 to 1, whose change is given in percentage points?
    pub fn is_share(&self) -> bool {
        match &self.kind {
            Kind::Share(..) => true,
            Kind::Of(Functional::Mean, measure) => measure.is_yes_or_no(),
            _ => false,
        }
    }
}

impl fmt::Display for Limit {
    /// The limit as text that parses to an equal limit.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print::each(&self.each, f)?;
        if self.statistic.is_lost() {
            f.write_str("lost")?;
        } else {
            write!(f, "{}", self.statistic)?;
        }
        write!(f, " {} {}", sign(self.beyond), self.bound.number().text)
    }
}
