//! Parses statistics with their measures and selectors.

use super::values::constant;
use super::{Parsed, Parser};
use crate::finding::check::lexer::Token;
use crate::finding::check::syntax::{
    Fit, Kind, LevelSet, LevelText, Number, ParseError, Selector, Span, Statistic, Value,
};
use crate::finding::check::units;
use crate::finding::measure::Measure;
use crate::suggest::{choices, closest};
use delaylab_stats::functional::{Beyond, Functional};

const FITS: [(&str, Fit); 3] = [
    ("slope", Fit::Slope),
    ("r2", Fit::R2),
    ("steps", Fit::Steps),
];

/// Statistics by the words of other tools.
const STATISTICS_ELSEWHERE: [(&str, &str); 9] = [
    ("median", "p50"),
    ("avg", "mean"),
    ("average", "mean"),
    ("std", "sd"),
    ("stddev", "sd"),
    ("stdev", "sd"),
    ("minimum", "min"),
    ("maximum", "max"),
    ("loss", "mean(lost)"),
];
/// And measures.
const MEASURES_ELSEWHERE: [(&str, &str); 5] = [
    ("latency", "response"),
    ("jitter", "ipdv"),
    ("loss", "lost"),
    ("owd", "delay"),
    ("throughput", "goodput"),
];

/// What is called so elsewhere, as a question.
fn elsewhere(name: &str, words: &[(&str, &str)]) -> Option<String> {
    let known = words.iter().find(|(word, _)| *word == name);
    known.map(|(_, meant)| format!("did you mean `{meant}`?"))
}

/// Which of the statistics, and of these other words, may be meant by a name that is none.
fn known_statistics(name: &str, words: &[&str]) -> Option<String> {
    if let Some(word) = closest(name, words.iter().copied()) {
        return Some(format!("did you mean `{word}`?"));
    }
    if let Some(help) = elsewhere(name, &STATISTICS_ELSEWHERE) {
        return Some(help);
    }
    let functions = Functional::PLAIN.iter().map(|row| row.0);
    let fits = FITS.iter().map(|row| row.0);
    // Suggest only the usual percentiles.
    let others = ["share", "p50", "p90", "p99", "p999"];
    let words = words.iter().copied();
    let known: Vec<&str> = words.chain(functions).chain(fits).chain(others).collect();
    choices(name, known).map(|help| match help.starts_with("one of") {
        true => help + ", and other p1 to p99",
        false => help,
    })
}

/// The form of statistic that a name begins.
enum Form {
    Of(Functional),
    Share,
    On(Fit),
}

impl Form {
    fn named(name: &str) -> Option<Form> {
        let fit = FITS.iter().find(|row| row.0 == name);
        match (Functional::named(name), fit) {
            (Some(functional), _) => Some(Form::Of(functional)),
            (None, Some((_, fit))) => Some(Form::On(*fit)),
            (None, None) => (name == "share").then_some(Form::Share),
        }
    }
}

impl Fit {
    /// The name in checks.
    pub fn name(self) -> &'static str {
        FITS.iter()
            .find(|row| row.1 == self)
            .map_or("", |row| row.0)
    }
}

