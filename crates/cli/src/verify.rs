//! `delaylab verify`.

use crate::exit::Failed;
use crate::output::RUNS;
use crate::terminal;
use clap::Args;
use delaylab_runner::run_folder::shortest;
use delaylab_store::resolve::resolve_run;
use delaylab_store::run::READ_AS_OWNER;
use delaylab_store::verify::{Mismatch, Verified, runs_in, verify_found};
use delaylab_terminal::verify::line;
use delaylab_view::published::verify::{Config, Document};
use std::io;
use std::path::{Path, PathBuf};

/// Check that the files of runs are as recorded
#[derive(Debug, Args)]
#[command(after_help = "\
Every file is read and compared with the length and the SHA-256 in the run's manifest.json; files that \
can be made again, such as report.html, are in none. Of a run without a manifest, which older \
versions wrote, every row is read.

Exit codes: 0 every run is as it was recorded, or nothing says otherwise; 3 a file is not, or cannot be \
read.

Examples:
  delaylab verify latest
  delaylab verify runs /data/runs          every run in two folders
  delaylab verify runs --json")]
pub struct VerifyArgs {
    /// Runs, each by its folder, its name (also without its time: the newest one) or `latest`; or folders with runs
    #[arg(value_name = "RUN|DIR", required = true)]
    pub named: Vec<String>,

    /// Directory of runs
    #[arg(long, value_name = "DIR", default_value = RUNS)]
    pub runs: PathBuf,

    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
pub fn run(args: &VerifyArgs) -> Result<(), Failed> {
    let mut found = Vec::new();
    for named in &args.named {
        for folder in folders(named, &args.runs)? {
            match verify_found(&folder) {
                Some(verified) => found.push((shortest(&verified.folder), verified)),
                None => {
                    let folder = shortest(&folder);
                    terminal::warn(format!("{folder} is gone since it was found"));
                }
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
    let folder = resolve_run(named, runs).map_err(Failed::usage)?;
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
