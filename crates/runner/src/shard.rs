//! A run in shares, each carried out by a process of its own, on any machine, and made one run of.
//!
//! ```text
//! RunOptions { share: Some(Assignment::Shard(3/16)) }     a process carries out its share and leaves an unfinished run
//! merge(&folders, &options, runs)?                   one run of all of them: the same bytes as of one process
//! GatheredRun::create(…)?.next_round()?, .move_from(donor)?  the same, where trials are handed out as results come in
//! ```

use crate::assignment::{check_divisible, check_divisible_without_results};
use crate::environment::{self, MergedPart};
use crate::error::RunnerError;
use crate::options::RunOptions;
use crate::resolve;
use crate::run::{self, ReadyRun};
use crate::run_folder::shortest;
use delaylab_kernel::process;
use delaylab_lab::experiment::{Resolved, Source};
use delaylab_model::shard::Shard;
use delaylab_model::shell::quoted;
use delaylab_store::adopt::{AdoptError, Donor};
use delaylab_store::writer::{NewRun, RunWriter};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// How many of many an error names.
const MAX_NAMED: usize = 5;

/// The shard that an unfinished run is, by its `environment.json`.
///
/// # Errors
/// It says something that is no shard.
pub(crate) fn of_run(folder: &Path, environment: &Value) -> Result<Option<Shard>, RunnerError> {
    let said = environment.get("shard").filter(|said| !said.is_null());
    let read = said.map(|said| serde_json::from_value(said.clone()));
    read.transpose().map_err(|error| {
        RunnerError::environment(format!("{}/environment.json: {error}", folder.display()))
    })
}

/// A run whose trials come from elsewhere.
pub struct GatheredRun {
    resolved: Resolved,
    writer: RunWriter,
    done: BTreeSet<u32>,
}

impl GatheredRun {
    /// Makes its folder in `runs`.
    ///
    /// # Errors
    /// The experiment cannot be divided, or nothing can be written.
    pub fn create(
        resolved: Resolved,
        supplied: Vec<String>,
        runs: &Path,
    ) -> Result<Self, RunnerError> {
        check_divisible(&resolved)?;
        Self::with_parts(resolved, supplied, SystemTime::now(), &[], runs)
    }

    fn with_parts(
        resolved: Resolved,
        supplied: Vec<String>,
        started: SystemTime,
        merged: &[MergedPart],
        runs: &Path,
    ) -> Result<Self, RunnerError> {
        let new = NewRun {
            name: &resolved.name,
            world: resolved.world.name(),
            started: Some(started),
            experiment: &resolved.toml,
            environment: &environment::of_gathered(supplied, merged),
        };
        Ok(Self {
            writer: RunWriter::create(runs, &new)?,
            done: BTreeSet::new(),
            resolved,
        })
    }

    /// What is carried out.
    pub fn resolved(&self) -> &Resolved {
        &self.resolved
    }

    /// Where it is recorded.
    pub fn folder(&self) -> &Path {
        self.writer.folder()
    }

    /// The trials that may be carried out now, apart from each other. Empty: no trial is left.
    ///
    /// # Errors
    /// What is recorded cannot be read.
    pub fn next_round(&self) -> Result<Vec<u32>, RunnerError> {
        let (planned, folder) = (&self.resolved.planned, self.writer.folder());
        let at_once = usize::MAX;
        let mut plan = run::next_plan(&self.resolved, planned, at_once, &self.done, Some(folder))?;
        let next = plan.next_trials().into_iter();
        Ok(next.map(|planned| planned.trial.id).collect())
    }

    /// Copies what another run has recorded of its trials.
    ///
    /// # Errors
    /// It is of another experiment or version, or is not what was recorded; or nothing can be written.
    fn copy_from(&mut self, donor: &Donor) -> Result<(), RunnerError> {
        belongs_to(&self.resolved.toml, donor)?;
        self.writer.adopt(donor)?;
        self.done.extend(donor.trials());
        Ok(())
    }

    /// Takes over what another run has recorded of its trials, and leaves nothing there that is of use: its files are moved. Returns
    /// how many trials they are.
    ///
    /// # Errors
    /// It is of another experiment or version, or is not what was recorded; or nothing can be written.
    pub fn move_from(&mut self, donor: Donor) -> Result<usize, RunnerError> {
        belongs_to(&self.resolved.toml, &donor)?;
        let trials = donor.trials().clone();
        self.writer.take(donor)?;
        let count = trials.len();
        self.done.extend(trials);
        Ok(count)
    }

    /// A run of which these trials are done.
    ///
    /// # Errors
    /// What is recorded cannot be read.
    pub fn into_ready(self, options: &RunOptions) -> Result<ReadyRun, RunnerError> {
        ReadyRun::continue_from(self.resolved, options, self.writer, &self.done)
    }
}

