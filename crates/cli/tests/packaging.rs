//! The Debian package: its services may do what the program does, its scripts leave nothing running, and it has what it
//! says that it has.

use crate::harness::process::{DELAYLAB, Ran};
use crate::harness::scratch::Scratch;
use crate::skip;
use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../packaging/debian")
        .join(name)
}

fn text(name: &str) -> String {
    fs::read_to_string(file(name)).unwrap()
}

/// The words of a setting of a unit.
fn setting<'a>(unit: &'a str, name: &str) -> Vec<&'a str> {
    let lines = unit.lines().filter_map(|line| line.strip_prefix(name));
    let values = lines.filter_map(|line| line.strip_prefix('='));
    values.flat_map(str::split_whitespace).collect()
}

/// The system calls of a group, as this system's systemd has them.
fn calls_of(group: &str) -> Option<BTreeSet<String>> {
    let listed = Command::new("systemd-analyze")
        .args(["syscall-filter", group])
        .output();
    let listed = listed.ok().filter(|listed| listed.status.success())?;
    let listed = String::from_utf8(listed.stdout).unwrap();
    let mut calls = BTreeSet::new();
    for word in listed.lines().skip(1).map(str::trim) {
        match word.starts_with('@') {
            true => calls.extend(calls_of(word)?),
            false => drop(calls.insert(word.to_owned())),
        }
    }
    Some(calls)
}

/// The groups of older systems lack some of them, and a call that is not allowed ends the service.
#[test]
fn the_server_of_runs_may_give_up_its_privileges() {
    let unit = text("delaylab-serve.service");
    let mut allowed = BTreeSet::new();
    for word in setting(&unit, "SystemCallFilter") {
        match word.starts_with('@') {
            false => drop(allowed.insert(word.to_owned())),
            true => match calls_of(word) {
                Some(calls) => allowed.extend(calls),
                None => skip!("systemd-analyze is not there"),
            },
        }
    }
    let needed = [
        "prctl",
        "capget",
        "capset",
        "landlock_create_ruleset",
        "landlock_add_rule",
        "landlock_restrict_self",
        "seccomp",
    ];
    let denied = needed.into_iter().filter(|&call| !allowed.contains(call));
    assert_eq!(denied.collect::<Vec<_>>(), [] as [&str; 0]);
    assert_eq!(setting(&unit, "SystemCallErrorNumber"), ["EPERM"]);
}

/// A program with file capabilities keeps of what a service hands on what its file names, and nothing else.
#[test]
fn the_reflector_has_what_its_service_hands_on() {
    let script = text("postinst");
    let given = script
        .lines()
        .find(|line| line.trim().starts_with("setcap "));
    let unit = text("delaylab-reflect.service");
    // STAMP's port is all that the reflector needs a capability for.
    for set in ["AmbientCapabilities", "CapabilityBoundingSet"] {
        assert_eq!(setting(&unit, set), ["CAP_NET_BIND_SERVICE"], "{set}");
    }
    assert!(given.unwrap().contains("cap_net_bind_service"));
}

/// An address may come seconds after the network is up: systemd gives up on five starts in ten seconds.
#[test]
fn services_wait_for_the_address_that_they_are_to_have() {
    for name in ["delaylab-reflect.service", "delaylab-serve.service"] {
        let unit = text(name);
        for order in ["After", "Wants"] {
            assert_eq!(
                setting(&unit, order),
                ["network-online.target"],
                "{name}: {order}"
            );
        }
        assert_eq!(setting(&unit, "Restart"), ["on-failure"], "{name}");
        let pause: u32 = setting(&unit, "RestartSec").concat().parse().unwrap();
        assert!(5 * pause > 10, "{name}: RestartSec={pause}");
        // Of options that are wrong.
        assert_eq!(setting(&unit, "RestartPreventExitStatus"), ["2"], "{name}");
    }
}

/// What a script of the package calls, where systemd runs.
fn called(script: &str, words: &[&str]) -> String {
    let scratch = Scratch::new();
    let calls = scratch.file("calls", "");
    for name in ["systemctl", "deb-systemd-invoke", "deb-systemd-helper"] {
        let stub = format!("#!/bin/sh\necho {name} \"$@\" >>{}\n", calls.display());
        let stub = scratch.file(name, &stub);
        fs::set_permissions(stub, Permissions::from_mode(0o755)).unwrap();
    }
    let here = calls.parent().unwrap();
    let script = text(script)
        .replace("/run/systemd/system", &here.display().to_string())
        // These change the machine.
        .replace("command -v systemd-sysusers", "true")
        .replace("systemd-sysusers delaylab.conf", "true")
        .replace("command -v setcap", "false");
    let ran = Command::new("/bin/sh")
        .env("PATH", here)
        .args(["-c", &script, "script"])
        .args(words)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
    fs::read_to_string(calls).unwrap()
}

