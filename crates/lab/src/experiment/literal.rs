//! Maps positions in a text to positions in the file, where the text is a TOML string with quotes and escapes.

use super::diagnostic::{Origin, Source};
use crate::finding::check::Span;

/// The place in the source of some bytes of a text. `at`: place of the whole string, returned if the mapping fails.
pub(super) fn within(at: &Origin, text: &str, span: Span, sources: &[Source]) -> Origin {
    let source = sources.get(at.source);
    let literal = source.and_then(|source| source.text.get(at.span.clone()));
    let places = literal.and_then(|literal| places(literal, text));
    let Some(places) = places else {
        return at.clone();
    };
    let place = |byte: usize| places.get(byte).map(|place| at.span.start + place);
    match (place(span.start), place(span.end)) {
        (Some(start), Some(end)) => Origin {
            source: at.source,
            span: start..end,
        },
        _ => at.clone(),
    }
}

/// Offset in the literal of each byte of a text, and of its end; `None` if the literal does not hold this text.
fn places(literal: &str, text: &str) -> Option<Vec<usize>> {
    let quote = literal.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let thrice: String = [quote; 3].iter().collect();
    let is_long = literal.len() >= 6 && literal.starts_with(&thrice);
    let mut at = if is_long { 3 } else { 1 };
    // TOML drops a line break directly after the opening `"""`.
    at += if is_long {
        line_break(&literal[at..])
    } else {
        0
    };
    let mut places = Vec::with_capacity(text.len() + 1);
    for c in text.chars() {
        if quote == '"' {
            at += broken_line(&literal[at..]);
        }
        let rest = &literal[at..];
        places.extend(std::iter::repeat_n(at, c.len_utf8()));
        at += match rest.chars().next()? {
            '\\' if quote == '"' => escape(rest)?,
            same if same == c => c.len_utf8(),
            '\r' if c == '\n' => line_break(rest),
            _ => return None,
        };
    }
    places.push(at);
    Some(places)
}

fn line_break(rest: &str) -> usize {
    match rest.as_bytes() {
        [b'\n', ..] => 1,
        [b'\r', b'\n', ..] => 2,
        _ => 0,
    }
}

/// Length of a line continuation: `\` at the end of a line, and the white space after it; 0 if there is none.
fn broken_line(rest: &str) -> usize {
    let Some(behind) = rest.strip_prefix('\\') else {
        return 0;
    };
    let line = behind.trim_start_matches([' ', '\t']);
    if line_break(line) == 0 {
        return 0;
    }
    let next = behind.trim_start_matches([' ', '\t', '\r', '\n']);
    let length = rest.len() - next.len();
    length + broken_line(next)
}

fn escape(rest: &str) -> Option<usize> {
    let length = match rest.as_bytes().get(1)? {
        b'x' => 4,
        b'u' => 6,
        b'U' => 10,
        _ => 2,
    };
    rest.is_char_boundary(length).then_some(length)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::tree::parse;
    use super::*;
    use proptest::prelude::*;

    /// What stands in the file where this word stands in the text.
    fn found(literal: &str, word: &str) -> String {
        let source = Source {
            name: String::new(),
            text: format!("a = {literal}"),
        };
        let root = parse(&source.text, 0).unwrap();
        let node = root.table().unwrap().get("a").unwrap();
        let text = root.table().unwrap().text("a").unwrap();
        let start = text.find(word).unwrap();
        let at = within(
            &node.at,
            text,
            Span {
                start,
                end: start + word.len(),
            },
            std::slice::from_ref(&source),
        );
        source.text[at.span].to_owned()
    }

    #[test]
    fn words_are_found_in_every_kind_of_string() {
        for literal in [
            "\"one two\"",
            "'one two'",
            "'''one two'''",
            "\"\"\"\none two\"\"\"",
            "\"\"\"one \\\n   \\\r\n  two\"\"\"",
            "\"\"\"\r\n→\r\none two\"\"\"",
            "\"\\\"one\\\" \\u2192 two\"",
            "\"\\t\\U0001F600two\"",
        ] {
            assert_eq!(found(literal, "two"), "two", "{literal}");
        }
        assert_eq!(found("\"a\\u2192b\"", "→"), "\\u2192");
    }

    proptest! {
        #[test]
        fn no_literal_panics(literal in "[\"'\\\\ux→a\\r\\n ]*", text in "[\"'\\\\ux→a\\r\\n ]*") {
            if let Some(places) = places(&literal, &text) {
                prop_assert_eq!(places.len(), text.len() + 1);
                prop_assert!(places.iter().all(|place| literal.is_char_boundary(*place)));
            }
        }
    }
}
