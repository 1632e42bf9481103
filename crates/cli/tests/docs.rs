//! Every command in the documentation runs, and prints what the documentation says: a test for each document.
//!
//! The documents show real figures, which no second run will repeat. So a copy is run in which every
//! figure is a wildcard ([`mask`]); the words around it must come as they stand. The commands of a
//! document run one after the other in one folder, which holds a key file, `lab.key`, and what a ping
//! once printed, `ping.txt`, and the document's own files: a fence of TOML whose first line is `# NAME.toml`. A
//! `delaylab reflect` goes on in the background, as in a second terminal; where a document starts
//! none of its own, one runs that takes load.
//!
//! All of it happens in a network namespace, so that every port is free and every method allowed.
#![allow(clippy::unwrap_used)]

use libtest_mimic::{Arguments, Trial};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Set inside of the namespace: the document to run.
const INSIDE: &str = "DELAYLAB_DOCS_INSIDE";
/// Documents that measure, simulate or draw for more than half a minute: `make test-all` runs their commands.
const LONG: [&str; 8] = [
    "bench",
    "calibrate",
    "cells",
    "experiments",
    "explain",
    "first-measurement",
    "simulation",
    "switches-in-a-row",
];
/// What `docs/import.md` imports.
const PING: &str = include_str!("../../explain/tests/data/import/ping.txt");
/// A key that nobody uses.
const KEY: &str = "a key for the documents alone";

fn main() -> ExitCode {
    if let Some(document) = std::env::var_os(INSIDE) {
        run(Path::new(&document));
        return ExitCode::SUCCESS;
    }
    libtest_mimic::run(&Arguments::from_args(), tests()).exit_code()
}

/// A test for each document, and what holds of all of them.
fn tests() -> Vec<Trial> {
    let commands = documents().into_iter().map(|document| {
        let stem = document.file_stem().unwrap().to_str().unwrap();
        let group = if LONG.contains(&stem) { "long::" } else { "" };
        let name = format!("{group}commands::{}", stem.replace('-', "_"));
        Trial::test(name, move || Ok(run_inside_a_namespace(&document)?))
    });
    let about_all: [(&str, fn()); 2] = [
        ("no_fence_hides_a_command", no_fence_hides_a_command),
        (
            "a_mask_hides_figures_and_no_words",
            a_mask_hides_figures_and_no_words,
        ),
    ];
    let about_all = about_all.map(|(name, test)| {
        Trial::test(name, move || {
            test();
            Ok(())
        })
    });
    commands.chain(about_all).collect()
}

/// Starts this program again for one document, where `unshare` gives it a network of its own.
fn run_inside_a_namespace(document: &Path) -> Result<(), String> {
    // Others than root have the privileges of a namespace in one of their own.
    let own: &[&str] = &["--user", "--map-current-user", "--keep-caps", "--net"];
    let options = if is_root() { &own[3..] } else { own };
    let inside = |program: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(options).args(program);
        command
    };
    let can = inside(&["true"]).output();
    if !can.is_ok_and(|done| done.status.success()) {
        let why = "this user may not make a network namespace";
        if std::env::var_os("CI").is_some_and(|ci| ci == "true") {
            return Err(format!("cannot be skipped in CI: {why}"));
        }
        println!("skipped: {}: {why}", document.display());
        return Ok(());
    }
    let done = inside(&["sh", "-c", "ip link set lo up && exec \"$0\""])
        .arg(std::env::current_exe().unwrap())
        .env(INSIDE, document)
        .status()
        .unwrap();
    done.success()
        .then_some(())
        .ok_or_else(|| "see above".to_owned())
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

