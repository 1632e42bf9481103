//! `delaylab bench`: every procedure, devices that misbehave, interfaces of this host, and what
//! cannot be meant.

use crate::harness::in_one_of_three;
use crate::harness::netns::Namespace;
use crate::harness::process::{Process, Ran, delaylab, inside, ran};
use crate::harness::scratch::Scratch;
use crate::or_skip;
use nix::sys::signal::Signal;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

/// Each, and what it needs beside a frame size to find something within seconds.
const PROCEDURES: [(&str, &str); 12] = [
    ("throughput", ""),
    ("latency", ""),
    ("frame-loss", ""),
    ("back-to-back", ""),
    ("system-recovery", ""),
    ("reset", ""),
    ("buffer-time", ""),
    // 64 KiB fill in the second that a short trial lasts.
    ("buffering", "--set design.procedure.excess=20%"),
    ("microburst", ""),
    ("head-of-line-blocking", ""),
    ("incast", ""),
    ("mlrsearch", ""),
];

#[test]
fn every_procedure_is_listed_in_two_lines() {
    let listed = Ran::to_end(delaylab(None).args(["bench", "list"]));
    assert_eq!(listed.code, 0, "{}", listed.stderr);
    let lines: Vec<&str> = listed.stdout.lines().collect();
    assert_eq!(lines.len(), 3 * PROCEDURES.len(), "{}", listed.stdout);
    for (entry, (name, _)) in lines.chunks(3).zip(PROCEDURES) {
        assert!(entry[0].starts_with(&format!("{name}  (RFC ")), "{entry:?}");
        assert!(entry[1..].iter().all(|line| line.starts_with("    ")));
        assert!(entry.iter().all(|line| line.len() < 100), "{entry:?}");
    }
    let json = Ran::to_end(delaylab(None).args(["bench", "list", "--json"]));
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["schema"], "delaylab/procedures/1");
    let procedures = json["procedures"].as_array().unwrap().iter();
    let names: Vec<_> = procedures
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, PROCEDURES.map(|(name, _)| name));
}

/// What `--json` prints last.
fn last(done: &Ran) -> Value {
    let line = done.stdout.lines().last();
    serde_json::from_str(line.unwrap_or_else(|| panic!("{}", done.stderr))).unwrap()
}

/// The cell of the first row of the first table in the first column of this name.
fn cell<'a>(benchmark: &'a Value, column: &str) -> &'a Value {
    let table = &benchmark["tables"][0];
    let columns = table["columns"].as_array().unwrap();
    let at = columns.iter().position(|one| one["name"] == column);
    &table["rows"][0][at.unwrap_or_else(|| panic!("no column `{column}`: {table}"))]
}

fn number(benchmark: &Value, column: &str) -> f64 {
    let found = cell(benchmark, column).as_f64();
    found.unwrap_or_else(|| panic!("{column}: {benchmark}"))
}

fn is_shortened(benchmark: &Value) -> bool {
    let mut clauses = benchmark["conformance"].as_array().unwrap().iter();
    clauses.any(|clause| clause["holds"] == "shortened")
}

/// What each procedure found of a simulated device, and left in the folder of its run.
fn of_a_simulated_device(scratch: &Scratch, name: &str, words: &str, drawn: bool) -> Value {
    let page = if drawn { "" } else { " --no-report" };
    let words = format!(
        "bench {name} --world sim --quick --size 512B --seed 7 --json -q -o {name}{page} {words}"
    );
    let done = ran(scratch, words.trim());
    assert_eq!(done.code, 0, "{words}: {}", done.stderr);
    let benchmark = last(&done)["benchmark"].clone();
    assert_eq!(benchmark["procedure"], name);
    let title = benchmark["title"].as_str().unwrap();
    let run = scratch.path(name).join("latest");
    let markdown = fs::read_to_string(run.join("benchmark.md")).unwrap();
    assert!(markdown.starts_with(&format!("# {title}")), "{markdown}");
    assert!(markdown.contains("| frame size (B) | "), "{markdown}");
    if drawn {
        let page = fs::read_to_string(run.join("report.html")).unwrap();
        assert!(page.contains("<h2>Conformance"), "{name}");
    }
    benchmark
}

