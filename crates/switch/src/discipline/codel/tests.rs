use super::*;
use crate::tests::{Thing, put, take};

const MS: Picos = 1_000_000_000;
const PARAMETERS: Parameters = Parameters {
    target: 5 * MS,
    interval: 100 * MS,
    largest: 0,
};

/// A queue without end whose items have waited for as long as told.
struct Endless {
    now: Picos,
    wait: Picos,
    ecn: bool,
}

impl Source<Thing> for Endless {
    fn pop(&mut self) -> Option<(Picos, Thing)> {
        let cell = Thing {
            ecn: self.ecn,
            ..Thing::cell(0)
        };
        Some((self.now - self.wait, cell))
    }

    fn nearly_empty(&self) -> bool {
        false
    }
}

/// Takes an item every 10 µs from the one time to the other: when items were dropped, and marked.
fn run(control: &mut Control, from: Picos, to: Picos, wait: Picos, ecn: bool) -> [Vec<Picos>; 2] {
    let [mut dropped, mut marked] = [Vec::new(), Vec::new()];
    for now in (from..to).step_by((MS / 100) as usize) {
        let mut drops = Vec::new();
        let mut source = Endless { now, wait, ecn };
        let item = control.dequeue(now, PARAMETERS, &mut source, &mut drops);
        dropped.extend(drops.iter().map(|_| now));
        marked.extend(item.filter(|item| item.marked).map(|_| now));
    }
    [dropped, marked]
}

/// When drops are due from `first` on, if the count begins at `count`, in floating point.
fn due(first: Picos, count: u32) -> impl Iterator<Item = f64> {
    let mut at = first as f64;
    (count..).map(move |count| {
        let now = at;
        at += 100.0 * MS as f64 / f64::from(count).sqrt();
        now
    })
}

fn agree(seen: &[Picos], expected: impl Iterator<Item = f64>) {
    for (seen, expected) in seen.iter().zip(expected) {
        let late = *seen as f64 - expected;
        // At the first item taken after it is due; a picosecond a drop for rounding.
        assert!(
            (-1e3..=0.01 * MS as f64).contains(&late),
            "{seen}, not {expected}"
        );
    }
}

#[test]
fn drops_are_spaced_by_the_interval_over_the_root_of_their_count() {
    let start = 1_000 * MS;
    let [dropped, _] = run(
        &mut Control::default(),
        start,
        start + 3_000 * MS,
        20 * MS,
        false,
    );
    assert_eq!(dropped[0], start + 100 * MS);
    agree(&dropped, due(dropped[0], 1));
    // Σ 1/√k is about 2√n − 1.46, which is 29 at n = 232.
    assert_eq!(dropped.len(), 232);
}

#[test]
fn marks_come_when_drops_would() {
    let start = 1_000 * MS;
    let run = |ecn| {
        run(
            &mut Control::default(),
            start,
            start + 1_000 * MS,
            20 * MS,
            ecn,
        )
    };
    let [dropped, none] = run(false);
    let [never, marked] = run(true);
    assert_eq!((none.len(), never.len()), (0, 0));
    assert_eq!(marked, dropped);
}

#[test]
fn below_the_target_nothing_is_dropped() {
    let [dropped, _] = run(
        &mut Control::default(),
        10 * MS,
        5_000 * MS,
        5 * MS - 1,
        false,
    );
    assert!(dropped.is_empty());
}

#[test]
fn a_rate_that_worked_is_taken_up_again_for_16_intervals() {
    let (good, bad) = (MS, 20 * MS);
    let again = |pause: Picos| {
        let mut control = Control::default();
        let start = 1_000 * MS;
        let [dropped, _] = run(&mut control, start, start + 1_000 * MS, bad, false);
        let back = start + 1_000 * MS + pause;
        run(&mut control, start + 1_000 * MS, back, good, false);
        let [second, _] = run(&mut control, back, back + 1_000 * MS, bad, false);
        (dropped.len() as u32, second)
    };
    let (before, second) = again(50 * MS);
    assert!(before > 10);
    // The count grew from 1 to as many as were dropped.
    agree(&second, due(second[0], before - 1));
    let (_, second) = again(1_700 * MS);
    agree(&second, due(second[0], 1));
}

#[test]
fn the_last_items_are_not_dropped_however_long_they_waited() {
    let mut queue = CoDel::new(PARAMETERS);
    (0..2).for_each(|_| put(&mut queue, 0, Thing::cell(0)));
    assert!(take(&mut queue, 900 * MS).is_some());
    put(&mut queue, 900 * MS, Thing::cell(0));
    assert!(take(&mut queue, 1_900 * MS).is_some());
    assert!(take(&mut queue, 2_900 * MS).is_some());
    assert!(take(&mut queue, 2_900 * MS).is_none());
}

#[test]
fn the_control_law_is_rounded_down_and_never_overflows() {
    assert_eq!(next_drop(7, 100, 1), 107);
    assert_eq!(next_drop(0, 100, 2), 70); // 70.71
    assert_eq!(next_drop(0, 100 * MS, 100), 10 * MS);
    assert_eq!(next_drop(Picos::MAX, Picos::MAX, 1), Picos::MAX);
}

/// RFC 8289 §5: what small items hold together may be less than one packet of the link, and is left alone.
#[test]
fn small_items_are_dropped_only_while_more_is_held_than_the_links_largest() {
    let dropped = |largest| {
        let mut queue = CoDel::new(Parameters {
            largest,
            ..PARAMETERS
        });
        let mut drops = Vec::new();
        for step in 0..1_000 {
            let now = step * 2 * MS;
            put(&mut queue, now, Thing::cell(0).bytes(200));
            // Each waits for 10 ms, five of them.
            if step >= 5 {
                queue.dequeue(now, &mut drops);
            }
        }
        drops.len()
    };
    assert_eq!(dropped(1_514), 0);
    assert!(dropped(0) > 0 && dropped(900) > 0);
}
