//! The few ways in which readers pick lines apart.

pub use super::decimal::begins_with_digit;

use super::{Imported, date, decimal};
use delaylab_model::{Nanos, SECOND};
use memchr::memmem;

/// Words, many on a line.
macro_rules! words {
    ($($word:literal)*) => {
        &[$($word),*]
    };
}
pub(super) use words;

/// The first lines, for a look at what a file is.
pub fn head(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(65_536)]).into_owned()
}

/// Is `key` in a line? Faster than [`str::contains`], which counts where there are millions of lines.
pub fn has(line: &str, key: &str) -> bool {
    memmem::find(line.as_bytes(), key.as_bytes()).is_some()
}

/// What is behind a key: `after("ttl=63 time=1", "ttl=")` is `63 time=1`.
pub fn after<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let at = memmem::find(line.as_bytes(), key.as_bytes())?;
    line.get(at + key.len()..)
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

/// What stands in front of a line, and the rest of it.
type Stamped<'a> = (Option<Nanos>, &'a str);

/// The real time that stands in front of a line: `[1795306027.232112] rest` of ping's and fping's `-D`, or a date there, as of
/// `--timestamp-format`; and what scripts put there, as `2026-11-29 12:00:00 rest`, `1795306027 rest` and
/// `Sun Nov 29 12:00:00 UTC 2026: rest`. `None` where none stands there, or does not say when: `ts` leaves the year out.
pub fn stamp(line: &str) -> Stamped<'_> {
    let found = match line.as_bytes().first() {
        Some(b'[') => bracketed(line),
        Some(b'0'..=b'9') => since_1970(line).or_else(|| year_first(line)),
        Some(b'A'..=b'Z') => month_by_name(line),
        _ => None,
    };
    found.unwrap_or((None, line))
}

fn bracketed(line: &str) -> Option<Stamped<'_>> {
    let (stamp, rest) = line.strip_prefix('[')?.split_once("] ")?;
    let time = decimal::time(stamp, SECOND).map(|time| time.nanos);
    Some((time.or_else(|| date::local(stamp)), rest))
}

fn since_1970(line: &str) -> Option<Stamped<'_>> {
    let (stamp, rest) = word(line)?;
    let stamp = stamp.trim_end_matches(':');
    let (seconds, _) = stamp.split_once('.').unwrap_or((stamp, ""));
    if seconds.len() != 10 {
        return None;
    }
    Some((Some(decimal::time(stamp, SECOND)?.nanos), rest))
}

fn year_first(line: &str) -> Option<Stamped<'_>> {
    let bytes = line.as_bytes();
    if bytes.get(4) != Some(&b'-') || bytes.get(7) != Some(&b'-') {
        return None;
    }
    // The day, the time of day, and its zone.
    let (day, rest) = line.split_at_checked(10)?;
    let (time, mut rest) = word(rest.strip_prefix([' ', 'T'])?)?;
    let mut date = format!("{day} {}", time.trim_end_matches([':', ',']));
    if let Some((zone, behind)) = word(rest)
        && (zone.starts_with(['+', '-']) || zone.starts_with("UTC"))
    {
        date = format!("{date} {}", zone.trim_end_matches(':'));
        rest = behind;
    }
    Some((Some(date::local(&date)?), rest))
}

/// As `ts` and `date` write it, where the second has weekday, zone and year.
fn month_by_name(line: &str) -> Option<Stamped<'_>> {
    const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let (first, behind) = word(line)?;
    let weekday = DAYS.contains(&first);
    let (month, rest) = if weekday {
        word(behind)?
    } else {
        (first, behind)
    };
    let (day, rest) = word(rest)?;
    let (time, rest) = word(rest)?;
    let is_day = day.parse().is_ok_and(|day: u8| (1..=31).contains(&day));
    if !MONTHS.contains(&month) || !is_day || !date::is_time_of_day(time) {
        return None;
    }
    if !weekday {
        return Some((None, rest));
    }
    let (zone, rest) = word(rest)?;
    let (year, rest) = word(rest)?;
    let date = format!(
        "{first} {month} {day} {time} {}",
        year.trim_end_matches(':')
    );
    let is_utc = matches!(zone, "UTC" | "GMT");
    Some((date::local(&date).filter(|_| is_utc), rest))
}

/// The first word, and what is behind it and its blanks.
fn word(text: &str) -> Option<(&str, &str)> {
    let (word, behind) = text.split_once(' ')?;
    Some((word, behind.trim_start_matches(' ')))
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
            imported.strange = Some((*number, line.clone()));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_of_tools_and_of_scripts() {
        let noon = 1_795_953_600 * SECOND;
        for stamped in [
            "[1795953600.000000] rest",
            "[2026-11-29 12:00:00] rest",
            "1795953600 rest",
            "1795953600.000: rest",
            "2026-11-29 12:00:00 rest",
            "2026-11-29T12:00:00+00:00 rest",
            "2026-11-29 12:00:00: rest",
            "2026-11-29 13:00:00 +0100 rest",
            "Sun Nov 29 12:00:00 UTC 2026: rest",
        ] {
            assert_eq!(stamp(stamped), (Some(noon), "rest"), "{stamped}");
        }
        for unknown in ["Nov 29 12:00:00 rest", "Sun Nov 29 13:00:00 CET 2026 rest"] {
            assert_eq!(stamp(unknown), (None, "rest"), "{unknown}");
        }
        for none in [
            "64 bytes from 10.0.0.1: icmp_seq=1",
            "From 10.0.0.9 icmp_seq=3 Destination Host Unreachable",
            "PING 10.0.0.1 (10.0.0.1): 56 data bytes",
            "2026-11-29 noon",
            "May the 4th",
            "",
        ] {
            assert_eq!(stamp(none), (None, none), "{none}");
        }
    }
}
