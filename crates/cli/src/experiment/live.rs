//! The live world of a run: who answers, and what may be sent to them.

use super::own_reflector::OwnReflector;
use super::worlds::Asked;
use crate::exit::Failed;
use crate::{load_limit, target};
use delaylab_kernel::signals;
use delaylab_lab::experiment::Resolved;
use delaylab_live::prober::Probing;
use delaylab_live::reflect::DEFAULT_PORT;
use delaylab_live::world::{Live, check_ports};
use delaylab_model::plan::Planned;
use delaylab_model::probe::Probe;
use delaylab_model::record::Method;
use delaylab_model::trial::{Target, Trial};
use delaylab_model::world::{Refusal, World};
use delaylab_wire::auth::Key;
use delaylab_wire::stamp;

/// The world, and what must live as long as the run.
pub struct LiveRun {
    /// Carries trials out.
    pub world: Live,
    /// Where they go, for people.
    pub target_name: String,
    /// None: nothing is asked.
    target: Option<Target>,
    _own: Option<OwnReflector>,
}

/// The world of probes that know this key.
pub fn world(key: Option<Key>) -> Live {
    Live::new(Probing {
        key,
        stops_asked: signals::stops_asked,
    })
}

/// What the live world cannot honour of a trial, wherever it goes.
pub fn refusals(trial: &Trial) -> Vec<Refusal> {
    world(None).refusals(trial)
}

/// Does anything in the trial want an answer, or somebody who takes load?
fn asks(planned: &Planned) -> bool {
    let trial = &planned.trial;
    let asking = |probe: &Probe| probe.method != Method::Frame;
    !trial.loads.is_empty() || trial.probes.iter().any(asking)
}

impl LiveRun {
    /// Resolves the target, or starts a reflector of the run's own.
    pub fn new(resolved: &Resolved, asked: &Asked) -> Result<Self, Failed> {
        if !resolved.planned.iter().any(asks) {
            return Ok(Self {
                world: world(None),
                target_name: "ports of this host".to_owned(),
                target: None,
                _own: None,
            });
        }
        let Some(name) = &resolved.target else {
            let own = OwnReflector::start()?;
            let mut world = world(None);
            world.reflector = Some(own.id());
            let mut target = own.target;
            if asked.load.load_server.is_some() {
                target.load = target::of_load(&asked.load, "", false, false)?;
            }
            return Ok(Self {
                world,
                target_name: "a reflector of its own on 127.0.0.1".to_owned(),
                target: Some(target),
                _own: Some(own),
            });
        };
        let at = |default| target::resolve(name, asked.port.unwrap_or(default), false, false);
        Ok(Self {
            world: world(asked.key.clone()),
            target_name: name.clone(),
            target: Some(Target {
                echo: at(DEFAULT_PORT)?,
                stamp: at(stamp::PORT)?,
                load: target::of_load(&asked.load, name, false, false)?,
            }),
            _own: None,
        })
    }

    /// The trials with where they go.
    ///
    /// # Errors
    /// Where one would send to another host what that host may take for an attack.
    pub fn aimed(&self, resolved: &Resolved, allow_load: bool) -> Result<Vec<Planned>, Failed> {
        for planned in &resolved.planned {
            check_ports(&planned.trial).map_err(Failed::from)?;
        }
        let mut planned = resolved.planned.clone();
        let Some(target) = self.target else {
            return Ok(planned);
        };
        for planned in &mut planned {
            let trial = &mut planned.trial;
            trial.target = Some(target);
            load_limit::check_load(&trial.loads, target.load, allow_load)?;
            for run in trial.probe_runs(target) {
                load_limit::check(&run, allow_load)?;
            }
        }
        Ok(planned)
    }
}
