//! Causes of late packets in words: headlines here, the answer, evidence and remedies in files of their own.

mod answer;
mod evidence;
mod remedy;
#[cfg(test)]
mod tests;

pub(super) use answer::answer;
pub(super) use evidence::evidence;
pub(super) use remedy::remedy;

use super::gather::Gathered;
use super::paused::WhyPaused;
use super::tally::Tally;
use super::{Cause, CauseContext};
use delaylab_model::noise::{NoiseKind, TRACER};
use delaylab_stats::anatomy::{Stage, StageSet};
use delaylab_stats::attribution::LateCause;
use delaylab_stats::trains::Owner;
use std::sync::Arc;

impl Cause {
    /// A process by its name, and where others have that by its number as well.
    fn name_of(&self, who: &Owner) -> String {
        match who.process.filter(|_| self.shares_name) {
            Some(pid) => format!("{}, process {pid}", who.name),
            None => who.name.clone(),
        }
    }

    /// What was seen: `another process (cron) had the CPU`.
    fn ran(&self, who: &Owner, kind: NoiseKind, cpu: &str) -> String {
        let name = self.name_of(who);
        match kind {
            NoiseKind::Scheduled => format!("{} had {cpu}", self.role.named(&name)),
            NoiseKind::Interrupt => format!("{name} (an interrupt) had {cpu}"),
            NoiseKind::Softirq => format!("{name} (a softirq) had {cpu}"),
            NoiseKind::SentinelGap => format!("something without a name had {cpu}"),
            NoiseKind::SlowClockRead => "clock reads were slow".to_owned(),
            NoiseKind::Stopped => format!("{name} was stopped"),
        }
    }

    /// What it is, as a headline: `planted-noise had the CPU`.
    pub fn headline(&self) -> String {
        match &self.what {
            LateCause::Ran { who, .. } if self.driven.is_some() => {
                format!("{} ran for the probe's own packets", self.name_of(who))
            }
            LateCause::Ran { who, kind } => self.ran(who, *kind, "the CPU"),
            LateCause::Others => {
                "several other processes had the CPU, one after the other".to_owned()
            }
            LateCause::SentAgain => "segments that TCP sent again".to_owned(),
            LateCause::Prober { stages } => format!("the prober's host, in {stages}"),
            LateCause::Reflector { here: true } => "the reflector, on this host".to_owned(),
            LateCause::Reflector { here: false } => "the reflector's host".to_owned(),
            LateCause::Queue { port } => format!("the queue of {port}"),
            LateCause::Paused { port } => format!("{port}, which was paused"),
            LateCause::Network { stages } => format!("the network, in {stages}"),
            LateCause::Server => "the server".to_owned(),
            LateCause::NewConnection { busy: true } => {
                "new connections, made while every other one waited for a reply".to_owned()
            }
            LateCause::NewConnection { busy: false } => {
                "new connections, made because the ones before had ended".to_owned()
            }
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

/// Why a port was paused as it held packets: a reason for each way in which it was, over all trials.
fn why_paused(port: &Arc<str>, tally: &Tally, gathered: &Gathered<'_>) -> Vec<WhyPaused> {
    let streams = tally.due.keys().map(|&at| &gathered.streams[at]);
    let mut reasons: Vec<WhyPaused> = Vec::new();
    for why in streams.filter_map(|stream| stream.paused.get(port)) {
        if !reasons.iter().any(|known| known.is_like(why)) {
            reasons.push(why.clone());
        }
    }
    reasons
}

/// A thread that does not run for so long, though nothing has its CPU, is not ready. What is shorter may be a hypervisor, a CPU
/// that wakes up, or a handler that is too short to be seen.
const STALL_NS: f64 = 5e6;

/// Did the thread that packets waited for not run, though nothing kept it from a CPU? It was stopped for most of them, or they waited
/// long while nothing that was watched had its CPU.
fn is_stall(sources: &[String], packets: u64, stopped: u64, excess_ns: f64) -> bool {
    let watched = sources.iter().any(|source| source == TRACER);
    is_mostly_stopped(stopped, packets) || watched && excess_ns >= STALL_NS * packets as f64
}

/// [`is_stall`] of the packets of a cause.
fn is_stall_of(tally: &Tally, gathered: &Gathered<'_>) -> bool {
    is_stall(
        &gathered.sources,
        tally.packets,
        tally.stopped,
        tally.excess_ns,
    )
}

/// Was the thread that packets waited for stopped for half of them, or more?
const fn is_mostly_stopped(stopped: u64, packets: u64) -> bool {
    stopped > 0 && 2 * stopped >= packets
}

/// A delay of a TCP probe that is this long on average is most often that of a segment which was lost: half of the shortest time-out
/// after which Linux sends a segment again, 200 ms, as packets that are due meanwhile wait for the rest of it.
const LIKELY_SENT_AGAIN_NS: f64 = 100e6;

fn is_likely_sent_again(tally: &Tally, seen: &CauseContext<'_>) -> bool {
    let known = 2 * tally.sent_again >= tally.packets;
    let mean = tally.excess_ns / tally.packets as f64;
    let likely = mean >= LIKELY_SENT_AGAIN_NS && !seen.drops.is_empty();
    tally.over_tcp == tally.packets && (known || likely)
}

const fn waited_for_a_cpu(stages: StageSet) -> bool {
    stages.contains(Stage::ScheduleSlip) || stages.contains(Stage::ReceiveWakeup)
}
