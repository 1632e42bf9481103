#![allow(clippy::unwrap_used)]
use super::*;
use crate::buffer::Owner;
use crate::discipline::{codel, fifo::Mark, fq_codel, red};
use delaylab_model::path::{Discipline, Pool};
use delaylab_model::quantity::{Duration, Limit, Rate, Share, Size};
use proptest::prelude::*;

const QUEUES: &[&str] = &["control", "ef", "scavenger"];

fn read(counts: Counts, change: impl FnOnce(&mut path::Switch)) -> Result<Settings, Refusal> {
    let mut switch = path::Switch::default();
    change(&mut switch);
    Settings::read(&switch, counts, QUEUES)
}

fn of(discipline: Discipline) -> path::Switch {
    path::Switch {
        discipline: Some(discipline),
        ..path::Switch::default()
    }
}

const fn percent(share: u64) -> Share {
    Share(share * Share::WHOLE.0 / 100)
}

#[test]
fn nothing_said_is_a_fifo_with_a_usual_buffer() {
    let packets = read(Counts::Packets, |_| {}).unwrap();
    assert_eq!(packets.kind, Kind::Fifo { mark: None });
    assert_eq!(packets.memory, Memory::of_each_output(Bound::items(1_000)));
    let cells = read(Counts::Cells, |_| {}).unwrap();
    assert_eq!(cells.memory.size, Bound::items(13_000));
    assert_eq!(cells.discard, Discard::Cells);
}

#[test]
fn each_discipline_has_its_defaults() {
    let kind = |counts, discipline| {
        let read = Settings::read(&of(discipline), counts, QUEUES).unwrap();
        (read.kind, read.memory.size)
    };
    let (codel, size) = kind(Counts::Packets, Discipline::FqCoDel);
    let expected = fq_codel::Parameters {
        codel: codel::Parameters {
            target: 5_000_000_000,
            interval: 100_000_000_000,
            largest: 0,
        },
        quantum: 1_514,
        queues: 1_024,
        near_empty: path::NearEmpty::Flow,
    };
    assert_eq!(
        (codel, size),
        (Kind::FqCoDel(expected), Bound::items(10_240))
    );
    let (efci, size) = kind(Counts::Cells, Discipline::Efci);
    let (above, at) = (Bound::items(500), AbrMark::Departure);
    let mark = Some(Mark { above, at });
    assert_eq!((efci, size), (Kind::Fifo { mark }, Bound::UNLIMITED));
    let red = red::Parameters::between(5, 15, red::Unit::Items);
    assert_eq!(kind(Counts::Packets, Discipline::Red).0, Kind::Red(red));
    let drr = |quantum| Kind::Drr { quantum };
    assert_eq!(kind(Counts::Cells, Discipline::Drr).0, drr(53));
    assert_eq!(kind(Counts::Packets, Discipline::Drr).0, drr(1_514));
    let flows = Weights::new(By::Flow, Vec::new());
    assert_eq!(kind(Counts::Packets, Discipline::Wfq).0, Kind::Wfq(flows));
}

/// A line behind this one may have more framing, as DSL has, and this one less than the 14 B that the kernel counts.
#[test]
fn a_bucket_counts_its_header_whatever_the_framing() {
    for (header, framing, uncounted) in [
        (None, 38, 24),
        (None, 2, -12),
        (Some(0), 38, 38),
        (Some(38), 38, 0),
        (Some(60), 38, -22),
        (Some(100), 2, -98),
    ] {
        let switch = path::Switch {
            shaper: Some(path::TokenBucket {
                rate: Rate(1_000_000),
                burst: Size(10_000),
                ceil: None,
                ceil_burst: None,
                header: header.map(Size),
            }),
            ..path::Switch::default()
        };
        let settings = Settings::read(&switch, Counts::Packets, QUEUES).unwrap();
        let shaper = settings.with_framing(framing, &switch).shaper.unwrap();
        assert_eq!(shaper.uncounted, uncounted, "{header:?} {framing}");
    }
}

#[test]
fn framing_is_taken_off_before_cakes_overhead_is_added() {
    let switch = cake(|cake| cake.overhead = Some(Size(44)));
    let settings = Settings::read(&switch, Counts::Packets, QUEUES).unwrap();
    let Kind::Cake(cake) = settings.with_framing(38, &switch).kind else {
        panic!("cake was asked for")
    };
    assert_eq!((cake.overhead, cake.least, cake.rate), (6, 0, None));
    assert_eq!(
        (cake.target, cake.interval),
        (5_000_000_000, 100_000_000_000)
    );
}

