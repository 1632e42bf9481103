//! Files that `-o` and its like name, and where runs are kept.

use crate::exit::Failed;
use delaylab_store::whole_file::{self, Out};
use delaylab_terminal::visible::visible;
use std::error::Error;
use std::fmt::Display;
use std::path::Path;

/// Where runs are kept unless the user says otherwise.
pub const RUNS: &str = "runs";

/// Does this name standard output?
pub fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Writes it whole or not at all: where there is no room, an older one stays.
///
/// # Errors
/// It cannot be written.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Failed> {
    whole_file::write(path, bytes).map_err(|error| cannot_write(path, &error))
}

/// What can go wrong while a file is made.
pub type MakeResult = Result<(), Box<dyn Error>>;

/// The same of what is made as it is written: it may be longer than the memory.
///
/// # Errors
/// It cannot be made or written.
pub fn write_with(path: &Path, make: impl FnOnce(Out<'_>) -> MakeResult) -> Result<(), Failed> {
    whole_file::write_with(path, make).map_err(|error| cannot_write(path, &error))
}

/// Writes text for people. Nothing in it reaches a terminal as a command, where the file is shown on one.
///
/// # Errors
/// It cannot be written.
pub fn write_text(path: &Path, text: &str) -> Result<(), Failed> {
    write(path, visible(text).as_bytes())
}

/// What to say of a file that cannot be written.
pub fn cannot_write(path: &Path, error: &dyn Display) -> Failed {
    Failed::environment(format!("cannot write {}: {error}", path.display()))
}
