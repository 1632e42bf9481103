//! The world `sim`: the same bytes on any number of threads, after a kill too, and what is refused.

use crate::harness::process::{Process, inside, ran};
use crate::harness::scratch::Scratch;
use nix::sys::signal::Signal;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

/// Eight trials beside a TCP, half a second of simulated time each.
const SMALL: &str = r#"
name = "small"
title = "A small one"
world = "sim"

[[probe]]
name = "echo"
method = "udp"
payload = "64B"
pacing = { poisson = "5ms" }
duration = "500ms"

[[load]]
name = "bulk"
kind = "tcp"
streams = 1
window = "64KiB"

[path]
topology = "pairs-on-a-trunk"
framing = "aal5"
rate = "155.52Mbit/s"
propagation = "5us"

[path.switch]
discipline = "fifo"
buffer = "13000cells"

[sweep]
streams = { set = "load.bulk.streams", to = [0, 3] }

[design]
repeats = 4

[[finding]]
id = "1"
says = "The queue is in the trunk"
check = "mean(backlog | streams=3, of='s1→s2') > 100cells"

# Three windows: 4284 cells with all headers, some of which are on lines and in hosts.
[[finding]]
id = "2"
says = "No more waits there than three windows"
check = "100cells < mean(peak_backlog | streams=3, of='s1→s2') < 4300cells"
"#;

/// Two connections that share a short buffer, or are marked.
const COUNTS: &str = r#"
name = "counts"
world = "sim"
[[probe]]
name = "echo"
method = "udp"
pacing = { every = "10ms" }
duration = "2s"
[[load]]
name = "bulk"
kind = "tcp"
streams = 2
stagger = "7ms"
[path]
topology = "pairs-on-a-trunk"
propagation = "1ms"
rate = "100Mbit/s"
line = { trunk = { rate = "10Mbit/s" } }
[path.switch]
buffer = "20packets"
codel = { target = "2ms", interval = "20ms" }
[[case]]
name = "FIFO"
set = { "path.switch.discipline" = "fifo" }
[[case]]
name = "CoDel"
set = { "path.switch.discipline" = "codel", "path.switch.buffer" = "1MB", "load.bulk.tcp.ecn" = true }
[[finding]]
id = "drops"
says = "A short buffer drops packets, at the trunk alone"
check = "count(drops | case=FIFO, of='s1→s2') > 20 and count(drops | case=FIFO, of='s2→b2') < 1"
[[finding]]
id = "marks"
says = "CoDel marks packets, and drops those that cannot be marked"
check = "count(marks | case=CoDel, of='s1→s2') > 4 * count(drops | case=CoDel, of='s1→s2') and count(drops | case=CoDel, of='s2→b2') < 1"
[[finding]]
id = "none"
says = "A FIFO marks nothing"
check = "count(marks | case=FIFO) > 0"
[[figure]]
id = "lost"
title = "Lost"
draw = "series"
series = "drops"
where = "case=FIFO"
[[figure]]
id = "counted"
title = "Counted"
draw = "table"
rows = "case"
values = ["mean(drops | of='s1→s2')"]
"#;

#[test]
fn drops_and_marks_are_counted_and_drawn() {
    let scratch = Scratch::new();
    scratch.file("counts.toml", COUNTS);
    let checked = ran(&scratch, "check counts.toml");
    assert_eq!(checked.code, 0, "{}{}", checked.stdout, checked.stderr);
    let done = ran(&scratch, "run counts.toml --no-report");
    assert_eq!(done.code, 0, "{}", done.stderr);
    let text = done.stdout;
    assert!(
        text.contains("2 true") && text.contains("1 not applicable"),
        "{text}"
    );
    let over_time = text
        .lines()
        .find(|line| line.contains("backlog") && line.contains("drops"));
    assert!(
        over_time.is_some_and(|line| line.contains("marks")),
        "{text}"
    );
    let figure = ran(&scratch, "report latest --figure part-lost -o lost.svg");
    assert_eq!(figure.code, 0, "{}", figure.stderr);
    let svg = fs::read_to_string(scratch.path("lost.svg")).unwrap();
    assert!(svg.contains("drops (packets)"));
}

