//! Experiments, from a file to a run on disk: killed, stopped, damaged, and compared with what another
//! library makes of the same records.

use crate::harness::process::{DELAYLAB, Process, Ran, inside, python, ran};
use crate::harness::scratch::Scratch;
use crate::{or_skip, skip};
use nix::sys::signal::Signal;
use serde_json::Value;
use std::fs;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Six trials of 40 packets, a good second in all.
const SMALL: &str = r#"
name = "small"
title = "A small one"

[[probe]]
name = "echo"
method = "udp"
payload = "64B"
pacing = { every = "2ms" }
count = 40

[sweep.size]
set = "probe.echo.payload"
to = ["64B", "512B", "1400B"]

[design]
repeats = 2

[[finding]]
id = "1"
says = "Nothing is lost"
check = "share(lost > 0.5) < 20 %"
"#;
/// Trials of ten packets in virtual time.
const SIMULATED: &str = r#"
name = "simulated"
title = "Over at once"
world = "sim"

[[probe]]
name = "echo"
method = "udp"
payload = "64B"
pacing = { every = "1ms" }
count = 10

[path]
topology = "two-hosts"
rate = "1Gbit/s"

[design]
repeats = REPEATS
"#;
const TRIALS: u64 = 6;
const RECORDS: u64 = 240;

/// A scratch directory with the small experiment in it.
fn with_small() -> Scratch {
    let scratch = Scratch::new();
    scratch.file("small.toml", SMALL);
    scratch
}

/// The runs there, as `list --json` tells of them.
fn runs(scratch: &Scratch) -> Vec<Value> {
    let listed = ran(scratch, "list --json");
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    listed["runs"].as_array().unwrap().clone()
}

fn assert_whole(scratch: &Scratch, context: &str) {
    let run = &runs(scratch)[0];
    assert_eq!(run["state"], "complete", "{context}: {run}");
    assert_eq!(run["trials"], TRIALS, "{context}: {run}");
    assert_eq!(run["records"], RECORDS, "{context}: {run}");
}

/// Waits until the run has a folder: how long that takes depends on what else this machine does. False: it is over.
fn until_begun(scratch: &Scratch, process: &mut Process) -> bool {
    while !scratch.has_partial_run() && process.child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    scratch.has_partial_run()
}

/// Kills a run at each of these moments after it began, of which there are twenty.
fn killed_and_resumed(moments: &[u64]) {
    let mut killed = 0;
    for moment in moments {
        let scratch = with_small();
        let mut command = inside(&scratch, "run small.toml -q --no-report");
        let mut process = Process::start(command.stdout(Stdio::null()));
        let context = format!("killed at moment {moment}");
        assert!(until_begun(&scratch, &mut process), "{context}: no run");
        std::thread::sleep(Duration::from_millis(45 * moment));
        process.signal(Signal::SIGKILL);
        process.child.wait().unwrap();
        if runs(&scratch)[0]["state"] == "partial" {
            killed += 1;
            let resumed = ran(&scratch, "resume latest -q --no-report");
            assert_eq!(resumed.code, 0, "{context}: {}", resumed.stderr);
        }
        assert_whole(&scratch, &context);
    }
    let least = moments.len() / 2;
    assert!(killed >= least, "only {killed} were killed while they ran");
}

/// A mistyped directory is no empty archive.
#[test]
fn only_the_usual_directory_of_runs_may_be_absent() {
    let scratch = with_small();
    assert!(runs(&scratch).is_empty());
    assert_eq!(ran(&scratch, "check small.toml").code, 0);
    for wrong in ["nowhere", "small.toml", "small.toml/runs"] {
        for look in [
            format!("list --json -o {wrong}"),
            format!("check small.toml --runs {wrong}"),
        ] {
            let looked = ran(&scratch, &look);
            assert_eq!((looked.code, looked.stdout.as_str()), (2, ""), "{look}");
            let said = format!("delaylab: cannot look for runs in {wrong}: ");
            assert!(looked.stderr.starts_with(&said), "{}", looked.stderr);
        }
    }
}

#[test]
fn a_run_that_is_killed_is_resumed_whole() {
    killed_and_resumed(&[5, 12]);
}

