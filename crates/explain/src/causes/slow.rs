//! What is slow: each combination of levels against the best one that is like it, against the minimum delay of its path,
//! or against another run. Lateness is relative to a stream's own median, so it does not see what every packet pays.
//!
//! | file | holds |
//! |---|---|
//! | `slow/conditions.rs` | the combinations of a run |
//! | `slow/against.rs` | what each is held against |
//! | `slow/words.rs` | the answer as a sentence |
//!
//! Where packets of a combination spend their time is [`super::spent`]'s.

mod against;
mod conditions;
#[cfg(test)]
mod tests;
mod words;

pub(super) use conditions::find;

use super::combination::{MIN_SLOWER_NS, SLOW};
use super::line::KnownPath;
use super::paused::WhyPaused;
use super::roles::Role;
use super::spent::{Component, Spent, Usual};
use delaylab_model::load::{Direction, Load};
use delaylab_model::noise::NoiseKind;
use delaylab_model::plan::Factor;
use delaylab_model::probe::HostCondition;
use delaylab_stats::anatomy::{Part, Place, Stage, StageSet};
use delaylab_stats::attribution::LateCause;
use delaylab_stats::trains::Owner;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

// Shares that were chosen by hand: from where on a reader calls it that.

/// What takes less of the response than this does not make it slow, and is not named next to what takes most.
pub(super) const MIN_SLOWING_SHARE: f64 = 0.25;
/// So much of what all links take one of them takes that is named.
const ONE_LINK: f64 = 0.6;
/// So much of what the prober's host takes one stage of it takes that is named alone.
const ONE_PART: f64 = 0.8;
/// What takes less in one direction of the network than in the other, but not less than this share of it, is in both; the handshake,
/// which goes there and back, likewise.
const ALIKE: f64 = 0.5;

/// What conditions are to be held against. What each was held against in the end is [`Against`].
#[derive(Debug, Clone, Copy, Default)]
pub enum Baseline<'a> {
    /// The best that is like them, else the minimum delay of the path.
    #[default]
    Best,
    /// The minimum delay of the path.
    Idle,
    /// Another run.
    Run(&'a Slow),
}

/// What one condition is held against.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Against {
    /// Another combination of levels, by its label.
    Combination(String),
    /// What no packet can do without.
    #[default]
    MinDelay,
    /// A condition of another run, by its label.
    Run(String),
}

/// Every combination of levels, the slowest first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Slow {
    /// Of which something was answered.
    pub conditions: Vec<Combination>,
    /// What they were to be held against.
    baseline: BaselineKind,
}

/// A [`Baseline`] without the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum BaselineKind {
    #[default]
    Best,
    Idle,
    Run,
}

impl Baseline<'_> {
    const fn kind(self) -> BaselineKind {
        match self {
            Baseline::Best => BaselineKind::Best,
            Baseline::Idle => BaselineKind::Idle,
            Baseline::Run(_) => BaselineKind::Run,
        }
    }
}

/// Something that had the CPU of the prober's host while packets waited for it.
#[derive(Debug, Clone, PartialEq)]
pub struct HadCpu {
    /// Which process; for sources without names, what they saw. `None`: several, each of them for a short time.
    pub who: Option<(Owner, NoiseKind)>,
    /// What part the process has in the measurement.
    pub role: Role,
    /// For which share of the responses, 0 to 1.
    pub share: f64,
}

