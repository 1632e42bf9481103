//! Runs of known difference: what is found, what is not, and how sure.
#![allow(clippy::unwrap_used)]

use super::both::Both;
use super::decide::shift_of;
use super::limits::{LimitResult, Outcome, evaluate};
use super::*;
use delaylab_lab::finding::{Limit, Samples, StreamInfo};
use delaylab_model::method::Method;
use delaylab_model::plan::{Level, Unit};
use delaylab_model::record::{Outcome as End, Record};
use delaylab_model::trial::{RecordFacts, ReflectorClock, Residence};
use delaylab_stats::anatomy::Stage;
use delaylab_stats::comparison::Bounds;
use delaylab_stats::functional::Functional;
use delaylab_stats::random::SplitMix;
use delaylab_stats::two_samples::Shift;
use proptest::prelude::*;

/// What a trial is made of.
#[derive(Clone, Copy)]
struct Recipe {
    packets: u64,
    /// Of the local queue, on top of a random few microseconds.
    queue: f64,
    /// Both ways are so many times as long.
    path: f64,
    /// Of 1.
    lost: f64,
    /// From this packet on all are lost.
    gone_from: u64,
    seed: u64,
}

const PLAIN: Recipe = Recipe {
    packets: 2000,
    queue: 0.0,
    path: 1.0,
    lost: 0.0,
    gone_from: u64::MAX,
    seed: 1,
};

const ONE_CLOCK: RecordFacts = RecordFacts {
    reflector_clock: ReflectorClock::Same,
    residence: Residence::ToDriver,
};

/// Exponential, of this mean: delays with a tail.
fn exponential(random: &mut SplitMix, mean: f64) -> i64 {
    (-random.uniform().ln() * mean) as i64
}

fn records(recipe: Recipe) -> Vec<Record> {
    let mut random = SplitMix::new(recipe.seed.wrapping_mul(0x9e37_79b9));
    let packet = |seq: u64| {
        let mut record = Record::due(0, 0, seq, Method::Udp, seq as i64 * 1_000_000);
        let send = record.t_intended + 500 + exponential(&mut random, 200.0);
        let sched = send + 1_000;
        let tx = sched + 2_000 + recipe.queue as i64 + exponential(&mut random, 2_000.0);
        let way = |random: &mut SplitMix| {
            let noise = exponential(random, 20_000.0);
            ((100_000 + noise) as f64 * recipe.path) as i64
        };
        let there = tx + way(&mut random);
        let back = there + 10_000;
        let rx = back + way(&mut random);
        record.t_send = Some(send);
        if random.uniform() < recipe.lost || seq >= recipe.gone_from {
            record.outcome = End::Lost;
            return record;
        }
        (record.t_sched, record.t_tx) = (Some(sched), Some(tx));
        (record.r_rx, record.r_user, record.r_tx) = (Some(there), Some(there + 1), Some(back));
        record.t_rx = Some(rx);
        record.t_recv = Some(rx + 5_000 + exponential(&mut random, 3_000.0));
        record.outcome = End::Ok;
        record
    };
    (0..recipe.packets).map(packet).collect()
}

fn stream(trial: u32, probe: &str, factors: &[(&str, &str)]) -> StreamInfo {
    let level = |(name, level): &(&str, &str)| ((*name).to_owned(), Level::named(*level));
    StreamInfo {
        trial,
        probe: probe.to_owned(),
        series: None,
        repeat: 0,
        factors: factors.iter().map(level).collect(),
        trace_hash: None,
        seed: None,
    }
}

/// A run of one probe, a trial for each recipe.
fn run(recipes: &[Recipe]) -> Samples {
    let mut samples = Samples::default();
    for (trial, recipe) in (0..).zip(recipes) {
        samples.push(stream(trial, "echo", &[]), records(*recipe), ONE_CLOCK);
    }
    samples
}

fn compared(a: &Samples, b: &Samples) -> PairFigures {
    let asked = ComparisonRequest {
        full: true,
        ..ComparisonRequest::usual()
    };
    let found = compare(a, b, &asked).unwrap();
    assert_eq!(found.pairs.len(), 1);
    found.pairs.into_iter().next().unwrap()
}

/// Nothing but this measure.
fn compared_in(measure: Measure, a: &Samples, b: &Samples) -> PairFigures {
    let asked = ComparisonRequest {
        measures: vec![measure],
        ..ComparisonRequest::usual()
    };
    let found = compare(a, b, &asked).unwrap();
    found.pairs.into_iter().next().unwrap()
}

fn shifts(found: &PairFigures, measure: Measure) -> &[Shift] {
    &found.figures(measure).unwrap().shifts
}

fn median_of(shifts: &[Shift]) -> &Shift {
    shift_of(shifts, Functional::Quantile(0.5)).unwrap()
}

/// Packets that take so many milliseconds each.
fn taking(each_ms: Vec<f64>) -> Vec<Record> {
    let packets = each_ms.into_iter().zip(0..);
    let packets = packets.map(|(ms, seq): (f64, u64)| {
        let due = seq as i64 * 20_000_000;
        let mut record = Record::due(0, 0, seq, Method::Udp, due);
        record.t_send = Some(due);
        record.t_recv = Some(due + (ms * 1e6) as i64);
        record.outcome = End::Ok;
        record
    });
    packets.collect()
}

/// Two probes: that of a server which begins to take longer, of two trials that differ, and one that is as it was.
#[test]
fn a_probe_that_does_not_change_hides_no_median_that_does() {
    let mut random = SplitMix::new(3);
    let mut packets = |ms: f64| -> Vec<Record> {
        let each = (0..200).map(|_| ms - 0.2 * random.uniform().ln());
        taking(each.collect())
    };
    let mut run = |web: [f64; 2]| {
        let mut samples = Samples::default();
        for (trial, ms) in (0..).zip(web) {
            let mut push = |probe, ms| {
                let stream = stream(trial, probe, &[]);
                samples.push(stream, packets(ms), RecordFacts::default());
            };
            push("web", ms);
            push("other", 10.4);
        }
        samples
    };
    let (a, b) = (run([13.6, 14.4]), run([22.7, 22.75]));
    let found = compare(&a, &b, &ComparisonRequest::usual()).unwrap();
    assert_eq!(found.looks, 2 * looks::EFFECTIVE_TESTS_PER_PAIR);
    let [web, other] = ["web", "other"].map(|probe| {
        let mut pairs = found.pairs.iter();
        pairs.find(|pair| pair.pair.probes[0] == probe).unwrap()
    });
    let median = |pair| median_of(shifts(pair, Measure::Response));
    assert!(looks::is_clear(median(web), found.looks), "{web:#?}");
    assert!(!looks::is_clear(median(other), found.looks), "{other:#?}");
    assert_eq!(web.verdict.kind, Kind::Differs);
}

#[test]
fn a_quantile_that_so_few_packets_do_not_carry_has_no_value() {
    let [few, some] = [3, 257].map(|packets| run(&[Recipe { packets, ..PLAIN }]));
    let found = compared(&few, &some);
    let known: Vec<_> = shifts(&found, Measure::Response)
        .iter()
        .map(|shift| (shift.a.is_some(), shift.b.is_some()))
        .collect();
    // Mean, p5, p50, p90, p99 and p99.9.
    let expected = [
        (true, true),
        (false, true),
        (true, true),
        (false, true),
        (false, true),
        (false, false),
    ];
    assert_eq!(known, expected);
    for shift in found
        .curve
        .iter()
        .map(|point| &point.shift)
        .chain(shifts(&found, Measure::Response))
    {
        assert!(
            shift.difference().is_some() || shift.absolute.is_err(),
            "{shift:?}"
        );
    }
    // The same few packets are the same all the same.
    let text = compared(&few, &few).verdict.text;
    assert_eq!(
        text,
        "B's response equals A's in the mean and in every quantile."
    );
}

#[test]
fn a_run_is_itself() {
    let a = run(&[PLAIN]);
    let found = compared(&a, &a);
    assert_eq!(found.verdict.kind, Kind::NoDifference);
    assert_eq!(
        found.verdict.text,
        "B's response equals A's in the mean and in every quantile."
    );
    for figures in &found.figures {
        for shift in &figures.shifts {
            assert_eq!(shift.difference(), Some(0.0), "{}", figures.quantity.name());
        }
    }
}

#[test]
fn copies_of_a_simulation_are_one_trial() {
    let side = |hashes: [u64; 3], seed: u64| {
        let mut samples = Samples::default();
        for (trial, hash) in (0..).zip(hashes) {
            let info = StreamInfo {
                trace_hash: Some(hash),
                seed: None,
                ..stream(trial, "echo", &[])
            };
            let recipe = Recipe {
                seed: seed + hash,
                ..PLAIN
            };
            samples.push(info, records(recipe), ONE_CLOCK);
        }
        samples
    };
    let trials = |hashes| {
        let (a, b) = (side(hashes, 1), side([4, 5, 6], 100));
        Pairing::new(a.streams(), b.streams()).unwrap().pairs[0]
            .streams
            .clone()
    };
    assert_eq!(trials([1, 2, 3]), [vec![0, 1, 2], vec![0, 1, 2]]);
    assert_eq!(trials([1, 1, 3]), [vec![0, 2], vec![0, 1, 2]]);
}

#[test]
fn two_runs_of_the_same_do_not_differ_and_it_says_what_would_have_been_seen() {
    let found = compared(&run(&[PLAIN]), &run(&[Recipe { seed: 2, ..PLAIN }]));
    assert_eq!(
        found.verdict.kind,
        Kind::NoDifference,
        "{}",
        found.verdict.text
    );
    let text = &found.verdict.text;
    assert!(
        text.starts_with(
            "No difference in response can be distinguished from chance, with 2000 packets of A and 2000"
        ),
        "{text}"
    );
    assert!(text.contains("in the median or of more than"), "{text}");
}

