//! How the kernel schedules a thread: policy, CPUs, timer slack, nice value; and locked memory.
//!
//! All but the memory lock act on the calling thread, and on threads and processes that it starts
//! afterwards. [`ThreadState`] saves them all and puts them back.

use crate::cpu_list::Cpus;
use crate::privilege::{self, Capability};
use crate::socket_options::check;
use rustix::mm::{MlockAllFlags, mlockall, munlockall};
use rustix::process::{Resource, getpriority_process, getrlimit, setpriority_process};
use rustix::thread::{
    CpuSet, current_timer_slack, sched_getaffinity, sched_setaffinity, set_current_timer_slack,
};
use std::io;
use std::num::NonZeroU64;

/// A scheduling policy with its real-time priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scheduling {
    policy: i32,
    priority: i32,
}

impl Scheduling {
    /// `SCHED_OTHER`: fair time sharing.
    pub const OTHER: Self = Self {
        policy: libc::SCHED_OTHER,
        priority: 0,
    };

    /// `SCHED_BATCH`: fair time sharing, but waking up takes the CPU from nobody.
    pub const BATCH: Self = Self {
        policy: libc::SCHED_BATCH,
        priority: 0,
    };

    /// `SCHED_FIFO` at a priority of 1 to 99: runs until it sleeps. A loop that never sleeps is
    /// throttled (`sched_rt_runtime_us`, by default 50 ms in each second).
    pub const fn fifo(priority: i32) -> Self {
        Self {
            policy: libc::SCHED_FIFO,
            priority,
        }
    }

    /// The calling thread's.
    pub fn current() -> io::Result<Self> {
        // SAFETY: takes a thread id only; 0 is the caller.
        let policy = check_call(unsafe { libc::syscall(libc::SYS_sched_getscheduler, 0) })?;
        let mut priority = 0;
        // SAFETY: the kernel's sched_param is one `int`, and `priority` a valid one to write to.
        check_call(unsafe { libc::syscall(libc::SYS_sched_getparam, 0, &raw mut priority) })?;
        Ok(Self { policy, priority })
    }

    /// Gives it to the calling thread. `SCHED_FIFO` needs CAP_SYS_NICE or a limit on real-time
    /// priority (`RLIMIT_RTPRIO`) of at least its priority.
    pub fn apply(self) -> io::Result<()> {
        let priority = &raw const self.priority;
        // SAFETY: the kernel's sched_param is one `int`, and `priority` a valid one to read; 0 is the caller.
        let code = unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, self.policy, priority) };
        check_call(code).map(drop)
    }
}

/// The result of a system call that gives an `int`. Those of scheduling are called as such: musl's functions refuse.
fn check_call(code: libc::c_long) -> io::Result<i32> {
    i32::try_from(code).map_or_else(|_| Err(io::Error::last_os_error()), check)
}

/// CPUs on which the calling thread may run.
pub fn affinity() -> io::Result<Cpus> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU)
        .filter(|&cpu| set.is_set(cpu))
        .collect())
}

/// Lets the calling thread run on these CPUs only.
///
/// # Errors
/// `InvalidInput` where none of them exists or is allowed here.
pub fn set_affinity(cpus: &Cpus) -> io::Result<()> {
    let mut set = CpuSet::new();
    for &cpu in cpus.iter().filter(|&&cpu| cpu < CpuSet::MAX_CPU) {
        set.set(cpu);
    }
    Ok(sched_setaffinity(None, &set)?)
}

/// Lets the calling thread run on one CPU only.
pub fn pin(cpu: usize) -> io::Result<()> {
    set_affinity(&Cpus::from([cpu]))
}

/// Timer slack of the calling thread, in nanoseconds: how late its sleeps may end so that the
/// kernel can serve several at once. 50 000 by default; real-time threads have none.
pub fn timer_slack() -> io::Result<u64> {
    Ok(current_timer_slack()?)
}

/// Sets the timer slack of the calling thread, in nanoseconds; 0 is its default.
pub fn set_timer_slack(slack_ns: u64) -> io::Result<()> {
    Ok(set_current_timer_slack(NonZeroU64::new(slack_ns))?)
}

