//! Runs a device benchmark procedure as the plan of a run: the procedure chooses each next trial.
//!
//! A procedure depends only on the results that it observes. So an interrupted run resumes by replaying
//! the recorded results, and a report is made by replaying all of them.

use crate::frames_seen::FramesSeen;
use crate::trial_outcome::TrialOutcome;
use delaylab_model::bench::ProcedureSection;
use delaylab_model::frames::{Frames, MOST_FRAME};
use delaylab_model::path::Path;
use delaylab_model::plan::{Plan, Planned, Remaining};
use delaylab_model::probe::Probe;
use delaylab_model::quantity::Duration;
use delaylab_procedure::registry::{Description, UnknownProcedure};
use delaylab_procedure::setup::SIZES;
use delaylab_procedure::{BuildError, Effort, Options, Procedure, Report, Setup};
use delaylab_stats::frames::FrameTrial;
use delaylab_store::run::Run;
use std::collections::BTreeSet;

/// A procedure, and the results of its trials that are already recorded.
pub struct ProcedurePlan {
    procedure: Box<dyn Procedure>,
    run: Option<Run>,
    recorded: BTreeSet<u32>,
}

/// Why a procedure cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum ProcedureError {
    /// No procedure has this name.
    #[error("{0}")]
    Unknown(#[from] UnknownProcedure),
    /// No probe of the experiment sends frames.
    #[error("a procedure needs a probe of method `frame` for each of its streams")]
    NoStreams,
    /// A frame cannot have this size.
    #[error("no frame of {size} B: {least} B at least with these headers, {MOST_FRAME} B at most")]
    Size {
        /// The requested size, bytes.
        size: u32,
        /// The smallest frame that holds all headers and the tester's signature, bytes.
        least: u32,
    },
    /// Loads are shares of one rate.
    #[error(
        "all streams need lines of one rate where they {side} the device: loads are shares of it"
    )]
    Rates {
        /// `enter` or `leave`.
        side: &'static str,
    },
    /// The procedure refused its set-up or options.
    #[error("{0}")]
    Build(#[from] BuildError),
}

impl ProcedureError {
    /// The field of `[design.procedure]` that it is about; empty where it is about all of it.
    pub fn field(&self) -> &'static str {
        match self {
            Self::Unknown(_) => "name",
            Self::Size { .. } | Self::Build(BuildError::NoSize) => "sizes",
            Self::Build(BuildError::Option { option, .. }) => option,
            Self::NoStreams | Self::Rates { .. } | Self::Build(_) => "",
        }
    }
}

impl ProcedurePlan {
    /// Begins this procedure of an experiment. The first planned trial is the pattern for all trials.
    /// `run`: the stored run, if trials are recorded already.
    ///
    /// # Errors
    /// See [`ProcedureError`].
    pub fn new(
        section: &ProcedureSection,
        planned: &[Planned],
        run: Option<Run>,
    ) -> Result<Self, ProcedureError> {
        let found = Description::named(&section.name)?;
        let pattern = planned.first().ok_or(ProcedureError::NoStreams)?;
        let setup = set_up(section, pattern)?;
        let trials = run.iter().flat_map(Run::trials);
        Ok(Self {
            procedure: found.begin(setup, options(section))?,
            recorded: trials.map(|row| row.trial).collect(),
            run,
        })
    }

    /// The report on the results so far.
    pub fn result(&self) -> Report {
        self.procedure.result()
    }

    fn seen(&self, planned: &Planned) -> FrameTrial {
        let mut seen = FramesSeen::new(&planned.trial);
        let (mut flaws, mut trace_hash) = (Vec::new(), None);
        if let Some(run) = &self.run {
            let id = planned.trial.id;
            run.for_each_record(Some(id), |record| seen.push(record));
            run.for_each_series_point(Some(id), |point| seen.see_series(point));
            let rows = run.trials().iter().filter(|row| row.trial == id);
            for row in rows {
                flaws.extend(row.facts.flaws.iter().cloned());
                trace_hash = trace_hash.or(row.facts.trace_hash);
            }
        }
        FrameTrial {
            flaws,
            trace_hash,
            ..seen.finish()
        }
    }
}

/// The trials that this procedure of an experiment carries out whatever the device does: the first of each frame size.
///
/// # Errors
/// Why it cannot begin or carry them out; with the field of `[design.procedure]` that says so, empty for all of it.
pub fn first_trials(
    section: &ProcedureSection,
    planned: &[Planned],
) -> Result<Vec<Planned>, (&'static str, String)> {
    let plan = ProcedurePlan::new(section, planned, None);
    let plan = plan.map_err(|error| (error.field(), error.to_string()))?;
    plan.procedure.first_trials().map_err(|why| ("", why))
}

/// What this procedure of an experiment would carry out with a device that loses nothing; `None` where it cannot begin.
pub fn expected(section: &ProcedureSection, planned: &[Planned]) -> Option<Remaining> {
    ProcedurePlan::new(section, planned, None).ok()?.remaining()
}

/// The report on a stored run.
///
/// # Errors
/// See [`ProcedureError`].
pub fn result(
    section: &ProcedureSection,
    planned: &[Planned],
    run: Run,
) -> Result<Report, ProcedureError> {
    let mut plan = ProcedurePlan::new(section, planned, Some(run))?;
    // This replays the recorded trials. The trials that it returns were never carried out.
    let _ = plan.next_trials();
    Ok(plan.result())
}

impl Plan for ProcedurePlan {
    type Observation = TrialOutcome;

