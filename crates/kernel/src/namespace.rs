//! Network namespaces: entering one by its name, and a user namespace in which one may make them.
//!
//! Names are those of `ip netns`: a file in [`DIRECTORY`] that keeps the namespace alive.

use crate::socket_options::check;
use rustix::mount::{MountFlags, mount};
use rustix::process::{DumpableBehavior, getegid, geteuid, set_dumpable_behavior};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::ffi::CStr;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where `ip netns` keeps names.
pub const DIRECTORY: &str = "/run/netns";

/// A network namespace, kept alive by being open. Clones are the same one.
#[derive(Debug, Clone)]
pub struct Namespace(Arc<OwnedFd>);

impl Namespace {
    /// The one of this name.
    pub fn open(name: &str) -> io::Result<Self> {
        let file = File::open(Path::new(DIRECTORY).join(name))?;
        Ok(Self(Arc::new(file.into())))
    }

    /// Puts the calling thread into it: sockets that it opens from now on, and threads and processes
    /// that it starts, belong there. Needs `CAP_SYS_ADMIN`.
    pub fn enter(&self) -> io::Result<()> {
        let kind = Some(LinkNameSpaceType::Network);
        Ok(move_into_link_name_space(self.0.as_fd(), kind)?)
    }
}

/// Puts the calling thread into a network namespace of its own, without a name: it is gone when nothing
/// is in it any more. Needs `CAP_SYS_ADMIN`.
pub fn enter_new() -> io::Result<()> {
    // SAFETY: takes flags. It changes what this thread belongs to and no memory.
    check(unsafe { libc::unshare(libc::CLONE_NEWNET) }).map(drop)
}

/// Every name that there is.
pub fn names() -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(DIRECTORY) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut names = Vec::new();
    for entry in entries {
        names.extend(entry?.file_name().into_string().ok());
    }
    names.sort();
    Ok(names)
}

/// Is there a name without a namespace? Making or removing one was broken off: its file has nothing mounted on it.
pub fn is_bare(name: &str) -> io::Result<bool> {
    let device = |path: &Path| fs::metadata(path).map(|data| data.dev());
    let folder = Path::new(DIRECTORY);
    Ok(device(&folder.join(name))? == device(folder)?)
}

/// Makes this process root of a user namespace of its own, with network and mounts of its own, in which
/// network namespaces can be made and named. To be called while there is one thread. Not every kernel
/// lets everybody.
///
/// # Errors
/// Says which step failed.
pub fn become_root_of_own() -> Result<(), OwnRootError> {
    let step = |what| move |source| OwnRootError { what, source };
    let (uid, gid) = (geteuid().as_raw(), getegid().as_raw());
    own_proc_files().map_err(step("have its files in /proc"))?;
    let kinds = libc::CLONE_NEWUSER | libc::CLONE_NEWNET | libc::CLONE_NEWNS;
    // SAFETY: takes flags. It changes what this process belongs to and no memory.
    check(unsafe { libc::unshare(kinds) }).map_err(step("make a user namespace"))?;
    let map = |file: &str, text: String| fs::write(PathBuf::from("/proc/self").join(file), text);
    map("setgroups", "deny".to_owned())
        .and_then(|()| map("uid_map", format!("0 {uid} 1")))
        .and_then(|()| map("gid_map", format!("0 {gid} 1")))
        .map_err(step("become its root"))?;
    // Names of namespaces are mounts below /run, which is another user's.
    let nothing = None::<&CStr>;
    mount(c"tmpfs", c"/run", c"tmpfs", MountFlags::empty(), nothing)
        .map_err(io::Error::from)
        .map_err(step("have a /run of its own"))
}

/// Of a program with file capabilities the kernel gives `/proc/self` to root (`PR_SET_DUMPABLE` in prctl(2)): this user could
/// neither write the maps nor enter the namespaces later. Other processes of the user gain nothing by it: tracing asks for
/// the capabilities of the traced one as well.
fn own_proc_files() -> io::Result<()> {
    Ok(set_dumpable_behavior(DumpableBehavior::Dumpable)?)
}

/// Is this process root of a user namespace with one user? No process can become another user there.
pub fn has_one_user() -> bool {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    is_of_one_user(&map)
}

/// Lines of `user_namespaces(7)`: the first user inside, the first outside, and how many.
fn is_of_one_user(map: &str) -> bool {
    map.split_whitespace().skip(2).step_by(3).eq(["1"])
}

/// Why this process could not become root of a user namespace.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what}: {source}")]
pub struct OwnRootError {
    what: &'static str,
    source: io::Error,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_says_how_many_users_there_are() {
        assert!(is_of_one_user("         0      65534          1\n"));
        assert!(!is_of_one_user("         0          0 4294967295\n"));
        assert!(!is_of_one_user("0 1000 1\n1 100000 65536\n"));
        assert!(!is_of_one_user(""));
    }
}
