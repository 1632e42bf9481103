//! Load: what is sent, what takes it, and what it does to the probes beside it.

use crate::harness::netns::{B4, BOTH_PREFIXES, Namespace, Pair};
use crate::harness::process::{Process, Ran, Reflector, delaylab, ping, ran};
use crate::harness::scratch::Scratch;
use crate::harness::{KEY, in_one_of_three};
use crate::or_skip;
use nix::sys::signal::Signal;
use serde_json::Value;
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Takes load on loopback, on any free port.
fn sink() -> Reflector {
    let words = "reflect -p 0 --stamp-port 0 --accept-load --load-port 0";
    Reflector::start(delaylab(None).args(words.split(' ')))
}

/// `delaylab ping WORDS --json`, which must end well: its `under_load`.
fn under_load(command: &mut Command) -> Value {
    let ran = Ran::to_end(command.arg("--json"));
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert!(document["stats"]["received"].as_u64().unwrap() > 0, "idle");
    assert_eq!(document["fail_if"], document["under_load"]["fail_if"]);
    document["under_load"].clone()
}

fn at(sink: &Reflector, words: &str) -> Command {
    let (port, load) = (sink.port, sink.load_port);
    ping(
        None,
        &format!("127.0.0.1 --method udp --port {port} --load-port {load} -w 1s {words}"),
    )
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn tcp_load_is_told_beside_the_probe() {
    let sink = sink();
    let mut command = at(&sink, "--load tcp:2:reno");
    let told = under_load(command.args(["--fail-if", "lost > 99%"]));
    assert_eq!(told["fail_if"][0]["failed"], false);
    let streams = told["streams"].as_array().unwrap();
    assert_eq!(streams.len(), 2);
    for stream in streams {
        assert_eq!(stream["congestion_control"], "reno");
        assert_eq!(stream["flaws"], Value::Array(Vec::new()));
        assert!(number(&stream["received_bytes"]) > 1e6, "{stream}");
        assert!(number(&stream["sent_bytes"]) > 1e6, "{stream}");
    }
    assert!(told["stats"]["received"].as_u64().unwrap() > 0);
    assert!(number(&told["round_trips_a_minute"]["idle"]) > 0.0);
    assert!(number(&told["round_trips_a_minute"]["under_load"]) > 0.0);
    assert!(told["sentence"].as_str().unwrap().ends_with('.'));
}

#[test]
fn who_does_not_take_load_says_so() {
    let reflector = Reflector::local();
    let words = format!(
        "127.0.0.1 --port {} --load-port 9 --load tcp",
        reflector.port
    );
    let refused = Ran::to_end(&mut ping(None, &words));
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("--accept-load"),
        "{}",
        refused.stderr
    );
    // The port of probes is no port of load.
    let words = format!("127.0.0.1 --load-port {} --load tcp", reflector.port);
    assert_eq!(Ran::to_end(&mut ping(None, &words)).code, 2);
}

#[test]
fn load_needs_the_key() {
    let scratch = Scratch::new();
    let key = scratch.file("key", KEY);
    let wrong = scratch.file("wrong", "sixteen bytes or more of another key");
    let words =
        "reflect -p 0 --stamp-port 0 --accept-load --load-port 0 --bind 127.0.0.1 --key-file";
    let sink = Reflector::start(delaylab(None).args(words.split(' ')).arg(&key));
    for load in ["tcp", "cbr:1Mbit/s"] {
        let words = format!("--load {load}");
        let told = under_load(at(&sink, &words).arg("--key-file").arg(&key));
        assert!(number(&told["streams"][0]["received_bytes"]) > 0.0);
        for (file, word) in [(Some(&wrong), "another key"), (None, "--key-file")] {
            let mut command = at(&sink, &words);
            if let Some(file) = file {
                command.arg("--key-file").arg(file);
            }
            let refused = Ran::to_end(&mut command);
            assert_eq!(refused.code, 2, "{}", refused.stderr);
            assert!(refused.stderr.contains(word), "{}", refused.stderr);
        }
    }
    // The method of the probes needs to know no key.
    let words = format!(
        "127.0.0.1 --method icmp --load-port {} -w 1s --load tcp --load down",
        sink.load_port
    );
    let told = under_load(ping(None, &words).arg("--key-file").arg(&key));
    assert!(number(&told["streams"][0]["received_bytes"]) > 0.0);
}

#[test]
fn no_load_leaves_for_another_host_unasked() {
    let refused = Ran::to_end(&mut ping(None, "192.0.2.1 --load tcp"));
    assert_eq!(refused.code, 2);
    assert!(
        refused.stderr.contains("--allow-load"),
        "{}",
        refused.stderr
    );
    let scratch = Scratch::new();
    scratch.file("bulk.toml", BULK);
    let refused = ran(&scratch, "run bulk.toml --target 192.0.2.1");
    assert_eq!(refused.code, 2);
    assert!(
        refused.stderr.contains("--allow-load"),
        "{}",
        refused.stderr
    );
}