#[test]
fn ctrl_c_leaves_a_run_that_goes_on() {
    let scratch = with_small();
    let mut command = inside(&scratch, "run small.toml -q --no-report");
    let mut process = Process::start(command.stdout(Stdio::null()).stderr(Stdio::piped()));
    assert!(until_begun(&scratch, &mut process), "it was over at once");
    // With the first trial recorded, or under way; five are left.
    while scratch.parts() == 0 && process.child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    process.signal(Signal::SIGINT);
    let stderr = std::io::read_to_string(process.child.stderr.take().unwrap()).unwrap();
    assert_eq!(process.child.wait().unwrap().code(), Some(1), "{stderr}");
    assert!(stderr.contains("`delaylab resume "), "{stderr}");
    assert_eq!(ran(&scratch, "resume latest -q --no-report").code, 0);
    assert_whole(&scratch, "stopped");
}

#[test]
fn the_next_run_names_one_that_was_killed() {
    let scratch = with_small();
    let mut command = inside(&scratch, "run small.toml -q --no-report");
    let mut process = Process::start(command.stdout(Stdio::null()));
    assert!(until_begun(&scratch, &mut process), "it was over at once");
    process.signal(Signal::SIGKILL);
    process.child.wait().unwrap();
    let killed = scratch.only_run("runs");
    let killed = format!("runs/{}", killed.file_name().unwrap().to_str().unwrap());
    assert!(killed.ends_with(".partial"), "{killed}");
    let remedy = format!("{killed} was interrupted. Continue it with `delaylab resume {killed}`");
    let next = ran(&scratch, "run small.toml -q --no-report");
    assert!(
        next.code == 0 && next.stderr.contains(&remedy),
        "{}",
        next.stderr
    );
    // The run that ended last is another one now.
    let refused = ran(&scratch, "resume runs/latest");
    assert_eq!(refused.code, 2);
    let said = &refused.stderr;
    assert!(
        said.contains("this run is complete") && said.contains(&remedy),
        "{said}"
    );
    // `latest` is the one to resume all the same, until there is none.
    let resumed = ran(&scratch, "resume latest -q --no-report");
    assert_eq!(resumed.code, 0, "{}", resumed.stderr);
    assert!(!scratch.has_partial_run());
    let refused = ran(&scratch, "resume latest");
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("this run is complete"));
    assert!(
        !resumed.stderr.contains("was interrupted"),
        "{}",
        resumed.stderr
    );
}

#[test]
fn the_same_seed_gives_the_same_order() {
    let scratch = with_small();
    let plan = |seed: u32| {
        let ran = ran(&scratch, &format!("check small.toml --json --seed {seed}"));
        serde_json::from_str::<Value>(&ran.stdout).unwrap()["trials"].clone()
    };
    assert_eq!(plan(5), plan(5));
    assert!((6..10).any(|seed| plan(seed) != plan(5)));
}

#[test]
fn what_is_damaged_is_named_and_nothing_is_said_without_it() {
    let scratch = with_small();
    assert_eq!(ran(&scratch, "run small.toml -q --no-report").code, 0);
    let run = scratch.only_run("runs");
    // As of an older version: what was recorded is not known, and what cannot be read is named all the same.
    for is_older in [false, true] {
        if is_older {
            fs::remove_file(run.join("manifest.json")).unwrap();
        }
        for (name, content) in [
            ("noise.parquet", None),
            ("environment.json", Some("{")),
            ("records.parquet", Some("PAR1")),
        ] {
            let path = run.join(name);
            let whole = fs::read(&path).unwrap();
            match content {
                Some(content) => fs::write(&path, content).unwrap(),
                None => fs::remove_file(&path).unwrap(),
            }
            // Without packets there is nothing to say, and no condition that could hold.
            for command in [
                "report latest",
                "explain latest",
                "compare latest latest --fail-if lost>1%",
            ] {
                let told = ran(&scratch, command);
                assert_eq!(told.code, 3, "{command}: {}", told.stderr);
                assert!(told.stderr.contains(name), "{}", told.stderr);
                assert_eq!(told.stdout, "", "{command}");
            }
            fs::write(&path, whole).unwrap();
        }
    }
    assert!(!run.join("report.html").exists());

    // An experiment that this version cannot read is only text: the packets are all there.
    fs::write(run.join("experiment.toml"), "").unwrap();
    let told = ran(&scratch, "report latest");
    assert_eq!(told.code, 0, "{}", told.stderr);
    assert!(
        told.stdout.contains("experiment.toml: no experiment"),
        "{}",
        told.stdout
    );
}

