//! From the kernel's events of all CPUs, from when to when threads were stopped.
//!
//! A thread may stop on one CPU and go on on another, whose events are read earlier or later: who began to run is kept until
//! all CPUs have been read up to then.

use super::occupancy::Spell;
use delaylab_kernel::tracefs::event::{Event, Why};
use delaylab_model::Nanos;
use delaylab_model::noise::NoiseKind;

/// A thread that is stopped.
#[derive(Debug)]
struct Stop {
    thread: u32,
    who: String,
    cpu: u16,
    since: Nanos,
}

/// Threads that are stopped, and those that began to run since the CPUs were read.
#[derive(Debug, Default)]
pub(super) struct Stops {
    stopped: Vec<Stop>,
    began: Vec<(Nanos, u32)>,
}

impl Stops {
    /// Takes an event of a CPU.
    pub(super) fn take(&mut self, cpu: u16, now: Nanos, event: &Event<'_>) {
        let Event::Switch { from, to, why } = event else {
            return;
        };
        if *why == Some(Why::Stopped) {
            self.stopped.push(Stop {
                thread: from.id,
                who: from.name.as_ref().to_owned(),
                cpu,
                since: now,
            });
        }
        if to.id != 0 {
            self.began.push((now, to.id));
        }
    }

    /// Entries were lost: which threads have run again since is not known.
    pub(super) fn lose(&mut self) {
        self.stopped.clear();
    }

    /// All CPUs have been read at least up to this moment. Hands over the stops that have ended, with the CPU on which each began.
    pub(super) fn end(&mut self, read_up_to: Nanos, mut found: impl FnMut(u16, Spell<'_>)) {
        self.began.sort_unstable();
        let began = &self.began;
        self.stopped.retain(|stop| {
            let mut again = began.iter();
            let again = again.find(|&&(at, thread)| thread == stop.thread && at > stop.since);
            if let Some((at, _)) = again {
                let spell = Spell {
                    start: stop.since,
                    length: at - stop.since,
                    kind: NoiseKind::Stopped,
                    who: stop.who.as_str().into(),
                    thread: Some(stop.thread),
                    preempted: None,
                };
                found(stop.cpu, spell);
            }
            again.is_none()
        });
        self.began.retain(|&(at, _)| at >= read_up_to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_kernel::tracefs::event::Task;

    fn switch(from: u32, to: u32, why: Why) -> Event<'static> {
        let task = |id: u32| Task {
            id,
            name: format!("t{id}").into(),
        };
        Event::Switch {
            from: task(from),
            to: task(to),
            why: Some(why),
        }
    }

    fn ended(stops: &mut Stops, read_up_to: Nanos) -> Vec<(u16, Nanos, Nanos, Option<u32>)> {
        let mut all = Vec::new();
        stops.end(read_up_to, |cpu, spell| {
            assert_eq!(spell.kind, NoiseKind::Stopped);
            all.push((cpu, spell.start, spell.length, spell.thread));
        });
        all
    }

    #[test]
    fn a_stop_lasts_until_the_thread_runs_again_on_any_cpu() {
        let mut stops = Stops::default();
        // It continues on CPU 1, which is read last, then on CPU 0, which was read before.
        stops.take(0, 10, &switch(7, 8, Why::Stopped));
        stops.take(0, 20, &switch(8, 9, Why::Waits));
        assert_eq!(ended(&mut stops, 25), []);
        stops.take(1, 40, &switch(0, 7, Why::Preempted));
        stops.take(1, 50, &switch(7, 0, Why::Waits));
        assert_eq!(ended(&mut stops, 45), [(0, 10, 30, Some(7))]);
        stops.take(0, 70, &switch(0, 7, Why::Preempted));
        assert_eq!(ended(&mut stops, 60), []);
        stops.take(1, 65, &switch(7, 0, Why::Stopped));
        assert_eq!(ended(&mut stops, 80), [(1, 65, 5, Some(7))]);
        assert_eq!(ended(&mut stops, 90), []);
    }

    #[test]
    fn after_a_loss_no_stop_is_known() {
        let mut stops = Stops::default();
        stops.take(0, 10, &switch(7, 8, Why::Stopped));
        stops.lose();
        stops.take(0, 20, &switch(8, 7, Why::Waits));
        assert_eq!(ended(&mut stops, 30), []);
    }
}
