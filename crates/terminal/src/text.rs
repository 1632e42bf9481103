//! Lines of text: how wide they are, and where they break.

use crate::style::{Paint, Style};

/// Columns that `text` takes on the terminal; our own text has no wide characters.
pub fn width(text: &str) -> usize {
    text.chars().count()
}

/// A space at which no line is broken.
pub const FIRM_SPACE: char = '\u{a0}';

/// `text` in lines of at most `max_width` columns, broken at spaces; a longer word stands alone.
pub fn wrap(text: &str, max_width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_ascii_whitespace() {
        let word = &word.replace(FIRM_SPACE, " ");
        match lines.last_mut() {
            Some(line) if width(line) + 1 + width(word) <= max_width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// `text` broken to the width, every line in this emphasis.
pub fn paragraph(text: &str, paint: Paint, style: &Style) -> String {
    let lines = wrap(text, style.columns()).into_iter();
    lines.map(|line| style.paint(paint, &line) + "\n").collect()
}

/// Sections of a text with a line between them; of the empty ones nothing.
pub(crate) fn joined(sections: impl IntoIterator<Item = String>) -> String {
    let sections = sections.into_iter();
    let shown: Vec<_> = sections.filter(|section| !section.is_empty()).collect();
    shown.join("\n")
}

/// What is written for a terminal that can do nothing.
#[cfg(test)]
pub(crate) fn assert_plain(name: &str, text: &str) {
    assert!(text.is_ascii(), "{name}");
    assert!(
        text.lines().all(|line| width(line) <= 80),
        "{name}:\n{text}"
    );
    assert!(
        text.lines().all(|line| line == line.trim_end()),
        "{name}:\n{text}"
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn wrapping_keeps_every_word(text in "[a-zµ ]{0,200}", max in 1_usize..40) {
            let lines = wrap(&text, max);
            let words: Vec<_> = text.split_whitespace().collect();
            prop_assert_eq!(lines.join(" "), words.join(" "));
            prop_assert!(lines.iter().all(|l| width(l) <= max || !l.contains(' ')));
        }
    }
}
