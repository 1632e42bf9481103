//! When each packet went into the path and came out of it.

use super::line::{Line, on_the_wire};
use super::run_trials::{ProbeStream, Trial};
use delaylab_model::Nanos;
use delaylab_model::path::Framing;
use delaylab_model::record::Record;
use delaylab_model::trial::Residence;

/// Are the two directions told apart?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ways {
    /// One clock stamps both ends.
    Apart,
    /// Only the sum of both is known. What is lost and what waits is taken to be so on the way there.
    Together,
}

impl Ways {
    /// What the stamps of all of these streams allow.
    pub(super) fn from_streams<'a>(mut streams: impl Iterator<Item = &'a ProbeStream>) -> Self {
        match streams.all(ProbeStream::one_way) {
            true => Ways::Apart,
            false => Ways::Together,
        }
    }

    /// The share that the way there has of what is known: half, where only the sum of both is. That is a guess.
    pub(super) const fn there(self) -> f64 {
        match self {
            Ways::Apart => 1.0,
            Ways::Together => 0.5,
        }
    }

    /// The least that share may be; it may be all.
    pub(super) const fn least_there(self) -> f64 {
        match self {
            Ways::Apart => 1.0,
            Ways::Together => 0.0,
        }
    }
}

/// From the sender's driver to the receiver's kernel.
pub(super) fn forward(stream: &ProbeStream, record: &Record) -> Option<Nanos> {
    let out = match stream.method.is_one_way() {
        true => record.t_rx?,
        false => record.r_rx?,
    };
    Some(out - stream.sent(record)?)
}

/// From where the reflector's part ends to the prober's kernel.
pub(super) fn back(stream: &ProbeStream, record: &Record) -> Option<Nanos> {
    let left = match stream.facts.residence {
        Residence::ToUser => record.r_user?,
        Residence::ToDriver | Residence::Unknown => record.r_tx?,
    };
    Some(record.t_rx? - left)
}

/// Both together. Frames do not come back.
pub(super) fn both(stream: &ProbeStream, record: &Record) -> Option<Nanos> {
    match stream.method.is_one_way() {
        true => None,
        false => stream.network(record),
    }
}

/// One packet in an overflowing trial. Times are nanoseconds from the first packet on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Passage {
    /// Which stream of the trial.
    pub stream: usize,
    /// Bytes on the wire.
    pub wire: f64,
    /// Handed to the driver.
    pub sent: f64,
    /// Came out; `None`: dropped.
    pub out: Option<f64>,
}

/// Every packet of an overflowing trial.
#[derive(Debug, Clone)]
pub struct Overflow {
    /// In the order in which they were sent.
    pub passages: Vec<Passage>,
    /// The stream that lost most bytes.
    pub flood: usize,
    /// Minimum delay: nanoseconds of a packet without any bytes, and of a byte.
    pub least: [f64; 2],
    /// Are there and back told apart?
    pub ways: Ways,
}

impl Overflow {
    /// `None` where nothing is known of when packets came out. Without a line, the minimum delay of the
    /// trial itself stands for it.
    pub(super) fn gather(
        trial: &Trial,
        framing: Framing,
        ways: Ways,
        line: Option<&Line>,
    ) -> Option<Self> {
        let streams = trial.streams.iter().enumerate();
        let known =
            streams.filter(|(_, stream)| ways == Ways::Apart || !stream.method.is_one_way());
        let sent = trial.streams.iter().flat_map(|stream| {
            let records = stream.records.iter();
            records.filter_map(move |record| stream.sent(record))
        });
        let start = sent.min()?;
        let passages = known.flat_map(|(index, stream)| {
            let records = stream.records.iter();
            records.filter_map(move |record| passage(index, stream, record, framing, ways, start))
        });
        let mut passages: Vec<Passage> = passages.collect();
        passages.sort_by(|a, b| a.sent.total_cmp(&b.sent));
        let lost = |index: usize| -> f64 {
            let own = passages
                .iter()
                .filter(|p| p.stream == index && p.out.is_none());
            own.map(|passage| passage.wire).sum()
        };
        let flood = (0..trial.streams.len()).max_by(|&a, &b| lost(a).total_cmp(&lost(b)))?;
        let delays = passages.iter().filter_map(|p| Some(p.out? - p.sent));
        let shortest = delays.fold(f64::INFINITY, f64::min);
        let least = line.map_or([shortest, 0.0], |line| {
            [line.constant.value, line.slope.value]
        });
        Some(Self {
            passages,
            flood,
            least,
            ways,
        })
        .filter(|_| shortest.is_finite())
    }

    /// The same with the least of what its flood took as the minimum delay, whatever the size.
    pub(super) fn with_own_least(mut self) -> Self {
        let own = self.passages.iter().filter(|one| one.stream == self.flood);
        let took = own.filter_map(|one| Some(one.out? - one.sent));
        let least = took.fold(f64::INFINITY, f64::min);
        if least.is_finite() {
            self.least = [least, 0.0];
        }
        self
    }

    /// What a packet takes that meets no other.
    pub fn undisturbed(&self, wire: f64) -> f64 {
        self.least[0] + self.least[1] * wire
    }

    /// How long it waited.
    pub fn waited(&self, passage: &Passage) -> Option<f64> {
        Some(passage.out? - passage.sent - self.undisturbed(passage.wire))
    }

    /// Those that came out, in that order.
    pub fn arrived(&self) -> Vec<Passage> {
        let out = self.passages.iter().filter(|passage| passage.out.is_some());
        let mut out: Vec<Passage> = out.copied().collect();
        let at = |passage: &Passage| passage.out.unwrap_or(f64::INFINITY);
        out.sort_by(|a, b| at(a).total_cmp(&at(b)));
        out
    }
}

fn passage(
    index: usize,
    stream: &ProbeStream,
    record: &Record,
    framing: Framing,
    ways: Ways,
    start: Nanos,
) -> Option<Passage> {
    let sent = stream.sent(record)?;
    let took = match ways {
        Ways::Apart => forward(stream, record),
        Ways::Together => both(stream, record),
    };
    let out = match record.outcome.is_lost() {
        true => None,
        // Nobody knows whether it met the queue.
        false => Some((sent - start + took?) as f64),
    };
    Some(Passage {
        stream: index,
        wire: f64::from(on_the_wire(framing, record.ip_size?)),
        sent: (sent - start) as f64,
        out,
    })
}
