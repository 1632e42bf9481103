//! Processes of one name stay apart, and pieces of one activation together.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::random::SplitMix;
use delaylab_model::noise::NoiseKind;

const MS: Nanos = 1_000_000;

fn event(who: &str, pid: Option<u32>, start: Nanos, length: Nanos) -> NoiseEvent {
    NoiseEvent {
        trial: 3,
        start,
        length,
        cpu: Some(0),
        kind: NoiseKind::Scheduled,
        who: Some(who.to_owned()),
        pid,
        preempted: None,
    }
}

fn trains(events: &[NoiseEvent]) -> Trains {
    let mut builder = TrainsBuilder::default();
    events.iter().for_each(|event| builder.push(event));
    builder.finish()
}

fn period_of(trains: &Trains, event: &NoiseEvent) -> Option<f64> {
    let owner = trains.owner(event).unwrap();
    Some(trains.regular(&owner)?.period_ns)
}

#[test]
fn a_process_has_the_period_of_its_longer_runs() {
    let mut events = vec![event("once", None, 5, 5)];
    for n in 0..12 {
        let short = n * 100 * MS + (n * n * 7_919_000) % (90 * MS);
        events.push(event("backup/1", None, n * 100 * MS, 3 * MS));
        events.push(event("backup/1", None, short, 20_000));
    }
    let found = trains(&events);
    assert_eq!(found.known(), [("backup/*", 1e8)]);
    assert_eq!(period_of(&found, &events[1]), Some(1e8));
    assert_eq!(period_of(&found, &events[0]), None);
    assert_eq!(found.regular(&Owner::named("nobody")), None);
}

/// As recorded once: a process that worked for long and irregularly, and one of its name that was woken by
/// each packet. Neither has the other's times.
#[test]
fn processes_of_one_name_keep_their_own_times() {
    let timer = |n: i64| event("delaylab", Some(7), n * 100 * MS, 3 * MS);
    let mut random = SplitMix::new(1);
    let mut at = 0;
    let mut worker = || {
        at += 16 * MS + (-random.uniform().ln() * 40e6) as Nanos;
        event("delaylab", Some(8), at, 15 * MS)
    };
    let events: Vec<NoiseEvent> = (0..40).flat_map(|n| [timer(n), worker()]).collect();
    let found = trains(&events);
    assert_eq!(period_of(&found, &events[0]), Some(1e8));
    assert_eq!(period_of(&found, &events[1]), None);
    assert_ne!(found.owner(&events[0]), found.owner(&events[1]));
    assert_eq!(found.of_name("delaylab"), 2);
}

#[test]
fn a_number_that_is_used_again_is_another_process_and_threads_of_one_are_one() {
    let process = |thread, started| Process {
        thread,
        pid: 7,
        started,
        command: "backup --all".to_owned(),
        unit: Some("backup.service".to_owned()),
    };
    let mut builder = TrainsBuilder::default();
    builder.know(3, &[process(7, 100), process(8, 100)]);
    builder.know(4, &[process(7, 900)]);
    let mut events: Vec<NoiseEvent> = Vec::new();
    for n in 0..20 {
        events.push(event("backup", Some(7 + n % 2), i64::from(n) * 50 * MS, MS));
        let mut later = event("backup", Some(7), i64::from(n) * 30 * MS, MS);
        later.trial = 4;
        events.push(later);
    }
    events.iter().for_each(|event| builder.push(event));
    let found = builder.finish();
    let near = |event, period: f64| {
        let found = period_of(&found, event).unwrap();
        assert!((found / period - 1.0).abs() < 1e-6, "{found}");
    };
    near(&events[0], 5e7);
    near(&events[2], 5e7);
    near(&events[1], 3e7);
    let owner = found.owner(&events[0]).unwrap();
    assert_eq!(found.process(&owner).unwrap().command, "backup --all");
    assert_eq!(owner.unit.as_deref(), Some("backup.service"));
}

