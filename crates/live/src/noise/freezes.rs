//! From the kernel's events of all CPUs, from when to when all of a cgroup was frozen.
//!
//! The scheduler's events do not say so: who is frozen looks as if it waited for something. A group may be frozen on one CPU and
//! thawed on another, whose events are read earlier or later: changes are kept until all CPUs have been read up to then.

use super::occupancy::Spell;
use delaylab_kernel::tracefs::event::Event;
use delaylab_model::Nanos;
use delaylab_model::noise::NoiseKind;

/// A group is frozen, or no longer.
#[derive(Debug)]
struct Change {
    at: Nanos,
    cpu: u16,
    group: String,
    frozen: bool,
}

impl Change {
    /// What the group was frozen for, from this change on.
    fn until(&self, thawed: Nanos) -> Spell<'_> {
        Spell {
            start: self.at,
            length: thawed - self.at,
            kind: NoiseKind::Stopped,
            who: self.group.as_str().into(),
            thread: None,
            preempted: None,
        }
    }
}

/// Groups that are frozen, and changes since the CPUs were read.
#[derive(Debug, Default)]
pub(super) struct Freezes {
    frozen: Vec<Change>,
    changes: Vec<Change>,
}

impl Freezes {
    /// Takes an event of a CPU.
    pub(super) fn take(&mut self, cpu: u16, now: Nanos, event: &Event<'_>) {
        if let Event::Freezer { group, frozen } = event {
            self.changes.push(Change {
                at: now,
                cpu,
                group: group.as_ref().to_owned(),
                frozen: *frozen,
            });
        }
    }

    /// Entries were lost: which groups are still frozen is not known.
    pub(super) fn lose(&mut self) {
        *self = Self::default();
    }

    /// All CPUs have been read at least up to this moment. Hands over what was frozen and is no longer: a spell of no thread,
    /// with the path of the group as its name.
    pub(super) fn end(&mut self, read_up_to: Nanos, mut found: impl FnMut(u16, Spell<'_>)) {
        self.changes.sort_by_key(|change| change.at);
        let read = self
            .changes
            .partition_point(|change| change.at < read_up_to);
        for change in self.changes.drain(..read) {
            let known = self.frozen.iter().position(|one| one.group == change.group);
            match (known, change.frozen) {
                (None, true) => self.frozen.push(change),
                (Some(at), false) => {
                    let began = self.frozen.swap_remove(at);
                    found(began.cpu, began.until(change.at));
                }
                (None, false) | (Some(_), true) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(group: &'static str, frozen: bool) -> Event<'static> {
        let group = group.into();
        Event::Freezer { group, frozen }
    }

    fn ended(freezes: &mut Freezes, read_up_to: Nanos) -> Vec<(u16, Nanos, Nanos, String)> {
        let mut all = Vec::new();
        freezes.end(read_up_to, |cpu, spell| {
            assert_eq!((spell.kind, spell.thread), (NoiseKind::Stopped, None));
            all.push((cpu, spell.start, spell.length, spell.who.into_owned()));
        });
        all
    }

    #[test]
    fn a_group_is_frozen_until_it_is_thawed_on_any_cpu() {
        let mut freezes = Freezes::default();
        // Thawed on CPU 0, which is read before CPU 1, on which it was frozen.
        freezes.take(0, 40, &change("/a", false));
        freezes.take(0, 60, &change("/a", true));
        freezes.take(1, 10, &change("/a", true));
        freezes.take(1, 20, &change("/b", true));
        assert_eq!(ended(&mut freezes, 50), [(1, 10, 30, "/a".to_owned())]);
        freezes.take(1, 65, &change("/a", false));
        freezes.take(1, 80, &change("/b", false));
        let both = [(0, 60, 5, "/a".to_owned()), (1, 20, 60, "/b".to_owned())];
        assert_eq!(ended(&mut freezes, 90), both);
        assert_eq!(ended(&mut freezes, 100), []);
    }

    #[test]
    fn what_was_frozen_before_the_watch_or_a_loss_is_not_known() {
        let mut freezes = Freezes::default();
        freezes.take(0, 10, &change("/a", false));
        freezes.take(0, 20, &change("/a", true));
        freezes.lose();
        freezes.take(0, 30, &change("/a", false));
        assert_eq!(ended(&mut freezes, 50), []);
    }
}
