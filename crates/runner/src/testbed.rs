//! Testbeds by hand: what a run in the world `testbed` does by itself.

use crate::error::RunnerError;
use delaylab_kernel::namespace::Namespace;
use delaylab_lab::experiment::Resolved;
use delaylab_model::trial::Trial;
use delaylab_testbed::build::{self, Found, Removed, Standing};
use delaylab_testbed::layout::{Layout, lay_out};
use delaylab_testbed::reflectors::Reflectors;
use delaylab_testbed::rootless;
use delaylab_testbed::servers::wanted::Wanted;
use delaylab_testbed::servers::{self, RemovedFolders, Servers};
use delaylab_testbed::soft_switch::driver::SoftSwitches;
use delaylab_testbed::soft_switch::probes::Probes;

/// A testbed that can be built.
pub struct TestbedPlan {
    /// What it is built for.
    pub trial: Trial,
    /// Its namespaces, and what is between them.
    pub layout: Layout,
}

impl TestbedPlan {
    /// Of the first trial of an experiment.
    ///
    /// # Errors
    /// It has none, or no testbed has its path.
    pub fn new(resolved: Resolved) -> Result<Self, RunnerError> {
        let first = resolved.planned.into_iter().next();
        let first =
            first.ok_or_else(|| RunnerError::usage("the experiment has no trials in a testbed"))?;
        Self::of(first.trial)
    }

    fn of(trial: Trial) -> Result<Self, RunnerError> {
        let layout = lay_out(&trial).map_err(RunnerError::usage)?;
        Ok(Self { trial, layout })
    }

    /// Builds it. Without the privilege to, this process becomes root of a user namespace of its own: to be called while it has
    /// one thread.
    ///
    /// # Errors
    /// This host lacks a privilege or a program, or a step fails. What was built until then is taken down.
    pub fn build(self) -> Result<BuiltTestbed, RunnerError> {
        let became_root = rootless::become_root_if_needed();
        let is_hidden = became_root.map_err(RunnerError::environment)?;
        if let Some(missing) = servers::missing(&self.trial.path.server).into_iter().next() {
            return Err(RunnerError::environment(missing));
        }
        // Which queues the kernel has could not be asked before.
        let plan = Self::of(self.trial)?;
        let (trial, layout) = (&plan.trial, &plan.layout);
        let standing = Standing::build(layout.structure.clone());
        let standing = standing.map_err(RunnerError::environment)?;
        let switches = standing.start_switches(&layout.devices, trial.seed);
        let switches = switches.map_err(RunnerError::environment)?;
        let mut reflectors = Reflectors::default();
        for (_, host) in &layout.structure.hosts {
            let answers = reflectors.answer_at(host.place, &standing);
            answers.map_err(RunnerError::environment)?;
        }
        let servers = start_servers(&plan, &standing)?;
        // Resets and pauses are at their times from now on.
        if let Some(switches) = &switches {
            switches.begin(Probes::default());
        }
        Ok(BuiltTestbed {
            _servers: servers,
            _reflectors: reflectors,
            _switches: switches,
            standing,
            plan,
            is_hidden,
        })
    }
}

fn start_servers(plan: &TestbedPlan, standing: &Standing) -> Result<Option<Servers>, RunnerError> {
    let wanted = Wanted::from_trial(&plan.trial, &plan.layout.structure);
    if wanted.servers.is_empty() {
        return Ok(None);
    }
    let started = Servers::start(wanted, standing, None);
    started.map(Some).map_err(RunnerError::environment)
}

/// A testbed that stands until this is dropped: first what works in its namespaces, and then these.
pub struct BuiltTestbed {
    _servers: Option<Servers>,
    _reflectors: Reflectors,
    _switches: Option<SoftSwitches>,
    standing: Standing,
    /// What was built.
    pub plan: TestbedPlan,
    /// Its namespaces have names for this process alone.
    pub is_hidden: bool,
}

