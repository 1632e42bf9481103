//! Nothing is lost or made up, whatever the discipline, the buffer and the traffic.

use super::*;
use crate::buffer::{Bound, Memory, Owner};
use crate::discard::Discard;
use crate::discipline::fifo::Mark;
use crate::discipline::{cake, codel, dual_pi2, fq_codel, pie, red};
use crate::settings::{By, Kind, Weights};
use delaylab_model::path::AbrMark;
use delaylab_model::quantity::Share;
use proptest::prelude::*;
use std::collections::BTreeMap;

const PORTS: usize = 3;
const CODEL: codel::Parameters = codel::Parameters {
    target: 50,
    interval: 400,
    largest: 0,
};
const CAKE: cake::Parameters = cake::Parameters {
    rate: None,
    overhead: 20,
    least: 64,
    tins: path::CakeTins::DiffServ4,
    isolation: path::Isolation::Triple,
    target: 50,
    interval: 400,
    largest: 1_514,
    quantum: Some(300),
};

fn kinds() -> Vec<Kind> {
    let weights = |by| Weights::new(by, vec![3, 1, 2]);
    let above = Bound::items(4);
    let (arrival, departure) = (AbrMark::Arrival, AbrMark::Departure);
    let mark = |at| Some(Mark { above, at });
    let with_parameters = [
        Kind::Fifo {
            mark: mark(arrival),
        },
        Kind::Fifo {
            mark: mark(departure),
        },
        Kind::ExplicitRate { threshold: above },
        Kind::Wrr(weights(By::Flow)),
        Kind::Wrr(weights(By::Queue)),
        Kind::Wfq(weights(By::Flow)),
        Kind::Wfq(weights(By::Queue)),
        Kind::Drr { quantum: 300 },
        Kind::Credit(path::Credit { n2: 2, n3: 3 }),
        Kind::Red(red::Parameters::between(2, 6, red::Unit::Items)),
        Kind::Red(red::Parameters::step(700, red::Unit::Bytes)),
        Kind::CoDel(CODEL),
        Kind::FqCoDel(fq_codel::Parameters {
            codel: CODEL,
            quantum: 300,
            queues: 4,
            near_empty: path::NearEmpty::Flow,
        }),
        Kind::FqCoDel(fq_codel::Parameters {
            codel: CODEL,
            quantum: 300,
            queues: 4,
            near_empty: path::NearEmpty::All,
        }),
        Kind::Pie(pie::Parameters {
            target: 50,
            update: 20,
            burst: 100,
            mark_up_to: 0.1,
        }),
        Kind::DualPi2(dual_pi2::Parameters {
            target: 50,
            update: 20,
            largest_rtt: 400,
            coupling: 2.0,
            mark_from: 30,
            mark_all_from: 60,
            classic_share: 0.1,
        }),
        Kind::Cake(CAKE),
        Kind::Cake(cake::Parameters {
            rate: Some(200_000_000_000_000),
            tins: path::CakeTins::BestEffort,
            isolation: path::Isolation::Flows,
            ..CAKE
        }),
    ];
    let all = path::Discipline::ALL.into_iter();
    all.filter_map(Kind::without_parameters)
        .chain(with_parameters)
        .collect()
}

fn memories() -> Vec<Memory> {
    let of = |owner, size, share| Memory {
        size,
        owner,
        share,
        longest_gives_way: false,
    };
    let giving_way = |size| Memory {
        longest_gives_way: true,
        ..Memory::of_each_output(size)
    };
    let (items, bytes) = (Bound::items(12), Bound::bytes(3_000));
    let alpha = Some(Share(500_000_000));
    vec![
        of(Owner::Output, items, Bound::UNLIMITED),
        giving_way(items),
        giving_way(bytes),
        of(Owner::Output, bytes, Bound::items(5)),
        of(Owner::Input, items, Bound::UNLIMITED),
        of(Owner::Shared { alpha: None }, bytes, Bound::bytes(1_000)),
        of(Owner::Shared { alpha }, items, Bound::UNLIMITED),
        of(Owner::Shared { alpha }, bytes, Bound::UNLIMITED),
    ]
}

