//! One JSON document at the end of `delaylab explain --json`, and its JSON Schema.
//!
//! As in `ping`: whole nanoseconds, names of times end in `_ns`, what is not known is null. What people read as a late packet is an
//! excursion here: `late` is a packet that was answered after its time-out, as in all documents.

use crate::json::{Interval, Levels, Measured, Published, Reasons, levels, whole, with_reasons};
use delaylab_explain::causes::blackouts::Blackout;
use delaylab_explain::causes::changes::Scope;
use delaylab_explain::causes::changes::Visible;
use delaylab_explain::causes::effects::{self, Shift};
use delaylab_explain::causes::rhythm::{Basis, Rhythm};
use delaylab_explain::causes::slow::{self, Against};
use delaylab_explain::causes::spent::{self, Component};
use delaylab_explain::causes::stages::StageTimes;
use delaylab_explain::causes::unknown::Unknown;
use delaylab_explain::causes::ways::{Clocks, OneWay};
use delaylab_explain::causes::{self, Explanation};
use delaylab_model::Nanos;
use delaylab_stats::anatomy::{Place, StageSet, in_common};
use delaylab_stats::attribution::LateCause;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The whole document.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Document<'a> {
    /// The run's folder.
    pub folder: String,
    /// What is slow, then whose fault excursions are: in a few sentences.
    pub sentence: String,
    /// Combinations of levels of which no packet was answered in time.
    pub blackouts: Vec<Blackout>,
    /// What every packet of a condition pays, against a better one: the slowest first.
    pub conditions: Vec<Condition<'a>>,
    /// Packets that were sent.
    pub sent: u64,
    /// Packets that were answered in time.
    pub received: u64,
    /// Packets that were answered after their time-out.
    pub late: u64,
    /// How packets of all conditions spent their time, and what excursions took longer.
    #[serde(flatten)]
    pub excess: Excess,
    /// How many times excursions happened: packets that were under way together are one event.
    pub events: u64,
    /// What recorded which processes and interrupts had the CPU.
    pub sources: Vec<String>,
    /// Excursions of each condition that had some, the most excess delay first; where the mean responses of conditions agree,
    /// once for all.
    pub by_condition: Vec<ConditionExcess<'a>>,
    /// The way there and the way back of each probe, where the stamps tell them apart: of each condition, the longest median
    /// first, or once for all conditions where these agree.
    pub ways: Vec<Way<'a>>,
    /// Why there were excursions: most excess delay first.
    pub causes: Vec<Cause>,
    /// What was varied, and what it does.
    pub effects: Vec<Effect>,
    /// When the response changed its level.
    pub changes: Vec<Change>,
    /// Smaller or shorter changes were looked for and may have been missed.
    pub changes_visible: Measured<Visible>,
    /// What is not known, and what would show it.
    pub unknown: Vec<Unknown>,
    /// Why fields of this object are null.
    #[serde(skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
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
    const SCHEMA: &'static str = "delaylab/explain/3";
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
    pub due: u64,
    /// Share of the packets that were sent that was never answered, 0 to 1.
    pub loss: f64,
    /// Packets that took far longer than the others of their stream.
    pub excursions: u64,
    /// What packets took that were answered, in time or late.
    pub response: Response,
    /// Does it take much longer than what it is compared with?
    pub slow: bool,
    /// What it is compared with.
    pub against: Reference,
    /// Where packets spend their time.
    pub spent: Vec<Spent>,
    /// What they met in queues; empty where the path cannot be seen into.
    pub queues: Vec<Queue<'a>>,
    /// What had the CPU of the prober's host while packets that were no excursions waited for it, the longest first; where that host
    /// takes a quarter of `response.usual_ns` or more, and is watched.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub had_cpu: Vec<HadCpu>,
}

