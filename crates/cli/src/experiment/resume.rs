//! `delaylab resume`.

use super::resumable::resumable;
use super::run::{carry_out_and_show, with_load};
use super::{conclude, killed};
use crate::args::experiment::ResumeArgs;
use crate::exit::Failed;
use crate::key;
use crate::stop::catch_stop;
use crate::terminal;
use crate::tui;
use delaylab_runner::interrupted::Interrupted;
use delaylab_runner::options::RunOptions;
use delaylab_store::killed::Killed;
use delaylab_store::resolve::resolve_interrupted;
use delaylab_store::resume::ResumeError;
use std::path::Path;

/// Runs the command.
pub fn run(args: &ResumeArgs) -> Result<(), Failed> {
    if args.tui {
        tui::check()?;
    }
    let folder = resolve_interrupted(&args.run, &args.shown.output).map_err(Failed::usage)?;
    let interrupted = open(&folder, &args.shown.output)?;
    // No trial is carried out any more of a run that counts with what is recorded of it.
    let what = match interrupted.counts_as_it_stands() || interrupted.lacks_everything() {
        true => "its packets are not in the run",
        false => "its trial is repeated",
    };
    for part in interrupted.damaged() {
        let part = part.display();
        terminal::warn(format!("{part} cannot be read and was moved aside: {what}"));
    }
    if interrupted.lacks_everything() {
        return Err(Failed::usage(format!(
            "{}: no packet of this ping is recorded, and a ping is not repeated. Remove the folder to discard it",
            folder.display()
        )));
    }
    if interrupted.counts_as_it_stands() {
        let resolved = interrupted.resolved()?;
        let carried_out = interrupted.end(resolved);
        let carried_out =
            carried_out.map_err(|error| resumable(error.into(), &folder.display().to_string()))?;
        return conclude::run(carried_out, Ok(()), !args.shown.no_report)?.show(&args.shown);
    }
    let remaining = interrupted.remaining(RunOptions {
        port: args.port,
        key: key::read(args.key_file.as_deref())?,
        allow_load: args.allow_load,
        threads: args.threads,
        ..with_load(&args.load)
    })?;
    remaining.moved().iter().for_each(terminal::warn);
    catch_stop()?;
    carry_out_and_show(remaining.into_ready()?, args.tui, &args.shown)
}

/// The interrupted run in this folder; of one that is complete, which other one of these `runs` was interrupted.
fn open(folder: &Path, runs: &Path) -> Result<Interrupted, Failed> {
    Interrupted::open(folder).map_err(|error| match error {
        // Another one may be meant.
        ResumeError::Complete { .. } => {
            let runs = folder.parent().unwrap_or(runs);
            let other = killed::interrupted(&Killed::among(runs));
            let other = other.map_or_else(String::new, |other| format!(". {other}"));
            Failed::usage(format!("{error}{other}"))
        }
        _ => Failed::environment(error),
    })
}
