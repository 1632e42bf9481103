//! What the kernel counted during a trial. It says that something was there, not when.

use delaylab_kernel::cpu_list::Cpus;
use delaylab_kernel::proc_counters::{self, ByCpu, ProcessTime, ThreadTime};
use delaylab_model::noise::CpuUse;
use delaylab_model::{MILLISECOND, Nanos};
use serde::Serialize;
use std::collections::BTreeMap;

/// What was counted during one trial, on the CPUs that were watched. What was not is left out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Counters {
    /// Threads that measure or answer.
    pub threads: Vec<ThreadRow>,
    /// Interrupts, by who handles them.
    pub interrupts: Vec<Count>,
    /// Softirqs, by the kernel's name.
    pub softirqs: Vec<Count>,
    /// CPUs that the hypervisor took away, and for how long.
    pub stolen: Vec<Stolen>,
    /// Processes by their CPU time, on whatever CPU: most first, and those that measure.
    pub processes: Vec<CpuUse>,
}

/// Processes that are kept, beside those that measure.
const MOST_PROCESSES: usize = 10;
/// Maximum number of ancestors that are looked at.
const MOST_ABOVE: usize = 100;
/// A process that ran for less than this in a whole trial delayed nobody.
const LEAST_RAN: Nanos = MILLISECOND;

/// One thread's time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ThreadRow {
    /// Its number.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// On a CPU.
    #[serde(rename = "ran_ns")]
    pub ran: Nanos,
    /// Ready to run, and waiting for a CPU.
    #[serde(rename = "waited_ns")]
    pub waited: Nanos,
}

/// How often something happened on a CPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Count {
    /// What.
    pub name: String,
    /// Where.
    pub cpu: u16,
    /// How often.
    pub count: u64,
}

/// Time of a CPU in which it had work and the hypervisor ran something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Stolen {
    /// Which.
    pub cpu: u16,
    /// How long. The kernel counts in ticks of 10 ms.
    #[serde(rename = "length_ns")]
    pub length: Nanos,
}

/// The counters as they stood when the trial began.
#[derive(Debug, Default)]
pub(super) struct Before {
    cpus: Vec<u16>,
    interrupts: ByCpu,
    softirqs: ByCpu,
    stolen: BTreeMap<u16, Nanos>,
    threads: BTreeMap<u32, Thread>,
    processes: BTreeMap<u32, ProcessTime>,
}

#[derive(Debug)]
struct Thread {
    name: String,
    first: ThreadTime,
    last: ThreadTime,
}

impl Before {
    /// Reads them. What this host does not count stays empty.
    pub(super) fn read(cpus: &Cpus, processes: &[u32]) -> Self {
        let mut before = Self {
            cpus: cpus.iter().filter_map(|&cpu| cpu.try_into().ok()).collect(),
            interrupts: proc_counters::interrupts().unwrap_or_default(),
            softirqs: proc_counters::softirqs().unwrap_or_default(),
            stolen: proc_counters::stolen().unwrap_or_default(),
            threads: BTreeMap::new(),
            processes: process_times().collect(),
        };
        before.look_at_threads(processes);
        for thread in before.threads.values_mut() {
            thread.first = thread.last;
        }
        before
    }

    /// Threads that end before the trial does are known as of the last look.
    pub(super) fn look_at_threads(&mut self, processes: &[u32]) {
        for &process in processes {
            for id in proc_counters::threads(process) {
                if let Some(time) = proc_counters::thread_time(process, id) {
                    self.saw(process, id, time);
                }
            }
        }
    }

    fn saw(&mut self, process: u32, id: u32, time: ThreadTime) {
        let known = self.threads.entry(id).or_insert_with(|| Thread {
            name: proc_counters::thread_name(process, id).unwrap_or_default(),
            first: ThreadTime::default(),
            last: time,
        });
        known.last = time;
    }

    /// Reads them again, and says what came to pass since.
    pub(super) fn until_now(mut self, processes: &[u32]) -> Counters {
        self.look_at_threads(processes);
        let interrupts = proc_counters::interrupts().unwrap_or_default();
        let softirqs = proc_counters::softirqs().unwrap_or_default();
        Counters {
            interrupts: self.grown(&self.interrupts, interrupts),
            softirqs: self.grown(&self.softirqs, softirqs),
            stolen: self.stolen(&proc_counters::stolen().unwrap_or_default()),
            processes: self.processes(&process_times().collect(), processes),
            threads: self.threads.into_iter().filter_map(thread_row).collect(),
        }
    }

