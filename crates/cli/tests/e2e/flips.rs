//! One bit of one file of a run is another: each command that reads runs says which file, or says what it said before.

use crate::harness::process::{DELAYLAB, Ran, ran};
use crate::harness::scratch::Scratch;
use crate::skip;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A queue, a load beside the probes and a finding: every table that a simulation has, in 20 kB.
const SMALL: &str = r#"
name = "small"
title = "A small one"
world = "sim"
seed = 5

[[probe]]
name = "echo"
method = "udp"
payload = "64B"
pacing = { poisson = "4ms" }
duration = "200ms"

[[load]]
name = "bulk"
kind = "tcp"
streams = 1
window = "16KiB"

[path]
topology = "pairs-on-a-trunk"
framing = "aal5"
rate = "155.52Mbit/s"
propagation = "50us"

[path.switch]
discipline = "fifo"
buffer = "13000cells"

[sweep]
streams = { set = "load.bulk.streams", to = [0, 1] }

[design]
repeats = 2

[[finding]]
id = "1"
says = "Nothing is lost"
check = "share(lost > 0.5) < 20 %"
"#;

/// What is asked of the run.
const COMMANDS: [&str; 7] = [
    "report runs/small -o -",
    "explain runs/small --json",
    "compare runs/small runs/small --json --fail-if lost>1%",
    "check small.toml --from runs/small",
    "report runs/small --beside runs/small",
    "list -o runs",
    "verify runs/small",
];

/// A scratch directory with a run in it, and its folder.
fn with_run() -> (Scratch, PathBuf) {
    let scratch = Scratch::new();
    scratch.file("small.toml", SMALL);
    let done = ran(&scratch, "run small.toml -q --no-report");
    assert_eq!(done.code, 0, "{}", done.stderr);
    let latest = fs::canonicalize(scratch.path("runs/latest")).unwrap();
    let folder = scratch.path("runs").join("small");
    fs::rename(latest, &folder).unwrap();
    (scratch, folder)
}

/// The same, with a page. A real one takes seconds, and it only matters here that it stays.
fn with_page() -> (Scratch, PathBuf) {
    let (scratch, folder) = with_run();
    fs::write(folder.join("report.html"), "an older page").unwrap();
    (scratch, folder)
}

/// Every file that was recorded.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries
        .filter(|path| !path.ends_with("report.html"))
        .collect();
    files.sort();
    files
}

/// Numbers without an order, the same each time (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }
}

fn is_as_before(before: &Ran, after: &Ran) -> bool {
    (before.code, &before.stdout) == (after.code, &after.stdout)
}

/// Flips this many bits, one at a time, and asks one command after the other.
fn flips(count: usize) {
    let (scratch, folder) = with_page();
    let page = fs::read(folder.join("report.html")).unwrap();
    // The list is kept, and made again where a file comes or goes.
    let asked = |command: &str| {
        let _ = fs::remove_file(scratch.path("runs/.index.sqlite"));
        ran(&scratch, command)
    };
    let before = COMMANDS.map(asked);
    for (ran, command) in before.iter().zip(COMMANDS) {
        assert_eq!(ran.code, 0, "{command}: {}", ran.stderr);
    }
    let files = files(&folder);
    let mut random = Random(20);
    let (mut refused, mut same) = (0, 0);
    for round in 0..count {
        let path = &files[round % files.len()];
        let name = path.file_name().unwrap().to_str().unwrap();
        let bytes = fs::read(path).unwrap();
        let bit = random.below(bytes.len() * 8);
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        fs::write(path, &flipped).unwrap();
        let at = (round / files.len()) % COMMANDS.len();
        let after = asked(COMMANDS[at]);
        let is_named = after.stderr.contains(name) || after.stdout.contains(name);
        let is_refused = after.code == 3 && is_named;
        let is_same = is_as_before(&before[at], &after);
        assert!(
            is_refused || is_same,
            "{}: bit {bit} of {name}: {} {}",
            COMMANDS[at],
            after.code,
            after.stderr
        );
        refused += u32::from(is_refused);
        same += u32::from(is_same);
        fs::write(path, &bytes).unwrap();
    }
    assert!(refused > same, "{refused} refused, {same} the same");
    assert_eq!(fs::read(folder.join("report.html")).unwrap(), page);
    println!("{count} flips: {refused} refused, {same} the same");
}

#[test]
fn a_flipped_bit_is_said_or_changes_nothing() {
    // Each command once, with each file.
    flips(6 * COMMANDS.len());
}

