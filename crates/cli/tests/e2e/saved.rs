//! A ping that is saved is a run, for all that reads runs.

use crate::harness::process::{Process, Ran, Reflector, inside, ran};
use crate::harness::run::Run;
use crate::harness::scratch::Scratch;
use nix::sys::signal::Signal;
use serde_json::Value;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

/// `ping 127.0.0.1 WORDS` of this reflector.
fn words(reflector: &Reflector, more: &str) -> String {
    let (port, load) = (reflector.port, reflector.load_port);
    format!("ping 127.0.0.1 --method udp --port {port} --load-port {load} {more}")
}

/// A run passes `verify`, and `explain` counts so many packets.
fn assert_packets(scratch: &Scratch, run: &Path, packets: u64) {
    let run = run.display();
    let verified = ran(scratch, &format!("verify {run}"));
    assert_eq!(verified.code, 0, "{}{}", verified.stdout, verified.stderr);
    let explained = ran(scratch, &format!("explain {run}"));
    let says = format!("{packets} packets sent");
    assert!(explained.stdout.contains(&says), "{}", explained.stdout);
}

#[test]
fn a_saved_ping_is_read_as_a_run_and_its_document_stays_what_it_is() {
    let scratch = Scratch::new();
    let reflector = Reflector::local();
    let saved = ran(&scratch, &words(&reflector, "-i 5ms -c 40 --json --save"));
    assert_eq!(saved.code, 0, "{}", saved.stderr);
    assert_eq!(Run::from_document(&saved.stdout).count("sent"), 40);
    assert!(
        saved.stderr.contains("delaylab explain"),
        "{}",
        saved.stderr
    );
    let run = scratch.only_run("runs");
    assert_packets(&scratch, &run, 40);
    let run = run.display();
    for (read, says) in [
        (format!("explain {run}"), "40 packets sent"),
        (format!("report {run}"), "ping 127.0.0.1"),
        (
            format!("compare {run} latest"),
            "--- B: ping-127-0-0-1 (live) ---",
        ),
        ("report ping-127-0-0-1".to_owned(), "target: 127.0.0.1"),
    ] {
        let ran = ran(&scratch, &read);
        assert_eq!(ran.code, 0, "{read}: {}", ran.stderr);
        assert!(ran.stdout.contains(says), "{read}: {}", ran.stdout);
    }
    let environment = std::fs::read_to_string(scratch.path(&format!("{run}/environment.json")));
    let environment: Value = serde_json::from_str(&environment.unwrap()).unwrap();
    assert_eq!(environment["target"], "127.0.0.1");
}

