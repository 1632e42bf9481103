//! What is found in records, and how it reads.
#![allow(clippy::unwrap_used)]

use super::*;
use delaylab_model::method::Method;
use delaylab_model::plan::{Level, Unit};
use delaylab_model::record::Outcome;
use delaylab_model::trial::{RecordFacts, ReflectorClock, Residence};
use delaylab_model::{Nanos, record::Record};
use delaylab_stats::random::SplitMix;
use delaylab_stats::steps::Verdict;

/// A cell at 1 Mbit/s.
const CELL: f64 = 424_000.0;

fn member(trial: u32, factors: Vec<Factor>, clock: ReflectorClock) -> Member {
    Member {
        trial,
        probe: 0,
        name: "echo".to_owned(),
        factors,
        facts: RecordFacts {
            reflector_clock: clock,
            residence: Residence::ToDriver,
        },
        trace_hash: None,
    }
}

fn level(name: &str, bytes: u32) -> Factor {
    let level = Level {
        label: format!("{bytes}B"),
        value: Some(f64::from(bytes)),
        unit: Some(Unit::Bytes),
    };
    (name.to_owned(), level)
}

/// A packet with all stamps, the reflector's by a clock that is `offset` ahead and 20 ppm fast.
fn record(trial: u32, seq: u64, size: u32, [there, back]: [f64; 2], offset: f64) -> Record {
    let sent = 1_000_000_000 + (u64::from(trial) * 40 + seq) as Nanos * 5_000_000;
    let mut record = Record::due(trial, 0, seq, Method::Udp, sent);
    let arrived = sent + there as Nanos;
    let returned = arrived + 10_000;
    let drift = if offset > 0.0 { 2e-5 } else { 0.0 };
    let theirs = |at: Nanos| at + (offset + drift * at as f64) as Nanos;
    record.ip_size = Some(size);
    record.t_send = Some(sent);
    record.t_tx = Some(sent);
    record.r_rx = Some(theirs(arrived));
    record.r_tx = Some(theirs(returned));
    record.t_rx = Some(returned + back as Nanos);
    record.t_recv = record.t_rx;
    record.outcome = Outcome::Ok;
    record
}

/// Where no steps are to be placed to the byte: a quarter of them.
fn few() -> impl Iterator<Item = u32> {
    (40..=280).step_by(4)
}

/// Five packets of each size in random order of size, forward and return delay of each. A packet's size decides which stamps of
/// the reflector it carries.
fn swept_by(
    sizes: impl Iterator<Item = u32>,
    clock: impl Fn(u32) -> ReflectorClock,
    delay: impl Fn(u32, &mut SplitMix) -> [f64; 2],
) -> Vec<Sweep> {
    let mut random = SplitMix::new(1);
    let mut sizes: Vec<u32> = sizes.collect();
    for index in (1..sizes.len()).rev() {
        sizes.swap(index, random.below(index + 1));
    }
    let payload = |size: u32| level("payload", size - 28);
    let members = sizes.iter().zip(0..);
    let members = members.map(|(&size, trial)| member(trial, vec![payload(size)], clock(size)));
    let mut gatherer = Gatherer::new(members);
    let offset = |size| match clock(size) {
        ReflectorClock::Unrelated => 1e6,
        _ => 0.0,
    };
    for (&size, trial) in sizes.iter().zip(0..) {
        for seq in 0..5 {
            gatherer.push(&record(
                trial,
                seq,
                size,
                delay(size, &mut random),
                offset(size),
            ));
        }
    }
    gatherer.finish(1)
}

fn cells(size: u32) -> f64 {
    CELL * f64::from((size + 10).div_ceil(48))
}

#[test]
fn each_direction_has_its_rate() {
    // Each trial has its own bound of the same clock.
    let bounded = |size: u32| match size {
        ..100 => ReflectorClock::Same,
        _ => ReflectorClock::Bounded {
            error_ns: size.into(),
        },
    };
    let unrelated = |_| ReflectorClock::Unrelated;
    for clock in [bounded, unrelated] {
        let sweeps = swept_by(40..=280, clock, |size, random| {
            let noise = 30_000.0 * random.normal().abs();
            [4.0 * cells(size) + noise, 2e6 + cells(size) / 4.0 + noise]
        });
        let [sweep] = sweeps.as_slice() else {
            panic!("{} sweeps", sweeps.len())
        };
        assert!(sweep.factors.is_empty() && sweep.label() == "probe echo");
        let directions: Vec<_> = sweep.ways.iter().map(|way| way.direction).collect();
        assert_eq!(
            directions,
            [Direction::Both, Direction::Forward, Direction::Return],
            "{:?}",
            clock(40)
        );
        for (way, rate) in sweep
            .ways
            .iter()
            .zip(["471 kbit/s", "250 kbit/s", "4.00 Mbit/s"])
        {
            let Verdict::Steps(found) = &way.detection.verdict else {
                panic!("{:?} {}", clock(40), way.sentence());
            };
            assert_eq!((found.width, found.overhead), (48, 10));
            assert_eq!(candidates(found), ["PPPoA, VC-mux (10)"]);
            // The stairs go through the points, and up by a step at each riser.
            let fitted = way.fitted();
            assert_eq!(fitted.len(), 2 + 2 * 5, "{fitted:?}");
            let risers: Vec<u32> = fitted.iter().skip(2).step_by(2).map(|at| at.size).collect();
            assert_eq!(risers[..5], [87, 135, 183, 231, 279]);
            let said = way.sentence();
            let shown = line_rate(found, way.direction).unwrap();
            // To three digits, up to noise.
            let number = |text: &str| text.split(' ').next().unwrap().parse::<f64>().unwrap();
            assert!((number(&shown) / number(rate) - 1.0).abs() < 0.03, "{said}");
        }
    }
}

