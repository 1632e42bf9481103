//! How this program runs itself as a helper: a guardian, or a process of the load.
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
//!
//! Running the program anew, rather than forking it, leaves nothing of the prober's address space
//! in the helpers, and is sound whatever its threads are doing.

use super::burden::{self, Burden};
use super::guardian;
use delaylab_model::Nanos;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitCode, Stdio};

const MARK: &str = "__delaylab-helper";
/// Set for helpers. A program that does not call [`run_helper_if_asked`] would apply a condition in
/// its helper, and so start helpers without end.
const NESTED: &str = "DELAYLAB_HELPER";
const READY: &[u8] = b"ready\n";

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
        [kind, parent, deadline, ref rest @ ..] => Some(Task::Burden {
            parent: parent.parse().ok()?,
            deadline: deadline.parse().ok()?,
            burden: Burden::parse(kind, rest)?,
        }),
        _ => None,
    }
}

/// Starts this program as a helper, in a process group of its own so that Ctrl-C is not for it,
/// and waits until it says that it is one.
pub(super) fn spawn(kind: &str, args: &[String]) -> io::Result<Child> {
    if std::env::var_os(NESTED).is_some() {
        return Err(io::Error::other(
            "this program does not call run_helper_if_asked()",
        ));
    }
    let mut command = Command::new("/proc/self/exe");
    command
        .arg(MARK)
        .arg(kind)
        .args(args)
        .env(NESTED, "1")
        .process_group(0);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    match wait_until_ready(&mut child) {
        Ok(()) => Ok(child),
        Err(error) => {
            // The first error is the one to report.
            let _ = child.kill();
            let _ = child.wait();
            Err(error)
        }
    }
}

fn wait_until_ready(child: &mut Child) -> io::Result<()> {
    let mut said = [0; READY.len()];
    let mut stdout = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
    stdout.read_exact(&mut said)?;
    if said == READY {
        Ok(())
    } else {
        Err(io::Error::other("the helper is another program"))
    }
}

/// The helper's side of [`spawn`].
pub(super) fn say_ready() -> io::Result<()> {
    let mut stdout = io::stdout();
    stdout.write_all(READY)?;
    stdout.flush()
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
            &["d", MARK, "spin", "x", "1", "0"],
            &["d", MARK, "what", "1", "2"],
        ] {
            assert_eq!(parse(bad), Some(Task::Unknown), "{bad:?}");
        }
    }
}