#[test]
fn services_are_restarted_by_an_upgrade_and_end_with_the_package() {
    let units = "delaylab-reflect.service delaylab-serve.service";
    let first =
        format!("deb-systemd-helper update-state {units}\nsystemctl --system daemon-reload\n");
    let upgrade = format!("{first}deb-systemd-invoke try-restart {units}\n");
    for (script, words, expected) in [
        ("postinst", &["configure", ""][..], first.as_str()),
        ("postinst", &["configure", "0.1.0-1"], &upgrade),
        ("prerm", &["upgrade", "0.1.0-2"], ""),
        (
            "prerm",
            &["remove"],
            &format!("deb-systemd-invoke stop {units}\n"),
        ),
        ("postrm", &["remove"], "systemctl --system daemon-reload\n"),
        (
            "postrm",
            &["purge"],
            &format!("deb-systemd-helper purge {units}\n"),
        ),
    ] {
        assert_eq!(called(script, words), expected, "{script} {words:?}");
    }
}

/// A function of the script that makes packages, called with these words.
fn made_by(function: &str, words: &str, scratch: &Scratch) -> Ran {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let script = fs::read_to_string(sources.join("scripts/release.sh")).unwrap();
    let begin = script.find(&format!("\n{function}() {{")).unwrap();
    let end = begin + script[begin..].find("\n}\n").unwrap() + 3;
    let body = &script[begin..end];
    let script = format!("set -euo pipefail\n{body}\n{function} {words}");
    let here = scratch.path("");
    let path = format!("{}:{}", here.display(), std::env::var("PATH").unwrap());
    let mut bash = Command::new("bash");
    bash.args(["-c", &script]).env("packages", here);
    Ran::to_end(bash.env("PATH", path).current_dir(sources))
}

/// Where a page names another one, as `delaylab-ping(1)`.
fn pages_named(page: &str) -> BTreeSet<String> {
    let words = page.split_whitespace().map(|word| word.replace('\\', ""));
    let named = words.filter_map(|word| word.strip_suffix("(1)").map(str::to_owned));
    named.collect()
}

#[test]
fn every_man_page_that_another_one_names_is_there() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.path("man")).unwrap();
    let made = made_by("man_pages", DELAYLAB, &scratch);
    assert_eq!(made.code, 0, "{}", made.stderr);
    let mut there = BTreeSet::from(["delaylab".to_owned()]);
    let mut named = there.clone();
    for file in fs::read_dir(scratch.path("man")).unwrap() {
        let file = file.unwrap().path();
        let page = Ran::to_end(Command::new("gzip").arg("-dc").arg(&file)).stdout;
        let name = file.file_name().unwrap().to_str().unwrap();
        let name = name.strip_suffix(".1.gz").unwrap();
        let head = format!(".TH {name} 1  \"delaylab {}\"", env!("CARGO_PKG_VERSION"));
        assert!(page.contains(&head), "{name}: {page}");
        there.insert(name.to_owned());
        named.extend(pages_named(&page));
    }
    assert_eq!(named, there);
    assert!(there.contains("delaylab-testbed-up"), "{there:?}");
}

/// dpkg would install it where it does not start.
#[test]
fn a_program_that_needs_a_newer_glibc_is_not_packaged() {
    let scratch = Scratch::new();
    for (newest, code) in [("2.4", 0), ("2.36", 0), ("2.38", 3)] {
        let symbols = "DF *UND* (GLIBC_2.2.5) free\nDF *UND* (GLIBC_NEWEST) strtol\n";
        let symbols = symbols.replace("NEWEST", newest);
        let stub = scratch.file("objdump", &format!("#!/bin/sh\nprintf '{symbols}'\n"));
        fs::set_permissions(stub, Permissions::from_mode(0o755)).unwrap();
        let made = made_by("check_glibc", "program", &scratch);
        assert_eq!(made.code, code, "{newest}: {}", made.stderr);
        let named = format!("needs glibc {newest},");
        assert_eq!(made.stderr.contains(&named), code == 3, "{}", made.stderr);
    }
}
