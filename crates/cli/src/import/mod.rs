//! `delaylab import`: what another tool measured, as a run.
//!
//! | file | does |
//! |---|---|
//! | `recorded.rs` | writes the run |
//! | `told.rs` | says what was imported |

mod recorded;
mod told;

use crate::args::import::ImportArgs;
use crate::exit::Failed;
use crate::experiment::conclude;
use crate::terminal;
use delaylab_explain::import::{self, Disagreement, ImportError, Imported, Input};
use delaylab_store::run::Run;
use delaylab_view::import::Document;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// What a file gave.
struct Found {
    /// What the file is called.
    file: String,
    /// All that it says.
    imported: Imported,
    /// What it says of its own packets and they do not give.
    disagreements: Vec<Disagreement>,
}

impl Found {
    fn read(args: &ImportArgs) -> Result<Self, Failed> {
        let file = if is_standard_input(&args.file) {
            "standard input".to_owned()
        } else {
            args.file.display().to_string()
        };
        let source = open(&args.file)
            .map_err(|error| Failed::environment(format!("cannot read {file}: {error}")))?;
        let input = Input::new(source);
        let imported = input
            .and_then(|input| import::read_from(input, &args.options()))
            .map_err(|error| match error {
                ImportError::Read { reason } => {
                    Failed::environment(format!("cannot read {file}: {reason}"))
                }
                error => Failed::usage(format!("{file}: {error}")),
            })?;
        Ok(Self {
            file,
            disagreements: import::check(&imported),
            imported,
        })
    }
}

/// Runs the command.
pub fn run(args: &ImportArgs) -> Result<(), Failed> {
    let mut found = Found::read(args)?;
    let environment = |error: &dyn std::fmt::Display| Failed::environment(error.to_string());
    let finished = recorded::run(&mut found, &args.output).map_err(|error| environment(&error))?;
    for warning in &finished.warnings {
        terminal::say(format!("warning: {warning}"));
    }
    let run = Run::open(&finished.folder).map_err(|error| environment(&error))?;
    let data = conclude::data_for(&run, !args.no_report)?;
    let page = (!args.no_report).then(|| conclude::put_in_run(&data, &finished.folder));
    let page = page.transpose()?;
    if args.json {
        let (folder, page) = (&data.head.folder, page.as_deref());
        let document = Document::new(&found.imported, &found.disagreements, folder, page);
        return terminal::document(&document);
    }
    let style = terminal::style(&io::stdout(), false);
    terminal::print(told::text(&found, &data, page.as_deref(), &style))
}

fn is_standard_input(file: &Path) -> bool {
    file == Path::new("-")
}

fn open(file: &Path) -> io::Result<Box<dyn Read>> {
    if is_standard_input(file) {
        return Ok(Box::new(io::stdin().lock()));
    }
    Ok(Box::new(File::open(file)?))
}
