//! Which trials of an experiment a process carries out, where several share it.
//!
//! Only simulations are divided: trials on a real path, or on this machine's processors, would disturb each other.

use crate::error::RunnerError;
use delaylab_lab::experiment::Resolved;
use delaylab_model::experiment::WorldName;
use delaylab_model::plan::Planned;
use delaylab_model::shard::Shard;
use std::collections::BTreeSet;

/// Which trials of an experiment a process carries out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Assignment {
    /// One of equal parts.
    Shard(Shard),
    /// Those with these numbers.
    Trials(BTreeSet<u32>),
}

impl Assignment {
    /// Fails where the experiment cannot be divided so.
    pub(crate) fn check(&self, resolved: &Resolved) -> Result<(), RunnerError> {
        match self {
            Assignment::Shard(_) => check_divisible_without_results(resolved),
            Assignment::Trials(_) => check_divisible(resolved),
        }
    }

    /// Its trials, of all of a design.
    ///
    /// # Errors
    /// The experiment has no such trial.
    pub(crate) fn select(&self, planned: Vec<Planned>) -> Result<Vec<Planned>, RunnerError> {
        match self {
            Assignment::Shard(shard) => {
                let all = planned.into_iter().enumerate();
                let own = all.filter(|(place, _)| shard.has(*place));
                Ok(own.map(|(_, planned)| planned).collect())
            }
            Assignment::Trials(numbers) => {
                let own = planned.into_iter();
                let own: Vec<_> = own.filter(|it| numbers.contains(&it.trial.id)).collect();
                match own.len() == numbers.len() {
                    true => Ok(own),
                    false => Err(RunnerError::usage(
                        "not every one of these trials is in the experiment: their numbers are of another one",
                    )),
                }
            }
        }
    }

    /// The shard, if it is one.
    pub(crate) fn shard(&self) -> Option<Shard> {
        match self {
            Assignment::Shard(shard) => Some(*shard),
            Assignment::Trials(_) => None,
        }
    }
}

/// Fails where the trials of an experiment cannot be carried out apart from each other.
pub(crate) fn check_divisible(resolved: &Resolved) -> Result<(), RunnerError> {
    if resolved.world != WorldName::Sim {
        return Err(RunnerError::usage(format!(
            "only simulations are divided into shards, and this is world `{}`: its trials share a path or this \
             machine's processors, and would disturb each other. `--world sim` simulates it, if its path is described",
            resolved.world
        )));
    }
    match &resolved.procedure {
        None => Ok(()),
        Some(procedure) => Err(RunnerError::usage(format!(
            "the procedure `{}` chooses each trial by the result of the one before it: there is nothing to divide. Run it \
             as a whole",
            procedure.name
        ))),
    }
}

/// Fails where the trials of an experiment cannot be carried out apart from each other, or where their results decide which trials
/// there are: which trials a shard has is fixed before.
pub(crate) fn check_divisible_without_results(resolved: &Resolved) -> Result<(), RunnerError> {
    check_divisible(resolved)?;
    match &resolved.stop {
        None => Ok(()),
        Some(_) => Err(RunnerError::usage(
            "design.stop decides by the results of each round which trials follow, and shards do not know each other's. \
             Give `design.repeats` in its place; `delaylab.sweep` of the Python package divides each round",
        )),
    }
}

/// What a shard's run is called: `small-shard-3-of-16`.
pub(crate) fn run_name(experiment: &str, shard: Option<Shard>) -> String {
    match shard {
        None => experiment.to_owned(),
        Some(shard) => format!("{experiment}-shard-{}-of-{}", shard.number(), shard.count()),
    }
}
