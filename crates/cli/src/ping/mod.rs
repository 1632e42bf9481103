//! `delaylab ping`.
//!
//! | module | does |
//! |---|---|
//! | [`target`] | resolves the name, and tells whether it is this host |
//! | [`plan`] | turns what was typed into a trial |
//! | [`pipeline`] | takes records off the measuring thread |
//! | [`output`] | writes them: lines, JSON, CSV, the summary |

mod output;
mod pipeline;
mod plan;
mod target;

use crate::args::ping::PingArgs;
use crate::exit::{Exit, Failed};
use crate::key;
use delaylab_kernel::host_info::HostInfo;
use delaylab_kernel::signals;
use delaylab_live::condition::{Applied, Options, State};
use delaylab_live::prober::Live;
use delaylab_model::probe::WaitMode;
use delaylab_model::trial::{Trial, TrialFacts};
use delaylab_model::world::World;
use delaylab_report::json::SystemInfo;
use output::{Output, Shown};
use std::io;

/// Runs the command.
pub fn run(args: &PingArgs) -> Result<(), Failed> {
    let key = key::read(args.key_file.as_deref())?;
    let trial = plan::trial(args, key.is_some())?;
    plan::refuse_load(args, &trial)?;
    let key = key.filter(|_| plan::uses_key(&trial, args));
    let mut live = Live {
        key,
        stops_asked: signals::stops_asked,
    };
    if let Some(refusal) = live.refusals(&trial).into_iter().next() {
        return Err(Failed::usage(format!(
            "{}: {}",
            refusal.field, refusal.reason
        )));
    }
    let output = Output::new(args)?;
    signals::catch_stop()
        .map_err(|error| Failed::environment(format!("cannot catch signals: {error}")))?;
    let mut applied = apply_condition(&trial)?;
    let system_info = system_info();
    let supplied: Vec<String> = std::env::args().collect();
    let shown = Shown {
        args,
        trial: &trial,
        system_info: &system_info,
        supplied: &supplied,
    };
    let (ran, written) = pipeline::run(shown, output, |sink| live.run(&trial, sink));
    let mut facts = match ran {
        Ok(facts) => facts,
        Err(error) => return Err(with_what_was_measured(error.into(), written, shown)),
    };
    warn_if_condition_ended(&mut facts, &mut applied, &trial);
    drop(applied);
    let answered = written
        .and_then(|written| written.finish(&facts, shown))
        .map_err(cannot_write)?;
    if answered {
        Ok(())
    } else {
        Err(Failed::new(Exit::Unreachable, ""))
    }
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
        && let Err(error) = written.finish(&TrialFacts::default(), shown)
    {
        eprintln!("delaylab: {}", cannot_write(error).message);
    }
    failed
}

fn cannot_write(error: io::Error) -> Failed {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Failed::new(Exit::Fine, "");
    }
    Failed::environment(format!("cannot write the results: {error}"))
}

fn apply_condition(trial: &Trial) -> Result<Applied, Failed> {
    let options = Options {
        spins: trial.probe.wait_mode == WaitMode::Spin,
        ..Options::default()
    };
    let applied = Applied::new(trial.host, &options)
        .map_err(|error| Failed::environment(format!("--condition {:?}: {error}", trial.host)))?;
    for measure in applied.describe() {
        let (mark, detail) = match &measure.state {
            State::Held(detail) => ("holds", detail),
            State::Partly(detail) => ("in part", detail),
            State::NotHeld(detail) => ("not", detail),
        };
        eprintln!("condition: {:<22} {mark:<8} {detail}", measure.name);
    }
    Ok(applied)
}

fn warn_if_condition_ended(facts: &mut TrialFacts, applied: &mut Applied, trial: &Trial) {
    if !applied.still_holds() {
        let condition = format!("{:?}", trial.host).to_lowercase();
        facts.warnings.push(format!(
            "the condition `{condition}` did not hold to the end: the run outlasted its bound, or somebody ended a part of it"
        ));
    }
}

fn system_info() -> SystemInfo {
    let host = HostInfo::read();
    SystemInfo {
        kernel: host.kernel,
        cpu: host.cpu_model,
        cpus: host.cpus.and_then(|cpus| u32::try_from(cpus).ok()),
        clock_source: host.clock_source,
    }
}
