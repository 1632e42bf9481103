//! A file of another tool, read and checked against itself.

use crate::args::import::ImportArgs;
use crate::exit::Failed;
use delaylab_explain::import::{self, Disagreement, ImportError, Imported, Input};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// What a file of another tool has.
pub struct ImportedFile {
    /// What the file is called.
    pub file: String,
    /// All that it says.
    pub imported: Imported,
    /// What it says of its own packets and they do not give.
    pub disagreements: Vec<Disagreement>,
}

impl ImportedFile {
    /// Reads it.
    ///
    /// # Errors
    /// It cannot be read, or is of no known format.
    pub fn read(args: &ImportArgs) -> Result<Self, Failed> {
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

fn is_standard_input(file: &Path) -> bool {
    file == Path::new("-")
}

fn open(file: &Path) -> io::Result<Box<dyn Read>> {
    if is_standard_input(file) {
        return Ok(Box::new(io::stdin().lock()));
    }
    Ok(Box::new(File::open(file)?))
}
