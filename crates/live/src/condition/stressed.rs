//! `stressed`: a built-in, bounded load, as processes of their own so that the prober's address
//! space is not disturbed.
//!
//! Each process ends when this is dropped, when the prober dies, and at its own deadline.

use super::burden::Burden;
use super::{ApplyError, State, Step, helper};
use delaylab_kernel::{clock, scheduling};
use delaylab_model::{MILLISECOND, Nanos, SECOND};
use std::process::Child;

/// What loads the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Load {
    /// Processes that compute without a pause; `None` is one a CPU.
    pub spinners: Option<usize>,
    /// A process that wakes periodically.
    pub daemon: Option<Daemon>,
    /// Bytes that a process asks for, writes to and gives back, over and over; 0 is none.
    pub memory: usize,
    /// Timers that fire each 100 µs; 0 is none.
    pub timers: u32,
    /// The load ends by itself after this long.
    pub max_length: Nanos,
}

/// A process that wakes each `period` and computes for `burst`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Daemon {
    /// From one wake-up to the next.
    pub period: Nanos,
    /// How long it computes.
    pub burst: Nanos,
}

impl Default for Load {
    fn default() -> Self {
        Self {
            spinners: None,
            daemon: Some(Daemon {
                period: 10 * MILLISECOND,
                burst: MILLISECOND,
            }),
            memory: 64 << 20,
            timers: 4,
            max_length: 3600 * SECOND,
        }
    }
}

impl Load {
    fn burdens(&self, cpus: &[usize]) -> Vec<Burden> {
        let spinners = self.spinners.unwrap_or(cpus.len());
        let on_cpus = cpus.iter().cycle().take(spinners);
        let mut burdens: Vec<Burden> = on_cpus.map(|&cpu| Burden::Spin { cpu }).collect();
        burdens.extend(
            self.daemon
                .map(|Daemon { period, burst }| Burden::Daemon { period, burst }),
        );
        burdens.extend((self.memory > 0).then_some(Burden::Memory { bytes: self.memory }));
        burdens.extend((self.timers > 0).then_some(Burden::Timer {
            threads: self.timers,
        }));
        burdens
    }

    fn describe(&self, spinners: usize) -> Vec<Step> {
        let held = |name, how: String| Step {
            name,
            state: State::Held(how),
        };
        let mut steps = vec![held("spinners", format!("{spinners} processes"))];
        steps.extend(
            self.daemon
                .map(|daemon| held("periodic daemon", daemon.to_string())),
        );
        steps.extend(
            (self.memory > 0).then(|| held("memory churn", format!("{} MiB", self.memory >> 20))),
        );
        steps.extend(
            (self.timers > 0).then(|| held("timer churn", format!("{} × 100 µs", self.timers))),
        );
        steps
    }
}

impl std::fmt::Display for Daemon {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let millis = |ns: Nanos| ns as f64 / MILLISECOND as f64;
        write!(
            f,
            "{} ms in each {} ms",
            millis(self.burst),
            millis(self.period)
        )
    }
}

/// A load that runs.
#[derive(Debug)]
pub(super) struct Stressed {
    children: Vec<Child>,
}

impl Stressed {
    /// Starts the load. Where a part cannot be started, none stays.
    pub(super) fn start(load: &Load) -> Result<(Self, Vec<Step>), ApplyError> {
        let cpus: Vec<usize> = scheduling::affinity()
            .map_err(ApplyError::Thread)?
            .into_iter()
            .collect();
        let deadline = clock::monotonic().saturating_add(load.max_length);
        let mut stressed = Self {
            children: Vec::new(),
        };
        for burden in load.burdens(&cpus) {
            stressed.children.push(start(burden, deadline)?);
        }
        Ok((stressed, load.describe(load.spinners.unwrap_or(cpus.len()))))
    }

    pub(super) fn still_holds(&mut self) -> bool {
        self.children
            .iter_mut()
            .all(|child| matches!(child.try_wait(), Ok(None)))
    }

    pub(super) fn helpers(&self) -> Vec<u32> {
        self.children.iter().map(Child::id).collect()
    }
}

fn start(burden: Burden, deadline: Nanos) -> Result<Child, ApplyError> {
    let parent = std::process::id().to_string();
    let args = [parent, deadline.to_string(), burden.argument()];
    let kind = burden.kind();
    helper::spawn("burden", &args).map_err(|source| ApplyError::Load { kind, source })
}

impl Drop for Stressed {
    fn drop(&mut self) {
        // All are told before any is waited for. One that has ended already is fine.
        for child in &mut self.children {
            let _ = child.kill();
        }
        for child in &mut self.children {
            let _ = child.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_default_a_spinner_a_cpu_and_one_of_each_else() {
        let burdens = Load::default().burdens(&[0, 5]);
        assert_eq!(burdens.len(), 5);
        assert_eq!(
            burdens[..2],
            [Burden::Spin { cpu: 0 }, Burden::Spin { cpu: 5 }]
        );
    }

    #[test]
    fn more_spinners_than_cpus_go_round() {
        let load = Load {
            spinners: Some(3),
            daemon: None,
            memory: 0,
            timers: 0,
            ..Load::default()
        };
        let spins = [0, 1, 0].map(|cpu| Burden::Spin { cpu });
        assert_eq!(load.burdens(&[0, 1]), spins);
    }
}
