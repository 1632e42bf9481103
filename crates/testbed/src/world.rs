//! The world: a trial's path built, probed inside, and what its switches saw.

use crate::build::{BuildError, Standing};
use crate::kernel_queues::KernelQueues;
use crate::layout::{self, Layout};
use crate::reflectors::{ReflectorError, Reflectors};
use crate::seen;
use crate::servers::wanted::Wanted;
use crate::servers::{ServerError, Servers};
use crate::soft_switch::driver::SoftSwitches;
use crate::soft_switch::probes::{Probes, WatchedProbe};
use delaylab_live::around::Around;
use delaylab_live::load;
use delaylab_live::prober::error::RunError;
use delaylab_live::reflect::LOAD_PORT;
use delaylab_live::tester::port::Port;
use delaylab_live::world::{Live, LiveError, Placed};
use delaylab_model::load::Direction;
use delaylab_model::probe::Family;
use delaylab_model::refusal::Refusal;
use delaylab_model::trial::{LoadTarget, ProbeRun, Server, StreamRun, Target, Trial};
use delaylab_model::world::{FailureKind, Sink, TrialFacts, World, WorldError};
use delaylab_wire::test_frame;
use std::io;
use std::net::{IpAddr, SocketAddr};

/// Why a trial broke off. What was recorded until then has been handed over.
#[derive(Debug, thiserror::Error)]
pub enum TestbedError {
    /// It asks for what cannot be built.
    #[error(transparent)]
    Refused(Refusal),
    /// The testbed could not be built.
    #[error("cannot build the testbed: {0}")]
    Build(#[from] BuildError),
    /// A host in it does not answer.
    #[error(transparent)]
    Reflector(#[from] ReflectorError),
    /// A server in it does not answer.
    #[error(transparent)]
    Server(#[from] ServerError),
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
    servers: Option<Servers>,
    reflectors: Reflectors,
    standing: Standing,
}

impl Site {
    /// A new one, in which nothing answers yet.
    fn build(layout: &Layout) -> Result<Self, BuildError> {
        Ok(Self {
            servers: None,
            reflectors: Reflectors::default(),
            standing: Standing::build(layout.structure.clone())?,
        })
    }

    /// The same without what is left in its queues.
    fn emptied(self, layout: &Layout) -> Result<Self, BuildError> {
        self.standing.empty_queues(&layout.kernel_ports)?;
        Ok(self)
    }
}

impl Testbed {
    /// Probes are carried out so.
    pub const fn new(live: Live) -> Self {
        Self { live, site: None }
    }

    /// The testbed of the trial before if it is the same, else a new one. Reflectors answer in it.
    fn stand(&mut self, trial: &Trial, layout: &Layout) -> Result<&Site, TestbedError> {
        let is_the_same = |site: &Site| *site.standing.structure() == layout.structure;
        let mut site = match self.site.take().filter(is_the_same) {
            Some(site) => site.emptied(layout)?,
            None => Site::build(layout)?,
        };
        for &[_, to] in layout.probes.iter().chain(layout.loads.iter().flatten()) {
            let place = layout.structure.hosts[to].1.place;
            site.reflectors.answer_at(place, &site.standing)?;
        }
        let wanted = Wanted::from_trial(trial, &layout.structure);
        if !are_these(site.servers.as_ref().map(Servers::wanted), &wanted) {
            let before = site.servers.take();
            site.servers = Some(Servers::start(wanted, &site.standing, before)?);
        }
        Ok(self.site.insert(site))
    }
}

/// Are the servers that run those of this trial? One that has none runs without those of the trial before.
fn are_these(running: Option<&Wanted>, wanted: &Wanted) -> bool {
    running.map_or(wanted.servers.is_empty(), |running| running == wanted)
}

impl From<TestbedError> for WorldError {
    fn from(error: TestbedError) -> Self {
        match error {
            TestbedError::Live(error) => error.into(),
            other => Self::new(FailureKind::Environment, other),
        }
    }
}

impl World for Testbed {
    fn refusals(&self, trial: &Trial) -> Vec<Refusal> {
        let mut refusals = layout::refusals(trial);
        let anywhere = IpAddr::from([10, 82, 0, 1]);
        refusals.extend(self.live.probe_refusals(trial, target(anywhere)));
        refusals.extend(trial.loads.iter().flat_map(load::refusals));
        refusals
    }

    fn run(&mut self, trial: &Trial, sink: &mut dyn Sink) -> Result<TrialFacts, WorldError> {
        Ok(self.carry_out(trial, sink)?)
    }
}

impl Testbed {
    /// Builds the trial's path, probes inside, and takes in what its switches saw.
    fn carry_out(
        &mut self,
        trial: &Trial,
        sink: &mut dyn Sink,
    ) -> Result<TrialFacts, TestbedError> {
        let layout = layout::lay_out(trial).map_err(TestbedError::Refused)?;
        let site = self.stand(trial, &layout)?;
        let standing = &site.standing;
        let switches = standing.start_switches(&layout.devices, trial.seed)?;
        let mut runs = probe_runs(trial, &layout, standing);
        for placed in &mut runs {
            if let Some(servers) = &site.servers {
                servers.at_home(&mut placed.run.probe);
            }
        }
        let ports = frame_ports(trial, &layout, standing);
        let loads = stream_runs(trial, &layout, standing);
        let queues = KernelQueues::watch(&layout.kernel_ports, standing);
        let queues = queues.map_err(TestbedError::Queues)?;
        let mut seen_of = watched(&runs, &layout);
        seen_of.extend(watched_frames(trial));
        let path = PathWatch {
            switches: switches.as_ref(),
            probes: Probes::new(seen_of),
            queues: &queues,
        };
        let alike = path.probes.alike();
        let frames = self.live.job(trial, ports);
        let ran = (self.live).carry_out(trial, &runs, &loads, frames, &path, sink);
        let seen = switches.map(|switches| switches.end()).transpose();
        let watched = queues.end();
        let mut facts = ran?;
        let failed = |error| LiveError::Probe(RunError::Sink(error));
        let (mut warnings, mut flaws) = (Vec::new(), Vec::new());
        if let Some(seen) = seen.map_err(TestbedError::Switch)? {
            flaws = seen::flaws(seen.overflowed, seen.refused);
            let late = seen::lateness(&seen.late, seen.latest);
            for facts in &mut facts.probes {
                facts.switch_lateness = late;
            }
            warnings = seen::hand_over(seen, trial, &layout, sink).map_err(failed)?;
            warnings.extend(late.and_then(seen::too_late));
            warnings.extend(seen::without_hops(&alike, trial));
        }
        let watched = watched.map_err(TestbedError::Queues)?;
        warnings.extend(seen::hand_over_queues(watched, trial, sink).map_err(failed)?);
        if let Some(first) = facts.probes.first_mut() {
            first.warnings.extend(warnings);
            first.flaws.extend(flaws);
        }
        Ok(facts)
    }
}

/// What sees the path itself, while the trial is measured.
struct PathWatch<'a> {
    switches: Option<&'a SoftSwitches>,
    /// Whose packets the switches know.
    probes: Probes,
    queues: &'a KernelQueues,
}

impl Around for PathWatch<'_> {
    fn begins(&self) {
        if let Some(switches) = self.switches {
            switches.begin(self.probes.clone());
        }
        self.queues.begin();
    }

    fn ends(&self) {
        if let Some(switches) = self.switches {
            switches.cut();
        }
        self.queues.stop();
    }
}

fn target(host: IpAddr) -> Target {
    let load = LoadTarget {
        address: SocketAddr::new(host, LOAD_PORT),
        server: Server::Reflector,
    };
    Target::new(load, |responder| {
        SocketAddr::new(host, responder.usual_port())
    })
}

/// Each probe at the host that it goes from.
fn probe_runs(trial: &Trial, layout: &Layout, standing: &Standing) -> Vec<Placed<ProbeRun>> {
    let hosts = &layout.structure.hosts;
    let anywhere = target(hosts[0].1.address.into());
    let place = |mut run: ProbeRun| {
        let [from, to] = layout.probes[usize::from(run.index)];
        run.target.set_ip(hosts[to].1.address.into());
        Placed {
            run,
            enter: Some(standing.enter(hosts[from].1.place)),
        }
    };
    trial.probe_runs(anywhere).map(place).collect()
}

/// The ports of each stream of frames.
fn frame_ports(trial: &Trial, layout: &Layout, standing: &Standing) -> Vec<[Port; 2]> {
    let port = |host: usize| {
        let host = &layout.structure.hosts[host].1;
        let end = layout.structure.end_of(host);
        Port {
            interface: end.map_or_else(String::new, |end| end.interface.clone()),
            mac: end.map_or([0; 6], |end| end.mac),
            mtu: Some(layout.structure.mtu),
            enter: Some(standing.enter(host.place)),
        }
    };
    let probes = trial.probes.iter().zip(&layout.probes);
    let frames = probes.filter(|(probe, _)| probe.method.is_one_way());
    frames.map(|(_, ends)| ends.map(port)).collect()
}

/// Streams of frames, whose packets have addresses of their own.
fn watched_frames(trial: &Trial) -> impl Iterator<Item = WatchedProbe> + '_ {
    let probes = trial.probes.iter().zip(0..);
    let frames = probes.filter_map(|(probe, index)| Some((index, probe, probe.frames?)));
    frames.zip(0..).map(|((probe, of, frames), stream)| {
        let (from, to) = test_frame::addresses(frames.family == Family::V6, stream);
        WatchedProbe {
            probe,
            method: of.method,
            from,
            to,
            port: None,
            code_point: of.dscp.code_point(),
        }
    })
}

