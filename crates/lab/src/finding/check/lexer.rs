//! Splits a text into tokens: words, numbers and signs.

use super::syntax::{Number, ParseError, Span};
use super::units;

/// A token of a check.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    /// A name without quotes.
    Name(String),
    /// A name in quotes.
    Quoted(String),
    Number(Number),
    /// A reserved word.
    Keyword(&'static str),
    /// An operator or punctuation in its normal form: `<=`, `(`, ….
    Sign(&'static str),
    End,
}

/// Reserved words: names only if they are quoted.
pub(crate) const KEYWORDS: [&str; 8] = ["for", "each", "in", "and", "or", "not", "on", "within"];

/// Each sign as written, and its normal form. Longer signs come first.
const SIGNS: [(&str, &str); 26] = [
    ("<=", "<="),
    (">=", ">="),
    ("≤", "<="),
    ("≥", ">="),
    ("~=", "≈"),
    ("≈", "≈"),
    ("!=", "!="),
    ("==", "=="),
    ("<", "<"),
    (">", ">"),
    ("=", "="),
    ("(", "("),
    (")", ")"),
    ("[", "["),
    ("]", "]"),
    (",", ","),
    ("|", "|"),
    (":", ":"),
    ("+", "+"),
    ("-", "-"),
    ("−", "-"),
    ("*", "*"),
    ("×", "*"),
    ("·", "*"),
    ("/", "/"),
    ("÷", "/"),
];

/// The tokens of a text with their places; the last is [`Token::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, Span)>, ParseError> {
    let mut lexer = Lexer { text, at: 0 };
    let mut found = Vec::new();
    loop {
        lexer.take_while(char::is_whitespace);
        let start = lexer.at;
        let token = lexer.token()?;
        let is_end = token == Token::End;
        let end = lexer.at;
        found.push((token, Span { start, end }));
        if is_end {
            return Ok(found);
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn error(&self, start: usize, message: impl Into<String>) -> ParseError {
        let end = self.at;
        ParseError::new(self.text, Span { start, end }, message)
    }

    fn token(&mut self) -> Result<Token, ParseError> {
        let Some(first) = self.rest().chars().next() else {
            return Ok(Token::End);
        };
        match first {
            '\'' | '"' => self.quoted(first),
            '0'..='9' | '.' => self.number(),
            _ if first.is_alphabetic() || first == '_' => Ok(self.word()),
            _ => self.sign(first),
        }
    }

    fn quoted(&mut self, quote: char) -> Result<Token, ParseError> {
        let start = self.at;
        self.at += 1;
        let inside = self.take_while(|c| c != quote);
        if self.rest().is_empty() {
            return Err(self.error(
                start,
                format!("this quote has no end: write another {quote}"),
            ));
        }
        self.at += 1;
        Ok(Token::Quoted(inside.to_owned()))
    }

    /// A hyphen belongs to a name if a letter or digit follows directly: `fq-codel`.
    fn word(&mut self) -> Token {
        let start = self.at;
        loop {
            self.take_while(|c| c.is_alphanumeric() || c == '_');
            let mut next = self.rest().chars();
            match (next.next(), next.next()) {
                (Some('-'), Some(c)) if c.is_alphanumeric() => self.at += 1,
                _ => break,
            }
        }
        let word = &self.text[start..self.at];
        match KEYWORDS.into_iter().find(|keyword| *keyword == word) {
            Some(keyword) => Token::Keyword(keyword),
            None => Token::Name(word.to_owned()),
        }
    }

    fn number(&mut self) -> Result<Token, ParseError> {
        let start = self.at;
        let digits = self.take_while(|c| c.is_ascii_digit() || c == '.');
        let unit = self.unit();
        units::number(digits, unit)
            .map(Token::Number)
            .ok_or_else(|| {
                let message = format!(
                    "`{}` is not a quantity: units are ns, us, ms, s, min, h; B, kB, KiB, MB, MiB; \
                 bit/s, kbit/s, Mbit/s, Gbit/s; cells, cells/s, packets, %, ppm. Quote it if it is a name",
                    &self.text[start..self.at]
                );
                self.error(start, message)
            })
    }

    /// The unit after a number, perhaps after spaces; empty if there is none.
    fn unit(&mut self) -> &'a str {
        let number_end = self.at;
        self.take_while(|c| c == ' ');
        if self.rest().starts_with('%') {
            self.at += 1;
            return "%";
        }
        let start = self.at;
        let word = self.take_while(char::is_alphabetic);
        if word.is_empty() || KEYWORDS.contains(&word) {
            self.at = number_end;
            return "";
        }
        let is_counted = word.to_lowercase().ends_with("bit") || ["cell", "cells"].contains(&word);
        let after = self.rest().strip_prefix("/s").filter(|_| is_counted);
        if after.is_some_and(|after| !after.starts_with(char::is_alphanumeric)) {
            self.at += 2;
        }
        &self.text[start..self.at]
    }

    fn sign(&mut self, first: char) -> Result<Token, ParseError> {
        let rest = self.rest();
        match SIGNS.iter().find(|(written, _)| rest.starts_with(written)) {
            Some((written, sign)) => {
                self.at += written.len();
                Ok(Token::Sign(sign))
            }
            None => {
                let start = self.at;
                self.at += first.len_utf8();
                let instead = match first {
                    '$' => ": `for each FACTOR:` selects each level by itself",
                    '&' => ": write `and`, or a comma between selectors",
                    '±' => ": write how far with `within`, as in `≈ 1ms within 5 %`",
                    '→' => ": a name that has it is quoted, as in `of='s1→s2'`",
                    _ => "",
                };
                Err(self.error(start, format!("`{first}` means nothing here{instead}")))
            }
        }
    }
}
