//! `delaylab explain RUN --baseline RUN`: one simulated run compared with another, and with the minimum delay.
//! `--against` is the old name of the flag.

use crate::harness::process::{Ran, ran};
use crate::harness::scratch::Scratch;
use serde_json::Value;

const LINE: &str = r#"
name = "line"
title = "A line"
[[probe]]
name = "echo"
method = "udp"
payload = "400B"
pacing = { every = "10ms" }
count = 100
[path]
topology = "two-hosts"
rate = "100Mbit/s"
propagation = "1ms"
"#;

/// Runs it at this rate into a folder of this name; the run's own folder.
fn run_at(scratch: &Scratch, rate: &str, folder: &str) -> String {
    scratch.file("line.toml", LINE);
    let words = format!(
        "run line.toml --world sim --seed 1 -q --no-report -o {folder} --set path.rate={rate}"
    );
    let done = ran(scratch, &words);
    assert_eq!(done.code, 0, "{}", done.stderr);
    let mut entries = std::fs::read_dir(scratch.path(folder)).unwrap();
    let run = entries.find_map(|entry| {
        let name = entry.ok()?.file_name().into_string().ok()?;
        name.starts_with("line-").then_some(name)
    });
    format!("{folder}/{}", run.unwrap())
}

fn explained(scratch: &Scratch, words: &str) -> Ran {
    let explained = ran(scratch, &format!("explain {words}"));
    assert_eq!(explained.code, 0, "{}", explained.stderr);
    explained
}

#[test]
fn a_slow_run_is_held_against_a_fast_one() {
    let scratch = Scratch::new();
    let fast = run_at(&scratch, "100Mbit/s", "fast");
    let slow = run_at(&scratch, "1Mbit/s", "slow");
    // 442 bytes at 1 Mbit/s against 100, over two links each way, and 4 ms of distance in both.
    let text = explained(&scratch, &format!("{slow} --against {fast}")).stdout;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("79 % of the response is serialisation"),
        "{text}"
    );
    assert!(
        text.contains("4.6 times as long as in the baseline (4.15 ms)"),
        "{text}"
    );
    let document = explained(&scratch, &format!("{slow} --against {fast} --json")).stdout;
    let document: Value = serde_json::from_str(&document).unwrap();
    let condition = &document["conditions"][0];
    assert_eq!(
        (&condition["slow"], &condition["against"]["kind"]),
        (&true.into(), &"run".into())
    );
    assert_eq!(condition["against"]["usual_ns"], 4_149_120);
    // The other way round nothing is slow.
    let text = explained(&scratch, &format!("{fast} --against {slow}")).stdout;
    assert!(
        text.contains("No combination is slow against the baseline"),
        "{text}"
    );
    // Against the minimum delay of its own path no other run is named.
    let text = explained(&scratch, &format!("{slow} --baseline idle")).stdout;
    assert!(!text.contains("baseline"), "{text}");
    let missing = ran(&scratch, &format!("explain {slow} --against no-such-run"));
    assert_eq!(missing.code, 2, "{}", missing.stderr);
    assert!(missing.stderr.contains("no-such-run"), "{}", missing.stderr);
}

/// Anyone may name a level. What is written for programs to show holds no command for their terminal.
#[test]
fn text_in_a_file_is_as_safe_as_on_a_terminal() {
    let scratch = Scratch::new();
    let cases = r#"
[[case]]
name = "\u001b]0;mine\u0007"
set = { "path.rate" = "1Mbit/s" }
[[case]]
name = "fast"
set = { "path.rate" = "100Mbit/s" }
"#;
    scratch.file("cases.toml", &format!("{LINE}{cases}"));
    let done = ran(&scratch, "run cases.toml --world sim -q --no-report");
    assert_eq!(done.code, 0, "{}", done.stderr);
    explained(&scratch, "latest --json --text-file said.txt");
    let text = std::fs::read_to_string(scratch.path("said.txt")).unwrap();
    assert!(text.contains(r"\u{1b}]0;mine\u{7}"), "{text}");
    assert!(!text.contains(['\x1b', '\x07']), "{text:?}");
}