/// What these procedures found, by name. Two at a time. A page is drawn of some.
fn found_by(names: &[&str], drawn: &[&str]) -> BTreeMap<&'static str, Value> {
    let scratch = Scratch::new();
    let is_wanted = |&(name, _): &(&str, &str)| names.contains(&name);
    let wanted = Vec::from_iter(PROCEDURES.into_iter().filter(is_wanted));
    let half = |half: usize| {
        let own = wanted.iter().skip(half).step_by(2);
        let found = own.map(|(name, words)| {
            (
                *name,
                of_a_simulated_device(&scratch, name, words, drawn.contains(name)),
            )
        });
        found.collect::<BTreeMap<_, _>>()
    };
    let found = std::thread::scope(|scope| {
        let other = scope.spawn(|| half(1));
        let mut found = half(0);
        found.extend(other.join().unwrap());
        found
    });
    assert_eq!(found.len(), names.len());
    for (name, benchmark) in &found {
        assert_eq!(*cell(benchmark, "frame size"), 512, "{benchmark}");
        // Figures of the device, and not only the size that was asked for.
        let row = benchmark["tables"][0]["rows"][0].as_array().unwrap();
        let figures = row.iter().filter(|cell| cell.is_number());
        assert!(figures.count() >= 3, "{benchmark}");
        // These bursts have no duration that could be shortened.
        if !["microburst", "incast"].contains(name) {
            assert!(is_shortened(benchmark), "{benchmark}");
        }
    }
    found
}

/// Those whose figures the device alone decides. The others in `make test-all`.
#[test]
fn procedures_find_what_was_configured() {
    let found = found_by(&["throughput", "reset", "buffer-time"], &["throughput"]);
    figures_are_those_of_the_device(&found);
}

fn figures_are_those_of_the_device(found: &BTreeMap<&'static str, Value>) {
    let figure = |name: &str, column: &str| number(&found[name], column);
    // As many frames come out as the slower port takes. A trial of a second does not tell what a
    // buffer of 123 frames takes in from what is forwarded.
    let most = figure("throughput", "theoretical maximum");
    assert!((most - 2349.624).abs() < 0.01, "{most}");
    let rate = figure("throughput", "throughput");
    assert!((most..most + 124.0).contains(&rate), "{rate}");
    // One in ten of a burst is forwarded while it comes. A buffer counts preamble and gap too.
    let held = 0.9 * figure("buffer-time", "average burst");
    assert!((held - 65536.0 / 532.0).abs() < 2.0, "{held}");
    let reset = figure("reset", "reset time");
    assert!((reset - 200e6).abs() < 1e6, "{reset}");
}

/// One frame size, some ten trials.
const SEARCH: &str =
    "bench throughput --world sim --quick --size 512B --seed 7 --json -q --no-report";
/// Two frame sizes, some twenty trials.
const LONG_SEARCH: &str =
    "bench throughput --world sim --quick --size 64B,512B --seed 7 --json -q --no-report";

fn tables(run: &Path) -> Vec<Vec<u8>> {
    let names = ["records", "trials", "hops", "series"];
    let read = |name: &str| fs::read(run.join(format!("{name}.parquet"))).unwrap();
    names.map(read).to_vec()
}

/// Kills the search at each of these times after it began, ms, and lets it go on.
fn killed_and_resumed(search: &str, sizes: &[&str], moments: &[u64]) {
    let scratch = Scratch::new();
    let done = ran(&scratch, search);
    assert_eq!(done.code, 0, "{}", done.stderr);
    let (whole, bytes) = (last(&done), tables(&scratch.path("runs/latest")));
    let report = ran(&scratch, "report latest").stdout;
    let told = report.lines().find(|line| line.starts_with("frame size"));
    let told: Vec<_> = told.unwrap_or_default().split_whitespace().collect();
    assert!(told.ends_with(sizes), "{report}");
    assert!(report.contains("Does not conform"), "{report}");
    let mut killed = 0;
    for moment in moments {
        let scratch = Scratch::new();
        let mut command = inside(&scratch, search);
        let mut process = Process::start(command.stdout(Stdio::null()).stderr(Stdio::null()));
        while !scratch.has_partial_run() && process.child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(*moment));
        process.signal(Signal::SIGKILL);
        process.child.wait().unwrap();
        if !scratch.has_partial_run() {
            continue;
        }
        killed += 1;
        let resumed = ran(&scratch, "resume latest --json -q --no-report");
        assert_eq!(resumed.code, 0, "moment {moment}: {}", resumed.stderr);
        assert_eq!(last(&resumed)["benchmark"], whole["benchmark"]);
        assert!(tables(&scratch.path("runs/latest")) == bytes, "{moment}");
    }
    assert!(killed > 0, "none was killed while it searched");
}