/// A ping that is stopped leaves a complete run.
#[test]
fn ctrl_c_ends_a_saved_ping_and_its_run_is_whole() {
    let scratch = Scratch::new();
    let reflector = Reflector::local();
    let mut command = inside(&scratch, &words(&reflector, "-i 5ms --json --save there"));
    let mut process = Process::start(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
    std::thread::sleep(Duration::from_secs(1));
    process.signal(Signal::SIGINT);
    let text = std::io::read_to_string(process.child.stdout.take().unwrap()).unwrap();
    assert!(process.child.wait().unwrap().success());
    let sent = Run::from_document(&text).count("sent");
    let run = scratch.only_run("there");
    assert_ne!(run.extension().and_then(|it| it.to_str()), Some("partial"));
    assert_packets(&scratch, &run, sent);
}

const WATCH: &str = r#"
name = "watch"
title = "Until it is stopped"
world = "live"
[[probe]]
name = "echo"
method = "udp"
fill = "0xff00"
pacing = { every = "5ms" }
until_stopped = true
"#;

/// Nobody reads the summary; the run is complete all the same.
#[test]
fn a_run_is_saved_where_its_summary_cannot_be_printed() {
    let scratch = Scratch::new();
    let reflector = Reflector::local();
    let mut command = inside(&scratch, &words(&reflector, "-i 5ms -c 20 -q --save"));
    let mut process = Process::start(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
    drop(process.child.stdout.take());
    assert!(process.child.wait().unwrap().success());
    let run = scratch.only_run("runs");
    assert_ne!(run.extension().and_then(|it| it.to_str()), Some("partial"));
    assert_packets(&scratch, &run, 20);
}

/// As of `… -o run.json | head -1`.
#[test]
fn what_was_measured_is_in_the_file_where_lines_cannot_be_printed() {
    let scratch = Scratch::new();
    let reflector = Reflector::local();
    let mut command = inside(&scratch, &words(&reflector, "-i 60ms -c 20 -o run.json"));
    let mut process = Process::start(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
    drop(process.child.stdout.take());
    assert!(process.child.wait().unwrap().success());
    let text = std::fs::read_to_string(scratch.path("run.json")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    assert!(
        document["stats"]["sent"].as_u64().unwrap() >= 1,
        "{document}"
    );
}

/// The same in a file: a probe without an end of its own.
#[test]
fn an_experiment_may_go_on_until_it_is_stopped() {
    let scratch = Scratch::new();
    scratch.file("watch.toml", WATCH);
    let check = ran(&scratch, "check watch.toml");
    let says = "1 trial in live, until it is stopped; seed ";
    assert!(check.stdout.contains(says), "{}", check.stdout);
    let mut command = inside(&scratch, "run watch.toml --json --no-report");
    let mut process = Process::start(command.stdout(Stdio::piped()).stderr(Stdio::null()));
    std::thread::sleep(Duration::from_secs(2));
    process.signal(Signal::SIGINT);
    let text = std::io::read_to_string(process.child.stdout.take().unwrap()).unwrap();
    assert!(process.child.wait().unwrap().success(), "{text}");
    assert!(!scratch.has_partial_run());
    for (more, word) in [
        ("count = 5", "an end of its own"),
        ("[design]\nrepeats = 2", "1 other trials wait"),
    ] {
        scratch.file("wrong.toml", &format!("{WATCH}{more}\n"));
        let refused = ran(&scratch, "check wrong.toml");
        assert_eq!(refused.code, 2, "{more}");
        assert!(refused.stderr.contains(word), "{more}: {}", refused.stderr);
    }
}

#[test]
fn parts_under_load_are_cases_of_one_run() {
    let scratch = Scratch::new();
    let reflector = Reflector::start(
        crate::harness::process::delaylab(None)
            .args("reflect -p 0 --stamp-port 0 --accept-load --load-port 0".split(' ')),
    );
    let more = "-i 20ms -w 1s --save --json --load cbr:1Mbit/s";
    let saved = ran(&scratch, &words(&reflector, more));
    assert_eq!(saved.code, 0, "{}", saved.stderr);
    let run = scratch.only_run("runs");
    let report = ran(&scratch, &format!("report {}", run.display()));
    for case in ["idle", "cbr:1Mbit/s", "offered"] {
        assert!(report.stdout.contains(case), "{}", report.stdout);
    }
    let explained = ran(&scratch, &format!("explain {}", run.display()));
    assert!(explained.stdout.contains("case"), "{}", explained.stdout);
}

/// Nobody wants the folder of a ping that has not begun.
#[test]
fn what_never_began_leaves_no_folder() {
    let scratch = Scratch::new();
    let reflector = Reflector::local();
    let there = words(&reflector, "-c 1 --save -o there.json");
    drop(reflector);
    assert_eq!(ran(&scratch, &there).code, 1);
    let runs: Vec<_> = std::fs::read_dir(scratch.path("runs")).unwrap().collect();
    assert!(runs.is_empty(), "{runs:?}");
    let target: Ran = ran(&scratch, "ping --save");
    assert_eq!(target.code, 2);
    assert!(target.stderr.contains("which host"), "{}", target.stderr);
}
