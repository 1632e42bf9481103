//! Whole PDUs through an overloaded port.

use super::*;
use crate::buffer::{Bound, Memory};
use crate::discard::Discard;
use crate::settings::Kind;
use delaylab_model::path::{Discipline, Pool};
use delaylab_model::quantity::{Limit, Share};
use std::collections::BTreeMap;

/// Cells of PDUs of 4 on several flows in turn, twice as many as the port can send; what comes out of
/// each flow, as the numbers of its cells in their PDUs.
fn overload(discard: Discard, size: u64) -> Vec<(u32, u32)> {
    let memory = Memory::of_each_output(Bound::items(size));
    let kind = Kind::Fifo { mark: None };
    let mut switch = Switch::new(
        &Settings {
            kind,
            memory,
            queue_share: Bound::UNLIMITED,
            discard,
            crossbar: None,
            shaper: None,
            policer: None,
            flow_control: None,
        },
        1,
        1,
    );
    let (mut drops, mut out) = (Vec::new(), Vec::new());
    for slot in 0..4_000_u32 {
        // Flows begin at different places of their PDUs.
        let (flow, place) = (slot % 5, (slot / 5 + slot % 5) % 4);
        let pdu = if place == 3 { Pdu::End } else { Pdu::Part };
        let cell = Thing {
            pdu,
            ..Thing::cell(flow)
        };
        switch.enqueue(slot.into(), 0, cell.number(slot / 5 + flow), &mut drops);
        if slot % 2 == 0 {
            out.extend(switch.dequeue(slot.into(), 0, &mut drops));
        }
    }
    assert!(drops.len() > 1_000);
    out.iter().map(|cell| (cell.flow, cell.number)).collect()
}

/// How many PDUs of a flow came whole, and how many in part; the first one may have begun before.
fn pdus(out: &[(u32, u32)], flow: u32) -> (usize, usize) {
    let mut cells: BTreeMap<u32, usize> = BTreeMap::new();
    for (_, number) in out.iter().filter(|(of, _)| *of == flow) {
        *cells.entry(number / 4).or_default() += 1;
    }
    let last = cells.keys().max().copied();
    let counted = cells
        .iter()
        .filter(|(pdu, _)| **pdu > 1 && Some(**pdu) != last);
    let (whole, part): (Vec<_>, Vec<_>) = counted.partition(|(_, cells)| **cells == 4);
    (whole.len(), part.len())
}

#[test]
fn early_discard_passes_whole_pdus_only_where_cell_by_cell_few_survive() {
    let cells = overload(Discard::Cells, 40);
    // Room above the threshold for the rest of a PDU of each flow.
    let early = overload(
        Discard::Early {
            from: Share(Share::WHOLE.0 / 2),
        },
        40,
    );
    let sum = |out: &[_]| {
        let each = (0..5).map(|flow| pdus(out, flow));
        each.fold((0, 0), |sum, flow| (sum.0 + flow.0, sum.1 + flow.1))
    };
    let (whole, part) = sum(&early);
    assert_eq!(part, 0);
    assert!(whole > 400, "{whole}"); // of 2000 cells that leave, 500 PDUs at most
    assert!(sum(&cells).1 > 100, "{:?}", sum(&cells));
}

/// Of whatever limits a port first: its buffer, its share of it, what is left of a shared one, or a class queue's part.
#[test]
fn early_discard_begins_below_what_a_port_may_hold() {
    let half = Share(Share::WHOLE.0 / 2);
    let limits: [fn(&mut path::Switch, Share); 5] = [
        |_, _| (),
        |switch, half| switch.threshold = Some(Limit::Share(half)),
        |switch, half| {
            (switch.pool, switch.threshold) = (Some(Pool::Shared), Some(Limit::Share(half)))
        },
        |switch, _| switch.alpha = Some(Share::WHOLE),
        |switch, half| {
            switch.discipline = Some(Discipline::Priority);
            switch.queue_buffer = Some(Limit::Share(half));
        },
    ];
    // Four fifths, rounded up to PDUs of four cells.
    for (limit, first) in limits.into_iter().zip([800, 400, 400, 448, 400]) {
        let settings = cells(|switch| {
            switch.buffer = Some(Limit::Cells(1_000));
            limit(switch, half);
        });
        let from = Share(Share::WHOLE.0 / 5 * 4);
        let settings = settings.with_discard(Discard::Early { from });
        let mut switch = Switch::new(&settings, 1, 1);
        let mut drops = Vec::new();
        for place in 0..1_000 {
            let pdu = if place % 4 == 3 { Pdu::End } else { Pdu::Part };
            let cell = Thing {
                pdu,
                ..Thing::cell(1)
            };
            switch.enqueue(0, 0, cell, &mut drops);
        }
        assert_eq!(switch.backlog(0).items, first);
        assert!(
            drops
                .iter()
                .all(|drop| drop.cause == Cause::EarlyPacketDiscard)
        );
    }
}

#[test]
fn partial_discard_drops_the_rest_but_the_last_cell() {
    let out = overload(Discard::Partial, 20);
    for flow in 0..5 {
        let numbers: Vec<_> = out.iter().filter(|c| c.0 == flow).map(|c| c.1).collect();
        for pair in numbers.windows(2) {
            let gap = pair[1] - pair[0] > 1;
            // After a gap comes the last cell of a PDU, or a new one begins.
            assert!(!gap || matches!(pair[1] % 4, 0 | 3), "{pair:?}");
        }
    }
}
