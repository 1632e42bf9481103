//! Parses limits: a statistic, a relation, and a bound. A bound with a sign is a change.

use super::{Dimension, Parsed, Parser, Token};
use crate::finding::check::syntax::{Kind, Number, Span, Statistic, Value};
use crate::finding::check::{Bound, Limit, print};
use crate::finding::measure::Measure;
use delaylab_stats::functional::Beyond;

/// Parses a limit.
pub(in crate::finding::check) fn limit(text: &str) -> Parsed<Limit> {
    let mut parser = Parser::new(text)?;
    let each = parser.for_each()?;
    let statistic = parser.limited()?;
    let Some(beyond) = parser.beyond() else {
        if *parser.peek() == Token::Sign("==") {
            let message =
                "measured values are never exactly equal: write what must not be, like `> 0`";
            return parser.error(parser.span(), message);
        }
        return parser.expected("<, <=, > or >= and a bound: `> +10%`, `> +2ms` or `> 30ms`");
    };
    parser.take();
    let bound = parser.limit_bound(&statistic, beyond)?;
    if *parser.peek() != Token::End {
        return parser.expected("the end; one condition a flag, which may be given again");
    }
    Ok(Limit {
        each,
        statistic,
        beyond,
        bound,
    })
}

impl Parser<'_> {
    /// Parses a statistic, or the single word `lost`, which means `share(lost > 0)`.
    fn limited(&mut self) -> Parsed<Statistic> {
        let span = self.span();
        let next = self.tokens.get(self.at + 1).map(|(token, _)| token);
        let is_bare = next != Some(&Token::Sign("("));
        match self.peek() {
            Token::Name(name) if name == "lost" && is_bare => {
                self.take();
                Ok(share_lost(span))
            }
            Token::Name(_) => self.statistic(),
            _ => self.expected("a statistic such as `p99(response)`, or `lost`"),
        }
    }

    fn limit_bound(&mut self, statistic: &Statistic, beyond: Beyond) -> Parsed<Bound> {
        let start = self.span();
        let sign = ["+", "-"].into_iter().find(|sign| self.takes_sign(sign));
        let Token::Number(number) = self.peek().clone() else {
            return self.expected("a bound: `+10%` or `+2ms` for a change, `30ms` for the value");
        };
        self.take();
        let span = self.since(start);
        let is_percent = number.text.ends_with('%');
        let Some(sign) = sign else {
            if is_percent && !statistic.is_share() {
                let text = &number.text;
                let message = format!("{text} of what? Write `+{text}` for a change from A to B");
                return self.error(span, message);
            }
            let of = self.limited_by(statistic, &number, beyond, [0.0, 1.0], span)?;
            self.can_be_share(&of, Some(number.value), span)?;
            return Ok(Bound::Value(number));
        };
        let number = signed(sign, number);
        if is_percent && !statistic.is_share() {
            return Ok(Bound::Share(number));
        }
        self.limited_by(statistic, &number, beyond, [-1.0, 1.0], span)?;
        Ok(Bound::Change(number))
    }

    /// The statistic as a value. An error at `span` if the number counts something else, or if the statistic is a share
    /// and nothing within `ends` is beyond the number.
    fn limited_by(
        &self,
        statistic: &Statistic,
        number: &Number,
        beyond: Beyond,
        ends: [f64; 2],
        span: Span,
    ) -> Parsed<Value> {
        let of = Value::Statistic(statistic.clone());
        self.agree(&of, &Value::Number(number.clone()), span)?;
        if statistic.is_share() && !ends.iter().any(|&end| beyond.holds(end, number.value)) {
            let message = format!(
                "no share is {} {}: this would never fail",
                print::sign(beyond),
                number.text
            );
            return self.error(span, message);
        }
        Ok(of)
    }
}

fn signed(sign: &str, number: Number) -> Number {
    Number {
        value: if sign == "-" {
            -number.value
        } else {
            number.value
        },
        text: format!("{sign}{}", number.text),
        ..number
    }
}

/// `share(lost > 0)`.
fn share_lost(span: Span) -> Statistic {
    let none = Number {
        value: 0.0,
        dimension: Dimension::NUMBER,
        text: "0".to_owned(),
    };
    let kind = Kind::Share(Measure::Lost, Beyond::More, Box::new(Value::Number(none)));
    Statistic {
        kind,
        selectors: Vec::new(),
        of: span,
    }
}
