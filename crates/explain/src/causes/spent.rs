//! Where the usual packets of a condition spend their time: stages, and within the network the queues in which they
//! waited, the links that sent them and the way that they travelled.
//!
//! What waits in queues is what the run recorded, and for queues of the kernel what these held; what links, distance and
//! switches take follows from the path. None of it is more than what is left of the stage. The rest keeps the stage's name. All
//! of it adds up to the mean response.

use super::anatomies::Anatomies;
use super::kernel_queues::{KernelQueue, MetEstimate};
use super::line::{self, KnownPath};
use delaylab_model::hop::{Direction, Hop};
use delaylab_model::record::Record;
use delaylab_model::trial::Trial;
use delaylab_stats::anatomy::{Part, Place, Stage, StageSet};
use delaylab_topology::framing::TCP_HEADERS;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What takes a packet's time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Component {
    /// Stages of hosts, or of a network that is not seen into.
    Stages(StageSet),
    /// Waiting in the queue of this port.
    Queue(String),
    /// Waiting at this port while it is paused.
    Paused(String),
    /// This link sends it, bit by bit, both ways.
    Serialisation(String),
    /// All links of the way do, none of them most of it.
    Links,
    /// The shaper before the path keeps cells apart.
    Pacing,
    /// The distance.
    Propagation,
    /// Switches take it of every packet, waiting and sending apart: their `latency`.
    Latency,
}

impl Component {
    /// Host or network.
    pub fn place(&self) -> Place {
        match self {
            // Those before a packet is sent and the one after it has come back are of one host, too.
            Component::Stages(stages) if StageSet::HOST.covers(*stages) => Place::Prober,
            Component::Stages(stages) => stages.place(),
            _ => Place::Network,
        }
    }

    /// Is another one it, or a part of it?
    pub(super) fn covers(&self, part: &Component) -> bool {
        match (self, part) {
            (Component::Links, Component::Serialisation(_)) => true,
            (Component::Stages(all), Component::Stages(stages)) => all.covers(*stages),
            (one, other) => one == other,
        }
    }

    /// Is it part of the minimum delay of a path, which no packet can do without?
    pub const fn is_part_of_min_delay(&self) -> bool {
        matches!(
            self,
            Component::Serialisation(_)
                | Component::Links
                | Component::Propagation
                | Component::Latency
        )
    }
}

/// How long something takes of a packet, on average.
#[derive(Debug, Clone, PartialEq)]
pub struct Spent {
    /// What takes it.
    pub component: Component,
    /// How long, ns.
    pub ns: f64,
}

/// What packets met in one queue.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Waited {
    /// In the queue itself.
    pub(super) ns: f64,
    /// While the port was paused.
    pub(super) paused_ns: f64,
    pub(super) backlog: f64,
    pub(super) most_backlog: u64,
    pub(super) packets: u64,
}

impl Waited {
    fn add(&mut self, other: &Waited) {
        self.ns += other.ns;
        self.paused_ns += other.paused_ns;
        self.backlog += other.backlog;
        self.most_backlog = self.most_backlog.max(other.most_backlog);
        self.packets += other.packets;
    }
}

/// What is known of packets that were not late: sums over them.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Usual {
    pub(super) anatomy: Anatomies,
    waited: BTreeMap<(Direction, Arc<str>), Waited>,
    /// What packets met in queues of the kernel: an estimate, from what these held.
    waited_estimate: BTreeMap<(Direction, Arc<str>), Waited>,
    /// Packets that were seen in each queue of a way, by its place.
    passed: BTreeMap<(Direction, u16), u64>,
    /// Bytes of IP packets, and how many.
    bytes: (u64, u64),
    /// Packets of which TCP sent segments again, and all.
    sent_again: (u64, u64),
}

impl Usual {
    pub(super) fn count(&mut self, record: &Record) {
        if let Some(size) = record.ip_size {
            self.bytes = (self.bytes.0 + u64::from(size), self.bytes.1 + 1);
        }
        let again = u64::from(record.retransmits > Some(0));
        self.sent_again = (self.sent_again.0 + again, self.sent_again.1 + 1);
    }

    /// The share of the packets of which TCP sent segments again, 0 to 1.
    pub(super) fn sent_again(&self) -> f64 {
        self.sent_again.0 as f64 / self.sent_again.1.max(1) as f64
    }

    /// A packet passed this queue; `paused_ns` of its wait there were because the port was paused.
    pub(super) fn met(&mut self, hop: &Hop, paused_ns: f64) {
        let waited = hop.t_dequeue.saturating_sub(hop.t_enqueue) as f64;
        let ns = waited - paused_ns;
        let waited = self.waited.entry((hop.direction, hop.port.clone()));
        waited.or_default().add(&Waited {
            ns,
            paused_ns,
            backlog: hop.backlog as f64,
            most_backlog: hop.backlog,
            packets: 1,
        });
        *self.passed.entry((hop.direction, hop.hop)).or_default() += 1;
    }

