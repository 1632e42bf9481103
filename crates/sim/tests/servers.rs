//! Servers with a think time: what they think is theirs, and who has to wait for one waits as queueing theory says.

use crate::common::{Taken, every, mean, poisson, probe, run, run_with, trial};
use delaylab_model::method::Method;
use delaylab_model::probe::{Pacing, Probe};
use delaylab_model::record::{Answer, Outcome, Record};
use delaylab_model::request::{
    Close, DnsRequest, DnsTransport, HttpRequest, HttpVersion, Request, Trust, Verb,
};
use delaylab_model::trial::RecordFacts;
use delaylab_model::{MILLISECOND, Nanos};
use delaylab_sim::engine::Serving;
use delaylab_sim::event_set::{Ordered, Tournament};
use delaylab_stats::anatomy;
use delaylab_wire::http2::{head, session::Session};
use delaylab_wire::{dns, http};
use proptest::prelude::*;

/// Of `think`, with so many workers, 1 ms from its clients.
fn path(think: &str, workers: u32) -> String {
    format!(
        r#"
[path]
topology = "two-hosts"
rate = "10Gbit/s"
propagation = "1ms"
server = [{{ name = "web", at = "b1", think = "{think}", workers = {workers} }}]
"#
    )
}

fn asks(request: Request, method: Method, pacing: Pacing, count: u64) -> Probe {
    Probe {
        request: Some(request),
        method,
        to: Some("b1".to_owned()),
        timeout: 60_000 * MILLISECOND,
        ..probe("asks", 0, pacing, count)
    }
}

fn name(transport: DnsTransport) -> Request {
    Request::Dns(DnsRequest {
        question: "example.org".parse().unwrap(),
        transport,
        fresh: false,
        port: 53,
        tls_name: None,
        trust: Trust::System,
    })
}

fn page(url: &str) -> Request {
    Request::Http(HttpRequest {
        url: url.parse().unwrap(),
        verb: Verb::Get,
        version: HttpVersion::One,
        fresh: false,
        resolves: false,
        trust: Trust::System,
        headers: Vec::new(),
    })
}

/// The same on a connection of its own.
fn fresh(request: Request) -> Request {
    match request {
        Request::Http(asked) => Request::Http(HttpRequest {
            fresh: true,
            ..asked
        }),
        Request::Dns(asked) => Request::Dns(DnsRequest {
            fresh: true,
            ..asked
        }),
        connect => connect,
    }
}

fn by_version(request: Request, version: HttpVersion) -> Request {
    match request {
        Request::Http(asked) => Request::Http(HttpRequest { version, ..asked }),
        other => other,
    }
}

fn connects(port: u16) -> Request {
    let close = Close::default();
    Request::Connect { port, close }
}

fn trips(records: &[Record]) -> Vec<f64> {
    let trips = records
        .iter()
        .map(|record| record.round_trip().unwrap() as f64 / 1e6);
    trips.collect()
}

#[test]
fn what_a_server_thinks_is_in_the_response() {
    for (request, method) in [
        (name(DnsTransport::Udp), Method::Dns),
        (name(DnsTransport::Tcp), Method::Dns),
        (page("http://web/1KiB"), Method::Http),
    ] {
        let asks = asks(request, method, every(20 * MILLISECOND), 50);
        let ran = run(&trial(&path("5ms", 1), vec![asks]));
        assert_eq!(ran.records.len(), 50);
        for (record, trip) in ran.records.iter().zip(trips(&ran.records)) {
            // A hop each way, and less than 50 µs for bytes on the lines.
            assert!((trip % 2.0 - 1.0).abs() < 0.05, "{method}: {trip} ms");
            assert!(matches!(
                record.answer,
                Some(Answer::Code(0) | Answer::Status(200))
            ));
            assert_eq!(record.r_rx, None, "a server of any make stamps nothing");
        }
    }
}

/// By TCP the acknowledgement bounds it, from both sides.
#[test]
fn bounds_hold_what_a_server_thinks() {
    for think in [0, 1, 20, 200] {
        let asks = asks(
            page("http://web/10KiB"),
            Method::Http,
            every(300 * MILLISECOND),
            30,
        );
        let ran = run(&trial(&path(&format!("{think}ms"), 1), vec![asks]));
        assert_eq!(ran.records.len(), 30);
        for record in &ran.records {
            let bounds = record.server().unwrap();
            let planted = think * MILLISECOND;
            assert!(
                bounds.least <= planted + 10_000 && planted <= bounds.most + 10_000,
                "{think} ms: {bounds:?}"
            );
        }
    }
}