#[test]
fn a_longer_queue_is_found_where_it_is() {
    let longer = Recipe {
        queue: 50_000.0,
        seed: 2,
        ..PLAIN
    };
    let found = compared(&run(&[PLAIN]), &run(&[longer]));
    assert_eq!(found.verdict.kind, Kind::Differs);
    let text = &found.verdict.text;
    assert!(text.starts_with("B's p99 response is "), "{text}");
    assert!(text.contains("longer than A's, at 95 % between"), "{text}");
    assert!(text.contains("in the local queue"), "{text}");
    assert!(
        text.contains("The median is 50.") || text.contains("The median is 49."),
        "{text}"
    );
    for measure in [Measure::Response, Measure::RoundTrip, Measure::Host] {
        let median = median_of(shifts(&found, measure));
        let bounds = median.absolute.clone().unwrap();
        assert!(
            bounds.low < 50_000.0 && 50_000.0 < bounds.high,
            "{measure}: {median:?}"
        );
        assert!(bounds.high - bounds.low < 8_000.0, "{measure}: {median:?}");
    }
    let queue = found
        .figures
        .iter()
        .find(|f| f.quantity.key() == "local_queue");
    let median = median_of(&queue.unwrap().shifts);
    assert!((median.difference().unwrap() - 50_000.0).abs() < 500.0);
    let carried = found
        .carried
        .iter()
        .find(|carried| carried.at == "p50")
        .unwrap();
    let (stage, share) = carried.shares()[0];
    assert_eq!(stage.name(), "local queue");
    assert!((0.9..1.1).contains(&share), "{share}");
}

#[test]
fn a_tail_alone_leaves_the_median() {
    let mut late = records(Recipe { seed: 2, ..PLAIN });
    for record in late.iter_mut().step_by(25) {
        record.t_recv = record.t_recv.map(|t| t + 2_000_000);
    }
    let mut b = Samples::default();
    b.push(stream(0, "echo", &[]), late, ONE_CLOCK);
    let found = compared(&run(&[PLAIN]), &b);
    let text = &found.verdict.text;
    assert!(
        text.contains("all of that is in the receive wake-up"),
        "{text}"
    );
    assert!(
        text.contains("No difference of the median can be shown"),
        "{text}"
    );
}

#[test]
fn a_shape_that_no_quantile_shows_is_hinted_at() {
    // Between p5 and the median half are earlier, and between the median and p90 as much later: each quantile that is looked at
    // stays, and so does the mean.
    let mut moved = records(Recipe { seed: 2, ..PLAIN });
    let response = |record: &Record| record.t_recv.unwrap() - record.t_intended;
    moved.sort_by_key(response);
    let (low, high) = (response(&moved[140]), response(&moved[1760]));
    let earlier = |record: &Record| (response(record) - low) / 2;
    let all_earlier: i64 = moved[140..900].iter().map(earlier).sum();
    let room: i64 = moved[1100..1760]
        .iter()
        .map(|record| high - response(record))
        .sum();
    let share = all_earlier as f64 / room as f64;
    assert!(share < 1.0, "{share}");
    for record in &mut moved[140..900] {
        let by = earlier(record);
        record.t_recv = record.t_recv.map(|t| t - by);
    }
    for record in &mut moved[1100..1760] {
        let by = ((high - response(record)) as f64 * share) as i64;
        record.t_recv = record.t_recv.map(|t| t + by);
    }
    moved.sort_by_key(|record| record.seq);
    let mut b = Samples::default();
    b.push(stream(0, "echo", &[]), moved, ONE_CLOCK);
    let found = compared(&run(&[PLAIN]), &b);
    let text = &found.verdict.text;
    assert_eq!(found.verdict.kind, Kind::NoDifference, "{text}");
    assert!(
        text.contains("may differ in shape, by as much as 1"),
        "{text}"
    );
}

/// Two hosts' clocks are never known to be as close to each other in two trials.
#[test]
fn repeats_of_two_hosts_tell_the_reflector_apart() {
    let side = |busy: i64, seed: u64| {
        let mut samples = Samples::default();
        for trial in 0..2_u32 {
            let mut records = records(Recipe {
                packets: 300,
                seed: seed + u64::from(trial),
                ..PLAIN
            });
            for record in &mut records {
                let later = |time: Option<i64>| time.map(|time| time + busy);
                record.r_tx = later(record.r_tx);
                (record.t_rx, record.t_recv) = (later(record.t_rx), later(record.t_recv));
            }
            let facts = RecordFacts {
                reflector_clock: ReflectorClock::Bounded {
                    error_ns: 1_000_000 + i64::from(trial) * 500,
                },
                ..ONE_CLOCK
            };
            samples.push(stream(trial, "echo", &[]), records, facts);
        }
        samples
    };
    let found = compared(&side(0, 1), &side(5_000_000, 9));
    let text = &found.verdict.text;
    assert!(text.contains("all of that is in the reflector"), "{text}");
    let stage = found.mostly_in(Measure::Response, looks::EFFECTIVE_TESTS_PER_PAIR);
    assert_eq!(
        stage.map(|stage| stage.name()).as_deref(),
        Some("reflector")
    );
}

/// Of which one run alone knows how long packets were in the reflector: network is what both can tell.
#[test]
fn network_means_the_same_in_both_runs() {
    let side = |facts: RecordFacts, seed: u64| {
        let recipe = Recipe {
            path: 0.1,
            seed,
            ..PLAIN
        };
        let mut samples = Samples::default();
        samples.push(stream(0, "echo", &[]), records(recipe), facts);
        samples
    };
    let (without, with) = (side(RecordFacts::default(), 1), side(ONE_CLOCK, 2));
    for (a, b) in [(&without, &with), (&with, &without)] {
        let found = compared(a, b);
        assert!(found.joins_reflector);
        for measure in [Measure::Network, Measure::Host] {
            let median = median_of(shifts(&found, measure));
            // The reflector takes 10 µs.
            assert!(median.difference().unwrap().abs() < 1_000.0, "{median:?}");
        }
        assert_ne!(outcome(a, b, "p50(network) > +10%"), Outcome::Failed);
    }
    assert!(!compared(&with, &with).joins_reflector);
    // B's own value is what B has it to be.
    assert_eq!(
        outcome(&without, &with, "p50(network) > 29us"),
        Outcome::Passed
    );
}

#[test]
fn loss_is_a_difference_of_its_own() {
    let lossy = Recipe {
        lost: 0.05,
        seed: 2,
        ..PLAIN
    };
    let found = compared(&run(&[PLAIN]), &run(&[lossy]));
    assert_eq!(found.verdict.kind, Kind::Differs);
    assert!(
        found.verdict.text.contains("of its packets and A 0 %"),
        "{}",
        found.verdict.text
    );
    let bounds = found.loss.absolute.clone().unwrap();
    assert!(bounds.low < 0.05 && 0.05 < bounds.high, "{bounds:?}");
}

#[test]
fn where_nothing_was_answered_it_says_so() {
    let silent = run(&[Recipe { lost: 1.1, ..PLAIN }]);
    let found = compared(&run(&[PLAIN]), &silent);
    assert_eq!(found.verdict.kind, Kind::Differs);
    let text = &found.verdict.text;
    assert_eq!(
        text,
        "B is never answered: all of its 2000 packets are lost, and 0 % of A's."
    );
    // What A has stays, and what B has not says why.
    assert!(median_of(shifts(&found, Measure::Response)).a.is_some());
    let (_, why) = &found.missing[0];
    assert_eq!(why, "no packet of B was answered");
    let back = compared(&silent, &run(&[PLAIN]));
    assert!(
        back.verdict.text.starts_with("A is never answered"),
        "{}",
        back.verdict.text
    );
    let both = compared(&silent, &silent);
    assert_eq!(both.verdict.kind, Kind::Undecided);
    assert_eq!(
        both.verdict.text,
        "Neither run is answered: in A all of its 2000 packets are lost, in B all of its 2000 packets are lost."
    );
    assert_eq!(both.missing[0].1, "no packet of either run was answered");
}

#[test]
fn a_combination_that_neither_answers_is_named() {
    let one = slowest_last(1.1);
    let found = compare(&one, &one, &ComparisonRequest::usual()).unwrap();
    let text = found.whole.unwrap().text;
    let says = " Neither run is answered in 1 of 4 pairs (wait 4ms).";
    assert!(text.ends_with(says), "{text}");
}

#[test]
fn few_packets_give_figures_and_no_verdict() {
    for packets in [0, 1, 5] {
        let few = run(&[Recipe { packets, ..PLAIN }]);
        for (a, b) in [(&few, &run(&[PLAIN])), (&few, &few)] {
            let found = compared(a, b);
            let text = &found.verdict.text;
            let itself = packets > 0 && text.contains("equals A's");
            assert!(
                itself || found.verdict.kind == Kind::Undecided,
                "{packets}: {text}"
            );
            assert!(!text.contains("NaN"), "{text}");
        }
    }
}

