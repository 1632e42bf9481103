//! The lines of a table: what separates their cells, and which are no rows.

use super::unit;
use crate::import::{date, decimal};
use delaylab_model::SECOND;
use std::borrow::Cow;

/// So many rows are looked at.
const LOOKED_AT: usize = 50;

/// What a table is like.
pub struct Shape {
    /// Between two cells; `None`: blanks, however many.
    pub separator: Option<char>,
    /// Is its first line one of names?
    pub has_heading: bool,
    /// Its names; empty where it has none.
    pub names: Vec<String>,
    /// Of each column the first cell that says something.
    pub first: Vec<String>,
}

impl Shape {
    /// `None`: no table.
    pub fn recognise(head: &str) -> Option<Self> {
        let whole = head.rfind('\n').map(|end| &head[..end])?;
        let lines = whole.lines().filter(|line| !is_comment(line));
        let lines: Vec<&str> = lines.take(LOOKED_AT).collect();
        let separators = [Some('\t'), Some(';'), Some(','), Some('|'), None];
        separators
            .into_iter()
            .find_map(|separator| Self::with(&lines, separator))
    }

    fn with(lines: &[&str], separator: Option<char>) -> Option<Self> {
        let cells = |line| Cells::new(line, separator).map(str::to_owned);
        let (&first, rest) = lines.split_first()?;
        let first: Vec<String> = cells(first).collect();
        if first.len() < 2 && separator.is_some() {
            return None;
        }
        let of_values = |row: &[String]| row.iter().any(|cell| is_value(cell));
        let has_heading = !of_values(&first) && !first.iter().all(|cell| stands_for_none(cell));
        let rows = rest.iter().copied();
        let rows: Vec<Vec<String>> = rows.map(|line| cells(line).collect()).collect();
        let data = || (!has_heading).then_some(&first).into_iter().chain(&rows);
        let as_long = |row: &&Vec<String>| row.len() == first.len();
        let good = |row: &&Vec<String>| {
            as_long(row)
                && (of_values(row) || row.iter().all(|cell| stands_for_none(cell)))
                && (separator.is_some()
                    || row
                        .iter()
                        .all(|cell| is_value(cell) || stands_for_none(cell)))
        };
        let (all, fitting) = (data().count(), data().filter(good).count());
        let says = |row: &Vec<String>, column: usize| {
            let cell = row.get(column).filter(|cell| !stands_for_none(cell));
            cell.cloned()
        };
        // A second line of a heading, such as of units, is none of them.
        let rows_of_values = || data().filter(|row| as_long(row) && of_values(row));
        let first_of = |column| rows_of_values().find_map(|row| says(row, column));
        // A heading of one word, and nothing else, is a word.
        if all == 0 || fitting * 10 < all * 8 || !data().any(|row| of_values(row)) {
            return None;
        }
        Some(Self {
            separator,
            names: if has_heading {
                first.clone()
            } else {
                Vec::new()
            },
            first: (0..first.len())
                .map(|column| first_of(column).unwrap_or_default())
                .collect(),
            has_heading,
        })
    }
}

/// Blank, or a remark.
pub fn is_comment(line: &str) -> bool {
    let line = line.trim_start();
    !begins_with_digit(line) && begins_as_comment(line)
}

fn begins_as_comment(line: &str) -> bool {
    line.is_empty() || line.starts_with('#') || line.starts_with("//") || line.starts_with("sep=")
}

/// A number, alone or with a unit, or a date.
fn is_value(cell: &str) -> bool {
    let number = with_point(cell);
    let end = number.rfind(|c: char| c.is_ascii_digit() || c == '.');
    let (digits, behind) = number.split_at(end.map_or(0, |end| end + 1));
    let behind = behind.trim();
    (decimal::any_time(digits.trim_start_matches('<'), SECOND).is_some()
        && (behind.is_empty() || unit::by_name(behind).is_some()))
        || date::local(cell).is_some()
}

/// A number with a point in front of its decimals, and nothing between thousands. A cell has a comma only where its
/// table is separated by something else, or quotes stand around it: one alone is a decimal one, and of two kinds of marks the
/// last.
pub fn with_point(cell: &str) -> Cow<'_, str> {
    let Some(comma) = cell.rfind(',') else {
        return Cow::Borrowed(cell);
    };
    Cow::Owned(match cell.rfind('.') {
        Some(point) if comma < point && is_grouped(&cell[..point]) => cell.replace(',', ""),
        Some(point) if point < comma => {
            let (whole, behind) = cell.split_at(comma);
            whole.replace('.', "") + &behind.replace(',', ".")
        }
        _ => cell.replace(',', "."),
    })
}

/// Do three digits stand behind each of its commas?
fn is_grouped(whole: &str) -> bool {
    whole.split(',').skip(1).all(|group| group.len() == 3)
}

/// What tools write of a packet that has no delay.
pub fn stands_for_none(cell: &str) -> bool {
    const WORDS: [&str; 16] = [
        "",
        "-",
        "–",
        "*",
        "?",
        "nan",
        "-nan",
        "null",
        "none",
        "na",
        "n/a",
        "inf",
        "timeout",
        "timed out",
        "lost",
        "u",
    ];
    // Most cells are numbers.
    !begins_with_digit(cell) && WORDS.iter().any(|word| cell.eq_ignore_ascii_case(word))
}

fn begins_with_digit(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
}

/// The cells of a line, without the blanks and quotes around them.
pub struct Cells<'a> {
    rest: Option<&'a str>,
    separator: Option<char>,
}

impl<'a> Cells<'a> {
    pub fn new(line: &'a str, separator: Option<char>) -> Self {
        let line = line.trim_matches([' ', '\r']);
        Self {
            rest: Some(line),
            separator,
        }
    }
}

impl<'a> Iterator for Cells<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let rest = self.rest?;
        let Some(separator) = self.separator else {
            let end = rest.find([' ', '\t']);
            let cell = end.map_or(rest, |end| &rest[..end]);
            self.rest = end.map(|end| rest[end..].trim_start());
            return Some(cell.trim_matches('"'));
        };
        // A separator between quotes is none.
        let quoted = rest.trim_start().strip_prefix('"');
        if let Some((cell, behind)) = quoted.and_then(|quoted| quoted.split_once('"')) {
            self.rest = behind.split_once(separator).map(|(_, next)| next);
            return Some(cell.trim());
        }
        let byte = separator as u8;
        let end = rest.as_bytes().iter().position(|&it| it == byte);
        let cell = end.map_or(rest, |end| &rest[..end]);
        self.rest = end.map(|end| &rest[end + 1..]);
        Some(cell.trim())
    }
}