/// The same with many more, in `make test-all`.
mod long {
    use super::*;

    #[test]
    fn every_procedure_finds_what_was_configured() {
        let names = PROCEDURES.map(|(name, _)| name);
        let found = found_by(&names, &names);
        figures_are_those_of_the_device(&found);
        let held = number(&found["buffering"], "held");
        assert!((held - 65536.0 / 532.0).abs() < 2.0, "{held}");
        // Each port has a queue of its own: a free one does not suffer from a congested one.
        let blocking = &found["head-of-line-blocking"];
        assert_eq!(*cell(blocking, "blocking"), "no", "{blocking}");
    }

    #[test]
    fn a_search_that_is_killed_goes_on_to_the_same_result() {
        killed_and_resumed(SEARCH, &["512"], &[250]);
    }

    #[test]
    fn a_search_of_two_sizes_that_is_killed_goes_on_to_the_same_result() {
        killed_and_resumed(LONG_SEARCH, &["64", "512"], &[250, 700]);
    }
}

/// Root, who may make namespaces.
fn root() -> Result<(), String> {
    if delaylab_kernel::privilege::is_root() {
        Ok(())
    } else {
        Err("a device of this test needs root".to_owned())
    }
}

/// What the throughput of a soft switch of 10 Mbit/s is, whose fault this is; and what the run says
/// of it all. Where another program had the CPU the tester says that none of its trials was valid: then there is
/// nothing to look at yet.
fn throughput(faults: &str) -> (Ran, Value) {
    let measured = (0..5).map(|_| throughput_once(faults));
    let mut measured = measured.skip_while(|(_, told)| {
        let notes = told["benchmark"]["notes"].as_array().unwrap().iter();
        let notes = notes.filter_map(Value::as_str);
        notes
            .filter_map(invalid)
            .any(|(invalid, all)| invalid == all)
    });
    measured.next().expect("no valid trial in five runs")
}

/// `N of M trials were invalid and were not counted.`
fn invalid(note: &str) -> Option<(&str, &str)> {
    let (invalid, rest) = note.split_once(" of ")?;
    let (all, _) = rest.split_once(" trials were invalid")?;
    Some((invalid, all))
}

fn throughput_once(faults: &str) -> (Ran, Value) {
    let scratch = Scratch::new();
    let words = format!(
        "bench throughput --quick --size 512B --rate 10Mbit/s --json -q --no-report \
         --set path.switch.latency=200us --set design.procedure.trial=500ms \
         --set design.procedure.resolution=20% {faults}"
    );
    let done = Ran::to_end(
        delaylab(None)
            .args(words.split_whitespace())
            .current_dir(scratch.path("")),
    );
    let told = last(&done);
    (done, told)
}

/// All that was sent at the highest load came out. A machine that stopped the switch for longer than its buffer lasts
/// made it lose frames, which are lost in a valid trial.
fn is_highest(told: &Value) -> Result<(), String> {
    let found = *cell(&told["benchmark"], "load") == 99.98;
    (found.then_some(())).ok_or_else(|| format!("not the highest load: {told}"))
}

/// A namespace with interfaces p1 and p2, whose far ends are on a bridge of the kernel.
fn with_a_bridge() -> Result<Namespace, String> {
    root()?;
    let host = Namespace::new('d')?;
    host.ip("link add bridge0 type bridge forward_delay 0")?;
    for port in ["1", "2"] {
        host.ip(&format!(
            "link add p{port} mtu 1500 type veth peer name q{port} mtu 1500"
        ))?;
        host.ip(&format!("link set q{port} master bridge0"))?;
        for end in ["p", "q"] {
            // Nobody announces addresses beside the frames.
            host.ip(&format!("link set {end}{port} addrgenmode none"))?;
            host.ip(&format!("link set {end}{port} up"))?;
        }
    }
    host.ip("link set bridge0 addrgenmode none")?;
    host.ip("link set bridge0 up")?;
    Ok(host)
}

