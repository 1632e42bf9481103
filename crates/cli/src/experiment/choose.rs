//! What was typed of an experiment or a run, for those that find it.

use crate::args::experiment::{ChoiceArgs, RUNS};
use crate::exit::Failed;
use crate::terminal;
use delaylab_lab::experiment::{Choices, Experiment, Resolved};
use delaylab_model::experiment::WorldName;
use delaylab_runner::resolve;
use delaylab_runner::run_folder::{self, shortest};
use delaylab_store::run::Run;
use delaylab_view::run::stored;
use std::path::Path;

/// What was typed, as the experiment takes it.
pub fn choices(args: &ChoiceArgs) -> Choices {
    // Who names a host means the one world that has it.
    let implied = args.target.as_ref().map(|_| WorldName::Live);
    Choices {
        world: args.world.or(implied),
        quick: args.quick,
        sets: args.sets.clone(),
        seed: args.seed,
        drawn_seed: resolve::drawn_seed(),
        target: args.target.clone(),
        measured: args.measured.clone(),
        ..Choices::default()
    }
}

/// The trials of an experiment with these choices, in a world that there is. The run of its measured part is looked for in
/// `runs`, and then where runs are if nothing else is said.
pub fn resolve(
    experiment: &Experiment,
    choices: &Choices,
    runs: &Path,
) -> Result<Resolved, Failed> {
    let resolved = resolve::resolve(experiment, choices, &[runs, Path::new(RUNS)])?;
    let measured = resolved.measured.as_ref();
    if let Some(Ok(measured)) = measured.map(|folder| run_folder::open(Path::new(folder))) {
        say_unchecked(&measured);
        say_not_complete(&measured);
    }
    Ok(resolved)
}

/// The run of this name, or in this folder, and what a reader has to know of it.
///
/// # Errors
/// There is none, or it is not what was recorded.
pub fn run(named: &str, runs: &Path) -> Result<Run, Failed> {
    let run = run_folder::named(named, runs)?;
    say_unchecked(&run);
    Ok(run)
}

/// Says that a run is not complete, where nothing that is shown of it does.
pub fn say_not_complete(run: &Run) {
    let folder = run_folder::shortest(run.folder());
    if let Some(warning) = stored::not_complete(run, &folder) {
        terminal::warn(format!("{folder}: {warning}"));
    }
}

fn say_unchecked(run: &Run) {
    if let Some(warning) = stored::unchecked(run, &shortest(run.folder())) {
        terminal::warn(warning);
    }
}
