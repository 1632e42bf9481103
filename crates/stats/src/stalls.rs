//! Stretches in which a thread that handles packets did not run, and for how long of each it can have waited for a CPU.
//!
//! Packets that a thread takes up together waited together: it had not run since the first of them came. Whether it could have
//! run, nothing says directly; but who waits for a CPU gets it once the others have had their turns. A thread that does not run
//! while another one loses the CPU, could go on, and is given it again and again was stopped, or blocked. So was one that does not
//! run while its CPU is idle: what ran there before did not keep it from the CPU.

use crate::noise_join::Join;
use delaylab_model::noise::{NoiseEvent, NoiseKind};
use delaylab_model::{MILLISECOND, Nanos};
use std::collections::BTreeMap;

/// Packets are taken up together if no more than this lies between one and the next.
const TOGETHER: Nanos = MILLISECOND;
/// Another thread has had its turns once it ran for so long, which is longer than a slice of any scheduler …
const TURNS: Nanos = 25 * MILLISECOND;
/// … and was given the CPU this many times: one that nothing else may interrupt has it as long as it wants.
const TIMES: usize = 3;
/// A CPU that nothing has for so long is idle. What is shorter may be handlers and threads that are too short to be recorded, or
/// a thread on its way from another CPU, or at work of its own.
const IDLE: Nanos = 5 * MILLISECOND;

/// The stretches in which one thread did not run, as its packets show them.
#[derive(Debug, Clone, Default)]
pub struct Stalls {
    /// In the order of time.
    stretches: Vec<Stretch>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Stretch {
    from: Nanos,
    /// When the first of its packets was taken up: until then the thread did not run at all.
    first: Nanos,
    to: Nanos,
    /// CPUs on which others had their turns before it ended, and when.
    turns: BTreeMap<u16, Nanos>,
    /// CPUs that were idle before its first packet was taken up, and until when.
    idle: BTreeMap<u16, Nanos>,
}

impl Stalls {
    /// Of packets that waited for the thread from when to when, in any order, beside what had the CPUs.
    pub fn new(mut windows: Vec<(Nanos, Nanos)>, noise: &Join<'_>) -> Self {
        windows.sort_unstable_by_key(|&(_, to)| to);
        let mut stretches: Vec<Stretch> = Vec::new();
        for (from, to) in windows {
            match stretches.last_mut() {
                Some(last) if to - last.to <= TOGETHER => {
                    (last.from, last.to) = (from.min(last.from), to)
                }
                last => {
                    // At the end of one it ran: the next begins there at the earliest.
                    let from = last.map_or(from, |last| from.max(last.to));
                    stretches.push(Stretch {
                        from,
                        first: to,
                        to,
                        turns: BTreeMap::new(),
                        idle: BTreeMap::new(),
                    });
                }
            }
        }
        for stretch in &mut stretches {
            let length = stretch.to - stretch.from;
            let cpus = || noise.cpus();
            if length > TURNS {
                let turns = cpus().filter_map(|cpu| Some((cpu, turns_over(noise, cpu, stretch)?)));
                stretch.turns = turns.collect();
            }
            if length > IDLE {
                let idle = cpus().filter_map(|cpu| Some((cpu, idle_until(noise, cpu, stretch)?)));
                stretch.idle = idle.collect();
            }
        }
        Self { stretches }
    }

