//! Servers of any make: network or server?

use crate::harness::in_one_of_three;
use crate::harness::netns::{A4, B4, Namespace, Pair};
use crate::harness::process::{CLOSED, Ran, delaylab, ping};
use crate::harness::scratch::Scratch;
use crate::harness::web_server::{Identity, Truth, WebServer};
use crate::or_skip;
use delaylab_wire::dns;
use serde_json::Value;
use socket2::{Domain, Socket, Type};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The server tells what it took in the order of the requests.
const ONE_BY_ONE: &str = "--after-reply 20ms -W 10s";
/// What a stage may be off by: 5 %, or what threads wait for a CPU that others have too.
const OFF: f64 = 500e3;

fn document(words: &str) -> Value {
    let ran = Ran::to_end(&mut ping(None, &format!("{words} --json")));
    // 1: nothing was answered, which may be what is to be shown.
    assert!(ran.code < 2, "{words}: {}", ran.stderr);
    serde_json::from_str(&ran.stdout).unwrap()
}

/// Why it ended with an error.
fn refused(words: &str) -> String {
    let ran = Ran::to_end(&mut ping(None, words));
    assert_ne!(ran.code, 0, "{words}: {}", ran.stdout);
    ran.stderr
}

fn records(document: &Value) -> &Vec<Value> {
    document["round_trips"].as_array().unwrap()
}

/// The mean of the part at the median that has this stage in it.
fn stage(document: &Value, name: &str) -> f64 {
    let anatomy = document["stats"]["anatomy"].as_array().unwrap();
    let median = anatomy.iter().find(|at| at["quantile"] == "p50").unwrap();
    let parts = median["stages"].as_array().unwrap();
    let with = parts.iter().filter(|part| {
        let stages = part["stage"].as_str().unwrap();
        stages.split('+').any(|stage| stage == name)
    });
    with.map(|part| part["time_ns"].as_f64().unwrap()).sum()
}

fn close(seen: f64, planted: f64) -> Result<(), String> {
    let off = (seen - planted).abs();
    match off <= OFF.max(0.05 * planted) {
        true => Ok(()),
        false => Err(format!("{planted} ns planted, {seen} seen")),
    }
}

fn median(mut values: Vec<i64>) -> f64 {
    values.sort_unstable();
    values[values.len() / 2] as f64
}

/// The bounds of every record hold what the server knows of itself, and the stages add up to the response.
fn assert_bounds_hold(document: &Value, truths: &[Truth]) {
    let records = records(document);
    assert_eq!(records.len(), truths.len());
    // On a busy host TCP may send a segment again: then there are none.
    let is_unknown = |record: &&Value| record["server_most_ns"].is_null();
    assert!(records.iter().filter(is_unknown).count() <= records.len().div_ceil(10));
    for (record, &truth) in records.iter().zip(truths) {
        if is_unknown(&record) {
            continue;
        }
        let [least, most] =
            ["server_least_ns", "server_most_ns"].map(|name| record[name].as_i64().unwrap());
        let trip = record["round_trip_ns"].as_i64().unwrap();
        assert!(0 <= least && least <= most && most <= trip, "{record}");
        // The server's own clock begins once its thread runs, so that it never sees more than the stamps.
        assert!(most >= truth, "{truth} ns in the server: {record}");
    }
}

/// On a connection of its own each request is acknowledged at once: what the server takes is told.
fn what_the_server_takes_is_the_servers(milliseconds: u64, count: u64) {
    let server = WebServer::local(None);
    in_one_of_three(|| {
        let words = format!(
            "http://{}/think/{milliseconds} --fresh {ONE_BY_ONE} -c {count}",
            server.at
        );
        let document = document(&words);
        let truths = server.truths();
        assert_bounds_hold(&document, &truths);
        let answers = records(&document).iter().map(|record| &record["answer"]);
        assert!(answers.clone().all(|answer| answer == "200"), "{words}");
        let told = document["stats"]["server"]["exact"].as_u64().unwrap();
        if told * 10 < 9 * count {
            return Err(format!("{words}: {told} of {count} told"));
        }
        let least = document["stats"]["server"]["least"]["p50_ns"]
            .as_f64()
            .unwrap();
        close(least, median(truths))
    });
}