/// ρ/(2(1−ρ)) services with one worker; none with as many workers as there are requests.
#[test]
fn requests_wait_for_a_worker_as_in_m_d_1() {
    for (load, tolerance) in [(0.5, 0.03), (0.8, 0.06)] {
        let gap = (1e6 / load) as i64;
        let mut trial = trial(
            &path("1ms", 1),
            vec![asks(
                name(DnsTransport::Udp),
                Method::Dns,
                poisson(gap),
                50_000,
            )],
        );
        let waits: Vec<f64> = (1..=4)
            .map(|seed| {
                trial.seed = seed;
                let trips = trips(&run(&trial).records);
                let least = trips.iter().copied().fold(f64::MAX, f64::min);
                mean(&trips) - least
            })
            .collect();
        let (seen, expected) = (mean(&waits), load / (2.0 * (1.0 - load)));
        assert!(
            (seen / expected - 1.0).abs() < tolerance,
            "{load}: {seen} {expected}"
        );
    }
    let gap = MILLISECOND;
    let asks = asks(name(DnsTransport::Udp), Method::Dns, poisson(gap), 5_000);
    let trips = trips(&run(&trial(&path("1ms", 64), vec![asks])).records);
    let least = trips.iter().copied().fold(f64::MAX, f64::min);
    assert!(mean(&trips) - least < 0.01, "{} {least}", mean(&trips));
}

/// Of an IP packet at 1 Gbit/s.
fn on_the_line(ip_size: usize) -> Nanos {
    8 * ((ip_size + 18).max(64) + 20) as Nanos
}

/// From the first bit of the first of these IP packets to the last of the last one behind two links.
fn one_way(packets: &[usize], propagation: Nanos) -> Nanos {
    let (mut left, mut arrived) = (0, 0);
    for &packet in packets {
        left += on_the_line(packet);
        arrived = arrived.max(left + propagation) + on_the_line(packet);
    }
    arrived + propagation
}

/// IP and TCP with its options, as the SYN and as all others have them.
const SYN: usize = 60;
const TCP: usize = 52;
/// What TLS adds to a record.
const SEAL: usize = 22;

const IDLE: &str = r#"
[path]
topology = "two-hosts"
rate = "1Gbit/s"
propagation = "1ms"
server = [{ name = "web", at = "b1", think = "3ms" }]
"#;

fn stages(record: &Record, facts: &RecordFacts) -> Vec<(String, Nanos)> {
    let parts = anatomy::parts(record, facts).into_iter();
    parts.map(|(stages, ns)| (stages.name(), ns)).collect()
}

fn asked_once(request: Request, method: Method) -> (Taken, Record, Vec<(String, Nanos)>) {
    let ran = run(&trial(
        IDLE,
        vec![asks(request, method, every(50 * MILLISECOND), 3)],
    ));
    let record = ran.records[2];
    let stages = stages(&record, &ran.facts[0].records);
    let sum: Nanos = stages.iter().map(|(_, ns)| ns).sum();
    assert_eq!(Some(sum), record.response());
    (ran, record, stages)
}

