//! What to do about causes of late packets.

use super::{is_likely_sent_again, is_stall_of, waited_for_a_cpu, why_paused};
use crate::causes::CauseContext;
use crate::causes::gather::Gathered;
use crate::causes::rhythm::Rhythm;
use crate::causes::roles::Role;
use crate::causes::tally::Tally;
use delaylab_model::noise::NoiseKind;
use delaylab_stats::anatomy::StageSet;
use delaylab_stats::attribution::LateCause;
use std::sync::Arc;

/// What to do about segments that TCP sent again.
const SENT_AGAIN: &str = "Look for where packets are lost rather than for a long queue. Probes over udp or icmp, of which \
     nothing is sent again, show the delay of the path itself.";

/// What to do about SYNs that were sent again.
const SYN_SENT_AGAIN: &str = "Look for where packets are lost, and at the server: it drops SYNs while its accept queue is full \
     (`ss -ltn` shows it, `nstat -az TcpExtListenOverflows` counts them).";

/// What to do about a cause.
pub(in crate::causes) fn remedy(
    what: &LateCause,
    seen: &CauseContext<'_>,
    tally: &Tally,
    gathered: &Gathered<'_>,
) -> String {
    let over_tcp = tally.over_tcp == tally.packets;
    let simulated = gathered.simulated;
    let stalled = is_stall_of(tally, gathered);
    match what {
        LateCause::SentAgain => of_sent_again(tally),
        LateCause::Network { .. } | LateCause::Unclear { .. } if is_likely_sent_again(tally, seen) => of_sent_again(tally),
        LateCause::Prober { stages } if over_tcp && !waited_for_a_cpu(*stages) => {
            "TCP on the prober's host kept the segment back: its window was full, or an earlier segment was not \
             acknowledged yet."
                .to_owned()
        }
        LateCause::Ran { who, .. } if seen.driven.is_some() => format!(
            "{} works on the probe's own packets: its time is part of the measurement, and no disturbance \
             from outside. A CPU of its own (taskset) keeps it from the prober's.",
            who.name
        ),
        LateCause::Ran { .. } if seen.role.is_run_load() => {
            "The run asks for it: it is part of the measurement, and no disturbance from outside.".to_owned()
        }
        _ if simulated && !is_of_any_world(what) => in_simulation(what, is_one_way(tally, gathered)).to_owned(),
        LateCause::Ran { who, kind } => of_what_ran(&who.name, *kind, seen.role),
        LateCause::Others => "Measure on a CPU that has less to do (taskset, cpuset), or in quiet condition \
             (`--set host.condition=quiet`), which gives the prober real-time priority."
            .to_owned(),
        LateCause::Prober { stages } => of_prober(*stages, seen.rhythm, stalled),
        LateCause::Reflector { here } => of_reflector(*here, stalled).to_owned(),
        LateCause::Queue { port } => of_queue(port, seen, tally, gathered),
        LateCause::Paused { port } => {
            let reasons = why_paused(port, tally, gathered);
            let remedies: Vec<String> = reasons.iter().map(|why| why.remedy(port)).collect();
            remedies.join(" ")
        }
        LateCause::Network { .. } if 2 * tally.overtaken >= tally.packets => {
            "Later packets overtook these, so that no single queue held them: look for a path that differs from packet to packet \
             (several links or paths at once, a radio link that sends again, an emulated delay). `delaylab trace TARGET` shows the hops."
                .to_owned()
        }
        LateCause::Network { stages } => of_network(*stages),
        LateCause::NewConnection { busy } => of_new_connection(*busy).to_owned(),
        LateCause::Server => of_server(tally).to_owned(),
        LateCause::Resolver => {
            "Look at the name server of this host: `delaylab ping SERVER --method dns --question NAME` measures it by itself."
                .to_owned()
        }
        LateCause::Unclear { stages } => of_unclear(*stages, tally, gathered),
        LateCause::Clock => "Leave these packets out: their times are not delays.".to_owned(),
    }
}

/// Is what to do about it the same in simulations?
pub(super) fn is_of_any_world(what: &LateCause) -> bool {
    match what {
        LateCause::Queue { .. }
        | LateCause::Paused { .. }
        | LateCause::Clock
        | LateCause::NewConnection { .. } => true,
        LateCause::Unclear { stages } => {
            *stages == StageSet::NETWORK_AND_SERVER || StageSet::OF_SERVERS.covers(*stages)
        }
        _ => false,
    }
}

