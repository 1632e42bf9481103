//! What a server does once its sockets are bound: give up everything, and look whether it is gone.

use super::seccomp::{self, SeccompError};
use super::status::{Holds, Witness};
use super::{landlock, needs};
use crate::socket_options::check;
use caps::errors::CapsError;
use caps::{CapSet, Capability};
use rustix::thread::set_no_new_privs;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use thiserror::Error;

pub use super::seccomp::Violation;

/// The user and group that own nothing, by their number on every Linux.
const NOBODY: u32 = 65_534;

/// Why a privilege could not be given up.
#[derive(Debug, Error)]
pub enum LockDownError {
    /// A capability set could not be emptied.
    #[error("cannot empty the {set:?} capability set: {source}")]
    Capabilities {
        /// Which set.
        set: CapSet,
        /// Why.
        source: CapsError,
    },
    /// The kernel refused a step.
    #[error("cannot {step}: {source}")]
    Step {
        /// What was to be done.
        step: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// System calls could not be filtered.
    #[error(transparent)]
    Seccomp(#[from] SeccompError),
    /// Capabilities and Landlock belong to threads: another thread would keep what it has.
    #[error("privileges must be dropped before threads are started: there are {0}")]
    Threads(usize),
    /// Every step succeeded and yet a privilege is there.
    #[error("privileges remain after they were dropped: {0:?}")]
    Remains(Holds),
}

/// How to lock down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// What becomes of a system call that is not on the list.
    pub violation: Violation,
}

/// Gives up every privilege of this process, for good, and checks that they are gone.
///
/// Call it after sockets and files are open and before threads are started: capabilities and
/// Landlock belong to threads, and those started afterwards inherit the lockdown. Afterwards
/// nothing can be opened, bound, connected or executed.
pub fn lock_down(options: Options) -> Result<Holds, LockDownError> {
    lock_all_but(None, Some((NOBODY, NOBODY)), options)
}

/// As [`lock_down`], but files beneath this folder may still be read and written, and none elsewhere.
///
/// Who is root becomes the folder's owner. A folder of root's own is read as nobody where everybody may
/// read it. Where neither of them reaches the folder, the process stays root, without capabilities and
/// confined to the folder. The folder's path is absolute.
pub fn lock_down_beneath(folder: &Path, options: Options) -> Result<Holds, LockDownError> {
    let owner = fs::metadata(folder).map_err(step("look at the folder"))?;
    let everybody_reads = owner.mode() & 0o005 == 0o005;
    let user = match owner.uid() {
        0 if everybody_reads => Some((NOBODY, NOBODY)),
        0 => None,
        uid => Some((uid, owner.gid())),
    };
    let user = user.filter(|&user| reaches(folder, user));
    lock_all_but(Some(folder), user, options)
}

/// Files beneath the folder stay, if any; root becomes this user and group, if any.
fn lock_all_but(
    folder: Option<&Path>,
    user: Option<(u32, u32)>,
    options: Options,
) -> Result<Holds, LockDownError> {
    let mut witness = Witness::new().map_err(step("open /proc/self/status"))?;
    if witness.threads() != 1 {
        return Err(LockDownError::Threads(witness.threads()));
    }
    drop_privileges(user)?;
    let enforced = landlock::forbid_all_but(folder).map_err(step("restrict itself by Landlock"))?;
    let landlock = enforced && landlock::opening_fails();
    seccomp::filter(options.violation, folder.is_some())?;
    let seen = witness.look().map_err(step("read /proc/self/status"))?;
    let holds = Holds {
        landlock: Some(landlock),
        ..seen
    };
    let as_if_not_root = Holds {
        not_root: holds.not_root || (user.is_none() && landlock),
        ..holds
    };
    if as_if_not_root.is_safe() {
        Ok(holds)
    } else {
        Err(LockDownError::Remains(holds))
    }
}

/// May this user and group pass through every folder on the way to this one?
fn reaches(folder: &Path, (user, group): (u32, u32)) -> bool {
    let passes = |above: &Path| {
        let Ok(data) = fs::metadata(above) else {
            return false;
        };
        let bit = match (data.uid() == user, data.gid() == group) {
            (true, _) => 0o100,
            (false, true) => 0o010,
            (false, false) => 0o001,
        };
        data.mode() & bit != 0
    };
    folder.ancestors().skip(1).all(passes)
}

/// Empties every capability set of the calling thread, leaves root for this user and group, if any, and makes
/// sure that no exec brings anything back.
///
/// The bounding set can only be emptied with CAP_SETPCAP; without it `no_new_privs` has to do.
pub(super) fn drop_privileges(user: Option<(u32, u32)>) -> Result<(), LockDownError> {
    // No exec of this thread, or of those that it starts, adds privileges from here on.
    let set = set_no_new_privs(true).map_err(io::Error::from);
    set.map_err(step("set no_new_privs"))?;
    if needs::raise(Capability::CAP_SETPCAP) {
        clear(CapSet::Bounding)?;
    }
    clear(CapSet::Ambient)?;
    if let Some((user, group)) = user {
        leave_root(user, group).map_err(step("leave root for nobody (in a user namespace, map ids up to 65534 or start as an ordinary user)"))?;
    }
    // Effective last: from here on nothing is allowed.
    for set in [CapSet::Inheritable, CapSet::Effective, CapSet::Permitted] {
        clear(set)?;
    }
    Ok(())
}

fn clear(set: CapSet) -> Result<(), LockDownError> {
    caps::clear(None, set).map_err(|source| LockDownError::Capabilities { set, source })
}

/// Other users than root stay who they are.
fn leave_root(user: u32, group: u32) -> io::Result<()> {
    if !needs::is_root() {
        return Ok(());
    }
    needs::raise(Capability::CAP_SETGID);
    needs::raise(Capability::CAP_SETUID);
    // SAFETY: no groups are passed, so the pointer is not followed; the others take integers.
    // Groups go first: they need the privilege that the user id gives up.
    unsafe {
        check(libc::setgroups(0, std::ptr::null()))?;
        check(libc::setresgid(group, group, group))?;
        check(libc::setresuid(user, user, user))?;
    }
    Ok(())
}

fn step(step: &'static str) -> impl FnOnce(io::Error) -> LockDownError {
    move |source| LockDownError::Step { step, source }
}
