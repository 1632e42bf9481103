//! Which of point and comma stands before the decimals of a column's numbers; the other one stands between thousands.
//!
//! Numbers with both tell it, and with two of a kind, and with one that has other than three digits behind it: `1,234.5`,
//! `1,234,567`, `12,3`. A `1,234` tells nothing by itself.

use std::borrow::Cow;

/// What stands before decimals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    Point,
    Comma,
}

impl Mark {
    const fn char(self) -> char {
        match self {
            Mark::Point => '.',
            Mark::Comma => ',',
        }
    }

    const fn other(self) -> Self {
        match self {
            Mark::Point => Mark::Comma,
            Mark::Comma => Mark::Point,
        }
    }

    /// As a number, with a unit or without, tells by itself.
    pub fn told_by(number: &str) -> Option<Self> {
        let number = number.trim_start_matches(['<', '-', '+']);
        let end = number.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',');
        let number = &number[..end.unwrap_or(number.len())];
        let at = number.rfind(['.', ','])?;
        let (whole, behind) = (&number[..at], &number[at + 1..]);
        let last = match number[at..].starts_with(',') {
            true => Mark::Comma,
            false => Mark::Point,
        };
        let is_twice = whole.contains(last.char());
        let mark = if is_twice { last.other() } else { last };
        let may_be_thousands =
            behind.len() == 3 && matches!(whole.len(), 1..=3) && !whole.starts_with('0');
        let is_alone = !is_twice && !whole.contains(last.other().char());
        let is_told = !(is_alone && may_be_thousands) && mark.with_point(number).is_some();
        is_told.then_some(mark)
    }

    /// A number with a point before its decimals and nothing between thousands. `None`: its marks are at other places.
    pub fn with_point(self, number: &str) -> Option<Cow<'_, str>> {
        let between = self.other().char();
        let (whole, behind) = match number.split_once(self.char()) {
            Some((whole, behind)) => (whole, Some(behind)),
            None => (number, None),
        };
        if behind.is_some_and(|behind| behind.contains(['.', ','])) {
            return None;
        }
        if let Some((first, others)) = whole.split_once(between) {
            let first = first.trim_start_matches(['-', '+']);
            let mut others = others.split(between);
            if !matches!(first.len(), 1..=3) || !others.all(|group| group.len() == 3) {
                return None;
            }
        } else if self == Mark::Point {
            return Some(Cow::Borrowed(number));
        }
        let mut plain = whole.replace(between, "");
        if let Some(behind) = behind {
            plain.push('.');
            plain.push_str(behind);
        }
        Some(Cow::Owned(plain))
    }
}

/// A number of a column with a point before its decimals and nothing between thousands. Where the column does not tell its
/// mark, the number does; its only one stands before decimals.
pub fn with_point(number: &str, column: Option<Mark>) -> Option<Cow<'_, str>> {
    let alone = || match number.contains(',') {
        true => Mark::Comma,
        false => Mark::Point,
    };
    let mark = column.or_else(|| Mark::told_by(number));
    mark.unwrap_or_else(alone).with_point(number)
}

/// The number that a cell is, whatever its column.
pub fn number(cell: &str) -> Option<f64> {
    with_point(cell, None)?.parse().ok()
}

/// Has a number only a comma of which it does not tell what it stands before?
pub fn is_doubtful(number: &str) -> bool {
    number.contains(',') && Mark::told_by(number).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_tells_its_mark_or_does_not() {
        for number in [
            "12.3",
            "1,234.5",
            "1,234,567",
            "0.123",
            "<1.5",
            "-1234.567",
            ".5",
        ] {
            assert_eq!(Mark::told_by(number), Some(Mark::Point), "{number}");
        }
        for number in ["12,3", "1.234,5", "1.234.567", "0,123 ms", "1234,567"] {
            assert_eq!(Mark::told_by(number), Some(Mark::Comma), "{number}");
        }
        for number in [
            "",
            "-",
            "12",
            "1,234",
            "1.234 ms",
            "10.0.0.2",
            "1,2,3",
            "1,234.5,6",
        ] {
            assert_eq!(Mark::told_by(number), None, "{number}");
        }
    }

    #[test]
    fn a_number_has_its_marks_where_they_belong() {
        let point = |number| Mark::Point.with_point(number).map(Cow::into_owned);
        let comma = |number| Mark::Comma.with_point(number).map(Cow::into_owned);
        for (number, plain) in [
            ("-1,234.5", "-1234.5"),
            ("12,345", "12345"),
            ("1234.5", "1234.5"),
        ] {
            assert_eq!(point(number).as_deref(), Some(plain), "{number}");
        }
        for (number, plain) in [
            ("1.234,5", "1234.5"),
            ("2.345", "2345"),
            ("1234,5", "1234.5"),
            ("7", "7"),
        ] {
            assert_eq!(comma(number).as_deref(), Some(plain), "{number}");
        }
        for number in ["1,2", "1234,567", ",123", "1,23.5"] {
            assert_eq!(point(number), None, "{number}");
        }
        assert_eq!(comma("12.3"), None);
    }
}
