//! `report --figure` and `report --table`: one figure or table in the format that a file's name asks for.

use crate::harness::process::ran;
use crate::harness::scratch::Scratch;
use crate::skip;
use serde_json::Value;
use std::fs;

/// Two sizes, twice, on a simulated line of 10 Mbit/s.
const SMALL: &str = r#"
name = "small"
title = "A small one"
world = "sim"

[[probe]]
name = "echo"
method = "udp"
payload = "64B"
pacing = { poisson = "5ms" }
count = 200

[path]
topology = "switch-loopback"
rate = "10Mbit/s"

[sweep.size]
set = "probe.echo.payload"
to = ["64B", "1024B"]

[design]
repeats = 2
"#;

fn recorded() -> Scratch {
    let scratch = Scratch::new();
    scratch.file("small.toml", SMALL);
    let run = ran(&scratch, "run small.toml -q --seed 1");
    assert_eq!(run.code, 0, "{}", run.stderr);
    scratch
}

#[test]
fn a_table_is_csv_parquet_or_latex() {
    let scratch = recorded();
    let read = |file: &str| fs::read(scratch.path(file)).unwrap();
    for table in ["summary", "trials", "records"] {
        for format in ["csv", "parquet", "tex"] {
            let file = format!("{table}.{format}");
            let written = ran(&scratch, &format!("report --table {table} -o {file}"));
            assert_eq!(written.code, 0, "{file}: {}", written.stderr);
        }
        assert_eq!(&read(&format!("{table}.parquet"))[..4], b"PAR1");
    }
    let summary = String::from_utf8(read("summary.csv")).unwrap();
    assert_eq!(
        summary.lines().next(),
        Some(
            "size,trials,sent,lost,lost_share,response_p50_ns,response_p99_ns,network_ns,host_ns,\
             round_trip_p50_ns,round_trip_p99_ns,delay_p50_ns,delay_p99_ns"
        )
    );
    let rows: Vec<&str> = summary.lines().skip(1).collect();
    assert_eq!(rows.len(), 2, "{summary}");
    // 64 and 1024 bytes with 28 of headers, both ways at 10 Mbit/s.
    let medians = rows.iter().map(|row| row.split(',').nth(5).unwrap());
    let medians: Vec<i64> = medians.map(|ns| ns.parse().unwrap()).collect();
    assert!(medians[1] - medians[0] >= 2 * 960 * 800, "{medians:?}");
    let latex = String::from_utf8(read("summary.tex")).unwrap();
    assert!(
        latex.contains("\\toprule") && latex.contains(" ms & "),
        "{latex}"
    );
    let records = String::from_utf8(read("records.csv")).unwrap();
    assert_eq!(records.lines().count(), 801);

    let shown = ran(&scratch, "report --table summary");
    assert_eq!(shown.stdout, summary);
}

#[test]
fn a_figure_is_svg_its_specification_or_what_librsvg_makes_of_it() {
    let scratch = recorded();
    let written = |file: &str| ran(&scratch, &format!("report --figure cumulative -o {file}"));
    assert_eq!(written("c.svg").code, 0);
    let svg = fs::read_to_string(scratch.path("c.svg")).unwrap();
    assert!(svg.starts_with("<svg ") && svg.contains("small · sim · "));
    assert_eq!(written("c.json").code, 0);
    let spec: Value = serde_json::from_slice(&fs::read(scratch.path("c.json")).unwrap()).unwrap();
    assert!(spec["$schema"].as_str().unwrap().contains("vega-lite"));
    assert!(!spec["data"]["values"].as_array().unwrap().is_empty());

    let png = written("c.png");
    if png.stderr.contains("is not installed") {
        skip!("{}", png.stderr.trim());
    }
    assert_eq!(png.code, 0, "{}", png.stderr);
    assert_eq!(&fs::read(scratch.path("c.png")).unwrap()[1..4], b"PNG");
    assert_eq!(written("c.pdf").code, 0);
    assert_eq!(&fs::read(scratch.path("c.pdf")).unwrap()[..5], b"%PDF-");
}

#[test]
fn what_there_is_not_is_named_beside_what_there_is() {
    let scratch = recorded();
    for (words, says) in [
        ("--figure cumulatve -o c.svg", "it has cumulative, "),
        (
            "--table recrds -o r.csv",
            "it has summary, findings, trials, records",
        ),
        ("--figure cumulative -o c.gif", "`.gif` is no format"),
        (
            "--table summary -o t.xlsx",
            "name it .csv, .parquet or .tex",
        ),
        (
            "--table summary -o no/such/t.csv",
            "cannot write no/such/t.csv",
        ),
    ] {
        let refused = ran(&scratch, &format!("report {words}"));
        assert_ne!(refused.code, 0, "{words}");
        assert!(refused.stderr.contains(says), "{words}: {}", refused.stderr);
    }
}
