//! The way there and the way back, each above its own minimum delay.
//!
//! That needs no clocks that agree, only clocks that run at one pace: where they do not, how much faster one
//! runs is estimated and taken out ([`delaylab_stats::skew`]). A delay itself needs clocks that agree, and
//! stands in the summary of a trial.
//!
//! The minimum is that of the trial: of two clocks it is not known how they compare from trial to trial. By one clock it is
//! that of all trials with the same path, so that a queue which never empties in one of them is not taken for it.
//!
//! Combinations of levels are one where they agree; where they do not, each has its own line.

use super::combination::agree;
use crate::one_way::{MOST_OF_THEM, StampPoints, one_way};
use delaylab_lab::experiment::Resolved;
use delaylab_model::Nanos;
use delaylab_model::dscp::Dscp;
use delaylab_model::hop::Direction;
use delaylab_model::path::{Path, Switch};
use delaylab_model::plan::{Factor, Planned, levels_in_words};
use delaylab_model::record::Record;
use delaylab_model::trial::{RecordFacts, ReflectorClock};
use delaylab_stats::functional::Functional;
use delaylab_stats::quantile::carries;
use delaylab_stats::skew;
use delaylab_store::trial_row::TrialRow;
use std::collections::BTreeMap;

/// Packets of a stream that are kept, at most: beyond, every second is dropped, again and again.
const KEPT: usize = 1 << 16;
/// Fewer packets have no tail.
const LEAST: usize = 100;
/// The quantiles that are told.
pub const QUANTILES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

/// Delay at each of the [`QUANTILES`], ns; `None` where so few packets do not carry one.
pub type Above = [Option<f64>; QUANTILES.len()];

/// One probe's packets, one way.
#[derive(Debug, Clone, PartialEq)]
pub struct OneWay {
    /// The probe's name.
    pub probe: String,
    /// The levels of the combination that this is of; `None` of all of them, which agree.
    pub factors: Option<Vec<Factor>>,
    /// There or back.
    pub direction: Direction,
    /// Packets that this is made of.
    pub packets: usize,
    /// Delay above the least: of the same trial, or by one clock of all trials with the same path.
    pub above: Above,
    /// How the two clocks compare.
    pub clocks: Clocks,
}

impl OneWay {
    /// Its combination of levels: `case fifo, streams 4`; empty of all of them.
    pub fn levels(&self) -> String {
        let factors = self.factors.as_ref();
        factors.map_or_else(String::new, |factors| levels_in_words(factors, None))
    }
}

/// How the clocks at the two ends of a delay compare.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Clocks {
    /// They are one.
    One,
    /// They are synchronised: a one-way delay is at most so wrong, ns.
    Synchronised(Nanos),
    /// They are not, and their skew was taken out: by how much the receiver's is faster, parts in a
    /// million, in the trial with most packets, and its 95 % interval.
    Skewed(f64, (f64, f64)),
}

/// The delays of one stream, in the order of its packets.
#[derive(Debug, Clone)]
pub(super) struct StreamDelays {
    facts: RecordFacts,
    sent: Vec<Nanos>,
    /// There and back, between each of the ends that a delay may lie between.
    delays: [[Vec<f64>; 2]; StampPoints::ALL.len()],
    /// One packet in so many is kept.
    one_in: u64,
    seen: u64,
}

impl StreamDelays {
    /// Of a stream whose records read like this.
    pub(super) fn new(facts: RecordFacts) -> Self {
        Self {
            facts,
            sent: Vec::new(),
            delays: Default::default(),
            one_in: 1,
            seen: 0,
        }
    }

    /// The next answered packet.
    pub(super) fn push(&mut self, record: &Record) {
        self.seen += 1;
        if !self.seen.is_multiple_of(self.one_in) {
            return;
        }
        self.sent.push(record.t_send.unwrap_or(record.t_intended));
        for (ends, delays) in StampPoints::ALL.into_iter().zip(&mut self.delays) {
            for (delays, delay) in delays.iter_mut().zip(one_way(record, &self.facts, ends)) {
                delays.push(delay);
            }
        }
        if self.sent.len() == KEPT {
            thin(&mut self.sent);
            self.delays.iter_mut().flatten().for_each(thin);
            self.one_in *= 2;
        }
    }