#[test]
fn user_space_alone_is_compared_too() {
    let bare = |seed, path| {
        let mut records = records(Recipe {
            seed,
            path,
            ..PLAIN
        });
        for record in &mut records {
            (record.t_sched, record.t_tx, record.t_rx) = (None, None, None);
            (record.r_rx, record.r_user, record.r_tx) = (None, None, None);
        }
        let mut samples = Samples::default();
        samples.push(stream(0, "echo", &[]), records, RecordFacts::default());
        samples
    };
    let found = compared(
        &bare(1, 1.0),
        &run(&[Recipe {
            path: 2.0,
            seed: 2,
            ..PLAIN
        }]),
    );
    assert_eq!(found.verdict.kind, Kind::Differs);
    let missing: Vec<_> = found
        .missing
        .iter()
        .map(|(q, why)| (q.key(), why.as_str()))
        .collect();
    assert_eq!(missing[0].0, "network");
    assert!(
        missing[0].1.starts_with("A: no packet has network"),
        "{missing:?}"
    );
    // What A merges is merged in B.
    assert_eq!(found.carried[0].stages.len(), 2);
}

fn designed(waits: &[&str], probes: &[&str], path: f64, seed: u64) -> Samples {
    let mut samples = Samples::default();
    let mut trial = 0;
    for repeat in 0..2 {
        for wait in waits {
            for probe in probes {
                let level = Level {
                    label: (*wait).to_owned(),
                    value: delaylab_model::units::parse_duration(wait)
                        .ok()
                        .map(|ns| ns as f64),
                    unit: Some(Unit::Nanoseconds),
                };
                let info = StreamInfo {
                    repeat,
                    factors: vec![("wait".to_owned(), level)],
                    ..stream(trial, probe, &[])
                };
                let seed = seed * 1000 + u64::from(trial) * 10 + probe.len() as u64;
                samples.push(
                    info,
                    records(Recipe {
                        packets: 400,
                        path,
                        seed,
                        ..PLAIN
                    }),
                    ONE_CLOCK,
                );
            }
            trial += 1;
        }
    }
    samples
}

/// Whichever of the two the check names first.
#[test]
fn a_limit_has_the_values_of_a_and_of_b() {
    let longer = Recipe {
        queue: 400_000.0,
        seed: 2,
        ..PLAIN
    };
    let (short, long) = (run(&[PLAIN]), run(&[longer]));
    for (a, b) in [(&short, &long), (&long, &short)] {
        for limit in ["p50(response) > +10%", "p50(response) > +1us"] {
            let both = Both::new(a, b).unwrap();
            let held = evaluate(&Limit::parse(limit).unwrap(), &both).unwrap();
            let found = compared_in(Measure::Response, a, b);
            let median = median_of(shifts(&found, Measure::Response));
            assert_eq!((held[0].a, held[0].b), (median.a, median.b), "{limit}");
        }
    }
}

#[test]
fn chosen_measures_are_compared_however_many_pairs_there_are() {
    let sides = [1, 2].map(|seed| designed(&["1ms", "10ms"], &["ef", "be"], 1.0, seed));
    let measures = [Measure::Response, Measure::Network];
    let compared = |are_chosen| {
        let asked = ComparisonRequest {
            measures: measures.to_vec(),
            are_chosen,
            ..ComparisonRequest::usual()
        };
        let found = compare(&sides[0], &sides[1], &asked).unwrap();
        let has = measures.map(|measure| found.pairs[3].figures(measure).is_some());
        (found.is_overview, has)
    };
    assert_eq!(compared(true), (false, [true, true]));
    assert_eq!(compared(false), (true, [true, false]));
}

#[test]
fn pairs_are_the_same_probe_under_the_same_levels() {
    let a = designed(&["1ms", "100ms", "10ms"], &["ef", "be"], 1.0, 1);
    let b = designed(&["1000us", "10ms", "5ms"], &["ef", "be"], 1.2, 2);
    let found = compare(&a, &b, &ComparisonRequest::usual()).unwrap();
    let varied = found.varied();
    let labels: Vec<_> = found
        .pairs
        .iter()
        .map(|pair| pair.pair.label(&varied))
        .collect();
    assert_eq!(
        labels,
        [
            "wait 1ms, probe ef",
            "wait 1ms, probe be",
            "wait 10ms, probe ef",
            "wait 10ms, probe be"
        ]
    );
    assert_eq!(
        found.alone[0],
        ["wait 100ms, probe ef", "wait 100ms, probe be"]
    );
    assert_eq!(found.alone[1], ["wait 5ms, probe ef", "wait 5ms, probe be"]);
    assert!(
        found
            .pairs
            .iter()
            .all(|pair| pair.pair.streams.iter().all(|s| s.len() == 2))
    );
    let whole = found.whole.unwrap();
    assert_eq!((whole.pairs, whole.differ), (4, 4));
    // 0.2 of both ways; the residence and the host are as they were.
    let mut mean_shifts = whole.shifts.iter();
    let median = mean_shifts.find(|shift| shift.statistic == Functional::Quantile(0.5));
    let median = median.unwrap().relative.unwrap();
    let [low, high] = [median.interval.low, median.interval.high].map(Option::unwrap);
    assert!(low < 0.19 && 0.17 < high && low > 0.15, "{median:?}");
    assert!(
        whole
            .text
            .starts_with("Response rises, most in wait 1ms, probe ef: p99 from ")
            && whole.text.ends_with("4 of 4 pairs differ."),
        "{}",
        whole.text
    );
}

/// A run of two trials whose packets wait about so long in the queue of their host.
fn with_queues(packets: u64, queues: [i64; 2], seed: u64) -> Samples {
    let mut samples = Samples::default();
    for (trial, (wait, queue)) in (0..).zip(["1ms", "10ms"].into_iter().zip(queues)) {
        let mut records = records(Recipe {
            packets,
            seed: seed + u64::from(trial),
            ..PLAIN
        });
        for record in &mut records {
            let varied = queue + queue * (record.seq as i64 % 7) / 100;
            record.t_tx = record.t_sched.map(|t| t + varied);
        }
        samples.push(stream(trial, "echo", &[("wait", wait)]), records, ONE_CLOCK);
    }
    samples
}

/// Of nothing no change is a multiple: two nanoseconds more are less than five times as long.
#[test]
fn two_nanoseconds_more_are_a_smaller_change_than_five_times_as_long() {
    let queue = Measure::Stage(Stage::LocalQueue);
    let asked = ComparisonRequest {
        measures: vec![queue],
        headline: queue,
        ..ComparisonRequest::usual()
    };
    let found = compare(
        &with_queues(PLAIN.packets, [0, 1_000], 1),
        &with_queues(PLAIN.packets, [2, 5_000], 9),
        &asked,
    )
    .unwrap();
    let text = found.whole.unwrap().text;
    assert!(
        text.starts_with("Local queue rises, most in wait 10ms: p"),
        "{text}"
    );
}

/// Repeats that differ much hide a change; that it is there is said all the same.
#[test]
fn a_large_change_that_may_be_chance_is_named() {
    let side = |paths: [f64; 4], lost: usize, seed: u64| {
        let mut samples = Samples::default();
        for (trial, path) in (0..).zip(paths) {
            for wait in ["1ms", "10ms"] {
                let mut records = records(Recipe {
                    path: if wait == "1ms" { path } else { 1.0 },
                    packets: 300,
                    seed: seed + u64::from(trial),
                    ..PLAIN
                });
                let few = if (wait, trial) == ("10ms", 0) {
                    lost
                } else {
                    0
                };
                let few = records.iter_mut().step_by(90).take(few);
                few.for_each(|record| (record.t_recv, record.outcome) = (None, End::Lost));
                let info = stream(trial, "echo", &[("wait", wait)]);
                samples.push(info, records, ONE_CLOCK);
            }
        }
        samples
    };
    let a = side([0.5, 1.0, 1.0, 3.0], 0, 1);
    for (lost, loss) in [
        (0, ""),
        (3, "But loss from 0 % to 0.25 % in wait 10ms may be chance"),
    ] {
        let b = side([1.0, 2.0, 2.0, 5.0], lost, 9);
        let found = compare(&a, &b, &ComparisonRequest::usual()).unwrap();
        let text = found.whole.unwrap().text;
        let nothing =
            "No difference in response or loss is seen in any pair. 0 of 2 pairs differ. ";
        let rest = text
            .strip_prefix(nothing)
            .unwrap_or_else(|| panic!("{text}"));
        let delay = "The largest change may be chance: in wait 1ms, p50 from ";
        assert!(rest.starts_with(loss) && rest.contains(delay), "{text}");
    }
}

/// Lost in one row, which ends: no interval says what chance does.
#[test]
fn a_loss_without_an_interval_is_undecided() {
    let a = run(&[Recipe {
        packets: 400,
        ..PLAIN
    }]);
    let found = compared(&a, &losing(400, |seq| (150..350).contains(&seq)));
    let text = &found.verdict.text;
    assert_eq!(found.verdict.kind, Kind::Undecided, "{text}");
    assert!(
        text.contains(
            "Undecided whether loss, 0 % in A and 50 % in B, differs: B: 400 packets say"
        ),
        "{text}"
    );
}

/// Of several pairs that are all undecided the loss stands in the first sentence.
#[test]
fn a_loss_that_is_undecided_everywhere_comes_first() {
    let side = |is_losing: bool| {
        let mut samples = Samples::default();
        for (trial, wait) in (0..).zip(["1ms", "2ms"]) {
            let mut records = records(Recipe {
                packets: 400,
                ..PLAIN
            });
            let lost = records.iter_mut().skip(150).take(200);
            lost.filter(|_| is_losing)
                .for_each(|record| (record.t_recv, record.outcome) = (None, End::Lost));
            let info = stream(trial, "echo", &[("wait", wait)]);
            samples.push(info, records, ONE_CLOCK);
        }
        samples
    };
    let found = compare(&side(false), &side(true), &ComparisonRequest::usual()).unwrap();
    let text = found.whole.unwrap().text;
    let says = "Undecided whether loss (from 0 % to 50 % in wait ";
    assert!(text.starts_with(says), "{text}");
    let pair = &found.pairs[0].verdict.text;
    assert!(pair.starts_with("Undecided whether loss, "), "{pair}");
}

