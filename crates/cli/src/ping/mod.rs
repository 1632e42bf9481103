//! `delaylab ping`: an experiment of one trial, or with `--load` of one without load and others under it.
//!
//! | module | does |
//! |---|---|
//! | [`experiment`] | turns what was typed into an experiment |
//! | [`follow`] | follows its trials: packets as they come, parts as they end |
//! | [`output`] | writes them: lines, JSON, CSV, the summary |
//! | [`storage`] | the file or stream that packets are written to |
//! | [`live_line`] | the status line |

mod experiment;
mod follow;
mod live_line;
mod output;
mod storage;

use crate::args::ping::PingArgs;
use crate::exit::{Exit, Failed};
use crate::experiment::run;
use crate::key;
use crate::terminal;
use crate::tui;
use delaylab_kernel::host_info::HostInfo;
use delaylab_lab::finding::single::Watched;
use delaylab_lab::run::StopMeans;
use delaylab_live::condition::{Measure, State};
use delaylab_model::record::Method;
use delaylab_model::trial::ProbeRun;
use delaylab_report::json::SystemInfo;
use delaylab_runner::error::RunnerError;
use delaylab_runner::run::{Keep, Recorded, Started};
use delaylab_runner::run_folder::shortest;
use delaylab_runner::worlds::RunOptions;
use delaylab_store::run::Run;
use delaylab_wire::auth::Key;
use follow::{Packets, Parts};
use output::{Ended, Output, Shown, Written};
use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Mutex, Once, PoisonError};

/// Runs the command.
pub fn run(args: PingArgs) -> Result<(), Failed> {
    let args = &args.settled();
    if args.tui {
        tui::check()?;
    }
    let key = key::read(args.key_file.as_deref())?;
    // A key in the environment is for methods that know keys.
    let key = key.filter(|_| args.method != Method::Icmp);
    let resolved = experiment::from_args(args, key.is_some())?;
    let conditions = output::conditions(args)?;
    run::catch_stop()?;
    let options = options(args, key);
    let seed = resolved.seed;
    let started = Started::unrecorded(resolved, &options).map_err(by_flag)?;
    let output = Output::new(args)?;
    let ended = match args.runs() {
        None => carry_out(started, args, seed, output, conditions)?.0,
        Some(runs) => {
            let started = started.recorded_in(runs, &options)?;
            let folder = started.folder().to_owned();
            let ran = carry_out(started, args, seed, output, conditions);
            let (ended, recorded) = ran.map_err(|failed| keep_or_remove(failed, &folder))?;
            match recorded {
                Some(recorded) if ended.any => save(recorded)?,
                _ => drop(fs::remove_dir_all(&folder)),
            }
            ended
        }
    };
    judge(&ended)
}

fn options(args: &PingArgs, key: Option<Key>) -> RunOptions {
    RunOptions {
        port: args.port,
        family: args.family(),
        key,
        allow_load: args.allow_load,
        load: args.load_server.choice(),
        // Without a table of it, nobody would see what was watched.
        watches_noise: args.save.is_some(),
        on_condition: Some(say_condition),
        stop_means: StopMeans::Over,
        ..run::options()
    }
}

/// An error in the words of the command line.
fn by_flag(error: RunnerError) -> Failed {
    let failed = Failed::from(error);
    Failed::new(failed.exit, experiment::by_flag(&failed.message))
}

/// Carries the trials out and shows them. `seed` is what `--seed` takes to have them again.
fn carry_out<K: Keep>(
    started: Started<K>,
    args: &PingArgs,
    seed: u64,
    output: Output,
    conditions: Vec<Watched>,
) -> Result<(Ended, Option<Recorded<K>>), Failed> {
    let run = ProbeRun {
        seed,
        ..only_probe(&started)?
    };
    let (system_info, supplied) = (system_info(), run::words());
    let shown = Shown {
        args,
        run: &run,
        system_info: &system_info,
        supplied: &supplied,
    };
    let written = Mutex::new(Written::new(output, conditions, shown)?);
    let packets = Packets::new(&written);
    let mut parts = Parts::new(&written, args);
    let ran = started.run(&mut parts, Some(&packets));
    let (parts, broken) = (parts.over(), packets.broken());
    let written = written.into_inner().unwrap_or_else(PoisonError::into_inner);
    match (ran, broken) {
        // Why it broke off is the writer's to say.
        (_, Some(error)) => Err(cannot_write(error)),
        (Ok(recorded), None) => {
            let ended = written.finish(parts).map_err(cannot_write)?;
            Ok((ended, recorded))
        }
        (Err(error), None) => Err(with_what_was_measured(by_flag(error), written, parts)),
    }
}

