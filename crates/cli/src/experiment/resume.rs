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
use delaylab_runner::options::RunOptions;
use delaylab_runner::resolve;
use delaylab_runner::resume::Resumable;
use delaylab_runner::run::Recorded;
use delaylab_store::killed::Killed;
use delaylab_store::resolve::resolve_run;
use delaylab_store::resume::ResumeError;
use delaylab_store::writer::RunWriter;

/// Runs the command.
pub fn run(args: &ResumeArgs) -> Result<(), Failed> {
    if args.tui {
        tui::check()?;
    }
    let folder = resolve_run(&args.run, &args.shown.output).map_err(Failed::usage)?;
    let (writer, resumed) = RunWriter::resume(&folder).map_err(|error| match error {
        // `latest` is the run that ended last, which one that was killed has not.
        ResumeError::Complete { .. } => {
            let runs = folder.parent().unwrap_or(&args.shown.output);
            let other = killed::interrupted(&Killed::among(runs));
            let other = other.map_or_else(String::new, |other| format!(". {other}"));
            Failed::usage(format!("{error}{other}"))
        }
        _ => Failed::environment(error),
    })?;
    // No trial is carried out any more where one counts with what is recorded of it.
    let what = match resumed.cut_short.is_empty() {
        true => "its trial is repeated",
        false => "its packets are not in the run",
    };
    for part in &resumed.damaged {
        let part = part.display();
        terminal::say(format!(
            "warning: {part} cannot be read and was moved aside: {what}"
        ));
    }
    if !resumed.cut_short.is_empty() {
        let resolved = resolve::of_resumed(&folder, &resumed)?;
        let recorded = Recorded::cut_short(resolved, writer)
            .map_err(|error| resumable(error.into(), &folder.display().to_string()))?;
        return conclude::run(recorded, Ok(()), !args.shown.no_report)?.show(&args.shown);
    }
    let options = RunOptions {
        port: args.port,
        key: key::read(args.key_file.as_deref())?,
        allow_load: args.allow_load,
        threads: args.threads,
        ..with_load(&args.load)
    };
    let interrupted = Resumable::new(writer, resumed, options)?;
    for moved in interrupted.moved() {
        terminal::say(format!("warning: {moved}"));
    }
    catch_stop()?;
    carry_out_and_show(interrupted.start()?, args.tui, &args.shown)
}
