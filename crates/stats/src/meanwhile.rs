//! What else crossed the network while a request was late, and what that says of it.
//!
//! The stamps of a request alone may not tell the network from the server. The far kernel answers a handshake at once, however
//! busy its server is, so that one which crosses meanwhile shows the network alone. A request on another connection that is not late
//! shows that the network let it through; one that is late shows nothing, because the server may have kept both waiting.

use crate::anatomy::{Place, Stage, StageSet};
use crate::excursion::{Excess, Excursion};
use crate::functional::Functional;
use delaylab_model::Nanos;
use delaylab_model::record::{Outcome, Record};
use std::collections::BTreeMap;

/// What is usual is not known of fewer.
const FEWEST: usize = 3;
/// The least part of what else crosses that has to agree.
const MOST: f64 = 0.75;
/// What crossed when less than this part of the excess was left had little to wait for: it says nothing.
const LEFT: f64 = 0.25;
/// What waited for so much of the time that it had to wait was held up.
const HELD: f64 = 0.5;
/// Crossings that are looked at for one late packet.
const LOOKED_AT: usize = 256;

/// One way through the network and back.
#[derive(Debug, Clone, Copy)]
struct Crossing {
    sent: Nanos,
    took: f64,
}

/// Crossings that are alike, in the order in which they were sent.
#[derive(Debug, Default)]
struct Crossings {
    all: Vec<Crossing>,
    /// How long they usually take; `None` of a few.
    usual: Option<f64>,
    longest: f64,
}

/// When late packets were under way: spans that do not touch each other, in order.
#[derive(Debug)]
struct Spans(Vec<(Nanos, Nanos)>);

/// A request, from when the work for it began to its reply.
#[derive(Debug, Clone, Copy)]
struct UnderWay {
    begun: Nanos,
    /// `None`: no reply came.
    back: Option<Nanos>,
}

/// Takes all records of a trial.
#[derive(Debug, Default)]
pub struct MeanwhileBuilder {
    handshakes: Vec<Crossing>,
    requests: BTreeMap<usize, Vec<Crossing>>,
    under_way: BTreeMap<usize, Vec<UnderWay>>,
    secured: Vec<f64>,
    least_round_trip: Option<Nanos>,
}

/// What crossed the network while packets of a trial were late.
#[derive(Debug, Default)]
pub struct Meanwhile {
    handshakes: Crossings,
    /// By stream.
    requests: BTreeMap<usize, Crossings>,
    /// Of each stream when requests began, in order, and until when any of those up to it was under way.
    under_way: BTreeMap<usize, Vec<(Nanos, Nanos)>>,
    /// How long a handshake of TCP usually takes; of a few, the shortest round trip that the kernel has seen.
    connect: Option<f64>,
    /// How long one of TLS does.
    tls: Option<f64>,
}

/// What crossings say of a late request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributed {
    /// The network or the server.
    pub place: Place,
    /// How many of them were late as well.
    pub late: u64,
    /// Of how many.
    pub of: u64,
}

impl MeanwhileBuilder {
    /// Takes a record of this stream. Those that ask no server are left out.
    pub fn push(&mut self, stream: usize, record: &Record) {
        if !record.method.asks_server() {
            return;
        }
        let least = record.least_round_trip;
        let least = self.least_round_trip.into_iter().chain(least).min();
        self.least_round_trip = least;
        let sent_again = record.retransmits > Some(0);
        let before = record.t_resolved.or(record.t_begin).or(record.t_send);
        if let Some((sent, back)) = before.zip(record.t_connected)
            && !sent_again
        {
            self.handshakes.push(Crossing::new(sent, back));
        }
        if let Some((from, to)) = record.t_connected.zip(record.t_secured) {
            self.secured.push(Crossing::new(from, to).took);
        }
        if record.method.is_handshake() {
            return;
        }
        let sent = record.t_tx.or(record.t_send);
        let back = record.t_first.or(record.t_rx).or(record.t_recv);
        if let Some((sent, back)) = sent.zip(back)
            && record.answered()
            && !sent_again
        {
            let of_stream = self.requests.entry(stream).or_default();
            of_stream.push(Crossing::new(sent, back));
        }
        if let Some(begun) = record.t_begin.or(record.t_send) {
            // What failed had come to its end, whatever is known of when.
            let failed = matches!(record.outcome, Outcome::Refused | Outcome::Corrupt);
            let back = record.t_recv.or(failed.then_some(begun));
            let of_stream = self.under_way.entry(stream).or_default();
            of_stream.push(UnderWay { begun, back });
        }
    }

