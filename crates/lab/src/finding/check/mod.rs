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
//! statistic  = ( "min" | "mean" | "p50" | … | "max" | "sd" | "iqr" | "count" ) "(" measure [ where ] ")"
//!            | "share" "(" measure ( "<" | … ) value [ where ] ")"
//!            | ( "slope" | "r2" | "steps" ) "(" statistic "on" factor [ where ] ")"
//! where      = "|" selector { "," selector }
//! selector   = factor ( "=" | "!=" | "<" | "<=" | ">" | ">=" ) level | factor "in" "[" level { "," level } "]"
//! ```
//!
//! A number has a unit where a unit is owed: `1ms`, `64 B`, `10Mbit/s`, `500cells`, `5 %`; zero
//! needs none. A cell is 424 bits, so that `cells/s` are a rate like any other. A name with spaces or commas is quoted. Factors that no selector names are pooled.
//! `p1` to `p99` are percentiles, and `p999` is 99.9 %, `p9999` 99.99 %. A bound inside `share` takes
//! over the selectors of its share.

mod lexer;
mod limit;
mod names;
mod parser;
mod print;
#[cfg(test)]
mod tests;
mod units;

use super::dimension::Dimension;
use super::measure::Measure;
pub use delaylab_stats::functional::{Beyond, Functional};
pub use limit::{Bound, Limit};
pub(in crate::finding) use names::of_selectors;
pub use names::{Name, NameKind};
pub(crate) use print::sign;
use std::fmt;

/// A check that was read: what must hold, and for which levels.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// Judged for each combination of levels of these factors.
    pub each: Vec<Each>,
    /// What must hold.
    pub claim: Claim,
}

/// A factor that a check runs over.
#[derive(Debug, Clone, PartialEq)]
pub struct Each {
    /// The factor.
    pub factor: String,
    /// Only these levels; empty: all that the run has.
    pub levels: Vec<LevelText>,
    /// Where the factor is written.
    pub span: Span,
}

/// Something true or false.
#[derive(Debug, Clone, PartialEq)]
pub enum Claim {
    /// Each of them.
    All(Vec<Claim>),
    /// At least one of them.
    Any(Vec<Claim>),
    /// The opposite.
    Not(Box<Claim>),
    /// How two values, or more in a chain, compare.
    Compare(Comparison),
}

/// A value and how the next compares with it, and so on.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The leftmost value.
    pub first: Value,
    /// At least one.
    pub rest: Vec<(Relation, Value)>,
}

/// How the value on the left is to that on the right.
#[derive(Debug, Clone, PartialEq)]
pub enum Relation {
    /// Smaller or larger.
    Is(Beyond),
    /// No further apart than this: a share of the right one, or so much.
    About {
        /// How far apart they may be.
        within: Number,
        /// Of the right one, rather than as it is.
        relative: bool,
    },
}

/// Something with a number.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A number as written.
    Number(Number),
    /// The negative.
    Negative(Box<Value>),
    /// Arithmetic.
    Binary(Operator, Box<Value>, Box<Value>),
    /// Of the data.
    Statistic(Statistic),
}

/// Arithmetic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `*`
    Times,
    /// `/`
    Over,
}

/// A number with its unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Number {
    /// In the base unit: nanoseconds, bytes, bits a second; a share is 0 to 1.
    pub value: f64,
    /// What it counts.
    pub dimension: Dimension,
    /// As written.
    pub text: String,
}

/// A statistic of the data under selectors.
#[derive(Debug, Clone, PartialEq)]
pub struct Statistic {
    /// Which.
    pub kind: Kind,
    /// Of which packets. Factors not named are pooled.
    pub selectors: Vec<Selector>,
    /// Where its measure is written; of a fit, the factor that it is on.
    pub of: Span,
}

/// Which statistic.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// A functional of a measure's distribution; none with a bound, which [`Kind::Share`] has.
    Of(Functional, Measure),
    /// Share of a measure's values on one side of a bound.
    Share(Measure, Beyond, Box<Value>),
    /// How a statistic depends on a factor.
    On(Fit, Box<Statistic>, String),
}

/// What a straight line, or stairs, say of a dependence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// Slope of the least-squares line.
    Slope,
    /// Its share of explained variation.
    R2,
    /// Width of the steps.
    Steps,
}

/// Which levels of a factor are meant.
#[derive(Debug, Clone, PartialEq)]
pub struct Selector {
    /// The factor.
    pub factor: String,
    /// Its levels.
    pub which: Which,
    /// Where the factor is written.
    pub span: Span,
}

/// Levels of a factor.
#[derive(Debug, Clone, PartialEq)]
pub enum Which {
    /// Any of these.
    In(Vec<LevelText>),
    /// Every one but this.
    Not(LevelText),
    /// Those on one side of a quantity.
    Is(Beyond, Number),
}

/// A level as written: a name, or a quantity that may be written in other ways too.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelText {
    /// As written, without quotes.
    pub text: String,
    /// As a quantity, where it is one.
    pub number: Option<Number>,
    /// Where it is written.
    pub span: Span,
}

impl LevelText {
    /// A level by its name, wherever it is written.
    pub fn named(name: &str) -> Self {
        Self {
            text: name.to_owned(),
            number: None,
            span: Span::default(),
        }
    }
}

/// Where something is written: bytes of the check's text. Makes no difference to what it is, so
/// all spans are equal.
#[derive(Debug, Clone, Copy, Default)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// Byte after the last.
    pub end: usize,
}

impl PartialEq for Span {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Why a check could not be read.
#[derive(Debug, Clone, thiserror::Error)]
#[error("column {column}: {}", self.sentence())]
pub struct ParseError {
    /// The text at fault.
    pub span: Span,
    /// Its first character, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What would do, where that is not said with it.
    pub help: Option<String>,
}

impl ParseError {
    fn new(text: &str, span: Span, message: impl Into<String>) -> Self {
        let before = text.get(..span.start).unwrap_or(text);
        Self {
            span,
            column: before.chars().count() + 1,
            message: message.into(),
            help: None,
        }
    }

    /// What is wrong and what would do, in one sentence.
    pub fn sentence(&self) -> String {
        match &self.help {
            Some(help) => format!("{}: {help}", self.message),
            None => self.message.clone(),
        }
    }

    /// With the check's line and a caret under the text at fault.
    pub fn pretty(&self, text: &str) -> String {
        let faulty = text.get(self.span.start..self.span.end).unwrap_or("");
        let carets = "^".repeat(faulty.chars().count().max(1));
        let line = text.replace(['\n', '\t'], " ");
        let indent = " ".repeat(self.column - 1);
        format!("{line}\n{indent}{carets} {}", self.sentence())
    }
}

/// Reads selectors alone, as they stand behind the `|` of a statistic.
pub(super) fn selectors(text: &str) -> Result<Vec<Selector>, ParseError> {
    parser::selectors(text)
}

impl Value {
    /// Reads a value: a statistic, or arithmetic on several.
    pub fn parse(text: &str) -> Result<Value, ParseError> {
        parser::value(text)
    }
}

impl Check {
    /// Reads a check.
    pub fn parse(text: &str) -> Result<Check, ParseError> {
        parser::parse(text)
    }
}

impl fmt::Display for Check {
    /// As it would be written again.
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
