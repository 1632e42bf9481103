//! The world: a trial's path built, probed inside, and what its switches saw.

use crate::build::{BuildError, Standing};
use crate::kernel_queues::KernelQueues;
use crate::layout::{self, Layout};
use crate::reflectors::{ReflectorError, Reflectors};
use crate::seen;
use crate::soft_switch::probes::{Probes, Watched};
use delaylab_live::load;
use delaylab_live::prober::error::RunError;
use delaylab_live::reflect::{DEFAULT_PORT, LOAD_PORT};
use delaylab_live::world::{Live, LiveError, Placed};
use delaylab_model::trial::{LoadTarget, ProbeFacts, ProbeRun, Server, StreamRun, Target, Trial};
use delaylab_model::world::{Refusal, Sink, World};
use delaylab_wire::stamp;
use std::io;
use std::net::{IpAddr, SocketAddr};

/// Why a trial broke off. What was recorded until then has been handed over.
#[derive(Debug, thiserror::Error)]
pub enum TestbedError {
    /// It asks for what cannot be built.
    #[error("{}: {}", .0.field, .0.reason)]
    Refused(Refusal),
    /// The testbed could not be built.
    #[error("cannot build the testbed: {0}")]
    Build(#[from] BuildError),
    /// A host in it does not answer.
    #[error(transparent)]
    Reflector(#[from] ReflectorError),
    /// The soft switch gave up.
    #[error("the soft switch broke off: {0}")]
    Switch(io::Error),
    /// The kernel does not say what its queues hold.
    #[error("cannot ask what the kernel's queues hold: {0}")]
    Queues(io::Error),
    /// The probes did.
    #[error(transparent)]
    Live(#[from] LiveError),
}

/// Namespaces on this machine.
#[derive(Debug)]
pub struct Testbed {
    live: Live,
    /// What the last trial was carried out in.
    site: Option<Site>,
}

/// A testbed and who answers in it. They end in this order.
#[derive(Debug)]
struct Site {
    reflectors: Reflectors,
    standing: Standing,
}

impl Testbed {
    /// Probes are carried out so.
    pub const fn new(live: Live) -> Self {
        Self { live, site: None }
    }

    /// The testbed of the trial before if it is the same, else a new one. Reflectors answer in it.
    fn stand(&mut self, layout: &Layout) -> Result<&Standing, TestbedError> {
        let is_the_same = |site: &Site| *site.standing.structure() == layout.structure;
        let mut site = match self.site.take().filter(is_the_same) {
            Some(site) => site,
            None => Site {
                reflectors: Reflectors::default(),
                standing: Standing::build(layout.structure.clone())?,
            },
        };
        for &[_, to] in layout.probes.iter().chain(layout.loads.iter().flatten()) {
            let place = layout.structure.hosts[to].1.place;
            site.reflectors.answer_at(place, &site.standing)?;
        }
        Ok(&self.site.insert(site).standing)
    }
}

impl World for Testbed {
    type Error = TestbedError;

    fn refusals(&self, trial: &Trial) -> Vec<Refusal> {
        let mut refusals = layout::refusals(trial);
        let anywhere = SocketAddr::from(([10, 82, 0, 1], DEFAULT_PORT));
        refusals.extend(self.live.probe_refusals(trial, target(anywhere.ip())));
        refusals.extend(trial.loads.iter().flat_map(load::refusals));
        refusals
    }

    fn run(&mut self, trial: &Trial, sink: &mut dyn Sink) -> Result<Vec<ProbeFacts>, TestbedError> {
        let layout = layout::lay_out(trial).map_err(TestbedError::Refused)?;
        let standing = self.stand(&layout)?;
        let switches = standing.start_switches(&layout.devices, trial.seed)?;
        let runs = probe_runs(trial, &layout, standing);
        let loads = stream_runs(trial, &layout, standing);
        let queues = KernelQueues::watch(&layout.kernel_ports, standing);
        let queues = queues.map_err(TestbedError::Queues)?;
        if let Some(switches) = &switches {
            switches.begin(Probes::new(watched(&runs, &layout)));
        }
        let ran = self.live.carry_out(trial, &runs, &loads, sink);
        let seen = switches.map(|switches| switches.end()).transpose();
        let watched = queues.end();
        let mut facts = ran?;
        let failed = |error| LiveError::Probe(RunError::Sink(error));
        let mut warnings = Vec::new();
        if let Some(seen) = seen.map_err(TestbedError::Switch)? {
            warnings = seen::hand_over(seen, trial, &layout, sink).map_err(failed)?;
        }
        let watched = watched.map_err(TestbedError::Queues)?;
        warnings.extend(seen::hand_over_queues(watched, trial, sink).map_err(failed)?);
        if let Some(first) = facts.first_mut() {
            first.warnings.extend(warnings);
        }
        Ok(facts)
    }
}

fn target(host: IpAddr) -> Target {
    Target {
        echo: SocketAddr::new(host, DEFAULT_PORT),
        stamp: SocketAddr::new(host, stamp::PORT),
        load: LoadTarget {
            address: SocketAddr::new(host, LOAD_PORT),
            server: Server::Reflector,
        },
    }
}

/// Each probe at the host that it goes from.
fn probe_runs(trial: &Trial, layout: &Layout, standing: &Standing) -> Vec<Placed<ProbeRun>> {
    let hosts = &layout.structure.hosts;
    let place = |(index, &[from, to]): (usize, &[usize; 2])| {
        let target = target(hosts[to].1.address.into());
        let run = trial.probe_runs(target).nth(index)?;
        Some(Placed {
            run,
            enter: Some(standing.enter(hosts[from].1.place)),
        })
    };
    layout.probes.iter().enumerate().filter_map(place).collect()
}

/// Each stream of load at the host that it goes from.
fn stream_runs(trial: &Trial, layout: &Layout, standing: &Standing) -> Vec<Placed<StreamRun>> {
    let hosts = &layout.structure.hosts;
    let ends = layout.loads.iter().flatten();
    let streams = trial.stream_runs(target(hosts[0].1.address.into()).load);
    let place = |(mut run, &[from, to]): (StreamRun, &[usize; 2])| {
        run.target.set_ip(hosts[to].1.address.into());
        Placed {
            run,
            enter: Some(standing.enter(hosts[from].1.place)),
        }
    };
    streams.zip(ends).map(place).collect()
}

fn watched(runs: &[Placed<ProbeRun>], layout: &Layout) -> Vec<Watched> {
    let hosts = &layout.structure.hosts;
    let one = |(placed, &[from, to]): (&Placed<ProbeRun>, &[usize; 2])| Watched {
        probe: placed.run.index,
        method: placed.run.probe.method,
        from: hosts[from].1.address.into(),
        to: hosts[to].1.address.into(),
        code_point: placed.run.probe.dscp.code_point(),
    };
    runs.iter().zip(&layout.probes).map(one).collect()
}