/// Where other tests have the CPUs, the server's thread gets one a millisecond late, which is the server's time too.
mod alone {
    use super::*;

    #[test]
    fn what_a_server_that_thinks_for_long_takes_is_the_servers() {
        what_the_server_takes_is_the_servers(20, 20);
        what_the_server_takes_is_the_servers(200, 6);
    }

    #[test]
    fn what_a_server_that_thinks_for_a_millisecond_takes_is_the_servers() {
        what_the_server_takes_is_the_servers(0, 20);
        what_the_server_takes_is_the_servers(1, 20);
    }

    /// By both versions of HTTP, this stage of a request for this page takes what the server knows.
    fn what_the_server_takes_is_in(stage_name: &str, page: &str) {
        let server = WebServer::local(None);
        for version in ["1.1", "2"] {
            let words = format!(
                "http://{}/{page} --http {version} {ONE_BY_ONE} -c 10",
                server.at
            );
            in_one_of_three(|| {
                server.truths();
                let document = document(&words);
                close(stage(&document, stage_name), median(server.truths()))
            });
        }
    }

    #[test]
    fn a_body_that_comes_later_is_transfer() {
        what_the_server_takes_is_in("transfer", "body/20");
    }

    /// What a server takes behind an interim reply is its own.
    #[test]
    fn an_interim_reply_is_not_the_reply() {
        what_the_server_takes_is_in("server", "hints/20");
    }
}

/// On a connection that is kept the far kernel may acknowledge with the reply: the bounds hold all the same.
#[test]
fn bounds_hold_on_connections_that_are_kept() {
    let server = WebServer::local(None);
    for think in [0, 1, 20, 60] {
        let words = format!("http://{}/think/{think} {ONE_BY_ONE} -c 20", server.at);
        let document = document(&words);
        assert_bounds_hold(&document, &server.truths());
    }
}

/// A kernel that acknowledges late tells nothing apart, and its bounds still hold.
#[test]
fn a_late_acknowledgement_is_no_network() {
    let server = WebServer::local(None);
    let document = document(&format!("http://{}/lazy/20 {ONE_BY_ONE} -c 20", server.at));
    assert_bounds_hold(&document, &server.truths());
    let server = &document["stats"]["server"];
    assert!(server["exact"].as_u64().unwrap() < 20, "{server}");
    let most = server["most"]["p50_ns"].as_i64().unwrap();
    assert!(most >= 20_000_000, "{server}");
}

/// A connection for each request has its set-up in it, and what stands in the table adds up.
#[test]
fn a_connection_for_each_request_is_taken_apart() {
    let identity = Identity::new("localhost", false);
    let server = WebServer::local(Some(&identity));
    let scratch = Scratch::new();
    let authority = scratch.path("authority.pem");
    std::fs::write(&authority, &identity.authority).unwrap();
    let url = format!("https://localhost:{}/think/2", server.at.port());
    let to = format!(
        "{url} -4 --cacert {} {ONE_BY_ONE} -c 8",
        authority.display()
    );
    let kept = document(&to);
    let fresh = document(&format!("{to} --fresh"));
    for (document, made) in [(&kept, false), (&fresh, true)] {
        for record in records(document) {
            assert_eq!(record["outcome"], "ok", "{record}");
            for stamp in [
                "t_resolved_ns",
                "t_connected_ns",
                "t_secured_ns",
                "t_begin_ns",
            ] {
                assert_eq!(!record[stamp].is_null(), made, "{stamp}: {record}");
            }
        }
        let connections = records(document)
            .iter()
            .map(|record| record["connection"].as_u64().unwrap());
        let connections: std::collections::BTreeSet<_> = connections.collect();
        assert_eq!(connections.len() > 1, made);
        let anatomy = &document["stats"]["anatomy"][0];
        let parts = anatomy["stages"].as_array().unwrap().iter();
        let sum: f64 = parts.map(|part| part["time_ns"].as_f64().unwrap()).sum();
        let response = anatomy["response_ns"].as_f64().unwrap();
        assert!((sum - response).abs() <= 1e-6 * response, "{anatomy}");
    }
    for name in ["resolve", "connect", "tls"] {
        assert!(stage(&fresh, name) > 0.0, "{name}");
    }
}

