//! What a procedure's steps see: trials, by asking for them.

pub use crate::offer::{Offer, OfferedStream};
use crate::setup::{Options, Setup};
use crate::{forecast, frame_limit};
use delaylab_model::method::Method;
use delaylab_model::plan::{Factor, Level, Planned, Remaining, Unit};
use delaylab_model::probe::{Pacing, Probe};
use delaylab_model::quantity::Share;
use delaylab_model::trial::Trial;
use delaylab_model::{Nanos, PICOS_PER_NANO};
use delaylab_stats::frames::{FrameFigures, FrameTrial};
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// How often an invalid trial is carried out in all.
pub const ATTEMPTS: u32 = 3;

/// Shorter than this, a rate is not judged: what a sleep is late by would decide.
const JUDGED_FROM: Nanos = 10_000_000;

const PHASE: &str = "phase";
const LOAD: &str = "load";
const FRAMES: &str = "frames";
const STEP: &str = "step";
const ATTEMPT: &str = "attempt";

/// Does a trial's factor of this name say where in the search it stands? What was asked for is the frame size alone.
pub fn is_step(factor: &str) -> bool {
    [PHASE, LOAD, FRAMES, STEP, ATTEMPT].contains(&factor)
}

/// Why a procedure's steps end without what they look for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// A trial is yet to be carried out.
    #[error("no trial was asked for")]
    Pending,
    /// A trial was invalid each time, and why.
    #[error("invalid: {0}")]
    Invalid(String),
    /// The device has nothing of what the procedure looks for at this frame size, and why.
    #[error("{0}")]
    Unfit(String),
    /// The tester or the options leave out the trials that would tell, and why.
    #[error("{0}")]
    Untried(String),
    /// The next trial has more frames than are kept account of: what would make it shorter.
    #[error("{0}")]
    TooMany(String),
}

/// A trial that is to be carried out.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Wanted {
    offer: Offer,
    step: u32,
    attempt: u32,
}

/// Trials of one frame size.
#[derive(Debug)]
pub struct Bench<'a> {
    /// What there is.
    pub setup: &'a Setup,
    /// How to search.
    pub options: &'a Options,
    /// Of the frames, in bytes.
    pub size: u32,
    log: &'a [FrameTrial],
    pub(crate) at: usize,
    step: u32,
    pub(crate) invalid: u32,
    /// Repeats that are left out.
    pub(crate) left_out: u32,
    /// Repeats that are the same simulation as others.
    pub(crate) alike: u32,
    wanted: Option<Wanted>,
    forecast: Option<Remaining>,
}

impl<'a> Bench<'a> {
    /// What was seen of this size so far, in the order of asking.
    pub(crate) fn new(
        setup: &'a Setup,
        options: &'a Options,
        size: u32,
        log: &'a [FrameTrial],
    ) -> Self {
        Self {
            setup,
            options,
            size,
            log,
            at: 0,
            step: 0,
            invalid: 0,
            left_out: 0,
            alike: 0,
            wanted: None,
            forecast: None,
        }
    }

    /// Beyond the log, trials are as of an ideal device, and are counted.
    pub(crate) fn forecasting(mut self) -> Self {
        self.forecast = Some(Remaining::default());
        self
    }

    pub(crate) fn forecast(&self) -> Remaining {
        self.forecast.unwrap_or_default()
    }

    pub(crate) fn wanted(self) -> Option<Wanted> {
        self.wanted
    }

    /// What each repeat gives. Those that are never valid, and those that are the same simulation as others, are left out and counted.
    ///
    /// # Errors
    /// What stopped one, and [`Stop::Invalid`] if the first [`ATTEMPTS`] or all of them are never valid.
    pub fn repeats<T>(
        &mut self,
        times: u32,
        mut of: impl FnMut(&mut Self, u32) -> Result<T, Stop>,
    ) -> Result<Vec<T>, Stop> {
        let times = times.max(1);
        let (mut valid, mut left_out) = (Vec::new(), 0);
        let mut simulated = BTreeSet::new();
        for repeat in 0..times {
            let first = self.at;
            match of(self, repeat) {
                Ok(_) if self.is_alike(first, &mut simulated) => self.alike += 1,
                Ok(found) => valid.push(found),
                Err(Stop::Invalid(why)) => {
                    left_out += 1;
                    if valid.is_empty() && left_out == times.min(ATTEMPTS) {
                        return Err(Stop::Invalid(why));
                    }
                }
                Err(stop) => return Err(stop),
            }
        }
        self.left_out += left_out;
        Ok(valid)
    }

    /// Are the trials from this one on, which make a repeat, simulations of earlier repeats?
    fn is_alike(&self, first: usize, simulated: &mut BTreeSet<u64>) -> bool {
        let trials = self.log.get(first..self.at).unwrap_or_default();
        let hashes: Option<Vec<u64>> = trials.iter().map(|trial| trial.trace_hash).collect();
        let hashes = hashes.filter(|hashes| !hashes.is_empty());
        hashes.is_some_and(|hashes| {
            let new = hashes.into_iter().filter(|&hash| simulated.insert(hash));
            new.count() == 0
        })
    }

