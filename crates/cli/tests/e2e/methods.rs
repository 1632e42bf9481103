//! Every method, size, mark, pacing and kind of loss.

use crate::harness::KEY;
use crate::harness::forwarder::{Fate, Forwarder, Way, for_udp_seq};
use crate::harness::netns::{B4, B6, Namespace, Pair};
use crate::harness::process::{Ran, Reflector, Stream, allowed, delaylab, measure, ping};
use crate::harness::run::{Record, Run};
use crate::harness::scratch::Scratch;
use crate::harness::stages::stages;
use crate::or_skip;
use delaylab_kernel::clock;
use delaylab_model::{MILLISECOND, SECOND};
use nix::sys::signal::Signal;
use serde_json::Value;

const METHODS: [&str; 4] = ["icmp", "udp", "tcp", "stamp"];

#[test]
fn every_method_over_loopback() {
    let reflector = Reflector::local();
    let methods = allowed(&METHODS);
    for target in ["127.0.0.1", "::1"] {
        for &method in &methods {
            let port = reflector.port_of(method);
            let run = measure(
                None,
                &format!("{target} --method {method} --port {port} -i 4ms -c 60"),
            );
            assert_sound(&run, method, 60);
        }
    }
}

#[test]
fn every_method_over_veth() {
    let pair = or_skip!(Pair::new(1500));
    let _reflector = Reflector::inside(&pair.b);
    for target in [B4, B6] {
        for method in METHODS {
            let words = format!("{target} --method {method} -i 4ms -c 60");
            assert_sound(&measure(Some(&pair.a), &words), method, 60);
        }
    }
}

#[test]
fn a_host_without_ipv6_has_a_reflector() {
    let host = or_skip!(Namespace::new('h'));
    or_skip!(host.ip("link set lo up"));
    let mut off = host.command("sysctl");
    let off = Ran::to_end(off.args(["-qw", "net.ipv6.conf.all.disable_ipv6=1"]));
    assert_eq!(off.code, 0, "{}", off.stderr);
    let _reflector = Reflector::start(delaylab(Some(&host)).arg("reflect"));
    for method in ["udp", "tcp", "stamp"] {
        let words = format!("127.0.0.1 --method {method} -i 4ms -c 5");
        measure(Some(&host), &words).assert_all_received(5);
    }
}

/// All were answered, with every stamp that the method has, and what is said of the run follows from
/// its records.
fn assert_sound(run: &Run, method: &str, sent: u64) {
    run.assert_all_received(sent);
    let of_reflector = if method == "icmp" {
        "unsupported"
    } else {
        "delivered"
    };
    for (stamp, wanted) in [
        ("t_sched", "delivered"),
        ("t_tx", "delivered"),
        ("t_rx", "delivered"),
        ("r_rx", of_reflector),
        ("r_user", of_reflector),
        ("r_tx", of_reflector),
    ] {
        assert_eq!(run.delivery(stamp), wanted, "{method}: {stamp}");
    }
    for record in &run.records {
        assert_adds_up(record, method);
    }
    assert_statistics_follow(run);
    assert_anatomy_follows(run);
}

/// The stages are what the stamps say, none is negative, and they add up to the response.
fn assert_adds_up(record: &Record, method: &str) {
    // Real-time stamps are put on monotonic time by bracketed reads, each good to tens of ns.
    const CONVERSION: i64 = 1_000;
    let stages = stages(record);
    let sum: i64 = stages.values().sum();
    assert_eq!(Some(sum), record.response_ns, "{method}: {record:?}");
    assert!(
        stages.values().all(|&length| length > -CONVERSION),
        "{method}: {stages:?}"
    );
    if let (Some(r_rx), Some(r_user), Some(r_tx)) =
        (record.r_rx_ns, record.r_user_ns, record.r_tx_ns)
    {
        let in_order = r_rx - CONVERSION < r_user && r_user < r_tx + CONVERSION;
        assert!(in_order, "{method}: {record:?}");
    }
    let recv = record.t_recv_ns.unwrap();
    assert_eq!(record.response_ns, Some(recv - record.t_intended_ns));
    assert_eq!(
        record.round_trip_ns,
        record.t_send_ns.map(|send| recv - send)
    );
    let network = network(record, method);
    assert_eq!(record.network_ns, network, "{method}: {record:?}");
    assert_eq!(record.host_ns, network.map(|network| sum - network));
}

