//! What causes of late packets are known from, a sentence each.

use super::{is_likely_sent_again, is_stall_of, waited_for_a_cpu, why_paused};
use crate::causes::CauseContext;
use crate::causes::gather::Gathered;
use crate::causes::instead::{counted_failures, failures};
use crate::causes::rhythm::{Basis, Rhythm};
use crate::causes::tally::Tally;
use delaylab_model::noise::{DAEMONS, NoiseKind};
use delaylab_model::units::{format_duration, format_duration_f64, format_part, format_share};
use delaylab_stats::attribution::LateCause;
use delaylab_stats::driven::Driven;
use delaylab_stats::functional::Functional;
use delaylab_stats::periodicity::{Match, Relation};

/// What a cause is known from, a sentence each.
pub(in crate::causes) fn evidence(
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
            sentences.extend(alike(seen));
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
            sentences.extend(concurrent_requests(tally));
        }
        LateCause::Paused { port } => {
            let reasons = why_paused(port, tally, gathered).into_iter();
            sentences.extend(reasons.map(|why| why.evidence()));
        }
        LateCause::Server => sentences.extend(concurrent_requests(tally)),
        LateCause::NewConnection { busy: false } => sentences.push(ended(tally, gathered)),
        _ => {}
    }
    sentences.extend(held(what, tally));
    sentences.extend(seen.driven.map(after_packets));
    sentences.extend(seen.rhythm.map(every));
    sentences
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
            "TCP sent segments of {some} of the {} packets again",
            tally.packets
        ),
    };
    Some(with_drops(known, seen))
}

/// With where packets were dropped, where that is known.
fn with_drops(known: String, seen: &CauseContext<'_>) -> String {
    match seen.drops {
        "" => known,
        drops => format!("{known}; {drops}"),
    }
}

/// What was sent again, and what waited for that.
fn repaired(tally: &Tally, seen: &CauseContext<'_>) -> String {
    let (some, all) = (tally.sent_again, tally.packets);
    let behind = match all - some {
        0 => String::new(),
        behind => format!(", and the other {behind} waited behind them"),
    };
    let known = format!("TCP sent segments of {some} of the {all} packets again{behind}");
    with_drops(known, seen)
}

/// How long packets were held that were let go together. A queue that drains looks the same, and has its own name.
fn held(what: &LateCause, tally: &Tally) -> Option<String> {
    use LateCause::{Clock, Queue, SentAgain};
    let held = tally.held.as_ref();
    let held = held.filter(|_| !matches!(what, Queue { .. } | Clock | SentAgain))?;
    Some(format!(
        "a stall of {}, from {} on (trial {}): {} packets that were due meanwhile came back together",
        format_duration(held.length),
        format_duration(held.from),
        held.trial,
        held.packets
    ))
}

/// That it is known from what else crossed the network meanwhile.
fn concurrent_requests(tally: &Tally) -> Option<String> {
    let (late, of) = tally.concurrent;
    let stamps = match tally.packets - tally.attributed {
        _ if tally.attributed == 0 => return None,
        0 => "the stamps".to_owned(),
        _ => format!(
            "the stamps of {} of the {} packets",
            tally.attributed, tally.packets
        ),
    };
    Some(format!(
        "{stamps} do not tell the network from the server, but handshakes or other requests that crossed meanwhile do: of those \
         at the time of each, {} were late",
        format_share(late as f64 / of.max(1) as f64)
    ))
}

/// Why connections had ended.
fn ended(tally: &Tally, gathered: &Gathered<'_>) -> String {
    let rows = tally.due.keys().map(|&at| gathered.streams[at].row);
    let failures = failures(rows);
    match failures.as_slice() {
        [] => "the server closes connections after replies, or while they are idle".to_owned(),
        some => counted_failures(some).join("; "),
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
fn alike(seen: &CauseContext<'_>) -> Option<String> {
    let share = format_share(seen.alike.share);
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
    let mean = format_duration_f64(tally.excess_ns / tally.packets as f64);
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
            let simulated = gathered.sources.iter().any(|source| source == DAEMONS);
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
    let length = median_length(tally);
    let cpus: Vec<String> = tally.cpus.iter().map(u16::to_string).collect();
    let cpus = match &cpus[..] {
        [] => String::new(),
        [one] => format!(", CPU {one}"),
        many => format!(", CPUs {}", many.join(", ")),
    };
    format!("{by}: it had the CPU for {length} at a time (median{cpus})")
}

fn median_length(tally: &Tally) -> String {
    let median = Functional::Quantile(0.5).value(&mut tally.lengths.clone());
    format_duration_f64(median.unwrap_or(0.0))
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
    if let Some(thread) = stalled.filter(|_| is_stall_of(tally, gathered)) {
        format!(
            "stamps and the scheduler's events: no other process kept {thread} from a CPU for half of that time; it was \
             stopped, blocked, or busy itself"
        )
    } else if gathered.sources.is_empty() {
        "stamps alone: nothing says who had the CPU".to_owned()
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
    let length = median_length(tally);
    let of_all = match tally.packets - tally.stopped {
        0 => String::new(),
        _ => format!(
            ", when {} of the {} packets waited for it",
            tally.stopped, tally.packets
        ),
    };
    format!(
        "the scheduler's events: {thread} was stopped by a signal, a debugger or the freezer, for {length} at a time (median){of_all}; it did not wait for a CPU"
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
