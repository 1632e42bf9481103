//! One JSON document at the end of `delaylab explain --json`, and its JSON Schema.
//!
//! As in `ping`: whole nanoseconds, names of times end in `_ns`, what is not known is null.

use crate::json::{Interval, Levels, Measured, Published, Reasons, levels, reasons, whole};
use delaylab_explain::causes::blackouts::Blackout;
use delaylab_explain::causes::changes::Scope;
use delaylab_explain::causes::changes::Visible;
use delaylab_explain::causes::effects::{self, Shift};
use delaylab_explain::causes::rhythm::{Basis, Rhythm};
use delaylab_explain::causes::slow::{self, Against};
use delaylab_explain::causes::spent::{self, Component};
use delaylab_explain::causes::stages::StageMeans;
use delaylab_explain::causes::unknown::Unknown;
use delaylab_explain::causes::ways::{Clocks, OneWay};
use delaylab_explain::causes::{self, Explanation};
use delaylab_model::Nanos;
use delaylab_stats::anatomy::{Part, Place, StageSet};
use delaylab_stats::attribution::LateCause;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The whole document.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Document<'a> {
    /// The run's folder.
    pub run: String,
    /// What is slow, then whose fault late packets are: in a few sentences.
    pub answer: String,
    /// Combinations of levels of which no packet was answered.
    pub blackouts: Vec<Blackout>,
    /// What every packet of a condition pays, against a better one: the slowest first.
    pub conditions: Vec<Condition<'a>>,
    /// Packets that were sent.
    pub sent: u64,
    /// Packets that were answered.
    pub answered: u64,
    /// Packets that took far longer than the others of their stream.
    pub late: u64,
    /// How many times that happened: packets that were under way together are one event.
    pub events: u64,
    /// What they took longer than usual, altogether.
    pub lost_ns: Nanos,
    /// What said who had the CPU.
    pub sources: Vec<String>,
    /// How a packet that was not late spent its time, on average over all conditions, by stage.
    pub usual_ns: BTreeMap<String, Nanos>,
    /// What late packets of all conditions took longer than usual, altogether, by stage.
    pub excess_ns: BTreeMap<String, Nanos>,
    /// The same of each condition that had late packets, the most excess delay first; where the mean responses of conditions agree,
    /// once for all.
    pub stages: Vec<Stages<'a>>,
    /// The way there and the way back of each probe, where the stamps tell them apart: of each condition, the longest median
    /// first, or once for all conditions where these agree.
    pub ways: Vec<Way<'a>>,
    /// Why they were late: most excess delay first.
    pub causes: Vec<Cause>,
    /// What was varied, and what it does.
    pub effects: Vec<Effect>,
    /// When the response changed its level.
    pub changes: Vec<Change>,
    /// Smaller or shorter changes were looked for and may have been missed; null where no trial was long
    /// enough to be looked at.
    pub changes_visible: Option<Visible>,
    /// What is not known, and what would show it.
    pub unknown: Vec<Unknown>,
}

/// What was asked for.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Config<'a> {
    /// The run as named by the user.
    pub run: &'a str,
    /// What conditions are compared with: a run as named by the user, or `idle`; null: the best one with the same load.
    pub baseline: Option<&'a str>,
}

impl<'a> Published for Document<'a> {
    type Config = Config<'a>;
    const SCHEMA: &'static str = "delaylab/explain/2";
    const TITLE: &'static str = "delaylab explain";
}

/// One combination of levels and one probe.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Condition<'a> {
    /// The level of each factor.
    pub factors: Levels<'a>,
    /// The probe's name.
    pub probe: String,
    /// The run's own load in it: how many streams of each.
    pub load: BTreeMap<String, u32>,
    /// Packets that were due.
    pub packets: u64,
    /// Packets that were answered.
    pub answered: u64,
    /// Packets that took far longer than the others of their stream.
    pub late: u64,
    /// The median response.
    pub response_p50_ns: Nanos,
    /// The mean response of packets that were not late. `spent` adds up to it.
    pub usual_ns: Nanos,
    /// The mean response of all packets that were answered.
    pub mean_ns: Nanos,
    /// Does it take much longer than what it is compared with?
    pub slow: bool,
    /// `condition`, `least_delay` or `run`.
    pub against: &'static str,
    /// That condition's label; null for the minimum delay.
    pub against_label: Option<String>,
    /// How long that takes; null where it is not known.
    pub against_ns: Option<Nanos>,
    /// Where packets spend their time.
    pub spent: Vec<Spent>,
    /// What they met in queues; empty where the path cannot be seen into.
    pub queues: Vec<Queue<'a>>,
    /// What had the CPU of the prober's host while packets that were not late waited for it, the longest first; where that host
    /// takes a quarter of `usual_ns` or more, and is watched.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub had_cpu: Vec<HadCpu>,
}

