//! What the detector promises, by simulation with fixed seeds; `examples/periodicity.rs` has more runs.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::random::SplitMix;

const MS: f64 = 1e6;

/// Probes for 15 s, 10 ms apart or with exponential gaps.
fn probes(poisson: bool, random: &mut SplitMix) -> Vec<Nanos> {
    let mut time = 0.0;
    let each = (0..1500).map(|_| {
        time += 10.0 * MS * if poisson { -random.uniform().ln() } else { 1.0 };
        time as Nanos
    });
    each.collect()
}

/// Probes that a process meets, which runs for `busy` ms every `every` ms; some others by chance.
fn events(
    probes: &[Nanos],
    every: f64,
    busy: f64,
    chance: f64,
    random: &mut SplitMix,
) -> Vec<Nanos> {
    let phase = random.uniform() * every;
    let met = |&&time: &&Nanos| {
        (time as f64 / MS + phase).rem_euclid(every) < busy || random.uniform() < chance
    };
    probes.iter().filter(met).copied().collect()
}

#[test]
fn a_process_every_100_ms_is_found() {
    let mut right = 0;
    for seed in 0..40 {
        let mut random = SplitMix::new(seed);
        let probes = probes(seed % 2 == 0, &mut random);
        // On the grid of 10 ms one run in 100.7 ms is met for sure, others are chance.
        let events = events(&probes, 100.7, 11.0, 0.02, &mut random);
        let found = find(&events, &probes, &Settings::default()).unwrap();
        right += usize::from(found.is_some_and(|period| {
            (period.period_ns / (100.7 * MS) - 1.0).abs() < 0.001 && period.share > 0.5
        }));
    }
    assert!(right >= 39, "{right}");
}

/// One in a hundred does: more than two of 60 do in 2 of 100 cases.
#[test]
fn quiet_series_give_no_alarm() {
    let alarms = alarms_of_quiet_series(60);
    assert!(alarms <= 2, "{alarms}");
}

fn alarms_of_quiet_series(count: u64) -> usize {
    let mut alarms = 0;
    for seed in 0..count {
        let mut random = SplitMix::new(seed);
        let probes = probes(seed % 2 == 0, &mut random);
        let events = events(&probes, 1.0, 0.0, 0.02, &mut random);
        let settings = Settings {
            seed: seed + 7,
            ..Settings::default()
        };
        alarms += usize::from(find(&events, &probes, &settings).unwrap().is_some());
    }
    alarms
}

/// Of a prober that says when it sent: what is late by chance was sent late as well, beside the grid. Of such
/// series, one in twelve was once said to have a period of twice the interval.
#[test]
fn late_sends_beside_the_grid_are_no_period() {
    let mut alarms = 0;
    for seed in 0..100 {
        let mut random = SplitMix::new(seed);
        let mut events = Vec::new();
        let mut probe = |k: i64| {
            let late = random.uniform() < 0.1;
            let length = if late { 0.3 * random.uniform() } else { 0.0 };
            let sent = k * 1_000_000_000 + ((length + 0.001 * random.normal()) * 1e9) as Nanos;
            events.extend(late.then_some(sent));
            sent
        };
        let probes: Vec<Nanos> = (0..300).map(&mut probe).collect();
        let settings = Settings {
            false_alarms: 0.001,
            seed,
            ..Settings::default()
        };
        alarms += usize::from(find(&events, &probes, &settings).unwrap_or(None).is_some());
    }
    assert!(alarms <= 1, "{alarms}");
}

/// Probes in bursts of 50 every second: events are seen only then, and that is no cause.
#[test]
fn the_probes_own_rhythm_is_no_cause() {
    // At one in a hundred, more than two of 30 in 4 of 1000 cases, as more than four of 100.
    let alarms = alarms_of_bursts(30);
    assert!(alarms <= 2, "{alarms}");
}

fn alarms_of_bursts(count: u64) -> usize {
    let mut alarms = 0;
    for seed in 0..count {
        let mut random = SplitMix::new(seed);
        let probes: Vec<Nanos> = (0..1500)
            .map(|i| (i / 50) * 1_000_000_000 + (i % 50) * 4_000_000)
            .collect();
        let events = events(&probes, 1.0, 0.0, 0.02, &mut random);
        alarms += usize::from(
            find(&events, &probes, &Settings::default())
                .unwrap()
                .is_some(),
        );
    }
    alarms
}

