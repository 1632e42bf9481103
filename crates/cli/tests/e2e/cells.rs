//! `delaylab cells`, and what a run's sizes say: on lines in cells and on others.

use crate::e2e::testbeds::{root, up};
use crate::harness::in_one_of_three;
use crate::harness::process::{Process, Ran, delaylab, ran};
use crate::harness::scratch::Scratch;
use crate::or_skip;
use serde_json::Value;

const LINE: &str = r#"
name = "line"
title = "A line"
world = "testbed"

[[probe]]
name = "echo"
method = "icmp"
pacing = { every = "10ms" }
count = 1

[path]
topology = "two-hosts"
rate = "2Mbit/s"
"#;

/// A line of this framing, and `delaylab cells WORDS` across it.
fn across(framing: &str, words: &str) -> (Scratch, Ran) {
    let scratch = Scratch::new();
    scratch.file("line.toml", LINE);
    let file = scratch.path("line.toml");
    let (_process, id): (Process, String) =
        up(&format!("{} --set path.framing={framing}", file.display()));
    let program = delaylab(None);
    let ended = Ran::to_end(
        delaylab(None)
            .args(["testbed", "exec", "--testbed", &id, "a1", "--"])
            .arg(program.get_program())
            .args(["cells", "10.82.0.2", "-q", "--no-report", "-o"])
            .arg(scratch.path("runs"))
            .args(words.split_whitespace()),
    );
    (scratch, ended)
}

fn document(ran: &Ran) -> Value {
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    serde_json::from_str(&ran.stdout).unwrap()
}

/// Of 2 Mbit/s each way, one behind the other: how long a cell takes there and back, ns.
const CELL: f64 = 848_000.0;

#[test]
fn what_cannot_be_meant_is_refused() {
    let scratch = Scratch::new();
    for (words, why) in [
        ("--max-size 60B", "let --max-size be at least"),
        ("--min-size 20B", "the headers alone have 28 B"),
        ("--max-size 20kB", "no more than 9188 B"),
        ("--method tcp", "invalid value"),
    ] {
        let ended = ran(&scratch, &format!("cells 127.0.0.1 {words}"));
        assert_eq!(ended.code, 2, "{words}: {}{}", ended.stdout, ended.stderr);
        assert!(ended.stderr.contains(why), "{words}: {}", ended.stderr);
    }
    let shown = ran(&scratch, "cells 127.0.0.1 --show-experiment --count 5");
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    // In two rounds, and an odd number is rounded up.
    for (count, each_round) in [(1, 1), (2, 1), (3, 2), (5, 3)] {
        let words = format!("cells 127.0.0.1 --show-experiment --count {count}");
        let shown = ran(&scratch, &words).stdout;
        assert!(shown.contains("repeats = 2\n"), "{shown}");
        assert!(
            shown.contains(&format!("count = {each_round}\n")),
            "{shown}"
        );
    }
    scratch.file("cells.toml", &shown.stdout);
    let checked = ran(&scratch, "check cells.toml");
    assert_eq!(checked.code, 0, "{}", checked.stderr);
}

/// How source 000's first finding is judged in simulation, in one place and condition.
fn judged(words: &str) -> Value {
    const FEW: &str = "--set design.repeats=1 --set sweep.condition.to=[\"quiet\"] --set sweep.place.to=[\"0ms\"]";
    let scratch = Scratch::new();
    let run = "run packet-size-latency --world sim --seed 1 --json -q --no-report";
    let ended = ran(&scratch, &format!("{run} {FEW} {words}"));
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let last: Value = serde_json::from_str(ended.stdout.lines().last().unwrap()).unwrap();
    let finding = last["findings"][0].clone();
    assert_eq!(finding["id"], "000.1");
    finding
}

/// True of cells, and not applicable to a few sizes.
#[test]
fn the_finding_of_seed_000_is_judged_in_simulation() {
    let quick = judged("--quick");
    assert_eq!(quick["verdict"], "true", "{}", quick["reason"]);
    let sizes = "--set sweep.size.to=[\"40B\",\"100B\",\"200B\",\"300B\",\"500B\"]";
    let fewer = judged(&format!("--quick {sizes}"));
    assert_eq!(fewer["verdict"], "not_applicable", "{}", fewer["reason"]);
    let why = fewer["reason"].as_str().unwrap();
    assert!(
        why.contains("needs 16 levels of `size`, there are 5"),
        "{why}"
    );
}

/// The same of all sizes, in `make test-all`.
mod long {
    use super::*;

    #[test]
    fn the_finding_of_seed_000_is_true_of_cells_and_false_without() {
        let cells = judged("");
        assert_eq!(cells["verdict"], "true", "{}", cells["reason"]);
        let parts = cells["parts"].as_array().unwrap();
        assert_eq!(parts.len(), 2, "a shaper and none");
        let frames = judged("--set path.framing=ppp --set path.mtu=9188B");
        assert_eq!(frames["verdict"], "false", "{}", frames["reason"]);
    }
}

/// Tests that mostly wait, and keep to milliseconds: one at a time, beside what computes.
mod in_turn {
    use super::*;

    #[test]
    fn a_line_in_cells_is_found_with_what_it_adds() {
        or_skip!(root());
        in_one_of_three(|| {
            // Two whole cells and a part of one at each end: fewer risers may be any two jumps.
            let sizes = "--min-size 70B --max-size 190B";
            let (scratch, ended) = across("aal5-llc", &format!("--count 3 {sizes} --json"));
            let found = document(&ended);
            assert_eq!(found["schema"], "delaylab/cells/3");
            let steps = &found["ways"][0]["steps"];
            let number = |name: &str| steps[name].as_f64().unwrap_or(f64::NAN);
            // LLC/SNAP and the trailer of AAL5.
            let well = found["verdict"] == "steps"
                && number("width_bytes") == 48.0
                && (15.0..=17.0).contains(&number("overhead_bytes"))
                && (number("step_ns") / CELL - 1.0).abs() < 0.1;
            if !well {
                return Err(ended.stdout);
            }
            let shown = ran(&scratch, "report latest");
            assert_eq!(shown.code, 0, "{}", shown.stderr);
            let said = "Cells of 48 bytes";
            assert!(shown.stdout.contains(said), "{}", shown.stdout);
            let page = std::fs::read_to_string(scratch.path("runs/latest/report.html")).unwrap();
            assert!(page.contains("Steps in delay against size"));
            Ok(())
        });
    }

    mod long {
        use super::*;

        #[test]
        fn a_line_of_frames_has_none() {
            or_skip!(root());
            in_one_of_three(|| {
                let (_scratch, ended) = across("ppp", "--count 3 --max-size 200B");
                assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
                let said = |words| ended.stdout.contains(words);
                let well = said("No cells:") && said("Leave `atm` out");
                well.then_some(()).ok_or(ended.stdout)
            });
        }
    }
}