/// Responses of one condition.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct Response {
    /// How many packets.
    pub count: u64,
    /// Their mean.
    pub mean_ns: f64,
    /// Their median.
    pub p50_ns: Nanos,
    /// The mean of those that were no excursions. `spent` adds up to it.
    pub usual_ns: Nanos,
}

/// What a condition is compared with.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Reference {
    /// `condition`: another one of this run; `least_delay`: the minimum delay of its path; `run`: the same condition of another
    /// run.
    pub kind: &'static str,
    /// That condition's label; left out of the minimum delay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// How long packets take there that are no excursions, on average.
    pub usual_ns: Measured<Nanos>,
    /// Why fields of this object are null.
    #[serde(skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
}

/// Something that had the CPU while packets waited for it. What the probe's own packets wake is left out.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct HadCpu {
    /// The process, interrupt or softirq; null of all that had it for less than 5 % of the response each, together.
    pub name: Option<String>,
    /// Its process number; null where it is no process, and of several.
    pub pid: Option<u32>,
    /// What part it has in the measurement: a `role` of causes.
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
    /// How long it takes on average; in a queue of the kernel this is an estimate.
    pub time_ns: Nanos,
    /// How much longer it takes than in what the condition is compared with.
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

/// How packets spent their time, and what excursions took longer.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Excess {
    /// Packets that took far longer than the others of their stream.
    pub excursions: u64,
    /// By how much these took longer than usual, altogether.
    pub excess_ns: Nanos,
    /// That excess by stage, in the order in which a packet passes them.
    pub stages: Vec<StageExcess>,
}

/// One interval of a response: a stage, or several where a stamp between them is missing.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct StageExcess {
    /// The stages, joined by `+`.
    pub stage: String,
    /// How long packets spent there that were no excursions, on average.
    pub usual_ns: Nanos,
    /// What excursions took longer than that there, altogether.
    pub excess_ns: Nanos,
}

/// The excursions of one condition, or of all.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ConditionExcess<'a> {
    /// The level of each factor; left out of all conditions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub factors: Option<Levels<'a>>,
    /// The probe's name; left out of all conditions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probe: Option<&'a str>,
    /// What they took longer.
    #[serde(flatten)]
    pub excess: Excess,
}

/// One probe's packets, one way.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Way<'a> {
    /// The probe's name.
    pub probe: String,
    /// The level of each factor; left out of all conditions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub factors: Option<Levels<'a>>,
    /// `forward` or `return`.
    pub direction: &'static str,
    /// One-way delay above the least, of the same trial, or by one clock of all trials with the same path.
    pub above_least: AboveLeast,
    /// How the clocks at its ends compare.
    pub clocks: TwoClocks,
}

/// Delays above the least of them.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AboveLeast {
    /// How many packets.
    pub count: usize,
    /// Median.
    pub p50_ns: Measured<Nanos>,
    /// 90th percentile.
    pub p90_ns: Measured<Nanos>,
    /// 99th percentile.
    pub p99_ns: Measured<Nanos>,
    /// 99.9th percentile.
    pub p999_ns: Measured<Nanos>,
    /// Why fields of this object are null.
    #[serde(skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
}

/// How the clocks at two ends compare.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TwoClocks {
    /// They are one.
    One,
    /// They are synchronised.
    Synchronised {
        /// How wrong a one-way delay may be.
        error_ns: Nanos,
    },
    /// They run at two paces, which was taken out.
    Skewed {
        /// By how much the receiver's is faster.
        skew_ppm: f64,
        /// The interval of that.
        skew_interval_ppm: Interval,
    },
}

