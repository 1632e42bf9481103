//! `delaylab doctor`.

use clap::Args;

/// Say what this host can measure, what it lacks and how to get it
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,

    /// Take a tenth of the time; figures are rougher
    #[arg(long)]
    pub quick: bool,
}
