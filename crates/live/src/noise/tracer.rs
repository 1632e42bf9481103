//! The kernel's own events of the watched CPUs: which thread had the CPU, which handler.

use super::events::Events;
use super::freezes::Freezes;
use super::occupancy::{Occupancy, Spell};
use super::stops::Stops;
use crate::condition::guardian::Guardian;
use crate::condition::undo::Undo;
use delaylab_kernel::cpu_list::Cpus;
use delaylab_kernel::tracefs::event::{self, Decoder};
use delaylab_kernel::tracefs::page::{self, Page};
use delaylab_kernel::tracefs::{Buffer, Instance, Tracefs};
use delaylab_kernel::{clock, owned_name, proc_counters, process, process_info};
use delaylab_model::Nanos;
use delaylab_model::noise::{NoiseEvent, NoiseKind, Unwatched};
use std::collections::HashSet;
use std::io;

/// Buffer of one CPU: two seconds of a CPU that switches 16,000 times in each.
const BUFFER_KIB: usize = 4 << 10;
/// All buffers together.
const BUFFERS_KIB: usize = 64 << 10;

/// Stretches of lost entries that are kept apart in a trial.
const MOST_UNWATCHED: usize = 10_000;

/// How the names of threads that measure and answer begin.
const OWN_NAMES: [&str; 2] = ["delaylab", "dlab-"];

/// An instance of the tracer that is made once and traces trial by trial.
#[derive(Debug)]
pub(super) struct Tracer {
    cpus: Vec<Traced>,
    stops: Stops,
    freezes: Freezes,
    unwatched: Vec<Unwatched>,
    decoder: Decoder,
    page: Box<[u8; page::SIZE]>,
    instance: Instance,
    /// Goes last: it removes the instance, which nobody may have open then.
    _guardian: Guardian,
}

#[derive(Debug)]
struct Traced {
    cpu: u16,
    buffer: Buffer,
    occupancy: Occupancy,
    /// When its latest entry was written.
    latest: Nanos,
}

impl Tracer {
    pub(super) fn new(cpus: &Cpus) -> io::Result<Self> {
        let tracefs = Tracefs::open()?;
        for name in tracefs.leftovers() {
            // One that cannot be removed is in nobody's way.
            let _ = tracefs.remove(&name);
        }
        let name = owned_name::of_this_thread();
        let mut guardian = Guardian::start()?;
        guardian.tell(Undo::RemoveTraceInstance(name.clone()))?;
        let instance = tracefs.make(&name)?;
        instance.watch(cpus, BUFFER_KIB.min(BUFFERS_KIB / cpus.len().max(1)))?;
        let traced = |&cpu| {
            Ok(Traced {
                cpu: u16::try_from(cpu).map_err(io::Error::other)?,
                buffer: instance.buffer(cpu)?,
                occupancy: Occupancy::default(),
                latest: 0,
            })
        };
        Ok(Self {
            cpus: cpus.iter().map(traced).collect::<io::Result<_>>()?,
            stops: Stops::default(),
            freezes: Freezes::default(),
            unwatched: Vec::new(),
            decoder: instance.enable(&event::ALL)?,
            page: Box::new([0; page::SIZE]),
            instance,
            _guardian: guardian,
        })
    }

    pub(super) fn begin(&mut self) -> io::Result<()> {
        self.instance.trace(true)?;
        let now = clock::monotonic();
        (self.stops, self.freezes) = (Stops::default(), Freezes::default());
        self.unwatched.clear();
        for traced in &mut self.cpus {
            traced.occupancy = Occupancy::begin(now);
            traced.latest = now;
        }
        Ok(())
    }