fn network(record: &Record, method: &str) -> Option<i64> {
    let path = record.t_rx_ns? - record.t_tx_ns?;
    if method == "icmp" {
        return Some(path);
    }
    Some(path - (record.r_tx_ns? - record.r_rx_ns?))
}

fn assert_statistics_follow(run: &Run) {
    type Column = fn(&Record) -> Option<i64>;
    let columns: [(&str, Column); 4] = [
        ("response", |record| record.response_ns),
        ("round_trip", |record| record.round_trip_ns),
        ("network", |record| record.network_ns),
        ("host", |record| record.host_ns),
    ];
    for (name, column) in columns {
        let mut values: Vec<i64> = run.records.iter().filter_map(column).collect();
        values.sort_unstable();
        let said = &run.document["stats"][name];
        let nearest_rank = |percent: usize| values[(values.len() * percent).div_ceil(100) - 1];
        assert_eq!(said["count"], values.len(), "{name}");
        assert_eq!(said["min_ns"], values[0], "{name}");
        assert_eq!(said["p50_ns"], nearest_rank(50), "{name}");
        for (quantile, percent, least) in [("p90_ns", 90, 10), ("p99_ns", 99, 100)] {
            // One that so few values do not carry is null, and says why.
            let carried = values.len() >= least;
            let expected = carried.then(|| nearest_rank(percent));
            assert_eq!(said[quantile].as_i64(), expected, "{name}");
            assert_eq!(said["reasons"][quantile].is_null(), carried, "{name}");
        }
        assert_eq!(said["max_ns"], values[values.len() - 1], "{name}");
    }
}

/// At every quantile the stages add up to the response; at the maximum they are those of its record.
fn assert_anatomy_follows(run: &Run) {
    let anatomy = run.document["stats"]["anatomy"].as_array().unwrap();
    let names: Vec<&Value> = anatomy.iter().map(|at| &at["quantile"]).collect();
    let answered = run.document["stats"]["response"]["count"].as_u64().unwrap();
    let all = [
        ("p50", 1),
        ("p90", 10),
        ("p99", 100),
        ("p99.9", 1000),
        ("max", 1),
    ];
    let carried = all.into_iter().filter(|(_, least)| answered >= *least);
    assert_eq!(names, carried.map(|(name, _)| name).collect::<Vec<_>>());
    for at in anatomy {
        let sum: f64 = lengths(at).iter().sum();
        let response = at["response_ns"].as_f64().unwrap();
        assert!((sum - response).abs() < 1.0, "{at}");
    }
    let worst = run.records.iter().max_by_key(|record| record.response_ns);
    let worst = stages(worst.unwrap());
    // Stages are those that all records tell apart: one that lacks a stamp, as on a busy host, joins two of all.
    let mut all = run.records.iter().map(stages);
    if !all.all(|own| own.keys().eq(worst.keys())) {
        return;
    }
    let mut expected: Vec<f64> = worst.values().map(|&ns| ns as f64).collect();
    let mut said = lengths(anatomy.last().unwrap());
    expected.sort_by(f64::total_cmp);
    said.sort_by(f64::total_cmp);
    assert_eq!(said, expected);
}

fn lengths(at: &Value) -> Vec<f64> {
    let stages = at["stages"].as_array().unwrap().iter();
    stages
        .map(|stage| stage["time_ns"].as_f64().unwrap())
        .collect()
}

/// Down to the header alone, which repeats nothing of the request.
#[test]
fn tcp_replies_may_be_shorter_than_requests() {
    let reflector = Reflector::local();
    for size in [8, 9, 12, 100] {
        let words = format!(
            "127.0.0.1 --method tcp --port {} -s 100B --reply-size {size}B -i 2ms -c 5",
            reflector.port
        );
        measure(None, &words).assert_all_received(5);
    }
}