fn with_small() -> Scratch {
    let scratch = Scratch::new();
    scratch.file("small.toml", SMALL);
    scratch
}

/// Every table of the run.
fn tables(run: &Path) -> Vec<Vec<u8>> {
    let names = [
        "records",
        "trials",
        "hops",
        "series",
        "series_values",
        "noise",
        "clock_reads",
    ];
    let read = |name: &str| fs::read(run.join(format!("{name}.parquet"))).unwrap();
    names.map(read).to_vec()
}

fn whole(scratch: &Scratch, words: &str) -> Vec<Vec<u8>> {
    let done = ran(scratch, words);
    assert_eq!(done.code, 0, "{}", done.stderr);
    tables(&scratch.path("runs/latest"))
}

#[test]
fn threads_make_no_difference_and_the_report_shows_the_queue() {
    let scratch = with_small();
    let one = whole(&scratch, "run small.toml -q --no-report --threads 1");
    let three = ran(&scratch, "run small.toml --no-report --threads 3");
    assert_eq!(three.code, 0, "{}", three.stderr);
    assert!(one == tables(&scratch.path("runs/latest")));
    assert!(three.stdout.contains("backlog"), "{}", three.stdout);
    assert!(three.stdout.contains("2 true"), "{}", three.stdout);
    let words = "report latest --figure series-backlog -o backlog.svg";
    let figure = ran(&scratch, words);
    assert_eq!(figure.code, 0, "{}", figure.stderr);
    let svg = fs::read_to_string(scratch.path("backlog.svg")).unwrap();
    assert!(svg.contains("backlog (cells)"));
}

/// Nothing of it is random: its four trials are one, and it says so.
#[test]
fn copies_of_a_simulation_count_once() {
    let scratch = with_small();
    let interval = |repeats: u32| {
        let words = format!(
            "run small.toml --no-report --set probe.echo.pacing.every=5ms --set sweep.streams.to=[3] \
             --set design.repeats={repeats}"
        );
        let done = ran(&scratch, &words);
        assert_eq!(done.code, 0, "{}", done.stderr);
        let run = fs::read_to_string(scratch.path("runs/latest/findings.json")).unwrap();
        let findings: serde_json::Value = serde_json::from_str(&run).unwrap();
        let statistic = findings[0]["parts"][0]["statistics"][0].clone();
        let said = done
            .stdout
            .contains("repeat the simulation of another one exactly");
        (
            ["value", "interval", "trials"].map(|name| statistic[name].clone()),
            said,
        )
    };
    let (one, said) = interval(1);
    assert!(!said);
    assert_eq!(interval(4), (one, true));
}

