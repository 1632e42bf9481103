//! Why a run cannot start, or broke off.

use delaylab_lab::experiment::Diagnostics;
use delaylab_lab::run::LabError;
use delaylab_live::prober::error::RunError;
use delaylab_live::world::LiveError;
use delaylab_model::world::{FailureKind, WorldError};
use delaylab_store::error::StoreError;
use std::fmt::Display;

/// A sentence for the user that names the thing and the remedy, and its kind.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct RunnerError {
    /// Which exit code it is.
    pub kind: FailureKind,
    /// What happened, to which thing, and what to do.
    pub message: String,
}

impl RunnerError {
    /// An error of this kind.
    pub fn new(kind: FailureKind, message: impl Display) -> Self {
        let message = message.to_string();
        Self { kind, message }
    }

    /// The settings are wrong.
    pub fn usage(message: impl Display) -> Self {
        Self::new(FailureKind::Usage, message)
    }

    /// The target cannot be reached.
    pub fn unreachable(message: impl Display) -> Self {
        Self::new(FailureKind::Unreachable, message)
    }

    /// This host lacks something.
    pub fn environment(message: impl Display) -> Self {
        Self::new(FailureKind::Environment, message)
    }
}

impl From<Diagnostics> for RunnerError {
    fn from(diagnostics: Diagnostics) -> Self {
        Self::usage(diagnostics)
    }
}

impl From<WorldError> for RunnerError {
    fn from(error: WorldError) -> Self {
        Self::new(error.kind, error)
    }
}

impl From<LiveError> for RunnerError {
    fn from(error: LiveError) -> Self {
        Self::new(error.failure(), error)
    }
}

impl From<RunError> for RunnerError {
    fn from(error: RunError) -> Self {
        Self::new(error.failure(), error)
    }
}

impl From<StoreError> for RunnerError {
    fn from(error: StoreError) -> Self {
        Self::environment(error)
    }
}

impl From<LabError> for RunnerError {
    fn from(error: LabError) -> Self {
        match error {
            LabError::World(error) => error.into(),
            other => Self::environment(other),
        }
    }
}