/// Are all of its packets frames that come to their end without a reply?
fn is_one_way(tally: &Tally, gathered: &Gathered<'_>) -> bool {
    let mut streams = tally.due.keys().map(|&at| &gathered.streams[at]);
    streams.all(|stream| stream.row.method.is_one_way())
}

/// What there is to change of hosts and of a path that are a model's.
pub(super) const fn in_simulation(what: &LateCause, one_way: bool) -> &'static str {
    match what {
        LateCause::Ran {
            kind: NoiseKind::Scheduled,
            ..
        } => {
            "It is a process of the simulated host (`path.host`): leave it out there, or measure in \
             quiet condition (`--set host.condition=quiet`), which gives the prober real-time priority."
        }
        LateCause::Others => {
            "They are processes of the simulated host (`path.host`): leave some of them out there, or measure in \
             quiet condition (`--set host.condition=quiet`), which gives the prober real-time priority."
        }
        LateCause::Ran { .. } | LateCause::Prober { .. } | LateCause::Reflector { .. } => {
            "It is what the model of that host draws (`path.host`, or `host` of its node): costs of packets, ticks \
             and daemons."
        }
        LateCause::Server | LateCause::Resolver => {
            "It is what the model of that server takes (`path.server`): the time that it thinks, and requests that wait \
             for one of its workers."
        }
        LateCause::Unclear { .. } if one_way => {
            "Test frames have no stamps in hosts: their time is the path's, and the run's table `hops` has each queue's share."
        }
        LateCause::Unclear { .. } => {
            "The stamps do not tell the hosts from the network: choose a method whose packets the reflector stamps, udp or \
             stamp. The run's table `hops` has each queue's share."
        }
        _ => {
            "No single queue held these packets for half of that time: the run's table `hops` has how long each \
             packet waited in each."
        }
    }
}

fn of_what_ran(who: &str, kind: NoiseKind, role: Role) -> String {
    match kind {
        NoiseKind::Interrupt => format!(
            "Move the interrupt to another CPU (/proc/irq/…/smp_affinity), or the measurement \
             (taskset); {who} is a device's."
        ),
        NoiseKind::Softirq => format!(
            "{who} is the kernel's own work after interrupts: move the device's interrupts to another \
             CPU, or the measurement."
        ),
        NoiseKind::Stopped => {
            "See what stopped it (a signal, a debugger, a frozen cgroup).".to_owned()
        }
        NoiseKind::SentinelGap | NoiseKind::SlowClockRead => {
            "Run as root or with access to tracefs: then what ran has a name.".to_owned()
        }
        NoiseKind::Scheduled if role != Role::Other => {
            format!("It is delaylab's own: give {who} a CPU of its own (taskset).")
        }
        NoiseKind::Scheduled => format!(
            "Keep {who} off this CPU (taskset, cpuset), or measure in quiet condition \
             (`--set host.condition=quiet`), which gives the prober real-time priority."
        ),
    }
}

fn of_prober(stages: StageSet, rhythm: Option<&Rhythm>, stalled: bool) -> String {
    if let Some(found) = rhythm.and_then(|rhythm| rhythm.matches.first()) {
        return format!("See whether it ends where {} does.", found.name);
    }
    match waited_for_a_cpu(stages) {
        true if stalled => "See what stopped the prober or kept it waiting: a signal, a debugger, a frozen cgroup, a full terminal \
             or disk."
            .to_owned(),
        true => "The prober was ready and did not run: measure in quiet condition \
             (`--set host.condition=quiet`), or as root, so that the scheduler's events name what ran."
            .to_owned(),
        false => "The packet waited in this host's own stack or queue: look at `tc -s qdisc`, at the \
             device's queue lengths, and at what else this host sends."
            .to_owned(),
    }
}

const fn of_reflector(here: bool, stalled: bool) -> &'static str {
    match (here, stalled) {
        (true, true) => {
            "The other end is this host: see what stopped the reflector or kept it waiting (a signal, a debugger, a frozen \
             cgroup, a disk, a lock)."
        }
        (true, false) => {
            "The other end is this host: the reflector was ready and did not run. Look at what else runs here \
             (as root, the scheduler's events name it), and give the reflector a CPU of its own (taskset) or a \
             higher priority (chrt)."
        }
        (false, _) => {
            "Look there: `delaylab doctor` at the other end, and what else runs on it; \
             its own time is no fault of the network."
        }
    }
}