/// What a short run measured says whether a longer one would decide its findings.
#[test]
fn a_check_expects_what_the_last_run_measured() {
    let scratch = with_small();
    let before = ran(&scratch, "check small.toml");
    assert!(!before.stdout.contains("xpected"), "{}", before.stdout);
    let done = ran(&scratch, "run small.toml --no-report");
    assert_eq!(done.code, 0, "{}", done.stderr);
    let after = ran(&scratch, "check small.toml --set design.repeats=20");
    assert_eq!(after.code, 0, "{}", after.stderr);
    assert!(
        after
            .stdout
            .contains("expected: true; decided with a chance of"),
        "{}",
        after.stdout
    );
    assert!(
        after.stdout.contains("Expected: from the run small-"),
        "{}",
        after.stdout
    );
    let json = ran(&scratch, "check small.toml --from latest --json").stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(
        json["findings"][0]["expected"]["true"].as_f64().unwrap() > 0.8,
        "{json}"
    );
    assert!(
        json["expected_from"]
            .as_str()
            .unwrap()
            .starts_with("small-"),
        "{json}"
    );
    // Of another form nothing is expected, unless that run is named.
    let another = ran(&scratch, "check small.toml --set probe.echo.payload=900B");
    let basis = "Expected: not known; runs of this experiment are of other forms, such as small-";
    assert!(another.stdout.contains(basis), "{}", another.stdout);
    assert!(
        !another.stdout.contains("expected: true"),
        "{}",
        another.stdout
    );
    let named = ran(
        &scratch,
        "check small.toml --set probe.echo.payload=900B --from latest",
    );
    assert!(
        named.stdout.contains("it is of another form"),
        "{}",
        named.stdout
    );
    let other = ran(&scratch, "check wait-time-jitter --from latest");
    assert_eq!(other.code, 2, "{}", other.stdout);
    assert!(
        other
            .stderr
            .contains("judged no finding of `wait-time-jitter`"),
        "{}",
        other.stderr
    );
    // One that is damaged is an error where it is asked for, and else passed over.
    let table = scratch.path("runs/latest/records.parquet");
    fs::write(&table, [fs::read(&table).unwrap(), vec![0]].concat()).unwrap();
    let asked = ran(&scratch, "check small.toml --from latest");
    assert_eq!(asked.code, 3, "{}", asked.stderr);
    let unasked = ran(&scratch, "check small.toml");
    assert_eq!(unasked.code, 0, "{}", unasked.stderr);
    assert!(unasked.stderr.contains("warning: "), "{}", unasked.stderr);
    assert!(!unasked.stdout.contains("xpected"), "{}", unasked.stdout);
}

/// Which ports there are, the world alone knows.
#[test]
fn a_port_that_the_path_lacks_is_refused_where_it_is_named() {
    let scratch = Scratch::new();
    let wrong = SMALL.replacen("of='s1→s2') > 100cells", "of='s1→s3') > 100cells", 1);
    scratch.file("wrong.toml", &wrong);
    for words in ["check wrong.toml", "run wrong.toml --no-report"] {
        let said = ran(&scratch, words);
        assert_eq!(said.code, 2, "{}", said.stdout);
        for part in [
            "this experiment keeps no `backlog` of `s1→s3`",
            "wrong.toml:38:39",
            "did you mean `s1→s2`?",
        ] {
            assert!(said.stderr.contains(part), "{}", said.stderr);
        }
    }
}

/// What `fct` and `load_goodput` are of, in a figure's table and in findings.
#[test]
fn incasts_are_told_by_completion_time_and_goodput() {
    let scratch = Scratch::new();
    let short = "--set design.repeats=1 --set probe.query.duration=1s --set probe.query.warmup=0ms --set sweep.senders.to=[2,32]";
    let done = ran(
        &scratch,
        &format!("run incast {short} --quick --no-report -v"),
    );
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert!(
        done.stdout
            .contains("p99(fct | case='CUBIC, RTO 200 ms', senders=32) > 200ms"),
        "{}",
        done.stdout
    );
    let found = fs::read_to_string(scratch.path("runs/latest/findings.json")).unwrap();
    let found: serde_json::Value = serde_json::from_str(&found).unwrap();
    let verdict = |id: &str| {
        let mut all = found.as_array().unwrap().iter();
        all.find(|one| one["id"] == id).unwrap()["verdict"].clone()
    };
    assert_eq!(verdict("2"), "true");
    assert_eq!(verdict("3"), "true");
    assert!(scratch.path("runs/latest/transfers.parquet").exists());
}

