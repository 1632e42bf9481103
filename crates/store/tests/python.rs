//! Other tools read a run as it is, and find what was measured: polars and DuckDB, from Python.
//! `scripts/python.sh` installs them.

use crate::harness::*;
use delaylab_model::noise::NoiseEvent;
use delaylab_model::record::{Outcome, Record};
use delaylab_model::trial::RecordFacts;
use delaylab_stats::summary::SummaryBuilder;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

const TRIALS: [u32; 3] = [0, 1, 2];
const RECORDS: u64 = 1500;

/// What both found, or `None` and a line that says why.
fn found_by_others(run: &Path) -> Option<Value> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = root.join("../../target/python/bin/python3");
    if !python.exists() {
        skip("no target/python: scripts/python.sh makes it");
        return None;
    }
    let script = root.join("tests/python/read_run.py");
    let output = Command::new(python)
        .arg("-B")
        .arg(script)
        .arg(run)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

#[test]
fn polars_and_duckdb_read_a_run_as_it_is() {
    let runs = tempfile::tempdir().unwrap();
    let run = write_run(runs.path(), &TRIALS, RECORDS).folder;
    let Some(found) = found_by_others(&run) else {
        return;
    };
    let written: Vec<Record> = TRIALS
        .iter()
        .flat_map(|&trial| records(trial, RECORDS))
        .collect();
    for tool in ["polars", "duckdb"] {
        let found = &found[tool];
        check_tables(found, &written);
        check_stamps(&found["stamps"], &written);
        check_figures(&found["response"], &written);
    }
    check_types(&found);
}

fn check_tables(found: &Value, written: &[Record]) {
    let rows = json!({ "records": written.len(), "trials": 6, "noise": 18, "clock_reads": 6,
        "hops": 24, "series": 18 });
    assert_eq!(found["rows"], rows);
    let mut outcomes: BTreeMap<&str, u64> = BTreeMap::new();
    for record in written {
        *outcomes.entry(record.outcome.name()).or_default() += 1;
    }
    assert_eq!(outcomes.len(), Outcome::ALL.len());
    assert_eq!(found["outcomes"], json!(outcomes));
    let refused: BTreeSet<String> = (written.iter())
        .filter_map(|record| Some(record.refused_by?.to_string()))
        .collect();
    assert_eq!(found["refused_by"], json!(refused));
    let noise_ns: i64 = written.iter().filter_map(|record| noise_of(record).0).sum();
    assert_eq!(found["noise_ns"], noise_ns);
    let events = TRIALS.iter().flat_map(|&trial| noise(trial));
    let who: Vec<Option<String>> = events.map(|event: NoiseEvent| event.who).collect();
    assert_eq!(found["noise_who"], json!(who));
    assert_eq!(found["backlog"], json!([1.25, 2.25]));
    assert_eq!(found["ports"], json!(["s0→s1", "s1→s2"]));
    assert_eq!(found["started_utc"], "2026-11-21 13:45:00+00:00");
    assert_eq!(
        found["labels"],
        json!(["0 B", "0 B", "1 B", "1 B", "2 B", "2 B"])
    );
}

type Stamp = fn(&Record) -> Option<i64>;

/// Files have the time since the stamp before; as the documents say it, both make times of them.
fn check_stamps(theirs: &Value, written: &[Record]) {
    let stamps: [(&str, Stamp); 8] = [
        ("t_send", |record| record.t_send),
        ("t_sched", |record| record.t_sched),
        ("t_tx", |record| record.t_tx),
        ("r_rx", |record| record.r_rx),
        ("r_user", |record| record.r_user),
        ("r_tx", |record| record.r_tx),
        ("t_rx", |record| record.t_rx),
        ("t_recv", |record| record.t_recv),
    ];
    for (name, stamp) in stamps {
        let ours: Vec<Option<i64>> = written.iter().map(stamp).collect();
        assert!(theirs[name] == json!(ours), "{name}");
    }
}

/// Our summary against theirs.
fn check_figures(theirs: &Value, written: &[Record]) {
    let mut ours = SummaryBuilder::new(RecordFacts::default(), usize::MAX);
    written.iter().for_each(|record| ours.push(record));
    let ours = ours.finish().response.unwrap();
    assert_eq!(theirs["count"], ours.count);
    let exact = [
        ("min", ours.min),
        ("p50", ours.p50),
        ("p90", ours.p90),
        ("p99", ours.p99),
        ("p999", ours.p999),
        ("max", ours.max),
    ];
    for (name, value) in exact {
        assert_eq!(theirs[name], value, "{name}");
    }
    close(&theirs["mean"], ours.mean);
    close(&theirs["sd"], ours.sd.unwrap());
}

fn close(theirs: &Value, ours: f64) {
    let theirs = theirs.as_f64().unwrap();
    assert!(
        (theirs - ours).abs() <= ours.abs() * 1e-12,
        "{theirs} is not {ours}"
    );
}

/// Times are whole numbers and words are texts to both.
fn check_types(found: &Value) {
    assert_eq!(found["polars"]["columns"], found["duckdb"]["columns"]);
    let expected = [
        ("t_intended", "Int64", "BIGINT"),
        ("to_t_recv", "Int64", "BIGINT"),
        ("seq", "UInt64", "UBIGINT"),
        ("trial", "UInt32", "UINTEGER"),
        ("dscp", "UInt8", "UTINYINT"),
        ("outcome", "String", "VARCHAR"),
        ("refused_by", "String", "VARCHAR"),
        ("noise_ns", "Int64", "BIGINT"),
    ];
    for (column, polars, duckdb) in expected {
        assert_eq!(found["polars"]["types"][column], polars);
        assert_eq!(found["duckdb"]["types"][column], duckdb);
    }
}
