//! Parses tokens to a check, by recursive descent.
//!
//! A parenthesis may begin a claim or a value, so the same rules parse both. The type of the result
//! (`Node`) says which one it was.

mod agree;
mod limit;
mod range;
mod statistics;
mod values;

use super::lexer::{Token, tokens};
use super::syntax::{Check, Claim, Comparison, Each, ParseError, Relation, Selector, Span, Value};
use crate::finding::dimension::Dimension;
use delaylab_stats::functional::Beyond;
use values::constant;

/// Largest depth of nested parentheses, signs and negations, and largest length of a sum or product.
const MAX_DEPTH: usize = 64;

pub(super) use agree::wrong_slope;
pub(super) use limit::limit;

pub(super) fn parse(text: &str) -> Result<Check, ParseError> {
    let mut parser = Parser::new(text)?;
    let each = parser.for_each()?;
    let node = parser.any()?;
    parser.expect_end()?;
    let claim = parser.claim(node)?;
    Ok(Check { each, claim })
}

/// Parses selectors alone.
pub(super) fn selectors(text: &str) -> Result<Vec<Selector>, ParseError> {
    let mut parser = Parser::new(text)?;
    let selectors = parser.selectors()?;
    parser.ends_or("`,` and another selector")?;
    Ok(selectors)
}

/// Parses a value alone.
pub(super) fn value(text: &str) -> Result<Value, ParseError> {
    let mut parser = Parser::new(text)?;
    let (node, span) = parser.sum()?;
    parser.ends_or("`+`, `-`, `*` or `/`")?;
    match node {
        Node::Value(value) => Ok(value),
        Node::Claim(_) => parser.error(span, "this is a claim, and a value is owed"),
    }
}

/// The result of a rule.
enum Node {
    Claim(Claim),
    Value(Value),
}

/// A node and where it is written.
type Located = (Node, Span);

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<(Token, Span)>,
    at: usize,
    depth: usize,
}

type Parsed<T> = Result<T, ParseError>;

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Parsed<Self> {
        Ok(Self {
            text,
            tokens: tokens(text)?,
            at: 0,
            depth: 0,
        })
    }
}

impl Parser<'_> {
    fn peek(&self) -> &Token {
        &self.tokens[self.at].0
    }

    fn span(&self) -> Span {
        self.tokens[self.at].1
    }

    /// The span from `start` to the last token taken.
    fn since(&self, start: Span) -> Span {
        let last = self.tokens[self.at.saturating_sub(1)].1;
        Span {
            start: start.start,
            end: last.end.max(start.end),
        }
    }

    /// Takes a token. At the end it returns `Token::End` again and again.
    fn take(&mut self) -> Token {
        let token = self.peek().clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn takes_sign(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Token::Sign(s) if *s == sign);
        if found {
            self.take();
        }
        found
    }

    fn takes_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Token::Keyword(w) if *w == word);
        if found {
            self.take();
        }
        found
    }

    fn error<T>(&self, span: Span, message: impl Into<String>) -> Parsed<T> {
        Err(ParseError::new(self.text, span, message))
    }

    /// The error "expected … but found …" at the next token.
    fn expected<T>(&self, what: &str) -> Parsed<T> {
        let found = match self.peek() {
            Token::End => "the check ends here".to_owned(),
            Token::Sign(sign) if is_equality(sign, what) => {
                return self.error(
                    self.span(),
                    "measured values are never exactly equal: write `a ≈ b within 5 %` \
                     (or `a ~= b within 5 %`)",
                );
            }
            _ => {
                let span = self.span();
                format!("found `{}`", &self.text[span.start..span.end])
            }
        };
        self.error(self.span(), format!("expected {what}, but {found}"))
    }

    fn expect_sign(&mut self, sign: &str, what: &str) -> Parsed<()> {
        if self.takes_sign(sign) {
            return Ok(());
        }
        self.expected(what)
    }

    fn expect_end(&self) -> Parsed<()> {
        self.ends_or("a comparison (<, <=, >, >=, ≈), `and`, `or`")
    }

    /// An error unless this is the end; `other` says what else could follow.
    fn ends_or(&self, other: &str) -> Parsed<()> {
        match self.peek() {
            Token::End => Ok(()),
            _ => self.expected(&format!("{other}, or the end")),
        }
    }

    fn deeper<T>(&mut self, rule: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == MAX_DEPTH {
            return self.error(
                self.span(),
                "too many parentheses or signs inside each other",
            );
        }
        self.depth += 1;
        let result = rule(self);
        self.depth -= 1;
        result
    }

    fn claim(&self, (node, span): Located) -> Parsed<Claim> {
        match node {
            Node::Claim(claim) => Ok(claim),
            Node::Value(_) => self.error(
                span,
                "this is a number and nothing true or false: compare it, with <, <=, >, >= or ≈",
            ),
        }
    }

    fn value(&self, (node, span): Located) -> Parsed<Value> {
        match node {
            Node::Value(value) => Ok(value),
            Node::Claim(_) => self.error(
                span,
                "this is true or false and no number: join comparisons with `and` or `or`",
            ),
        }
    }
}