/// One cause of excursions.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Cause {
    /// What it is: `ran` (a process or interrupt had the CPU), `others` (several had it, none for half of the time), `prober` or
    /// `reflector` (its host took the time, for no known process), `queue`, `paused` (a port was paused), `sent_again` (by TCP),
    /// `network` (and no queue that is seen into), `server`, `new_connection`, `resolver` (looking a name up), `unclear` (stamps
    /// are missing), `clock` (it was set, or the host suspended).
    pub kind: &'static str,
    /// `prober`, `reflector`, `network`, `server`, `resolver` or `unclear`.
    #[schemars(with = "String")]
    pub place: Place,
    /// The process, interrupt, or port whose queue or pause it is; null where it has no name.
    pub name: Option<String>,
    /// Packets that took far longer than the others because of it.
    pub excursions: u64,
    /// How many times that happened: packets that were under way together are one event.
    pub events: u64,
    /// Its share of the excursions that no own load (`role`) caused, 0 to 1; of an own load, of all excursions.
    pub share_of_excursions: f64,
    /// Its share of the excess delay of the same excursions, 0 to 1.
    pub share_of_excess: f64,
    /// What its packets took longer than usual, altogether.
    pub excess_ns: Nanos,
    /// What its worst packet took longer than usual.
    pub worst_excess_ns: Nanos,
    /// What part the process has in the measurement: `other`, `prober`, `reflector`, `watch`, or the run's own `load` and
    /// `stress`, which are no finding; null where it is no process.
    pub role: Option<&'static str>,
    /// Which process it is; null where it is none, or several short-lived ones of one name.
    pub process: Option<Process>,
    /// How it follows the probe's packets, where it runs because of them: it then has no period of its own. Null where it does
    /// not.
    pub driven: Option<Driven>,
    /// At which intervals it comes; null where it does not.
    pub period: Option<Period>,
    /// In which stages its packets took longer.
    pub stages: Vec<StageExcursions>,
    /// What this is known from, a sentence each.
    pub evidence: Vec<String>,
    /// What to do about it.
    pub remedy: String,
}

/// Excursions in one stage, or in several where a stamp between them is missing.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct StageExcursions {
    /// The stages, joined by `+`.
    pub stage: String,
    /// How many packets took longer there.
    pub excursions: u64,
}

/// A process that had the CPU. Two of one name, and two of one number, are two causes.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// When it started, since the host did.
    pub started_ns: Measured<Nanos>,
    /// Its command line, cut; empty for a thread of the kernel.
    pub command: Measured<String>,
    /// Its systemd unit, or its cgroup where that is no unit's.
    pub unit: Measured<String>,
    /// Why fields of this object are null.
    #[serde(skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
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
    /// From one run or excursion to the next.
    pub period_ns: f64,
    /// Standard error of `period_ns`.
    pub error_ns: f64,
    /// `runs`: of the process itself; `packets`: of the excursions.
    pub of: &'static str,
    /// How many runs or packets it was found in.
    pub count: usize,
    /// Names of processes that have that period.
    pub matches: Vec<String>,
}

/// What one level of a factor does in comparison with another.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Effect {
    /// The factor.
    pub factor: String,
    /// The level that `to` is compared with.
    pub from: String,
    /// The level whose effect this is.
    pub to: String,
    /// By how much the response is longer at `to` than at `from`.
    pub response: ResponseShift,
}

/// By how much a response is longer.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ResponseShift {
    /// Its median.
    pub p50_ns: Difference,
    /// Its 99th percentile.
    pub p99_ns: Difference,
}

/// A difference with its interval, in the unit of the figure whose name it has.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Difference {
    /// The difference.
    pub difference: Measured<Nanos>,
    /// The interval of `difference`.
    pub interval: Measured<Interval>,
    /// Why fields of this object are null.
    #[serde(skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
}

/// A change of the median response.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Change {
    /// The trial within which it changed, or from whose beginning on.
    pub trial: u32,
    /// The probe; left out where it is from trial to trial.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probe: Option<String>,
    /// When, since the trial's first packet was due; left out where it is from trial to trial.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after_ns: Option<Nanos>,
    /// How far the level moved.
    pub response: LevelShift,
    /// The stages, joined by `+`, that moved by two thirds of it or more; left out where the stamps do not tell several apart, or
    /// where it is in many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
}