/// sch_cake's `cake_reconfigure`: four usual round trips of the rate, from 4 MiB to 10,240 packets.
#[test]
fn cake_holds_four_round_trips_of_its_rate() {
    let size = |rate: Option<u64>, rtt: Option<Duration>| {
        let switch = cake(|cake| (cake.rate, cake.rtt) = (rate.map(Rate), rtt));
        let settings = Settings::read(&switch, Counts::Packets, QUEUES).unwrap();
        settings.memory.size.bytes
    };
    assert_eq!(size(Some(19_000_000), None), 4 << 20);
    assert_eq!(size(Some(200_000_000), None), 10_000_000);
    assert_eq!(
        size(Some(200_000_000), Some(Duration(50_000_000))),
        5_000_000
    );
    assert_eq!(size(Some(10_000_000_000), None), 10_240 * 1_514);
    assert_eq!(size(None, None), 10_240 * 1_514);
}

#[test]
fn cake_holds_no_more_than_its_packets_of_the_link() {
    let held = |switch: &path::Switch, packet: u32| {
        let settings = Settings::read(switch, Counts::Packets, QUEUES).unwrap();
        let settings = settings.with_largest(packet, packet + 38, switch);
        settings.memory.size.bytes
    };
    assert_eq!(held(&of(Discipline::Cake), 9_000), 10_240 * 9_014);
    let slow = cake(|cake| cake.rate = Some(Rate(1_000_000)));
    assert_eq!(held(&slow, 1_500), 4 << 20);
    assert_eq!(held(&slow, 68), 10_240 * 82);
    let mut given = slow;
    given.buffer = Some(Limit::Bytes(5_000));
    assert_eq!(held(&given, 9_000), 5_000);
}

#[test]
fn what_counts_the_largest_packet_knows_that_of_the_links() {
    let read = |switch: &path::Switch| {
        let settings = Settings::read(switch, Counts::Packets, QUEUES).unwrap();
        settings.with_largest(9_000, 9_038, switch).kind
    };
    let Kind::CoDel(codel) = read(&of(Discipline::CoDel)) else {
        panic!("codel was asked for")
    };
    assert_eq!(codel.largest, 9_038);
    let Kind::FqCoDel(fq) = read(&of(Discipline::FqCoDel)) else {
        panic!("fq-codel was asked for")
    };
    assert_eq!((fq.codel.largest, fq.quantum), (9_038, 9_014));
    let Kind::Cake(cake) = read(&of(Discipline::Cake)) else {
        panic!("cake was asked for")
    };
    assert_eq!(cake.largest, 9_014);
    let given = path::Switch {
        quantum: Some(Size(300)),
        ..of(Discipline::FqCoDel)
    };
    assert!(matches!(read(&given), Kind::FqCoDel(fq) if fq.quantum == 300));
}

#[test]
fn seed_003_s_switches_read_as_they_are_meant() {
    let asx = read(Counts::Cells, |switch| {
        switch.discipline = Some(Discipline::PerFlow);
        switch.buffer = Some(Limit::Cells(13_000));
        switch.pool = Some(Pool::Shared);
    });
    let asx = asx.unwrap();
    assert_eq!(asx.kind, Kind::PerFlow);
    assert_eq!(asx.memory.owner, Owner::Shared { alpha: None });
    let abr = read(Counts::Cells, |switch| {
        switch.discipline = Some(Discipline::Efci);
        switch.buffer = Some(Limit::Unlimited);
        switch.threshold = Some(Limit::Cells(400));
    });
    let abr = abr.unwrap().with_mark(AbrMark::Arrival);
    let (above, at) = (Bound::items(400), AbrMark::Arrival);
    assert_eq!(
        abr.kind,
        Kind::Fifo {
            mark: Some(Mark { above, at })
        }
    );
    assert_eq!(abr.memory.share, Bound::UNLIMITED);
}

#[test]
fn shares_are_of_the_buffer_and_weights_have_names() {
    let settings = read(Counts::Packets, |switch| {
        switch.buffer = Some(Limit::Bytes(65_536));
        switch.threshold = Some(Limit::Share(percent(50)));
        switch.discipline = Some(Discipline::Wrr);
        switch.weights = [("scavenger".to_owned(), 1), ("ef".to_owned(), 8)].into();
    });
    let settings = settings.unwrap();
    assert_eq!(settings.memory.share, Bound::bytes(32_768));
    assert_eq!(
        settings.kind,
        Kind::Wrr(Weights::new(By::Queue, vec![1, 8, 1]))
    );
}

