//! Two runs side by side: what is said of a path that is longer, and with which code it ends.

use crate::harness::process::{Ran, delaylab, ran};
use crate::harness::scratch::Scratch;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Two levels of load, two repeats, half a second of simulated time each.
const SMALL: &str = r#"
name = "small"
title = "A small one"
world = "sim"

[[probe]]
name = "echo"
method = "udp"
payload = "64B"
pacing = { poisson = "2ms" }
duration = "600ms"

[[load]]
name = "bulk"
kind = "tcp"
streams = 1
window = "16KiB"

[path]
topology = "pairs-on-a-trunk"
framing = "aal5"
rate = "155.52Mbit/s"
propagation = "50us"

[path.switch]
discipline = "fifo"
buffer = "13000cells"

[sweep]
streams = { set = "load.bulk.streams", to = [0, 1] }

[design]
repeats = 2
"#;

/// Runs of it, each named by where it goes and what is set for it.
fn with_runs(runs: &[&str]) -> Scratch {
    with_runs_of(SMALL, runs)
}

fn with_runs_of(experiment: &str, runs: &[&str]) -> Scratch {
    let scratch = Scratch::new();
    scratch.file("small.toml", experiment);
    for words in runs {
        let done = ran(
            &scratch,
            &format!("run small.toml -q --no-report -o {words}"),
        );
        assert_eq!(done.code, 0, "{words}: {}", done.stderr);
    }
    scratch
}

/// Two classes on a trunk that is nearly full, without and with a bulk flow.
const CLASSES: &str = r#"
name = "small"
title = "Two classes"
world = "sim"

[[probe]]
name = "ef"
method = "udp"
payload = "64B"
class = "ef"
pacing = { poisson = "5ms" }
duration = "3s"
warmup = "500ms"

[[probe]]
name = "be"
method = "udp"
payload = "64B"
pacing = { poisson = "5ms" }
duration = "3s"
warmup = "500ms"

[[load]]
name = "web"
kind = "poisson"
rate = "7Mbit/s"
payload = "1400B"

[[load]]
name = "bulk"
kind = "tcp"
streams = 1

[path]
topology = "pairs-on-a-trunk"
rate = "10Mbit/s"
propagation = "1ms"

[path.switch]
discipline = "wfq"
weights = { network-control = 10, expedited = 40, best-effort = 45, scavenger = 5 }
queue_buffer = "32KiB"

[sweep]
streams = { set = "load.bulk.streams", to = [0, 1] }

[design]
repeats = 4
"#;

const NEAR: &str = "near --seed 1";
/// A path that is 0.45 ms longer in each of three links each way.
const FAR: &str = "far --seed 3 --set path.propagation=500us";

/// `delaylab compare A B WORDS`: of each folder of runs the latest.
fn compare(scratch: &Scratch, runs: &str, words: &[&str]) -> Ran {
    let runs = runs.split(' ').map(|run| scratch.path(run));
    let mut command = delaylab(None);
    command.arg("compare").args(runs).args(words);
    Ran::to_end(command.env("COLUMNS", "120").current_dir(scratch.path("")))
}

fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_longer_path_is_found_and_fails_what_it_should() {
    let scratch = with_runs(&[NEAR, FAR]);
    what_is_said(&scratch);
    conditions(&scratch);
    files(&scratch);
    what_is_typed_wrong(&scratch);
    damage(&scratch);
}

fn what_is_said(scratch: &Scratch) {
    let found = compare(scratch, "near far", &[]);
    assert_eq!(found.code, 0, "{}", found.stderr);
    let text = in_one_line(&found.stdout);
    for expected in [
        "path.propagation 50us 500us",
        "seed 1 3",
        "streams 0",
        "in the forward path",
        "in the return path",
        "2 of 2 pairs differ.",
    ] {
        assert!(text.contains(expected), "{expected}: {}", found.stdout);
    }
}

/// Two trials have too few packets for it.
const UNKNOWN: &str = "p9999(response | streams=0) > +10%";

