//! Evidence and remedies as sentences.

use super::gather::{Gathered, Tally};
use super::rhythm::{Basis, Rhythm};
use super::roles::Role;
use super::{Cause, CauseContext, Explanation};
use delaylab_model::noise::NoiseKind;
use delaylab_model::units::{format_duration_f64, format_part, format_share};
use delaylab_stats::anatomy::{Place, Stage, StageSet};
use delaylab_stats::attribution::LateCause;
use delaylab_stats::driven::Driven;
use delaylab_stats::functional::Functional;
use delaylab_stats::periodicity::{Match, Relation};
use delaylab_stats::trains::Owner;

/// So much of the excess delay in one condition is worth a word.
const MOST_IN_ONE: f64 = 0.5;

/// Whose fault late packets are, in a sentence or two. What the run's own load did is no finding, and is said apart.
pub(super) fn answer(explanation: &Explanation) -> String {
    if explanation.sent == 0 {
        return "No complete trial has a packet: there is nothing to explain.".to_owned();
    }
    if explanation.answered == 0 {
        return "No packet was answered: there is nothing to explain.".to_owned();
    }
    let found: Vec<&Cause> = explanation.found().collect();
    let asked_for: Vec<&Cause> = explanation.asked_for().collect();
    let own = own_load(explanation, &asked_for);
    let Some(worst) = found.first() else {
        return match own {
            Some(own) => format!("No packet was late but for this: {own}."),
            None => {
                "No packet was late: none took far longer than the others of its stream.".to_owned()
            }
        };
    };
    let own = own.map_or_else(String::new, |own| format!(" {own}."));
    whose(explanation, &found, worst) + &own
}

/// `Not in these figures: 312 packets (1.2 %) that delaylab's own load delayed, as condition stressed asks`.
fn own_load(explanation: &Explanation, asked_for: &[&Cause]) -> Option<String> {
    let packets: u64 = asked_for.iter().map(|cause| cause.packets).sum();
    let first = asked_for.first()?;
    let name = match &first.what {
        LateCause::Ran { who, .. } => first.role.named(&who.name),
        _ => return None,
    };
    let wanted = match first.role {
        Role::Stress => "condition stressed",
        _ => "the experiment",
    };
    let share = format_part(packets, explanation.answered);
    Some(format!(
        "Not in these figures: {packets} packets ({share}) that {name} delayed, as {wanted} asks"
    ))
}