/// One repeat of four loses half of its packets: that may be chance, and is said.
#[test]
fn a_loss_that_may_be_chance_is_named() {
    let side = |lost: [f64; 4], seed: u64| {
        let recipe = |(at, lost): (u64, f64)| Recipe {
            lost,
            packets: 300,
            seed: seed + at,
            ..PLAIN
        };
        let recipes: Vec<Recipe> = (0..).zip(lost).map(recipe).collect();
        run(&recipes)
    };
    let (a, b) = (side([0.0; 4], 1), side([0.0, 0.0, 0.0, 0.5], 9));
    let found = compared(&a, &b);
    assert_eq!(found.verdict.kind, Kind::NoDifference);
    assert!(
        found
            .verdict
            .text
            .contains("Loss from 0 % to 12 % may be chance: ")
            || found
                .verdict
                .text
                .contains("Loss from 0 % to 13 % may be chance: "),
        "{}",
        found.verdict.text
    );
    assert!(
        found
            .verdict
            .text
            .ends_with("times as many repeats would tell.")
    );
}

#[test]
fn factors_of_one_run_alone_are_pooled() {
    let a = designed(&["1ms", "10ms"], &["echo"], 1.0, 1);
    let b = run(&[Recipe { seed: 9, ..PLAIN }]);
    let found = compare(&a, &b, &ComparisonRequest::usual()).unwrap();
    assert_eq!(found.pooled, [vec!["wait".to_owned()], vec![]]);
    assert_eq!(found.pairs[0].pair.streams[0].len(), 4);
}

#[test]
fn a_single_probe_needs_no_name_and_several_do() {
    let mut other = Samples::default();
    other.push(stream(0, "192.0.2.1", &[]), records(PLAIN), ONE_CLOCK);
    assert!(compare(&run(&[PLAIN]), &other, &ComparisonRequest::usual()).is_ok());
    other.push(stream(0, "192.0.2.2", &[]), records(PLAIN), ONE_CLOCK);
    let error = compare(&run(&[PLAIN]), &other, &ComparisonRequest::usual()).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("B has probe 192.0.2.1; probe 192.0.2.2"),
        "{error}"
    );
}

/// A trial for each level of `wait`, of which the last one is far slower.
fn slowest_last(lost_there: f64) -> Samples {
    let mut samples = Samples::default();
    for (trial, wait) in (0..).zip(["1ms", "2ms", "3ms", "4ms"]) {
        let is_last = wait == "4ms";
        let recipe = Recipe {
            packets: 500,
            queue: if is_last { 5e6 } else { 0.0 },
            lost: if is_last { lost_there } else { 0.0 },
            seed: u64::from(trial) + (lost_there * 10.0) as u64,
            ..PLAIN
        };
        samples.push(
            stream(trial, "echo", &[("wait", wait)]),
            records(recipe),
            ONE_CLOCK,
        );
    }
    samples
}

/// What was answered is faster, because the slowest was lost: that is no improvement.
#[test]
fn a_combination_that_lost_everything_comes_first_and_fails() {
    let (a, b) = (slowest_last(0.0), slowest_last(1.1));
    let found = compare(&a, &b, &ComparisonRequest::usual()).unwrap();
    let whole = found.whole.unwrap();
    assert_eq!(
        (whole.never_answered_a, whole.never_answered_b, whole.differ),
        (0, 1, 1)
    );
    let text = &whole.text;
    assert!(
        text.starts_with("B is never answered in 1 of 4 pairs, where A is (wait 4ms)"),
        "{text}"
    );
    // A mean would be of the three that hide it.
    assert!(whole.shifts.iter().all(|shift| shift.relative.is_none()));
    for (limit, expected) in [
        ("p99(response) > +10%", Outcome::Failed),
        ("p99(response | wait in [1ms, 4ms]) > +10%", Outcome::Failed),
        ("p99(response) > 1s", Outcome::Failed),
        ("p50(response | wait=1ms) > +50%", Outcome::Passed),
        ("lost > 10%", Outcome::Failed),
    ] {
        assert_eq!(outcome(&a, &b, limit), expected, "{limit}");
    }
    let reason = &limits(&a, &b, "p99(response) > +10%")[0].reason;
    assert!(
        reason.starts_with("nothing of B was answered with wait 4ms; of what was answered, "),
        "{reason}"
    );
    let each = limits(&a, &b, "for each wait: p50(response) > +50%");
    let failed = each.iter().filter(|held| held.outcome == Outcome::Failed);
    assert_eq!(failed.count(), 1);
}

/// Delays that hardly change within a trial: the trials tell.
#[test]
fn slow_changes_are_told_by_trials() {
    let slow = |base: f64, seed: u64| {
        let mut samples = Samples::default();
        for trial in 0..4_u32 {
            let mut random = SplitMix::new(seed + u64::from(trial));
            let level = base * (1.0 + 0.05 * random.normal());
            let mut records = records(Recipe {
                packets: 300,
                ..PLAIN
            });
            for (at, record) in (0_i64..).zip(&mut records) {
                let queued = (level * (1.0 + at as f64 / 300.0)) as i64;
                record.t_recv = record.t_recv.map(|t| t + queued);
            }
            samples.push(stream(trial, "echo", &[]), records, ONE_CLOCK);
        }
        samples
    };
    let found = compared(&slow(357e6, 1), &slow(28e6, 11));
    assert_eq!(found.verdict.kind, Kind::Differs, "{}", found.verdict.text);
    let same = compared(&slow(357e6, 1), &slow(357e6, 21));
    assert_ne!(same.verdict.kind, Kind::Differs, "{}", same.verdict.text);
}

/// One trial a side, of which each delay resembles the one before: no packets give an interval, and medians that lie far apart
/// differ all the same.
#[test]
fn medians_far_apart_are_told_however_slowly_delay_changes() {
    let wander = |level: f64, sd: f64, seed: u64| {
        let mut random = SplitMix::new(seed);
        let mut x = random.normal();
        let recipe = Recipe {
            packets: 300,
            seed,
            ..PLAIN
        };
        let mut records = records(recipe);
        for record in &mut records {
            x = 0.97 * x + 0.24 * random.normal();
            record.t_recv = record.t_recv.map(|at| at + (level + sd * x) as i64);
        }
        let mut samples = Samples::default();
        samples.push(stream(0, "echo", &[]), records, ONE_CLOCK);
        samples
    };
    let text = "p50(response) > +10%";
    let mut alarms = 0;
    for seed in 0..20 {
        let (a, b) = (wander(2e6, 200e3, seed), wander(80e6, 500e3, seed + 100));
        assert_eq!(outcome(&a, &b, text), Outcome::Failed, "{seed}");
        assert_eq!(outcome(&b, &a, text), Outcome::Passed, "{seed}");
        let found = compared(&a, &b).verdict;
        assert_eq!(found.kind, Kind::Differs, "{seed}: {}", found.text);
        let again = wander(2e6, 200e3, seed + 200);
        alarms += u32::from(outcome(&a, &again, text) == Outcome::Failed);
    }
    assert!(alarms <= 1, "{alarms}");
}

/// A queue that runs away: half of its packets come after their time-out, and the last ones when nothing waits for them.
#[test]
fn a_queue_that_runs_away_differs() {
    let mut random = SplitMix::new(4);
    let steady = taking((0..400).map(|_| 1.4 + 0.1 * random.normal()).collect());
    let ramp = |n: u32| 35.0 + 300.0 * f64::from(n) / 399.0;
    let mut rising = taking((0..400).map(ramp).collect());
    for record in &mut rising {
        record.outcome = match record.seq {
            0..200 => End::Ok,
            200..395 => End::Late,
            _ => End::Lost,
        };
        record.t_recv = record.t_recv.filter(|_| record.outcome != End::Lost);
    }
    let [a, b] = [steady, rising].map(|records| {
        let mut samples = Samples::default();
        samples.push(stream(0, "echo", &[]), records, RecordFacts::default());
        samples
    });
    let found = compared_in(Measure::Response, &a, &b).verdict;
    assert_eq!(found.kind, Kind::Differs, "{}", found.text);
    for words in [
        "p50 response is 1",
        " longer than A's, for nine tenths of the packets between ",
        " B rises from 49.3 ms to 313 ms within a trial: it has no steady level.",
        "49 % of B's packets were answered after their time-out, and 0 % of A's",
    ] {
        assert!(found.text.contains(words), "{}", found.text);
    }
    assert!(!found.text.contains("not answered"), "{}", found.text);
    for (text, expected) in [
        ("p50(response) > 50ms", Outcome::Failed),
        ("p50(response) > +10%", Outcome::Failed),
        ("p50(response) > 180ms", Outcome::Undecided),
        ("p50(response) > 300ms", Outcome::Passed),
    ] {
        assert_eq!(outcome(&a, &b, text), expected, "{text}");
    }
    for (text, says, level) in [
        (
            "p50(response) > 50ms",
            " in B, half of its packets from ",
            0.5,
        ),
        (
            "p50(response) > +1ms",
            ", for nine tenths of the packets from ",
            0.9,
        ),
    ] {
        let held = &limits(&a, &b, text)[0];
        assert!(held.reason.contains(says), "{}", held.reason);
        assert_eq!(held.interval.unwrap().level, level, "{text}");
    }
}