fn only_probe<K: Keep>(started: &Started<K>) -> Result<ProbeRun, Failed> {
    let first = started.planned().first().map(|planned| &planned.trial);
    let run = first.and_then(|trial| trial.probe_runs(trial.target?).next());
    run.ok_or_else(|| Failed::usage("there is nothing to send"))
}

/// A run that broke off: what was recorded until then is shown before the error.
fn with_what_was_measured(
    failed: Failed,
    written: Written<'_>,
    parts: Vec<output::Part>,
) -> Failed {
    if written.any()
        && let Err(error) = written.finish(parts)
    {
        terminal::say(format!("delaylab: {}", cannot_write(error).message));
    }
    failed
}

/// The same of a run that is recorded: a folder without a packet is nobody's.
fn keep_or_remove(failed: Failed, folder: &Path) -> Failed {
    let mut any = false;
    if let Ok(run) = Run::open(folder) {
        any = run.record_count() > 0;
        run.for_each_interrupted(|_| any = true);
    }
    if !any {
        let _ = fs::remove_dir_all(folder);
        return failed;
    }
    let folder = shortest(folder);
    let message = format!("{}\nWhat was recorded is in {folder}", failed.message);
    Failed::new(failed.exit, message.trim_start())
}

/// Gives the run its name and says what can be done with it.
fn save(recorded: Recorded) -> Result<(), Failed> {
    let folder = shortest(&recorded.finish_unjudged()?.folder);
    terminal::say(format!(
        "saved in {folder}: see `delaylab explain {folder}`, `delaylab report {folder}`"
    ));
    Ok(())
}

/// How the command ends. Nothing measured is hidden by it: the summary has been printed.
fn judge(ended: &Ended) -> Result<(), Failed> {
    let failed = ended.answers.iter().filter(|answer| answer.failed);
    let failed = failed.map(|answer| format!("failed: {}: {}", answer.limit, answer.reason));
    let failed = ended.broken.iter().cloned().chain(failed);
    let (stored, failed): (_, Vec<_>) = (ended.not_stored.clone(), failed.collect());
    let exit = match (&stored, failed.as_slice(), ended.answered) {
        (Some(_), ..) => Exit::Environment,
        (None, [], true) => return Ok(()),
        (None, ..) => Exit::Unreachable,
    };
    let said: Vec<_> = failed.into_iter().chain(stored).collect();
    Err(Failed::new(exit, said.join("\n")))
}

fn cannot_write(error: io::Error) -> Failed {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Failed::new(Exit::Fine, "");
    }
    Failed::environment(format!("cannot write the results: {error}"))
}

/// How far this host is in its condition; that of later parts is the same.
fn say_condition(measures: &[Measure]) {
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        for measure in measures {
            let (mark, detail) = match &measure.state {
                State::Held(detail) => ("holds", detail),
                State::Partly(detail) => ("in part", detail),
                State::NotHeld(detail) => ("not", detail),
            };
            terminal::say(format!(
                "condition: {:<22} {mark:<8} {detail}",
                measure.name
            ));
        }
    });
}

/// The measuring host.
pub fn system_info() -> SystemInfo {
    let host = HostInfo::read();
    SystemInfo {
        kernel: host.kernel,
        cpu: host.cpu_model,
        cpus: host.cpus.and_then(|cpus| u32::try_from(cpus).ok()),
        clock_source: host.clock_source,
    }
}