#[test]
fn certificates_are_verified() {
    let scratch = Scratch::new();
    let said = |identity: &Identity, flags: &str| {
        let server = WebServer::local(Some(identity));
        let authority = scratch.path("authority.pem");
        std::fs::write(&authority, &identity.authority).unwrap();
        let flags = flags.replace("FILE", &authority.display().to_string());
        refused(&format!(
            "https://localhost:{}/ -4 {flags} -c 1",
            server.at.port()
        ))
    };
    let good = Identity::new("localhost", false);
    assert!(said(&good, "").contains("no authority that this host trusts"));
    let expired = Identity::new("localhost", true);
    assert!(said(&expired, "--cacert FILE").contains("has expired"));
    let other = Identity::new("example.org", false);
    assert!(said(&other, "--cacert FILE").contains("of another name"));
    let plain = WebServer::local(None);
    let no_tls = refused(&format!("https://{}/ -k -c 1", plain.at));
    assert!(no_tls.contains("TLS"), "{no_tls}");
    // Asked for by its name at the address where it is.
    let server = WebServer::local(Some(&other));
    let url = format!("https://example.org:{}/", server.at.port());
    let unverified = document(&format!("{url} --resolve 127.0.0.1 --insecure -c 1"));
    let warnings = unverified["warnings"].to_string();
    assert!(warnings.contains("not verified"), "{warnings}");
}

/// Each ends as a record with an outcome and a sentence, and nothing panics.
#[test]
fn hostile_servers_are_recorded() {
    let server = WebServer::local(None);
    for (path, outcome, said) in [
        ("garbage", "corrupt", "not HTTP"),
        ("old", "corrupt", "not HTTP"),
        ("head", "corrupt", "more than 1024 fields"),
        ("close", "refused", "closed the connection"),
        ("reset", "refused", "connection"),
        ("silent", "lost", ""),
        ("interim", "corrupt", "interim replies"),
        ("chunks", "lost", ""),
    ] {
        // The others end by themselves, on a busy machine after a while.
        let patience = if outcome == "lost" { "300ms" } else { "10s" };
        let words = format!("HTTP://{}/{path} -i 50ms -c 3 -W {patience}", server.at);
        let document = document(&words);
        let records = records(&document);
        assert_eq!(records.len(), 3, "{words}");
        for record in records {
            assert_eq!(record["outcome"], outcome, "{words}: {record}");
        }
        let warnings = document["warnings"].to_string();
        assert!(warnings.contains(said), "{words}: {warnings}");
    }
}

