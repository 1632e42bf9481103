//! Simulated runs of which everything is known: who is blamed, and that nobody is where nothing was
//! planted.

use delaylab_explain::causes::rhythm::Basis;
use delaylab_explain::causes::{self, Cause, Explanation};
use delaylab_lab::experiment::{Choices, Experiment, FactorialPlan, Resolved, Source};
use delaylab_lab::run::{Laboratory, Progress, StopMeans};
use delaylab_model::stop::Stop;
use delaylab_model::world::World;
use delaylab_sim::world::Simulated;
use delaylab_stats::anatomy::Place;
use delaylab_stats::attribution::LateCause;
use delaylab_stats::random::SplitMix;
use delaylab_store::run::Run;
use delaylab_store::writer::{NewRun, RunWriter};
use serde_json::json;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::SystemTime;

struct Silent;

impl Progress for Silent {}

fn resolve(text: &str, seed: u64, world: &dyn World) -> Resolved {
    let source = Source {
        name: "planted.toml".to_owned(),
        text: text.to_owned(),
    };
    let choices = Choices {
        seed: Some(seed),
        ..Choices::default()
    };
    let experiment = Experiment::read(source).unwrap();
    let resolved = experiment.resolve(&choices, &|trial: &_| world.refusals(trial));
    resolved.unwrap()
}

/// Carries the experiment out and hands over the finished run.
pub fn carry_out(
    runs: &Path,
    text: &str,
    seed: u64,
    (name, world): (&str, &mut dyn World),
) -> (Run, Resolved) {
    let resolved = resolve(text, seed, world);
    let new = NewRun {
        name: "planted",
        world: name,
        started: Some(SystemTime::UNIX_EPOCH),
        experiment: &resolved.toml,
        environment: &json!({}),
    };
    let writer = RunWriter::create(runs, &new).unwrap();
    let mut plan = FactorialPlan::new(resolved.planned.clone(), &BTreeSet::new(), usize::MAX);
    let mut laboratory = Laboratory {
        world,
        writer: Some(&writer),
        done: 0,
        stop: &Stop::default(),
        stop_means: StopMeans::default(),
        watch: None,
    };
    laboratory.carry_out(&mut plan, &mut Silent).unwrap();
    let finished = writer.finish(&json!([])).unwrap();
    (Run::open(&finished.folder).unwrap(), resolved)
}

/// The explanation of what the simulator makes of an experiment.
pub fn explain(text: &str, seed: u64) -> Explanation {
    explain_as(("sim", &mut Simulated::new(1, Stop::default())), text, seed)
}

/// The explanation of what this world, which stands for real hosts, records of an experiment.
pub fn explain_in(world: &mut dyn World, text: &str, seed: u64) -> Explanation {
    explain_as(("live", world), text, seed)
}

fn explain_as(world: (&str, &mut dyn World), text: &str, seed: u64) -> Explanation {
    let runs = tempfile::tempdir().unwrap();
    let (run, resolved) = carry_out(runs.path(), text, seed, world);
    causes::explain(&run, Some(&resolved), causes::slow::Baseline::Best)
}

/// A packet each millisecond or so for ten seconds, across a switch, and what is planted.
pub fn experiment(planted: &str) -> String {
    format!(
        r#"
name = "planted"
title = "Delays that are planted"
world = "sim"

[[probe]]
name = "echo"
method = "udp"
payload = "64B"
pacing = {{ poisson = "1ms" }}
duration = "10s"

[path]
topology = "two-hosts"
framing = "ethernet"
rate = "100Mbit/s"
propagation = "10us"

{planted}
"#
    )
}

const DAEMON: &str = r#"
[[path.host.daemon]]
name = "backup"
every = "100ms"
every_sd = "0%"
busy = "3ms"
busy_sd = "0%"
"#;

const PAUSE: &str = r#"
[path.switch]
pause = { every = "130ms", lasts = "3ms" }
"#;

fn is_backup(cause: &Cause) -> bool {
    matches!(&cause.what, LateCause::Ran { who, .. } if who.name == "backup")
}

fn is_network(cause: &Cause) -> bool {
    cause.what.place() == Place::Network
}

pub fn assert_period(cause: &Cause, period_ns: f64) {
    let rhythm = cause.rhythm.as_ref().unwrap();
    let off = rhythm.period_ns / period_ns - 1.0;
    assert!(off.abs() < 0.01, "{rhythm:?}");
}