/// `delaylab bench throughput WORDS` there. `ip netns exec` shows it the interfaces of the namespace
/// in /sys.
fn bench_in(host: &Namespace, scratch: &Scratch, words: &str) -> Ran {
    let mut command = delaylab(Some(host));
    command
        .args([
            "bench",
            "throughput",
            "--quick",
            "-q",
            "--json",
            "--no-report",
        ])
        .args(words.split_whitespace())
        .current_dir(scratch.path(""));
    Ran::to_end(&mut command)
}

#[test]
fn interfaces_that_cannot_be_used_are_named() {
    let host = or_skip!(with_a_bridge());
    host.ip("link add d0 type veth peer name d1").unwrap();
    host.ip("link add u0 type veth peer name u1").unwrap();
    host.ip("link set u0 up").unwrap();
    let scratch = Scratch::new();
    for (words, why) in [
        (
            "--port p1 --port nope --size 512B",
            "there is no interface `nope`: `ip link` lists",
        ),
        (
            "--port p1 --port d0 --size 512B",
            "interface `d0` is down: `ip link set d0 up`",
        ),
        (
            "--port p1 --port u0 --size 512B",
            "interface `u0` has no peer (no carrier): is the cable in, is the other end up?",
        ),
        // Also where smaller frames, which fit, are sent first.
        (
            "--port p1 --port p2 --size 64B,4096B",
            "a frame of 4096 B does not fit interface `p1`, whose MTU is 1500 B: `ip link set p1 mtu 4078`",
        ),
    ] {
        let done = bench_in(&host, &scratch, &format!("{words} --rate 10Mbit/s"));
        assert!([1, 2].contains(&done.code), "{words}: {}", done.stderr);
        assert!(done.stderr.contains(why), "{words}: {}", done.stderr);
    }
    // Nothing was begun.
    assert!(!scratch.path("runs").exists());
}

/// TCP between ports that are no hosts.
const LIVE_INCAST: &str = r#"
name = "live-incast"
world = "live"

[path]
rate = "1Gbit/s"

[[probe]]
name = "burst"
method = "frame"
from = "eth1"
to = "eth3"
count = 1
pacing = { load = "50%" }

[[probe]]
name = "other"
method = "frame"
from = "eth2"
to = "eth3"
count = 1
pacing = { load = "50%" }

[design.procedure]
name = "incast"
"#;

#[test]
fn what_cannot_be_meant_is_refused() {
    let scratch = Scratch::new();
    scratch.file("incast.toml", LIVE_INCAST);
    for (words, why) in [
        (
            "bench no-such",
            "there is no procedure `no-such`: there are throughput, latency, frame-loss,",
        ),
        (
            "bench throughput --port eth1",
            "give --port twice or more often",
        ),
        (
            "bench throughput --world live",
            "name them, --port eth1 --port eth2",
        ),
        (
            "bench throughput --world sim --port eth1 --port eth2",
            "the world `sim` builds its own device",
        ),
        (
            "bench throughput --port eth1 --port eth2",
            "give it, --rate 1Gbit/s",
        ),
        (
            "bench incast --port eth1 --port eth2 --port eth3 --rate 1Gbit/s",
            "TCP goes between hosts",
        ),
        (
            "bench head-of-line-blocking --port eth1 --port eth2",
            "needs four ports",
        ),
        (
            "bench head-of-line-blocking --world sim --quick --senders 4",
            "leave --senders out",
        ),
        ("bench throughput --world sim --size 64", "write `64B`"),
        (
            "bench throughput --world sim --vlan 5000",
            "there is no VLAN 5000",
        ),
        (
            "bench throughput --world sim --quick --vlan 5",
            "simulated switches know no tags",
        ),
        (
            "bench throughput --world sim --quick --set path.switch.impair.loss=1%",
            "is for the testbed's soft switch",
        ),
        // Also where smaller frames, which fit, are sent first.
        (
            "bench throughput --world sim --quick --size 64B,4096B",
            "raise `path.mtu` to 4078B",
        ),
        (
            "bench throughput --quick --size 64B,4096B",
            "raise `path.mtu` to 4078B",
        ),
        ("run incast.toml", "live load goes from this host"),
        (
            "bench throughput --world sim --set design.procedure.trial=1s --show-experiment",
            "are for `delaylab run`",
        ),
    ] {
        let refused = ran(&scratch, words);
        assert_eq!(refused.code, 2, "{words}: {}", refused.stderr);
        let said: Vec<_> = refused.stderr.split_whitespace().collect();
        let said = said.join(" ");
        assert!(said.contains(why), "{words}: {said}");
    }
    // Nothing was begun.
    assert!(!scratch.path("runs").exists());
    // A frame has no room for what it must carry.
    let small = ran(
        &scratch,
        "bench throughput --world sim --quick --size 63B -q",
    );
    assert_ne!(small.code, 0);
    let said = format!("{}{}", small.stdout, small.stderr);
    assert!(said.contains("64 B at least"), "{said}");
}

