//! A command that a testbed needs, and where it is had.

use std::ffi::OsStr;
use std::path::PathBuf;

/// Where Debian has programs for root, which may be missing from a user's search path.
const FOR_ROOT: [&str; 2] = ["/usr/sbin", "/sbin"];

/// A command, and the package of Debian that has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tool {
    /// Its name.
    pub command: &'static str,
    /// The package.
    pub package: &'static str,
}

/// A command is not here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is missing: install the package {} (`apt-get install {}`)", .0.command, .0.package, .0.package)]
pub struct MissingTool(pub Tool);

impl Tool {
    /// Is it where this process would run it from?
    pub fn is_in_path(self) -> bool {
        self.is_in(&std::env::var_os("PATH").unwrap_or_default())
    }

    fn is_in(self, path: &OsStr) -> bool {
        std::env::split_paths(path).any(|folder| folder.join(self.command).is_file())
    }

    /// Its file: in the search path, or among the programs for root.
    ///
    /// # Errors
    /// It is not here.
    pub fn find(self) -> Result<PathBuf, MissingTool> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::env::split_paths(&path).chain(FOR_ROOT.map(PathBuf::from));
        let mut files = folders.map(|folder| folder.join(self.command));
        files.find(|file| file.is_file()).ok_or(MissingTool(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_looked_for_where_it_would_be_run_from() {
        let nowhere = std::env::temp_dir().join("no-such-folder");
        let ip = Tool {
            command: "ip",
            package: "iproute2",
        };
        assert!(!ip.is_in(nowhere.as_os_str()));
        let folder = std::env::temp_dir().join(format!("tool-{}", std::process::id()));
        let made =
            std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(folder.join("ip"), ""));
        let both = std::env::join_paths([&nowhere, &folder]).unwrap_or_default();
        let found = ip.is_in(&both);
        let _ = std::fs::remove_dir_all(&folder);
        assert!(made.is_ok() && found);
    }
}