/// Runs a document's commands.
fn run(document: &Path) {
    let stem = document.file_stem().unwrap().to_str().unwrap();
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("docs")
        .join(stem);
    let _ = fs::remove_dir_all(&scratch);
    let folder = scratch.join("document.in");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("lab.key"), KEY).unwrap();
    fs::set_permissions(folder.join("lab.key"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(folder.join("ping.txt"), PING).unwrap();
    let copy = scratch.join("document.md");
    let text = fs::read_to_string(document).unwrap();
    fs::write(&copy, mask(&text)).unwrap();
    for (name, content) in files(&text) {
        fs::write(folder.join(name), content).unwrap();
    }
    let terminals = Terminals::new(&scratch);
    if !text.contains("$ delaylab reflect") {
        terminals.reflect();
    }
    eprintln!("{}", document.display());
    let cases = trycmd::TestCases::new();
    cases.register_bin(
        "delaylab",
        trycmd::schema::Bin::Path(terminals.delaylab.clone()),
    );
    // What a user of this machine has set does not count; what is printed is as to a file.
    cases
        .env("COLUMNS", "100")
        .env("NO_COLOR", "1")
        .env("LC_ALL", "C.UTF-8");
    cases.case(&copy);
    cases.run();
}

/// The files that a document shows, for its commands: name and content.
fn files(text: &str) -> Vec<(&str, &str)> {
    let shown = text.split("```toml\n").skip(1);
    let contents = shown.map(|fence| fence.split("```").next().unwrap());
    contents
        .filter_map(|content| Some((content.lines().next()?.strip_prefix("# ")?, content)))
        .filter(|(name, _)| name.ends_with(".toml"))
        .collect()
}

/// A `delaylab` whose `reflect` stays in the background until the next one or the end.
struct Terminals {
    delaylab: PathBuf,
}

impl Terminals {
    fn new(scratch: &Path) -> Self {
        let delaylab = scratch.join("delaylab");
        let script = SCRIPT.replace("DELAYLAB", env!("CARGO_BIN_EXE_delaylab"));
        fs::write(&delaylab, script).unwrap();
        fs::set_permissions(&delaylab, fs::Permissions::from_mode(0o755)).unwrap();
        Self { delaylab }
    }

    fn reflect(&self) {
        let started = Command::new(&self.delaylab)
            .args(["reflect", "--accept-load"])
            .output()
            .unwrap();
        assert!(
            started.status.success(),
            "{}",
            String::from_utf8_lossy(&started.stdout)
        );
    }
}

impl Drop for Terminals {
    fn drop(&mut self) {
        let _ = Command::new(&self.delaylab).arg(END).status();
    }
}

/// Ends the reflector; no command of delaylab's.
const END: &str = "end-of-document";

/// A reflector that has said what it holds of privileges serves; one that ends before has failed.
/// What the one before said is emptied first, so that nobody reads it as this one's.
const SCRIPT: &str = r#"#!/bin/sh
case $1 in
reflect | end-of-document) ;;
*) exec "DELAYLAB" "$@" ;;
esac
here=$(dirname "$0")
runs() { grep -qs '^State:.[^ZX]' "/proc/$1/status"; }
if [ -e "$here/reflector.pid" ]; then
    read -r before <"$here/reflector.pid"
    rm "$here/reflector.pid"
    kill "$before"
    while runs "$before"; do sleep 0.02; done
fi
[ "$1" = reflect ] || exit 0
# Not that of the reflector before: the new one's shell may be late to truncate it.
rm -f "$here/banner"
"DELAYLAB" "$@" >"$here/banner" 2>&1 &
until grep -qs ^privileges "$here/banner" || ! runs $!; do sleep 0.02; done
cat "$here/banner"
if runs $!; then echo $! >"$here/reflector.pid"; else wait $!; fi
"#;

fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap();
    let mut found = Vec::new();
    for folder in [root.join("docs"), root] {
        let entries = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        found.extend(entries.filter(|path| path.extension().is_some_and(|e| e == "md")));
    }
    found.sort();
    assert!(found.len() >= 8, "where are the documents? {found:?}");
    found
}

/// Commands that cannot run here are indented; a fence is either run or holds no command.
fn no_fence_hides_a_command() {
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        let mut fence = None;
        for line in text.lines() {
            match (line.strip_prefix("```"), fence) {
                (Some(language), None) => fence = Some(language),
                (Some(_), Some(_)) => fence = None,
                (None, Some("console")) | (None, None) => {}
                (None, Some(_)) => {
                    assert!(!line.starts_with("$ "), "{}: {line}", document.display())
                }
            }
        }
        // Python, SQL and sh are run by the end-to-end tests of experiments and documents.
        let allowed = ["console", "text", "json", "toml", "python", "sql", "sh"];
        let fences = text.lines().filter_map(|line| line.strip_prefix("```"));
        for language in fences.filter(|language| !language.is_empty()) {
            assert!(
                allowed.contains(&language),
                "{}: ```{language}",
                document.display()
            );
        }
        assert_eq!(fence, None, "{}: an open fence", document.display());
    }
}