fn whose(explanation: &Explanation, found: &[&Cause], worst: &Cause) -> String {
    let lost: f64 = found.iter().map(|cause| cause.lost_ns).sum();
    let of_lost = |ns: f64| if lost > 0.0 { ns / lost } else { 0.0 };
    let places = [
        Place::Prober,
        Place::Reflector,
        Place::Network,
        Place::Server,
        Place::Resolver,
        Place::Unclear,
    ];
    let share_of = |place: Place| {
        let causes = found.iter().filter(|cause| cause.what.place() == place);
        of_lost(causes.map(|cause| cause.lost_ns).sum())
    };
    let shares = places.map(|place| (share_of(place), place));
    let most = shares.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
    let (share, place) = most.unwrap_or((0.0, Place::Unclear));
    let own = found.len() < explanation.causes.len();
    let events = Some(explanation.events).filter(|_| !own);
    let late = late(found, lost, explanation.answered, events);
    let whose = match place {
        Place::Prober if in_the_reflector(found) => "this host (prober and reflector)",
        Place::Prober => "the prober's host",
        Place::Reflector if explanation.answers_here() => "the reflector on this host",
        Place::Reflector => "the reflector's host",
        Place::Network => "the network",
        Place::Server => "the server",
        Place::Resolver => "the resolver",
        Place::Unclear if worst.what == LateCause::Clock => {
            return format!(
                "{late}; the clock was set or the host suspended under way: these are no delays."
            );
        }
        Place::Unclear if matches!(worst.what, LateCause::Unclear { stages } if stages.touches(StageSet::OF_SERVERS)) =>
        {
            return format!(
                "{late}; the stamps do not say whether the network or the server is why."
            );
        }
        Place::Unclear => {
            return format!("{late}; the stamps do not say whether a host or the network is why.");
        }
    };
    let mut of_place = found.iter().filter(|cause| cause.what.place() == place);
    let worst = of_place.next().unwrap_or(&worst);
    let of_worst = format_share(of_lost(worst.lost_ns));
    let most = match &worst.what {
        LateCause::Ran { who, .. } if worst.driven.is_some() => {
            format!(
                ", {of_worst} while {} handled the probe's own packets",
                who.name
            )
        }
        LateCause::Ran { who, .. } => {
            let name = worst.role.named(&worst.name_of(who));
            format!(", {of_worst} while {name} had its CPU")
        }
        LateCause::Others => format!(", {of_worst} while several other processes had its CPU"),
        LateCause::Prober { .. } if is_mostly_stopped(worst.stopped, worst.packets) => {
            format!(", {of_worst} while the prober was stopped")
        }
        LateCause::Reflector { here: true } if is_mostly_stopped(worst.stopped, worst.packets) => {
            format!(", {of_worst} while the reflector was stopped")
        }
        LateCause::Prober { stages }
            if is_stall(worst, explanation) && waited_for_a_cpu(*stages) =>
        {
            format!(", {of_worst} while the prober did not run (stopped or blocked)")
        }
        LateCause::Reflector { here: true } if is_stall(worst, explanation) => {
            format!(", {of_worst} while the reflector did not run (stopped or blocked)")
        }
        LateCause::SentAgain => {
            format!(", {of_worst} because segments were lost and TCP sent them again")
        }
        LateCause::Queue { port } => {
            let load = explanation.slow.load_beside(&worst.what);
            let load = match load.as_str() {
                "" => String::new(),
                load => format!(", which the run's own load ({load}) goes through"),
            };
            format!(", {of_worst} in the queue of {port}{load}")
        }
        _ => String::new(),
    };
    let causes: Vec<&LateCause> = found.iter().map(|cause| &cause.what).collect();
    let where_most = explanation.slow.worst_in(&causes);
    let late = match where_most.filter(|(_, share)| *share >= MOST_IN_ONE) {
        Some((condition, of_all)) => {
            format!(
                "{late}, {} of that in {}",
                format_share(of_all),
                condition.label
            )
        }
        None => late,
    };
    format!(
        "{late}. Of this excess delay, {} arose in {whose}{most}.",
        format_share(share)
    )
}

/// What the kernel's tracer is called among the sources: with it, all that had a CPU is known.
const TRACER: &str = "scheduler and interrupts";

/// A thread that does not run for so long, though nothing has its CPU, is not ready. What is shorter may be a hypervisor, a CPU
/// that wakes up, or a handler that is too short to be seen.
const STALL_NS: f64 = 5e6;

/// Did a thread not run, though nothing kept it from a CPU?
fn is_stall(cause: &Cause, explanation: &Explanation) -> bool {
    let watched = explanation.sources.iter().any(|source| source == TRACER);
    watched && cause.lost_ns >= STALL_NS * cause.packets as f64
}

/// The same, of packets that are counted.
fn is_stalled(tally: &Tally, gathered: &Gathered<'_>) -> bool {
    let watched = gathered.sources.iter().any(|source| source == TRACER);
    tally.stopped > 0 || watched && tally.lost_ns >= STALL_NS * tally.packets as f64
}

/// Was the thread that most of the packets waited for stopped?
const fn is_mostly_stopped(stopped: u64, packets: u64) -> bool {
    stopped > 0 && 2 * stopped >= packets
}

/// Did what ran on the prober's host delay the reflector there, too?
fn in_the_reflector(found: &[&Cause]) -> bool {
    let of_host = found.iter();
    let mut of_host = of_host.filter(|cause| cause.what.place() == Place::Prober);
    of_host.any(|cause| {
        let mut stages = cause.stages.iter();
        stages.any(|(stages, _)| stages.place() == Place::Reflector)
    })
}

