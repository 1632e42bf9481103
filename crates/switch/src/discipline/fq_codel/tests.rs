use super::*;
use crate::tests::{Thing, put, take};

const MS: Picos = 1_000_000_000;

fn queue(limit: u64) -> FqCoDel<Thing> {
    let codel = codel::Parameters {
        target: 5 * MS,
        interval: 100 * MS,
    };
    let parameters = Parameters {
        codel,
        quantum: 1_514,
        queues: 1_024,
    };
    FqCoDel::new(parameters, Bound::items(limit), 3)
}

#[test]
fn backlogged_flows_get_equal_bytes() {
    let mut queue = queue(10_240);
    let size = |flow: u32| [1_500, 64, 700][flow as usize];
    for flow in 0..3 {
        (0..2_000).for_each(|_| put(&mut queue, 0, Thing::cell(flow).bytes(size(flow))));
    }
    let mut served = [0_u32; 3];
    for sent in 0..1_500 {
        let item = take(&mut queue, 0);
        let flow = item.map_or(0, |item| item.flow);
        served[flow as usize] += size(flow);
        let (least, most) = (served.iter().min(), served.iter().max());
        let apart = most.zip(least).map_or(0, |(most, least)| most - least);
        assert!(apart <= 1_514 + 2 * 1_500, "{sent}: {served:?}");
    }
}

#[test]
fn a_sparse_flow_passes_the_backlogged() {
    let mut queue = queue(10_240);
    for flow in 0..20 {
        (0..100).for_each(|_| put(&mut queue, 0, Thing::cell(flow).bytes(1_500)));
    }
    (0..50).for_each(|_| assert!(take(&mut queue, 0).is_some()));
    for _ in 0..10 {
        put(&mut queue, 0, Thing::cell(99).bytes(100));
        assert_eq!(take(&mut queue, 0).map(|item| item.flow), Some(99));
        // Its empty queue goes once round behind the old ones before it can be new again.
        (0..60).for_each(|_| assert!(take(&mut queue, 0).is_some()));
    }
}

#[test]
fn overload_falls_on_the_head_of_the_fattest_queue() {
    let mut queue = queue(100);
    (0..60).for_each(|number| put(&mut queue, 0, Thing::cell(1).number(number)));
    (0..40).for_each(|number| put(&mut queue, 0, Thing::cell(2).number(number)));
    let mut drops = Vec::new();
    queue.enqueue(0, Thing::cell(2).number(40), &mut drops);
    let dropped: Vec<_> = drops.iter().map(|d| (d.item.flow, d.item.number)).collect();
    assert_eq!(
        dropped,
        (0..30).map(|number| (1, number)).collect::<Vec<_>>()
    );
    assert!(drops.iter().all(|drop| drop.cause == Cause::BufferFull));
    assert_eq!(queue.backlog().items, 71);
}

#[test]
fn no_overload_drops_more_than_64() {
    let mut queue = queue(1_000);
    (0..1_000).for_each(|_| put(&mut queue, 0, Thing::cell(1)));
    let mut drops = Vec::new();
    queue.enqueue(0, Thing::cell(2), &mut drops);
    assert_eq!(drops.len(), 64);
}

#[test]
fn each_flow_has_a_codel_of_its_own() {
    let mut queue = queue(10_240);
    (0..5_000).for_each(|_| put(&mut queue, 0, Thing::cell(1).bytes(1_500)));
    let mut drops = Vec::new();
    for ms in 1..1_000 {
        queue.enqueue(ms * MS, Thing::cell(2).bytes(100), &mut drops);
        queue.dequeue(ms * MS, &mut drops);
        queue.dequeue(ms * MS, &mut drops);
    }
    assert!(drops.len() > 10, "{}", drops.len());
    assert!(
        drops
            .iter()
            .all(|d| d.item.flow == 1 && d.cause == Cause::CoDel)
    );
}

#[test]
fn flows_are_hashed_by_the_seed_and_into_all_queues() {
    let (a, b) = (
        queue(10),
        FqCoDel::<Thing>::new(queue(10).parameters, Bound::items(10), 4),
    );
    assert!((0..100).any(|flow| a.queue_of(flow) != b.queue_of(flow)));
    let mut used = vec![false; 1_024];
    (0..20_000).for_each(|flow| used[a.queue_of(flow)] = true);
    assert!(used.iter().all(|used| *used));
}
