//! Ports of the path that were paused, and by what: a switch that pauses at regular intervals holds what comes, and flow control
//! between neighbours stops a port while the buffer behind it is full. What waits meanwhile waits for no packet before it.

use super::combination::planned_trial;
use delaylab_lab::experiment::Resolved;
use delaylab_model::hop::Hop;
use delaylab_model::path::{FlowControl, FlowControlKind, Pause, Switch};
use delaylab_model::trial::Trial;
use delaylab_model::units::{format_duration, format_share};
use delaylab_model::{Nanos, PICOS_PER_NANO, Picos};
use delaylab_store::run::Run;
use delaylab_topology::build;
use delaylab_topology::network::Network;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Why a port was paused.
#[derive(Debug, Clone, PartialEq)]
pub enum WhyPaused {
    /// Its switch pauses at regular intervals, as the experiment asks.
    Switch {
        /// Which switch.
        name: String,
        /// From the end of one to the end of the next.
        every: Nanos,
        /// How long each lasts.
        lasts: Nanos,
    },
    /// Flow control: the switch behind it stopped it.
    FlowControl {
        /// What a pause stops.
        kind: FlowControlKind,
        /// The switch behind it.
        by: String,
        /// For which share of the time, 0 to 1.
        share: f64,
        /// The queue of that switch that held most.
        fullest: Option<String>,
    },
}

impl WhyPaused {
    /// A few words: `s1 pauses every 200 ms for 40.0 ms`.
    pub(super) fn words(&self) -> String {
        match self {
            WhyPaused::Switch { name, every, lasts } => format!(
                "{name} pauses every {} for {}",
                format_duration(*every),
                format_duration(*lasts)
            ),
            WhyPaused::FlowControl {
                kind,
                by,
                share,
                fullest,
            } => {
                let fullest = fullest.as_ref();
                let fullest =
                    fullest.map_or_else(String::new, |queue| format!(", where {queue} held most"));
                format!(
                    "{by} stopped it by {} for {} of the time{fullest}",
                    protocol(*kind),
                    format_share(*share)
                )
            }
        }
    }

    /// Of flow control: the queue behind the port that held most.
    pub(super) fn fullest(&self) -> Option<&str> {
        match self {
            WhyPaused::FlowControl { fullest, .. } => fullest.as_deref(),
            WhyPaused::Switch { .. } => None,
        }
    }

    /// Is it the same but for the share of the time?
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let mut own = self.clone();
        if let (
            WhyPaused::FlowControl { share, .. },
            WhyPaused::FlowControl { share: theirs, .. },
        ) = (&mut own, other)
        {
            *share = *theirs;
        }
        own == *other
    }

    /// What this is known from.
    pub(super) fn evidence(&self) -> String {
        let known = self.words();
        match self {
            WhyPaused::Switch { .. } => {
                format!("{known} (`pause`), and holds what comes meanwhile")
            }
            WhyPaused::FlowControl { .. } => format!("{known} (`flow_control`)"),
        }
    }

    /// What to do about it.
    pub(super) fn remedy(&self, port: &str) -> String {
        match self {
            WhyPaused::Switch { name, .. } => format!(
                "The experiment asks {name} for it: give `pause` less often or shorter, or leave it out."
            ),
            WhyPaused::FlowControl { by, fullest, .. } => {
                let fullest = fullest.as_ref().map_or_else(
                    || format!("its buffer for what comes by {port} fills"),
                    |queue| format!("{queue} takes less than comes"),
                );
                format!(
                    "Look at {by}, which stops {port} because {fullest}: limit what goes there. A pause holds all of a priority, \
                     wherever it goes: another class of its own, which `flow_control.priorities` leaves out, is not stopped."
                )
            }
        }
    }
}

const fn protocol(kind: FlowControlKind) -> &'static str {
    match kind {
        FlowControlKind::Pause => "PAUSE",
        FlowControlKind::Pfc => "PFC",
    }
}

/// The ports of a trial that may be paused.
#[derive(Debug, Default)]
pub(super) struct Paused {
    ports: BTreeMap<Arc<str>, PausedPort>,
}

#[derive(Debug)]
struct PausedPort {
    /// The switch that it is of: since when it pauses at these intervals.
    pauses: Option<(Nanos, Pause)>,
    /// When flow control stopped it: since when, until when and for which share of that, of each priority.
    stopped: Vec<Vec<Stretch>>,
    why: WhyPaused,
}

#[derive(Debug, Clone, Copy)]
struct Stretch {
    from: Nanos,
    to: Nanos,
    share: f64,
}

impl Paused {
    /// Of this trial; none where the experiment is not known.
    pub(super) fn new(run: &Run, resolved: Option<&Resolved>, trial: u32) -> Self {
        let planned = planned_trial(resolved, trial).filter(|planned| may_pause(planned));
        let built = planned.and_then(|planned| build(planned).ok());
        built.map_or_else(Self::default, |built| {
            Self::from_network(&built.network, run, trial)
        })
    }

    fn from_network(network: &Network, run: &Run, trial: u32) -> Self {
        let mut seen = PauseSeries::default();
        run.for_each_series_point(Some(trial), |point| match &*point.series {
            "backlog" => {
                let (began, area) = seen
                    .queues
                    .entry(point.of.clone())
                    .or_insert((point.t, 0.0));
                *began = point.t.min(*began);
                *area += point.mean * point.length as f64;
            }
            "paused" => {
                let stretch = Stretch {
                    from: point.t,
                    to: point.t + point.length,
                    share: point.mean,
                };
                let stretches = seen.stopped.entry(point.of.clone()).or_default();
                stretches.push(stretch);
            }
            _ => {}
        });
        for stretches in seen.stopped.values_mut() {
            stretches.sort_by_key(|stretch| stretch.from);
        }
        let names = (0..network.ports.len()).map(|id| network.port_name(id as u32));
        let ports = names.filter_map(|name| {
            let port = seen.port(network, &name)?;
            Some((name.into(), port))
        });
        Self {
            ports: ports.collect(),
        }
    }

