//! What holds, as the kernel reports it in `/proc/self/status` of every thread.

use serde::Serialize;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read, Seek};

/// What a lockdown left, over all threads: the weakest counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Holds {
    /// No thread can use or raise a capability (effective and permitted sets empty).
    pub no_capabilities: bool,
    /// No thread passes one on to a program that it starts (ambient and inheritable sets empty).
    pub none_inherited: bool,
    /// No program can gain one from its file (bounding set empty).
    pub bounding_empty: bool,
    /// Not root, by real, effective, saved and file system user id.
    pub not_root: bool,
    /// No exec can add privileges.
    pub no_new_privs: bool,
    /// System calls are filtered.
    pub seccomp: bool,
    /// Opening a file failed as it must: because of Landlock. `None`: not tried.
    pub landlock: Option<bool>,
}

impl Holds {
    /// Is there no way back to a privilege? The bounding set matters only to an exec, which
    /// `no_new_privs` makes harmless; seccomp stands for Landlock on kernels without it.
    pub fn is_safe(&self) -> bool {
        self.no_capabilities
            && self.none_inherited
            && self.not_root
            && self.no_new_privs
            && self.seccomp
    }

    /// What holds, by name.
    fn names(&self) -> impl Iterator<Item = &'static str> {
        [
            (self.no_capabilities, "no capabilities"),
            (self.bounding_empty, "none to be gained"),
            (self.not_root, "not root"),
            (self.no_new_privs, "no_new_privs"),
            (self.seccomp, "seccomp"),
            (self.landlock == Some(true), "landlock"),
        ]
        .into_iter()
        .filter_map(|(holds, name)| holds.then_some(name))
    }

    fn and(self, other: Self) -> Self {
        Self {
            no_capabilities: self.no_capabilities && other.no_capabilities,
            none_inherited: self.none_inherited && other.none_inherited,
            bounding_empty: self.bounding_empty && other.bounding_empty,
            not_root: self.not_root && other.not_root,
            no_new_privs: self.no_new_privs && other.no_new_privs,
            seccomp: self.seccomp && other.seccomp,
            landlock: self.landlock.or(other.landlock),
        }
    }

    /// From the text of one thread's status. A line that is missing counts as not holding.
    fn of_thread(status: &str) -> Self {
        let empty = |name: &str| {
            field(status, name).is_some_and(|value| value.trim_matches('0').is_empty())
        };
        let is = |name: &str, wanted: &str| field(status, name) == Some(wanted);
        Self {
            no_capabilities: empty("CapPrm") && empty("CapEff"),
            none_inherited: empty("CapAmb") && empty("CapInh"),
            bounding_empty: empty("CapBnd"),
            not_root: field(status, "Uid")
                .is_some_and(|ids| ids.split_whitespace().all(|id| id != "0")),
            no_new_privs: is("NoNewPrivs", "1"),
            seccomp: is("Seccomp", "2"),
            landlock: None,
        }
    }
}

impl fmt::Display for Holds {
    /// `no capabilities, not root, no_new_privs, seccomp`: what holds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.names().collect::<Vec<_>>().join(", "))
    }
}

fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    let value = status
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(value.trim()).filter(|value| !value.is_empty())
}

/// Reads the status of every thread that was there when it was made.
///
/// A process that may no longer open files reads them through what was opened before.
#[derive(Debug)]
pub struct Witness {
    files: Vec<File>,
}

impl Witness {
    /// Opens the status of every thread, but of those that end meanwhile.
    pub fn new() -> io::Result<Self> {
        let tasks = fs::read_dir("/proc/self/task")?.flatten();
        let opened = tasks.map(|task| File::open(task.path().join("status")));
        let gone = |file: &io::Result<File>| matches!(file, Err(error) if error.kind() == io::ErrorKind::NotFound);
        let files: io::Result<Vec<File>> = opened.filter(|file| !gone(file)).collect();
        Ok(Self { files: files? })
    }

    /// How many threads there were.
    pub fn threads(&self) -> usize {
        self.files.len()
    }

    /// What holds now, for all threads that are still there.
    ///
    /// # Errors
    /// The calling thread's status could not be read.
    pub fn look(&mut self) -> io::Result<Holds> {
        let statuses = self.files.iter_mut().filter_map(|file| reread(file).ok());
        let holds = statuses
            .map(|status| Holds::of_thread(&status))
            .reduce(Holds::and);
        holds.ok_or_else(|| {
            io::Error::new(io::ErrorKind::NotFound, "no thread's status can be read")
        })
    }
}

/// The kernel writes the file anew for each read from its start. `take` keeps the standard library
/// from asking for the file's size, a call that a lockdown forbids.
fn reread(file: &mut File) -> io::Result<String> {
    let mut text = String::new();
    file.rewind()?;
    file.take(1 << 16).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const LOCKED: &str = "Uid:\t65534\t65534\t65534\t65534\nCapInh:\t0000\nCapPrm:\t0000\nCapEff:\t0000\n\
        CapBnd:\t0000\nCapAmb:\t0000\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t2\n";

    #[test]
    fn a_locked_down_thread_is_safe() {
        let holds = Holds::of_thread(LOCKED);
        assert!(holds.is_safe() && holds.bounding_empty);
    }

    #[test]
    fn each_line_counts() {
        for (line, weaker) in [
            ("CapPrm:\t0000", "CapPrm:\t0400"),
            ("CapEff:\t0000", "CapEff:\t0001"),
            ("CapAmb:\t0000", "CapAmb:\t2000"),
            ("CapInh:\t0000", "CapInh:\t2000"),
            ("NoNewPrivs:\t1", "NoNewPrivs:\t0"),
            ("Seccomp:\t2", "Seccomp:\t0"),
            ("Uid:\t65534", "Uid:\t0"),
            ("CapEff:\t0000\n", ""),
            ("CapPrm:\t0000", "CapPrm:\t"),
        ] {
            let status = LOCKED.replace(line, weaker);
            assert!(!Holds::of_thread(&status).is_safe(), "{weaker}");
        }
    }

    #[test]
    fn the_weakest_thread_counts() {
        let weak = Holds::of_thread(&LOCKED.replace("Seccomp:\t2", "Seccomp:\t0"));
        assert!(!Holds::of_thread(LOCKED).and(weak).is_safe());
    }

    #[test]
    fn this_test_is_not_locked_down() {
        let holds = Witness::new().unwrap().look().unwrap();
        assert!(!holds.is_safe());
        assert_eq!(holds.landlock, None);
    }
}
