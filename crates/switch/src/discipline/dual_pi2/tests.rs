use super::*;
use crate::tests::{Thing, put};

const MS: Picos = 1_000_000_000;
const PARAMETERS: Parameters = Parameters {
    target: 15 * MS,
    update: 16 * MS,
    largest_rtt: 100 * MS,
    coupling: 2.0,
    mark_from: MS * 8 / 10,
    mark_all_from: MS * 12 / 10,
    classic_share: 0.1,
};

fn queue() -> DualPi2<Thing> {
    DualPi2::new(PARAMETERS, 1)
}

/// A queue whose p′ stays.
fn still(base: f64) -> DualPi2<Thing> {
    let mut queue = queue();
    queue.control.base = base;
    queue.next_update = Picos::MAX;
    queue
}

fn low_latency() -> Thing {
    Thing::cell(1).bytes(1_500).ecn().low_latency()
}

fn classic() -> Thing {
    Thing::cell(2).bytes(1_500)
}

#[test]
fn the_probability_moves_as_the_rfc_says() {
    // α = 0.1·0.016/0.1² = 0.16 and β = 0.3/0.1 = 3 a second.
    let mut control = Control::new(PARAMETERS);
    let mut expected = 0.0;
    for (delay, before) in [(20, 0), (30, 20), (25, 30), (15, 25), (40, 15)] {
        control.update(delay * MS);
        let [delay, before] = [delay, before].map(|ms: Picos| ms as f64 / 1e3);
        expected += 0.16 * (delay - 0.015) + 3.0 * (delay - before);
        assert!((control.base - expected).abs() < 1e-12);
    }
    // 0.0608, 0.0932, 0.0798, 0.0498, 0.1288
    assert!((control.base - 0.128_8).abs() < 1e-12, "{}", control.base);
    (0..5).for_each(|_| control.update(0));
    assert_eq!(control.base, 0.0);
}

/// Keeps both queues filled, and takes so many of each: what share of Classic items was dropped, or marked, and of L4S items marked.
fn shares(base: f64, ecn: bool, items: usize) -> [f64; 3] {
    let mut queue = still(base);
    let (mut drops, mut taken) = (Vec::new(), Vec::new());
    for _ in 0..items {
        queue.enqueue(0, low_latency(), &mut drops);
        let item = if ecn { classic().ecn() } else { classic() };
        queue.enqueue(0, item, &mut drops);
    }
    taken.extend(std::iter::from_fn(|| queue.dequeue(0, &mut drops)));
    let count = |flow, marked| {
        let of = taken
            .iter()
            .filter(|item: &&Thing| item.flow == flow && item.marked == marked);
        of.count() as f64 / items as f64
    };
    let dropped = drops.iter().filter(|drop| drop.item.flow == 2).count();
    [
        dropped as f64 / items as f64,
        count(2, true),
        count(1, true),
    ]
}

#[test]
fn classic_drops_are_the_square_and_l4s_marks_k_times_of_the_same() {
    for base in [0.05, 0.1, 0.3] {
        let [dropped, marked, low_latency] = shares(base, false, 50_000);
        // Five standard deviations of a share of 50,000; L4S marks are spread evenly.
        let slack = 5.0 * (base * base / 50_000.0_f64).sqrt();
        assert!((dropped - base * base).abs() < slack, "{base}: {dropped}");
        assert_eq!(marked, 0.0);
        assert!((low_latency - 2.0 * base).abs() < 1e-4, "{low_latency}");
        // p_C = (p_CL/k)².
        assert!((dropped - (low_latency / 2.0).powi(2)).abs() < slack);
        let [dropped, marked, _] = shares(base, true, 50_000);
        assert_eq!(dropped, 0.0);
        assert!((marked - base * base).abs() < slack, "{base}: {marked}");
    }
}

#[test]
fn under_overload_items_of_both_queues_are_dropped() {
    let mut queue = still(0.6);
    let mut drops = Vec::new();
    (0..10_000).for_each(|_| queue.enqueue(0, low_latency(), &mut drops));
    let taken: Vec<_> = std::iter::from_fn(|| queue.dequeue(0, &mut drops)).collect();
    assert!(taken.iter().all(|item| item.marked));
    assert!((drops.len() as f64 / 10_000.0 - 0.36).abs() < 0.025);
    let [dropped, marked, _] = shares(0.6, true, 10_000);
    assert!((dropped - 0.36).abs() < 0.025 && marked == 0.0);
}

