//! A command that a testbed needs, and where it is had.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

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
    /// The command of this name, in this package.
    pub const fn new(command: &'static str, package: &'static str) -> Self {
        Self { command, package }
    }

    /// Its file: in the search path, or among the programs for root.
    ///
    /// # Errors
    /// It is not here.
    pub fn find(self) -> Result<PathBuf, MissingTool> {
        self.find_in(&std::env::var_os("PATH").unwrap_or_default())
    }

    /// To run it. It reads nothing, and what stops this program from the terminal does not stop it: it ends by itself, and
    /// what it builds or removes is whole then.
    ///
    /// # Errors
    /// It is not here.
    pub fn command(self) -> Result<Command, MissingTool> {
        let mut command = Command::new(self.find()?);
        command.process_group(0).stdin(Stdio::null());
        Ok(command)
    }

    fn find_in(self, path: &OsStr) -> Result<PathBuf, MissingTool> {
        let folders = std::env::split_paths(path).chain(FOR_ROOT.map(PathBuf::from));
        let mut files = folders.map(|folder| folder.join(self.command));
        files.find(|file| file.is_file()).ok_or(MissingTool(self))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Ctrl-C is for the whole group of the terminal: `ip` would end in the middle of its work.
    #[test]
    fn a_command_has_a_group_of_its_own() {
        let shell = Tool::new("sh", "dash");
        let says = "read pid name state parent group rest < /proc/self/stat; echo $((group - pid))";
        let ran = shell.command().unwrap().args(["-c", says]).output();
        assert_eq!(ran.unwrap().stdout, b"0\n");
    }

    #[test]
    fn a_command_is_looked_for_where_it_would_be_run_from() {
        let nowhere = std::env::temp_dir().join("no-such-folder");
        let tool = Tool::new("no-such-command", "none");
        assert!(tool.find_in(nowhere.as_os_str()).is_err());
        let folder = std::env::temp_dir().join(format!("tool-{}", std::process::id()));
        let made = std::fs::create_dir_all(&folder)
            .and_then(|()| std::fs::write(folder.join(tool.command), ""));
        let both = std::env::join_paths([&nowhere, &folder]).unwrap_or_default();
        let found = tool.find_in(&both);
        let _ = std::fs::remove_dir_all(&folder);
        assert_eq!(found, Ok(folder.join(tool.command)));
        assert!(made.is_ok());
    }
}