/// `12 of 3000 packets were late (0.40 %) in 3 events, by 1.2 ms on average`.
fn late(found: &[&Cause], lost: f64, answered: u64, events: Option<u64>) -> String {
    let late: u64 = found.iter().map(|cause| cause.packets).sum();
    let mean = format_duration_f64(lost / late.max(1) as f64);
    let share = format_part(late, answered);
    let packets = if answered == 1 { "packet" } else { "packets" };
    let (were, each) = match late {
        1 => ("was", ""),
        _ => ("were", " on average"),
    };
    // What delayed some packets of an event may be the run's own: then only those of each cause are known.
    let events = events.unwrap_or_else(|| found.iter().map(|cause| cause.events).sum());
    let events = match events {
        events if events == late => String::new(),
        1 => " in one event".to_owned(),
        events => format!(" in {events} events"),
    };
    format!("{late} of {answered} {packets} {were} late ({share}){events}, by {mean}{each}")
}

/// What a cause is known from, a sentence each.
pub(super) fn evidence(
    what: &LateCause,
    tally: &Tally,
    seen: &CauseContext<'_>,
    gathered: &Gathered<'_>,
) -> Vec<String> {
    let mut sentences = vec![stages(what, tally)];
    match what {
        LateCause::Ran { kind, .. } => {
            sentences.push(ran(*kind, tally, gathered));
            sentences.extend(process(tally, seen));
            sentences.extend(alike(seen, gathered));
        }
        LateCause::Others => {
            sentences.push(
                "the scheduler's events: others had the CPU one after the other, none of them for half of that time"
                    .to_owned(),
            );
        }
        LateCause::Prober { .. } | LateCause::Reflector { .. } => {
            sentences.push(nobody(what, tally, gathered));
            sentences.extend(suspects(gathered));
        }
        LateCause::SentAgain => sentences.push(repaired(tally, seen)),
        LateCause::Network { .. } | LateCause::Unclear { .. } => {
            sentences.extend(sent_again(tally, seen));
            sentences.extend(overtaken(tally));
        }
        _ => {}
    }
    sentences.extend(seen.driven.map(after_packets));
    sentences.extend(seen.rhythm.map(every));
    sentences
}

/// A delay of a TCP probe that no queue is long enough for is most often that of a segment which was lost.
const LIKELY_SENT_AGAIN_NS: f64 = 100e6;

fn is_likely_sent_again(tally: &Tally, seen: &CauseContext<'_>) -> bool {
    let known = 2 * tally.sent_again >= tally.packets;
    let mean = tally.lost_ns / tally.packets as f64;
    let likely = mean >= LIKELY_SENT_AGAIN_NS && !seen.drops.is_empty();
    tally.over_tcp == tally.packets && (known || likely)
}

/// What TCP does about loss is no waiting in a queue.
fn sent_again(tally: &Tally, seen: &CauseContext<'_>) -> Option<String> {
    if !is_likely_sent_again(tally, seen) {
        return None;
    }
    let known = match tally.sent_again {
        0 => {
            "TCP sends a lost segment again after a time-out, and what follows it waits".to_owned()
        }
        some => format!(
            "segments of {some} of the {} packets were lost and sent again by TCP",
            tally.packets
        ),
    };
    Some(match seen.drops {
        "" => known,
        drops => format!("{known}; {drops}"),
    })
}

/// What was sent again, and what waited for that.
fn repaired(tally: &Tally, seen: &CauseContext<'_>) -> String {
    let (some, all) = (tally.sent_again, tally.packets);
    let behind = match all - some {
        0 => String::new(),
        behind => format!(", and the other {behind} waited behind them"),
    };
    let known =
        format!("segments of {some} of the {all} packets were lost and sent again by TCP{behind}");
    match seen.drops {
        "" => known,
        drops => format!("{known}; {drops}"),
    }
}

/// That they came back after packets that were sent later.
fn overtaken(tally: &Tally) -> Option<String> {
    let (some, all) = (tally.overtaken, tally.packets);
    (some > 0).then(|| format!("later packets overtook {some} of the {all} packets"))
}

