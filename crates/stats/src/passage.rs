//! A record's stamps as offsets from `t_intended`: the compact row that the anatomy is made of.
//!
//! One is made for every record, so it has a fixed size and is made without allocating. Offsets
//! wrap instead of overflowing: a foreign reflector may send any stamp, and the parts still add up.

use crate::stage::{Part, Stage, StageSet};
use delaylab_model::Nanos;
use delaylab_model::record::Record;
use delaylab_model::trial::{RecordFacts, ReflectorClock, Residence};

/// Where one stage ends and the next begins. Stage `n` of [`Stage::ALL`] ends at boundary `n`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Boundary {
    Begin,
    Resolved,
    Connected,
    Secured,
    Sched,
    Tx,
    FarIn,
    ReflectorOut,
    // Between them lies the end of the server's time, which is known as a length alone.
    First = Stage::ReturnPath as isize,
    Rx,
    Recv,
}

/// Stages, and so boundaries.
const STAGES: usize = Stage::ALL.len();

/// Which boundaries of a passage are known, whether its residence is, and which stages it does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) struct Known(u32);

impl Known {
    /// Bits in use: a boundary and an absence for each stage, and the residence.
    pub(crate) const BITS: usize = 2 * STAGES + 2;
    /// The residence in what answers, as a length: it holds even where no clock says when it was.
    const RESIDENCE: u32 = 1 << (2 * STAGES);
    /// When the request was sent.
    const SENT: u32 = 1 << (2 * STAGES + 1);

    const ABSENCES: u32 = ((1 << STAGES) - 1) << STAGES;

    const fn has(self, boundary: Boundary) -> bool {
        self.0 & (1 << boundary as u32) != 0
    }

    const fn has_residence(self) -> bool {
        self.0 & Self::RESIDENCE != 0
    }

    const fn lacks(self, stage: usize) -> bool {
        self.bit(STAGES + stage)
    }

    /// All the stages that there are none of.
    const fn absent(self) -> StageSet {
        StageSet::from_bits(((self.0 & Self::ABSENCES) >> STAGES) as u16)
    }

    /// Which stage the residence is.
    const fn answering(self) -> Stage {
        match self.lacks(Stage::Server as usize) {
            true => Stage::Reflector,
            false => Stage::Server,
        }
    }

    pub(crate) const fn covers(self, other: Known) -> bool {
        self.0 & other.0 == other.0
    }

    /// Without what it says of stages that are not there.
    pub(crate) const fn stamps(self) -> Known {
        Known(self.0 & !Self::ABSENCES)
    }

    /// These stamps, of passages without the stages that `other` does not have.
    pub(crate) const fn with_absences_of(self, other: Known) -> Known {
        Known(self.0 & !Self::ABSENCES | other.0 & Self::ABSENCES)
    }

