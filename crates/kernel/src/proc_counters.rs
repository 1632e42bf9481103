//! What the kernel counts for everybody: interrupts and softirqs by CPU, time stolen by the
//! hypervisor, how long threads waited for a CPU (proc(5)).
//!
//! These say that something was there, not when. They need no privilege.

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
    // SAFETY: takes an integer and only reads.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    let tick = delaylab_model::SECOND / ticks.max(1);
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
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let names = entries.flatten().map(|entry| entry.file_name());
    names
        .filter_map(|name| name.to_str()?.parse().ok())
        .collect()
}

/// A process's time: that of its threads together.
pub fn process_time(process: u32) -> ThreadTime {
    let times = threads(process).into_iter();
    let times = times.filter_map(|thread| thread_time(process, thread));
    times.fold(ThreadTime::default(), |sum, time| ThreadTime {
        ran: sum.ran + time.ran,
        waited: sum.waited + time.waited,
    })
}

/// A process's threads. Empty where it is gone.
pub fn threads(process: u32) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(format!("/proc/{process}/task")) else {
        return Vec::new();
    };
    let names = entries.flatten().map(|entry| entry.file_name());
    names
        .filter_map(|name| name.to_str()?.parse().ok())
        .collect()
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
