//! What the doctor's figures mean: what works, what does not, what that costs, what to do.
//!
//! Decides only: everything that it reads is in the checkup.

use super::{Checkup, MethodStamps, Setting, Spread};
use delaylab_model::Nanos;
use delaylab_model::trial::{Delivery, StampPoint};
use delaylab_model::units::{format_duration as time, format_share};
use schemars::JsonSchema;
use serde::Serialize;

/// What a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Area {
    /// Probes and the stamps that they bring.
    Stamps,
    /// Clocks.
    Clock,
    /// How undisturbed this host is.
    Noise,
    /// What `--condition quiet` can do.
    Quiet,
    /// What the reflector can do.
    Reflector,
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindingState {
    /// Nothing to do.
    Ok,
    /// It works, with less.
    Degraded,
    /// It is not there.
    Missing,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// What it is about.
    pub area: Area,
    /// Its name.
    pub name: String,
    /// How bad it is.
    pub state: FindingState,
    /// What was seen.
    pub seen: String,
    /// What it costs the user; null where nothing.
    pub cost: Option<String>,
    /// What the user can do; null where nothing.
    pub remedy: Option<String>,
}

impl Finding {
    fn ok(area: Area, name: impl Into<String>, seen: impl Into<String>) -> Self {
        let (name, seen) = (name.into(), seen.into());
        Self {
            area,
            name,
            state: FindingState::Ok,
            seen,
            cost: None,
            remedy: None,
        }
    }

    fn degraded(self, cost: impl Into<String>) -> Self {
        Self {
            state: FindingState::Degraded,
            cost: Some(cost.into()),
            ..self
        }
    }

    fn missing(self, cost: impl Into<String>) -> Self {
        Self {
            state: FindingState::Missing,
            ..self.degraded(cost)
        }
    }

    fn remedy(self, remedy: impl Into<String>) -> Self {
        Self {
            remedy: Some(remedy.into()),
            ..self
        }
    }

    fn maybe_remedy(self, remedy: Option<String>) -> Self {
        Self { remedy, ..self }
    }
}

/// Every finding, by area.
pub fn find(checkup: &Checkup) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(checkup.stamps.iter().map(stamps));
    findings.extend([icmp(checkup), nic_stamps(checkup)]);
    findings.extend([clock_source(checkup), synchronisation(checkup)]);
    findings.extend([
        cpus(checkup),
        gaps(checkup),
        wake_up(checkup),
        hypervisor(checkup),
    ]);
    findings.extend([
        fifo(checkup),
        memory(checkup),
        idle_states(checkup),
        cpuset(checkup),
    ]);
    findings.extend(leftovers(checkup));
    findings.push(stamp_port(checkup));
    findings
}

/// The kernel's stamps on the prober's side, which every method can have.
const SOFTWARE: [StampPoint; 3] = [StampPoint::TSched, StampPoint::TTx, StampPoint::TRx];

fn stamps(row: &MethodStamps) -> Finding {
    let name = format!("{} over {}", row.method, row.family);
    let delivered = match &row.result {
        Ok(delivered) => delivered,
        Err(reason) => {
            let cost = format!("no {} probes over {}", row.method, row.family);
            return Finding::ok(Area::Stamps, name, reason).missing(cost);
        }
    };
    let lacks = |point: &StampPoint| !delivered.contains(&(*point, Delivery::Delivered));
    let missing: Vec<StampPoint> = SOFTWARE.into_iter().filter(lacks).collect();
    if missing.is_empty() {
        return Finding::ok(Area::Stamps, name, "every kernel stamp is delivered");
    }
    let names: Vec<&str> = missing.iter().map(|point| point.name()).collect();
    let seen = format!("not delivered: {}", names.join(", "));
    let finding = Finding::ok(Area::Stamps, name, seen);
    if missing == [StampPoint::TSched] {
        finding.degraded("send stack and local queue are one stage")
    } else {
        finding.missing("host and network cannot be separated")
    }
}

fn icmp(checkup: &Checkup) -> Finding {
    let access = &checkup.access;
    let finding = |seen: &str| Finding::ok(Area::Stamps, "icmp sockets", seen);
    match (access.icmp_datagram, access.icmp_raw) {
        (true, _) => finding("datagram, without privilege"),
        (false, true) => finding("raw, by CAP_NET_RAW"),
        (false, false) => finding("neither ping_group_range nor CAP_NET_RAW allows them")
            .missing("no icmp probes")
            .remedy("sudo sysctl net.ipv4.ping_group_range=\"0 2147483647\""),
    }
}