/// Is this sign meant as a comparison, where `what` is expected?
fn is_equality(sign: &str, what: &str) -> bool {
    sign == "==" || (sign == "=" && what.starts_with("a comparison"))
}

/// Rules for claims.
impl Parser<'_> {
    /// A factor, and which of its levels.
    fn each(&mut self) -> Parsed<Each> {
        let span = self.span();
        let factor = self.factor()?;
        let levels = match self.takes_word("in") {
            true => self.levels()?,
            false => Vec::new(),
        };
        Ok(Each {
            factor,
            levels,
            span,
        })
    }

    fn for_each(&mut self) -> Parsed<Vec<Each>> {
        let mut each = Vec::new();
        if !self.takes_word("for") {
            return Ok(each);
        }
        if !self.takes_word("each") {
            return self.expected("`each` after `for`");
        }
        loop {
            each.push(self.each()?);
            if !self.takes_sign(",") {
                break;
            }
        }
        self.expect_sign(":", "`:` after the factors of `for each`")?;
        Ok(each)
    }

    fn any(&mut self) -> Parsed<Located> {
        self.joined("or", Self::all, Claim::Any)
    }

    fn all(&mut self) -> Parsed<Located> {
        self.joined("and", Self::negation, Claim::All)
    }

    fn joined(
        &mut self,
        word: &str,
        rule: fn(&mut Self) -> Parsed<Located>,
        join: fn(Vec<Claim>) -> Claim,
    ) -> Parsed<Located> {
        let start = self.span();
        let first = rule(self)?;
        if !matches!(self.peek(), Token::Keyword(w) if *w == word) {
            return Ok(first);
        }
        let mut claims = vec![self.claim(first)?];
        while self.takes_word(word) {
            let next = rule(self)?;
            claims.push(self.claim(next)?);
        }
        Ok((Node::Claim(join(claims)), self.since(start)))
    }

    fn negation(&mut self) -> Parsed<Located> {
        let start = self.span();
        if !self.takes_word("not") {
            return self.comparison();
        }
        let inner = self.deeper(Self::negation)?;
        let claim = Claim::Not(Box::new(self.claim(inner)?));
        Ok((Node::Claim(claim), self.since(start)))
    }

    fn comparison(&mut self) -> Parsed<Located> {
        let start = self.span();
        let first = self.sum()?;
        if self.relation().is_none() {
            return Ok(first);
        }
        let first = self.value(first)?;
        let mut left = first.clone();
        let mut rest = Vec::new();
        while let Some(relation) = self.relation() {
            self.take();
            let right = self.sum()?;
            let right = self.value(right)?;
            self.agree(&left, &right, self.since(start))?;
            let turned = relation.map(Beyond::turned_round);
            for (value, relation, bound) in [(&left, relation, &right), (&right, turned, &left)] {
                self.can_compare(value, relation, constant(bound), self.since(start))?;
            }
            let relation = match relation {
                Some(beyond) => Relation::Is(beyond),
                None => self.within(&left)?,
            };
            let is_share = matches!(relation, Relation::About { relative: true, .. });
            if is_share
                && [&left, &right]
                    .into_iter()
                    .any(|side| constant(side) == Some(0.0))
            {
                return self.error(
                    self.since(start),
                    "a share of 0 is 0: write how far it may be, like `within 1ms`, or a bound, like `< 1 %`",
                );
            }
            left = right.clone();
            rest.push((relation, right));
        }
        let claim = Claim::Compare(Comparison { first, rest });
        Ok((Node::Claim(claim), self.since(start)))
    }

    /// The relation that follows: `Some(None)` for `≈`; `None` if no comparison follows.
    fn relation(&self) -> Option<Option<Beyond>> {
        match self.peek() {
            Token::Sign("≈") => Some(None),
            _ => self.beyond().map(Some),
        }
    }

    fn beyond(&self) -> Option<Beyond> {
        match self.peek() {
            Token::Sign("<") => Some(Beyond::Less),
            Token::Sign("<=") => Some(Beyond::AtMost),
            Token::Sign(">") => Some(Beyond::More),
            Token::Sign(">=") => Some(Beyond::AtLeast),
            _ => None,
        }
    }

    /// Parses `within` and the largest difference, after the right side of `≈`. `value`: the left side.
    fn within(&mut self, value: &Value) -> Parsed<Relation> {
        if !self.takes_word("within") {
            return self.expected("`within` and how far apart they may be, like `within 5 %`");
        }
        let span = self.span();
        let (within, relative) = match self.take() {
            Token::Number(number) if number.text.ends_with('%') => (number, true),
            Token::Number(number) if number.dimension != Dimension::NUMBER => (number, false),
            _ => {
                return self.error(
                    span,
                    "expected a share of the right side, like `5 %`, or a quantity, like `100us`",
                );
            }
        };
        if !relative {
            self.agree(value, &Value::Number(within.clone()), span)?;
        }
        Ok(Relation::About { within, relative })
    }
}