#[test]
fn the_l_queues_own_marks_are_a_ramp_or_a_step() {
    let us = MS / 1_000;
    let ramp = [0, 800, 900, 1_000, 1_199, 1_200, 5_000].map(|at| PARAMETERS.native(at * us));
    assert_eq!(ramp, [0.0, 0.0, 0.25, 0.5, 0.9975, 1.0, 1.0]);
    let step = Parameters {
        mark_from: MS,
        mark_all_from: MS,
        ..PARAMETERS
    };
    assert_eq!(
        [MS - 1, MS, MS + 1].map(|at| step.native(at)),
        [0.0, 1.0, 1.0]
    );
    // The last item is not marked, however long it waited.
    let mut queue = queue();
    (0..3).for_each(|_| put(&mut queue, 0, low_latency()));
    let marks =
        std::iter::from_fn(|| queue.dequeue(5 * MS, &mut Vec::new())).map(|item| item.marked);
    // `recur` begins at nothing.
    assert_eq!(marks.collect::<Vec<_>>(), [false, true, false]);
}

#[test]
fn the_classic_queue_gets_its_share_and_l4s_goes_first() {
    let mut queue = still(0.0);
    for _ in 0..2_000 {
        put(&mut queue, 0, low_latency());
        put(&mut queue, 0, classic());
    }
    let flows: Vec<_> = (0..1_000)
        .filter_map(|_| queue.dequeue(0, &mut Vec::new()))
        .map(|item| item.flow)
        .collect();
    assert_eq!(flows.iter().filter(|flow| **flow == 2).count(), 100);
    assert_eq!(flows[0], 1);
    // With nothing else there it is work-conserving.
    while queue.low_latency.pop().is_some() {}
    assert!(queue.dequeue(0, &mut Vec::new()).is_some());
}

#[test]
fn updates_that_were_missed_are_made_up_for() {
    let of = |calls: &[Picos]| {
        let mut queue = queue();
        (0..50).for_each(|_| put(&mut queue, 5 * MS, classic()));
        calls.iter().for_each(|at| queue.catch_up(*at));
        (queue.control.base, queue.next_update)
    };
    let each: Vec<Picos> = (6..300).map(|ms| ms * MS).collect();
    assert_eq!(of(&each), of(&[299 * MS]));
    queue().catch_up(Picos::MAX - 1);
}

/// Behind a line that takes an item a millisecond for twenty seconds: how long each item of a flow waited after the first ten, in
/// milliseconds, and how many of it were dropped. L4S items come every `every` µs, Classic ones every tenth of that often.
fn loaded(every: Picos) -> [(f64, f64); 2] {
    let us = MS / 1_000;
    let mut queue = queue();
    let (mut drops, mut dropped) = (Vec::new(), [0, 0]);
    let (mut waits, mut kept) = ([0, 0], [0, 0]);
    let mut next = [0, every * us / 2];
    let stamped = |item: Thing, at: Picos| item.number((at / us) as u32);
    for now in (0..20_000).map(|ms| ms * MS) {
        while next[0] <= now {
            queue.enqueue(next[0], stamped(low_latency(), next[0]), &mut drops);
            next[0] += every * us;
        }
        while next[1] <= now {
            queue.enqueue(next[1], stamped(classic(), next[1]), &mut drops);
            next[1] += 10 * every * us;
        }
        let sent = queue.dequeue(now, &mut drops);
        if now < 10_000 * MS {
            drops.clear();
            continue;
        }
        for drop in drops.drain(..) {
            dropped[drop.item.flow as usize - 1] += 1;
        }
        if let Some(item) = sent {
            let flow = item.flow as usize - 1;
            waits[flow] += now / us - u64::from(item.number);
            kept[flow] += 1;
        }
    }
    [0, 1].map(|flow| {
        let (dropped, kept) = (f64::from(dropped[flow]), f64::from(kept[flow]));
        (waits[flow] as f64 / 1e3 / kept, dropped / (dropped + kept))
    })
}

#[test]
fn an_l4s_load_that_heeds_no_marks_waits_for_the_target_and_leaves_room_for_classic() {
    // 1250 L4S items a second and 125 Classic ones, of which the line takes 1000.
    let [(low_latency, lost), (classic, classic_lost)] = loaded(800);
    assert!((low_latency - 15.0).abs() < 3.0, "{low_latency} ms");
    assert!((classic - 15.0).abs() < 15.0, "{classic} ms");
    // Overload is from p'^2 = 1/4 on, and more than 3/11 must go.
    assert!((0.2..0.35).contains(&lost), "{lost}");
    assert!((0.2..0.35).contains(&classic_lost), "{classic_lost}");
    // With room for all of it nothing is dropped.
    let [(low_latency, lost), _] = loaded(1_250);
    assert!(low_latency < 2.0 && lost == 0.0, "{low_latency} {lost}");
}
