//! Shares of a port between backlogged flows and queues.

use super::*;
use crate::discipline::drr::Drr;
use crate::discipline::flows::Flows;
use crate::discipline::per_flow::PerFlow;
use crate::discipline::wfq::Wfq;
use crate::discipline::wrr::Wrr;
use crate::item::Length;
use crate::settings::{By, Weights};
use delaylab_model::quantity::Limit;
use proptest::prelude::*;

/// Sends from flows that are always backlogged; after each item, what each was served of in bytes.
fn serve(
    queue: &mut impl Queue<Thing>,
    sizes: &[Vec<u32>],
    sends: usize,
    mut check: impl FnMut(&[u64]),
) {
    let mut places = vec![0; sizes.len()];
    let mut refill = |queue: &mut _, flow: usize| {
        let bytes = sizes[flow][places[flow] % sizes[flow].len()];
        places[flow] += 1;
        put(
            queue,
            0,
            Thing::cell(flow as u32).bytes(bytes).queue(flow as u8),
        );
    };
    for flow in 0..sizes.len() {
        (0..3).for_each(|_| refill(queue, flow));
    }
    let mut served = vec![0; sizes.len()];
    for _ in 0..sends {
        let item = take(queue, 0).expect("work is conserved");
        served[item.flow as usize] += u64::from(item.bytes);
        refill(queue, item.flow as usize);
        check(&served);
    }
}

/// Sizes of the items of 2 to 4 flows, which repeat.
fn sizes() -> impl Strategy<Value = Vec<Vec<u32>>> {
    prop::collection::vec(prop::collection::vec(40_u32..1_500, 1..8), 2..5)
}

proptest! {
    #[test]
    fn drr_is_fair_within_a_quantum_and_two_items(sizes in sizes(), quantum in 1_u32..3_000) {
        let largest = sizes.iter().flatten().max().copied().unwrap_or(0);
        let bound = u64::from(quantum) + 2 * u64::from(largest);
        serve(&mut Drr::new(quantum), &sizes, 300, |served| {
            let (least, most) = (served.iter().min(), served.iter().max());
            let apart = most.zip(least).map_or(0, |(most, least)| most - least);
            assert!(apart <= bound, "{served:?}, quantum {quantum}, largest {largest}");
        });
    }

    #[test]
    fn scfq_is_fair_within_an_item_of_each(
        sizes in sizes(),
        weights in prop::collection::vec(1_u32..10, 4),
    ) {
        let weights_of = Weights::new(By::Queue, weights.clone());
        let weighed = |flow: usize, bytes: u64| bytes as f64 / f64::from(weights[flow]);
        let largest: Vec<_> = sizes.iter().map(|flow| flow.iter().max().copied()).collect();
        let slack = |flow: usize| weighed(flow, largest[flow].unwrap_or(0).into());
        serve(&mut Wfq::new(weights_of), &sizes, 300, |served| {
            for (i, j) in (0..served.len()).flat_map(|i| (0..i).map(move |j| (i, j))) {
                let apart = (weighed(i, served[i]) - weighed(j, served[j])).abs();
                // A hair for tags of 32 bits after the point.
                assert!(apart <= slack(i) + slack(j) + 1e-4, "{served:?} by {weights:?}");
            }
        });
    }

    #[test]
    fn wrr_is_fair_within_a_turn(weights in prop::collection::vec(1_u32..10, 3)) {
        let sizes = vec![vec![1]; 3];
        let mut queue = Wrr::new(Weights::new(By::Queue, weights.clone()));
        serve(&mut queue, &sizes, 500, |served| {
            let turns = |flow: usize| served[flow] as f64 / f64::from(weights[flow]);
            for (i, j) in [(0, 1), (0, 2), (1, 2)] {
                assert!((turns(i) - turns(j)).abs() <= 1.0, "{served:?} by {weights:?}");
            }
        });
    }

    #[test]
    fn round_robin_is_fair_within_an_item(flows in 1_usize..20) {
        serve(&mut PerFlow::default(), &vec![vec![1]; flows], 500, |served| {
            let (least, most) = (served.iter().min(), served.iter().max());
            assert!(most.zip(least).is_some_and(|(most, least)| most - least <= 1));
        });
    }
}

#[test]
fn weights_by_flow_and_by_queue() {
    let item = Thing::cell(1).queue(0);
    assert_eq!(Weights::new(By::Flow, vec![5, 7]).queue(&item), 1);
    assert_eq!(Weights::new(By::Queue, vec![5, 7]).queue(&item), 0);
    let weights = Weights::new(By::Flow, vec![5, 0]);
    assert_eq!([0, 1, 9].map(|queue| weights.weight(queue)), [5, 1, 1]);
}

#[test]
fn a_wfq_queue_that_was_idle_has_saved_nothing_up() {
    let mut queue = Wfq::new(Weights::new(By::Queue, vec![1, 1]));
    for _ in 0..20 {
        put(&mut queue, 0, Thing::cell(0).queue(0));
    }
    (0..10).for_each(|_| assert!(take(&mut queue, 0).is_some()));
    for _ in 0..10 {
        put(&mut queue, 0, Thing::cell(1).queue(1));
    }
    let order: Vec<_> = (0..8)
        .filter_map(|_| take(&mut queue, 0))
        .map(|t| t.flow)
        .collect();
    assert_eq!(order, [0, 1, 0, 1, 0, 1, 0, 1]);
}

