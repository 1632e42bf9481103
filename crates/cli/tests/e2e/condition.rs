//! Host conditions leave nothing behind, also after `kill -9` of the ping.

use crate::harness::process::{Process, Ran, Reflector, delaylab, ping};
use crate::harness::run::Run;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

/// Names of the processes of the built-in load.
const LOAD: [&str; 4] = ["dlab-spin", "dlab-daemon", "dlab-memory", "dlab-timer"];

/// Processes of a load, by id.
fn load() -> BTreeSet<u32> {
    let pids = std::fs::read_dir("/proc").unwrap().flatten();
    pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid: &u32| {
            let comm = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            LOAD.contains(&comm.trim())
        })
        .collect()
}

/// cpusets of delaylab, wherever they may be made.
fn cpusets() -> BTreeSet<PathBuf> {
    fn look(dir: &Path, depth: usize, found: &mut BTreeSet<PathBuf>) {
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            let path = entry.path();
            if !path.is_dir() {
                continue;
            }
            if entry.file_name().to_string_lossy().starts_with("delaylab-") {
                found.insert(path.clone());
            }
            if depth > 0 {
                look(&path, depth - 1, found);
            }
        }
    }
    let mut found = BTreeSet::new();
    look(Path::new("/sys/fs/cgroup"), 4, &mut found);
    found
}

/// Waits for what only the pace of the kernel and of this machine can delay. The limit is there to fail, not to hang.
fn eventually(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..6_000 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{what}");
}

/// Tests that measure microseconds: the machine is theirs alone.
mod alone {
    use super::*;

    #[test]
    fn stressed_ends_with_the_run() {
        let before = load();
        let reflector = Reflector::local();
        let words = format!(
            "127.0.0.1 --method udp --port {} -i 10ms -c 50 --condition stressed --json",
            reflector.port
        );
        let ran = Ran::to_end(&mut ping(None, &words));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(ran.stderr.contains("condition: "), "{}", ran.stderr);
        let run = Run::from_document(&ran.stdout);
        assert_eq!(
            (run.count("sent"), &run.document["config"]["host"]),
            (50, &"stressed".into())
        );
        assert_eq!(load(), before, "no process is left");
    }

    #[test]
    fn stressed_ends_when_the_ping_is_killed() {
        let before = load();
        let reflector = Reflector::local();
        let words = format!(
            "127.0.0.1 --method udp --port {} -i 60ms --condition stressed",
            reflector.port
        );
        let ping = Process::start(
            ping(None, &words)
                .stdout(Stdio::null())
                .stderr(Stdio::null()),
        );
        eventually("the load runs", || {
            load().len() >= before.len() + LOAD.len()
        });
        // Dropping it is kill -9.
        drop(ping);
        eventually("no process is left", || load() == before);
    }

    #[test]
    fn quiet_leaves_no_cpuset() {
        let before = cpusets();
        let reflector = Reflector::local();
        let words = format!("127.0.0.1 --method udp --port {} -i 10ms", reflector.port);
        let ran = Ran::to_end(&mut ping(
            None,
            &format!("{words} -c 20 -q --condition quiet"),
        ));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let told = ran
            .stderr
            .lines()
            .filter(|line| line.starts_with("condition: "));
        assert!(
            told.count() >= 5,
            "each measure says what became of it: {}",
            ran.stderr
        );
        assert_eq!(cpusets(), before);

        let mut command = delaylab(None);
        command
            .arg("ping")
            .args(words.split(' '))
            .args(["--condition", "quiet"]);
        let ping = Process::start(command.stdout(Stdio::piped()).stderr(Stdio::null()));
        // Its cpuset, where this host lets it have one, is there within this time; killed before, it
        // leaves none either.
        std::thread::sleep(Duration::from_millis(300));
        drop(ping);
        eventually("the cpuset is gone", || cpusets() == before);
    }
}
