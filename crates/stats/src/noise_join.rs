//! Which records overlap what disturbed the host, for how long, and who it was.
//!
//! A record is joined over its response, `t_intended` to `t_recv`, with the events of the CPU that
//! it was sent from. Events of several sources can lie over each other (an interrupt while another
//! thread runs): their time counts once.
//!
//! Building takes O(n log n) for n events, each record O(log n) and a step for each event that lies
//! over its end.

use delaylab_model::Nanos;
use delaylab_model::noise::{NoiseEvent, NoiseKind, Unwatched};
use delaylab_model::record::Record;
use std::collections::BTreeMap;

/// What a record overlaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Overlap<'a> {
    /// Time of the response in which something else had the CPU.
    pub ns: Nanos,
    /// The event that overlaps longest, the first of those that are alike. `None`: none does.
    pub longest: Option<&'a NoiseEvent>,
}

impl<'a> Overlap<'a> {
    /// Who overlaps longest; where the source gives no name, what it saw.
    pub fn who(&self) -> Option<&'a str> {
        let event = self.longest?;
        Some(event.who.as_deref().unwrap_or(event.kind.name()))
    }
}

/// The events of one trial, ready to be joined.
#[derive(Debug, Clone)]
pub struct Join<'a> {
    by_cpu: BTreeMap<u16, Events<'a>>,
    /// Those whose CPU is not known: for records of CPUs without events, and without a CPU.
    anywhere: Events<'a>,
    /// When threads that measure were stopped: nothing has a CPU by that.
    stops: Vec<&'a NoiseEvent>,
}

impl<'a> Join<'a> {
    /// Takes events in any order. Those without a CPU count on every one.
    pub fn new(events: &'a [NoiseEvent]) -> Self {
        let mut anywhere = Vec::new();
        let mut by_cpu: BTreeMap<u16, Vec<&NoiseEvent>> = BTreeMap::new();
        let (stops, ran): (Vec<&NoiseEvent>, Vec<&NoiseEvent>) =
            (events.iter()).partition(|event| event.kind == NoiseKind::Stopped);
        for event in ran {
            match event.cpu {
                Some(cpu) => by_cpu.entry(cpu).or_default().push(event),
                None => anywhere.push(event),
            }
        }
        for here in by_cpu.values_mut() {
            here.extend(&anywhere);
        }
        let ready = |(cpu, here)| (cpu, Events::new(here));
        Self {
            by_cpu: by_cpu.into_iter().map(ready).collect(),
            anywhere: Events::new(anywhere),
            stops,
        }
    }

    /// The longest time in which a thread that measures was stopped, of a stretch at whose end it ran again.
    pub fn stopped(&self, from: Nanos, to: Nanos) -> Option<(&'a NoiseEvent, Nanos)> {
        let ended = self.stops.iter();
        let ended = ended.filter(|stop| end_of(stop) > from && end_of(stop) <= to);
        let each = ended.map(|&stop| (stop, end_of(stop) - stop.start.max(from)));
        each.max_by_key(|&(_, length)| length)
    }

    /// CPUs on which something was seen.
    pub fn cpus(&self) -> impl Iterator<Item = u16> {
        self.by_cpu.keys().copied()
    }

    /// What a record overlaps. Nothing, where no reply says when it ended.
    pub fn overlap(&self, record: &Record) -> Overlap<'a> {
        let Some(end) = record.t_recv else {
            return Overlap::default();
        };
        self.on(record.cpu, record.t_intended, end)
    }

    /// What a stretch of time on a CPU overlaps.
    pub fn on(&self, cpu: Option<u16>, from: Nanos, to: Nanos) -> Overlap<'a> {
        let on_cpu = cpu.and_then(|cpu| self.by_cpu.get(&cpu));
        on_cpu.unwrap_or(&self.anywhere).overlap(from, to)
    }

    /// Each event that overlaps a stretch of time on a CPU, and for how long.
    pub fn each(&self, cpu: Option<u16>, from: Nanos, to: Nanos) -> Vec<(&'a NoiseEvent, Nanos)> {
        let on_cpu = cpu.and_then(|cpu| self.by_cpu.get(&cpu));
        on_cpu.unwrap_or(&self.anywhere).each(from, to)
    }

    /// What a stretch of time overlaps on the CPU where something else ran longest in it.
    pub fn on_busiest(&self, from: Nanos, to: Nanos) -> Overlap<'a> {
        let each = self.by_cpu.values().chain([&self.anywhere]);
        each.map(|events| events.overlap(from, to))
            .max_by_key(|overlap| overlap.ns)
            .unwrap_or_default()
    }
}