impl Parser<'_> {
    pub(super) fn statistic(&mut self) -> Parsed<Statistic> {
        self.statistic_or(&[])
    }

    /// Parses a statistic, where these words may stand in its place.
    pub(super) fn statistic_or(&mut self, words: &[&str]) -> Parsed<Statistic> {
        let start = self.span();
        let Token::Name(name) = self.take() else {
            return self.error(start, "expected a statistic");
        };
        let Some(form) = Form::named(&name) else {
            return self.unknown_statistic(start, &name, words);
        };
        self.expect_sign("(", &format!("`(` after `{name}`"))?;
        let (kind, of) = self.arguments(form)?;
        let selectors = match self.takes_sign("|") {
            true => self.selectors()?,
            false => Vec::new(),
        };
        let what = format!("`)` to end `{name}(`, or `|` and selectors such as `wait=1ms`");
        self.expect_sign(")", &what)?;
        Ok(Statistic {
            kind,
            selectors,
            of,
        })
    }

    /// Parses the arguments in parentheses, and returns where the measure (of a fit, the factor) is written.
    fn arguments(&mut self, form: Form) -> Parsed<(Kind, Span)> {
        let start = self.span();
        match form {
            Form::Of(functional) => {
                let measure = self.measure()?;
                Ok((Kind::Of(functional, measure), self.since(start)))
            }
            Form::Share => {
                let measure = self.measure()?;
                let of = self.since(start);
                let (beyond, bound) = self.bound(measure)?;
                Ok((Kind::Share(measure, beyond, Box::new(bound)), of))
            }
            Form::On(fit) => {
                let of = self.deeper(Self::inner_statistic)?;
                let (factor, span) = self.on()?;
                Ok((Kind::On(fit, Box::new(of), factor), span))
            }
        }
    }

    fn inner_statistic(&mut self) -> Parsed<Statistic> {
        let start = self.span();
        if !matches!(self.peek(), Token::Name(_)) {
            return self.expected("a statistic such as `min(delay)`");
        }
        let inner = self.statistic()?;
        match inner.kind {
            Kind::Of(..) | Kind::Share(..) => Ok(inner),
            _ => self.error(
                self.since(start),
                "a fit is of a statistic of a measure, like `slope(min(delay) on size)`",
            ),
        }
    }

    fn on(&mut self) -> Parsed<(String, Span)> {
        if !self.takes_word("on") {
            return self.expected("`on` and a factor, like `on size`");
        }
        let span = self.span();
        Ok((self.factor()?, span))
    }

    fn measure(&mut self) -> Parsed<Measure> {
        let span = self.span();
        let Token::Name(name) = self.peek().clone() else {
            return self.expected("a measure such as `response`");
        };
        self.take();
        match Measure::named(&name) {
            Some(measure) => self.variation(measure),
            None => {
                let message = format!("there is no measure `{name}`");
                let mut error = ParseError::new(self.text, span, message);
                error.help = elsewhere(&name, &MEASURES_ELSEWHERE)
                    .or_else(|| choices(&name, Measure::all().map(Measure::name)));
                Err(error)
            }
        }
    }

    /// Parses the rest of `ipdv(network)`: the variation of another delay than the round trip.
    fn variation(&mut self, measure: Measure) -> Parsed<Measure> {
        if !matches!(measure, Measure::Ipdv | Measure::Pdv) || !self.takes_sign("(") {
            return Ok(measure);
        }
        let span = self.span();
        let delay = self.measure()?;
        let Some(variation) = measure.variation_of(delay) else {
            let message =
                format!("{delay} is no delay: {measure} is of `network`, `response` or a stage");
            return self.error(span, message);
        };
        self.expect_sign(")", &format!("`)` to end `{measure}(`"))?;
        Ok(variation)
    }

    fn bound(&mut self, measure: Measure) -> Parsed<(Beyond, Value)> {
        let Some(beyond) = self.beyond() else {
            return self.expected("<, <=, > or >= and a bound, like `> 1ms`");
        };
        self.take();
        let start = self.span();
        let bound = self.sum()?;
        let bound = self.value(bound)?;
        let value = Value::Statistic(Statistic {
            kind: Kind::Of(Functional::Max, measure),
            selectors: Vec::new(),
            of: start,
        });
        self.agree(&value, &bound, self.since(start))?;
        self.can_be_beyond(measure, beyond, constant(&bound), self.since(start))?;
        Ok((beyond, bound))
    }

    pub(super) fn selectors(&mut self) -> Parsed<Vec<Selector>> {
        let mut selectors = vec![self.selector()?];
        while self.takes_sign(",") {
            selectors.push(self.selector()?);
        }
        Ok(selectors)
    }

    fn selector(&mut self) -> Parsed<Selector> {
        let span = self.span();
        let factor = self.factor()?;
        let which = if self.takes_word("in") {
            LevelSet::In(self.levels()?)
        } else if self.takes_sign("=") || self.takes_sign("==") {
            LevelSet::In(vec![self.level()?])
        } else if self.takes_sign("!=") {
            LevelSet::Not(self.level()?)
        } else if let Some(beyond) = self.beyond() {
            self.take();
            LevelSet::Is(beyond, self.level_number()?)
        } else {
            return self.expected("`=`, `!=`, `<`, `<=`, `>`, `>=` or `in` and a level");
        };
        Ok(Selector {
            factor,
            which,
            span,
        })
    }

    pub(super) fn factor(&mut self) -> Parsed<String> {
        match self.peek().clone() {
            Token::Name(name) | Token::Quoted(name) => {
                self.take();
                Ok(name)
            }
            _ => self.expected("the name of a factor"),
        }
    }

    pub(super) fn levels(&mut self) -> Parsed<Vec<LevelText>> {
        self.expect_sign("[", "`[` and levels, like `[1ms, 100ms]`")?;
        let mut levels = vec![self.level()?];
        while self.takes_sign(",") {
            levels.push(self.level()?);
        }
        self.expect_sign("]", "`,` or `]`")?;
        Ok(levels)
    }

    fn level(&mut self) -> Parsed<LevelText> {
        let span = self.span();
        let (text, number) = match self.peek().clone() {
            Token::Name(text) | Token::Quoted(text) => (text, None),
            Token::Keyword(word) => (word.to_owned(), None),
            Token::Number(number) => (number.text.clone(), Some(number)),
            _ => return self.expected("a level, such as `1ms`, `quiet` or `'with spaces'`"),
        };
        self.take();
        Ok(LevelText { text, number, span })
    }

    fn level_number(&mut self) -> Parsed<Number> {
        match self.peek().clone() {
            Token::Number(number) => {
                self.take();
                Ok(number)
            }
            _ => self.expected("a quantity, like `1ms`"),
        }
    }

    fn unknown_statistic<T>(&self, span: Span, name: &str, words: &[&str]) -> Parsed<T> {
        let message = format!("there is no statistic `{name}`");
        let mut error = ParseError::new(self.text, span, message);
        error.help = match Measure::named(name) {
            Some(measure) => Some(format!(
                "it is a measure; write a statistic of it, like `{}({name})`",
                if measure.is_yes_or_no() {
                    "mean"
                } else {
                    "p50"
                }
            )),
            None if units::number("1", name).is_some() => {
                Some(format!("a unit needs a number: `8ns / 1{name}`"))
            }
            None => known_statistics(name, words),
        };
        Err(error)
    }
}
