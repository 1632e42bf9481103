//! The key shared with the reflector: from a file or the environment, never from the command line,
//! which every user of the host can read.

use crate::exit::Failed;
use delaylab_wire::auth::Key;
use std::path::Path;

/// The environment variable that holds a key.
pub const VARIABLE: &str = "DELAYLAB_KEY";

/// Reads the key, if there is one. A file named on the command line comes first.
pub fn read(file: Option<&Path>) -> Result<Option<Key>, Failed> {
    let (text, source) = match (file, std::env::var(VARIABLE)) {
        (Some(path), _) => {
            let text = std::fs::read_to_string(path).map_err(|error| {
                Failed::environment(format!(
                    "cannot read the key file {}: {error}. Is its name right, and may this user read it?",
                    path.display()
                ))
            })?;
            (text, path.display().to_string())
        }
        (None, Ok(text)) => (text, VARIABLE.to_owned()),
        (None, Err(_)) => return Ok(None),
    };
    let key = Key::from_text(&text);
    key.map(Some)
        .map_err(|error| Failed::usage(format!("the key in {source}: {error}")))
}
