//! `delaylab explain`: planted culprits are found, whoever they are, and what it prints.
//!
//! The culprit is this test program itself, started again in the role of [`culprit`]: it runs on one CPU
//! for 3 ms in each 100 ms, before all ordinary processes, and says when. The probe is on that CPU, too.

use crate::harness::in_one_of_three;
use crate::harness::process::{Process, Ran, before_others, delaylab};
use crate::harness::scratch::Scratch;
use crate::or_skip;
use delaylab_kernel::{clock, process, scheduling};
use delaylab_model::record::Record;
use delaylab_model::{MILLISECOND, Nanos};
use delaylab_stats::excursion::Spread;
use delaylab_store::run::Run;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// The kernel's name for the thread in which the test runner runs [`culprit`].
const NAME: &str = "e2e::explain::c";
const PERIOD: Nanos = 100 * MILLISECOND;
const BURST: Nanos = 3 * MILLISECOND;

/// Not a test: the culprit. Its CPU is told by the environment.
#[test]
#[ignore = "the role of a process that disturbs"]
fn culprit() {
    let Ok(cpu) = std::env::var("CULPRIT_CPU") else {
        return;
    };
    process::die_with_parent().unwrap();
    scheduling::pin(cpu.parse().unwrap()).unwrap();
    scheduling::Scheduling::fifo(20).apply().unwrap();
    let mut due = clock::monotonic();
    loop {
        let begins = clock::monotonic();
        while clock::monotonic() < begins + BURST {
            std::hint::spin_loop();
        }
        println!("burst {begins} {}", clock::monotonic());
        due += PERIOD;
        clock::sleep_until(due).unwrap();
    }
}

/// The culprit at work.
struct Culprit(Process);

impl Culprit {
    fn start(cpu: usize) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args([
                "--exact",
                "e2e::explain::culprit",
                "--ignored",
                "--nocapture",
            ])
            .env("CULPRIT_CPU", cpu.to_string())
            .stdout(Stdio::piped());
        Self(Process::start(&mut command))
    }

    /// Ends it; when it ran.
    fn bursts(mut self) -> Vec<(Nanos, Nanos)> {
        let stdout = self.0.child.stdout.take().unwrap();
        self.0.child.kill().unwrap();
        let lines = BufReader::new(stdout).lines().map_while(Result::ok);
        let times = lines.filter_map(|line| {
            let mut words = line.strip_prefix("burst ")?.split(' ');
            let mut next = || words.next()?.parse().ok();
            Some((next()?, next()?))
        });
        times.collect()
    }
}

/// A probe beside which others run.
pub(super) const LIVE: &str = r#"
name = "planted"
title = "Processes that run beside the probe"
world = "live"

[[probe]]
name = "echo"
method = "udp"
pacing = { poisson = "1ms" }
duration = "8s"
"#;

/// The last CPU: the first has the machine's own work.
pub(super) fn last_cpu() -> usize {
    *scheduling::affinity().unwrap().last().unwrap()
}

pub(super) fn root() -> Result<(), String> {
    let root = delaylab_kernel::privilege::is_root();
    root.then_some(())
        .ok_or_else(|| "going before other processes needs root".to_owned())
}

/// Runs the experiment with everything that measures on one CPU, beside the culprit there.
fn run_beside_culprit(scratch: &Scratch, user: Option<u32>) -> Vec<(Nanos, Nanos)> {
    scratch.file("planted.toml", LIVE);
    let cpu = last_cpu();
    let culprit = Culprit::start(cpu);
    let mut command = Command::new("taskset");
    command.args(["-c", &cpu.to_string()]);
    command.arg(delaylab(None).get_program());
    command.args(["run", "planted.toml", "-q", "--no-report"]);
    match user {
        Some(user) => {
            command.uid(user).gid(user);
        }
        // Behind the culprit, and before whatever else this machine does.
        None => command = before_others(&command),
    }
    let ran = Ran::to_end(command.current_dir(scratch.path(".")));
    let bursts = culprit.bursts();
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(bursts.len() > 50, "{} bursts", bursts.len());
    bursts
}

pub(super) fn explained(scratch: &Scratch) -> Value {
    let mut command = delaylab(None);
    command
        .args(["explain", "--json"])
        .current_dir(scratch.path("."));
    let ran = Ran::to_end(&mut command);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    serde_json::from_str(&ran.stdout).unwrap()
}

/// The first cause that has a name. What has none ran below this kernel: where the machine is one of several on its
/// host, that host ran others.
fn first_named(found: &Value) -> Option<&str> {
    let mut causes = found["causes"].as_array().unwrap().iter();
    causes.find_map(|cause| cause["name"].as_str())
}

pub(super) fn records(run: &Path) -> Vec<Record> {
    let mut records = Vec::new();
    let run = Run::open(run).unwrap();
    run.for_each_record(None, |record| records.push(*record));
    records
}

/// Of the packets that `explain` calls late, the share that was under way during a burst.
fn share_of_bursts(records: &[Record], bursts: &[(Nanos, Nanos)]) -> f64 {
    let answered = || records.iter().filter(|record| record.response().is_some());
    let mut responses: Vec<Nanos> = answered().filter_map(Record::response).collect();
    responses.sort_unstable();
    let quantile = |p: f64| responses[(p * responses.len() as f64) as usize];
    let spread = Spread {
        min: responses[0],
        median: quantile(0.5),
        iqr: quantile(0.75) - quantile(0.25),
    };
    let bound = spread.bound();
    let late = || answered().filter(|record| record.response() > Some(bound));
    let during = |record: &&Record| {
        let overlaps = |&(from, to): &(Nanos, Nanos)| {
            record.t_recv.is_some_and(|end| from < end) && record.t_intended < to
        };
        bursts.iter().any(overlaps)
    };
    late().filter(during).count() as f64 / late().count().max(1) as f64
}

