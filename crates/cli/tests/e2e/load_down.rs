//! Load that comes down: who sends it, to whom, and what it does to the probes beside it.

use crate::harness::KEY;
use crate::harness::netns::{B4, BOTH_PREFIXES, Pair};
use crate::harness::process::{Ran, Reflector, delaylab, ping, ran};
use crate::harness::scratch::Scratch;
use crate::or_skip;
use delaylab_traffic::reflector::load::{LoadOpening, LoadSink};
use delaylab_traffic::reflector::{Access, Now, Policy};
use delaylab_wire::control::SIZE;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

/// Takes load on loopback, on any free port, with these words.
fn reflector(words: &str) -> Reflector {
    let words = format!("reflect -p 0 --stamp-port 0 --load-port 0 {words}");
    Reflector::start(delaylab(None).args(words.split(' ')))
}

fn words(at: &Reflector, words: &str) -> String {
    let (port, load) = (at.port, at.load_port);
    format!("127.0.0.1 --method udp --port {port} --load-port {load} -i 20ms {words}")
}

/// The document of `delaylab ping WORDS --json`, which must end well.
fn document(words: &str) -> Value {
    let ran = Ran::to_end(&mut ping(None, &format!("{words} --json")));
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    serde_json::from_str(&ran.stdout).unwrap()
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

/// Streams of a part: how many go each way, all of which got something through and have no flaw.
fn ways(part: &Value) -> [usize; 2] {
    let streams = part["streams"].as_array().unwrap();
    for stream in streams {
        assert_eq!(stream["flaws"], Value::Array(Vec::new()), "{stream}");
        // However little: a busy machine carries a window at a time.
        assert!(number(&stream["received_bytes"]) > 0.0, "{stream}");
        assert!(number(&stream["sent_bytes"]) > 0.0, "{stream}");
        assert!(number(&stream["lost"]) >= 0.0, "{stream}");
    }
    ["up", "down"].map(|way| {
        let these = streams.iter().filter(|stream| stream["direction"] == way);
        these.count()
    })
}

#[test]
fn load_goes_up_down_and_both_ways_at_once() {
    let at = reflector("--accept-load");
    let told = document(&words(&at, "-w 300ms --load rrul:2"));
    let each_way = &told["each_way"];
    assert_eq!(ways(&each_way["up"]), [2, 0]);
    assert_eq!(ways(&each_way["down"]), [0, 2]);
    assert_eq!(ways(&told["under_load"]), [2, 2]);
    assert_eq!(each_way["down"]["load"], "rrul:2 down");
    assert_eq!(each_way["up"]["goodput_bps"]["down"], Value::Null);
    for part in [&each_way["up"], &each_way["down"], &told["under_load"]] {
        assert!(number(&part["stats"]["received"]) > 0.0);
        assert!(number(&part["responsiveness"]["under_load"]) > 0.0);
        assert!(number(&part["responsiveness"]["loads"]) > 0.0);
        assert!(number(&part["shift"]["response"]["p50_ns"]["difference"]).is_finite());
    }
    let lines = Ran::to_end(&mut ping(
        None,
        &words(&at, "-w 300ms --load down:1:reno -qq"),
    ));
    assert_eq!(lines.code, 0, "{}", lines.stderr);
    assert_eq!(lines.stdout.lines().count(), 2, "{}", lines.stdout);
    let told = document(&words(&at, "-w 300ms --load tcp:down:reno:64KiB"));
    assert_eq!(ways(&told["under_load"]), [0, 1]);
    assert_eq!(
        told["under_load"]["streams"][0]["congestion_control"],
        "reno"
    );
    assert_eq!(told["each_way"], Value::Null);
}

#[test]
fn the_table_of_all_parts_comes_last() {
    let at = reflector("--accept-load");
    let mut command = ping(None, &words(&at, "-w 300ms --load rrul:1 -q --fail-if"));
    let ran = Ran::to_end(command.arg("lost > 1%"));
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let table = ran.stdout.split("--- idle and under each load ---").nth(1);
    let table = table.unwrap_or_else(|| panic!("{}", ran.stdout));
    for row in [
        "rrul:1 up",
        "rrul:1 down",
        "rrul:1 both",
        "response p50",
        "p50 increase",
        "goodput up",
        "goodput down",
        "responsiveness, RPM",
        "rrul:1 both: ",
    ] {
        assert!(table.contains(row), "{row}: {table}");
    }
}

#[test]
fn load_comes_down_for_those_who_have_the_key_alone() {
    let scratch = Scratch::new();
    let key = scratch.file("key", KEY);
    let wrong = scratch.file("wrong", "sixteen bytes or more of another key");
    let at = reflector(&format!(
        "--accept-load --bind 127.0.0.1 --key-file {}",
        key.display()
    ));
    let asked = words(&at, "-w 300ms --load down:1 --key-file");
    let told = document(&format!("{asked} {}", key.display()));
    assert_eq!(ways(&told["under_load"]), [0, 1]);
    let refused = Ran::to_end(&mut ping(None, &format!("{asked} {}", wrong.display())));
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("another key"), "{}", refused.stderr);
}

