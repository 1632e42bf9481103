//! What the load's processes do, until their deadline or their parent's end.

use super::helper;
use delaylab_kernel::{clock, process, scheduling};
use delaylab_model::{MICROSECOND, Nanos};
use serde::{Deserialize, Serialize};
use std::ffi::CStr;
use std::hint::black_box;

/// One process of the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Burden {
    /// Computes without a pause on one CPU.
    Spin { cpu: usize },
    /// Wakes each `period` and computes for `burst`.
    Daemon { period: Nanos, burst: Nanos },
    /// Asks for memory, writes to all of it, gives it back.
    Memory { bytes: usize },
    /// So many threads, each waking each 100 µs.
    Timer { threads: u32 },
}

impl Burden {
    /// How messages call it.
    pub(super) fn kind(self) -> &'static str {
        match self {
            Burden::Spin { .. } => "spin",
            Burden::Daemon { .. } => "daemon",
            Burden::Memory { .. } => "memory",
            Burden::Timer { .. } => "timer",
        }
    }

    /// What [`Burden::parse`] reads.
    pub(super) fn argument(self) -> String {
        // Plain data: this cannot fail.
        serde_json::to_string(&self).unwrap_or_default()
    }

    pub(super) fn parse(argument: &str) -> Option<Self> {
        match serde_json::from_str(argument).ok()? {
            Burden::Daemon { period, burst } if period <= 0 || burst < 0 => None,
            burden => Some(burden),
        }
    }

    /// As `ps` shows it.
    fn process_name(self) -> &'static CStr {
        match self {
            Burden::Spin { .. } => c"dlab-spin",
            Burden::Daemon { .. } => c"dlab-daemon",
            Burden::Memory { .. } => c"dlab-memory",
            Burden::Timer { .. } => c"dlab-timer",
        }
    }
}

/// A load process's whole life. Returns its exit code.
pub(super) fn carry(parent: u32, deadline: Nanos, burden: Burden) -> u8 {
    let tied = process::die_with_parent().is_ok() && process::parent() == parent;
    // A name is a courtesy to whoever looks at the process list.
    let _ = process::set_name(burden.process_name());
    if !tied || helper::say_ready().is_err() {
        return 1;
    }
    match burden {
        Burden::Spin { cpu } => spin_on(cpu, deadline),
        Burden::Daemon { period, burst } => wake_and_work(period, burst, deadline),
        Burden::Memory { bytes } => churn_memory(bytes, deadline),
        Burden::Timer { threads } => churn_timers(threads, deadline),
    }
    0
}

fn spin_on(cpu: usize, deadline: Nanos) {
    // Where it may not be pinned, the scheduler spreads the spinners.
    let _ = scheduling::pin(cpu);
    spin_until(deadline);
}

fn spin_until(deadline: Nanos) {
    while clock::monotonic() < deadline {
        for step in 0..1_000_u32 {
            black_box(step);
        }
    }
}

fn wake_and_work(period: Nanos, burst: Nanos, deadline: Nanos) {
    let mut due = clock::monotonic();
    while due < deadline {
        spin_until(deadline.min(clock::monotonic() + burst));
        due += period;
        // An interrupted sleep only wakes sooner.
        let _ = clock::sleep_until(due.min(deadline));
    }
}

fn churn_memory(bytes: usize, deadline: Nanos) {
    while clock::monotonic() < deadline {
        write_in_pieces(bytes, deadline);
    }
}

/// Ends early at the deadline: fresh pages can come slowly.
fn write_in_pieces(bytes: usize, deadline: Nanos) {
    const PIECE: usize = 1 << 20;
    let mut fresh: Vec<u8> = Vec::with_capacity(bytes);
    while fresh.len() < bytes && clock::monotonic() < deadline {
        fresh.resize(bytes.min(fresh.len() + PIECE), 1);
    }
    black_box(&fresh);
}

fn churn_timers(threads: u32, deadline: Nanos) {
    const PERIOD: Nanos = 100 * MICROSECOND;
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                // With the default slack the kernel would serve them together.
                let _ = scheduling::set_timer_slack(1);
                wake_and_work(PERIOD, 0, deadline);
            });
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_model::noise::STRESS_PROCESSES;

    const ALL: [Burden; 4] = [
        Burden::Spin { cpu: 3 },
        Burden::Daemon {
            period: 10,
            burst: 2,
        },
        Burden::Memory { bytes: 4096 },
        Burden::Timer { threads: 4 },
    ];

    #[test]
    fn each_has_the_name_by_which_readers_of_a_run_know_it() {
        let names = ALL.map(|burden| burden.process_name().to_string_lossy());
        assert_eq!(names, STRESS_PROCESSES);
    }

    #[test]
    fn arguments_come_back() {
        for burden in ALL {
            assert_eq!(Burden::parse(&burden.argument()), Some(burden));
        }
        let never = Burden::Daemon {
            period: 0,
            burst: 1,
        };
        assert_eq!(Burden::parse(&never.argument()), None);
        assert_eq!(Burden::parse("spin"), None);
    }

    #[test]
    fn a_deadline_that_has_passed_ends_each_at_once() {
        spin_until(0);
        wake_and_work(1, 1, 0);
        churn_memory(1 << 30, 0);
        churn_timers(2, 0);
    }
}