/// Paragraphs of a summary whose words depend on the figures, or that are wrapped where the figures
/// end: by their first words.
const VARYING: [&str; 5] = [
    "sender ",
    "variation ",
    "stamps ",
    "At the median, ",
    "condition: ",
];

/// A copy of a document in which every figure that a command prints is a wildcard.
fn mask(text: &str) -> String {
    let mut out = Vec::new();
    let (mut console, mut paragraph, mut words_last) = (false, false, false);
    for line in text.lines() {
        let typed = ["```", "$ ", "> ", "? "]
            .iter()
            .any(|start| line.starts_with(start));
        if typed && words_last {
            // trycmd takes the last line break off.
            out.push(String::new());
        }
        if let Some(language) = line.strip_prefix("```") {
            console = language == "console";
        }
        if !console || typed || line == "..." {
            (paragraph, words_last) = (false, false);
            out.push(line.to_owned());
        } else if let Some(words) = VARYING.iter().find(|words| line.starts_with(**words)) {
            (paragraph, words_last) = (true, false);
            out.extend([format!("{words}[..]"), "...".to_owned()]);
        } else if line.is_empty() || !paragraph {
            (paragraph, words_last) = (false, true);
            out.push(mask_line(line));
        }
    }
    out.join("\n") + "\n"
}

/// Columns are as wide as their figures, so the space between words is a wildcard where it is more
/// than one blank. Of one of the worst responses only the place is certain.
fn mask_line(line: &str) -> String {
    if line.is_empty() {
        return String::new();
    }
    if line.starts_with("seq ") {
        return "seq [..]".to_owned();
    }
    let mut out = String::new();
    let mut after_figure = false;
    for word in line.replace("  ", " \u{0} ").split(' ') {
        let figure =
            is_figure(word) || after_figure && UNITS.contains(&word.trim_end_matches([',', ';']));
        let wild = figure || word == "\u{0}" || word.is_empty();
        match (wild, out.ends_with("[..]")) {
            (true, true) => {}
            (true, false) => out.push_str("[..]"),
            (false, joined) => {
                out.push_str(if joined || out.is_empty() { "" } else { " " });
                out.push_str(word);
            }
        }
        after_figure = figure;
    }
    // On a busy host TCP may send a segment again, and the line says so.
    if out.ends_with(",[..]lost") {
        out.push_str("[..]");
    }
    out
}

const UNITS: [&str; 9] = ["ns", "µs", "ms", "s", "%", "B", "GiB", "packets", "–"];

fn is_figure(word: &str) -> bool {
    let bare = word.trim_start_matches(['<', '>', '(', '+', '-', '=']);
    let bar = !word.is_empty() && word.chars().all(|c| "█░".contains(c));
    bar || word == "–" || bare.starts_with(|c: char| c.is_ascii_digit())
}

fn a_mask_hides_figures_and_no_words() {
    for (line, masked) in [
        ("network ¹    702 ns  997 ns   187 ns", "network ¹[..]"),
        (
            "5 sent in 40.2 ms, 5 received, 0 % lost",
            "[..]sent in[..]received,[..]lost[..]",
        ),
        ("network ░         990 ns   1%  >99%", "network[..]"),
        ("receive wake-up  36.8 µs  32%", "receive wake-up[..]"),
        (
            "¹ includes driver and interrupt delay",
            "¹ includes driver and interrupt delay",
        ),
        (
            "--- 127.0.0.1 (udp, 56 B payload, be) ---",
            "---[..](udp,[..]payload, be) ---",
        ),
    ] {
        assert_eq!(mask_line(line), masked);
    }
    let text = "a  1\n```console\n$ x 1\nstamps      t_tx\n            on\n\na  1\n```\na  1\n";
    assert_eq!(
        mask(text),
        "a  1\n```console\n$ x 1\nstamps [..]\n...\n\na[..]\n\n```\na  1\n"
    );
}
