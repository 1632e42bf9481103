//! What programs read: each document keeps to its schema, and all of them say the same thing the same way.

use crate::harness::process::{Ran, Reflector, delaylab, ran};
use crate::harness::scratch::Scratch;
use serde_json::Value;

const SMALL: &str = r#"
name = "small"
title = "Two sizes"
world = "sim"

[[probe]]
name = "echo"
method = "udp"
payload = "64B"
pacing = { every = "1ms" }
count = 100

[sweep.size]
set = "probe.echo.payload"
to = ["64B", "1000B"]

[path]
topology = "two-hosts"
rate = "1Gbit/s"

[[finding]]
id = "1"
says = "Larger packets take longer"
check = "p50(response | size=64B) < p50(response | size=1000B)"
"#;

/// The schema that the program prints for a document.
fn schema(document: &str) -> Value {
    let printed = Ran::of(delaylab(None).args(["schema", document]));
    serde_json::from_str(&printed.stdout).unwrap()
}

/// The documents of a command's output, each held against the schema of its document.
fn lines(scratch: &Scratch, document: &str, words: &str) -> Vec<Value> {
    let ran = ran(scratch, words);
    assert_eq!(ran.code, 0, "{words}: {}", ran.stderr);
    let schema = schema(document);
    let validator = jsonschema::validator_for(&schema).unwrap();
    let valid = |line: Result<Value, serde_json::Error>| {
        let line = line.unwrap();
        let errors = validator.iter_errors(&line).map(|error| error.to_string());
        let errors: Vec<_> = errors.collect();
        assert!(errors.is_empty(), "{words}: {errors:#?}");
        line
    };
    let documents = serde_json::Deserializer::from_str(&ran.stdout);
    documents.into_iter().map(valid).collect()
}

#[test]
fn one_vocabulary_in_every_document() {
    let scratch = Scratch::new();
    scratch.file("small.toml", SMALL);
    let run = lines(&scratch, "run", "run small.toml --json -q");
    let reflector = Reflector::local();
    let words = format!(
        "ping 127.0.0.1 --method udp --port {} -i 1ms -c 100 --json",
        reflector.port
    );
    let ping = lines(&scratch, "ping", &words).remove(0);
    let (whole, trials) = run.split_last().unwrap();
    assert_eq!(trials.len(), 2);
    // Results of packets have the same paths in a ping and in a trial.
    for document in trials.iter().chain([&ping]) {
        for path in [
            "sent",
            "received",
            "lost",
            "response/count",
            "response/p99_ns",
        ] {
            let value = document.pointer(&format!("/stats/{path}"));
            assert!(value.is_some_and(Value::is_u64), "{path}: {value:?}");
        }
        for path in [
            "/stats/response/mean_ns",
            "/stats/anatomy/0/stages/0/time_ns",
        ] {
            assert!(
                document.pointer(path).is_some_and(Value::is_number),
                "{path}"
            );
        }
        for path in ["/facts/reflector_clock", "/warnings", "/stamps/t_rx"] {
            assert!(document.pointer(path).is_some(), "{path}");
        }
    }
    // Who measured, and what was asked for, is said by a run as by a ping.
    for document in [whole, &ping] {
        for path in [
            "/version",
            "/system_info/kernel",
            "/supplied/0",
            "/config/seed",
        ] {
            assert!(document.pointer(path).is_some(), "{path}: {document}");
        }
    }
    assert_eq!(whole["tally"]["true"], 1);
    let others = [
        ("explain", "explain latest --json"),
        ("compare", "compare latest latest --json"),
        ("verify", "verify latest --json"),
    ];
    for (document, words) in others {
        let document = lines(&scratch, document, words).remove(0);
        assert!(document["version"].is_string(), "{words}");
    }
    // Documents without a published schema begin in the same way.
    let check = ran(&scratch, "check small.toml --json");
    let check: Value = serde_json::from_str(&check.stdout).unwrap();
    assert_eq!(check["schema"], "delaylab/check/1");
    assert!(check["version"].is_string());
}