    /// Delays of one way: between the kernel's stamps where most packets have these, so that what the host takes is not in them.
    fn delays(&self, way: usize) -> &[f64] {
        let [kernel, process] = [0, 1].map(|ends| self.delays[ends][way].as_slice());
        let known = |delays: &[f64]| delays.iter().filter(|ns| ns.is_finite()).count() as f64;
        match known(kernel) >= MOST_OF_THEM * known(process) {
            true => kernel,
            false => process,
        }
    }

    /// `None` where the stamps or the clocks do not say.
    fn pooled(&self, way: usize) -> Option<Pooled> {
        let delays = self.delays(way);
        let mut order: Vec<usize> = (0..self.sent.len()).collect();
        order.retain(|&at| delays[at].is_finite());
        if order.len() < LEAST {
            return None;
        }
        order.sort_by_key(|&at| self.sent[at]);
        let mut delays: Vec<f64> = order.iter().map(|&at| delays[at]).collect();
        let clocks = match self.facts.reflector_clock {
            ReflectorClock::None => return None,
            ReflectorClock::Same => Clocks::One,
            ReflectorClock::Bounded { error_ns } => Clocks::Synchronised(error_ns),
            ReflectorClock::Unrelated => {
                let times: Vec<Nanos> = order.iter().map(|&at| self.sent[at]).collect();
                let found = skew::estimate(&times, &delays, 1).ok()?;
                delays = found.delays_ns;
                Clocks::Skewed(found.ppm, found.interval)
            }
        };
        let mut pooled = Pooled {
            least: delays.iter().copied().fold(f64::INFINITY, f64::min),
            packets: delays.len(),
            delays,
            clocks,
        };
        if clocks != Clocks::One {
            pooled.take_off(pooled.least);
        }
        Some(pooled)
    }
}

/// Drops every second.
fn thin<T>(values: &mut Vec<T>) {
    let mut at = 0;
    values.retain(|_| {
        at += 1;
        at % 2 == 0
    });
}

/// What all trials come to: by the probe's name and the combination of levels.
#[derive(Debug, Clone, Default)]
pub(super) struct WayDelays(BTreeMap<String, BTreeMap<String, Combination>>);

/// Both ways of one probe in one combination of levels.
#[derive(Debug, Clone, Default)]
struct Combination {
    factors: Vec<Factor>,
    /// The first of its trials.
    trial: u32,
    ways: [Option<Pooled>; 2],
}

#[derive(Debug, Clone)]
struct Pooled {
    delays: Vec<f64>,
    /// The least of them; 0 where it is taken off.
    least: f64,
    clocks: Clocks,
    /// Packets of the trial that `clocks` is from.
    packets: usize,
}

impl Pooled {
    fn take_off(&mut self, least: f64) {
        self.delays.iter_mut().for_each(|delay| *delay -= least);
        self.least -= least;
    }

    fn merge(&mut self, mut other: Pooled) {
        if self.clocks == Clocks::One && other.clocks == Clocks::One {
            self.least = self.least.min(other.least);
        } else {
            self.take_off(self.least);
            other.take_off(other.least);
        }
        if other.packets > self.packets {
            (self.clocks, self.packets) = (other.clocks, other.packets);
        }
        self.delays.append(&mut other.delays);
    }

    fn quantiles(&mut self) -> Above {
        QUANTILES.map(|q| {
            let carried = carries(self.delays.len() as u64, q);
            let value = Functional::Quantile(q).value(&mut self.delays);
            value.filter(|_| carried)
        })
    }
}

/// What the least delay of a probe depends on: not on queues, which may be empty, but on the latency of the switches.
type PathKey<'a> = (Path, u32, Dscp, [&'a Option<String>; 2]);

fn way_of<'a>(planned: &'a Planned, probe: &str) -> Option<PathKey<'a>> {
    let probe = planned.trial.probes.iter().find(|one| one.name == probe)?;
    let path = without_queues(&planned.trial.path);
    Some((path, probe.payload, probe.dscp, [&probe.from, &probe.to]))
}

/// The path with switches that have nothing but their latency.
fn without_queues(path: &Path) -> Path {
    let latency = path.switch.as_ref().and_then(|switch| switch.latency);
    let latency = latency.filter(|latency| latency.0 > 0);
    let switch = latency.map(|latency| Switch {
        latency: Some(latency),
        ..Switch::default()
    });
    Path {
        switch,
        ..path.clone()
    }
}

