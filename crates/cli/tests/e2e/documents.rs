//! What programs read: each document keeps to its schema, and all of them say the same thing the same way.

use crate::harness::process::{Ran, Reflector, delaylab, python, ran};
use crate::harness::scratch::Scratch;
use crate::{or_skip, skip};
use delaylab_view::published::PUBLISHED;
use serde_json::Value;
use std::path::Path;

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
    let printed = Ran::to_end(delaylab(None).args(["schema", document]));
    serde_json::from_str(&printed.stdout).unwrap()
}

/// A measured path, of which there is a model.
const PATH: &str =
    "run calibration --world sim --quick -q --no-report --set probe.*.duration=1500ms -o paths";

/// What this command prints for programs, and where the guide reads it.
const PRINTED: [(&str, &str); 15] = [
    ("run.ndjson", "run small.toml --json -q --no-report"),
    (
        "shard.ndjson",
        "run small.toml --json -q --shard 1/2 -o shards",
    ),
    ("explain.json", "explain latest --json"),
    (
        "compare.json",
        "compare latest latest --fail-if lost>1% --json",
    ),
    ("check.json", "check small.toml --json"),
    ("list.json", "list --json"),
    ("verify.json", "verify latest --json"),
    ("procedures.json", "bench list --json"),
    ("doctor.json", "doctor --quick --json"),
    ("trace.json", "trace 127.0.0.1 -n --json"),
    (
        "import.json",
        "import ping.txt --json --no-report -o imported",
    ),
    (
        "bench.ndjson",
        "bench throughput --world sim --quick --size 512B --seed 7 --json -q --no-report -o benched",
    ),
    ("path", PATH),
    (
        "calibration.json",
        "calibrate latest --runs paths -q --json",
    ),
    (
        "prediction.json",
        "predict latest --runs paths -q --json --set path.switch.discipline=fq-codel",
    ),
];

/// The same of commands that need a reflector at this port.
fn with_reflector(port: u16) -> [(&'static str, String); 3] {
    let at = format!("127.0.0.1 --method udp --port {port}");
    // Of a hundred, one that is lost on a busy machine leaves too few for a 99th percentile.
    let ping = format!("ping {at} -i 1ms -c 200");
    let cells = format!("cells {at} --min-size 72B --max-size 168B --count 2");
    [
        ("ping.json", format!("{ping} --json")),
        ("stream.ndjson", format!("{ping} --json-stream")),
        ("cells.json", format!("{cells} --json --no-report -o cells")),
    ]
}

/// What every command prints for programs, in the files that the guide reads.
fn printed() -> Scratch {
    let scratch = Scratch::new();
    scratch.file("small.toml", SMALL);
    let sample = "../explain/tests/data/import/ping.txt";
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join(sample);
    scratch.file("ping.txt", &std::fs::read_to_string(sample).unwrap());
    let reflector = Reflector::local();
    let keep = |file: &str, words: &str| {
        let ran = ran(&scratch, words);
        assert_eq!(ran.code, 0, "{words}: {}", ran.stderr);
        scratch.file(file, &ran.stdout);
    };
    // These mostly wait.
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let commands = with_reflector(reflector.port);
            commands.iter().for_each(|(file, words)| keep(file, words));
        });
        PRINTED.iter().for_each(|(file, words)| keep(file, words));
    });
    scratch
}

/// The documents in a file, each valid by the schema of its document.
fn lines(scratch: &Scratch, document: &str, file: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(scratch.path(file)).unwrap();
    let schema = schema(document);
    let validator = jsonschema::validator_for(&schema).unwrap();
    let valid = |line: Result<Value, serde_json::Error>| {
        let line = line.unwrap();
        let errors = validator.iter_errors(&line).map(|error| error.to_string());
        let errors: Vec<_> = errors.collect();
        assert!(errors.is_empty(), "{file}: {errors:#?}");
        line
    };
    let documents = serde_json::Deserializer::from_str(&text);
    documents.into_iter().map(valid).collect()
}

/// The commands take most of the time: what they printed is looked at twice.
#[test]
fn every_document_is_valid_and_what_the_guide_reads_it_with_works() {
    let scratch = printed();
    one_vocabulary_in_every_document(&scratch);
    one_head_in_every_document(&scratch);
    what_the_guide_reads_documents_with_works(&scratch);
}

fn one_vocabulary_in_every_document(scratch: &Scratch) {
    let run = lines(scratch, "run", "run.ndjson");
    let ping = lines(scratch, "ping", "ping.json").remove(0);
    let (whole, trials) = run.split_last().unwrap();
    assert_eq!(trials.len(), 2);
    let left = trials.iter().map(|trial| &trial["remaining"]);
    assert_eq!(left.collect::<Vec<_>>(), [1, 0]);
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
    for document in [whole, &ping] {
        assert!(document["config"]["seed"].is_string(), "{document}");
    }
    assert_eq!(whole["tally"]["true"], 1);
}

/// Which host made it, and what was asked for, is in every document, and in one of several lines.
fn one_head_in_every_document(scratch: &Scratch) {
    const LINES: [(&str, &str); 4] = [
        ("run", "run.ndjson"),
        ("run", "shard.ndjson"),
        ("run", "bench.ndjson"),
        ("ping-stream", "stream.ndjson"),
    ];
    for (name, file) in LINES {
        let lines = lines(scratch, name, file);
        let with_head = lines.iter().filter(|line| has_head(line));
        assert_eq!(with_head.count(), 1, "{file}");
    }
    let listed = PUBLISHED.iter().map(|listed| listed.name);
    let documents = listed.filter(|listed| LINES.iter().all(|(name, _)| name != listed));
    for name in documents {
        let documents = lines(scratch, name, &format!("{name}.json"));
        assert!(
            matches!(documents.as_slice(), [one] if has_head(one)),
            "{name}"
        );
    }
}

fn has_head(document: &Value) -> bool {
    let paths = ["/schema", "/version", "/system_info/kernel", "/supplied/0"];
    let texts = paths.map(|path| document.pointer(path));
    texts.iter().all(|text| text.is_some_and(Value::is_string)) && document["config"].is_object()
}

/// The fences of a document in this language.
fn fences(text: &str, language: &str) -> Vec<String> {
    let begin = format!("```{language}\n");
    let fences = text.split(begin.as_str()).skip(1);
    let body = |fence: &str| fence.split("```").next().unwrap_or_default().to_owned();
    fences.map(body).collect()
}

/// Is there a program of this name?
fn has(program: &str) -> bool {
    std::process::Command::new(program)
        .arg("--version")
        .output()
        .is_ok()
}

fn what_the_guide_reads_documents_with_works(scratch: &Scratch) {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    if !has("jq") {
        skip!("there is no jq: scripts/install.sh test");
    }
    for line in fences(&guide, "sh").concat().lines() {
        let mut shell = std::process::Command::new("sh");
        let output = shell.arg("-c").arg(line).current_dir(scratch.path(""));
        let output = output.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{line}: {output:?}");
        // A field that is not there is null.
        let says_something = said.lines().any(|line| line != "null");
        assert!(says_something || line.contains("doctor"), "{line}: {said}");
    }
    let mut python = or_skip!(python());
    let [frames, defined] = fences(&guide, "python").try_into().unwrap();
    let checks = frames.lines().map(|line| {
        // Every column has a value.
        format!("it = {line}\nassert len(it) and pandas.DataFrame(it).notna().any().all(), it\n")
    });
    let script = defined + &checks.collect::<String>();
    let output = python.args(["-c", &script]).current_dir(scratch.path(""));
    let output = output.output().unwrap();
    assert!(output.status.success(), "{output:?}");
}