/// The prober goes first every 3 ms, and cuts what a process of normal priority does.
fn cut(preempted: impl Fn(bool) -> Option<bool>) -> Vec<NoiseEvent> {
    let mut events = Vec::new();
    for n in 0..30 {
        let (begins, mut left, mut at) = (n * 101 * MS, 20 * MS, n * 101 * MS);
        while left > 0 {
            let next = (at / (3 * MS) + 1) * 3 * MS;
            let length = left.min(next - at);
            left -= length;
            let mut piece = event("hog", Some(9), at, length);
            piece.preempted = preempted(left > 0);
            events.push(piece);
            at = next + 50_000;
        }
        assert!(at > begins);
    }
    events
}

#[test]
fn the_pieces_of_a_preempted_process_are_one_activation() {
    for known in [true, false] {
        let events = cut(|cut| known.then_some(cut));
        let found = trains(&events);
        let owner = found.owner(&events[0]).unwrap();
        let period = found.regular(&owner).unwrap().period_ns;
        assert!((period / 101e6 - 1.0).abs() < 0.001, "{period}");
        let (_, activations) = found.activations(&owner).next().unwrap();
        assert_eq!((activations.len(), activations[4].ran), (30, 20 * MS));
        let held = found.activation(&owner, &events[2]).unwrap();
        assert_eq!(held.start, 0);
    }
}

/// One thread is cut in two, and another of the same process runs in between, or until later.
#[test]
fn an_activation_is_of_the_thread_that_ran() {
    let piece = |thread, start: Nanos, length: Nanos, cut| NoiseEvent {
        preempted: Some(cut),
        ..event("hog", Some(thread), start, length)
    };
    let thread = |thread| Process {
        thread,
        pid: 7,
        started: 0,
        command: String::new(),
        unit: None,
    };
    for other in [200_000, 2 * MS] {
        let events = [
            piece(7, 0, 4 * MS, true),
            piece(8, 5 * MS, other, false),
            piece(7, 6 * MS, 4 * MS, false),
        ];
        let mut builder = TrainsBuilder::default();
        builder.know(3, &[thread(7), thread(8)]);
        events.iter().for_each(|event| builder.push(event));
        let found = builder.finish();
        let owner = found.owner(&events[2]).unwrap();
        let ran = |event| found.activation(&owner, event).unwrap().ran;
        assert_eq!([ran(&events[2]), ran(&events[1])], [8 * MS, other]);
    }
}

/// A new process each 100 ms, as a loop in a shell starts them.
#[test]
fn short_lived_processes_are_taken_together() {
    let each = |n: u32| event("date", Some(1_000 + n), i64::from(n) * 100 * MS, 2 * MS);
    let events: Vec<NoiseEvent> = (0..40).map(each).collect();
    let found = trains(&events);
    let owner = found.owner(&events[3]).unwrap();
    assert_eq!((owner.process, found.together(&owner)), (None, 40));
    assert_eq!(found.regular(&owner).unwrap().period_ns, 1e8);
}

/// A process of normal priority waits for others now and then, so that most gaps are no whole number of its
/// period.
#[test]
fn a_timer_that_often_waits_for_the_cpu_has_its_period() {
    for seed in 0..20 {
        let mut random = SplitMix::new(seed);
        let period = 1.7 * 235_f64.powf(random.uniform());
        let due = (0..(20_000.0 / period) as i64).filter(|n| n % 11 != 5);
        let mut events = Vec::new();
        for n in due {
            let waits = if random.uniform() < 0.5 {
                0.4 * period * random.uniform()
            } else {
                0.0
            };
            let at = ((n as f64 * period + waits) * 1e6) as Nanos;
            events.push(event("hog", Some(9), at, 200_000));
        }
        let found = period_of(&trains(&events), &events[0]).unwrap();
        assert!(
            (found / (period * 1e6) - 1.0).abs() < 0.01,
            "{found} {period}"
        );
    }
}

#[test]
fn threads_of_one_kind_are_one_family() {
    for (name, expected) in [
        ("kworker/0:1", "kworker/*:*"),
        ("kworker/13:27-events", "kworker/*:*-events"),
        ("lto cgu.01", "lto cgu.*"),
        ("python3", "python3"),
        ("irq/16-eth0", "irq/*-eth0"),
        ("", ""),
    ] {
        assert_eq!(family(name), expected);
        assert_eq!(family(expected), expected);
    }
}
