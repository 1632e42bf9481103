//! Parses arithmetic.

use super::{Located, MAX_DEPTH, Node, Parsed, Parser};
use crate::finding::check::lexer::Token;
use crate::finding::check::syntax::{Operator, Value};

impl Parser<'_> {
    pub(super) fn sum(&mut self) -> Parsed<Located> {
        const SIGNS: [(&str, Operator); 2] = [("+", Operator::Plus), ("-", Operator::Minus)];
        self.arithmetic(&SIGNS, Self::product)
    }

    fn product(&mut self) -> Parsed<Located> {
        const SIGNS: [(&str, Operator); 2] = [("*", Operator::Times), ("/", Operator::Over)];
        self.arithmetic(&SIGNS, Self::signed)
    }

    fn arithmetic(
        &mut self,
        signs: &[(&str, Operator)],
        rule: fn(&mut Self) -> Parsed<Located>,
    ) -> Parsed<Located> {
        let start = self.span();
        let mut left = rule(self)?;
        let mut length = 0;
        while let Some((_, operator)) = signs.iter().find(|(sign, _)| self.takes_sign(sign)) {
            length += 1;
            if length > MAX_DEPTH {
                return self.error(self.since(start), "too long a sum or product");
            }
            let right = rule(self)?;
            let divisor = right.1;
            let (a, b) = (self.value(left)?, self.value(right)?);
            let span = self.since(start);
            if *operator == Operator::Over && constant(&b) == Some(0.0) {
                return self.error(divisor, "this is 0, and nothing can be divided by it");
            }
            if matches!(operator, Operator::Plus | Operator::Minus) {
                self.agree(&a, &b, span)?;
            }
            let value = Value::Binary(*operator, Box::new(a), Box::new(b));
            left = (Node::Value(value), span);
        }
        Ok(left)
    }

    fn signed(&mut self) -> Parsed<Located> {
        let start = self.span();
        if !self.takes_sign("-") {
            return self.primary();
        }
        let inner = self.deeper(Self::signed)?;
        let value = Value::Negative(Box::new(self.value(inner)?));
        Ok((Node::Value(value), self.since(start)))
    }

    fn primary(&mut self) -> Parsed<Located> {
        let start = self.span();
        let node = match self.peek().clone() {
            Token::Number(number) => {
                self.take();
                Node::Value(Value::Number(number))
            }
            Token::Sign("(") => {
                self.take();
                let (inner, _) = self.deeper(Self::any)?;
                self.expect_sign(")", "`)`")?;
                inner
            }
            Token::Name(_) => Node::Value(Value::Statistic(self.deeper(Self::statistic)?)),
            _ => return self.expected("a statistic such as `p50(response)`, a number or `(`"),
        };
        Ok((node, self.since(start)))
    }
}

/// The number that a value is without any data; `None` if it has a statistic.
pub(super) fn constant(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => Some(number.value),
        Value::Negative(inner) => Some(-constant(inner)?),
        Value::Binary(operator, a, b) => Some(operator.apply(constant(a)?, constant(b)?)),
        Value::Statistic(_) => None,
    }
}
