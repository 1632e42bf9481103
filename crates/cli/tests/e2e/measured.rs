//! A run that is the measured part of another one.

use crate::harness::process::ran;
use crate::harness::scratch::Scratch;
use std::fs;

/// Echoes of three sizes, and a figure of them.
const ECHOES: &str = r#"
name = "echoes"
world = "sim"

[[probe]]
name = "echo"
method = "udp"
payload = "64B"
pacing = { every = "5ms" }
duration = "100ms"

[path]
topology = "two-hosts"
rate = "10Mbit/s"

[sweep]
size = { set = "probe.echo.payload", to = ["64B", "256B", "1024B"] }

[[figure]]
id = "sizes"
title = "Round trip against size"
draw = "delay_against_size"
measured = "size in [64B, 1024B]"

[[figure]]
id = "medians"
title = "Medians"
draw = "table"
rows = "size"
values = ["p50(round_trip)"]
measured = ""
"#;

fn with_a_measured_run() -> Scratch {
    let scratch = Scratch::new();
    scratch.file("echoes.toml", ECHOES);
    let done = ran(
        &scratch,
        "run echoes.toml -q --no-report -o measured --set path.rate=5Mbit/s",
    );
    assert_eq!(done.code, 0, "{}", done.stderr);
    scratch
}

#[test]
fn figures_and_tables_show_the_measured_part_by_its_own_name() {
    let scratch = with_a_measured_run();
    let words = "run echoes.toml -q --no-report --measured measured/latest";
    let done = ran(&scratch, words);
    assert_eq!(done.code, 0, "{}", done.stderr);
    let run = scratch.path("runs/latest");
    // What the run recorded is enough to show it.
    let shown = ran(&scratch, "report latest");
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    let page = fs::read_to_string(run.join("report.html")).unwrap();
    assert!(page.contains("run measured (sim)"), "a line of the figure");
    // Heads may break behind a bracket.
    let heads = page.replace("<wbr>", "");
    assert!(
        heads.contains("measured (sim): p50(round_trip)"),
        "columns of the table"
    );
    let resolved = fs::read_to_string(run.join("experiment.toml")).unwrap();
    let folder = fs::canonicalize(scratch.path("measured/latest")).unwrap();
    assert!(
        resolved.contains(&format!("run = \"{}\"", folder.display())),
        "{resolved}"
    );
    // And without the measured run the rest is shown, with what is missing.
    fs::remove_dir_all(&folder).unwrap();
    let without = ran(&scratch, "report latest -o without.html");
    assert_eq!(without.code, 0, "{}", without.stderr);
    let without = fs::read_to_string(scratch.path("without.html")).unwrap();
    assert!(without.contains("the measured part cannot be read"));
}

#[test]
fn a_measured_part_that_says_nothing_is_refused_before_the_run() {
    let scratch = with_a_measured_run();
    let bare = ECHOES.split("[[figure]]").next().unwrap();
    scratch.file("bare.toml", bare);
    let others = ["\"64B\", \"256B\", \"1024B\"", "\"65B\", \"257B\""];
    scratch.file("others.toml", &ECHOES.replace(others[0], others[1]));
    let figure = "no figure would show";
    scratch.file(
        "named.toml",
        &format!("{ECHOES}\n[measured]\nrun = \"nowhere\"\n"),
    );
    scratch.file(
        "series.toml",
        &ECHOES.replacen("delay_against_size", "series", 1),
    );
    for (words, why) in [
        ("check echoes.toml --measured nowhere", "measured.run"),
        ("check named.toml", "measured.run"),
        ("check bare.toml --measured measured/latest", figure),
        (
            "check others.toml --measured measured/latest",
            "no factor level in common",
        ),
        ("check series.toml", "`measured` goes with"),
    ] {
        let done = ran(&scratch, words);
        assert_eq!(done.code, 2, "{words}: {}", done.stderr);
        assert!(done.stderr.contains(why), "{words}: {}", done.stderr);
    }
}