/// Something that had the CPU while packets waited for it. What the probe's own packets wake is left out.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct HadCpu {
    /// The process, interrupt or softirq; null of all that had it for less than 5 % of the response each, together.
    pub name: Option<String>,
    /// Its process number; null where it is no process, and of several.
    pub pid: Option<u32>,
    /// What part it has in the measurement: as of causes.
    pub role: &'static str,
    /// For which share of the response, 0 to 1.
    pub share_of_response: f64,
}

/// What takes a packet's time.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Spent {
    /// `stage`, `queue`, `paused`, `serialisation`, `pacing`, `propagation` or `latency` (of switches).
    pub kind: &'static str,
    /// `prober`, `reflector`, `network`, `server`, `resolver` or `unclear`.
    #[schemars(with = "String")]
    pub place: Place,
    /// The stages, the port whose queue or pause it is, or the link.
    pub name: String,
    /// How long, on average; in a queue of the kernel about.
    pub ns: Nanos,
    /// How much of that is beyond what the condition is compared with.
    pub longer_ns: Nanos,
}

/// What packets met in one queue.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Queue<'a> {
    /// The port whose queue it is.
    port: &'a str,
    #[serde(flatten)]
    met: &'a slow::Queue,
}

/// How packets of one condition, or of all, spent their time.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Stages<'a> {
    /// The level of each factor; null of all conditions.
    pub factors: Option<Levels<'a>>,
    /// The probe's name; null of all conditions.
    pub probe: Option<&'a str>,
    /// Packets that were late.
    pub late: u64,
    /// What they took longer than usual, altogether.
    pub lost_ns: Nanos,
    /// How a packet that was not late spent its time, on average, by stage.
    pub usual_ns: BTreeMap<String, Nanos>,
    /// What late packets took longer than usual, altogether, by stage.
    pub excess_ns: BTreeMap<String, Nanos>,
}

/// One probe's packets, one way.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Way<'a> {
    /// The probe's name.
    pub probe: String,
    /// The level of each factor; null of all conditions.
    pub factors: Option<Levels<'a>>,
    /// `forward` or `return`.
    pub direction: &'static str,
    /// Packets that this is made of.
    pub packets: usize,
    /// Delay above the least, of the same trial, or by one clock of all trials with the same path: its median.
    pub above_p50_ns: Option<Nanos>,
    /// The 90th percentile.
    pub above_p90_ns: Option<Nanos>,
    /// The 99th.
    pub above_p99_ns: Option<Nanos>,
    /// The 99.9th; null where so few packets do not carry it.
    pub above_p999_ns: Option<Nanos>,
    /// `one`, `synchronised` or `skewed`.
    pub clocks: &'static str,
    /// Synchronised clocks: how wrong a one-way delay may be.
    pub error_ns: Option<Nanos>,
    /// Skewed clocks: by how much the receiver's is faster, which was taken out.
    pub skew_ppm: Option<f64>,
    /// The interval of that.
    pub skew_interval_ppm: Option<Interval>,
}

