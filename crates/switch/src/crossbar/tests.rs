#![allow(clippy::unwrap_used)]
use super::*;
use crate::tests::{Thing, cells};
use crate::{Counts, Settings, Switch};
use delaylab_model::path::{self, Discipline, Pool};
use delaylab_model::quantity::{Limit, Rate, Share, Size};
use proptest::prelude::*;

fn settings(scheduler: Kind, iterations: u32) -> Settings {
    cells(|switch| {
        switch.buffer = Some(Limit::Cells(1_000));
        switch.crossbar = Some(path::Crossbar {
            scheduler,
            iterations: Some(iterations),
        });
    })
}

/// Cells through each output in a cell time while no input ever lacks one: of one FIFO each next cell is for an output
/// drawn at random, of virtual output queues none runs dry.
fn saturated(scheduler: Kind, iterations: u32, ports: usize, slots: u32) -> f64 {
    let mut switch = Switch::new(&settings(scheduler, iterations), ports, 3);
    let mut random = SplitMix::new(9);
    let mut drops = Vec::new();
    let cell = |ingress: usize| Thing {
        ingress: ingress as u16,
        ..Thing::cell(0)
    };
    for ingress in 0..ports {
        for egress in 0..ports {
            let to = match scheduler {
                Kind::Fifo => random.below(ports),
                Kind::Pim | Kind::Islip => egress,
            };
            switch.enqueue(0, to, cell(ingress), &mut drops);
        }
    }
    let mut passed = 0;
    for slot in 0..slots {
        switch.cross(0, &mut drops);
        for egress in 0..ports {
            while let Some(Thing { ingress, .. }) = switch.dequeue(0, egress, &mut drops) {
                passed += u32::from(slot >= slots / 10);
                let to = match scheduler {
                    Kind::Fifo => random.below(ports),
                    Kind::Pim | Kind::Islip => egress,
                };
                switch.enqueue(0, to, cell(usize::from(ingress)), &mut drops);
            }
        }
    }
    assert_eq!(drops, []);
    f64::from(passed) / f64::from(slots - slots / 10) / ports as f64
}

#[test]
fn one_fifo_an_input_passes_what_karol_says() {
    // Table I of Karol et al. for 2 to 8 ports; for many 2 − √2, which 32 ports are within 1 % of.
    let printed = [
        (2, 0.75),
        (3, 0.6825),
        (4, 0.6553),
        (6, 0.6302),
        (8, 0.6184),
        (32, 0.592),
    ];
    for (ports, expected) in printed {
        let seen = saturated(Kind::Fifo, 1, ports, 20_000);
        println!("FIFO of {ports} ports: {seen:.4}, {expected} printed");
        assert!((seen - expected).abs() < 0.006, "{ports}: {seen}");
    }
}

#[test]
fn virtual_output_queues_pass_all() {
    for ports in [2, 4, 16] {
        let [pim, islip] = [Kind::Pim, Kind::Islip].map(|kind| saturated(kind, 4, ports, 3_000));
        println!("{ports} ports, four iterations: PIM {pim:.4}, iSLIP {islip:.4}");
        assert!(pim > 0.99 && islip > 0.999, "{ports}: {pim} {islip}");
    }
    // One iteration at random: every output leaves an input out with (1 − 1/n)ⁿ.
    let once = saturated(Kind::Pim, 1, 16, 3_000);
    let expected = 1.0 - (1.0_f64 - 1.0 / 16.0).powi(16);
    println!("16 ports, one iteration of PIM: {once:.4}, {expected:.4} by reckoning");
    assert!((once - expected).abs() < 0.005, "{once}");
}

#[test]
fn a_full_input_refuses_its_own_cells_alone() {
    let mut switch = Switch::new(&settings(Kind::Pim, 4), 2, 1);
    let mut drops = Vec::new();
    let from = |ingress| Thing {
        ingress,
        ..Thing::cell(0)
    };
    for _ in 0..1_001 {
        switch.enqueue(0, 0, from(0), &mut drops);
    }
    assert_eq!(drops.len(), 1);
    assert!(!switch.has_room(0, &from(0)) && switch.has_room(0, &from(1)));
    // What has crossed is in no input's buffer.
    switch.cross(0, &mut drops);
    assert!(switch.has_room(0, &from(0)));
    assert_eq!(switch.backlog(0).items, 1_000);
    // Nothing more crosses to an output where something waits.
    switch.cross(0, &mut drops);
    assert_eq!(switch.crossed(0).items, 1);
    // A reset takes everything.
    let mut taken = 0;
    while switch.give_up(0, 0, &mut drops).is_some() {
        taken += 1;
    }
    assert_eq!((taken, switch.backlog(0).items), (1_000, 0));
}

