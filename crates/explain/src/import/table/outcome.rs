//! What cells of a column of outcomes say of a packet, in the many words that tools have for it.

use crate::import::text::words;

/// How a packet ended. Of two columns the later one of this order counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ending {
    Answered,
    Corrupt,
    Lost,
    Refused,
}

/// What a column of outcomes is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About {
    /// Was it answered? `ok`, `success`.
    Answered,
    /// How did it end? `status`, `result`.
    Status,
    /// Was it lost, or was there an error? `lost`, `error`.
    Lost,
    /// The same, or for how long a tool waited: `timeout`.
    Timeout,
}

/// What a cell says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    Nothing,
    Ended(Ending),
    Unknown,
}

/// No outcome at all, and no error.
const NOTHING: &[&str] = &["", "-", "–", "?", "nan", "null", "none", "na", "n/a"];
const TRUE: &[&str] = &["true", "yes", "y", "t"];
const FALSE: &[&str] = &["false", "no", "n", "f"];
/// Errors of a name server are answers, too.
const ANSWERED: &[&str] = words! {
    "ok" "success" "succeeded" "successful" "pass" "passed" "up" "online" "alive" "reachable"
    "reply" "replied" "answered" "received" "complete" "completed" "done" "good" "late" "no error"
    "no loss" "noerror" "nxdomain" "servfail" "formerr" "notimp" "notauth"
};
const CORRUPT: &[&str] = &["corrupt", "corrupted"];
const LOST: &[&str] = words! {
    "lost" "loss" "fail" "failed" "failure" "error" "err" "down" "offline" "dead" "drop" "dropped"
    "missing" "unanswered" "expired" "skipped" "local_error" "no reply" "no response" "no answer"
    "*"
};
/// Anywhere in a sentence.
const REFUSED_WITHIN: &[&str] = &["refused", "unreachable"];
const LOST_WITHIN: &[&str] = &["timeout", "time-out", "timed out", "timedout"];

/// What a cell says of its packet.
pub fn said(cell: &str, about: About) -> Said {
    let word = cell.to_ascii_lowercase();
    let word = word.trim();
    let is = |words: &[&str]| words.contains(&word);
    let has = |words: &[&str]| words.iter().any(|within| word.contains(within));
    let ended = match word {
        _ if is(NOTHING) => return Said::Nothing,
        _ if is(TRUE) => truth(true, about),
        _ if is(FALSE) => truth(false, about),
        _ if is(ANSWERED) => Ending::Answered,
        _ if about == About::Status && begins_with_http_code(word) => Ending::Answered,
        _ if is(CORRUPT) => Ending::Corrupt,
        _ if is(LOST) || has(LOST_WITHIN) => Ending::Lost,
        _ if has(REFUSED_WITHIN) => Ending::Refused,
        _ => return number(word).map_or(Said::Unknown, |it| of_number(it, about)),
    };
    Said::Ended(ended)
}

fn truth(is_true: bool, about: About) -> Ending {
    let is_good = matches!(about, About::Answered | About::Status);
    match is_true == is_good {
        true => Ending::Answered,
        false => Ending::Lost,
    }
}

/// A number, or a share in percent.
#[derive(Clone, Copy)]
pub struct Number {
    pub value: f64,
    is_share: bool,
}

/// The number that a cell in lower case is.
pub fn number(word: &str) -> Option<Number> {
    let digits = word.strip_suffix('%');
    let value: f64 = (digits.unwrap_or(word).trim())
        .replace(',', ".")
        .parse()
        .ok()?;
    value.is_finite().then_some(Number {
        value,
        is_share: digits.is_some(),
    })
}

/// 0 and 1 are a truth, 0 % and 100 % as well. Of a status 0 may be either.
fn of_number(number: Number, about: About) -> Said {
    let all = number.value == 100.0 || (number.value == 1.0 && !number.is_share);
    match about {
        About::Status if number.value != 1.0 => Said::Unknown,
        _ if all => Said::Ended(truth(true, about)),
        _ if number.value == 0.0 => Said::Ended(truth(false, about)),
        _ => Said::Unknown,
    }
}

/// `200`, `404 Not Found`: a server that says that it cannot do something has answered.
fn begins_with_http_code(word: &str) -> bool {
    let code = word.split(' ').next().unwrap_or_default();
    code.len() == 3
        && code
            .parse()
            .is_ok_and(|code: u16| (100..600).contains(&code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_says_how_a_packet_ended() {
        use About::{Answered as Good, Lost as Bad, Status, Timeout};
        let answered = [
            ("200", Status),
            ("404", Status),
            ("504 Gateway Timeout", Status),
            ("NOERROR", Status),
            ("NXDOMAIN", Status),
            ("up", Status),
            ("pass", Status),
            ("1", Status),
            ("0", Bad),
            ("0%", Bad),
            ("0.0", Bad),
            ("0,0 %", Bad),
            ("n", Bad),
            ("No error", Bad),
            ("Y", Good),
            ("t", Good),
            ("1.0", Good),
            ("100%", Good),
            ("0", Timeout),
        ];
        for (cell, about) in answered {
            let found = said(cell, about);
            assert_eq!(found, Said::Ended(Ending::Answered), "{cell} {about:?}");
        }
        let lost = [
            ("down", Status),
            ("Request timed out", Status),
            ("false", Status),
            ("0", Good),
            ("0%", Good),
            ("N", Good),
            ("1", Bad),
            ("100 %", Bad),
            ("TRUE", Bad),
            ("timeout", Bad),
            ("1", Timeout),
        ];
        for (cell, about) in lost {
            let found = said(cell, about);
            assert_eq!(found, Said::Ended(Ending::Lost), "{cell} {about:?}");
        }
        for cell in ["", "-", "None", "null", "n/a"] {
            assert_eq!(said(cell, Bad), Said::Nothing, "{cell}");
        }
        for (cell, about) in [("0", Status), ("odd", Status), ("1%", Bad), ("28", Bad)] {
            assert_eq!(said(cell, about), Said::Unknown, "{cell} {about:?}");
        }
        let refused = Said::Ended(Ending::Refused);
        assert_eq!(said("Connection refused", Bad), refused);
        assert_eq!(said("Destination Host Unreachable", Status), refused);
        assert_eq!(said("corrupt", Status), Said::Ended(Ending::Corrupt));
    }
}
