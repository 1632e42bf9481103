//! What the kernel counts for everybody: interrupts and softirqs by CPU, time stolen by the
//! hypervisor, how long threads waited for a CPU (proc(5)).
//!
//! These say that something was there, not when. They need no privilege.

use crate::clock;
use crate::process::{stat_field, tick};
use delaylab_model::Nanos;
use std::collections::BTreeMap;
use std::fs;
use std::io;

/// Counts by what they count and by CPU.
pub type ByCpu = BTreeMap<(String, u16), u64>;

/// Interrupts since boot, by the name of who handles them.
pub fn interrupts() -> io::Result<ByCpu> {
    Ok(table(&fs::read_to_string("/proc/interrupts")?))
}

/// Softirqs since boot, by the kernel's name.
pub fn softirqs() -> io::Result<ByCpu> {
    Ok(table(&fs::read_to_string("/proc/softirqs")?))
}

/// Time since boot in which a CPU had work and the hypervisor ran something else.
pub fn stolen() -> io::Result<BTreeMap<u16, Nanos>> {
    let tick = tick();
    Ok(stolen_ticks(&fs::read_to_string("/proc/stat")?)
        .map(|(cpu, ticks)| (cpu, ticks.saturating_mul(tick)))
        .collect())
}

/// A thread's time since it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ThreadTime {
    /// On a CPU.
    pub ran: Nanos,
    /// Ready to run, and waiting for a CPU.
    pub waited: Nanos,
}

/// A thread's time. `None` where it is gone, or the kernel keeps no such figures.
pub fn thread_time(process: u32, thread: u32) -> Option<ThreadTime> {
    let path = format!("/proc/{process}/task/{thread}/schedstat");
    schedstat(&fs::read_to_string(path).ok()?)
}

/// Every process that this one may see.
pub fn processes() -> Vec<u32> {
    numbers_in("/proc")
}

/// The numbers among the names in a folder.
fn numbers_in(folder: &str) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

/// A process's time since it started.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProcessTime {
    /// The process that it is a child of.
    pub parent: u32,
    /// On a CPU, threads that have ended with it.
    pub ran: Nanos,
    /// The same of its children that have ended and were waited for, and of theirs; in ticks of the kernel.
    pub children: Nanos,
    /// Ready to run, and waiting for a CPU, by thread: those that live.
    pub waited: BTreeMap<u32, Nanos>,
}

/// A process's time. `None` where it is gone.
pub fn process_time(process: u32) -> Option<ProcessTime> {
    let (parent, children) =
        parent_and_children(&fs::read_to_string(format!("/proc/{process}/stat")).ok()?)?;
    let waited = |thread| Some((thread, thread_time(process, thread)?.waited));
    Some(ProcessTime {
        parent,
        ran: clock::process_cpu_time(process)?,
        children: children.saturating_mul(tick()),
        waited: threads(process).into_iter().filter_map(waited).collect(),
    })
}

/// The parent, and the ticks of its children that were waited for, in user mode and in the kernel.
fn parent_and_children(stat: &str) -> Option<(u32, Nanos)> {
    let children = stat_field::<Nanos>(stat, 16)? + stat_field::<Nanos>(stat, 17)?;
    Some((stat_field(stat, 4)?, children))
}

/// A process's threads. Empty where it is gone.
pub fn threads(process: u32) -> Vec<u32> {
    numbers_in(&format!("/proc/{process}/task"))
}

/// A thread's name. `None` where it is gone.
pub fn thread_name(process: u32, thread: u32) -> Option<String> {
    let name = fs::read_to_string(format!("/proc/{process}/task/{thread}/comm")).ok()?;
    Some(name.trim_end().to_owned())
}

/// A first line that names the CPUs, then a line for each counter: its label, a number for each
/// CPU, and in `/proc/interrupts` a description. Lines that count for no CPU are left out.
fn table(text: &str) -> ByCpu {
    let mut lines = text.lines();
    let heads = lines.next().unwrap_or("").split_whitespace();
    let cpus: Vec<u16> = heads
        .filter_map(|head| head.strip_prefix("CPU")?.parse().ok())
        .collect();
    let mut counts = ByCpu::new();
    for (name, numbers) in lines.filter_map(|line| row(line, cpus.len())) {
        for (&cpu, number) in cpus.iter().zip(numbers) {
            // Several interrupts can have one name.
            *counts.entry((name.clone(), cpu)).or_default() += number;
        }
    }
    counts
}

