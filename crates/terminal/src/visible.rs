//! Text from anywhere, safe to print: a title, a host's name or an error may hold characters that move a terminal's
//! cursor, set its title or turn the order of letters round. They are shown as what they are: `\u{1b}`.

use std::borrow::Cow;

/// What [`crate::style::Style::paint`] writes, and nothing else that begins with escape.
const PAINTS: [&str; 8] = [
    "\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[35m", "\x1b[36m",
];

/// `text` with every character that a terminal would obey written as its number. Line breaks, tabs and the emphasis of
/// delaylab's own tables stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let paint = PAINTS.iter().find(|paint| rest.starts_with(**paint));
        let taken = paint.map_or(c.len_utf8(), |paint| paint.len());
        if paint.is_none() && is_obeyed(c) {
            shown.extend(c.escape_unicode());
        } else {
            shown.push_str(&rest[..taken]);
        }
        rest = &rest[taken..];
    }
    Cow::Owned(shown)
}

/// Control characters (C0, delete, C1), and those that set the direction of text (Unicode Standard Annex 9).
fn is_obeyed(c: char) -> bool {
    let is_control = c.is_control() && !matches!(c, '\n' | '\t');
    is_control
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::{Paint, Style};
    use proptest::prelude::*;

    #[test]
    fn what_a_terminal_would_obey_is_shown() {
        let title = "\x1b]0;mine\x07 \x1b[2J \r \u{9b}31m \u{202e}abc";
        let shown = r"\u{1b}]0;mine\u{7} \u{1b}[2J \u{d} \u{9b}31m \u{202e}abc";
        assert_eq!(visible(title), shown);
        // A colour that is none of ours, and one that is cut short.
        assert_eq!(visible("\x1b[8mx\x1b[3"), r"\u{1b}[8mx\u{1b}[3");
    }

    #[test]
    fn our_own_text_stays() {
        let style = Style {
            color: true,
            ..Style::PLAIN
        };
        let paints = [
            Paint::Plain,
            Paint::Bold,
            Paint::Dim,
            Paint::Host,
            Paint::Network,
            Paint::Server,
            Paint::Warning,
            Paint::Good,
        ];
        for paint in paints {
            let text = style.paint(paint, "µs →\ta\n");
            assert_eq!(visible(&text), text);
        }
    }

    proptest! {
        #[test]
        fn nothing_that_is_obeyed_is_left(text in any::<String>()) {
            let mut shown = visible(&text).into_owned();
            for paint in PAINTS {
                shown = shown.replace(paint, "");
            }
            prop_assert!(!shown.chars().any(is_obeyed));
        }
    }
}