#[test]
fn a_sink_that_goes_away_is_a_flaw_and_what_was_measured_stays() {
    let (probed, sink) = (Reflector::local(), sink());
    let words = format!(
        "127.0.0.1 --method udp --port {} --load-port {} --load cbr:1Mbit/s -i 50ms -c 60 --json",
        probed.port, sink.load_port
    );
    let mut command = ping(None, &words);
    let mut process = Process::start(command.stdout(Stdio::piped()));
    // Idle takes three seconds, and the load begins two before its probe.
    std::thread::sleep(Duration::from_secs(6));
    sink.process.signal(Signal::SIGKILL);
    let text = std::io::read_to_string(process.child.stdout.take().unwrap()).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    let told = &document["under_load"];
    assert_eq!(told["round_trips"].as_array().unwrap().len(), 60);
    let flaws = told["streams"][0]["flaws"].to_string();
    assert!(flaws.contains("nothing takes"), "{flaws}");
}

/// Load in an experiment: what its series and counts are, judged by its findings.
const BULK: &str = r#"
name = "bulk"
title = "Load beside a probe"
[[probe]]
name = "echo"
method = "udp"
pacing = { every = "20ms" }
duration = "2s"
[[load]]
name = "bulk"
kind = "tcp"
streams = 2
window = "64KiB"
congestion_control = "reno"
[[load]]
name = "steady"
kind = "cbr"
class = "ef"
rate = "5Mbit/s"
payload = "500B"
[[finding]]
id = "cwnd"
says = "TCP has a window"
check = "max(cwnd) > 1kB"
[[finding]]
id = "srtt"
says = "and a round trip"
check = "max(srtt) > 0s and max(srtt) < 1s"
[[finding]]
id = "goodput"
says = "Something gets through"
check = "mean(goodput) > 1Mbit/s"
[[finding]]
id = "retransmits"
says = "Nothing goes back in time"
check = "min(load_retransmits) >= 0"
[[finding]]
id = "offered"
says = "Near the rate that was asked for"
check = "mean(offered) ≈ 5Mbit/s within 5 %"
[[finding]]
id = "lost"
says = "The sink says what was lost"
check = "mean(lost_load) >= 0"
"#;

#[test]
fn load_of_an_experiment_is_recorded_over_time() {
    let scratch = Scratch::new();
    scratch.file("bulk.toml", BULK);
    in_one_of_three(|| {
        let ran = ran(&scratch, "run bulk.toml --json --no-report");
        assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
        let last: Value = serde_json::from_str(ran.stdout.lines().last().unwrap()).unwrap();
        let findings = last["findings"].as_array().unwrap();
        assert_eq!(findings.len(), 6, "{last}");
        for finding in findings {
            let statistic = &finding["parts"][0]["statistics"][0];
            assert!(statistic["value"].is_number(), "{finding}");
            // One trial decides these: the largest that was seen is a lower bound, and nothing is below zero.
            if ["cwnd", "retransmits"]
                .map(Value::from)
                .contains(&finding["id"])
            {
                assert_eq!(finding["verdict"], "true", "{finding}");
            }
            // What is due while its thread waits for a CPU at the end of the trial is not offered in it.
            let offered = statistic["value"].as_f64().unwrap();
            if finding["id"] == "offered" && (offered / 5e6 - 1.0).abs() >= 0.05 {
                return Err(finding.to_string());
            }
        }
        Ok(())
    });
}

