//! What a run saw, as calibration needs it.

use delaylab_model::Nanos;
use delaylab_model::method::Method;
use delaylab_model::path::Framing;
use delaylab_model::plan::Factor;
use delaylab_model::record::Record;
use delaylab_model::trial::{RecordFacts, ReflectorClock, Residence};

/// A clock that is known this well is one clock: what is looked for is ten times as long and more.
const ONE_CLOCK: Nanos = 20_000;
/// A trial that lost this share of a stream, and so many, has overflowed a buffer.
const LOST_SHARE: f64 = 0.01;
const LOST_LEAST: usize = 20;
/// Packets that may be lost by accident in a trial without load.
const BY_ACCIDENT: f64 = 0.005;

/// All trials of a run.
#[derive(Debug, Clone, Default)]
pub struct RunTrials {
    /// How packets are put on links.
    pub framing: Framing,
    /// In their order.
    pub trials: Vec<Trial>,
}

/// One trial.
#[derive(Debug, Clone)]
pub struct Trial {
    /// Each factor and its level.
    pub factors: Vec<Factor>,
    /// Streams of load beside the probes, of whose packets nothing is known.
    pub loads: u32,
    /// It is not what its experiment meant.
    pub flawed: bool,
    /// It loses packets whether others wait or not.
    pub random_loss: bool,
    /// Its probes.
    pub streams: Vec<ProbeStream>,
}

/// One probe in one trial.
#[derive(Debug, Clone)]
pub struct ProbeStream {
    /// Its name.
    pub probe: String,
    /// How it asked.
    pub method: Method,
    /// How to read its records.
    pub facts: RecordFacts,
    /// So many packets at the start are left out of distributions.
    pub warmup: u64,
    /// In order of sequence.
    pub records: Vec<Record>,
}

impl RunTrials {
    /// Those that are what their experiment meant.
    pub fn usable(&self) -> impl Iterator<Item = &Trial> {
        self.trials.iter().filter(|trial| !trial.flawed)
    }
}

impl Trial {
    /// Nothing competes, and nothing is lost but by accident.
    pub fn is_unloaded(&self) -> bool {
        let accident =
            |stream: &ProbeStream| stream.lost() as f64 <= stream.sent_count() as f64 * BY_ACCIDENT;
        self.loads == 0 && (self.random_loss || self.streams.iter().all(accident))
    }

    /// Its own packets overflow a buffer.
    pub fn overflows(&self) -> bool {
        let overflows = |stream: &ProbeStream| {
            let least = stream.sent_count() as f64 * LOST_SHARE;
            stream.lost() >= LOST_LEAST && stream.lost() as f64 >= least
        };
        self.loads == 0 && !self.random_loss && self.streams.iter().any(overflows)
    }
}

impl ProbeStream {
    /// How many of its packets this host sent.
    pub fn sent_count(&self) -> usize {
        let sent = self.records.iter().filter(|one| one.outcome.was_sent());
        sent.count()
    }

    /// How many of them were never answered.
    pub fn lost(&self) -> usize {
        let lost = self.records.iter().filter(|one| one.outcome.is_lost());
        lost.count()
    }

    /// Is it known when its packets reached the far end?
    pub fn one_way(&self) -> bool {
        self.method.is_one_way()
            || match self.facts.reflector_clock {
                ReflectorClock::Same => true,
                ReflectorClock::Bounded { error_ns } => error_ns <= ONE_CLOCK,
                ReflectorClock::None | ReflectorClock::Unrelated => false,
            }
    }

    /// From the request's arrival to the reply's departure.
    pub fn residence(&self, record: &Record) -> Option<Nanos> {
        match self.facts.residence {
            Residence::Unknown => Some(0),
            Residence::ToUser => Some(record.r_user? - record.r_rx?),
            Residence::ToDriver => Some(record.r_tx? - record.r_rx?),
        }
    }

    /// When a packet went to the driver. Of frames the call that sends them is all that is stamped; nothing queues
    /// behind it.
    pub fn sent(&self, record: &Record) -> Option<Nanos> {
        match self.method.is_one_way() {
            true => record.t_send,
            false => record.t_tx,
        }
    }

    /// What the network takes: there and back, for frames there.
    pub fn network(&self, record: &Record) -> Option<Nanos> {
        let all = record.t_rx? - self.sent(record)?;
        match self.method.is_one_way() {
            true => Some(all),
            false => Some(all - self.residence(record)?),
        }
    }
}