/// When CPUs were not watched, ready to be held against records.
#[derive(Debug, Clone)]
pub struct UnwatchedByCpu {
    /// Start and end. Those of a CPU follow each other.
    by_cpu: BTreeMap<u16, Vec<(Nanos, Nanos)>>,
}

impl UnwatchedByCpu {
    /// Takes those of each CPU in the order of time.
    pub fn new(unwatched: &[Unwatched]) -> Self {
        let mut by_cpu: BTreeMap<u16, Vec<(Nanos, Nanos)>> = BTreeMap::new();
        for stretch in unwatched {
            let here = by_cpu.entry(stretch.cpu).or_default();
            here.push((stretch.start, stretch.end));
        }
        Self { by_cpu }
    }

    /// Is it not known what a record overlaps? Of one without a CPU, where that is so of any.
    pub fn overlaps(&self, record: &Record) -> bool {
        let end = record.t_recv.unwrap_or(record.t_intended);
        let overlaps = |here: &Vec<(Nanos, Nanos)>| {
            let next = here.partition_point(|&(_, until)| until <= record.t_intended);
            here.get(next).is_some_and(|&(from, _)| from < end)
        };
        match record.cpu {
            Some(cpu) => self.by_cpu.get(&cpu).is_some_and(overlaps),
            None => self.by_cpu.values().any(overlaps),
        }
    }
}

/// Events of one CPU, by start.
#[derive(Debug, Clone)]
struct Events<'a> {
    events: Vec<&'a NoiseEvent>,
    covered: Covered,
    /// Up to each event, which one ends last.
    last_to_end: Vec<usize>,
    longest: Longest,
}

impl<'a> Events<'a> {
    fn new(mut events: Vec<&'a NoiseEvent>) -> Self {
        events.sort_by_key(|event| event.start);
        let mut last_to_end: Vec<usize> = Vec::with_capacity(events.len());
        for (at, event) in events.iter().enumerate() {
            let before = last_to_end.last().copied();
            let later = before.filter(|&before| end_of(events[before]) >= end_of(event));
            last_to_end.push(later.unwrap_or(at));
        }
        Self {
            covered: Covered::new(&events),
            longest: Longest::new(events.iter().map(|event| event.length)),
            last_to_end,
            events,
        }
    }

    fn overlap(&self, from: Nanos, to: Nanos) -> Overlap<'a> {
        let ns = self.covered.until(to) - self.covered.until(from);
        if to <= from || ns == 0 {
            return Overlap::default();
        }
        let begun = self.events.partition_point(|event| event.start <= from);
        let mut behind = self.events.partition_point(|event| event.start < to);
        // Of those that lie over the beginning, the last to end overlaps longest.
        let over_start = begun.checked_sub(1).map(|last| self.last_to_end[last]);
        let mut best = over_start.map(|at| self.candidate(at, from, to));
        // Of those that begin inside, the longest does, unless it goes on behind the end: then only
        // one that began before it can be better.
        while let Some(at) = self.longest.among(begun, behind) {
            best = best.max(Some(self.candidate(at, from, to)));
            if end_of(self.events[at]) <= to {
                break;
            }
            behind = at;
        }
        let longest = best.filter(|&(length, _)| length > 0);
        Overlap {
            ns,
            longest: longest.map(|(_, std::cmp::Reverse(at))| self.events[at]),
        }
    }

    fn each(&self, from: Nanos, to: Nanos) -> Vec<(&'a NoiseEvent, Nanos)> {
        let behind = self.events.partition_point(|event| event.start < to);
        let back = self.events[..behind].iter().enumerate().rev();
        // Once nothing up to an event reaches into the stretch, nothing before it does.
        let reaching = back.take_while(|&(at, _)| end_of(self.events[self.last_to_end[at]]) > from);
        let each = reaching.map(|(_, &event)| {
            let length = end_of(event).min(to) - event.start.max(from);
            (event, length)
        });
        each.filter(|&(_, length)| length > 0).collect()
    }

    /// How long an event overlaps, and which it is: larger is longer, then earlier.
    fn candidate(&self, at: usize, from: Nanos, to: Nanos) -> (Nanos, std::cmp::Reverse<usize>) {
        let event = self.events[at];
        let length = end_of(event).min(to) - event.start.max(from);
        (length, std::cmp::Reverse(at))
    }
}

