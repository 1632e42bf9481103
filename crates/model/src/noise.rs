//! What disturbed the measuring host: seen beside the probes and joined to their records.

use crate::Nanos;
use crate::table::TableRow;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the kernel's tracer is called among the sources of a run: with it, all that had a CPU is known.
pub const TRACER: &str = "scheduler and interrupts";
/// What processes of simulated hosts are called among the sources of a run.
pub const DAEMONS: &str = "daemons";

/// The name of the thread that sends and takes load.
pub const LOAD_THREAD: &str = "delaylab load";
/// The names of the processes that put a host under load in condition stressed.
pub const STRESS_PROCESSES: [&str; 4] = ["dlab-spin", "dlab-daemon", "dlab-memory", "dlab-timer"];

/// Where an event was seen.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum NoiseKind {
    /// A thread that only reads the clock found this long without itself.
    #[default]
    SentinelGap,
    /// The scheduler let another thread run on the CPU.
    Scheduled,
    /// An interrupt handler ran on the CPU.
    Interrupt,
    /// A softirq handler ran on the CPU.
    Softirq,
    /// Reading the clock itself took this long (source 002, finding 5).
    SlowClockRead,
    /// A thread that measures or answers was stopped by a signal or a debugger, or frozen with its cgroup. Others may have had
    /// the CPU meanwhile; it did not wait for that.
    Stopped,
}

impl NoiseKind {
    crate::named! {
        SentinelGap "sentinel_gap";
        Scheduled "scheduled";
        Interrupt "interrupt";
        Softirq "softirq";
        SlowClockRead "slow_clock_read";
        Stopped "stopped";
    }
}

/// Something other than the prober had a CPU, or a thread that measures was stopped.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NoiseEvent {
    /// During which trial of the run.
    pub trial: u32,
    /// When it began, `CLOCK_MONOTONIC`.
    pub start: Nanos,
    /// How long it lasted.
    pub length: Nanos,
    /// On which CPU; `None` where the source does not say.
    pub cpu: Option<u16>,
    /// Where it was seen.
    pub kind: NoiseKind,
    /// Which process, interrupt or softirq, by the kernel's name.
    pub who: Option<String>,
    /// Its process (thread) number.
    pub pid: Option<u32>,
    /// Of a thread: it could have gone on when it lost the CPU, and so its next event is the same work.
    /// `None` where the source does not say.
    pub preempted: Option<bool>,
}

impl TableRow for NoiseEvent {
    const IS_OPTIONAL: bool = false;
    type Key<'a> = Nanos;

    fn key(&self) -> Self::Key<'_> {
        self.start
    }
}

/// A stretch of which it is not known what had a CPU: the kernel's entries of it were lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unwatched {
    /// On which CPU.
    pub cpu: u16,
    /// From when on, `CLOCK_MONOTONIC`.
    pub start: Nanos,
    /// Until when.
    pub end: Nanos,
}

/// The process of a thread that had a CPU during a trial, as far as `/proc` told while it lived.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Process {
    /// The thread's number: [`NoiseEvent::pid`].
    pub thread: u32,
    /// The process's.
    pub pid: u32,
    /// When the process started, since the host did. Two processes with one number differ in it.
    #[serde(rename = "started_ns")]
    pub started: Nanos,
    /// Its command line, cut; empty for a thread of the kernel.
    #[serde(default)]
    pub command: String,
    /// Its systemd unit, or its cgroup where that is no unit's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
}

/// CPU time of a process during a trial, as the kernel counts it for everybody: how much, not when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuUse {
    /// Its name.
    pub who: String,
    /// Its process number.
    pub pid: u32,
    /// On a CPU.
    #[serde(rename = "ran_ns")]
    pub ran: Nanos,
    /// Ready to run, and waiting for a CPU.
    #[serde(rename = "waited_ns")]
    pub waited: Nanos,
    /// It measures or answers itself.
    pub measures: bool,
}

/// What a clock read cost: a bin of a distribution, over one trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClockReads {
    /// During which trial of the run.
    pub trial: u32,
    /// Least cost that falls into the bin. Negative: the clock went backwards.
    pub from_ns: Nanos,
    /// Costs below this fall into the bin.
    pub to_ns: Nanos,
    /// How many reads did.
    pub count: u64,
}

impl ClockReads {
    /// The rows of a trial, of how many reads fell into the bins that begin at these costs.
    pub fn rows(trial: u32, bins: BTreeMap<Nanos, u64>) -> Vec<Self> {
        let row = |(least, count)| {
            let (from_ns, to_ns) = Self::bin(least);
            Self {
                trial,
                from_ns,
                to_ns,
                count,
            }
        };
        bins.into_iter().map(row).collect()
    }

    /// The bin of a cost, from and to: nine of equal width in each power of ten, and one for all that are negative.
    pub fn bin(cost: Nanos) -> (Nanos, Nanos) {
        if cost < 0 {
            return (Nanos::MIN, 0);
        }
        let width = 10_i64.pow(cost.max(1).ilog10());
        let from = cost / width * width;
        (from, from.saturating_add(width))
    }
}

impl TableRow for ClockReads {
    const IS_OPTIONAL: bool = false;
    type Key<'a> = Nanos;

    fn key(&self) -> Self::Key<'_> {
        self.from_ns
    }
}