    /// All records of the trial were taken. What crossed while none of these was under way, from when it was due to when it was back,
    /// is forgotten.
    pub fn finish(self, late: Vec<(Nanos, Nanos)>) -> Meanwhile {
        let late = Spans::new(late);
        let handshakes = Crossings::new(self.handshakes, &late);
        let requests = self.requests.into_iter();
        let requests = requests.map(|(stream, all)| (stream, Crossings::new(all, &late)));
        let under_way = self.under_way.into_iter().map(|(stream, mut all)| {
            all.sort_by_key(|request| request.begun);
            give_up_lost(&mut all);
            let all = all.into_iter();
            let all = all.map(|request| (request.begun, request.back.unwrap_or(Nanos::MAX)));
            let near = all.filter(|&(begun, back)| late.touches(begun, back));
            let until = near.scan(Nanos::MIN, |latest, (begun, back)| {
                *latest = back.max(*latest);
                Some((begun, *latest))
            });
            (stream, until.collect())
        });
        let least = self.least_round_trip.map(|ns| ns as f64);
        Meanwhile {
            connect: handshakes.usual.or(least),
            handshakes,
            requests: requests.collect(),
            under_way: under_way.collect(),
            tls: usual(&self.secured),
        }
    }
}

/// When a request without a reply was given up is not known: it is under way until the next one but one begins.
fn give_up_lost(requests: &mut [UnderWay]) {
    for at in 0..requests.len() {
        let after_next = requests.get(at + 2).map(|request| request.begun);
        let request = &mut requests[at];
        request.back = request.back.or(after_next);
    }
}

impl Spans {
    fn new(mut all: Vec<(Nanos, Nanos)>) -> Self {
        all.sort_unstable();
        let mut apart: Vec<(Nanos, Nanos)> = Vec::new();
        for (from, to) in all {
            match apart.last_mut() {
                Some((_, end)) if from <= *end => *end = to.max(*end),
                _ => apart.push((from, to)),
            }
        }
        Self(apart)
    }

    /// Does this time have a moment in common with one of them?
    fn touches(&self, from: Nanos, to: Nanos) -> bool {
        let before = self.0.partition_point(|&(_, end)| end < from);
        self.0.get(before).is_some_and(|&(begin, _)| begin <= to)
    }
}

fn usual(took: &[f64]) -> Option<f64> {
    let known = took.len() >= FEWEST;
    known.then(|| Functional::Quantile(0.5).value(&mut took.to_vec()))?
}

impl Crossing {
    fn new(sent: Nanos, back: Nanos) -> Self {
        Self {
            sent,
            took: back.saturating_sub(sent).max(0) as f64,
        }
    }

    fn back(&self) -> Nanos {
        self.sent.saturating_add(self.took as Nanos)
    }
}

impl Crossings {
    fn new(mut all: Vec<Crossing>, late: &Spans) -> Self {
        let usual = usual(&all.iter().map(|one| one.took).collect::<Vec<_>>());
        all.retain(|one| late.touches(one.sent, one.back()));
        all.sort_by_key(|one| one.sent);
        let longest = all.iter().map(|one| one.took).fold(0.0, f64::max);
        Self {
            all,
            usual,
            longest,
        }
    }

    /// How many of those that crossed while a packet was held up were late, and of how many, if the network held it.
    fn beside(&self, held: &HeldUp) -> (u64, u64) {
        let Some(usual) = self.usual else {
            return (0, 0);
        };
        let first = held.from.saturating_sub(self.longest as Nanos);
        let last = held.from.saturating_add(held.excess as Nanos);
        let begin = self.all.partition_point(|one| one.sent < first);
        let near = self.all[begin..].iter();
        let near = near.take_while(|one| one.sent <= last);
        let near = near.filter(|one| one.back() >= held.from).take(LOOKED_AT);
        let says = near.filter_map(|one| held.delays(one, usual));
        says.fold((0, 0), |(late, of), is| (late + u64::from(is), of + 1))
    }
}