fn of_queue(
    port: &Arc<str>,
    seen: &CauseContext<'_>,
    tally: &Tally,
    gathered: &Gathered<'_>,
) -> String {
    if !seen.load.is_empty() {
        return format!(
            "The run's own load ({}) goes through {port}, which is what the experiment asks for. The effect of another \
             discipline: `delaylab predict RUN --set path.switch.discipline=fq-codel`.",
            seen.load
        );
    }
    if seen.others_may_fill {
        return format!(
            "What else goes through {port} fills its queue: limit it, or give the queue a discipline \
             that keeps flows apart (`delaylab predict RUN --set path.switch.discipline=fq-codel`)."
        );
    }
    if !why_paused(port, tally, gathered).is_empty() {
        return "Packets that a pause held are let go together, and wait for each other: without pauses they would not."
            .to_owned();
    }
    let (sends, gives) = match seen.is_shaped {
        true => ("its shaper lets them pass", "the shaper"),
        false => ("its line sends them", "the line"),
    };
    format!(
        "Only the probe's own packets go through {port}, faster at times than {sends}: send them further apart, or \
         give {gives} a higher rate."
    )
}

const fn of_new_connection(busy: bool) -> &'static str {
    match busy {
        true => {
            "A request is due before the reply to the one before has come: look at what those wait for. The handshakes themselves are no \
             longer than usual."
        }
        false => {
            "Look at why connections end: the server's log, how long and for how many requests it keeps one, and what on the way may \
             reset them. The handshakes themselves are no longer than usual."
        }
    }
}

const fn of_server(tally: &Tally) -> &'static str {
    match 2 * tally.attributed > tally.packets {
        true => {
            "Handshakes and other requests crossed the network meanwhile: look at the server, and at what it asks in its turn. Where a \
             proxy or load balancer answers for it, all behind that is the server here."
        }
        false => {
            "The request had arrived and been acknowledged: look at the server, and at what it asks in its turn. Where a proxy or \
             load balancer answers for it, that is what acknowledges, and all behind it is the server here."
        }
    }
}

fn of_unclear(stages: StageSet, tally: &Tally, gathered: &Gathered<'_>) -> String {
    if stages == StageSet::NETWORK_AND_SERVER {
        return of_network_and_server(tally, gathered);
    }
    let said = if StageSet::OF_SERVERS.covers(stages) {
        "It takes the network and the server: a path that loses packets, many round trips, or a server that is busy."
    } else if gathered.imported {
        "What the other tool recorded does not tell hosts from the network. `delaylab ping TARGET` does, where the kernel stamps \
         its packets."
    } else if tally.over_tcp == tally.packets {
        "Over TCP the target sends again what is lost on the way back, and this host can neither see nor count that. Probes over \
         udp show loss itself, its direction and the delay of each way (`delaylab ping TARGET --method udp`)."
    } else {
        "Choose a method that this host stamps in the kernel (`delaylab doctor` says which)."
    };
    said.to_owned()
}

fn of_sent_again(tally: &Tally) -> String {
    match tally.is_of_handshakes() {
        true => SYN_SENT_AGAIN,
        false => SENT_AGAIN,
    }
    .to_owned()
}

/// What tells the two apart depends on what carries the requests, and on what the run has already.
fn of_network_and_server(tally: &Tally, gathered: &Gathered<'_>) -> String {
    let mut streams = tally.due.keys().map(|&at| &gathered.streams[at]);
    let by_udp = streams.all(|stream| !stream.row.method.is_stream() && !stream.has_connections);
    if by_udp {
        return "By UDP nothing is acknowledged. By TCP (`--transport tcp`) the server's kernel does it, which tells the two apart; \
                `delaylab ping SERVER` shows what the network takes."
            .to_owned();
    }
    let handshakes = match gathered.handshakes {
        (0, _) => {
            "; handshakes during the requests (a probe by `tcp-connect`) show what the network takes"
        }
        _ => {
            "; more handshakes during the requests show what the network takes at the time of each"
        }
    };
    format!(
        "The server acknowledges with its reply. On a connection for each request (--fresh) it acknowledges at once, which tells the \
         two apart{handshakes}."
    )
}

fn of_network(stages: StageSet) -> String {
    let inside = if stages == StageSet::NETWORK_AND_REFLECTOR {
        "This includes the host that answers: a reflector (`delaylab reflect`) tells the two apart. "
    } else {
        ""
    };
    format!(
        "{inside}Ask where: `delaylab trace TARGET` shows the hops, `ping --load` whether a queue grows \
         under load."
    )
}