    /// For how long a packet waited at a port because that was paused, ns, and why it was.
    pub(super) fn held(&self, hop: &Hop) -> Option<(f64, &WhyPaused)> {
        let port = self.ports.get(&hop.port)?;
        let waited = hop.t_dequeue.saturating_sub(hop.t_enqueue) as f64;
        let by_switch = port.pauses.map_or(0.0, |(began, pause)| {
            let came = picos(hop.t_enqueue.saturating_sub(began));
            (pause.goes_on(came) - came) as f64 / PICOS_PER_NANO as f64
        });
        let stopped = port.stopped.iter();
        let stopped = stopped.map(|stretches| within(stretches, hop.t_enqueue, hop.t_dequeue));
        let held = stopped.fold(by_switch, f64::max).min(waited);
        (held > 0.0).then_some((held, &port.why))
    }
}

fn picos(at: Nanos) -> Picos {
    at.max(0).unsigned_abs().saturating_mul(PICOS_PER_NANO)
}

/// How long it was stopped between these times, ns.
fn within(stretches: &[Stretch], from: Nanos, to: Nanos) -> f64 {
    let first = stretches.partition_point(|stretch| stretch.to <= from);
    let during = stretches[first..].iter();
    let during = during.take_while(|stretch| stretch.from < to);
    let each = during.map(|one| one.share * (one.to.min(to) - one.from.max(from)) as f64);
    each.sum()
}

/// Is any switch of it paused, or may one pause others?
fn may_pause(trial: &Trial) -> bool {
    let of_nodes = trial.path.node.iter();
    let of_nodes = of_nodes.filter_map(|node| node.switch.as_ref());
    let mut sections = trial.path.switch.iter().chain(of_nodes);
    sections.any(|section| section.pause.is_some() || section.flow_control.is_some())
}

/// What series say.
#[derive(Debug, Default)]
struct PauseSeries {
    /// Of each queue: since when its backlog is known, and that backlog times ns.
    queues: BTreeMap<Arc<str>, (Nanos, f64)>,
    /// When each port was stopped, or each priority of it.
    stopped: BTreeMap<Arc<str>, Vec<Stretch>>,
}

impl PauseSeries {
    fn port(&self, network: &Network, name: &str) -> Option<PausedPort> {
        if let Some(pause) = network.switch_of(name).and_then(|section| section.pause) {
            let began = self.queues.get(name).map_or(0, |(began, _)| *began);
            let (switch, _) = name.split_once('→')?;
            return Some(PausedPort {
                pauses: Some((began, pause)),
                stopped: Vec::new(),
                why: WhyPaused::Switch {
                    name: switch.to_owned(),
                    every: pause.every.0,
                    lasts: pause.lasts.0,
                },
            });
        }
        let (_, behind) = name.split_once('→')?;
        // Where several links lead there, the name has the link as well.
        let by = behind.split(' ').next()?;
        let FlowControl { kind, .. } = flow_control(network, by)?;
        let of_port = self.stopped.iter().filter(|(of, _)| {
            let rest = of.strip_prefix(name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        });
        let stopped: Vec<Vec<Stretch>> = of_port.map(|(_, each)| each.clone()).collect();
        let share = stopped.iter().map(|stretches| mean(stretches));
        let share = share.fold(0.0, f64::max);
        (share > 0.0).then(|| PausedPort {
            pauses: None,
            stopped,
            why: WhyPaused::FlowControl {
                kind: *kind,
                by: by.to_owned(),
                share,
                fullest: self.fullest(by),
            },
        })
    }

    /// The queue of a switch that held most.
    fn fullest(&self, switch: &str) -> Option<String> {
        let of_switch = self.queues.iter().filter(|(of, _)| {
            let own = of.split_once('→');
            own.is_some_and(|(node, _)| node == switch)
        });
        let (queue, (_, area)) = of_switch.max_by(|a, b| a.1.1.total_cmp(&b.1.1))?;
        (*area > 0.0).then(|| queue.to_string())
    }
}

/// How a switch stops what sends to it.
fn flow_control<'n>(network: &'n Network, switch: &str) -> Option<&'n FlowControl> {
    let section: &Switch = network.switch_of(&format!("{switch}→"))?;
    section.flow_control.as_ref()
}

fn mean(stretches: &[Stretch]) -> f64 {
    let length: Nanos = stretches.iter().map(|one| one.to - one.from).sum();
    let each = stretches.iter();
    let stopped: f64 = each.map(|one| one.share * (one.to - one.from) as f64).sum();
    stopped / length.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_held_for_the_share_of_each_stretch() {
        let stretch = |from, to, share| Stretch { from, to, share };
        let stretches = [
            stretch(0, 100, 0.0),
            stretch(100, 200, 0.5),
            stretch(200, 300, 1.0),
        ];
        assert_eq!(within(&stretches, 0, 90), 0.0);
        assert_eq!(within(&stretches, 50, 150), 25.0);
        assert_eq!(within(&stretches, 150, 1000), 125.0);
        assert_eq!(within(&stretches, 210, 220), 10.0);
        assert_eq!(within(&stretches, 300, 400), 0.0);
        assert_eq!(mean(&stretches), 0.5);
    }
}
