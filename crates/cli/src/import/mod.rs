//! `delaylab import`: what another tool measured, as a run.
//!
//! | file | does |
//! |---|---|
//! | `imported_file.rs` | reads the file |
//! | `recorded.rs` | writes the run |
//! | `summary.rs` | says what was imported |

mod imported_file;
mod recorded;
mod summary;

use crate::args::import::ImportArgs;
use crate::exit::Failed;
use crate::experiment::conclude;
use crate::terminal;
use delaylab_explain::import::Format;
use delaylab_store::run::Run;
use delaylab_view::import::{Config, Document};
use imported_file::ImportedFile;
use std::io;

/// Runs the command.
pub fn run(args: &ImportArgs) -> Result<(), Failed> {
    let mut found = ImportedFile::read(args)?;
    let finished = recorded::run(&mut found, &args.output).map_err(Failed::environment)?;
    for warning in &finished.warnings {
        terminal::say(format!("warning: {warning}"));
    }
    let run = Run::open(&finished.folder).map_err(Failed::environment)?;
    let data = conclude::data_for(&run, !args.no_report)?;
    let page = (!args.no_report).then(|| conclude::put_in_run(&data, &finished.folder));
    let shown = page.as_ref().and_then(|page| page.as_deref().ok());
    if args.json {
        let folder = &data.head.folder;
        let document = Document::new(&found.imported, &found.disagreements, folder, shown);
        terminal::document(&document, config(args))?;
    } else {
        let style = terminal::style(&io::stdout(), false);
        terminal::print(summary::text(&found, &data, shown, &style))?;
    }
    // Last: what was imported needs no page.
    page.transpose().map(drop)
}

fn config(args: &ImportArgs) -> Config<'_> {
    Config {
        file: args.file.display().to_string(),
        format: args.format.map(Format::word),
        columns: &args.columns,
        unit_ns: args.options().unit,
    }
}