#[test]
fn alpha_alone_shares_the_buffer() {
    let settings = read(Counts::Cells, |switch| switch.alpha = Some(percent(100))).unwrap();
    let alpha = Some(percent(100));
    assert_eq!(settings.memory.owner, Owner::Shared { alpha });
}

#[test]
fn equal_red_limits_are_dctcp_s_k() {
    let settings = read(Counts::Packets, |switch| {
        switch.discipline = Some(Discipline::Red);
        switch.red = Some(path::Red {
            min: Limit::Packets(65),
            max: Limit::Packets(65),
            probability: percent(100),
        });
    });
    let Kind::Red(red) = settings.unwrap().kind else {
        panic!("red was asked for")
    };
    assert_eq!((red.min, red.max, red.unit), (65, 65, red::Unit::Items));
}

/// A table of RED with one thing changed.
fn red(change: impl FnOnce(&mut path::Red)) -> path::Switch {
    let mut red = path::Red {
        min: Limit::Packets(5),
        max: Limit::Packets(15),
        probability: percent(10),
    };
    change(&mut red);
    path::Switch {
        red: Some(red),
        ..of(Discipline::Red)
    }
}

fn codel(target: i64, interval: i64) -> path::Switch {
    path::Switch {
        codel: Some(path::CoDel {
            target: Duration(target),
            interval: Duration(interval),
        }),
        ..of(Discipline::CoDel)
    }
}

/// A table of PIE with one thing changed.
fn pie(change: impl FnOnce(&mut path::Pie)) -> path::Switch {
    let mut pie = path::Pie::default();
    change(&mut pie);
    path::Switch {
        pie: Some(pie),
        ..of(Discipline::Pie)
    }
}

/// The same of DualPI2.
fn dual_pi2(change: impl FnOnce(&mut path::DualPi2)) -> path::Switch {
    let mut dual = path::DualPi2::default();
    change(&mut dual);
    path::Switch {
        dualpi2: Some(dual),
        ..of(Discipline::DualPi2)
    }
}

/// The same of CAKE.
fn cake(change: impl FnOnce(&mut path::Cake)) -> path::Switch {
    let mut cake = path::Cake::default();
    change(&mut cake);
    path::Switch {
        cake: Some(cake),
        ..of(Discipline::Cake)
    }
}

/// PFC with one thing changed.
fn pfc(change: impl FnOnce(&mut path::FlowControl)) -> path::Switch {
    let mut flow_control = path::FlowControl {
        kind: path::FlowControlKind::Pfc,
        priorities: vec!["ef".to_owned()],
        xoff: Size(20_000),
        xon: None,
        headroom: None,
        quanta: None,
        response: None,
    };
    change(&mut flow_control);
    path::Switch {
        flow_control: Some(flow_control),
        ..of(Discipline::Priority)
    }
}

#[test]
fn priorities_have_the_names_of_class_queues() {
    let read = |switch: &path::Switch| Settings::read(switch, Counts::Packets, QUEUES).unwrap();
    let settings = read(&pfc(|_| {}));
    let place = QUEUES.iter().position(|queue| *queue == "ef").unwrap();
    assert_eq!(settings.flow_control.unwrap().lossless, 1 << place);
    assert_eq!(settings.memory.owner, Owner::Guarded);
    let all = read(&pfc(|flow| flow.priorities.clear()));
    assert_eq!(all.flow_control.unwrap().lossless, u8::MAX);
}

fn weighed(name: &str, weight: u32) -> path::Switch {
    path::Switch {
        weights: [(name.to_owned(), weight)].into(),
        ..of(Discipline::Wfq)
    }
}

fn plain(change: impl FnOnce(&mut path::Switch)) -> path::Switch {
    let mut switch = path::Switch::default();
    change(&mut switch);
    switch
}