/// Which process it is.
fn process(tally: &Tally, seen: &CauseContext<'_>) -> Option<String> {
    let Some(process) = seen.process else {
        let pids: Vec<String> = tally.pids.iter().map(u32::to_string).collect();
        return match (seen.alike.together, &pids[..]) {
            (together, _) if together > 1 => Some(format!(
                "{together} processes of this name, none of which ran often enough to have an interval of its own"
            )),
            (_, []) => None,
            (_, pids) => Some(format!("process {}", pids.join(", "))),
        };
    };
    let command = match process.command.as_str() {
        "" => ", a thread of the kernel".to_owned(),
        command => format!(": `{command}`"),
    };
    let unit = process.unit.as_ref();
    let unit = unit.map_or_else(String::new, |unit| format!(", of {unit}"));
    Some(format!("process {}{command}{unit}", process.pid))
}

/// What processes of its name took together.
fn alike(seen: &CauseContext<'_>, gathered: &Gathered<'_>) -> Option<String> {
    let lost: f64 = gathered.tallies.values().map(|tally| tally.lost_ns).sum();
    let share = format_share(seen.alike.lost_ns / lost);
    match seen.alike.others {
        0 => None,
        1 => Some(format!(
            "together with another process of this name: {share} of the excess delay"
        )),
        others => Some(format!(
            "together with {others} other processes of this name: {share} of the excess delay"
        )),
    }
}

/// How it follows the probe's packets.
fn after_packets(driven: &Driven) -> String {
    let after = format_duration_f64(driven.after_ns.abs());
    let side = if driven.after_ns < 0.0 {
        "before"
    } else {
        "after"
    };
    format!(
        "it runs because the probe does: {} of its runs begin within a moment of {after} {side} a packet is \
         sent, and {} of the packets have such a run",
        format_share(driven.share),
        format_share(driven.packets)
    )
}

/// In which stages, and by how much.
fn stages(what: &LateCause, tally: &Tally) -> String {
    let mean = format_duration_f64(tally.lost_ns / tally.packets as f64);
    let worst = format_duration_f64(tally.worst.excess_ns);
    let lengths = match tally.packets {
        1 => format!("{mean} longer than usual"),
        _ => format!("{mean} longer than usual on average, {worst} at worst"),
    };
    let packet = format!("trial {}, packet {}", tally.worst.trial, tally.worst.seq);
    let of_each = ["of these packets", "of them", "of them"];
    let stages: Vec<String> = (tally.stages().iter().zip(of_each))
        .map(|((stages, count), of_all)| match tally.stages().len() {
            1 => stages.name(),
            _ => format!("{stages} ({} {of_all})", format_part(*count, tally.packets)),
        })
        .collect();
    match what {
        LateCause::Clock => format!("the clock was set or the host suspended under way; {lengths}"),
        _ => format!("in {}; {lengths} ({packet})", stages.join(", ")),
    }
}

/// Who had the CPU, how often and for how long.
fn ran(kind: NoiseKind, tally: &Tally, gathered: &Gathered<'_>) -> String {
    let by = match kind {
        NoiseKind::Scheduled | NoiseKind::Interrupt | NoiseKind::Softirq => {
            let simulated = gathered.sources.iter().any(|source| source == "daemons");
            if simulated {
                "the simulation"
            } else {
                "the scheduler's events"
            }
        }
        NoiseKind::SentinelGap => "gaps that the CPU sentinel measured",
        NoiseKind::SlowClockRead => "gaps between clock reads",
        NoiseKind::Stopped => "stops",
    };
    let median = Functional::Quantile(0.5).value(&mut tally.lengths.clone());
    let length = format_duration_f64(median.unwrap_or(0.0));
    let cpus: Vec<String> = tally.cpus.iter().map(u16::to_string).collect();
    let cpus = match &cpus[..] {
        [] => String::new(),
        [one] => format!(", CPU {one}"),
        many => format!(", CPUs {}", many.join(", ")),
    };
    format!("{by}: it had the CPU for {length} at a time (median{cpus})")
}