#[test]
fn harmonics_are_folded() {
    let mut random = SplitMix::new(3);
    let probes: Vec<Nanos> = (0..10_000).map(|i| i * 1_000_000).collect();
    let events = events(&probes, 250.0, 2.0, 0.0005, &mut random);
    let found = find(&events, &probes, &Settings::default())
        .unwrap()
        .unwrap();
    assert!(
        (found.period_ns / (250.0 * MS) - 1.0).abs() < 0.001,
        "{found:?}"
    );
    let due = events.iter().filter(|&&time| found.explains(time)).count();
    assert!(due * 10 > events.len() * 9, "{due} of {}", events.len());
    let known = [
        ("tick", 4.0 * MS),
        ("writeback", 250.0 * MS),
        ("daemon", 83.3334 * MS),
        ("cron", 1e12),
    ];
    let matches = matching(&found, &known);
    let names: Vec<_> = matches
        .iter()
        .map(|m| (m.name.as_str(), m.relation))
        .collect();
    assert_eq!(
        names,
        [
            ("writeback", Relation::Same),
            ("daemon", Relation::EveryNth(3))
        ]
    );
}

/// 30 ms between probes, 100 ms between runs: both meet every 300 ms.
#[test]
fn a_process_met_every_third_time() {
    let probes: Vec<Nanos> = (0..2000).map(|i| i * 30_000_000).collect();
    let events: Vec<Nanos> = probes
        .iter()
        .copied()
        .filter(|time| time % 100_000_000 < 3_000_000)
        .collect();
    let found = find(&events, &probes, &Settings::default())
        .unwrap()
        .unwrap();
    let matches = matching(&found, &[("daemon", 100.0 * MS)]);
    assert_eq!(matches[0].relation, Relation::EveryNth(3), "{found:?}");
}

/// 10 ms between probes, 100.7 ms between runs: ten of them come round the grid in 1.44 s.
#[test]
fn a_process_that_beats_with_the_grid() {
    let known = [("other", 37.0 * MS), ("daemon", 100.7 * MS)];
    for seed in 0..10 {
        let mut random = SplitMix::new(seed);
        let probes: Vec<Nanos> = (0..6000).map(|i| i * 10_000_000).collect();
        let events = events(&probes, 100.7, 3.0, 0.005, &mut random);
        let found = find(&events, &probes, &Settings::default())
            .unwrap()
            .unwrap();
        let matches = matching(&found, &known);
        assert!(
            matches.len() == 1 && matches[0].name == "daemon",
            "{found:?} {matches:?}"
        );
    }
}

/// Late each 5 s in a minute of probes: known to 1 %, so that every period is near to some multiple of any shorter one.
#[test]
fn a_period_of_few_cycles_is_no_multiple_of_whatever_is_known() {
    let found = Period {
        period_ns: 5000.0 * MS,
        error: 0.0094,
        share: 0.9,
        score: 24.0,
        threshold: 20.0,
        events: 12,
        due: 0,
        grid_ns: None,
        tolerance_ns: 10.0 * MS,
    };
    let mut random = SplitMix::new(6);
    let sets = 2000;
    let named = (0..sets).filter(|_| {
        let known = (0..10).map(|_| {
            (
                "unrelated",
                5000.0 * MS * 0.05 * 100_f64.powf(random.uniform()),
            )
        });
        !matching(&found, &known.collect::<Vec<_>>()).is_empty()
    });
    let named = named.count() as f64 / f64::from(sets);
    // One of ten may be as long as the one found.
    assert!(named < 0.15, "{named}");
    let known = [("daemon", 5050.0 * MS), ("other", 1250.0 * MS)];
    let matches = matching(&found, &known);
    assert_eq!(matches.len(), 1, "{matches:?}");
    assert_eq!(matches[0].relation, Relation::Same);
}

#[test]
fn refuses_what_has_no_answer() {
    let probes: Vec<Nanos> = (0..1000).map(|i| i * 1_000_000).collect();
    let refused = |events: &[Nanos]| find(events, &probes, &Settings::default()).unwrap_err();
    assert!(refused(&[]).contains("0 separate events"));
    // One disturbance over fifty probes is one event.
    assert!(refused(&probes[100..150]).contains("1 separate events"));
    let half: Vec<Nanos> = probes.iter().copied().step_by(2).collect();
    assert!(refused(&half).contains("too many"));
    let some: Vec<Nanos> = probes.iter().copied().step_by(40).collect();
    let slow = Settings {
        shortest_ns: Some(1e9),
        ..Settings::default()
    };
    assert!(
        find(&some, &probes, &slow)
            .unwrap_err()
            .contains("too short")
    );
}

/// The same with more series, in `make test-all`.
mod long {
    #[test]
    fn two_hundred_quiet_series_give_few_alarms() {
        let alarms = super::alarms_of_quiet_series(200);
        assert!(alarms <= 5, "{alarms}");
    }

    #[test]
    fn a_hundred_bursty_series_give_few_alarms() {
        let alarms = super::alarms_of_bursts(100);
        assert!(alarms <= 4, "{alarms}");
    }
}
