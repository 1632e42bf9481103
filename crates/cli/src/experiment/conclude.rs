//! The end of a run whose trials are all recorded: findings, tables, report.

use super::run_data;
use crate::args::experiment::ShownArgs;
use crate::exit::{Exit, Failed};
use crate::terminal;
use delaylab_lab::experiment::{FindingText, Resolved};
use delaylab_lab::finding::{Finding, Judged, judge};
use delaylab_lab::stored::Stored;
use delaylab_report::run::RunData;
use delaylab_report::{html, run_terminal};
use delaylab_store::run::Run;
use delaylab_store::writer::RunWriter;
use serde_json::json;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Judges the findings, gives the run its name, and shows it.
pub fn run(resolved: &Resolved, writer: RunWriter, shown: &ShownArgs) -> Result<(), Failed> {
    let environment = |error: &dyn std::fmt::Display| Failed::environment(error.to_string());
    let partial = Run::open(writer.folder()).map_err(|error| environment(&error))?;
    let judged = judged(resolved, &partial);
    drop(partial);
    let finished = writer
        .finish(&json!(judged))
        .map_err(|error| environment(&error))?;
    for warning in &finished.warnings {
        eprintln!("warning: {warning}");
    }
    let run = Run::open(&finished.folder).map_err(|error| environment(&error))?;
    let data = run_data::of(&run);
    let page = write_page(&data, &finished.folder.join("report.html"))?;
    show(&data, &judged, &page, shown)?;
    if run_data::any_answered(&data) {
        Ok(())
    } else {
        Err(Failed::new(Exit::Unreachable, "no packet was answered"))
    }
}

fn judged(resolved: &Resolved, run: &Run) -> Vec<Judged> {
    let finding = |text: &FindingText| Finding {
        id: text.id.clone(),
        says: text.says.clone(),
        check: text.check.clone(),
    };
    let findings: Vec<_> = resolved.findings.iter().map(finding).collect();
    judge(&findings, &Stored::new(run), resolved.seed)
}

/// Writes the page. A report can be made again at any time: an older one gives way.
pub fn write_page(data: &RunData, path: &Path) -> Result<PathBuf, Failed> {
    std::fs::write(path, html::page(data)).map_err(|error| {
        Failed::environment(format!("cannot write {}: {error}", path.display()))
    })?;
    Ok(path.to_owned())
}

fn show(data: &RunData, judged: &[Judged], page: &Path, shown: &ShownArgs) -> Result<(), Failed> {
    let text = if shown.json {
        let folder = &data.head.folder;
        let last = json!({
            "schema": "delaylab/run/1", "kind": "run", "folder": folder, "findings": judged,
            "report": page.display().to_string(), "problems": data.problems,
        });
        format!("{last}\n")
    } else {
        let style = terminal::style(&io::stdout(), false);
        run_terminal::summary(data, Some(&page.display().to_string()), &style)
    };
    print(&text)
}

/// To standard output. Whoever stops reading has seen enough.
pub fn print(text: &str) -> Result<(), Failed> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failed::environment(
            format!("cannot write to standard output: {error}"),
        )),
        _ => Ok(()),
    }
}