/// Why nobody is named.
fn nobody(what: &LateCause, tally: &Tally, gathered: &Gathered<'_>) -> String {
    if let LateCause::Reflector { here: false } = what {
        return "stamps of the reflector: its own process answered late".to_owned();
    }
    if tally.stopped > 0 {
        return stopped(what, tally);
    }
    let stalled = match what {
        LateCause::Prober { stages } if waited_for_a_cpu(*stages) => Some("the prober"),
        LateCause::Reflector { .. } => Some("the reflector"),
        _ => None,
    };
    if let Some(thread) = stalled.filter(|_| is_stalled(tally, gathered)) {
        format!(
            "stamps and the scheduler's events: no other process kept {thread} from a CPU for half of that time; it was \
             stopped, blocked, or busy itself"
        )
    } else if gathered.sources.is_empty() {
        "stamps alone: nothing watched who had the CPU".to_owned()
    } else {
        format!(
            "stamps; nothing that was watched ({}) had the CPU for half of that time",
            gathered.sources.join(", ")
        )
    }
}

/// That the thread was stopped, for how long and how many of the packets.
fn stopped(what: &LateCause, tally: &Tally) -> String {
    let thread = match what {
        LateCause::Reflector { .. } => "the reflector",
        _ => "the prober",
    };
    let median = Functional::Quantile(0.5).value(&mut tally.lengths.clone());
    let length = format_duration_f64(median.unwrap_or(0.0));
    let of_all = match tally.packets - tally.stopped {
        0 => String::new(),
        _ => format!(
            ", when {} of the {} packets waited for it",
            tally.stopped, tally.packets
        ),
    };
    format!(
        "the scheduler's events: {thread} was stopped by a signal or a debugger, for {length} at a time (median){of_all}; it did not wait for a CPU"
    )
}

/// Where nothing says who had the CPU when, who had it most: the kernel counts that for everybody.
fn suspects(gathered: &Gathered<'_>) -> Option<String> {
    let others = gathered.ran.iter().filter(|ran| !ran.measures).take(3);
    let others: Vec<String> = others
        .map(|ran| format!("{} ({})", ran.who, format_duration_f64(ran.ran as f64)))
        .collect();
    if !gathered.sources.is_empty() || others.is_empty() {
        return None;
    }
    let measuring = gathered.ran.iter().filter(|ran| ran.measures);
    let waited: i64 = measuring.map(|ran| ran.waited).sum();
    Some(format!(
        "counters: what measures waited {} for a CPU; of the others these ran most: {}",
        format_duration_f64(waited as f64),
        others.join(", ")
    ))
}

/// At which intervals it comes.
fn every(rhythm: &Rhythm) -> String {
    let period = period(rhythm);
    match rhythm.basis {
        Basis::Runs(runs) => format!("it runs every {period} (seen {runs} times)"),
        Basis::Packets(packets, share) => {
            let known = rhythm.matches.first().map_or_else(String::new, related);
            format!(
                "{} of its {packets} separate events come every {period}{known}",
                format_share(share)
            )
        }
    }
}

fn related(found: &Match) -> String {
    let name = &found.name;
    match found.relation {
        Relation::Same => format!(", as {name} does"),
        Relation::EveryNth(n) => format!(", every {n} times that {name} runs"),
        Relation::TimesAPeriod(n) => format!(", {n} times a period of {name}"),
        Relation::Beat => {
            let own = format_duration_f64(found.period_ns);
            format!(", the time in which {name} (every {own}) comes round to the same probes")
        }
    }
}

/// `100 ms (±0.02 %)`.
fn period(rhythm: &Rhythm) -> String {
    let relative = rhythm.error_ns / rhythm.period_ns * 100.0;
    format!("{} (±{relative:.2} %)", precise(rhythm.period_ns))
}

/// With a digit more than durations usually have: a period is known well.
fn precise(ns: f64) -> String {
    let (scale, unit) = match ns {
        ns if ns >= 1e9 => (1e9, "s"),
        ns if ns >= 1e6 => (1e6, "ms"),
        ns if ns >= 1e3 => (1e3, "µs"),
        _ => (1.0, "ns"),
    };
    let value = ns / scale;
    let digits = if value >= 100.0 { 1 } else { 2 };
    format!("{value:.digits$} {unit}")
}