/// On an idle path every stage of a new connection is known to the nanosecond.
#[test]
fn a_new_connection_takes_what_its_packets_take() {
    let url = "http://web/1KiB";
    let http1 = http::request("GET", "/1KiB", "web", &[], true).len();
    let head = |tls| head::request("GET", tls, "/1KiB", "web", &[]);
    let [http2, http2_by_tls] = [false, true].map(|tls| Session::new(head(tls)).ask().len());
    let question = dns::question(&"example.org".parse().unwrap(), 0)
        .unwrap()
        .len()
        + dns::LENGTH;
    let secured = url.replace("http", "https");
    let one = |url: &str| by_version(page(url), HttpVersion::One);
    let two = |url: &str| by_version(page(url), HttpVersion::Two);
    let ms = MILLISECOND;
    // The request, whether by TLS, its bytes on the connection, and what the server says for itself.
    for (request, tls, asked, before) in [
        (one(url), false, http1, 0),
        (two(url), false, http2, 18),
        (one(&secured), true, http1 + SEAL, 0),
        (two(&secured), true, http2_by_tls + SEAL, 18 + SEAL),
        (name(DnsTransport::Tcp), false, question, 0),
        (name(DnsTransport::Tls), true, question + SEAL, 0),
    ] {
        let method = match request {
            Request::Dns(_) => Method::Dns,
            _ => Method::Http,
        };
        let (ran, record, stages) = asked_once(fresh(request), method);
        let stage = |name: &str| {
            stages
                .iter()
                .find(|(stage, _)| stage == name)
                .map(|(_, ns)| *ns)
        };
        let plain = record.reply_bytes.unwrap() as usize;
        let reply = TCP + before + plain + if tls { SEAL } else { 0 };
        assert_eq!(stage("connect"), Some(2 * one_way(&[SYN], ms)));
        // ACK, ClientHello; ACK, the server's flight (RFC 8448 §3); ACK, Finished, request.
        let flights = one_way(&[TCP, TCP + 201], ms) + one_way(&[TCP, TCP + 774], ms);
        assert_eq!(stage("TLS handshake"), tls.then_some(flights));
        let request = match tls {
            true => vec![TCP, TCP + 58, TCP + asked],
            false => vec![TCP, TCP + asked],
        };
        let before_it: Nanos = request[..request.len() - 1]
            .iter()
            .map(|&size| on_the_line(size))
            .sum();
        let acknowledged = one_way(&request, ms) + one_way(&[TCP], ms);
        assert_eq!(
            stage("forward + return path"),
            Some(acknowledged - before_it),
            "{stages:?}"
        );
        let answered = 3 * ms + one_way(&[reply], ms) - one_way(&[TCP], ms);
        assert_eq!(stage("server"), Some(answered), "{stages:?}");
        assert_eq!(stage("transfer"), Some(0));
        let response = stage("connect").unwrap()
            + stage("TLS handshake").unwrap_or(0)
            + acknowledged
            + answered;
        assert_eq!(record.response(), Some(response));
        assert_eq!(record.retransmits, Some(0));
        assert_eq!(record.connection, Some(2), "one each");
        let negotiated = &ran.facts[0].negotiated;
        assert_eq!(
            negotiated.first().and_then(|all| all.tls.as_deref()),
            tls.then_some("1.3")
        );
    }
}

/// SYN and SYN-ACK, or SYN and RST, are all of a handshake.
#[test]
fn a_handshake_takes_what_its_two_packets_take() {
    for (port, answer, back) in [(80, Answer::Open, SYN), (8080, Answer::Closed, 40)] {
        let (_, record, stages) = asked_once(connects(port), Method::TcpConnect);
        let expected = one_way(&[SYN], MILLISECOND) + one_way(&[back], MILLISECOND);
        let connect = stages.iter().find(|(name, _)| name == "connect").unwrap();
        assert_eq!((record.answer, connect.1), (Some(answer), expected));
        assert_eq!(record.response(), Some(expected));
        assert_eq!(
            (record.t_tx, record.t_ack, record.t_first, record.t_rx),
            (None, None, None, None)
        );
    }
}

/// A server with one worker makes handshakes of TLS wait for it, and those of TCP not.
#[test]
fn a_busy_worker_keeps_tls_waiting() {
    let ours = asks(
        fresh(page("https://web/1KiB")),
        Method::Http,
        every(200 * MILLISECOND),
        5,
    );
    let mut others = asks(
        name(DnsTransport::Udp),
        Method::Dns,
        every(200 * MILLISECOND),
        5,
    );
    others.name = "others".to_owned();
    let sections = IDLE.replace("3ms", "100ms");
    let ran = run(&trial(&sections, vec![ours, others]));
    for record in ran.records.iter().filter(|record| record.probe == 0) {
        let connected = record.t_connected.unwrap();
        assert!((connected - record.t_begin.unwrap()) < 5 * MILLISECOND);
        assert!(
            (record.t_secured.unwrap() - connected) > 90 * MILLISECOND,
            "{record:?}"
        );
    }
}

/// What cannot be in any record of a new connection.
fn assert_in_order(record: &Record, facts: &RecordFacts) {
    if !record.answered() {
        return;
    }
    let stamps = [
        Some(record.t_intended),
        record.t_begin,
        record.t_connected,
        record.t_secured.or(record.t_connected),
        record.t_send,
        record.t_sched,
        record.t_tx,
        record.t_first,
        record.t_rx,
        record.t_recv,
    ];
    let stamps = stamps.map(|stamp| stamp.unwrap_or_else(|| panic!("{record:?}")));
    assert!(stamps.is_sorted(), "{record:?}");
    let t_ack = record.t_ack.unwrap();
    assert!(
        record.t_tx.unwrap() < t_ack && t_ack <= record.t_recv.unwrap(),
        "{record:?}"
    );
    let sum: Nanos = anatomy::parts(record, facts).iter().map(|(_, ns)| ns).sum();
    assert_eq!(Some(sum), record.response());
}