/// By HTTP/2 the same is told as by HTTP/1.1, without TLS and by it, on kept connections and fresh ones.
#[test]
fn http2_tells_the_server_apart() {
    let identity = Identity::new("localhost", false);
    let plain = WebServer::local(None);
    let secure = WebServer::local(Some(&identity));
    let plain_url = |path: &str| format!("http://{}/{path} --http 2 {ONE_BY_ONE}", plain.at);
    let secure_url = |path: &str| {
        let port = secure.at.port();
        format!("https://localhost:{port}/{path} -4 -k {ONE_BY_ONE}")
    };
    for path in ["think/20", "think/0"] {
        for (words, server) in [(plain_url(path), &plain), (secure_url(path), &secure)] {
            for kept in ["", "--fresh"] {
                let document = document(&format!("{words} {kept} -c 10"));
                assert_bounds_hold(&document, &server.truths());
                for record in records(&document) {
                    assert_eq!(record["answer"], "200", "{words} {kept}: {record}");
                    let stamps = ["t_tx_ns", "t_ack_ns", "t_first_ns", "t_rx_ns"];
                    let stamps = stamps.map(|name| record[name].as_i64().unwrap());
                    assert!(stamps[0] <= stamps[1] && stamps[2] <= stamps[3], "{record}");
                }
                let connections = records(&document).iter();
                let connections: std::collections::BTreeSet<_> = connections
                    .map(|record| record["connection"].as_u64().unwrap())
                    .collect();
                assert_eq!(connections.len(), if kept.is_empty() { 1 } else { 10 });
            }
        }
    }
    for (words, http, alpn) in [
        (plain_url("think/0"), "2", None),
        (secure_url("think/0"), "2", Some("h2")),
        (
            secure_url("think/0") + " --http 1.1",
            "1.1",
            Some("http/1.1"),
        ),
    ] {
        let document = document(&format!("{words} --fresh -c 3"));
        let negotiated = document["negotiated"].as_array().unwrap();
        assert_eq!(negotiated.len(), 1, "{negotiated:?}");
        assert_eq!(negotiated[0]["http"], http);
        assert_eq!(negotiated[0]["alpn"].as_str(), alpn);
        let tls = negotiated[0]["tls"]
            .as_str()
            .zip(negotiated[0]["cipher"].as_str());
        assert_eq!(tls.is_some(), alpn.is_some());
        assert!(tls.is_none_or(|(version, cipher)| version == "1.3" && cipher.starts_with("TLS_")));
    }
    let page = document(&format!("{} -c 3", secure_url("page/100000")));
    for record in records(&page) {
        assert!(
            record["reply_bytes"].as_u64().unwrap() > 100_000,
            "{record}"
        );
    }
}

/// What HTTP/2 has besides replies is answered, or is an outcome and a sentence.
#[test]
fn hostile_servers_of_http2_are_recorded() {
    let server = WebServer::local(None);
    for (path, outcome, said) in [
        ("ping", "ok", ""),
        ("away", "ok", ""),
        ("refuse", "refused", "REFUSED_STREAM"),
        ("push", "corrupt", "pushes"),
        ("garbage", "corrupt", "RFC 9113"),
        ("head", "corrupt", "longer than 64 KiB"),
        ("close", "refused", "closed the connection"),
        ("silent", "lost", ""),
        ("unknown", "corrupt", "not of the reply"),
    ] {
        // The others end by themselves, on a busy machine after a while.
        let patience = if outcome == "lost" { "300ms" } else { "10s" };
        // A request that finds the connection busy makes one of its own.
        let pace = if outcome == "ok" {
            "--after-reply"
        } else {
            "-i"
        };
        let words = format!(
            "http://{}/{path} --http 2 {pace} 50ms -c 3 -W {patience}",
            server.at
        );
        let document = document(&words);
        let records = records(&document);
        assert_eq!(records.len(), 3, "{words}");
        for record in records {
            assert_eq!(record["outcome"], outcome, "{words}: {record}");
        }
        let connections: std::collections::BTreeSet<_> = records
            .iter()
            .filter_map(|record| record["connection"].as_u64())
            .collect();
        match path {
            "ping" => assert_eq!(connections.len(), 1),
            // A server that goes away is asked on another connection.
            "away" => assert_eq!(connections.len(), 3),
            _ => {}
        }
        let warnings = document["warnings"].to_string();
        assert!(warnings.contains(said), "{words}: {warnings}");
    }
    // A server that speaks HTTP/1 alone.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
            // It stays open until who asked goes.
            std::thread::spawn(move || std::io::copy(&mut stream, &mut std::io::sink()));
        }
    });
    let document = document(&format!("http://{at}/ --http 2 --fresh -i 50ms -c 2"));
    let warnings = document["warnings"].to_string();
    assert!(warnings.contains("--http 1.1"), "{warnings}");
}

