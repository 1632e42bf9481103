//! `delaylab run`.

use super::conclude::Concluded;
use super::progress::ProgressDisplay;
use super::resumable::{how_to_resume, resumable};
use super::{choose, conclude, killed};
use crate::args::experiment::{RunArgs, ShownArgs};
use crate::args::load::LoadServerArgs;
use crate::exit::{Exit, Failed};
use crate::head::supplied;
use crate::key;
use crate::stop::catch_stop;
use crate::tui::{self, Tui};
use delaylab_kernel::signals;
use delaylab_lab::experiment::{Choices, Experiment, Resolved};
use delaylab_lab::run::Watch;
use delaylab_runner::assignment::Assignment;
use delaylab_runner::options::RunOptions;
use delaylab_runner::resolve;
use delaylab_runner::run::{CarriedOut, ReadyRun};
use std::path::{Path, PathBuf};

/// Runs the command.
pub fn run(args: &RunArgs) -> Result<(), Failed> {
    if args.tui {
        tui::check()?;
    }
    let experiment = resolve::experiment(&args.choice.experiment)?;
    let choices = choose::choices(&args.choice);
    let resolved = choose::resolve(&experiment, &choices, &args.shown.output)?;
    let options = RunOptions {
        port: args.choice.port,
        key: key::read(args.key_file.as_deref())?,
        allow_load: args.allow_load,
        threads: args.threads,
        share: args.shard.map(Assignment::Shard),
        ..with_load(&args.load)
    };
    let ready = make_ready(resolved, &options, &args.shown)?;
    carry_out_and_show(ready, args.tui, &args.shown)
}

/// What this program wants of every run: it is itself the reflector of runs without a target, and Ctrl-C stops them.
pub fn options() -> RunOptions {
    RunOptions {
        program: std::env::current_exe().ok(),
        watches_noise: true,
        stop: signals::stop(),
        supplied: supplied(),
        ..RunOptions::default()
    }
}

/// The same with this server for load.
pub fn with_load(load: &LoadServerArgs) -> RunOptions {
    RunOptions {
        load: load.choice(),
        ..options()
    }
}

/// Runs an experiment that is not named on the command line.
pub fn run_experiment(
    experiment: &Experiment,
    choices: &Choices,
    options: &RunOptions,
    shown: &ShownArgs,
) -> Result<(), Failed> {
    let resolved = choose::resolve(experiment, choices, &shown.output)?;
    record(resolved, options, shown)?.show(shown)
}

/// Runs what is only a step of another command: nothing is judged, shown or reported. The run's folder.
pub fn step(
    resolved: Resolved,
    options: &RunOptions,
    shown: &ShownArgs,
) -> Result<PathBuf, Failed> {
    let ready = make_ready(resolved, options, shown)?;
    let carried_out = every_trial(ready, &mut ProgressDisplay::of_a_step(shown))?;
    Ok(carried_out.finish_unjudged()?.folder)
}

/// Carries it out and judges it, without printing the results.
pub fn record(
    resolved: Resolved,
    options: &RunOptions,
    shown: &ShownArgs,
) -> Result<Concluded, Failed> {
    carry_out(make_ready(resolved, options, shown)?, false, shown)
}

fn make_ready(
    resolved: Resolved,
    options: &RunOptions,
    shown: &ShownArgs,
) -> Result<ReadyRun, Failed> {
    catch_stop()?;
    Ok(ReadyRun::create(resolved, options, &shown.output)?)
}

/// Carries out every trial that is left and prints the results; of a shard, its folder.
pub fn carry_out_and_show(
    ready: ReadyRun,
    in_live_view: bool,
    shown: &ShownArgs,
) -> Result<(), Failed> {
    let Some(shard) = ready.shard() else {
        let runs = ready.folder().parent().map(Path::to_owned);
        let concluded = carry_out(ready, in_live_view, shown)?;
        let ended = concluded.show(shown);
        if let Some(runs) = runs {
            killed::say(&runs);
        }
        return ended;
    };
    let trials = ready.planned().len();
    let (carried_out, lines) = follow(ready, in_live_view, shown)?;
    lines?;
    conclude::shard(&carried_out, shard, trials, shown)
}

/// Every trial that is left, and the conclusion; followed by people, in a live view if they want it, or by programs.
pub fn carry_out(
    ready: ReadyRun,
    in_live_view: bool,
    shown: &ShownArgs,
) -> Result<Concluded, Failed> {
    let (carried_out, lines) = follow(ready, in_live_view, shown)?;
    conclude::run(carried_out, lines, !shown.no_report)
}

/// What was recorded, and whether its lines for programs were written.
fn follow(
    ready: ReadyRun,
    in_live_view: bool,
    shown: &ShownArgs,
) -> Result<(CarriedOut, Result<(), Failed>), Failed> {
    let mut display = if in_live_view {
        let name = &ready.resolved().name;
        ProgressDisplay::live(Tui::open(format!("delaylab run {name}"))?)
    } else {
        ProgressDisplay::new(shown)
    };
    let carried_out = every_trial(ready, &mut display)?;
    Ok((carried_out, display.lines))
}

fn every_trial(ready: ReadyRun, display: &mut ProgressDisplay) -> Result<CarriedOut, Failed> {
    let folder = ready.folder().display().to_string();
    let watcher = display.watcher();
    let watch = watcher.as_ref().map(|watcher| watcher as &dyn Watch);
    let ended = ready.run(display, watch);
    match ended.map_err(Failed::from) {
        Ok(Some(carried_out)) => Ok(carried_out),
        Ok(None) => {
            let stopped = format!("stopped. {}", how_to_resume(&folder));
            Err(Failed::new(Exit::Unreachable, stopped))
        }
        Err(failed) => Err(resumable(failed, &folder)),
    }
}
