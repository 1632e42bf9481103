//! A device of which everything is known: FIFO queues at its receiving ports, exact to the picosecond;
//! and a driver that carries a procedure out on it.

use delaylab_model::frames::FRAME_OVERHEAD;
use delaylab_model::method::Method;
use delaylab_model::plan::Planned;
use delaylab_model::probe::{HostCondition, Pacing, Probe};
use delaylab_model::record::{Outcome, Record};
use delaylab_model::trial::Trial;
use delaylab_model::{MILLISECOND, Nanos, Picos};
use delaylab_procedure::{Effort, Procedure, Setup};
use delaylab_stats::frames::{FrameTrial, FramesBuilder};
use delaylab_stats::random::SplitMix;
use std::collections::{BTreeMap, VecDeque};

/// What is wrong with a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fault {
    #[default]
    None,
    DropsAll,
    DropsNone,
    /// Every so many frames leave twice.
    Duplicates(u64),
    /// Every so many frames are overtaken by the next.
    Reorders(u64),
    /// Every so many frames change.
    Corrupts(u64),
    /// A congested receiving port costs every other one a frame in ten.
    Blocks,
}

#[derive(Debug, Clone, Copy)]
pub struct Device {
    /// In bit/s.
    pub ingress: u64,
    /// In bit/s.
    pub egress: u64,
    /// In bytes of waiting frames.
    pub buffer: u64,
    /// What a frame takes of it beside itself.
    pub overhead: u64,
    pub latency: Nanos,
    pub fault: Fault,
}

#[derive(Debug, Default)]
struct Port {
    /// When each waiting frame begins to leave.
    begins: VecDeque<Picos>,
    free: Picos,
    dropped: u64,
}

struct Arrival {
    at: Picos,
    probe: usize,
    seq: u64,
    send: Picos,
}

const PICOS: Picos = 1000;

impl Device {
    fn bits(&self, bytes: u64, rate: u64) -> Picos {
        (u128::from(bytes) * 8 * 1_000_000_000_000 / u128::from(rate)) as Picos
    }

    /// From just before sending to arrival, if it never waits.
    pub fn alone(&self, size: u32) -> Nanos {
        let size = u64::from(size);
        let lines = self.bits(size, self.ingress) + self.bits(size + FRAME_OVERHEAD, self.egress);
        (lines / PICOS) as Nanos + self.latency
    }

    /// Frames that wait at most.
    pub fn holds(&self, size: u32) -> u64 {
        self.buffer / (u64::from(size) + self.overhead)
    }

    fn arrivals(&self, trial: &Trial) -> Vec<Arrival> {
        let mut arrivals = Vec::new();
        for (probe, stream) in trial.probes.iter().enumerate() {
            let frames = stream.frames.unwrap();
            let Pacing::Frames { interval_ps } = stream.pacing else {
                panic!("frames are paced as frames");
            };
            assert_eq!(stream.method, Method::Frame);
            let line = self.bits(u64::from(frames.size), self.ingress);
            for seq in 0..stream.count.unwrap() {
                let send = frames.start as Picos * PICOS + seq * interval_ps;
                arrivals.push(Arrival {
                    at: send + line,
                    probe,
                    seq,
                    send,
                });
            }
        }
        arrivals.sort_by_key(|arrival| (arrival.at, arrival.probe));
        arrivals
    }

    /// What comes of a trial.
    pub fn carry_out(&self, trial: &Trial) -> FrameTrial {
        let mut builders: Vec<FramesBuilder> = Vec::new();
        for probe in &trial.probes {
            builders.push(FramesBuilder::for_probe(probe, 100_000));
        }
        let reset = trial.path.switch.as_ref().and_then(|switch| switch.reset);
        let mut ports = BTreeMap::<Option<String>, Port>::new();
        for arrival in self.arrivals(trial) {
            let probe = &trial.probes[arrival.probe];
            let size = u64::from(probe.frames.unwrap().size);
            let congested: u64 = ports.values().map(|port| port.dropped).sum();
            let port = ports.entry(probe.to.clone()).or_default();
            let is_down = reset.is_some_and(|reset| {
                let (at, lasts) = (reset.at.0 as Picos * PICOS, reset.lasts.0 as Picos * PICOS);
                let at = at + trial.probes[0].frames.unwrap().start as Picos * PICOS;
                (at..at + lasts).contains(&arrival.at)
            });
            let blocked = self.fault == Fault::Blocks
                && congested > port.dropped
                && arrival.seq.is_multiple_of(10);
            let leaves = match self.fault {
                _ if is_down => {
                    port.begins.clear();
                    None
                }
                Fault::DropsAll => None,
                _ if blocked => None,
                _ => self.pass(port, arrival.at, size),
            };
            let record = self.record(&arrival, leaves);
            builders[arrival.probe].push(&record);
        }
        FrameTrial::new(builders.iter().map(FramesBuilder::finish).collect())
    }

