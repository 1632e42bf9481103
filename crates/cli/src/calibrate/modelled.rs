//! A model that is run, and what comes of it.

use super::measured::Measured;
use crate::args::calibrate::OfArgs;
use crate::args::experiment::{RUNS, ShownArgs};
use crate::exit::{Exit, Failed};
use crate::experiment::{choose, run};
use crate::output;
use delaylab_explain::calibrate::overlay::{self, Group};
use delaylab_explain::calibrate::prediction::AGAIN;
use delaylab_explain::calibrate::run_trials::RunTrials;
use delaylab_kernel::signals;
use delaylab_lab::experiment::{Choices, Experiment, Resolved, Source};
use delaylab_runner::options::RunOptions;
use delaylab_runner::run_folder::{self, shortest};
use delaylab_runner::worlds;
use delaylab_sim::world::Simulated;
use delaylab_stats::random::SplitMix;
use std::path::{Path, PathBuf};
use std::{panic, thread};

/// Where models are, in the folder of the run that they are of.
const MODELS: &str = "models";

/// The run of a model.
pub(super) struct Modelled {
    folder: PathBuf,
    /// Its folder, as short as it can be said.
    pub(super) name: String,
    /// What came of it, with the hosts' noise added.
    pub(super) groups: Vec<Group>,
}

/// The model with these changes, and with this seed instead of the measured run's.
pub(super) fn resolve(
    text: &str,
    sets: &[(String, String)],
    seed: Option<u64>,
) -> Result<Resolved, Failed> {
    let source = Source {
        name: "model.toml".to_owned(),
        text: text.to_owned(),
    };
    let experiment = Experiment::read(source)?;
    let choices = Choices {
        sets: sets.to_vec(),
        seed,
        ..Choices::default()
    };
    choose::resolve(&experiment, &choices, Path::new(RUNS))
}

/// More simulations of the model with these changes, each with other packets and with another path that the
/// calibration's intervals allow. Nothing is recorded of them.
pub(super) fn again(
    measured: &Measured,
    sets: &[(String, String)],
    of: &OfArgs,
) -> Result<Vec<Vec<Group>>, Failed> {
    let mut random = SplitMix::new(measured.resolved.seed);
    let mut experiments = Vec::new();
    for _ in 0..AGAIN {
        let found = measured.found.drawn(&mut random);
        let text = measured.model_of(&found, "again");
        let text = text.map_err(|why| Failed::new(Exit::Unreachable, why))?;
        // A seed has 63 bits.
        experiments.push(resolve(&text, sets, Some(random.next() >> 1))?);
    }
    let threads = worlds::threads(of.threads);
    let each = experiments.len().div_ceil(threads);
    thread::scope(|scope| {
        let parts = experiments.chunks(each);
        let parts: Vec<_> = parts
            .map(|part| scope.spawn(|| part.iter().map(|one| simulated(measured, one)).collect()))
            .collect();
        let joined = parts.into_iter().map(|part| part.join());
        let groups: Result<Vec<Vec<_>>, Failed> = joined
            .map(|part| part.unwrap_or_else(|panic| panic::resume_unwind(panic)))
            .collect();
        Ok(groups?.concat())
    })
}

fn simulated(measured: &Measured, resolved: &Resolved) -> Result<Vec<Group>, Failed> {
    let mut world = Simulated::new(1, signals::stop());
    let seen = RunTrials::of_world(&mut world, resolved);
    let seen = seen.map_err(Failed::environment)?;
    if signals::stop().is_asked() {
        return Err(Failed::new(Exit::Unreachable, "stopped"));
    }
    let mut groups = overlay::groups(&seen);
    overlay::add_noise(&mut groups, &measured.found.hosts.noise, resolved.seed);
    Ok(groups)
}

impl Modelled {
    /// Simulates the model with these changes and records it.
    pub(super) fn run(
        measured: &Measured,
        text: &str,
        sets: &[(String, String)],
        of: &OfArgs,
    ) -> Result<Self, Failed> {
        let resolved = resolve(text, sets, None)?;
        let options = RunOptions {
            threads: of.threads,
            ..run::options()
        };
        let quiet = of.quiet || of.json;
        let shown = ShownArgs::of_a_step(measured.folder.join(MODELS), quiet, true);
        let folder = run::step(resolved.clone(), &options, &shown)?;
        let run = run_folder::open(&folder)?;
        let mut groups = overlay::groups(&RunTrials::of_run(&run, &resolved));
        overlay::add_noise(
            &mut groups,
            &measured.found.hosts.noise,
            measured.resolved.seed,
        );
        Ok(Self {
            name: shortest(&folder),
            folder,
            groups,
        })
    }

    /// Writes the model, and what was found with it, beside its records. What was written, and where.
    pub(super) fn write(
        &self,
        text: &str,
        name: &str,
        document: &str,
        page: &str,
    ) -> Result<Vec<(&'static str, String)>, Failed> {
        let files = [
            ("model", "model.toml".to_owned(), text.to_owned()),
            ("figures", format!("{name}.html"), page.to_owned()),
            ("JSON", format!("{name}.json"), document.to_owned()),
        ];
        let mut written = Vec::new();
        for (what, file, text) in files {
            let path = self.folder.join(file);
            output::write(&path, text.as_bytes())?;
            written.push((what, shortest(&path)));
        }
        Ok(written)
    }
}
