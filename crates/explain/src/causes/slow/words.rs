//! What is slow, as a sentence.

use super::{Against, BaselineKind, Combination, HadCpu, MIN_SLOWING_SHARE, Slow, in_min_delay};
use crate::causes::combination::MIN_SLOWER_NS;
use crate::causes::paused::WhyPaused;
use crate::causes::roles::Role;
use crate::causes::spent::{Component, Spent};
use delaylab_model::noise::NoiseKind;
use delaylab_model::units::{format_duration_f64, format_rate, format_share};
use delaylab_stats::anatomy::{Place, Stage, StageSet};
use delaylab_stats::verdict::SYNS_SENT_AGAIN;
use std::collections::BTreeSet;

/// So much of the response is worth being named where nothing is slow.
const MOST_OF: f64 = 0.5;
/// A link that takes so much of the response is worth being named next to propagation.
const WORTH_NAMING: f64 = 0.05;
/// Late packets that move a mean by less than this share of it need no figure of their own.
const MOVES: f64 = 0.01;

pub(super) fn answer(slow: &Slow) -> String {
    let said = of_conditions(slow);
    let mut conditions = slow.conditions.iter();
    let is_compared = conditions.any(|one| matches!(one.against, Against::Run(_)));
    match slow.baseline {
        BaselineKind::Run if !is_compared && !said.is_empty() => format!(
            "The baseline has no packet that was answered: there is nothing to compare with. {said}"
        ),
        _ => said,
    }
}

fn of_conditions(slow: &Slow) -> String {
    let Some(first) = slow.conditions.first() else {
        return String::new();
    };
    let several = slow.conditions.len() > 1;
    let Some(main) = first.main() else {
        return String::new();
    };
    let next_largest = first.next_largest(&main);
    if first.is_slow() {
        let main = first.spent_in(&main);
        let causes = || std::iter::once(&main).chain(&next_largest);
        let sentence = match least_beyond(first, &main) {
            Some(least) => format!(
                "{}{}.",
                is_the_min_delay(first, least, several),
                next_to_it(first, causes())
            ),
            None => format!(
                "{}{}. {}",
                where_it_goes(first, &main, several),
                next_to_it(first, &next_largest),
                against(first)
            ),
        };
        let mut loads = causes().map(|one| own_load(first, &one.component));
        let load = loads.find(|load| !load.is_empty()).unwrap_or_default();
        return sentence + &load + &had_cpu(first);
    }
    let of_all = nothing_slow(slow, first);
    let where_it_goes = match least(first).filter(|_| !is_sending(&main.component)) {
        Some(least) => is_the_min_delay(first, least, several),
        None => where_it_goes(first, &main, several) + &next_to_it(first, &next_largest),
    };
    format!("{of_all}{where_it_goes}.{}", had_cpu(first))
}

/// That no condition is slow, and against what; empty where there is nothing to hold them against.
fn nothing_slow(slow: &Slow, first: &Combination) -> String {
    let conditions = slow.conditions.len();
    let probes = slow.conditions.iter().map(|one| one.probe.as_str());
    let probes = probes.collect::<BTreeSet<_>>().len();
    let against = match slow.baseline {
        BaselineKind::Run if matches!(first.against, Against::Run(_)) => "the baseline".to_owned(),
        BaselineKind::Idle if first.against_ns.is_none() => {
            return "The minimum delay of the path is not known: there is nothing to compare with. "
                .to_owned();
        }
        BaselineKind::Idle if conditions > 1 => "the minimum delay of its path".to_owned(),
        BaselineKind::Best if conditions > probes && probes > 1 => {
            "the best of its probe".to_owned()
        }
        BaselineKind::Best if conditions > probes => format!("the best one{}", best(slow)),
        _ => return String::new(),
    };
    format!("No combination is slow against {against}. ")
}

impl Combination {
    /// The same component, with all that is spent in it.
    fn spent_in(&self, of: &Spent) -> Spent {
        Spent {
            component: of.component.clone(),
            ns: self.in_component(&of.component),
        }
    }
}