/// Trials whose levels differ by factors on one side: what the verdict calls a difference, conditions do not leave open.
#[test]
fn limits_know_levels_that_differ_by_factors() {
    let mut random = SplitMix::new(6);
    let mut at_levels = |levels: [f64; 3]| {
        let mut samples = Samples::default();
        for (trial, level) in (0..).zip(levels) {
            let each = (0..200).map(|_| level * (1.0 + 0.01 * random.normal()));
            let records = taking(each.collect());
            samples.push(stream(trial, "echo", &[]), records, RecordFacts::default());
        }
        samples
    };
    let [short, long] = [[8.3, 8.4, 8.6], [90.0, 250.0, 310.0]].map(&mut at_levels);
    for (a, b, text, expected) in [
        (&short, &long, "p50(response) > +50%", Outcome::Failed),
        (&short, &long, "p50(response) > +10ms", Outcome::Failed),
        (&long, &short, "p50(response) < -50%", Outcome::Failed),
        (&long, &short, "p50(response) > +10%", Outcome::Passed),
    ] {
        assert_eq!(outcome(a, b, text), expected, "{text}");
    }
    for (a, b) in [(&short, &long), (&long, &short)] {
        let found = compared_in(Measure::Response, a, b).verdict;
        assert_eq!(found.kind, Kind::Differs, "{}", found.text);
    }
}

/// A noisy host, which no interval of the response sees through, and 200 µs more on the way there.
#[test]
fn a_part_that_differs_is_named_where_the_whole_hides_it() {
    let noisy = |longer: i64, seed: u64| {
        let mut random = SplitMix::new(seed);
        let mut x = random.normal();
        let mut records = records(Recipe {
            packets: 600,
            seed,
            ..PLAIN
        });
        for record in &mut records {
            x = 0.97 * x + 0.24 * random.normal();
            for stamp in [
                &mut record.r_rx,
                &mut record.r_user,
                &mut record.r_tx,
                &mut record.t_rx,
                &mut record.t_recv,
            ] {
                *stamp = stamp.map(|at| at + longer);
            }
            record.t_recv = record.t_recv.map(|at| at + (2e6 + 5e5 * x) as i64);
        }
        let mut samples = Samples::default();
        samples.push(stream(0, "echo", &[]), records, ONE_CLOCK);
        samples
    };
    let mut hidden = 0;
    for seed in 0..5 {
        let (a, b) = (noisy(0, seed), noisy(200_000, seed + 100));
        let found = compared(&a, &b).verdict;
        let is_hidden = found.kind != Kind::Differs;
        let says = "forward path is clearly ";
        assert_eq!(found.text.contains(says), is_hidden, "{}", found.text);
        hidden += u32::from(is_hidden);
        let again = compared(&a, &noisy(0, seed + 200)).verdict;
        assert!(!again.text.contains("clearly"), "{}", again.text);
    }
    assert!(hidden > 0);
}

/// The clocks of two hosts are apart by something else in each run.
#[test]
fn clocks_that_differ_are_no_way_that_does() {
    let side = |offset: i64, seed: u64, error_ns: i64| {
        let mut records = records(Recipe {
            packets: 600,
            seed,
            ..PLAIN
        });
        for record in &mut records {
            for stamp in [&mut record.r_rx, &mut record.r_user, &mut record.r_tx] {
                *stamp = stamp.map(|at| at + offset);
            }
        }
        let facts = RecordFacts {
            reflector_clock: ReflectorClock::Bounded { error_ns },
            ..ONE_CLOCK
        };
        let mut samples = Samples::default();
        samples.push(stream(0, "echo", &[]), records, facts);
        samples
    };
    for (error_ns, is_said) in [(1_000_000, false), (10_000, true)] {
        let sides = [side(50_000, 1, error_ns), side(-50_000, 101, error_ns)];
        let found = compared(&sides[0], &sides[1]).verdict;
        assert_eq!(found.text.contains("clearly"), is_said, "{}", found.text);
    }
}

#[test]
fn packets_that_could_not_be_sent_go_before_more_that_were_late() {
    let side = |is_bad: bool, seed: u64| {
        let mut random = SplitMix::new(seed);
        let mut records = taking((0..400).map(|_| 1.4 + 0.1 * random.normal()).collect());
        for record in records.iter_mut().filter(|_| is_bad) {
            match record.seq % 20 {
                0 => (record.t_recv, record.outcome) = (None, End::LocalError),
                1..5 => record.outcome = End::Late,
                _ => {}
            }
        }
        let mut samples = Samples::default();
        samples.push(stream(0, "echo", &[]), records, RecordFacts::default());
        samples
    };
    let found = compared_in(Measure::Response, &side(false, 1), &side(true, 2)).verdict;
    assert_eq!(found.kind, Kind::Differs, "{}", found.text);
    let says = "5.0 % of B's packets could not be sent";
    assert!(found.text.contains(says), "{}", found.text);
}

/// One that came after 1.2 s says nothing of those behind it: they were waited for 1 s and more.
#[test]
fn an_outage_behind_a_late_packet_is_one() {
    let side = |dies: bool, seed: u64| {
        let mut random = SplitMix::new(seed);
        let each = (0..400).map(|n| match n {
            344 if dies => 1200.0,
            _ => 1.4 + 0.1 * random.normal(),
        });
        let mut records = taking(each.collect());
        for record in records.iter_mut().filter(|_| dies) {
            match record.seq {
                344 => record.outcome = End::Late,
                345.. => (record.t_recv, record.outcome) = (None, End::Lost),
                _ => {}
            }
        }
        let mut samples = Samples::default();
        samples.push(stream(0, "echo", &[]), records, RecordFacts::default());
        samples
    };
    let found = compared_in(Measure::Response, &side(false, 1), &side(true, 2)).verdict;
    let says = "B is not answered any more from 6.90 s on (55 packets in a row)";
    assert!(found.text.contains(says), "{}", found.text);
}

fn limits(a: &Samples, b: &Samples, text: &str) -> Vec<LimitResult> {
    let limit = Limit::parse(text).unwrap_or_else(|error| panic!("{}", error.pretty(text)));
    evaluate(&limit, &Both::new(a, b).unwrap()).unwrap()
}

fn outcome(a: &Samples, b: &Samples, text: &str) -> Outcome {
    let found = limits(a, b, text);
    assert_eq!(found.len(), 1);
    found[0].outcome
}

#[test]
fn limits_of_every_form() {
    use Outcome::{Failed, Passed, Undecided};
    let a = run(&[PLAIN]);
    let b = run(&[Recipe {
        path: 1.3,
        lost: 0.03,
        seed: 2,
        ..PLAIN
    }]);
    for (text, expected) in [
        ("p50(response) > +10%", Failed),
        ("p50(response) > +50%", Passed),
        ("p50(response) > +20us", Failed),
        ("p50(response) > +1ms", Passed),
        ("p50(response) < -5%", Passed),
        ("p50(response) > -5%", Failed),
        ("p50(response) > 100us", Failed),
        ("p50(response) > 1s", Passed),
        ("p50(response) < 1s", Failed),
        ("p50(response | probe=echo) > +10%", Failed),
        ("sd(network) > +10us", Undecided),
        ("sd(network) > +10%", Failed),
        ("lost > 1%", Failed),
        ("lost > 10%", Passed),
        ("lost > +1%", Failed),
        ("lost > +10%", Passed),
        ("mean(lost) > +1%", Failed),
        ("share(response > 300us) > +5%", Failed),
        ("count(response) < 1000", Passed),
        ("max(response) > 1us", Failed),
        ("max(response) > 1s", Passed),
        ("max(response) > +10%", Undecided),
        ("p999(response) > +10%", Undecided),
        ("for each probe: p50(response) > +10%", Failed),
    ] {
        assert_eq!(
            outcome(&a, &b, text),
            expected,
            "{text}: {:?}",
            limits(&a, &b, text)
        );
    }
    let constant = &limits(&a, &b, "sd(reflector) > +10%")[0];
    assert_eq!((constant.outcome, constant.value), (Passed, Some(0.0)));
    let found = &limits(&a, &b, "p50(response) > +10%")[0];
    let interval = found.interval.unwrap();
    assert!(found.reason.contains(" in A: +2"), "{}", found.reason);
    assert!(
        found.reason.contains(" at 95 % from +2"),
        "{}",
        found.reason
    );
    assert!(interval.low < found.value && found.value < interval.high);
}

/// The largest of each trial bounds a maximum, and a reader is to know that it is not of packets.
#[test]
fn a_limit_says_where_whole_trials_are_its_values() {
    let side = |path, first: u64| {
        let each = (first..first + 5).map(|seed| Recipe {
            path,
            seed,
            ..PLAIN
        });
        run(&each.collect::<Vec<_>>())
    };
    let (a, b) = (side(1.0, 1), side(20.0, 10));
    let says = |text: &str| {
        let found = &limits(&a, &b, text)[0];
        assert_eq!(found.outcome, Outcome::Failed, "{}", found.reason);
        let of_trials = " (from the spread of trials, each as one value)";
        found.reason.contains(of_trials)
    };
    assert!(says("max(response) > +10%"));
    assert!(!says("p50(response) > +10%"));
}