#[test]
fn who_sends_none_says_so_at_once() {
    let at = reflector("--accept-load=up");
    let taken = document(&words(&at, "-w 300ms --load up:1"));
    assert_eq!(ways(&taken["under_load"]), [1, 0]);
    for load in ["down", "both", "rrul"] {
        let refused = Ran::to_end(&mut ping(None, &words(&at, &format!("--load {load}"))));
        assert_eq!(refused.code, 2, "{load}: {}", refused.stderr);
        assert!(
            refused.stderr.contains("--accept-load=up"),
            "{load}: {}",
            refused.stderr
        );
        assert_eq!(refused.stdout, "", "{load}");
    }
    let refused = Ran::to_end(&mut ping(None, &words(&at, "--load down:no_such")));
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    let iperf3 = Ran::to_end(&mut ping(
        None,
        "127.0.0.1 --load down --load-server iperf3://127.0.0.1:9",
    ));
    assert_eq!(iperf3.code, 2, "{}", iperf3.stderr);
    assert!(
        iperf3.stderr.contains("delaylab reflect"),
        "{}",
        iperf3.stderr
    );
}

/// A reflector that takes load and knows no Fetch, as those before it: what it does not know ends the connection.
fn of_old(stream: &mut TcpStream) -> std::io::Result<()> {
    let now = Now {
        mono: 0,
        real: 0,
        clock_steps: 0,
    };
    let mut sink = LoadSink::new(Policy::new(Access::Open { allow: Vec::new() }), [7; 32]);
    let (mut packet, mut reply) = ([0; SIZE], [0; SIZE]);
    stream.read_exact(&mut packet)?;
    let from = stream.peer_addr()?.ip();
    let LoadOpening::Control(length, session) = sink.open(now, from, &packet, None, &mut reply)
    else {
        return Ok(());
    };
    stream.write_all(&reply[..length])?;
    loop {
        stream.read_exact(&mut packet)?;
        let Some(length) = sink.control(now, session, &packet, &mut reply) else {
            return Ok(());
        };
        stream.write_all(&reply[..length])?;
    }
}

#[test]
fn an_old_reflector_is_to_be_updated() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let old = std::thread::spawn(move || of_old(&mut listener.accept().unwrap().0));
    let words = format!("127.0.0.1 --load-port {port} --load down:1");
    let refused = Ran::to_end(&mut ping(None, &words));
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    for part in ["too old", "Update `delaylab reflect`", "--load up"] {
        assert!(refused.stderr.contains(part), "{}", refused.stderr);
    }
    old.join().unwrap().unwrap();
}

#[test]
fn load_of_an_experiment_comes_down() {
    let scratch = Scratch::new();
    scratch.file("down.toml", DOWN);
    let ran = ran(&scratch, "run down.toml --json --no-report");
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let last: Value = serde_json::from_str(ran.stdout.lines().last().unwrap()).unwrap();
    let findings = last["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 2, "{last}");
    for finding in findings {
        let statistic = &finding["parts"][0]["statistics"][0];
        assert!(number(&statistic["value"]) > 0.0, "{finding}");
    }
}

#[test]
fn only_tcp_comes_down_from_a_reflector() {
    let scratch = Scratch::new();
    scratch.file("down.toml", DOWN);
    let words = r#"check down.toml --set load.bulk.kind="cbr" --set load.bulk.rate="1Mbit/s""#;
    let refused = ran(&scratch, words);
    assert_eq!(refused.code, 2, "{}{}", refused.stdout, refused.stderr);
    assert!(
        refused.stderr.contains("only tcp comes down"),
        "{}",
        refused.stderr
    );
}

const DOWN: &str = r#"
name = "down"
title = "Load that comes down beside a probe"
[[probe]]
name = "echo"
method = "udp"
pacing = { every = "20ms" }
duration = "1s"
[[load]]
name = "bulk"
kind = "tcp"
direction = "down"
[[finding]]
id = "srtt"
says = "The reflector tells its round trip"
check = "max(srtt) > 0s"
[[finding]]
id = "goodput"
says = "Something comes down"
check = "mean(goodput) > 1Mbit/s"
"#;

/// Tests that mostly wait, and keep to milliseconds: one at a time, beside what computes.
mod in_turn {
    use super::*;

    #[test]
    fn each_way_fills_its_own_queue() {
        let pair = or_skip!(Pair::new(1500));
        for end in [&pair.a, &pair.b] {
            or_skip!(end.qdisc("tbf rate 20mbit burst 10kb latency 100ms"));
        }
        let allow = [
            "reflect",
            "--accept-load",
            "--open",
            "--allow",
            BOTH_PREFIXES,
        ];
        let _reflector = Reflector::start(delaylab(Some(&pair.b)).args(allow));
        let words = format!("{B4} --method udp -w 2s -i 20ms --allow-load --load rrul:2 --json");
        let ran = Ran::to_end(&mut ping(Some(&pair.a), &words));
        assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
        let told: Value = serde_json::from_str(&ran.stdout).unwrap();
        let (up, down) = (&told["each_way"]["up"], &told["each_way"]["down"]);
        assert_eq!(up["grew"]["stage"], "local_queue", "{}", up["sentence"]);
        assert_eq!(down["grew"]["stage"], "reflector", "{}", down["sentence"]);
        let verdict = down["sentence"].as_str().unwrap();
        assert!(
            verdict.contains("the queue of its own interface"),
            "{verdict}"
        );
        for part in [up, down, &told["under_load"]] {
            let median = &part["shift"]["response"]["p50_ns"];
            assert_eq!(median["longer"], true, "{}", part["sentence"]);
            for goodput in ["up", "down"].map(|way| &part["goodput_bps"][way]) {
                if let Some(bits) = goodput.as_f64() {
                    assert!((5e6..21e6).contains(&bits), "{}", part["goodput_bps"]);
                }
            }
        }
    }
}