/// How far a level of the response moved.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LevelShift {
    /// Its median.
    pub p50_ns: RelativeDifference,
}

/// A difference as a share of the value before, with its interval.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RelativeDifference {
    /// The difference: 0.1 is a tenth longer.
    pub relative: f64,
    /// The interval of `relative`.
    pub relative_interval: Measured<Interval>,
    /// Why fields of this object are null.
    #[serde(skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
}

/// The document of this explanation.
pub fn document<'a>(folder: &str, found: &'a Explanation) -> Document<'a> {
    with_reasons!(Document {
        folder: folder.to_owned(),
        sentence: found.answer(),
        blackouts: found.blackouts.clone(),
        conditions: found.slow.conditions.iter().map(of_condition).collect(),
        sent: found.sent,
        received: found.answered.saturating_sub(found.too_late),
        late: found.too_late,
        excess: excess(&found.all_stages, found.late, found.excess_ns),
        events: found.events,
        sources: found.sources.clone(),
        by_condition: found.stages.iter().map(of_stages).collect(),
        ways: found.ways.iter().map(of_way).collect(),
        causes: (found.causes.iter())
            .map(|cause| of_cause(found, cause))
            .collect(),
        effects: found.effects.iter().map(of_effect).collect(),
        changes: found.changes.found.iter().map(of_change).collect(),
        changes_visible: Measured::or(found.changes.visible, || {
            "no trial is long enough to be looked at".to_owned()
        }),
        unknown: found.unknown.clone(),
    })
}

fn excess(means: &StageTimes, excursions: u64, excess_ns: f64) -> Excess {
    let stages = in_common(&means.usual, &means.excess).into_iter();
    let stages = stages.map(|[usual, more]| StageExcess {
        stage: usual.stages.key(),
        usual_ns: whole(usual.ns),
        excess_ns: whole(more.ns),
    });
    Excess {
        excursions,
        excess_ns: whole(excess_ns),
        stages: stages.collect(),
    }
}

fn of_condition(condition: &slow::Combination) -> Condition<'_> {
    Condition {
        factors: levels(&condition.factors),
        probe: condition.probe.clone(),
        load: condition.loads.iter().cloned().collect(),
        due: condition.packets,
        loss: condition.loss_share,
        excursions: condition.late_packets(),
        response: Response {
            count: condition.answered,
            mean_ns: condition.mean_ns,
            p50_ns: whole(condition.median_ns),
            usual_ns: whole(condition.usual_ns),
        },
        slow: condition.is_slow(),
        against: reference(condition),
        spent: (condition.spent.iter())
            .map(|spent| of_spent(condition, spent))
            .collect(),
        queues: (condition.queues.iter())
            .map(|(port, met)| Queue { port, met })
            .collect(),
        had_cpu: condition.had_cpu.iter().map(of_had_cpu).collect(),
    }
}

fn reference(condition: &slow::Combination) -> Reference {
    let (kind, label) = match &condition.against {
        Against::Combination(label) => ("condition", Some(label.clone())),
        Against::MinDelay => ("least_delay", None),
        Against::Run(label) => ("run", Some(label.clone())),
    };
    let usual_ns = Measured::or(condition.against_ns.map(whole), || {
        "the minimum delay of the path is not known".to_owned()
    });
    with_reasons!(Reference {
        kind,
        label,
        usual_ns,
    })
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

fn of_spent(condition: &slow::Combination, spent: &spent::Spent) -> Spent {
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
        time_ns: whole(spent.ns),
        longer_ns: longer.map_or(0, |longer| whole(longer.ns)),
    }
}

fn of_stages(stages: &StageTimes) -> ConditionExcess<'_> {
    ConditionExcess {
        factors: stages.factors.as_deref().map(levels),
        probe: stages.probe.as_deref(),
        excess: excess(stages, stages.late, stages.excess_ns),
    }
}

