//! Every finding of seeds 000 and 002 on data where it is true, where it is false and where it
//! cannot be told; and how often chance alone gives a verdict.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::finding::data::{Samples, StreamInfo};
use crate::finding::forecast::{Scale, forecast};
use crate::finding::measure::Measure;
use delaylab_model::experiment::{Draw, FigureSection, FindingSection};
use delaylab_model::method::Method;
use delaylab_model::noise::ClockReads;
use delaylab_model::plan::{Level, Unit};
use delaylab_model::record::{Outcome, Record};
use delaylab_model::trial::RecordFacts;
use delaylab_stats::random::SplitMix;
use std::collections::BTreeMap;

const MS: f64 = 1e6;
const US: f64 = 1e3;

/// How the packets of a trial behave; times in nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Delays {
    base: f64,
    sd: f64,
    /// Correlation of neighbours.
    phi: f64,
    /// Share of packets that are late by 5 ms and more.
    late: f64,
    count: u64,
}

const CALM: Delays = Delays {
    base: 200.0 * US,
    sd: 10.0 * US,
    phi: 0.3,
    late: 0.0,
    count: 500,
};

fn records(trial: u32, delays: Delays, random: &mut SplitMix) -> Vec<Record> {
    let innovation = (1.0 - delays.phi * delays.phi).sqrt();
    let mut state = random.normal();
    (0..delays.count)
        .map(|seq| {
            state = delays.phi * state + innovation * random.normal();
            let late = match random.uniform() < delays.late {
                true => 5.0 * MS - MS * random.uniform().ln(),
                false => 0.0,
            };
            let delay = delays.base + delays.sd * state + late;
            let mut record = Record::due(trial, 0, seq, Method::Udp, seq as i64 * 10_000_000);
            record.t_send = Some(record.t_intended);
            record.t_recv = Some(record.t_intended + delay.max(1.0) as i64);
            record.outcome = Outcome::Ok;
            record
        })
        .collect()
}

fn level(text: &str) -> Level {
    let quantity = |digits: &str, scale: f64, unit| Level {
        label: text.to_owned(),
        value: digits.parse::<f64>().ok().map(|value| value * scale),
        unit: Some(unit),
    };
    match (text.strip_suffix("ms"), text.strip_suffix('B')) {
        (Some(digits), _) => quantity(digits, MS, Unit::Nanoseconds),
        (_, Some(digits)) => quantity(digits, 1.0, Unit::Bytes),
        _ => Level::named(text),
    }
}

/// A run of these combinations of levels, each with so many repeats.
fn run(
    combinations: &[Vec<(&str, &str)>],
    repeats: u32,
    seed: u64,
    delays: impl Fn(&[(&str, &str)]) -> Delays,
) -> Samples {
    let mut samples = Samples::default();
    let mut random = SplitMix::new(seed);
    let mut trial = 0;
    for repeat in 0..repeats {
        for combination in combinations {
            let factors = combination.iter();
            let info = StreamInfo {
                trial,
                probe: "echo".to_owned(),
                series: None,
                repeat,
                factors: factors
                    .map(|(name, text)| ((*name).to_owned(), level(text)))
                    .collect(),
                trace_hash: None,
                seed: None,
            };
            let records = records(trial, delays(combination), &mut random);
            samples.push(info, records, RecordFacts::default());
            trial += 1;
        }
    }
    samples
}

