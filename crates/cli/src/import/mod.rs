//! `delaylab import`: what another tool measured, as a run.
//!
//! `summary.rs` says what was imported.

mod summary;

use crate::args::import::ImportArgs;
use crate::exit::Failed;
use crate::experiment::conclude;
use crate::head::supplied;
use crate::terminal;
use delaylab_explain::import::Format;
use delaylab_runner::imported_file::{ImportedFile, cannot_read};
use delaylab_runner::run_folder;
use delaylab_view::published::import::{Config, Document};
use std::fs::File;
use std::io;
use std::path::Path;

/// Runs the command.
pub fn run(args: &ImportArgs) -> Result<(), Failed> {
    let mut found = read(args)?;
    let finished = found.record(&args.output, &supplied())?;
    finished.warnings.iter().for_each(terminal::warn);
    let run = run_folder::open(&finished.folder)?;
    let data = conclude::data_for(&run, !args.no_report)?;
    let page = (!args.no_report).then(|| conclude::put_in_run(&data, &finished.folder));
    let page = page.transpose();
    let shown = conclude::page_or_reason(&page);
    if args.json {
        let folder = &data.head.folder;
        let document = Document::new(&found.imported, &found.disagreements, folder, shown);
        terminal::document(&document, config(args))?;
    } else {
        let shown = shown.known().copied();
        let style = terminal::style(&io::stdout(), false);
        terminal::print(summary::text(&found, &data, shown, &style))?;
    }
    // Last: what was imported needs no page.
    page.map(drop)
}

/// The file, or what comes by standard input.
fn read(args: &ImportArgs) -> Result<ImportedFile, Failed> {
    let options = args.options();
    if args.file == Path::new("-") {
        let name = "standard input".to_owned();
        return Ok(ImportedFile::read(name, io::stdin().lock(), &options)?);
    }
    let name = args.file.display().to_string();
    let file = File::open(&args.file).map_err(|error| cannot_read(&name, error))?;
    Ok(ImportedFile::read(name, file, &options)?)
}

fn config(args: &ImportArgs) -> Config<'_> {
    Config {
        file: args.file.display().to_string(),
        format: args.format.map(Format::word),
        columns: &args.columns,
        unit_ns: args.options().unit,
    }
}
