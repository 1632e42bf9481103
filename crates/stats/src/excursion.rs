//! Packets that took far longer than the others of their stream: how much longer, and in which stage.
//!
//! A packet is an *excursion* if its response lies beyond the stream's bound ([`Spread::bound`]). Its stages are held
//! against their means over the packets that are not and have the same stamps: what it took more is its *excess*, stage by
//! stage, and the stage with the most of it is where it was late. Where no such packet has its stamps, stages that it or those
//! do not tell apart are one.

use crate::anatomy::{Part, in_common};
use crate::band::Band;
use crate::functional::Functional;
use crate::passage::{Known, Passage};
use crate::stage::StageSet;
use delaylab_model::record::Record;
use delaylab_model::trial::RecordFacts;
use delaylab_model::{MICROSECOND, MILLISECOND, Nanos};
use std::collections::BTreeMap;

/// The least excess over the median that is worth a word: below it, timers and caches differ.
const LEAST_EXCESS: Nanos = 10 * MICROSECOND;

/// What the responses of a stream usually are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spread {
    /// The shortest.
    pub min: Nanos,
    /// The median.
    pub median: Nanos,
    /// The interquartile range.
    pub iqr: Nanos,
}

impl Spread {
    /// Of these responses, in any order; `None` of none.
    pub fn from_responses(responses: &mut [f64]) -> Option<Self> {
        let mut at = |functional: Functional| Some(functional.value(responses)? as Nanos);
        Some(Self {
            min: at(Functional::Min)?,
            median: at(Functional::Quantile(0.5))?,
            iqr: at(Functional::Iqr)?,
        })
    }

    /// The delay beyond which a packet is an excursion: the median and four interquartile ranges, where a
    /// normal distribution has three packets in a hundred million; at least 10 µs over the median.
    ///
    /// Where more than a quarter of the packets are held up, the upper quartile is one of theirs, and what they took would make
    /// the same usual for all. So the range counts for no more than the largest of four times the distance from the shortest
    /// response to the median, a quarter of the median, and 1 ms: the range of an exponential or a log-normal law is less.
    pub fn bound(self) -> Nanos {
        let of_lower_half = self.median.saturating_sub(self.min).saturating_mul(4);
        let most = of_lower_half.max(self.median / 4).max(MILLISECOND);
        let spread = self.iqr.min(most);
        (self.median).saturating_add(spread.saturating_mul(4).max(LEAST_EXCESS))
    }
}

/// Takes the records of one stream, and keeps those that are excursions. Memory grows with their
/// number alone: about 100 B each.
#[derive(Debug, Clone)]
pub struct Excursions {
    facts: RecordFacts,
    bound: Nanos,
    usual: Usual,
    kept: Vec<Kept>,
}

/// What packets take that are no excursions.
#[derive(Debug, Clone, Default)]
pub struct Usual(Band);

impl Usual {
    /// Packets that were answered and no excursions.
    pub fn count(&self) -> u64 {
        self.0.count()
    }

    /// Adds those of another stream that is like this one.
    pub fn merge(&mut self, other: &Usual) {
        self.0.merge(&other.0);
    }

    /// The mean response of all, divided as those take it that have the stamps which most have.
    pub fn parts(&self) -> Vec<Part> {
        let Some(((mean, mut parts), of_all)) = self.0.mean().zip(self.0.mean_response()) else {
            return Vec::new();
        };
        let factor = if mean > 0.0 { of_all / mean } else { 1.0 };
        parts.iter_mut().for_each(|part| part.ns *= factor);
        parts
    }

    /// The mean response of those that are like a packet with these stamps, and its parts; none where there is no packet.
    fn like(&self, known: Known) -> (f64, Vec<Part>) {
        self.0.like(known).mean().unwrap_or_default()
    }
}

#[derive(Debug, Clone, Copy)]
struct Kept {
    seq: u64,
    due: Nanos,
    cpu: Option<u16>,
    passage: Passage,
}

