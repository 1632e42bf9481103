//! A procedure's steps as a plan.

pub use crate::at_size::AtSize;
pub(crate) use crate::at_size::{all_found, found_by_size};
use crate::bench::{Bench, Stop};
use crate::report::Report;
use crate::setup::{Options, Setup};
use delaylab_model::plan::{Plan, Planned, Remaining};
use delaylab_model::words::plural;
use delaylab_stats::frames::FrameTrial;
use schemars::JsonSchema;
use serde::Serialize;

/// What makes a procedure itself.
pub trait Steps {
    /// What it finds about a frame size.
    type Found: Clone + std::fmt::Debug + Serialize + JsonSchema;

    /// Finds it. It asks for trials by [`Bench::trial`] and passes on what stops it; it is asked again
    /// from the start whenever something was observed, so it must decide by that alone.
    ///
    /// # Errors
    /// What stopped it.
    fn size(&self, bench: &mut Bench<'_>) -> Result<Self::Found, Stop>;

    /// What was found, for people and programs.
    fn report(&self, setup: &Setup, options: &Options, sizes: &[AtSize<Self::Found>]) -> Report;
}

/// A plan that reports.
pub trait Procedure: Plan<Observation = FrameTrial> {
    /// What was found so far.
    fn result(&self) -> Report;

    /// The first trial of each frame size, from the smallest on: they are carried out whatever the device does.
    ///
    /// # Errors
    /// Why one cannot be carried out.
    fn first_trials(&self) -> Result<Vec<Planned>, String>;
}

/// A procedure under way: frame size after frame size, one trial at a time.
#[derive(Debug)]
pub struct ProcedureRun<S: Steps> {
    steps: S,
    setup: Setup,
    options: Options,
    done: Vec<AtSize<S::Found>>,
    /// What was seen of the size that is under way.
    log: Vec<FrameTrial>,
    next_id: u32,
    waiting: Option<Planned>,
    under_way: Option<u32>,
}

impl<S: Steps> ProcedureRun<S> {
    /// From the first trial on.
    pub fn new(steps: S, setup: Setup, options: Options) -> Self {
        let mut course = Self {
            steps,
            next_id: setup.trial.id,
            setup,
            options,
            done: Vec::new(),
            log: Vec::new(),
            waiting: None,
            under_way: None,
        };
        course.advance();
        course
    }

    /// What was found about each frame size that is done.
    pub fn found(&self) -> &[AtSize<S::Found>] {
        &self.done
    }

    /// Up to the next trial, or to the end.
    fn advance(&mut self) {
        while let Some(&size) = self.setup.sizes.get(self.done.len()) {
            let mut bench = Bench::new(&self.setup, &self.options, size, &self.log);
            let outcome = self.outcome(&mut bench);
            let at_size = AtSize::new(&bench, outcome);
            if at_size.why == Some(Stop::Pending)
                && let Some(wanted) = bench.wanted()
            {
                self.waiting = Some(wanted.plan(&self.setup, size, self.next_id));
                self.next_id += 1;
                return;
            }
            self.done.push(at_size);
            self.log.clear();
        }
    }

    fn outcome(&self, bench: &mut Bench<'_>) -> Result<S::Found, Stop> {
        let streams = 0..self.setup.streams.len();
        let frames = streams.map(|of| self.setup.frames(of, bench.size));
        let least = frames.map(|frames| frames.least_size()).max().unwrap_or(0);
        if bench.size < least {
            let why = format!("too small for the signature: {least} B at least");
            return Err(Stop::Untried(why));
        }
        self.steps.size(bench)
    }
}

impl<S: Steps> Plan for ProcedureRun<S> {
    type Observation = FrameTrial;

    fn next_trials(&mut self) -> Vec<Planned> {
        let next = self.waiting.take();
        if let Some(planned) = &next {
            self.under_way = Some(planned.trial.id);
        }
        next.into_iter().collect()
    }

    /// What was not asked for is not looked at.
    fn observe(&mut self, planned: &Planned, seen: &FrameTrial) {
        if self.under_way == Some(planned.trial.id) {
            self.under_way = None;
            self.log.push(seen.clone());
            self.advance();
        }
    }

    /// As if the device forwarded at its ports' rates, with a small buffer.
    fn remaining(&self) -> Option<Remaining> {
        let mut all = Remaining::default();
        let later = self.setup.sizes.iter().skip(self.done.len()).enumerate();
        for (index, &size) in later {
            let log: &[FrameTrial] = if index == 0 { &self.log } else { &[] };
            let mut bench = Bench::new(&self.setup, &self.options, size, log).forecasting();
            // How it would end does not matter.
            let _ = self.outcome(&mut bench);
            let of_size = bench.forecast();
            all.trials += of_size.trials;
            all.expected = all.expected.saturating_add(of_size.expected);
        }
        Some(all)
    }
}

impl<S: Steps> Procedure for ProcedureRun<S> {
    fn result(&self) -> Report {
        let mut report = self.steps.report(&self.setup, &self.options, &self.done);
        let missing = self.setup.sizes.len() - self.done.len();
        let without = self.done.iter().filter(|at| at.is_missing());
        let without = Vec::from_iter(without.map(|at| format!("{} B", at.size))).join(", ");
        let trials: usize = self.done.iter().map(|at| at.trials).sum();
        let invalid: u32 = self.done.iter().map(|at| at.invalid).sum();
        let left_out: u32 = self.done.iter().map(|at| at.left_out).sum();
        let alike: u32 = self.done.iter().map(|at| at.alike).sum();
        let notes = [
            (missing > 0).then(|| format!("{missing} of the frame sizes are not done yet.")),
            (!without.is_empty()).then(|| format!("No figures at {without}: remarks say why.")),
            (invalid > 0).then(|| {
                format!("{invalid} of {trials} trials were invalid and were not counted.")
            }),
            (left_out > 0)
                .then(|| format!("{left_out} repeats were never valid and are left out.")),
            (alike > 0).then(|| {
                let repeats = plural(u64::from(alike), "repeat");
                format!(
                    "{repeats} not counted again: the same simulation as another one, as nothing in it is random."
                )
            }),
        ];
        report.notes.extend(notes.into_iter().flatten());
        report
    }

    fn first_trials(&self) -> Result<Vec<Planned>, String> {
        let mut sizes = self.setup.sizes.clone();
        // The smallest frames are the most.
        sizes.sort_unstable();
        let mut first = Vec::new();
        for size in sizes {
            let mut bench = Bench::new(&self.setup, &self.options, size, &[]);
            if let Err(Stop::TooMany(why)) = self.outcome(&mut bench) {
                return Err(why);
            }
            let id = self.setup.trial.id;
            first.extend(
                bench
                    .wanted()
                    .map(|wanted| wanted.plan(&self.setup, size, id)),
            );
        }
        Ok(first)
    }
}
