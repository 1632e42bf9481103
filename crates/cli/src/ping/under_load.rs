//! `delaylab ping --load`: the same probe once more, while load is sent.

use super::output::{Ended, Part, Shown, Written};
use super::{cannot_write, condition_options, with_what_was_measured};
use crate::args::ping::PingArgs;
use crate::exit::Failed;
use crate::{load_limit, target};
use delaylab_lab::pipeline;
use delaylab_live::load;
use delaylab_live::prober::Probing;
use delaylab_live::world::{Loaded, Placed};
use delaylab_model::path::Path;
use delaylab_model::probe::HostCondition;
use delaylab_model::trial::{LoadTarget, ProbeFacts, ProbeRun, Trial};
use delaylab_model::world::Clock;
use delaylab_model::{Nanos, SECOND};
use delaylab_report::format::{Format, format_of};

/// The load is there so long before the first packet: its queue is to be full.
const LEAD: Nanos = 2 * SECOND;

/// Where the load goes; `None`: there is none.
///
/// # Errors
/// Where it cannot be sent, or may not.
pub fn target_of(args: &PingArgs) -> Result<Option<LoadTarget>, Failed> {
    if args.loads.is_empty() {
        return Ok(None);
    }
    let format = args.output.as_deref().and_then(|path| format_of(path).ok());
    if matches!(format, Some(Format::Stream | Format::Csv)) && !args.json {
        return Err(Failed::usage(
            "--load compares two parts: write .json, or leave -o out",
        ));
    }
    let refusal = args.loads.iter().flat_map(load::refusals).next();
    if let Some(refusal) = refusal {
        return Err(Failed::usage(format!(
            "{}: {}",
            refusal.field, refusal.reason
        )));
    }
    let target = target::of_load(&args.load_server, &args.target, args.v4, args.v6)?;
    load_limit::check_load(&args.loads, target, args.allow_load)?;
    Ok(Some(target))
}

/// Sets the load up, so that what is wrong with it is known at once. Nothing is sent yet.
pub fn begin(
    probing: &Probing,
    args: &PingArgs,
    run: &ProbeRun,
    target: LoadTarget,
) -> Result<Loaded, Failed> {
    let trial = Trial {
        id: run.trial,
        target: None,
        probes: Vec::new(),
        loads: args.loads.clone(),
        path: Path::default(),
        host: HostCondition::Normal,
        seed: run.seed,
    };
    let loads: Vec<_> = trial.stream_runs(target).map(Placed::here).collect();
    Ok(Loaded::begin(&loads, probing)?)
}

/// Pings under load, and shows both parts.
pub fn run(
    probing: &Probing,
    loaded: Loaded,
    mut written: Written<'_>,
    idle_facts: &ProbeFacts,
    shown: Shown<'_>,
) -> Result<Ended, Failed> {
    let idle: Part = written.end_part(idle_facts);
    let run = ProbeRun {
        trial: 1,
        ..shown.run.clone()
    };
    let options = condition_options(&run);
    let (ran, written, consumed) = pipeline::run(Clock::Real, written, |sink| {
        loaded.carry_out(probing, run, &options, LEAD, sink)
    });
    let written = consumed.map(|()| written);
    let (facts, streams) = match ran {
        Ok(ran) => ran,
        Err(error) => return Err(with_what_was_measured(error.into(), written, shown)),
    };
    written
        .and_then(|written| written.finish_under_load(&idle, idle_facts, &facts, &streams, shown))
        .map_err(cannot_write)
}
