//! What this host is: kernel, CPU, clocks, and what it offers.
//!
//! Everything here is read cheaply from files and one system call; nothing is tried out.

use crate::cpu_list;
use delaylab_model::Nanos;
use schemars::JsonSchema;
use serde::Serialize;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::Path;

/// Facts about this host. What cannot be read is null.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HostInfo {
    /// Kernel release, as `uname -r` prints it.
    pub kernel: Option<String>,
    /// Model of the first CPU.
    pub cpu_model: Option<String>,
    /// CPUs that are online.
    pub cpus: Option<usize>,
    /// Does a hypervisor run this host?
    pub virtualised: bool,
    /// What `CLOCK_MONOTONIC` is made of.
    pub clock_source: Option<String>,
    /// What else it could be made of.
    pub clock_sources: Vec<String>,
    /// How real time is kept.
    pub synchronisation: Option<Synchronisation>,
    /// Group ids that may use datagram ICMP sockets: first and last.
    pub ping_group_range: Option<(u32, u32)>,
    /// Can the scheduler's events be traced?
    pub tracefs: Availability,
    /// Can the kernel add delay to a link of a testbed?
    pub netem: Availability,
    /// PTP hardware clocks: those of NICs stamp packets.
    pub ptp_clocks: Vec<String>,
}

impl HostInfo {
    /// Looks at this host.
    pub fn read() -> Self {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        Self {
            kernel: kernel(),
            cpu_model: cpu_model(),
            cpus: online_cpus(),
            virtualised: is_virtualised(&cpuinfo),
            clock_source: clock_source(),
            clock_sources: words(&clock_sources("available")),
            synchronisation: Synchronisation::read().ok(),
            ping_group_range: ping_group_range(),
            tracefs: tracefs(),
            netem: netem(),
            ptp_clocks: ptp_clocks(),
        }
    }
}

/// Kernel release, as `uname -r` prints it.
pub fn kernel() -> Option<String> {
    line("/proc/sys/kernel/osrelease")
}

/// Model of the first CPU. The rest of the file, which is long where there are many, is not read.
pub fn cpu_model() -> Option<String> {
    let cpuinfo = BufReader::new(File::open("/proc/cpuinfo").ok()?);
    let mut lines = cpuinfo.lines().map_while(Result::ok);
    lines.find_map(|line| cpuinfo_value(&line, "model name"))
}

/// CPUs that are online.
pub fn online_cpus() -> Option<usize> {
    Some(cpu_list::parse(&line("/sys/devices/system/cpu/online")?)?.len())
}

/// What `CLOCK_MONOTONIC` is made of.
pub fn clock_source() -> Option<String> {
    line(&clock_sources("current"))
}

/// Whether the kernel offers something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Availability {
    /// It is there.
    Yes,
    /// It is not there, or not for this user.
    No,
    /// Cheap reading does not tell.
    Unknown,
}

/// How the host's real time is kept, as its NTP or PTP daemon has it in the kernel (adjtimex(2)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Synchronisation {
    /// Does a daemon say that real time is synchronised?
    pub synchronised: bool,
    /// Bound of the error that it claims; it grows by 500 ppm since its last word.
    #[serde(rename = "max_error_ns")]
    pub max_error: Nanos,
}

impl Synchronisation {
    /// Asks the kernel.
    pub fn read() -> io::Result<Self> {
        // SAFETY: a timex is integers, for which all zeros is a value; with no mode set the call
        // only fills it in.
        let (state, timex) = unsafe {
            let mut timex: libc::timex = std::mem::zeroed();
            (libc::adjtimex(&mut timex), timex)
        };
        let state = crate::socket_options::check(state)?;
        let claimed = timex.status & libc::STA_UNSYNC == 0;
        Ok(Self {
            synchronised: claimed && state != libc::TIME_ERROR,
            max_error: Nanos::from(timex.maxerror) * 1_000,
        })
    }
}

/// Names this host's `CLOCK_MONOTONIC`: a hash of the boot and the time namespace.
///
/// Two processes with different values have different clocks. With the same value they have the
/// same one, but for virtual machines that were cloned from one running image, which share the
/// boot's name: check that stamps of both are in order as well. `None` where it cannot be read.
pub fn clock_id() -> Option<u64> {
    let boot = line("/proc/sys/kernel/random/boot_id")?;
    // Without time namespaces there is only one.
    let namespace = fs::read_link("/proc/self/ns/time").unwrap_or_default();
    Some(fnv1a(format!("{boot} {}", namespace.display()).as_bytes()))
}

/// FNV-1a, 64 bits: the same on every host and in every version.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// May this process use datagram ICMP sockets: is one of its groups in the range?
pub fn in_ping_group_range() -> bool {
    let Some((first, last)) = ping_group_range() else {
        return false;
    };
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    groups(&status).any(|group| (first..=last).contains(&group))
}

/// Effective and supplementary groups in the text of `/proc/self/status`.
fn groups(status: &str) -> impl Iterator<Item = u32> {
    let values = |name: &'static str| {
        status
            .lines()
            .find_map(move |line| line.strip_prefix(name))
            .unwrap_or("")
    };
    let effective = values("Gid:").split_whitespace().nth(1);
    effective
        .into_iter()
        .chain(values("Groups:").split_whitespace())
        .filter_map(|group| group.parse().ok())
}

