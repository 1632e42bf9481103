//! Whose fault late packets are, in a sentence or two.

use super::{is_mostly_stopped, is_stall, waited_for_a_cpu};
use crate::causes::roles::Role;
use crate::causes::{Cause, Explanation};
use delaylab_model::units::{format_duration_f64, format_part, format_share};
use delaylab_model::words::plural;
use delaylab_stats::anatomy::{Place, StageSet};
use delaylab_stats::attribution::LateCause;
use std::collections::BTreeSet;

/// A larger share of the excess delay than this in one combination of levels is worth a word. Chosen by hand: it is most of it.
const MOST_IN_ONE: f64 = 0.5;

/// Whose fault late packets are, in a sentence or two. What the run's own load did is no
/// finding, what the clock did is no delay: both are said apart.
pub(in crate::causes) fn answer(explanation: &Explanation) -> String {
    if explanation.sent == 0 {
        return "No complete trial has a packet: there is nothing to explain.".to_owned();
    }
    if explanation.answered == 0 {
        return "No packet was answered: there is nothing to explain.".to_owned();
    }
    if explanation.answered == explanation.answered_in_summaries {
        return "There are figures of another tool and no packets: whether any was late is not known."
            .to_owned();
    }
    if !explanation.has_times() {
        return "Nothing says when answers came: whether any was late is not known.".to_owned();
    }
    let is_clock = |cause: &&Cause| cause.what == LateCause::Clock;
    let (clock, found): (Vec<&Cause>, Vec<&Cause>) = explanation.found().partition(is_clock);
    let left_out = left_out(explanation, &clock);
    let Some(worst) = found.first() else {
        return match left_out.as_str() {
            "" if explanation.too_late > 0 => format!(
                "No packet took far longer than the others of its stream, though {} of them came after their time-out.",
                explanation.too_late
            ),
            "" => {
                "No packet was late: none took far longer than the others of its stream.".to_owned()
            }
            left_out => format!("No packet was late but for these: {left_out}."),
        };
    };
    let left_out = match left_out.as_str() {
        "" => String::new(),
        left_out => format!(" Not in these figures: {left_out}."),
    };
    whose(explanation, &found, worst) + &left_out
}

/// What is no finding, and how many packets it delayed: `312 packets (1.2 %) that delaylab's own load delayed, as the experiment
/// asks`. A process is named where it is the only one.
fn left_out(explanation: &Explanation, clock: &[&Cause]) -> String {
    let counted = |causes: &[&Cause]| {
        let packets: u64 = causes.iter().map(|cause| cause.packets).sum();
        let share = format_part(packets, explanation.timed());
        format!("{} ({share})", plural(packets, "packet"))
    };
    let of_role = |(role, wanted): (Role, &str)| {
        let causes = explanation
            .run_load_causes()
            .filter(|cause| cause.role == role);
        let causes: Vec<&Cause> = causes.collect();
        let names = causes.iter().filter_map(|cause| cause.what.process());
        let names = names.map(|who| who.name.as_str());
        let names: BTreeSet<&str> = names.collect();
        let mut each = names.iter();
        let who = match (each.next(), each.next()) {
            (None, _) => return None,
            (Some(name), None) => role.named(name),
            _ => role.words().to_owned(),
        };
        Some(format!(
            "{} that {who} delayed, as {wanted} asks",
            counted(&causes)
        ))
    };
    let roles = [
        (Role::Stress, "condition stressed"),
        (Role::Load, "the experiment"),
    ];
    let clock = (!clock.is_empty()).then(|| {
        format!(
            "{} under way when the clock was set or the host suspended (no delays)",
            counted(clock)
        )
    });
    let all: Vec<String> = roles.into_iter().filter_map(of_role).chain(clock).collect();
    all.join("; ")
}