/// Nice value of the calling thread, −20 to 19.
pub fn nice() -> io::Result<i32> {
    // On Linux none is the calling thread.
    Ok(getpriority_process(None)?)
}

/// Sets the nice value of the calling thread. Below the present one it needs CAP_SYS_NICE.
pub fn set_nice(value: i32) -> io::Result<()> {
    Ok(setpriority_process(None, value)?)
}

/// How the calling thread was scheduled, to be put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadState {
    scheduling: Scheduling,
    affinity: Cpus,
    timer_slack: u64,
    nice: i32,
}

impl ThreadState {
    /// Saves the calling thread's.
    pub fn save() -> io::Result<Self> {
        Ok(Self {
            scheduling: Scheduling::current()?,
            affinity: affinity()?,
            timer_slack: timer_slack()?,
            nice: nice()?,
        })
    }

    /// Puts it back, from the same thread. Tries all of it and returns the first error.
    pub fn restore(&self) -> io::Result<()> {
        let results = [
            self.scheduling.apply(),
            set_affinity(&self.affinity),
            set_timer_slack(self.timer_slack),
            set_nice(self.nice),
        ];
        results.into_iter().collect()
    }
}

/// This process's memory, also what it asks for later, stays in RAM until this is dropped.
///
/// Drop it before giving up CAP_IPC_LOCK, or allocations beyond the limit fail.
#[derive(Debug)]
pub struct MemoryLock(());

impl MemoryLock {
    /// Locks it.
    ///
    /// # Errors
    /// `PermissionDenied` where [`may_lock_memory`] says no.
    pub fn new() -> io::Result<Self> {
        if !may_lock_memory() {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE)?;
        Ok(Self(()))
    }
}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        // Nothing can be done about memory that stays locked.
        let _ = munlockall();
    }
}

/// May all memory be locked without harm?
///
/// Only without a limit: under one (`RLIMIT_MEMLOCK`), allocations and the growth of a stack fail
/// once it is reached. CAP_IPC_LOCK lifts it for a thread only while that thread has it effective.
///
/// To be asked before a lock-down, which may forbid `prlimit64` ([`privilege::lock_down`]): what is read here cannot fail.
pub fn may_lock_memory() -> bool {
    let unlimited = getrlimit(Resource::Memlock).current.is_none();
    unlimited || privilege::holds(Capability::CAP_IPC_LOCK)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_saved_state_comes_back() {
        let before = ThreadState::save().unwrap();
        let cpu = *before.affinity.first().unwrap();
        pin(cpu).unwrap();
        set_timer_slack(1).unwrap();
        assert_eq!(affinity().unwrap(), Cpus::from([cpu]));
        assert_eq!(timer_slack().unwrap(), 1);
        let may_fifo = Scheduling::fifo(1).apply().is_ok();
        assert_eq!(
            Scheduling::current().unwrap() == Scheduling::fifo(1),
            may_fifo
        );
        before.restore().unwrap();
        assert_eq!(ThreadState::save().unwrap(), before);
    }

    #[test]
    fn a_cpu_that_is_not_there_is_refused() {
        let before = affinity().unwrap();
        assert!(pin(CpuSet::MAX_CPU - 1).is_err());
        assert!(pin(CpuSet::MAX_CPU + 7).is_err());
        assert_eq!(affinity().unwrap(), before);
    }

    #[test]
    fn another_thread_is_not_touched() {
        let before = timer_slack().unwrap();
        std::thread::spawn(|| set_timer_slack(123).unwrap())
            .join()
            .unwrap();
        assert_eq!(timer_slack().unwrap(), before);
    }

    #[test]
    fn locked_memory_shows_in_proc_and_goes() {
        let Ok(lock) = MemoryLock::new() else {
            return assert!(!may_lock_memory());
        };
        assert!(locked_kib() > 0);
        drop(lock);
        assert_eq!(locked_kib(), 0);
    }

    fn locked_kib() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with("VmLck:"))
            .unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}