#[test]
fn sizes_from_40_bytes_past_an_mtu_of_9188() {
    for mtu in [1500, 9188] {
        let pair = or_skip!(Pair::new(mtu));
        let _reflector = Reflector::inside(&pair.b);
        for (target, least) in [(B4, 40), (B6, 60)] {
            for ip_size in [least, 576, 1500, 1501, 9188, 9189, 20_000] {
                for method in ["icmp", "udp", "stamp"] {
                    if method == "stamp" && ip_size < 576 {
                        continue;
                    }
                    let words = format!(
                        "{target} --method {method} --ip-size {ip_size}B -i 2ms -c 5 --allow-load"
                    );
                    let run = measure(Some(&pair.a), &words);
                    run.assert_all_received(5);
                    for record in &run.records {
                        assert_eq!(record.ip_size, Some(ip_size), "{words}");
                        assert_adds_up(record, if ip_size == least { "icmp" } else { method });
                    }
                }
            }
            let run = measure(
                Some(&pair.a),
                &format!("{target} --method tcp -s 20000B -i 2ms -c 5 --allow-load"),
            );
            run.assert_all_received(5);
        }
    }
}

#[test]
fn what_must_not_be_fragmented_is_refused_where_it_does_not_fit() {
    let pair = or_skip!(Pair::new(1500));
    let _reflector = Reflector::inside(&pair.b);
    for target in [B4, B6] {
        for method in ["icmp", "udp", "stamp"] {
            let words = |size: u32| {
                format!("{target} --method {method} -M do --ip-size {size}B -i 2ms -c 2")
            };
            measure(Some(&pair.a), &words(1500)).assert_all_received(2);
            let ran = Ran::to_end(&mut ping(Some(&pair.a), &words(1501)));
            assert_eq!(ran.code, 2, "{method}: {}", ran.stderr);
            assert!(
                ran.stderr.contains("does not fit the MTU") && ran.stderr.contains("-M want"),
                "{method}: {}",
                ran.stderr
            );
        }
    }
}

#[test]
fn marks_out_and_back() {
    let pair = or_skip!(Pair::new(1500));
    let _reflector = Reflector::inside(&pair.b);
    for target in [B4, B6] {
        for method in METHODS {
            let marked = |words: &str| {
                let words = format!("{target} --method {method} -i 2ms -c 3 {words}");
                let run = measure(Some(&pair.a), &words);
                run.assert_all_received(3);
                run.records[0].clone()
            };
            let record = marked("--class ef -t 7");
            assert_eq!(
                (record.dscp, record.reply_ttl.is_some()),
                (46, method != "tcp")
            );
            let seen = matches!(method, "udp" | "stamp").then_some(46);
            assert_eq!(record.r_dscp, seen, "{target} {method}");
            if method != "tcp" {
                assert_eq!(record.reply_dscp, Some(46), "{target} {method}");
                assert_eq!(record.reply_ttl, Some(64), "{target} {method}");
                let record = marked("--tos 0xb9");
                assert_eq!(
                    (record.reply_dscp, record.reply_ecn),
                    (Some(46), Some(1)),
                    "{target} {method}"
                );
            }
        }
    }
}

/// Data packets of both formats by the packet's number.
fn by_seq(method: &str, mut fate: impl FnMut(Way, u64) -> Vec<i64> + Send + 'static) -> Fate {
    if method == "udp" {
        return for_udp_seq(56, move |way, seq| fate(way, seq.into()));
    }
    // STAMP's first packet asks whether there is a reflector, with any number; the others count on from it. A reply
    // repeats the sender's number at byte 24 (RFC 8762 §4.3.1).
    let mut first = None;
    Box::new(move |way, packet| {
        let at = if way == Way::Out { 0 } else { 24 };
        let wire = u32::from_be_bytes(packet[at..at + 4].try_into().unwrap());
        match wire - *first.get_or_insert(wire) {
            0 => vec![0],
            number => fate(way, u64::from(number) - 1),
        }
    })
}

/// A run over a path that does this to its packets.
fn over_path(
    method: &str,
    words: &str,
    fate: impl FnMut(Way, u64) -> Vec<i64> + Send + 'static,
) -> Run {
    let reflector = Reflector::local();
    let path = Forwarder::udp(reflector.port_of(method), by_seq(method, fate));
    let words = format!("127.0.0.1 --method {method} --port {} {words}", path.port);
    measure(None, &words)
}

