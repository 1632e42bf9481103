//! Calibration of simulated paths, of which everything is known.

use delaylab_explain::calibrate::buffer::Counts;
use delaylab_explain::calibrate::limiter::Limiter;
use delaylab_explain::calibrate::passage::Ways;
use delaylab_explain::calibrate::run_trials::RunTrials;
use delaylab_explain::calibrate::{Calibration, calibrate, change, model, overlay};
use delaylab_lab::experiment::catalogue::Entry;
use delaylab_lab::experiment::{Choices, Experiment, FactorialPlan, Resolved, Source};
use delaylab_lab::run::{Ending, Laboratory, Progress, StopMeans};
use delaylab_model::experiment::WorldName;
use delaylab_model::record::Outcome;
use delaylab_model::stop::Stop;
use delaylab_model::trial::RecordFacts;
use delaylab_sim::world::Simulated;
use delaylab_stats::random::SplitMix;
use delaylab_store::run::Run;
use delaylab_store::writer::{NewRun, RunWriter};
use serde_json::json;
use std::collections::BTreeSet;
use std::time::SystemTime;

struct Silent;

impl Progress for Silent {}

fn resolve(experiment: &Experiment, sets: &[(&str, String)]) -> Resolved {
    let sets = sets
        .iter()
        .map(|(path, value)| ((*path).to_owned(), value.clone()));
    let choices = Choices {
        world: Some(WorldName::Sim),
        quick: experiment.has_quick(WorldName::Sim),
        sets: sets.collect(),
        ..Choices::default()
    };
    let resolved = experiment.resolve(&choices, &delaylab_sim::refusals);
    resolved.unwrap_or_else(|said| panic!("{said}"))
}

/// Simulates it, and reads the run that comes of it.
fn simulated(resolved: &Resolved) -> RunTrials {
    let runs = tempfile::tempdir().unwrap();
    let new = NewRun {
        name: &resolved.name,
        world: "sim",
        started: Some(SystemTime::UNIX_EPOCH),
        experiment: &resolved.toml,
        environment: &json!({}),
    };
    let writer = RunWriter::create(runs.path(), &new).unwrap();
    let mut world = Simulated::new(1, Stop::default());
    let mut lab = Laboratory {
        world: &mut world,
        writer: Some(&writer),
        done: 0,
        stop: &Stop::default(),
        stop_means: StopMeans::default(),
        watch: None,
    };
    let mut plan = FactorialPlan::new(resolved.planned.clone(), &BTreeSet::new(), 1);
    let ending = lab.carry_out(&mut plan, &mut Silent).unwrap();
    assert_eq!(ending, Ending::Complete);
    let finished = writer.finish(&json!([])).unwrap();
    RunTrials::of_run(&Run::open(&finished.folder).unwrap(), resolved)
}

fn catalogue() -> Experiment {
    Experiment::read(Entry::find("calibration").unwrap().source()).unwrap()
}