/// One packet that was late.
#[derive(Debug, Clone, PartialEq)]
pub struct Excursion {
    /// Its number in the stream.
    pub seq: u64,
    /// When it was due.
    pub due: Nanos,
    /// Where the prober ran.
    pub cpu: Option<u16>,
    /// How long it took.
    pub response: Nanos,
    /// What it took longer than usual.
    pub excess: f64,
    /// The same, stage by stage; a stage that took less than usual has less than zero.
    pub parts: Vec<Excess>,
}

/// What an excursion took longer than usual in some stages.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Excess {
    /// The stages.
    pub stages: StageSet,
    /// Beyond their mean, ns.
    pub ns: f64,
    /// From when to when the packet was in them, on the prober's clock; `None` where only another
    /// clock says.
    pub window: Option<(Nanos, Nanos)>,
}

impl Excursion {
    /// The stages in which it was late: those with the largest excess.
    pub fn main(&self) -> Option<&Excess> {
        self.parts.iter().max_by(|a, b| a.ns.total_cmp(&b.ns))
    }
}

impl Excursions {
    /// For a stream whose records read like this, and whose responses are excursions beyond `bound`.
    pub fn new(facts: RecordFacts, bound: Nanos) -> Self {
        Self {
            facts,
            bound,
            usual: Usual::default(),
            kept: Vec::new(),
        }
    }

    /// Takes a record. Was it an excursion?
    pub fn push(&mut self, record: &Record) -> bool {
        let passage = Passage::from_record(record, &self.facts).filter(|_| record.answered());
        let Some(passage) = passage else {
            return false;
        };
        let late = passage.response() > self.bound;
        if late {
            self.kept.push(Kept {
                seq: record.seq,
                due: record.t_intended,
                cpu: record.cpu,
                passage,
            });
        } else {
            self.usual.0.add(&passage);
        }
        late
    }

    /// From here on, packets are excursions beyond this. What was taken before stays as it was judged.
    pub const fn set_bound(&mut self, bound: Nanos) {
        self.bound = bound;
    }

    /// Forgets all excursions but the latest `count`: memory then stays flat.
    pub fn keep_latest(&mut self, count: usize) {
        let forgotten = self.kept.len().saturating_sub(count);
        self.kept.drain(..forgotten);
    }

    /// The packets that were answered and no excursions.
    pub const fn usual(&self) -> &Usual {
        &self.usual
    }

    /// How many are kept.
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// Were there none?
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// The number of each in the stream.
    pub fn seqs(&self) -> impl Iterator<Item = u64> + '_ {
        self.kept.iter().map(|kept| kept.seq)
    }

    /// From when to when each was under way.
    pub fn spans(&self) -> impl Iterator<Item = (Nanos, Nanos)> + '_ {
        let span = |kept: &Kept| (kept.due, kept.due.saturating_add(kept.passage.response()));
        self.kept.iter().map(span)
    }

    /// Each excursion beside what was usual for all that was pushed, in the order of the records.
    pub fn iter(&self) -> impl Iterator<Item = Excursion> + '_ {
        self.beside(&self.usual)
    }

    /// Each excursion beside what is usual for these packets, in the order of the records.
    pub fn beside<'a>(&'a self, usual: &Usual) -> impl Iterator<Item = Excursion> + use<'a> {
        let mut means: BTreeMap<Known, (f64, Vec<Part>)> = BTreeMap::new();
        for known in self.kept.iter().map(|kept| kept.passage.known()) {
            means.entry(known).or_insert_with(|| usual.like(known));
        }
        let excursion = move |kept: &Kept| kept.excursion(&means[&kept.passage.known()]);
        self.kept.iter().map(excursion)
    }
}

