//! Servers with a think time: what they think is theirs, and who has to wait for one waits as queueing theory says.

use crate::common::{every, mean, poisson, probe, run, trial};
use delaylab_model::MILLISECOND;
use delaylab_model::method::Method;
use delaylab_model::probe::{Pacing, Probe};
use delaylab_model::record::{Answer, Record};
use delaylab_model::request::{
    DnsRequest, DnsTransport, HttpRequest, HttpVersion, Request, Trust, Verb,
};

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
