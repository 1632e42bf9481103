//! `delaylab calibrate` and `delaylab predict`: of a testbed, of a simulation, and of runs that show too little.

use crate::harness::in_one_of_three;
use crate::harness::process::{Ran, ran};
use crate::harness::scratch::Scratch;
use crate::or_skip;
use serde_json::Value;
use std::fs;

fn done(scratch: &Scratch, words: &str) -> Ran {
    let done = ran(scratch, words);
    assert_eq!(done.code, 0, "{words}: {}", done.stderr);
    done
}

fn document(scratch: &Scratch, words: &str) -> Value {
    serde_json::from_str(&done(scratch, words).stdout).unwrap()
}

fn near(found: &Value, truth: f64, share: f64) {
    is_near(found, truth, share).unwrap();
}

fn is_near(found: &Value, truth: f64, share: f64) -> Result<(), String> {
    let value = found.as_f64();
    let near = value.is_some_and(|value| (value / truth - 1.0).abs() <= share);
    near.then_some(())
        .ok_or_else(|| format!("{found} is not {truth}"))
}

const SIMULATED: &str =
    "run calibration --world sim --quick -q --no-report --set probe.*.duration=1500ms";

/// A short run that is calibrated, and one that a change is predicted for.
#[test]
fn a_simulated_path_is_found_and_its_change_predicted() {
    let scratch = Scratch::new();
    done(&scratch, SIMULATED);
    let run = fs::canonicalize(scratch.path("runs/latest")).unwrap();
    let before = fs::read(run.join("records.parquet")).unwrap();

    // Each execution simulates: it says here what programs read, and what people do.
    let told = done(
        &scratch,
        "calibrate latest -q --strict --json --text-file calibrated.txt",
    );
    assert_eq!(told.stderr, "");
    let found: Value = serde_json::from_str(&told.stdout).unwrap();
    reads_well(
        &scratch,
        "calibrated.txt",
        &[
            "10.000 Mbit/s",
            "fifo",
            "Not identified by this run:",
            "model.toml",
        ],
    );
    assert_eq!(found["schema"], "delaylab/calibration/3");
    near(&found["found"]["rate"]["bps"]["value"], 10e6, 0.001);
    near(&found["found"]["buffer"]["limit"], 64_000.0, 0.01);
    assert_eq!(found["found"]["discipline"]["name"], "fifo");
    assert_eq!(found["found"]["limiter"]["kind"], "link");
    let model = scratch.path(found["model_folder"].as_str().unwrap());
    for file in [
        "model.toml",
        "calibration.json",
        "calibration.html",
        "records.parquet",
    ] {
        assert!(model.join(file).exists(), "{file}");
    }
    // The measured run is as it was, and still the latest.
    assert_eq!(fs::read(run.join("records.parquet")).unwrap(), before);
    assert_eq!(fs::canonicalize(scratch.path("runs/latest")).unwrap(), run);
    // The model is an experiment as any other.
    let checked = done(
        &scratch,
        &format!("check {}", model.join("model.toml").display()),
    );
    assert!(checked.stdout.contains("in sim"), "{}", checked.stdout);

    // What a change does to the same path is known: it can be simulated.
    let change = "--set path.switch.discipline=fq-codel";
    let predict = "predict latest --json --text-file predicted.txt";
    let predicted = document(&scratch, &format!("{predict} {change}"));
    assert_eq!(predicted["schema"], "delaylab/prediction/3");
    reads_well(
        &scratch,
        "predicted.txt",
        &[
            "path.switch.discipline = fq-codel",
            "99th percentile",
            "prediction.html",
        ],
    );
    models_are_whole(&scratch);
    done(&scratch, &format!("{SIMULATED} {change}"));
    // Which of the fair queues it is cannot be told, and the model has one of them.
    let told = ran(&scratch, "calibrate latest --json --strict");
    assert_eq!(told.code, 1, "{}", told.stderr);
    assert!(told.stderr.contains("which fair queue"), "{}", told.stderr);
    let after: Value = serde_json::from_str(&told.stdout).unwrap();
    let mut compared = 0;
    for group in predicted["groups"].as_array().unwrap() {
        let overlay = after["overlay"].as_array().unwrap();
        let same = |other: &&Value| {
            other["factors"] == group["factors"] && other["probe"] == group["probe"]
        };
        let truth = overlay.iter().find(same).unwrap();
        for quantile in ["p50_ns", "p99_ns"] {
            // The run has the same seed, so the same packets.
            let value = &group["same_packets"]["network"][quantile];
            if let Some(truth) = truth["measured"]["network"][quantile].as_f64() {
                near(value, truth, 0.05);
                compared += 1;
            }
        }
    }
    assert!(compared >= 40, "{compared}");
}