#[test]
fn a_reset_is_in_the_middle_of_a_trial_whose_length_is_set() {
    let scratch = Scratch::new();
    let words = "bench reset --world sim --size 512B --rate 10Mbit/s --set design.procedure.trial=2s \
                 --set design.procedure.repeats=1 --seed 7 --json -q --no-report";
    let done = ran(&scratch, words);
    assert_eq!(done.code, 0, "{}", done.stderr);
    let reset = number(&last(&done)["benchmark"], "reset time");
    assert!((reset - 200e6).abs() < 1e6, "{reset}");
    let recorded = fs::read_to_string(scratch.path("runs/latest/experiment.toml")).unwrap();
    // Five seconds in which the device settles, and half of the trial.
    assert!(recorded.contains("at = \"6s\""), "{recorded}");
}

#[test]
fn the_experiment_that_it_is_can_be_run_as_a_file() {
    let scratch = Scratch::new();
    let words = "bench back-to-back --world sim --size 512B --no-report";
    let shown = ran(&scratch, &format!("{words} --show-experiment"));
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    scratch.file("bursts.toml", &shown.stdout);
    let of = |words: &str| {
        let done = ran(&scratch, &format!("{words} --quick --seed 3 --json -q"));
        assert_eq!(done.code, 0, "{words}: {}", done.stderr);
        last(&done)["benchmark"].clone()
    };
    assert_eq!(of("run bursts.toml"), of(words));
}

/// A device whose reset lasts twice as long.
#[test]
fn two_benchmarks_are_compared_by_what_they_found() {
    let scratch = Scratch::new();
    for (folder, words) in [
        ("a", "reset"),
        ("b", "reset --set path.switch.reset.lasts=400ms"),
        ("other", "microburst"),
    ] {
        let words = format!(
            "bench {words} --world sim --quick --size 512B --seed 7 -q --no-report -o {folder}"
        );
        let done = ran(&scratch, &words);
        assert_eq!(done.code, 0, "{words}: {}", done.stderr);
    }
    let told = ran(&scratch, "compare a/latest b/latest");
    assert_eq!(told.code, 0, "{}", told.stderr);
    let text = told.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for says in [
        "path.switch.reset.lasts changed from 200ms to 400ms: reset: at frame size 512 B",
        "reset time from 200 ms to 400 ms (+",
    ] {
        assert!(text.contains(says), "{says}: {}", told.stdout);
    }
    let json = ran(&scratch, "compare a/latest b/latest --json");
    let document: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(document["pairs"], serde_json::json!([]));
    let mut rows = document["benchmark"]["rows"].as_array().unwrap().iter();
    let row = rows.find(|row| row["figure"] == "reset time").unwrap();
    let relative = row["relative"].as_f64().unwrap();
    assert!((relative - 1.0).abs() < 0.02, "{row}");
    let page = ran(&scratch, "compare a/latest b/latest -o both.html");
    assert_eq!(page.code, 0, "{}", page.stderr);
    let page = fs::read_to_string(scratch.path("both.html")).unwrap();
    assert!(page.contains("<td>reset time"), "{page}");
    for (words, says) in [
        ("b/latest --fail-if lost>1%", "--fail-if judges packets"),
        ("b/latest --measure rtt", "--measure chooses measures"),
        ("other/latest", "choose two runs of one procedure"),
    ] {
        let refused = ran(&scratch, &format!("compare a/latest {words}"));
        assert_eq!(refused.code, 2, "{}", refused.stdout);
        assert!(refused.stderr.contains(says), "{}", refused.stderr);
    }
    let table = ran(&scratch, "report a/latest --compare-with b/latest");
    assert_eq!(table.code, 2, "{}", table.stdout);
    let says = "`delaylab compare` compares what they found";
    assert!(table.stderr.contains(says), "{}", table.stderr);
}

