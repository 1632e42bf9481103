//! A simulation in shards is the same run, byte for byte, as if one process had carried it out.

use crate::harness::process::{DELAYLAB, Process, Ran, inside, ran};
use crate::harness::scratch::Scratch;
use crate::skip;
use nix::sys::signal::Signal;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Ten trials, half a second of simulated time each.
const TEN: &str = r#"
name = "ten"
title = "Ten trials"
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

[path]
topology = "pairs-on-a-trunk"
rate = "20Mbit/s"
propagation = "2ms"

[path.switch]
discipline = "fifo"
buffer = "64KiB"

[sweep]
streams = { set = "load.bulk.streams", to = [0, 2] }

[design]
repeats = 5

[[finding]]
id = "1"
says = "Load makes responses wait"
check = "p50(response | streams=2) > p50(response | streams=0)"
"#;

fn scratch() -> Scratch {
    let scratch = Scratch::new();
    scratch.file("ten.toml", TEN);
    scratch
}

fn ok(scratch: &Scratch, words: &str) -> String {
    let done = ran(scratch, words);
    assert_eq!(done.code, 0, "{words}: {}", done.stderr);
    done.stdout
}

fn refused(scratch: &Scratch, words: &str) -> String {
    let done = ran(scratch, words);
    assert_eq!(done.code, 2, "{words}: {}", done.stderr);
    done.stderr.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Every table and what was found, by name.
fn tables(run: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(run)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let held = files.filter(|path| {
        path.extension().is_some_and(|end| end == "parquet") || path.ends_with("findings.json")
    });
    held.map(|path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, fs::read(&path).unwrap())
    })
    .collect()
}

fn whole() -> BTreeMap<String, Vec<u8>> {
    let scratch = scratch();
    ok(&scratch, "run ten.toml -q --no-report");
    let tables = tables(&scratch.path("runs/latest"));
    assert!(tables.len() > 5, "{:?}", tables.keys());
    tables
}

/// The shards in `runs`, as they are given to `merge`: a folder has another name until all that a run begins with is in it.
fn shards(scratch: &Scratch) -> Vec<PathBuf> {
    let all = fs::read_dir(scratch.path("runs")).unwrap();
    let all = all.map(|entry| entry.unwrap().path());
    let mut shards: Vec<_> = all
        .filter(|path| {
            let is_partial = path.extension().is_some_and(|end| end == "partial");
            is_partial && path.to_string_lossy().contains("-shard-")
        })
        .collect();
    shards.sort();
    shards
}

fn merge(shards: &[PathBuf]) -> String {
    let names: Vec<_> = shards
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    format!("merge {} -q --no-report", names.join(" "))
}

#[test]
fn any_number_of_shards_in_any_order_is_the_same_run() {
    // Of eleven, one has no trial.
    are_the_same_run(&[2, 11]);
}

fn are_the_same_run(shards_of_each: &[usize]) {
    let undivided = whole();
    for &of in shards_of_each {
        let scratch = scratch();
        for number in (1..=of).rev() {
            let said = ok(&scratch, &format!("run ten.toml -q --shard {number}/{of}"));
            assert!(said.contains(&format!("Shard {number}/{of}: ")), "{said}");
            assert!(
                said.contains(&format!("delaylab merge runs/ten-shard-*-of-{of}-*")),
                "{said}"
            );
        }
        let mut shards = shards(&scratch);
        assert_eq!(shards.len(), of);
        let by = of / 2;
        shards.rotate_left(by);
        ok(&scratch, &merge(&shards));
        assert!(
            tables(&scratch.path("runs/latest")) == undivided,
            "{of} shards"
        );
        assert_eq!(ran(&scratch, "verify latest").code, 0);
        // They stay, and may be merged again; one that is named twice is taken once.
        ok(&scratch, &merge(&[&shards[..], &shards[..1]].concat()));
        assert!(
            tables(&scratch.path("runs/latest")) == undivided,
            "{of} shards again"
        );
    }
}

/// What is left of the first of two shards, killed once a trial of it is recorded. One that has ended by then is run again.
fn killed(scratch: &Scratch) -> PathBuf {
    for _ in 0..20 {
        let words = "run ten.toml -q --shard 1/2 --threads 1";
        let mut process = Process::start(inside(scratch, words).stdout(Stdio::null()));
        let recorded = |shard: &Path| fs::read_dir(shard.join("parts")).unwrap().count();
        let first = loop {
            let found = shards(scratch)
                .into_iter()
                .find(|path| path.to_string_lossy().contains("-1-of-2-"));
            match found.filter(|path| recorded(path) > 0) {
                Some(first) => break first,
                None => std::thread::sleep(Duration::from_millis(1)),
            }
        };
        process.signal(Signal::SIGKILL);
        // It has five trials.
        let was_killed = !process.child.wait().unwrap().success();
        if was_killed && recorded(&first) < 5 {
            return first;
        }
        fs::remove_dir_all(first).unwrap();
    }
    panic!("it has always ended before it is killed");
}

/// One is killed: it is resumed as the shard that it was, or run again beside what is left of it.
#[test]
fn a_shard_that_was_killed_is_resumed_or_repeated() {
    let undivided = whole();
    for repeated in [false, true] {
        let scratch = scratch();
        ok(&scratch, "run ten.toml -q --shard 2/2");
        let first = killed(&scratch);
        let [_, whole] = <[PathBuf; 2]>::try_from(shards(&scratch)).unwrap();
        let shown = ok(
            &scratch,
            &format!("report {} -o page.html", whole.display()),
        );
        let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        let waits = "`delaylab merge` makes one run of it and the others";
        assert!(words.contains(waits), "{shown}");
        if repeated {
            ok(&scratch, "run ten.toml -q --shard 1/2");
        } else {
            ok(&scratch, &format!("resume {} -q", first.display()));
        }
        ok(&scratch, &merge(&shards(&scratch)));
        // What is left of the one that was killed can be resumed; the others were merged.
        let said = refused(&scratch, "resume runs/latest");
        assert_eq!(
            said.contains("was interrupted. Continue it"),
            repeated,
            "{said}"
        );
        assert!(
            tables(&scratch.path("runs/latest")) == undivided,
            "repeated: {repeated}"
        );
    }
}