/// Every experiment of the catalogue that can be simulated, as short as it still says something.
const CATALOGUE: &[&str] = &[
    "atm-response-time --set design.repeats=1 --set probe.echo.duration=60ms --set probe.echo.warmup=0ms",
    "calibration --world sim --set probe.*.duration=800ms",
    "class-jitter --world sim --set probe.*.duration=600ms",
    "packet-size-latency --world sim --set design.repeats=1 --set probe.echo.count=12",
    "wait-time-jitter --world sim --set design.repeats=1 --set probe.echo.count=40",
    "aqm --set design.repeats=1 --set probe.echo.duration=1s --set probe.echo.warmup=0s",
    "bufferbloat --set design.repeats=1 --set probe.echo.duration=2s --set probe.echo.warmup=0s",
    "classes --set design.repeats=1 --set probe.*.duration=1s --set probe.*.warmup=0s",
    "incast --set design.repeats=1 --set probe.query.duration=60ms --set probe.query.warmup=0ms",
    "l4s --set design.repeats=1 --set probe.*.duration=1s --set probe.*.warmup=0s",
    "pfc --set design.repeats=1 --set probe.*.duration=60ms --set probe.*.warmup=0ms",
    "switch-chain --set probe.echo.duration=200ms --set probe.echo.warmup=0ms",
    "web-response --world sim --set design.repeats=1 --set probe.*.duration=600ms --set probe.*.warmup=0ms",
    "efci-robustness --set design.repeats=1 --set probe.echo.duration=60ms --set probe.echo.warmup=0ms",
    "eprca-variants --set probe.echo.duration=60ms --set probe.echo.warmup=0ms",
    "kernel-tcp --world sim --set probe.echo.duration=1200ms",
    "kernel-tcp-loss --world sim --set design.repeats=1 --set probe.echo.duration=2500ms",
    "ns3-dumbbell --set probe.echo.duration=600ms",
    "ns3-ensembles --set design.repeats=1 --set probe.echo.duration=600ms",
    "pfc-headroom",
];

/// `trials.parquet` has the trace hash of each.
fn same_on_one_thread_and_on_two(experiments: &[&str]) {
    for words in experiments {
        let scratch = Scratch::new();
        let on = |threads| {
            // What a short form finds does not matter here, nor that few packets came back.
            let done = ran(
                &scratch,
                &format!("run {words} --quick -q --no-report --threads {threads}"),
            );
            assert!(done.code == 0, "{words}: {}", done.stderr);
            let run = fs::canonicalize(scratch.path("runs/latest")).unwrap();
            let tables = fs::read_dir(run)
                .unwrap()
                .map(|entry| entry.unwrap().path());
            let mut tables: Vec<_> = tables
                .filter(|path| path.extension().is_some_and(|ext| ext == "parquet"))
                .collect();
            tables.sort();
            tables
                .iter()
                .map(|path| fs::read(path).unwrap())
                .collect::<Vec<_>>()
        };
        let [one, two] = [1, 2].map(on);
        assert!(one.len() >= 4, "{words}: {} tables", one.len());
        assert!(one == two, "{words}: one thread and two differ");
    }
}

/// Cells and ABR. The others in `make test-all`.
#[test]
fn one_of_the_catalogue_is_the_same_on_one_thread_and_on_two() {
    let one = |words: &&&str| words.starts_with("eprca-variants");
    let words = CATALOGUE.iter().find(one).unwrap();
    same_on_one_thread_and_on_two(&[&format!("{words} --set sweep.idle.to=[\"adtf\"]")]);
}

fn killed_and_resumed(moments: &[u64]) {
    let scratch = with_small();
    let undisturbed = whole(&scratch, "run small.toml -q --no-report");
    for moment in moments {
        let scratch = with_small();
        let mut command = inside(&scratch, "run small.toml -q --no-report");
        let mut process = Process::start(command.stdout(Stdio::null()));
        std::thread::sleep(Duration::from_millis(20 + 40 * moment));
        process.signal(Signal::SIGKILL);
        process.child.wait().unwrap();
        let is_whole = fs::canonicalize(scratch.path("runs/latest")).is_ok();
        if is_whole || !scratch.has_partial_run() {
            continue;
        }
        let resumed = whole(&scratch, "resume latest -q --no-report --threads 2");
        assert!(resumed == undisturbed, "killed at moment {moment}");
    }
}

#[test]
fn a_simulation_that_is_killed_is_resumed_to_the_same_bytes() {
    killed_and_resumed(&[0, 2]);
}

#[test]
fn check_speaks_of_simulated_time() {
    let scratch = with_small();
    let checked = ran(&scratch, "check small.toml");
    let expected = "8 trials in sim, about 4.00 s of simulated time";
    assert!(checked.stdout.contains(expected), "{}", checked.stdout);
}