/// Makes one run in `runs` of the shards in these folders, which stay as they are.
///
/// # Errors
/// Trials are missing, differ, or are of different experiments or versions, or cannot be taken over; nothing is left in `runs`
/// then. Once they are taken over the run stays, and can be resumed.
pub fn merge(
    folders: &[PathBuf],
    options: &RunOptions,
    runs: &Path,
) -> Result<ReadyRun, RunnerError> {
    // Each has files open as long as it is locked. Without the permission, as many are merged as may be open.
    let _ = process::raise_open_files();
    let donors = folders
        .iter()
        .map(|folder| Donor::open(folder))
        .collect::<Result<Vec<_>, _>>()?;
    let Some(first) = donors.first() else {
        return Err(RunnerError::usage("there is nothing to merge"));
    };
    let source = Source {
        name: first.folder().join("experiment.toml").display().to_string(),
        text: first.experiment().to_owned(),
    };
    let resolved = resolve::again(source, first.environment())?;
    check_divisible_without_results(&resolved)?;
    for donor in &donors {
        belongs_to(first.experiment(), donor)?;
    }
    duplicates_agree(&donors)?;
    all_there(&resolved, &donors)?;
    let merged: Vec<_> = donors.iter().map(part).collect();
    let started = donors.iter().filter_map(Donor::started).min();
    let started = started.unwrap_or_else(SystemTime::now);
    let supplied = options.supplied.clone();
    let mut gathered = GatheredRun::with_parts(resolved, supplied, started, &merged, runs)?;
    let added = donors
        .iter()
        .try_for_each(|donor| gathered.copy_from(donor));
    if let Err(error) = added {
        // All of it is in the shards.
        let _ = gathered.writer.discard();
        return Err(error);
    }
    gathered.into_ready(options)
}

fn part(donor: &Donor) -> MergedPart {
    let environment = donor.environment();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    MergedPart {
        run: (donor.folder().file_name())
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
        shard: text(&environment["shard"]),
        started_utc: text(&environment["run"]["started_utc"]),
        host: environment["host"].clone(),
    }
}

/// Fails where a run is of another experiment, or of another version of this program.
fn belongs_to(experiment: &str, donor: &Donor) -> Result<(), RunnerError> {
    same_experiment(experiment, donor)?;
    same_version(donor.folder(), donor.environment())
}

fn same_experiment(experiment: &str, donor: &Donor) -> Result<(), RunnerError> {
    if donor.experiment() == experiment {
        return Ok(());
    }
    let lines = experiment.lines().zip(donor.experiment().lines());
    let differing = lines.clone().find(|(one, other)| one != other);
    let how = differing.map_or_else(String::new, |(one, other)| {
        format!(": `{other}` in place of `{one}`")
    });
    Err(RunnerError::usage(format!(
        "{} is of another experiment, or of another --set, --seed or --quick{how}",
        shortest(donor.folder())
    )))
}

/// Refuses a simulation by another version.
///
/// # Errors
/// It is refused.
pub(crate) fn same_version(folder: &Path, environment: &Value) -> Result<(), RunnerError> {
    let version = env!("CARGO_PKG_VERSION");
    let theirs = environment["delaylab"].as_str().unwrap_or("?");
    if theirs == version {
        return Ok(());
    }
    Err(RunnerError::usage(format!(
        "{} was simulated by delaylab {theirs}, and this is {version}: simulations of two versions are not one run. Run \
         it again by this version",
        shortest(folder)
    )))
}

/// Fails where a trial that is in two shards, as where one was killed and run again, differs between them.
fn duplicates_agree(donors: &[Donor]) -> Result<(), AdoptError> {
    let mut seen = BTreeMap::<u32, &Donor>::new();
    for donor in donors {
        for &trial in donor.trials() {
            match seen.get(&trial) {
                Some(other) => other.agrees_with(donor, trial)?,
                None => drop(seen.insert(trial, donor)),
            }
        }
    }
    Ok(())
}

fn all_there(resolved: &Resolved, donors: &[Donor]) -> Result<(), RunnerError> {
    let have: BTreeSet<u32> = donors.iter().flat_map(Donor::trials).copied().collect();
    let missing: Vec<usize> = (0..)
        .zip(&resolved.planned)
        .filter(|(_, planned)| !have.contains(&planned.trial.id))
        .map(|(place, _)| place)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let mut remedies = Vec::new();
    let mut unmet = missing.clone();
    for donor in donors {
        let shard = of_run(donor.folder(), donor.environment())?;
        let before = unmet.len();
        // A run that is no shard has all trials.
        unmet.retain(|&place| shard.is_some_and(|shard| !shard.has(place)));
        if unmet.len() < before {
            let folder = shortest(donor.folder());
            remedies.push(format!(
                "{folder} is not at its end: `delaylab resume {}`",
                quoted(&folder)
            ));
        }
    }
    remedies.extend(absent_shards(donors, &unmet)?);
    let more = remedies.len().saturating_sub(MAX_NAMED);
    remedies.truncate(MAX_NAMED);
    if more > 0 {
        remedies.push(format!("and {more} more"));
    }
    Err(RunnerError::usage(format!(
        "{} of {} trials are missing. {}",
        missing.len(),
        resolved.planned.len(),
        remedies.join("; ")
    )))
}

/// The shards that have the trials at these places, as far as they are in as many shards as those that are there.
fn absent_shards(donors: &[Donor], places: &[usize]) -> Result<Vec<String>, RunnerError> {
    let mut of = None;
    for donor in donors {
        of = of.or(of_run(donor.folder(), donor.environment())?.map(Shard::count));
    }
    let Some(of) = of else { return Ok(Vec::new()) };
    let shards = (1..=of).filter_map(|number| Shard::new(number, of).ok());
    let absent = shards.filter(|shard| places.iter().any(|&place| shard.has(place)));
    Ok(absent
        .map(|shard| format!("shard {shard} is not among them: `delaylab run … --shard {shard}`"))
        .collect())
}

impl From<AdoptError> for RunnerError {
    fn from(error: AdoptError) -> Self {
        match error {
            AdoptError::Store(error) => error.into(),
            other => Self::usage(other),
        }
    }
}
