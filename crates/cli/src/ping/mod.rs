//! `delaylab ping`.
//!
//! | module | does |
//! |---|---|
//! | [`plan`] | turns what was typed into a probe and where it goes |
//! | [`output`] | writes them: lines, JSON, CSV, the summary |
//! | [`storage`] | the file or stream that packets are written to |
//! | [`live_line`] | the status line |
//! | [`under_load`] | pings once more under load |

mod live_line;
mod output;
mod plan;
mod storage;
mod under_load;

use crate::args::load;
use crate::args::ping::PingArgs;
use crate::exit::{Exit, Failed};
use crate::key;
use crate::terminal;
use crate::tui;
use delaylab_kernel::host_info::HostInfo;
use delaylab_kernel::signals;
use delaylab_lab::pipeline;
use delaylab_live::condition::{Applied, Options, State};
use delaylab_live::prober::Probing;
use delaylab_model::probe::WaitMode;
use delaylab_model::trial::{ProbeFacts, ProbeRun};
use delaylab_model::world::Clock;
use delaylab_report::json::SystemInfo;
use delaylab_runner::load_limit;
use output::{Ended, Output, Shown, Written};
use std::io;
use under_load::Loads;

/// Runs the command.
pub fn run(args: &PingArgs) -> Result<(), Failed> {
    if args.tui {
        tui::check()?;
    }
    let key = key::read(args.key_file.as_deref())?;
    let asked = plan::probe_run(args, key.is_some())?;
    load_limit::check(&asked, args.allow_load)?;
    let parts = load::parts(&args.loads);
    let load_target = under_load::target_of(args)?;
    let key = key.filter(|_| plan::uses_key(&asked, args));
    let probing = Probing {
        key,
        stop: signals::stop(),
    };
    if let Some(refusal) = probing.refusals(&asked).into_iter().next() {
        return Err(Failed::usage(format!(
            "{}: {}",
            refusal.field, refusal.reason
        )));
    }
    let conditions = output::conditions(args)?;
    let output = Output::new(args)?;
    signals::catch_stop()
        .map_err(|error| Failed::environment(format!("cannot catch signals: {error}")))?;
    let loads = load_target.map(|target| Loads::begin(&probing, &parts, &asked, target));
    let loads = loads.transpose()?;
    let mut applied = apply_condition(&asked)?;
    let system_info = system_info();
    let supplied: Vec<String> = std::env::args().collect();
    let shown = Shown {
        args,
        run: &asked,
        system_info: &system_info,
        supplied: &supplied,
    };
    let written = Written::new(output, conditions, shown)?;
    let (ran, written, consumed) =
        pipeline::run(Clock::Real, written, |sink| probing.run(&asked, sink));
    let written = consumed.map(|()| written);
    let mut facts = match ran {
        Ok(facts) => facts,
        Err(error) => return Err(with_what_was_measured(error.into(), written, shown)),
    };
    warn_if_condition_ended(&mut facts, &mut applied, &asked);
    drop(applied);
    let broken = facts.flaws.clone();
    let ended = match loads.filter(|_| !signals::stop().is_asked() && broken.is_empty()) {
        None => written
            .and_then(|written| written.finish(&facts, shown))
            .map_err(cannot_write)?,
        Some(loads) => loads.run(written.map_err(cannot_write)?, &facts, shown)?,
    };
    judge(&ended, broken)
}

/// How the command ends. Nothing measured is hidden by it: the summary has been printed.
fn judge(ended: &Ended, broken: Vec<String>) -> Result<(), Failed> {
    let failed = ended.answers.iter().filter(|answer| answer.failed);
    let failed = failed.map(|answer| format!("failed: {}: {}", answer.limit, answer.reason));
    let failed = broken.into_iter().chain(failed);
    let (stored, failed): (_, Vec<_>) = (ended.not_stored.clone(), failed.collect());
    let exit = match (&stored, failed.as_slice(), ended.answered) {
        (Some(_), ..) => Exit::Environment,
        (None, [], true) => return Ok(()),
        (None, ..) => Exit::Unreachable,
    };
    let said: Vec<_> = failed.into_iter().chain(stored).collect();
    Err(Failed::new(exit, said.join("\n")))
}

/// A run that broke off: what was recorded until then is shown before the error. Where it broke off
/// because the results could not be written, why is the writer's to say.
fn with_what_was_measured(
    failed: Failed,
    written: io::Result<output::Written<'_>>,
    shown: Shown<'_>,
) -> Failed {
    let written = match written {
        Ok(written) => written,
        Err(error) => return cannot_write(error),
    };
    if written.any()
        && let Err(error) = written.finish(&ProbeFacts::default(), shown)
    {
        terminal::say(format!("delaylab: {}", cannot_write(error).message));
    }
    failed
}

fn cannot_write(error: io::Error) -> Failed {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Failed::new(Exit::Fine, "");
    }
    Failed::environment(format!("cannot write the results: {error}"))
}

fn apply_condition(run: &ProbeRun) -> Result<Applied, Failed> {
    let applied = Applied::new(run.host, &condition_options(run))
        .map_err(|error| Failed::environment(format!("--condition {:?}: {error}", run.host)))?;
    for measure in applied.describe() {
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
    Ok(applied)
}

fn condition_options(run: &ProbeRun) -> Options {
    Options {
        spins: run.probe.wait_mode == WaitMode::Spin,
        ..Options::default()
    }
}

fn warn_if_condition_ended(facts: &mut ProbeFacts, applied: &mut Applied, run: &ProbeRun) {
    if !applied.still_holds() {
        let condition = run.host.name();
        facts.warnings.push(format!(
            "the condition `{condition}` did not hold to the end: the run outlasted its bound, or a part of it was ended from outside"
        ));
    }
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