#[test]
fn a_handshake_is_answered_by_any_port() {
    let server = WebServer::local(None);
    let open = document(&format!("{} --method tcp-connect -i 20ms -c 10", server.at));
    for record in records(&open) {
        assert_eq!(
            (&record["outcome"], &record["answer"]),
            (&"ok".into(), &"open".into())
        );
        let parts = ["t_connected_ns", "t_recv_ns"].map(|name| record[name].as_i64().unwrap());
        assert!(parts[0] <= parts[1], "{record}");
    }
    assert!(stage(&open, "connect") > 0.0);
    let closed = document(&format!(
        "{CLOSED} --method tcp-connect --close rst -i 20ms -c 5"
    ));
    for record in records(&closed) {
        assert_eq!(
            (&record["outcome"], &record["answer"]),
            (&"ok".into(), &"closed".into())
        );
    }
}

/// Answers every question, of a name with "missing" in it that there is none, and of one with "long" a part.
fn name_server() -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let mut question = [0; 512];
        while let Ok((length, from)) = socket.recv_from(&mut question) {
            let mut answer = question[..length].to_vec();
            answer[2] |= 0x80;
            let missing = answer.windows(7).any(|seven| seven == b"missing");
            answer[3] = if missing { 3 } else { 0 };
            if answer.windows(4).any(|four| four == b"long") {
                answer[2] |= 2;
            }
            let _ = socket.send_to(&answer, from);
        }
    });
    port
}

#[test]
fn a_name_server_is_asked() {
    let port = name_server();
    let document_of = |name: &str| {
        document(&format!(
            "dns://127.0.0.1:{port}/{name}?type=AAAA -i 20ms -c 10"
        ))
    };
    for (name, answer) in [
        ("example.org", "NOERROR"),
        ("missing.org", "NXDOMAIN"),
        ("long.org", "NOERROR+TC"),
    ] {
        let document = document_of(name);
        for record in records(&document) {
            assert_eq!(
                (&record["outcome"], &record["answer"]),
                (&"ok".into(), &answer.into())
            );
            assert!(
                !record["t_tx_ns"].is_null() && !record["t_rx_ns"].is_null(),
                "{record}"
            );
        }
        assert!(
            stage(&document, "server") > 0.0,
            "network and server are one part"
        );
    }
}