fn end_of(event: &NoiseEvent) -> Nanos {
    event.start.saturating_add(event.length.max(0))
}

/// How much of the time before a moment is covered by any event.
#[derive(Debug, Clone, Default)]
struct Covered {
    /// Stretches that do not touch: start, end, and what is covered before them.
    stretches: Vec<(Nanos, Nanos, Nanos)>,
}

impl Covered {
    /// Takes events by start.
    fn new(events: &[&NoiseEvent]) -> Self {
        let mut stretches: Vec<(Nanos, Nanos, Nanos)> = Vec::new();
        for event in events {
            let (start, end) = (event.start, end_of(event));
            match stretches.last_mut() {
                Some((_, last_end, _)) if start <= *last_end => *last_end = end.max(*last_end),
                last => {
                    let before = last.map_or(0, |(start, end, before)| *before + *end - *start);
                    stretches.push((start, end, before));
                }
            }
        }
        Self { stretches }
    }

    fn until(&self, moment: Nanos) -> Nanos {
        let begun = self
            .stretches
            .partition_point(|&(start, _, _)| start < moment);
        begun.checked_sub(1).map_or(0, |last| {
            let (start, end, before) = self.stretches[last];
            before + end.min(moment) - start
        })
    }
}

/// Finds the longest of any range of events: a binary tree whose nodes know the longest below them.
#[derive(Debug, Clone)]
struct Longest {
    lengths: Vec<Nanos>,
    /// Leaves are the second half, the root is 1.
    tree: Vec<usize>,
}

impl Longest {
    fn new(lengths: impl Iterator<Item = Nanos>) -> Self {
        let lengths: Vec<Nanos> = lengths.collect();
        let count = lengths.len();
        let mut longest = Self {
            lengths,
            tree: vec![0; count],
        };
        longest.tree.extend(0..count);
        for node in (1..count).rev() {
            longest.tree[node] = longest.longer(longest.tree[2 * node], longest.tree[2 * node + 1]);
        }
        longest
    }

    /// The longest of `from..to`, the first of those that are alike.
    fn among(&self, from: usize, to: usize) -> Option<usize> {
        let (mut left, mut right) = (from + self.lengths.len(), to + self.lengths.len());
        let mut best = None;
        while left < right {
            if left % 2 == 1 {
                best = Some(best.map_or(self.tree[left], |b| self.longer(b, self.tree[left])));
                left += 1;
            }
            if right % 2 == 1 {
                right -= 1;
                best = Some(best.map_or(self.tree[right], |b| self.longer(b, self.tree[right])));
            }
            (left, right) = (left / 2, right / 2);
        }
        best
    }