/// Each stream of load at the host that it goes from.
fn stream_runs(trial: &Trial, layout: &Layout, standing: &Standing) -> Vec<Placed<StreamRun>> {
    let hosts = &layout.structure.hosts;
    let ends = layout.loads.iter().flatten();
    let streams = trial.stream_runs(target(hosts[0].1.address.into()).load);
    let place = |(mut run, &[from, to]): (StreamRun, &[usize; 2])| {
        // What comes down has its ends turned round already: its sender is a process in the testbed, too.
        run.load.direction = Direction::Up;
        run.target.set_ip(hosts[to].1.address.into());
        Placed {
            run,
            enter: Some(standing.enter(hosts[from].1.place)),
        }
    };
    streams.zip(ends).map(place).collect()
}

fn watched(runs: &[Placed<ProbeRun>], layout: &Layout) -> Vec<WatchedProbe> {
    let hosts = &layout.structure.hosts;
    let one = |placed: &Placed<ProbeRun>| {
        let [from, to] = layout.probes[usize::from(placed.run.index)];
        let method = placed.run.probe.method;
        WatchedProbe {
            probe: placed.run.index,
            method,
            from: hosts[from].1.address.into(),
            to: hosts[to].1.address.into(),
            port: method.has_port().then(|| placed.run.target.port()),
            code_point: placed.run.probe.dscp.code_point(),
        }
    };
    runs.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_without_servers_has_none_of_the_trial_before() {
        let page = |name: &str| Wanted {
            pages: [name.to_owned()].into(),
            ..Wanted::default()
        };
        let none = Wanted::default();
        assert!(are_these(None, &none) && are_these(Some(&none), &none));
        assert!(are_these(Some(&page("1")), &page("1")));
        assert!(!are_these(Some(&page("1")), &none) && !are_these(Some(&page("1")), &page("2")));
    }
}