#[test]
fn a_line_of_json_a_trial_and_one_at_the_end() {
    let scratch = with_small();
    let told = ran(&scratch, "run small.toml --json -q");
    let lines: Vec<Value> = (told.stdout.lines())
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let (last, trials) = lines.split_last().unwrap();
    assert_eq!(trials.len() as u64, TRIALS);
    assert!(trials.iter().all(|trial| trial["stats"]["sent"] == 40));
    assert_eq!(last["findings"][0]["verdict"], "true", "{last}");
    assert!(Path::new(last["report"].as_str().unwrap()).ends_with("report.html"));
}

#[test]
fn a_run_without_a_page_has_all_else_and_can_be_given_one() {
    let scratch = with_small();
    let told = ran(&scratch, "run small.toml --json -q --no-report");
    let last: Value = serde_json::from_str(told.stdout.lines().last().unwrap()).unwrap();
    assert!(last["report"].is_null(), "{last}");
    assert_eq!(last["findings"][0]["verdict"], "true", "{last}");
    let page = scratch.only_run("runs").join("report.html");
    assert!(!page.exists());
    assert_eq!(ran(&scratch, "report latest").code, 0);
    assert!(page.exists());
}

/// The tables need no page. A file system has room for the records alone.
#[test]
fn a_page_that_cannot_be_written_takes_nothing_else() {
    let scratch = Scratch::new();
    scratch.file("simulated.toml", &SIMULATED.replace("REPEATS", "2"));
    fs::create_dir(scratch.path("disk")).unwrap();
    let script = "mount -t tmpfs -o size=400k none disk || exit 77; \
                  \"$0\" run simulated.toml -q -o disk; echo run $?; \
                  \"$0\" report latest --runs disk; echo report $?; \
                  \"$0\" report latest --runs disk -o x.html; echo elsewhere $?";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script, DELAYLAB]);
    let ran = Ran::to_end(command.current_dir(scratch.path("")));
    if ran.code == 77 || ran.stderr.contains("unshare") {
        skip!("no file system of its own: {}", ran.stderr);
    }
    let shown = ran.stdout.matches("--- simulated (sim) ---").count();
    assert_eq!(shown, 3, "{}{}", ran.stdout, ran.stderr);
    for ended in ["run 3\n", "report 3\n", "elsewhere 0\n"] {
        assert!(ran.stdout.contains(ended), "{}{}", ran.stdout, ran.stderr);
    }
    let said: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(said.len(), 2, "{said:?}");
    for line in said {
        for part in ["report.html: No space left", " -o FILE.html`"] {
            assert!(line.contains(part), "{line}");
        }
    }
}

/// Half a line is none: what follows would be read as its end. A stream that is full takes no more, and does not wait.
#[test]
fn behind_a_line_that_could_not_be_written_comes_none() {
    let scratch = Scratch::new();
    let simulated = SIMULATED.replace("REPEATS", "100");
    scratch.file("simulated.toml", &simulated);
    let (mut reader, writer) = UnixStream::pair().unwrap();
    writer.set_nonblocking(true).unwrap();
    let writer = Stdio::from(OwnedFd::from(writer));
    let mut command = inside(&scratch, "run simulated.toml -q --json --no-report");
    let mut process = Process::start(command.stdout(writer).stderr(Stdio::piped()));
    // The command has the only end that writes.
    drop(command);
    // Long after it was full there is room again.
    while scratch.parts() < 60 && !scratch.path("runs/latest").exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    let (whole, broken) = text.rsplit_once('\n').expect("lines");
    for line in whole.lines() {
        serde_json::from_str::<Value>(line).unwrap();
    }
    assert!(serde_json::from_str::<Value>(broken).is_err(), "{broken}");
    let stderr = std::io::read_to_string(process.child.stderr.take().unwrap()).unwrap();
    let said = "delaylab: cannot write to standard output: ";
    assert!(stderr.starts_with(said), "{stderr}");
    assert_eq!(process.child.wait().unwrap().code(), Some(3));
    let run = &runs(&scratch)[0];
    assert_eq!(
        (&run["state"], &run["trials"]),
        (&"complete".into(), &100.into())
    );
}