#[test]
fn a_process_on_the_probes_cpu_is_named_first_with_its_period() {
    let found = explain(&experiment(DAEMON), 1);
    let first = &found.causes[0];
    assert!(is_backup(first), "{:#?}", found.causes);
    assert_period(first, 1e8);
    assert!(matches!(
        first.rhythm.as_ref().unwrap().basis,
        Basis::Runs(_)
    ));
    assert_eq!(found.share_of(Place::Network), 0.0, "{:#?}", found.causes);
    assert!(found.answer().contains("backup"), "{}", found.answer());
}

#[test]
fn a_pause_of_the_network_is_the_networks() {
    let found = explain(&experiment(PAUSE), 2);
    let first = &found.causes[0];
    assert!(is_network(first), "{:#?}", found.causes);
    assert_period(first, 1.3e8);
    assert!(found.share_of(Place::Network) > 0.99, "{:#?}", found.causes);
    // It has the name of the port, and the reason is in the experiment.
    let is_paused = |cause: &Cause| matches!(cause.what, LateCause::Paused { .. });
    assert!(is_paused(first), "{first:#?}");
    let why = "s1 pauses every 130 ms for 3.00 ms (`pause`)";
    assert!(
        first.evidence.iter().any(|said| said.starts_with(why)),
        "{first:#?}"
    );
    assert!(first.remedy.contains("`pause`"), "{}", first.remedy);
    assert!(
        found.answer().contains("while it was paused"),
        "{}",
        found.answer()
    );
    // Nothing else goes there that could be limited.
    let limits = |cause: &Cause| cause.remedy.contains("limit it");
    assert!(!found.causes.iter().any(limits), "{:#?}", found.causes);
}

/// Six streams fill the line to b2, and s2 stops all that comes from s1: also what goes to b1.
#[test]
fn a_port_that_flow_control_stops_is_named_and_so_is_the_queue_behind_it() {
    let text = r#"
name = "pfc"
title = "A victim of flow control"
world = "sim"

[[probe]]
name = "victim"
method = "udp"
payload = "200B"
pacing = { poisson = "2ms" }
duration = "2s"
warmup = "500ms"
timeout = "500ms"
from = "a1"
to = "b1"

[[load]]
name = "incast"
kind = "tcp"
streams = 6
congestion_control = "cubic"

[path]
topology = "pairs-on-a-trunk"
pairs = 7
rate = "1Gbit/s"
propagation = "5us"

[path.line]
b2 = { rate = "50Mbit/s" }

[path.switch]
discipline = "fifo"
buffer = "300kB"
flow_control = { kind = "pfc", xoff = "60kB", priorities = ["best-effort"] }
"#;
    let answer = explain(text, 1).answer();
    let said = "waiting at s1→s2 while it is paused (s2 stopped it by PFC for ";
    assert!(answer.contains(said), "{answer}");
    assert!(answer.contains("where s2→b2 held most"), "{answer}");
    let load = "The run's own load (incast, 6 streams) goes through s2→b2.";
    assert!(answer.contains(load), "{answer}");
}

/// Pauses as long and as often as any process's work, whatever else runs on the host.
fn pauses_are_the_networks(sets: u64) {
    for set in 0..sets {
        let mut random = SplitMix::new(set);
        let mut between = |low: f64, high: f64| low * (high / low).powf(random.uniform());
        let every = between(1.7, 400.0);
        let lasts = between(0.2, 20.0).min(0.4 * every);
        let pause = format!(
            "[path.switch]\npause = {{ every = \"{:.0}us\", lasts = \"{:.0}us\" }}\n",
            1e3 * every,
            1e3 * lasts
        );
        let found = explain(&experiment(&pause), set);
        let ran = |cause: &&Cause| matches!(cause.what, LateCause::Ran { .. });
        let wrong = found.causes.iter().find(ran);
        assert!(wrong.is_none(), "{every} ms for {lasts} ms: {wrong:#?}");
        // Packets that were held wait for each other in their host's queue.
        assert!(found.share_of(Place::Prober) < 0.02, "{every} {lasts}");
    }
}

#[test]
fn a_pause_of_any_shape_is_no_process_s() {
    pauses_are_the_networks(2);
}