/// What to do about segments that TCP sent again.
const SENT_AGAIN: &str = "Look for where packets are lost rather than for a long queue. Probes over udp or icmp, of which \
     nothing is sent again, show the delay of the path itself.";

/// What to do about a cause.
pub(super) fn remedy(
    what: &LateCause,
    seen: &CauseContext<'_>,
    tally: &Tally,
    gathered: &Gathered<'_>,
) -> String {
    let over_tcp = tally.over_tcp == tally.packets;
    let simulated = gathered.simulated;
    let stalled = is_stalled(tally, gathered);
    match what {
        LateCause::SentAgain => SENT_AGAIN.to_owned(),
        LateCause::Network { .. } | LateCause::Unclear { .. } if is_likely_sent_again(tally, seen) => SENT_AGAIN.to_owned(),
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
        LateCause::Ran { .. } if seen.role.is_asked_for() => {
            "The run asks for it: it is part of the measurement, and no disturbance from outside.".to_owned()
        }
        _ if simulated && !matches!(what, LateCause::Queue { .. } | LateCause::Clock) => in_simulation(what),
        LateCause::Ran { who, kind } => of_what_ran(&who.name, *kind, seen.role),
        LateCause::Others => "Measure on a CPU that has less to do (taskset, cpuset), or in quiet condition \
             (`--set host.condition=quiet`), which gives the prober real-time priority."
            .to_owned(),
        LateCause::Prober { stages } => of_prober(*stages, seen.rhythm, stalled),
        LateCause::Reflector { here: true } if stalled => {
            "The other end is this host: see what stopped the reflector or kept it waiting (a signal, a debugger, a frozen \
             cgroup, a disk, a lock)."
                .to_owned()
        }
        LateCause::Reflector { here: true } => {
            "The other end is this host: the reflector was ready and did not run. Look at what else runs here \
             (as root, the scheduler's events name it), and give the reflector a CPU of its own (taskset) or a \
             higher priority (chrt)."
                .to_owned()
        }
        LateCause::Reflector { here: false } => {
            "Look there: `delaylab doctor` at the other end, and what else runs on it; \
             its own time is no fault of the network."
                .to_owned()
        }
        LateCause::Queue { port } if !seen.load.is_empty() => format!(
            "The run's own load ({}) goes through {port}, which is what the experiment asks for. The effect of another \
             discipline: `delaylab predict RUN --set path.switch.discipline=fq-codel`.",
            seen.load
        ),
        LateCause::Queue { port } => format!(
            "What else goes through {port} fills its queue: limit it, or give the queue a discipline \
             that keeps flows apart (`delaylab predict RUN --set path.switch.discipline=fq-codel`)."
        ),
        LateCause::Network { .. } if 2 * tally.overtaken >= tally.packets => {
            "Later packets overtook these, so that no single queue held them: look for a path that differs from packet to packet \
             (several links or paths at once, a radio link that sends again, an emulated delay). `delaylab trace TARGET` shows the hops."
                .to_owned()
        }
        LateCause::Network { stages } => of_network(*stages),
        LateCause::Server => {
            "The request had arrived and been acknowledged: look at the server, and at what it asks in its turn. Where a proxy or \
             load balancer answers for it, that is what acknowledges, and all behind it is the server here."
                .to_owned()
        }
        LateCause::Resolver => {
            "Look at the name server of this host: `delaylab ping SERVER --method dns --question NAME` measures it by itself."
                .to_owned()
        }
        LateCause::Unclear { stages } if *stages == StageSet::NETWORK_AND_SERVER => {
            "The server acknowledges with its reply. On a connection for each request (--fresh) it acknowledges at once, which tells the \
             two apart; handshakes beside the requests show what the network takes."
                .to_owned()
        }
        LateCause::Unclear { stages } if StageSet::OF_SERVERS.covers(*stages) => {
            "It takes the network and the server: a path that loses packets, many round trips, or a server that is busy.".to_owned()
        }
        LateCause::Unclear { .. } if gathered.imported => {
            "What the other tool recorded does not tell hosts from the network. `delaylab ping TARGET` does, where the kernel stamps \
             its packets."
                .to_owned()
        }
        LateCause::Unclear { .. } => {
            "Choose a method that this host stamps in the kernel (`delaylab doctor` says which)."
                .to_owned()
        }
        LateCause::Clock => "Leave these packets out: their times are not delays.".to_owned(),
    }
}