fn row(line: &str, cpus: usize) -> Option<(String, Vec<u64>)> {
    let (label, rest) = line.split_once(':')?;
    let numbers: Option<Vec<u64>> = rest
        .split_whitespace()
        .take(cpus)
        .map(|number| number.parse().ok())
        .collect();
    let numbers = numbers.filter(|numbers| numbers.len() == cpus)?;
    Some((row_name(label.trim(), rest), numbers))
}

/// Who handles a numbered interrupt stands last; the others' labels are followed by their meaning.
fn row_name(label: &str, rest: &str) -> String {
    let numbered = label.bytes().all(|byte| byte.is_ascii_digit());
    let described = rest.trim_start_matches(|c: char| c.is_whitespace() || c.is_ascii_digit());
    let name = if numbered {
        described.rsplit("  ").next().unwrap_or("").trim()
    } else {
        described.trim()
    };
    if name.is_empty() { label } else { name }.to_owned()
}

/// The eighth figure of the lines `cpuN`.
fn stolen_ticks(text: &str) -> impl Iterator<Item = (u16, Nanos)> {
    text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let cpu = words.next()?.strip_prefix("cpu")?.parse().ok()?;
        Some((cpu, words.nth(7)?.parse().ok()?))
    })
}

fn schedstat(text: &str) -> Option<ThreadTime> {
    let mut numbers = text.split_whitespace().map(|number| number.parse().ok());
    Some(ThreadTime {
        ran: numbers.next()??,
        waited: numbers.next()??,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const INTERRUPTS: &str = "           CPU0       CPU3       \n\
         26:          0         15  IO-APIC   4-edge      ttyS0\n\
         42:          7      15336 PCI-MSIX-0000:00:04.0   2-edge      virtio3-tx\n\
         43:          1          2 PCI-MSIX-0000:00:04.0   3-edge      virtio3-tx\n\
        LOC:    5530372    9181877   Local timer interrupts\n\
        ERR:          0\n";

    #[test]
    fn interrupts_by_name_and_cpu() {
        let counts = table(INTERRUPTS);
        let count = |name: &str, cpu| counts.get(&(name.to_owned(), cpu)).copied();
        assert_eq!(count("ttyS0", 3), Some(15));
        assert_eq!(count("virtio3-tx", 0), Some(8));
        assert_eq!(count("virtio3-tx", 3), Some(15_338));
        assert_eq!(count("Local timer interrupts", 0), Some(5_530_372));
        assert_eq!(counts.len(), 6);
    }

    #[test]
    fn softirqs_have_no_description() {
        let counts = table(
            "                    CPU0       CPU1       \n      NET_TX:       5043       4080\n",
        );
        assert_eq!(counts[&("NET_TX".to_owned(), 1)], 4080);
        assert!(table("").is_empty());
    }

    #[test]
    fn stolen_time_is_each_cpus() {
        let text = "cpu  9 0 3 1 8 0 3 35 0 0\ncpu0 4 0 1 7 2 0 1 17 0 0\ncpu1 1 2\nintr 5\n";
        assert_eq!(stolen_ticks(text).collect::<Vec<_>>(), [(0, 17)]);
    }

    #[test]
    fn a_process_has_the_time_of_its_children() {
        let stat = "7 (a) b) (c)) S 3 7 7 0 -1 0 0 0 0 0 11 12 13 14 20 0 1 0 4242 1000 10";
        assert_eq!(parent_and_children(stat), Some((3, 27)));
        assert_eq!(parent_and_children("7 (a) S 3 7"), None);
    }

    #[test]
    fn a_process_has_the_time_of_threads_that_ended() {
        let me = std::process::id();
        let (before, ran) = (process_time(me).unwrap(), 5_000_000);
        let worker = std::thread::spawn(move || while clock::thread_cpu_time() < ran {});
        worker.join().unwrap();
        let now = process_time(me).unwrap();
        assert!(now.ran >= before.ran + ran, "{before:?} {now:?}");
        assert_eq!(now.parent, std::os::unix::process::parent_id());
        assert_eq!(process_time(u32::MAX), None);
    }

    #[test]
    fn this_thread_has_run() {
        let (process, thread) = (std::process::id(), crate::process::thread_id());
        // Counted when a thread leaves its CPU.
        std::thread::sleep(std::time::Duration::from_millis(1));
        assert!(threads(process).contains(&thread));
        assert!(thread_time(process, thread).is_none_or(|time| time.ran > 0));
        assert!(thread_name(process, thread).is_some());
        assert_eq!(schedstat("5 7 9\n"), Some(ThreadTime { ran: 5, waited: 7 }));
        assert_eq!(schedstat("5"), None);
        assert!(!interrupts().unwrap().is_empty() && !softirqs().unwrap().is_empty());
        assert!(stolen().unwrap().len() <= usize::from(u16::MAX));
    }
}