impl WayDelays {
    /// A stream is at its end.
    pub(super) fn add(&mut self, row: &TrialRow, stream: &StreamDelays) {
        for way in 0..Direction::ALL.len() {
            let Some(pooled) = stream.pooled(way) else {
                continue;
            };
            let of_probe = self.0.entry(row.probe_name.clone()).or_default();
            let combination = of_probe
                .entry(levels_in_words(&row.factors, None))
                .or_default();
            if combination.ways.iter().all(Option::is_none) {
                combination.factors.clone_from(&row.factors);
                combination.trial = row.trial;
            }
            add(&mut combination.ways[way], pooled);
        }
    }

    /// Both ways of each probe: of all combinations where their medians and 90th percentiles agree, else of each, that with
    /// the longest median first. The experiment, where it is known, says which have the same path.
    pub(super) fn finish(self, resolved: Option<&Resolved>) -> Vec<OneWay> {
        let planned = resolved.map_or(&[][..], |resolved| &resolved.planned);
        let each = self.0.into_iter();
        each.flat_map(|(probe, combinations)| {
            let mut combinations: Vec<Combination> = combinations.into_values().collect();
            take_off_least(&mut combinations, |trial| {
                let planned = planned.iter().find(|planned| planned.trial.id == trial)?;
                way_of(planned, &probe)
            });
            of_probe(&probe, combinations)
        })
        .collect()
    }
}

/// Of each way the least of all combinations that have the same one, by one clock.
fn take_off_least<T: PartialEq>(
    combinations: &mut [Combination],
    way_of: impl Fn(u32) -> Option<T>,
) {
    let ways = combinations.iter().map(|one| way_of(one.trial));
    let ways: Vec<Option<T>> = ways.collect();
    for direction in 0..Direction::ALL.len() {
        let own = |one: &Combination| {
            let way = one.ways[direction].as_ref()?;
            (way.clocks == Clocks::One).then_some(way.least)
        };
        let own: Vec<Option<f64>> = combinations.iter().map(own).collect();
        for (at, one) in combinations.iter_mut().enumerate() {
            let Some(way) = &mut one.ways[direction] else {
                continue;
            };
            let alike = ways.iter().zip(&own);
            let alike = alike.filter(|(way, _)| way.is_some() && **way == ways[at]);
            let least = alike.filter_map(|(_, least)| *least);
            let least = own[at].map(|own| least.fold(own, f64::min));
            way.take_off(least.unwrap_or(way.least));
        }
    }
}

fn add(all: &mut Option<Pooled>, more: Pooled) {
    match all {
        Some(all) => all.merge(more),
        none => *none = Some(more),
    }
}

fn of_probe(probe: &str, mut combinations: Vec<Combination>) -> Vec<OneWay> {
    let quantiles = combinations
        .iter_mut()
        .map(|one| (one.ways.each_mut()).map(|way| way.as_mut().map(Pooled::quantiles)));
    let quantiles: Vec<[Option<Above>; 2]> = quantiles.collect();
    let agrees = |(way, at): (usize, usize)| {
        let of_each = quantiles.iter().filter_map(|ways| ways[way]?[at]);
        agree(of_each)
    };
    if [(0, 0), (0, 1), (1, 0), (1, 1)].into_iter().all(agrees) {
        let mut all = Combination::default();
        for (way, pooled) in combinations.into_iter().flat_map(|one| (0..).zip(one.ways)) {
            if let Some(pooled) = pooled {
                add(&mut all.ways[way], pooled);
            }
        }
        return lines(probe, None, all.ways);
    }
    let longest = |ways: &[Option<Above>; 2]| {
        let medians = ways.iter().flatten().filter_map(|above| above[0]);
        medians.fold(f64::NEG_INFINITY, f64::max)
    };
    let mut order: Vec<(f64, Combination)> =
        quantiles.iter().map(longest).zip(combinations).collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0));
    let each = order.into_iter();
    each.flat_map(|(_, one)| lines(probe, Some(&one.factors), one.ways))
        .collect()
}

