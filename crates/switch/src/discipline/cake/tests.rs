use super::*;
use crate::tests::{Thing, put, take};

const MS: Picos = 1_000_000_000;
const PARAMETERS: Parameters = Parameters {
    rate: None,
    overhead: 0,
    least: 0,
    tins: CakeTins::BestEffort,
    isolation: Isolation::Triple,
    target: 5 * MS,
    interval: 100 * MS,
    largest: 1_514,
    quantum: Some(1_514),
};

fn queue(parameters: Parameters) -> Cake<Thing> {
    Cake::new(parameters, Bound::bytes(4 << 20), 3)
}

fn shaped(rate: u64) -> Parameters {
    Parameters {
        rate: Some(rate),
        ..PARAMETERS
    }
}

/// Bytes of each flow in so many departures at time zero, in which nothing is dropped.
fn served(queue: &mut Cake<Thing>, flows: usize, sends: usize) -> Vec<u64> {
    let mut bytes = vec![0; flows];
    for _ in 0..sends {
        let item = take(queue, 0).expect("work is conserved");
        bytes[item.flow as usize] += u64::from(item.bytes);
    }
    bytes
}

#[test]
fn the_shaper_spaces_items_by_what_it_counts_of_them_and_saves_nothing_up() {
    // 1500 − 38 + 44 bytes and 84 at least, at 10 Mbit/s: 1.2048 ms and 67.2 µs.
    let mut queue = queue(Parameters {
        overhead: 44 - 38,
        least: 84,
        ..shaped(10_000_000)
    });
    for bytes in [1_500, 60, 1_500, 1_500] {
        put(&mut queue, 7 * MS, Thing::cell(0).bytes(bytes));
    }
    let mut leaves = Vec::new();
    let mut now = 7 * MS;
    while !queue.backlog().is_empty() {
        assert!(take(&mut queue, now).is_some());
        leaves.push(now - 7 * MS);
        now = queue.next_event().expect("it is shaped");
        assert!(take(&mut queue, now - 1).is_none());
    }
    let (large, small) = (1_204_800_000, 67_200_000);
    assert_eq!(leaves, [0, large, large + small, 2 * large + small]);
    // After a rest of a second two items still leave one after the other.
    let later = 1_007 * MS;
    (0..2).for_each(|_| put(&mut queue, later, Thing::cell(0).bytes(1_500)));
    assert!(take(&mut queue, later).is_some());
    assert!(take(&mut queue, later).is_none());
    assert_eq!(queue.next_event(), Some(later + large));
}

#[test]
fn what_is_asked_late_is_made_up_for() {
    let mut queue = queue(shaped(12_000_000));
    (0..100).for_each(|_| put(&mut queue, 0, Thing::cell(0).bytes(1_500)));
    let mut sent = 0;
    // 1 ms an item; asked for every 3 ms, as often as it gives.
    for now in (0..60 * MS).step_by(3 * MS as usize) {
        sent += std::iter::from_fn(|| queue.dequeue(now, &mut Vec::new())).count();
    }
    assert_eq!(sent, 58);
}

#[test]
fn backlogged_flows_get_equal_bytes_whatever_their_packets() {
    let mut queue = queue(PARAMETERS);
    let size = |flow: u32| [1_500, 64, 700][flow as usize];
    for flow in 0..3 {
        (0..1_800).for_each(|_| put(&mut queue, 0, Thing::cell(flow).bytes(size(flow))));
    }
    let bytes = served(&mut queue, 3, 1_200);
    let (least, most) = (bytes.iter().min(), bytes.iter().max());
    assert!(
        most.zip(least)
            .is_some_and(|(most, least)| most - least <= 2 * 1_514 + 1_500)
    );
}

/// Host 1 has one flow and host 2 nine, all to host 3 unless `apart`: what share does host 1's get?
fn share_of_the_host_with_one_flow(isolation: Isolation, to: impl Fn(u32) -> u32) -> f64 {
    let mut queue = queue(Parameters {
        isolation,
        ..PARAMETERS
    });
    for flow in 0..10 {
        queue.tell_hosts(flow, [if flow == 0 { 1 } else { 2 }, to(flow)]);
        (0..200).for_each(|_| put(&mut queue, 0, Thing::cell(flow).bytes(1_000)));
    }
    // The first round is of new flows.
    served(&mut queue, 10, 20);
    let bytes = served(&mut queue, 10, 360);
    bytes[0] as f64 / bytes.iter().sum::<u64>() as f64
}

#[test]
fn hosts_share_equally_and_their_flows_share_what_they_have() {
    let same = |_| 3;
    let apart = |flow| 10 + flow;
    let near = |share: f64, expected: f64| assert!((share - expected).abs() < 0.03, "{share}");
    near(share_of_the_host_with_one_flow(Isolation::Flows, same), 0.1);
    near(
        share_of_the_host_with_one_flow(Isolation::DualSource, same),
        0.5,
    );
    near(
        share_of_the_host_with_one_flow(Isolation::DualSource, apart),
        0.5,
    );
    near(
        share_of_the_host_with_one_flow(Isolation::DualDestination, same),
        0.1,
    );
    near(
        share_of_the_host_with_one_flow(Isolation::Triple, apart),
        0.5,
    );
    // All of one destination count ten for it, more than for either source.
    near(
        share_of_the_host_with_one_flow(Isolation::Triple, same),
        0.1,
    );
}

fn diffserv(rate: Option<u64>) -> Parameters {
    Parameters {
        rate,
        tins: CakeTins::DiffServ4,
        ..PARAMETERS
    }
}