    /// Does it have the same stages?
    pub(crate) const fn has_stages_of(self, other: Known) -> bool {
        self.0 & Self::ABSENCES == other.0 & Self::ABSENCES
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

/// Where a passage keeps the end of each stage. No packet has a reflector and a connection of its own: those share.
const SLOTS: [usize; STAGES] = [0, 1, 2, 3, 4, 5, 1, 2, 3, 6, 7, 8];

/// One answered packet's way, in nanoseconds after `t_intended`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Passage {
    at: [Nanos; 9],
    /// When the request was sent: where a connection is made for it, that is no end of a stage.
    sent: Nanos,
    residence: Nanos,
    known: Known,
}

/// The reflector's arrival and departure by the trial's definition.
fn reflector_stamps(record: &Record, facts: &RecordFacts) -> (Option<Nanos>, Option<Nanos>) {
    match facts.known_residence() {
        Residence::Unknown => (None, None),
        Residence::ToUser => (record.r_rx, record.r_user),
        Residence::ToDriver => (record.r_rx, record.r_tx),
    }
}

/// Does what answers tell nothing of itself, so that the far kernel's acknowledgement alone tells it from the network? So do servers of
/// any make, and reflectors by tcp that stamp nothing.
pub(crate) fn is_told_by_acknowledgement(record: &Record, facts: &RecordFacts) -> bool {
    let unstamped = || facts.known_residence() == Residence::Unknown && record.t_first.is_some();
    record.method.asks_server() || record.method.is_stream() && unstamped()
}

/// The stages that a record does not have: they take no time, and are no part.
fn absent(record: &Record, facts: &RecordFacts) -> StageSet {
    if !is_told_by_acknowledgement(record, facts) {
        return StageSet::OF_SERVERS;
    }
    let made = [
        (Stage::Resolve, record.t_resolved),
        (Stage::Connect, record.t_connected),
        (Stage::Tls, record.t_secured),
    ];
    let unmade = made.into_iter().filter(|(_, end)| end.is_none());
    let never = match record.method.is_handshake() {
        true => StageSet::span(Stage::SendStack, Stage::Transfer),
        false => StageSet::only(Stage::Reflector),
    };
    let transfer = StageSet::only(Stage::Transfer);
    let whole = record.t_first.is_none().then_some(transfer);
    let unmade = unmade.map(|(stage, _)| StageSet::only(stage));
    unmade
        .chain(whole)
        .chain([never])
        .flat_map(StageSet::iter)
        .collect()
}

impl Passage {
    /// The way of an answered record; `None` where no reply was read.
    pub(crate) fn from_record(record: &Record, facts: &RecordFacts) -> Option<Self> {
        let t_recv = record.t_recv?;
        let mut passage = Self {
            at: [0; 9],
            sent: 0,
            residence: 0,
            known: Known::default(),
        };
        let mut set = |boundary: Boundary, time: Option<Nanos>| {
            if let Some(time) = time {
                passage.at[SLOTS[boundary as usize]] = time.wrapping_sub(record.t_intended);
                passage.known.0 |= 1 << boundary as u32;
            }
        };
        set(Boundary::Begin, record.t_begin.or(record.t_send));
        if record.method.asks_server() {
            set(Boundary::Resolved, record.t_resolved);
            set(Boundary::Connected, record.t_connected);
            set(Boundary::Secured, record.t_secured);
        }
        set(Boundary::Sched, record.t_sched);
        set(Boundary::Tx, record.t_tx);
        let told = is_told_by_acknowledgement(record, facts);
        let (r_in, r_out) = match told {
            true => (None, None),
            false => reflector_stamps(record, facts),
        };
        if facts.reflector_clock != ReflectorClock::Unrelated {
            set(Boundary::FarIn, r_in);
            set(Boundary::ReflectorOut, r_out);
        }
        // Of a reflector's reply the last byte counts: all of it is the way back.
        let t_first = record.t_first.filter(|_| told);
        set(Boundary::First, t_first.or(record.t_rx));
        if t_first.is_some() {
            set(Boundary::Rx, record.t_rx);
        }
        set(Boundary::Recv, Some(t_recv));
        let of_reflector = r_in
            .zip(r_out)
            .map(|(r_in, r_out)| r_out.wrapping_sub(r_in));
        let of_server = || record.server_told().filter(|_| told);
        if let Some(residence) = of_reflector.or_else(of_server) {
            passage.residence = residence;
            passage.known.0 |= Known::RESIDENCE;
        }
        if let Some(t_send) = record.t_send {
            passage.sent = t_send.wrapping_sub(record.t_intended);
            passage.known.0 |= Known::SENT;
        }
        passage.leave_out(absent(record, facts));
        Some(passage)
    }

    /// A stage that is not there ends where the one before it does.
    fn leave_out(&mut self, absent: StageSet) {
        for stage in absent.iter().map(|stage| stage as usize) {
            self.known.0 |= 1 << (STAGES + stage);
            match stage
                .checked_sub(1)
                .is_some_and(|before| self.known.bit(before))
            {
                true => self.known.0 |= 1 << stage,
                false => self.known.0 &= !(1 << stage),
            }
        }
    }

    /// Where a stage ends whose end is known.
    const fn end_of(&self, mut stage: usize) -> Nanos {
        while self.known.lacks(stage) && stage > 0 {
            stage -= 1;
        }
        self.at[SLOTS[stage]]
    }

    pub(crate) const fn known(&self) -> Known {
        self.known
    }

    fn get(&self, boundary: Boundary) -> Option<Nanos> {
        (self.known.has(boundary)).then(|| self.end_of(boundary as usize))
    }

    fn between(&self, from: Boundary, to: Boundary) -> Option<Nanos> {
        Some(self.get(to)?.wrapping_sub(self.get(from)?))
    }

    /// `t_recv − t_intended`.
    pub(crate) const fn response(&self) -> Nanos {
        self.at[SLOTS[Boundary::Recv as usize]]
    }

    /// `t_recv − t_send`.
    pub(crate) fn round_trip(&self) -> Option<Nanos> {
        let sent = self.known.0 & Known::SENT != 0;
        sent.then(|| self.response().wrapping_sub(self.sent))
    }