    /// What came of a trial. An invalid one is asked for again, twice at most.
    ///
    /// # Errors
    /// [`Stop::Pending`] if it is yet to be carried out, [`Stop::Invalid`] if it never was valid, [`Stop::TooMany`] if it
    /// cannot be carried out.
    pub fn trial(&mut self, offer: Offer) -> Result<Cow<'a, FrameTrial>, Stop> {
        self.step += 1;
        let mut why = String::new();
        for attempt in 0..ATTEMPTS {
            let Some(seen) = self.log.get(self.at) else {
                return self.beyond_the_log(offer, attempt);
            };
            self.at += 1;
            match self.flaw(&offer, seen) {
                None => return Ok(Cow::Borrowed(seen)),
                Some(flaw) => (self.invalid, why) = (self.invalid + 1, flaw),
            }
        }
        Err(Stop::Invalid(why))
    }

    fn beyond_the_log(&mut self, offer: Offer, attempt: u32) -> Result<Cow<'a, FrameTrial>, Stop> {
        if let Some(why) = frame_limit::refuse(self.setup, self.size, &offer) {
            return Err(Stop::TooMany(why));
        }
        let Some(forecast) = &mut self.forecast else {
            let step = self.step;
            self.wanted = Some(Wanted {
                offer,
                step,
                attempt,
            });
            return Err(Stop::Pending);
        };
        forecast.trials += 1;
        let length = length(self.setup, self.size, &offer);
        forecast.expected = forecast.expected.saturating_add(length);
        Ok(Cow::Owned(forecast::ideal(self.setup, self.size, &offer)))
    }

    /// Why a trial is not what was asked for.
    fn flaw(&self, offer: &Offer, seen: &FrameTrial) -> Option<String> {
        if let Some(flaw) = seen.flaws.first() {
            return Some(flaw.clone());
        }
        if seen.streams.len() != offer.streams.len() {
            let (has, needs) = (seen.streams.len(), offer.streams.len());
            return Some(format!("figures of {has} streams where {needs} were sent"));
        }
        let mut both = offer.streams.iter().zip(&seen.streams);
        both.find_map(|(stream, figures)| self.flaw_of(offer, stream, figures))
    }

    fn flaw_of(
        &self,
        offer: &Offer,
        stream: &OfferedStream,
        figures: &FrameFigures,
    ) -> Option<String> {
        let name = self.setup.name(stream.of);
        if figures.sent < stream.count {
            let (sent, count) = (figures.sent, stream.count);
            return Some(format!("{name} sent {sent} of {count} frames"));
        }
        if figures.delay.is_some_and(|delay| delay.min < 0) {
            return Some(format!(
                "{name} has frames that arrived before they were sent"
            ));
        }
        self.missed_rate(offer, stream, figures)
    }

    /// How a stream that is long enough to be judged missed its rate.
    fn missed_rate(
        &self,
        offer: &Offer,
        stream: &OfferedStream,
        figures: &FrameFigures,
    ) -> Option<String> {
        let name = self.setup.name(stream.of);
        let frames = self.setup.frames(stream.of, self.size);
        let interval = frames.interval(self.setup.line_rate, stream.load);
        let span = (figures.sent.saturating_sub(1)) as f64 * interval as f64 / 1e3;
        if !offer.paced || span < JUDGED_FROM as f64 {
            return None;
        }
        let reached = figures.achieved_fps()? * interval as f64 / 1e12;
        let tolerance = self.options.rate_tolerance.as_f64();
        ((reached - 1.0).abs() > tolerance).then(|| {
            let percent = reached * 100.0;
            format!("{name} sent at {percent:.1} % of the rate that was asked for")
        })
    }

    /// Frames that take this long at this load; one at least.
    pub fn frames_in(&self, length: Nanos, load: Share) -> u64 {
        let interval = self.setup.frames(0, self.size);
        let interval = interval.interval(self.setup.line_rate, load);
        let picos = u128::from(length.unsigned_abs()) * u128::from(PICOS_PER_NANO);
        let frames = picos / u128::from(interval.max(1));
        u64::try_from(frames).unwrap_or(u64::MAX).max(1)
    }

    /// Every sending port at this load for so long.
    pub fn at_load(&self, phase: &'static str, load: Share, length: Nanos) -> Offer {
        let streams = self
            .all_at(load)
            .into_iter()
            .map(|(of, load)| OfferedStream {
                of,
                load,
                count: self.frames_in(length, load),
                start: 0,
            });
        Offer::new(phase, streams.collect())
    }

    /// So many frames in all, shared out to streams by their loads; those that get none do not send.
    pub fn burst(&self, phase: &'static str, loads: &[(usize, Share)], total: u64) -> Offer {
        let whole: u128 = loads.iter().map(|(_, load)| u128::from(load.0)).sum();
        let through = |sum: u128| (u128::from(total) * sum / whole.max(1)) as u64;
        let mut sum = 0;
        let streams = loads.iter().map(|&(of, load)| {
            let before = through(sum);
            sum += u128::from(load.0);
            OfferedStream {
                of,
                load,
                count: through(sum) - before,
                start: 0,
            }
        });
        Offer::new(phase, streams.filter(|stream| stream.count > 0).collect())
    }

    /// Every sending port at this load: streams that share a port share its load.
    pub fn all_at(&self, load: Share) -> Vec<(usize, Share)> {
        let streams = 0..self.setup.streams.len();
        let each = streams.map(|of| (of, Share((load.0 / self.setup.sharing(of)).max(1))));
        each.collect()
    }

    /// Frames a second of all streams together, with every sending port at this load.
    pub fn fps_at(&self, load: Share) -> f64 {
        self.fps(&self.all_at(load))
    }

    /// Frames a second of all streams together at these loads.
    pub fn fps(&self, loads: &[(usize, Share)]) -> f64 {
        let each = loads
            .iter()
            .map(|&(_, load)| self.setup.fps(self.size, load));
        each.sum()
    }
}