impl Kept {
    fn excursion(&self, (usual_response, usual): &(f64, Vec<Part>)) -> Excursion {
        let at = |offset: Nanos| self.due.wrapping_add(offset);
        let own = self.passage.parts();
        let own = own.iter().map(|(stages, ns)| Part {
            stages,
            ns: ns as f64,
        });
        let part = |[own, usual]: [Part; 2]| Excess {
            stages: own.stages,
            ns: own.ns - usual.ns,
            window: (self.passage.window(own.stages)).map(|(from, to)| (at(from), at(to))),
        };
        let both = in_common(&own.collect::<Vec<_>>(), usual);
        Excursion {
            seq: self.seq,
            due: self.due,
            cpu: self.cpu,
            response: self.passage.response(),
            excess: self.passage.response() as f64 - usual_response,
            parts: both.into_iter().map(part).collect(),
        }
    }
}

/// Excursions that were under way together are one event: whatever holds up a path or a host for a while, holds up all
/// packets that are due meanwhile. Takes them in the order in which they were due, or nearly so.
#[derive(Debug, Clone, Copy, Default)]
pub struct Events {
    count: u64,
    /// When all packets of the last one were back.
    end: Option<Nanos>,
}

impl Events {
    /// Takes a packet. Does an event begin with it?
    pub fn push(&mut self, due: Nanos, response: Nanos) -> bool {
        let begins = self.end.is_none_or(|end| due > end);
        let end = due.saturating_add(response);
        self.end = Some(
            self.end
                .filter(|_| !begins)
                .map_or(end, |known| known.max(end)),
        );
        self.count += u64::from(begins);
        begins
    }

