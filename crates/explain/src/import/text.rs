//! A file as lines, and the few ways in which readers pick them apart.

use super::{Imported, decimal};
use delaylab_model::{Nanos, SECOND};
use std::borrow::Cow;

/// A file as text. What is not UTF-8 in it is replaced.
pub struct Text<'a> {
    body: Cow<'a, str>,
}

impl<'a> Text<'a> {
    /// Of these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self {
            body: String::from_utf8_lossy(bytes),
        }
    }

    /// Every whole line with its number. A last line that no line break ends may be cut short
    /// anywhere, and what is cut short can look whole (22.9 ms as 22): it is left out.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let whole = self.body.rfind('\n').map_or("", |end| &self.body[..end]);
        (1..).zip(whole.split('\n').map(|line| line.trim_end_matches('\r')))
    }

    /// Says so if the last line was left out.
    pub fn warn_if_cut(&self, imported: &mut Imported) {
        if !self.body.ends_with('\n') {
            let line = self.body.split('\n').count();
            imported.warn(format!(
                "the file ends in the middle of line {line}, which was left out"
            ));
        }
    }
}

/// The first lines, for a look at what a file is.
pub fn head(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(65_536)]).into_owned()
}

/// What is behind a key: `after("ttl=63 time=1", "ttl=")` is `63 time=1`.
pub fn after<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.split_once(key).map(|(_, rest)| rest)
}

/// The word behind a key, up to a blank, a comma or a closing bracket.
pub fn word_after<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let rest = after(line, key)?;
    let end = rest.find([' ', ',', ')', ']', ';']).unwrap_or(rest.len());
    Some(&rest[..end])
}

/// The whole number with which a text begins.
pub fn leading_number(text: &str) -> Option<u64> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    text[..end].parse().ok()
}

/// The real time with which ping and fping begin a line after `-D`: `[1795306027.232112] rest`.
pub fn stamp(line: &str) -> (Option<Nanos>, &str) {
    let parts = line
        .strip_prefix('[')
        .and_then(|line| line.split_once("] "));
    let read = |(stamp, rest)| Some((decimal::time(stamp, SECOND)?.nanos, rest));
    match parts.and_then(read) {
        Some((time, rest)) => (Some(time), rest),
        None => (None, line),
    }
}

/// Lines that a reader could not make anything of.
#[derive(Default)]
pub struct Strange {
    count: usize,
    first: Option<(usize, String)>,
}

impl Strange {
    /// Takes note of one.
    pub fn note(&mut self, number: usize, line: &str) {
        if line.trim().is_empty() {
            return;
        }
        self.count += 1;
        self.first
            .get_or_insert_with(|| (number, line.chars().take(80).collect()));
    }

    /// Says how many there were, and shows the first.
    pub fn warn(&self, imported: &mut Imported) {
        if let Some((number, line)) = &self.first {
            let lines = if self.count == 1 {
                "line was"
            } else {
                "lines were"
            };
            imported.warn(format!(
                "{} {lines} not understood; the first is line {number}: {line}",
                self.count
            ));
        }
    }
}