/// Nothing is a share of 0, and whatever is more than it is beyond any.
#[test]
fn a_limit_relative_to_nothing_is_decided() {
    let side = |queue, seed| with_queues(600, [queue; 2], seed);
    let (none, some) = (side(0, 1), side(5_000_000, 9));
    for (limit, expected) in [
        ("p50(local_queue) > +10%", Outcome::Failed),
        ("p50(local_queue | wait=1ms) > +10%", Outcome::Failed),
        ("mean(local_queue) > -5%", Outcome::Failed),
        ("p50(local_queue) < -10%", Outcome::Passed),
    ] {
        assert_eq!(outcome(&none, &some, limit), expected, "{limit}");
    }
    let held = &limits(&none, &some, "p50(local_queue) > +10%")[0];
    assert!(held.reason.contains(" in B, 0 ns in A: +5."), "{held:?}");
    assert_eq!((held.value, held.bound), (None, 0.1));
    assert_eq!(
        outcome(&none, &none, "p50(local_queue) > +10%"),
        Outcome::Passed
    );
}

/// A reader sees the table and the limits of one comparison: they are of the same draws, whatever a limit's bound.
#[test]
fn limits_have_the_intervals_of_the_table() {
    let few = |seed| Recipe {
        packets: 600,
        seed,
        ..PLAIN
    };
    let a = run(&[few(1), few(3)]);
    let slower = |seed| Recipe {
        path: 1.1,
        lost: 0.03,
        ..few(seed)
    };
    let b = run(&[slower(2), slower(4)]);
    let found = compared_in(Measure::Response, &a, &b);
    let ends = |bounds: &Bounds| (Some(bounds.low), Some(bounds.high));
    let held = |text: &str| {
        let interval = limits(&a, &b, text).remove(0).interval.unwrap();
        (interval.low, interval.high)
    };
    for (name, functional) in [
        ("mean", Functional::Mean),
        ("p50", Functional::Quantile(0.5)),
        ("p99", Functional::Quantile(0.99)),
    ] {
        let mut all = shifts(&found, Measure::Response).iter();
        let shift = all.find(|shift| shift.statistic == functional).unwrap();
        let of = |bound: &str| held(&format!("{name}(response) > {bound}"));
        assert_eq!(of("+10%"), ends(shift.relative.as_ref().unwrap()));
        assert_eq!(of("+5%"), of("+10%"));
        assert_eq!(of("+20us"), ends(shift.absolute.as_ref().unwrap()));
    }
    let loss = ends(found.loss.absolute.as_ref().unwrap());
    for text in [
        "lost > +1%",
        "mean(lost) > +2%",
        "for each probe: lost > +1%",
    ] {
        assert_eq!(held(text), loss, "{text}");
    }
}

#[test]
fn what_cannot_be_held_is_an_error() {
    let a = run(&[PLAIN]);
    let both = Both::new(&a, &a).unwrap();
    for (text, says) in [
        ("p99(response | wait=1ms) > +10%", "share no factor `wait`"),
        ("p99(response | probe=ef) > +10%", "probe=ef"),
        ("mean(retransmits) > +10%", "no packet has retransmits"),
        ("mean(backlog) > +1cells", "the two runs kept no backlog"),
        (
            "for each wait: p99(response) > +10%",
            "share no factor `wait`",
        ),
    ] {
        let error = evaluate(&Limit::parse(text).unwrap(), &both).unwrap_err();
        assert!(error.contains(says), "{text}: {error}");
        assert!(!error.contains("A or B"), "{text}: {error}");
    }
}

/// Requests whose server thinks for `think` ms, with handshakes of 10 ms beside them.
fn with_handshakes(think: f64, probe: &str, seed: u64) -> Samples {
    let mut random = SplitMix::new(seed);
    let mut exchanges = |method: Method, probe: u16, ms: f64| -> Vec<Record> {
        let exchange = |seq: u64| {
            let due = seq as i64 * 150_000_000;
            let mut record = Record::due(0, probe, seq, method, due);
            let takes = ms * 1e6 + exponential(&mut random, 200_000.0) as f64;
            (record.t_send, record.t_recv) = (Some(due), Some(due + takes as i64));
            record.outcome = End::Ok;
            record
        };
        (0..30).map(exchange).collect()
    };
    let mut samples = Samples::default();
    let requests = exchanges(Method::Http, 0, 10.0 + think);
    samples.push(stream(0, "ping", &[]), requests, RecordFacts::default());
    let handshakes = exchanges(Method::TcpConnect, 1, 10.0);
    samples.push(stream(0, probe, &[]), handshakes, RecordFacts::default());
    samples
}

#[test]
fn handshakes_beside_requests_are_in_no_verdict_and_in_no_condition_that_does_not_name_them() {
    let [a, b] =
        [(3.0, 1), (30.0, 2)].map(|(think, seed)| with_handshakes(think, "handshake", seed));
    let failed = &limits(&a, &b, "p50(response) > +50%")[0];
    assert_eq!(failed.outcome, Outcome::Failed, "{}", failed.reason);
    let [before, after] = [failed.a, failed.b].map(Option::unwrap);
    assert!((after / before - 40.0 / 13.0).abs() < 0.1, "{failed:?}");
    assert!(!failed.reason.contains("pooled"), "{}", failed.reason);
    for named in [
        "p50(response | probe=handshake) > +50%",
        "for each probe: p50(response) > +50%",
    ] {
        let of_handshakes =
            |held: &LimitResult| held.levels.iter().all(|it| it.level == "handshake");
        let found = limits(&a, &b, named).into_iter().find(of_handshakes);
        let found = found.unwrap();
        assert_ne!(found.outcome, Outcome::Failed, "{named}");
        let [before, after] = [found.a, found.b].map(Option::unwrap);
        assert!((after / before - 1.0).abs() < 0.1, "{found:?}");
    }
    let found = compare(&a, &b, &ComparisonRequest::usual()).unwrap();
    assert!(found.whole.is_none() && found.looks == looks::EFFECTIVE_TESTS_PER_PAIR);
    let beside: Vec<bool> = found.pairs.iter().map(|pair| pair.is_auxiliary).collect();
    assert_eq!(beside, [false, true]);
    assert_eq!(found.pairs[0].verdict.kind, Kind::Differs);
}

/// Probes that an experiment has beside each other are all asked for, also where one of them makes handshakes.
#[test]
fn probes_that_were_asked_for_are_pooled_and_said() {
    let [a, b] = [(3.0, 1), (30.0, 2)].map(|(think, seed)| with_handshakes(think, "connect", seed));
    let pooled = &limits(&a, &b, "p50(response) > +50%")[0];
    let says = "; pooled: 60 packets of ping, 60 of connect";
    assert!(pooled.reason.ends_with(says), "{}", pooled.reason);
    let found = compare(&a, &b, &ComparisonRequest::usual()).unwrap();
    assert_eq!(found.whole.map(|whole| whole.pairs), Some(2));
}

/// Of a change both runs, of a value B alone, and of either what its selectors choose: a flaw of any other trial says nothing of it.
#[test]
fn a_limit_says_on_which_streams_it_is_judged() {
    let [a, b] = [(3.0, 1), (3.0, 2)].map(|(think, seed)| with_handshakes(think, "connect", seed));
    let judged_on = |text| limits(&a, &b, text).remove(0).streams;
    let of_connect = judged_on("p50(response | probe=connect) > +50%");
    assert_eq!(of_connect.clone().map(|streams| streams.len()), [1, 1]);
    let of_b = judged_on("p50(response) > 50ms");
    assert_eq!(of_b.clone().map(|streams| streams.len()), [0, 2]);
    assert!(of_b[1].contains(&of_connect[1][0]));
}

/// What a slope counts depends on the levels of its factor, which only the runs have.
#[test]
fn a_bound_counts_what_the_statistic_of_these_runs_counts() {
    let mut sizes = Samples::default();
    for (trial, bytes) in (0..).zip([64.0, 512.0, 1024.0]) {
        let level = Level {
            value: Some(bytes),
            unit: Some(Unit::Bytes),
            ..Level::named(format!("{bytes}B"))
        };
        let mut stream = stream(trial, "echo", &[]);
        stream.factors = vec![("size".to_owned(), level)];
        let recipe = Recipe {
            packets: 100,
            path: 1.0 + bytes / 1e4,
            ..PLAIN
        };
        sizes.push(stream, records(recipe), ONE_CLOCK);
    }
    let both = Both::new(&sizes, &sizes).unwrap();
    for bound in ["5ms", "+5ms", "+5", "-3B"] {
        let text = format!("slope(p50(response) on size) > {bound}");
        let error = evaluate(&Limit::parse(&text).unwrap(), &both).unwrap_err();
        assert!(error.contains("counts ns/B, and its bound"), "{error}");
        assert!(error.contains("write `1ns / 1B`"), "{error}");
    }
    for bound in ["0", "+10%", "1us/64B"] {
        let text = format!("slope(p50(response) on size) > {bound}");
        assert_eq!(limits(&sizes, &sizes, &text).len(), 1, "{text}");
    }
    for (bound, expected) in [
        ("> 1ns / 1B", Outcome::Failed),
        ("> 1ms / 1B", Outcome::Passed),
        ("> +1us / 1B", Outcome::Passed),
    ] {
        let text = format!("slope(p50(response) on size) {bound}");
        assert_eq!(outcome(&sizes, &sizes, &text), expected, "{text}");
    }
}