fn conditions(scratch: &Scratch) {
    for condition in [
        "p99(response) > +10%",
        "p50(response | streams=0) > +500us",
        "for each streams: p50(network) > +10%",
        "max(response) > 1us",
    ] {
        let found = compare(scratch, "near far", &["--fail-if", condition]);
        assert_eq!(found.code, 1, "{condition}: {}", found.stdout);
        let says = found.stdout.lines().any(|line| line.starts_with("holds: "));
        assert!(says, "{condition}: {}", found.stdout);
        let names = found
            .stderr
            .contains(&format!("--fail-if '{condition}': holds"));
        assert!(names, "{condition}: {}", found.stderr);
    }
    // What does not fail, in one execution.
    let (lower, lost) = ("p99(response) < -10%", "lost > 1%");
    let words = ["--fail-if", lower, "--fail-if", lost, "--fail-if", UNKNOWN];
    let found = compare(scratch, "near far", &words);
    assert_eq!(found.code, 0, "{}", found.stdout);
    let expected = [
        ("does not hold", lower),
        ("does not hold", lost),
        ("undecided", UNKNOWN),
    ];
    for (outcome, condition) in expected {
        let start = format!("{outcome}: {condition}: ");
        let says = found.stdout.lines().any(|line| line.starts_with(&start));
        assert!(says, "{condition}: {}", found.stdout);
    }
    assert!(!found.stderr.contains("--fail-if"), "{}", found.stderr);
    let words = ["--fail-if", UNKNOWN, "--strict"];
    let strict = compare(scratch, "near far", &words);
    assert_eq!(strict.code, 1, "{}", strict.stdout);
    assert!(
        in_one_line(&strict.stdout).contains("as --strict asks"),
        "{}",
        strict.stdout
    );
}

fn files(scratch: &Scratch) {
    let words = ["-o", "changes.html", "--fail-if", "lost > 1%"];
    let page = compare(scratch, "near far", &words);
    assert_eq!(page.code, 0, "{}", page.stderr);
    let page = fs::read_to_string(scratch.path("changes.html")).unwrap();
    assert!(page.contains("<h1>Two runs of small</h1>") && page.contains("lost &gt; 1%"));
    assert!(page.contains("Shift of each quantile"));
    let svg = compare(scratch, "near far", &["-o", "changes.svg"]);
    assert_eq!(svg.code, 0, "{}", svg.stderr);
    let svg = fs::read_to_string(scratch.path("changes.svg")).unwrap();
    assert!(svg.starts_with("<svg") && !svg.contains("NaN"));
    let wrong = compare(scratch, "near far", &["-o", "changes.docx"]);
    assert_eq!(wrong.code, 2);
    assert!(
        wrong.stderr.contains(".html, .json or .svg"),
        "{}",
        wrong.stderr
    );
    let words = ["--json", "--fail-if", "p50(response) > +10%"];
    let json = compare(scratch, "near far", &words);
    assert_eq!(json.code, 1, "{}", json.stderr);
    let document: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(document["schema"], "delaylab/compare/3");
    assert_eq!(document["failed"], true);
    let condition = &document["conditions"][0];
    assert_eq!(
        (&condition["verdict"], &condition["failed"]),
        (&"true".into(), &true.into())
    );
    let pair = &document["pairs"][0];
    assert_eq!(pair["verdict"], "differs");
    let shift = &pair["shift"]["response"]["p50_ns"];
    let difference = shift["difference"].as_f64().unwrap();
    let [a, b] = ["a", "b"].map(|side| pair[side]["response"]["p50_ns"].as_f64().unwrap());
    assert!((b - a - difference).abs() <= 1.0, "{a} {b} {difference}");
    assert!(
        (difference - 6.0 * 450_000.0).abs() < 1_000.0,
        "{difference}"
    );
}