/// `97 % of the response of case fifo is waiting in the queue of s1→b1, which was full: 541 of 562 ms`.
fn where_it_goes(condition: &Combination, main: &Spent, several: bool) -> String {
    let whose = match several {
        true => format!(" of {}", condition.label),
        false => String::new(),
    };
    let queue = match &main.component {
        Component::Queue(port) => condition.queues.get(port),
        _ => None,
    };
    let about = queue
        .filter(|queue| queue.is_estimate)
        .map_or("", |_| "about ");
    let with_late = with_late(condition.usual_ns, condition.mean_ns);
    let with_late = with_late.map_or_else(String::new, |mean| {
        format!(" of packets that were not late ({mean} of all)")
    });
    format!(
        "{} of the response{whose} is {}: {about}{} of {} on average{with_late}",
        format_share(main.ns / condition.usual_ns),
        phrase(condition, &main.component),
        format_duration_f64(main.ns),
        format_duration_f64(condition.usual_ns),
    )
}

/// `; 47 % is waiting in the queue of s1→s2, which was full: 26.4 ms`, of each of these.
fn next_to_it<'a>(condition: &Combination, others: impl IntoIterator<Item = &'a Spent>) -> String {
    let each = others.into_iter().map(|one| {
        let one = condition.spent_in(one);
        format!(
            "; {} is {}: {}",
            format_share(one.ns / condition.usual_ns),
            phrase(condition, &one.component),
            format_duration_f64(one.ns)
        )
    });
    each.collect()
}

/// The minimum delay of the path, ns, where it is longer than what a condition that is compared with it mainly takes in addition.
fn least_beyond(condition: &Combination, main: &Spent) -> Option<f64> {
    let is_against_min_delay =
        condition.against == Against::MinDelay && !main.component.is_part_of_min_delay();
    let least = condition.against_ns.filter(|_| is_against_min_delay)?;
    (least > main.ns).then_some(least)
}

/// `71 % of the response of 56.4 ms is the minimum delay of its path (40.0 ms propagation, 400 µs serialisation)`.
fn is_the_min_delay(condition: &Combination, least: f64, several: bool) -> String {
    format!(
        "{} of the response of {} is the minimum delay of its path{}",
        format_share(least / condition.usual_ns),
        length(condition, several),
        parts_of_least(condition)
    )
}

/// The mean with late packets, where these move it.
fn with_late(usual_ns: f64, mean_ns: f64) -> Option<String> {
    let moves = (mean_ns - usual_ns).abs() >= MOVES * usual_ns;
    moves.then(|| format_duration_f64(mean_ns))
}

/// What it is held against, and how many times as long it takes.
pub(super) fn against(condition: &Combination) -> String {
    let Some(reference) = condition.against_ns else {
        return String::new();
    };
    let mean = condition.against_mean_ns;
    let ns = match mean.and_then(|mean| with_late(reference, mean)) {
        Some(mean) => format!(
            "{}; {mean} with its late packets",
            format_duration_f64(reference)
        ),
        None => format_duration_f64(reference),
    };
    let times = condition.usual_ns / reference;
    let times = match times {
        times if times < 10.0 => format!("{times:.1} times"),
        times => format!("{times:.0} times"),
    };
    match &condition.against {
        Against::MinDelay => format!(
            "The minimum delay of the path is {ns}{}.",
            match reference >= MIN_SLOWING_SHARE * condition.usual_ns {
                true => parts_of_least(condition),
                false => String::new(),
            }
        ),
        Against::Combination(label) => format!("It takes {times} as long as {label} ({ns})."),
        Against::Run(label) if label.is_empty() => {
            format!("It takes {times} as long as in the baseline ({ns}).")
        }
        Against::Run(label) => {
            format!("It takes {times} as long as {label} of the baseline ({ns}).")
        }
    }
}

/// The run's own load is no finding: it is said to be the run's own.
fn own_load(condition: &Combination, main: &Component) -> String {
    let (port, queue) = match main {
        Component::Queue(port) => (Some(port.as_str()), "this queue"),
        // What stops a port fills the queue behind it.
        Component::Paused(port) => match condition.paused.get(port).and_then(WhyPaused::fullest) {
            Some(queue) => (Some(queue), queue),
            None => return String::new(),
        },
        Component::Stages(stages) if *stages == StageSet::only(Stage::LocalQueue) => {
            (None, "this queue")
        }
        _ => return String::new(),
    };
    let loads = condition.loads_through(port).into_iter();
    let loads = loads.map(|load| match load.streams {
        1 => load.name.clone(),
        streams => format!("{}, {streams} streams", load.name),
    });
    let loads: Vec<String> = loads.collect();
    match loads.is_empty() {
        true => String::new(),
        false => format!(
            " The run's own load ({}) goes through {queue}.",
            loads.join("; ")
        ),
    }
}