    /// When a frame has left; `None`: it did not fit.
    fn pass(&self, port: &mut Port, at: Picos, size: u64) -> Option<Picos> {
        while port.begins.front().is_some_and(|&begin| begin <= at) {
            port.begins.pop_front();
        }
        let width = size + self.overhead;
        let waiting = port.begins.len() as u64 + 1;
        let fits = waiting * width <= self.buffer || self.fault == Fault::DropsNone;
        if port.free > at && !fits {
            port.dropped += 1;
            return None;
        }
        let begin = port.free.max(at);
        port.begins.push_back(begin);
        port.free = begin + self.bits(size + FRAME_OVERHEAD, self.egress);
        Some(port.free)
    }

    fn record(&self, arrival: &Arrival, leaves: Option<Picos>) -> Record {
        let send = (arrival.send / PICOS) as Nanos;
        let mut record = Record::due(0, 0, arrival.seq, Method::Frame, send);
        record.t_send = Some(send);
        let Some(leaves) = leaves else {
            return record;
        };
        record.t_rx = Some((leaves / PICOS) as Nanos + self.latency);
        record.outcome = Outcome::Ok;
        let every = |n: u64| arrival.seq.is_multiple_of(n);
        match self.fault {
            Fault::Duplicates(n) if every(n) => record.copies = 1,
            Fault::Reorders(n) if every(n) => record.reorder_extent = 1,
            Fault::Corrupts(n) if every(n) => record.outcome = Outcome::Corrupt,
            _ => {}
        }
        record
    }
}

pub fn stream(from: usize, to: &str) -> Probe {
    let mut probe = Probe::new(format!("p{from} to {to}"), Method::Frame);
    probe.from = Some(format!("p{from}"));
    probe.to = Some(to.to_owned());
    probe
}

/// Many to one.
pub fn setup(device: &Device, ports: usize, sizes: &[u32], effort: Effort) -> Setup {
    Setup {
        trial: Trial {
            id: 0,
            target: None,
            probes: Vec::new(),
            loads: Vec::new(),
            path: Default::default(),
            host: HostCondition::Normal,
            seed: 1,
        },
        streams: (0..ports).map(|from| stream(from, "out")).collect(),
        line_rate: device.ingress,
        egress_rate: device.egress,
        sizes: sizes.to_vec(),
        effort,
    }
}

/// Short, but twenty times as long as it takes to empty this buffer.
pub fn effort(device: &Device) -> Effort {
    let empty = device.buffer as i64 * 8 * 1_000_000_000 / device.egress as i64;
    Effort {
        trial: (20 * empty).max(5 * MILLISECOND),
        latency: 10 * MILLISECOND,
        burst: 4 * empty + 5 * MILLISECOND,
        overload: 20 * empty,
        latency_repeats: 2,
        burst_repeats: 3,
        repeats: 2,
        ..Effort::quick()
    }
}

/// Carries a procedure out to its end. Returns how many trials it took.
pub fn drive(
    procedure: &mut (impl Procedure + ?Sized),
    mut device: impl FnMut(&Planned) -> FrameTrial,
) -> usize {
    let mut trials = 0;
    let mut last = None;
    loop {
        let planned = procedure.next_trials();
        if planned.is_empty() {
            break;
        }
        for planned in planned {
            assert!(Some(planned.trial.id) > last, "numbers increase");
            last = Some(planned.trial.id);
            if trials % 64 == 0 {
                let remaining = procedure.remaining().unwrap();
                assert!(remaining.trials > 0 && remaining.expected > 0);
            }
            assert!(procedure.next_trials().is_empty(), "one at a time");
            procedure.observe(&planned, &device(&planned));
            trials += 1;
            assert!(trials < 20_000, "it never ends");
        }
    }
    assert_eq!(procedure.remaining().unwrap().trials, 0);
    trials
}

/// A number from `low` to `high`, both included.
pub fn between(random: &mut SplitMix, low: u64, high: u64) -> u64 {
    low + random.next() % (high - low + 1)
}

/// The rates that a configuration has: sending ports are up to ten times as fast.
pub fn any_device(random: &mut SplitMix) -> Device {
    let egress = between(random, 10, 100) * 1_000_000;
    Device {
        egress,
        ingress: egress / 10 * between(random, 10, 100),
        buffer: between(random, 8_000, 20_000),
        overhead: 20 * between(random, 0, 1),
        latency: between(random, 0, 1_000_000) as Nanos,
        fault: Fault::None,
    }
}

/// The trial as a sender carries it out whose gaps are longer by this factor.
pub fn slower(trial: &Trial, factor: f64) -> Trial {
    let mut trial = trial.clone();
    for probe in &mut trial.probes {
        if let Pacing::Frames { interval_ps } = &mut probe.pacing {
            *interval_ps = (*interval_ps as f64 * factor) as u64;
        }
    }
    trial
}