/// The verdict that one flip turned, and pages that took the place of whole ones.
#[test]
fn what_cannot_be_read_is_an_error_and_the_old_page_stays() {
    let (scratch, folder) = with_page();
    let page = fs::read(folder.join("report.html")).unwrap();
    let records = folder.join("records.parquet");
    let bytes = fs::read(&records).unwrap();
    // As of an older version, too, which wrote no manifest.
    for has_manifest in [true, false] {
        if !has_manifest {
            fs::remove_file(folder.join("manifest.json")).unwrap();
            let told = ran(&scratch, "report runs/small");
            assert_eq!(told.code, 0, "{}", told.stderr);
            assert!(told.stderr.contains("no manifest.json"), "{}", told.stderr);
            assert_eq!(told.stderr.matches("manifest.json").count(), 1);
        }
        let page = fs::read(folder.join("report.html")).unwrap_or_else(|_| page.clone());
        for length in [0, bytes.len() / 2, bytes.len() - 1] {
            fs::write(&records, &bytes[..length]).unwrap();
            for command in [
                "report runs/small",
                "explain runs/small",
                "compare runs/small runs/small",
                "verify runs/small",
            ] {
                let told = ran(&scratch, command);
                assert_eq!(told.code, 3, "{command}: {}", told.stdout);
                let all = told.stdout + &told.stderr;
                assert!(all.contains("records.parquet"), "{command}: {all}");
            }
            assert_eq!(fs::read(folder.join("report.html")).unwrap(), page);
        }
        fs::write(&records, &bytes).unwrap();
    }
}

#[test]
fn links_devices_and_pipes_in_a_run_are_refused() {
    let (scratch, folder) = with_run();
    let path = folder.join("experiment.toml");
    fs::remove_file(folder.join("manifest.json")).unwrap();
    fs::rename(&path, scratch.path("elsewhere.toml")).unwrap();
    for target in ["/dev/zero", "/etc/passwd", "../../elsewhere.toml"] {
        std::os::unix::fs::symlink(target, &path).unwrap();
        for command in [
            "report runs/small",
            "explain runs/small",
            "verify runs/small",
        ] {
            let told = ran(&scratch, command);
            assert_eq!(told.code, 3, "{command}: {}", told.stdout);
            let all = told.stdout + &told.stderr;
            assert!(all.contains("experiment.toml: a link"), "{command}: {all}");
        }
        fs::remove_file(&path).unwrap();
    }
    let made = Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    let told = ran(&scratch, "report runs/small");
    assert_eq!(told.code, 3, "{}", told.stdout);
    assert!(
        told.stderr.contains("not a regular file"),
        "{}",
        told.stderr
    );
}