    pub(super) fn met_estimate(&mut self, queue: &KernelQueue, met: MetEstimate) {
        let key = (queue.direction, queue.port.clone());
        self.waited_estimate.entry(key).or_default().add(&Waited {
            ns: met.ns,
            paused_ns: 0.0,
            backlog: met.backlog,
            most_backlog: met.most_backlog as u64,
            packets: 1,
        });
    }

    pub(super) fn merge(&mut self, other: &Usual) {
        self.anatomy.merge(&other.anatomy);
        for (port, waited) in &other.waited {
            self.waited.entry(port.clone()).or_default().add(waited);
        }
        for (port, waited) in &other.waited_estimate {
            let own = self.waited_estimate.entry(port.clone()).or_default();
            own.add(waited);
        }
        for (place, packets) in &other.passed {
            *self.passed.entry(*place).or_default() += packets;
        }
        let sum = |own: (u64, u64), other: (u64, u64)| (own.0 + other.0, own.1 + other.1);
        self.bytes = sum(self.bytes, other.bytes);
        self.sent_again = sum(self.sent_again, other.sent_again);
    }

    /// What packets met in each queue, both ways.
    pub(super) fn queues(&self) -> BTreeMap<String, Waited> {
        let mut queues = BTreeMap::<String, Waited>::new();
        for ((_, port), waited) in self.waited.iter().chain(&self.waited_estimate) {
            queues.entry(port.to_string()).or_default().add(waited);
        }
        queues
    }

    /// Is how long packets waited at this port an estimate?
    pub(super) fn is_estimate(&self, port: &str) -> bool {
        let mut known = self.waited_estimate.keys();
        known.any(|(_, known)| **known == *port)
    }

    /// What is known of the path; nothing where the trial is not known.
    pub(super) fn known(&self, trial: Option<&Trial>, probe: u16) -> KnownPath {
        let Some(trial) = trial else {
            return KnownPath::default();
        };
        let (bytes, packets) = self.bytes;
        let payload = trial.probes.get(usize::from(probe));
        // Of packets whose size no record has, it is about that.
        let about = payload.map_or(0, |probe| u64::from(probe.payload) + u64::from(TCP_HEADERS));
        let size = bytes.checked_div(packets).unwrap_or(about);
        let size = u32::try_from(size).unwrap_or(u32::MAX);
        let mut known = line::known_path(trial, probe, size);
        // A frame of a device test goes one way alone.
        if payload.is_some_and(|probe| probe.method.is_one_way()) {
            known.links[1].clear();
        }
        known
    }

    /// These stages, the network's taken apart.
    pub(super) fn spent(&self, parts: &[Part], known: &KnownPath) -> Vec<Spent> {
        let mut spent = BTreeMap::<Component, f64>::new();
        for part in parts {
            let mut rest = Rest {
                ns: part.ns,
                taken: &mut spent,
            };
            for (way, stage) in [Stage::ForwardPath, Stage::ReturnPath]
                .into_iter()
                .enumerate()
            {
                if part.stages.contains(stage) {
                    self.taken_apart(way, known, &mut rest);
                }
            }
            let left = rest.ns;
            *spent.entry(Component::Stages(part.stages)).or_default() += left;
        }
        let spent = spent.into_iter();
        spent
            .map(|(component, ns)| Spent { component, ns })
            .collect()
    }

    fn taken_apart(&self, way: usize, known: &KnownPath, rest: &mut Rest<'_>) {
        let direction = Direction::ALL[way];
        let of_way = self.passed.iter().filter(|((of, _), _)| *of == direction);
        let packets = of_way.map(|(_, packets)| *packets).max().unwrap_or(0);
        for ((_, port), waited) in self.waited.iter().filter(|((of, _), _)| *of == direction) {
            let [paused, queued] = [waited.paused_ns, waited.ns].map(|ns| ns / packets as f64);
            rest.take(Component::Paused(port.to_string()), paused);
            rest.take(Component::Queue(port.to_string()), queued);
        }
        if direction == Direction::Forward && known.pacing_ns > 0.0 {
            rest.take(Component::Pacing, known.pacing_ns);
        }
        for link in &known.links[way] {
            rest.take(Component::Propagation, link.propagation_ns);
            rest.take(Component::Latency, link.latency_ns);
            rest.take(Component::Serialisation(link.name.clone()), link.sending_ns);
        }
        // An estimate takes nothing of what is known.
        let estimates = self.waited_estimate.iter();
        for ((_, port), waited) in estimates.filter(|((of, _), _)| *of == direction) {
            let ns = waited.ns / waited.packets.max(1) as f64;
            rest.take(Component::Queue(port.to_string()), ns);
        }
    }
}

/// What is left of a stage, ns, and what was taken of it.
struct Rest<'a> {
    ns: f64,
    taken: &'a mut BTreeMap<Component, f64>,
}

impl Rest<'_> {
    fn take(&mut self, component: Component, ns: f64) {
        let ns = ns.min(self.ns).max(0.0);
        self.ns -= ns;
        *self.taken.entry(component).or_default() += ns;
    }
}