fn what_is_typed_wrong(scratch: &Scratch) {
    let caret = compare(scratch, "near far", &["--fail-if", "p99(response) > 10%"]);
    assert_eq!(caret.code, 2, "{}", caret.stdout);
    let says = in_one_line(&caret.stderr).contains("`+10%` for a change from A to B");
    let points = caret.stderr.contains("\n                ^^^ 10% of what?");
    assert!(says && points, "{}", caret.stderr);
    for (condition, says) in [
        ("p99(respons) > +10%", "did you mean `response`"),
        ("p99(response | wait=1ms) > +10%", "share no factor `wait`"),
        (
            "p99(response | streams=7) > +10%",
            "no pair of the two runs has streams=7 (it has 0, 1)",
        ),
        ("mean(retransmits) > +10%", "no packet has retransmits"),
    ] {
        let wrong = compare(scratch, "near far", &["--fail-if", condition]);
        assert_eq!(wrong.code, 2, "{condition}: {}", wrong.stdout);
        assert!(
            in_one_line(&wrong.stderr).contains(says),
            "{condition}: {}",
            wrong.stderr
        );
    }
    for (words, says) in [
        (
            &["--measure", "latency"][..],
            "it is one of response, round_trip",
        ),
        (&["--strict"], "--fail-if"),
    ] {
        let wrong = compare(scratch, "near far", words);
        assert_eq!(wrong.code, 2);
        assert!(wrong.stderr.contains(says), "{}", wrong.stderr);
    }
    let nowhere = compare(scratch, "near nowhere", &[]);
    assert_eq!(nowhere.code, 2, "{}", nowhere.stderr);
    assert!(nowhere.stderr.contains("no run"), "{}", nowhere.stderr);
}

/// Of what cannot be read nothing is said, and no condition fails for it or holds.
fn damage(scratch: &Scratch) {
    let run = fs::canonicalize(scratch.path("far/latest")).unwrap();
    let words = ["--fail-if", "p99(response) > +10%"];
    fs::write(run.join("environment.json"), "{").unwrap();
    let found = compare(scratch, "near far", &words);
    assert_eq!(found.code, 3, "{}", found.stdout);
    let said = found.stderr.contains("environment.json:");
    assert!(said, "{}", found.stderr);
    fs::remove_file(run.join("manifest.json")).unwrap();
    fs::write(run.join("environment.json"), "{}").unwrap();
    fs::write(run.join("records.parquet"), "no").unwrap();
    let found = compare(scratch, "near far", &words);
    assert_eq!(found.code, 3, "{}{}", found.stdout, found.stderr);
    let said = found.stderr.contains("records.parquet:");
    assert!(said, "{}", found.stderr);
}

#[test]
fn the_same_does_not_differ() {
    let scratch = with_runs(&[NEAR, "again --seed 2"]);
    let itself = compare(&scratch, "near near", &["--fail-if", "p99(response) > +0%"]);
    assert_eq!(itself.code, 0, "{}{}", itself.stdout, itself.stderr);
    let text = in_one_line(&itself.stdout);
    assert!(text.contains("0 of 2 pairs differ."), "{}", itself.stdout);
    assert!(text.contains("Nothing else differs"), "{}", itself.stdout);
    assert!(text.contains("are the same run."), "{}", itself.stdout);
    let again = compare(&scratch, "near again", &[]);
    assert_eq!(again.code, 0, "{}", again.stderr);
    let text = in_one_line(&again.stdout);
    assert!(text.contains("0 of 2 pairs differ"), "{}", again.stdout);
    assert!(text.contains("would have been seen"), "{}", again.stdout);
}

