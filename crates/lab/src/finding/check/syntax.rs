//! The parts of a check, and why a text is none.

use crate::finding::dimension::Dimension;
use crate::finding::measure::Measure;
use delaylab_model::plan::{Level, Unit};
use delaylab_stats::functional::{Beyond, Functional};
use delaylab_stats::steps::LEAST_SIZES;

/// A parsed check: what must hold, and for which levels.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// The claim is judged for each combination of levels of these factors.
    pub each: Vec<Each>,
    /// What must hold.
    pub claim: Claim,
}

/// A factor of `for each`.
#[derive(Debug, Clone, PartialEq)]
pub struct Each {
    /// The factor.
    pub factor: String,
    /// Only these levels; empty: all levels of the run.
    pub levels: Vec<LevelText>,
    /// Where the factor is written.
    pub span: Span,
}

/// A claim, which is true or false.
#[derive(Debug, Clone, PartialEq)]
pub enum Claim {
    /// All of these claims hold (`and`).
    All(Vec<Claim>),
    /// At least one of these claims holds (`or`).
    Any(Vec<Claim>),
    /// The claim does not hold (`not`).
    Not(Box<Claim>),
    /// A comparison of two values, or of more in a chain.
    Compare(Comparison),
}

/// A chain of compared values, such as `a < b <= c`.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The leftmost value.
    pub first: Value,
    /// Each relation and the value on its right; at least one.
    pub rest: Vec<(Relation, Value)>,
}

impl Comparison {
    /// Each two values that are compared, and how.
    pub fn pairs(&self) -> impl Iterator<Item = (&Value, &Relation, &Value)> {
        let rights = self.rest.iter().map(|(_, right)| right);
        let lefts = std::iter::once(&self.first).chain(rights);
        let pairs = lefts.zip(&self.rest);
        pairs.map(|(left, (relation, right))| (left, relation, right))
    }
}

/// The relation between the left and the right value.
#[derive(Debug, Clone, PartialEq)]
pub enum Relation {
    /// `<`, `<=`, `>` or `>=`.
    Is(Beyond),
    /// `≈`: the values differ by at most `within`.
    About {
        /// The largest difference.
        within: Number,
        /// Whether `within` is a share of the right value, rather than a quantity.
        relative: bool,
    },
}

impl Relation {
    /// The relation of the right value to the left one.
    #[must_use]
    pub fn turned_round(&self) -> Self {
        match self {
            Relation::Is(beyond) => Relation::Is(beyond.turned_round()),
            Relation::About { .. } => self.clone(),
        }
    }
}

/// An expression with a number as its value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A number as written.
    Number(Number),
    /// The negated value.
    Negative(Box<Value>),
    /// An arithmetic operation on two values.
    Binary(Operator, Box<Value>, Box<Value>),
    /// A statistic of the data.
    Statistic(Statistic),
}

/// An arithmetic operator.
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

impl Operator {
    /// The result of this operation.
    pub(in crate::finding) fn apply(self, a: f64, b: f64) -> f64 {
        match self {
            Operator::Plus => a + b,
            Operator::Minus => a - b,
            Operator::Times => a * b,
            Operator::Over => a / b,
        }
    }
}

/// A number with its unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Number {
    /// Value in the base unit: nanoseconds, bytes, bit/s, cells, packets; a share is 0 to 1.
    pub value: f64,
    /// Dimension of the value.
    pub dimension: Dimension,
    /// As written.
    pub text: String,
}

/// A statistic of the selected data.
#[derive(Debug, Clone, PartialEq)]
pub struct Statistic {
    /// Which statistic.
    pub kind: Kind,
    /// The selected levels. Levels of factors not named are pooled.
    pub selectors: Vec<Selector>,
    /// Where its measure is written; for a fit, where its factor is written.
    pub of: Span,
}

/// Which statistic.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// A functional of a measure's distribution, except a share, which is [`Kind::Share`].
    Of(Functional, Measure),
    /// The share of a measure's values on one side of a bound.
    Share(Measure, Beyond, Box<Value>),
    /// A fit of a statistic against a factor, given by name.
    On(Fit, Box<Statistic>, String),
}

/// A property of a line, or of steps, fitted to a statistic against a factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// Slope of the least-squares line.
    Slope,
    /// R² of the least-squares line.
    R2,
    /// Width of the steps.
    Steps,
}

