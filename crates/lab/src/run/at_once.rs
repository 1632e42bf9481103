//! Runs several trials at once, each in a world and on a thread of its own.
//!
//! Results are reported in the order of the plan, whichever trial ends first. So plan, output and rows
//! are the same for any number of threads.

use super::run_progress::RunProgress;
use super::trial::TrialRunner;
use super::{Ending, LabError, TrialOutcome};
use delaylab_kernel::clock;
use delaylab_model::Nanos;
use delaylab_model::plan::{Plan, Planned};
use delaylab_model::world::World;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

/// Result of a trial; `None`: the user asked to stop.
type TrialResult = Result<Option<TrialOutcome>, LabError>;

/// A report from a thread. A trial is given by its index in the list of trials.
enum TrialEvent {
    Begins(usize),
    Over {
        at: usize,
        took: Nanos,
        result: TrialResult,
    },
}

/// Runs these trials, as many at once as there are worlds.
pub(super) fn carry_out<P>(
    runner: TrialRunner<'_>,
    worlds: Vec<&mut dyn World>,
    trials: &[Planned],
    run_progress: &mut RunProgress<'_, P>,
) -> Result<Ending, LabError>
where
    P: Plan<Observation = TrialOutcome> + ?Sized,
{
    let queue = Queue::new(trials.len());
    let (sender, receiver) = channel();
    std::thread::scope(|scope| {
        for world in worlds {
            let (sender, queue) = (sender.clone(), &queue);
            scope.spawn(move || work(runner, world, trials, queue, &sender));
        }
        drop(sender);
        follow(&receiver, trials, run_progress)
    })
}

/// Hands out the index of the next trial.
struct Queue {
    next: AtomicUsize,
    end: usize,
}

impl Queue {
    fn new(end: usize) -> Self {
        Self {
            next: AtomicUsize::new(0),
            end,
        }
    }

    fn take(&self) -> Option<usize> {
        let at = self.next.fetch_add(1, Ordering::Relaxed);
        (at < self.end).then_some(at)
    }

    /// Lets no further trial begin.
    fn close(&self) {
        self.next.store(self.end, Ordering::Relaxed);
    }
}

fn work(
    runner: TrialRunner<'_>,
    world: &mut dyn World,
    trials: &[Planned],
    queue: &Queue,
    events: &Sender<TrialEvent>,
) {
    while let Some(at) = queue.take() {
        // Sending fails only if `follow` panicked.
        let _ = events.send(TrialEvent::Begins(at));
        let begun = clock::monotonic();
        let result = runner.trial(world, &trials[at], at);
        let result = result.map_err(|broken_off| broken_off.error);
        if !matches!(result, Ok(Some(_))) {
            queue.close();
        }
        let took = clock::monotonic() - begun;
        let _ = events.send(TrialEvent::Over { at, took, result });
    }
}

/// Reports the results of trials in their order, until all threads are done.
fn follow<P: Plan<Observation = TrialOutcome> + ?Sized>(
    events: &Receiver<TrialEvent>,
    trials: &[Planned],
    run_progress: &mut RunProgress<'_, P>,
) -> Result<Ending, LabError> {
    let mut waiting = BTreeMap::new();
    let mut next = 0;
    let mut stopped = BTreeMap::new();
    for events in events {
        match events {
            TrialEvent::Begins(at) => run_progress.begins(&trials[at]),
            TrialEvent::Over { at, took, result } => match result {
                Ok(Some(outcome)) => {
                    run_progress.took(&trials[at], took);
                    waiting.insert(at, outcome);
                }
                Ok(None) => drop(stopped.insert((1, at), Ok(Ending::Interrupted))),
                Err(error) => drop(stopped.insert((0, at), Err(error))),
            },
        }
        while let Some(outcome) = waiting.remove(&next) {
            run_progress.ended(&trials[next], &outcome);
            next += 1;
        }
    }
    // An error comes before a stop, and among equals the first trial's.
    let first = stopped.into_values().next();
    first.unwrap_or(Ok(Ending::Complete))
}
