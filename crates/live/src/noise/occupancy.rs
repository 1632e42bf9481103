//! From the kernel's events, who had a CPU from when to when.

use delaylab_kernel::tracefs::event::{Event, Task, Why, softirq_name};
use delaylab_model::Nanos;
use delaylab_model::noise::NoiseKind;
use std::borrow::Cow;

/// Somebody had the CPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Spell<'a> {
    pub(super) start: Nanos,
    pub(super) length: Nanos,
    pub(super) kind: NoiseKind,
    pub(super) who: Cow<'a, str>,
    /// The thread's number; 0 is the idle thread's. `None`: a handler.
    pub(super) thread: Option<u32>,
    /// It could have gone on; `None` where that is not known.
    pub(super) preempted: Option<bool>,
}

/// What one CPU does.
#[derive(Debug, Default)]
pub(super) struct Occupancy {
    /// Since when the thread runs that does; `None` after a loss.
    since: Option<Nanos>,
    /// Who that is, once it is known.
    running: Option<(u32, String)>,
    interrupt: Option<(Nanos, String)>,
    softirq: Option<(Nanos, u32)>,
}

impl Occupancy {
    /// Whoever runs has run at least since `now`.
    pub(super) fn begin(now: Nanos) -> Self {
        Self {
            since: Some(now),
            ..Self::default()
        }
    }

    /// Entries were lost: nothing is known of what began before.
    pub(super) fn lose(&mut self) {
        *self = Self::default();
    }

    /// Takes the next event. Returns the spell that it ends.
    pub(super) fn take<'a>(&mut self, now: Nanos, event: Event<'a>) -> Option<Spell<'a>> {
        match event {
            Event::Switch { from, to, why } => {
                let spell = self.switch(now, from, &to)?;
                let preempted = why.map(|why| why == Why::Preempted);
                Some(Spell { preempted, ..spell })
            }
            Event::InterruptBegin { name } => {
                self.interrupt = Some((now, name.into_owned()));
                None
            }
            Event::InterruptEnd => {
                let (start, name) = self.interrupt.take()?;
                spell(NoiseKind::Interrupt, start, now, name.into(), None)
            }
            Event::SoftirqBegin { vector } => {
                self.softirq = Some((now, vector));
                None
            }
            Event::SoftirqEnd => {
                let (start, vector) = self.softirq.take()?;
                spell(NoiseKind::Softirq, start, now, softirq_name(vector), None)
            }
            // Who is frozen has no CPU.
            Event::Freezer { .. } => None,
        }
    }

    fn switch<'a>(&mut self, now: Nanos, from: Task<'a>, to: &Task<'_>) -> Option<Spell<'a>> {
        let since = self.since.replace(now);
        let (id, name) = self.running.get_or_insert_default();
        *id = to.id;
        to.name.as_ref().clone_into(name);
        spell(NoiseKind::Scheduled, since?, now, from.name, Some(from.id))
    }

    /// Ends the watch: whoever runs has run until now.
    pub(super) fn end(self, now: Nanos) -> Option<Spell<'static>> {
        let (id, name) = self.running?;
        spell(
            NoiseKind::Scheduled,
            self.since?,
            now,
            name.into(),
            Some(id),
        )
    }
}

/// `None` where it ended before it began: before the watch did.
fn spell<'a>(
    kind: NoiseKind,
    start: Nanos,
    end: Nanos,
    who: Cow<'a, str>,
    thread: Option<u32>,
) -> Option<Spell<'a>> {
    (end > start).then_some(Spell {
        start,
        length: end - start,
        kind,
        who,
        thread,
        preempted: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn switch(from: u32, to: u32) -> Event<'static> {
        let task = |id: u32| Task {
            id,
            name: format!("t{id}").into(),
        };
        Event::Switch {
            from: task(from),
            to: task(to),
            why: Some(Why::Preempted),
        }
    }

    fn what(spell: Option<Spell<'_>>) -> Option<(Nanos, Nanos, String, Option<u32>)> {
        spell.map(|spell| {
            (
                spell.start,
                spell.length,
                spell.who.into_owned(),
                spell.thread,
            )
        })
    }

    #[test]
    fn threads_have_the_cpu_from_switch_to_switch() {
        let mut cpu = Occupancy::begin(100);
        assert_eq!(
            what(cpu.take(130, switch(7, 0))),
            Some((100, 30, "t7".into(), Some(7)))
        );
        assert_eq!(
            what(cpu.take(150, switch(0, 9))),
            Some((130, 20, "t0".into(), Some(0)))
        );
        assert_eq!(what(cpu.end(200)), Some((150, 50, "t9".into(), Some(9))));
    }

    #[test]
    fn what_ended_before_the_watch_began_is_left_out() {
        let mut cpu = Occupancy::begin(100);
        assert_eq!(cpu.take(90, switch(7, 8)), None);
        assert_eq!(
            what(cpu.take(110, switch(8, 7))),
            Some((90, 20, "t8".into(), Some(8)))
        );
        assert_eq!(cpu.end(105), None);
        assert_eq!(Occupancy::begin(1).end(2), None);
    }

    #[test]
    fn a_thread_that_could_go_on_was_preempted() {
        let mut cpu = Occupancy::begin(0);
        let spell = cpu.take(5, switch(7, 8));
        assert_eq!(spell.and_then(|spell| spell.preempted), Some(true));
        let last = cpu.end(9);
        assert_eq!(last.and_then(|spell| spell.preempted), None);
    }

    #[test]
    fn handlers_run_inside_of_spells() {
        let mut cpu = Occupancy::begin(0);
        assert_eq!(
            cpu.take(
                5,
                Event::InterruptBegin {
                    name: "eth0".into()
                }
            ),
            None
        );
        assert_eq!(
            what(cpu.take(8, Event::InterruptEnd)),
            Some((5, 3, "eth0".into(), None))
        );
        assert_eq!(cpu.take(8, Event::InterruptEnd), None);
        assert_eq!(cpu.take(9, Event::SoftirqBegin { vector: 3 }), None);
        assert_eq!(
            what(cpu.take(15, Event::SoftirqEnd)),
            Some((9, 6, "NET_RX".into(), None))
        );
        assert_eq!(
            what(cpu.take(20, switch(1, 2))),
            Some((0, 20, "t1".into(), Some(1)))
        );
    }

    #[test]
    fn after_a_loss_nothing_is_known_until_the_next_switch() {
        let mut cpu = Occupancy::begin(0);
        cpu.take(5, Event::SoftirqBegin { vector: 1 });
        cpu.lose();
        assert_eq!(cpu.take(9, Event::SoftirqEnd), None);
        assert_eq!(cpu.take(20, switch(1, 2)), None);
        assert_eq!(
            what(cpu.take(25, switch(2, 0))),
            Some((20, 5, "t2".into(), Some(2)))
        );
    }

    proptest! {
        #[test]
        fn spells_of_threads_fill_the_watch(steps in prop::collection::vec((1..50_i64, 0..4_u32), 1..50)) {
            let (mut cpu, mut now, mut running) = (Occupancy::begin(0), 0, 9);
            let mut length = 0;
            for (step, next) in steps {
                now += step;
                length += cpu.take(now, switch(running, next)).map_or(0, |spell| spell.length);
                running = next;
            }
            length += cpu.end(now + 1).map_or(0, |spell| spell.length);
            prop_assert_eq!(length, now + 1);
        }
    }
}