/// From the start of a trial to its end.
fn length(setup: &Setup, size: u32, offer: &Offer) -> Nanos {
    let probes = offer.streams.iter().map(|s| probe(setup, size, offer, s));
    let lengths = probes.filter_map(|probe| probe.expected_duration());
    lengths
        .max()
        .unwrap_or(0)
        .saturating_add(quiet(setup, offer))
}

/// How long no frame comes at the end of a trial.
fn quiet(setup: &Setup, offer: &Offer) -> Nanos {
    setup.effort.drain.max(offer.quiet)
}

/// What a stream is called in a trial: one port may send twice.
fn name_in(offer: &Offer, stream: &OfferedStream, name: &str) -> String {
    let is_twice = offer.streams.iter().filter(|s| s.of == stream.of).count() > 1;
    match is_twice && stream.start > 0 {
        true => format!("{name}, then"),
        false => name.to_owned(),
    }
}

fn probe(setup: &Setup, size: u32, offer: &Offer, stream: &OfferedStream) -> Probe {
    let mut frames = setup.frames(stream.of, size);
    frames.start = setup.effort.settle.saturating_add(stream.start);
    let template = setup.streams.get(stream.of).cloned();
    let template = template.unwrap_or_else(|| Probe::new(setup.name(stream.of), Method::Frame));
    Probe {
        name: name_in(offer, stream, &template.name),
        method: Method::Frame,
        payload: frames.payload(),
        pacing: Pacing::Frames {
            interval_ps: frames.interval(setup.line_rate, stream.load),
        },
        count: Some(stream.count),
        duration: None,
        timeout: quiet(setup, offer),
        frames: Some(frames),
        ..template
    }
}

impl Wanted {
    /// The trial with this number.
    pub(crate) fn plan(&self, setup: &Setup, size: u32, id: u32) -> Planned {
        let offer = &self.offer;
        let mut loads = setup.trial.loads.clone();
        loads.extend(offer.loads.iter().cloned());
        let probes = offer.streams.iter().map(|s| probe(setup, size, offer, s));
        let path = match offer.reset {
            true => setup.trial.path.clone(),
            false => setup.path_without_reset(),
        };
        let trial = Trial {
            id,
            path,
            probes: probes.collect(),
            loads,
            seed: setup.trial.seed.wrapping_add(u64::from(id)),
            ..setup.trial.clone()
        };
        Planned {
            trial,
            factors: self.factors(size),
            repeat: offer.repeat,
        }
    }

    /// The same names in every trial of every procedure: the frame size, and those of [`is_step`].
    fn factors(&self, size: u32) -> Vec<Factor> {
        let load = self.offer.streams.first().map_or(Share(0), |s| s.load);
        let frames: u64 = self.offer.streams.iter().map(|s| s.count).sum();
        let factor = |name: &str, label: String, value: f64, unit| {
            let (value, unit) = (Some(value), Some(unit));
            (name.to_owned(), Level { label, value, unit })
        };
        let number = |name, n: u64| factor(name, n.to_string(), n as f64, Unit::Number);
        let (percent, bytes) = (format!("{}%", load.0 as f64 / 1e7), format!("{size}B"));
        vec![
            factor("frame size", bytes, f64::from(size), Unit::Bytes),
            (PHASE.to_owned(), Level::named(self.offer.phase)),
            factor(LOAD, percent, load.as_f64(), Unit::Share),
            number(FRAMES, frames),
            number(STEP, self.step.into()),
            number(ATTEMPT, u64::from(self.attempt) + 1),
        ]
    }
}