fn cause(found: &Value, is: impl Fn(&Value) -> bool) -> Result<&Value, String> {
    let causes = found["causes"].as_array().unwrap();
    let cause = causes.iter().find(|cause| is(cause));
    cause.ok_or_else(|| format!("no such cause: {found:#}"))
}

/// Is the cause's period that one, within 1 %?
fn has_period(cause: &Value, period: Nanos) -> Result<(), String> {
    let known = cause["period"]["period_ns"].as_f64();
    let near = known.is_some_and(|known| (known / period as f64 - 1.0).abs() < 0.01);
    near.then_some(())
        .ok_or_else(|| format!("not {period} ns: {cause:#}"))
}

/// As [`PAUSES`] says.
const PAUSE_EVERY: Nanos = 130 * MILLISECOND;

const PAUSES: &str = r#"
name = "pauses"
title = "A switch that pauses"
world = "testbed"

[[probe]]
name = "echo"
method = "udp"
pacing = { poisson = "2ms" }
duration = "8s"

[path]
topology = "two-hosts"
rate = "100Mbit/s"

[path.switch]
pause = { every = "130ms", lasts = "10ms" }
"#;

/// Runs it; `first`: before whatever else this machine does, which may take more from the probe than pauses do.
fn run_pauses(scratch: &Scratch, first: bool) {
    scratch.file("pauses.toml", PAUSES);
    let mut command = delaylab(None);
    command.args(["run", "pauses.toml", "-q", "--no-report"]);
    if first {
        command = before_others(&command);
    }
    let ran = Ran::to_end(command.current_dir(scratch.path(".")));
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
}

/// Tests that measure microseconds: the machine is theirs alone.
mod alone {
    use super::*;

    #[test]
    fn a_planted_process_is_named_first_with_its_period_and_its_share() {
        or_skip!(root());
        in_one_of_three(|| {
            let scratch = &Scratch::new();
            let bursts = run_beside_culprit(scratch, None);
            let found = explained(scratch);
            let planted = cause(&found, |cause| cause["name"] == NAME)?;
            has_period(planted, PERIOD)?;
            // What something else does at the same time is the culprit's in one count, and its own in the other.
            let truth = share_of_bursts(&records(&scratch.path("runs/latest")), &bursts);
            let share = planted["share_of_excursions"].as_f64().unwrap();
            let first = first_named(&found) == Some(NAME);
            let well = first && (share - truth).abs() < 0.1;
            well.then_some(())
                .ok_or_else(|| format!("first: {first}, said {share}, is {truth}: {found:#}"))
        });
    }

    #[test]
    fn a_switch_that_pauses_is_the_network_s_fault() {
        or_skip!(root());
        in_one_of_three(|| {
            let scratch = &Scratch::new();
            run_pauses(scratch, true);
            let found = explained(scratch);
            has_period(
                cause(&found, |cause| cause["kind"] == "paused")?,
                PAUSE_EVERY,
            )?;
            // What has no name ran below this kernel.
            let mut causes = found["causes"].as_array().unwrap().iter();
            let first = causes.find(|cause| cause["kind"] != "ran" || cause["name"].is_string());
            let well = first.is_some_and(|first| first["kind"] == "paused");
            well.then_some(())
                .ok_or_else(|| format!("not first: {found:#}"))
        });
    }

    /// In `make test-all`.
    mod long {
        use super::*;

        /// Without privileges no process is named, and the delay is still attributed to the host.
        #[test]
        fn without_the_scheduler_s_events_a_planted_process_is_still_the_host_s_fault() {
            or_skip!(root());
            let scratch = Scratch::new();
            let nobody = 65_534;
            std::os::unix::fs::chown(scratch.path("."), Some(nobody), Some(nobody)).unwrap();
            run_beside_culprit(&scratch, Some(nobody));
            let found = explained(&scratch);
            assert_eq!(found["sources"], serde_json::json!([]), "{found:#}");
            let share = |of_host: bool| -> f64 {
                let causes = found["causes"].as_array().unwrap().iter();
                let causes = causes.filter(|cause| {
                    let place = cause["place"].as_str().unwrap();
                    ["prober", "reflector"].contains(&place) == of_host
                });
                causes
                    .map(|cause| cause["share_of_excess"].as_f64().unwrap())
                    .sum()
            };
            assert!(share(true) > 0.9, "{found:#}");
            let causes = found["causes"].to_string();
            assert!(causes.contains("of the others these ran most"), "{causes}");
            let unknown = found["unknown"].to_string();
            assert!(
                unknown.contains("as root, or with access to tracefs"),
                "{unknown}"
            );
        }

        #[test]
        fn both_at_once_are_told_apart() {
            or_skip!(root());
            in_one_of_three(|| {
                let scratch = &Scratch::new();
                let culprit = Culprit::start(last_cpu());
                // Before others it would leave the culprit its CPU, and take another.
                run_pauses(scratch, false);
                assert!(culprit.bursts().len() > 50);
                let found = explained(scratch);
                let process = cause(&found, |cause| cause["name"] == NAME)?;
                assert_eq!(process["place"], "prober");
                has_period(process, PERIOD)?;
                has_period(
                    cause(&found, |cause| cause["place"] == "network")?,
                    PAUSE_EVERY,
                )
            });
        }
    }
}