    /// Reads what has been written until now. Returns how many entries were lost.
    pub(super) fn drain(&mut self, mut found: impl FnMut(u16, Spell<'_>)) -> io::Result<u64> {
        let mut lost = 0;
        let now = clock::monotonic();
        for Traced {
            cpu,
            buffer,
            occupancy,
            latest,
        } in &mut self.cpus
        {
            while let Some(bytes) = buffer.read(&mut self.page)? {
                let Some(page) = Page::parse(bytes) else {
                    continue;
                };
                if page.lost > 0 {
                    lost += page.lost;
                    occupancy.lose();
                    self.stops.lose();
                    self.freezes.lose();
                    let end = page.entries().next().map_or(now, |entry| entry.time);
                    note_unwatched(&mut self.unwatched, *cpu, (*latest, end));
                }
                for entry in page.entries() {
                    *latest = entry.time;
                    let Some(event) = self.decoder.decode(entry.payload) else {
                        continue;
                    };
                    self.stops.take(*cpu, entry.time, &event);
                    self.freezes.take(*cpu, entry.time, &event);
                    if let Some(spell) = occupancy.take(entry.time, event) {
                        found(*cpu, spell);
                    }
                }
            }
        }
        self.stops.end(now, &mut found);
        self.freezes.end(now, found);
        Ok(lost)
    }

    /// Ends a trial: what is left to be read, and whoever runs now.
    pub(super) fn end(&mut self, mut found: impl FnMut(u16, Spell<'_>)) -> io::Result<u64> {
        let now = clock::monotonic();
        self.instance.trace(false)?;
        let lost = self.drain(&mut found)?;
        for traced in &mut self.cpus {
            if let Some(spell) = std::mem::take(&mut traced.occupancy).end(now) {
                found(traced.cpu, spell);
            }
        }
        Ok(lost)
    }

    /// Of which stretches of the trial entries were lost.
    pub(super) fn take_unwatched(&mut self) -> Vec<Unwatched> {
        std::mem::take(&mut self.unwatched)
    }
}

/// Notes that entries of a CPU were lost, which is behind all that were noted of it. Once there are many, the last is
/// extended up to there: what is known between the two counts as unknown.
fn note_unwatched(unwatched: &mut Vec<Unwatched>, cpu: u16, (start, end): (Nanos, Nanos)) {
    let last = match unwatched.len() {
        MOST_UNWATCHED.. => unwatched.iter_mut().rev().find(|before| before.cpu == cpu),
        _ => None,
    };
    match last {
        Some(before) => before.end = end,
        None => unwatched.push(Unwatched { cpu, start, end }),
    }
}

/// Decides which spells are noise.
#[derive(Debug)]
pub(super) struct Judge {
    trial: u32,
    least: Nanos,
    processes: Vec<u32>,
    /// Threads that measure or answer.
    ours: HashSet<u32>,
    /// The watcher's thread: what it takes is noise, although it is of this process.
    watcher: u32,
}

impl Judge {
    /// To be made by the watcher's own thread.
    pub(super) fn new(trial: u32, least: Nanos, processes: Vec<u32>) -> Self {
        Self {
            trial,
            least,
            processes,
            ours: HashSet::new(),
            watcher: process::thread_id(),
        }
    }

    /// Learns the threads that there are now; those that have ended stay known.
    pub(super) fn look_around(&mut self) {
        for &process in &self.processes {
            self.ours.extend(proc_counters::threads(process));
        }
        self.ours.remove(&self.watcher);
    }

    /// Keeps a spell that is noise.
    pub(super) fn judge(&self, cpu: u16, spell: Spell<'_>, events: &mut Events) {
        if spell.kind == NoiseKind::Stopped && spell.thread.is_none() {
            return self.judge_frozen(cpu, &spell, events);
        }
        let ours = |id| self.ours.contains(&id);
        let is_noise = match spell.kind {
            // A reflector on this host may not be the run's own.
            NoiseKind::Stopped => {
                spell.thread.is_some_and(ours)
                    || OWN_NAMES.iter().any(|own| spell.who.starts_with(own))
            }
            _ => !spell.thread.is_some_and(|id| id == 0 || ours(id)),
        };
        if is_noise {
            self.keep(cpu, spell, events);
        }
    }

    /// Keeps that a group was frozen for each process in it that measures or answers.
    fn judge_frozen(&self, cpu: u16, spell: &Spell<'_>, events: &mut Events) {
        for process in proc_counters::processes() {
            let Some(name) = proc_counters::thread_name(process, process) else {
                continue;
            };
            let measures = self.processes.contains(&process)
                || OWN_NAMES.iter().any(|own| name.starts_with(own));
            if measures && process_info::cgroup(process).is_some_and(|path| path == spell.who) {
                let spell = Spell {
                    who: name.into(),
                    thread: Some(process),
                    ..spell.clone()
                };
                self.keep(cpu, spell, events);
            }
        }
    }

    /// Keeps what is long enough.
    fn keep(&self, cpu: u16, spell: Spell<'_>, events: &mut Events) {
        if spell.length < self.least {
            return;
        }
        events.push(NoiseEvent {
            trial: self.trial,
            start: spell.start,
            length: spell.length,
            cpu: Some(cpu),
            kind: spell.kind,
            who: Some(spell.who.into_owned()),
            pid: spell.thread,
            preempted: spell.preempted,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(length: Nanos, thread: Option<u32>) -> bool {
        judged_as(NoiseKind::Scheduled, "other", length, thread)
    }

    fn judged_as(kind: NoiseKind, who: &'static str, length: Nanos, thread: Option<u32>) -> bool {
        let mut judge = Judge::new(4, 5, vec![std::process::id()]);
        judge.look_around();
        let mut events = Events::new(10);
        let spell = Spell {
            start: 100,
            length,
            kind,
            who: who.into(),
            thread,
            preempted: None,
        };
        judge.judge(3, spell, &mut events);
        let (events, left_out) = events.sorted();
        assert_eq!(left_out.count, 0);
        events
            .iter()
            .all(|event| event.trial == 4 && event.cpu == Some(3))
            && events.len() == 1
    }

    #[test]
    fn of_many_losses_the_last_is_extended() {
        let mut unwatched = Vec::new();
        let many = MOST_UNWATCHED as Nanos;
        for at in 0..many + 5 {
            note_unwatched(&mut unwatched, 3, (10 * at, 10 * at + 1));
        }
        note_unwatched(&mut unwatched, 4, (7, 8));
        let last = |cpu, start, end| Unwatched { cpu, start, end };
        let expected = [last(3, 10 * (many - 1), 10 * (many + 4) + 1), last(4, 7, 8)];
        assert_eq!(unwatched[MOST_UNWATCHED - 1..], expected);
    }

    #[test]
    fn others_are_noise_and_so_is_the_watcher() {
        assert!(judged(5, Some(u32::MAX)));
        assert!(judged(5, None));
        assert!(judged(5, Some(process::thread_id())));
    }

    #[test]
    fn of_stops_those_of_what_measures_count() {
        let stopped = |who, thread| judged_as(NoiseKind::Stopped, who, 5, Some(thread));
        assert!(stopped("delaylab", u32::MAX));
        assert!(stopped("dlab-echo", u32::MAX));
        assert!(!stopped("other", u32::MAX));
        let first = std::process::id();
        assert!(first == process::thread_id() || stopped("other", first));
    }

    #[test]
    fn of_frozen_groups_those_of_what_measures_count() {
        let Some(group) = process_info::cgroup(std::process::id()) else {
            return println!("skipped: no cgroup 2");
        };
        let frozen = |who: &str, processes: &[u32]| {
            let judge = Judge::new(4, 5, processes.to_vec());
            let mut events = Events::new(10_000);
            let spell = Spell {
                start: 100,
                length: 5,
                kind: NoiseKind::Stopped,
                who: who.into(),
                thread: None,
                preempted: None,
            };
            judge.judge(3, spell, &mut events);
            let (events, _) = events.sorted();
            events.iter().any(|event| {
                event.kind == NoiseKind::Stopped && event.pid == Some(std::process::id())
            })
        };
        let me = std::process::id();
        assert!(frozen(&group, &[me]));
        assert!(!frozen("/another", &[me]));
    }

    #[test]
    fn the_idle_the_short_and_our_own_are_not() {
        assert!(!judged(5, Some(0)));
        assert!(!judged(4, Some(u32::MAX)));
        // The test runs on a thread of its own: the process's first is another.
        let first = std::process::id();
        assert!(first == process::thread_id() || !judged(5, Some(first)));
    }
}
