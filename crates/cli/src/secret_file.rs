//! Files that hold a secret: a key, a token.

use crate::exit::Failed;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Bytes of such a file at most.
const LONGEST: u64 = 64 << 10;

/// Others may change what is in the file.
const OTHERS_WRITE: u32 = 0o022;
/// Others may know it.
const OTHERS_READ: u32 = 0o004;

/// The text of a file that holds a secret, `what` names it. Not if other users can change it.
pub fn read(path: &Path, what: &str) -> Result<String, Failed> {
    let shown = path.display();
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::InvalidData => is_no_text(&format!("{what} file {shown}")),
        _ => Failed::environment(format!(
            "cannot read the {what} file {shown}: {error}. Is its name right, and may this user read it?"
        )),
    };
    let file = File::open(path).map_err(failed)?;
    let mode = file.metadata().map_err(failed)?.permissions().mode();
    if mode & OTHERS_WRITE != 0 {
        return Err(Failed::environment(format!(
            "other users can change the {what} file {shown} (mode {:04o}): `chmod 600 {shown}`, and make a new {what}",
            mode & 0o7777
        )));
    }
    let mut text = String::new();
    file.take(LONGEST)
        .read_to_string(&mut text)
        .map_err(failed)?;
    Ok(text)
}

/// Random bytes in place of their digits, say.
pub fn is_no_text(secret: &str) -> Failed {
    Failed::usage(format!(
        "the {secret} is no text: make one with `openssl rand -hex 32`"
    ))
}

/// Says so where other users of this host can read the secret.
pub fn warn_if_readable(path: &Path, what: &str) {
    let mode = std::fs::metadata(path).map_or(0, |data| data.permissions().mode());
    if mode & OTHERS_READ != 0 {
        let shown = path.display();
        crate::terminal::say(format!(
            "delaylab: every user of this host can read the {what} file {shown}: `chmod 600 {shown}`"
        ));
    }
}