/// One cause of late packets.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Cause {
    /// `ran`, `others`, `prober`, `reflector`, `queue`, `paused`, `sent_again`, `network`, `server`, `new_connection`, `resolver`, `unclear`, `clock`.
    pub kind: &'static str,
    /// `prober`, `reflector`, `network`, `server`, `resolver` or `unclear`.
    #[schemars(with = "String")]
    pub place: Place,
    /// The process, interrupt, or port whose queue or pause it is; null where it has no name.
    pub name: Option<String>,
    /// Packets that were late by it.
    pub packets: u64,
    /// How many times that happened: packets that were under way together are one event.
    pub events: u64,
    /// Of the late packets that no own load (`role`) delayed, 0 to 1; of an own load, of all late packets.
    pub share_of_late: f64,
    /// Of the excess delay of these, 0 to 1, in the same way.
    pub share_of_lost: f64,
    /// What its packets took longer than usual, altogether.
    pub lost_ns: Nanos,
    /// What its worst packet took longer than usual.
    pub worst_ns: Nanos,
    /// What part the process has in the measurement: `other`, `prober`, `reflector`, `watch`, or the run's own `load` and
    /// `stress`, which are no finding; null where it is no process.
    pub role: Option<&'static str>,
    /// Which process it is; null where it is none, or several short-lived ones of one name.
    pub process: Option<Process>,
    /// How it follows the probe's packets, where it runs because of them: it then has no period of its own.
    pub driven: Option<Driven>,
    /// At which intervals it comes; null where it does not.
    pub period: Option<Period>,
    /// Packets by the stage in which they were late.
    pub stages: BTreeMap<String, u64>,
    /// What this is known from, a sentence each.
    pub evidence: Vec<String>,
    /// What to do about it.
    pub remedy: String,
}

/// A process that had the CPU. Two of one name, and two of one number, are two causes.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// When it started, since the host did; null where it was gone before it could be asked.
    pub started_ns: Option<Nanos>,
    /// Its command line, cut; empty for a thread of the kernel.
    pub command: Option<String>,
    /// Its systemd unit, or its cgroup where that is no unit's.
    pub unit: Option<String>,
}

/// How a process follows the probe's packets.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct Driven {
    /// From the sending of a packet to its run: the median; below 0 before it.
    pub after_ns: Nanos,
    /// Share of its runs that follow a packet so, 0 to 1.
    pub share_of_runs: f64,
    /// Share of the packets that have such a run, 0 to 1.
    pub share_of_packets: f64,
}

/// At which intervals a cause comes.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Period {
    /// From one to the next.
    pub period_ns: f64,
    /// Standard error of that.
    pub error_ns: f64,
    /// `runs`: of the process itself; `packets`: of the late packets.
    pub of: &'static str,
    /// How many of them.
    pub count: usize,
    /// Names of processes that have that period.
    pub matches: Vec<String>,
}

/// What one level of a factor does in comparison with another.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Effect {
    /// The factor.
    pub factor: String,
    /// The level that the other is compared with.
    pub from: String,
    /// The other.
    pub to: String,
    /// By which the median response is longer.
    pub p50: Difference,
    /// By which the 99th percentile of the response is longer.
    pub p99: Difference,
}

/// A difference with its interval.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Difference {
    /// The difference; null without packets, or with too few for such a quantile.
    pub ns: Option<Nanos>,
    /// The interval of that.
    pub interval_ns: Measured<Interval>,
    /// Why fields of this object are null.
    #[serde(skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
}

/// A change of the median response.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Change {
    /// The trial in which, or from which on.
    pub trial: u32,
    /// The probe; null where it is from trial to trial.
    pub probe: Option<String>,
    /// Since the trial's first packet was due; null where it is from trial to trial.
    pub after_ns: Option<Nanos>,
    /// Relative difference of the level.
    pub relative: f64,
    /// The interval of that; null where a level has too few packets for one, or they resemble each other too much.
    pub relative_interval: Option<Interval>,
    /// The stages that moved by two thirds of it or more; null where the stamps do not tell several apart, or where it is in many.
    pub stages: Option<String>,
}

/// The document of this explanation.
pub fn document<'a>(run: &str, found: &'a Explanation) -> Document<'a> {
    Document {
        run: run.to_owned(),
        answer: found.answer(),
        blackouts: found.blackouts.clone(),
        conditions: found.slow.conditions.iter().map(of_condition).collect(),
        sent: found.sent,
        answered: found.answered,
        late: found.late,
        events: found.events,
        lost_ns: whole(found.lost_ns),
        sources: found.sources.clone(),
        usual_ns: by_stage(&found.all_stages.usual),
        excess_ns: by_stage(&found.all_stages.excess),
        stages: found.stages.iter().map(of_stages).collect(),
        ways: found.ways.iter().map(of_way).collect(),
        causes: (found.causes.iter())
            .map(|cause| of_cause(found, cause))
            .collect(),
        effects: found.effects.iter().map(of_effect).collect(),
        changes: found.changes.found.iter().map(of_change).collect(),
        changes_visible: found.changes.visible,
        unknown: found.unknown.clone(),
    }
}