#[test]
fn losses_and_their_direction() {
    for method in ["udp", "stamp"] {
        let lost_out = |seq: u64| seq % 5 == 4;
        let lost_back = |seq: u64| seq % 7 == 6;
        let run = over_path(method, "-i 3ms -c 211 -W 1s", move |way, seq| {
            let lost = if way == Way::Out {
                lost_out(seq)
            } else {
                lost_back(seq)
            };
            if lost { vec![] } else { vec![0] }
        });
        let lost: Vec<u64> = (0..211)
            .filter(|&seq| lost_out(seq) || lost_back(seq))
            .collect();
        assert_eq!(run.with_outcome("lost"), lost, "{method}");
        assert_eq!(run.count("lost"), lost.len() as u64);
        // 42 on the way out; of the 30 that would be lost on the way back 6 never got there.
        assert_eq!(run.loss_direction(), [42, 24, 0], "{method}");
    }
}

/// A copy that arrives makes up for no packet that does not.
#[test]
fn copies_do_not_hide_what_is_lost_on_the_way_out() {
    for method in ["udp", "stamp"] {
        let run = over_path(method, "-i 3ms -c 200 -W 1s", |way, seq| {
            match (way, seq % 20) {
                (Way::Out, 7) => vec![],
                (Way::Out, 3 | 13) => vec![0, 0],
                _ => vec![0],
            }
        });
        assert_eq!((run.count("lost"), run.count("duplicate")), (10, 20));
        assert_eq!(run.loss_direction(), [10, 0, 0], "{method}");
    }
}

#[test]
fn duplicates_are_counted_and_with_a_key_answered_once() {
    let fate = |way, seq| match (way, seq % 10) {
        (Way::Back, 3) => vec![0, MILLISECOND],
        (Way::Back, 4) => vec![0, MILLISECOND, 2 * MILLISECOND],
        (Way::Out, 5) => vec![0, MILLISECOND],
        _ => vec![0],
    };
    let copies = |run: &Run| {
        assert_eq!((run.count("received"), run.count("lost")), (50, 0));
        let copies: Vec<u16> = run.records.iter().map(|record| record.copies).collect();
        assert_eq!(copies[..10].repeat(5), copies, "the same in each ten");
        copies[..10].to_vec()
    };
    let open = over_path("udp", "-i 5ms -c 50", fate);
    assert_eq!(copies(&open), [0, 0, 0, 1, 2, 1, 0, 0, 0, 0]);
    assert_eq!(open.count("duplicate"), 20);

    let scratch = Scratch::new();
    let key = scratch.file("key", KEY);
    let reflector = Reflector::keyed(&key);
    let path = Forwarder::udp(
        reflector.port,
        for_udp_seq(72, move |way, seq| fate(way, seq.into())),
    );
    let words = format!(
        "127.0.0.1 --method udp --port {} --key-file {} -i 5ms -c 50",
        path.port,
        key.display()
    );
    let keyed = measure(None, &words);
    assert_eq!(copies(&keyed), [0, 0, 0, 1, 2, 0, 0, 0, 0, 0]);
    assert_eq!(keyed.count("duplicate"), 15);
    let said = reflector.stop();
    assert!(said.contains("5 replayed"), "{said}");
}

#[test]
fn reordering_has_its_extent() {
    // Packet 3 of ten comes after 4 and 5, by half an interval, which a busy machine does not keep a packet waiting.
    let run = over_path("udp", "-i 200ms -c 20 -W 2s", |way, seq| {
        vec![if way == Way::Back && seq % 10 == 3 {
            500 * MILLISECOND
        } else {
            0
        }]
    });
    assert_eq!((run.count("received"), run.count("reordered")), (20, 2));
    for record in &run.records {
        let extent = if record.seq % 10 == 3 { 2 } else { 0 };
        assert_eq!(record.reorder_extent, extent, "seq {}", record.seq);
    }
}

