//! Errors as exceptions of the package: the sentence of the command line, and its kind as the class.

use delaylab_model::world::FailureKind;
use delaylab_runner::error::RunnerError;
use delaylab_store::run::ExportError;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Where the classes are. They are Python's own, so that they travel between processes.
const MODULE: &str = "delaylab.errors";

/// The exception for what went wrong.
pub fn exception(py: Python<'_>, error: &RunnerError) -> PyErr {
    let class = match error.kind {
        FailureKind::Usage => "UsageError",
        FailureKind::Unreachable => "UnreachableError",
        FailureKind::Environment => "EnvironmentFault",
    };
    named(py, class, &error.message)
}

/// What was asked for cannot be done.
pub fn usage(py: Python<'_>, message: &str) -> PyErr {
    named(py, "UsageError", message)
}

/// This host lacks something, or a file cannot be read.
pub fn environment(py: Python<'_>, message: &str) -> PyErr {
    named(py, "EnvironmentFault", message)
}

/// A table cannot be read: what it was asked for is not there, or its file is not.
pub fn table(py: Python<'_>, error: &ExportError) -> PyErr {
    match error {
        ExportError::NoTable(_) | ExportError::NoColumn { .. } => usage(py, &error.to_string()),
        _ => environment(py, &error.to_string()),
    }
}

/// A panic, which has printed where it is.
pub fn internal(py: Python<'_>) -> PyErr {
    fault(py, "please report what was printed")
}

/// A fault of delaylab's own.
pub fn fault(py: Python<'_>, what: &str) -> PyErr {
    let message = format!("delaylab has a fault of its own: {what}");
    named(py, "InternalFault", &message)
}

/// Works while other threads of Python run. A panic becomes an `InternalFault`: `except Exception` does not catch pyo3's
/// `PanicException`.
pub fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    let worked = py.detach(|| catch_unwind(AssertUnwindSafe(work)));
    worked.map_err(|_| internal(py))
}

fn named(py: Python<'_>, class: &str, message: &str) -> PyErr {
    let made = py
        .import(MODULE)
        .and_then(|module| module.getattr(class))
        .and_then(|class| class.call1((message,)));
    match made {
        Ok(exception) => PyErr::from_value(exception),
        Err(_) => PyRuntimeError::new_err(message.to_owned()),
    }
}
