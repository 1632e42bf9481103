//! A model that is run, and what comes of it.

use super::measured::Measured;
use crate::args::calibrate::OfArgs;
use crate::args::experiment::ShownArgs;
use crate::exit::Failed;
use crate::experiment::worlds::Asked;
use crate::experiment::{choose, conclude, run};
use delaylab_explain::calibrate::overlay::{self, Lane};
use delaylab_explain::calibrate::seen::Seen;
use delaylab_lab::experiment::{Choices, Experiment, Resolved, Source};
use delaylab_store::run::Run;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

/// Where models are, in the folder of the run that they are of.
const MODELS: &str = "models";

/// The run of a model.
pub(super) struct Modelled {
    folder: PathBuf,
    /// Its folder, as short as it can be said.
    pub(super) name: String,
    /// What came of it, with the hosts' noise added.
    pub(super) lanes: Vec<Lane>,
}

/// The model with these changes.
pub(super) fn resolve(text: &str, sets: &[(String, String)]) -> Result<Resolved, Failed> {
    let source = Source {
        name: "model.toml".to_owned(),
        text: text.to_owned(),
    };
    let experiment = Experiment::read(source).map_err(choose::wrong)?;
    let choices = Choices {
        sets: sets.to_vec(),
        ..Choices::default()
    };
    choose::resolve(&experiment, &choices)
}

impl Modelled {
    /// Simulates the model with these changes and records it.
    pub(super) fn run(
        measured: &Measured,
        text: &str,
        sets: &[(String, String)],
        of: &OfArgs,
    ) -> Result<Self, Failed> {
        let resolved = resolve(text, sets)?;
        let asked = Asked {
            threads: of.threads,
            ..Asked::default()
        };
        let shown = ShownArgs {
            output: measured.folder.join(MODELS),
            json: false,
            quiet: of.quiet || of.json,
            no_report: true,
        };
        let folder = run::step(resolved.clone(), &asked, &shown)?;
        let run = Run::open(&folder).map_err(|error| Failed::environment(error.to_string()))?;
        let mut lanes = overlay::lanes(&Seen::of_run(&run, &resolved));
        overlay::add_noise(
            &mut lanes,
            &measured.found.hosts.noise,
            measured.resolved.seed,
        );
        Ok(Self {
            name: conclude::shortest(&folder),
            folder,
            lanes,
        })
    }

    /// Writes the model, and what was found with it, beside its records. What was written, and where.
    pub(super) fn write(
        &self,
        text: &str,
        name: &str,
        document: &Value,
        page: &str,
    ) -> Result<Vec<(&'static str, String)>, Failed> {
        let files = [
            ("model", "model.toml".to_owned(), text.to_owned()),
            ("figures", format!("{name}.html"), page.to_owned()),
            ("JSON", format!("{name}.json"), format!("{document}\n")),
        ];
        let mut written = Vec::new();
        for (what, file, text) in files {
            let path = self.folder.join(file);
            fs::write(&path, text).map_err(|error| {
                Failed::environment(format!("cannot write {}: {error}", path.display()))
            })?;
            written.push((what, conclude::shortest(&path)));
        }
        Ok(written)
    }
}
