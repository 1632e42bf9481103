//! COBALT: CoDel, and BLUE for what does not listen to it.
//!
//! CoDel as in RFC 8289, but its count goes down by one for each interval's step that passes below the target, instead of being remembered for a
//! while; and an item that was not overdue by four of the largest at the line's rate is not touched. BLUE's probability rises with
//! each overflow of the buffer and falls with each time that the queue is found empty, both at most once in a target's time.

use crate::discipline::codel::next_drop;
use crate::item::Item;
use delaylab_model::Picos;
use delaylab_stats::random::SplitMix;

/// Of BLUE's probability, in 2⁻³²: at an overflow, and at an empty queue.
const UP: u32 = 1 << 24;
const DOWN: u32 = 1 << 20;

/// What it aims at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Parameters {
    pub(super) target: Picos,
    pub(super) interval: Picos,
    /// What the largest item takes at the line's rate.
    pub(super) largest: Picos,
}

/// Of one queue.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cobalt {
    count: u64,
    dropping: bool,
    drop_next: Picos,
    blue: u32,
    blue_moved: Picos,
}

impl Cobalt {
    /// The buffer overflowed, and this queue was the longest.
    pub(super) fn full(&mut self, now: Picos, parameters: Parameters) {
        if now.saturating_sub(self.blue_moved) > parameters.target {
            self.blue = self.blue.saturating_add(UP);
            self.blue_moved = now;
        }
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// The queue was found empty.
    pub(super) fn empty(&mut self, now: Picos, parameters: Parameters) {
        if self.blue > 0 && now.saturating_sub(self.blue_moved) > parameters.target {
            self.blue = self.blue.saturating_sub(DOWN);
            self.blue_moved = now;
        }
        self.dropping = false;
        self.forget(now, parameters);
    }

    /// An item comes to a queue that has rested since it was found empty: BLUE's probability has gone down in the meantime. (In
    /// Linux it goes down as other queues are served.)
    pub(super) fn rested(&mut self, now: Picos, parameters: Parameters) {
        let times = now.saturating_sub(self.blue_moved) / parameters.target.max(1);
        let down = u32::try_from(times).unwrap_or(u32::MAX);
        self.blue = self.blue.saturating_sub(DOWN.saturating_mul(down));
        if times > 0 {
            self.blue_moved = now;
        }
        self.forget(now, parameters);
    }

    /// Steps that were due below the target.
    fn forget(&mut self, now: Picos, parameters: Parameters) {
        while self.count > 0 && now >= self.drop_next {
            self.count -= 1;
            self.drop_next = next_drop(self.drop_next, parameters.interval, self.count.max(1));
        }
    }

    /// Must the item that leaves now be dropped? It may have been marked instead.
    pub(super) fn drops(
        &mut self,
        now: Picos,
        arrived: Picos,
        item: &mut impl Item,
        parameters: Parameters,
        random: &mut SplitMix,
    ) -> bool {
        let sojourn = now.saturating_sub(arrived);
        let over = sojourn > parameters.target && sojourn > 4 * parameters.largest;
        // Of the last time above the target, if there was one: an item that comes back above it is not waited for again.
        let due = self.count > 0 && now >= self.drop_next;
        if over && !self.dropping {
            self.dropping = true;
            self.count = self.count.max(1);
            self.drop_next = next_drop(now, parameters.interval, self.count);
        }
        self.dropping &= over;
        let mut drop = false;
        if self.dropping && due {
            drop = !(item.ecn_capable() && item.mark());
            self.count += 1;
            self.drop_next = next_drop(self.drop_next, parameters.interval, self.count);
        } else if !self.dropping {
            self.forget(now, parameters);
        }
        // BLUE drops whatever the marks.
        drop |= self.blue > 0 && ((random.next() >> 32) as u32) < self.blue;
        if self.count == 0 {
            self.drop_next = now.saturating_add(parameters.interval);
        } else if now > self.drop_next && !drop {
            self.drop_next = now;
        }
        drop
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Thing;

    const MS: Picos = 1_000_000_000;
    const PARAMETERS: Parameters = Parameters {
        target: 5 * MS,
        interval: 100 * MS,
        largest: MS / 10,
    };

    /// Items leave every 10 µs after such a wait: when they were dropped.
    fn run(cobalt: &mut Cobalt, from: Picos, to: Picos, wait: Picos) -> Vec<Picos> {
        let mut random = SplitMix::new(1);
        let times = (from..to).step_by((MS / 100) as usize);
        times
            .filter(|now| {
                let mut item = Thing::cell(0);
                cobalt.drops(*now, now - wait, &mut item, PARAMETERS, &mut random)
            })
            .collect()
    }

    #[test]
    fn drops_are_spaced_as_codels_are() {
        let start = 1_000 * MS;
        let dropped = run(&mut Cobalt::default(), start, start + 1_000 * MS, 20 * MS);
        // The first after an interval, then interval/√k, k from 2 on.
        let mut due = (start + 100 * MS) as f64;
        for (at, count) in dropped.iter().zip(2_u32..) {
            let late = *at as f64 - due;
            assert!((-1e3..=0.02 * MS as f64).contains(&late), "{count}: {late}");
            due += 100.0 * MS as f64 / f64::from(count).sqrt();
        }
        // Σ 1/√k from 2 to n is about 2√n − 2.46, which is 9 at n = 33.
        assert!((30..=34).contains(&dropped.len()), "{}", dropped.len());
    }

    #[test]
    fn below_the_target_or_four_items_nothing_is_dropped_and_the_count_goes_down() {
        let mut cobalt = Cobalt::default();
        assert!(run(&mut cobalt, MS * 100, 3_000 * MS, 5 * MS).is_empty());
        let slow = Parameters {
            largest: 6 * MS,
            ..PARAMETERS
        };
        let mut random = SplitMix::new(1);
        let mut drops =
            |now: Picos| cobalt.drops(now, now - 20 * MS, &mut Thing::cell(0), slow, &mut random);
        assert!(!(3_000..4_000).any(|ms| drops(ms * MS)));
        let mut cobalt = Cobalt::default();
        run(&mut cobalt, 1_000 * MS, 2_000 * MS, 20 * MS);
        let before = cobalt.count;
        run(&mut cobalt, 2_000 * MS, 2_100 * MS, MS);
        assert!(cobalt.count < before && cobalt.count > 0);
        run(&mut cobalt, 2_100 * MS, 5_000 * MS, MS);
        assert_eq!(cobalt.count, 0);
    }

    #[test]
    fn blue_rises_with_overflows_and_falls_with_empty_queues() {
        let mut cobalt = Cobalt::default();
        for ms in 1..=640 {
            cobalt.full(1_000 * MS + ms * MS, PARAMETERS);
        }
        // Every sixth of them, 2⁻⁸ each.
        assert_eq!(cobalt.blue, 107 * UP);
        let share = run(&mut cobalt, 2_000 * MS, 2_500 * MS, 0).len() as f64 / 50_000.0;
        assert!((share - 107.0 / 256.0).abs() < 0.01, "{share}");
        cobalt.empty(3_000 * MS, PARAMETERS);
        cobalt.empty(3_001 * MS, PARAMETERS);
        assert_eq!(cobalt.blue, 107 * UP - DOWN);
    }
    #[test]
    fn blues_probability_goes_down_while_a_queue_rests() {
        let mut cobalt = Cobalt::default();
        for ms in 1..=640 {
            cobalt.full(1_000 * MS + ms * MS, PARAMETERS);
        }
        let moved = cobalt.blue_moved;
        cobalt.rested(moved + 4 * MS, PARAMETERS);
        assert_eq!(cobalt.blue, 107 * UP);
        cobalt.rested(moved + 1_000 * MS, PARAMETERS);
        assert_eq!(cobalt.blue, 107 * UP - 200 * DOWN);
        cobalt.rested(moved + 11_000 * MS, PARAMETERS);
        assert_eq!((cobalt.blue, cobalt.count), (0, 0));
    }

    #[test]
    fn a_drop_that_is_due_is_not_waited_for_again_when_it_is_above_the_target_once_more() {
        let mut cobalt = Cobalt::default();
        let start = 1_000 * MS;
        run(&mut cobalt, start, start + 400 * MS, 20 * MS);
        let (count, due) = (cobalt.count, cobalt.drop_next);
        assert!(count > 3);
        let mut random = SplitMix::new(1);
        let mut drops = |now: Picos, wait: Picos| {
            let mut item = Thing::cell(0);
            cobalt.drops(now, now - wait, &mut item, PARAMETERS, &mut random)
        };
        assert!(!drops(due - MS, MS));
        assert!(drops(due + MS, 20 * MS));
        assert_eq!(cobalt.count, count + 1);
    }
}