impl BuiltTestbed {
    /// What the names of its namespaces begin with.
    pub fn id(&self) -> &str {
        self.standing.id()
    }
}

/// Puts this thread into a node of the testbed of this name, or of the only one.
///
/// # Errors
/// There is none, or there are several and none is named.
pub fn enter(testbed: Option<&str>, node: &str) -> Result<(), RunnerError> {
    let found = found()?;
    let is_meant = |found: &&Found| testbed.is_none_or(|id| id == found.id);
    let meant: Vec<_> = found.iter().filter(is_meant).collect();
    let testbed = only(&meant)?;
    if !testbed.nodes.iter().any(|known| known == node) {
        return Err(RunnerError::usage(format!(
            "there is no node `{node}`: there are {}",
            testbed.nodes.join(", ")
        )));
    }
    let name = format!("{}-{node}", testbed.id);
    let entered = Namespace::open(&name).and_then(|namespace| namespace.enter());
    entered.map_err(|error| RunnerError::environment(format!("cannot enter {name}: {error}")))
}

/// The only one of these that is up. Of one whose process is gone the namespaces are left, in which nothing forwards and nothing
/// answers.
fn only<'a>(meant: &[&'a Found]) -> Result<&'a Found, RunnerError> {
    let (gone, here): (Vec<_>, Vec<_>) =
        meant.iter().copied().partition(|testbed| testbed.left_over);
    let ids = |of: &[&Found]| -> Vec<_> { of.iter().map(|testbed| testbed.id.clone()).collect() };
    let why = match here[..] {
        [one] => return Ok(one),
        [] if !gone.is_empty() => format!(
            "the process of {} is gone, and with it what forwarded and answered there: `delaylab testbed clean` \
             removes what is left",
            ids(&gone).join(", ")
        ),
        [] => "no testbed is up: `delaylab testbed up two-hosts` builds one. (One that was built \
               without root is entered by the command that it prints.)"
            .to_owned(),
        _ => format!(
            "several testbeds are up: choose with --testbed {}",
            ids(&here).join(", or ")
        ),
    };
    Err(RunnerError::usage(why))
}

/// What was removed of testbeds whose processes are gone, and what was not.
pub struct RemovedTestbeds {
    /// Folders of their servers.
    pub folders: RemovedFolders,
    /// Their namespaces, by the name of the testbed.
    pub testbeds: Vec<(String, Removed)>,
}

/// Removes what testbeds left whose processes are gone.
///
/// # Errors
/// It cannot be listed.
pub fn clean() -> Result<RemovedTestbeds, RunnerError> {
    let folders = servers::remove_left_over().map_err(RunnerError::environment)?;
    let found = found()?.into_iter().filter(|testbed| testbed.left_over);
    let removed = found.map(|testbed| {
        let removed = build::remove(&testbed);
        (testbed.id, removed)
    });
    Ok(RemovedTestbeds {
        folders,
        testbeds: removed.collect(),
    })
}

fn found() -> Result<Vec<Found>, RunnerError> {
    let cannot = |error| RunnerError::environment(format!("cannot list namespaces: {error}"));
    build::find().map_err(cannot)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_one_testbed_that_is_up_is_meant() {
        let testbed = |id: &str, left_over| Found {
            id: id.to_owned(),
            nodes: vec!["a1".to_owned()],
            left_over,
        };
        let [gone, one, other] = [("gone", true), ("one", false), ("other", false)]
            .map(|(id, left_over)| testbed(id, left_over));
        assert_eq!(only(&[&gone, &one]).unwrap().id, "one");
        for (meant, why) in [
            (&[][..], "no testbed is up"),
            (&[&gone][..], "the process of gone is gone"),
            (&[&one, &other][..], "choose with --testbed one, or other"),
        ] {
            let said = only(meant).unwrap_err().message;
            assert!(said.contains(why), "{said}");
        }
    }
}
