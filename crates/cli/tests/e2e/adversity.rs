//! A full queue, a session that ends, a burst that must come out at once: nothing hangs, and no stamp
//! goes to another packet.

use crate::harness::netns::{B4, Pair};
use crate::harness::process::{Ran, Reflector, Stream, delaylab, inside, measure, ping, ran};
use crate::harness::scratch::Scratch;
use crate::or_skip;
use nix::sys::signal::Signal;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

/// The queue drops every few packets, so that send calls fail (ENOBUFS) while stamps of packets still
/// queued are under way.
#[test]
fn stamps_keep_to_their_packets_when_the_queue_overflows() {
    let pair = or_skip!(Pair::new(1500));
    let _reflector = Reflector::inside(&pair.b);
    or_skip!(pair.a.qdisc("tbf rate 100kbit burst 2000 limit 8000"));
    for method in ["udp", "stamp", "icmp"] {
        let words = format!("{B4} --method {method} -s 500B -i 20ms -c 120 --allow-load");
        let run = measure(Some(&pair.a), &words);
        assert!(
            run.count("local_error") > 20,
            "{method}: the queue did not overflow"
        );
        let answered = run
            .records
            .iter()
            .filter(|record| record.t_recv_ns.is_some());
        for record in answered {
            let (Some(sched), Some(tx), Some(rx)) =
                (record.t_sched_ns, record.t_tx_ns, record.t_rx_ns)
            else {
                panic!("{method}: a stamp is missing: {record:?}");
            };
            assert!(record.t_send_ns.unwrap() <= sched, "{method}: {record:?}");
            assert!(sched <= tx && tx <= rx, "{method}: {record:?}");
            // The rate is shaped before t_tx: behind it there is nothing to wait for. A stamp of an
            // earlier packet would book its wait as the path's: 43 ms, more than a busy machine adds.
            let path = record.r_rx_ns.unwrap_or(rx) - tx;
            assert!(
                path < 38_000_000,
                "{method}: {path} ns on the path: {record:?}"
            );
        }
        assert_eq!(run.count("lost"), 0, "{method}");
        if method != "icmp" {
            assert_eq!(run.loss_direction(), [0, 0, 0], "{method}");
        }
    }
}

#[test]
fn a_session_that_ends_is_said_so_and_nothing_hangs() {
    let mut command = delaylab(None);
    command.args("reflect --bind 127.0.0.1 --no-stamp --port 0 --max-duration 1s".split(' '));
    let reflector = Reflector::start(&mut command);
    let port = reflector.port_of("udp");
    let words = format!("127.0.0.1 --method udp --port {port} -i 100ms -W 200ms -c 20 -q");
    let ran = Ran::to_end(&mut ping(None, &words));
    assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
    assert!(
        ran.stderr.contains("the reflector ends a session after 1s"),
        "{}",
        ran.stderr
    );
}

/// Figures of a part of it do not answer for the whole.
#[test]
fn a_run_that_ended_early_is_said_to_be_one_wherever_it_is_read() {
    let mut command = delaylab(None);
    command.args("reflect --bind 127.0.0.1 --no-stamp --port 0 --max-duration 3s".split(' '));
    let reflector = Reflector::start(&mut command);
    let scratch = Scratch::new();
    // A machine that stops for a while neither ends the whole one nor loses its packets.
    for (folder, count, timeout, code) in [("whole", 5, "2s", 0), ("short", 40, "200ms", 1)] {
        let words = format!(
            "ping 127.0.0.1 --method udp --port {} -i 100ms -W {timeout} -c {count} -q --save {folder}",
            reflector.port
        );
        let saved = ran(&scratch, &words);
        assert_eq!(saved.code, code, "{}{}", saved.stdout, saved.stderr);
    }
    let in_one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let why = "1 of 1 trial is invalid: the reflector ends a session after 3s";
    for words in ["explain short/latest", "explain short/latest --json"] {
        let explained = ran(&scratch, words);
        assert!(
            in_one_line(&explained.stdout).contains(why),
            "{words}: {}",
            explained.stdout
        );
    }
    let compared = |words: &str| {
        let mut command = inside(&scratch, words);
        Ran::to_end(command.args(["--strict", "--fail-if", "max(response) > 10s"]))
    };
    let short = compared("compare whole/latest short/latest");
    let said = in_one_line(&short.stdout);
    assert_eq!(short.code, 1, "{said}");
    for part in [
        &format!("undecided: max(response) > 10s: of B, {why}"),
        "Of B, 1 of 1 trial is invalid.",
    ] {
        assert!(said.contains(part), "{said}");
    }
    let whole = compared("compare short/latest whole/latest");
    assert_eq!(whole.code, 0, "{}", whole.stdout);
    let listed = ran(&scratch, "list -o short --json");
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(listed["runs"][0]["invalid"], 1);
}

/// A ping under way, whose reflector is killed after some packets, and that reflector's port.
fn without_reflector(method: &str) -> (Stream, u16) {
    let reflector = Reflector::local();
    let port = reflector.port_of(method);
    let words = format!("127.0.0.1 --method {method} --port {port} -i 20ms -W 200ms");
    let mut stream = Stream::start(None, &words);
    (0..20).for_each(|_| stream.until("ok"));
    (stream, port)
}

#[test]
fn a_reflector_that_ends_is_said_so() {
    for (method, says) in [
        ("udp", "nothing listens on its port"),
        ("stamp", "nothing listens on its port"),
        ("tcp", "ended while it was probed"),
    ] {
        let (mut stream, _) = without_reflector(method);
        if method != "tcp" {
            stream.until("refused");
            stream.process.signal(Signal::SIGINT);
        }
        let run = stream.ended_with(1);
        let said = run.said("flaws");
        assert!(said.contains(says), "{method}: {said}");
        if method != "tcp" {
            assert_eq!(run.loss_direction()[0], 0, "{method}");
        }
    }
}

/// It answers packets of senders that it does not know, and counts them from 0.
#[test]
fn what_a_restarted_stamp_reflector_did_not_hear_was_not_lost_on_the_way_out() {
    let (mut stream, port) = without_reflector("stamp");
    stream.until("refused");
    let words = format!("reflect -p 0 --stamp-port {port}");
    let _again = Reflector::start(delaylab(None).args(words.split(' ')));
    (0..10).for_each(|_| stream.until("ok"));
    stream.process.signal(Signal::SIGINT);
    let run = stream.finish();
    let [forward, _, unknown] = run.loss_direction();
    assert!(forward == 0 && unknown > 0, "{forward} {unknown}");
    let counts = run.records.iter().filter_map(|record| record.reflector_seq);
    assert!(u64::from(counts.max().unwrap()) < run.count("sent"));
    let said = run.said("warnings");
    assert!(said.contains("it was restarted"), "{said}");
}

/// Whoever reads the lines gets each when its record is whole, also in a closed loop.
#[test]
fn lines_come_while_it_runs() {
    let reflector = Reflector::local();
    let port = reflector.port_of("udp");
    for pacing in ["--wait 100ms", "--poisson 100ms", "-i 100ms"] {
        let words = format!("127.0.0.1 --method udp --port {port} {pacing} -w 60s --json-stream");
        let mut child = ping(None, &words).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // Were they kept back, the harness would end this test.
        let seen: Vec<_> = lines.take(4).map(Result::unwrap).collect();
        assert!(
            child.try_wait().unwrap().is_none(),
            "{pacing}: it had ended"
        );
        assert_eq!(seen.len(), 4, "{pacing}");
        child.kill().unwrap();
        child.wait().unwrap();
        std::thread::sleep(Duration::from_millis(10));
    }
}