#[test]
fn tins_without_a_rate_share_by_weight() {
    let mut queue = queue(diffserv(None));
    // Best effort, bulk, video, voice.
    let dscp = [0, 8, 34, 46];
    for flow in 0..4 {
        let item = Thing::cell(flow).bytes(1_000).dscp(dscp[flow as usize]);
        (0..900).for_each(|_| put(&mut queue, 0, item));
    }
    let bytes = served(&mut queue, 4, 1_000);
    // 1024, 64, 512 and 256 of 1856.
    for (bytes, weight) in bytes.iter().zip([1024.0, 64.0, 512.0, 256.0]) {
        let share = *bytes as f64 / 1e6;
        assert!((share - weight / 1856.0).abs() < 0.005, "{share} {weight}");
    }
}

#[test]
fn with_a_rate_voice_goes_first_up_to_a_quarter_and_nobody_starves() {
    let mut queue = queue(diffserv(Some(8_000_000)));
    let dscp = [0, 8, 34, 46];
    for flow in 0..4 {
        let item = Thing::cell(flow).bytes(1_000).dscp(dscp[flow as usize]);
        (0..900).for_each(|_| put(&mut queue, 0, item));
    }
    let mut sent = [0_u32; 4];
    for ms in 0..800 {
        let item = queue.dequeue(ms * MS, &mut Vec::new());
        sent[item.map_or(0, |item| item.flow as usize)] += 1;
    }
    // What is left, a 16th, half, and a quarter of 800.
    for (items, expected) in sent.iter().zip([150, 50, 400, 200]) {
        assert!(items.abs_diff(expected) <= 10, "{sent:?}");
    }
}

#[test]
fn overload_falls_on_the_head_of_the_longest_queue() {
    let mut queue = Cake::new(PARAMETERS, Bound::items(10), 3);
    (0..6).for_each(|number| put(&mut queue, 0, Thing::cell(1).number(number)));
    (0..4).for_each(|number| put(&mut queue, 0, Thing::cell(2).number(number)));
    let mut drops = Vec::new();
    queue.enqueue(0, Thing::cell(2).number(4), &mut drops);
    let dropped: Vec<_> = drops.iter().map(|d| (d.item.flow, d.item.number)).collect();
    assert_eq!(dropped, [(1, 0)]);
    assert_eq!(drops[0].cause, Cause::BufferFull);
}

#[test]
fn a_standing_queue_is_dropped_from_and_its_last_item_is_not() {
    let mut queue = queue(PARAMETERS);
    (0..5_000).for_each(|_| put(&mut queue, 0, Thing::cell(1).bytes(500)));
    let mut drops = Vec::new();
    for ms in 1..1_000 {
        queue.dequeue(ms * MS, &mut drops);
    }
    assert!(drops.len() > 20, "{}", drops.len());
    assert!(drops.iter().all(|drop| drop.cause == Cause::Cobalt));
    let mut queue = self::queue(PARAMETERS);
    for ms in (0..100_000).step_by(1_000) {
        put(&mut queue, ms * MS, Thing::cell(1));
        assert!(take(&mut queue, (ms + 900) * MS).is_some());
    }
}

#[test]
fn slow_lines_have_larger_targets() {
    // 1514 bytes at 1 Mbit/s take 12.112 ms.
    let cobalt = Cake::<Thing>::cobalt(shaped(1_000_000), Some(1_000_000));
    let target = 12_112_000_000 * 3 / 2;
    assert_eq!((cobalt.largest, cobalt.target), (12_112_000_000, target));
    assert_eq!(cobalt.interval, 100 * MS + target - 5 * MS);
}

#[test]
fn the_quantum_of_a_tin_follows_its_rate() {
    let quanta = |rate, quantum| {
        let parameters = Parameters {
            rate,
            quantum,
            tins: CakeTins::DiffServ4,
            ..PARAMETERS
        };
        let tins = queue(parameters).tins;
        tins.iter().map(|tin| tin.quantum).collect::<Vec<_>>()
    };
    // Best effort has the whole rate, bulk 1/16 of it, video a half, voice a quarter: bytes a second / 4096.
    assert_eq!(quanta(Some(40_000_000), None), [1_220, 300, 610, 305]);
    assert_eq!(
        quanta(Some(1_000_000_000), None),
        [1_514, 1_514, 1_514, 1_514]
    );
    assert_eq!(quanta(Some(1_000_000), None), [300; 4]);
    assert_eq!(quanta(None, None), [1_514; 4]);
    // What is given wins.
    assert_eq!(quanta(Some(1_000_000), Some(900)), [900; 4]);
}

#[test]
fn another_flow_does_not_inherit_what_a_queue_learned() {
    let mut queue = Cake::new(PARAMETERS, Bound::bytes(20_000), 3);
    let mut dropped = Vec::new();
    for ms in 0..2_000 {
        queue.enqueue(ms * MS, Thing::cell(0).bytes(10_000), &mut dropped);
    }
    let rest = 2_001 * MS;
    while queue.dequeue(rest, &mut dropped).is_some() {}
    assert!(dropped.len() > 1_900);
    dropped.clear();
    // Several flows for each of the queues.
    for flow in 1..5_000 {
        (0..3).for_each(|_| queue.enqueue(rest, Thing::cell(flow), &mut dropped));
        while queue.dequeue(rest, &mut dropped).is_some() {}
    }
    assert_eq!(dropped.len(), 0);
}
