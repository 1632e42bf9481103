//! A record's stamps as offsets from `t_intended`: the compact row that the anatomy is made of.
//!
//! One is made for every record, so it has a fixed size and is made without allocating. Offsets
//! wrap instead of overflowing: a foreign reflector may send any stamp, and the parts still add up.

use crate::anatomy::Part;
use crate::stage::{Stage, StageSet};
use delaylab_model::Nanos;
use delaylab_model::record::Record;
use delaylab_model::trial::{RecordFacts, ReflectorClock, Residence};

/// Where one stage ends and the next begins. Stage `n` of [`Stage::ALL`] ends at boundary `n`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Boundary {
    Send,
    Sched,
    Tx,
    ReflectorIn,
    ReflectorOut,
    Rx,
    Recv,
}

/// Which boundaries of a passage are known, and whether its residence is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) struct Known(u8);

impl Known {
    /// Bits in use: seven boundaries and the residence.
    pub(crate) const BITS: usize = 8;
    /// The residence as a length, which holds even where the reflector's clock is another.
    const RESIDENCE: u8 = 1 << 7;

    const fn has(self, boundary: Boundary) -> bool {
        self.0 & (1 << boundary as u8) != 0
    }

    const fn has_residence(self) -> bool {
        self.0 & Self::RESIDENCE != 0
    }

    pub(crate) const fn covers(self, other: Known) -> bool {
        self.0 & other.0 == other.0
    }

    pub(crate) const fn and(self, other: Known) -> Known {
        Known(self.0 & other.0)
    }

    pub(crate) const fn bit(self, index: usize) -> bool {
        self.0 >> index & 1 != 0
    }

    pub(crate) fn from_bits(bit: impl Fn(usize) -> bool) -> Known {
        let bits = (0..Self::BITS).filter(|&index| bit(index));
        Known(bits.fold(0, |known, index| known | 1 << index))
    }
}

/// One answered packet's way, in nanoseconds after `t_intended`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Passage {
    at: [Nanos; 7],
    residence: Nanos,
    known: Known,
}

/// The residence of these facts; a reflector without stamps has none, whatever else is said.
fn residence(facts: &RecordFacts) -> Residence {
    match facts.reflector_clock {
        ReflectorClock::None => Residence::Unknown,
        _ => facts.residence,
    }
}

/// The reflector's arrival and departure by the trial's definition.
fn reflector_stamps(record: &Record, facts: &RecordFacts) -> (Option<Nanos>, Option<Nanos>) {
    match residence(facts) {
        Residence::Unknown => (None, None),
        Residence::ToUser => (record.r_rx, record.r_user),
        Residence::ToDriver => (record.r_rx, record.r_tx),
    }
}

impl Passage {
    /// The way of an answered record; `None` where no reply was read.
    pub(crate) fn from_record(record: &Record, facts: &RecordFacts) -> Option<Self> {
        let t_recv = record.t_recv?;
        let mut passage = Self {
            at: [0; 7],
            residence: 0,
            known: Known::default(),
        };
        let mut set = |boundary: Boundary, time: Option<Nanos>| {
            if let Some(time) = time {
                passage.at[boundary as usize] = time.wrapping_sub(record.t_intended);
                passage.known.0 |= 1 << boundary as u8;
            }
        };
        let (r_in, r_out) = reflector_stamps(record, facts);
        set(Boundary::Send, record.t_send);
        set(Boundary::Sched, record.t_sched);
        set(Boundary::Tx, record.t_tx);
        if facts.reflector_clock != ReflectorClock::Unrelated {
            set(Boundary::ReflectorIn, r_in);
            set(Boundary::ReflectorOut, r_out);
        }
        set(Boundary::Rx, record.t_rx);
        set(Boundary::Recv, Some(t_recv));
        if let (Some(r_in), Some(r_out)) = (r_in, r_out) {
            passage.residence = r_out.wrapping_sub(r_in);
            passage.known.0 |= Known::RESIDENCE;
        }
        Some(passage)
    }

    pub(crate) const fn known(&self) -> Known {
        self.known
    }

    fn get(&self, boundary: Boundary) -> Option<Nanos> {
        (self.known.has(boundary)).then(|| self.at[boundary as usize])
    }

    fn between(&self, from: Boundary, to: Boundary) -> Option<Nanos> {
        Some(self.get(to)?.wrapping_sub(self.get(from)?))
    }

    /// `t_recv − t_intended`.
    pub(crate) const fn response(&self) -> Nanos {
        self.at[Boundary::Recv as usize]
    }

    /// `t_recv − t_send`.
    pub(crate) fn round_trip(&self) -> Option<Nanos> {
        self.between(Boundary::Send, Boundary::Recv)
    }

    /// `t_rx − t_tx − residence`, or `None`: a record without a stamp that the trial's definition
    /// needs is left out, so that two definitions are never mixed.
    pub(crate) fn network(&self, facts: &RecordFacts) -> Option<Nanos> {
        let at = |boundary: Boundary| i128::from(self.at[boundary as usize]);
        network(self.known, facts, at, self.residence.into()).map(|ns| ns as Nanos)
    }

