//! A run on disk.

use crate::error::{self, detached, environment, exception, usage};
use crate::table::Table;
use delaylab_figure::{Drawing, every_drawing};
use delaylab_runner::resolve;
use delaylab_runner::run_folder::{self, shortest};
use delaylab_store::run::{Run, State};
use delaylab_view::run::{RunData, stored};
use pyo3::prelude::*;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// A run on disk, whose files are what was recorded unless it says that it is `unchecked`.
#[pyclass(frozen, module = "delaylab._delaylab")]
pub struct Stored {
    run: Arc<Run>,
    data: OnceLock<RunData>,
    drawings: OnceLock<Vec<Drawing>>,
}

impl Stored {
    /// As its page shows it. All records are read, once.
    fn data(&self) -> &RunData {
        self.data.get_or_init(|| {
            let resolved = resolve::of_run(&self.run);
            stored::in_full(&self.run, resolved.as_ref(), &self.shown_folder())
        })
    }

    fn shown_folder(&self) -> String {
        shortest(self.run.folder())
    }

    fn drawings(&self) -> &[Drawing] {
        self.drawings.get_or_init(|| every_drawing(self.data()))
    }

    /// Fails where something could not be read.
    fn whole(&self, py: Python<'_>) -> PyResult<()> {
        run_folder::fail_if_damaged(&self.run).map_err(|error| exception(py, &error))
    }
}

#[pymethods]
impl Stored {
    /// The run of this name in `runs`, or in this folder.
    #[staticmethod]
    fn open(py: Python<'_>, named: String, runs: PathBuf) -> PyResult<Self> {
        let run = detached(py, || run_folder::named(&named, &runs))?;
        Ok(Self {
            run: Arc::new(run.map_err(|error| exception(py, &error))?),
            data: OnceLock::new(),
            drawings: OnceLock::new(),
        })
    }

    #[getter]
    fn folder(&self) -> &Path {
        self.run.folder()
    }

    #[getter]
    fn name(&self) -> Option<&str> {
        self.run.name()
    }

    #[getter]
    fn world(&self) -> Option<&str> {
        self.run.world()
    }

    #[getter]
    fn started_utc(&self) -> Option<&str> {
        self.run.started_utc()
    }

    #[getter]
    fn complete(&self) -> bool {
        self.run.state() == State::Complete
    }

    /// The experiment file, as resolved.
    #[getter]
    fn experiment(&self) -> Option<&str> {
        self.run.experiment()
    }

    /// Where it ran, as JSON.
    #[getter]
    fn environment(&self) -> String {
        self.run.environment().to_string()
    }

    /// What was found, as JSON; `None` where nothing was judged.
    #[getter]
    fn findings(&self) -> Option<String> {
        self.run.findings().map(ToString::to_string)
    }

    /// What to know of a run that nothing can be held against; `None`: its files are what was recorded.
    #[getter]
    fn unchecked(&self) -> Option<String> {
        stored::unchecked(&self.run, &self.shown_folder())
    }

    /// Those of these warnings that none of its trials has: of what several have, `problems` says the worst.
    fn others(&self, said: Vec<String>) -> Vec<String> {
        let facts = self.run.trials().iter().map(|row| &row.facts);
        let own: BTreeSet<&String> = facts
            .flat_map(|facts| facts.flaws.iter().chain(&facts.warnings))
            .collect();
        let others = said.into_iter().filter(|warning| !own.contains(warning));
        others.collect()
    }

    /// What to know before trusting what is shown of it.
    fn problems(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        detached(py, || {
            // What was read for something else says it, too.
            let alone = || match self.data.get() {
                Some(_) => None,
                None => {
                    let resolved = resolve::of_run(&self.run);
                    stored::problems_alone(&self.run, resolved.as_ref(), &self.shown_folder())
                }
            };
            alone().unwrap_or_else(|| self.data().problems.clone())
        })
    }

    /// The names of the tables that were recorded.
    #[getter]
    fn tables(&self) -> Vec<&'static str> {
        self.run.tables()
    }

    /// A table that was recorded, or these columns of it.
    fn table(&self, py: Python<'_>, name: String, columns: Vec<String>) -> PyResult<Table> {
        // What is wrong with the names is said now, and not when it is read.
        let opened = detached(py, || self.run.table(&name, &columns).map(drop))?;
        opened.map_err(|error| error::table(py, &error))?;
        Ok(Table::stored(self.run.clone(), name, columns))
    }

    /// The run in one table: a row for each combination of levels, or of the levels of these factors.
    fn summary(&self, py: Python<'_>, by: Option<Vec<String>>) -> PyResult<Table> {
        let digest = detached(py, || match by {
            None => Ok(self.data().digest(None)),
            Some(by) => self.data().digest_by(&self.run, &by),
        })?;
        self.whole(py)?;
        let frame = digest
            .map_err(|error| usage(py, &error.to_string()))?
            .frame();
        let batch = frame.batch();
        Ok(Table::of_batch(
            batch.map_err(|error| environment(py, &error.to_string()))?,
        ))
    }

    /// Name, heading and meaning of each figure that has something to show.
    fn figures(&self, py: Python<'_>) -> PyResult<Vec<(String, String, String)>> {
        let drawings = detached(py, || self.drawings())?;
        self.whole(py)?;
        let drawings = drawings.iter();
        Ok(drawings
            .map(|one| (one.name.clone(), one.title.clone(), one.about.clone()))
            .collect())
    }

    /// The Vega-Lite specification of a figure, with its data, as JSON.
    fn figure(&self, py: Python<'_>, name: &str) -> PyResult<String> {
        let drawings = detached(py, || self.drawings())?;
        self.whole(py)?;
        let drawing = detached(py, || {
            let drawing = delaylab_figure::named(drawings, self.data(), name)?;
            Ok::<_, String>(drawing.standalone().to_string())
        })?;
        drawing.map_err(|unknown| usage(py, &unknown))
    }
}