/// A resolver that answers from its cache counts down; the same addresses come in another order each time.
#[test]
fn answers_say_how_long_they_may_be_kept_and_which_addresses_the_name_has() {
    let addresses: [Ipv4Addr; 2] = [Ipv4Addr::new(192, 0, 2, 8), Ipv4Addr::new(192, 0, 2, 7)];
    let answer = move |question: &[u8], number: u32| {
        let [first, second] = [number as usize % 2, (number as usize + 1) % 2];
        let one = dns::reply(question, addresses[first], 300 - number, 0).unwrap();
        // The other address, as another record behind the first.
        let mut both = one;
        let at = both
            .windows(4)
            .position(|four| four == addresses[first].octets());
        let end = at.unwrap() + 4;
        let record = [&both[end - 14..end - 4], &addresses[second].octets()[..]].concat();
        // Names in answers begin with a pointer or the whole of the name: one that points to the question does for both.
        let pointed = [&[0xc0, 12][..], &record[..]].concat();
        both.splice(end..end, pointed);
        both[7] = 2;
        both
    };
    // A port that is free for both.
    let bound = std::iter::repeat_with(|| {
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = udp.local_addr().unwrap().port();
        let tcp = TcpListener::bind(("127.0.0.1", port)).ok()?;
        Some((udp, tcp, port))
    });
    let (udp, tcp, port) = bound.take(100).flatten().next().unwrap();
    std::thread::spawn(move || {
        let mut question = [0; 512];
        let mut number = 0;
        while let Ok((length, from)) = udp.recv_from(&mut question) {
            let _ = udp.send_to(&answer(&question[..length], number), from);
            number += 1;
        }
    });
    std::thread::spawn(move || {
        for mut stream in tcp.incoming().flatten() {
            let mut length = [0; 2];
            let mut number = 0;
            while stream.read_exact(&mut length).is_ok() {
                let mut question = vec![0; u16::from_be_bytes(length).into()];
                stream.read_exact(&mut question).unwrap();
                let _ = stream.write_all(&dns::framed(&answer(&question, number)));
                number += 1;
            }
        }
    });
    for transport in ["udp", "tcp"] {
        // A question that finds the connection busy makes one of its own, whose answers are counted anew.
        let words = format!(
            "dns://127.0.0.1:{port}/a.test --transport {transport} --after-reply 60ms -c 4 --no-handshakes"
        );
        let document = document(&words);
        let ttls: Vec<u64> = records(&document)
            .iter()
            .map(|record| record["answer_ttl"].as_u64().unwrap())
            .collect();
        assert!(
            ttls.is_sorted_by(|a, b| *a == b + 1),
            "{transport}: {ttls:?}"
        );
        let resolved = &document["resolved"];
        assert_eq!(
            *resolved,
            serde_json::json!([["192.0.2.7", "192.0.2.8"]]),
            "{transport}"
        );
        let shown = Ran::to_end(&mut ping(None, &words)).stdout;
        assert!(shown.contains("NOERROR  for 29"), "{shown}");
        assert!(
            shown.contains("resolved    192.0.2.7, 192.0.2.8"),
            "{shown}"
        );
    }
}

/// Answers questions by TLS, each of which has its length in front.
fn name_server_by_tls(identity: Identity) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let identity = Arc::new(identity);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let identity = identity.clone();
            std::thread::spawn(move || {
                // Else an answer may wait for the acknowledgement of what the handshake ended with, which comes late.
                stream.set_nodelay(true).unwrap();
                let mut stream = identity.secure(stream);
                let mut length = [0; 2];
                while stream.read_exact(&mut length).is_ok() {
                    let mut answer = vec![0; u16::from_be_bytes(length).into()];
                    stream.read_exact(&mut answer).unwrap();
                    answer[2] |= 0x80;
                    let answer = [&length[..], &answer].concat();
                    let _ = stream.write_all(&answer).and_then(|()| stream.flush());
                }
            });
        }
    });
    port
}

#[test]
fn a_name_server_is_asked_by_tls() {
    let identity = Identity::new("dns.example.org", false);
    let scratch = Scratch::new();
    let authority = scratch.path("authority.pem");
    std::fs::write(&authority, &identity.authority).unwrap();
    let authority = format!("--cacert {}", authority.display());
    let port = name_server_by_tls(identity);
    // A question that finds the connection busy makes one of its own.
    let asked = format!("127.0.0.1:{port}/example.org?type=AAAA --after-reply 50ms -c 4");
    let named = "--tls-name dns.example.org";
    for words in [
        format!("tls://{asked} {authority} {named}"),
        format!("dns+tls://{asked} {authority} {named}"),
        format!("dns://{asked} --transport tls {authority} {named}"),
    ] {
        let document = document(&words);
        for record in records(&document) {
            assert_eq!(record["answer"], "NOERROR", "{words}: {record}");
            assert_eq!(record["connection"], 0, "{record}");
            for stamp in ["t_tx_ns", "t_ack_ns", "t_first_ns"] {
                assert!(!record[stamp].is_null(), "{stamp}: {record}");
            }
        }
    }
    let unverified = document(&format!("tls://{asked} --insecure"));
    let warnings = unverified["warnings"].to_string();
    assert!(warnings.contains("not verified"), "{warnings}");
    // The address is what the certificate is held against where no name is given.
    let said = refused(&format!("tls://{asked} {authority}"));
    assert!(said.contains("of another name"), "{said}");
    let said = refused(&format!("tls://{asked} --transport tcp"));
    assert!(said.contains("TLS is to carry it"), "{said}");
    let said = refused(&format!("dns://{asked} --transport tcp {named}"));
    assert!(said.contains("no certificates"), "{said}");
}