#[test]
fn late_is_not_lost() {
    // After the time-out a reply is still waited for as long again.
    let run = over_path("udp", "-i 20ms -c 40 -W 1s", |way, seq| {
        let held = match (way, seq) {
            (Way::Back, 5 | 15) => 1500,
            (Way::Back, 8) => 4500,
            _ => 0,
        };
        vec![held * MILLISECOND]
    });
    assert_eq!(run.with_outcome("late"), [5, 15]);
    assert_eq!(run.with_outcome("lost"), [8]);
    assert_eq!(
        (run.count("received"), run.count("late"), run.count("lost")),
        (37, 2, 1)
    );
    let late = &run.records[5];
    assert!(late.response_ns.unwrap() > 1500 * MILLISECOND, "{late:?}");
}

#[test]
fn bursts_are_due_together() {
    let reflector = Reflector::local();
    let words = format!(
        "127.0.0.1 --method udp --port {} --burst 5 -i 30ms -c 40",
        reflector.port
    );
    let run = measure(None, &words);
    run.assert_all_received(40);
    let start = run.records[0].t_intended_ns;
    for (k, record) in (0..).zip(&run.records) {
        assert_eq!(record.t_intended_ns, start + k / 5 * 30 * MILLISECOND);
    }
}

#[test]
fn poisson_gaps_come_from_the_seed() {
    let reflector = Reflector::local();
    let gaps = |seed: u32| {
        let words = format!(
            "127.0.0.1 --method udp --port {} --poisson 3ms -c 200 --seed {seed}",
            reflector.port
        );
        let run = measure(None, &words);
        run.assert_all_received(200);
        let due: Vec<i64> = run.records.iter().map(|r| r.t_intended_ns).collect();
        due.windows(2)
            .map(|pair| pair[1] - pair[0])
            .collect::<Vec<_>>()
    };
    let first = gaps(1);
    assert_eq!(first, gaps(1));
    assert_ne!(first, gaps(2));
    // 199 exponential gaps: their mean is within four standard errors (7.1 % each) of 3 ms, and of
    // those shorter than it there are 63 %.
    let mean = first.iter().sum::<i64>() / 199;
    assert!((mean - 3 * MILLISECOND).abs() < 860_000, "{mean}");
    let short = first.iter().filter(|&&gap| gap < 3 * MILLISECOND).count();
    assert!((98..=153).contains(&short), "{short} of 199 are short");
}

#[test]
fn a_closed_loop_waits_after_each_reply_and_after_a_time_out() {
    let run = over_path("udp", "--wait 5ms -c 30 -W 1s", |way, seq| {
        if way == Way::Out && seq % 10 == 7 {
            vec![]
        } else {
            vec![0]
        }
    });
    assert_eq!(run.with_outcome("lost"), [7, 17, 27]);
    for pair in run.records.windows(2) {
        let end = pair[0]
            .t_recv_ns
            .unwrap_or_else(|| pair[0].t_send_ns.unwrap() + SECOND);
        assert_eq!(pair[1].t_intended_ns, end + 5 * MILLISECOND, "{pair:?}");
    }
}

#[test]
fn the_grid_stands_although_the_prober_was_stopped() {
    let reflector = Reflector::local();
    for method in allowed(&METHODS) {
        let port = reflector.port_of(method);
        let words = format!("127.0.0.1 --method {method} --port {port} -i 10ms -c 100");
        let mut stream = Stream::start(None, &words);
        stream.next_record();
        stream.process.signal(Signal::SIGSTOP);
        let stopped = clock::monotonic();
        clock::sleep_until(stopped + 300 * MILLISECOND).unwrap();
        stream.process.signal(Signal::SIGCONT);
        let run = stream.finish();
        run.assert_all_received(100);
        let start = run.records[0].t_intended_ns;
        for (k, record) in (0..).zip(&run.records) {
            assert_eq!(
                record.t_intended_ns,
                start + k * 10 * MILLISECOND,
                "{method}"
            );
        }
        let late = run
            .records
            .iter()
            .filter(|record| record.t_send_ns.unwrap() - record.t_intended_ns > 50 * MILLISECOND);
        assert!(late.count() >= 20, "{method}: the stop shows as slip");
    }
}