/// One combination of levels, and one probe.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Combination {
    /// Its levels.
    pub factors: Vec<Factor>,
    /// Its probe.
    pub probe: String,
    /// Its levels and, where there are several, its probe: `case fifo, streams 4`.
    pub label: String,
    /// The state of the measuring host.
    pub host: HostCondition,
    /// The run's own load in it: its name, and how many streams.
    pub loads: Vec<(String, u32)>,
    /// Packets that were due; trials that are copies of another one count once.
    pub packets: u64,
    /// Packets that were answered.
    pub answered: u64,
    /// The share of the packets that were sent that were lost, 0 to 1.
    pub loss_share: f64,
    /// Share of the packets that were not late of which TCP sent segments again, 0 to 1.
    pub sent_again: f64,
    /// What late packets were late by: most excess delay first.
    pub late: Vec<OfCause>,
    /// The median response, ns.
    pub median_ns: f64,
    /// The mean response of packets that were not late, ns.
    pub usual_ns: f64,
    /// The mean response of all that were answered, ns.
    pub mean_ns: f64,
    /// Where packets that were not late spend their time, in the stages that what it is compared with tells apart as well:
    /// `hold_against` sets it. It adds up to `usual_ns`.
    pub spent: Vec<Spent>,
    /// What of that is beyond what it is compared with: the largest first.
    pub longer: Vec<Spent>,
    /// What had the CPU of the prober's host while packets that were not late waited for it: the longest first, and last
    /// all others together. Empty where that is not known, and where that host takes little of the response.
    pub had_cpu: Vec<HadCpu>,
    /// What packets that were not late met in queues.
    pub queues: BTreeMap<String, Queue>,
    /// Why ports were paused that held packets.
    pub paused: BTreeMap<String, WhyPaused>,
    /// The rate of each link on the way, bit/s; empty where the path is not known.
    pub rates: BTreeMap<String, u64>,
    /// The rate of the shaper before the path, bit/s, where there is one.
    pub paced_at: Option<u64>,
    /// What it is compared with.
    pub against: Against,
    /// How long packets take there that were not late, ns; of the minimum delay `None` where it is not known.
    pub against_ns: Option<f64>,
    /// How long all packets take there, late ones too, ns; `None` of the minimum delay, which has none.
    against_mean_ns: Option<f64>,
    /// What lines, distance and the switches themselves take, ns; `None` where the path is not known.
    min_delay_ns: Option<f64>,
    raw: Raw,
}

/// Packets of a combination that were late by one cause.
#[derive(Debug, Clone, PartialEq)]
pub struct OfCause {
    /// The cause.
    pub what: LateCause,
    /// How many.
    pub packets: u64,
    /// What they took longer than usual, altogether, ns.
    pub excess_ns: f64,
}

/// What packets met in one queue.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Queue {
    /// What stood before them on average: bytes, or cells where links have cells.
    pub backlog: f64,
    /// The largest that one of them found.
    pub most_backlog: u64,
    /// Why packets were dropped there, if any were.
    pub dropped: Vec<String>,
    /// It dropped because it was full, and packets found it half full or more on average.
    #[serde(rename = "full")]
    pub is_full: bool,
    /// It is the kernel's: how long packets waited in it is an estimate, from what it held.
    #[serde(skip)]
    pub is_estimate: bool,
}

/// What a combination's response is divided by again, each time that it is held against another one.
#[derive(Debug, Clone, PartialEq, Default)]
struct Raw {
    /// Its offered load.
    loads: Vec<Load>,
    /// Mean times in stages, of packets that were not late.
    stages: Vec<Part>,
    usual: Usual,
    known: KnownPath,
}

impl Combination {
    /// Does it take much longer than what it is compared with?
    pub fn is_slow(&self) -> bool {
        self.against_ns.is_some_and(|reference| {
            self.usual_ns >= SLOW * reference && self.usual_ns - reference >= MIN_SLOWER_NS
        })
    }

    /// What it takes beyond that, ns.
    pub fn longer_ns(&self) -> f64 {
        self.usual_ns - self.against_ns.unwrap_or(0.0)
    }

    /// Is it slow against another one only because its path is another one? That is what the experiment asks for.
    fn is_slow_by_its_path(&self) -> bool {
        self.is_slow()
            && self.against != Against::MinDelay
            && self
                .main()
                .is_some_and(|main| main.component.is_part_of_min_delay())
    }

    /// What makes it so slow: the largest part of what it takes longer; of one that is not slow, of all that it takes.
    pub fn main(&self) -> Option<Spent> {
        self.largest(self.parts())
    }

    /// What else takes a good part of that: the largest first.
    fn next_largest(&self, main: &Spent) -> Vec<Spent> {
        let least = MIN_SLOWING_SHARE * self.usual_ns;
        let mut parts = self.parts();
        let mut next_largest = Vec::new();
        let mut last = main.clone();
        loop {
            parts.retain(|part| !last.component.covers(&part.component));
            match self.largest(parts.clone()) {
                Some(next) if next.ns >= least => last = next,
                _ => return next_largest,
            }
            next_largest.push(last.clone());
        }
    }