    fn next_trials(&mut self) -> Vec<Planned> {
        loop {
            let next = self.procedure.next_trials();
            let is_recorded = |planned: &Planned| self.recorded.contains(&planned.trial.id);
            if next.is_empty() || !next.iter().all(is_recorded) {
                return next;
            }
            for planned in next {
                let seen = self.seen(&planned);
                self.procedure.observe(&planned, &seen);
            }
        }
    }

    fn observe(&mut self, planned: &Planned, seen: &TrialOutcome) {
        self.procedure.observe(planned, &seen.frames);
    }

    fn remaining(&self) -> Option<Remaining> {
        self.procedure.remaining()
    }
}

fn set_up(section: &ProcedureSection, pattern: &Planned) -> Result<Setup, ProcedureError> {
    let mut trial = pattern.trial.clone();
    let mut streams: Vec<_> = trial
        .probes
        .drain(..)
        .filter(|p| p.frames.is_some())
        .collect();
    for frames in streams.iter_mut().filter_map(|probe| probe.frames.as_mut()) {
        // The procedure itself checks whether a rate was reached.
        frames.paced = false;
    }
    let first = streams.first().ok_or(ProcedureError::NoStreams)?;
    let line_rate = trial.path.rate_at(first.from.as_deref());
    let egress = section.egress_rate.map(|rate| rate.0);
    let egress = egress.or_else(|| trial.path.rate_at(first.to.as_deref()));
    has_one_rate(&trial.path, &streams, section.egress_rate.is_some())?;
    let sizes = section
        .sizes
        .iter()
        .map(|size| u32::try_from(size.0).unwrap_or(u32::MAX));
    let mut sizes: Vec<u32> = sizes.collect();
    // All streams have the same sizes, so the stream with the largest headers sets the smallest size.
    let frames = streams.iter().filter_map(|probe| probe.frames);
    let least = frames
        .map(|frames: Frames| frames.least_size())
        .max()
        .unwrap_or(0);
    if sizes.is_empty() {
        sizes = SIZES.iter().map(|&size| size.max(least)).collect();
        sizes.dedup();
    }
    let is_wrong = |size: &&u32| !(least..=MOST_FRAME).contains(*size);
    if let Some(&size) = sizes.iter().find(is_wrong) {
        return Err(ProcedureError::Size { size, least });
    }
    Ok(Setup {
        line_rate: line_rate.unwrap_or(0),
        egress_rate: egress.or(line_rate).unwrap_or(0),
        trial,
        streams,
        sizes,
        effort: effort(section),
    })
}

/// Have all lines by which streams enter one rate, and all by which they leave, where that is not given?
fn has_one_rate(path: &Path, streams: &[Probe], is_given: bool) -> Result<(), ProcedureError> {
    let is_one = |end: fn(&Probe) -> Option<&str>| {
        let rates = streams.iter().map(|stream| path.rate_at(end(stream)));
        rates.collect::<BTreeSet<_>>().len() <= 1
    };
    if !is_one(|stream| stream.from.as_deref()) {
        return Err(ProcedureError::Rates { side: "enter" });
    }
    if !is_given && !is_one(|stream| stream.to.as_deref()) {
        return Err(ProcedureError::Rates { side: "leave" });
    }
    Ok(())
}

fn effort(section: &ProcedureSection) -> Effort {
    let rfc = Effort::rfc();
    let time = |asked: Option<Duration>, usual| asked.map_or(usual, |asked| asked.0);
    Effort {
        trial: time(section.trial, rfc.trial),
        latency: time(section.latency, rfc.latency),
        latency_repeats: section.latency_repeats.unwrap_or(rfc.latency_repeats),
        burst: time(section.burst, rfc.burst),
        burst_repeats: section.burst_repeats.unwrap_or(rfc.burst_repeats),
        overload: time(section.overload, rfc.overload),
        repeats: section.repeats.unwrap_or(rfc.repeats),
        drain: time(section.drain, rfc.drain),
        settle: time(section.settle, rfc.settle),
    }
}

fn options(section: &ProcedureSection) -> Options {
    let usual = Options::default();
    Options {
        resolution: section.resolution.unwrap_or(usual.resolution),
        step: section.step.unwrap_or(usual.step),
        top: section.top.unwrap_or(usual.top),
        rate_tolerance: section.rate_tolerance.unwrap_or(usual.rate_tolerance),
        excess: section.excess.unwrap_or(usual.excess),
        confirm: section.confirm,
        way: section.way.unwrap_or(usual.way),
        microburst: section.microburst.unwrap_or(usual.microburst),
        ..usual
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_model::method::Method;
    use delaylab_model::path::Line;
    use delaylab_model::quantity::Rate;

    #[test]
    fn a_share_of_the_line_is_of_one_rate() {
        let stream = |from: &str, to: &str| Probe {
            from: Some(from.to_owned()),
            to: Some(to.to_owned()),
            ..Probe::new("stream", Method::Frame)
        };
        let mut path = Path {
            rate: Some(Rate(100_000_000)),
            ..Path::default()
        };
        let slow = Line {
            rate: Some(Rate(10_000_000)),
            ..Line::default()
        };
        path.line.insert("a2".to_owned(), slow);
        let side = |streams: &[Probe], is_given| match has_one_rate(&path, streams, is_given) {
            Err(ProcedureError::Rates { side }) => side,
            _ => "",
        };
        let (to_one, to_both) = (
            [stream("a1", "b1"), stream("a2", "b1")],
            [stream("a1", "b1"), stream("a1", "a2")],
        );
        assert_eq!(
            [side(&to_one, true), side(&to_one[..1], false)],
            ["enter", ""]
        );
        assert_eq!([side(&to_both, true), side(&to_both, false)], ["", "leave"]);
    }
}