fn ping_group_range() -> Option<(u32, u32)> {
    range(&line("/proc/sys/net/ipv4/ping_group_range")?)
}

/// The kernel's default, `1 0`, is no group at all.
fn range(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split_whitespace().map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

/// The first port that needs no privilege.
pub fn first_unprivileged_port() -> u16 {
    let start = line("/proc/sys/net/ipv4/ip_unprivileged_port_start");
    start.and_then(|port| port.parse().ok()).unwrap_or(1024)
}

/// Out of each period, how long real-time threads may run: (runtime, period) in nanoseconds.
/// `None` where they are not limited.
pub fn realtime_limit() -> Option<(Nanos, Nanos)> {
    let micros = |name| {
        line(&format!("/proc/sys/kernel/sched_rt_{name}_us"))?
            .parse::<Nanos>()
            .ok()
    };
    let (runtime, period) = (micros("runtime")?, micros("period")?);
    (0..period)
        .contains(&runtime)
        .then_some((runtime * 1_000, period * 1_000))
}

fn clock_sources(which: &str) -> String {
    format!("/sys/devices/system/clocksource/clocksource0/{which}_clocksource")
}

fn cpuinfo_value(cpuinfo: &str, name: &str) -> Option<String> {
    let (_, value) = cpuinfo
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| key.trim() == name)?;
    Some(value.trim().to_owned())
}

fn is_virtualised(cpuinfo: &str) -> bool {
    let flags = cpuinfo_value(cpuinfo, "flags").unwrap_or_default();
    flags.split_whitespace().any(|flag| flag == "hypervisor")
        || Path::new("/sys/hypervisor/type").exists()
}

fn tracefs() -> Availability {
    let offered = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"]
        .iter()
        .any(|dir| fs::metadata(format!("{dir}/instances")).is_ok());
    if offered {
        Availability::Yes
    } else {
        Availability::No
    }
}

/// Loaded, built in, or among the modules on disk; without those, nobody knows before it is tried.
fn netem() -> Availability {
    let release = kernel().unwrap_or_default();
    let names = |file: &str| fs::read_to_string(format!("/lib/modules/{release}/{file}"));
    let loaded = fs::read_to_string("/proc/modules").unwrap_or_default();
    let on_disk = [names("modules.builtin"), names("modules.dep")];
    if loaded.contains("sch_netem")
        || on_disk
            .iter()
            .flatten()
            .any(|text| text.contains("sch_netem"))
    {
        Availability::Yes
    } else if on_disk.iter().all(Result::is_ok) {
        Availability::No
    } else {
        Availability::Unknown
    }
}

fn ptp_clocks() -> Vec<String> {
    let Ok(entries) = fs::read_dir("/sys/class/ptp") else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .flatten()
        .filter_map(|entry| line(&entry.path().join("clock_name").to_string_lossy()))
        .collect();
    names.sort();
    names
}

fn line(path: &str) -> Option<String> {
    fs::read_to_string(path)
        .ok()
        .map(|text| text.trim().to_owned())
}

fn words(path: &str) -> Vec<String> {
    line(path)
        .unwrap_or_default()
        .split_whitespace()
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn this_host_says_what_it_is() {
        let host = HostInfo::read();
        assert!(host.kernel.is_some_and(|release| release.contains('.')));
        assert!(host.cpus.is_some_and(|cpus| cpus > 0));
        assert_eq!(host.cpu_model, cpu_model_of_all());
        assert!(host.clock_sources.contains(&host.clock_source.unwrap()));
        assert!(host.synchronisation.unwrap().max_error >= 0);
    }

    fn cpu_model_of_all() -> Option<String> {
        cpuinfo_value(&fs::read_to_string("/proc/cpuinfo").unwrap(), "model name")
    }

    #[test]
    fn the_clock_has_one_name_on_one_boot() {
        assert_eq!(clock_id().unwrap(), clock_id().unwrap());
        let other = std::thread::spawn(|| clock_id().unwrap()).join().unwrap();
        assert_eq!(clock_id().unwrap(), other);
    }

    #[test]
    fn fnv1a_as_published() {
        // Test vectors of draft-eastlake-fnv, appendix C.
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn groups_are_the_effective_and_the_supplementary() {
        let status = "Name:\tx\nGid:\t1\t2\t3\t4\nGroups:\t5 6 \n";
        assert_eq!(groups(status).collect::<Vec<_>>(), [2, 5, 6]);
        assert_eq!(range("1\t0"), Some((1, 0)));
        assert_eq!(range("1"), None);
    }

    #[test]
    fn the_first_cpu_names_the_model() {
        let cpuinfo =
            "processor\t: 0\nmodel name\t: A\nflags\t\t: fpu hypervisor\n\nmodel name\t: B\n";
        assert_eq!(cpuinfo_value(cpuinfo, "model name").unwrap(), "A");
        assert!(is_virtualised(cpuinfo));
    }
}
