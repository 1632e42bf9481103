use super::*;
use crate::tests::{Thing, put, take};
use std::collections::BTreeMap;

const MS: Picos = 1_000_000_000;

fn queue(limit: u64) -> FqCoDel<Thing> {
    let codel = codel::Parameters {
        target: 5 * MS,
        interval: 100 * MS,
        largest: 0,
    };
    let parameters = Parameters {
        codel,
        quantum: 1_514,
        queues: 1_024,
        near_empty: NearEmpty::Flow,
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

/// Each of 100 flows keeps one packet of 1514 bytes here and sends the next when it leaves, at 10 Mbit/s for five seconds:
/// how many were dropped, and the longest that one was here in the last second.
fn one_packet_each(near_empty: NearEmpty) -> (usize, Picos) {
    let parameters = Parameters {
        near_empty,
        ..queue(10_240).parameters
    };
    let mut queue: FqCoDel<Thing> = FqCoDel::new(parameters, Bound::items(10_240), 3);
    let packet = 1_211_200_000; // 12112 bits at 10 Mbit/s
    let (mut since, mut drops, mut longest) = (BTreeMap::new(), Vec::new(), 0);
    // Flows that share no queue.
    let flows: BTreeMap<_, _> = (0..200).map(|flow| (queue.queue_of(flow), flow)).collect();
    for flow in flows.into_values().take(100) {
        queue.enqueue(0, Thing::cell(flow).bytes(1_514), &mut drops);
    }
    for now in (0..5_000 * MS).step_by(packet as usize) {
        let Some(item) = queue.dequeue(now, &mut drops) else {
            continue;
        };
        let arrived = since.insert(item.flow, now).unwrap_or(0);
        if now > 4_000 * MS {
            longest = longest.max(now - arrived);
        }
        queue.enqueue(now, item, &mut drops);
    }
    (drops.len(), longest)
}

#[test]
fn a_hundred_flows_of_a_packet_each_wait_for_each_other_or_are_dropped_from() {
    // 100 packets of 1.2112 ms.
    assert_eq!(one_packet_each(NearEmpty::Flow), (0, 121_120_000_000));
    let (drops, longest) = one_packet_each(NearEmpty::All);
    assert!(drops > 50, "{drops}");
    println!("{drops} drops, {longest} ps");
    assert!(longest < 50 * MS, "{longest}");
}
