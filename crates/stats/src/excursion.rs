//! Packets that took far longer than the others of their stream: how much longer, and in which stage.
//!
//! A packet is an *excursion* if its response lies beyond the stream's [`bound`]. Its stages are held
//! against their means over all packets that are not: what it took more is its *excess*, stage by
//! stage, and the stage with the most of it is where it was late.

use crate::anatomy::Part;
use crate::passage::{Known, Passage, PassageSum};
use crate::stage::StageSet;
use delaylab_model::record::Record;
use delaylab_model::trial::RecordFacts;
use delaylab_model::{MICROSECOND, Nanos};
use std::collections::BTreeMap;

/// The least excess over the median that is worth a word: below it, timers and caches differ.
const LEAST_EXCESS: Nanos = 10 * MICROSECOND;

/// The delay beyond which a packet is an excursion: the median and four interquartile ranges, where a
/// normal distribution has three packets in a hundred million; at least 10 µs over the median.
pub fn bound(median: Nanos, iqr: Nanos) -> Nanos {
    median.saturating_add(iqr.saturating_mul(4).max(LEAST_EXCESS))
}

/// Takes the records of one stream, and keeps those that are excursions. Memory grows with their
/// number alone: about 100 B each.
#[derive(Debug, Clone)]
pub struct Excursions {
    facts: RecordFacts,
    bound: Nanos,
    usual: BTreeMap<Known, PassageSum>,
    kept: Vec<Kept>,
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
            usual: BTreeMap::new(),
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
            self.usual.entry(passage.known()).or_default().add(&passage);
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

    /// Packets that were answered and no excursions.
    pub fn usual(&self) -> u64 {
        self.usual.values().map(PassageSum::count).sum()
    }

    /// The mean anatomy of the packets that were no excursions and had the most stamps in common.
    pub fn usual_parts(&self) -> Vec<Part> {
        let most = self.usual.iter().max_by_key(|(_, sum)| sum.count());
        most.map_or_else(Vec::new, |(&known, sum)| sum.mean_parts(known))
    }

    /// How many are kept.
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// Were there none?
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Each excursion beside what was usual for all that was pushed, in the order of the records.
    pub fn iter(&self) -> impl Iterator<Item = Excursion> + '_ {
        let means: BTreeMap<Known, (f64, Vec<Part>)> = (self.usual.iter())
            .map(|(&known, sum)| (known, (sum.mean_response(), sum.mean_parts(known))))
            .collect();
        let usual = self.mean_response();
        self.kept.iter().map(move |kept| {
            let own = means.get(&kept.passage.known());
            kept.excursion(
                own.map_or(usual, |own| own.0),
                own.map_or(&[], |own| &own.1),
            )
        })
    }

    fn mean_response(&self) -> f64 {
        let mut all = PassageSum::default();
        self.usual.values().for_each(|sum| all.merge(sum));
        if all.count() == 0 {
            0.0
        } else {
            all.mean_response()
        }
    }
}

impl Kept {
    fn excursion(&self, usual_response: f64, usual: &[Part]) -> Excursion {
        let at = |offset: Nanos| self.due.wrapping_add(offset);
        let part = |(stages, ns): (StageSet, i128)| {
            let mean = usual.iter().find(|part| part.stages == stages);
            Excess {
                stages,
                ns: ns as f64 - mean.map_or(0.0, |part| part.ns),
                window: (self.passage.window(stages)).map(|(from, to)| (at(from), at(to))),
            }
        };
        Excursion {
            seq: self.seq,
            due: self.due,
            cpu: self.cpu,
            response: self.passage.response(),
            excess: self.passage.response() as f64 - usual_response,
            parts: self.passage.parts().iter().map(part).collect(),
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
            let mut excursions = Excursions::new(FACTS, bound(70_000, 0));
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
        let mut excursions = Excursions::new(facts, bound(70_000, 0));
        excursions.push(&record(0, None));
        excursions.push(&record(1, Some((Stage::Reflector, 50_000))));
        let late = excursions.iter().next().unwrap();
        let main = late.main().unwrap();
        assert_eq!(main.stages, Stage::Reflector.into());
        assert_eq!(main.window, None);
    }

    #[test]
    fn the_latest_are_kept_and_judged_by_the_bound_of_their_time() {
        let mut excursions = Excursions::new(FACTS, bound(70_000, 0));
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
        assert_eq!((excursions.len(), excursions.usual()), (2, 6));
    }

    #[test]
    fn nothing_usual_leaves_the_whole_response() {
        let mut excursions = Excursions::new(FACTS, 0);
        assert!(excursions.push(&record(0, None)));
        assert_eq!(excursions.iter().next().unwrap().excess, 70_000.0);
        assert!(excursions.usual_parts().is_empty());
        let mut lost = record(1, None);
        lost.t_recv = None;
        lost.outcome = Outcome::Lost;
        assert!(!excursions.push(&lost));
        assert_eq!((excursions.len(), excursions.usual()), (1, 0));
    }

    proptest! {
        #[test]
        fn parts_add_up_to_the_excess(delays in prop::collection::vec(0..200_000_i64, 2..30)) {
            let mut excursions = Excursions::new(FACTS, bound(70_000, 0));
            for (seq, &delay) in (0..).zip(&delays) {
                let stage = Stage::ALL[seq as usize % 7];
                excursions.push(&record(seq, Some((stage, delay))));
            }
            prop_assert_eq!(excursions.len() as u64 + excursions.usual(), delays.len() as u64);
            for late in excursions.iter() {
                let sum: f64 = late.parts.iter().map(|part| part.ns).sum();
                let usual = if excursions.usual() == 0 { 0.0 } else { late.response as f64 - late.excess };
                prop_assert!((sum + usual - late.response as f64).abs() < 1.0);
            }
        }
    }
}
