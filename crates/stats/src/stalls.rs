//! Stretches in which a thread that handles packets did not run, and for how long of each it can have waited for a CPU.
//!
//! Packets that a thread takes up together waited together: it had not run since the first of them came. Whether it could have
//! run, nothing says directly; but who waits for a CPU gets it once the others have had their turns. A thread that does not run
//! while another one loses the CPU, could go on, and is given it again and again was stopped, or blocked.

use crate::noise_join::Join;
use delaylab_model::noise::NoiseKind;
use delaylab_model::{MILLISECOND, Nanos};
use std::collections::BTreeMap;

/// Packets are taken up together if no more than this lies between one and the next.
const TOGETHER: Nanos = MILLISECOND;
/// Another thread has had its turns once it ran for so long, which is longer than a slice of any scheduler …
const TURNS: Nanos = 25 * MILLISECOND;
/// … and was given the CPU this many times: one that nothing else may interrupt has it as long as it wants.
const TIMES: usize = 3;

/// The stretches in which one thread did not run, as its packets show them.
#[derive(Debug, Clone, Default)]
pub struct Stalls {
    /// In the order of time.
    stretches: Vec<Stretch>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Stretch {
    from: Nanos,
    to: Nanos,
    /// CPUs on which others had their turns before it ended, and when.
    turns: BTreeMap<u16, Nanos>,
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
                    let turns = BTreeMap::new();
                    stretches.push(Stretch { from, to, turns });
                }
            }
        }
        for stretch in stretches
            .iter_mut()
            .filter(|stretch| stretch.to - stretch.from > TURNS)
        {
            let turns = noise
                .cpus()
                .filter_map(|cpu| Some((cpu, turns_over(noise, cpu, stretch)?)));
            stretch.turns = turns.collect();
        }
        Self { stretches }
    }

    /// Until when a thread that took a packet up at this moment can have waited for a CPU: until the others there had their
    /// turns, and to the end where they did not.
    pub fn waited_until(&self, cpu: Option<u16>, taken_up: Nanos) -> Nanos {
        let at = self
            .stretches
            .partition_point(|stretch| stretch.to < taken_up);
        let stretch = self.stretches.get(at);
        let stretch = stretch.filter(|stretch| stretch.from <= taken_up);
        let turns = stretch
            .zip(cpu)
            .and_then(|(stretch, cpu)| stretch.turns.get(&cpu));
        turns.map_or(taken_up, |&turns| turns.min(taken_up))
    }
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
    use delaylab_model::noise::NoiseEvent;

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
            assert_eq!(stalls.waited_until(Some(1), 500 * MS), 500 * MS);
            stalls.waited_until(Some(0), 500 * MS)
        };
        assert_eq!(until(&spells(true, &[10; 40])), 32 * MS);
        // One that nothing interrupts, one that soon waits itself, and turns that are short.
        assert_eq!(until(&spells(true, &[450])), 500 * MS);
        assert_eq!(until(&spells(false, &[10; 40])), 500 * MS);
        assert_eq!(until(&spells(true, &[3; 5])), 500 * MS);
    }
}