/// How many of those that had the CPU longest are named.
const MAX_NAMED: usize = 3;

/// ` Something else had the CPU of the prober's host for 57 % of the response: python3 for 36 %, rustc for 21 %.`, where that
/// makes it slow.
fn had_cpu(condition: &Combination) -> String {
    let all = &condition.had_cpu;
    let share: f64 = all.iter().map(|one| one.share).sum();
    if share < MIN_SLOWING_SHARE || share * condition.usual_ns < MIN_SLOWER_NS {
        return String::new();
    }
    let (named, others): (Vec<&HadCpu>, Vec<&HadCpu>) =
        all.iter().partition(|one| one.who.is_some());
    let (named, more) = named.split_at(named.len().min(MAX_NAMED));
    let others: f64 = more.iter().chain(&others).map(|one| one.share).sum();
    let of = |name: &str, share: f64| format!("{name} for {}", format_share(share));
    let named = named.iter();
    let named = named.filter_map(|one| Some(of(&one.name(all)?, one.share)));
    let others = (others > 0.0).then(|| of("others", others));
    let each: Vec<String> = named.chain(others).collect();
    format!(
        " Meanwhile something else had the CPU of the prober's host for {} of the response: {}.",
        format_share(share),
        each.join(", ")
    )
}

impl HadCpu {
    /// `python3`, or where another one of these has that name `python3 (process 4711)`; `None` of several.
    fn name(&self, all: &[HadCpu]) -> Option<String> {
        let (who, kind) = self.who.as_ref()?;
        let names = all.iter().filter_map(|one| one.who.as_ref());
        let alike = names.filter(|(other, _)| other.name == who.name).count();
        let name = match who.process.filter(|_| alike > 1) {
            Some(pid) => format!("{} (process {pid})", who.name),
            None => who.name.clone(),
        };
        Some(match kind {
            NoiseKind::SentinelGap => "something without a name".to_owned(),
            NoiseKind::Interrupt => format!("{name} (an interrupt)"),
            NoiseKind::Softirq => format!("{name} (a softirq)"),
            _ if self.role == Role::Other => name,
            _ => self.role.named(&name),
        })
    }
}

/// What a component is, as the end of `… is`.
fn phrase(condition: &Combination, component: &Component) -> String {
    match component {
        Component::Queue(port) => {
            let queue = condition.queues.get(port);
            let state = match queue {
                Some(queue) if queue.is_full => ", which was full".to_owned(),
                Some(queue) if !queue.dropped.is_empty() => {
                    format!(", which dropped packets ({})", queue.dropped.join(", "))
                }
                _ => String::new(),
            };
            format!("waiting in the queue of {port}{state}")
        }
        Component::Paused(port) => {
            let why = condition.paused.get(port);
            let why = why.map_or_else(String::new, |why| format!(" ({})", why.words()));
            format!("waiting at {port} while it is paused{why}")
        }
        Component::Serialisation(link) => {
            let rate = condition.rates.get(link);
            let rate = rate.map_or_else(String::new, |&rate| {
                format!(" ({})", format_rate(rate as f64))
            });
            format!("serialisation on the link {link}{rate}")
        }
        Component::Links => {
            let slowest = condition.rates.values().min();
            let slowest = slowest.map_or_else(String::new, |&rate| {
                format!(" (the slowest has {})", format_rate(rate as f64))
            });
            format!("serialisation on the links of the path{slowest}")
        }
        Component::Pacing => {
            let rate = condition.paced_at.map(|rate| format_rate(rate as f64));
            format!("pacing by the shaper ({})", rate.unwrap_or_default())
        }
        Component::Propagation => "propagation".to_owned(),
        Component::Latency => format!("the latency of switches{}", latencies(condition)),
        Component::Stages(stages) if is_of_syns(condition, *stages) => {
            format!("the TCP handshake (connect), in which {SYNS_SENT_AGAIN}")
        }
        Component::Stages(stages) => of_stages(*stages),
    }
}

/// ` (6 × 3.00 ms)`: how many switches are passed there and back, and how long each takes.
fn latencies(condition: &Combination) -> String {
    let each = condition.latencies();
    let least = each.iter().copied().fold(f64::INFINITY, f64::min);
    let most = each.iter().copied().fold(0.0, f64::max);
    let ns = match least < most {
        true => format!(
            "{} to {}",
            format_duration_f64(least),
            format_duration_f64(most)
        ),
        false => format_duration_f64(most),
    };
    match each.len() {
        0 => String::new(),
        switches => format!(" ({switches} × {ns})"),
    }
}