/// Tests that mostly wait, and keep to milliseconds: one at a time, beside what computes.
mod in_turn {
    use super::*;

    #[test]
    fn a_soft_switch_forwards_at_its_rate() {
        or_skip!(root());
        in_one_of_three(|| {
            let (done, told) = throughput("");
            assert_eq!(done.code, 0, "{}", done.stderr);
            let benchmark = &told["benchmark"];
            for none in ["duplicates", "reordered", "corrupt"] {
                assert_eq!(*cell(benchmark, none), 0, "{none}: {benchmark}");
            }
            assert!(is_shortened(benchmark), "{benchmark}");
            is_highest(&told)
        });
    }

    #[test]
    fn a_device_that_forwards_nothing_has_no_throughput() {
        or_skip!(root());
        let (_, told) = throughput("--set path.switch.impair.loss=100%");
        let benchmark = &told["benchmark"];
        assert_eq!(number(benchmark, "throughput"), 0.0, "{benchmark}");
        let notes = benchmark["notes"].to_string();
        assert!(notes.contains("loss at every load"), "{notes}");
    }

    #[test]
    fn a_device_that_misbehaves_is_seen_through() {
        or_skip!(root());
        in_one_of_three(|| {
            // Where its line has room for copies; else they take that of frames.
            let faults = "--egress-rate 20Mbit/s --set path.switch.impair.duplicate=20%";
            let (_, told) = throughput(faults);
            is_highest(&told)?;
            let copies = number(&told["benchmark"], "duplicates");
            // 1174 frames: 235 of them, with a standard deviation of 14.
            assert!((150.0..320.0).contains(&copies), "{copies}");
            Ok(())
        });

        in_one_of_three(|| {
            let (_, told) = throughput(
                "--set path.switch.impair.reorder=10% --set path.switch.impair.reorder_by=5ms",
            );
            is_highest(&told)?;
            let reordered = number(&told["benchmark"], "reordered");
            assert!((50.0..200.0).contains(&reordered), "{reordered}");
            Ok(())
        });

        // A frame that came out changed did not come out (RFC 1242 §3.6 counts it as lost).
        let (_, told) = throughput("--set path.switch.impair.corrupt=100%");
        let benchmark = &told["benchmark"];
        assert_eq!(number(benchmark, "throughput"), 0.0, "{benchmark}");
        assert!(number(benchmark, "corrupt") > 0.0, "{benchmark}");

        // With two ports there is none that a frame could go to but the right one.
        in_one_of_three(|| {
            let faults = "--senders 2 --egress-rate 20Mbit/s --set path.switch.impair.flood=100%";
            let (done, told) = throughput(faults);
            let warnings = told["warnings"].to_string();
            assert!(warnings.contains("the device floods"), "{warnings}");
            assert!(done.stderr.contains("the device floods"), "{}", done.stderr);
            is_highest(&told)
        });
    }

    #[test]
    fn a_bridge_between_interfaces_of_this_host_is_as_fast_as_they_are() {
        let host = or_skip!(with_a_bridge());
        let scratch = Scratch::new();
        for tags in ["", " --vlan 7 -6"] {
            in_one_of_three(|| {
                let words = format!("--port p1 --port p2 --rate 10Mbit/s --size 512B{tags}");
                let done = bench_in(&host, &scratch, &words);
                if done.code != 0 {
                    return Err(done.stderr);
                }
                is_highest(&last(&done))
            });
        }
    }
}
