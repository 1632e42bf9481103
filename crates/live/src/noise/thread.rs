//! The watcher's life: ready, then trial by trial.
//!
//! During a trial it sleeps, and looks ten times a second: at the tracer's buffers, at the threads
//! that there are, and at what a few clock reads cost.

use super::clock_cost::{ClockCost, LONG, SHORT};
use super::counters::Before;
use super::events::Events;
use super::occupancy::Spell;
use super::processes::Processes;
use super::sentinel::{self, Looks, Sentinel};
use super::tracer::{Judge, Tracer};
use super::{CLOCK_READS, COUNTERS, Cost, Options, SentinelUse, Source, SourceState, TrialNoise};
use delaylab_kernel::cpu_list::{self, Cpus};
use delaylab_kernel::scheduling::{self, Scheduling};
use delaylab_kernel::{clock, process};
use delaylab_model::Nanos;
use delaylab_model::noise::TRACER;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

/// From one look to the next.
const LOOK: Duration = Duration::from_millis(100);
/// To the first look of a trial; each further one waits twice as long, up to [`LOOK`]. A thread that
/// measures for a short time is known by then.
const FIRST_LOOK: Duration = Duration::from_millis(5);

/// What the thread is told.
#[derive(Debug)]
pub(super) enum Order {
    /// A trial begins. Answered twice: when it is watched, and when that has ended.
    Begin(u32),
    /// It ends.
    End,
}

/// The thread's whole life.
pub(super) fn run(
    options: Options,
    allowed: &Cpus,
    orders: &Receiver<Order>,
    answers: &Sender<TrialNoise>,
) {
    // What is opened here is nobody else's: the prober's table of descriptors stays its own.
    let _ = process::own_descriptors();
    let mut watching = Watching::new(options, allowed);
    while let Ok(order) = orders.recv() {
        if let Order::Begin(trial) = order {
            // Whoever no longer listens has gone away.
            let _ = answers.send(watching.watch(trial, orders, answers));
        }
    }
}

struct Watching {
    options: Options,
    cpus: Cpus,
    sentinel: Option<usize>,
    tracer: Option<Tracer>,
    clock: ClockCost,
    sources: Vec<Source>,
}

impl Watching {
    fn new(options: Options, allowed: &Cpus) -> Self {
        let cpus = options.cpus.clone().unwrap_or_else(|| allowed.clone());
        let own = give_way(allowed, &cpus);
        let (sentinel, sentinel_state) = place_sentinel(&options, allowed, &cpus);
        let (tracer, tracer_state) = open_tracer(&options, &cpus);
        let source = |name, state| Source { name, state };
        let how = format!("in bursts, on CPU {}", cpu_list::format(&own));
        Self {
            options,
            sentinel,
            tracer,
            clock: ClockCost::default(),
            sources: vec![
                source("sentinel", sentinel_state),
                source(TRACER, tracer_state),
                source(CLOCK_READS, SourceState::Used(how)),
                source(COUNTERS, SourceState::Used("of /proc".into())),
            ],
            cpus,
        }
    }

    /// Watches one trial: says when it does, and returns what it saw once it is told to end.
    fn watch(
        &mut self,
        trial: u32,
        orders: &Receiver<Order>,
        answers: &Sender<TrialNoise>,
    ) -> TrialNoise {
        let mut events = Events::new(self.options.max_events);
        let processes = self.options.processes.clone();
        let mut judge = Judge::new(trial, self.options.least, processes.clone());
        let mut before = Before::read(&self.cpus, &processes);
        let mut whose = Processes::default();
        self.read_clock(trial, LONG, &mut events);
        let sentinel = self.start_sentinel(trial);
        let mut traced = self.tracer.as_mut().map_or(Ok(()), Tracer::begin);
        let mut lost = 0;
        let (start, cpu_start) = (clock::monotonic(), clock::thread_cpu_time());
        let _ = answers.send(TrialNoise::default());
        let mut wait = FIRST_LOOK;
        while let Err(RecvTimeoutError::Timeout) = orders.recv_timeout(wait) {
            wait = (wait * 2).min(LOOK);
            before.look_at_threads(&processes);
            self.read_clock(trial, SHORT, &mut events);
            traced =
                traced.and_then(|()| self.take_trace(false, &mut judge, &mut events, &mut lost));
            whose.look_at(events.take_threads());
        }
        let cost = self.cost(start, cpu_start);
        traced = traced.and_then(|()| self.take_trace(true, &mut judge, &mut events, &mut lost));
        whose.look_at(events.take_threads());
        let (looked, sentinel_failed) =
            match sentinel.map(|started| started.and_then(Sentinel::finish)) {
                Some(Ok(gaps)) => {
                    events.merge(gaps.events);
                    (Some(gaps.looked), None)
                }
                Some(Err(error)) => (None, Some(error)),
                None => (None, None),
            };
        self.read_clock(trial, LONG, &mut events);
        let unwatched = self.tracer.as_mut().map(Tracer::take_unwatched);
        let (events, left_out) = events.sorted();
        TrialNoise {
            events,
            left_out,
            lost,
            unwatched: unwatched.unwrap_or_default(),
            clock_reads: self.clock.take(trial),
            threads_unasked: whose.is_full(),
            processes: whose.found(),
            counters: before.until_now(&processes),
            sources: self.sources_after(traced, sentinel_failed),
            cost: Cost {
                sentinel_look: looked.map(|looked| looked.cost()),
                ..cost
            },
        }
    }

