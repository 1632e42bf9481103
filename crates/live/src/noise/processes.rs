//! Whose the threads are that had a CPU: asked while they live.

use delaylab_kernel::process_info;
use delaylab_model::noise::Process;
use std::collections::{BTreeMap, BTreeSet};

/// Threads of which a trial knows the process, and threads that are remembered to be gone.
pub(super) const MOST: usize = 2_000;

/// What was learned of threads during a trial.
#[derive(Debug, Default)]
pub(super) struct Processes {
    found: BTreeMap<u32, Process>,
    /// Were gone when they were asked about.
    gone: BTreeSet<u32>,
    full: bool,
}

impl Processes {
    /// Learns whose these threads are, where it does not know.
    pub(super) fn look_at(&mut self, threads: BTreeSet<u32>) {
        for thread in threads {
            if self.found.contains_key(&thread) || self.gone.contains(&thread) {
                continue;
            }
            if self.found.len() >= MOST {
                self.full = true;
                return;
            }
            match process_info::of_thread(thread) {
                Some(process) => {
                    self.found.insert(thread, process);
                }
                None => self.note_gone(thread),
            }
        }
    }

    /// To forget them costs a further question each: no thread that lives goes unasked for those that are gone.
    fn note_gone(&mut self, thread: u32) {
        if self.gone.len() >= MOST {
            self.gone.clear();
        }
        self.gone.insert(thread);
    }

    /// Threads were left out, as [`MOST`] were known.
    pub(super) const fn is_full(&self) -> bool {
        self.full
    }

    /// Those that could be asked, by thread.
    pub(super) fn found(self) -> Vec<Process> {
        self.found.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_live_are_found_once() {
        let me = std::process::id();
        let mut processes = Processes::default();
        processes.look_at(BTreeSet::from([me, u32::MAX]));
        processes.look_at(BTreeSet::from([me]));
        let found = processes.found();
        assert!(found.len() == 1 && found[0].pid == me, "{found:?}");
    }

    /// A host that starts thousands of short processes, and then one that lasts.
    #[test]
    fn threads_that_are_gone_take_no_place() {
        let mut processes = Processes::default();
        processes.look_at((0..=MOST as u32).map(|nth| u32::MAX - nth).collect());
        processes.look_at(BTreeSet::from([std::process::id()]));
        assert!(!processes.is_full());
        assert_eq!(processes.found().len(), 1);
    }
}
