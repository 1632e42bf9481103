//! Exit codes, and errors with the code that they end in.

use delaylab_lab::experiment::Diagnostics;
use delaylab_model::world::FailureKind;
use delaylab_runner::error::RunnerError;
use std::fmt::Display;
use std::process::ExitCode;

/// Why the process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// All is well.
    Fine,
    /// The target cannot be reached or did not answer; or a condition of `--fail-if` holds, or is undecided where that counts.
    Unreachable,
    /// What was typed cannot be done.
    Usage,
    /// This host lacks something: a privilege, an interface, room on disk.
    Environment,
    /// A fault of delaylab's own.
    Internal,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(match exit {
            Exit::Fine => 0,
            Exit::Unreachable => 1,
            Exit::Usage => 2,
            Exit::Environment => 3,
            Exit::Internal => 4,
        })
    }
}

/// A sentence for the user, and the code.
#[derive(Debug)]
pub struct Failed {
    /// With which code the process ends.
    pub exit: Exit,
    /// What to print; empty is nothing.
    pub message: String,
}

impl Failed {
    /// With this code and sentence.
    pub fn new(exit: Exit, message: impl Display) -> Self {
        let message = message.to_string();
        Self { exit, message }
    }

    /// The same, and this on lines of its own.
    pub fn and(self, more: &str) -> Self {
        let message = format!("{}\n{more}", self.message);
        Self::new(self.exit, message.trim_start())
    }

    /// What was typed cannot be done.
    pub fn usage(message: impl Display) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// This host lacks something.
    pub fn environment(message: impl Display) -> Self {
        Self::new(Exit::Environment, message)
    }
}

impl From<Diagnostics> for Failed {
    fn from(diagnostics: Diagnostics) -> Self {
        Self::usage(diagnostics)
    }
}

impl From<RunnerError> for Failed {
    fn from(error: RunnerError) -> Self {
        Self::new(exit_of(error.kind), error.message)
    }
}

fn exit_of(kind: FailureKind) -> Exit {
    match kind {
        FailureKind::Unreachable => Exit::Unreachable,
        FailureKind::Usage => Exit::Usage,
        FailureKind::Environment => Exit::Environment,
    }
}