    fn longer(&self, one: usize, other: usize) -> usize {
        let rank = |at: usize| (self.lengths[at], std::cmp::Reverse(at));
        if rank(one) >= rank(other) { one } else { other }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_model::method::Method;
    use delaylab_model::noise::NoiseKind;
    use proptest::prelude::*;

    fn event(start: Nanos, length: Nanos, cpu: Option<u16>) -> NoiseEvent {
        NoiseEvent {
            trial: 0,
            start,
            length,
            cpu,
            kind: NoiseKind::Scheduled,
            who: Some(format!("{start}+{length}")),
            pid: None,
            preempted: None,
        }
    }

    fn record(from: Nanos, to: Nanos, cpu: Option<u16>) -> Record {
        let mut record = Record::due(0, 0, 0, Method::Udp, from);
        record.t_recv = Some(to);
        record.cpu = cpu;
        record
    }

    fn joined(events: &[NoiseEvent], record: &Record) -> (Nanos, Option<String>) {
        let join = Join::new(events);
        let overlap = join.overlap(record);
        (overlap.ns, overlap.who().map(str::to_owned))
    }

    #[test]
    fn time_that_two_share_counts_once() {
        let events = [
            event(10, 20, Some(1)),
            event(15, 5, Some(1)),
            event(25, 15, Some(1)),
        ];
        let whole = record(0, 100, Some(1));
        assert_eq!(joined(&events, &whole), (30, Some("10+20".into())));
        let inside = record(22, 28, Some(1));
        assert_eq!(joined(&events, &inside), (6, Some("10+20".into())));
        let late = record(29, 50, Some(1));
        assert_eq!(joined(&events, &late), (11, Some("25+15".into())));
    }

    #[test]
    fn only_the_records_own_cpu_counts() {
        let events = [event(10, 20, Some(1)), event(12, 3, None)];
        assert_eq!(joined(&events, &record(0, 50, Some(1))).0, 20);
        assert_eq!(joined(&events, &record(0, 50, Some(0))).0, 3);
        assert_eq!(joined(&events, &record(0, 50, None)).0, 3);
    }

    #[test]
    fn to_touch_is_not_to_overlap() {
        let events = [event(10, 20, None), event(60, 0, None)];
        for (from, to) in [(0, 10), (30, 60), (50, 70), (20, 20), (25, 15)] {
            assert_eq!(
                joined(&events, &record(from, to, None)),
                (0, None),
                "{from}..{to}"
            );
        }
        let mut lost = record(0, 50, None);
        lost.t_recv = None;
        assert_eq!(joined(&events, &lost), (0, None));
        assert_eq!(joined(&[], &record(0, 50, None)), (0, None));
    }

    #[test]
    fn records_in_a_stretch_that_was_not_watched_are_known() {
        let unwatched = [(1, 10, 20), (1, 60, 70), (2, 30, 40)];
        let unwatched = unwatched.map(|(cpu, start, end)| Unwatched { cpu, start, end });
        let unwatched = UnwatchedByCpu::new(&unwatched);
        let overlaps = |from, to, cpu| unwatched.overlaps(&record(from, to, cpu));
        for (from, to) in [(0, 11), (19, 30), (12, 13), (0, 100), (65, 66), (69, 90)] {
            assert!(overlaps(from, to, Some(1)), "{from}..{to}");
        }
        for (from, to) in [(0, 10), (20, 60), (70, 80), (30, 40)] {
            assert!(!overlaps(from, to, Some(1)), "{from}..{to}");
        }
        assert!(overlaps(30, 40, None) && overlaps(30, 40, Some(2)) && !overlaps(0, 50, Some(3)));
    }

    #[test]
    fn without_a_name_the_kind_is_named() {
        let mut gap = event(10, 20, None);
        (gap.kind, gap.who) = (NoiseKind::SentinelGap, None);
        assert_eq!(
            joined(&[gap], &record(0, 50, None)).1.unwrap(),
            "sentinel_gap"
        );
    }

    /// Counts each nanosecond and looks at each event.
    fn naive(events: &[NoiseEvent], record: &Record) -> (Nanos, Nanos) {
        let (from, to) = (record.t_intended, record.t_recv.unwrap());
        let here = |event: &&NoiseEvent| event.cpu.is_none() || event.cpu == record.cpu;
        let covers = |ns: Nanos| {
            let inside =
                |event: &NoiseEvent| (event.start..event.start + event.length).contains(&ns);
            events.iter().filter(here).any(inside)
        };
        let shared =
            |event: &NoiseEvent| (event.start + event.length).min(to) - event.start.max(from);
        let longest = events.iter().filter(here).map(shared).max();
        let ns = (from..to).filter(|&ns| covers(ns)).count() as Nanos;
        (ns, longest.unwrap_or(0).max(0))
    }

    proptest! {
        #[test]
        fn the_same_as_looking_at_each_event(
            events in prop::collection::vec((0..200_i64, 0..80_i64, prop::option::of(0..3_u16)), 0..40),
            records in prop::collection::vec((-10..250_i64, 0..150_i64, prop::option::of(0..4_u16)), 1..20),
        ) {
            let events: Vec<NoiseEvent> =
                events.into_iter().map(|(start, length, cpu)| event(start, length, cpu)).collect();
            let join = Join::new(&events);
            for (from, length, cpu) in records {
                let record = record(from, from + length, cpu);
                let overlap = join.overlap(&record);
                let (ns, longest) = naive(&events, &record);
                prop_assert_eq!(overlap.ns, ns);
                let found = overlap.longest.map_or(0, |event| {
                    (event.start + event.length).min(from + length) - event.start.max(from)
                });
                // Nothing that a record overlaps for no time is named.
                prop_assert_eq!(found, if ns == 0 { 0 } else { longest });
                prop_assert_eq!(overlap.longest.is_some(), ns > 0);
                let each = join.each(cpu, from, from + length);
                prop_assert_eq!(each.iter().map(|(_, ns)| *ns).max().unwrap_or(0), longest);
            }
        }
    }
}
