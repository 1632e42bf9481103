//! A ping that is saved is a run, for all that reads runs.

use crate::harness::process::{DELAYLAB, Process, Ran, Reflector, inside, ran};
use crate::harness::run::Run;
use crate::harness::scratch::Scratch;
use crate::skip;
use nix::sys::signal::Signal;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

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
    let mut command = inside(&scratch, &words(&reflector, "-i 5ms --json --save"));
    let mut process = Process::start(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
    under_way(&scratch, 1);
    process.signal(Signal::SIGINT);
    let text = std::io::read_to_string(process.child.stdout.take().unwrap()).unwrap();
    assert!(process.child.wait().unwrap().success());
    let sent = Run::from_document(&text).count("sent");
    let run = scratch.only_run("runs");
    assert_ne!(run.extension().and_then(|it| it.to_str()), Some("partial"));
    assert_packets(&scratch, &run, sent);
}

/// How many packets a run has.
fn packets(scratch: &Scratch, run: &Path) -> usize {
    let rows = ran(
        scratch,
        &format!("report {} --table records", run.display()),
    );
    rows.stdout.lines().skip(1).count()
}

/// The run that has not ended, once it has stored at least `stored` packets.
fn under_way(scratch: &Scratch, stored: usize) -> PathBuf {
    let begun = Instant::now();
    loop {
        let partial = scratch.partial_run();
        if let Some(partial) = partial.filter(|partial| packets(scratch, partial) >= stored) {
            return partial;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "none is stored");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// What it printed, in one line.
fn unwrapped(ran: &Ran) -> String {
    ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// As by the kernel, where memory is short: what is recorded is the ping, which says that it was cut short.
#[test]
fn a_saved_ping_that_is_killed_is_completed_with_what_it_recorded() {
    let scratch = Scratch::new();
    let reflector = Reflector::local();
    let mut command = inside(&scratch, &words(&reflector, "-i 5ms -w 1h -qq --save"));
    let process = Process::start(command.stdout(Stdio::null()).stderr(Stdio::null()));
    let partial = under_way(&scratch, 100);
    drop(process); // kills it
    let recorded = packets(&scratch, &partial);
    let named = partial.display();
    for read in ["explain", "report"] {
        let says = ran(&scratch, &format!("{read} {named}"));
        let complete = "makes a complete run of what is recorded";
        assert!(unwrapped(&says).contains(complete), "{}", says.stdout);
    }
    let resumed = ran(&scratch, &format!("resume {named} -q --no-report"));
    assert_eq!(resumed.code, 0, "{}", resumed.stderr);
    let run = scratch.only_run("runs");
    assert_eq!(packets(&scratch, &run), recorded);
    assert_packets(&scratch, &run, recorded as u64);
    for read in ["explain", "report"] {
        let says = ran(&scratch, &format!("{read} {}", run.display()));
        let cut_short = format!("after {recorded} packets: its process could not complete");
        assert!(unwrapped(&says).contains(&cut_short), "{}", says.stdout);
    }
}

/// It is measured to its end, the summary is of all packets, and what could be stored becomes a run: at once, or once there
/// is room.
#[test]
fn a_saved_ping_that_fills_the_disk_keeps_what_it_could_store() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path("disk")).unwrap();
    let script = "mount -t tmpfs -o size=256k none disk || exit 77
        $0 ping 127.0.0.1 -i 1ms -c 3000 -qq --save disk/runs; code=$?
        mount -o remount,size=16m disk
        for partial in disk/runs/*.partial; do
            [ ! -d $partial ] || $0 resume $partial --no-report > resumed || exit 99
        done
        $0 explain disk/runs/ping-* && $0 report disk/runs/ping-* --table records > records.csv || exit 98
        exit $code";
    let mut command = std::process::Command::new("unshare");
    command.current_dir(scratch.path(""));
    command.args(["--mount", "sh", "-c", script, DELAYLAB]);
    command.env("LC_ALL", "C.UTF-8");
    let ran = Ran::to_end(&mut command);
    if ran.code == 77 || ran.stderr.contains("unshare") {
        skip!("no file system of its own: {}", ran.stderr);
    }
    let Ran { stdout, stderr, .. } = &ran;
    assert_eq!(ran.code, 3, "{stderr}");
    assert!(stdout.contains("3000 sent"), "{stdout}");
    assert!(stderr.contains("no longer stored"), "{stderr}");
    let records = std::fs::read_to_string(scratch.path("records.csv")).unwrap();
    let stored = records.lines().skip(1).count();
    assert!((1..3000).contains(&stored), "{stored}");
    let says = format!("{stored} of 3000 packets are stored, in disk/runs/ping-");
    assert!(stderr.contains(&says), "{stored}: {stderr}");
    assert!(stdout.contains("cut short at"), "{stdout}");
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
    under_way(&scratch, 1);
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