fn by_stage(parts: &[Part]) -> BTreeMap<String, Nanos> {
    let parts = parts.iter();
    parts
        .map(|part| (part.stages.key(), whole(part.ns)))
        .collect()
}

fn of_condition(condition: &slow::Condition) -> Condition<'_> {
    let (against, against_label) = match &condition.against {
        Against::Condition(label) => ("condition", Some(label.clone())),
        Against::LeastDelay => ("least_delay", None),
        Against::Run(label) => ("run", Some(label.clone())),
    };
    Condition {
        factors: levels(&condition.factors),
        probe: condition.probe.clone(),
        load: condition.loads.iter().cloned().collect(),
        packets: condition.packets,
        answered: condition.answered,
        late: condition.late_packets(),
        response_p50_ns: whole(condition.median_ns),
        usual_ns: whole(condition.usual_ns),
        mean_ns: whole(condition.mean_ns),
        slow: condition.is_slow(),
        against,
        against_label,
        against_ns: condition.against_ns.map(whole),
        spent: (condition.spent.iter())
            .map(|spent| of_spent(condition, spent))
            .collect(),
        queues: (condition.queues.iter())
            .map(|(port, met)| Queue { port, met })
            .collect(),
        had_cpu: condition.had_cpu.iter().map(of_had_cpu).collect(),
    }
}

fn of_had_cpu(had: &slow::HadCpu) -> HadCpu {
    let who = had.who.as_ref().map(|(who, _)| who);
    HadCpu {
        name: who.map(|who| who.name.clone()),
        pid: who.and_then(|who| who.process),
        role: had.role.key(),
        share_of_response: had.share,
    }
}

fn of_spent(condition: &slow::Condition, spent: &spent::Spent) -> Spent {
    let (kind, name) = match &spent.component {
        Component::Stages(stages) => ("stage", stages.key()),
        Component::Queue(port) => ("queue", port.clone()),
        Component::Paused(port) => ("paused", port.clone()),
        Component::Serialisation(link) => ("serialisation", link.clone()),
        Component::Links => ("serialisation", String::new()),
        Component::Pacing => ("pacing", String::new()),
        Component::Propagation => ("propagation", String::new()),
        Component::Latency => ("latency", String::new()),
    };
    let mut longer = condition.longer.iter();
    let longer = longer.find(|longer| longer.component == spent.component);
    Spent {
        kind,
        place: spent.component.place(),
        name,
        ns: whole(spent.ns),
        longer_ns: longer.map_or(0, |longer| whole(longer.ns)),
    }
}

fn of_stages(stages: &StageMeans) -> Stages<'_> {
    Stages {
        factors: stages.factors.as_deref().map(levels),
        probe: stages.probe.as_deref(),
        late: stages.late,
        lost_ns: whole(stages.lost_ns),
        usual_ns: by_stage(&stages.usual),
        excess_ns: by_stage(&stages.excess),
    }
}

fn of_way(way: &OneWay) -> Way<'_> {
    let [p50, p90, p99, p999] = way.above.map(|ns| ns.map(whole));
    let (clocks, error_ns, skew) = match way.clocks {
        Clocks::One => ("one", None, None),
        Clocks::Synchronised(error) => ("synchronised", Some(error), None),
        Clocks::Skewed(ppm, (low, high)) => ("skewed", None, Some((ppm, Interval::new(low, high)))),
    };
    Way {
        probe: way.probe.clone(),
        factors: way.factors.as_deref().map(levels),
        direction: way.direction.name(),
        packets: way.packets,
        above_p50_ns: p50,
        above_p90_ns: p90,
        above_p99_ns: p99,
        above_p999_ns: p999,
        clocks,
        error_ns,
        skew_ppm: skew.map(|(ppm, _)| ppm),
        skew_interval_ppm: skew.map(|(_, interval)| interval),
    }
}

