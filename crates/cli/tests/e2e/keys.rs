//! Keys of a reflector: which are taken, how they are changed, and what is answered without one.

use crate::harness::netns::Namespace;
use crate::harness::process::{Process, Ran, Reflector, delaylab, ping};
use crate::harness::scratch::Scratch;
use crate::or_skip;
use nix::sys::signal::Signal;
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

const OLD: &str = "the key of this month";
const NEW: &str = "the key of the next one";
/// No UTF-8, as random bytes are none.
const NO_TEXT: [u8; 32] = [0xff; 32];

fn answers(reflector: &Reflector, key: &Path) -> bool {
    ["udp", "tcp"].into_iter().all(|method| {
        let words = format!(
            "127.0.0.1 --method {method} --port {} -c 2 -i 5ms -q --key-file {}",
            reflector.port,
            key.display()
        );
        Ran::to_end(&mut ping(None, &words)).code == 0
    })
}

#[test]
fn keys_are_read_again_on_a_hangup() {
    let scratch = Scratch::new();
    let (old, new) = (scratch.file("old", OLD), scratch.file("new", NEW));
    let (now, next) = (scratch.file("now", OLD), scratch.file("next", OLD));
    let mut command = delaylab(None);
    let words = "reflect -p 0 --stamp-port 0 --bind 127.0.0.1";
    command.args(words.split(' '));
    for (name, file) in [("now", &now), ("next", &next)] {
        command
            .arg("--key-file")
            .arg(format!("{name}={}", file.display()));
    }
    let reflector = Reflector::start(&mut command);
    assert!(answers(&reflector, &old) && !answers(&reflector, &new));
    // Both are taken for a while; then the old one is not.
    for (file, takes_old) in [(&next, true), (&now, false)] {
        let replaced = scratch.file("replaced", NEW);
        fs::rename(replaced, file).unwrap();
        reflector.process.signal(Signal::SIGHUP);
        let until = Instant::now() + Duration::from_secs(30);
        while !answers(&reflector, &new) || answers(&reflector, &old) != takes_old {
            assert!(Instant::now() < until, "the keys were not read again");
        }
    }
    let said = reflector.stop();
    assert_eq!(said.matches("now, next: read again").count(), 2, "{said}");
}

/// As a service is reloaded that was given no key yet.
#[test]
fn a_hangup_does_not_end_a_reflector_that_has_nothing_to_read_again() {
    let mut command = delaylab(None);
    command.args("reflect -p 0 --stamp-port 0 --bind 127.0.0.1".split(' '));
    let reflector = Reflector::start(&mut command);
    reflector.process.signal(Signal::SIGHUP);
    let words = format!("127.0.0.1 --method udp --port {} -c 1 -q", reflector.port);
    assert_eq!(Ran::to_end(&mut ping(None, &words)).code, 0);
    reflector.stop();
}

#[test]
fn keys_that_are_no_secret_are_refused() {
    let scratch = Scratch::new();
    let writable = scratch.file("writable", OLD);
    fs::set_permissions(&writable, Permissions::from_mode(0o666)).unwrap();
    let letter = scratch.file("letter", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    let bytes = scratch.path("bytes");
    fs::write(&bytes, NO_TEXT).unwrap();
    for (file, code, said) in [
        (writable, 3, "other users can change the key file"),
        (letter, 2, "1 different bytes"),
        (
            bytes,
            2,
            "bytes is no text: make one with `openssl rand -hex 32`",
        ),
    ] {
        for words in [
            "reflect -p 0 --stamp-port 0 --key-file",
            "ping 127.0.0.1 --method udp --key-file",
        ] {
            let ran = Ran::to_end(delaylab(None).args(words.split(' ')).arg(&file));
            assert_eq!(ran.code, code, "{}", ran.stderr);
            assert!(ran.stderr.contains(said), "{}", ran.stderr);
        }
    }
}

#[test]
fn a_key_in_the_environment_is_not_passed_over() {
    const OPEN: &str = "reflect -p 0 --stamp-port 0 --bind 127.0.0.1 --open --allow 127.0.0.1";
    const ECHO: &str = "reflect -p 0 --stamp-port 0 --bind 127.0.0.1 --plain-echo";
    let no_text = OsStr::from_bytes(&NO_TEXT);
    for (words, key, said) in [
        (OPEN, OsStr::new(OLD), "--open answers without a key"),
        (OPEN, no_text, "--open answers without a key"),
        (ECHO, OsStr::new(OLD), "--plain-echo answers without a key"),
        (
            "reflect -p 0 --stamp-port 0",
            no_text,
            "DELAYLAB_KEY is no text",
        ),
        (
            "ping 127.0.0.1 --method udp -c 1",
            no_text,
            "DELAYLAB_KEY is no text",
        ),
        (
            "run wait-time-jitter --quick",
            no_text,
            "DELAYLAB_KEY is no text",
        ),
    ] {
        let ran = Ran::to_end(
            delaylab(None)
                .args(words.split(' '))
                .env("DELAYLAB_KEY", key),
        );
        assert!(
            ran.code == 2 && ran.stderr.contains(said),
            "{words}: {}",
            ran.stderr
        );
    }
}

/// As a service is, whose log is for what went wrong.
#[test]
fn a_quiet_reflector_reads_keys_again_without_a_word() {
    let host = or_skip!(Namespace::new('h'));
    or_skip!(host.ip("link set lo up"));
    let scratch = Scratch::new();
    let (key, new) = (scratch.file("key", OLD), scratch.file("new", NEW));
    fs::set_permissions(&key, Permissions::from_mode(0o600)).unwrap();
    let mut command = delaylab(Some(&host));
    command.args(["reflect", "-q", "--key-file"]).arg(&key);
    let mut process = Process::start(command.stderr(Stdio::piped()));
    let is_answered = |key: &Path| {
        let words = format!(
            "127.0.0.1 --method udp -c 1 -q --key-file {}",
            key.display()
        );
        Ran::to_end(&mut ping(Some(&host), &words)).code == 0
    };
    let wait_for = |key: &Path| {
        let until = Instant::now() + Duration::from_secs(30);
        while !is_answered(key) {
            assert!(Instant::now() < until, "{} is not taken", key.display());
        }
    };
    wait_for(&key);
    fs::write(&key, NEW).unwrap();
    process.signal(Signal::SIGHUP);
    wait_for(&new);
    process.signal(Signal::SIGTERM);
    let said = std::io::read_to_string(process.child.stderr.take().unwrap()).unwrap();
    assert!(
        process.child.wait().unwrap().success() && said.is_empty(),
        "{said}"
    );
}