/// `12 of 3000 packets were late (…). Of this excess delay, 66 % arose in the prober's host, 63 % while cron had its CPU.`
fn whose(explanation: &Explanation, found: &[&Cause], worst: &Cause) -> String {
    let lost: f64 = found.iter().map(|cause| cause.excess_ns).sum();
    let of_excess = |ns: f64| if lost > 0.0 { ns / lost } else { 0.0 };
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
        of_excess(causes.map(|cause| cause.excess_ns).sum())
    };
    let shares = places.map(|place| (share_of(place), place));
    let most = shares.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
    let (share, place) = most.unwrap_or((0.0, Place::Unclear));
    let own = found.len() < explanation.causes.len();
    let mut of_place = found.iter().filter(|cause| cause.what.place() == place);
    let worst = of_place.next().unwrap_or(&worst);
    let events = Some(explanation.events).filter(|_| !own);
    let late = late(found, lost, explanation, events);
    let of_worst = format_share(of_excess(worst.excess_ns));
    let Some(whose) = name_of(place, found, explanation) else {
        return unclear(&late, &worst.what, &of_worst);
    };
    let most = what_most(worst, &of_worst, explanation);
    let causes: Vec<&LateCause> = found.iter().map(|cause| &cause.what).collect();
    let where_most = explanation.slow.worst_in(&causes, lost);
    let late = match where_most.filter(|(_, share)| *share > MOST_IN_ONE) {
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

/// Where excess delay arose; `None` where the stamps do not say it.
fn name_of(place: Place, found: &[&Cause], explanation: &Explanation) -> Option<&'static str> {
    Some(match place {
        Place::Prober if in_the_reflector(found) => "this host (prober and reflector)",
        Place::Prober => "the prober's host",
        Place::Reflector if explanation.answers_here() => "the reflector on this host",
        Place::Reflector => "the reflector's host",
        Place::Network => "the network",
        Place::Server => "the server",
        Place::Resolver => "the resolver",
        Place::Unclear => return None,
    })
}

/// What the stamps leave open about late packets; `share`: how much of their excess delay the worst cause has.
fn unclear(late: &str, worst: &LateCause, share: &str) -> String {
    match worst {
        LateCause::NewConnection { busy: true } => format!(
            "{late}. Of this excess delay, {share} is handshakes of new connections, made while every other one waited for a reply."
        ),
        LateCause::Unclear { stages } if stages.touches(StageSet::OF_SERVERS) => {
            format!("{late}; the stamps do not say whether the network or the server is why.")
        }
        _ => format!("{late}; the stamps do not say whether a host or the network is why."),
    }
}

/// `, 63 % while cron had its CPU`: what the worst cause of a place is, and its share of the excess delay.
fn what_most(worst: &Cause, share: &str, explanation: &Explanation) -> String {
    let is_stall = is_stall(
        &explanation.sources,
        worst.packets,
        worst.stopped,
        worst.excess_ns,
    );
    match &worst.what {
        LateCause::Ran { who, .. } if worst.driven.is_some() => {
            format!(
                ", {share} while {} handled the probe's own packets",
                who.name
            )
        }
        LateCause::Ran { who, kind } => {
            format!(", {share} while {}", worst.ran(who, *kind, "its CPU"))
        }
        LateCause::Others => format!(", {share} while several other processes had its CPU"),
        LateCause::Prober { .. } if is_mostly_stopped(worst.stopped, worst.packets) => {
            format!(", {share} while the prober was stopped")
        }
        LateCause::Reflector { here: true } if is_mostly_stopped(worst.stopped, worst.packets) => {
            format!(", {share} while the reflector was stopped")
        }
        LateCause::Prober { stages } if is_stall && waited_for_a_cpu(*stages) => {
            format!(", {share} while the prober did not run (stopped or blocked)")
        }
        LateCause::Reflector { here: true } if is_stall => {
            format!(", {share} while the reflector did not run (stopped or blocked)")
        }
        LateCause::NewConnection { .. } => {
            format!(", {share} because it had ended connections and new ones had to be made")
        }
        LateCause::SentAgain => {
            format!(", {share} because segments were lost and TCP sent them again")
        }
        LateCause::Queue { port } => {
            let load = explanation.slow.load_through(&worst.what);
            let load = match load.as_str() {
                "" => String::new(),
                load => format!(", which the run's own load ({load}) goes through"),
            };
            format!(", {share} in the queue of {port}{load}")
        }
        LateCause::Paused { port } => format!(", {share} at {port} while it was paused"),
        _ => String::new(),
    }
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
fn late(found: &[&Cause], lost: f64, explanation: &Explanation, events: Option<u64>) -> String {
    let answered = explanation.timed();
    let late: u64 = found.iter().map(|cause| cause.packets).sum();
    let mean = format_duration_f64(lost / late.max(1) as f64);
    let share = format_part(late, answered);
    let packets = match (answered, explanation.handshakes) {
        (1, _) => "packet",
        (_, (_, 0)) => "packets",
        // Any of them may have been late.
        _ => "packets and handshakes",
    };
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
