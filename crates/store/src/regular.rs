//! Opening what a run's folder holds. The folder may be anybody's: a link in it may lead anywhere, a pipe says nothing
//! for ever, a device has no end.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Bytes of a text at most. Findings of the longest catalogued experiments take 1 MB.
const TEXT: u64 = 64 << 20;

/// What is said of a file that this user may not read: it is not damaged.
pub(crate) const MAY_NOT_READ: &str = "may not be read by this user";

/// What to do about a file that this user may not read.
pub const READ_AS_OWNER: &str =
    "Read the run as the user that it belongs to, or let this user read its files (chmod)";

/// Opens a regular file to read it. A link is not followed.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    open_with(path, OpenOptions::new().read(true))
}

/// The same to lock it: on NFS only what may be written is locked.
pub(crate) fn open_to_lock(path: &Path) -> io::Result<File> {
    open_with(path, OpenOptions::new().read(true).write(true))
}

fn open_with(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    // A pipe without a writer is opened at once, too, and then refused.
    let options = options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let file = options.open(path).map_err(in_words)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(refused("not a regular file"))
    }
}

/// What the system says, as it is said of a run's file.
fn in_words(error: io::Error) -> io::Error {
    match error.kind() {
        _ if error.raw_os_error() == Some(libc::ELOOP) => {
            refused("a link, which is not followed out of a run")
        }
        kind @ io::ErrorKind::PermissionDenied => io::Error::new(kind, MAY_NOT_READ),
        _ => error,
    }
}

/// Reads a text.
pub(crate) fn text(path: &Path) -> io::Result<String> {
    let file = open(path)?;
    let length = file.metadata()?.len().min(TEXT);
    let mut text = String::with_capacity(length as usize + 1);
    // One more than is allowed: a file that grows meanwhile is too long, too.
    file.take(TEXT + 1).read_to_string(&mut text)?;
    if text.len() as u64 > TEXT {
        return Err(refused("longer than 64 MiB, which is no text of a run"));
    }
    Ok(text)
}

/// Is something of this name there, whatever it is?
pub(crate) fn exists(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// Fails where a folder of a run is something else, such as a link to another folder.
pub(crate) fn check_folder(path: &Path) -> io::Result<()> {
    if fs::symlink_metadata(path)?.is_dir() {
        Ok(())
    } else {
        Err(refused("not a folder of this run"))
    }
}

fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_file_that_may_not_be_read_is_said_to_be_one() {
        let said = in_words(io::Error::from_raw_os_error(libc::EACCES));
        assert_eq!(said.kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(said.to_string(), "may not be read by this user");
    }

    #[test]
    fn only_regular_files_of_some_length_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("text"), "abc").unwrap();
        assert_eq!(text(&at("text")).unwrap(), "abc");
        symlink(at("text"), at("link")).unwrap();
        symlink("/dev/zero", at("zero")).unwrap();
        File::create(at("long")).unwrap().set_len(TEXT + 1).unwrap();
        for (name, why) in [
            ("link", "a link"),
            ("zero", "a link"),
            ("long", "64 MiB"),
            ("", "not a regular file"),
        ] {
            let error = text(&at(name)).unwrap_err().to_string();
            assert!(error.contains(why), "{name}: {error}");
        }
        assert!(text(Path::new("/dev/zero")).is_err());
    }
}