/// A title may be anybody's; a terminal would obey what is in it.
#[test]
fn what_a_title_would_make_a_terminal_do_is_shown_and_not_done() {
    let (scratch, folder) = with_run();
    let hostile = r#"title = "\u001b]0;mine\u0007 \u009b31m A small one""#;
    let text = SMALL.replace(r#"title = "A small one""#, hostile);
    scratch.file("hostile.toml", &text);
    fs::remove_file(folder.join("manifest.json")).unwrap();
    let experiment = fs::read_to_string(folder.join("experiment.toml")).unwrap();
    let experiment = experiment.replace(r#"title = "A small one""#, hostile);
    fs::write(folder.join("experiment.toml"), experiment).unwrap();
    for command in [
        "check hostile.toml",
        "report runs/small",
        "explain runs/small",
        "compare runs/small runs/small",
        "run hostile.toml --no-report",
    ] {
        let told = ran(&scratch, command);
        assert_eq!(told.code, 0, "{command}: {}", told.stderr);
        for text in [&told.stdout, &told.stderr] {
            let obeyed = text.chars().find(|&c| c.is_control() && c != '\n');
            assert_eq!(obeyed, None, "{command}: {text:?}");
        }
    }
    let told = ran(&scratch, "check hostile.toml");
    assert!(
        told.stdout.contains(r"\u{1b}]0;mine\u{7} \u{9b}31m"),
        "{}",
        told.stdout
    );
}

#[test]
fn a_page_is_not_written_through_a_link() {
    let (scratch, folder) = with_run();
    let page = folder.join("report.html");
    scratch.file("mine", "mine");
    std::os::unix::fs::symlink("../../mine", &page).unwrap();
    assert_eq!(ran(&scratch, "report runs/small").code, 0);
    assert_eq!(fs::read_to_string(scratch.path("mine")).unwrap(), "mine");
    assert!(fs::symlink_metadata(&page).unwrap().is_file());
}

#[test]
fn whole_folders_are_verified_with_a_line_a_run() {
    let (scratch, folder) = with_run();
    assert_eq!(ran(&scratch, "run small.toml -q --no-report").code, 0);
    let told = ran(&scratch, "verify runs");
    assert_eq!(told.code, 0, "{}", told.stderr);
    assert_eq!(told.stdout.lines().count(), 2, "{}", told.stdout);
    fs::write(folder.join("findings.json"), "[]\n").unwrap();
    let told = ran(&scratch, "verify runs --json");
    assert_eq!(told.code, 3, "{}", told.stderr);
    let document: Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(document["schema"], "delaylab/verify/2");
    assert_eq!(document["intact"], false);
    let verdicts: Vec<_> = (document["runs"].as_array().unwrap().iter())
        .map(|run| run["verdict"].as_str().unwrap())
        .collect();
    assert_eq!(verdicts, ["damaged", "intact"]);
    assert_eq!(document["runs"][0]["wrong"][0]["file"], "findings.json");
    let told = ran(&scratch, "verify small.toml");
    assert_eq!(told.code, 2, "{}", told.stderr);
    // What is empty has a line, and hides none of the others.
    fs::create_dir(scratch.path("runs/empty-20260101T000000Z.partial")).unwrap();
    fs::create_dir(scratch.path("none")).unwrap();
    let told = ran(&scratch, "verify runs");
    assert_eq!(told.code, 3, "{}", told.stderr);
    assert_eq!(told.stdout.lines().count(), 3, "{}", told.stdout);
    assert!(told.stderr.contains("2 of 3 runs"), "{}", told.stderr);
    for command in ["verify none", "report none"] {
        let told = ran(&scratch, command);
        assert_eq!(told.code, 2, "{command}: {}", told.stderr);
    }
}

/// `delaylab WORDS` by a user who may read no file without its permission.
fn by_stranger(scratch: &Scratch, words: &str) -> Ran {
    let mut command = Command::new("setpriv");
    if delaylab_kernel::privilege::is_root() {
        command.args("--reuid 65534 --regid 65534 --clear-groups".split(' '));
    }
    command.arg(DELAYLAB).args(words.split(' '));
    Ran::to_end(command.current_dir(scratch.path("")))
}

/// Whether it is what was recorded is not known.
#[test]
fn what_a_user_may_not_read_is_not_damaged() {
    let (scratch, folder) = with_run();
    let may_run = by_stranger(&scratch, "--version");
    if may_run.code != 0 {
        skip!(
            "another user cannot run the binary: {}",
            may_run.stderr.trim()
        );
    }
    let partial = scratch.path("runs/begun-20260101T000000Z.partial");
    fs::create_dir(&partial).unwrap();
    for text in ["experiment.toml", "environment.json", "manifest.json"] {
        fs::copy(folder.join(text), partial.join(text)).unwrap();
    }
    for (path, run, file) in [
        (folder.join("manifest.json"), "small", "manifest.json"),
        (folder.clone(), "small", "manifest.json"),
        (
            partial.clone(),
            "begun-20260101T000000Z.partial",
            "experiment.toml",
        ),
    ] {
        let before = fs::metadata(&path).unwrap().permissions();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o0)).unwrap();
        let told = by_stranger(&scratch, "list -o runs --json");
        let verified = by_stranger(&scratch, "verify runs --json");
        fs::set_permissions(&path, before).unwrap();
        assert_eq!(told.code, 3, "{}", told.stdout);
        let denied =
            format!("{run}: {file}: may not be read by this user. Read the run as the user");
        assert!(told.stderr.contains(&denied), "{denied}: {}", told.stderr);
        let listed: Value = serde_json::from_str(&told.stdout).unwrap();
        let listed = listed["runs"].as_array().unwrap();
        assert!(
            listed.iter().all(|run| run["damage"].is_null()),
            "{listed:?}"
        );
        assert!(
            verified.stderr.contains("not readable by this user"),
            "{}",
            verified.stderr
        );
        assert!(
            verified.stdout.contains("\"unreadable\""),
            "{}",
            verified.stdout
        );
        assert_eq!(
            by_stranger(&scratch, "list -o runs").code,
            0,
            "once it may be read"
        );
    }
}

/// The same with many more, in `make test-all`.
mod long {
    #[test]
    fn ten_thousand_flipped_bits_are_said_or_change_nothing() {
        super::flips(10_000);
    }
}