    /// How many there were.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// How many these packets are, of which it is known when each was due and how long it took.
    pub fn among(mut packets: Vec<(Nanos, Nanos)>) -> u64 {
        packets.sort_unstable();
        let mut events = Self::default();
        for (due, response) in packets {
            events.push(due, response);
        }
        events.count
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::stage::Stage;
    use delaylab_model::method::Method;
    use delaylab_model::record::Outcome;
    use delaylab_model::trial::{ReflectorClock, Residence};
    use proptest::prelude::*;

    /// Of a stream whose packets take 70 µs each.
    const BOUND: Nanos = 80_000;

    const FACTS: RecordFacts = RecordFacts {
        reflector_clock: ReflectorClock::Same,
        residence: Residence::ToDriver,
    };

    /// Each stage takes 10 µs, but for one that takes `more`.
    fn record(seq: u64, late: Option<(Stage, Nanos)>) -> Record {
        let mut record = Record::due(0, 0, seq, Method::Udp, 1_000_000 * seq as i64);
        let mut at = record.t_intended;
        let mut next = |stage: Stage| {
            at += 10_000
                + late
                    .filter(|(late, _)| *late == stage)
                    .map_or(0, |(_, ns)| ns);
            Some(at)
        };
        record.t_send = next(Stage::ScheduleSlip);
        record.t_sched = next(Stage::SendStack);
        record.t_tx = next(Stage::LocalQueue);
        record.r_rx = next(Stage::ForwardPath);
        record.r_user = record.r_rx;
        record.r_tx = next(Stage::Reflector);
        record.t_rx = next(Stage::ReturnPath);
        record.t_recv = next(Stage::ReceiveWakeup);
        record.outcome = Outcome::Ok;
        record.cpu = Some(1);
        record
    }

    #[test]
    fn the_bound_is_that_of_packets_that_are_not_held_up() {
        const MS: Nanos = MILLISECOND;
        let bound = |min, median, iqr| Spread { min, median, iqr }.bound();
        assert_eq!(bound(70_000, 70_000, 0), BOUND);
        assert_eq!(bound(90 * MS, 100 * MS, 12 * MS), 148 * MS);
        // A path with two delays, and one that varies as a queue does.
        assert_eq!(bound(40_000, 40_000, 30_000), 160_000);
        assert_eq!(bound(0, 693_000, 1_099_000), 5_089_000);
        // More than a quarter were held up for a second.
        assert_eq!(bound(49_000, 50_000, 300 * MS), 4_050_000);
        assert_eq!(bound(10 * MS, 12 * MS, 500 * MS), 44 * MS);
        assert_eq!(bound(100 * MS, 101 * MS, 500 * MS), 202 * MS);
        let mut responses = [4.0, 1.0, 3.0, 2.0];
        let of = Spread::from_responses(&mut responses).unwrap();
        assert_eq!((of.min, of.median, of.iqr), (1, 2, 2));
        assert_eq!(Spread::from_responses(&mut []), None);
    }

    #[test]
    fn packets_that_one_stall_holds_up_are_one_event() {
        // Due each 100 ms, held until 1 s; another one half a second later.
        let stall = (0..10).map(|at| (at * 100, 1_000 - at * 100));
        let packets: Vec<(Nanos, Nanos)> = stall.chain([(1_500, 40)]).collect();
        assert_eq!(Events::among(packets.into_iter().rev().collect()), 2);
        assert_eq!(Events::among(Vec::new()), 0);
    }

    #[test]
    fn the_late_stage_is_named_with_what_it_took_more_and_when() {
        for (stage, at) in StageSet::OF_PACKETS.iter().zip(0..) {
            let mut excursions = Excursions::new(FACTS, BOUND);
            for seq in 0..10 {
                let late = (seq == 7).then_some((stage, 3_000_000));
                assert_eq!(excursions.push(&record(seq, late)), seq == 7);
            }
            let found: Vec<_> = excursions.iter().collect();
            let [late] = &found[..] else {
                panic!("{found:?}")
            };
            assert_eq!((late.seq, late.cpu, late.excess), (7, Some(1), 3e6));
            let main = late.main().unwrap();
            assert_eq!((main.stages, main.ns), (stage.into(), 3e6));
            let (from, to) = main.window.unwrap();
            assert_eq!(to - from, 3_010_000);
            assert_eq!(from - late.due, 10_000 * at);
        }
    }

    #[test]
    fn another_clock_gives_no_window_to_the_reflector() {
        let facts = RecordFacts {
            reflector_clock: ReflectorClock::Unrelated,
            ..FACTS
        };
        let mut excursions = Excursions::new(facts, BOUND);
        excursions.push(&record(0, None));
        excursions.push(&record(1, Some((Stage::Reflector, 50_000))));
        let late = excursions.iter().next().unwrap();
        let main = late.main().unwrap();
        assert_eq!(main.stages, Stage::Reflector.into());
        assert_eq!(main.window, None);
    }

    #[test]
    fn the_latest_are_kept_and_judged_by_the_bound_of_their_time() {
        let mut excursions = Excursions::new(FACTS, BOUND);
        for seq in 0..9 {
            excursions.push(&record(
                seq,
                (seq % 2 == 1).then_some((Stage::Reflector, 50_000)),
            ));
        }
        excursions.set_bound(200_000);
        assert!(!excursions.push(&record(9, Some((Stage::Reflector, 50_000)))));
        excursions.keep_latest(2);
        let kept: Vec<_> = excursions.iter().map(|late| late.seq).collect();
        assert_eq!(kept, [5, 7]);
        excursions.keep_latest(5);
        assert_eq!((excursions.len(), excursions.usual().count()), (2, 6));
    }

    #[test]
    fn nothing_usual_leaves_the_whole_response() {
        let mut excursions = Excursions::new(FACTS, 0);
        assert!(excursions.push(&record(0, None)));
        assert_eq!(excursions.iter().next().unwrap().excess, 70_000.0);
        assert!(excursions.usual().parts().is_empty());
        let mut lost = record(1, None);
        lost.t_recv = None;
        lost.outcome = Outcome::Lost;
        assert!(!excursions.push(&lost));
        assert_eq!((excursions.len(), excursions.usual().count()), (1, 0));
    }

    #[test]
    fn a_stamp_that_one_lacks_merges_its_stages_and_hides_no_other() {
        let mut excursions = Excursions::new(FACTS, BOUND);
        for seq in 0..10 {
            let mut late = record(seq, (seq == 7).then_some((Stage::ReceiveWakeup, 9_000)));
            if seq == 7 {
                late.t_tx = None;
                late.t_recv = late.t_recv.map(|at| at + 3_000);
            }
            assert_eq!(excursions.push(&late), seq == 7);
        }
        let late = excursions.iter().next().unwrap();
        let main = late.main().unwrap();
        assert_eq!(
            (main.stages, main.ns, late.excess),
            (Stage::ReceiveWakeup.into(), 12e3, 12e3)
        );
        let merged =
            StageSet::span(Stage::LocalQueue, Stage::ForwardPath).without(StageSet::OF_SERVERS);
        let merged = late
            .parts
            .iter()
            .find(|part| part.stages == merged)
            .unwrap();
        assert_eq!(merged.ns, 0.0);
    }

    #[test]
    fn a_stream_of_late_packets_alone_is_held_against_one_that_is_like_it() {
        let [mut usual, mut slow] = [(); 2].map(|()| Excursions::new(FACTS, BOUND));
        for seq in 0..10 {
            assert!(!usual.push(&record(seq, None)));
            assert!(slow.push(&record(seq, Some((Stage::Reflector, 50_000)))));
        }
        assert_eq!(slow.usual().count(), 0);
        for late in slow.beside(usual.usual()) {
            let main = late.main().unwrap();
            assert_eq!(
                (main.stages, main.ns, late.excess),
                (Stage::Reflector.into(), 5e4, 5e4)
            );
        }
        let mut both = slow.usual().clone();
        both.merge(usual.usual());
        assert_eq!(both.count(), 10);
    }

    /// Requests of a server that closes its connections: four of ten make one, which takes as long again.
    #[test]
    fn the_mean_is_that_of_all_whatever_stages_they_have() {
        let mut excursions = Excursions::new(RecordFacts::default(), Nanos::MAX);
        for seq in 0..10 {
            let mut asked = Record::due(0, 0, seq, Method::Http, 0);
            let made = if seq < 4 { 20_000 } else { 0 };
            asked.t_begin = Some(0);
            asked.t_connected = (made > 0).then_some(made);
            asked.t_send = Some(made);
            asked.t_recv = Some(made + 20_000);
            asked.outcome = Outcome::Ok;
            excursions.push(&asked);
        }
        let parts = excursions.usual().parts();
        let all: f64 = parts.iter().map(|part| part.ns).sum();
        assert_eq!(all, 28e3, "{parts:?}");
    }

    proptest! {
        #[test]
        fn parts_add_up_to_the_excess(packets in prop::collection::vec((0..200_000_i64, 0..8_u8), 2..30)) {
            let mut excursions = Excursions::new(FACTS, BOUND);
            for (seq, &(delay, lacks)) in (0..).zip(&packets) {
                let mut record = record(seq, Some((Stage::ALL[seq as usize % 7], delay)));
                for (at, stamp) in [&mut record.t_tx, &mut record.r_tx, &mut record.t_rx].into_iter().enumerate() {
                    if lacks >> at & 1 == 1 {
                        *stamp = None;
                    }
                }
                excursions.push(&record);
            }
            let usual = excursions.usual();
            prop_assert_eq!(excursions.len() as u64 + usual.count(), packets.len() as u64);
            let sum = |parts: &mut dyn Iterator<Item = f64>| parts.sum::<f64>();
            for late in excursions.iter() {
                prop_assert!((sum(&mut late.parts.iter().map(|part| part.ns)) - late.excess).abs() < 1.0);
            }
            let mean = usual.0.mean_response().unwrap_or(0.0);
            prop_assert!((sum(&mut usual.parts().iter().map(|part| part.ns)) - mean).abs() < 1.0);
        }
    }
}
