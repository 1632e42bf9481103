//! Terminals that cannot move their cursor, terminals that go away, and errors behind a line that is drawn over.

use crate::harness::netns::{B4, Pair, VETH};
use crate::harness::process::{DELAYLAB, ran};
use crate::harness::pty::Pty;
use crate::harness::run::Run;
use crate::harness::scratch::Scratch;
use crate::or_skip;
use std::time::{Duration, Instant};

/// It has something to warn of: its hosts are ideal.
const WARNED: &str = r#"
name = "warned"
title = "Stressed in vain"
world = "sim"

[[probe]]
name = "echo"
method = "udp"
payload = "64B"
pacing = { every = "1ms" }
count = 10

[path]
topology = "two-hosts"
rate = "1Gbit/s"

[host]
condition = "stressed"
"#;
const WARNING: &str = "warning: condition stressed changes nothing";

/// All that a command writes to a terminal whose TERM is set like this.
fn written(scratch: &Scratch, term: &str, words: &str) -> String {
    let directory = scratch.path("");
    let mut pty = Pty::start(&format!(
        "cd {}; {term} {DELAYLAB} {words}",
        directory.display()
    ));
    pty.end();
    pty.text()
}

#[test]
fn a_terminal_that_cannot_move_its_cursor_gets_lines() {
    let scratch = Scratch::new();
    scratch.file("warned.toml", WARNED);
    for term in ["TERM=dumb", "TERM=", "env -u TERM"] {
        let run = written(&scratch, term, "run warned.toml --no-report");
        let (before, _) = run.split_once("--- warned (sim) ---").expect("its tables");
        assert!(before.contains(WARNING), "{term}: {run}");
        let ping = written(&scratch, term, "ping 127.0.0.1 -c 3 -i 60ms");
        assert!(ping.contains("3 received"), "{term}: {ping}");
        let trace = written(&scratch, term, "trace 127.0.0.1 -n");
        for text in [run, ping, trace] {
            assert!(!text.contains('\x1b'), "{term}: {text:?}");
        }
    }
    let ping = written(&scratch, "TERM=xterm", "ping 127.0.0.1 -c 3 -i 60ms");
    assert!(ping.contains("\r\x1b[K"), "{ping:?}");
}

/// The exit code that a shell writes into a file, once it is there.
fn code_in(scratch: &Scratch) -> String {
    let begin = Instant::now();
    loop {
        if let Ok(code) = std::fs::read_to_string(scratch.path("code")) {
            return code;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "it never ended");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// As by Ctrl-C, although nothing can be printed any more. The shell keeps the signal to itself.
#[test]
fn a_terminal_that_is_closed_ends_a_ping_which_is_whole() {
    let scratch = Scratch::new();
    let directory = scratch.path("");
    let mut pty = Pty::start(&format!(
        "trap : HUP; cd {}; {DELAYLAB} ping 127.0.0.1 -i 60ms -w 1h --save -o x.json; \
         echo $? >ends; mv ends code",
        directory.display()
    ));
    pty.until(|screen| screen.contains("seq=3"));
    drop(pty);
    assert_eq!(code_in(&scratch), "0\n");
    let document = std::fs::read_to_string(scratch.path("x.json")).unwrap();
    let document = Run::from_document(&document);
    assert!(document.count("sent") >= 3);
    let run = scratch.only_run("runs");
    let read = ran(&scratch, &format!("explain {}", run.display()));
    let sent = format!("1 trial, {} packets sent", document.count("sent"));
    assert!(read.stdout.contains(&sent), "{}", read.stdout);
    assert!(!scratch.has_partial_run());
}

/// As with a pane that is closed, or a session that is left: what is measured has a file.
#[test]
fn a_terminal_that_goes_does_not_end_the_measurement() {
    let scratch = Scratch::new();
    let directory = scratch.path("");
    let mut pty = Pty::start(&format!(
        "trap '' HUP; cd {}; {DELAYLAB} ping 127.0.0.1 -c 200 -i 10ms -o x.csv >/dev/null; \
         echo $? >ends; mv ends code",
        directory.display()
    ));
    pty.until(|screen| screen.contains(" sent "));
    drop(pty);
    let code = code_in(&scratch);
    let packets = std::fs::read_to_string(scratch.path("x.csv")).unwrap();
    assert_eq!((code.as_str(), packets.lines().count()), ("0\n", 201));
}

#[test]
fn an_error_has_a_line_of_its_own() {
    let pair = or_skip!(Pair::new(1500));
    or_skip!(pair.a.ip(&format!("route add default via {B4}")));
    let mut pty = Pty::start(&format!(
        "ip netns exec {} {DELAYLAB} trace 192.0.2.1 -n -q 10 -U 30 -I {VETH}",
        pair.a.name
    ));
    pty.until(|screen| screen.contains("packets sent as far as hop"));
    pair.a.ip(&format!("link del {VETH}")).unwrap();
    pty.end();
    let text = pty.text();
    let (before, _) = text.split_once("delaylab: ").expect("the error");
    assert!(before.ends_with("\r\x1b[K"), "{text:?}");
}
