//! What a process is to the kernel: its name, its parent's death, which process a number means.

use crate::socket_options::check;
use delaylab_model::{Nanos, SECOND};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{
    Pid, Resource, Signal, getrlimit, kill_process, set_parent_process_death_signal, setrlimit,
};
use std::ffi::{CStr, CString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::str::FromStr;

/// A file without a name, in memory: gone when it is closed.
///
/// For what a command says. A pipe would do only if nobody else had its other end; but a thread that took
/// a copy of all descriptors just then ([`own_descriptors`]) keeps it open, and the pipe never ends.
pub fn file_in_memory() -> io::Result<std::fs::File> {
    Ok(memfd_create(c"delaylab", MemfdFlags::CLOEXEC)?.into())
}

/// Lets this process have as many files open as it may ask for. Not after a lock-down: a limit that may not be read is not known.
pub fn raise_open_files() -> io::Result<()> {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    Ok(setrlimit(Resource::Nofile, limit)?)
}

/// Names the calling thread (and, from the main thread, the process in `ps`). 15 bytes are kept.
pub fn set_name(name: &CStr) -> io::Result<()> {
    Ok(rustix::thread::set_name(name)?)
}

/// Gives the calling thread a table of descriptors of its own, a copy of what is open now.
///
/// A system call on a table that threads share counts a reference to the file, up and down: about
/// 0.1 µs a call on a socket that is polled from one CPU. What is opened or closed from here on is
/// so for this thread alone.
///
/// With musl it does nothing: there a thread that starts a program waits for the end of a pipe, which a table that is
/// copied meanwhile would hold open for ever.
pub fn own_descriptors() -> io::Result<()> {
    if cfg!(target_env = "musl") {
        return Ok(());
    }
    // SAFETY: takes a flag and touches no memory.
    check(unsafe { libc::unshare(libc::CLONE_FILES) }).map(drop)
}

/// Kills this process when the *thread* that started it ends.
///
/// The caller compares [`parent`] with the parent that it expects afterwards: one that died before
/// this call sends no signal. The request does not outlive an exec of a privileged file.
pub fn die_with_parent() -> io::Result<()> {
    Ok(set_parent_process_death_signal(Some(Signal::KILL))?)
}

/// Asks this process to end (SIGTERM) when the *thread* that started it ends. What [`die_with_parent`] says holds here, too.
pub fn end_with_parent() -> io::Result<()> {
    Ok(set_parent_process_death_signal(Some(Signal::TERM))?)
}

/// The process that started this one, or the one that took it over when that died.
pub fn parent() -> u32 {
    std::os::unix::process::parent_id()
}

/// Asks a process to end (SIGTERM). The caller has started it and not waited for it yet: its number is nobody else's.
pub fn ask_to_end(pid: u32) -> io::Result<()> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or(io::ErrorKind::InvalidInput)?;
    Ok(kill_process(pid, Signal::TERM)?)
}

/// May this user write here? Asks, and writes nothing.
pub fn may_write(path: &Path) -> bool {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else {
        return false;
    };
    // SAFETY: `path` is a NUL-terminated string; the kernel only reads it.
    unsafe { libc::faccessat(libc::AT_FDCWD, path.as_ptr(), libc::W_OK, libc::AT_EACCESS) == 0 }
}

/// How many threads this process has beside the calling one.
pub fn other_threads() -> usize {
    let threads = std::fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
    threads.saturating_sub(1)
}

/// The calling thread's id.
pub fn thread_id() -> u32 {
    rustix::thread::gettid().as_raw_pid().unsigned_abs()
}

/// When a process started, in clock ticks since boot: with its id it names one process for good.
/// `None` where it is gone.
pub fn start_time(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    start_time_of(&stat)
}

/// In ticks.
pub(crate) fn start_time_of(stat: &str) -> Option<u64> {
    stat_field(stat, 22)
}

/// A field of proc(5)'s stat, from the third on. The name, field 2, may hold anything, so count from its end.
pub(crate) fn stat_field<T: FromStr>(stat: &str, number: usize) -> Option<T> {
    let (_, behind_name) = stat.rsplit_once(')')?;
    let field = behind_name.split_whitespace().nth(number - 3)?;
    field.parse().ok()
}

/// The unit of times in `/proc/stat` and `/proc/PID/stat`.
pub(crate) fn tick() -> Nanos {
    // SAFETY: takes an integer and only reads.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    SECOND / ticks.max(1)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_name_with_brackets_does_not_shift_the_fields() {
        let stat = "7 (a) b) (c)) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4242 1000 10";
        assert_eq!(start_time_of(stat), Some(4242));
        assert_eq!(start_time_of("7 (a"), None);
    }

    #[test]
    fn this_process_has_a_start_and_no_process_has_none() {
        assert_eq!(
            start_time(std::process::id()),
            start_time(std::process::id())
        );
        assert!(start_time(std::process::id()).unwrap() > 0);
        assert_eq!(start_time(u32::MAX), None);
    }

    #[test]
    fn as_many_files_may_be_open_as_are_allowed() {
        raise_open_files().unwrap();
        let limits = std::fs::read_to_string("/proc/self/limits").unwrap();
        let of_files = limits
            .lines()
            .find(|line| line.starts_with("Max open files"));
        let words: Vec<_> = of_files.unwrap().split_whitespace().collect();
        assert_eq!(words[3], words[4]);
    }

    #[test]
    fn proc_takes_no_files() {
        assert!(may_write(&std::env::temp_dir()));
        assert!(!may_write(Path::new("/proc/none/such")));
        assert!(!may_write(Path::new("a\0b")));
    }

    #[test]
    fn the_name_is_the_threads() {
        std::thread::spawn(|| {
            set_name(c"dlab-test").unwrap();
            let comm = std::fs::read_to_string(format!("/proc/self/task/{}/comm", thread_id()));
            assert_eq!(comm.unwrap().trim(), "dlab-test");
        })
        .join()
        .unwrap();
    }
}