/// The run's own reflector has no key; what takes the load has one.
#[test]
fn load_to_another_host_has_its_key() {
    let scratch = Scratch::new();
    scratch.file("bulk.toml", BULK);
    let key = scratch.file("key", KEY);
    let words =
        "reflect -p 0 --stamp-port 0 --accept-load --load-port 0 --bind 127.0.0.1 --key-file";
    let sink = Reflector::start(delaylab(None).args(words.split(' ')).arg(&key));
    let port = sink.load_port;
    let words = format!("run bulk.toml --load-server 127.0.0.1:{port} --key-file key --no-report");
    let ran = ran(&scratch, &words);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn a_load_that_never_begins_makes_the_trial_invalid() {
    let scratch = Scratch::new();
    scratch.file("bulk.toml", BULK);
    let words = r#"run bulk.toml --set load.steady.start="1h" --json"#;
    let ran = ran(&scratch, words);
    assert!(
        ran.stdout.contains("never began"),
        "{}{}",
        ran.stdout,
        ran.stderr
    );
}

/// `iperf3 -s` in a network of its own, if there is one on this machine: it takes its port anew for each
/// test, by TCP and UDP, and on the loopback of all other tests one of their sockets may have it by then.
fn iperf3() -> Result<(Namespace, Process), String> {
    let found = Command::new("iperf3").arg("--version").output();
    found.map_err(|error| format!("no iperf3 to interwork with: {error}"))?;
    let host = Namespace::new('i')?;
    host.ip("link set lo up")?;
    let process = Process::start(host.command("iperf3").arg("-s").stdout(Stdio::null()));
    for _ in 0..100 {
        if host.within(|| TcpStream::connect("127.0.0.1:5201").is_ok()) {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok((host, process))
}

#[test]
fn iperf3_takes_our_load() {
    let (host, _server) = or_skip!(iperf3());
    let reflector = Reflector::start(delaylab(Some(&host)).arg("reflect"));
    let words = |load: &str| {
        format!(
            "127.0.0.1 --method udp --port {} -w 1s --load-server iperf3://127.0.0.1 --load {load}",
            reflector.port
        )
    };
    for (load, streams) in [("tcp:3", 3), ("cbr:5Mbit/s:2", 2), ("tcp", 1)] {
        // A stream whose thread gets no CPU for a while as the load ends misses more than a hundredth of it, which is a flaw.
        in_one_of_three(|| {
            let told = under_load(&mut ping(Some(&host), &words(load)));
            let told = told["streams"].as_array().unwrap();
            assert_eq!(told.len(), streams, "{load}");
            for stream in told {
                assert!(number(&stream["received_bytes"]) > 1e5, "{load}: {stream}");
                if stream["flaws"] != Value::Array(Vec::new()) {
                    return Err(format!("{load}: {stream}"));
                }
            }
            Ok(())
        });
    }
    let refused = Ran::to_end(&mut ping(Some(&host), &words("poisson:1Mbit/s")));
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("tcp and cbr"), "{}", refused.stderr);
    let two = words("tcp") + " --load cbr:1Mbit/s";
    let refused = Ran::to_end(&mut ping(Some(&host), &two));
    assert_eq!(refused.code, 2);
    assert!(
        refused.stderr.contains("one test at a time"),
        "{}",
        refused.stderr
    );
}

/// Tests that mostly wait, and keep to milliseconds: one at a time, beside what computes.
mod in_turn {
    use super::*;

    #[test]
    fn a_rate_is_kept_or_the_miss_is_a_flaw() {
        let sink = sink();
        for rate in [10_u32, 50] {
            let words = format!("--load cbr:{rate}Mbit/s:ef --load poisson:{rate}Mbit/s:1400B");
            let told = under_load(&mut at(&sink, &words));
            for stream in told["streams"].as_array().unwrap() {
                let (due, sent) = (number(&stream["due_bytes"]), number(&stream["sent_bytes"]));
                let missed = 1.0 - sent / due;
                let flawed = stream["flaws"]
                    .as_array()
                    .is_some_and(|flaws| !flaws.is_empty());
                assert_eq!(missed > 0.01, flawed, "{stream}");
                // What the other end counted is what was sent, or what was lost says how much is not.
                let received = number(&stream["received_bytes"]);
                assert!(received <= sent);
                assert_eq!(received < sent, number(&stream["lost"]) > 0.0, "{stream}");
            }
            // The schedule itself is the rate that was asked for: that of IP packets.
            let cbr = &told["streams"][0];
            let seconds = number(&cbr["duration_ns"]) / 1e9;
            let offered = number(&cbr["due_bytes"]) * (1052.0 / 1024.0) * 8.0 / seconds;
            let error = offered / (f64::from(rate) * 1e6) - 1.0;
            assert!(error.abs() < 0.01, "{offered} bit/s: {cbr}");
        }
    }

    #[test]
    fn a_queue_of_this_host_is_named() {
        let pair = or_skip!(Pair::new(1500));
        or_skip!(pair.a.qdisc("tbf rate 20mbit burst 10kb latency 100ms"));
        let allow = [
            "reflect",
            "--accept-load",
            "--open",
            "--allow",
            BOTH_PREFIXES,
        ];
        let _sink = Reflector::start(delaylab(Some(&pair.b)).args(allow));
        let words = format!("{B4} --method udp -w 3s -i 50ms --allow-load --load tcp:2");
        let told = under_load(&mut ping(Some(&pair.a), &words));
        assert_eq!(told["grew"]["stage"], "local_queue", "{told}");
        let verdict = told["sentence"].as_str().unwrap();
        assert!(verdict.contains("this host's own interface"), "{verdict}");
        let rate: f64 = told["streams"]
            .as_array()
            .unwrap()
            .iter()
            .map(|stream| number(&stream["goodput_bps"]))
            .sum();
        assert!((10e6..21e6).contains(&rate), "{rate}");
    }
}
