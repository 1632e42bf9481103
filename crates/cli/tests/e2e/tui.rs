//! `--tui`: what stands on the terminal, and that it is as it was afterwards.

use crate::harness::process::{DELAYLAB, Ran, Reflector, delaylab, ran};
use crate::harness::pty::Pty;
use crate::harness::scratch::Scratch;
use nix::sys::signal::{self, Signal};
use nix::unistd::Pid;

const ENTERED: &str = "\x1b[?1049h";
const LEFT: &str = "\x1b[?1049l";
const HIDDEN: &str = "\x1b[?25l";
const SHOWN: &str = "\x1b[?25h";

/// Trials of ten packets in virtual time.
const FAST: &str = r#"
name = "fast"
title = "Over at once"
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

[design]
repeats = 8
"#;

/// A short trial and one that lasts until the test stops it.
const ENDLESS: &str = r#"
name = "endless"
title = "Lasts until it is stopped"
world = "live"

[[probe]]
name = "echo"
method = "udp"
payload = "64B"
pacing = { every = "2ms" }

[sweep.count]
set = "probe.echo.count"
to = [50, 1_000_000]

[design]
repeats = 1
order = "as-written"
"#;

/// What was written after the screen was left; that it was entered and left once, and that the cursor is back.
fn after_the_view(text: &str) -> &str {
    assert_eq!(text.matches(ENTERED).count(), 1, "{text}");
    let (before, after) = text.split_once(LEFT).expect("the screen is left");
    assert!(before.contains(ENTERED));
    let hidden = text.rfind(HIDDEN).expect("the cursor was hidden");
    assert!(
        text.rfind(SHOWN).is_some_and(|shown| shown > hidden),
        "{text}"
    );
    after
}

/// A ping of this reflector, and what `stty` says afterwards.
fn watched_ping(reflector: &Reflector, more: &str) -> Pty {
    let port = reflector.port;
    Pty::start(&format!(
        "sh -c 'echo pid=$$.; exec {DELAYLAB} ping 127.0.0.1 --method udp --port {port} -i 2ms --tui {more}'; \
         echo code=$?; stty -a"
    ))
}

fn assert_terminal_is_as_it_was(after: &str) {
    assert!(
        after.contains(" icanon") && !after.contains("-icanon"),
        "{after}"
    );
    assert!(
        after.contains(" echo ") && !after.contains("-echo "),
        "{after}"
    );
}

#[test]
fn a_ping_is_watched_until_q_and_ends_with_its_summary() {
    let reflector = Reflector::local();
    let mut pty = watched_ping(&reflector, "");
    let parts = [
        "delaylab ping 127.0.0.1",
        "udp, 56 B payload",
        "─ Response: min ",
        "─ Where the time goes ─",
        "host █▓  network ░▒  slip, stack, queue",
        "─ Last ",
        "─ Excursions: ",
        "q stop  p pause  ? keys",
    ];
    // A frame comes in pieces. Each of five quantiles has the host's share.
    pty.until(|screen| {
        let shares = screen
            .lines()
            .filter(|line| line.contains(" host "))
            .count();
        parts.iter().all(|part| screen.contains(part)) && shares >= 5
    });
    pty.types("?");
    pty.until(|screen| screen.contains("stop, and print the summary"));
    pty.types("?p");
    pty.until(|screen| screen.contains("PAUSED") && !screen.contains("stop, and print"));
    pty.types("q");
    assert_eq!(pty.end(), 0);
    let text = pty.text();
    let after = after_the_view(&text);
    assert!(after.contains("--- 127.0.0.1 (udp"), "{after}");
    assert!(
        after.contains("receive wake-up") && after.contains("code=0"),
        "{after}"
    );
    assert_terminal_is_as_it_was(after);
}