fn crossed<'a>(a: (&'a str, &[&'a str]), b: (&'a str, &[&'a str])) -> Vec<Vec<(&'a str, &'a str)>> {
    let pairs = a.1.iter().flat_map(|x| b.1.iter().map(move |y| (*x, *y)));
    pairs.map(|(x, y)| vec![(a.0, x), (b.0, y)]).collect()
}

fn of<'a>(combination: &[(&'a str, &'a str)], factor: &str) -> &'a str {
    combination
        .iter()
        .find(|(name, _)| *name == factor)
        .unwrap()
        .1
}

fn finding(id: &str, check: &str) -> Finding {
    let section = FindingSection {
        id: id.to_owned(),
        says: "It is so".to_owned(),
        check: check.to_owned(),
        printed: None,
    };
    Finding::read(&section).unwrap()
}

fn judged(check: &str, data: &Samples) -> Judged {
    let finding = finding("test", check);
    judge(&[finding], data, 1).remove(0)
}

#[track_caller]
fn expect(check: &str, data: &Samples, verdict: Verdict, reason: &str) {
    let judged = judged(check, data);
    assert!(
        judged.verdict == verdict && judged.reason.contains(reason),
        "{}: {}",
        judged.verdict,
        judged.reason
    );
}

/// Seed 002's design: wait × condition, two repeats.
fn waits(delays: impl Fn(&str, &str) -> Delays) -> Samples {
    let design = crossed(
        ("wait", &["0ms", "1ms", "100ms"]),
        ("condition", &["quiet", "normal", "stressed"]),
    );
    run(&design, 2, 2, |levels| {
        delays(of(levels, "wait"), of(levels, "condition"))
    })
}

const WAIT_RAISES_JITTER: &str =
    "for each condition in [quiet, normal]: sd(response | wait=1ms) > sd(response | wait=0ms)";

fn with_sd(sd_us: f64) -> Delays {
    Delays {
        sd: sd_us * US,
        ..CALM
    }
}

#[test]
fn finding_002_1() {
    let raised = waits(|wait, _| with_sd(if wait == "0ms" { 10.0 } else { 15.0 }));
    expect(
        WAIT_RAISES_JITTER,
        &raised,
        Verdict::True,
        "true for 2 of 2; condition=quiet: ",
    );
    let lowered = waits(|wait, _| with_sd(if wait == "0ms" { 15.0 } else { 10.0 }));
    expect(
        WAIT_RAISES_JITTER,
        &lowered,
        Verdict::False,
        "the ratio is 0.6",
    );
    let alike = waits(|_, _| with_sd(10.0));
    expect(
        WAIT_RAISES_JITTER,
        &alike,
        Verdict::Undecided,
        "undecided for ",
    );
    // One level false makes all false, whatever the other is.
    let mixed = waits(|wait, condition| match (wait, condition) {
        ("0ms", "normal") => with_sd(15.0),
        _ => with_sd(10.0),
    });
    expect(
        WAIT_RAISES_JITTER,
        &mixed,
        Verdict::False,
        "false for 1 of 2; condition=normal: ",
    );
}

const NEARLY_ALL_NEAR: &str = "share(response > mean(response | condition=normal, wait=1ms) + 500us \
     | condition=normal, wait=1ms) < 5 % and share(response > mean(response) + 20ms \
     | condition=normal, wait=1ms) < 0.5 %";

#[test]
fn finding_002_2() {
    let late = |share: f64, count: u64| {
        waits(move |_, _| Delays {
            late: share,
            count,
            ..CALM
        })
    };
    expect(NEARLY_ALL_NEAR, &late(0.01, 2000), Verdict::True, "0.0");
    expect(NEARLY_ALL_NEAR, &late(0.2, 500), Verdict::False, "0.05");
    expect(
        NEARLY_ALL_NEAR,
        &late(0.05, 200),
        Verdict::Undecided,
        "more packets would settle it",
    );
    // None later than 20 ms among 200 does not show that fewer than 0.5 % are.
    let few = judged(NEARLY_ALL_NEAR, &late(0.0, 100));
    assert_eq!(few.verdict, Verdict::Undecided, "{}", few.reason);
    let second = &few.parts[0].comparisons[1];
    assert!(
        second.value == Some(-0.005) && second.ends.high > Some(0.0),
        "{second:?}"
    );
}

const LAN_AND_WAN: &str = "mean(response | place=2.5ms) - mean(response | place=0ms) ≈ 5ms within 10 % \
     and sd(response | place=2.5ms) ≈ sd(response | place=0ms) within 20 %";

#[test]
fn finding_002_3() {
    let places = |wan_ms: f64, count: u64| {
        let design = [vec![("place", "0ms")], vec![("place", "2.5ms")]];
        run(&design, 2, 3, |levels| Delays {
            base: if of(levels, "place") == "0ms" {
                MS
            } else {
                MS + wan_ms * MS
            },
            count,
            ..CALM
        })
    };
    expect(
        LAN_AND_WAN,
        &places(5.0, 2000),
        Verdict::True,
        "against 5.00 ms: the ratio is ",
    );
    expect(
        LAN_AND_WAN,
        &places(8.0, 2000),
        Verdict::False,
        "8.00 ms against 5.00 ms",
    );
    expect(
        LAN_AND_WAN,
        &places(5.0, 60),
        Verdict::Undecided,
        "would settle it",
    );
    let here = waits(|_, _| CALM);
    expect(
        LAN_AND_WAN,
        &here,
        Verdict::NotApplicable,
        "this run has no factor `place`",
    );
}

const ALONE: &str = "sd(response | condition=quiet, wait=1ms) < sd(response | condition=stressed, wait=1ms) \
     and share(pdv > 1ms | condition=quiet, wait=1ms) < 0.5 * share(pdv > 1ms | condition=stressed, wait=1ms)";

#[test]
fn finding_002_4() {
    let late = |quiet: f64, stressed: f64, count: u64| {
        waits(move |_, condition| Delays {
            late: if condition == "quiet" {
                quiet
            } else {
                stressed
            },
            count,
            ..CALM
        })
    };
    expect(ALONE, &late(0.001, 0.05, 1000), Verdict::True, "");
    expect(ALONE, &late(0.05, 0.001, 1000), Verdict::False, "");
    expect(ALONE, &late(0.02, 0.02, 200), Verdict::Undecided, "");
}

#[test]
fn finding_002_5() {
    const CHECK: &str = "max(clock_reads) >= 10ms";
    let reads = |longest_ns: i64| {
        let mut samples = waits(|_, _| Delays { count: 10, ..CALM });
        let bin = |trial, from_ns: i64, count| ClockReads {
            trial,
            from_ns,
            to_ns: 2 * from_ns,
            count,
        };
        samples.push_clock_reads((0..18).map(|trial| bin(trial, 32, 1_000_000)));
        samples.push_clock_reads([bin(7, longest_ns, 1)]);
        samples
    };
    expect(
        CHECK,
        &reads(16_000_000),
        Verdict::True,
        "16.0 ms against 10.0 ms",
    );
    // A slower one may come at any time: never false.
    expect(
        CHECK,
        &reads(100_000),
        Verdict::Undecided,
        "only repeats can tell",
    );
    // A share can be: none of 18 million may still be three.
    const SOMETIMES: &str = "share(clock_reads >= 10ms) >= 0.01 %";
    expect(
        SOMETIMES,
        &reads(16_000_000),
        Verdict::False,
        "5.56e-8 against 0.0001",
    );
    let rare = "share(clock_reads >= 10ms) >= 0.00001 %";
    expect(rare, &reads(100_000), Verdict::Undecided, "at 95 % from");
    let none = waits(|_, _| CALM);
    expect(
        CHECK,
        &none,
        Verdict::NotApplicable,
        "no clock reads were counted",
    );
    let counted = judged(
        "count(clock_reads) > 17999999 and p50(clock_reads) <= 32ns",
        &reads(1),
    );
    assert_eq!(counted.verdict, Verdict::True, "{}", counted.reason);
    assert_eq!(counted.parts[0].statistics[0].count, 18_000_001);
}

/// Seed 000's design: size × condition.
fn sizes(repeats: u32, delays: impl Fn(f64, &str) -> Delays) -> Samples {
    let sizes = ["40B", "88B", "512B", "1000B", "4096B", "6144B", "9188B"];
    let design = crossed(("size", &sizes), ("condition", &["quiet", "stressed"]));
    run(&design, repeats, 4, |levels| {
        let size = of(levels, "size").trim_end_matches('B').parse().unwrap();
        delays(size, of(levels, "condition"))
    })
}

#[test]
fn finding_000_1() {
    // At sizes 14 bytes apart, steps of 48 give other columns than any other.
    finding_000_1_at(14, &["quiet"]);
}

/// At sizes so far apart, and under these conditions where two would tell no more.
fn finding_000_1_at(apart: usize, conditions: &[&str]) {
    const CHECK: &str = "for each condition: steps(min(response) on size) ≈ 48B within 2 %";
    let labels: Vec<String> = (40..=520)
        .step_by(apart)
        .map(|size| format!("{size}B"))
        .collect();
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    let sweep_of = |conditions: &[&str], delay: &dyn Fn(f64) -> f64, sd: f64| {
        let design = crossed(("size", &labels), ("condition", conditions));
        run(&design, 1, 4, |levels| {
            let size = of(levels, "size").trim_end_matches('B').parse().unwrap();
            Delays {
                base: MS + delay(size),
                sd,
                phi: 0.0,
                count: 10,
                ..CALM
            }
        })
    };
    let sweep = |delay: &dyn Fn(f64) -> f64, sd: f64| sweep_of(conditions, delay, sd);
    let both = |delay: &dyn Fn(f64) -> f64, sd: f64| sweep_of(&["quiet", "stressed"], delay, sd);
    let cells = |size: f64| 100.0 * US * ((size + 8.0) / 48.0).ceil();
    let found = judged(CHECK, &both(&cells, 20.0 * US));
    assert!(
        found.verdict == Verdict::True && found.reason.contains("48 B against 48 B"),
        "{}: {}",
        found.verdict,
        found.reason
    );
    let steps = found.parts[0].statistics.last().unwrap();
    assert_eq!((steps.value, steps.unit.as_str()), (Some(48.0), "B"));
    assert_eq!((steps.ends.low, steps.ends.high), (Some(48.0), Some(48.0)));
    assert!(steps.note.as_ref().unwrap().contains("as if"), "{steps:?}");
    let others = |size: f64| 100.0 * US * ((size + 8.0) / 60.0).ceil();
    expect(
        CHECK,
        &sweep(&others, 20.0 * US),
        Verdict::False,
        "60 B against 48 B",
    );
    let line = |size: f64| 100.0 * US * size / 48.0;
    let turned = "for each condition: 48B ≈ steps(min(response) on size) within 2 %";
    for check in [CHECK, turned] {
        let data = sweep(&line, 20.0 * US);
        expect(check, &data, Verdict::False, "of 100 such runs");
    }
    expect(
        CHECK,
        &sweep(&|_| 0.0, 0.0),
        Verdict::False,
        "does not rise with size",
    );
    expect(
        CHECK,
        &sweep(&line, 600.0 * US),
        Verdict::Undecided,
        "times as many packets would settle it",
    );
    // As it is written: no steps are not few bytes wide.
    let none = "steps(min(response) on size | condition=quiet)";
    expect(
        &format!("{none} < 200B"),
        &sweep(&line, 20.0 * US),
        Verdict::Undecided,
        "are found in",
    );
    expect(
        &format!("2 * {none} < 200B"),
        &sweep(&line, 20.0 * US),
        Verdict::Undecided,
        "there are no steps",
    );
    let few = sizes(1, |_, _| Delays { count: 50, ..CALM });
    let needs = "needs 16 levels of `size`, there are 7";
    expect(CHECK, &few, Verdict::NotApplicable, needs);
    expect(
        "steps(min(response) on condition) < 4B",
        &few,
        Verdict::NotApplicable,
        "is no number",
    );
}

#[test]
fn finding_000_4_waits_for_its_detector() {
    let data = sizes(1, |_, _| Delays { count: 50, ..CALM });
    expect(
        "mean(periodic_cause | condition=stressed) > 50 %",
        &data,
        Verdict::Undecided,
        "none of these packets was far later than the others",
    );
}

#[test]
fn finding_000_2() {
    const CHECK: &str = "share(pdv > 500us | condition=stressed) > 1 % and share(pdv > 500us | \
         condition=stressed, size <= 1000B) > 1.5 * share(pdv > 500us | condition=stressed, size >= 4000B)";
    let late = |small: f64, large: f64, count: u64| {
        sizes(3, move |size, _| Delays {
            late: if size <= 1000.0 { small } else { large },
            count,
            ..CALM
        })
    };
    expect(CHECK, &late(0.1, 0.02, 200), Verdict::True, "");
    expect(CHECK, &late(0.02, 0.1, 200), Verdict::False, "");
    expect(CHECK, &late(0.075, 0.05, 50), Verdict::Undecided, "");
}

#[test]
fn finding_000_3() {
    const CHECK: &str =
        "share(pdv > 500us | condition=quiet) < 0.5 * share(pdv > 500us | condition=stressed)";
    let late = |quiet: f64, count: u64| {
        sizes(3, move |_, condition| Delays {
            late: if condition == "quiet" { quiet } else { 0.05 },
            count,
            ..CALM
        })
    };
    expect(CHECK, &late(0.005, 200), Verdict::True, "");
    expect(CHECK, &late(0.05, 200), Verdict::False, "");
    expect(CHECK, &late(0.025, 50), Verdict::Undecided, "");
}

#[test]
fn finding_000_5() {
    const CHECK: &str = "r2(mean(response) on size | condition=quiet) >= 0.99";
    let bent = |bend: f64, sd: f64| {
        sizes(1, move |size, _| Delays {
            base: MS + 100.0 * size - bend * size * size,
            sd,
            phi: 0.0,
            // As in the seed: each point the mean of ten.
            count: 10,
            ..CALM
        })
    };
    expect(CHECK, &bent(0.0, 5.0 * US), Verdict::True, "");
    expect(CHECK, &bent(0.009, 5.0 * US), Verdict::False, "");
    expect(CHECK, &bent(0.0, 100.0 * US), Verdict::Undecided, "");
    let slope = "slope(mean(response) on size | condition=quiet) ≈ 100ns / 1B within 1 %";
    expect(
        slope,
        &bent(0.0, 5.0 * US),
        Verdict::True,
        "against 100 ns/B",
    );
    expect(slope, &bent(-0.001, 5.0 * US), Verdict::False, "ns/B");
}

#[test]
fn a_minimum_on_a_line() {
    let lines = sizes(1, |size, _| Delays {
        base: MS + 100.0 * size,
        sd: 20.0 * US,
        count: 200,
        ..CALM
    });
    expect(
        "r2(min(round_trip) on size | condition=quiet) >= 0.99",
        &lines,
        Verdict::True,
        "",
    );
    let judged = judged(
        "slope(min(round_trip) on size | condition=quiet) > 0",
        &lines,
    );
    let fit = judged.parts[0].statistics.last().unwrap();
    assert_eq!(
        (fit.unit.as_str(), fit.trials, fit.count),
        ("ns/B", 7, 1400)
    );
    assert!(fit.note.as_ref().unwrap().starts_with("through 40 → "));
}

#[test]
fn what_a_run_does_not_have_does_not_apply() {
    let data = waits(|_, _| Delays { count: 50, ..CALM });
    for (check, reason) in [
        (
            "p50(response | wait=2ms) > 0",
            "no trial of this run has wait=2ms (it has 0ms, 1ms, 100ms)",
        ),
        (
            "p50(response | wait != 2ms) > 0",
            "no trial of this run has wait=2ms (it has 0ms, 1ms, 100ms)",
        ),
        (
            "p50(response | speed=fast) > 0",
            "this run has no factor `speed`",
        ),
        (
            "for each place: p50(response) > 0",
            "this run has no factor `place`",
        ),
        ("for each wait in [3ms]: p50(response) > 0", "has wait=3ms"),
        (
            "p50(response | wait > 1s) > 0",
            "no trial of this run has wait > 1s",
        ),
        ("p50(network) > 0", "no packet has network"),
        ("p50(local_queue) > 0", "was only seen as part of"),
        ("max(backlog) < 5cells", "this run kept no backlog"),
        (
            "slope(p50(response) on size) > 0",
            "this run has no factor `size`",
        ),
        (
            "slope(p50(response) on condition) > 0",
            "quiet is no number",
        ),
        (
            "p50(response) > 0 and max(backlog) < 5cells",
            "this run kept no backlog",
        ),
    ] {
        expect(check, &data, Verdict::NotApplicable, reason);
    }
    expect(
        "p50(response) > 0",
        &Samples::default(),
        Verdict::NotApplicable,
        "no trial of this run",
    );
    let levels = ["64B", "5ms", "128B"].map(|level| vec![("buffer", level)]);
    let mixed = run(&levels, 1, 1, |_| Delays { count: 50, ..CALM });
    expect(
        "slope(p50(response) on buffer) > 0",
        &mixed,
        Verdict::NotApplicable,
        "levels of `buffer` are of different units",
    );
}

#[test]
fn what_cannot_be_computed_says_why() {
    let data = waits(|_, _| Delays { count: 50, ..CALM });
    for (check, reason) in [
        (
            "p999(response | wait=1ms, condition=quiet) < 1s",
            "lie beyond this quantile",
        ),
        (
            "p50(response | wait=1ms) - p50(response) ≈ p50(response) - p50(response | wait=0ms) within 5%",
            "not both clearly above zero",
        ),
    ] {
        expect(check, &data, Verdict::Undecided, reason);
    }
    expect(
        "slope(p50(response) on wait) > 8ns/1B",
        &data,
        Verdict::NotApplicable,
        "1 cannot be compared with ns/B",
    );
}

#[test]
fn a_trial_without_answers_is_nothing_and_hinders_nothing() {
    let design = [vec![("side", "a")], vec![("side", "b")]];
    let mut samples = run(&design, 2, 6, |_| CALM);
    let mut silent = |side: &str| {
        let info = StreamInfo {
            trial: samples.streams().len() as u32,
            probe: "echo".to_owned(),
            series: None,
            repeat: 2,
            factors: vec![("side".to_owned(), level(side))],
            trace_hash: None,
            seed: None,
        };
        let mut lost = records(info.trial, CALM, &mut SplitMix::new(1));
        lost.iter_mut().for_each(|record| {
            record.t_recv = None;
            record.outcome = Outcome::Lost;
        });
        samples.push(info, lost, RecordFacts::default());
    };
    silent("a");
    silent("c");
    expect("mean(response | side=a) < 1ms", &samples, Verdict::True, "");
    expect(
        "mean(lost | side=a) > 10 %",
        &samples,
        Verdict::Undecided,
        "from the spread of repeats",
    );
    let nothing = "p50(response | side=c) has no interval: none of these packets was answered";
    expect(
        "p50(response | side=c) < 1ms",
        &samples,
        Verdict::Undecided,
        nothing,
    );
}

/// A path that dies behind its first reply has no variation to tell of, and others have.
#[test]
fn a_trial_without_two_answers_in_a_row_hinders_nothing() {
    let mut samples = run(&[vec![("side", "a")]], 2, 6, |_| CALM);
    let mut dying = |trial: u32, side: &str| {
        let info = StreamInfo {
            trial,
            probe: "echo".to_owned(),
            series: None,
            repeat: 2,
            factors: vec![("side".to_owned(), level(side))],
            trace_hash: None,
            seed: None,
        };
        let mut dying = records(trial, CALM, &mut SplitMix::new(1));
        for record in dying.iter_mut().skip(1) {
            record.t_recv = None;
            record.outcome = Outcome::Lost;
        }
        samples.push(info, dying, RecordFacts::default());
    };
    dying(2, "a");
    dying(3, "b");
    expect("p90(ipdv | side=a) < 1ms", &samples, Verdict::True, "");
    expect(
        "p90(ipdv | side=b) < 1ms",
        &samples,
        Verdict::Undecided,
        "no two of these packets in a row were answered",
    );
    let each = judged("for each side: p90(ipdv) < 1ms", &samples);
    assert_eq!(each.verdict, Verdict::Undecided, "{}", each.reason);
}

/// No loss is as much as no loss, where it is the same packets; of other packets, up to 3 in n may be lost.
#[test]
fn what_is_equal_without_variation_is_about_equal() {
    let data = run(&[vec![("side", "a")], vec![("side", "b")]], 2, 3, |_| CALM);
    let same = "mean(lost) ≈ mean(lost) within 10 %";
    expect(same, &data, Verdict::True, "");
    let other = "mean(lost | side=a) ≈ mean(lost | side=b) within 10 %";
    expect(other, &data, Verdict::Undecided, "not both clearly");
    let counted = queues(4);
    let none = "count(lost_load | case=EFCI) * 0 ≈ count(lost_load | case=FIFO) * 0 within 10 %";
    expect(none, &counted, Verdict::True, "");
}

/// With none in n, three times as many packets settle three times as small a share.
#[test]
fn none_in_n_may_be_three_in_n() {
    let data = run(&[vec![("side", "a")]], 1, 3, |_| Delays {
        phi: 0.0,
        count: 300,
        ..CALM
    });
    let few = judged("share(response > 1s) < 0.01 %", &data);
    assert_eq!(few.verdict, Verdict::Undecided);
    let none = "; none of 300 packets, which say as much as 240, so at 95 % fewer than 3 in 240 (1.25 %); about ";
    assert!(few.reason.contains(none), "{}", few.reason);
    let part = &few.parts[0];
    let more = part.comparisons[0].more_packets.unwrap();
    assert!((20_000..100_000).contains(&more), "{more}");
    let note = part.statistics[0].note.as_ref().unwrap();
    assert!(note.starts_with("none of 300 packets, "), "{note}");
    // Arithmetic without data is as good as a number.
    let more = |bound: &str| {
        let judged = judged(&format!("mean(lost) < {bound}"), &data);
        judged.parts[0].comparisons[0].more_packets.unwrap()
    };
    assert_eq!(more("1/1000"), more("0.1 %"));
    assert_eq!(more("-1 * -0.1 %"), more("0.1 %"));
    let none = "; none of 300 packets, so at 95 % fewer than 3 in 300 (1 %)";
    expect("mean(lost) < 5 %", &data, Verdict::True, none);
    let all = "; all of 300 packets, ";
    expect("share(response < 1s) > 50 %", &data, Verdict::True, all);
    let some = judged("share(response > 200us) > 10 %", &data);
    assert!(!some.reason.contains("fewer than"), "{}", some.reason);
    let none = "none of 4 trials, so at 95 % fewer than 3 in 4 (";
    expect(
        "share(lost_load > 1000 | case=FIFO) < 90 %",
        &queues(4),
        Verdict::True,
        none,
    );
}

/// As many trials do not make up for packets that are not there.
#[test]
fn none_of_a_few_packets_a_trial_may_be_three_in_all_of_them() {
    let data = run(&[vec![("side", "a")]], 3, 3, |_| Delays {
        count: 7,
        ..CALM
    });
    for check in ["mean(lost) < 1 %", "share(response > 10ms) < 1 %"] {
        let none = "; none of 21 packets, so at 95 % fewer than 3 in 21 (14.3 %)";
        expect(check, &data, Verdict::Undecided, none);
    }
    expect("mean(lost) < 50 %", &data, Verdict::True, "");
}

/// Levels are far apart because they were made so; what repeats of one differ by is chance.
#[test]
fn levels_are_no_repeats_of_each_other() {
    let levels = ["1ms", "10ms", "100ms"].map(|wait| vec![("wait", wait)]);
    let delays = |repeats| {
        run(&levels, repeats, 3, |levels| Delays {
            base: level(of(levels, "wait")).value.unwrap(),
            count: 2,
            ..CALM
        })
    };
    let few = "6 packets are too few";
    let once = delays(1);
    expect("mean(response) < 200ms", &once, Verdict::Undecided, few);
    expect("mean(response) < 38ms", &delays(3), Verdict::True, "");
    expect("mean(lost_load) < 170", &queues(4), Verdict::True, "");
}

/// The lower end of a far quantile decides what it can.
#[test]
fn a_far_quantile_is_judged_on_the_side_that_is_known() {
    let data = run(&[vec![("side", "a")]], 1, 3, |_| Delays {
        count: 300,
        ..CALM
    });
    let known = "at 95 % at least 1";
    expect("p99(response) > 100us", &data, Verdict::True, known);
    expect("p99(response) < 100us", &data, Verdict::False, known);
    expect("p1(response) < 1ms", &data, Verdict::True, "");
    let open =
        "; how far p99(response) may be beyond that is not known: 300 packets say as much as";
    expect("p99(response) < 1ms", &data, Verdict::Undecided, open);
    let judged = judged("p99(response) > 100us", &data);
    let p99 = &judged.parts[0].statistics[0];
    assert!(p99.ends.low.is_some() && p99.ends.high.is_none());
    let why = p99.no_interval.as_ref().unwrap();
    assert!(why.contains("more packets are needed"), "{why}");
    let both = "p99(response) - p1(response) > 1us";
    expect(both, &data, Verdict::True, "at least ");
    // The largest of each trial's packets are alike, and say nothing of what is as rare as that.
    let three = run(&[vec![("side", "a")]], 3, 3, |_| Delays {
        count: 100,
        ..CALM
    });
    expect("p99(response) < 1ms", &three, Verdict::Undecided, open);
    expect(
        "p999(response) < 1ms",
        &three,
        Verdict::Undecided,
        "; how far p999(response)",
    );
    let neither = "p99(response) - 2 * p999(response) < 1us";
    let lacks = "p99(response) has no interval: 300 packets say as much as";
    expect(neither, &data, Verdict::Undecided, lacks);
}

/// Two sizes, each with this number of repeats, which are the same simulation.
fn copies(repeats: u32) -> Samples {
    let mut samples = Samples::default();
    for trial in 0..2 * repeats {
        let size = ["100B", "500B"][trial as usize % 2];
        let info = StreamInfo {
            trial,
            probe: "echo".to_owned(),
            series: None,
            repeat: trial / 2,
            factors: vec![("size".to_owned(), level(size))],
            trace_hash: Some(u64::from(trial % 2)),
            seed: None,
        };
        let mut random = SplitMix::new(u64::from(trial % 2));
        samples.push(
            info,
            records(trial, CALM, &mut random),
            RecordFacts::default(),
        );
        samples.push_lost_load(trial, 100 + u64::from(trial % 2) * 1000);
    }
    samples
}

/// Two queues that fill and drain, each with this number of repeats: in case `a` 10 to 11 ms, in `b` 30 to 46 ms, in a period of this many
/// of 400 packets. Repeats are the same simulation, or of hosts whose delays vary.
fn saws(repeats: u32, period: u64, are_copies: bool) -> Samples {
    let mut samples = Samples::default();
    let mut random = SplitMix::new(3);
    for trial in 0..2 * repeats {
        let (case, from, by) = [("a", 10.0, 1.0), ("b", 30.0, 16.0)][trial as usize % 2];
        let info = StreamInfo {
            trial,
            probe: "echo".to_owned(),
            series: None,
            repeat: trial / 2,
            factors: vec![("case".to_owned(), level(case))],
            trace_hash: are_copies.then(|| u64::from(trial % 2)),
            seed: None,
        };
        let record = |seq: u64| {
            let noise = if are_copies { 0.0 } else { random.uniform() };
            let delay = from + by * ((seq % period) as f64 + noise) / period as f64;
            let mut record = Record::due(trial, 0, seq, Method::Udp, seq as i64 * 5_000_000);
            record.t_send = Some(record.t_intended);
            record.t_recv = Some(record.t_intended + (delay * MS) as i64);
            record.outcome = Outcome::Ok;
            record
        };
        let records = (0..400).map(record).collect();
        samples.push(info, records, RecordFacts::default());
    }
    samples
}

/// Delays that change too slowly for an interval came and went often enough to tell that all of one side is below all of
/// the other.
#[test]
fn sides_that_are_surely_apart_are_told_without_an_interval() {
    const BELOW: &str = "p99(response | case=a) < p50(response | case=b)";
    for are_copies in [true, false] {
        let data = saws(2, 90, are_copies);
        expect(BELOW, &data, Verdict::True, " and surely from ");
        let compared = judged(BELOW, &data).parts.remove(0).comparisons.remove(0);
        assert!(compared.ends.high.unwrap() < 0.0 && compared.ends.low < compared.value);
        let above = "p50(response | case=b) < 20ms";
        expect(above, &data, Verdict::False, "surely from 10.0 ms");
        let about = "p50(response | case=b) ≈ 40ms within 60 %";
        expect(about, &data, Verdict::True, "the ratio is 0.9");
        // How much each of them is, it does not tell, and no number of packets is said that would be said again.
        let near = judged("p50(response | case=b) < 40ms", &data);
        assert_eq!(near.verdict, Verdict::Undecided);
        let advice = match are_copies {
            true => "longer trials may tell; its repeats are the same simulation",
            false => "longer trials may tell, or at least 3 of them",
        };
        assert!(near.reason.contains(advice), "{}", near.reason);
        assert!(!near.reason.contains("about 400 more"), "{}", near.reason);
    }
    // One trial does not show what differs from trial to trial, and one tooth nothing at all.
    expect(
        BELOW,
        &saws(1, 90, false),
        Verdict::Undecided,
        "has no interval",
    );
    expect(
        BELOW,
        &saws(2, 400, true),
        Verdict::Undecided,
        "has no interval",
    );
}

/// Where nothing is random, each trial's number is what it is, and no repeat is asked for.
#[test]
fn repeats_in_which_nothing_is_random_are_not_asked_for() {
    for repeats in [2, 3, 8] {
        let data = copies(repeats);
        for check in [
            "max(response | size=100B) < 1ms",
            "mean(lost_load) > 599",
            "max(lost_load) < 1101",
            "p90(lost_load | size=100B) < 101",
        ] {
            expect(check, &data, Verdict::True, "");
        }
        let mean = evidence("mean(response | size=100B) < 1s", &data);
        let near = format!(
            "mean(response | size=100B) < {}ns",
            mean.value.unwrap() as u64
        );
        let near = judged(&near, &data);
        let compared = &near.parts[0].comparisons[0];
        assert_eq!(near.verdict, Verdict::Undecided);
        assert_eq!(compared.more_repeats, None, "{}", near.reason);
        let why = "nothing in this simulation is random, so more repeats would be the same";
        assert!(near.reason.contains(why), "{}", near.reason);
    }
    // A repeat alone does not say that others are like it.
    let only = "; how extreme it may become, only repeats can tell";
    expect(
        "max(response | size=100B) < 1ms",
        &copies(1),
        Verdict::Undecided,
        only,
    );
}

/// What one number of each trial says of its extremes, repeats bound as they do a maximum of packets; of other quantiles
/// than the median it says nothing.
#[test]
fn numbers_of_trials_have_the_statistics_that_repeats_bound() {
    let peak = "max(peak_backlog | case=EFCI, of='s1→s2')";
    use Verdict::{True, Undecided};
    for (check, verdict, why) in [
        ("max(lost_load | case=FIFO) < 1000", True, ""),
        (
            "max(lost_load | case=FIFO) < 330",
            Undecided,
            "more repeats",
        ),
        ("min(lost_load | case=FIFO) > 200", True, ""),
        (
            "min(lost_load | case=FIFO) > 290",
            Undecided,
            "more repeats",
        ),
        ("p50(lost_load | case=FIFO) < 400", True, ""),
        (
            "p90(lost_load | case=FIFO) < 400",
            Undecided,
            "`mean`, `p50`, `min`, `max` and `share`",
        ),
        (
            "sd(lost_load | case=FIFO) < 400",
            Undecided,
            "`mean`, `p50`, `min`, `max` and `share`",
        ),
        (&format!("{peak} < 1001cells"), True, ""),
    ] {
        expect(check, &queues(8), verdict, why);
    }
    let only = "only repeats can tell";
    expect(
        "max(lost_load | case=FIFO) < 1000",
        &queues(1),
        Undecided,
        only,
    );
    expect(
        "min(lost_load | case=FIFO) > 200",
        &queues(1),
        Undecided,
        "more repeats",
    );
}

/// What may be 0 may be divided by 0.
#[test]
fn a_ratio_to_what_may_be_zero_is_open() {
    let rare = run(&[vec![("side", "a")]], 3, 3, |_| Delays {
        late: 0.001,
        ..CALM
    });
    expect(
        "mean(response) / share(response > 1ms) < 1s",
        &rare,
        Verdict::Undecided,
        "; what it is divided by may be 0",
    );
}

#[test]
fn levels_are_what_they_measure() {
    let data = waits(|wait, _| Delays {
        base: if wait == "1ms" { MS } else { 200.0 * US },
        count: 60,
        ..CALM
    });
    for check in [
        "mean(response | wait=1000us) > 900us",
        "mean(response | wait in [0ms, 0.1s]) < 300us",
        "mean(response | wait != 1ms) < 300us",
        "mean(response | wait=0) < 300us",
        "mean(response | wait in [0]) < mean(response | wait != 0)",
        "mean(response | wait > 0ms, wait < 100ms) > 900us",
        "mean(response | probe=echo, wait=100ms) < 300us",
        "not mean(response | wait=1ms) < 900us",
        "mean(response | wait=0ms) > 1s or mean(response | wait=1ms) > 900us",
        "mean(response | wait=0ms) < 500us < mean(response | wait=1ms) < 2ms",
        "for each wait: mean(response) <= mean(response | wait=1ms)",
        "count(response) <= 1080 and count(response) >= 1080",
        "mean(lost) < 1 %",
        "count(lost) < 1",
        "mean(response | wait=1ms) - mean(response | wait=0ms) ≈ 800us within 20us",
        "-mean(response) * 2 < -1ms / 4 + 0",
    ] {
        expect(check, &data, Verdict::True, "");
    }
    // What this run does not have leaves it to the other.
    let other = "mean(response) > 1s or mean(response | wait=7ms) > 1us";
    expect(other, &data, Verdict::False, "the difference is");
    let neither = "mean(response | wait=7ms) > 1s or mean(response | wait=7ms) > 1us";
    expect(neither, &data, Verdict::NotApplicable, "has wait=7ms");
}

#[test]
fn repeats_that_differ_widen_the_interval() {
    let design = [vec![("side", "a")], vec![("side", "b")]];
    let data = std::cell::Cell::new(0.0_f64);
    // Each trial has a level of its own, 50 µs apart; its packets vary by 1 µs.
    let samples = run(&design, 3, 5, |_| {
        data.set(data.get() + 1.0);
        Delays {
            base: 200.0 * US + 50.0 * US * (data.get() * 2.4).sin(),
            sd: US,
            ..CALM
        }
    });
    let judged = judged(
        "mean(response | side=a) < mean(response | side=b)",
        &samples,
    );
    assert_eq!(judged.verdict, Verdict::Undecided);
    assert!(judged.parts[0].comparisons[0].repeats_differ);
    assert!(
        judged.reason.contains("more repeats would settle it"),
        "{}",
        judged.reason
    );
    let compared = &judged.parts[0].comparisons[0];
    assert!(compared.more_repeats.is_some() && compared.more_packets.is_none());
}

/// A few packets of a trial are one value together, and as many more of them are again one for each trial.
#[test]
fn where_trials_tell_more_of_them_are_asked_for() {
    let trial = std::cell::Cell::new(0.0_f64);
    let samples = run(&[vec![("side", "a")]], 3, 1, |_| {
        trial.set(trial.get() + 1.0);
        Delays {
            base: 200.0 * US + 50.0 * US * (trial.get() * 2.4).sin(),
            count: 7,
            ..CALM
        }
    });
    let judged = judged("mean(response) < 250us", &samples);
    assert_eq!(judged.verdict, Verdict::Undecided);
    let compared = &judged.parts[0].comparisons[0];
    assert!(compared.of_trials && !compared.repeats_differ);
    assert!(compared.more_repeats.is_some() && compared.more_packets.is_none());
    for part in ["each as one value", "more repeats would settle it"] {
        assert!(judged.reason.contains(part), "{}", judged.reason);
    }
}

/// A longer trial has one number as well: with as many of them, the next run knows as little.
#[test]
fn what_trials_tell_is_forecast_by_the_number_of_trials() {
    let check = "mean(lost_load | case=FIFO) < 310";
    let judged = judged(check, &queues(8));
    assert_eq!(judged.verdict, Verdict::Undecided, "{}", judged.reason);
    let expected = |packets: f64, repeats: f64| {
        let scale = Scale { packets, repeats };
        forecast(&finding("test", check), &judged, scale).unwrap()
    };
    assert_eq!(expected(100.0, 1.0), expected(1.0, 1.0));
    assert!(expected(1.0, 100.0).decided() > expected(1.0, 1.0).decided());
}

/// Two statistics of the same packets need no packet twice.
#[test]
fn packets_that_would_settle_it_count_once() {
    let samples = waits(|_, _| CALM);
    let of = |check: &str| judged(check, &samples).parts.remove(0);
    let mean = of("mean(response | wait=0ms) < 1s").statistics[0]
        .value
        .unwrap();
    let bound = mean as u64 + 100;
    let more = |sum: &str| {
        let part = of(&format!("{sum} < {bound}ns"));
        part.comparisons[0].more_packets.unwrap() as f64
    };
    let one = more("mean(response | wait=0ms)");
    let two = more("mean(response | wait=0ms) + 0 * p50(response | wait=0ms)");
    assert!(one > 0.0 && (two / one - 1.0).abs() < 0.2, "{one}, {two}");
}

/// Two trials far apart, as where a queue filled in one of them alone: Student's interval of two would reach below
/// zero, and no number of packets tells whether the next one fills.
#[test]
fn a_delay_is_never_less_than_nothing_and_repeats_are_asked_for() {
    let design = [vec![("side", "a")]];
    let data = std::cell::Cell::new(0.0_f64);
    let samples = run(&design, 2, 5, |_| {
        data.set(data.get() + 1.0);
        Delays {
            base: 500.0 * US * data.get() * data.get(),
            sd: US,
            ..CALM
        }
    });
    let judged = judged("p50(response) < 3ms", &samples);
    let [part] = &judged.parts[..] else {
        panic!("{judged:?}")
    };
    let (median, compared) = (&part.statistics[0], &part.comparisons[0]);
    assert_eq!(median.ends.low, Some(0.0), "{median:?}");
    assert!(compared.ends.low >= Some(-3.0 * MS), "{compared:?}");
    assert_eq!(judged.verdict, Verdict::Undecided);
    assert!(
        judged.reason.contains("more repeats would settle it"),
        "{}",
        judged.reason
    );
    // What may be negative is left alone.
    let difference = self::judged("p50(response) - p50(network) < 3ms", &samples);
    assert!(difference.parts[0].comparisons[0].ends.low < Some(-3.0 * MS));
}

/// The least delay may be far below the least seen, where the queue was never empty; it is above zero all the same.
#[test]
fn a_delay_above_the_least_is_no_more_than_the_delay() {
    let samples = run(&[vec![("side", "a")]], 6, 5, |_| Delays {
        base: 20.0 * MS,
        sd: 5.0 * MS,
        phi: 0.5,
        late: 0.0,
        count: 200,
    });
    let of = |check: &str| judged(check, &samples).parts.remove(0);
    let difference = of("mean(response) - min(response) < 23ms");
    assert_eq!(difference.verdict, Verdict::True, "{}", difference.reason);
    assert_eq!(difference.statistics[1].ends.low, Some(0.0));
    let ratio = of("mean(response) - min(response) ≈ 15ms within 50 %");
    assert_eq!(ratio.verdict, Verdict::True, "{}", ratio.reason);
}

/// A share over a constant.
#[test]
fn a_ratio_is_no_more_than_what_it_is_made_of_can_be() {
    let data = waits(|wait, _| Delays {
        late: if wait == "0ms" { 0.9 } else { 0.1 },
        count: 50,
        ..CALM
    });
    let check = "share(response > 2ms | wait=0ms, condition=quiet) ≈ 80 % within 10 %";
    let compared = judged(check, &data).parts.remove(0).comparisons.remove(0);
    assert!(compared.ends.high.unwrap() <= 1.25, "{compared:?}");
}

#[test]
fn a_verdict_can_be_recomputed_from_what_is_printed() {
    let data = waits(|wait, _| with_sd(if wait == "0ms" { 10.0 } else { 15.0 }));
    let judged = judged(
        "p50(response | wait=1ms) < 190us and sd(response | wait=1ms) > 12us",
        &data,
    );
    for (index, statistic) in judged.parts[0].statistics.iter().enumerate() {
        let comparison = &judged.parts[0].comparisons[index];
        assert_eq!(statistic.value, comparison.left);
        assert_eq!((statistic.count, statistic.trials), (3000, 6));
        let difference = comparison.left.unwrap() - comparison.right.unwrap();
        assert!((comparison.value.unwrap() - difference).abs() < 1e-6);
        assert!(comparison.ends.low < comparison.value && comparison.value < comparison.ends.high);
        assert!(statistic.ends.low < statistic.value && statistic.value < statistic.ends.high);
        // A number has no error, so the two intervals are the same one, moved.
        let moved = statistic.ends.low.unwrap() - comparison.right.unwrap();
        assert!((moved - comparison.ends.low.unwrap()).abs() < 1e-6 * moved.abs());
    }
    let expected = [Verdict::False, Verdict::True];
    for (comparison, expected) in judged.parts[0].comparisons.iter().zip(expected) {
        assert_eq!(comparison.verdict, expected);
        let above = comparison
            .above
            .is_some_and(|above| comparison.ends.low > Some(above));
        let below = comparison
            .below
            .is_some_and(|below| comparison.ends.high < Some(below));
        assert_eq!(above || below, expected == Verdict::True);
    }
}

#[test]
fn the_same_seed_gives_the_same_findings_and_json_has_no_other_numbers() {
    let data = waits(|_, _| CALM);
    let findings: Vec<Finding> = [WAIT_RAISES_JITTER, "max(response) < 1s", "p50(host) > 0"]
        .iter()
        .map(|check| finding(check, check))
        .collect();
    let first = judge(&findings, &data, 1);
    assert_eq!(first, judge(&findings, &data, 1));
    assert_ne!(first, judge(&findings, &data, 2));
    let json = serde_json::to_string(&first).unwrap();
    let again: Vec<Judged> = serde_json::from_str(&json).unwrap();
    assert_eq!(again.len(), first.len());
    assert!(json.contains("\"verdict\":\"undecided\"") && json.contains("\"interval\":null"));
}

/// Two sides that are the same differ by chance only: a verdict about them is a false one.
#[test]
fn chance_seldom_gives_a_verdict() {
    const RUNS: u64 = 150;
    let design = [vec![("side", "a")], vec![("side", "b")]];
    for check in [
        "mean(response | side=a) < mean(response | side=b)",
        "sd(response | side=a) < sd(response | side=b)",
        "p50(response | side=a) < p50(response | side=b)",
        "share(response > 215us | side=a) < share(response > 215us | side=b)",
    ] {
        let verdicts = (0..RUNS).filter(|seed| {
            let data = run(&design, 2, 100 + seed, |_| Delays {
                phi: 0.7,
                count: 300,
                ..CALM
            });
            judged(check, &data).verdict != Verdict::Undecided
        });
        let share = verdicts.count() as f64 / RUNS as f64;
        // 5 % and two standard errors of what 150 runs show of it.
        assert!(share <= 0.086, "{check}: {share}");
    }
}

/// A trial's backlog: about `mean` cells, with peaks twice as high.
fn backlog(samples: &mut Samples, trial: u32, case: &str, of: &str, mean: f64) {
    let mut random = SplitMix::new(u64::from(trial) + 7 * of.len() as u64);
    let point = |k: i64| {
        let here = mean * (0.5 + random.uniform());
        delaylab_model::series::SeriesPoint {
            trial,
            series: "backlog".into(),
            of: of.into(),
            unit: Unit::Cells,
            t: 10_000_000 * k,
            length: 10_000_000,
            min: 0.0,
            mean: here,
            max: 2.0 * mean,
        }
    };
    let points = (0..1000).map(point).collect();
    let info = StreamInfo {
        trial,
        probe: of.to_owned(),
        series: Some(Measure::Backlog),
        repeat: trial / 2,
        factors: vec![("case".to_owned(), level(case))],
        trace_hash: None,
        seed: None,
    };
    samples.push_series(info, points, Vec::new());
}

/// Two cases, each with so many repeats, a queue each way and a loss each.
fn queues(repeats: u32) -> Samples {
    let design = [vec![("case", "EFCI")], vec![("case", "FIFO")]];
    let mut samples = run(&design, repeats, 3, |_| CALM);
    for trial in 0..2 * repeats {
        let (case, mean) = [("EFCI", 500.0), ("FIFO", 2000.0)][trial as usize % 2];
        backlog(&mut samples, trial, case, "s1→s2", mean);
        backlog(&mut samples, trial, case, "s2→s1", 1.0);
        let lost = if case == "FIFO" { 300 } else { 10 };
        samples.push_lost_load(trial, lost + u64::from(trial));
    }
    samples
}

#[test]
fn series_are_measures_of_a_port() {
    let samples = queues(1);
    for (check, verdict) in [
        (
            "mean(backlog | case=EFCI, of='s1→s2') ≈ 500cells within 5 %",
            Verdict::True,
        ),
        (
            "mean(backlog | case=EFCI, of='s1→s2') < mean(backlog | case=FIFO, of='s1→s2')",
            Verdict::True,
        ),
        (
            "max(backlog | case=EFCI, of='s1→s2') >= 1000cells",
            Verdict::True,
        ),
        (
            "max(backlog | case=EFCI, of='s1→s2') >= 1001cells",
            Verdict::Undecided,
        ),
        (
            "for each of: mean(backlog | case=EFCI) > 0.5cells",
            Verdict::True,
        ),
        (
            "p50(backlog | case=EFCI, of='s1→s2') > 1500cells",
            Verdict::False,
        ),
    ] {
        let judged = judged(check, &samples);
        assert_eq!(judged.verdict, verdict, "{check}: {}", judged.reason);
    }
}

/// Student's interval of two trials far apart reaches beyond what a share can be.
#[test]
fn a_line_is_never_busier_than_all_the_time() {
    let mut samples = run(&[vec![("case", "one")]], 2, 3, |_| CALM);
    for trial in 0..2 {
        let mut random = SplitMix::new(trial.into());
        let point = |k: i64| {
            let mean = [0.5, 0.9][trial as usize] + 0.1 * random.uniform();
            delaylab_model::series::SeriesPoint {
                trial,
                series: "utilisation".into(),
                of: "s1→s2".into(),
                unit: Unit::Share,
                t: 10_000_000 * k,
                length: 10_000_000,
                min: 0.0,
                mean,
                max: 1.0,
            }
        };
        let points = (0..1000).map(point).collect();
        let info = StreamInfo {
            trial,
            probe: "s1→s2".to_owned(),
            series: Some(Measure::Utilisation),
            repeat: trial,
            factors: vec![("case".to_owned(), level("one"))],
            trace_hash: None,
            seed: None,
        };
        samples.push_series(info, points, Vec::new());
    }
    let part = judged("mean(utilisation) > 90%", &samples).parts.remove(0);
    let (mean, compared) = (&part.statistics[0], &part.comparisons[0]);
    assert_eq!(
        (mean.ends.low, mean.ends.high),
        (Some(0.0), Some(1.0)),
        "{mean:?}"
    );
    assert!(compared.ends.high <= Some(0.1 + 1e-9), "{compared:?}");
}

#[test]
fn what_series_there_are_not_says_so() {
    let samples = queues(1);
    use Verdict::{NotApplicable, Undecided};
    #[rustfmt::skip]
    let cases = [
        ("mean(acr | of=echo) > 1Mbit/s", NotApplicable, "this run kept no acr"),
        ("mean(backlog | of=nowhere) > 1cells", NotApplicable, "it has s1→s2, s2→s1"),
        ("mean(backlog | probe=echo) > 1cells", NotApplicable, "no factor `probe`"),
        ("mean(response | of=echo) > 1ms", NotApplicable, "no factor `of`"),
        ("mean(backlog | of='s1→s2') > 1B", NotApplicable, "cannot be compared with"),
        ("share(backlog > 500B | of='s1→s2') > 0", NotApplicable, "backlog counts cells, its bound B"),
        ("mean(lost_load | case=FIFO) > 100", Undecided, "at least 3 trials"),
    ];
    for (check, verdict, why) in cases {
        let judged = judged(check, &samples);
        assert_eq!(judged.verdict, verdict, "{check}");
        assert!(judged.reason.contains(why), "{check}: {}", judged.reason);
    }
}

/// A load of one stream has no fairness, though there are trials with one.
#[test]
fn what_trials_with_a_level_do_not_have_is_said_of_them() {
    let streams = |text: &'static str| vec![("streams".to_owned(), level(text))];
    let design = [vec![("streams", "1")], vec![("streams", "4")]];
    let mut samples = run(&design, 1, 3, |_| CALM);
    let point = delaylab_model::series::SeriesPoint {
        trial: 1,
        series: "fairness".into(),
        of: "bulk".into(),
        unit: Unit::Share,
        t: 0,
        length: 10_000_000,
        min: 1.0,
        mean: 1.0,
        max: 1.0,
    };
    let info = StreamInfo {
        trial: 1,
        probe: "bulk".to_owned(),
        series: Some(Measure::Fairness),
        repeat: 0,
        factors: streams("4"),
        trace_hash: None,
        seed: None,
    };
    samples.push_series(info, vec![point], Vec::new());
    use Verdict::NotApplicable;
    let none = "no trial with streams=1 has fairness (Jain's index of what the streams of a load received, where there are two or more, over time)";
    expect(
        "mean(fairness | streams=1) > 0.9",
        &samples,
        NotApplicable,
        none,
    );
    expect(
        "mean(fairness | streams=1, of=bulk) > 0.9",
        &samples,
        NotApplicable,
        none,
    );
    let unknown = "no trial of this run has streams=7 (it has 4)";
    expect(
        "mean(fairness | streams=7) > 0.9",
        &samples,
        NotApplicable,
        unknown,
    );
    let nowhere = "no trial of this run has of=nowhere (it has bulk)";
    expect(
        "mean(fairness | of=nowhere) > 0.9",
        &samples,
        NotApplicable,
        nowhere,
    );
}

/// A tester's frames have no residence; the packets beside them have.
#[test]
fn a_probe_that_has_not_what_others_have_is_named() {
    let mut samples = Samples::default();
    for (probe, method) in [("echo", Method::Udp), ("fr", Method::Frame)] {
        let info = StreamInfo {
            trial: 0,
            probe: probe.to_owned(),
            series: None,
            repeat: 0,
            factors: Vec::new(),
            trace_hash: None,
            seed: None,
        };
        let mut records = records(0, CALM, &mut SplitMix::new(1));
        for record in &mut records {
            record.method = method;
            if method == Method::Udp {
                (record.t_tx, record.t_rx) = (record.t_send, record.t_recv);
            }
        }
        samples.push(info, records, RecordFacts::default());
    }
    let why = "probe `fr` has no network, and others have: name one of them, as in `| probe=echo`";
    expect("mean(network) > 0", &samples, Verdict::NotApplicable, why);
    expect(
        "mean(network | probe=echo) > 0",
        &samples,
        Verdict::True,
        "",
    );
}

/// The largest value of all is at least that; the peaks of several trials tell how large a peak is.
#[test]
fn a_peak_is_a_number_of_each_trial_and_port() {
    let samples = queues(4);
    use Verdict::{False, NotApplicable, True, Undecided};
    #[rustfmt::skip]
    let cases = [
        ("mean(peak_backlog | case=EFCI, of='s1→s2') >= 1001cells", False, ""),
        ("999cells <= mean(peak_backlog | case=EFCI, of='s1→s2') <= 1500cells", True, ""),
        ("for each of: mean(peak_backlog | case=EFCI) > 1.5cells", True, ""),
        // Of both ports: two of each trial's are one.
        ("mean(peak_backlog | case=EFCI) > 502cells", False, ""),
        ("share(peak_backlog > 999cells | case=EFCI, of='s1→s2') > 10 %", True, ""),
        ("share(peak_backlog > 999cells | case=EFCI, of='s1→s2') > 90 %", Undecided, ""),
        ("share(peak_backlog > 1000cells | case=EFCI, of='s1→s2') > 10 %", Undecided, ""),
        ("mean(peak_backlog | case=EFCI, of='s1→s2') > 1B", NotApplicable, "cannot be compared with"),
        ("mean(peak_backlog | of=nowhere) > 1cells", NotApplicable, "it has s1→s2, s2→s1"),
    ];
    for (check, verdict, why) in cases {
        let judged = judged(check, &samples);
        assert_eq!(judged.verdict, verdict, "{check}: {}", judged.reason);
        assert!(judged.reason.contains(why), "{check}: {}", judged.reason);
    }
    let one = "mean(peak_backlog | case=EFCI, of='s1→s2') > 1cells";
    let one = judged(one, &queues(1));
    assert_eq!(one.verdict, Undecided);
    assert!(one.reason.contains("at least 3 trials"), "{}", one.reason);
}

/// A trial's count of drops, which grows evenly.
fn drops(samples: &mut Samples, trial: u32, of: &str, in_all: f64) {
    let point = |k: i64| delaylab_model::series::SeriesPoint {
        trial,
        series: "drops".into(),
        of: of.into(),
        unit: Unit::Packets,
        t: 10_000_000 * k,
        length: 10_000_000,
        min: in_all * k as f64 / 10.0,
        mean: in_all * (k as f64 + 0.5) / 10.0,
        max: in_all * (k as f64 + 1.0) / 10.0,
    };
    let info = StreamInfo {
        trial,
        probe: of.to_owned(),
        series: Some(Measure::Drops),
        repeat: trial,
        factors: Vec::new(),
        trace_hash: None,
        seed: None,
    };
    samples.push_series(info, (0..10).map(point).collect(), Vec::new());
}

/// Its mean over time would be half of it.
#[test]
fn what_a_queue_drops_is_a_number_of_each_trial_and_port() {
    let counts = |trials: u32| {
        let mut samples = run(&[vec![]], trials, 3, |_| CALM);
        for trial in 0..trials {
            drops(&mut samples, trial, "s1→s2", f64::from(100 + trial));
            drops(&mut samples, trial, "s2→s1", 0.0);
        }
        samples
    };
    let samples = counts(4);
    use Verdict::{False, NotApplicable, True, Undecided};
    #[rustfmt::skip]
    let cases = [
        ("mean(drops | of='s1→s2') ≈ 101.5packets within 5 %", True, ""),
        ("max(drops | of='s1→s2') >= 103packets", True, ""),
        // 100 + 101 + 102 + 103.
        ("406 <= count(drops) <= 406", True, ""),
        ("mean(drops | of='s1→s2') < 99packets", False, ""),
        ("mean(drops | of='s1→s2') > 1cells", NotApplicable, "cannot be compared with"),
        ("mean(marks) > 1packets", NotApplicable, "this run kept no marks"),
    ];
    for (check, verdict, why) in cases {
        let judged = judged(check, &samples);
        assert_eq!(judged.verdict, verdict, "{check}: {}", judged.reason);
        assert!(judged.reason.contains(why), "{check}: {}", judged.reason);
    }
    let one = judged("mean(drops | of='s1→s2') > 1packets", &counts(1));
    assert_eq!(one.verdict, Undecided);
    assert!(
        one.reason.contains("a trial has one number of it"),
        "{}",
        one.reason
    );
}

/// Views add counts up as findings do.
#[test]
fn every_count_is_a_series_with_one_number_each_trial() {
    let counts =
        Measure::all().filter(|measure| measure.is_series() && measure.is_number_of_trial());
    let mut names: Vec<_> = counts.map(Measure::name).collect();
    names.sort_unstable();
    assert_eq!(names, delaylab_model::series::COUNTS);
}

#[test]
fn what_the_load_loses_is_a_number_of_each_trial() {
    let samples = queues(4);
    let more = "mean(lost_load | case=FIFO) > 5 * mean(lost_load | case=EFCI)";
    assert_eq!(judged(more, &samples).verdict, Verdict::True);
    // 10 + 0, 10 + 2, 10 + 4, 10 + 6.
    let all = "count(lost_load | case=EFCI) <= 52";
    assert_eq!(judged(all, &samples).verdict, Verdict::True);
}

/// That three trials were valid does not say that all are; of copies it does.
#[test]
fn valid_trials_are_a_share_of_trials() {
    for statistic in ["mean(valid)", "share(valid > 0)"] {
        let nearly_all = format!("{statistic} > 99 %");
        expect(&nearly_all, &queues(3), Verdict::Undecided, "");
        expect(&nearly_all, &copies(3), Verdict::True, "");
        let half = format!("{statistic} > 50 %");
        expect(&half, &queues(8), Verdict::True, "all of 16 trials");
    }
}

/// A row for each level in the order of the experiment, a column for each level and value.
#[test]
fn a_table_has_the_values_of_each_level() {
    let data = waits(|wait, condition| Delays {
        base: if wait == "0ms" {
            100.0 * US
        } else {
            300.0 * US
        },
        sd: if condition == "quiet" { 0.0 } else { 20.0 * US },
        ..CALM
    });
    let asked = FigureSection {
        id: "jitter".to_owned(),
        title: "Jitter".to_owned(),
        draw: Draw::Table,
        levels: Some("condition in [quiet, normal], wait in [0ms, 100ms]".to_owned()),
        against: None,
        statistics: Vec::new(),
        series: None,
        rows: Some("condition".to_owned()),
        columns: Some("wait".to_owned()),
        values: vec![
            "p50(response)".to_owned(),
            "p50(response) - min(response)".to_owned(),
        ],
        printed: BTreeMap::new(),
        shows: None,
        measured: None,
    };
    let order = ["quiet", "normal", "stressed"].map(Level::named).to_vec();
    let order = [("condition".to_owned(), order)];
    let table = tabulate(&asked, &data, &order).unwrap();
    let heads: Vec<_> = table
        .heads
        .iter()
        .map(|(level, value)| (level.as_str(), value.len()))
        .collect();
    assert_eq!(
        heads,
        [("0ms", 13), ("0ms", 29), ("100ms", 13), ("100ms", 29)]
    );
    let rows: Vec<_> = table.rows.iter().map(|row| row.level.as_str()).collect();
    assert_eq!(rows, ["quiet", "normal"]);
    let quiet = &table.rows[0].cells;
    assert!(
        quiet[0].as_ref().unwrap().starts_with("100 µs"),
        "{quiet:?}"
    );
    assert!(
        quiet[2].as_ref().unwrap().starts_with("300 µs"),
        "{quiet:?}"
    );
    let none = FigureSection {
        columns: Some("place".to_owned()),
        ..asked
    };
    let why = tabulate(&none, &data, &[]).unwrap_err();
    assert_eq!(why, "this run has no factor `place`");
}

/// Trials of two cases that are the same four simulations: `hashes` gives each its own, or both one.
fn simulated(cases: &[&str], hash: impl Fn(usize, u32) -> u64) -> Samples {
    let mut samples = Samples::default();
    for repeat in 0..4 {
        for (at, case) in cases.iter().enumerate() {
            let trial = repeat * cases.len() as u32 + at as u32;
            let hash = hash(at, repeat);
            let info = StreamInfo {
                trial,
                probe: "echo".to_owned(),
                series: None,
                repeat,
                factors: vec![("case".to_owned(), level(case))],
                trace_hash: Some(hash),
                seed: None,
            };
            let records = records(trial, CALM, &mut SplitMix::new(hash));
            samples.push(info, records, RecordFacts::default());
        }
    }
    samples
}

/// The first statistic that a check looks at.
fn evidence(check: &str, samples: &Samples) -> super::Evaluated {
    let finding = finding("1", check);
    judge(&[finding], samples, 1)[0].parts[0].statistics[0].clone()
}

#[test]
fn ports_that_are_pooled_are_counted_in_a_note() {
    let samples = queues(1);
    let note = |check: &str| evidence(check, &samples).note;
    let together = Some("of 2 ports or flows together: `of` names one".to_owned());
    assert_eq!(note("mean(backlog | case=EFCI) > 1cells"), together);
    assert_eq!(note("mean(backlog | case=EFCI, of='s1→s2') > 1cells"), None);
    assert_eq!(note("max(backlog | case=EFCI) > 1cells"), None);
}

#[test]
fn copies_of_a_simulation_count_once() {
    const CHECK: &str = "mean(response) < 1s";
    let one = evidence(CHECK, &simulated(&["a"], |_, _| 1).first_trials(1));
    let copies = evidence(CHECK, &simulated(&["a"], |_, _| 1));
    assert_eq!(
        (copies.ends.low, copies.ends.high),
        (one.ends.low, one.ends.high)
    );
    assert_eq!((copies.count, copies.trials), (one.count, 1));
    // Nor do levels that change nothing make two of one.
    let plain = evidence(CHECK, &simulated(&["a"], |_, repeat| u64::from(repeat)));
    let twice = evidence(
        CHECK,
        &simulated(&["a", "b"], |_, repeat| u64::from(repeat)),
    );
    assert_eq!(
        (twice.ends.low, twice.ends.high),
        (plain.ends.low, plain.ends.high)
    );
    assert_eq!((twice.count, twice.trials), (plain.count, 4));
    let others = evidence(
        CHECK,
        &simulated(&["a", "b"], |at, repeat| u64::from(repeat) + 10 * at as u64),
    );
    assert_eq!(others.trials, 8);
}

#[test]
fn what_is_the_same_simulation_differs_by_nothing() {
    let samples = simulated(&["a", "b"], |_, repeat| u64::from(repeat));
    let check = "mean(response | case=a) < mean(response | case=b)";
    expect(check, &samples, Verdict::False, "");
}

/// Simulations of eight sizes, the random numbers of a repeat the same at all of them; each size adds 20 ns to the delay, and a
/// packet to the loss of the load.
fn with_common_random_numbers(repeats: u32) -> Samples {
    let sizes = ["64B", "66B", "68B", "70B", "72B", "74B", "76B", "78B"];
    let mut samples = Samples::default();
    for repeat in 0..repeats {
        for (size, at) in sizes.into_iter().zip(0..) {
            let trial = 8 * repeat + at;
            let info = StreamInfo {
                trial,
                probe: "echo".to_owned(),
                series: None,
                repeat,
                factors: vec![("size".to_owned(), level(size))],
                trace_hash: Some(u64::from(trial)),
                seed: Some(u64::from(repeat)),
            };
            let mut random = SplitMix::new(u64::from(repeat));
            let base = 200.0 * US + 5.0 * US * random.normal() + 20.0 * f64::from(at);
            let records = records(trial, Delays { base, ..CALM }, &mut random);
            samples.push(info, records, RecordFacts::default());
            let lost = 1000.0 + 100.0 * random.normal() + f64::from(at);
            samples.push_lost_load(trial, lost as u64);
        }
    }
    samples
}

#[test]
fn levels_with_common_random_numbers_are_one_repeat() {
    let width =
        |evidence: super::Evaluated| evidence.ends.high.unwrap() - evidence.ends.low.unwrap();
    for repeats in [1, 4] {
        let samples = with_common_random_numbers(repeats);
        let of = |selected: &str| evidence(&format!("mean(response{selected}) < 1s"), &samples);
        assert_eq!(of("").trials, repeats as usize);
        let (all, one) = (width(of("")), width(of(" | size=64B")));
        assert!((0.9..1.1).contains(&(all / one)), "{repeats}: {all} {one}");
        let more = "mean(response | size=78B) > mean(response | size=64B)";
        expect(more, &samples, Verdict::True, "");
        let far = "mean(response | size=78B) > mean(response | size=64B) + 1us";
        expect(far, &samples, Verdict::False, "");
    }
    let samples = with_common_random_numbers(4);
    let of = |selected: &str| evidence(&format!("mean(lost_load{selected}) < 2000"), &samples);
    let (all, one) = (width(of("")), width(of(" | size=64B")));
    assert!((0.8..1.25).contains(&(all / one)), "{all} {one}");
    let more = "mean(lost_load | size=78B) > mean(lost_load | size=64B)";
    expect(more, &samples, Verdict::True, "");
}

/// A queue of 1 cell that is 1000 for one thousandth of each stretch, `factor` stretches long: no mean of a stretch is far
/// from 2.
fn bursts(factor: i64) -> Samples {
    let mut samples = Samples::default();
    for trial in 0..4 {
        let point = |k: i64| delaylab_model::series::SeriesPoint {
            trial,
            series: "backlog".into(),
            of: "s1→s2".into(),
            unit: Unit::Cells,
            t: 10_000_000 * k,
            length: 10_000_000,
            min: 1.0,
            mean: 1.0 * 0.995 + 1000.0 * 0.005,
            max: 1000.0,
        };
        let value = |(value, length)| delaylab_model::series::SeriesValue {
            trial,
            series: "backlog".into(),
            of: "s1→s2".into(),
            unit: Unit::Cells,
            value,
            length,
        };
        let info = StreamInfo {
            trial,
            probe: "s1→s2".to_owned(),
            series: Some(Measure::Backlog),
            repeat: trial,
            factors: Vec::new(),
            trace_hash: None,
            seed: None,
        };
        let values = [
            (1.0, 9_950_000 * 1000 * factor),
            (1000.0, 50_000 * 1000 * factor),
        ];
        let points = (0..1000 * factor).map(point).collect();
        samples.push_series(info, points, values.map(value).to_vec());
    }
    samples
}

/// The means of stretches are 6 cells, and hide bursts of 1000 that are shorter than they are.
#[test]
fn quantiles_of_a_series_are_those_of_its_values() {
    for factor in [1, 4] {
        let samples = bursts(factor);
        for check in [
            "p999(backlog) >= 999cells",
            "p99(backlog) <= 1cells",
            "p999(backlog) <= max(backlog)",
            "share(backlog > 500cells) ≈ 0.5 % within 1 %",
            "mean(backlog) ≈ 6cells within 1 %",
        ] {
            let judged = judged(check, &samples);
            assert_ne!(judged.verdict, Verdict::False, "{check}: {}", judged.reason);
        }
        assert_eq!(
            evidence("p999(backlog) > 0cells", &samples).value,
            Some(1000.0)
        );
        assert_eq!(evidence("p99(backlog) > 0cells", &samples).value, Some(1.0));
        assert_eq!(
            evidence("share(backlog > 500cells) > 0", &samples).value,
            Some(0.005)
        );
    }
}

/// Trials whose packets are all alike, as behind a full queue, and differ a little from trial to trial.
fn full_queues(repeats: u32) -> Samples {
    let design = ["64B", "512B", "1024B"].map(|size| vec![("size", size)]);
    let mut samples = Samples::default();
    let trials = (0..repeats).flat_map(|repeat| design.iter().map(move |size| (repeat, size)));
    for ((repeat, factors), trial) in trials.zip(0..) {
        let size = level(factors[0].1);
        let delay = 1_000_000 + 1_600 * size.value.unwrap() as i64 + 500 * i64::from(repeat);
        let record = |seq: u64| {
            let mut record = Record::due(trial, 0, seq, Method::Frame, 1_000_000 * seq as i64);
            record.t_send = Some(record.t_intended);
            // The first frame that comes too much is the sixth of the first repeat, and so on.
            let arrived = seq < 5 + u64::from(repeat) || seq.is_multiple_of(2);
            record.t_recv = arrived.then_some(record.t_intended + delay + seq as i64);
            record.outcome = if arrived { Outcome::Ok } else { Outcome::Lost };
            record
        };
        let info = StreamInfo {
            trial,
            probe: "a".to_owned(),
            series: None,
            repeat,
            factors: vec![("size".to_owned(), size)],
            trace_hash: None,
            seed: None,
        };
        samples.push(info, (0..400).map(record).collect(), RecordFacts::default());
    }
    samples
}

#[test]
fn a_line_through_points_that_trials_bound_is_bounded() {
    let linear = "r2(mean(delay) on size) >= 0.99";
    assert_eq!(judged(linear, &full_queues(3)).verdict, Verdict::True);
    let once = judged(linear, &full_queues(1));
    assert_eq!(once.verdict, Verdict::Undecided, "{}", once.reason);
}

/// The mean drifts, and whole trials tell how much; the tail does not, and needs no blocks as long as the drift.
#[test]
fn a_slow_mean_does_not_forbid_a_fast_tail() {
    let drifting = Delays {
        phi: 0.9995,
        late: 0.05,
        count: 2000,
        ..CALM
    };
    let samples = run(&[vec![]], 3, 1, |_| drifting);
    expect(
        "p99(response) > 10 * p50(response)",
        &samples,
        Verdict::True,
        "",
    );
}

/// The mean of three trials is Student's, whose draws go far below zero. They are no reason not to say that it is half of
/// something.
#[test]
fn a_mean_that_three_trials_tell_may_be_a_share() {
    let level = std::cell::Cell::new(0.0);
    let samples = run(&[vec![("side", "a")], vec![("side", "b")]], 3, 1, |_| {
        level.set(level.get() + 1.0);
        Delays {
            base: 500.0 * US + 10.0 * US * f64::sin(level.get()),
            sd: 20.0 * US,
            phi: 0.9999,
            ..CALM
        }
    });
    let alike = "mean(response | side=a) ≈ mean(response | side=b) within 50 %";
    expect(alike, &samples, Verdict::True, "the ratio is");
}

#[test]
fn frames_back_to_back_are_a_number_of_each_trial() {
    let samples = full_queues(3);
    // The first loss is frame 5, 7 and 7.
    for (check, verdict) in [
        ("count(back_to_back | size=64B) >= 19", Verdict::True),
        ("count(back_to_back | size=64B) > 19", Verdict::False),
        ("mean(back_to_back | size=64B) < 40", Verdict::True),
        ("mean(back_to_back | size=64B) * 64B < 4000B", Verdict::True),
    ] {
        let judged = judged(check, &samples);
        assert_eq!(judged.verdict, verdict, "{check}: {}", judged.reason);
    }
    // Not "about 0 more packets": each trial has one number, whatever its packets.
    let undecided = judged("mean(back_to_back | size=64B) < 7", &samples);
    assert_eq!(undecided.verdict, Verdict::Undecided);
    let compared = &undecided.parts[0].comparisons[0];
    assert_eq!(compared.more_packets, None);
    assert!(compared.more_repeats.is_some(), "{}", undecided.reason);
}

/// What a trial says that is not what its experiment meant counts, and the reason says so.
#[test]
fn invalid_trials_are_named() {
    let mut samples = run(&[vec![("side", "a")], vec![("side", "b")]], 3, 1, |_| CALM);
    samples.mark_invalid(2);
    let one = "; 1 of 3 trials is invalid: see their flaws";
    expect("p50(response | side=a) < 1ms", &samples, Verdict::True, one);
    let other = judged("p50(response | side=b) < 1ms", &samples);
    assert!(!other.reason.contains("invalid"), "{}", other.reason);
    let valid = judged("mean(valid) > 10 %", &samples);
    assert!(!valid.reason.contains("invalid"), "{}", valid.reason);
}

/// How many frames pass a buffer that none filled, a longer trial would tell; packets have no such number.
#[test]
fn frames_of_which_none_is_lost_leave_it_undecided() {
    let check = "mean(back_to_back) < 600";
    let packets = run(&[vec![]], 1, 1, |_| CALM);
    expect(check, &packets, Verdict::NotApplicable, "no frames");
    let mut frames = records(0, CALM, &mut SplitMix::new(1));
    frames
        .iter_mut()
        .for_each(|frame| frame.method = Method::Frame);
    let mut samples = Samples::default();
    let info = packets.streams()[0].clone();
    samples.push(info, frames, RecordFacts::default());
    let why = "none of 500 frames was lost";
    expect(check, &samples, Verdict::Undecided, why);
}

/// The same at more sizes and under two conditions, in `make test-all`.
mod long {
    #[test]
    fn finding_000_1_at_many_sizes() {
        super::finding_000_1_at(6, &["quiet", "stressed"]);
    }
}
