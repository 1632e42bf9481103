//! What this program does when it was started as a helper.
//!
//! A program that applies conditions begins its `main` with
//!
//! ```
//! # use std::process::ExitCode;
//! fn main() -> ExitCode {
//!     if let Some(code) = delaylab_live::condition::run_helper_if_asked() {
//!         return code;
//!     }
//!     ExitCode::SUCCESS
//! }
//! ```

use super::burden::{self, Burden};
use super::guardian;
use super::helper::MARK;
use delaylab_model::Nanos;
use std::ffi::OsString;
use std::process::ExitCode;

/// What a helper was started for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Task {
    Guard,
    Burden {
        parent: u32,
        deadline: Nanos,
        burden: Burden,
    },
    /// Arguments that make no sense.
    Unknown,
}

/// Was this program started as a helper? Then does its work, and returns what to exit with.
pub fn run_helper_if_asked() -> Option<ExitCode> {
    let code = match task(std::env::args_os())? {
        Task::Guard => u8::from(!guardian::guard()),
        Task::Burden {
            parent,
            deadline,
            burden,
        } => burden::carry(parent, deadline, burden),
        Task::Unknown => 2,
    };
    Some(ExitCode::from(code))
}

/// The helper's task in a program's arguments, its name included; `None` where it is no helper.
fn task(args: impl IntoIterator<Item = OsString>) -> Option<Task> {
    let mut args = args.into_iter().skip(1);
    args.next().filter(|mark| mark == MARK)?;
    let words: Option<Vec<String>> = args.map(|arg| arg.into_string().ok()).collect();
    Some(
        words
            .and_then(|words| parse(&words))
            .unwrap_or(Task::Unknown),
    )
}

fn parse(words: &[String]) -> Option<Task> {
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["guard"] => Some(Task::Guard),
        ["burden", parent, deadline, burden] => Some(Task::Burden {
            parent: parent.parse().ok()?,
            deadline: deadline.parse().ok()?,
            burden: Burden::parse(burden)?,
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Option<Task> {
        task(args.iter().map(OsString::from))
    }

    #[test]
    fn only_the_mark_makes_a_helper() {
        assert_eq!(parse(&["delaylab", "ping", "::1"]), None);
        assert_eq!(parse(&["delaylab"]), None);
        assert_eq!(parse(&["delaylab", MARK, "guard"]), Some(Task::Guard));
    }

    #[test]
    fn arguments_that_make_no_sense_make_no_task() {
        for bad in [
            &["d", MARK][..],
            &["d", MARK, "burden", "x", "1", "{\"Spin\":{\"cpu\":0}}"],
            &["d", MARK, "burden", "1", "1", "spin"],
            &["d", MARK, "what", "1", "2"],
        ] {
            assert_eq!(parse(bad), Some(Task::Unknown), "{bad:?}");
        }
    }
}