/// Requests that nobody answers in time hold their places until they are given up; segments of who was there before are not
/// taken for those of who is there now.
#[test]
fn places_are_taken_again() {
    let sections = r#"
[path]
topology = "two-hosts"
rate = "2Mbit/s"
propagation = "10ms"
switch = { buffer = "4packets" }
host = { per_packet = "20us" }
server = [{ name = "web", at = "b1", think = "1ms", workers = 4 }]
"#;
    let request = fresh(page("https://web/4KiB"));
    let mut asks = asks(request, Method::Http, poisson(18 * MILLISECOND), 1500);
    asks.timeout = 200 * MILLISECOND;
    let trial = trial(sections, vec![asks]);
    let ran = run(&trial);
    let answered = ran
        .records
        .iter()
        .filter(|record| record.answered())
        .count();
    // More than there are places have no reply, so that places are taken again.
    assert!((20..980).contains(&answered), "{answered}");
    let mut numbers: Vec<_> = ran
        .records
        .iter()
        .filter_map(|record| record.connection)
        .collect();
    let all = numbers.len();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!((all, ran.records.len()), (numbers.len(), 1500));
    assert!(
        ran.records
            .iter()
            .any(|record| record.retransmits > Some(0))
    );
    for record in &ran.records {
        assert_in_order(record, &ran.facts[0].records);
    }
    for other in [
        run_with::<Tournament>(&trial, Serving::Eager),
        run_with::<Ordered>(&trial, Serving::Lazy),
    ] {
        assert!(other.records == ran.records && other.hash == ran.hash);
    }
}

/// As in the world live: the 513th is an error of this host.
#[test]
fn no_more_connections_than_a_live_probe_has() {
    let path = path("10s", 1);
    let mut asks = asks(
        fresh(page("http://web/")),
        Method::Http,
        every(MILLISECOND),
        600,
    );
    asks.timeout = 1_000 * MILLISECOND;
    let ran = run(&trial(&path, vec![asks]));
    let failed = ran
        .records
        .iter()
        .filter(|record| record.outcome == Outcome::LocalError);
    assert_eq!((ran.records.len(), failed.count()), (600, 88));
}

/// A load beside it draws the same numbers and keeps its series, whatever room connections have.
#[test]
fn a_load_beside_new_connections_is_the_load_that_it_was() {
    let with = |request: Request, method| {
        let load = "[[load]]\nname = \"bulk\"\nkind = \"tcp\"\nfrom = \"b1\"\nto = \"a1\"\n";
        let probe = asks(request, method, every(20 * MILLISECOND), 20);
        run(&trial(&format!("{load}{IDLE}"), vec![probe]))
    };
    let taken = with(fresh(page("http://web/")), Method::Http);
    for series in ["cwnd", "goodput", "load_goodput"] {
        assert!(
            taken.series.iter().any(|point| &*point.series == series),
            "{series}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// A round trip for the handshake of TCP, one for that of TLS, and bounds that hold what the server thinks.
    #[test]
    fn bounds_of_a_new_connection_hold_the_truth(
        think in 0_i64..20_000_000,
        propagation in 0_i64..10_000_000,
        rate in 2_u64..2000,
        tls in any::<bool>(),
        http2 in any::<bool>(),
        size in 1_u32..60_000,
        per_packet in 0_i64..50_000,
    ) {
        let sections = format!(
            "[path]\ntopology = \"two-hosts\"\nrate = \"{rate}Mbit/s\"\npropagation = \"{propagation}ns\"\n\
             host = {{ per_packet = \"{per_packet}ns\" }}\n\
             server = [{{ name = \"web\", at = \"b1\", think = \"{think}ns\" }}]\n"
        );
        let scheme = if tls { "https" } else { "http" };
        let version = if http2 { HttpVersion::Two } else { HttpVersion::One };
        let request = fresh(by_version(page(&format!("{scheme}://web/{size}B")), version));
        let ran = run(&trial(&sections, vec![asks(request, Method::Http, every(2_000 * MILLISECOND), 3)]));
        for record in &ran.records {
            assert_in_order(record, &ran.facts[0].records);
            let round_trip = 4 * propagation;
            prop_assert!(record.t_connected.unwrap() - record.t_begin.unwrap() >= round_trip);
            prop_assert_eq!(record.t_secured.is_some(), tls);
            if let Some(t_secured) = record.t_secured {
                prop_assert!(t_secured - record.t_connected.unwrap() >= round_trip);
            }
            let bounds = record.server().unwrap();
            // The reply's first segment is longer than an acknowledgement, on two lines, and both cross two hosts.
            let longer = 2 * 1538 * 8 * 1000 / rate as i64 + 4 * per_packet;
            prop_assert!(bounds.least <= think + longer + 10_000 && think <= bounds.most + 10_000, "{:?}", bounds);
        }
    }
}
