//! No file and no new TCP connection, by Landlock (landlock(7)), where the kernel has it.
//!
//! Acts on the calling thread and on those that it starts afterwards.

use landlock::{
    ABI, Access, AccessFs, AccessNet, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};
use std::fs::File;
use std::io;
use std::path::Path;

/// The newest set of rights that this crate asks for; older kernels enforce what they know.
const RIGHTS: ABI = ABI::V6;

/// SQLite reads it.
const RANDOM: &str = "/dev/urandom";

/// Forbids every file, TCP bind and TCP connect; but not files beneath this folder, if any, and then not random
/// numbers. Returns whether the kernel enforces any of it.
///
/// # Errors
/// The folder cannot be opened, or the kernel has Landlock and refused.
pub fn forbid_all_but(folder: Option<&Path>) -> io::Result<bool> {
    let opened = folder.map(PathFd::new).transpose();
    let status = restrict(opened.map_err(io::Error::other)?).map_err(io::Error::other)?;
    Ok(status != RulesetStatus::NotEnforced)
}

fn restrict(folder: Option<PathFd>) -> Result<RulesetStatus, RulesetError> {
    let all = AccessFs::from_all(RIGHTS);
    let mut rules = Ruleset::default()
        .handle_access(all)?
        .handle_access(AccessNet::from_all(RIGHTS))?
        .scope(Scope::from_all(RIGHTS))?
        .create()?;
    if let Some(folder) = folder {
        let random = path_beneath_rules([RANDOM], AccessFs::from_read(RIGHTS));
        rules = rules
            .add_rule(PathBeneath::new(folder, all))?
            .add_rules(random)?;
    }
    Ok(rules.restrict_self()?.ruleset)
}

/// Does opening a file fail as it must? Tries the root directory, which everyone may read else.
pub fn opening_fails() -> bool {
    matches!(File::open("/"), Err(error) if error.raw_os_error() == Some(libc::EACCES))
}