    /// `t_rx − t_tx − residence`, or `None`: a record without a stamp that the trial's definition
    /// needs is left out, so that two definitions are never mixed. Servers: up to the reply's first byte, and the TCP
    /// handshake, where one was made, is the network's too.
    pub(crate) fn network(&self, facts: &RecordFacts) -> Option<Nanos> {
        let at = |boundary: Boundary| i128::from(self.end_of(boundary as usize));
        network(self.known, facts, at, self.residence.into()).map(|ns| ns as Nanos)
    }

    /// `response − network`: both ends. Servers: the stages of this host alone.
    pub(crate) fn host(&self, facts: &RecordFacts) -> Option<Nanos> {
        let network = || self.network(facts).map(i128::from);
        let host = host(self.known, self.response().into(), || self.parts(), network);
        host.map(|ns| ns as Nanos)
    }

    /// `r_rx − t_tx`, where the clocks compare.
    pub(crate) fn forward(&self) -> Option<Nanos> {
        self.way(Stage::ForwardPath, [Boundary::Tx, Boundary::FarIn])
    }

    /// `t_rx − r_tx`, where the clocks compare.
    pub(crate) fn back(&self) -> Option<Nanos> {
        self.way(Stage::ReturnPath, [Boundary::ReflectorOut, Boundary::Rx])
    }

    /// One way; a handshake alone has none, and not one of 0 ns.
    fn way(&self, stage: Stage, [from, to]: [Boundary; 2]) -> Option<Nanos> {
        let is_there = !self.known.lacks(stage as usize);
        is_there.then(|| self.between(from, to)).flatten()
    }

    /// From when to when it was in these stages (what lies between the first and the last of them
    /// included), as offsets from `t_intended`; `None` where a boundary is not known on that clock.
    pub(crate) fn window(&self, stages: StageSet) -> Option<(Nanos, Nanos)> {
        let at = |boundary: usize| self.known.bit(boundary).then(|| self.end_of(boundary));
        let first = stages.iter().next()? as usize;
        let last = stages.iter().last()? as usize;
        let from = first.checked_sub(1).map_or(Some(0), at)?;
        Some((from, at(last)?))
    }

    /// The parts in order, by all that is known.
    pub(crate) fn parts(&self) -> Parts {
        split(
            self.known,
            |last| self.end_of(last).into(),
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
    let handshake = match known.lacks(Stage::Connect as usize) {
        true => 0,
        false if known.has(Boundary::Resolved) && known.has(Boundary::Connected) => {
            at(Boundary::Connected) - at(Boundary::Resolved)
        }
        false => return None,
    };
    if known.lacks(Stage::ForwardPath as usize) {
        return Some(handshake);
    }
    if !(known.has(Boundary::Tx) && known.has(Boundary::First)) {
        return None;
    }
    let outside = at(Boundary::First) - at(Boundary::Tx) + handshake;
    match (known.answering(), facts.known_residence()) {
        (Stage::Reflector, Residence::Unknown) => Some(outside),
        _ => known.has_residence().then(|| outside - residence_ns),
    }
}

/// Both ends, of one passage or of a sum of some: all but the network. What a server is asked passes more than two ends
/// and what is between them; there it is the stages of this host, where they are told from all others.
fn host(
    known: Known,
    response: i128,
    parts: impl Fn() -> Parts,
    network: impl Fn() -> Option<i128>,
) -> Option<i128> {
    if known.lacks(Stage::Server as usize) && known.lacks(Stage::Connect as usize) {
        return Some(response - network()?);
    }
    let parts = parts();
    let own = parts.iter().filter(|(set, _)| StageSet::HOST.covers(*set));
    let told: StageSet = own.clone().flat_map(|(set, _)| set.iter()).collect();
    let mut all = StageSet::HOST
        .iter()
        .filter(|&stage| !known.lacks(stage as usize));
    all.all(|stage| told.contains(stage))
        .then(|| own.map(|(_, ns)| ns).sum())
}

/// The parts between known boundaries, of one passage or of a sum of some.
fn split(known: Known, at: impl Fn(usize) -> i128, residence: i128) -> Parts {
    let answering = StageSet::only(known.answering());
    let absent = known.absent();
    let mut parts = Parts::default();
    let mut first = 0;
    let mut since = 0;
    for last in (0..STAGES).filter(|&boundary| known.bit(boundary)) {
        let stages = StageSet::span(Stage::ALL[first], Stage::ALL[last]).without(absent);
        let ns = at(last) - since;
        (first, since) = (last + 1, at(last));
        if stages.is_empty() {
            continue;
        }
        // The residence is known as a length even where its place between t_tx and t_rx is not.
        if known.has_residence() && stages.covers(answering) && stages != answering {
            parts.push(stages.without(answering), ns - residence);
            parts.push(answering, residence);
        } else {
            parts.push(stages, ns);
        }
    }
    parts
}

/// The parts of a response: at most one for each stage.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Parts {
    items: [(StageSet, i128); STAGES],
    len: usize,
}

impl Parts {
    fn push(&mut self, stages: StageSet, ns: i128) {
        self.items[self.len] = (stages, ns);
        self.len += 1;
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (StageSet, i128)> + Clone {
        self.items.into_iter().take(self.len)
    }
}

/// The sum of several passages, from which their mean anatomy is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct PassageSum {
    count: u64,
    at: [i128; STAGES],
    residence: i128,
}

impl PassageSum {
    pub(crate) const fn count(&self) -> u64 {
        self.count
    }

