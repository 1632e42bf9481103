//! The system calls that a server keeps once its sockets are bound (seccomp(2)).
//!
//! An allow list: what is not on it fails with `EPERM`, or kills the process where that is asked
//! for. In particular nothing opens a file, makes a socket, connects, traces or executes.

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};
use std::collections::BTreeMap;
use thiserror::Error;

/// Why the filter could not be put in place.
#[derive(Debug, Error)]
#[error("seccomp: {0}")]
pub struct SeccompError(String);

/// What becomes of a call that is not on the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Violation {
    /// It fails with `EPERM`.
    #[default]
    Fails,
    /// The process is killed.
    Kills,
}

impl Violation {
    fn action(self) -> SeccompAction {
        match self {
            Violation::Fails => SeccompAction::Errno(libc::EPERM as u32),
            Violation::Kills => SeccompAction::KillProcess,
        }
    }
}

/// Filters the system calls of every thread of this process, for good. Needs `no_new_privs` or
/// CAP_SYS_ADMIN. `files` may be opened, listed, written, renamed and removed: which, Landlock says.
pub fn filter(violation: Violation, files: bool) -> Result<(), SeccompError> {
    let more: &[&[i64]] = if files { &[FILES, FILES_OF_OLD] } else { &[] };
    // clone3 hides its flags in memory, where no filter can see them. Told that it is not there,
    // the C library falls back to clone, whose flags are an argument.
    apply(&compile(
        clone3(),
        SeccompAction::Allow,
        SeccompAction::Errno(libc::ENOSYS as u32),
    )?)?;
    apply(&compile(
        allowed(more)?,
        violation.action(),
        SeccompAction::Allow,
    )?)
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

fn compile(
    rules: Rules,
    otherwise: SeccompAction,
    on_match: SeccompAction,
) -> Result<BpfProgram, SeccompError> {
    let arch = std::env::consts::ARCH.try_into().map_err(error)?;
    let filter = SeccompFilter::new(rules, otherwise, on_match, arch).map_err(error)?;
    filter.try_into().map_err(error)
}

fn apply(program: &BpfProgram) -> Result<(), SeccompError> {
    seccompiler::apply_filter_all_threads(program).map_err(error)
}

fn clone3() -> Rules {
    Rules::from([(libc::SYS_clone3, Vec::new())])
}

fn allowed(more: &[&[i64]]) -> Result<Rules, SeccompError> {
    let mut rules: Rules = ALWAYS
        .iter()
        .chain(OF_OLD)
        .chain(more.iter().copied().flatten())
        .map(|&call| (call, Vec::new()))
        .collect();
    for &(call, argument, mask, value) in WITH_ARGUMENT {
        rules
            .entry(call)
            .or_default()
            .push(argument_is(argument, mask, value)?);
    }
    // This process's own threads, as abort(3) needs it; nobody else.
    let own = argument_is(0, WHOLE, std::process::id().into())?;
    rules.entry(libc::SYS_tgkill).or_default().push(own);
    Ok(rules)
}

fn argument_is(index: u8, mask: u64, value: u64) -> Result<SeccompRule, SeccompError> {
    let same = SeccompCmpOp::MaskedEq(mask);
    let condition = SeccompCondition::new(index, SeccompCmpArgLen::Dword, same, value);
    SeccompRule::new(vec![condition.map_err(error)?]).map_err(error)
}

fn error(source: impl std::fmt::Display) -> SeccompError {
    SeccompError(source.to_string())
}

/// Calls that are fine with any argument.
const ALWAYS: &[i64] = &[
    // packets, and the streams that were open
    libc::SYS_recvmsg,
    libc::SYS_recvmmsg,
    libc::SYS_recvfrom,
    libc::SYS_sendmsg,
    libc::SYS_sendmmsg,
    libc::SYS_sendto,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_pread64,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_lseek,
    libc::SYS_close,
    libc::SYS_accept4,
    libc::SYS_shutdown,
    libc::SYS_getsockopt,
    libc::SYS_setsockopt,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    libc::SYS_fcntl,
    libc::SYS_fstat,
    // waiting
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_eventfd2,
    libc::SYS_timerfd_create,
    libc::SYS_timerfd_settime,
    libc::SYS_futex,
    libc::SYS_nanosleep,
    libc::SYS_clock_nanosleep,
    libc::SYS_sched_yield,
    libc::SYS_restart_syscall,
    // clocks
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_gettimeofday,
    // how good they are; to set them takes CAP_SYS_TIME
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    // memory
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_membarrier,
    // threads and signals
    libc::SYS_clone3, // answered ENOSYS by the first filter
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_set_tid_address,
    libc::SYS_gettid,
    libc::SYS_getpid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_sigaltstack,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_sched_getaffinity,
    libc::SYS_getrusage,
    libc::SYS_getrandom,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// Older forms of the above, on the architectures that have them.
#[cfg(target_arch = "x86_64")]
const OF_OLD: &[i64] = &[
    libc::SYS_epoll_wait,
    libc::SYS_poll,
    libc::SYS_select,
    libc::SYS_time,
    libc::SYS_accept,
];
#[cfg(not(target_arch = "x86_64"))]
const OF_OLD: &[i64] = &[libc::SYS_accept];

/// What working with files takes.
const FILES: &[i64] = &[
    libc::SYS_openat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_fstatfs,
    libc::SYS_getdents64,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_readlinkat,
    libc::SYS_getcwd,
    libc::SYS_preadv,
    libc::SYS_pwrite64,
    libc::SYS_pwritev,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_fadvise64,
    libc::SYS_flock,
    libc::SYS_fchmod,
    libc::SYS_unlinkat,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_copy_file_range,
    libc::SYS_sendfile,
    libc::SYS_splice,
    libc::SYS_utimensat,
    libc::SYS_prlimit64,
    libc::SYS_sysinfo,
    libc::SYS_uname,
    libc::SYS_msync,
];

/// Older forms of these, on the architectures that have them.
#[cfg(target_arch = "x86_64")]
const FILES_OF_OLD: &[i64] = &[
    libc::SYS_open,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_access,
    libc::SYS_readlink,
    libc::SYS_unlink,
    libc::SYS_rename,
];
#[cfg(not(target_arch = "x86_64"))]
const FILES_OF_OLD: &[i64] = &[];

/// Calls that are fine where an argument, under a mask, has a value: (call, argument, mask, value).
#[allow(clippy::unnecessary_cast)] // requests are c_int in some C libraries
const WITH_ARGUMENT: &[(i64, u8, u64, u64)] = &[
    // threads, not processes
    (
        libc::SYS_clone,
        0,
        libc::CLONE_THREAD as u64,
        libc::CLONE_THREAD as u64,
    ),
    // to no address, which is to disconnect: one has more bytes than its family
    (
        libc::SYS_connect,
        2,
        WHOLE,
        size_of::<libc::sa_family_t>() as u64,
    ),
    // a table of descriptors of a thread's own, nothing else of its own
    (libc::SYS_unshare, 0, WHOLE, libc::CLONE_FILES as u64),
    // names of threads and of memory, timer slack
    (libc::SYS_prctl, 0, WHOLE, libc::PR_SET_NAME as u64),
    (libc::SYS_prctl, 0, WHOLE, libc::PR_GET_NAME as u64),
    (libc::SYS_prctl, 0, WHOLE, libc::PR_SET_VMA as u64),
    (libc::SYS_prctl, 0, WHOLE, libc::PR_SET_TIMERSLACK as u64),
    (libc::SYS_prctl, 0, WHOLE, libc::PR_GET_TIMERSLACK as u64),
    // non-blocking mode, bytes waiting, is this a terminal and how wide
    (libc::SYS_ioctl, 1, WHOLE, libc::FIONBIO as u64),
    (libc::SYS_ioctl, 1, WHOLE, libc::FIONREAD as u64),
    (libc::SYS_ioctl, 1, WHOLE, libc::TCGETS as u64),
    (libc::SYS_ioctl, 1, WHOLE, libc::TIOCGWINSZ as u64),
];

const WHOLE: u64 = u32::MAX as u64;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_a_reflector_never_needs_is_not_on_the_list() {
        let rules = allowed(&[]).unwrap();
        for call in [
            libc::SYS_execve,
            libc::SYS_execveat,
            libc::SYS_openat,
            libc::SYS_openat2,
            libc::SYS_socket,
            libc::SYS_bind,
            libc::SYS_ptrace,
            libc::SYS_process_vm_writev,
            libc::SYS_io_uring_setup,
            libc::SYS_bpf,
            libc::SYS_kill,
        ] {
            assert!(!rules.contains_key(&call), "{call}");
        }
    }

    #[test]
    fn some_calls_are_let_through_with_one_argument_alone() {
        let rules = allowed(&[]).unwrap();
        // No rule at all would be any argument.
        for call in [libc::SYS_unshare, libc::SYS_connect, libc::SYS_tgkill] {
            assert_eq!(rules[&call].len(), 1);
            assert!(ALWAYS.iter().all(|&always| always != call));
        }
    }

    #[test]
    fn files_do_not_bring_sockets_or_programs() {
        let rules = allowed(&[FILES, FILES_OF_OLD]).unwrap();
        for call in [
            libc::SYS_execve,
            libc::SYS_execveat,
            libc::SYS_socket,
            libc::SYS_bind,
            libc::SYS_ptrace,
            libc::SYS_mount,
            libc::SYS_kill,
            libc::SYS_setresuid,
        ] {
            assert!(!rules.contains_key(&call), "{call}");
        }
        // To disconnect, as without files.
        assert_eq!(rules[&libc::SYS_connect].len(), 1);
    }

    #[test]
    fn both_filters_compile() {
        compile(clone3(), SeccompAction::Allow, SeccompAction::Errno(38)).unwrap();
        compile(
            allowed(&[]).unwrap(),
            Violation::Kills.action(),
            SeccompAction::Allow,
        )
        .unwrap();
    }
}