#[test]
fn what_cannot_be_asked_is_said() {
    for (words, said) in [
        // The handshakes beside it have no end of their own.
        (
            format!("http://{CLOSED}/"),
            "nothing listens on this TCP port",
        ),
        (
            format!("http://{CLOSED}/ -c 1"),
            "nothing listens on this TCP port",
        ),
        (
            "http://no.such.host.invalid/ -c 1".to_owned(),
            "cannot resolve",
        ),
        (
            "http://127.0.0.1:1/ --method icmp -c 1".to_owned(),
            "is a URL",
        ),
        ("https://me:secret@127.0.0.1/ -c 1".to_owned(), "password"),
        (
            "ftp://127.0.0.1/ --method http -c 1".to_owned(),
            "neither http:// nor https://",
        ),
        ("ws://127.0.0.1/ -c 1".to_owned(), "`ws` is not known"),
        (
            "ftp://127.0.0.1/a --method dns -c 1".to_owned(),
            "no URL of a name server",
        ),
        (
            "http://127.0.0.1:1/ --resolve other:80:127.0.0.1 -c 1".to_owned(),
            "127.0.0.1:1:ADDRESS",
        ),
        ("127.0.0.1 --method dns -c 1".to_owned(), "--question"),
        (
            "127.0.0.1 --method tcp-connect -c 1".to_owned(),
            "which port",
        ),
        (
            "http://127.0.0.1/ -s 100B -c 1".to_owned(),
            "follows from what it asks",
        ),
        (
            "http://127.0.0.1/ --http best -c 1".to_owned(),
            "no version is negotiated",
        ),
        (
            "http://127.0.0.1/ --port 81 -c 1".to_owned(),
            "the URL says the port",
        ),
    ] {
        let text = refused(&words);
        assert!(text.contains(said), "{words}: {text}");
    }
}

/// The first sentence of `explain` on the run that these words save.
fn explained(inside: Option<&Namespace>, scratch: &Scratch, words: &str) -> String {
    let runs = scratch.path("runs");
    let _ = std::fs::remove_dir_all(&runs);
    let words = format!("{words} --save {}", runs.display());
    let ran = Ran::to_end(&mut ping(inside, &words));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let folders = std::fs::read_dir(&runs)
        .unwrap()
        .flatten()
        .map(|entry| entry.path());
    let folder = folders.filter(|path| path.is_dir()).max().unwrap();
    let ran = Ran::to_end(delaylab(None).arg("explain").arg(&folder));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let said = ran
        .stdout
        .split_once("answered")
        .map_or("", |(_, rest)| rest);
    let sentence = said.split_once(". ").map_or(said, |(first, _)| first);
    sentence.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A server drops SYNs while its accept queue is full. No stamp tells that from a path that loses them.
#[test]
fn syns_that_a_full_accept_queue_drops_are_not_the_networks() {
    let scratch = Scratch::new();
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket
        .bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())
        .unwrap();
    socket.listen(1).unwrap();
    let listener = TcpListener::from(socket);
    let at = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for _ in listener.incoming() {
            std::thread::sleep(Duration::from_millis(400));
        }
    });
    let words = format!("{at} --method tcp-connect -i 20ms -c 12 -W 9s");
    let said = explained(None, &scratch, &words);
    assert!(
        said.contains("in which SYNs were sent again: lost on the way, or dropped by a server"),
        "{said}"
    );
}