    /// Adds one.
    pub(crate) fn add(&mut self, passage: &Passage) {
        self.count += 1;
        for (stage, sum) in self.at.iter_mut().enumerate() {
            if passage.known.bit(stage) {
                *sum += i128::from(passage.end_of(stage));
            }
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

    /// Mean time of both ends, or for a server of this host, by the boundaries in `known`.
    pub(crate) fn mean_host(&self, known: Known, facts: &RecordFacts) -> Option<f64> {
        let at = |boundary: Boundary| self.at[boundary as usize];
        let network = || network(known, facts, at, self.residence);
        let parts = || split(known, |last| self.at[last], self.residence);
        let response = self.at[Boundary::Recv as usize];
        host(known, response, parts, network).map(|sum| self.mean(sum))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_model::method::Method;
    use proptest::option;
    use proptest::prelude::*;
    use proptest::sample::select;

    /// Asked of a server on a connection made for it: each stage has a length of its own.
    fn asked() -> Record {
        let mut record = Record::due(0, 0, 0, Method::Http, 1_000_000);
        record.t_begin = Some(1_000_001);
        record.t_resolved = Some(1_000_101);
        record.t_connected = Some(1_001_101);
        record.t_secured = Some(1_003_101);
        record.t_send = Some(1_003_102);
        record.t_sched = Some(1_003_110);
        record.t_tx = Some(1_003_130);
        record.t_ack = Some(1_103_130);
        record.t_first = Some(51_103_130);
        record.t_rx = Some(52_103_130);
        record.t_recv = Some(52_103_160);
        record.least_round_trip = Some(99_000);
        record
    }

    fn named(record: &Record) -> Vec<(String, Nanos)> {
        let passage = Passage::from_record(record, &RecordFacts::default()).unwrap();
        let parts = passage.parts();
        let parts = parts.iter();
        parts.map(|(set, ns)| (set.name(), ns as Nanos)).collect()
    }

    #[test]
    fn a_request_to_a_server_has_its_own_stages() {
        let expected = [
            ("schedule slip", 1),
            ("resolve", 100),
            ("connect", 1000),
            ("TLS handshake", 2000),
            ("send stack", 9),
            ("local queue", 20),
            ("forward + return path", 100_000),
            ("server", 50_000_000),
            ("transfer", 1_000_000),
            ("receive wake-up", 30),
        ];
        assert_eq!(
            named(&asked()),
            expected.map(|(name, ns)| (name.to_owned(), ns))
        );
        let passage = Passage::from_record(&asked(), &RecordFacts::default()).unwrap();
        let facts = RecordFacts::default();
        assert_eq!(passage.network(&facts), Some(101_000));
        assert_eq!(passage.host(&facts), Some(60));
        assert_eq!(passage.round_trip(), Some(52_103_160 - 1_003_102));
    }

    /// A kept connection has no set-up; an acknowledgement that comes with the reply tells nothing apart.
    #[test]
    fn what_cannot_be_told_apart_is_one_part() {
        let mut record = asked();
        (record.t_begin, record.t_resolved) = (None, None);
        (record.t_connected, record.t_secured) = (None, None);
        record.t_ack = record.t_first;
        let names: Vec<_> = named(&record).into_iter().map(|(name, _)| name).collect();
        let expected = [
            "schedule slip",
            "send stack",
            "local queue",
            "network and server",
            "transfer",
            "receive wake-up",
        ];
        assert_eq!(names, expected);
        let bounds = record.server().unwrap();
        // The kernel's round trip without this host's share of it: 28 ns to the driver, and 5 µs of receiving.
        assert_eq!(
            (bounds.least, bounds.most),
            (0, 50_100_000 - (99_000 - 28 - 5_000))
        );
        let passage = Passage::from_record(&record, &RecordFacts::default()).unwrap();
        assert_eq!(passage.network(&RecordFacts::default()), None);
    }

    #[test]
    fn a_handshake_is_the_networks() {
        let mut record = Record::due(0, 0, 0, Method::TcpConnect, 0);
        record.t_send = Some(5);
        record.t_connected = Some(105);
        record.t_recv = Some(125);
        let expected = [
            ("schedule slip", 5),
            ("connect", 100),
            ("receive wake-up", 20),
        ];
        assert_eq!(
            named(&record),
            expected.map(|(name, ns)| (name.to_owned(), ns))
        );
        let passage = Passage::from_record(&record, &RecordFacts::default()).unwrap();
        assert_eq!(passage.network(&RecordFacts::default()), Some(100));
        assert_eq!(passage.host(&RecordFacts::default()), Some(25));
        assert_eq!((passage.forward(), passage.back()), (None, None));
    }

    /// By tcp a reflector may stamp nothing of itself; where it does, its stamps tell, and the acknowledgement changes nothing.
    #[test]
    fn a_reflector_that_stamps_nothing_is_told_as_a_server_is() {
        let mut record = asked();
        record.method = Method::Tcp;
        (record.t_begin, record.t_resolved) = (None, None);
        (record.t_connected, record.t_secured) = (None, None);
        let expected = [
            ("schedule slip", 3102),
            ("send stack", 8),
            ("local queue", 20),
            ("forward + return path", 100_000),
            ("server", 50_000_000),
            ("transfer", 1_000_000),
            ("receive wake-up", 30),
        ];
        assert_eq!(
            named(&record),
            expected.map(|(name, ns)| (name.to_owned(), ns))
        );
        let stamped = RecordFacts {
            reflector_clock: ReflectorClock::Same,
            residence: Residence::ToDriver,
        };
        (record.r_rx, record.r_user, record.r_tx) =
            (Some(1_053_130), Some(1_053_200), Some(51_053_130));
        let with = Passage::from_record(&record, &stamped).unwrap();
        assert_eq!(with.network(&stamped), Some(1_100_000));
        assert_eq!(with.back(), Some(1_050_000));
        (record.t_ack, record.t_first) = (None, None);
        let without = Passage::from_record(&record, &stamped).unwrap();
        let parts = |passage: &Passage| passage.parts().iter().collect::<Vec<_>>();
        assert_eq!(parts(&with), parts(&without));
        // Nothing was acknowledged: it is part of the network, as ever.
        let plain = RecordFacts::default();
        let passage = Passage::from_record(&record, &plain).unwrap();
        assert_eq!(passage.network(&plain), Some(51_100_000));
    }

    proptest! {
        #[test]
        fn parts_of_requests_add_up_and_no_stage_is_there_twice(
            stamps in proptest::collection::vec(option::of(any::<i64>()), 11),
            t_recv in any::<i64>(),
            method in select(vec![Method::Http, Method::Dns, Method::TcpConnect, Method::Tcp]),
        ) {
            let mut record = Record::due(0, 0, 0, method, 0);
            record.t_begin = stamps[0];
            record.t_resolved = stamps[1];
            record.t_connected = stamps[2];
            record.t_secured = stamps[3];
            record.t_send = stamps[4];
            record.t_sched = stamps[5];
            record.t_tx = stamps[6];
            record.t_ack = stamps[7];
            record.t_first = stamps[8];
            record.t_rx = stamps[9];
            record.least_round_trip = stamps[10];
            record.t_recv = Some(t_recv);
            let facts = RecordFacts::default();
            let passage = Passage::from_record(&record, &facts).unwrap();
            let sum = passage.parts().iter().fold(0_i64, |sum, (_, ns)| sum.wrapping_add(ns as i64));
            prop_assert_eq!(sum, t_recv);
            for stage in Stage::ALL {
                let parts = passage.parts();
                prop_assert!(parts.iter().filter(|(set, _)| set.contains(stage)).count() <= 1);
            }
            let _ = (passage.network(&facts), passage.host(&facts), record.server());
        }
    }
}
