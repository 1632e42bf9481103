//! Colour, glyphs and width: how text for people may look. The caller decides; nothing is probed.

/// How text for people may look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Use bold, dim and colour (ANSI escapes).
    pub color: bool,
    /// Use characters beyond ASCII.
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
    /// What to check before trusting the result, or does not hold.
    Warning,
    /// What holds.
    Good,
}

impl Paint {
    const fn code(self) -> &'static str {
        match self {
            Paint::Plain => "",
            Paint::Bold => "1",
            Paint::Dim => "2",
            Paint::Host => "33",
            Paint::Network => "36",
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

    /// `text` with this emphasis, where colour is allowed.
    pub fn paint(&self, paint: Paint, text: &str) -> String {
        if !self.color || paint == Paint::Plain || text.trim().is_empty() {
            return text.to_owned();
        }
        format!("\x1b[{}m{text}\x1b[0m", paint.code())
    }

    /// `text` in the characters allowed. One character stands for one, so columns stay aligned.
    pub fn glyphs(&self, text: String) -> String {
        if self.unicode || text.is_ascii() {
            return text;
        }
        text.chars().map(ascii).collect()
    }
}

/// The ASCII character that stands for `c`.
fn ascii(c: char) -> char {
    match c {
        _ if c.is_ascii() => c,
        'µ' => 'u',
        '█' => '#',
        '░' => '.',
        '▓' => '%',
        '▒' => ':',
        '▁' => '_',
        '▂' | '▃' => '.',
        '▄' | '▅' => ':',
        '▆' | '▇' => '|',
        '│' => '|',
        '–' | '−' | '—' | '─' => '-',
        '¹' => '*',
        '²' => '+',
        '±' => '~',
        '→' => '>',
        '×' | '✘' => 'x',
        '✔' => '+',
        '≈' => '~',
        '·' | '…' => '.',
        '’' | '‘' => '\'',
        '“' | '”' => '"',
        _ => '?',
    }
}

/// A share of 1 in per cent, in four columns at most: `0%`, `<1%`, `4%`, `>99%`, `100%`.
pub fn short_percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        p if p > 0.0 && p < 0.5 => "<1%".to_owned(),
        p if (99.5..100.0).contains(&p) => ">99%".to_owned(),
        p if !p.is_finite() => "–".to_owned(),
        p if p.abs() < 0.5 => "0%".to_owned(), // never "-0%"
        p => format!("{p:.0}%"),
    }
}

/// `1 packet`, `2 packets`.
pub fn plural(count: u64, what: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} {what}{s}")
}

/// `part` of `whole` in per cent, to about two digits: `0 %`, `0.02 %`, `3.1 %`, `100 %`; `–` of nothing.
pub fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "–".to_owned();
    }
    let percent = part as f64 / whole as f64 * 100.0;
    match percent {
        p if p == 0.0 || p == 100.0 => format!("{p:.0} %"),
        p if p < 0.01 => "<0.01 %".to_owned(),
        p if p < 1.0 => format!("{p:.2} %"),
        p if p < 99.95 => format!("{p:.1} %"),
        _ => ">99.9 %".to_owned(),
    }
}

/// When something began, to the second: `2026-01-02T03:04:05Z` of `2026-01-02T03:04:05.678901234Z`.
pub(crate) fn to_the_second(utc: &str) -> String {
    match utc.split_once('.') {
        Some((second, fraction)) if fraction.ends_with('Z') => format!("{second}Z"),
        _ => utc.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_short_and_never_round_to_a_lie() {
        assert_eq!(short_percent(0.0), "0%");
        assert_eq!(short_percent(-0.001), "0%");
        assert_eq!(short_percent(f64::NAN), "–");
        assert_eq!(short_percent(0.001), "<1%");
        assert_eq!(short_percent(0.998), ">99%");
        assert_eq!(short_percent(1.0), "100%");
        assert_eq!(percent(0, 0), "–");
        assert_eq!(percent(1, 1_000_000), "<0.01 %");
        assert_eq!(percent(2, 1000), "0.20 %");
        assert_eq!(percent(999_999, 1_000_000), ">99.9 %");
        assert_eq!(percent(5, 5), "100 %");
    }

    #[test]
    fn ascii_keeps_every_column() {
        let text = "µ█░–¹漢".to_owned();
        assert_eq!(Style::PLAIN.glyphs(text), "u#.-*?");
    }
}
