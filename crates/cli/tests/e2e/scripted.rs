//! `ping` as scripts use it: conditions, one line, and a file that cannot hold everything.

use crate::harness::process::{DELAYLAB, Ran, delaylab};
use crate::harness::scratch::Scratch;
use crate::skip;
use serde_json::Value;
use std::process::Command;

fn ping(words: &[&str]) -> Ran {
    let mut command = delaylab(None);
    command.args(["ping", "127.0.0.1", "-c", "200", "-i", "1ms"]);
    Ran::to_end(command.args(words))
}

#[test]
fn a_condition_that_is_so_is_said_and_ends_with_1() {
    let fine = [
        "-qq",
        "--fail-if",
        "lost > 1%",
        "--fail-if",
        "p99(network) > 10s",
    ];
    let ran = ping(&fine);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
    assert_eq!(ran.stdout.lines().count(), 1, "{}", ran.stdout);
    for part in [
        "127.0.0.1: 200 sent in",
        "200 received, 0 % lost",
        "response p50",
        "p99",
        "max",
    ] {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
    let ran = ping(&[
        "-qq",
        "--fail-if",
        "lost > 1%",
        "--fail-if",
        "min(response) > 1ns",
    ]);
    assert_eq!(ran.code, 1);
    let said = "delaylab: --fail-if 'min(response) > 1ns': it is ";
    assert!(ran.stderr.starts_with(said), "{}", ran.stderr);
    assert!(!ran.stderr.contains("lost"), "{}", ran.stderr);
    let ran = ping(&["-q", "--json", "--fail-if", "max(response) > 1ns"]);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    let condition = &document["fail_if"][0];
    assert_eq!((ran.code, &condition["failed"]), (1, &Value::Bool(true)));
    assert_eq!(condition["verdict"], "true");
    let largest = document["stats"]["response"]["max_ns"].as_f64();
    assert_eq!(condition["value"].as_f64(), largest);
}

#[test]
fn what_one_probe_cannot_answer_is_a_usage_error() {
    for (condition, why) in [
        ("p99(network) > +10%", "write a value with its unit"),
        ("p99(network) > +1ms", "write the bound without a sign"),
        ("p99(network) > 10%", "like `10ms`"),
        ("p99(backlog) > 1kB", "packets have no backlog"),
    ] {
        let ran = ping(&["--fail-if", condition]);
        assert!(
            ran.code == 2 && ran.stderr.contains(why),
            "{condition}: {}",
            ran.stderr
        );
    }
}

#[test]
fn lines_that_are_not_shown_are_counted() {
    let said = "0 of 200 lines shown";
    assert!(ping(&[]).stderr.contains(said));
    for quiet in ["-q", "-qq"] {
        assert_eq!(ping(&[quiet]).stderr, "");
    }
    assert!(!ping(&["-D"]).stderr.contains(said));
}

#[test]
fn a_locale_without_utf_8_gets_ascii_on_standard_error_too() {
    let mut command = delaylab(None);
    command.args(["ping", "127.0.0.1", "-c", "3", "-i", "1ms"]);
    command.args(["--fail-if", "p99(response) > 1µs"]);
    let ran = Ran::to_end(command.env("LC_ALL", "C"));
    let says = "--fail-if 'p99(response) > 1us': ";
    assert!(ran.stderr.contains(says), "{}", ran.stderr);
    assert!((ran.stdout + &ran.stderr).is_ascii());
}

/// How much is printed is one thing, and what a file has another.
#[test]
fn a_quiet_ping_stores_every_packet() {
    let scratch = Scratch::new();
    for quiet in ["-q", "-qq"] {
        let file = scratch.path("run.json");
        let ran = ping(&[quiet, "-o", &file.to_string_lossy()]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let document: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        let packets = document["round_trips"].as_array().unwrap();
        assert_eq!(packets.len(), 200, "{quiet}");
        std::fs::remove_file(&file).unwrap();
    }
}

/// The file system holds a part: the summary is all there, and what is stored is said.
#[test]
fn a_full_disk_does_not_take_the_summary() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path("disk")).unwrap();
    for file in ["x.csv", "x.ndjson", "x.json"] {
        let script = "mount -t tmpfs -o size=16k none disk || exit 77; \
                      exec \"$0\" ping 127.0.0.1 -c 400 -i 1ms -o \"disk/$1\"";
        let mut command = Command::new("unshare");
        command.current_dir(scratch.path(""));
        command.args(["--mount", "sh", "-c", script, DELAYLAB, file]);
        command.env("LC_ALL", "C.UTF-8");
        let ran = Ran::to_end(&mut command);
        if ran.code == 77 || ran.stderr.contains("unshare") {
            skip!("no file system of its own: {}", ran.stderr);
        }
        assert_eq!(ran.code, 3, "{file}: {}", ran.stderr);
        let text = &ran.stdout;
        assert!(
            text.contains("400 sent") && text.contains("At the median"),
            "{text}"
        );
        assert!(
            ran.stderr
                .contains(&format!("cannot write disk/{file}: No space left")),
            "{}",
            ran.stderr
        );
        let kept = match file {
            "x.json" => "it is not a whole document",
            _ => "it has at least the first",
        };
        assert!(ran.stderr.contains(kept), "{}", ran.stderr);
    }
}
