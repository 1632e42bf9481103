use super::*;
use crate::tests::{Thing, put, take};

const MS: Picos = 1_000_000_000;
const PARAMETERS: Parameters = Parameters {
    target: 15 * MS,
    update: 15 * MS,
    burst: 150 * MS,
    mark_up_to: 0.1,
};

/// A controller at this probability, with this delay in milliseconds before and now.
fn at(probability: f64, before: Picos, now: Picos) -> Control {
    Control {
        probability,
        delay_before: before * MS,
        delay: now * MS,
        ..Control::new(PARAMETERS)
    }
}

/// Appendix A, `enque`: a drop by the full buffer begins the distance to the next one, too.
#[test]
fn behind_a_full_buffer_it_counts_anew() {
    let mut queue: Pie<Thing> = Pie::new(PARAMETERS, 1);
    queue.control.accumulated = 0.84;
    queue.overflow(MS);
    assert!(queue.control.accumulated.abs() < f64::EPSILON);
}

#[test]
fn a_step_is_that_of_the_rfc_in_each_range() {
    // 30 ms after 20 ms: 0.125·0.015 + 1.25·0.010 = 0.014375.
    for (probability, divisor) in [
        (0.0, 2048.0),
        (0.000_002, 512.0),
        (0.000_02, 128.0),
        (0.000_2, 32.0),
        (0.002, 8.0),
        (0.02, 2.0),
        (0.2, 1.0),
    ] {
        let mut control = at(probability, 20, 30);
        control.update();
        let expected = probability + 0.014_375 / divisor;
        assert!(
            (control.probability - expected).abs() < 1e-15,
            "{probability}"
        );
    }
}

#[test]
fn a_standing_delay_climbs_through_the_ranges() {
    // By hand: at 35 ms, unchanged, a step is 0.125·0.020 = 0.0025 before its division; the first update sees the growth
    // from 0, 1.25·0.035 = 0.04375 more.
    let mut control = at(0.0, 0, 35);
    let mut expected = 0.046_25 / 2048.0; // 2.258·10⁻⁵
    let mut updates = 0;
    for (below, divisor) in [(0.000_1, 128.0), (0.001, 32.0), (0.01, 8.0), (0.1, 2.0)] {
        while expected < below {
            control.update();
            updates += 1;
            assert!((control.probability - expected).abs() < 1e-12, "{updates}");
            expected += 0.002_5 / divisor;
        }
    }
    // 4 below 10⁻⁴, 12 below 10⁻³, 29 below 1 %, 72 below 10 %.
    assert_eq!(updates, 117);
}

#[test]
fn a_large_probability_rises_by_two_percent_at_most_and_falls_at_once() {
    let mut control = at(0.5, 0, 200);
    control.update();
    assert_eq!(control.probability, 0.52);
    control.delay = 0;
    control.update();
    // 0.125·(−0.015) − 1.25·0.2
    assert!((control.probability - (0.52 - 0.251_875)).abs() < 1e-12);
}

#[test]
fn idle_time_decays_it_by_two_percent_an_update_and_it_comes_to_rest() {
    let mut control = at(0.5, 0, 0);
    control.update();
    assert!((control.probability - (0.5 - 0.001_875) * 0.98).abs() < 1e-15);
    let updates = (0..).take_while(|_| {
        control.update();
        !control.is_at_rest()
    });
    assert!(updates.count() < 500);
}

#[test]
fn a_burst_passes_unhurt_for_150_ms() {
    let mut queue = Pie::new(PARAMETERS, 1);
    let mut drops = Vec::new();
    let mut first = None;
    // Twice what leaves: a packet each 0.5 ms, one out of two is sent.
    for step in 0..4_000_u64 {
        let now = step * MS / 2;
        queue.enqueue(now, Thing::cell(0).bytes(1_500), &mut drops);
        if step % 2 == 0 {
            queue.dequeue(now, &mut drops);
        }
        first = first.or((!drops.is_empty()).then_some(now));
    }
    let first = first.expect("it drops");
    assert!(first >= 150 * MS, "{first}");
    assert!(drops.iter().all(|drop| drop.cause == Cause::Pie));
}

#[test]
fn its_share_of_drops_is_the_probability_and_gaps_are_neither_short_nor_endless() {
    let mut control = at(0.05, 20, 20);
    control.allowance = 0;
    let mut random = SplitMix::new(1);
    let (mut gap, mut gaps) = (0, Vec::new());
    for _ in 0..200_000 {
        gap += 1;
        if control.hits(100_000, &mut random) {
            gaps.push(gap);
            gap = 0;
        }
    }
    // 17 arrivals add up to 0.85, 170 to 8.5; after 17 a gap is geometric: 16 and 20 on average.
    let [least, most] = [gaps.iter().min(), gaps.iter().max()].map(|gap| gap.copied().unwrap_or(0));
    assert!(least == 17 && most <= 171, "{least} {most}");
    let mean = 200_000.0 / gaps.len() as f64;
    assert!((mean - 36.0).abs() < 1.0, "{mean}");
}

#[test]
fn nothing_is_hit_while_the_queue_is_short_or_calm() {
    let mut random = SplitMix::new(1);
    let mut hits =
        |control: &mut Control, held| (0..1_000).any(|_| control.hits(held, &mut random));
    let busy = Control {
        allowance: 0,
        ..at(0.15, 20, 20)
    };
    assert!(hits(&mut busy.clone(), 2_049));
    assert!(!hits(&mut busy.clone(), 2_048));
    let calm = Control {
        delay_before: 7 * MS,
        ..busy
    };
    assert!(!hits(&mut calm.clone(), 100_000));
    let mut wild = Control {
        probability: 0.2,
        ..calm
    };
    assert!(hits(&mut wild, 100_000));
}

#[test]
fn marks_stand_for_drops_up_to_ten_percent() {
    for (probability, marks) in [(0.1, true), (0.11, false)] {
        let mut queue = Pie::new(PARAMETERS, 1);
        queue.control = Control {
            allowance: 0,
            ..at(probability, 20, 20)
        };
        queue.next_update = Picos::MAX;
        let mut drops = Vec::new();
        for _ in 0..500 {
            queue.enqueue(0, Thing::cell(0).bytes(1_500).ecn(), &mut drops);
        }
        let left = std::iter::from_fn(|| queue.items.pop());
        let marked = left.filter(|(_, item)| item.marked).count();
        assert_eq!((marked > 10, drops.len() > 10), (marks, !marks));
    }
}

#[test]
fn updates_that_were_missed_are_made_up_for() {
    let of = |calls: &[Picos]| {
        let mut queue = Pie::new(PARAMETERS, 1);
        (0..50).for_each(|_| put(&mut queue, 0, Thing::cell(0).bytes(1_500)));
        assert!(take(&mut queue, 40 * MS).is_some());
        calls.iter().for_each(|at| queue.catch_up(*at));
        (queue.probability(), queue.next_update)
    };
    let each: Vec<Picos> = (40..1_000).map(|ms| ms * MS).collect();
    assert_eq!(of(&each), of(&[999 * MS]));
    // A rest of a century costs nothing.
    let mut idle = Pie::<Thing>::new(PARAMETERS, 1);
    idle.catch_up(Picos::MAX - 1);
}
