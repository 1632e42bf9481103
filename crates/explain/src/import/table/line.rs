//! The lines of a table: what separates their cells, and which are no rows.

use super::{column, marks, unit};
use crate::import::date;
use crate::import::text::{begins_with_digit, words};
use delaylab_model::words::plural;

/// So many rows are looked at.
const LOOKED_AT: usize = 50;

/// What may stand between two cells; `None`: blanks, however many.
const SEPARATORS: [Option<char>; 5] = [Some('\t'), Some(';'), Some(','), Some('|'), None];

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
    /// `None`: no table. `asked` is what its columns are, where they are said.
    pub fn recognise(head: &str, asked: &[String]) -> Option<Self> {
        let lines: Vec<&str> = looked_at(head).map(|(_, line)| line).collect();
        SEPARATORS
            .into_iter()
            .find_map(|separator| Self::with(&lines, separator, asked))
    }

    fn with(lines: &[&str], separator: Option<char>, asked: &[String]) -> Option<Self> {
        let cells = |line| Cells::new(line, separator).map(str::to_owned);
        let (&first, rest) = lines.split_first()?;
        let first: Vec<String> = cells(first).collect();
        if first.len() < 2 && separator.is_some() {
            return None;
        }
        let of_values = |row: &[String]| row.iter().any(|cell| is_value(cell));
        let has_heading = !of_values(&first) && !has_lost(&first, asked);
        let rows = rest.iter().copied();
        let rows: Vec<Vec<String>> = rows.map(|line| cells(line).collect()).collect();
        let data = || (!has_heading).then_some(&first).into_iter().chain(&rows);
        let as_long = |row: &&Vec<String>| row.len() == first.len();
        let says_what = |cell: &String| is_value(cell) || stands_for_none(cell);
        // Where a delay is named, rows need no numbers: their packets may be lost.
        let is_asked = is_of_delays(asked);
        let is_known = is_asked || (has_heading && is_of_delays(&first));
        let good = |row: &&Vec<String>| {
            as_long(row)
                && match separator {
                    Some(_) => is_known || row.iter().any(says_what),
                    None if is_asked && row.len() == asked.len() => true,
                    None => row.iter().all(says_what),
                }
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
        let has_values = is_known || data().any(|row| of_values(row));
        if all == 0 || fitting * 10 < all * 8 || !has_values {
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

    /// The rows of `start`, the first lines of the table.
    pub fn rows<'a>(&self, start: &'a str) -> impl Iterator<Item = &'a str> + use<'a> {
        // The last of them may be cut.
        let whole = start.rfind('\n').map_or("", |end| &start[..end]);
        let rows = whole.lines().filter(|line| !is_comment(line));
        rows.skip(usize::from(self.has_heading))
    }

    /// The cells of those of these rows that have this number of them.
    pub fn whole_rows<'a>(&self, start: &'a str, width: usize) -> Vec<Vec<&'a str>> {
        let rows = self.rows(start);
        let cells = rows.map(|row| Cells::new(row, self.separator).collect::<Vec<_>>());
        cells.filter(|row| row.len() == width).collect()
    }
}

/// The first rows of a file, with the numbers of their lines.
fn looked_at(head: &str) -> impl Iterator<Item = (usize, &str)> {
    // The last line may be cut.
    let whole = head.rfind('\n').map_or("", |end| &head[..end]);
    let numbered = whole.lines().enumerate();
    let rows = numbered.filter(|(_, line)| !is_comment(line));
    rows.map(|(before, line)| (before + 1, line))
        .take(LOOKED_AT)
}

/// Do these names have one of a delay?
fn is_of_delays(names: &[String]) -> bool {
    names.iter().any(|name| column::is_delay(name))
}

/// Is a row without values one of a packet that was lost, and not one of names? By the columns of delays, where `asked` says which
/// those are.
fn has_lost(row: &[String], asked: &[String]) -> bool {
    let mut cells = row.iter().enumerate();
    let has_none = cells.any(|(at, cell)| {
        stands_for_none(cell) && asked.get(at).is_none_or(|name| column::is_delay(name))
    });
    let is_name = |cell: &String| !stands_for_none(cell) && column::is_known(cell);
    has_none && !row.iter().any(is_name)
}

/// Which rows keep a file from being a table.
pub fn why_no_table(head: &str) -> String {
    let rows: Vec<(usize, &str)> = looked_at(head).collect();
    let Some(&(first, line)) = rows.first() else {
        return "the table has no whole row: a line break ends each".to_owned();
    };
    let width = |line, separator| Cells::new(line, separator).count();
    let separator = SEPARATORS.into_iter().find(|&it| width(line, it) > 1);
    let separator = separator.flatten();
    let cells = width(line, separator);
    let mut others = rows
        .iter()
        .filter(|(_, line)| width(line, separator) != cells);
    let shown = |line: &str| line.chars().take(80).collect::<String>();
    let Some(&(other, text)) = others.next() else {
        return format!(
            "the rows have too few numbers for a table; line {first} is: {}\nSay with `--columns` what its columns are",
            shown(line)
        );
    };
    let between = match separator {
        Some(separator) => format!("`{}`", separator.escape_default()),
        None => "blanks".to_owned(),
    };
    format!(
        "rows of a table have the same number of cells. With {between} between them, line {first} has {}, and {} of the first {} have another number: line {other} has {}: {}",
        cells,
        plural(others.count() as u64 + 1, "row"),
        rows.len(),
        width(text, separator),
        shown(text),
    )
}

/// Blank, or a remark.
pub fn is_comment(line: &str) -> bool {
    let line = line.trim_start();
    let marks = ["#", "//", "sep="];
    line.is_empty() || marks.iter().any(|mark| line.starts_with(mark))
}

/// A number of any size, alone or with a unit, or a date.
fn is_value(cell: &str) -> bool {
    let end = cell.rfind(|c: char| c.is_ascii_digit() || c == '.');
    let (digits, behind) = cell.split_at(end.map_or(0, |end| end + 1));
    let behind = behind.trim();
    (is_number(digits.trim_start_matches('<'))
        && (behind.is_empty() || unit::by_name(behind).is_some()))
        || date::local(cell).is_some()
}

/// Neither `inf` nor `nan`.
fn is_number(text: &str) -> bool {
    let digits = text.trim_start_matches(['-', '+']);
    digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && marks::number(text).is_some_and(f64::is_finite)
}

/// What tools write of a packet that has no delay.
pub fn stands_for_none(cell: &str) -> bool {
    const WORDS: &[&str] = words! {
        "" "-" "–" "*" "?" "nan" "-nan" "null" "none" "na" "n/a" "inf" "timeout" "timed out" "lost"
        "u"
    };
    // Most cells are numbers.
    !begins_with_digit(cell) && WORDS.iter().any(|word| cell.eq_ignore_ascii_case(word))
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