#[test]
fn both_at_once_are_told_apart() {
    let found = explain(&experiment(&format!("{DAEMON}{PAUSE}")), 3);
    let of = |is: fn(&Cause) -> bool| found.causes.iter().find(|cause| is(cause)).unwrap();
    assert_period(of(is_backup), 1e8);
    assert_period(of(is_network), 1.3e8);
    for share in [
        found.share_of(Place::Prober),
        found.share_of(Place::Network),
    ] {
        assert!((0.2..0.8).contains(&share), "{:#?}", found.causes);
    }
}

#[test]
fn a_queue_that_fills_is_named() {
    let found = explain(
        &experiment(
            r#"
[path.switch]
discipline = "fifo"
buffer = "100KB"

[[load]]
name = "burst"
kind = "on-off"
rate = "90Mbit/s"
on = "5ms"
off = "200ms"
payload = "1000B"
"#,
        ),
        4,
    );
    let first = &found.causes[0];
    assert!(
        matches!(first.what, LateCause::Queue { .. }),
        "{:#?}",
        found.causes
    );
}

/// Nothing is planted in these, and nothing else is under way.
fn nobody_is_blamed_in(idle_runs: u64) {
    let text = experiment("").replace("10s", "500ms");
    let idle = text.replace(r#"poisson = "1ms""#, r#"every = "1ms""#);
    let blamed = (0..idle_runs).filter(|&seed| {
        let found = explain(&idle, seed);
        assert_eq!(found.sent, found.answered);
        !found.causes.is_empty()
    });
    assert_eq!(blamed.count(), 0);
}

#[test]
fn idle_runs_blame_nobody() {
    nobody_is_blamed_in(20);
}

/// Packets wait for those of a light load now and then, in a queue of their own host or of the switch.
/// How many of these runs are explained wrongly.
fn wrong_by_chance(runs: u64) -> usize {
    let text = experiment(
        r#"
[[load]]
name = "light"
kind = "poisson"
rate = "4Mbit/s"
payload = "500B"
"#,
    );
    let text = text.replace("10s", "1s");
    let text = text.replace(r#"pacing = { poisson"#, r#"pacing = { every"#);
    let wrong = (0..runs).filter(|&seed| {
        let found = explain(&text, seed);
        let ran = |cause: &Cause| matches!(cause.what, LateCause::Ran { .. });
        let mut causes = found.causes.iter();
        causes.any(|cause| ran(cause) || cause.rhythm.is_some())
    });
    wrong.count()
}

#[test]
fn what_comes_by_chance_is_no_process_s_and_has_no_period() {
    assert_eq!(wrong_by_chance(10), 0);
}

#[test]
fn what_was_varied_has_its_effect() {
    let text = experiment(
        r#"
[sweep]
size = { set = "probe.echo.payload", to = ["64B", "564B", "1064B"] }
[design]
repeats = 2
"#,
    );
    let found = explain(&text.replace("10s", "1s"), 5);
    let [to_564, to_1064] = &found.effects[..] else {
        panic!("{:#?}", found.effects)
    };
    assert_eq!(
        (to_564.factor.as_str(), to_564.to.label.as_str()),
        ("size", "564B")
    );
    // There and back over two links of 100 Mbit/s each: 80 ns a byte and link.
    for (effect, bytes) in [(to_564, 500.0), (to_1064, 1000.0)] {
        let shift = &effect.shifts[0];
        let expected = bytes * 80.0 * 4.0;
        let bounds = shift.interval.as_ref().unwrap();
        assert!(
            (shift.difference_ns.unwrap() - expected).abs() < 2.0,
            "{shift:?}"
        );
        assert!(
            bounds.low <= expected + 2.0 && bounds.high >= expected - 2.0,
            "{shift:?}"
        );
    }
}

/// The same with many more, in `make test-all`.
mod long {
    use super::*;

    #[test]
    fn twenty_pauses_are_no_process_s() {
        pauses_are_the_networks(20);
    }

    #[test]
    fn two_hundred_idle_runs_blame_nobody() {
        nobody_is_blamed_in(200);
    }

    #[test]
    fn what_comes_by_chance_is_explained_wrongly_once_in_a_hundred_at_most() {
        assert!(wrong_by_chance(100) <= 1);
    }
}