#[test]
fn what_does_not_fit_the_world_is_refused() {
    let scratch = with_small();
    for (words, why) in [
        (
            "run small.toml --world sim --target 192.0.2.1",
            "--target is for the world `live`",
        ),
        (
            "run wait-time-jitter --threads 2",
            "--threads is for the world `sim`",
        ),
        (
            "check small.toml --world testbed --set path.switch.discipline=efci",
            "ABR sources",
        ),
        (
            "run small.toml --target 192.0.2.1",
            "a live path is there already",
        ),
    ] {
        let refused = ran(&scratch, words);
        assert_eq!(refused.code, 2, "{words}: {}", refused.stderr);
        let said = refused
            .stderr
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        assert!(said.contains(why), "{words}: {said}");
    }
}

#[test]
fn repeats_end_when_the_statistic_is_known() {
    let scratch = Scratch::new();
    let stops = r#"stop = { of = "mean(response)", within = "20%", at_most = 9 }"#;
    scratch.file("small.toml", &SMALL.replace("repeats = 4", stops));
    let checked = ran(&scratch, "check small.toml");
    assert!(
        checked.stdout.contains("at most 18 trials"),
        "{}",
        checked.stdout
    );
    assert!(!checked.stdout.contains("warning"), "{}", checked.stdout);
    let rare = "check small.toml --set design.stop.of=p999(response)";
    let checked = ran(&scratch, rare);
    let warning = "warning: design.stop: p999 needs 1000 answers in a trial; probe `";
    assert!(checked.stdout.contains(warning), "{}", checked.stdout);
    let done = ran(&scratch, "run small.toml --json -q --no-report");
    assert_eq!(done.code, 0, "{}", done.stderr);
    let trials = done
        .stdout
        .lines()
        .filter(|line| line.contains("\"trial\":"));
    let count = trials.count();
    assert!((4..18).contains(&count), "{count} trials");

    // As one that was killed just before it had its name, with a page that was made of it meanwhile; by a version whose
    // simulations are others. Nothing of it is left to be simulated.
    let run = fs::canonicalize(scratch.path("runs/latest")).unwrap();
    let partial = format!("{}.partial", run.display());
    fs::rename(&run, &partial).unwrap();
    let environment = Path::new(&partial).join("environment.json");
    let text = fs::read_to_string(&environment).unwrap();
    let version = format!("\"delaylab\": \"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(text.contains(&version), "{text}");
    fs::write(
        &environment,
        text.replace(&version, "\"delaylab\": \"0.0.0\""),
    )
    .unwrap();
    fs::remove_file(Path::new(&partial).join("manifest.json")).unwrap();
    let shown = ran(&scratch, &format!("report {partial}"));
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    assert!(Path::new(&partial).join("report.html").exists());
    let resumed = ran(&scratch, &format!("resume {partial} -q --no-report"));
    assert_eq!(resumed.code, 0, "{}", resumed.stderr);
    assert!(run.join("findings.json").exists() && !run.join("report.html").exists());
    let text = fs::read_to_string(run.join("environment.json")).unwrap();
    assert!(!text.contains("\"resumed\""), "{text}");
}

/// A second probe, in a class of its own.
const TWO_PROBES: &str = r#"
[[probe]]
name = "ef"
method = "udp"
payload = "64B"
class = "ef"
pacing = { poisson = "5ms" }
duration = "500ms"
"#;

#[test]
fn probes_have_rows_of_their_own_and_two_runs_stand_in_one_table() {
    let scratch = Scratch::new();
    scratch.file(
        "small.toml",
        &SMALL.replace("[[load]]", &format!("{TWO_PROBES}\n[[load]]")),
    );
    let carried_out = |words: &str| {
        let done = ran(&scratch, &format!("run small.toml --no-report {words}"));
        assert_eq!(done.code, 0, "{}", done.stderr);
        done.stdout
    };
    let shown = carried_out("-o near --set design.repeats=2");
    let starts = |start: &str| shown.lines().any(|line| line.starts_with(start));
    assert!(starts("IPDV"), "{shown}");
    assert!(shown.contains("ef"), "{shown}");
    carried_out("-o far --set design.repeats=2 --set path.propagation=5ms");
    let far = fs::canonicalize(scratch.path("far/latest")).unwrap();
    let far = far.display();
    let beside = ran(
        &scratch,
        &format!("report latest --runs near --compare-with {far}"),
    );
    assert_eq!(beside.code, 0, "{}", beside.stderr);
    // Four rows: two numbers of streams, two probes; the way is longer in both directions.
    let paths = ["forward path", "return path"];
    let rows = beside.stdout.lines();
    let rows = rows.filter(|line| paths.iter().any(|path| line.contains(path)));
    assert_eq!(rows.count(), 4, "{}", beside.stdout);
    carried_out("-o other --set design.repeats=1 --set sweep.streams.to=[1,2]");
    let other = fs::canonicalize(scratch.path("other/latest")).unwrap();
    let other = other.display();
    let nothing = ran(
        &scratch,
        &format!("report latest --runs near --beside {other}"),
    );
    assert_eq!(nothing.code, 2, "{}", nothing.stdout);
    assert!(nothing.stderr.contains("in common"), "{}", nothing.stderr);
}

/// The same with many more, in `make test-all`.
mod long {
    use super::*;

    #[test]
    fn every_figure_is_written_as_svg() {
        let scratch = with_small();
        whole(&scratch, "run small.toml -q --no-report");
        let report = ran(&scratch, "report latest --svg figures");
        assert_eq!(report.code, 0, "{}", report.stderr);
        let svg = fs::read_to_string(scratch.path("figures/series-backlog.svg")).unwrap();
        assert!(svg.contains("backlog (cells)"));
    }

    #[test]
    fn each_of_the_catalogue_is_the_same_on_one_thread_and_on_two() {
        same_on_one_thread_and_on_two(CATALOGUE);
    }

    /// Echoes beside TTCPs in a simulated testbed once took hundreds of milliseconds, where the real one has two or three.
    #[test]
    fn the_testbed_that_is_simulated_responds_as_the_testbed_does() {
        let scratch = Scratch::new();
        let short = "--set sweep.size.to=[\"64B\"] --set design.repeats=1";
        let done = ran(
            &scratch,
            &format!("run atm-response-time --quick -q --no-report {short}"),
        );
        assert_eq!(done.code, 0, "{}", done.stderr);
        let found = fs::read_to_string(scratch.path("runs/latest/findings.json")).unwrap();
        let found: serde_json::Value = serde_json::from_str(&found).unwrap();
        assert_eq!(found[0]["id"], "003.0");
        assert_eq!(found[0]["verdict"], "true", "{}", found[0]);
    }

    /// The other way round, a trial may be too short for what its series would have.
    #[test]
    fn what_check_calls_not_applicable_no_run_of_the_catalogue_judges() {
        for words in CATALOGUE {
            let scratch = Scratch::new();
            let checked = ran(&scratch, &format!("check {words} --quick --json"));
            assert_eq!(checked.code, 0, "{words}: {}", checked.stderr);
            let checked: serde_json::Value = serde_json::from_str(&checked.stdout).unwrap();
            let done = ran(&scratch, &format!("run {words} --quick -q --no-report"));
            assert_eq!(done.code, 0, "{words}: {}", done.stderr);
            let judged = fs::read_to_string(scratch.path("runs/latest/findings.json")).unwrap();
            let judged: serde_json::Value = serde_json::from_str(&judged).unwrap();
            let before = checked["findings"].as_array().unwrap().iter();
            for (before, after) in before.zip(judged.as_array().unwrap()) {
                assert_eq!(before["id"], after["id"], "{words}");
                let is_called = !before["not_applicable"].is_null();
                let is_judged = after["verdict"] != "not_applicable";
                assert!(!(is_called && is_judged), "{words}: {after}");
            }
        }
    }

    #[test]
    fn a_simulation_that_is_killed_at_six_moments_is_resumed_to_the_same_bytes() {
        killed_and_resumed(&Vec::from_iter(0..6));
    }
}