#[test]
fn explain_names_the_server() {
    let server = WebServer::local(None);
    let scratch = Scratch::new();
    let words = format!("http://{}/think/25 -i 60ms -c 40", server.at);
    in_one_of_three(|| names("time in the server", &explained(None, &scratch, &words)));
    // The page says what was asked for, and where.
    let page = scratch.path("page.html");
    let mut report = delaylab(None);
    report.arg("report").arg(scratch.path("runs/latest"));
    let ran = Ran::to_end(report.arg("-o").arg(&page));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let asked = format!("GET http://{}/think/25 (127.0.0.1)", server.at);
    assert!(std::fs::read_to_string(page).unwrap().contains(&asked));
}

/// Does the first sentence say so?
fn names(whose: &str, first: &str) -> Result<(), String> {
    match first.contains(whose) {
        true => Ok(()),
        false => Err(format!("not {whose}: {first}")),
    }
}

/// Keeps packets in the queue of the server's interface until it is dropped: so many bytes at once, and then nearly as
/// many as leave it. None is lost: what TCP sends again would be another delay than that of the queue.
struct Flood(Arc<AtomicBool>);

/// Bits per second that leave the queue.
const DRAINS: u64 = 4_000_000;

impl Flood {
    fn new(pair: &Pair, standing: u64) -> Self {
        const BYTES: u64 = 1200;
        const ON_WIRE: u64 = BYTES + 42;
        let limit = 4 * standing + 100_000;
        let queue = format!("tbf rate {DRAINS}bit burst 3000 limit {limit}");
        pair.b.qdisc(&queue).unwrap();
        let on = Arc::new(AtomicBool::new(true));
        let goes_on = on.clone();
        let socket = pair.b.within(|| UdpSocket::bind((B4, 0)).unwrap());
        let gap = Duration::from_nanos(ON_WIRE * 8 * 1_000_000_000 / (DRAINS * 998 / 1000));
        // Nobody listens there, which is all the same to the queue.
        let send = move || socket.send_to(&[0; BYTES as usize], (A4, 9));
        for _ in 0..standing.div_ceil(ON_WIRE) {
            let _ = send();
        }
        std::thread::spawn(move || {
            let mut due = Instant::now();
            while goes_on.load(Ordering::Relaxed) {
                let _ = send();
                due += gap;
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
            }
        });
        Self(on)
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// A busy server on an idle path, and an idle server behind a queue: the first sentence names the right one. The server
/// acknowledges with its replies, so that handshakes beside them have to tell.
#[test]
fn explain_tells_the_network_from_the_server() {
    let pair = or_skip!(Pair::new(1500));
    let listener = pair.b.within(|| TcpListener::bind((B4, 0)).unwrap());
    let server = WebServer::on(listener, None);
    let scratch = Scratch::new();
    // About 10 to 60 ms each.
    let mut random = 1_u64;
    // DELAYLAB_CASES=10 tries more of them.
    let cases = std::env::var("DELAYLAB_CASES").map_or(2, |cases| cases.parse().unwrap());
    for _ in 0..cases {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let ms = 10 + (random >> 33) % 50;
        let ask = |think: u64| format!("http://{}/think/{think} -i 90ms -c 40 -W 3s", server.at);
        in_one_of_three(|| {
            names(
                "time in the server",
                &explained(Some(&pair.a), &scratch, &ask(ms)),
            )
        });
        in_one_of_three(|| {
            // It loses a little of it in the seconds of a run.
            let _flood = Flood::new(&pair, DRAINS / 8 * ms / 1000 + 5_000);
            names(
                "time in the network",
                &explained(Some(&pair.a), &scratch, &ask(0)),
            )
        });
        pair.b.qdisc("pfifo limit 1000").unwrap();
    }
}
