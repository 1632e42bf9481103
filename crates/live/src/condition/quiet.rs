//! `quiet`: as undisturbed as this host allows.
//!
//! Each step is tried for itself, and says whether it holds.

use super::guardian::Guardian;
use super::undo::Undo;
use super::{ApplyError, Options, State, Step};
use delaylab_kernel::cpu_list::{self, Cpus};
use delaylab_kernel::cpuset::{self, Cpuset, Exclusivity, Hierarchy, Version};
use delaylab_kernel::dma_latency::DmaLatency;
use delaylab_kernel::host_info;
use delaylab_kernel::privilege::{self, Capability};
use delaylab_kernel::process;
use delaylab_kernel::scheduling::{self, MemoryLock, Scheduling, ThreadState};
use std::error::Error;
use std::fmt::Display;
use std::io;
use std::path::Path;

/// Low among the real-time priorities: above all ordinary programs, below the kernel's own threads.
const FIFO_PRIORITY: i32 = 10;

/// A cpuset that was entered, and who sees to it that it is removed.
#[derive(Debug)]
struct OwnSet {
    set: Cpuset,
    guardian: Guardian,
}

/// What quiet holds. Its fields are dropped in this order after [`Drop`] has run.
#[derive(Debug)]
pub(super) struct Quiet {
    before: ThreadState,
    own_set: Option<OwnSet>,
    _awake: Option<DmaLatency>,
    _locked: Option<MemoryLock>,
}

impl Quiet {
    pub(super) fn apply(options: &Options) -> Result<(Self, Vec<Step>), ApplyError> {
        let before = ThreadState::save().map_err(ApplyError::Thread)?;
        let allowed = scheduling::affinity().map_err(ApplyError::Thread)?;
        let cpu = options.cpu.or(allowed.last().copied()).unwrap_or(0);
        // The set goes first: moving in changes where the thread may run.
        let (own_set, entered) = own_cpuset(options, cpu, allowed.len());
        let pinned = pinned(cpu);
        let (locked, memory) = locked_memory();
        let (awake, idle) = awake_cpus();
        let steps = vec![
            real_time(options),
            pinned,
            entered,
            memory,
            idle,
            timer_slack(),
        ];
        Ok((
            Self {
                before,
                own_set,
                _awake: awake,
                _locked: locked,
            },
            steps,
        ))
    }

    pub(super) fn still_holds(&mut self) -> bool {
        let own = self.own_set.as_mut();
        own.is_none_or(|own| own.guardian.lives() && own.set.holds())
    }

    pub(super) fn helpers(&self) -> Vec<u32> {
        let own = self.own_set.iter();
        own.map(|own| own.guardian.id()).collect()
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        // Out of the set first: inside, the thread may not go back to its CPUs.
        drop(self.own_set.take());
        if let Err(error) = self.before.restore() {
            eprintln!("delaylab: this thread is not scheduled as before: {error}");
        }
    }
}

fn real_time(options: &Options) -> Step {
    step(
        "SCHED_FIFO",
        if options.spins {
            State::NotHeld(format!("the prober spins, and {}", throttling()))
        } else if !options.fifo {
            State::NotHeld("not asked for".into())
        } else {
            let fifo = Scheduling::fifo(FIFO_PRIORITY);
            let applied = privilege::with(Capability::CAP_SYS_NICE, || fifo.apply());
            match applied {
                Ok(()) => State::Held(format!("priority {FIFO_PRIORITY}")),
                Err(error) => State::NotHeld(reason(&error, options.program.as_deref())),
            }
        },
    )
}

fn throttling() -> String {
    match host_info::realtime_limit() {
        Some((runtime, period)) => format!(
            "the kernel stops a spinning real-time thread {} ms in each {} ms",
            (period - runtime) / 1_000_000,
            period / 1_000_000
        ),
        None => "a spinning real-time thread would never let others run".into(),
    }
}

fn pinned(cpu: usize) -> Step {
    step(
        "pinned",
        state(scheduling::pin(cpu).map(|()| format!("CPU {cpu}"))),
    )
}

fn locked_memory() -> (Option<MemoryLock>, Step) {
    let locked = MemoryLock::new();
    let state = match &locked {
        Ok(_) => State::Held("all, also what is asked for later".into()),
        Err(error) => State::NotHeld(format!("{error}; needs `ulimit -l unlimited`, or root")),
    };
    (locked.ok(), step("memory locked", state))
}

fn awake_cpus() -> (Option<DmaLatency>, Step) {
    let awake = DmaLatency::hold(0);
    let state = state(
        awake
            .as_ref()
            .map(|_| "/dev/cpu_dma_latency held at 0".into()),
    );
    (awake.ok(), step("CPUs kept awake", state))
}

fn timer_slack() -> Step {
    step(
        "timer slack",
        state(scheduling::set_timer_slack(1).map(|()| "1 ns".into())),
    )
}

fn own_cpuset(options: &Options, cpu: usize, allowed: usize) -> (Option<OwnSet>, Step) {
    let name = "own cpuset";
    if !options.cpuset {
        return (None, step(name, State::NotHeld("not asked for".into())));
    }
    if allowed < 2 {
        return (
            None,
            step(name, State::NotHeld("there is only one CPU".into())),
        );
    }
    match enter_cpuset(&Cpus::from([cpu])) {
        Ok((own, exclusivity)) => (Some(own), step(name, set_state(cpu, exclusivity))),
        Err(error) => (None, step(name, State::NotHeld(error.to_string()))),
    }
}

fn enter_cpuset(cpus: &Cpus) -> Result<(OwnSet, Exclusivity), Box<dyn Error>> {
    let hierarchy = Hierarchy::find()?;
    let others = process::other_threads();
    if hierarchy.version() == Version::V2 && others > 0 {
        // Load, reflector and watcher would crowd the CPU that is to be quiet.
        let why = "a partition (cgroup v2) takes whole processes, and other threads of this one would come along";
        return Err(why.into());
    }
    remove_leftovers();
    let set = hierarchy.plan();
    let mut guardian = Guardian::start()?;
    guardian.tell(Undo::RemoveCpuset(set.clone()))?;
    let exclusivity = set.enter(cpus)?;
    Ok((OwnSet { set, guardian }, exclusivity))
}

/// Of runs that were killed together with their guardian. What cannot be removed stays for the
/// doctor to name.
fn remove_leftovers() {
    for set in cpuset::leftovers() {
        let _ = set.remove();
    }
}

fn set_state(cpu: usize, exclusivity: Exclusivity) -> State {
    let cpus = cpu_list::format(&Cpus::from([cpu]));
    match exclusivity {
        Exclusivity::Alone => State::Held(format!("CPU {cpus}, nothing else runs there")),
        Exclusivity::AmongSets => State::Partly(format!(
            "CPU {cpus}; programs outside of any cpuset may still run there (cgroup v1)"
        )),
        Exclusivity::Shared => State::Partly(format!("CPU {cpus}, shared with another cpuset")),
    }
}

fn step(name: &'static str, state: State) -> Step {
    Step { name, state }
}

fn state<E: Display>(result: Result<String, E>) -> State {
    match result {
        Ok(how) => State::Held(how),
        Err(error) => State::NotHeld(error.to_string()),
    }
}

/// The kernel's word, and what to do about it: to give a capability to this program.
fn reason(error: &io::Error, program: Option<&Path>) -> String {
    match (error.kind(), program.and_then(privilege::setcap_hint)) {
        (io::ErrorKind::PermissionDenied, Some(hint)) => format!("{error}; try: {hint}"),
        _ => error.to_string(),
    }
}