    fn read_clock(&mut self, trial: u32, reads: usize, events: &mut Events) {
        let slow = self.options.gap;
        self.clock
            .read(trial, reads, slow, |event| events.push(event));
    }

    /// `None` where there is none to be.
    fn start_sentinel(&self, trial: u32) -> Option<io::Result<Sentinel>> {
        let looks = Looks {
            trial,
            cpu: self.sentinel?,
            threshold: self.options.gap,
            most: self.options.max_events,
        };
        Some(Sentinel::start(looks))
    }

    /// Takes what was traced until now, or all of the trial once it is over.
    fn take_trace(
        &mut self,
        is_over: bool,
        judge: &mut Judge,
        events: &mut Events,
        lost: &mut u64,
    ) -> io::Result<()> {
        let Some(tracer) = &mut self.tracer else {
            return Ok(());
        };
        judge.look_around();
        let found = |cpu: u16, spell: Spell<'_>| judge.judge(cpu, spell, events);
        *lost += match is_over {
            false => tracer.drain(found)?,
            true => tracer.end(found)?,
        };
        Ok(())
    }

    fn cost(&self, start: Nanos, cpu_start: Nanos) -> Cost {
        Cost {
            length: clock::monotonic() - start,
            cpu_time: clock::thread_cpu_time() - cpu_start,
            sentinel_look: None,
        }
    }

    /// A tracer that failed on the way is not tried again. A sentinel is: its CPU may be there again.
    fn sources_after(
        &mut self,
        traced: io::Result<()>,
        sentinel_failed: Option<io::Error>,
    ) -> Vec<Source> {
        if let Err(error) = traced {
            self.tracer = None;
            self.sources[1].state = SourceState::Absent(format!("it broke off: {error}"));
        }
        let mut sources = self.sources.clone();
        if let Some((cpu, error)) = self.sentinel.zip(sentinel_failed) {
            let reason = format!("it could not run on CPU {cpu}: {error}");
            sources[0].state = SourceState::Absent(reason);
        }
        sources
    }
}

/// Wakes up without taking the CPU from anybody, and keeps off the watched CPUs where there are
/// others. Returns where this thread runs.
fn give_way(allowed: &Cpus, watched: &Cpus) -> Cpus {
    // Whoever may not be scheduled so is scheduled as before.
    let _ = Scheduling::BATCH.apply();
    let _ = scheduling::set_timer_slack(0);
    let beside: Cpus = allowed.difference(watched).copied().collect();
    let own = if beside.is_empty() { allowed } else { &beside };
    let _ = scheduling::set_affinity(own);
    scheduling::affinity().unwrap_or_else(|_| own.clone())
}

fn place_sentinel(
    options: &Options,
    allowed: &Cpus,
    watched: &Cpus,
) -> (Option<usize>, SourceState) {
    let spare = match options.sentinel {
        SentinelUse::Never => return (None, SourceState::Absent("not asked for".into())),
        SentinelUse::WhereSpare => allowed.len() >= 3,
        SentinelUse::Always => true,
    };
    match sentinel::place(allowed, watched).filter(|_| spare) {
        Some(cpu) => (Some(cpu), SourceState::Used(format!("on CPU {cpu}"))),
        None => {
            let reason = format!("of {} CPUs none is to spare; 3 are needed", allowed.len());
            (None, SourceState::Absent(reason))
        }
    }
}

fn open_tracer(options: &Options, cpus: &Cpus) -> (Option<Tracer>, SourceState) {
    if !options.tracer {
        return (None, SourceState::Absent("not asked for".into()));
    }
    match Tracer::new(cpus) {
        Ok(tracer) => {
            let how = format!("tracefs, CPU {}", cpu_list::format(cpus));
            (Some(tracer), SourceState::Used(how))
        }
        Err(error) => (None, SourceState::Absent(reason(&error))),
    }
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => format!("tracefs: {error}; run as root"),
        _ => format!("tracefs: {error}"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::sync::mpsc::channel;

    /// As of a CPU that went offline after the watch had been set up.
    #[test]
    fn a_sentinel_that_did_not_run_is_no_source() {
        let options = Options {
            tracer: false,
            sentinel: SentinelUse::Always,
            ..Options::default()
        };
        // Its affinity is changed: the thread is not the harness's own.
        let seen = std::thread::spawn(move || {
            let allowed = scheduling::affinity().unwrap();
            let mut watching = Watching::new(options, &allowed);
            watching.sentinel = Some(100_000);
            watching.sources[0].state = SourceState::Used("on CPU 100000".into());
            let (order, orders) = channel();
            order.send(Order::End).unwrap();
            let (answer, _answers) = channel();
            watching.watch(0, &orders, &answer)
        });
        let seen = seen.join().unwrap();
        assert_eq!(seen.sources_used(), Vec::<String>::new());
        assert_eq!(seen.cost.sentinel_look, None);
    }
}