/// What is wrong, where, and a word of the remedy. Links carry packets.
fn wrongs() -> Vec<(path::Switch, &'static str, &'static str)> {
    let buffer = |limit| plain(|switch| switch.buffer = Some(limit));
    let threshold = |limit| plain(|switch| switch.threshold = Some(limit));
    let alpha = |share| plain(|switch| switch.alpha = Some(share));
    let pool = |mut switch: path::Switch, pool| {
        switch.pool = Some(pool);
        switch
    };
    let endless = |mut switch: path::Switch| {
        switch.buffer = Some(Limit::Unlimited);
        switch
    };
    let quantum = |bytes| path::Switch {
        quantum: Some(Size(bytes)),
        ..of(Discipline::Drr)
    };
    vec![
        (buffer(Limit::Packets(0)), "buffer", "unlimited"),
        (buffer(Limit::Bytes(0)), "buffer", "unlimited"),
        (buffer(Limit::Cells(10)), "buffer", "packets or bytes"),
        (buffer(Limit::Share(percent(50))), "buffer", "threshold"),
        (threshold(Limit::Packets(1_001)), "threshold", "lower it"),
        (
            threshold(Limit::Share(percent(101))),
            "threshold",
            "lower it",
        ),
        (
            threshold(Limit::Share(percent(0))),
            "threshold",
            "more than 0",
        ),
        (threshold(Limit::Packets(0)), "threshold", "more than 0"),
        (
            endless(threshold(Limit::Share(percent(5)))),
            "threshold",
            "`buffer`",
        ),
        (
            pool(threshold(Limit::Packets(9)), Pool::Input),
            "threshold",
            "`pool`",
        ),
        (alpha(Share(0)), "alpha", "more than 0"),
        (pool(alpha(percent(50)), Pool::Output), "alpha", "shared"),
        (endless(alpha(percent(50))), "alpha", "`buffer`"),
        (
            endless(pool(alpha(percent(50)), Pool::Shared)),
            "alpha",
            "`buffer`",
        ),
        (of(Discipline::KernelTbf), "discipline", "fifo"),
        (of(Discipline::KernelHtb), "discipline", "fifo"),
        (of(Discipline::Efci), "threshold", "missing"),
        (of(Discipline::ExplicitRate), "threshold", "missing"),
        (of(Discipline::Credit), "credit", "n2 and n3"),
        (
            pool(of(Discipline::FqCoDel), Pool::Shared),
            "pool",
            "leave `pool`",
        ),
        (weighed("ef", 0), "weights", "give it 1"),
        (weighed("gold", 1), "weights", "control, ef, scavenger"),
        (quantum(0), "quantum", "packet's size"),
        (quantum(1 << 40), "quantum", "packet's size"),
        (codel(0, 1_000), "codel.target", "above 0"),
        (codel(1_000, i64::MAX), "codel.interval", "213 days"),
        (codel(1_000, 1_000), "codel.target", "5 to 10 %"),
        (
            pool(of(Discipline::Cake), Pool::Shared),
            "pool",
            "leave `pool`",
        ),
        (
            pie(|pie| pie.target = Some(Duration(0))),
            "pie.target",
            "above 0",
        ),
        (
            pie(|pie| pie.mark_up_to = Some(percent(101))),
            "pie.mark_up_to",
            "100 %",
        ),
        (
            dual_pi2(|dual| dual.coupling = Some(0)),
            "dualpi2.coupling",
            "2 is usual",
        ),
        (
            dual_pi2(|dual| dual.mark_from = Some(Duration(2_000_000))),
            "dualpi2.mark_from",
            "lower it",
        ),
        (
            dual_pi2(|dual| dual.classic_share = Some(percent(0))),
            "dualpi2.classic_share",
            "above 0 %",
        ),
        (
            pfc(|flow| flow.xoff = Size(0)),
            "flow_control.xoff",
            "more than 0",
        ),
        (
            pfc(|flow| flow.xon = Some(Size(20_001))),
            "flow_control.xon",
            "lower it",
        ),
        (
            pfc(|flow| flow.kind = path::FlowControlKind::Pause),
            "flow_control.priorities",
            "PAUSE stops all",
        ),
        (
            pfc(|flow| flow.priorities.push("gold".to_owned())),
            "flow_control.priorities",
            "control, ef, scavenger",
        ),
        (
            pfc(|flow| flow.response = Some(Duration(-1))),
            "flow_control.response",
            "microseconds",
        ),
        (
            pool(pfc(|_| {}), Pool::Shared),
            "pool",
            "at each output port",
        ),
        (
            path::Switch {
                discipline: Some(Discipline::CoDel),
                ..pfc(|_| {})
            },
            "flow_control",
            "drop what flow control keeps",
        ),
        (
            path::Switch {
                reset: Some(path::Reset {
                    at: Duration(1),
                    lasts: Duration(1),
                }),
                ..pfc(|_| {})
            },
            "reset",
            "leave one of the two out",
        ),
        (
            cake(|cake| cake.rate = Some(Rate(0))),
            "cake.rate",
            "more than 0",
        ),
        (
            cake(|cake| cake.overhead = Some(Size(1_000_000))),
            "cake",
            "65,535",
        ),
        (
            red(|red| red.min = Limit::Packets(16)),
            "red.min",
            "three times",
        ),
        (
            red(|red| red.max = Limit::Packets(1_001)),
            "red.max",
            "enlarge",
        ),
        (red(|red| red.max = Limit::Bytes(9)), "red", "one unit"),
        (red(|red| red.max = Limit::Unlimited), "red", "limits"),
        (
            red(|red| red.probability = percent(0)),
            "red.probability",
            "100 %",
        ),
        (
            red(|red| red.probability = percent(101)),
            "red.probability",
            "100 %",
        ),
    ]
}