/// What there is to change of hosts and of a path that are a model's.
fn in_simulation(what: &LateCause) -> String {
    match what {
        LateCause::Ran { .. } => "It is a process of the simulated host (`path.host`): leave it out there, or measure in \
             quiet condition (`--set host.condition=quiet`), which gives the prober real-time priority.",
        LateCause::Prober { .. } | LateCause::Reflector { .. } => {
            "It is what the model of that host draws (`path.host`, or `host` of its node): costs of packets, ticks \
             and daemons."
        }
        LateCause::Network { .. } => {
            "No single queue held these packets for half of that time: the run's table `hops` has how long each \
             packet waited in each."
        }
        _ => {
            "Test frames have no stamps in hosts: their time is the path's, and the run's table `hops` has each queue's share. Of other \
             probes, choose a method whose packets the reflector stamps, udp or stamp: then each way has a time of its own."
        }
    }
    .to_owned()
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
        NoiseKind::Stopped => "See what stopped it (a signal, a debugger).".to_owned(),
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

const fn waited_for_a_cpu(stages: StageSet) -> bool {
    stages.contains(Stage::ScheduleSlip) || stages.contains(Stage::ReceiveWakeup)
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

impl Cause {
    /// A process by its name, and where others have that by its number as well.
    fn name_of(&self, who: &Owner) -> String {
        match who.process.filter(|_| self.shares_name) {
            Some(pid) => format!("{}, process {pid}", who.name),
            None => who.name.clone(),
        }
    }

    /// What it is, as a headline: `planted-noise had the CPU`.
    pub fn headline(&self) -> String {
        match &self.what {
            LateCause::Ran { who, .. } if self.driven.is_some() => {
                format!("{} ran for the probe's own packets", self.name_of(who))
            }
            LateCause::Ran { who, kind } => {
                let verb = match kind {
                    NoiseKind::Scheduled => "had the CPU",
                    NoiseKind::Interrupt => "(an interrupt) had the CPU",
                    NoiseKind::Softirq => "(a softirq) had the CPU",
                    NoiseKind::SentinelGap => "had the CPU, without a name",
                    NoiseKind::SlowClockRead => "made clock reads slow",
                    NoiseKind::Stopped => "was stopped",
                };
                match kind {
                    NoiseKind::Scheduled => {
                        format!("{} {verb}", self.role.named(&self.name_of(who)))
                    }
                    _ => format!("{} {verb}", self.name_of(who)),
                }
            }
            LateCause::Others => {
                "several other processes had the CPU, one after the other".to_owned()
            }
            LateCause::SentAgain => "packets that were lost and sent again by TCP".to_owned(),
            LateCause::Prober { stages } => format!("the prober's host, in {stages}"),
            LateCause::Reflector { here: true } => "the reflector, on this host".to_owned(),
            LateCause::Reflector { here: false } => "the reflector's host".to_owned(),
            LateCause::Queue { port } => format!("the queue of {port}"),
            LateCause::Network { stages } => format!("the network, in {stages}"),
            LateCause::Server => "the server".to_owned(),
            LateCause::Resolver => "the resolver".to_owned(),
            LateCause::Unclear { stages } if *stages == StageSet::NETWORK_AND_SERVER => {
                "the network or the server".to_owned()
            }
            LateCause::Unclear { stages } if StageSet::OF_SERVERS.covers(*stages) => {
                format!("the network and the server, in {stages}")
            }
            LateCause::Unclear { stages } => format!("host or network, in {stages}"),
            LateCause::Clock => "the clock was set".to_owned(),
        }
    }
}
