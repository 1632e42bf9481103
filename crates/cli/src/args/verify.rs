//! `delaylab verify`.

use super::experiment::RUNS;
use clap::Args;
use std::path::PathBuf;

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
