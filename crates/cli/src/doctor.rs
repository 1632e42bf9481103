//! `delaylab doctor`.

use crate::exit::Failed;
use crate::terminal;
use clap::Args;
use delaylab_live::doctor::{Options, examine};
use delaylab_live::prober::selfcheck;
use delaylab_view::published::doctor::Config;
use std::io;

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

/// Runs the command.
pub fn run(args: &DoctorArgs) -> Result<(), Failed> {
    let options = if args.quick {
        Options::quick()
    } else {
        Options::default()
    };
    terminal::doing("looking at clocks, timers, noise and stamps ...");
    let program = std::env::current_exe().ok();
    let checkup = examine(&options, selfcheck::delivered(), program.as_deref())
        .map_err(|error| Failed::environment(format!("cannot look at this host: {error}")))?;
    terminal::done();
    if args.json {
        let quick = args.quick;
        return terminal::document(&checkup, Config { quick });
    }
    let style = terminal::style(&io::stdout(), false);
    terminal::print(delaylab_terminal::doctor::render(&checkup, &style))
}
