//! What must not be in the second of two runs: `p99(response) > +10%`.
//!
//! ```text
//! limit     = [ "for each" each { "," each } ":" ] ( statistic | "lost" ) ( "<" | "<=" | ">" | ">=" ) bound
//! bound     = ( "+" | "-" ) percent       by how much the second differs, as a share of the first
//!           | ( "+" | "-" ) quantity      by how much it differs
//!           | percent | quantity | number its own value
//! ```
//!
//! `statistic` and `each` are those of checks. `lost` is the share of packets that were never answered,
//! `share(lost > 0)`. A share's difference is a difference too where it is written in percent: lost from
//! 1 % to 3 % is `+2%`.

use super::parser;
use super::print::{self, sign};
use super::{Beyond, Each, Functional, Kind, Number, ParseError, Statistic, Value};
use crate::finding::measure::Measure;
use std::fmt;

/// What must not be in the second of two runs, A and B.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// Judged for each combination of levels of these factors.
    pub each: Vec<Each>,
    /// Of both runs.
    pub statistic: Statistic,
    /// The side that must not be.
    pub beyond: Beyond,
    /// Of what.
    pub bound: Bound,
}

/// What a limit is held against.
#[derive(Debug, Clone, PartialEq)]
pub enum Bound {
    /// B's own value.
    Value(Number),
    /// B − A.
    Change(Number),
    /// (B − A)/A.
    Share(Number),
}

impl Bound {
    /// The number, negative where it is written so.
    pub const fn number(&self) -> &Number {
        match self {
            Bound::Value(number) | Bound::Change(number) | Bound::Share(number) => number,
        }
    }
}

impl Limit {
    /// Reads a limit.
    ///
    /// # Errors
    /// What is wrong, where, and what would do.
    pub fn parse(text: &str) -> Result<Limit, ParseError> {
        parser::limit(text)
    }
}

impl Statistic {
    /// What it is of; of a fit, what is fitted.
    pub fn measure(&self) -> Measure {
        match &self.kind {
            Kind::Of(_, measure) | Kind::Share(measure, ..) => *measure,
            Kind::On(_, of, _) => of.measure(),
        }
    }

    /// Is it what `lost` stands for, of all packets?
    fn is_lost(&self) -> bool {
        let bound = match &self.kind {
            Kind::Share(Measure::Lost, Beyond::More, bound) => Some(&**bound),
            _ => None,
        };
        let is_zero = matches!(bound, Some(Value::Number(number)) if number.value == 0.0);
        is_zero && self.selectors.is_empty()
    }

    /// Is it a share, 0 to 1, whose difference is told in per cent of all?
    pub fn is_share(&self) -> bool {
        match &self.kind {
            Kind::Share(..) => true,
            Kind::Of(Functional::Mean, measure) => {
                use Measure::{Lost, PeriodicCause, Valid};
                matches!(measure, Lost | PeriodicCause | Valid)
            }
            _ => false,
        }
    }
}

impl fmt::Display for Limit {
    /// As it would be written again.
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
