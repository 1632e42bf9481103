//! Whose the threads are that had a CPU: asked while they live.

use delaylab_kernel::process_info;
use delaylab_model::noise::{NoiseEvent, Process};
use std::collections::BTreeMap;

/// Threads that are asked about in a trial.
const MOST: usize = 2_000;

/// What was learned of threads during a trial.
#[derive(Debug, Default)]
pub(super) struct Processes {
    /// `None`: the thread was gone.
    by_thread: BTreeMap<u32, Option<Process>>,
    /// Events that were looked at.
    looked: usize,
}

impl Processes {
    /// Learns the threads of the events that are new since the last look.
    pub(super) fn look_at(&mut self, events: &[NoiseEvent]) {
        for event in events.iter().skip(self.looked) {
            let room = self.by_thread.len() < MOST;
            if let Some(thread) = event.pid.filter(|_| room) {
                let known = self.by_thread.entry(thread);
                known.or_insert_with(|| process_info::of_thread(thread));
            }
        }
        self.looked = events.len();
    }

    /// Those that could be asked, by thread.
    pub(super) fn found(self) -> Vec<Process> {
        self.by_thread.into_values().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_model::noise::NoiseKind;

    #[test]
    fn threads_that_live_are_found_once() {
        let event = |pid| NoiseEvent {
            trial: 0,
            start: 0,
            length: 1,
            cpu: None,
            kind: NoiseKind::Scheduled,
            who: None,
            pid,
            preempted: None,
        };
        let me = std::process::id();
        let mut processes = Processes::default();
        processes.look_at(&[event(Some(me)), event(None), event(Some(u32::MAX))]);
        processes.look_at(&[event(None), event(None), event(None), event(Some(me))]);
        let found = processes.found();
        assert!(found.len() == 1 && found[0].pid == me, "{found:?}");
    }
}