fn of_cause(found: &Explanation, cause: &causes::Cause) -> Cause {
    let stages = cause.stages.iter();
    Cause {
        kind: kind(&cause.what),
        place: cause.what.place(),
        name: name(&cause.what),
        packets: cause.packets,
        events: cause.events,
        share_of_late: found.share_of_late(cause),
        share_of_lost: found.share_of_lost(cause),
        lost_ns: whole(cause.lost_ns),
        worst_ns: whole(cause.worst.excess_ns),
        role: matches!(cause.what, LateCause::Ran { .. }).then(|| cause.role.key()),
        process: process(cause),
        driven: cause.driven.map(|driven| Driven {
            after_ns: whole(driven.after_ns),
            share_of_runs: driven.share,
            share_of_packets: driven.packets,
        }),
        period: cause.rhythm.as_ref().map(period),
        stages: stages
            .map(|(stages, count)| (stages.key(), *count))
            .collect(),
        evidence: cause.evidence.clone(),
        remedy: cause.remedy.clone(),
    }
}

const fn kind(what: &LateCause) -> &'static str {
    match what {
        LateCause::Ran { .. } => "ran",
        LateCause::Others => "others",
        LateCause::Prober { .. } => "prober",
        LateCause::Reflector { .. } => "reflector",
        LateCause::Queue { .. } => "queue",
        LateCause::Paused { .. } => "paused",
        LateCause::SentAgain => "sent_again",
        LateCause::Network { .. } => "network",
        LateCause::Server => "server",
        LateCause::NewConnection { .. } => "new_connection",
        LateCause::Resolver => "resolver",
        LateCause::Unclear { .. } => "unclear",
        LateCause::Clock => "clock",
    }
}

fn name(what: &LateCause) -> Option<String> {
    match what {
        LateCause::Ran { who, .. } => Some(who.name.clone()),
        LateCause::Queue { port } | LateCause::Paused { port } => Some(port.to_string()),
        _ => None,
    }
}

fn process(cause: &causes::Cause) -> Option<Process> {
    let LateCause::Ran { who, .. } = &cause.what else {
        return None;
    };
    Some(Process {
        pid: who.process?,
        started_ns: who.started,
        command: (cause.process.as_ref()).map(|process| process.command.clone()),
        unit: who.unit.clone(),
    })
}

fn period(rhythm: &Rhythm) -> Period {
    let (of, count) = match rhythm.basis {
        Basis::Runs(runs) => ("runs", runs),
        Basis::Packets(packets, _) => ("packets", packets),
    };
    Period {
        period_ns: rhythm.period_ns,
        error_ns: rhythm.error_ns,
        of,
        count,
        matches: rhythm
            .matches
            .iter()
            .map(|found| found.name.clone())
            .collect(),
    }
}

fn of_effect(effect: &effects::Effect) -> Effect {
    let shift = |at: usize| {
        effect
            .shifts
            .get(at)
            .map(difference)
            .unwrap_or_else(nothing)
    };
    Effect {
        factor: effect.factor.clone(),
        from: effect.from.to_string(),
        to: effect.to.to_string(),
        p50: shift(0),
        p99: shift(1),
    }
}

fn difference(shift: &Shift) -> Difference {
    let finite = |ns: f64| Some(ns).filter(|ns| ns.is_finite()).map(whole);
    let interval = shift.interval.as_ref();
    let interval = interval.map(|bounds| Interval::new(bounds.low, bounds.high));
    of_difference(
        shift.difference_ns.and_then(finite),
        interval.map_err(|none| none.reason.clone()).into(),
    )
}

fn of_difference(ns: Option<Nanos>, interval: Measured<Interval>) -> Difference {
    Difference {
        ns,
        reasons: reasons([("interval_ns", interval.missing())]),
        interval_ns: interval,
    }
}

fn nothing() -> Difference {
    of_difference(None, Measured::Missing("no packets".to_owned()))
}

fn of_change(change: &causes::changes::Change) -> Change {
    let (trial, probe, after_ns) = match &change.scope {
        Scope::Within {
            trial,
            probe,
            after,
        } => (*trial, Some(probe.clone()), Some(*after)),
        Scope::Between { trial } => (*trial, None, None),
    };
    Change {
        trial,
        probe,
        after_ns,
        relative: change.after / change.before - 1.0,
        relative_interval: change.relative.map(|(low, high)| Interval::new(low, high)),
        stages: change.stages.map(StageSet::key),
    }
}