    /// `response − network`.
    pub(crate) fn host(&self, facts: &RecordFacts) -> Option<Nanos> {
        Some(self.response().wrapping_sub(self.network(facts)?))
    }

    /// `r_rx − t_tx`, where the clocks compare.
    pub(crate) fn forward(&self) -> Option<Nanos> {
        self.between(Boundary::Tx, Boundary::ReflectorIn)
    }

    /// `t_rx − r_tx`, where the clocks compare.
    pub(crate) fn back(&self) -> Option<Nanos> {
        self.between(Boundary::ReflectorOut, Boundary::Rx)
    }

    /// From when to when it was in these stages (what lies between the first and the last of them
    /// included), as offsets from `t_intended`; `None` where a boundary is not known on that clock.
    pub(crate) fn window(&self, stages: StageSet) -> Option<(Nanos, Nanos)> {
        let at = |boundary: usize| self.known.bit(boundary).then(|| self.at[boundary]);
        let first = stages.iter().next()? as usize;
        let last = stages.iter().last()? as usize;
        let from = first.checked_sub(1).map_or(Some(0), at)?;
        Some((from, at(last)?))
    }

    /// The parts in order, by all that is known.
    pub(crate) fn parts(&self) -> Parts {
        split(
            self.known,
            |last| self.at[last].into(),
            self.residence.into(),
        )
    }
}

/// The network between t_tx and t_rx by the trial's definition, of one passage or of a sum of some.
fn network(
    known: Known,
    facts: &RecordFacts,
    at: impl Fn(Boundary) -> i128,
    residence_ns: i128,
) -> Option<i128> {
    if !(known.has(Boundary::Tx) && known.has(Boundary::Rx)) {
        return None;
    }
    let outside = at(Boundary::Rx) - at(Boundary::Tx);
    match residence(facts) {
        Residence::Unknown => Some(outside),
        _ => known.has_residence().then(|| outside - residence_ns),
    }
}

/// The parts between known boundaries, of one passage or of a sum of some.
fn split(known: Known, at: impl Fn(usize) -> i128, residence: i128) -> Parts {
    let reflector = StageSet::only(Stage::Reflector);
    let mut parts = Parts::default();
    let mut first = 0;
    let mut since = 0;
    for last in (0..Stage::ALL.len()).filter(|&boundary| known.bit(boundary)) {
        let stages = StageSet::span(Stage::ALL[first], Stage::ALL[last]);
        let ns = at(last) - since;
        // The residence is known as a length even where its place between t_tx and t_rx is not.
        if known.has_residence() && stages.covers(reflector) && stages != reflector {
            parts.push(stages.without(reflector), ns - residence);
            parts.push(reflector, residence);
        } else {
            parts.push(stages, ns);
        }
        (first, since) = (last + 1, at(last));
    }
    parts
}

/// The parts of a response: at most one for each stage.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Parts {
    items: [(StageSet, i128); 7],
    len: usize,
}

impl Parts {
    fn push(&mut self, stages: StageSet, ns: i128) {
        self.items[self.len] = (stages, ns);
        self.len += 1;
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (StageSet, i128)> {
        self.items.into_iter().take(self.len)
    }
}

/// The sum of several passages, from which their mean anatomy is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct PassageSum {
    count: u64,
    at: [i128; 7],
    residence: i128,
}

impl PassageSum {
    pub(crate) const fn count(&self) -> u64 {
        self.count
    }

    /// Adds one.
    pub(crate) fn add(&mut self, passage: &Passage) {
        self.count += 1;
        for (sum, at) in self.at.iter_mut().zip(passage.at) {
            *sum += i128::from(at);
        }
        self.residence += i128::from(passage.residence);
    }

    /// Adds all of another's.
    pub(crate) fn merge(&mut self, other: &PassageSum) {
        self.count += other.count;
        for (sum, more) in self.at.iter_mut().zip(other.at) {
            *sum += more;
        }
        self.residence += other.residence;
    }

    fn mean(&self, sum: i128) -> f64 {
        sum as f64 / self.count as f64
    }

    /// Mean response.
    pub(crate) fn mean_response(&self) -> f64 {
        self.mean(self.at[Boundary::Recv as usize])
    }

    /// Mean parts by the boundaries in `known`, which every passage added must have.
    pub(crate) fn mean_parts(&self, known: Known) -> Vec<Part> {
        split(known, |last| self.at[last], self.residence)
            .iter()
            .map(|(stages, sum)| Part {
                stages,
                ns: self.mean(sum),
            })
            .collect()
    }

    /// Mean network by the boundaries in `known`, which every passage added must have.
    pub(crate) fn mean_network(&self, known: Known, facts: &RecordFacts) -> Option<f64> {
        let at = |boundary: Boundary| self.at[boundary as usize];
        network(known, facts, at, self.residence).map(|sum| self.mean(sum))
    }
}