    /// From when to when, in these moments from the arrival of a packet until it was taken up, its thread can have waited for a
    /// CPU: not before that was last idle, and until the others there had their turns.
    pub fn waited(&self, cpu: Option<u16>, (from, taken_up): (Nanos, Nanos)) -> (Nanos, Nanos) {
        let at = self
            .stretches
            .partition_point(|stretch| stretch.to < taken_up);
        let stretch = self.stretches.get(at);
        let stretch = stretch.filter(|stretch| stretch.from <= taken_up);
        let Some((stretch, cpu)) = stretch.zip(cpu) else {
            return (from, taken_up);
        };
        let turns = stretch.turns.get(&cpu).copied().unwrap_or(taken_up);
        let idle = stretch.idle.get(&cpu).copied().unwrap_or(from);
        (from.max(idle), taken_up.min(turns))
    }
}

/// Until when a CPU was last idle before a thread ran again. `None`: it never was, or nothing says what ran there.
fn idle_until(noise: &Join<'_>, cpu: u16, stretch: &Stretch) -> Option<Nanos> {
    let mut each = noise.each(Some(cpu), stretch.from, stretch.first);
    let is_told = |(event, _): &(&NoiseEvent, Nanos)| event.kind == NoiseKind::Scheduled;
    each.iter().find(|event| is_told(event))?;
    each.sort_by_key(|(event, _)| event.start);
    let (mut ran_until, mut idle) = (stretch.from, None);
    let ran = each
        .iter()
        .map(|(event, _)| (event.start, event.start.saturating_add(event.length)));
    for (start, end) in ran.chain([(stretch.first, stretch.first)]) {
        if start - ran_until >= IDLE {
            idle = Some(start);
        }
        ran_until = end.max(ran_until);
    }
    idle
}

/// When the others on a CPU had their turns while a thread did not run.
fn turns_over(noise: &Join<'_>, cpu: u16, stretch: &Stretch) -> Option<Nanos> {
    let mut each = noise.each(Some(cpu), stretch.from, stretch.to);
    each.retain(|(event, _)| event.kind == NoiseKind::Scheduled && event.preempted == Some(true));
    each.sort_by_key(|(event, _)| event.start);
    let mut turns = BTreeMap::<Option<u32>, (usize, Nanos)>::new();
    for (event, ran) in each {
        let (times, all) = turns.entry(event.pid).or_default();
        (*times, *all) = (*times + 1, *all + ran);
        if *times >= TIMES && *all >= TURNS {
            return Some(event.start.saturating_add(event.length));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = MILLISECOND;

    #[test]
    fn packets_that_are_taken_up_together_waited_together() {
        // Each 5 ms one is due; all of them are answered from 100 ms on, then one by one again.
        let waited = (0..20).map(|n| (n * 5 * MS, 100 * MS + n * 10_000));
        let alone = [(104 * MS, 105 * MS), (100 * MS + 50_000, 110 * MS)];
        let stalls = Stalls::new(waited.chain(alone).collect(), &Join::new(&[]));
        let stretches = stalls
            .stretches
            .iter()
            .map(|stretch| (stretch.from, stretch.to));
        let stretches: Vec<_> = stretches.collect();
        // It ran at 105 ms, although the last had come before.
        let together = (0, 100 * MS + 190_000);
        assert_eq!(
            stretches,
            [together, (104 * MS, 105 * MS), (105 * MS, 110 * MS)]
        );
    }

    fn spells(preempted: bool, lengths: &[i64]) -> Vec<NoiseEvent> {
        let mut start = 0;
        let spell = |&length: &i64| {
            let event = NoiseEvent {
                trial: 0,
                start: start * MS,
                length: length * MS,
                cpu: Some(0),
                kind: NoiseKind::Scheduled,
                who: Some("rustc".to_owned()),
                pid: Some(7),
                preempted: Some(preempted),
            };
            start += length + 1;
            event
        };
        lengths.iter().map(spell).collect()
    }

    #[test]
    fn who_sees_another_thread_come_back_again_and_again_does_not_wait_for_the_cpu() {
        let until = |events: &[NoiseEvent]| {
            // One packet waited all the time, the other one only lately.
            let stalls = Stalls::new(
                vec![(0, 500 * MS), (450 * MS, 500 * MS)],
                &Join::new(events),
            );
            let window = (450 * MS, 500 * MS);
            assert_eq!(stalls.waited(Some(1), window), window);
            let (from, until) = stalls.waited(Some(0), (0, 500 * MS));
            assert_eq!(from, 0);
            until
        };
        // Something else has the CPU when these do not.
        let busy = |preempted: bool, lengths: &[i64]| {
            let mut events = spells(preempted, lengths);
            let ended = events.last().map_or(0, |last| last.start + last.length);
            events.push(NoiseEvent {
                start: ended,
                length: 500 * MS - ended,
                pid: Some(8),
                preempted: Some(false),
                ..events[0].clone()
            });
            events
        };
        assert_eq!(until(&busy(true, &[10; 40])), 32 * MS);
        // One that nothing interrupts, one that soon waits itself, and turns that are short.
        assert_eq!(until(&busy(true, &[450])), 500 * MS);
        assert_eq!(until(&busy(false, &[10; 40])), 500 * MS);
        assert_eq!(until(&busy(true, &[3; 5])), 500 * MS);
    }

    #[test]
    fn who_does_not_run_on_an_idle_cpu_was_not_kept_from_it() {
        let waited = |events: &[NoiseEvent]| {
            let windows = vec![(0, 90 * MS), (40 * MS, 90 * MS + 10_000)];
            Stalls::new(windows, &Join::new(events)).waited(Some(0), (0, 90 * MS))
        };
        let ten = spells(false, &[10]);
        // Something ran for 10 ms, and then nothing did: whatever the thread waited for was no CPU.
        assert_eq!(waited(&ten), (90 * MS, 90 * MS));
        // Idle at first, then busy to the end: it can have been woken in between.
        let mut late = ten.clone();
        late[0].start = 80 * MS;
        assert_eq!(waited(&late), (80 * MS, 90 * MS));
        // Busy, but for what is too short to say so.
        assert_eq!(waited(&spells(false, &[86])), (0, 90 * MS));
        // Nothing says what runs between gaps that a sentinel saw.
        let mut gap = ten;
        gap[0].kind = NoiseKind::SentinelGap;
        assert_eq!(waited(&gap), (0, 90 * MS));
    }
}
