//! `delaylab ping --load`: the same probe once more, while load is sent; or several times, under one load after the
//! other.

use super::output::{Ended, Part, PartUnderLoad, Shown, Written};
use super::{cannot_write, condition_options};
use crate::args::load::UnderPart;
use crate::args::ping::PingArgs;
use crate::exit::Failed;
use crate::terminal;
use delaylab_kernel::signals;
use delaylab_lab::pipeline;
use delaylab_live::load;
use delaylab_live::prober::Probing;
use delaylab_live::world::{Loaded, Placed};
use delaylab_model::load::Load;
use delaylab_model::path::Path;
use delaylab_model::probe::HostCondition;
use delaylab_model::trial::{LoadTarget, ProbeFacts, ProbeRun, StreamRun, Trial};
use delaylab_model::world::Clock;
use delaylab_model::{Nanos, SECOND};
use delaylab_report::format::{Format, format_of};
use delaylab_runner::{load_limit, target};

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
    let loads: Vec<Load> = args
        .loads
        .iter()
        .flat_map(|arg| arg.loads.clone())
        .collect();
    let refusal = loads.iter().flat_map(load::refusals).next();
    if let Some(refusal) = refusal {
        return Err(Failed::usage(format!(
            "{}: {}",
            refusal.field, refusal.reason
        )));
    }
    let load = args.load_server.choice();
    let target = target::load_target(&load, &args.target, args.v4, args.v6)?;
    load_limit::check_load(&loads, target, args.allow_load)?;
    Ok(Some(target))
}

/// The parts of a ping under load.
pub struct Loads<'a> {
    probing: &'a Probing,
    parts: &'a [UnderPart],
    run: &'a ProbeRun,
    target: LoadTarget,
    /// That of the first part, which is set up.
    first: Loaded,
}

impl<'a> Loads<'a> {
    /// Sets the load of the first part up and tries what comes after it, so that what is wrong is known at once.
    /// Nothing is sent yet. (A reflector forgets sessions that say nothing for long: the others are set up when it is
    /// their turn.)
    pub fn begin(
        probing: &'a Probing,
        parts: &'a [UnderPart],
        run: &'a ProbeRun,
        target: LoadTarget,
    ) -> Result<Self, Failed> {
        for (at, part) in parts.iter().enumerate().skip(1) {
            let new = |load: &&Load| !parts[..at].iter().any(|before| before.loads.contains(load));
            let new: Vec<Load> = part.loads.iter().filter(new).cloned().collect();
            Loaded::check(&streams(new, run, target), probing)?;
        }
        let loads = parts.first().map(|part| part.loads.clone());
        let loads = streams(loads.unwrap_or_default(), run, target);
        Ok(Self {
            probing,
            parts,
            run,
            target,
            first: Loaded::begin(&loads, probing)?,
        })
    }

    /// Pings under load, part by part, and shows all of them.
    pub fn run(
        self,
        mut written: Written<'_>,
        idle_facts: &ProbeFacts,
        shown: Shown<'_>,
    ) -> Result<Ended, Failed> {
        let mut done = Vec::new();
        let mut failed = None;
        let mut first = Some(self.first);
        let options = condition_options(self.run);
        let mut idle = None;
        for (part, trial) in self.parts.iter().zip(1..) {
            if trial > 1 && signals::stop().is_asked() {
                break;
            }
            let loaded = first.take().map_or_else(
                || {
                    let loads = streams(part.loads.clone(), self.run, self.target);
                    Loaded::begin(&loads, self.probing)
                },
                Ok,
            );
            let loaded = match loaded {
                Ok(loaded) => loaded,
                Err(error) => {
                    failed = Some(error.into());
                    break;
                }
            };
            let before = written.end_part(facts_of_last(&done, idle_facts), Some(&part.label));
            end(before, &mut idle, &mut done);
            let run = ProbeRun {
                trial,
                ..self.run.clone()
            };
            let (ran, back, consumed) = pipeline::run(Clock::Real, written, |sink| {
                loaded.carry_out(self.probing, run, &options, LEAD, sink)
            });
            consumed.map_err(cannot_write)?;
            written = back;
            let (facts, streams) = ran.unwrap_or_else(|error| {
                failed = Some(error.into());
                Default::default()
            });
            done.push(PartUnderLoad {
                label: part.label.clone(),
                way: part.way,
                part: Part::default(),
                facts,
                streams,
            });
            if failed.is_some() {
                break;
            }
        }
        let last = written.end_part(facts_of_last(&done, idle_facts), None);
        end(last, &mut idle, &mut done);
        // What broke off before its first packet is told by the error alone.
        if failed.is_some() {
            done.pop_if(|last| !last.part.any());
        }
        let idle = idle.unwrap_or_default();
        let finished = written.finish_under_load(&idle, idle_facts, &done, shown);
        match (failed, finished) {
            (None, finished) => finished.map_err(cannot_write),
            (Some(failed), Ok(_)) => Err(failed),
            (Some(failed), Err(error)) => {
                terminal::say(format!("delaylab: {}", cannot_write(error).message));
                Err(failed)
            }
        }
    }
}

/// What is known of the part that was carried out last.
fn facts_of_last<'a>(done: &'a [PartUnderLoad], idle: &'a ProbeFacts) -> &'a ProbeFacts {
    done.last().map_or(idle, |part| &part.facts)
}

/// A part of the run is over: the first was idle.
fn end(ended: Part, idle: &mut Option<Part>, done: &mut [PartUnderLoad]) {
    match (done.last_mut(), &idle) {
        (Some(last), _) => last.part = ended,
        (None, None) => *idle = Some(ended),
        (None, Some(_)) => {}
    }
}

/// Each stream of these loads, from this host.
fn streams(loads: Vec<Load>, run: &ProbeRun, target: LoadTarget) -> Vec<Placed<StreamRun>> {
    let trial = Trial {
        id: run.trial,
        target: None,
        probes: Vec::new(),
        loads,
        path: Path::default(),
        host: HostCondition::Normal,
        seed: run.seed,
    };
    trial.stream_runs(target).map(Placed::here).collect()
}