/// Reads a run with polars and computes the summary's figures again.
const REFERENCE: &str = r#"
import math, sys, polars
folder = sys.argv[1]
trials = polars.read_parquet(folder + "/trials.parquet")
records = polars.read_parquet(folder + "/records.parquet")
compared = 0
for row in trials.iter_rows(named=True):
    own = records.filter((polars.col("trial") == row["trial"]) & (polars.col("outcome") == "ok"))
    response = own.select(polars.sum_horizontal("^to_.*$")).to_series()
    measures = {
        "response": response,
        "round_trip": response - own["to_t_send"],
        "network": (own["to_r_rx"] + own["to_t_rx"]).filter(
            own["to_t_tx"].is_not_null() & own["to_r_tx"].is_not_null()
        ),
    }
    for name, values in measures.items():
        ranked = sorted(values.drop_nulls().to_list())
        n = len(ranked)
        # One packet at least must lie beyond a quantile.
        rank = lambda q: ranked[max(0, math.ceil(q * n) - 1)] if n * (1 - q) > 1 - 1e-9 else None
        expected = {
            "min": ranked[0], "max": ranked[-1], "mean": math.fsum(ranked) / n,
            "sd": values.std(), "p50": rank(0.5), "p90": rank(0.9), "p99": rank(0.99),
        }
        for statistic, value in expected.items():
            found = row[f"{name}_{statistic}_ns"]
            compared += 1
            if value is None:
                assert found is None, (row["trial"], name, statistic, found)
                continue
            assert abs(found - value) <= 1e-9 * abs(value), (row["trial"], name, statistic, found, value)
    assert row["received"] == own.height
print(compared)
"#;

/// Every block of the document in this language.
fn blocks(document: &str, language: &str) -> Vec<String> {
    let begin = format!("```{language}\n");
    let after = document.split(&begin).skip(1);
    let block = |text: &str| text.split("```").next().map(str::to_owned);
    after.filter_map(block).collect()
}

/// What the document says of reading records works, and both ways to a stamp lead to the same.
const AGREE: &str = r#"
import duckdb
own = stamps.filter(pl.col("to_t_tx").is_not_null()).sort("trial", "seq")["t_tx"].to_list()
*_, last = [duckdb.sql(query) for query in sql.split(";") if query.strip()]
assert sorted(time for _, time in last.fetchall()) == sorted(own)
assert stamps["t_recv"].null_count() == records["to_t_recv"].null_count()
print(len(own))
"#;

#[test]
fn what_the_document_says_of_reading_records_works() {
    let mut python = or_skip!(python());
    let scratch = with_small();
    assert_eq!(ran(&scratch, "run small.toml -q --no-report").code, 0);
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/experiments.md");
    let document = fs::read_to_string(document).unwrap();
    let (polars, sql) = (blocks(&document, "python"), blocks(&document, "sql"));
    assert_eq!((polars.len(), sql.len()), (1, 1));
    let script = format!("{}\nsql = \"\"\"{}\"\"\"\n{AGREE}", polars[0], sql[0]);
    let told = Ran::to_end(python.args(["-c", &script]).current_dir(scratch.path(".")));
    let last = told.stdout.lines().last();
    assert_eq!(last, Some(RECORDS.to_string().as_str()), "{}", told.stderr);
}

#[test]
fn the_summary_is_what_polars_makes_of_the_records() {
    let mut python = or_skip!(python());
    let scratch = with_small();
    assert_eq!(ran(&scratch, "run small.toml -q --no-report").code, 0);
    let reference = Ran::to_end(python.args(["-c", REFERENCE]).arg(scratch.only_run("runs")));
    assert_eq!(reference.stdout.trim(), "126", "{}", reference.stderr);
}

/// The same with many more, in `make test-all`.
mod long {
    use super::*;

    #[test]
    fn a_run_that_is_killed_at_twenty_moments_is_resumed_whole() {
        killed_and_resumed(&Vec::from_iter(0..20));
    }
}
