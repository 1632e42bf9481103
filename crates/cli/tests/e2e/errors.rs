//! Every error names the thing and the remedy, and ends with its code: 1 unreachable, 2 usage, 3
//! environment or privilege. The texts are snapshots: read them as a user would.

use crate::harness::KEY;
use crate::harness::netns::{B4, Namespace, Pair};
use crate::harness::process::{DELAYLAB, Process, Ran, Reflector, delaylab, inside, ping};
use crate::harness::scratch::Scratch;
use crate::{or_skip, skip};
use nix::sys::signal::Signal;
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Command, Stdio};

/// What was typed and what came of it, as on a terminal.
fn session(inside: Option<&Namespace>, scratch: &Scratch, lines: &[&str]) -> String {
    let told: Vec<String> = std::thread::scope(|scope| {
        let running: Vec<_> = lines
            .iter()
            .map(|line| scope.spawn(move || told(inside, scratch, line)))
            .collect();
        running
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    told.join("\n")
}

fn told(inside: Option<&Namespace>, scratch: &Scratch, line: &str) -> String {
    let path = scratch.path("").display().to_string();
    let words = line.replace("DIR/", &path);
    let ran = Ran::to_end(delaylab(inside).args(words.split(' ')));
    let said = format!("{}{}", ran.stdout, ran.stderr).replace(&path, "DIR/");
    format!("$ delaylab {line}\n{said}= {}\n", ran.code)
}

#[test]
fn what_cannot_be_meant() {
    let scratch = Scratch::new();
    scratch.file("key", KEY);
    let lines = [
        "ping 192.0.2.1 -i 0.2",
        "ping 192.0.2.1 -s 56",
        "ping 192.0.2.1 --class gold",
        "ping 192.0.2.1 -Q 256",
        "ping 224.0.0.1",
        "ping 192.0.2.1 --ip-size 20B",
        "ping 192.0.2.1 --method udp -s 7B",
        "ping 192.0.2.1 --method udp -s 20B --key-file DIR/key",
        "ping 192.0.2.1 --method tcp -s 20B --key-file DIR/key",
        "ping 192.0.2.1 --method tcp -s 64B --reply-size 65B",
        "ping 192.0.2.1 --method stamp -s 43B",
        "ping 192.0.2.1 --method stamp -s 100B --key-file DIR/key",
        "ping 192.0.2.1 --key-file DIR/key",
        "ping 192.0.2.1 -s 65536B",
        "ping 192.0.2.1 -i 0.5ms",
        "ping 192.0.2.1 --wait 0s",
        "ping 192.0.2.1 -i 1ms -s 2kB",
        "ping 192.0.2.1 -o DIR/results.txt",
        "reflect --bind 192.0.2.2",
        "reflect --open",
        "reflect --accept-load --port 8862-8870",
        "reflect --stamp-port 8862",
        "reflect --accept-load --load-port 9000 --stamp-port 9000",
        "reflect --port 8862-8",
        "reflect --max-rate 0",
        "reflect --max-total-rate 0",
        "reflect --max-bandwidth 0bit/s",
        "reflect --max-sessions 0",
        "reflect --max-size 0B",
        "reflect --stamp-any-clock",
        "reflect --stamp-any-clock --no-stamp",
    ];
    insta::assert_snapshot!(session(None, &scratch, &lines));
}

#[test]
fn who_cannot_be_reached() {
    let pair = or_skip!(Pair::new(1500));
    let scratch = Scratch::new();
    let lines = [
        "ping 198.51.100.1",
        "ping 198.51.100.1 --method udp",
        "ping 198.51.100.1 --method tcp",
        "ping 198.51.100.1 --method stamp",
        "ping 2001:db8::1",
        "ping 10.232.0.2 --method udp",
        "ping 10.232.0.2 --method tcp",
        "ping 10.232.0.2 --method stamp",
        "ping 10.232.0.2 -6",
    ];
    insta::assert_snapshot!(session(Some(&pair.a), &scratch, &lines));
}

#[test]
fn a_name_that_nobody_knows() {
    let ran = Ran::to_end(&mut ping(None, "no-such-host.invalid"));
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.contains("cannot resolve `no-such-host.invalid`")
            && ran.stderr.contains("Check the name, or use an address"),
        "{}",
        ran.stderr
    );
}

/// Neither a wrong key nor a missing one gets a single packet back.
#[test]
fn who_lacks_the_key_is_not_answered() {
    let pair = or_skip!(Pair::new(1500));
    let scratch = Scratch::new();
    let key = scratch.file("key", KEY);
    scratch.file("other", "another key of some length");
    let mut command = delaylab(Some(&pair.b));
    let reflector = Reflector::start(command.args(["reflect", "--key-file"]).arg(&key));
    let lines = [
        "ping 10.232.0.2 --method udp",
        "ping 10.232.0.2 --method tcp",
        "ping 10.232.0.2 --method stamp",
        "ping 10.232.0.2 --method udp --key-file DIR/other",
        "ping 10.232.0.2 --method tcp --key-file DIR/other",
        "ping 10.232.0.2 --method stamp --key-file DIR/other",
    ];
    insta::assert_snapshot!(session(Some(&pair.a), &scratch, &lines));
    let said = reflector.stop();
    assert!(said.contains("answered      0 packets, 0 bytes"), "{said}");
    assert!(said.contains("not answered"), "{said}");
}

#[test]
fn what_this_host_lacks() {
    let pair = or_skip!(Pair::new(1500));
    let _reflector = Reflector::inside(&pair.a);
    let scratch = Scratch::new();
    scratch.file("results.json", "{}\n");
    let lines = [
        "ping 10.232.0.2 --key-file DIR/no-key --method udp",
        "ping 10.232.0.2 -c 1 -I veth7",
        "ping 10.232.0.2 -c 1 -o DIR/results.json",
        "ping 10.232.0.2 -c 1 -o DIR/there/results.json",
        "ping 10.232.0.2 -c 1 --stamps hardware -I lo",
        "reflect --key-file DIR/no-key",
        "reflect",
        "reflect -p 9000 --open --allow 10.232.0.0/16 --bind 10.232.0.1",
    ];
    insta::assert_snapshot!(session(Some(&pair.a), &scratch, &lines));
    let kept = std::fs::read_to_string(scratch.path("results.json")).unwrap();
    assert_eq!(kept, "{}\n", "nothing measured is overwritten");
}

/// Root, without its privileges and outside net.ipv4.ping_group_range.
#[test]
fn no_privilege() {
    let pair = or_skip!(Pair::new(1500));
    let mut command = pair.a.command("setpriv");
    command.args("--reuid 65534 --regid 65534 --clear-groups".split(' '));
    command.arg(DELAYLAB).args(["ping", B4, "-c", "1"]);
    let ran = Ran::to_end(&mut command);
    if ran.code > 4 {
        skip!("user 65534 cannot run the binary: {}", ran.stderr.trim());
    }
    insta::assert_snapshot!(format!("{}{}= {}", ran.stdout, ran.stderr, ran.code));
}

#[test]
fn the_interface_goes_while_running() {
    let pair = or_skip!(Pair::new(1500));
    let mut command = ping(Some(&pair.a), &format!("{B4} -i 100ms"));
    let mut process = Process::start(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
    let mut stdout = BufReader::new(process.child.stdout.take().unwrap()).lines();
    for _ in 0..3 {
        assert!(stdout.next().unwrap().unwrap().starts_with("seq="));
    }
    pair.a.ip("link del veth0").unwrap();
    let rest: Vec<String> = stdout.map(Result::unwrap).collect();
    let stderr = std::io::read_to_string(process.child.stderr.take().unwrap()).unwrap();
    let code = process.child.wait().unwrap().code();
    assert_eq!(code, Some(1), "{stderr}");
    insta::assert_snapshot!(stderr);
    let summary = rest.join("\n");
    assert!(summary.contains("--- 10.232.0.2 (icmp,"), "{summary}");
}

#[test]
fn the_disk_is_full() {
    let reflector = Reflector::local();
    for format in ["--json", "--json-stream", "--csv", "-q"] {
        let words = format!(
            "127.0.0.1 --method udp --port {} -i 5ms -c 3 {format}",
            reflector.port
        );
        let full = File::options().write(true).open("/dev/full").unwrap();
        let ran = Ran::with_stdout(&mut ping(None, &words), full.into());
        assert_eq!(ran.code, 3, "{format}: {}", ran.stderr);
        assert_eq!(
            ran.stderr,
            "delaylab: cannot write the results: No space left on device (os error 28)\n",
            "{format}"
        );
    }
}

#[test]
fn a_reader_who_has_had_enough_ends_it_quietly() {
    let reflector = Reflector::local();
    for format in ["--json-stream", "--csv", "-D"] {
        let words = format!(
            "127.0.0.1 --method udp --port {} -i 5ms {format}",
            reflector.port
        );
        let mut command = ping(None, &words);
        let mut process = Process::start(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
        let mut line = String::new();
        BufReader::new(process.child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        assert!(!line.is_empty());
        let stderr = std::io::read_to_string(process.child.stderr.take().unwrap()).unwrap();
        let code = process.child.wait().unwrap().code();
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{format}");
    }
}

#[test]
fn an_error_that_nobody_can_hear_has_its_code() {
    let scratch = Scratch::new();
    for (words, code) in [("report nosuch", 2), ("ping nosuch.invalid -c 1", 1)] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let status = inside(&scratch, words).stderr(full).status().unwrap();
        assert_eq!(status.code(), Some(code), "{words}");
    }
}

#[test]
fn ctrl_c_prints_the_summary() {
    let reflector = Reflector::local();
    for (method, signal) in [
        ("udp", Signal::SIGINT),
        ("tcp", Signal::SIGINT),
        ("stamp", Signal::SIGTERM),
    ] {
        let words = format!(
            "127.0.0.1 --method {method} --port {} -i 60ms",
            reflector.port_of(method)
        );
        let mut process = Process::start(ping(None, &words).stdout(Stdio::piped()));
        let mut lines = BufReader::new(process.child.stdout.take().unwrap()).lines();
        for _ in 0..5 {
            assert!(
                lines.next().unwrap().unwrap().starts_with("seq="),
                "{method}"
            );
        }
        process.signal(signal);
        let rest: Vec<String> = lines.map(Result::unwrap).collect();
        assert_eq!(process.child.wait().unwrap().code(), Some(0), "{method}");
        let summary = rest.join("\n");
        for part in [" received, 0 % lost", "round trip", "Where the time goes"] {
            assert!(summary.contains(part), "{method}: {summary}");
        }
    }
}

/// As a terminal that is closed sends it. `nohup` keeps it away.
#[test]
fn a_hangup_ends_a_ping_as_ctrl_c_does() {
    let scratch = Scratch::new();
    let reflector = Reflector::local();
    for (name, disposition) in [
        ("ended.json", "--default-signal=HUP"),
        ("kept.json", "--ignore-signal=HUP"),
    ] {
        let file = scratch.path(name);
        let words = format!(
            "ping 127.0.0.1 --method udp --port {} -i 60ms -o",
            reflector.port
        );
        let mut command = Command::new("env");
        command.args([disposition, DELAYLAB]);
        command.args(words.split(' ')).arg(&file);
        command.env_remove("DELAYLAB_KEY").env("NO_COLOR", "1");
        let mut process = Process::start(command.stdout(Stdio::piped()));
        let mut lines = BufReader::new(process.child.stdout.take().unwrap()).lines();
        let mut packets = |count: usize| {
            for _ in 0..count {
                let line = lines.next().unwrap().unwrap();
                assert!(line.starts_with("seq="), "{name}: {line}");
            }
        };
        packets(3);
        process.signal(Signal::SIGHUP);
        if disposition.contains("ignore") {
            packets(5);
            process.signal(Signal::SIGTERM);
        }
        lines.for_each(drop);
        assert_eq!(process.child.wait().unwrap().code(), Some(0), "{name}");
        let document: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        assert!(document["stats"]["received"].as_u64() >= Some(3), "{name}");
    }
}

#[test]
fn a_port_in_use_is_named() {
    let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let words = format!("reflect --no-stamp --bind 127.0.0.1 -p {port}");
    let ran = Ran::to_end(delaylab(None).args(words.split(' ')));
    assert_eq!(ran.code, 3);
    assert_eq!(
        ran.stderr,
        format!(
            "delaylab: cannot serve udp on 127.0.0.1:{port}: Address already in use (os error 98). \
             Another process has this port: `ss -lntup` shows which; or choose another\n"
        )
    );
}

/// Read from outside, of every thread, while it serves.
#[test]
fn the_reflector_has_no_privileges_left() {
    let pair = or_skip!(Pair::new(1500));
    let reflector = Reflector::inside(&pair.b);
    let served = Ran::to_end(&mut ping(
        Some(&pair.a),
        &format!("{B4} --method tcp -i 5ms -c 3 -q"),
    ));
    assert_eq!(served.code, 0, "{}", served.stderr);
    let tasks = Path::new("/proc")
        .join(reflector.process.child.id().to_string())
        .join("task");
    let mut threads = 0;
    for task in std::fs::read_dir(tasks).unwrap().flatten() {
        let Ok(status) = std::fs::read_to_string(task.path().join("status")) else {
            continue;
        };
        threads += 1;
        let value = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name)).unwrap();
            line[name.len() + 1..].trim().to_owned()
        };
        for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
            assert_eq!(value(set), "0000000000000000", "{set}");
        }
        assert_eq!(value("NoNewPrivs"), "1");
        assert_eq!(value("Seccomp"), "2");
        for ids in ["Uid", "Gid"] {
            assert!(
                value(ids).split_whitespace().all(|id| id != "0"),
                "{ids}: {}",
                value(ids)
            );
        }
    }
    // The main thread, one a socket: udp, tcp and stamp over both IP versions.
    assert!(threads >= 7, "{threads} threads");
}