fn of_way(way: &OneWay) -> Way<'_> {
    let carried = way.above.map(|ns| {
        Measured::or(ns.map(whole), || {
            format!("{} packets are too few", way.packets)
        })
    });
    let [p50_ns, p90_ns, p99_ns, p999_ns] = carried;
    let above_least = with_reasons!(AboveLeast {
        count: way.packets,
        p50_ns,
        p90_ns,
        p99_ns,
        p999_ns,
    });
    Way {
        probe: way.probe.clone(),
        factors: way.factors.as_deref().map(levels),
        direction: way.direction.name(),
        above_least,
        clocks: match way.clocks {
            Clocks::One => TwoClocks::One,
            Clocks::Synchronised(error_ns) => TwoClocks::Synchronised { error_ns },
            Clocks::Skewed(skew_ppm, (low, high)) => TwoClocks::Skewed {
                skew_ppm,
                skew_interval_ppm: Interval::new(low, high),
            },
        },
    }
}

fn of_cause(found: &Explanation, cause: &causes::Cause) -> Cause {
    let stages = cause.stages.iter();
    let stages = stages.map(|(stages, excursions)| StageExcursions {
        stage: stages.key(),
        excursions: *excursions,
    });
    Cause {
        kind: kind(&cause.what),
        place: cause.what.place(),
        name: name(&cause.what),
        excursions: cause.packets,
        events: cause.events,
        share_of_excursions: found.share_of_late(cause),
        share_of_excess: found.share_of_excess(cause),
        excess_ns: whole(cause.excess_ns),
        worst_excess_ns: whole(cause.worst.excess_ns),
        role: matches!(cause.what, LateCause::Ran { .. }).then(|| cause.role.key()),
        process: process(cause),
        driven: cause.driven.map(|driven| Driven {
            after_ns: whole(driven.after_ns),
            share_of_runs: driven.share,
            share_of_packets: driven.packets,
        }),
        period: cause.rhythm.as_ref().map(period),
        stages: stages.collect(),
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
    let pid = who.process?;
    let command = cause.process.as_ref();
    let command = command.map(|process| process.command.clone());
    let gone = || "it was gone before it could be asked".to_owned();
    Some(with_reasons!(Process {
        pid,
        started_ns: Measured::or(who.started, gone),
        command: Measured::or(command, gone),
        unit: Measured::or(who.unit.clone(), || "its cgroup is not known".to_owned()),
    }))
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
    let of = |at: usize| difference(effect.shifts.get(at));
    Effect {
        factor: effect.factor.clone(),
        from: effect.from.to_string(),
        to: effect.to.to_string(),
        response: ResponseShift {
            p50_ns: of(0),
            p99_ns: of(1),
        },
    }
}

fn difference(shift: Option<&Shift>) -> Difference {
    let none = || "no packets".to_owned();
    let interval = shift.map_or_else(
        || Measured::Missing(none()),
        |shift| {
            let interval = shift.interval.as_ref();
            let interval = interval.map(|bounds| Interval::new(bounds.low, bounds.high));
            interval.map_err(|none| none.reason.clone()).into()
        },
    );
    let known = shift.and_then(|shift| shift.difference_ns);
    let known = known.filter(|ns| ns.is_finite()).map(whole);
    with_reasons!(Difference {
        difference: Measured::or(known, || {
            interval.missing().map_or_else(none, str::to_owned)
        }),
        interval,
    })
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
    let interval = change.relative.map(|(low, high)| Interval::new(low, high));
    let p50_ns = with_reasons!(RelativeDifference {
        relative: change.after / change.before - 1.0,
        relative_interval: Measured::or(interval, || {
            "a level has too few packets, or they resemble each other too much".to_owned()
        }),
    });
    Change {
        trial,
        probe,
        after_ns,
        response: LevelShift { p50_ns },
        stage: change.stages.map(StageSet::key),
    }
}