/// As in a simulation, in which the random numbers of a repeat are the same at every size: the queue behind a load is as smooth as
/// the line, and longer for packets of more cells.
#[test]
fn what_a_load_adds_to_every_size_alike_is_no_time_of_a_cell() {
    let packets = std::cell::Cell::new(0_u32);
    let clock = |_| ReflectorClock::Same;
    let sweeps = swept_by(40..=280, clock, |size, _| {
        let met = packets.replace(packets.get() + 1) % 5;
        [cells(size) * (1.0 + 0.2 * f64::from(met)), 1e6]
    });
    for (way, step) in sweeps[0].ways.iter().zip([CELL, CELL, 0.0]) {
        match &way.detection.verdict {
            Verdict::Steps(found) => assert!((found.step_ns - step).abs() < 1.0, "{found:?}"),
            _ => assert_eq!(step, 0.0, "{}", way.sentence()),
        }
    }
}

#[test]
fn without_cells_it_says_what_would_have_been_seen() {
    let clock = |_| ReflectorClock::None;
    let sweeps = swept_by(few(), clock, |size, random| {
        [1e6 + 160.0 * f64::from(size) + 2e3 * random.normal(), 1e6]
    });
    let [way] = sweeps[0].ways.as_slice() else {
        panic!("{sweeps:?}")
    };
    assert_eq!(way.answer(), Answer::NoCells);
    let said = way.sentence();
    assert!(
        said.starts_with("No cells: delay rises in a line of 1"),
        "{said}"
    );
    assert!(said.contains("would have been seen in 95 of 100"), "{said}");
    assert_eq!(way.measure, "network");
}

/// Sizes from 60 to 80 bytes may all lie in one cell. From 60 to 172 bytes delay rises twice, which any two jumps explain as well.
#[test]
fn sizes_that_reach_over_no_cell_tell_nothing_of_cells() {
    let clock = |_| ReflectorClock::None;
    let sweeps = swept_by(60..=80, clock, |_, random| {
        [1e6 + 2e3 * random.normal(), 1e6]
    });
    let way = &sweeps[0].ways[0];
    assert_eq!(way.answer(), Answer::Undecided, "{}", way.sentence());
    let sweeps = swept_by(60..=172, clock, |size, random| {
        let height = [0.0, 1.0, 2.5][((size + 15) / 48 - 1) as usize];
        [1e6 + CELL * height + 2e3 * random.normal(), 1e6]
    });
    let said = sweeps[0].ways[0].sentence();
    let told = "Undecided: delay rises at two sizes: these may be steps";
    assert!(said.starts_with(told), "{said}");
}

#[test]
fn packets_too_small_for_the_reflectors_stamps_are_not_taken_for_slower() {
    for least in [50, 72] {
        let clock = |size| match size < least {
            true => ReflectorClock::None,
            false => ReflectorClock::Same,
        };
        let sweeps = swept_by(few(), clock, |_, random| {
            [1000.0 + 100.0 * random.uniform(), 1000.0]
        });
        let [sweep] = sweeps.as_slice() else {
            panic!("{} sweeps", sweeps.len())
        };
        let way = &sweep.ways[0];
        assert!(
            matches!(way.detection.verdict, Verdict::Constant(_)),
            "{least}: {}",
            way.sentence()
        );
        assert_eq!(way.measure, "network");
    }
}

/// Synchronisation may begin or end between two repeats of a trial.
#[test]
fn repeats_by_clocks_that_have_nothing_in_common_make_no_one_way_sweep() {
    let [bounded, unrelated] = [
        ReflectorClock::Bounded { error_ns: 1000 },
        ReflectorClock::Unrelated,
    ];
    for clocks in [[bounded, unrelated], [unrelated, bounded]] {
        let sizes = || few().zip(0..);
        let repeats = [0, 1].into_iter();
        let members = repeats.clone().flat_map(|repeat| {
            let of_size = move |(size, at): (u32, u32)| {
                member(
                    2 * at + repeat,
                    vec![level("payload", size - 28)],
                    clocks[repeat as usize],
                )
            };
            sizes().map(of_size)
        });
        let mut gatherer = Gatherer::new(members.collect::<Vec<_>>());
        for (repeat, (size, at)) in repeats.flat_map(|repeat| sizes().map(move |it| (repeat, it))) {
            let offset = match clocks[repeat as usize] {
                ReflectorClock::Unrelated => 1e6,
                _ => 0.0,
            };
            for seq in 0..5 {
                gatherer.push(&record(2 * at + repeat, seq, size, [2e6, 2e6], offset));
            }
        }
        let sweeps = gatherer.finish(1);
        let ways: Vec<_> = sweeps[0].ways.iter().map(|way| way.direction).collect();
        assert_eq!(ways, [Direction::Both]);
    }
}