/// Losses in a row are one event, which no interval of a share tells from chance; that a path died is certain.
#[test]
fn an_outage_to_the_end_is_a_change_and_no_chance() {
    let recipe = Recipe {
        packets: 400,
        ..PLAIN
    };
    let (a, b) = (
        run(&[recipe]),
        run(&[Recipe {
            gone_from: 153,
            seed: 2,
            ..recipe
        }]),
    );
    let found = compared(&a, &b);
    assert_eq!(found.verdict.kind, Kind::Differs);
    assert!(found.loss_differs(looks::EFFECTIVE_TESTS_PER_PAIR));
    let says = "B is not answered any more from 153 ms on (247 packets in a row): B loses 62 % of its packets and A 0 %.";
    assert!(
        found.verdict.text.starts_with(says),
        "{}",
        found.verdict.text
    );
    assert!(
        !found.verdict.text.contains("may be chance"),
        "{}",
        found.verdict.text
    );
    for limit in ["lost > +5%", "lost > 5%"] {
        let held = &limits(&a, &b, limit)[0];
        assert_eq!(held.outcome, Outcome::Failed, "{held:?}");
        assert!(
            held.reason.contains("not answered any more from 153 ms on"),
            "{held:?}"
        );
    }
    // Where A was like that, too, nothing has changed, and B's own loss is what it is.
    assert_eq!(compared(&b, &b).verdict.kind, Kind::NoDifference);
    assert_ne!(outcome(&b, &b, "lost > +5%"), Outcome::Failed);
    assert_eq!(outcome(&b, &b, "lost > 5%"), Outcome::Failed);
    assert_ne!(outcome(&a, &b, "lost > 70%"), Outcome::Failed);
}

/// That A lost its last packets says nothing of the path that died in B.
#[test]
fn an_outage_hides_no_longer_one() {
    let recipe = Recipe {
        packets: 400,
        ..PLAIN
    };
    let gone = |gone_from, seed| Recipe {
        gone_from,
        seed,
        ..recipe
    };
    let (a, b) = (run(&[gone(395, 1)]), run(&[gone(153, 2)]));
    let says = "B is not answered any more from 153 ms on (247 packets in a row): B loses 62 % of its packets and A 1.";
    let text = compared(&a, &b).verdict.text;
    assert!(text.starts_with(says), "{text}");
    let back = compared(&b, &a).verdict.text;
    assert!(back.starts_with("A is not answered any more"), "{back}");
    assert_eq!(outcome(&a, &b, "lost > +5%"), Outcome::Failed);
    assert_ne!(outcome(&b, &a, "lost > +5%"), Outcome::Failed);
    // Nor does an outage under one combination say anything of another.
    let side = |gone_from: [u64; 2], seed: u64| {
        let mut samples = Samples::default();
        for (trial, (wait, from)) in (0..).zip(["1ms", "100ms"].into_iter().zip(gone_from)) {
            let records = records(gone(from, seed + u64::from(trial)));
            samples.push(stream(trial, "echo", &[("wait", wait)]), records, ONE_CLOCK);
        }
        samples
    };
    let (a, b) = (side([300, u64::MAX], 1), side([300, 0], 9));
    let held = &limits(&a, &b, "lost > +5%")[0];
    assert_eq!(held.outcome, Outcome::Failed, "{held:?}");
    assert!(
        held.reason
            .ends_with("nothing of B was answered with wait 100ms"),
        "{held:?}"
    );
    let later = side([300, 153], 9);
    let held = &limits(&a, &later, "lost > +5%")[0];
    assert_eq!(held.outcome, Outcome::Failed, "{held:?}");
    let place = "from 153 ms on (247 packets in a row) with wait 100ms";
    assert!(held.reason.ends_with(place), "{held:?}");
}

/// A run of one trial that loses these packets.
fn losing(packets: u64, lost: impl Fn(u64) -> bool) -> Samples {
    let mut records = records(Recipe {
        packets,
        seed: 2,
        ..PLAIN
    });
    for record in records.iter_mut().filter(|record| lost(record.seq)) {
        (record.t_recv, record.outcome) = (None, End::Lost);
    }
    let mut samples = Samples::default();
    samples.push(stream(0, "echo", &[]), records, ONE_CLOCK);
    samples
}

/// That few packets of a lossy path are all lost says nothing.
#[test]
fn a_side_of_few_packets_is_silent_by_chance() {
    let none = |packets| losing(packets, |_| true);
    for (a, b, is_silent) in [
        (losing(20, |seq| seq > 0), none(4), false),
        (losing(3, |_| false), none(3), false),
        (losing(200, |_| false), none(1), false),
        (losing(20, |_| false), none(3), true),
        (losing(20, |seq| seq > 10), none(20), true),
    ] {
        let found = compared(&a, &b);
        assert_eq!(found.silent.is_some(), is_silent, "{}", found.verdict.text);
        let expected = match is_silent {
            true => (Kind::Differs, Outcome::Failed),
            false => (Kind::Undecided, Outcome::Undecided),
        };
        assert_eq!(found.verdict.kind, expected.0, "{}", found.verdict.text);
        assert_eq!(outcome(&a, &b, "p50(response) > +10%"), expected.1);
    }
}

/// Some packets at the end of a run say nothing of what the other one loses all along.
#[test]
fn a_short_outage_hides_no_loss_that_an_interval_tells() {
    let all_along = losing(400, |seq| seq % 5 == 2);
    let at_the_end = losing(400, |seq| seq >= 395);
    let losses = "B loses 20 % of its packets and A 1.2 %: the difference is at 95 % between ";
    let outage = " of all packets; A is not answered any more from 395 ms on (5 packets in a row).";
    let text = compared(&at_the_end, &all_along).verdict.text;
    assert!(text.starts_with(losses) && text.contains(outage), "{text}");
    let text = compared(&all_along, &at_the_end).verdict.text;
    let losses = "B loses 1.2 % of its packets and A 20 %: the difference is at 95 % between ";
    let outage = outage.replace("A is", "B is");
    assert!(text.starts_with(losses) && text.contains(&outage), "{text}");
}

/// A run in which each packet from this one on ended so.
fn ended(outcome: End, from: u64, packets: u64) -> Samples {
    ended_where(outcome, packets, |seq| seq >= from)
}

/// A run in which each of these packets ended so.
fn ended_where(outcome: End, packets: u64, is_one: impl Fn(u64) -> bool) -> Samples {
    let mut records = records(Recipe {
        packets,
        seed: 2,
        ..PLAIN
    });
    for record in records.iter_mut().filter(|record| is_one(record.seq)) {
        record.outcome = outcome;
        if outcome == End::LocalError {
            (record.t_send, record.t_recv) = (None, None);
        }
    }
    let mut samples = Samples::default();
    samples.push(stream(0, "echo", &[]), records, ONE_CLOCK);
    samples
}

#[test]
fn what_could_not_be_sent_or_came_back_with_other_bytes_was_not_answered() {
    let a = run(&[Recipe {
        packets: 400,
        ..PLAIN
    }]);
    for (end, how) in [
        (End::LocalError, "none of its 400 packets could be sent"),
        (
            End::Corrupt,
            "all of its 400 packets came back with other bytes",
        ),
    ] {
        let b = ended(end, 0, 400);
        let found = compared(&a, &b);
        let says = format!("B is never answered: {how}; A loses 0 %.");
        assert_eq!(
            (found.verdict.kind, found.verdict.text),
            (Kind::Differs, says)
        );
        for limit in ["p99(response) > +10%", "lost > 1%", "lost > +1%"] {
            let held = &limits(&a, &b, limit)[0];
            assert_eq!(held.outcome, Outcome::Failed, "{held:?}");
            let says = format!("nothing of B was answered ({how})");
            assert!(held.reason.starts_with(&says), "{held:?}");
        }
    }
    for (end, what) in [
        (End::LocalError, "could not be sent"),
        (End::Corrupt, "came back with other bytes"),
    ] {
        let text = compared(&a, &ended(end, 153, 400)).verdict.text;
        let says = format!(
            "B is not answered any more from 153 ms on (247 packets in a row): B loses 0 % of its packets and A 0 %; 62 % of B's packets {what}."
        );
        assert!(text.starts_with(&says), "{text}");
    }
}

/// No figure of delay or of loss has them, and no outage is made of them.
#[test]
fn packets_now_and_then_that_were_neither_answered_nor_lost_are_named() {
    let seldom = |outcome: End| ended_where(outcome, 400, |seq| seq % 4 == 0);
    let a = run(&[Recipe {
        packets: 400,
        ..PLAIN
    }]);
    for (end, what) in [
        (End::LocalError, "could not be sent"),
        (End::Corrupt, "came back with other bytes"),
    ] {
        let verdict = compared(&a, &seldom(end)).verdict;
        let says = format!("25 % of B's packets {what}, and 0 % of A's.");
        assert!(verdict.text.ends_with(&says), "{}", verdict.text);
        assert_eq!(verdict.kind, Kind::Differs, "{}", verdict.text);
        let same = compared(&seldom(end), &seldom(end)).verdict.text;
        assert!(!same.contains(what), "{same}");
    }
}

/// With four packets of which two in five are lost, all of one trial in forty are.
#[test]
fn a_trial_of_few_packets_is_dead_by_chance() {
    for seed in 0..20 {
        let side = |seed: u64| {
            let recipe = |trial| Recipe {
                packets: 4,
                lost: 0.4,
                seed: seed * 100 + trial,
                ..PLAIN
            };
            run(&(0..20).map(recipe).collect::<Vec<_>>())
        };
        let (side, streams) = (side(seed), (0..20).collect::<Vec<_>>());
        let [found, _] = Outages::of_both([&side; 2], [&streams; 2]);
        assert!(!found.is_any(), "{found:?}");
    }
}

