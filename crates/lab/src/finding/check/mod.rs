//! The language of checks.
//!
//! ```text
//! check      = [ "for each" each { "," each } ":" ] claim
//! each       = factor [ "in" "[" level { "," level } "]" ]
//! claim      = claim "or" claim | claim "and" claim | "not" claim | "(" claim ")" | comparison
//! comparison = value ( "<" | "<=" | ">" | ">=" ) value { … }      a chain: each two neighbours
//!            | value "≈" value "within" ( percent | quantity )    also "~="
//! value      = value ( "+" | "-" | "*" | "/" ) value | "-" value | "(" value ")" | number | statistic
//! measure    = name | ( "ipdv" | "pdv" ) "(" name ")"
//! statistic  = functional "(" measure [ where ] ")"                          min, mean, p50, sd, …
//!            | "share" "(" measure ( "<" | … ) value [ where ] ")"
//!            | ( "slope" | "r2" | "steps" ) "(" statistic "on" factor [ where ] ")"
//! where      = "|" selector { "," selector }
//! selector   = factor ( "=" | "!=" | "<" | "<=" | ">" | ">=" ) level | factor "in" "[" level { "," level } "]"
//! ```
//!
//! A quantity needs its unit: `1ms`, `64 B`, `10Mbit/s`, `500cells`, `5 %`; zero needs none. A cell is 424 bits,
//! so `cells/s` is a unit of rate. A name with spaces or commas is quoted. Levels of factors that no selector
//! names are pooled. The functionals are those of [`Functional::named`]: `p1` to `p99` are percentiles; `p999` is the
//! quantile at 99.9 %, `p9999` at 99.99 %. The selectors of a `share` also apply to its bound.

mod lexer;
mod limit;
mod names;
mod parser;
mod print;
mod syntax;
#[cfg(test)]
mod tests;
mod units;

use super::dimension::Dimension;
pub use delaylab_stats::functional::{Beyond, Functional};
pub(crate) use lexer::KEYWORDS;
pub use limit::{Bound, Limit};
pub(in crate::finding) use names::of_selectors;
pub use names::{Name, NameKind};
pub(crate) use print::sign;
use std::fmt;
pub use syntax::{
    Check, Claim, Comparison, Each, Fit, Kind, LevelSet, LevelText, Number, Operator, ParseError,
    Relation, Selector, Span, Statistic, Value,
};

/// Parses selectors alone, as written after the `|` of a statistic.
pub(super) fn selectors(text: &str) -> Result<Vec<Selector>, ParseError> {
    parser::selectors(text)
}

impl Value {
    /// Parses a value: a number, a statistic, or arithmetic on them.
    pub fn parse(text: &str) -> Result<Value, ParseError> {
        parser::value(text)
    }
}

impl Limit {
    /// Parses a limit.
    ///
    /// # Errors
    /// What is wrong, where, and what is expected.
    pub fn parse(text: &str) -> Result<Limit, ParseError> {
        parser::limit(text)
    }
}

impl Check {
    /// Parses a check.
    pub fn parse(text: &str) -> Result<Check, ParseError> {
        parser::parse(text)
    }

    /// The first comparison of a slope with a number of another dimension, and what is wrong with it. `factor`: the
    /// dimension of a factor's levels; `None` if unknown.
    pub(crate) fn wrong_slope(
        &self,
        factor: &dyn Fn(&str) -> Option<Dimension>,
    ) -> Option<(Span, String)> {
        parser::wrong_slope(&self.claim, factor)
    }
}

impl fmt::Display for Check {
    /// The check as text that parses to an equal check.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print::check(self, f)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print::value(self, 0, f)
    }
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print::statistic(self, f)
    }
}