#[test]
fn a_table_a_figure_or_a_model_of_a_part_of_a_run_is_said_to_be_one() {
    let scratch = scratch();
    ok(&scratch, "run ten.toml -q --shard 1/2");
    let shard = shards(&scratch).remove(0).display().to_string();
    for words in [
        format!("report {shard} --table summary"),
        format!("report {shard} --table records"),
        format!("report {shard} --figure cumulative"),
        format!("calibrate {shard} -q"),
    ] {
        let told = ran(&scratch, &words);
        let said = |text: &str| text.matches("this is a shard").count();
        assert_eq!(said(&told.stderr), 1, "{words}: {}", told.stderr);
        assert_eq!(said(&told.stdout), 0, "{words}: {}", told.stdout);
    }
}

#[test]
fn what_is_missing_or_does_not_belong_is_named_and_leaves_nothing() {
    let scratch = scratch();
    for number in [1, 3] {
        ok(&scratch, &format!("run ten.toml -q --shard {number}/3"));
    }
    let said = refused(&scratch, &merge(&shards(&scratch)));
    assert!(said.contains("3 of 10 trials are missing"), "{said}");
    assert!(
        said.contains("shard 2/3 is not among them: `delaylab run … --shard 2/3`"),
        "{said}"
    );
    ok(&scratch, "run ten.toml -q --shard 2/3 --seed 7");
    let said = refused(&scratch, &merge(&shards(&scratch)));
    assert!(said.contains("is of another experiment"), "{said}");
    assert!(said.contains("`seed = 7` in place of `seed = 1`"), "{said}");
    let left = fs::read_dir(scratch.path("runs")).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    let merged = left.iter().filter(|name| {
        let name = name.to_string_lossy();
        name.contains("ten-") && !name.contains("-shard-")
    });
    assert_eq!(merged.count(), 0, "{left:?}");
    ok(&scratch, "run ten.toml -q --no-report");
    for words in ["merge latest", "resume latest"] {
        let said = refused(&scratch, words);
        assert!(said.contains("this run is complete"), "{said}");
    }
}

#[test]
fn a_part_that_changed_is_no_part_of_a_run() {
    let scratch = scratch();
    ok(&scratch, "run ten.toml -q --shard 1/1");
    let shards = shards(&scratch);
    let trial = shards[0].join("parts/trial-3.tables");
    let mut bytes = fs::read(&trial).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&trial, bytes).unwrap();
    let done = ran(&scratch, &merge(&shards));
    assert_eq!(done.code, 3, "{}", done.stderr);
    assert!(done.stderr.contains("trial-3.tables"), "{}", done.stderr);
    ok(&scratch, &format!("resume {} -q", shards[0].display()));
    ok(&scratch, &merge(&shards));
}

/// The shards are linked, which needs no room; the tables of the run do.
const ON_A_FULL_DISK: &str = "
    mount -t tmpfs -o size=20m none disk && cp ten.toml disk && cd disk || exit 77
    for shard in 1/2 2/2; do $DELAYLAB run ten.toml -q --shard $shard >said || exit; done
    dd if=/dev/zero of=ballast bs=4k 2>said
    truncate -s -48K ballast
    $DELAYLAB merge runs/ten-shard-* -q --no-report 2>said && exit 1
    cat said
    rm ballast
    $DELAYLAB verify runs || exit
    $DELAYLAB resume ten -q --no-report && cp -rL runs/latest ../merged
";

#[test]
fn a_run_that_was_merged_on_a_full_disk_is_finished_once_there_is_room() {
    let scratch = scratch();
    fs::create_dir(scratch.path("disk")).unwrap();
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", ON_A_FULL_DISK]);
    command
        .env("DELAYLAB", DELAYLAB)
        .current_dir(scratch.path(""));
    let told = Ran::to_end(&mut command);
    if told.code == 77 || told.stderr.contains("unshare") {
        skip!("no file system of its own: {}", told.stderr.trim());
    }
    assert_eq!(told.code, 0, "{}{}", told.stdout, told.stderr);
    let words = told.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("no room to write"), "{words}");
    assert!(words.contains("Continue with `delaylab resume"), "{words}");
    assert!(tables(&scratch.path("merged")) == whole());
}

#[test]
fn what_cannot_be_divided_is_refused() {
    let scratch = scratch();
    for (words, why) in [
        ("run ten.toml --shard 4/3", "no shard: write NUMBER/SHARDS"),
        (
            "run wait-time-jitter --quick --shard 1/2",
            "only simulations are divided",
        ),
        (
            "run ten.toml --shard 1/2 --set design.repeats=2 --set design.stop={of=\"mean(response)\",within=\"2%\",at_most=9}",
            "design.stop decides by the results of each round",
        ),
    ] {
        let said = refused(&scratch, words);
        assert!(said.contains(why), "{words}: {said}");
    }
}

/// The same with more shards, in `make test-all`.
mod long {
    #[test]
    fn one_shard_and_up_to_sixteen_are_the_same_run() {
        // Of sixteen, six have no trial.
        super::are_the_same_run(&[1, 2, 7, 16]);
    }
}