/// Each way that is known.
fn lines(probe: &str, factors: Option<&Vec<Factor>>, ways: [Option<Pooled>; 2]) -> Vec<OneWay> {
    let ways = Direction::ALL.into_iter().zip(ways);
    let line = |(direction, way): (Direction, Option<Pooled>)| {
        let mut pooled = way?;
        Some(OneWay {
            probe: probe.to_owned(),
            factors: factors.cloned(),
            direction,
            packets: pooled.delays.len(),
            above: pooled.quantiles(),
            clocks: pooled.clocks,
        })
    };
    ways.filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::causes::testing::row;
    use delaylab_model::method::Method;
    use delaylab_model::path::Discipline;
    use delaylab_model::plan::Level;
    use delaylab_model::quantity::Duration;
    use delaylab_model::record::Outcome;
    use delaylab_model::{MICROSECOND, MILLISECOND};
    use delaylab_stats::random::SplitMix;

    /// A packet each 10 ms; the reflector's clock is a minute off and runs 40 ppm fast; the way there has
    /// queues of 1 ms on average, the way back none.
    fn stream(clock: ReflectorClock, count: u64) -> StreamDelays {
        let mut random = SplitMix::new(3);
        let facts = RecordFacts {
            reflector_clock: clock,
            ..RecordFacts::default()
        };
        let there = |at: Nanos| match clock {
            ReflectorClock::Unrelated => at + at * 40 / 1_000_000 + 60_000 * MILLISECOND,
            _ => at,
        };
        let records = (0..count).map(|seq| {
            let due = seq as Nanos * 10 * MILLISECOND;
            let queue = -(random.uniform().ln() * 1e6) as Nanos;
            let arrives = due + 100 * MICROSECOND + queue;
            let mut record = Record::due(0, 0, seq, Method::Udp, due);
            record.t_tx = Some(due);
            record.r_rx = Some(there(arrives));
            record.r_tx = Some(there(arrives));
            record.t_rx = Some(arrives + 100 * MICROSECOND);
            record.outcome = Outcome::Ok;
            record
        });
        let mut stream = StreamDelays::new(facts);
        records.for_each(|record| stream.push(&record));
        stream
    }

    fn ways(stream: &StreamDelays) -> Vec<OneWay> {
        let mut ways = WayDelays::default();
        ways.add(&row(&[], None), stream);
        ways.finish(None)
    }

    #[test]
    fn combinations_that_differ_are_apart_the_slowest_first() {
        let mut ways = WayDelays::default();
        let quick = stream(ReflectorClock::Same, 1_000);
        let mut slow = quick.clone();
        slow.delays[0][0].iter_mut().for_each(|ns| *ns *= 20.0);
        for (case, stream) in [("a", &quick), ("b", &slow), ("a", &quick)] {
            let mut row = row(&[], None);
            row.factors = vec![("case".to_owned(), Level::named(case))];
            ways.add(&row, stream);
        }
        let found = ways.finish(None);
        let told = found.iter().map(|way| {
            let case = way.factors.is_some().then(|| way.levels());
            (case.unwrap(), way.direction, way.packets)
        });
        let expected = [
            ("case b", Direction::Forward, 1_000),
            ("case b", Direction::Return, 1_000),
            ("case a", Direction::Forward, 2_000),
            ("case a", Direction::Return, 2_000),
        ];
        assert!(told.eq(expected.map(|(case, way, packets)| (case.to_owned(), way, packets))));
        assert!(
            (found[0].above[0].unwrap() / found[2].above[0].unwrap() - 20.0).abs() < 0.5,
            "{found:?}"
        );
    }

    /// Under load a queue never empties: its least delay is not that of the path. Where the experiment does not say that the
    /// path is the same, or clocks are two, that is not known.
    #[test]
    fn by_one_clock_a_queue_that_never_empties_is_above_the_least_of_all_trials() {
        let median_of = |clock, way_of: fn(u32) -> Option<u32>| {
            let idle = stream(clock, 1_000);
            let mut loaded = idle.clone();
            loaded.delays[0][1].iter_mut().for_each(|ns| *ns += 40e6);
            let combination = |trial, stream: &StreamDelays| Combination {
                factors: Vec::new(),
                trial,
                ways: [0, 1].map(|way| stream.pooled(way)),
            };
            let mut both = [combination(0, &idle), combination(1, &loaded)];
            take_off_least(&mut both, way_of);
            both.map(|one| one.ways[1].clone().unwrap().quantiles()[0].unwrap())
        };
        let [idle, loaded] = median_of(ReflectorClock::Same, |_| Some(0));
        assert!(idle < 1e6 && (40e6..41e6).contains(&loaded), "{loaded}");
        for (clock, way_of) in [
            (
                ReflectorClock::Same,
                (|trial| Some(trial)) as fn(u32) -> Option<u32>,
            ),
            (ReflectorClock::Same, |_| None),
            (ReflectorClock::Unrelated, |_| Some(0)),
        ] {
            let [idle, loaded] = median_of(clock, way_of);
            assert!(idle < 1e6 && loaded < 1e6, "{clock:?}: {loaded}");
        }
    }

    #[test]
    fn the_latency_of_switches_is_no_queue() {
        let of = |latency: Option<i64>, discipline| {
            without_queues(&Path {
                switch: Some(Switch {
                    latency: latency.map(Duration),
                    discipline,
                    ..Switch::default()
                }),
                ..Path::default()
            })
        };
        assert_eq!(of(Some(0), Some(Discipline::Wrr)), of(None, None));
        assert_ne!(of(Some(3_000_000), None), of(None, None));
    }

    #[test]
    fn combinations_that_agree_are_one() {
        let mut ways = WayDelays::default();
        let stream = stream(ReflectorClock::Same, 1_000);
        for case in ["a", "b"] {
            let mut row = row(&[], None);
            row.factors = vec![("case".to_owned(), Level::named(case))];
            ways.add(&row, &stream);
        }
        let found = ways.finish(None);
        assert!(found.len() == 2 && found[0].factors.is_none(), "{found:?}");
        assert_eq!(found[0].packets, 2_000);
    }

    #[test]
    fn the_way_that_queues_is_told_from_the_one_that_does_not() {
        for clock in [ReflectorClock::Same, ReflectorClock::Unrelated] {
            let [there, back] = &ways(&stream(clock, 20_000))[..] else {
                panic!()
            };
            // An exponential's median and 99th percentile.
            for (at, expected) in [(0, 0.693e6), (2, 4.605e6)] {
                assert!(
                    (there.above[at].unwrap() / expected - 1.0).abs() < 0.1,
                    "{there:?}"
                );
            }
            assert!(back.above[3].unwrap() < 20e3, "{back:?}");
        }
    }

    /// Processes take 1 ms on either side; some packets lack a stamp of the kernel.
    #[test]
    fn stamps_that_most_packets_have_are_what_a_way_is_made_of() {
        let least = |lacks: fn(u64) -> bool| {
            let facts = RecordFacts {
                reflector_clock: ReflectorClock::Same,
                ..RecordFacts::default()
            };
            let mut stream = StreamDelays::new(facts);
            for seq in 0..200 {
                let mut record = Record::due(0, 0, seq, Method::Udp, 0);
                record.t_send = Some(0);
                record.t_tx = Some(MILLISECOND).filter(|_| !lacks(seq));
                record.r_rx = Some(2 * MILLISECOND);
                record.r_tx = record.r_rx;
                record.t_rx = Some(3 * MILLISECOND);
                record.t_recv = Some(4 * MILLISECOND);
                stream.push(&record);
            }
            [0, 1].map(|way| {
                let known: Vec<f64> = stream
                    .delays(way)
                    .iter()
                    .copied()
                    .filter(|ns| ns.is_finite())
                    .collect();
                (known[0], known.len())
            })
        };
        assert_eq!(least(|seq| seq == 0), [(1e6, 199), (1e6, 200)]);
        assert_eq!(least(|seq| seq > 0), [(2e6, 200), (1e6, 200)]);
    }

    #[test]
    fn skew_is_taken_out_and_told() {
        let found = ways(&stream(ReflectorClock::Unrelated, 20_000));
        for (way, expected) in found.iter().zip([40.0, -40.0]) {
            let Clocks::Skewed(ppm, (low, high)) = way.clocks else {
                panic!("{way:?}")
            };
            assert!((ppm - expected).abs() < 0.5 && low <= high, "{way:?}");
        }
    }

    #[test]
    fn long_streams_are_thinned_evenly() {
        let long = stream(ReflectorClock::Same, 300_000);
        assert!(long.sent.len() < KEPT && long.sent.len() > KEPT / 4);
        let steps = long.sent.windows(2).map(|pair| pair[1] - pair[0]);
        assert!(
            steps
                .clone()
                .all(|step| step == long.sent[1] - long.sent[0])
        );
    }

    #[test]
    fn few_packets_carry_no_tail() {
        for way in ways(&stream(ReflectorClock::Same, 300)) {
            assert!(way.above[2].is_some(), "{way:?}");
            assert_eq!(way.above[3], None);
        }
    }

    #[test]
    fn few_packets_and_no_stamps_say_nothing() {
        assert!(ways(&stream(ReflectorClock::Same, 99)).is_empty());
        assert!(ways(&stream(ReflectorClock::None, 1_000)).is_empty());
    }
}