#[test]
fn what_is_wrong_is_refused_by_name_and_with_its_remedy() {
    for (switch, field, remedy) in wrongs() {
        let wrong = Settings::read(&switch, Counts::Packets, QUEUES).unwrap_err();
        assert_eq!(wrong.field, field, "{wrong}");
        assert!(wrong.reason.contains(remedy), "{wrong}");
    }
}

#[test]
fn cells_have_wrongs_of_their_own() {
    let wrong = |switch: path::Switch| {
        let wrong = Settings::read(&switch, Counts::Cells, QUEUES).unwrap_err();
        wrong.field
    };
    assert_eq!(wrong(of(Discipline::Red)), "red");
    assert_eq!(
        wrong(plain(|switch| switch.buffer = Some(Limit::Packets(10)))),
        "buffer"
    );
    let never = |switch: &mut path::Switch| switch.threshold = Some(Limit::Unlimited);
    let mut efci = of(Discipline::Efci);
    never(&mut efci);
    assert_eq!(wrong(efci), "threshold");
    let credit = |n2| path::Switch {
        credit: Some(path::Credit { n2, n3: 20 }),
        ..of(Discipline::Credit)
    };
    assert_eq!(wrong(credit(0)), "credit.n2");
    assert!(Settings::read(&credit(1), Counts::Cells, QUEUES).is_ok());
    assert_eq!(wrong(of(Discipline::DualPi2)), "discipline");
    assert_eq!(wrong(of(Discipline::Cake)), "discipline");
    let packets = Settings::read(&credit(1), Counts::Packets, QUEUES);
    assert_eq!(packets.unwrap_err().field, "discipline");
}

#[test]
fn tables_of_other_disciplines_may_stand_beside() {
    let settings = read(Counts::Packets, |switch| {
        *switch = red(|_| {});
        switch.discipline = Some(Discipline::PerFlow);
        switch.quantum = Some(Size(0));
    });
    assert_eq!(settings.unwrap().kind, Kind::PerFlow);
}

fn limit() -> impl Strategy<Value = Limit> {
    let small_or_any = || prop_oneof![0_u64..100, any::<u64>()];
    prop_oneof![
        small_or_any().prop_map(Limit::Bytes),
        small_or_any().prop_map(Limit::Cells),
        small_or_any().prop_map(Limit::Packets),
        small_or_any().prop_map(|share| Limit::Share(Share(share))),
        Just(Limit::Unlimited),
    ]
}

proptest! {
    #[test]
    fn no_limits_panic(
        buffer in limit(),
        threshold in limit(),
        min in limit(),
        max in limit(),
        alpha in any::<u64>(),
    ) {
        for discipline in [Discipline::Fifo, Discipline::Efci, Discipline::Red] {
            let probability = Share(alpha);
            let switch = path::Switch {
                discipline: Some(discipline),
                buffer: Some(buffer),
                threshold: Some(threshold),
                alpha: Some(Share(alpha)),
                red: Some(path::Red { min, max, probability }),
                ..path::Switch::default()
            };
            for counts in [Counts::Cells, Counts::Packets] {
                let _ = Settings::read(&switch, counts, QUEUES);
            }
        }
    }
}

/// RFC 9332, figure 2.
#[test]
fn dualpi2_is_updated_as_its_target_and_round_trips_ask() {
    let update = |change: fn(&mut path::DualPi2)| {
        let read = Settings::read(&dual_pi2(change), Counts::Packets, QUEUES).unwrap();
        match read.kind {
            Kind::DualPi2(parameters) => parameters.update / 1_000_000_000,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(update(|_| {}), 16);
    assert_eq!(update(|dual| dual.target = Some(Duration(2_000_000))), 2);
    assert_eq!(
        update(|dual| dual.largest_rtt = Some(Duration(3_000_000))),
        1
    );
    assert_eq!(update(|dual| dual.update = Some(Duration(5_000_000))), 5);
}