#[test]
fn in_much_noise_it_says_how_many_more_packets() {
    let clock = |_| ReflectorClock::None;
    let sweeps = swept_by(few(), clock, |size, random| {
        [
            1e7 + 10_000.0 * f64::from(size) + 1e6 * random.normal(),
            1e6,
        ]
    });
    let way = &sweeps[0].ways[0];
    assert_eq!(way.answer(), Answer::Undecided);
    let said = way.sentence();
    assert!(said.contains("times as many packets would tell"), "{said}");
}

/// An imported file: no factors, each probe of one size.
#[test]
fn probes_of_one_size_each_are_a_sweep() {
    let members = (40..=280).zip(0..).map(|(size, probe)| Member {
        probe,
        name: format!("192.0.2.1 id {size}"),
        ..member(0, Vec::new(), ReflectorClock::None)
    });
    let mut gatherer = Gatherer::new(members);
    for (size, probe) in (40..=280).zip(0..) {
        let mut record = record(0, u64::from(probe), size, [cells(size), 1e6], 0.0);
        record.probe = probe;
        // The largest is beyond what the path carries.
        if size == 280 {
            record.outcome = Outcome::Lost;
        }
        gatherer.push(&record);
    }
    let sweeps = gatherer.finish(1);
    assert_eq!(sweeps.len(), 1);
    assert_eq!(sweeps[0].label(), "");
    assert_eq!(sweeps[0].ways[0].answer(), Answer::Steps);
}

/// A buffer is in bytes, too, and is no size of packets.
#[test]
fn combinations_of_other_levels_stay_apart() {
    let mut members = Vec::new();
    let mut records = Vec::new();
    for buffer in [1000, 2000] {
        for size in few() {
            let trial = members.len() as u32;
            let factors = vec![level("buffer", buffer), level("size", size)];
            members.push(member(trial, factors, ReflectorClock::None));
            let slow = if buffer == 1000 { cells(size) } else { 0.0 };
            records.push(record(trial, 0, size, [1e6 + slow, 1e6], 0.0));
        }
    }
    let mut gatherer = Gatherer::new(members);
    records.iter().for_each(|record| gatherer.push(record));
    let sweeps = gatherer.finish(1);
    let found: Vec<_> = sweeps
        .iter()
        .map(|sweep| (sweep.label(), sweep.ways[0].answer()))
        .collect();
    assert_eq!(
        found,
        [
            ("buffer 1000B, probe echo".to_owned(), Answer::Steps),
            ("buffer 2000B, probe echo".to_owned(), Answer::NoCells),
        ]
    );
}

/// The same payloads with headers of 28 and of 52 bytes.
#[test]
fn each_method_has_headers_of_its_own_length() {
    let mut members = Vec::new();
    let mut records = Vec::new();
    for (method, headers) in [("udp", 28), ("tcp", 52)] {
        for payload in 40..=280 {
            let trial = members.len() as u32;
            let method = ("method".to_owned(), Level::named(method));
            let factors = vec![method, level("payload", payload)];
            members.push(member(trial, factors, ReflectorClock::None));
            let size = payload + headers;
            records.push(record(trial, 0, size, [1e6 + cells(size), 1e6], 0.0));
        }
    }
    let mut gatherer = Gatherer::new(members);
    records.iter().for_each(|record| gatherer.push(record));
    let sweeps = gatherer.finish(1);
    let labels: Vec<String> = sweeps.iter().map(Sweep::label).collect();
    assert_eq!(labels, ["method udp, probe echo", "method tcp, probe echo"]);
}

#[test]
fn nothing_and_little_make_no_sweep_and_no_panic() {
    assert!(Gatherer::new([]).finish(1).is_empty());
    let one = || member(0, Vec::new(), ReflectorClock::None);
    let mut gatherer = Gatherer::new([one()]);
    gatherer.push(&record(0, 0, 40, [1e6, 1e6], 0.0));
    gatherer.push(&record(9, 0, 40, [1e6, 1e6], 0.0));
    assert!(gatherer.finish(1).is_empty());
    let mut gatherer = Gatherer::new([one()]);
    for size in [40, 80, 120] {
        let mut lost = record(0, 0, size, [1e6, 1e6], 0.0);
        lost.outcome = Outcome::Lost;
        gatherer.push(&lost);
        gatherer.push(&record(0, u64::from(size), size, [1e6, 1e6], 0.0));
    }
    let sweeps = gatherer.finish(1);
    let said = sweeps[0].ways[0].sentence();
    assert!(said.contains("3 sizes are too few"), "{said}");
}