#[test]
fn whoever_ends_it_gets_the_terminal_back() {
    let reflector = Reflector::local();
    let mut pty = watched_ping(&reflector, "");
    pty.until(|screen| screen.contains("p99.9"));
    let text = pty.text();
    let pid = text
        .split("pid=")
        .nth(1)
        .and_then(|rest| rest.split('.').next());
    let pid: i32 = pid.unwrap().parse().unwrap();
    signal::kill(Pid::from_raw(pid), Signal::SIGTERM).unwrap();
    pty.end();
    let text = pty.text();
    let after = after_the_view(&text);
    assert!(after.contains("--- 127.0.0.1 (udp"), "{after}");
    assert_terminal_is_as_it_was(after);
}

#[test]
fn an_error_is_told_on_the_terminal_as_it_was() {
    let reflector = Reflector::local();
    let mut pty = watched_ping(&reflector, "-I nosuchinterface0");
    pty.end();
    let text = pty.text();
    assert!(text.contains("nosuchinterface0"), "{text}");
    assert!(text.contains("code=3"), "{text}");
    assert_terminal_is_as_it_was(text.rsplit("code=").next().unwrap());
}

#[test]
fn an_experiment_is_watched_until_q_and_can_be_resumed() {
    let scratch = Scratch::new();
    scratch.file("endless.toml", ENDLESS);
    let mut live = Pty::start(&format!(
        "cd {}; {DELAYLAB} run endless.toml --tui; echo code=$?; stty -a",
        scratch.path("").display()
    ));
    let frame = live.until(|screen| screen.contains("trial 2 of 2"));
    assert!(frame.contains("delaylab run endless"), "{frame}");
    // Which stage is the largest of a quantile is the machine's to say.
    live.until(|screen| screen.contains("p99.9") && screen.contains(" host "));
    live.types("q");
    live.end();
    let text = live.text();
    let after = after_the_view(&text);
    assert!(
        after.contains("stopped. What was recorded is in"),
        "{after}"
    );
    assert!(after.contains("code=1"), "{after}");
    assert_terminal_is_as_it_was(after);
}

/// Trials of a simulation are over before anybody has seen them; what came of them is told all the same.
#[test]
fn a_simulation_ends_with_its_tables() {
    let scratch = Scratch::new();
    scratch.file("fast.toml", FAST);
    let mut pty = Pty::start(&format!(
        "cd {}; {DELAYLAB} run fast.toml --tui; echo code=$?; stty -a",
        scratch.path("").display()
    ));
    pty.end();
    let text = pty.text();
    let after = after_the_view(&text);
    assert!(after.contains("--- fast (sim) ---"), "{after}");
    assert!(after.contains("code=0"), "{after}");
    assert_terminal_is_as_it_was(after);
}

#[test]
fn a_pipe_is_told_what_to_do() {
    let scratch = Scratch::new();
    for words in [
        "ping 127.0.0.1 -c 1 --tui",
        "run wait-time-jitter --tui",
        "resume x --tui",
    ] {
        let said = ran(&scratch, words);
        assert_eq!((said.code, said.stdout.as_str()), (2, ""), "{words}");
        let expected = "delaylab: --tui draws on a terminal, and standard output is not one. \
                        Leave --tui out: plain output is for pipes and files\n";
        assert_eq!(said.stderr, expected, "{words}");
    }
    assert!(!scratch.path("runs").exists());
}

#[test]
fn a_terminal_that_cannot_is_told_too() {
    let mut pty = Pty::start(&format!("TERM=dumb {DELAYLAB} ping 127.0.0.1 -c 1 --tui"));
    assert_eq!(pty.end(), 2);
    assert!(pty.text().contains("TERM says"), "{}", pty.text());
    assert!(!pty.text().contains(ENTERED));
}

#[test]
fn what_programs_read_is_not_drawn() {
    for words in [
        "ping x --tui --json",
        "ping x --tui --json-stream",
        "ping x --tui --csv",
        "ping x --tui --quiet",
        "run x --tui --json",
        "run x --tui -q",
        "resume x --tui --json",
    ] {
        let said = Ran::to_end(delaylab(None).args(words.split(' ')));
        assert_eq!(said.code, 2, "{words}");
        assert!(
            said.stderr.contains("'--tui' cannot be used with"),
            "{words}: {}",
            said.stderr
        );
    }
}
