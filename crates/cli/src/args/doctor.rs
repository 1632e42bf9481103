//! `delaylab doctor`.

use clap::Args;

/// Check what this host can measure, what is missing, and how to get it
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,

    /// Take less time (1 s instead of 5 s); results are less precise
    #[arg(long)]
    pub quick: bool,
}
