//! Colour, glyphs and width: how text for people may look. The caller decides; nothing is probed.

/// How text for people may look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Use bold, dim and colour (ANSI escapes).
    pub color: bool,
    /// Use characters beyond ASCII in delaylab's own words. Names and paths stay what they are.
    pub unicode: bool,
    /// Columns of the terminal. Below 80 counts as 80: the tables need that.
    pub width: u16,
    /// Show every table, and intervals beside estimates.
    pub verbose: bool,
}

/// An emphasis, drawn only where [`Style::color`] is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Paint {
    /// As it is.
    #[default]
    Plain,
    /// Headings, and the sentence that counts.
    Bold,
    /// What may be skipped on a first reading.
    Dim,
    /// The host's part.
    Host,
    /// The network's part.
    Network,
    /// The server's part.
    Server,
    /// What to check before trusting the result, or does not hold.
    Warning,
    /// What holds.
    Good,
}

impl Paint {
    /// This one where that is so, else none.
    pub const fn when(self, is_so: bool) -> Self {
        if is_so { self } else { Paint::Plain }
    }

    const fn code(self) -> &'static str {
        match self {
            Paint::Plain => "",
            Paint::Bold => "1",
            Paint::Dim => "2",
            Paint::Host => "33",
            Paint::Network => "36",
            Paint::Server => "35",
            Paint::Warning => "31",
            Paint::Good => "32",
        }
    }
}

impl Style {
    /// Plain ASCII in 80 columns: for files, pipes and tests.
    pub const PLAIN: Style = Style {
        color: false,
        unicode: false,
        width: 80,
        verbose: false,
    };

    /// The columns to fill.
    pub(crate) fn columns(&self) -> usize {
        usize::from(self.width.max(80))
    }

    /// How many of all are shown: a few, unless everything is asked for.
    pub(crate) fn shown(&self, all: usize, few: usize) -> usize {
        if self.verbose { all } else { all.min(few) }
    }

    /// `text` with this emphasis, where colour is allowed.
    pub fn paint(&self, paint: Paint, text: &str) -> String {
        if !self.color || paint == Paint::Plain || text.trim().is_empty() {
            return text.to_owned();
        }
        format!("\x1b[{}m{text}\x1b[0m", paint.code())
    }

    /// `text` in the characters allowed. One character stands for one, so columns stay aligned. What is not delaylab's
    /// own stays: another name, or a path that is not there, would be said.
    pub fn glyphs(&self, text: String) -> String {
        if self.unicode || text.is_ascii() {
            return text;
        }
        text.chars().map(ascii).collect()
    }
}

/// The ASCII character that stands for `c`, one of those in delaylab's own words; any other stays.
fn ascii(c: char) -> char {
    match c {
        '\u{a0}' => ' ',
        'µ' => 'u',
        '█' => '#',
        '░' => '-',
        '▓' => '%',
        '▒' => ':',
        '▚' => '=',
        '▁' => '_',
        '▂' | '▃' => '.',
        '▄' | '▅' => ':',
        '▆' | '▇' => '|',
        '│' => '|',
        '–' | '−' | '—' | '─' => '-',
        '¹' => '*',
        '²' => '+',
        '³' => '^',
        '§' => 'S',
        '±' => '~',
        '→' => '>',
        '×' | '✘' => 'x',
        '✔' => '+',
        '≈' => '~',
        '·' | '…' => '.',
        '’' | '‘' => '\'',
        '“' | '”' => '"',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ascii_keeps_every_column() {
        let text = "µ█░–¹\u{a0}".to_owned();
        assert_eq!(Style::PLAIN.glyphs(text), "u#--* ");
    }

    /// Two levels `ä` and `ö` are two rows, and a path is found.
    #[test]
    fn names_stay() {
        let names = "länge=kurz /srv/jürgen 漢";
        assert_eq!(Style::PLAIN.glyphs(names.to_owned()), names);
    }

    #[test]
    fn what_stands_together_is_told_apart_in_ascii_too() {
        for together in ["█░▚·", "█▓░▒▚", "¹²³"] {
            let ascii = Style::PLAIN.glyphs(together.to_owned());
            assert!(ascii.is_ascii(), "{ascii}");
            let apart: std::collections::BTreeSet<char> = ascii.chars().collect();
            assert_eq!(apart.len(), together.chars().count(), "{ascii}");
        }
    }
}