/// A run of one trial under each of two waits.
fn two_waits(recipes: [Recipe; 2], late: u64) -> Samples {
    let mut samples = Samples::default();
    for (trial, (wait, recipe)) in (0..).zip(["1ms", "10ms"].into_iter().zip(recipes)) {
        let mut records = records(recipe);
        for record in &mut records {
            let by = match (late, record.seq) {
                (0, _) => 0,
                (every, seq) if seq % every == 0 => 50_000_000,
                _ => -30_000,
            };
            record.t_recv = record.t_recv.map(|t| t + by);
        }
        samples.push(stream(trial, "echo", &[("wait", wait)]), records, ONE_CLOCK);
    }
    samples
}

/// A p99 that is a little shorter is no news where the furthest tail is a hundred times as long.
#[test]
fn the_furthest_tail_is_named_where_it_goes_the_other_way() {
    let many = |seed| Recipe {
        packets: 6000,
        seed,
        ..PLAIN
    };
    let (a, b) = (
        two_waits([many(1), many(2)], 0),
        two_waits([many(3), many(4)], 250),
    );
    let asked = ComparisonRequest {
        measures: vec![Measure::Response],
        full: false,
        ..ComparisonRequest::usual()
    };
    let found = compare(&a, &b, &asked).unwrap();
    let text = &found.pairs[0].verdict.text;
    assert!(text.starts_with("B's p"), "{text}");
    assert!(text.contains(" shorter than A's"), "{text}");
    assert!(text.contains(" Yet its p99.9 is "), "{text}");
    let text = found.whole.unwrap().text;
    assert!(
        text.contains("rises most in wait 1") && text.contains("p99.9 from"),
        "{text}"
    );
    assert!(text.contains(", and falls most in wait 1"), "{text}");
}

/// Nor is it news where p90 is a hundred times as long, as many more packets are slow.
#[test]
fn a_statistic_that_moves_much_further_is_named() {
    let side = |slow_of_25: u64, slow: i64, seed: u64| {
        let mut records = records(Recipe {
            packets: 800,
            seed,
            ..PLAIN
        });
        let slow_ones = records.iter_mut();
        for record in slow_ones.filter(|record| record.seq % 25 < slow_of_25) {
            record.t_recv = record.t_recv.map(|t| t + slow);
        }
        let mut samples = Samples::default();
        samples.push(stream(0, "echo", &[]), records, ONE_CLOCK);
        samples
    };
    let (a, b) = (side(1, 100_000_000, 1), side(5, 105_000_000, 9));
    let text = compared_in(Measure::Response, &a, &b).verdict.text;
    assert!(text.starts_with("B's p99 response is 5.0"), "{text}");
    assert!(text.contains(" Its p90 is 105 ms"), "{text}");
}

#[test]
fn loss_that_rises_here_and_falls_there_is_said_of_both() {
    let recipe = |lost, gone_from, seed| Recipe {
        packets: 400,
        lost,
        gone_from,
        seed,
        ..PLAIN
    };
    let all = u64::MAX;
    let text = |a: [Recipe; 2], b: [Recipe; 2]| {
        let found = compare(
            &two_waits(a, 0),
            &two_waits(b, 0),
            &ComparisonRequest::usual(),
        );
        found.unwrap().whole.unwrap().text
    };
    let (none, some) = (|seed| recipe(0.0, all, seed), |seed| recipe(0.2, all, seed));
    let both = text([none(1), some(2)], [some(3), none(4)]);
    assert!(both.starts_with("Loss rises from 0 % to "), "{both}");
    assert!(both.contains(" in wait 1ms and falls from "), "{both}");
    assert!(both.contains(" to 0 % in wait 10ms"), "{both}");
    // As much in all, and at the end.
    let mut spread = two_waits([none(1), none(2)], 0);
    spread = {
        let mut samples = Samples::default();
        for at in 0..2 {
            let info = spread.streams()[at].clone();
            let mut records = Vec::new();
            spread.records(at, &mut |record| records.push(*record));
            for record in records.iter_mut().step_by(10).filter(|_| at == 0) {
                (record.t_recv, record.outcome) = (None, End::Lost);
            }
            samples.push(info, records, ONE_CLOCK);
        }
        samples
    };
    let end = two_waits([recipe(0.0, 360, 3), none(4)], 0);
    let found = compare(&spread, &end, &ComparisonRequest::usual()).unwrap();
    let text = found.whole.unwrap().text;
    let says = "In wait 1ms B is not answered any more from 360 ms on (40 packets in a row)";
    assert!(text.starts_with(says), "{text}");
}

#[test]
fn combinations_that_lose_everything_are_no_chance() {
    let recipe = |seed| Recipe {
        packets: 200,
        seed,
        ..PLAIN
    };
    let all = [1, 2, 3, 4, 5, 6, 7, 8].map(recipe);
    let mut some = all;
    (some[2].gone_from, some[6].gone_from) = (0, 0);
    let (a, b) = (run(&all), run(&some));
    let found = compared(&a, &b);
    assert_eq!(found.verdict.kind, Kind::Differs);
    let says = "B is never answered in 2 of 8 trials: B loses 25 % of its packets and A 0 %.";
    assert!(
        found.verdict.text.starts_with(says),
        "{}",
        found.verdict.text
    );
    assert_eq!(outcome(&a, &b, "lost > +5%"), Outcome::Failed);
}

#[test]
fn silence_fails_what_few_packets_leave_open() {
    let a = run(&[PLAIN]);
    let silent = run(&[Recipe { lost: 1.1, ..PLAIN }]);
    assert_eq!(
        outcome(&a, &silent, "p99(response) > +10%"),
        Outcome::Failed
    );
    assert_eq!(outcome(&a, &silent, "p99(response) > 1s"), Outcome::Failed);
    assert_eq!(
        outcome(&silent, &a, "p99(response) > +10%"),
        Outcome::Undecided
    );
    let few = run(&[Recipe {
        packets: 10,
        queue: 1e6,
        ..PLAIN
    }]);
    let reason = &limits(&a, &few, "p99(response | probe=echo) > +10%")[0].reason;
    assert!(
        reason.starts_with("p99(response | probe=echo) of B has no interval"),
        "{reason}"
    );
    assert_eq!(
        outcome(&a, &few, "p50(response) > +10%"),
        Outcome::Undecided
    );
}

/// Share of pairs of runs of one law in which the limit has failed.
fn false_alarms(text: &str, runs: u64, packets: u64) -> f64 {
    let failed = (0..runs).filter(|seed| {
        let [a, b] = [2 * seed, 2 * seed + 1].map(|seed| {
            run(&[Recipe {
                packets,
                seed,
                ..PLAIN
            }])
        });
        outcome(&a, &b, text) == Outcome::Failed
    });
    failed.count() as f64 / runs as f64
}

#[test]
fn noise_alone_seldom_fails() {
    // The strictest bound there is; `examples/limits.rs` has more runs and more bounds.
    for text in ["p50(response) > +0%", "p99(response) > +0ms"] {
        let share = false_alarms(text, 100, 400);
        assert!(share <= 0.05, "{text}: {share}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    #[test]
    fn turned_round_it_is_the_opposite(seed in 0_u64..1000, queue in 0_u32..20_000, lost in 0.0..0.1) {
        let small = Recipe { packets: 300, seed, ..PLAIN };
        let a = run(&[small]);
        let b = run(&[Recipe { queue: f64::from(queue), lost, seed: seed + 1, ..small }]);
        let (there, back) = (compared(&a, &b), compared(&b, &a));
        prop_assert_eq!(there.figures.len(), back.figures.len());
        for (x, y) in there.figures.iter().zip(&back.figures) {
            prop_assert_eq!(x.quantity, y.quantity);
            for (x, y) in x.shifts.iter().zip(&y.shifts) {
                prop_assert_eq!(x.difference(), y.difference().map(|d| -d));
                prop_assert_eq!(x.absolute.is_ok(), y.absolute.is_ok());
                if let (Ok(x), Ok(y)) = (&x.absolute, &y.absolute) {
                    // Ends are from other draws.
                    let width = (x.high - x.low).max(1.0);
                    prop_assert!((x.low + y.high).abs() < 0.35 * width, "{:?} {:?}", x, y);
                    prop_assert!((x.high + y.low).abs() < 0.35 * width, "{:?} {:?}", x, y);
                }
            }
        }
        for (x, y) in there.carried.iter().zip(&back.carried) {
            prop_assert_eq!(x.difference(), -y.difference());
            let sum: f64 = x.stages.iter().map(|[a, b]| b.ns - a.ns).sum();
            prop_assert!((sum - x.difference()).abs() < 1e-6 * x.response_ns[0]);
        }
        prop_assert_eq!(there.loss.difference(), back.loss.difference().map(|d| -d));
    }
}

#[test]
fn a_shift_of_known_size_is_covered() {
    const PAIRS: u64 = 12;
    let covers = |pair: &u64| {
        let moved = 1_000.0 + 8_000.0 * *pair as f64;
        let packets = 1000;
        let (first, second) = (*pair, *pair + 5000);
        let a = run(&[Recipe {
            packets,
            seed: first,
            ..PLAIN
        }]);
        let b = run(&[Recipe {
            packets,
            queue: moved,
            seed: second,
            ..PLAIN
        }]);
        let found = compared_in(Measure::Response, &a, &b);
        let shift = &shifts(&found, Measure::Response)[0];
        assert_eq!(shift.statistic, Functional::Mean);
        let bounds = shift.absolute.clone().unwrap();
        (bounds.low..=bounds.high).contains(&moved)
    };
    let covered = (0..PAIRS).filter(covers).count();
    // Of intervals at 95 %, one in twenty does not.
    assert!(covered >= 11, "{covered} of {PAIRS}");
}
