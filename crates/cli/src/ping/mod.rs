//! `delaylab ping`: an experiment of one trial, or with `--load` of one without load and others under it.
//!
//! | module | does |
//! |---|---|
//! | [`experiment`] | turns what was typed into an experiment |
//! | [`server`] | what a server is asked |
//! | [`follow`] | follows its trials: packets as they come, parts as they end |
//! | [`output`] | writes them: lines, JSON, CSV, the summary |
//! | [`storage`] | the file or stream that packets are written to |
//! | [`created`] | a new file, which is removed where nothing was written into it |
//! | [`live_line`] | the status line |

mod created;
mod experiment;
mod follow;
mod live_line;
mod output;
mod server;
mod storage;

use crate::args::ping::PingArgs;
use crate::exit::{Exit, Failed};
use crate::experiment::resumable::{how_to_resume, resumable};
use crate::experiment::run;
use crate::head::{supplied, system_info};
use crate::key;
use crate::stop::catch_stop;
use crate::terminal;
use crate::tui;
use delaylab_lab::finding::single::LimitCheck;
use delaylab_lab::run::StopMeans;
use delaylab_lab::run::cut_short::CutShort;
use delaylab_live::condition::{State, Step};
use delaylab_model::shell::quoted;
use delaylab_model::trial::ProbeRun;
use delaylab_runner::error::RunnerError;
use delaylab_runner::options::RunOptions;
use delaylab_runner::run::{CarriedOut, ReadyRun, TrialStore};
use delaylab_runner::run_folder::shortest;
use delaylab_store::writer::{Finished, RunWriter};
use delaylab_wire::auth::Key;
use follow::{NotStored, PacketWatch, PartProgress};
use output::{Output, PingContext, PingOutcome, PingWriter};
use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

/// Runs the command.
pub fn run(args: PingArgs) -> Result<(), Failed> {
    let args = &args.settled();
    if args.tui {
        tui::check()?;
    }
    let key = key::read(args.key_file.as_deref())?;
    // A key in the environment is for what knows keys.
    let key = key.filter(|_| args.takes_key());
    let resolved = experiment::from_args(args, key.is_some())?;
    let conditions = output::conditions(args)?;
    let ready = ReadyRun::unrecorded(resolved, &options(args, key));
    let ready = ready.map_err(|error| with_flag(error, args))?;
    let output = Output::new(args)?;
    // Not before: until the first packet Ctrl-C ends the process, also where a name server does not answer.
    catch_stop()?;
    let ended = match args.runs() {
        None => carry_out(ready, args, output, conditions)?.ended,
        Some(runs) => {
            let ready = ready.recorded_in(runs)?;
            let folder = ready.folder().to_owned();
            match carry_out(ready, args, output, conditions) {
                Ok(ping) => keep(ping, &folder),
                Err(failed) => {
                    remove(&folder);
                    Err(failed)
                }
            }
        }
    };
    judge(&ended?)
}

fn options(args: &PingArgs, key: Option<Key>) -> RunOptions {
    RunOptions {
        port: args.port,
        family: args.family(),
        key,
        allow_load: args.allow_load,
        load: args.load_server.choice(),
        // Only a saved run has a table for noise.
        watches_noise: args.save.is_some(),
        on_condition: Some(if args.tui {
            keep_condition
        } else {
            say_condition
        }),
        stop_means: StopMeans::Over,
        ..run::options()
    }
}

/// An error that names flags.
fn with_flag(error: RunnerError, args: &PingArgs) -> Failed {
    let failed = Failed::from(error);
    Failed::new(failed.exit, experiment::with_flag(&failed.message, args))
}

/// A ping that is over, one way or the other.
struct EndedPing<K> {
    /// How it is judged; an error where it broke off, or its results could not be written.
    ended: Result<PingOutcome, Failed>,
    /// How many packets were measured.
    packets: u64,
    /// What of them the run's folder lacks.
    not_stored: Option<NotStored>,
    /// The run, unless it broke off.
    carried_out: Option<CarriedOut<K>>,
}

/// Carries the trials out and prints what they measured.
///
/// # Errors
/// There is no terminal to draw on.
fn carry_out<K: TrialStore>(
    ready: ReadyRun<K>,
    args: &PingArgs,
    output: Output,
    conditions: Vec<LimitCheck>,
) -> Result<EndedPing<K>, Failed> {
    let run = ProbeRun {
        // That of the experiment, which `--seed` takes.
        seed: ready.resolved().seed,
        ..only_probe(&ready)?
    };
    let (system_info, supplied) = (system_info(), supplied());
    let shown = PingContext {
        args,
        run: &run,
        system_info: &system_info,
        supplied: &supplied,
    };
    let writer = Mutex::new(PingWriter::new(output, conditions, shown)?);
    let packets = PacketWatch::new(&writer);
    let mut parts = PartProgress::new(&writer, args);
    let ran = ready.run(&mut parts, Some(&packets));
    let ((parts, not_stored), broken) = (parts.over(), packets.broken());
    let writer = writer.into_inner().unwrap_or_else(PoisonError::into_inner);
    let packets = writer.packets();
    let (ended, carried_out) = match (ran, broken) {
        // The writer knows why it broke off. Where it was a line, the file of `-o` has the rest all the same.
        (_, Some(error)) => {
            if packets > 0 {
                let _ = writer.finish(parts);
            }
            (Err(cannot_write(error)), None)
        }
        (Ok(carried_out), None) => (writer.finish(parts).map_err(cannot_write), carried_out),
        (Err(error), None) => {
            let failed = with_flag(error, args);
            (Err(with_what_was_measured(failed, writer, parts)), None)
        }
    };
    if args.tui {
        let kept = CONDITION.get().into_iter().flatten();
        kept.for_each(terminal::say);
    }
    Ok(EndedPing {
        ended,
        packets,
        not_stored,
        carried_out,
    })
}

