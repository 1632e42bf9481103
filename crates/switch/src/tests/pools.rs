//! Who gets how much of a buffer.

use super::*;
use delaylab_model::path::{Discipline, Pool};
use delaylab_model::quantity::{Limit, Share};

/// Fills ports in turn with cells until nothing more is taken: what each then holds.
fn saturated(settings: &Settings, ports: usize) -> Vec<u64> {
    let mut switch = Switch::new(settings, ports, 1);
    let mut drops = Vec::new();
    for slot in 0..100_000 {
        switch.enqueue(slot, slot as usize % ports, Thing::cell(0), &mut drops);
    }
    assert!(drops.iter().all(|drop| drop.cause == Cause::BufferFull));
    (0..ports).map(|port| switch.backlog(port).items).collect()
}

#[test]
fn saturated_ports_hold_alpha_b_over_1_plus_n_alpha() {
    for eighths in [1, 2, 4, 8, 16, 64] {
        for ports in 1..=8 {
            let settings = cells(|switch| {
                switch.buffer = Some(Limit::Cells(13_000));
                switch.alpha = Some(Share(eighths * Share::WHOLE.0 / 8));
            });
            let alpha = eighths as f64 / 8.0;
            let expected = alpha * 13_000.0 / (1.0 + ports as f64 * alpha);
            for held in saturated(&settings, ports) {
                // They fill cell by cell, so the last to come may find one cell more or less.
                let off = (held as f64 - expected).abs();
                assert!(
                    off <= 1.0 + alpha,
                    "α {alpha}, {ports} ports: {held}, not {expected}"
                );
            }
        }
    }
}

#[test]
fn a_threshold_in_bytes_is_dynamic_too() {
    let settings = cells(|switch| {
        switch.buffer = Some(Limit::Bytes(53 * 9_000));
        switch.alpha = Some(Share::WHOLE);
    });
    assert_eq!(saturated(&settings, 2), [3_000, 3_000]);
}

#[test]
fn a_shared_pool_goes_to_whoever_comes_first_up_to_the_port_s_share() {
    let settings = |threshold| {
        cells(|switch| {
            switch.buffer = Some(Limit::Cells(100));
            switch.pool = Some(Pool::Shared);
            switch.threshold = threshold;
        })
    };
    let mut switch = Switch::new(&settings(None), 2, 1);
    let mut drops = Vec::new();
    for _ in 0..200 {
        switch.enqueue(0, 0, Thing::cell(0), &mut drops);
    }
    switch.enqueue(0, 1, Thing::cell(0), &mut drops);
    assert_eq!(switch.backlog(0).items, 100);
    assert!(switch.backlog(1).is_empty());
    // What leaves makes room for all.
    assert!(switch.dequeue(0, 0, &mut drops).is_some());
    switch.enqueue(0, 1, Thing::cell(0), &mut drops);
    assert_eq!(switch.backlog(1).items, 1);
    let half = settings(Some(Limit::Share(Share(Share::WHOLE.0 / 2))));
    assert_eq!(saturated(&half, 2), [50, 50]);
    assert_eq!(saturated(&half, 1), [50]);
}

#[test]
fn an_input_port_s_buffer_is_its_own() {
    let settings = cells(|switch| {
        switch.buffer = Some(Limit::Cells(2_000));
        switch.pool = Some(Pool::Input);
        switch.discipline = Some(Discipline::PerFlow);
    });
    let mut switch = Switch::new(&settings, 2, 1);
    let mut drops = Vec::new();
    let from = |ingress| Thing {
        ingress,
        ..Thing::cell(0)
    };
    for slot in 0..3_000 {
        switch.enqueue(slot, slot as usize % 2, from(3), &mut drops);
    }
    assert_eq!(drops.len(), 1_000);
    assert_eq!(
        [0, 1].map(|port| switch.backlog(port).items),
        [1_000, 1_000]
    );
    switch.enqueue(0, 0, from(0), &mut drops);
    assert_eq!(drops.len(), 1_000);
}

#[test]
fn a_share_below_one_frame_passes_one_frame_at_a_time() {
    let settings = cells(|switch| {
        switch.buffer = Some(Limit::Bytes(65_536));
        switch.threshold = Some(Limit::Share(Share(Share::WHOLE.0 / 100)));
    });
    let mut switch = Switch::new(&settings, 1, 1);
    let mut drops = Vec::new();
    for _ in 0..2 {
        switch.enqueue(0, 0, Thing::cell(0).bytes(1_518), &mut drops);
    }
    assert_eq!((switch.backlog(0).items, drops.len()), (1, 1));
}

#[test]
fn a_byte_limit_is_kept_to_the_byte() {
    let settings = cells(|switch| switch.buffer = Some(Limit::Bytes(1_000)));
    let mut switch = Switch::new(&settings, 1, 1);
    let mut drops = Vec::new();
    for bytes in [600, 401, 400, 1] {
        switch.enqueue(0, 0, Thing::cell(0).bytes(bytes), &mut drops);
    }
    assert_eq!(switch.backlog(0).bytes, 1_000);
    assert_eq!(
        drops.iter().map(|d| d.item.bytes).collect::<Vec<_>>(),
        [401, 1]
    );
}

#[test]
fn a_class_queue_that_is_full_leaves_room_for_the_others() {
    let settings = cells(|switch| {
        switch.discipline = Some(path::Discipline::Priority);
        switch.buffer = Some(Limit::Cells(100));
        switch.queue_buffer = Some(Limit::Cells(30));
    });
    let mut switch = Switch::new(&settings, 1, 1);
    let mut drops = Vec::new();
    for _ in 0..50 {
        switch.enqueue(0, 0, Thing::cell(0).queue(2), &mut drops);
    }
    assert_eq!((switch.backlog(0).items, drops.len()), (30, 20));
    for _ in 0..10 {
        switch.enqueue(0, 0, Thing::cell(0).queue(1), &mut drops);
    }
    assert_eq!((switch.backlog(0).items, drops.len()), (40, 20));
    // Room comes back as it is served, queue by queue.
    while switch
        .dequeue(0, 0, &mut drops)
        .is_some_and(|item| item.queue == 1)
    {}
    assert_eq!(switch.backlog(0).items, 29);
    switch.enqueue(0, 0, Thing::cell(0).queue(2), &mut drops);
    switch.enqueue(0, 0, Thing::cell(0).queue(2), &mut drops);
    assert_eq!((switch.backlog(0).items, drops.len()), (30, 21));
}
