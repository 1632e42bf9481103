//! Errors in an experiment file: what is wrong, where, and what to write instead.

use delaylab_model::refusal::Refusal;
use std::fmt;
use std::ops::Range;

/// What the source of a `--set` is called.
pub(crate) const SET: &str = "--set";

/// A text from which an experiment is read: the file, or the argument of one `--set`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Name for messages: a path, a catalogue entry or `--set`.
    pub name: String,
    /// The whole text.
    pub text: String,
}

/// Where a value was written: index of the source, and a range of bytes in its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    pub source: usize,
    pub span: Range<usize>,
}

/// An error and its place, before line and column are computed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub at: Origin,
    pub message: String,
    pub help: Option<String>,
}

impl Problem {
    pub(crate) fn new(at: &Origin, message: impl Into<String>) -> Self {
        Self {
            at: at.clone(),
            message: message.into(),
            help: None,
        }
    }

    /// That of a field that cannot be honoured and is written at this place.
    pub(crate) fn from_refusal(at: &Origin, refusal: Refusal) -> Self {
        Self::new(at, refusal.reason).help_if(refusal.remedy)
    }

    /// Sort key: source, place, message.
    fn key(&self) -> (usize, usize, &str) {
        (self.at.source, self.at.span.start, &self.message)
    }

    pub(crate) fn help(self, help: impl Into<String>) -> Self {
        self.help_if(Some(help))
    }

    /// With this help, where there is any.
    pub(crate) fn help_if(mut self, help: Option<impl Into<String>>) -> Self {
        self.help = help.map(Into::into).or(self.help);
        self
    }
}

/// One error with its line and column, ready to print.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The file, the catalogue entry or the flag.
    pub source: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong, in terms of the file.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// Text of the line.
    pub excerpt: String,
    /// How many characters to mark, at least 1.
    pub width: usize,
}

/// Largest number of errors to show; nobody reads more.
const MOST_SHOWN: usize = 20;

/// All errors, in the order of the sources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostics {
    /// The errors to show.
    pub list: Vec<Diagnostic>,
    /// How many errors are not shown.
    pub more: usize,
}

impl Diagnostics {
    /// Sorts problems by source and place, and drops duplicates.
    pub(crate) fn new(mut problems: Vec<Problem>, sources: &[Source]) -> Self {
        problems.sort_by(|one, other| one.key().cmp(&other.key()));
        problems.dedup();
        Self {
            more: problems.len().saturating_sub(MOST_SHOWN),
            list: problems
                .into_iter()
                .take(MOST_SHOWN)
                .map(|problem| Diagnostic::new(problem, sources))
                .collect(),
        }
    }
}

impl Diagnostic {
    fn new(problem: Problem, sources: &[Source]) -> Self {
        let (name, text) = sources
            .get(problem.at.source)
            .map_or(("", ""), |source| (&source.name, &source.text));
        let place = Place::new(text, &problem.at.span);
        Self {
            source: name.to_owned(),
            line: place.line,
            column: place.column,
            help: problem
                .help
                .or_else(|| goes_with(name, text, &problem.message)),
            message: problem.message,
            excerpt: place.excerpt.to_owned(),
            width: place.width,
        }
    }
}

/// What a `--set` has to go with, where it begins a section that needs another value too.
fn goes_with(source: &str, text: &str, message: &str) -> Option<String> {
    let missing = message.strip_prefix('`')?.strip_suffix("` is missing")?;
    let (path, value) = text.split_once('=').filter(|_| source == SET)?;
    let section = if value.trim_start().starts_with('{') {
        path
    } else {
        path.rsplit_once('.')?.0
    };
    Some(format!(
        "`{section}` has none yet: add --set {section}.{missing}=…"
    ))
}

struct Place<'a> {
    line: usize,
    column: usize,
    excerpt: &'a str,
    width: usize,
}

impl<'a> Place<'a> {
    /// Finds line and column of a span, which may end inside a character or beyond the text.
    fn new(text: &'a str, span: &Range<usize>) -> Self {
        let start = floor(text, span.start);
        let before = &text[..start];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let rest = &text[line_start..];
        let excerpt = rest.split(['\n', '\r']).next().unwrap_or(rest);
        let end = floor(text, span.end).clamp(start, (line_start + excerpt.len()).max(start));
        Self {
            line: before.matches('\n').count() + 1,
            column: text[line_start..start].chars().count() + 1,
            excerpt,
            width: text[start..end].chars().count().max(1),
        }
    }
}

fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.line.to_string();
        let margin = " ".repeat(number.len());
        // Keep tabs, so that the caret stands under its character.
        let indent: String = self
            .excerpt
            .chars()
            .take(self.column - 1)
            .map(|c| if c == '\t' { '\t' } else { ' ' })
            .collect();
        let (source, line, column) = (&self.source, self.line, self.column);
        writeln!(f, "error: {}", self.message)?;
        writeln!(f, "{margin}--> {source}:{line}:{column}")?;
        writeln!(f, "{margin} |")?;
        writeln!(f, "{number} | {}", self.excerpt)?;
        write!(f, "{margin} | {indent}{}", "^".repeat(self.width))?;
        match &self.help {
            Some(help) => write!(f, "\n{margin} = help: {help}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, diagnostic) in self.list.iter().enumerate() {
            let gap = if index == 0 { "" } else { "\n\n" };
            write!(f, "{gap}{diagnostic}")?;
        }
        match self.more {
            0 => Ok(()),
            more => write!(f, "\n\nand {more} more"),
        }
    }
}

impl std::error::Error for Diagnostics {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_set_that_begins_a_section_names_what_it_needs() {
        let help = |text: &str| goes_with(SET, text, "`burst` is missing");
        let said = "`path.switch.shaper` has none yet: add --set path.switch.shaper.burst=…";
        for text in [
            "path.switch.shaper.rate=8Mbit/s",
            "path.switch.shaper={ rate = \"8Mbit/s\" }",
        ] {
            assert_eq!(help(text).as_deref(), Some(said));
        }
        assert_eq!(goes_with("model.toml", "a.b=1", "`burst` is missing"), None);
        assert_eq!(goes_with(SET, "a.b=1", "unknown key `b`"), None);
    }

    #[test]
    fn columns_are_characters() {
        let place = Place::new("a\n\té = \"ü\"\nb", &(8..12));
        assert_eq!((place.line, place.column), (2, 6));
        assert_eq!(place.excerpt, "\té = \"ü\"");
        assert_eq!(place.width, 3);
    }

    proptest! {
        #[test]
        fn no_span_panics(text in "\\PC*(\n\\PC*)*", start in 0_usize..64, end in 0_usize..64) {
            let at = Origin { source: 0, span: start..end };
            let sources = [Source { name: "x".to_owned(), text }];
            Diagnostics::new(vec![Problem::new(&at, "m")], &sources).to_string();
        }
    }
}
