//! `mtr --report` and `--report-wide`: a report as text.
//!
//! ```text
//! HOST: prober                      Loss%   Snt   Last   Avg  Best  Wrst StDev
//!   1.|-- 10.0.0.254                30.0%    10    0.1   0.1   0.1   0.1   0.0
//!   1. AS???    10.0.0.254          30.0%    10    0.1   0.1   0.1   0.1   0.0      -z
//! ```
//!
//! Which columns there are is the user's choice (`-o`); the head of the table names them.

use super::text::{head, leading_number};
use super::{Format, ImportError, Imported, Input, Options, Rules, date, mtr};

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
    let take = |head: &mut mtr::Head, line: &str, imported: &mut Imported| {
        if let Some(columns) = columns(line) {
            head.columns = columns.into_iter().map(str::to_owned).collect();
            return true;
        }
        if let Some(start) = line.strip_prefix("Start:") {
            head.began = date::local(start);
            return true;
        }
        hop(line, head, imported) || no_matter(line)
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
fn hop(line: &str, head: &mtr::Head, imported: &mut Imported) -> bool {
    let header = &head.columns;
    let line = line.trim_start();
    let Some(number) = leading_number(line).filter(|_| !header.is_empty()) else {
        return false;
    };
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let Some(rest) = rest.trim_start().strip_prefix('.') else {
        return false;
    };
    let words: Vec<_> = rest.trim_start_matches("|--").split_whitespace().collect();
    let Some(values_at) = words.len().checked_sub(header.len()).filter(|&at| at > 0) else {
        return false;
    };
    let last = values_at - 1;
    let systems = words[..last].iter().take_while(|it| is_system(it)).count();
    let host = words[systems..values_at].join(" ");
    mtr::add(imported, mtr::hop(number, &host, ""), head.began);
    for (column, value) in header.iter().zip(&words[values_at..]) {
        mtr::say(imported, column, value);
    }
    true
}

/// The number of an autonomous system, `AS64496`, or that there is none, `AS???`.
fn is_system(word: &str) -> bool {
    let number = word.strip_prefix("AS");
    number.is_some_and(|number| number == "???" || number.parse::<u32>().is_ok())
}

/// The other hosts or labels of a hop below it.
fn no_matter(line: &str) -> bool {
    let line = line.trim();
    line.starts_with('|') || line.starts_with("[MPLS")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::import;
    use delaylab_model::SECOND;

    #[test]
    fn hops_with_the_number_of_their_system() {
        let imported = import::read(
            b"Start: 2026-11-22T00:05:27+0000\n\
              HOST: prober                      Loss%   Snt   Last   Avg  Best  Wrst StDev\n\
              \x20 1. AS???    10.1.1.1             30.0%    10    0.1   0.1   0.1   0.1   0.0\n\
              \x20 2 . AS64496  gateway (10.2.2.2)  0.0%    10   10.4  10.4  10.4  10.4   0.0\n\
              \x20 3.|-- 10.3.3.3              0.0%    10   10.4  10.4  10.4  10.4   0.0\n",
            None,
        )
        .unwrap();
        let targets = imported.streams.iter().map(|it| it.target.as_str());
        let expected = ["10.1.1.1", "gateway (10.2.2.2)", "10.3.3.3"];
        assert_eq!(targets.collect::<Vec<_>>(), expected);
        assert_eq!((imported.said.len(), imported.strange), (21, None));
        assert_eq!(imported.began, Some(1_795_305_927 * SECOND));
    }
}