fn nic_stamps(checkup: &Checkup) -> Finding {
    let finding = |seen: String| Finding::ok(Area::Stamps, "NIC stamps", seen);
    let cost = "network includes driver and interrupt delay";
    let clocks = &checkup.host.ptp_clocks;
    if clocks.is_empty() {
        return finding("no PTP hardware clock on this host".into()).degraded(cost);
    }
    let finding = finding(format!("PTP clocks: {}", clocks.join(", ")));
    match checkup.access.nic_stamping {
        true => finding,
        false => finding
            .degraded(cost)
            .maybe_remedy(checkup.access.setcap.clone()),
    }
}

fn clock_source(checkup: &Checkup) -> Finding {
    let read = checkup.clock.read;
    let source = checkup
        .host
        .clock_source
        .as_deref()
        .unwrap_or("unknown clock source");
    let seen = format!(
        "{source}: a read takes {} at the median, {} at p99",
        time(read.p50),
        time(read.p99)
    );
    let finding = Finding::ok(Area::Clock, "clock reads", seen);
    if checkup.clock.negative_steps > 0 {
        let cost = format!(
            "the clock stepped back {} times: no figure is to be trusted",
            checkup.clock.negative_steps
        );
        finding.missing(cost)
    } else if read.p50 > SLOW_READ {
        let cost = format!("each stamp of a probe's own costs {}", time(read.p50));
        finding.degraded(cost).maybe_remedy(faster_source(checkup))
    } else {
        finding
    }
}

/// A read without a system call takes some 20 ns; with one, or to a device, far more than this.
const SLOW_READ: Nanos = 150;

fn faster_source(checkup: &Checkup) -> Option<String> {
    let host = &checkup.host;
    let offered = host.clock_sources.iter().any(|source| source == "tsc");
    (offered && host.clock_source.as_deref() != Some("tsc")).then(|| {
        "try tsc, and run the doctor again: \
         echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource"
            .to_owned()
    })
}

fn synchronisation(checkup: &Checkup) -> Finding {
    let finding = |seen: String| Finding::ok(Area::Clock, "real time", seen);
    match checkup.host.synchronisation {
        Some(state) if state.synchronised => finding(format!(
            "synchronised, off by at most {}",
            time(state.max_error)
        )),
        Some(_) => not_synchronised(finding("no daemon says that it is synchronised".into())),
        None => not_synchronised(finding("the kernel does not say".into())),
    }
}

fn not_synchronised(finding: Finding) -> Finding {
    finding
        .degraded("no one-way delay to other hosts, only its variation")
        .remedy("run chrony or another NTP or PTP daemon")
}

fn cpus(checkup: &Checkup) -> Finding {
    let Some(count) = checkup.host.cpus else {
        return Finding::ok(Area::Noise, "CPUs", "the kernel does not say how many");
    };
    let finding = Finding::ok(Area::Noise, "CPUs", count.to_string());
    if count > 1 {
        finding
    } else {
        finding.degraded("the prober shares its CPU with everything else")
    }
}

fn gaps(checkup: &Checkup) -> Finding {
    let share = |total: Nanos, length: Nanos| total as f64 / length.max(1) as f64;
    let worst = checkup
        .noise
        .iter()
        .max_by(|a, b| share(a.total, a.length).total_cmp(&share(b.total, b.length)));
    let Some(floor) = worst else {
        return Finding::ok(Area::Noise, "noise floor", "not measured");
    };
    let lost = share(floor.total, floor.length);
    let largest = floor.gaps.map_or(0, |gaps| gaps.max);
    let seen = format!(
        "CPU {}: {} of the time taken away, at most {} at once",
        floor.cpu,
        format_share(lost),
        time(largest)
    );
    let finding = Finding::ok(Area::Noise, "noise floor", seen);
    if lost < NOISY {
        return finding;
    }
    let cost = format!(
        "about one packet in {:.0} meets a gap; its delay is the host's",
        (1.0 / lost).max(1.0)
    );
    finding
        .degraded(cost)
        .remedy("stop other programs, and run the doctor again")
}

/// A share of a CPU's time. Below it a gap moves no quantile up to p99.
const NOISY: f64 = 0.01;

