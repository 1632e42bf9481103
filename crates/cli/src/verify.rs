//! `delaylab verify`.

use crate::args::verify::VerifyArgs;
use crate::exit::Failed;
use crate::terminal;
use delaylab_runner::run_folder::shortest;
use delaylab_store::resolve::resolve_run;
use delaylab_store::run::READ_AS_OWNER;
use delaylab_store::verify::{Mismatch, Verified, runs_in, verify_found};
use delaylab_terminal::verify::line;
use delaylab_view::verify::{Config, Document};
use std::io;
use std::path::{Path, PathBuf};

/// Runs the command.
pub fn run(args: &VerifyArgs) -> Result<(), Failed> {
    let mut found = Vec::new();
    for named in &args.named {
        for folder in folders(named, &args.runs)? {
            match verify_found(&folder) {
                Some(verified) => found.push((shortest(&verified.folder), verified)),
                None => terminal::say(format!(
                    "warning: {} is gone since it was found",
                    shortest(&folder)
                )),
            }
        }
    }
    if args.json {
        let runs = &args.named;
        terminal::document(&Document::new(&found), Config { runs })?;
    } else {
        let style = terminal::style(&io::stdout(), false);
        let lines = found.iter().map(|(name, run)| line(name, run, &style));
        terminal::print(lines.collect::<String>())?;
    }
    let wrong = found.iter().filter(|(_, run)| !run.wrong.is_empty());
    match wrong.count() {
        0 => Ok(()),
        wrong => Err(Failed::environment(sentence(wrong, &found))),
    }
}

fn sentence(wrong: usize, found: &[(String, Verified)]) -> String {
    let all = found.len();
    let runs = if all == 1 { "run is" } else { "runs are" };
    let mut files = found.iter().flat_map(|(_, run)| &run.wrong);
    if files.all(Mismatch::is_denied) {
        return format!("{wrong} of {all} {runs} not readable by this user. {READ_AS_OWNER}");
    }
    format!(
        "{wrong} of {all} {runs} not as recorded. Restore the files from a copy, or measure again"
    )
}

/// The run of this name, or every run in this directory.
fn folders(named: &str, runs: &Path) -> Result<Vec<PathBuf>, Failed> {
    let folder = match resolve_run(named, runs) {
        Ok(folder) => folder,
        Err(error) => return Err(Failed::usage(error)),
    };
    let found = runs_in(&folder).map_err(|error| {
        Failed::environment(format!("cannot look into {}: {error}", folder.display()))
    })?;
    if found.is_empty() {
        return Err(Failed::usage(format!(
            "{named}: neither a run nor a directory with runs"
        )));
    }
    Ok(found)
}