/// What is changed, with which seed, and how the answer begins.
type Change = (&'static str, u32, &'static str, &'static str);

const PLANTED: [Change; 5] = [
    (
        "rate",
        2,
        "path.rate=8Mbit/s",
        "path.rate changed from 10Mbit/s to 8Mbit/s: response rises, most in streams 0, probe be: p99 from",
    ),
    (
        "loss",
        4,
        "path.switch.queue_buffer=3KiB",
        "path.switch.queue_buffer changed from 32KiB to 3KiB: loss rises from",
    ),
    (
        "buffer",
        3,
        "path.switch.queue_buffer=128KiB",
        "path.switch.queue_buffer changed from 32KiB to 128KiB: response rises, most in streams 1, probe be: p50 from",
    ),
    (
        "mark",
        5,
        "probe.ef.class=be",
        "probe.ef.class changed from ef to be: response rises, most in streams 1, probe ef: p99 from",
    ),
    (
        "nothing",
        6,
        "design.repeats=4",
        "No difference in response or loss is seen in any pair.",
    ),
];

fn is_in_the_first_sentence(planted: &[Change]) {
    let runs: Vec<String> = planted
        .iter()
        .map(|(name, seed, set, _)| format!("{name} --seed {seed} --set {set}"))
        .collect();
    let runs: Vec<&str> = ["base --seed 1"]
        .into_iter()
        .chain(runs.iter().map(String::as_str))
        .collect();
    let scratch = with_runs_of(CLASSES, &runs);
    for (name, _, _, says) in planted {
        let found = compare(&scratch, &format!("base {name}"), &[]);
        assert_eq!(found.code, 0, "{}", found.stderr);
        let verdict = found
            .stdout
            .rsplit("\n\n")
            .next()
            .map(in_one_line)
            .unwrap_or_default();
        assert!(verdict.starts_with(says), "{name}: {verdict}");
    }
}

/// The first sentence names what was changed, and where it shows most: of delay and of loss. The others in `make test-all`.
#[test]
fn what_was_planted_is_in_the_first_sentence() {
    is_in_the_first_sentence(&PLANTED[..2]);
}

mod long {
    use super::*;

    #[test]
    fn whatever_was_planted_is_in_the_first_sentence() {
        is_in_the_first_sentence(&PLANTED);
    }
}

#[test]
fn what_only_one_has_is_named() {
    let scratch = with_runs(&[NEAR, "some --set sweep.streams.to=[1,2]"]);
    let some = compare(&scratch, "near some", &[]);
    assert_eq!(some.code, 0, "{}", some.stderr);
    let said = in_one_line(&some.stdout);
    for expected in ["Only A has streams 0.", "Only B has streams 2."] {
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn what_another_tool_measured_is_compared_by_round_trips() {
    let scratch = Scratch::new();
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../explain/tests/data/import");
    for (file, into) in [("ping.txt", "a"), ("irtt.json", "b"), ("mtr.csv", "empty")] {
        let file = samples.join(file);
        let done = ran(
            &scratch,
            &format!("import {} --no-report -o {into}", file.display()),
        );
        assert_eq!(done.code, 0, "{}", done.stderr);
    }
    let found = compare(&scratch, "a b", &["--fail-if", "p50(rtt) > +10%"]);
    assert!(found.code < 2, "{}{}", found.stdout, found.stderr);
    let text = in_one_line(&found.stdout);
    assert!(
        text.contains("round trip") && text.contains("network not known:"),
        "{}",
        found.stdout
    );
    assert!(!text.contains("NaN"), "{}", found.stdout);
    let same = compare(&scratch, "a a", &[]);
    assert!(
        in_one_line(&same.stdout).contains("equals A's"),
        "{}",
        same.stdout
    );
    let file = samples.join("fping-c.txt");
    let done = ran(
        &scratch,
        &format!("import {} --no-report -o two", file.display()),
    );
    assert_eq!(done.code, 0, "{}", done.stderr);
    let one = compare(&scratch, "a two", &[]);
    let only = "Only B has probe 10.77.2.2.";
    assert!(in_one_line(&one.stdout).contains(only), "{}", one.stdout);
    let nothing = compare(&scratch, "b two", &[]);
    assert_eq!(nothing.code, 2, "{}", nothing.stdout);
    assert!(
        nothing.stderr.contains("is in both: A has"),
        "{}",
        nothing.stderr
    );
    // A file that has no packets but only the tool's figures.
    let empty = compare(&scratch, "empty empty", &[]);
    assert_eq!(empty.code, 0, "{}", empty.stderr);
    assert!(
        in_one_line(&empty.stdout).contains("Undecided whether"),
        "{}",
        empty.stdout
    );
}
