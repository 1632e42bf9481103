//! A process that undoes what does not vanish with this one.
//!
//! It reads a pipe whose other end is ours alone. Each change is written there *before* it is made.
//! When we say so, or when the pipe ends because we died by any means, the guardian undoes all that it
//! read, the last first. A thread with a descriptor table of its own may hold the pipe open for longer
//! than we need it, so an orderly end is said.

use super::helper;
use super::undo::{Undo, UndoError};
use delaylab_kernel::{clock, process, signals};
use delaylab_model::{MILLISECOND, Nanos};
use std::io::{self, BufRead, Write};
use std::process::Child;

/// The last line of an orderly end.
const END: &str = "end";

/// A guardian that runs. Dropping it undoes what it was told and waits for that.
#[derive(Debug)]
pub struct Guardian {
    child: Child,
    told: Vec<Undo>,
}

impl Guardian {
    /// Starts one, and waits until it listens.
    pub fn start() -> io::Result<Self> {
        Ok(Self {
            child: helper::spawn("guard", &[])?,
            told: Vec::new(),
        })
    }

    /// To be called before the change is made. An error means that nobody would undo it.
    pub fn tell(&mut self, undo: Undo) -> io::Result<()> {
        let line = serde_json::to_string(&undo)?;
        let pipe = self.child.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        writeln!(pipe, "{line}")?;
        self.told.push(undo);
        Ok(())
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Is it still there?
    pub fn lives(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        if let Some(mut pipe) = self.child.stdin.take() {
            // If it cannot be told, it has ended, and this shows just below.
            let _ = writeln!(pipe, "{END}");
        }
        let done = self.child.wait().is_ok_and(|status| status.success());
        if !done {
            // Somebody ended the guardian: its work is ours.
            undo_all(&self.told);
        }
    }
}

/// The guardian's whole life. Returns whether everything was undone.
pub(super) fn guard() -> bool {
    // What ends the program ends this process by closing its pipe.
    let _ = signals::ignore_all();
    // A name is a courtesy to whoever looks at the process list.
    let _ = process::set_name(c"dlab-guard");
    if helper::say_ready().is_err() {
        return true;
    }
    undo_all(&listen(io::stdin().lock()))
}

/// Everything said until the end, or until the pipe ends. A line that was cut off belongs to no change: those are
/// made after their line is written.
fn listen(pipe: impl BufRead) -> Vec<Undo> {
    let lines = pipe.lines().map_while(Result::ok);
    lines
        .take_while(|line| line != END)
        .filter_map(|line| serde_json::from_str(&line).ok())
        .collect()
}

/// The last change first. Reports on stderr what stays.
fn undo_all(told: &[Undo]) -> bool {
    let failed = told.iter().rev().filter_map(|undo| insist(undo).err());
    failed
        .inspect(|error| eprintln!("delaylab: {error}"))
        .count()
        == 0
}

/// A process that was killed takes a moment to leave its cpuset.
fn insist(undo: &Undo) -> Result<(), UndoError> {
    for _ in 0..ATTEMPTS {
        if undo.carry_out().is_ok() {
            return Ok(());
        }
        // An interrupted sleep only tries sooner.
        let _ = clock::sleep_until(clock::monotonic() + PAUSE);
    }
    undo.carry_out()
}

const ATTEMPTS: u32 = 100;
const PAUSE: Nanos = 10 * MILLISECOND;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_was_cut_off_is_no_change() {
        let whole = r#"{"RemoveCpuset":{"version":"V1","dir":"/x/delaylab-1-1","home":"/x"}}"#;
        assert_eq!(listen(format!("{whole}\n{whole}\n").as_bytes()).len(), 2);
        assert_eq!(
            listen(format!("{whole}\n{}", &whole[..40]).as_bytes()).len(),
            1
        );
        assert_eq!(listen(&b""[..]).len(), 0);
        assert_eq!(
            listen(format!("{whole}\nend\n{whole}\n").as_bytes()).len(),
            1
        );
    }
}