#[test]
fn a_pdu_of_23_cells_against_3_backlogged_channels_takes_92_cell_times() {
    let mut queue = PerFlow::default();
    for flow in 0..3 {
        (0..1_000).for_each(|_| put(&mut queue, 0, Thing::cell(flow)));
    }
    (0..23).for_each(|_| put(&mut queue, 0, Thing::cell(3)));
    let sent: Vec<_> = (0..200)
        .filter_map(|_| take(&mut queue, 0))
        .map(|t| t.flow)
        .collect();
    let last = sent.iter().rposition(|flow| *flow == 3);
    assert_eq!(last, Some(23 * 4 - 1));
}

#[test]
fn tens_of_thousands_of_channels_take_turns() {
    let mut queue = PerFlow::default();
    for round in 0..2 {
        (0..50_000).for_each(|flow| put(&mut queue, 0, Thing::cell(flow).number(round)));
    }
    for turn in 0..100_000_u32 {
        let expected = Thing::cell(turn % 50_000).number(turn / 50_000);
        assert_eq!(take(&mut queue, 0), Some(expected));
    }
    assert_eq!(take(&mut queue, 0), None);
}

/// A port of this discipline with room for 100 packets, which takes one a millisecond: packets of flow 0 come every `every` µs,
/// of flow 1 three each millisecond. How many of each were lost, of how many.
fn beside_a_flood(discipline: path::Discipline, counts: Counts) -> [(u32, u32); 2] {
    const MS: Picos = 1_000_000_000;
    let buffer = match counts {
        Counts::Cells => Limit::Cells(100),
        Counts::Packets => Limit::Packets(100),
    };
    let section = path::Switch {
        discipline: Some(discipline),
        buffer: Some(buffer),
        ..path::Switch::default()
    };
    let settings = Settings::read(&section, counts, &["a"]).expect("good settings");
    let mut switch = Switch::new(&settings, 1, 1);
    let (mut drops, mut sent) = (Vec::new(), [0, 0]);
    for ms in 0..3_000 {
        let flood = (0..3).map(|_| 1);
        // Less than half of the line, in packets and in bytes.
        for flow in flood.chain((ms % 10 < 3).then_some(0)) {
            sent[flow] += 1;
            let bytes = [1_500, 1_400][flow];
            let thing = Thing::cell(flow as u32).bytes(bytes);
            switch.enqueue(ms * MS, 0, thing, &mut drops);
        }
        let _ = switch.dequeue(ms * MS, 0, &mut drops);
    }
    [0, 1].map(|flow| {
        let lost = drops.iter().filter(|drop| drop.item.flow == flow);
        (lost.count() as u32, sent[flow as usize])
    })
}

#[test]
fn a_flow_below_its_share_loses_nothing_to_one_that_fills_the_buffer() {
    use path::Discipline::{Drr, Fifo, PerFlow, Wfq, Wrr};
    for discipline in [PerFlow, Drr, Wrr, Wfq] {
        let [(lost, sent), (flooded, of)] = beside_a_flood(discipline, Counts::Packets);
        assert_eq!((lost, sent), (0, 900), "{discipline:?}");
        assert!(flooded > of / 2, "{discipline:?}: {flooded} of {of}");
        // What a cell switch has no room for is what arrives.
        let [(lost, _), _] = beside_a_flood(discipline, Counts::Cells);
        assert!(lost > 0, "{discipline:?}");
    }
    let [(lost, _), _] = beside_a_flood(Fifo, Counts::Packets);
    assert!(lost > 300, "{lost}");
}

#[test]
fn the_last_item_of_the_longest_queue_gives_way_and_never_its_only_one() {
    let mut flows = Flows::default();
    let thing = |flow, number, bytes| Thing::cell(flow).number(number).bytes(bytes);
    assert_eq!(flows.give_way(0, 100, Length::Bytes), None);
    for number in 0..3 {
        flows.push(0, thing(0, number, 500));
    }
    flows.push(1, thing(1, 3, 9_000));
    // 9,000 bytes in one item; then the queue of three is the longest.
    assert_eq!(flows.give_way(2, 100, Length::Bytes), None);
    assert!(flows.pop(1).is_some());
    assert_eq!(
        flows
            .give_way(2, 100, Length::Bytes)
            .map(|item| item.number),
        Some(2)
    );
    // The queue that the item is for would be the longest.
    assert_eq!(flows.give_way(0, 100, Length::Bytes), None);
    assert_eq!(flows.give_way(2, 1_000, Length::Bytes), None);
    assert_eq!(
        flows
            .give_way(2, 999, Length::Bytes)
            .map(|item| item.number),
        Some(1)
    );
    assert_eq!(flows.pop(0).map(|item| item.number), Some(0));
    assert!(flows.is_empty(0));
}

/// Small packets that fill a buffer limited in packets do not keep out a large one for an empty queue.
#[test]
fn in_a_buffer_of_packets_the_longest_queue_has_the_most_packets() {
    for (length, gone) in [(Length::Bytes, None), (Length::Items, Some(14))] {
        let mut flows = Flows::default();
        for number in 0..15 {
            flows.push(0, Thing::cell(0).number(number).bytes(84));
        }
        let item = flows.give_way(1, 1_538, length);
        assert_eq!(item.map(|item| item.number), gone);
    }
}