impl Fit {
    /// How many levels of its factor it needs.
    const fn least_levels(self) -> usize {
        match self {
            Fit::Slope | Fit::R2 => 3,
            Fit::Steps => LEAST_SIZES,
        }
    }

    /// Why it cannot be on a factor with these levels, as a clause; `None` if it can.
    pub(crate) fn unfit(self, factor: &str, levels: &[Level]) -> Option<String> {
        let (least, count) = (self.least_levels(), levels.len());
        let what = match self {
            Fit::Slope | Fit::R2 => "a line",
            Fit::Steps => "a search for steps",
        };
        if let Some(level) = levels.iter().find(|level| level.value.is_none()) {
            return Some(format!(
                "`{factor}` has no line through it: {} is no number",
                level.label
            ));
        }
        let dimension = |level: &Level| level.unit.map(Dimension::from);
        if levels
            .iter()
            .any(|level| dimension(level) != dimension(&levels[0]))
        {
            return Some(format!("levels of `{factor}` are of different units"));
        }
        if self == Fit::Steps && levels.iter().any(|level| level.unit != Some(Unit::Bytes)) {
            return Some(format!("steps are of bytes, and `{factor}` is no size"));
        }
        (count < least)
            .then(|| format!("{what} needs {least} levels of `{factor}`, there are {count}"))
    }
}

/// A condition on the level of one factor.
#[derive(Debug, Clone, PartialEq)]
pub struct Selector {
    /// The factor.
    pub factor: String,
    /// The selected levels.
    pub which: LevelSet,
    /// Where the factor is written.
    pub span: Span,
}

/// A set of levels of a factor.
#[derive(Debug, Clone, PartialEq)]
pub enum LevelSet {
    /// Any of these.
    In(Vec<LevelText>),
    /// All except this.
    Not(LevelText),
    /// Those on one side of a quantity.
    Is(Beyond, Number),
}

impl LevelSet {
    /// Each level that it names, and on which side of it levels are meant; `None`: itself.
    pub fn named(&self) -> Vec<(Option<Beyond>, LevelText)> {
        let itself = |level: &LevelText| (None, level.clone());
        match self {
            LevelSet::In(levels) => levels.iter().map(itself).collect(),
            LevelSet::Not(level) => vec![itself(level)],
            LevelSet::Is(beyond, number) => {
                let level = LevelText {
                    number: Some(number.clone()),
                    ..LevelText::named(&number.text)
                };
                vec![(Some(*beyond), level)]
            }
        }
    }
}

/// A level as written: a name, or a quantity, of which other spellings are equal.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelText {
    /// As written, without quotes.
    pub text: String,
    /// The quantity, if it is one.
    pub number: Option<Number>,
    /// Where it is written.
    pub span: Span,
}

impl LevelText {
    /// A level by its name, without a place.
    pub fn named(name: &str) -> Self {
        Self {
            text: name.to_owned(),
            number: None,
            span: Span::default(),
        }
    }
}

/// Where something is written: a range of bytes in the check's text. All spans compare as equal, so that
/// the place does not affect the equality of checks.
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

/// Why a check cannot be parsed.
#[derive(Debug, Clone, thiserror::Error)]
#[error("column {column}: {}", self.sentence())]
pub struct ParseError {
    /// The wrong part of the text.
    pub span: Span,
    /// Column of its first character, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What to write instead, if the message does not say so.
    pub help: Option<String>,
}

impl ParseError {
    pub(super) fn new(text: &str, span: Span, message: impl Into<String>) -> Self {
        let before = text.get(..span.start).unwrap_or(text);
        Self {
            span,
            column: before.chars().count() + 1,
            message: message.into(),
            help: None,
        }
    }

    /// Message and help in one sentence.
    pub fn sentence(&self) -> String {
        match &self.help {
            Some(help) => format!("{}: {help}", self.message),
            None => self.message.clone(),
        }
    }

    /// The check on one line, and below it carets under the wrong part and the sentence.
    pub fn pretty(&self, text: &str) -> String {
        let faulty = text.get(self.span.start..self.span.end).unwrap_or("");
        let carets = "^".repeat(faulty.chars().count().max(1));
        let line = text.replace(['\n', '\t'], " ");
        let indent = " ".repeat(self.column - 1);
        format!("{line}\n{indent}{carets} {}", self.sentence())
    }
}
