//! `mtr --report` and `--report-wide`: a report as text.
//!
//! ```text
//! HOST: prober                      Loss%   Snt   Last   Avg  Best  Wrst StDev
//!   1.|-- 10.0.0.254                30.0%    10    0.1   0.1   0.1   0.1   0.0
//! ```
//!
//! Which columns there are is the user's choice (`-o`); the head of the table names them.

use super::text::{head, leading_number};
use super::{Format, ImportError, Imported, Input, Options, Rules, mtr};

pub static FORMAT: Format = Format {
    name: "mtr --report",
    command: "mtr --report -c 100 TARGET > FILE",
    looks: "a line `HOST: … Loss% Snt Last Avg Best Wrst StDev`",
    signs: &["Loss%", "Wrst", "StDev"],
    rules: Rules::USUAL,
    is,
    read,
};

fn is(bytes: &[u8]) -> bool {
    head(bytes).lines().any(|line| columns(line).is_some())
}

fn read(input: Input<'_>, _: &Options) -> Result<Imported, ImportError> {
    let take = |header: &mut Vec<String>, line: &str, imported: &mut Imported| {
        if let Some(columns) = columns(line) {
            *header = columns.into_iter().map(str::to_owned).collect();
            return true;
        }
        hop(line, header, imported) || no_matter(line)
    };
    Ok(mtr::by_line(input, &FORMAT, take))
}

/// The columns behind the host's name.
fn columns(line: &str) -> Option<Vec<&str>> {
    let words = line.strip_prefix("HOST:")?;
    let columns: Vec<_> = words.split_whitespace().skip(1).collect();
    columns.contains(&"Loss%").then_some(columns)
}

/// Takes a hop's line; false where it is none. The values are its last words, because a host may be
/// more than one.
fn hop(line: &str, header: &[String], imported: &mut Imported) -> bool {
    let Some((number, rest)) = line.split_once(".|-- ") else {
        return false;
    };
    let words: Vec<_> = rest.split_whitespace().collect();
    let Some(number) = leading_number(number.trim()) else {
        return false;
    };
    let Some(values_at) = words.len().checked_sub(header.len()).filter(|&at| at > 0) else {
        return false;
    };
    imported
        .streams
        .push(mtr::hop(number, &words[..values_at].join(" ")));
    for (column, value) in header.iter().zip(&words[values_at..]) {
        mtr::say(imported, column, value);
    }
    true
}

/// The date above, and the other hosts or labels of a hop below it.
fn no_matter(line: &str) -> bool {
    let line = line.trim();
    line.starts_with("Start:") || line.starts_with('|') || line.starts_with("[MPLS")
}