    fn grown(&self, before: &ByCpu, now: ByCpu) -> Vec<Count> {
        let grown = |((name, cpu), count): ((String, u16), u64)| {
            let key = (name, cpu);
            let count = count.saturating_sub(before.get(&key).copied().unwrap_or(0));
            let watched = self.cpus.contains(&cpu) && count > 0;
            watched.then_some(Count {
                name: key.0,
                cpu,
                count,
            })
        };
        now.into_iter().filter_map(grown).collect()
    }

    /// What processes ran since, the first of them most. One that has ended is a part of its parent.
    fn processes(&self, now: &BTreeMap<u32, ProcessTime>, measuring: &[u32]) -> Vec<CpuUse> {
        let ran_before = self.ran_before_they_ended(now);
        let nothing = ProcessTime::default();
        let ran = now.iter().filter_map(|(&pid, now)| {
            let before = self.processes.get(&pid).unwrap_or(&nothing);
            let of_children_before = ran_before.get(&pid).copied().unwrap_or(0);
            let children = now.children - before.children - of_children_before;
            let ran = now.ran - before.ran + children.max(0);
            let row = |who| CpuUse {
                who,
                pid,
                ran,
                waited: waited(before, now),
                measures: measuring.contains(&pid),
            };
            (ran >= LEAST_RAN).then(|| proc_counters::thread_name(pid, pid).map(row))?
        });
        let mut ran: Vec<CpuUse> = ran.collect();
        ran.sort_by_key(|row| (std::cmp::Reverse(row.ran), row.pid));
        keep_most(&mut ran);
        ran
    }

    /// What processes that have ended since ran before, by the nearest above them that lives: it has the whole of it now.
    fn ran_before_they_ended(&self, now: &BTreeMap<u32, ProcessTime>) -> BTreeMap<u32, Nanos> {
        let mut ran = BTreeMap::new();
        let ended = self.processes.iter();
        for (_, time) in ended.filter(|(pid, _)| !now.contains_key(pid)) {
            let above = |pid: &u32| {
                let ended = !now.contains_key(pid);
                ended.then(|| self.processes.get(pid).map(|time| time.parent))?
            };
            let heirs = std::iter::successors(Some(time.parent), above);
            if let Some(heir) = heirs.take(MOST_ABOVE).last() {
                *ran.entry(heir).or_default() += time.ran + time.children;
            }
        }
        ran
    }

    fn stolen(&self, now: &BTreeMap<u16, Nanos>) -> Vec<Stolen> {
        let grown = |&cpu: &u16| {
            let length = now.get(&cpu)? - self.stolen.get(&cpu)?;
            (length > 0).then_some(Stolen { cpu, length })
        };
        self.cpus.iter().filter_map(grown).collect()
    }
}

/// Leaves the processes that ran most, and those that measure.
fn keep_most(ran: &mut Vec<CpuUse>) {
    let mut others = 0;
    ran.retain(|row| {
        others += usize::from(!row.measures);
        row.measures || others <= MOST_PROCESSES
    });
}

fn process_times() -> impl Iterator<Item = (u32, ProcessTime)> {
    let processes = proc_counters::processes().into_iter();
    processes.filter_map(|process| Some((process, proc_counters::process_time(process)?)))
}

/// How long threads that live waited for a CPU since.
fn waited(before: &ProcessTime, now: &ProcessTime) -> Nanos {
    let before = |thread: &u32| before.waited.get(thread).copied().unwrap_or(0);
    let waited = now.waited.iter();
    let since = waited.map(|(thread, now)| now.saturating_sub(before(thread)).max(0));
    since.sum()
}