/// One step of the traffic.
#[derive(Debug, Clone)]
enum Step {
    Put(usize, Thing),
    Take(usize),
}

fn thing() -> impl Strategy<Value = Thing> {
    let pdu = prop_oneof![Just(Pdu::Apart), Just(Pdu::Part), Just(Pdu::End)];
    (0_u32..6, 1_u32..900, 0_u16..3, any::<bool>(), pdu).prop_map(
        |(flow, bytes, ingress, ecn, pdu)| Thing {
            queue: (flow % 3) as u8,
            ingress,
            ecn,
            low_latency: flow % 2 == 1,
            dscp: [0, 8, 34, 46][flow as usize % 4],
            pdu,
            ..Thing::cell(flow).bytes(bytes)
        },
    )
}

fn steps() -> impl Strategy<Value = Vec<(u64, Step)>> {
    let put = (0..PORTS, thing()).prop_map(|(port, thing)| Step::Put(port, thing));
    let step = prop_oneof![5 => put, 4 => (0..PORTS).prop_map(Step::Take)];
    prop::collection::vec((0_u64..60, step), 1..400)
}

/// What went in and came out.
#[derive(Default)]
struct Ledger {
    put: Vec<(usize, Thing)>,
    taken: Vec<(usize, Thing)>,
    drops: Vec<Dropped<Thing>>,
}

/// Puts and takes as told, and checks the switch after each step.
fn run(settings: &Settings, steps: &[(u64, Step)]) -> Ledger {
    let mut switch = Switch::new(settings, PORTS, 1);
    (0..6).for_each(|flow| switch.tell_hosts(flow, [flow % 2, flow % 3]));
    let mut ledger = Ledger::default();
    let mut now = 0;
    for (gap, step) in steps {
        now += gap;
        match step {
            Step::Put(port, thing) => {
                let thing = thing.number(ledger.put.len() as u32);
                ledger.put.push((*port, thing));
                switch.enqueue(now, *port, thing, &mut ledger.drops);
            }
            Step::Take(port) => take_one(&mut switch, settings, now, *port, &mut ledger),
        }
        balances(&switch, &ledger);
        keeps_to_its_limits(&switch, settings, &ledger);
    }
    ledger
}

/// May it hold back what it has?
fn waits(kind: &Kind) -> bool {
    match kind {
        Kind::Credit(_) => true,
        Kind::Cake(cake) => cake.rate.is_some(),
        _ => false,
    }
}

fn take_one(
    switch: &mut Switch<Thing>,
    settings: &Settings,
    now: Picos,
    port: usize,
    ledger: &mut Ledger,
) {
    let held = switch.backlog(port).items;
    let before = ledger.drops.len();
    match switch.dequeue(now, port, &mut ledger.drops) {
        Some(item) => ledger.taken.push((port, item)),
        None => {
            let dropped = (ledger.drops.len() - before) as u64;
            let conserves_work = held == dropped;
            assert!(conserves_work || waits(&settings.kind));
        }
    }
}

fn total(switch: &Switch<Thing>) -> Backlog {
    (0..PORTS).fold(Backlog::default(), |sum, port| {
        let held = switch.backlog(port);
        Backlog {
            items: sum.items + held.items,
            bytes: sum.bytes + held.bytes,
        }
    })
}

fn balances(switch: &Switch<Thing>, ledger: &Ledger) {
    let bytes = |things: &[(usize, Thing)]| things.iter().map(|(_, t)| u64::from(t.bytes)).sum();
    let dropped: u64 = ledger.drops.iter().map(|d| u64::from(d.item.bytes)).sum();
    let (put, taken): (u64, u64) = (bytes(&ledger.put), bytes(&ledger.taken));
    let held = total(switch);
    assert_eq!(put, taken + dropped + held.bytes);
    let out = ledger.taken.len() + ledger.drops.len();
    assert_eq!(ledger.put.len() as u64, out as u64 + held.items);
}