fn only_probe<K: TrialStore>(ready: &ReadyRun<K>) -> Result<ProbeRun, Failed> {
    let first = ready.planned().first().map(|planned| &planned.trial);
    let run = first.and_then(|trial| trial.probe_runs(trial.target?).next());
    run.ok_or_else(|| Failed::usage("there is nothing to send"))
}

/// A run that broke off: prints what was recorded until then before the error.
fn with_what_was_measured(
    failed: Failed,
    writer: PingWriter<'_>,
    parts: Vec<output::Part>,
) -> Failed {
    if writer.any()
        && let Err(error) = writer.finish(parts)
    {
        terminal::say(format!("delaylab: {}", cannot_write(error).message));
    }
    failed
}

/// Gives a saved run its name and says what can be done with it. Of a run that broke off, the error says where its packets
/// are; a run without a packet leaves no folder.
fn keep(ping: EndedPing<RunWriter>, folder: &Path) -> Result<PingOutcome, Failed> {
    let ended = ping.ended;
    if ping.packets == 0 {
        remove(folder);
        return ended;
    }
    let carried_out = match (ping.carried_out, ping.not_stored) {
        (Some(carried_out), None) => carried_out,
        (Some(carried_out), Some(lacks)) => {
            return keep_what_is_stored(carried_out, &lacks, ping.packets, ended);
        }
        (None, _) => return ended.map_err(|failed| resumable(failed, &shortest(folder))),
    };
    match carried_out.finish_unjudged() {
        Ok(finished) => say_where(&finished),
        Err(error) => return Err(resumable(Failed::from(error), &shortest(folder))),
    }
    ended
}

/// The same of a run of which not all could be stored: it has what was, where there is room to join that.
fn keep_what_is_stored(
    carried_out: CarriedOut,
    lacks: &NotStored,
    packets: u64,
    ended: Result<PingOutcome, Failed>,
) -> Result<PingOutcome, Failed> {
    let partial = carried_out.folder().to_owned();
    let trials = match carried_out.trials_cut_short() {
        Ok(trials) => trials,
        Err(error) => {
            let resume = how_to_resume(&shortest(&partial));
            let said = format!("{}\n{error}\n{resume}", lacks.why);
            let mut ended = ended.map_err(|failed| failed.and(&said))?;
            ended.not_stored = Some(said);
            return Ok(ended);
        }
    };
    let stored: u64 = trials.iter().map(CutShort::packets).sum();
    let all = stored + packets.saturating_sub(lacks.packets());
    let place = if all == 0 {
        remove(&partial);
        String::new()
    } else {
        let finished = carried_out
            .end_trials(trials, |trial| lacks.of(trial))
            .and_then(|()| carried_out.finish_unjudged());
        match finished {
            Ok(finished) if all == packets => {
                say_where(&finished);
                return ended;
            }
            Ok(finished) => {
                say_where(&finished);
                format!(", in {}", shortest(&finished.folder))
            }
            Err(error) => {
                let (partial, resume) = (shortest(&partial), resume(&partial));
                format!(", in {partial}: {error}. Make room, then complete it: {resume}")
            }
        }
    };
    let said = format!(
        "{}\n{all} of {packets} packets are stored{place}",
        lacks.why
    );
    let mut ended = ended.map_err(|failed| failed.and(&said))?;
    let others = ended.not_stored.take().map(|other| format!("{other}\n"));
    ended.not_stored = Some(others.unwrap_or_default() + &said);
    Ok(ended)
}

fn say_where(finished: &Finished) {
    finished.warnings.iter().for_each(terminal::warn);
    let folder = shortest(&finished.folder);
    let word = quoted(&folder);
    terminal::say(format!(
        "saved in {folder}: see `delaylab explain {word}`, `delaylab report {word}`"
    ));
}

fn resume(folder: &Path) -> String {
    format!("`delaylab resume {}`", quoted(&shortest(folder)))
}

/// Removes the folder of a run that has no packet.
fn remove(folder: &Path) {
    if let Err(error) = fs::remove_dir_all(folder) {
        let folder = folder.display();
        terminal::warn(format!("cannot remove {folder}: {error}"));
    }
}

/// How the command ends. Nothing measured is hidden by it: the summary has been printed.
fn judge(ended: &PingOutcome) -> Result<(), Failed> {
    let failed = ended.answers.iter().filter(|answer| answer.failed);
    let failed =
        failed.map(|answer| format!("--fail-if '{}': {}", answer.condition, answer.reason));
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

/// How far this host is in its condition, of the first part: later parts have the same.
static CONDITION: OnceLock<Vec<String>> = OnceLock::new();

/// Keeps it for the end of the live view, which has the terminal.
fn keep_condition(measures: &[Step]) {
    let _ = CONDITION.set(measures.iter().map(condition_line).collect());
}

fn say_condition(measures: &[Step]) {
    let lines: Vec<String> = measures.iter().map(condition_line).collect();
    if CONDITION.set(lines.clone()).is_ok() {
        lines.iter().for_each(terminal::say);
    }
}

fn condition_line(measure: &Step) -> String {
    let (mark, detail) = match &measure.state {
        State::Held(detail) => ("holds", detail),
        State::Partly(detail) => ("in part", detail),
        State::NotHeld(detail) => ("not", detail),
    };
    format!("condition: {:<22} {mark:<8} {detail}", measure.name)
}