/// `None` for a thread that did not run.
fn thread_row((id, thread): (u32, Thread)) -> Option<ThreadRow> {
    let ran = thread.last.ran - thread.first.ran;
    (ran > 0).then_some(ThreadRow {
        id,
        name: thread.name,
        ran,
        waited: thread.last.waited - thread.first.waited,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_kernel::process;
    use delaylab_model::SECOND;

    fn by_cpu(rows: &[(&str, u16, u64)]) -> ByCpu {
        let row = |&(name, cpu, count): &(&str, u16, u64)| ((name.to_owned(), cpu), count);
        rows.iter().map(row).collect()
    }

    #[test]
    fn only_what_grew_on_a_watched_cpu_is_said() {
        let before = Before {
            cpus: vec![1],
            stolen: BTreeMap::from([(1, 10), (2, 5)]),
            ..Before::default()
        };
        let earlier = by_cpu(&[("eth0", 1, 5), ("disk", 1, 7)]);
        let now = by_cpu(&[
            ("eth0", 1, 9),
            ("eth0", 2, 9),
            ("disk", 1, 7),
            ("new", 1, 1),
        ]);
        let counts = before.grown(&earlier, now);
        let named: Vec<_> = counts
            .iter()
            .map(|row| (row.name.as_str(), row.count))
            .collect();
        assert_eq!(named, [("eth0", 4), ("new", 1)]);
        let stolen = before.stolen(&BTreeMap::from([(1, 30), (2, 9)]));
        assert_eq!(stolen, [Stolen { cpu: 1, length: 20 }]);
    }

    /// Their time is in ticks, and of short ones there is no other trace.
    #[test]
    fn what_has_ended_is_its_parents() {
        let time = |parent, ran, children| ProcessTime {
            parent,
            ran,
            children,
            waited: BTreeMap::new(),
        };
        let me = std::process::id();
        // A compiler below a shell that both ended ran for 70 s before the trial, and other compilers for 5 s in it.
        let before = Before {
            processes: BTreeMap::from([
                (me, time(1, SECOND, 0)),
                (7_000_001, time(me, SECOND, 9 * SECOND)),
                (7_000_002, time(7_000_001, 60 * SECOND, 0)),
            ]),
            ..Before::default()
        };
        let now = BTreeMap::from([(me, time(1, 3 * SECOND, 75 * SECOND))]);
        let [row] = &before.processes(&now, &[])[..] else {
            panic!("one process is left");
        };
        assert_eq!((row.pid, row.ran), (me, 7 * SECOND));
    }

    #[test]
    fn threads_that_ended_hide_no_wait_of_the_others() {
        let waits = |threads: &[(u32, Nanos)]| ProcessTime {
            waited: threads.iter().copied().collect(),
            ..ProcessTime::default()
        };
        let (before, now) = (waits(&[(1, 50), (2, 7)]), waits(&[(2, 9), (3, 4)]));
        assert_eq!(waited(&before, &now), 6);
    }

    #[test]
    fn a_process_that_ran_is_there_with_its_name() {
        let me = std::process::id();
        let before = Before::read(&Cpus::from([0]), &[me]);
        // Of its own time: of any other a busy machine may give it none.
        let end = delaylab_kernel::clock::thread_cpu_time() + 20 * MILLISECOND;
        while delaylab_kernel::clock::thread_cpu_time() < end {}
        let counters = before.until_now(&[me]);
        let mine = counters.processes.iter().find(|row| row.pid == me).unwrap();
        assert!(mine.measures && mine.ran >= LEAST_RAN, "{mine:?}");
        let others = counters.processes.iter().filter(|row| !row.measures);
        assert!(others.count() <= MOST_PROCESSES);
    }

    #[test]
    fn a_thread_that_ran_is_there_with_its_name() {
        let me = [std::process::id()];
        let before = Before::read(&Cpus::from([0]), &me);
        let worker = std::thread::Builder::new().name("worker".into());
        let worker = worker
            .spawn(|| {
                // Time is counted when a thread leaves its CPU.
                std::thread::sleep(std::time::Duration::from_millis(1));
                let id = process::thread_id();
                (id, proc_counters::thread_time(std::process::id(), id))
            })
            .unwrap();
        let (id, time) = worker.join().unwrap();
        let mut seen = before;
        if let Some(time) = time {
            seen.saw(me[0], id, time);
            let row = seen
                .until_now(&me)
                .threads
                .into_iter()
                .find(|row| row.id == id);
            assert_eq!(row.unwrap().ran, time.ran);
        }
    }
}