/// What a terminal shows, in this file, has these words.
fn reads_well(scratch: &Scratch, file: &str, expected: &[&str]) {
    let text = fs::read_to_string(scratch.path(file)).unwrap();
    for words in expected {
        assert!(text.contains(words), "{words}: {text}");
    }
}

/// Each model's folder is whole, also that of the model which is changed.
fn models_are_whole(scratch: &Scratch) {
    let all = fs::read_dir(scratch.path("runs/latest/models")).unwrap();
    let all = all.map(|entry| entry.unwrap().path());
    for folder in all.filter(|path| path.is_dir()) {
        let has = |file: &str| folder.join(file).exists();
        let shown = has("calibration.html") && has("calibration.json");
        let shown = shown || has("prediction.html") && has("prediction.json");
        assert!(has("model.toml") && shown, "{}", folder.display());
    }
}

const ONE_SIZE: &str = r#"
name = "one-size"
title = "Nothing varies"
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

#[test]
fn what_a_run_does_not_show_is_said() {
    let scratch = Scratch::new();
    scratch.file("one.toml", ONE_SIZE);
    done(&scratch, "run one.toml -q --no-report");
    let told = ran(&scratch, "calibrate latest");
    assert_eq!(told.code, 1, "{}", told.stderr);
    assert!(
        told.stdout.contains("packets of one size alone"),
        "{}",
        told.stdout
    );
    assert!(
        told.stderr.contains("no model of runs/one-size"),
        "{}",
        told.stderr
    );
    let json = ran(&scratch, "calibrate latest --json");
    let document: Value = serde_json::from_str(&json.stdout).unwrap();
    assert!(
        json.code == 1 && document["model_folder"].is_null() && document["found"]["rate"].is_null()
    );
    assert_eq!(
        ran(&scratch, "predict latest --set path.rate=1Mbit/s").code,
        1
    );

    let varied = format!(
        "{ONE_SIZE}[sweep]\nrate = {{ set = \"path.rate\", to = [\"1Mbit/s\", \"2Mbit/s\"] }}\n"
    );
    scratch.file("varied.toml", &varied);
    done(&scratch, "run varied.toml -q --no-report");
    let told = ran(&scratch, "calibrate latest");
    assert!(
        told.code == 1 && told.stderr.contains("`path.rate` changes the path"),
        "{}",
        told.stderr
    );
    // No figure of several paths together.
    assert_eq!(told.stdout, "");
}

#[test]
fn what_cannot_be_is_refused_before_anything_runs() {
    let scratch = Scratch::new();
    let told = ran(&scratch, "calibrate nowhere");
    assert!(
        told.code == 2 && told.stderr.contains("no run `nowhere`"),
        "{}",
        told.stderr
    );
    let told = ran(&scratch, "predict latest");
    assert!(
        told.code == 2 && told.stderr.contains("--set"),
        "{}",
        told.stderr
    );
    done(&scratch, SIMULATED);
    let told = ran(
        &scratch,
        "predict latest --set path.switch.discipline=magic",
    );
    assert!(
        told.code == 2 && told.stderr.contains("magic"),
        "{}",
        told.stderr
    );
    // In the experiment of every link, in the model of the links next to the bottleneck.
    let told = ran(&scratch, "predict latest --set path.propagation=200us");
    assert!(
        told.code == 2 && told.stderr.contains("path.link.bottleneck.propagation"),
        "{}",
        told.stderr
    );
    assert!(!scratch.path("runs/latest/models").exists());
    scratch.file(
        "ping.txt",
        include_str!("../../../explain/tests/data/import/ping.txt"),
    );
    done(&scratch, "import ping.txt --no-report");
    let told = ran(&scratch, "calibrate latest");
    assert!(
        told.code == 2 && told.stderr.contains("has no experiment"),
        "{}",
        told.stderr
    );
}

