//! Where the probes and loads of a live run go, and what may be sent there.

use crate::error::RunnerError;
use crate::load_limit;
use crate::options::RunOptions;
use crate::own_reflector::OwnReflector;
use crate::target::{self, with_port};
use delaylab_lab::experiment::Resolved;
use delaylab_live::prober::Probing;
use delaylab_live::reflect::LOAD_PORT;
use delaylab_live::world::{Live, LiveError, check_ports};
use delaylab_model::method::Responder;
use delaylab_model::plan::Planned;
use delaylab_model::probe::Probe;
use delaylab_model::stop::Stop;
use delaylab_model::trial::{LoadTarget, Server, Target};
use delaylab_model::world::World;
use delaylab_wire::auth::Key;
use std::net::SocketAddr;

/// The target of a live run.
pub(crate) struct LiveTarget {
    /// For people.
    pub(crate) name: String,
    /// `None`: nothing is asked.
    target: Option<Target>,
    /// What answers there, where the run started it. It ends with the run.
    own: Option<OwnReflector>,
}

/// Does anything in the trial want an answer, or a server for load?
fn asks(planned: &Planned) -> bool {
    let trial = &planned.trial;
    let asking = |probe: &Probe| !probe.method.is_one_way();
    !trial.loads.is_empty() || trial.probes.iter().any(asking)
}

impl LiveTarget {
    /// Resolves the target, or starts a reflector of the run's own.
    ///
    /// # Errors
    /// The name cannot be resolved, or no reflector can be started.
    pub(crate) fn find(resolved: &Resolved, options: &RunOptions) -> Result<Self, RunnerError> {
        if !resolved.planned.iter().any(asks) {
            return Ok(Self {
                name: "ports of this host".to_owned(),
                target: None,
                own: None,
            });
        }
        let Some(name) = &resolved.target else {
            let own = OwnReflector::start(options.program.as_deref())?;
            let mut target = own.target;
            if options.load.server.is_some() {
                target.load = load_target(options, target.at(Responder::Echo))?;
            }
            return Ok(Self {
                name: "a reflector of its own on 127.0.0.1".to_owned(),
                target: Some(target),
                own: Some(own),
            });
        };
        let address = match options.original_addresses.target {
            Some(original) => target::with_current_interface(name, original),
            None => target::lookup(name, 0, options.family)?,
        };
        let load = load_target(options, address)?;
        let target = Target::new(load, |responder| {
            with_port(address, options.port.unwrap_or(responder.usual_port()))
        });
        Ok(Self {
            name: name.clone(),
            target: Some(target),
            own: None,
        })
    }

    /// Where packets go; `None`: nothing is asked.
    pub(crate) const fn target(&self) -> Option<Target> {
        self.target
    }

    /// The world that probes it. A reflector of the run's own has no key, and where nothing is asked none is needed.
    pub(crate) fn world(&self, options: &RunOptions) -> Live {
        let key = options.key.clone();
        let is_remote = self.target.is_some() && self.own.is_none();
        let mut world = live(key.clone().filter(|_| is_remote), options.stop.clone());
        let is_load_remote = is_remote || options.load.is_to_reflector();
        world.probing.load_key = key.filter(|_| is_load_remote);
        world.reflector = self.own.as_ref().map(OwnReflector::id);
        world.program.clone_from(&options.program);
        world.watches_noise = options.watches_noise;
        world.on_condition = options.on_condition;
        world
    }

    /// The trials with where they go.
    ///
    /// # Errors
    /// Where one cannot be sent, or would send to another host what that host may take for an attack.
    pub(crate) fn aimed(
        &self,
        resolved: &Resolved,
        options: &RunOptions,
    ) -> Result<Vec<Planned>, RunnerError> {
        // A procedure's first trials are checked in place of its pattern, whose frames have another size. Errors of a procedure were
        // said as it was resolved.
        let first = resolved.first_of_procedure().unwrap_or_default();
        let trials = if first.is_empty() {
            &resolved.planned
        } else {
            &first
        };
        for planned in trials {
            check_ports(&planned.trial)?;
        }
        let mut planned = resolved.planned.clone();
        let Some(target) = self.target else {
            return Ok(planned);
        };
        let world = self.world(options);
        for planned in &mut planned {
            let trial = &mut planned.trial;
            trial.target = Some(target);
            load_limit::check_loads(&trial.loads, target.load, options.allow_load)?;
            load_limit::check_probes(trial.probe_runs(target), options.allow_load)?;
            // What a method can honour depends on where it goes.
            if let Some(refusal) = world.refusals(trial).into_iter().next() {
                return Err(RunnerError::usage(refusal));
            }
        }
        let trials = planned.iter().map(|planned| &planned.trial);
        world.check_loads(trials).map_err(LiveError::from)?;
        Ok(planned)
    }
}

/// The address that load goes to, of this host unless another one is named.
fn load_target(options: &RunOptions, host: SocketAddr) -> Result<LoadTarget, RunnerError> {
    let load = &options.load;
    let Some(at) = &load.server else {
        return Ok(LoadTarget {
            address: with_port(host, load.port.unwrap_or(LOAD_PORT)),
            server: Server::Reflector,
        });
    };
    let address = match options.original_addresses.load {
        Some(original) => target::with_current_interface(&at.host, original),
        None => target::lookup(&at.host, at.port, options.family)?,
    };
    Ok(LoadTarget {
        address,
        server: at.server,
    })
}

/// The live world, with probes that know this key.
pub(crate) fn live(key: Option<Key>, stop: Stop) -> Live {
    Live::new(Probing::new(key, stop))
}