/// A short one: a second of each.
fn short(sets: &[(&'static str, String)]) -> Vec<(&'static str, String)> {
    let short = [
        ("probe.*.duration", "1500ms".to_owned()),
        ("sweep.size.to", "[\"64B\", \"1400B\"]".to_owned()),
    ];
    short.into_iter().chain(sets.iter().cloned()).collect()
}

fn of(sets: &[(&'static str, String)]) -> (Resolved, RunTrials, Calibration) {
    let resolved = resolve(&catalogue(), &short(sets));
    let seen = simulated(&resolved);
    let found = calibrate(&seen);
    (resolved, seen, found)
}

/// Is this in the interval?
fn has((low, high): (f64, f64), truth: f64) -> bool {
    (low..=high).contains(&truth)
}

fn near(found: f64, truth: f64, share: f64) -> bool {
    (found - truth).abs() <= share * truth
}

/// Rate, buffer and discipline of random paths are found again.
fn found_again(random_paths: usize) {
    let mut random = SplitMix::new(5);
    for _ in 0..random_paths {
        let mbit = 1.0 + 19.0 * random.uniform();
        let buffer = 10_000 + random.below(190_000);
        let discipline = ["fifo", "per-flow"][random.below(2)];
        // The flood is a share of 100 Mbit/s.
        let sets = [
            ("path.rate", format!("{:.0}bit/s", mbit * 1e6)),
            ("path.switch.buffer", format!("{buffer}B")),
            ("path.switch.discipline", discipline.to_owned()),
            ("probe.flood.pacing.load", format!("{:.3}%", 1.2 * mbit)),
            (
                "probe.filler.pacing.poisson",
                format!("{:.0}us", 18_000.0 / mbit),
            ),
            // A buffer of 200 kB at 1 Mbit/s takes seconds to fill.
            (
                "probe.*.duration",
                format!("{:.0}ms", 1500.0 + buffer as f64 * 0.08 / mbit),
            ),
        ];
        let (_, _, found) = of(&sets);
        let truth = format!("{mbit} Mbit/s, {buffer} B, {discipline}: {found:#?}");
        let rate = found.rate.as_ref().unwrap().bits_per_second().value;
        assert!(near(rate, mbit * 1e6, 0.002), "{truth}");
        let limit = found.buffer.unwrap();
        assert_eq!(limit.counts, Counts::Bytes, "{truth}");
        assert!(near(limit.limit(), buffer as f64, 0.02), "{truth}");
        assert!(has(limit.interval, buffer as f64), "{truth}");
        assert_eq!(found.discipline(), Some(discipline), "{truth}");
        assert_eq!(found.ways, Ways::Apart);
    }
}

#[test]
fn random_paths_are_found_again() {
    found_again(2);
}

#[test]
fn hosts_and_lines_are_those_of_the_simulation() {
    let (_, _, found) = of(&[]);
    for (name, line) in found.hosts.lines() {
        let line = line.unwrap_or_else(|| panic!("{name}"));
        assert!(
            near(line.constant.value, 15_000.0, 0.01),
            "{name}: {line:?}"
        );
        assert!(near(line.slope.value, 2.0, 0.01), "{name}: {line:?}");
    }
    for line in [&found.forward, &found.back] {
        let line = line.as_ref().unwrap();
        // 100 µs in each of two switches; 10 Mbit/s between two of 100 Mbit/s.
        assert!(near(line.constant.value, 200_000.0, 0.001), "{line:?}");
        assert!(near(line.slope.value, 960.0, 0.001), "{line:?}");
        assert!(line.r2 > 0.99999 && line.farthest < 10.0);
    }
    // Nothing disturbs a simulated host.
    let noise = &found.hosts.noise;
    assert!(noise.response.len() > 100);
    assert!(
        noise.response.iter().all(|ns| ns.abs() < 2_000.0),
        "{noise:?}"
    );
}

#[test]
fn queues_that_drop_early_are_told_from_those_that_wait() {
    for discipline in ["codel", "fq-codel"] {
        let sets = [
            ("path.switch.discipline", discipline.to_owned()),
            ("probe.*.duration", "6s".to_owned()),
        ];
        let (_, _, found) = of(&sets);
        assert_eq!(found.discipline(), Some(discipline), "{found:#?}");
        assert!(found.unknown.iter().any(|unknown| unknown.what == "buffer"));
    }
}

#[test]
fn a_buffer_that_counts_packets_is_one() {
    let (_, _, found) = of(&[("path.switch.buffer", "41packets".to_owned())]);
    let buffer = found.buffer.unwrap();
    assert_eq!(buffer.counts, Counts::Packets, "{buffer:?}");
    assert_eq!(buffer.limit(), 41.0, "{buffer:?}");
}

/// The model is an experiment, and does what was measured.
/// What is simulated and not recorded is seen as a run of it is.
#[test]
fn a_world_is_seen_as_its_run_is() {
    let resolved = resolve(&catalogue(), &short(&[]));
    let recorded = simulated(&resolved);
    let seen = RunTrials::of_world(&mut Simulated::new(1, Stop::default()), &resolved).unwrap();
    assert_eq!(seen.framing, recorded.framing);
    assert_eq!(overlay::groups(&seen), overlay::groups(&recorded));
}

#[test]
fn the_model_does_what_the_path_did() {
    for discipline in ["fifo", "per-flow"] {
        let (resolved, seen, found) = of(&[("path.switch.discipline", discipline.to_owned())]);
        model_agrees(&resolved, &seen, &found, 0.03);
    }
}

/// The model is an experiment whose quantiles are within this share of what was measured.
fn model_agrees(resolved: &Resolved, seen: &RunTrials, found: &Calibration, share: f64) {
    let pairs = pairs(resolved, found, seen, &[]);
    assert_eq!(pairs.len(), 16);
    are_near(&pairs, overlay::Measure::Network, share);
}

/// The model with these changes beside what was measured.
fn pairs(
    resolved: &Resolved,
    found: &Calibration,
    measured: &RunTrials,
    sets: &[(&str, String)],
) -> Vec<overlay::Pair> {
    let text = model::experiment(found, resolved, "a run", "model").unwrap();
    let simulation = simulated(&resolve(&read("model.toml", text), sets));
    let mut model = overlay::groups(&simulation);
    overlay::add_noise(&mut model, &found.hosts.noise, 1);
    overlay::pairs(overlay::groups(measured), &model)
}

fn read(name: &str, text: String) -> Experiment {
    let source = Source {
        name: name.to_owned(),
        text,
    };
    Experiment::read(source).unwrap_or_else(|said| panic!("{said}"))
}

fn are_near(pairs: &[overlay::Pair], measure: overlay::Measure, share: f64) {
    for pair in pairs {
        let what = format!("{:?} {}", pair.measured.factors, pair.measured.probe);
        let Some(distance) = pair.distance(measure) else {
            continue;
        };
        for error in distance.errors() {
            assert!(error.abs() < share, "{what}: {distance:?}");
        }
    }
}

/// A path behind a token bucket: what is set, and lines that are no bottleneck.
fn behind(name: &str, bucket: &str, buffer: &str, mbit: f64) -> Vec<(&'static str, String)> {
    vec![
        ("path.rate", "1Gbit/s".to_owned()),
        ("path.link.*.rate", "1Gbit/s".to_owned()),
        (
            "path.switch",
            format!("{{ buffer = \"{buffer}\", latency = \"100us\", {name} = {bucket} }}"),
        ),
        ("probe.flood.pacing.load", format!("{:.4}%", 0.12 * mbit)),
        (
            "probe.filler.pacing.poisson",
            format!("{:.0}us", 18_000.0 / mbit),
        ),
    ]
}

fn bits(found: &Calibration) -> f64 {
    found.rate.as_ref().unwrap().bits_per_second().value
}

#[test]
fn a_shaper_is_told_from_a_link() {
    let bucket = "{ rate = \"6Mbit/s\", burst = \"9kB\" }";
    let (resolved, seen, found) = of(&behind("shaper", bucket, "50kB", 6.0));
    assert!(
        matches!(found.limiter, Some(Limiter::Shaper(_))),
        "{found:#?}"
    );
    assert!(near(bits(&found), 6e6, 0.002), "{found:#?}");
    let burst = found.bucket().unwrap().burst.unwrap();
    assert!(near(burst.value, 9_000.0, 0.03), "{burst:?}");
    assert!(has(burst.interval.unwrap(), 9_000.0), "{burst:?}");
    let buffer = found.buffer.unwrap();
    assert!(near(buffer.limit(), 50_000.0, 0.01), "{buffer:?}");
    assert_eq!(found.discipline(), Some("fifo"));
    model_agrees(&resolved, &seen, &found, 0.03);
}

/// Before a line that is hardly faster, the burst passes at the line's rate, and the slope is as much as a link of the rate has.
#[test]
fn a_shaper_near_the_rate_of_its_line_is_no_link() {
    for mbit in [6.0, 7.0, 8.0, 9.0] {
        let sets = [
            ("path.switch.shaper.rate", format!("{mbit}Mbit/s")),
            ("path.switch.shaper.burst", "40kB".to_owned()),
            ("probe.*.duration", "3s".to_owned()),
        ];
        let (resolved, _, found) = of(&sets);
        assert!(
            matches!(found.limiter, Some(Limiter::Shaper(_))),
            "{mbit}: {found:#?}"
        );
        assert!(near(bits(&found), mbit * 1e6, 0.002), "{mbit}: {found:#?}");
        let bucket = found.bucket().unwrap();
        let burst = bucket.burst.unwrap();
        assert!(has(burst.interval.unwrap(), 40_000.0), "{mbit}: {burst:?}");
        // The line's rate is no ceiling of the shaper.
        assert_eq!(bucket.ceiling, None, "{mbit}");
        let line = bucket.line.unwrap().on_the_wire;
        assert!(near(line, 800.0, 0.01), "{mbit}: {line}");
        let open = found
            .unknown
            .iter()
            .any(|one| one.what == "a line or a ceiling");
        assert!(open, "{:?}", found.unknown);
        // A faster line does not help: the shaper still holds what it held.
        let faster = [("path.rate", "20Mbit/s".to_owned())];
        let changed: Vec<_> = short(&sets).into_iter().chain(faster.clone()).collect();
        let truth = simulated(&resolve(&catalogue(), &changed));
        let pairs = pairs(&resolved, &found, &truth, &faster);
        let overflow = pairs.iter().filter(|pair| !pair.measured.unloaded);
        let overflow: Vec<_> = overflow.cloned().collect();
        assert!(!overflow.is_empty());
        are_near(&overflow, overlay::Measure::Network, 0.1);
    }
}

/// A ceiling below what all lines together allow is none of a line.
#[test]
fn a_ceiling_below_the_line_is_found() {
    let sets = [
        ("path.switch.shaper.rate", "6Mbit/s".to_owned()),
        ("path.switch.shaper.burst", "40kB".to_owned()),
        ("path.switch.shaper.ceil", "8Mbit/s".to_owned()),
        ("probe.*.duration", "3s".to_owned()),
    ];
    let (_, _, found) = of(&sets);
    let bucket = found.bucket().unwrap();
    assert_eq!(bucket.line, None, "{bucket:?}");
    let ceiling = bucket.ceiling.unwrap();
    assert!(near(ceiling.bits_per_second(), 8e6, 0.02), "{bucket:?}");
}

#[test]
fn two_rates_are_found() {
    let bucket =
        "{ rate = \"5Mbit/s\", burst = \"120kB\", ceil = \"9Mbit/s\", ceil_burst = \"4kB\" }";
    let mut sets = behind("shaper", bucket, "150kB", 12.0);
    sets.push(("probe.*.duration", "3s".to_owned()));
    let (_, _, found) = of(&sets);
    assert!(near(bits(&found), 5e6, 0.005), "{:#?}", found.limiter);
    let bucket = found.bucket().unwrap();
    assert!(
        near(bucket.burst.unwrap().value, 120_000.0, 0.03),
        "{bucket:?}"
    );
    assert!(
        has(bucket.burst.unwrap().interval.unwrap(), 120_000.0),
        "{bucket:?}"
    );
    let ceiling = bucket.ceiling.unwrap();
    assert!(near(ceiling.bits_per_second(), 9e6, 0.02), "{bucket:?}");
    assert!(near(ceiling.burst, 4_000.0, 0.4), "{bucket:?}");
}

#[test]
fn a_policer_is_told_from_a_queue() {
    let bucket = "{ rate = \"6Mbit/s\", burst = \"15kB\" }";
    let (resolved, seen, found) = of(&behind("policer", bucket, "50kB", 6.0));
    assert!(
        matches!(found.limiter, Some(Limiter::Policer(_))),
        "{found:#?}"
    );
    assert!(near(bits(&found), 6e6, 0.002), "{found:#?}");
    let burst = found.bucket().unwrap().burst.unwrap();
    assert!(near(burst.value, 15_000.0, 0.02), "{burst:?}");
    assert!(has(burst.interval.unwrap(), 15_000.0), "{burst:?}");
    assert!(found.buffer.is_none() && found.queue.is_none());
    model_agrees(&resolved, &seen, &found, 0.03);
}

const TWO_HOSTS: &str = r#"
name = "two"
title = "Two links of one rate"
world = "sim"

[[probe]]
name = "echo"
method = "udp"
pacing = { every = "5ms" }
count = 50

[path]
topology = "two-hosts"
rate = "10Mbit/s"
"#;

/// A key that does something else to the model than in the experiment is refused, and the refusal names one that works.
#[test]
fn a_change_means_the_same_in_the_model_or_is_refused() {
    let (measured, _, found) = of(&[]);
    let text = model::experiment(&found, &measured, "a run", "model").unwrap();
    let model = read("model.toml", text);
    let refusal = |measured: &Resolved, key: &str, value: &str| {
        let changed = resolve(&model, &[(key, value.to_owned())]);
        change::refusal(&resolve(&model, &[]), &changed, measured)
    };
    for (key, value, instead) in [
        (
            "path.propagation",
            "200us",
            "path.link.bottleneck.propagation",
        ),
        (
            "path.switch.latency",
            "100us",
            "path.link.bottleneck.propagation",
        ),
        (
            "path.node.s1.switch.latency",
            "100us",
            "path.link.bottleneck.propagation",
        ),
        (
            "path.host.per_packet",
            "15us",
            "path.node.a1.host.per_packet",
        ),
        (
            "path.host",
            "{ per_byte = \"2ns\" }",
            "path.node.a1.host.per_byte",
        ),
    ] {
        let why = refusal(&measured, key, value).unwrap_or_else(|| panic!("{key} is taken"));
        assert!(why.contains(&format!("set `{instead}`")), "{key}: {why}");
    }
    for (key, value) in [
        ("path.rate", "20Mbit/s"),
        ("path.switch.buffer", "30kB"),
        ("path.switch.discipline", "fq-codel"),
        (
            "path.switch.shaper",
            "{ rate = \"8Mbit/s\", burst = \"9kB\" }",
        ),
        ("path.mtu", "1600B"),
        ("path.link.bottleneck.propagation", "1ms"),
        ("path.node.a1.host.per_packet", "30us"),
        ("probe.flood.pacing.load", "8%"),
    ] {
        assert_eq!(refusal(&measured, key, value), None, "{key}");
    }

    // The rate of several links, and one that is not the bottleneck's.
    let two = resolve(&read("two.toml", TWO_HOSTS.to_owned()), &[]);
    let own = |key| resolve(&catalogue(), &[(key, "1Mbit/s".to_owned())]);
    for measured in [&two, &own("path.link.in-1.rate")] {
        let why = refusal(measured, "path.rate", "20Mbit/s").unwrap();
        assert!(why.contains("set `path.link.bottleneck.rate`"), "{why}");
        assert_eq!(
            refusal(measured, "path.link.bottleneck.rate", "20Mbit/s"),
            None
        );
    }
    // A switch with a buffer of its own.
    let own = [("path.node.s1.switch.buffer", "30kB".to_owned())];
    let own = resolve(&catalogue(), &own);
    let why = refusal(&own, "path.switch.buffer", "20kB").unwrap();
    assert!(why.contains("set `path.node.s1.switch.buffer`"), "{why}");
    assert_eq!(refusal(&own, "path.switch.discipline", "per-flow"), None);
    assert_eq!(refusal(&own, "path.node.s1.switch.buffer", "20kB"), None);
}

/// Bursts that wait for each other at hosts and before the slowest link; nothing is lost.
const BURSTS: &str = r#"
name = "bursts"
title = "Bursts on an idle path"
world = "sim"

[[probe]]
name = "echo"
method = "udp"
payload = "200B"
pacing = { every = "40ms", burst = 8 }
count = 800

[sweep.size]
set = "probe.echo.payload"
to = ["200B", "700B", "1400B"]

[path]
rate = "10Mbit/s"
node = [
    { name = "a1", kind = "host" },
    { name = "b1", kind = "host" },
    { name = "s1", kind = "switch" },
    { name = "s2", kind = "switch" },
]
link = [
    { name = "bottleneck", from = "s1", to = "s2" },
    { name = "in", from = "a1", to = "s1", rate = "40Mbit/s" },
    { name = "out", from = "s2", to = "b1", rate = "40Mbit/s" },
]

[path.host]
per_packet = "200us"
"#;

/// What packets of one probe wait for each other is in the model once: at hosts, and before the slowest link.
#[test]
fn an_idle_run_whose_packets_wait_for_each_other_is_predicted() {
    let resolved = |sets: &[(&str, String)]| resolve(&read("bursts.toml", BURSTS.to_owned()), sets);
    let measured = resolved(&[]);
    let seen = simulated(&measured);
    let found = calibrate(&seen);
    assert_eq!(found.trials, [3, 0], "{found:#?}");
    for (name, line) in found.hosts.lines() {
        let line = line.unwrap_or_else(|| panic!("{name}"));
        assert!(near(line.at(700.0), 200_000.0, 0.01), "{name}: {line:?}");
    }
    assert!(near(bits(&found), 10e6, 0.01), "{:?}", found.rate);
    let changes = [
        vec![],
        vec![("path.rate", "5Mbit/s".to_owned())],
        vec![("probe.echo.pacing.burst", "4".to_owned())],
    ];
    for sets in changes {
        let truth = simulated(&resolved(&sets));
        let pairs = pairs(&measured, &found, &truth, &sets);
        assert_eq!(pairs.len(), 3);
        for measure in overlay::Measure::ALL {
            are_near(&pairs, measure, 0.03);
        }
    }
}

/// Without a trial that overflows, or without sizes, what cannot be known is said and not made up.
#[test]
fn what_a_run_does_not_show_is_said() {
    let idle = [
        ("probe.flood.pacing.load", "1%".to_owned()),
        ("probe.filler.pacing.poisson", "20ms".to_owned()),
    ];
    let (resolved, _, found) = of(&idle);
    assert!(found.rate.is_none() && found.buffer.is_none() && found.queue.is_none());
    let what: Vec<_> = found.unknown.iter().map(|unknown| unknown.what).collect();
    assert_eq!(what, ["rate, buffer and discipline"]);
    // What is known still makes a model.
    assert!(model::experiment(&found, &resolved, "a run", "model").is_ok());

    let none = calibrate(&RunTrials::default());
    assert!(none.forward.is_none() && none.rate.is_none());
    let what: Vec<_> = none.unknown.iter().map(|unknown| unknown.what).collect();
    assert_eq!(
        what,
        [
            "delay without load, and the hosts' costs",
            "rate, buffer and discipline"
        ]
    );
    assert_eq!(
        model::experiment(&none, &resolved, "a run", "model"),
        Err(model::ModelError::NoLine)
    );
}

/// Where probes have lines of their own, what they have in common is still found, and the rest is said to be open.
#[test]
fn probes_with_different_lines_are_not_one_line() {
    for set in [
        ("path.link.in-1.propagation", "30ms"),
        ("path.link.in-2.rate", "2Mbit/s"),
    ] {
        let (resolved, _, found) = of(&[(set.0, set.1.to_owned())]);
        assert!(near(bits(&found), 10e6, 0.005), "{set:?}: {found:#?}");
        assert!(found.buffer.is_none() && found.queue.is_none(), "{set:?}");
        assert!(found.limiter.is_none(), "{set:?}");
        let forward = found.forward.as_ref().unwrap();
        assert!(
            near(forward.constant.value, 200_000.0, 0.01),
            "{set:?}: {forward:?}"
        );
        assert!(
            forward.slope.value > 900.0 && forward.farthest < 10.0,
            "{forward:?}"
        );
        assert_eq!(found.differing.as_ref().unwrap().taken, "sized");
        let open = found
            .unknown
            .iter()
            .find(|one| one.what == "the probes' lines");
        assert!(open.unwrap().assumed, "{:?}", found.unknown);
        assert!(model::experiment(&found, &resolved, "a run", "model").is_ok());
    }
    let (_, _, found) = of(&[]);
    assert_eq!(found.differing, None);
}

/// A path that loses one packet in thirty, and where nothing overflows.
#[test]
fn random_loss_is_no_overflow() {
    let sets = [
        ("probe.flood.pacing.load", "6%".to_owned()),
        ("probe.*.duration", "2s".to_owned()),
    ];
    let seen = simulated(&resolve(&catalogue(), &short(&sets)));
    let mut random = SplitMix::new(7);
    let mut trials = seen.trials;
    let records = trials.iter_mut().flat_map(|trial| &mut trial.streams);
    for record in records.flat_map(|stream| &mut stream.records) {
        if random.uniform() < 1.0 / 30.0 {
            record.outcome = Outcome::Lost;
            (record.r_rx, record.r_user, record.r_tx) = (None, None, None);
            (record.t_rx, record.t_recv) = (None, None);
        }
    }
    let seen = RunTrials::from_trials(seen.framing, trials);
    let found = calibrate(&seen);
    assert_eq!(found.trials, [4, 0], "{found:#?}");
    assert!(
        found.rate.is_none() && found.limiter.is_none(),
        "{found:#?}"
    );
    assert!(found.buffer.is_none() && found.discipline().is_none());
    assert!(found.forward.is_some());
    let open = |what: &str| found.unknown.iter().find(|one| one.what == what).unwrap();
    assert!(open("random loss").assumed);
    let why = &open("random loss").why;
    assert!(
        why.starts_with("3.") && why.contains("whether others wait or not"),
        "{why}"
    );
    let why = &open("rate, buffer and discipline").why;
    assert!(why.contains("does not depend on what waits"), "{why}");
}

/// A thin flow that has priority, another that has none, and a flood.
const CLASSES: &str = r#"
    name = "classes"
    title = "Classes"
    world = "sim"
    [[probe]]
    name = "sized"
    method = "udp"
    payload = "64B"
    pacing = { poisson = "9ms" }
    duration = "3s"
    [[probe]]
    name = "other"
    method = "udp"
    payload = "200B"
    class = "ef"
    pacing = { poisson = "3ms" }
    duration = "3s"
    [[probe]]
    name = "flood"
    method = "udp"
    payload = "1200B"
    pacing = { every = "1500us" }
    duration = "3s"
    [sweep.size]
    set = "probe.sized.payload"
    to = ["64B", "400B", "1400B"]
    [[case]]
    name = "unloaded"
    set = { "probe.other.count" = 1, "probe.flood.count" = 1 }
    [[case]]
    name = "overflow"
    [path]
    topology = "pairs-on-a-trunk"
    pairs = 3
    rate = "100Mbit/s"
    propagation = "300us"
    [path.line]
    trunk = { rate = "6Mbit/s" }
    [path.switch]
    discipline = "priority"
    buffer = "40kB"
"#;

/// What has priority waits for nothing, and is dropped where the others fill the buffer: that is no random loss. A flow that
/// waits beside one that does not is in another queue, whichever sends more.
#[test]
fn a_priority_is_no_random_loss_and_no_fifo() {
    for seed in 1..=4 {
        let text = format!("seed = {seed}\n{CLASSES}");
        let resolved = resolve(&read("classes.toml", text), &[]);
        let seen = simulated(&resolved);
        assert!(seen.trials.iter().all(|trial| !trial.random_loss), "{seed}");
        let found = calibrate(&seen);
        assert_eq!(found.trials, [3, 3], "{seed}: {found:#?}");
        assert_eq!(found.discipline(), Some("priority"), "{seed}: {found:#?}");
        let open = found
            .unknown
            .iter()
            .find(|one| one.what.starts_with("priority"));
        assert!(open.is_some_and(|open| open.assumed), "{seed}: {found:#?}");
        let pairs = pairs(&resolved, &found, &seen, &[]);
        let overflow =
            |pair: &&overlay::Pair| !pair.measured.unloaded && pair.measured.probe == "other";
        for pair in pairs.iter().filter(overflow) {
            let off = pair.distance(overlay::Measure::Network).unwrap().errors();
            assert!(off[0].abs() < 0.05, "{seed}: {off:?}");
        }
    }
}

/// Where nothing stamps at the far end, rate, buffer and discipline are still found, of there and back together.
#[test]
fn round_trips_alone_tell_the_bottleneck() {
    let found = by_round_trips(&[], 0);
    assert_eq!(found.ways, Ways::Together);
    assert!(near(bits(&found), 10e6, 0.01), "{found:#?}");
    assert!(
        near(found.buffer.unwrap().limit(), 64_000.0, 0.03),
        "{found:#?}"
    );
    assert_eq!(found.discipline(), Some("fifo"));
    assert_eq!(found.limiter, Some(Limiter::Link));
    assert!(!found.verdict.unwrap().is_open, "{:?}", found.verdict);
    let what: Vec<_> = found.unknown.iter().map(|unknown| unknown.what).collect();
    assert!(what.contains(&"the two directions") && what.contains(&"some of the hosts' costs"));
}

/// How much of a sum of both ways is the way there, nothing says: a link that is slow there alone has about half of the slope
/// that it would have both ways, and a shaper before a slow way back all that a link would have.
#[test]
fn a_sum_of_both_ways_takes_no_link_for_a_shaper() {
    let link = by_round_trips(&[], -900);
    assert!(link.verdict.unwrap().share < 0.7, "{:?}", link.verdict);
    assert_eq!(link.limiter, Some(Limiter::Link), "{:?}", link.verdict);
    assert!(!link.verdict.unwrap().is_open, "{:?}", link.verdict);
    assert!(near(bits(&link), 10e6, 0.01), "{:?}", link.rate);
    let differ = |found: &Calibration| {
        let what = "links that differ by direction";
        found.unknown.iter().any(|unknown| unknown.what == what)
    };
    assert!(differ(&link), "{:?}", link.unknown);
    let bucket = "{ rate = \"6Mbit/s\", burst = \"9kB\" }";
    let mut sets = behind("shaper", bucket, "50kB", 6.0);
    // The flood's rate is that of packets.
    sets.retain(|(path, _)| *path != "probe.flood.pacing.load");
    let shaper = by_round_trips(&sets, 4000);
    assert!(shaper.verdict.unwrap().share > 1.0, "{:?}", shaper.verdict);
    assert!(
        matches!(shaper.limiter, Some(Limiter::Shaper(_))),
        "{:?}",
        shaper.verdict
    );
    assert!(!shaper.verdict.unwrap().is_open, "{:?}", shaper.verdict);
}

/// A slope is the sum over all links: those beside a bucket may have as much as a link of its rate.
#[test]
fn a_shaper_between_slow_lines_is_no_link() {
    let bucket = "{ rate = \"6Mbit/s\", burst = \"9kB\" }";
    let mut sets = behind("shaper", bucket, "50kB", 6.0);
    sets.push(("path.link.*.rate", "12Mbit/s".to_owned()));
    sets.push(("probe.flood.pacing.load", "75%".to_owned()));
    let (_, _, found) = of(&sets);
    assert!(found.verdict.unwrap().share > 0.95, "{:?}", found.verdict);
    assert!(
        matches!(found.limiter, Some(Limiter::Shaper(_))),
        "{:?}",
        found.verdict
    );
    let burst = found.bucket().unwrap().burst.unwrap();
    assert!(near(burst.value, 9_000.0, 0.1), "{burst:?}");
}

/// What `calibrate` finds of a run of which the sender's stamps alone are known, and a byte of whose replies takes this many
/// nanoseconds more.
fn by_round_trips(sets: &[(&'static str, String)], byte: i64) -> Calibration {
    let entry = Entry::find("calibration").unwrap();
    let flood = "method = \"frame\"\nframe_size = \"1446B\"\npacing = { load = \"12%\" }";
    let text = entry.text.replace("\"udp\"", "\"icmp\"").replace(flood, "");
    assert!(!text.contains("\"frame\""));
    let source = Source {
        name: "icmp.toml".to_owned(),
        text,
    };
    let experiment = Experiment::read(source).unwrap_or_else(|said| panic!("{said}"));
    let mut seen = simulated(&resolve(&experiment, &short(sets)));
    // A simulated host stamps whatever it answers; a kernel that answers an echo request does not.
    for stream in seen.trials.iter_mut().flat_map(|trial| &mut trial.streams) {
        stream.facts = RecordFacts::default();
        for record in &mut stream.records {
            (record.r_rx, record.r_user, record.r_tx) = (None, None, None);
            let more = byte * i64::from(record.ip_size.unwrap_or(0));
            record.t_rx = record.t_rx.map(|received| received + more);
        }
    }
    calibrate(&seen)
}

/// The same with many more, in `make test-all`.
mod long {
    use super::*;

    #[test]
    fn eight_random_paths_are_found_again() {
        found_again(8);
    }
}
