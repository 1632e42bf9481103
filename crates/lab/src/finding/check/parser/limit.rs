//! Parses limits: a statistic, a relation, and a bound. A bound with a sign is a change.

use super::{Dimension, Parsed, Parser, Token};
use crate::finding::check::syntax::{Kind, Number, Span, Statistic, Value};
use crate::finding::check::{Bound, Limit};
use crate::finding::measure::Measure;
use delaylab_stats::functional::Beyond;

/// Parses a limit.
pub(in crate::finding::check) fn limit(text: &str) -> Parsed<Limit> {
    let mut parser = Parser::new(text)?;
    let each = parser.for_each()?;
    let statistic = parser.limited()?;
    let Some(beyond) = parser.beyond() else {
        return parser.without_relation();
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
    /// The error where no relation follows.
    fn without_relation<T>(&self) -> Parsed<T> {
        if *self.peek() == Token::Sign("==") {
            let message =
                "measured values are never exactly equal: write what must not be, like `> 0`";
            return self.error(self.span(), message);
        }
        self.expected("<, <=, > or >= and a bound: `> +10%`, `> +2ms` or `> 30ms`")
    }

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
            Token::Name(_) if is_bare => self.statistic_or(&["lost"]),
            Token::Name(_) => self.statistic(),
            _ => self.expected("a statistic such as `p99(response)`, or `lost`"),
        }
    }

    fn limit_bound(&mut self, statistic: &Statistic, beyond: Beyond) -> Parsed<Bound> {
        let start = self.span();
        let sign = ["+", "-"].into_iter().find(|sign| self.takes_sign(sign));
        let number = self.bound_number()?;
        let is_percent = number.text.ends_with('%');
        let number = self.over(number)?;
        let span = self.since(start);
        let of = Value::Statistic(statistic.clone());
        let agree = |number: &Number| self.agree(&of, &Value::Number(number.clone()), span);
        let Some(sign) = sign else {
            if is_percent && !statistic.is_share() {
                let text = &number.text;
                let of_time = of_time(statistic)
                    .then(|| format!(", like `{}ms`", text.trim_end_matches('%')));
                let message = format!(
                    "{text} of what? Write a value with its unit{}; where two runs are compared, `+{text}` for a change from A to B",
                    of_time.unwrap_or_default()
                );
                return self.error(span, message);
            }
            agree(&number)?;
            self.can_fail(statistic.range(), statistic, beyond, &number, span)?;
            return Ok(Bound::Value(number));
        };
        let number = signed(sign, number);
        if is_percent && !statistic.is_share() {
            self.can_change_by_share(statistic, beyond, &number, span)?;
            return Ok(Bound::Share(number));
        }
        agree(&number)?;
        let range = statistic.range_of_change();
        self.can_fail(range, statistic, beyond, &number, span)?;
        Ok(Bound::Change(number))
    }

    fn bound_number(&mut self) -> Parsed<Number> {
        let Token::Number(number) = self.peek().clone() else {
            return self.expected("a bound: `+10%` or `+2ms` for a change, `30ms` for the value");
        };
        self.take();
        Ok(number)
    }

    /// The number, divided by another if one follows, as in `8ns / 1B`, which may be a slope.
    fn over(&mut self, number: Number) -> Parsed<Number> {
        if !self.takes_sign("/") {
            return Ok(number);
        }
        let span = self.span();
        let divisor = self.bound_number()?;
        if divisor.value == 0.0 {
            return self.error(span, "this is 0, and nothing can be divided by it");
        }
        Ok(Number {
            value: number.value / divisor.value,
            dimension: number.dimension.per(divisor.dimension),
            text: format!("{} / {}", number.text, divisor.text),
        })
    }
}

fn of_time(statistic: &Statistic) -> bool {
    statistic.measure().dimension() == Some(Dimension::TIME)
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
