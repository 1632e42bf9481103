//! The simulated world: one trial, from the experiment to its records.

use crate::engine::{Engine, EngineProgress, Serving};
use crate::event_set::{EventSet, Tournament};
use crate::settling::Settling;
use delaylab_model::hop::{Direction, Hop};
use delaylab_model::noise::{DAEMONS, NoiseEvent};
use delaylab_model::probe::Probe;
use delaylab_model::refusal::Refusal;
use delaylab_model::rows::Rows;
use delaylab_model::stop::Stop;
use delaylab_model::transfer::Transfer;
use delaylab_model::trial::{Delivery, ProbeFacts, RecordFacts, ReflectorClock, StampPoint, Trial};
use delaylab_model::world::{Clock, FailureKind, Sink, TrialFacts, World, WorldError};
use delaylab_topology::time::nanos;
use std::io;

/// Events between two looks at what the user wants, and two deliveries of records. What is delivered at once fits into a
/// processor's cache.
const SLICE: u64 = 1 << 14;

/// The world.
#[derive(Debug, Clone)]
pub struct Simulated {
    threads: usize,
    stop: Stop,
}

/// Why a trial could not be simulated.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// It asks for what cannot be.
    #[error(transparent)]
    Refused(Refusal),
    /// Nothing will ever happen again, and probes are still waiting.
    #[error("the simulation stands still: no event is to come, and a probe still waits")]
    Still,
    /// Its records were not taken.
    #[error(transparent)]
    Sink(#[from] io::Error),
}

impl Simulated {
    /// This many trials at the same time; `stop` ends them early.
    pub fn new(threads: usize, stop: Stop) -> Self {
        Self {
            threads: threads.max(1),
            stop,
        }
    }
}

impl World for Simulated {
    fn refusals(&self, trial: &Trial) -> Vec<Refusal> {
        crate::refusals(trial)
    }

    fn run(&mut self, trial: &Trial, sink: &mut dyn Sink) -> Result<TrialFacts, WorldError> {
        let engine = Engine::<Tournament>::new(trial, Serving::Lazy).map_err(SimError::Refused);
        let ran = engine.and_then(|mut engine| simulate(&mut engine, trial, sink, &self.stop));
        ran.map(TrialFacts::from)
            .map_err(|error| WorldError::new(FailureKind::Environment, error))
    }

    fn parallelism(&self) -> usize {
        self.threads
    }

    fn another(&self) -> Option<Box<dyn World>> {
        Some(Box::new(self.clone()))
    }

    fn clock(&self) -> Clock {
        Clock::Simulated
    }
}

/// Runs a simulation to its end, or until the user asks to stop, and hands over what comes of it.
///
/// # Errors
/// The sink's, and [`SimError::Still`].
pub fn simulate<E: EventSet>(
    engine: &mut Engine<E>,
    trial: &Trial,
    sink: &mut dyn Sink,
    stop: &Stop,
) -> Result<Vec<ProbeFacts>, SimError> {
    for index in 0..trial.probes.len() {
        sink.begin(index as u16, &engine.record_facts(index))?;
    }
    let mut settling = Settling::new(trial);
    loop {
        let ran = engine.run(SLICE);
        let over = ran != EngineProgress::Slice || stop.is_asked();
        hand_over(engine, trial, sink, &mut settling, over)?;
        if over {
            if ran == EngineProgress::Still {
                return Err(SimError::Still);
            }
            break;
        }
    }
    for bin in engine.take_clock_reads(trial.id) {
        sink.rows((&bin).into())?;
    }
    let (points, values) = engine.take_series(trial.id);
    sink.rows(Rows::Series(&points))?;
    sink.rows(Rows::SeriesValues(&values))?;
    let transfers = engine.take_transfers().into_iter();
    let transfers = transfers.map(|transferred| Transfer {
        trial: trial.id,
        of: transferred.of,
        number: transferred.number,
        bytes: transferred.bytes,
        start: nanos(transferred.start),
        end: transferred.end.map(nanos),
    });
    sink.rows(Rows::Transfers(&transfers.collect::<Vec<_>>()))?;
    Ok((0..trial.probes.len())
        .map(|index| facts(engine, trial, &mut settling, index))
        .collect())
}

fn hand_over<E: EventSet>(
    engine: &mut Engine<E>,
    trial: &Trial,
    sink: &mut dyn Sink,
    settling: &mut Settling<'_>,
    over: bool,
) -> io::Result<()> {
    if over {
        engine.settle();
    }
    for record in &engine.take_records() {
        settling.see(record);
        sink.record(record)?;
    }
    for hop in engine.take_hops() {
        let hop = Hop {
            trial: trial.id,
            probe: hop.probe,
            seq: hop.seq,
            direction: if hop.back {
                Direction::Return
            } else {
                Direction::Forward
            },
            hop: hop.hop,
            port: engine.port_name(hop.port),
            t_enqueue: nanos(hop.enqueue),
            t_dequeue: nanos(hop.dequeue),
            backlog: hop.backlog,
        };
        sink.rows((&hop).into())?;
    }
    for noise in engine.take_noise() {
        let noise = NoiseEvent {
            trial: trial.id,
            start: nanos(noise.start),
            length: nanos(noise.length),
            cpu: Some(crate::engine::ONLY_CPU),
            kind: noise.kind,
            who: Some(noise.who).filter(|who| !who.is_empty()),
            pid: None,
            preempted: None,
        };
        sink.rows((&noise).into())?;
    }
    Ok(())
}

fn facts<E: EventSet>(
    engine: &Engine<E>,
    trial: &Trial,
    settling: &mut Settling<'_>,
    index: usize,
) -> ProbeFacts {
    let records = engine.record_facts(index);
    let probe = &trial.probes[index];
    ProbeFacts {
        records,
        stamps: stamps(&records, probe),
        negotiated: (probe.request.as_ref())
            .and_then(crate::engine::negotiated)
            .into_iter()
            .collect(),
        noise_sources: [DAEMONS, "ticks", "clock reads"]
            .map(str::to_owned)
            .to_vec(),
        warnings: (engine.warnings().into_iter())
            .chain(settling.warning(index))
            .chain(engine.lacks(trial.host))
            .chain(crate::engine::held_loads(trial))
            .collect(),
        lost_load: Some(engine.lost_load()),
        trace_hash: Some(engine.trace_hash()),
        simulated: Some(nanos(engine.now())),
        ..ProbeFacts::default()
    }
}

fn stamps(facts: &RecordFacts, probe: &Probe) -> Vec<(StampPoint, Delivery)> {
    let reflects = facts.reflector_clock != ReflectorClock::None && probe.request.is_none();
    let delivered = |point: StampPoint| match point {
        // A handshake is no request that could be stamped.
        _ if probe.method.is_handshake() => Delivery::Unsupported,
        StampPoint::TRx => Delivery::Delivered,
        _ if probe.frames.is_some() => Delivery::Unsupported,
        StampPoint::TTxHw | StampPoint::TRxHw => Delivery::Unsupported,
        StampPoint::RRx | StampPoint::RUser | StampPoint::RTx if !reflects => Delivery::Unsupported,
        _ => Delivery::Delivered,
    };
    StampPoint::ALL
        .map(|point| (point, delivered(point)))
        .to_vec()
}