/// A packet that something between this host and the server's reply held up.
#[derive(Debug)]
struct HeldUp {
    from: Nanos,
    to: Nanos,
    /// Beyond what is usual.
    excess: f64,
}

impl HeldUp {
    fn new(main: &Excess) -> Option<Self> {
        let (from, to) = main.window?;
        Some(Self {
            from,
            to,
            excess: main.ns,
        })
    }

    /// Was this one held up as well? `None` where it would not have been, even if the network held this packet.
    fn delays(&self, other: &Crossing, usual: f64) -> Option<bool> {
        if other.sent == self.from {
            return None;
        }
        let since = other.sent.saturating_sub(self.from) as f64;
        let waited = other.took - usual;
        // Both were held, and let go at last, at the same time.
        let own_from = self.to as f64 - self.excess;
        let other_from = other.sent as f64 + usual;
        let both = (self.to.min(other.back()) as f64) - own_from.max(other_from);
        if both >= HELD * self.excess {
            return Some(true);
        }
        // It came to each place later than this packet did, and before that was let go.
        let own_usual = (self.to.saturating_sub(self.from)) as f64 - self.excess;
        let left = self.excess - since;
        let is_behind = since > 0.0 && since >= own_usual - usual && left >= LEFT * self.excess;
        is_behind.then_some(waited >= HELD * left)
    }
}

impl Meanwhile {
    /// Whether the network or the server made this packet late, where its stages do not tell and what crossed meanwhile does.
    pub fn tells(&self, late: &Excursion) -> Option<Attributed> {
        let main = late.main()?;
        let tls = StageSet::only(Stage::Tls);
        if main.stages != StageSet::NETWORK_AND_SERVER && main.stages != tls {
            return None;
        }
        let held = HeldUp::new(main)?;
        let (late, of) = self.handshakes.beside(&held);
        if of > 0 {
            let share = late as f64 / of as f64;
            let place = match share {
                share if share >= MOST => Place::Network,
                share if share <= 1.0 - MOST => Place::Server,
                _ => return None,
            };
            return Some(Attributed { place, late, of });
        }
        let each = self.requests.values().map(|all| all.beside(&held));
        let (late, of) = each.fold((0, 0), |(late, of), one| (late + one.0, of + one.1));
        let passed = of > 0 && late as f64 <= (1.0 - MOST) * of as f64;
        let place = Place::Server;
        passed.then_some(Attributed { place, late, of })
    }

    /// How long these stages of having a connection usually take, whether the requests that were not late have them or not.
    pub fn set_up(&self, stages: StageSet) -> Option<f64> {
        match stages {
            _ if stages == StageSet::only(Stage::Connect) => self.connect,
            _ if stages == StageSet::only(Stage::Tls) => self.tls,
            _ => None,
        }
    }