/// A server drops SYNs while its accept queue is full: what a handshake takes beyond its round trip is the network's or the
/// server's.
fn is_of_syns(condition: &Combination, stages: StageSet) -> bool {
    stages == StageSet::only(Stage::Connect) && condition.sent_again >= MOST_OF
}

fn of_stages(stages: StageSet) -> String {
    match Component::Stages(stages).place() {
        Place::Prober => format!("time in the prober's host ({stages})"),
        Place::Reflector => "time in the reflector's host".to_owned(),
        Place::Server => "time in the server".to_owned(),
        Place::Resolver => "time in the resolver, which looks the name up".to_owned(),
        Place::Network if stages == StageSet::BOTH_WAYS => {
            "time in the network, in both directions".to_owned()
        }
        Place::Network if stages == StageSet::NETWORK => {
            "time in the network, in connect and both directions".to_owned()
        }
        Place::Network => format!("time in the network ({stages})"),
        Place::Unclear if stages == StageSet::only(Stage::Tls) => {
            "the TLS handshake, which takes a round trip and both ends".to_owned()
        }
        Place::Unclear if stages == StageSet::only(Stage::Transfer) => {
            "the transfer of the reply, from its first byte to its last: the server and the network"
                .to_owned()
        }
        Place::Unclear => format!("{stages}, which the stamps do not separate"),
    }
}

impl Component {
    /// A short name: `queue of s1→b1`, `serialisation on s1→b1`, `receive wake-up`.
    pub fn name(&self) -> String {
        match self {
            Component::Queue(port) => format!("queue of {port}"),
            Component::Paused(port) => format!("pauses of {port}"),
            Component::Serialisation(link) => format!("serialisation on {link}"),
            Component::Links => "serialisation".to_owned(),
            Component::Pacing => "pacing by the shaper".to_owned(),
            Component::Propagation => "propagation".to_owned(),
            Component::Latency => "latency of switches".to_owned(),
            Component::Stages(stages) => stages.name(),
        }
    }
}

const fn is_sending(component: &Component) -> bool {
    matches!(component, Component::Serialisation(_) | Component::Links)
}

/// The minimum delay, where most of the response is that.
fn least(condition: &Combination) -> Option<f64> {
    let least = in_min_delay(&condition.spent);
    (least >= MOST_OF * condition.usual_ns).then_some(least)
}

fn parts_of_least(condition: &Combination) -> String {
    let propagation = condition.in_component(&Component::Propagation);
    let sending = condition.in_component(&Component::Links);
    let latency = condition.in_component(&Component::Latency);
    let latency = match latency > 0.0 {
        true => format!("{} latency of switches, ", format_duration_f64(latency)),
        false => String::new(),
    };
    format!(
        " ({latency}{} propagation, {} serialisation{})",
        format_duration_f64(propagation),
        format_duration_f64(sending),
        slow_link(condition).unwrap_or_default()
    )
}

/// `, most of it on the link s2–s3 (1 Mbit/s)`, where serialisation is worth being named.
fn slow_link(condition: &Combination) -> Option<String> {
    let slow = condition.slow_link()?;
    let Component::Serialisation(link) = &slow.component else {
        return None;
    };
    let rate = condition.rates.get(link)?;
    (slow.ns >= WORTH_NAMING * condition.usual_ns && condition.rates.len() > 1).then(|| {
        format!(
            ", most of it on the link {link} ({})",
            format_rate(*rate as f64)
        )
    })
}

fn length(condition: &Combination, several: bool) -> String {
    let ns = format_duration_f64(condition.usual_ns);
    let whose = match several {
        true => format!("{ns} of {}", condition.label),
        false => ns,
    };
    match with_late(condition.usual_ns, condition.mean_ns) {
        Some(mean) => format!("{whose} ({mean} with late packets)"),
        None => whose,
    }
}

/// `: at most 22.1 ms against 20.4 ms`.
fn best(slow: &Slow) -> String {
    let all = slow.conditions.iter().map(|condition| condition.usual_ns);
    let most = all.clone().fold(0.0, f64::max);
    let least = all.fold(f64::INFINITY, f64::min);
    format!(
        " ({} to {})",
        format_duration_f64(least),
        format_duration_f64(most)
    )
}