fn keeps_to_its_limits(switch: &Switch<Thing>, settings: &Settings, ledger: &Ledger) {
    let size = settings.memory.size;
    match settings.memory.owner {
        Owner::Output | Owner::Guarded => {
            assert!((0..PORTS).all(|port| !size.exceeded(switch.backlog(port))));
        }
        Owner::Shared { .. } => assert!(!size.exceeded(total(switch))),
        Owner::Input => assert!(inputs(ledger).values().all(|held| !size.exceeded(*held))),
    }
}

/// What is held of each input port: put, and neither taken nor dropped.
fn inputs(ledger: &Ledger) -> BTreeMap<u16, Backlog> {
    let mut held: BTreeMap<u16, Backlog> = BTreeMap::new();
    for (_, thing) in &ledger.put {
        held.entry(thing.ingress).or_default().add(thing.bytes);
    }
    let taken = ledger.taken.iter().map(|(_, thing)| thing);
    for thing in taken.chain(ledger.drops.iter().map(|d| &d.item)) {
        held.entry(thing.ingress).or_default().remove(thing.bytes);
    }
    held
}

/// Flows keep their order, and nothing comes out twice or changed but for its mark.
fn is_in_order(ledger: &Ledger) {
    let mut last = BTreeMap::new();
    for (port, thing) in &ledger.taken {
        let (from, original) = ledger.put[thing.number as usize];
        let marked = original.ecn && thing.marked;
        assert_eq!((from, Thing { marked, ..original }), (*port, *thing));
        let before = last.insert((port, thing.flow), thing.number);
        assert!(before < Some(thing.number), "{before:?} before {thing:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn in_is_out_and_dropped_and_queued(steps in steps(), queue_share in 1_u64..20) {
        for kind in kinds() {
            for memory in memories() {
                let fq = matches!(kind, Kind::FqCoDel(_) | Kind::Cake(_));
                if fq && memory.owner != Owner::Output {
                    continue; // refused by Settings::read
                }
                let kind = kind.clone();
                let discard = Discard::Cells;
                let queue_share = Bound::items(queue_share);
                let settings = Settings { kind, memory, queue_share, discard, crossbar: None, shaper: None, policer: None, flow_control: None };
                let ledger = run(&settings, &steps);
                is_in_order(&ledger);
            }
        }
    }

    #[test]
    fn also_with_whole_pdus_dropped(steps in steps()) {
        for kind in kinds() {
            let from = Share(Share::WHOLE.0 / 2);
            for discard in [Discard::Partial, Discard::Early { from }] {
                let memory = Memory::of_each_output(Bound::items(12));
                let kind = kind.clone();
                let queue_share = Bound::UNLIMITED;
                is_in_order(&run(&Settings { kind, memory, queue_share, discard, crossbar: None, shaper: None, policer: None, flow_control: None }, &steps));
            }
        }
    }
}

#[test]
fn equal_seeds_make_equal_decisions() {
    let kind = Kind::Red(red::Parameters::between(2, 60, red::Unit::Items));
    let memory = Memory::of_each_output(Bound::items(100));
    let settings = Settings {
        kind,
        memory,
        queue_share: Bound::UNLIMITED,
        discard: Discard::Cells,
        crossbar: None,
        shaper: None,
        policer: None,
        flow_control: None,
    };
    let dropped = |seed| {
        let mut switch = Switch::new(&settings, 2, seed);
        let mut drops: Vec<Dropped<Thing>> = Vec::new();
        for number in 0..5_000 {
            let port = number as usize % 2;
            switch.enqueue(
                number.into(),
                port,
                Thing::cell(0).number(number),
                &mut drops,
            );
            if number % 5 != 0 {
                switch.dequeue(number.into(), port, &mut drops);
            }
        }
        let red = drops.iter().filter(|drop| drop.cause == Cause::Red);
        red.map(|drop| drop.item.number).collect::<Vec<_>>()
    };
    assert!(!dropped(1).is_empty());
    assert_eq!(dropped(1), dropped(1));
    assert_ne!(dropped(1), dropped(2));
}