    /// Did an earlier request of this stream wait for its reply then?
    pub fn waits(&self, stream: usize, at: Nanos) -> bool {
        let of_stream = self.under_way.get(&stream).map_or(&[][..], Vec::as_slice);
        let before = of_stream.partition_point(|&(begun, _)| begun < at);
        of_stream[..before]
            .last()
            .is_some_and(|&(_, until)| until > at)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_model::MILLISECOND as MS;
    use delaylab_model::method::Method;

    /// Requests every 20 ms take 14 ms, 10 of them in the network, and a handshake every 100 ms 10 ms. Between 1000 and 1090 ms the way back
    /// lets nothing through, where it is the network that holds; else the request of 1000 ms alone takes 90 ms more.
    fn trial(network: bool, handshakes: bool) -> Meanwhile {
        let through = |at: Nanos| match at {
            1000..1090 if network => 1090,
            at => at,
        };
        let mut builder = MeanwhileBuilder::default();
        for seq in 0..100 {
            let sent = seq * 20;
            let more = if sent == 1000 && !network { 90 } else { 0 };
            let mut record = Record::due(0, 0, seq as u64, Method::Http, sent * MS);
            record.t_send = Some(sent * MS);
            record.t_tx = record.t_send;
            record.t_first = Some(through(sent + 14 + more) * MS);
            record.t_rx = record.t_first;
            record.t_recv = record.t_first;
            record.outcome = Outcome::Ok;
            builder.push(0, &record);
        }
        for seq in 0..20 {
            let sent = seq * 100 + 39;
            let mut record = Record::due(0, 1, seq as u64, Method::TcpConnect, sent * MS);
            record.t_send = Some(sent * MS);
            record.t_connected = Some(through(sent + 10) * MS);
            record.t_recv = record.t_connected;
            record.outcome = Outcome::Ok;
            if handshakes {
                builder.push(1, &record);
            }
        }
        builder.finish(vec![(900 * MS, 1200 * MS)])
    }

    /// The request that was sent then and is back then, ms.
    fn late(stages: StageSet, sent: Nanos, back: Nanos) -> Excursion {
        let excess = ((back - sent - 14) * MS) as f64;
        Excursion {
            seq: 0,
            due: sent * MS,
            cpu: None,
            response: (back - sent) * MS,
            excess,
            parts: vec![Excess {
                stages,
                ns: excess,
                window: Some((sent * MS, back * MS)),
            }],
        }
    }

    #[test]
    fn what_crosses_meanwhile_tells_the_server_from_the_network() {
        let attributed = |of: &Meanwhile, stages, sent, back| of.tells(&late(stages, sent, back));
        let stages = StageSet::NETWORK_AND_SERVER;
        let says = |place, late, of| Some(Attributed { place, late, of });
        let server = trial(false, true);
        assert_eq!(
            attributed(&server, stages, 1000, 1104),
            says(Place::Server, 0, 1)
        );
        assert_eq!(
            attributed(&server, Stage::Tls.into(), 1000, 1104),
            says(Place::Server, 0, 1)
        );
        let network = trial(true, true);
        for sent in [1000, 1020, 1040, 1060] {
            assert_eq!(
                attributed(&network, stages, sent, 1090),
                says(Place::Network, 1, 1),
                "{sent}"
            );
        }
        // A longer transfer shares the path with none that tells of it.
        assert_eq!(
            attributed(&server, Stage::Transfer.into(), 1000, 1104),
            None
        );
        // Nothing crossed at that time.
        assert_eq!(attributed(&server, stages, 1955, 2200), None);
    }

    /// Without handshakes, requests that pass show that the network is not why; those that are late may wait for the same server.
    #[test]
    fn requests_that_are_late_as_well_tell_nothing() {
        let stages = StageSet::NETWORK_AND_SERVER;
        let of = |network| trial(network, false).tells(&late(stages, 1000, 1090));
        let attributed = of(false).unwrap();
        assert_eq!((attributed.place, attributed.late), (Place::Server, 0));
        assert!(attributed.of >= 2, "{attributed:?}");
        assert_eq!(of(true), None);
    }

    #[test]
    fn a_request_waits_until_its_reply_and_a_lost_one_for_the_next() {
        let mut builder = MeanwhileBuilder::default();
        for (seq, outcome, back) in [
            (0, Outcome::Ok, Some(30)),
            (1, Outcome::Refused, None),
            (2, Outcome::Lost, None),
            (3, Outcome::Ok, Some(315)),
            (4, Outcome::Ok, Some(415)),
        ] {
            let due = seq * 100 * MS;
            let mut record = Record::due(0, 0, seq as u64, Method::Http, due);
            record.t_send = Some(due);
            record.t_recv = back.map(|back: Nanos| back * MS);
            record.outcome = outcome;
            builder.push(0, &record);
        }
        let meanwhile = builder.finish(vec![(0, 500 * MS)]);
        let waits = [20, 100, 200, 300, 400].map(|at| meanwhile.waits(0, at * MS));
        assert_eq!(waits, [true, false, false, true, false]);
        assert!(!meanwhile.waits(1, 20 * MS));
    }

    #[test]
    fn how_long_a_handshake_takes_is_known_of_a_few_by_the_kernel() {
        let connect = |count: u64| {
            let mut builder = MeanwhileBuilder::default();
            for seq in 0..count {
                let mut record = Record::due(0, 0, seq, Method::Http, 0);
                (record.t_begin, record.t_connected) = (Some(0), Some(9 * MS));
                record.least_round_trip = Some(4 * MS);
                builder.push(0, &record);
            }
            builder.finish(Vec::new()).set_up(Stage::Connect.into())
        };
        assert_eq!([0, 1, 3].map(connect), [None, Some(4e6), Some(9e6)]);
    }
}
