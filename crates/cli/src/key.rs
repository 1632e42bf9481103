//! The key shared with the reflector: from a file or the environment, never from the command line,
//! which every user of the host can read.

use crate::exit::Failed;
use crate::secret_file;
use delaylab_runner::own_reflector::KEY_VARIABLE;
use delaylab_wire::auth::Key;
use std::env::VarError;
use std::path::Path;

/// Reads the key, if there is one. A file named on the command line comes first.
pub fn read(file: Option<&Path>) -> Result<Option<Key>, Failed> {
    if let Some(path) = file {
        return from_file(path).map(Some);
    }
    match std::env::var(KEY_VARIABLE) {
        Ok(text) => from_text(&text, KEY_VARIABLE).map(Some),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(_)) => {
            Err(secret_file::is_no_text(&format!("key in {KEY_VARIABLE}")))
        }
    }
}

/// The key in this file.
pub fn from_file(path: &Path) -> Result<Key, Failed> {
    let text = secret_file::read(path, "key")?;
    from_text(&text, &path.display().to_string())
}

/// The key in this text, which comes from `source`.
pub fn from_text(text: &str, source: &str) -> Result<Key, Failed> {
    Key::from_text(text).map_err(|error| Failed::usage(format!("the key in {source}: {error}")))
}
