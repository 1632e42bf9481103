//! The run of a model, followed on a terminal, and the files that stand with its records.

use crate::args::experiment::ShownArgs;
use crate::exit::Failed;
use crate::experiment::run;
use crate::output;
use delaylab_runner::measured_path::MeasuredPath;
use delaylab_runner::modelled::{ModelRun, resolved};
use delaylab_runner::options::RunOptions;
use delaylab_runner::run_folder::shortest;

/// Where models are, in the folder of the run that they are of.
const MODELS: &str = "models";

/// Simulates a model of `measured` with these changes and records it.
pub(super) fn run(
    measured: &MeasuredPath,
    model: &str,
    sets: &[(String, String)],
    options: &RunOptions,
    quiet: bool,
) -> Result<ModelRun, Failed> {
    let resolved = resolved(model, sets, None)?;
    let shown = ShownArgs::of_a_step(measured.folder.join(MODELS), quiet, true);
    let folder = run::step(resolved.clone(), options, &shown)?;
    Ok(ModelRun::read(folder, &resolved, measured)?)
}

/// Writes the model, and what was found with it, into the folder of its records. What was written, and where.
pub(super) fn write(
    modelled: &ModelRun,
    model: &str,
    name: &str,
    document: &str,
    page: &str,
) -> Result<Vec<(&'static str, String)>, Failed> {
    let files = [
        ("model", "model.toml".to_owned(), model),
        ("figures", format!("{name}.html"), page),
        ("JSON", format!("{name}.json"), document),
    ];
    let mut written = Vec::new();
    for (what, file, text) in files {
        let path = modelled.folder.join(file);
        output::write(&path, text.as_bytes())?;
        written.push((what, shortest(&path)));
    }
    Ok(written)
}