    /// What it takes longer; of one that is not slow, what it takes at all.
    fn parts(&self) -> Vec<Spent> {
        let mut parts = match self.is_slow() {
            true => self.longer.clone(),
            false => self.spent.clone(),
        };
        if self.is_slow() && self.against == Against::MinDelay {
            // One slow link is a cause as well, though the minimum delay of the path has it.
            parts.extend(self.slow_link().cloned());
        }
        parts
    }

    /// The largest of these, or of what several of them are together.
    fn largest(&self, parts: Vec<Spent>) -> Option<Spent> {
        let of = in_the_prober(in_network(parts));
        let most =
            |of: &mut dyn Iterator<Item = &Spent>| of.max_by(|a, b| a.ns.total_cmp(&b.ns)).cloned();
        let on_a_link = |spent: &&Spent| matches!(spent.component, Component::Serialisation(_));
        let most_of_all = most(&mut of.iter())?;
        let link = most(&mut of.iter().filter(on_a_link));
        let links: f64 = of.iter().filter(on_a_link).map(|spent| spent.ns).sum();
        Some(match link {
            Some(link) if links >= most_of_all.ns && link.ns < ONE_LINK * links => Spent {
                component: Component::Links,
                ns: links,
            },
            Some(link) if links >= most_of_all.ns => link,
            _ => most_of_all,
        })
    }

    /// The link that takes most of what all links take, where one does.
    pub(super) fn slow_link(&self) -> Option<&Spent> {
        let links = self.spent.iter();
        let links = links.filter(|spent| matches!(spent.component, Component::Serialisation(_)));
        let all: f64 = links.clone().map(|spent| spent.ns).sum();
        let most = links.max_by(|a, b| a.ns.total_cmp(&b.ns))?;
        (most.ns > 0.0 && most.ns >= ONE_LINK * all).then_some(most)
    }

    /// What each switch on the way takes of every packet, ns, there and back: of those that take any.
    fn latencies(&self) -> Vec<f64> {
        let links = self.raw.known.links.iter().flatten();
        let latencies = links.map(|link| link.latency_ns);
        latencies.filter(|&ns| ns > 0.0).collect()
    }

    /// How long packets spend in this, ns.
    pub fn in_component(&self, component: &Component) -> f64 {
        let is_in = |spent: &&Spent| component.covers(&spent.component);
        self.spent.iter().filter(is_in).map(|spent| spent.ns).sum()
    }

    /// Packets that were late.
    pub fn late_packets(&self) -> u64 {
        self.late.iter().map(|of_cause| of_cause.packets).sum()
    }

    /// The share of answered packets that were.
    pub fn late_share(&self) -> f64 {
        self.late_packets() as f64 / self.answered.max(1) as f64
    }

    /// The run's own load that goes through the queue of this port, or of the prober's host: where its path is not known, what that
    /// sends.
    fn loads_through(&self, port: Option<&str>) -> Vec<&Load> {
        let known = &self.raw.known;
        let port = port.or(known.first_port.as_deref());
        let goes_through = |load: &&Load| match port {
            Some(port) => {
                let ports = known.ports_of_loads.get(&load.name);
                ports.is_some_and(|ports| ports.contains(port))
            }
            None => load.direction == Direction::Up,
        };
        self.raw.loads.iter().filter(goes_through).collect()
    }

    /// May anything else fill the queue of this port: loads or other probes?
    fn is_shared(&self, port: &str) -> bool {
        let known = &self.raw.known;
        let is_unknown = known.links.iter().all(Vec::is_empty);
        is_unknown
            || !self.loads_through(Some(port)).is_empty()
            || known.ports_of_others.contains(port)
    }
}

/// What the network takes in either direction as one, where neither takes much more than the other: what both directions
/// have in common is why. The same of the handshake and both directions.
fn in_network(mut of: Vec<Spent>) -> Vec<Spent> {
    let in_stages = |of: &[Spent], stages| {
        let component = Component::Stages(stages);
        let mut found = of.iter().filter(|spent| spent.component == component);
        found.next().map_or(0.0, |spent| spent.ns)
    };
    let [there, back, connect] =
        [Stage::ForwardPath, Stage::ReturnPath, Stage::Connect].map(StageSet::only);
    for (one, other, both) in [
        (there, back, StageSet::BOTH_WAYS),
        (connect, StageSet::BOTH_WAYS, StageSet::NETWORK),
    ] {
        let [one, other] = [one, other].map(|stages| in_stages(&of, stages));
        if one.min(other) > ALIKE * one.max(other) {
            of.push(Spent {
                component: Component::Stages(both),
                ns: one + other,
            });
        }
    }
    of
}