/// The prober sleeps with a timer slack of 1 ns in every host condition; `quiet` adds SCHED_FIFO.
fn wake_up(checkup: &Checkup) -> Finding {
    let row = |setting| {
        checkup
            .wakeups
            .iter()
            .find(|row| row.setting == setting)?
            .lateness
    };
    let Some(sleep) = row(Setting::FineSlack) else {
        return Finding::ok(Area::Noise, "wake-up", "not measured");
    };
    let late = |spread: Spread| {
        format!(
            "{} late at the median, {} at p99",
            time(spread.p50),
            time(spread.p99)
        )
    };
    let seen = format!("a prober's sleep (timer slack 1 ns) ends {}", late(sleep));
    let finding = Finding::ok(Area::Noise, "wake-up", seen);
    match row(Setting::Fifo).filter(|_| checkup.best_setting == Setting::Fifo) {
        Some(fifo) => finding
            .degraded("a prober that sleeps is late by this, and reads replies late by it")
            .remedy(format!(
                "`--condition quiet`: SCHED_FIFO measured better here, {}",
                late(fifo)
            )),
        None => finding,
    }
}

fn hypervisor(checkup: &Checkup) -> Finding {
    if checkup.host.virtualised {
        Finding::ok(Area::Noise, "hardware", "virtual machine")
            .degraded("the hypervisor can take a CPU away where no stamp shows it")
    } else {
        Finding::ok(Area::Noise, "hardware", "no hypervisor seen")
    }
}

fn fifo(checkup: &Checkup) -> Finding {
    let finding = |seen: &str| Finding::ok(Area::Quiet, "SCHED_FIFO", seen);
    match (checkup.access.fifo, checkup.best_setting) {
        (true, Setting::Fifo) => finding("allowed"),
        (true, _) => finding("allowed; measured no better here for a prober that sleeps"),
        (false, _) => finding("not allowed")
            .missing("other programs can delay the prober")
            .maybe_remedy(checkup.access.setcap.clone()),
    }
}

fn memory(checkup: &Checkup) -> Finding {
    if checkup.access.lock_memory {
        Finding::ok(Area::Quiet, "memory lock", "allowed")
    } else {
        Finding::ok(Area::Quiet, "memory lock", "limited")
            .missing("a page fault can delay the prober")
            .remedy("ulimit -l unlimited, where the hard limit allows it; or run as root")
    }
}

fn idle_states(checkup: &Checkup) -> Finding {
    let finding = |seen: &str| Finding::ok(Area::Quiet, "idle states", seen);
    match checkup.access.cpu_dma_latency {
        true => finding("can be held off"),
        false => finding("/dev/cpu_dma_latency cannot be opened")
            .missing("a CPU that sleeps deeply wakes late, and seems to be the network")
            .remedy("run as root, or give your group write access to /dev/cpu_dma_latency"),
    }
}

fn cpuset(checkup: &Checkup) -> Finding {
    let finding = |seen: &str| Finding::ok(Area::Quiet, "own cpuset", seen);
    match checkup.access.cpuset {
        Some(2) => finding("a partition can be made (cgroup v2)"),
        Some(_) => finding("exclusive among cpusets only (cgroup v1)")
            .degraded("programs outside of any cpuset may still run on the prober's CPU"),
        None => finding("none can be made")
            .missing("other programs may run on the prober's CPU")
            .remedy("run as root, where the cpuset controller is offered"),
    }
}

fn leftovers(checkup: &Checkup) -> Option<Finding> {
    let left = &checkup.access.leftovers;
    let seen = format!("cpusets of runs that were killed: {}", left.join(", "));
    (!left.is_empty()).then(|| {
        Finding::ok(Area::Quiet, "leftovers", seen)
            .degraded("their CPUs may be closed to other programs")
            .remedy(format!(
                "sudo rmdir {}; the next `--condition quiet` does it too",
                left.join(" ")
            ))
    })
}

fn stamp_port(checkup: &Checkup) -> Finding {
    if checkup.access.stamp_port_in_use {
        Finding::ok(Area::Reflector, "STAMP port 862", "another program has it")
            .degraded("`delaylab reflect` cannot serve STAMP there")
            .remedy("`ss -ulnp sport = :862` names the program; or reflect with --stamp-port or --no-stamp")
    } else if checkup.access.stamp_port {
        Finding::ok(Area::Reflector, "STAMP port 862", "can be bound")
    } else {
        Finding::ok(Area::Reflector, "STAMP port 862", "is privileged here")
            .degraded("other STAMP senders must be set to another port")
            .maybe_remedy(checkup.access.setcap.clone())
    }
}

#[cfg(test)]
mod tests;