fn root() -> Result<(), String> {
    if delaylab_kernel::privilege::is_root() {
        Ok(())
    } else {
        Err("testbeds of this test need root".to_owned())
    }
}

/// Runs a testbed with a queue of this discipline; what is found of it. Where the machine stood still meanwhile, that
/// is another path.
fn found_in_a_testbed(scratch: &Scratch, discipline: &str) -> Result<Value, String> {
    done(
        scratch,
        &format!(
            "run calibration --quick -q --no-report --set probe.*.duration=2s --set sweep.size.to=[\"64B\",\"1400B\"] \
             --set path.rate=8Mbit/s --set path.switch.buffer=40kB --set path.switch.discipline={discipline}"
        ),
    );
    let told = ran(scratch, "calibrate latest --json");
    let found: Value = serde_json::from_str(&told.stdout).map_err(|_| told.stderr)?;
    is_near(&found["found"]["rate"]["bps"]["value"], 8e6, 0.02)?;
    is_near(&found["found"]["buffer"]["limit"], 40_000.0, 0.05)?;
    let name = &found["found"]["discipline"]["name"];
    (name == discipline)
        .then_some(())
        .ok_or_else(|| format!("{name} is not {discipline}"))?;
    Ok(found)
}

/// A prediction simulates ten times: more of them in `make test-all`.
mod long {
    use super::*;

    #[test]
    fn two_changes_at_once_are_predicted() {
        let scratch = Scratch::new();
        done(&scratch, SIMULATED);
        let told = done(
            &scratch,
            "predict latest -q --set path.rate=20Mbit/s --set path.switch.buffer=30kB",
        );
        for words in [
            "path.rate = 20Mbit/s, path.switch.buffer = 30kB",
            "99th percentile",
            "prediction.html",
        ] {
            assert!(told.stdout.contains(words), "{words}: {}", told.stdout);
        }
        models_are_whole(&scratch);
    }
}

/// Tests that mostly wait, and keep to milliseconds: one at a time, beside what computes.
mod in_turn {
    use super::*;

    mod long {
        use super::*;

        /// Two disciplines, and what the first becomes as the second.
        #[test]
        fn what_a_change_does_to_a_testbed_is_predicted() {
            or_skip!(root());
            in_one_of_three(|| {
                let scratch = Scratch::new();
                found_in_a_testbed(&scratch, "fifo")?;
                let predicted = document(
                    &scratch,
                    "predict latest --json --set path.switch.discipline=per-flow",
                );
                let after = found_in_a_testbed(&scratch, "per-flow")?;
                // Medians: the rest is what other programs on this machine make of it.
                let groups = predicted["groups"].as_array().unwrap().iter();
                let of_echo = groups.filter(|group| {
                    group["probe"] == "echo" && group["factors"]["case"]["label"] == "overflow"
                });
                let of_echo: Vec<&Value> = of_echo.collect();
                assert!(!of_echo.is_empty(), "{predicted}");
                of_echo.into_iter().try_for_each(|group| {
                    let overlay = after["overlay"].as_array().unwrap();
                    let same = |other: &&Value| {
                        other["factors"] == group["factors"] && other["probe"] == group["probe"]
                    };
                    let truth = &overlay.iter().find(same).unwrap()["measured"];
                    is_near(
                        &group["predicted"]["network"]["p50_ns"],
                        truth["network"]["p50_ns"].as_f64().unwrap(),
                        0.2,
                    )
                })
            });
        }
    }
}