/// The stages of the prober's host as one, where none of them is most of what it takes.
fn in_the_prober(mut of: Vec<Spent>) -> Vec<Spent> {
    let (mut all, mut ns, mut most) = (StageSet::default(), 0.0, 0.0_f64);
    for spent in &of {
        if let Component::Stages(stages) = spent.component
            && stages.place() == Place::Prober
        {
            all = all.iter().chain(stages.iter()).collect();
            ns += spent.ns;
            most = most.max(spent.ns);
        }
    }
    if most < ONE_PART * ns {
        of.push(Spent {
            component: Component::Stages(all),
            ns,
        });
    }
    of
}

impl Slow {
    /// What is slow, in a sentence or two; empty where nothing was answered.
    pub fn answer(&self) -> String {
        words::answer(self)
    }

    /// The run's own load that goes through the queue in which packets were late, in every combination in which they were; else empty.
    pub(super) fn load_through(&self, what: &LateCause) -> String {
        let LateCause::Queue { port } = what else {
            return String::new();
        };
        let loads = self.late_by(what);
        let loads = loads.map(|condition| condition.loads_through(Some(port)));
        let loads: Vec<Vec<&Load>> = loads.collect();
        if loads.iter().any(Vec::is_empty) {
            return String::new();
        }
        let names = loads.iter().flatten().map(|load| load.name.as_str());
        let names: BTreeSet<&str> = names.collect();
        names.into_iter().collect::<Vec<_>>().join(", ")
    }

    /// Where packets were late in a queue: may anything else have filled it? Of packets that are in no condition, as handshakes during
    /// requests are, that is not known.
    pub(super) fn others_may_fill(&self, what: &LateCause) -> bool {
        let LateCause::Queue { port } = what else {
            return false;
        };
        let mut late = self.late_by(what).peekable();
        late.peek().is_none() || late.any(|condition| condition.is_shared(port))
    }

    /// Where packets were late in a queue: do they leave it when a shaper lets them, rather than when the line is free?
    pub(super) fn is_shaped(&self, what: &LateCause) -> bool {
        let LateCause::Queue { port } = what else {
            return false;
        };
        let is_shaped = |condition: &Combination| {
            let ports = &condition.raw.known.shaped_ports;
            ports.contains(&**port)
        };
        self.late_by(what).any(is_shaped)
    }

    /// Those with packets that were late by this.
    fn late_by(&self, what: &LateCause) -> impl Iterator<Item = &Combination> {
        let conditions = self.conditions.iter();
        conditions.filter(move |condition| condition.late.iter().any(|late| late.what == *what))
    }

    /// The condition in which these causes cost most, and its share of what they cost in all, where there are several.
    /// Handshakes during requests are in no condition, and what is the same simulation may be in several: what causes cost in all is
    /// `excess_ns`, or more where conditions have more together.
    pub(super) fn worst_in(
        &self,
        causes: &[&LateCause],
        excess_ns: f64,
    ) -> Option<(&Combination, f64)> {
        if self.conditions.len() < 2 {
            return None;
        }
        let lost = |condition: &Combination| -> f64 {
            let late = condition.late.iter();
            let of_these = late.filter(|late| causes.contains(&&late.what));
            of_these.map(|late| late.excess_ns).sum()
        };
        let all: f64 = self.conditions.iter().map(lost).sum();
        let all = all.max(excess_ns);
        let of_each = self.conditions.iter().map(|one| (one, lost(one)));
        let (worst, most) = of_each.max_by(|a, b| a.1.total_cmp(&b.1))?;
        (all > 0.0).then_some((worst, most / all))
    }
}

/// What of this is part of the minimum delay, ns.
fn in_min_delay(spent: &[Spent]) -> f64 {
    let parts = spent.iter();
    let parts = parts.filter(|spent| spent.component.is_part_of_min_delay());
    parts.map(|spent| spent.ns).sum()
}
