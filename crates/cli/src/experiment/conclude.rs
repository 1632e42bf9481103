//! The end of a run whose trials are all recorded: findings, tables, report.

use super::choose;
use crate::args::experiment::ShownArgs;
use crate::exit::{Exit, Failed};
use crate::terminal;
use delaylab_lab::experiment::Resolved;
use delaylab_lab::finding::{Judged, judge};
use delaylab_lab::stored::Stored;
use delaylab_report::run::{RunData, stored};
use delaylab_report::{benchmark, html, run_terminal};
use delaylab_store::run::Run;
use delaylab_store::writer::RunWriter;
use serde_json::json;
use std::io;
use std::path::{Path, PathBuf};

/// A run that is over: what it came to, and where it is.
pub struct Concluded {
    /// All of it, as it is shown.
    pub data: RunData,
    /// Its findings.
    pub judged: Vec<Judged>,
    /// Where its page is.
    pub page: PathBuf,
}

/// Judges the findings, gives the run its name and writes its page.
pub fn run(resolved: &Resolved, writer: RunWriter) -> Result<Concluded, Failed> {
    let environment = |error: &dyn std::fmt::Display| Failed::environment(error.to_string());
    let partial = Run::open(writer.folder()).map_err(|error| environment(&error))?;
    let judged = judge(&resolved.findings, &Stored::new(&partial), resolved.seed);
    drop(partial);
    let finished = writer
        .finish(&json!(judged))
        .map_err(|error| environment(&error))?;
    for warning in &finished.warnings {
        terminal::say(format!("warning: {warning}"));
    }
    let run = Run::open(&finished.folder).map_err(|error| environment(&error))?;
    let data = run_data(&run);
    let page = write_page(&data, &finished.folder.join("report.html"))?;
    Ok(Concluded { data, judged, page })
}

impl Concluded {
    /// Prints it as was asked for.
    ///
    /// # Errors
    /// Where nothing was answered, once that is shown.
    pub fn show(&self, shown: &ShownArgs) -> Result<(), Failed> {
        show(&self.data, &self.judged, &self.page, shown)?;
        self.unless_unanswered()
    }

    /// An error where nothing was answered.
    pub fn unless_unanswered(&self) -> Result<(), Failed> {
        // A device that loses everything has been measured.
        if self.data.any_answered() || self.data.benchmark.is_some() {
            Ok(())
        } else {
            Err(Failed::new(Exit::Unreachable, "no packet was answered"))
        }
    }
}

/// The run as its page shows it.
pub fn run_data(run: &Run) -> RunData {
    stored::in_full(run, choose::of_run(run).as_ref(), &shortest(run.folder()))
}

/// The run as it is shown beside another one.
pub fn run_data_beside(run: &Run) -> RunData {
    stored::of(run, choose::of_run(run).as_ref(), &shortest(run.folder()))
}

/// Without this directory's own path in front.
pub fn shortest(folder: &Path) -> String {
    let here = std::env::current_dir().ok();
    let below = here.and_then(|here| folder.strip_prefix(here).ok().map(Path::to_owned));
    below.as_deref().unwrap_or(folder).display().to_string()
}

/// Writes the page. A report can be made again at any time: an older one gives way.
pub fn write_page(data: &RunData, path: &Path) -> Result<PathBuf, Failed> {
    write(path, &html::page(data))?;
    if let Some(found) = &data.benchmark {
        write(
            &path.with_file_name("benchmark.md"),
            &benchmark::markdown(found),
        )?;
    }
    Ok(path.to_owned())
}

fn write(path: &Path, text: &str) -> Result<(), Failed> {
    std::fs::write(path, text)
        .map_err(|error| Failed::environment(format!("cannot write {}: {error}", path.display())))
}

fn show(data: &RunData, judged: &[Judged], page: &Path, shown: &ShownArgs) -> Result<(), Failed> {
    let text = if shown.json {
        let folder = &data.head.folder;
        let last = json!({
            "schema": "delaylab/run/1", "kind": "run", "folder": folder, "findings": judged,
            "report": page.display().to_string(), "problems": data.problems,
            "benchmark": data.benchmark,
        });
        format!("{last}\n")
    } else {
        let style = terminal::style(&io::stdout(), false);
        run_terminal::summary(data, Some(&page.display().to_string()), &style)
    };
    terminal::print(&text)
}