#[test]
fn what_goes_with_a_crossbar_is_checked() {
    let read = |change: fn(&mut path::Switch), counts| {
        let mut switch = path::Switch {
            crossbar: Some(path::Crossbar {
                scheduler: Kind::Pim,
                iterations: None,
            }),
            ..path::Switch::default()
        };
        change(&mut switch);
        Settings::read(&switch, counts, &["a"]).map_err(|wrong| wrong.field)
    };
    let alone = read(|_| {}, Counts::Cells).unwrap();
    assert_eq!(alone.crossbar.map(|crossbar| crossbar.iterations), Some(4));
    assert!(read(|switch| switch.pool = Some(Pool::Input), Counts::Cells).is_ok());
    type Change = fn(&mut path::Switch);
    let wrong: [(Change, &str); 7] = [
        (|switch| switch.pool = Some(Pool::Shared), "pool"),
        (|switch| switch.alpha = Some(Share::WHOLE), "alpha"),
        (
            |switch| switch.queue_buffer = Some(Limit::Cells(9)),
            "queue_buffer",
        ),
        (
            |switch| switch.discipline = Some(Discipline::Efci),
            "crossbar",
        ),
        (|switch| switch.shaper = Some(bucket()), "crossbar"),
        (
            |switch| {
                switch.discipline = Some(Discipline::PerFlow);
                switch.crossbar = Some(path::Crossbar {
                    scheduler: Kind::Fifo,
                    iterations: None,
                });
            },
            "crossbar.scheduler",
        ),
        (
            |switch| {
                switch.crossbar = Some(path::Crossbar {
                    scheduler: Kind::Islip,
                    iterations: Some(0),
                })
            },
            "crossbar.iterations",
        ),
    ];
    for (change, field) in wrong {
        assert_eq!(read(change, Counts::Cells).unwrap_err(), field);
    }
    assert_eq!(read(|_| {}, Counts::Packets).unwrap_err(), "crossbar");
}

const fn bucket() -> path::TokenBucket {
    path::TokenBucket {
        rate: Rate(1_000),
        burst: Size(1_000),
        ceil: None,
        ceil_burst: None,
        header: None,
    }
}

proptest! {
    /// Whatever comes leaves once, in its order within a flow.
    #[test]
    fn nothing_is_lost_or_out_of_order(
        steps in prop::collection::vec((0_u32..3, 0_usize..3, any::<bool>()), 1..300),
        kind in prop::sample::select(vec![Kind::Fifo, Kind::Pim, Kind::Islip]),
    ) {
        let mut switch = Switch::new(&settings(kind, 2), 3, 5);
        let (mut drops, mut out) = (Vec::new(), Vec::new());
        let mut sent = 0;
        for (ingress, egress, cross) in &steps {
            let cell = Thing { ingress: *ingress as u16, ..Thing::cell(ingress * 3 + *egress as u32) };
            switch.enqueue(0, *egress, cell.number(sent), &mut drops);
            sent += 1;
            if *cross {
                switch.cross(0, &mut drops);
                out.extend((0..3).filter_map(|egress| switch.dequeue(0, egress, &mut drops)));
            }
        }
        let held: u64 = (0..3).map(|egress| switch.backlog(egress).items).sum();
        prop_assert_eq!(out.len() as u64 + held, u64::from(sent));
        while switch.waits_at_inputs() {
            switch.cross(0, &mut drops);
            out.extend((0..3).filter_map(|egress| switch.dequeue(0, egress, &mut drops)));
        }
        prop_assert_eq!(drops.len(), 0);
        prop_assert_eq!(out.len() as u32, sent);
        for flow in 0..9 {
            let of_it: Vec<_> = out.iter().filter(|cell| cell.flow == flow).map(|cell| cell.number).collect();
            prop_assert!(of_it.is_sorted());
        }
    }
}
