//! No file and no new TCP connection, by Landlock (landlock(7)), where the kernel has it.
//!
//! Acts on the calling thread and on those that it starts afterwards.

use landlock::{
    ABI, Access, AccessFs, AccessNet, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus, Scope, path_beneath_rules,
};
use std::fs::File;
use std::io;
use std::path::Path;

/// The newest set of rights that this crate asks for; older kernels enforce what they know.
const RIGHTS: ABI = ABI::V6;

/// Forbids every file, TCP bind and TCP connect. Returns whether the kernel enforces any of it.
///
/// # Errors
/// The kernel has Landlock and refused.
pub fn forbid_everything() -> io::Result<bool> {
    let status = ruleset().map_err(io::Error::other)?;
    Ok(status != RulesetStatus::NotEnforced)
}

/// Forbids every file but those beneath this folder, and random numbers; every TCP bind and TCP connect. Returns
/// whether the kernel enforces any of it.
///
/// # Errors
/// The folder cannot be opened, or the kernel has Landlock and refused.
pub fn allow_beneath(folder: &Path) -> io::Result<bool> {
    let read = AccessFs::from_read(RIGHTS);
    let beneath = PathBeneath::new(
        PathFd::new(folder).map_err(io::Error::other)?,
        AccessFs::from_all(RIGHTS),
    );
    let random = path_beneath_rules([RANDOM], read);
    let restricted = || {
        Ruleset::default()
            .handle_access(AccessFs::from_all(RIGHTS))?
            .handle_access(AccessNet::from_all(RIGHTS))?
            .scope(Scope::from_all(RIGHTS))?
            .create()?
            .add_rule(beneath)?
            .add_rules(random)?
            .restrict_self()
    };
    let status = restricted().map_err(io::Error::other)?.ruleset;
    Ok(status != RulesetStatus::NotEnforced)
}

/// SQLite reads it.
const RANDOM: &str = "/dev/urandom";

fn ruleset() -> Result<RulesetStatus, landlock::RulesetError> {
    let created = Ruleset::default()
        .handle_access(AccessFs::from_all(RIGHTS))?
        .handle_access(AccessNet::from_all(RIGHTS))?
        .scope(Scope::from_all(RIGHTS))?
        .create()?;
    Ok(created.restrict_self()?.ruleset)
}

/// Does opening a file fail as it must? Tries the root directory, which everyone may read else.
pub fn opening_fails() -> bool {
    matches!(File::open("/"), Err(error) if error.raw_os_error() == Some(libc::EACCES))
}
