//! How answers of the server come: compressed for who takes that, once for who has them already, and events at once.

use crate::explain::{packets, write, write_begun, write_of, write_trials};
use delaylab_model::method::Method;
use delaylab_model::record::{Outcome, Record};
use delaylab_model::{MILLISECOND, Nanos};
use delaylab_procedure::Report;
use delaylab_procedure::report::{Column, Table};
use delaylab_store::run::Run;
use delaylab_store::writer::{NewRun, RunWriter};
use delaylab_view::run::{RunData, stored};
use delaylab_web::serve::Server;
use flate2::read::GzDecoder;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, SystemTime};

const GZIP: &str = "Accept-Encoding: gzip, deflate, br\r\n";

fn serve(runs: &Path) -> SocketAddr {
    serve_as(runs, |run| stored::in_full(run, None, "run"))
}

fn serve_as(runs: &Path, read: impl Fn(&Run) -> RunData + Send + Sync + 'static) -> SocketAddr {
    let here = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let server = Server::bind(here, None, runs.to_owned(), read).unwrap();
    let address = server.address();
    std::thread::spawn(move || server.run());
    address
}

fn asking(address: SocketAddr, request: &str, headers: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    // An answer to HTTP/1.0 is not in chunks.
    let request = format!("{request} HTTP/1.0\r\nHost: {address}\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

/// Its head without the date, and its body.
fn answer(address: SocketAddr, request: &str, headers: &str) -> (String, Vec<u8>) {
    let mut lines = BufReader::new(asking(address, request, headers));
    let head = head(&mut lines);
    let mut body = Vec::new();
    lines.read_to_end(&mut body).unwrap();
    (head, body)
}

fn head(stream: &mut impl BufRead) -> String {
    let lines = stream.lines().map(Result::unwrap);
    let lines = lines.take_while(|line| !line.is_empty());
    let lines: Vec<_> = lines.filter(|line| !line.starts_with("Date:")).collect();
    lines.join("\n")
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = head.lines();
    lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

fn name(folder: &Path) -> &str {
    folder.file_name().unwrap().to_str().unwrap()
}

#[test]
fn what_is_large_is_compressed_for_who_takes_it() {
    let runs = tempfile::tempdir().unwrap();
    let folder = write(runs.path(), &packets());
    let run = format!("/run/{}", name(&folder));
    let address = serve(runs.path());
    for target in ["/", &run, &format!("{run}/records.csv"), "/figures.js"] {
        let get = format!("GET {target}");
        let (plain, text) = answer(address, &get, "");
        assert!(plain.starts_with("HTTP/1.0 200 "), "{target}: {plain}");
        assert_eq!(header(&plain, "Content-Encoding"), None, "{target}");
        let (compressed, packed) = answer(address, &get, GZIP);
        assert_eq!(header(&compressed, "Content-Encoding"), Some("gzip"));
        for head in [&plain, &compressed] {
            assert_eq!(header(head, "Vary"), Some("accept-encoding"), "{head}");
        }
        let mut unpacked = Vec::new();
        GzDecoder::new(&packed[..])
            .read_to_end(&mut unpacked)
            .unwrap();
        assert!(unpacked == text && packed.len() < text.len(), "{target}");
        for (head, headers) in [(plain, ""), (compressed, GZIP)] {
            let said = answer(address, &format!("HEAD {target}"), headers);
            assert_eq!(said, (head, Vec::new()), "{target}");
        }
    }
    let parquet = format!("{run}/records.parquet");
    for target in ["/api/runs", &parquet] {
        let get = format!("GET {target}");
        let (head, body) = answer(address, &get, GZIP);
        assert_eq!(header(&head, "Content-Encoding"), None, "{target}");
        let length = body.len().to_string();
        assert_eq!(header(&head, "Content-Length"), Some(length.as_str()));
    }
}

#[test]
fn events_come_one_by_one() {
    let runs = tempfile::tempdir().unwrap();
    let address = serve(runs.path());
    let mut events = BufReader::new(asking(address, "GET /changes", GZIP));
    let head = head(&mut events);
    assert_eq!(header(&head, "Content-Encoding"), None, "{head}");
    // It has looked at the list once.
    let mut comment = String::new();
    events.read_line(&mut comment).unwrap();
    assert_eq!(comment, ":\n");
    write(runs.path(), &packets());
    let mut lines = events.lines().map(Result::unwrap);
    assert!(lines.any(|line| line == "event: changed"));
}

#[test]
fn what_is_finished_comes_once() {
    let runs = tempfile::tempdir().unwrap();
    let folder = write(runs.path(), &packets());
    let run = format!("/run/{}", name(&folder));
    let address = serve(runs.path());
    let tables = ["records.csv", "records.parquet", "trials.csv"];
    let tables = tables.map(|table| format!("{run}/{table}"));
    let all = ["/figures.js", &run].into_iter();
    for target in all.chain(tables.iter().map(String::as_str)) {
        let get = format!("GET {target}");
        let (first, body) = answer(address, &get, "");
        let tag = header(&first, "Etag").unwrap();
        assert_eq!(header(&first, "Cache-Control"), Some("private, no-cache"));
        let given = |tags: &str| answer(address, &get, &format!("If-None-Match: {tags}\r\n{GZIP}"));
        for tags in [tag, &format!("\"a\", {tag}"), "*"] {
            let (head, body) = given(tags);
            assert!(head.starts_with("HTTP/1.0 304 "), "{target}: {head}");
            assert_eq!(header(&head, "Etag"), Some(tag));
            assert_eq!(body, b"");
        }
        assert!(given("W/\"a\"").0.starts_with("HTTP/1.0 200 "), "{target}");
        assert!(!body.is_empty());
    }
    // Another run of the same name is another one.
    let tag = |target: &str| header(&answer(address, target, "").0, "Etag").map(str::to_owned);
    let targets = [&format!("GET {run}"), &format!("GET {}", tables[0])];
    let before = targets.map(|target| tag(target));
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(write(runs.path(), &packets()[1..]), folder);
    let after = targets.map(|target| tag(target));
    for (before, after) in before.iter().zip(&after) {
        assert!(after.is_some() && before != after, "{before:?}");
    }
}

#[test]
fn what_may_change_is_always_sent() {
    let runs = tempfile::tempdir().unwrap();
    let new = NewRun {
        name: "going",
        world: "live",
        started: None,
        experiment: "name = \"going\"\n",
        environment: &serde_json::json!({}),
    };
    let going = RunWriter::create(runs.path(), &new).unwrap();
    let mut folders = std::fs::read_dir(runs.path()).unwrap();
    let folder = folders.find_map(|entry| entry.unwrap().file_name().into_string().ok());
    let run = format!("/run/{}", folder.unwrap());
    let address = serve(runs.path());
    for target in ["/", &run, "/api/runs", "/run/none"] {
        let (head, body) = answer(address, &format!("GET {target}"), "If-None-Match: *\r\n");
        assert_eq!(header(&head, "Cache-Control"), Some("no-store"));
        assert_eq!(header(&head, "Etag"), None, "{target}");
        assert!(
            !head.contains(" 304 ") && !body.is_empty(),
            "{target}: {head}"
        );
    }
    drop(going);
}

/// What another tool measured often says nothing of when it began.
#[test]
fn two_runs_whose_dates_do_not_tell_are_compared_from_the_first_to_the_second() {
    for started in [None, Some(SystemTime::UNIX_EPOCH)] {
        let runs = tempfile::tempdir().unwrap();
        let write = || write_begun(runs.path(), started, &[&packets()]);
        let [first, second] = [write(), write()];
        let [first, second] = [&first, &second].map(|folder| name(folder));
        let address = serve(runs.path());
        for [one, other] in [[first, second], [second, first]] {
            let ask = format!("GET /compare?run={one}&run={other}");
            let page = String::from_utf8(answer(address, &ask, "").1).unwrap();
            for (letter, run) in [("A", first), ("B", second)] {
                let says = format!(">{letter}: <a href=\"/run/{run}\"");
                assert!(page.contains(&says), "{says} in {page}");
            }
        }
    }
}

fn benchmark() -> Report {
    let columns = [("frame size", "B"), ("throughput", "frames/s")];
    Report {
        procedure: "throughput".to_owned(),
        title: "Throughput".to_owned(),
        sections: Vec::new(),
        tables: vec![Table {
            title: "Throughput".to_owned(),
            columns: columns.map(|(name, unit)| Column::new(name, unit)).to_vec(),
            rows: vec![vec![64_u64.into(), 14_880.9.into()]],
        }],
        figures: Vec::new(),
        conformance: Vec::new(),
        notes: Vec::new(),
    }
}

/// Everything that its page shows of a run is read for that alone.
#[test]
fn what_two_benchmarks_found_is_compared_and_of_other_runs_it_is_not_read() {
    for (experiment, are_benchmarks) in [
        (
            "name = \"a\"\n[design.procedure]\nname = \"throughput\"\n",
            true,
        ),
        ("name = \"a\"\n", false),
    ] {
        let runs = tempfile::tempdir().unwrap();
        let write = || write_of(experiment, runs.path(), None, &[&packets()]);
        let [one, other] = [write(), write()];
        let address = serve_as(runs.path(), |run| {
            let mut data = stored::in_full(run, None, "run");
            data.benchmark = Some(benchmark());
            data
        });
        let ask = format!("GET /compare?run={}&run={}", name(&one), name(&other));
        let page = String::from_utf8(answer(address, &ask, "").1).unwrap();
        let says = "Throughput: no figure differs by more than 0.1 %.";
        assert_eq!(page.contains(says), are_benchmarks, "{page}");
    }
}

/// Packets so far apart, each answered but this one.
fn every(interval: Nanos, trial: u32, count: u64, lost: u64) -> Vec<Record> {
    let packet = |seq| {
        let due = seq as Nanos * interval;
        let mut record = Record::due(trial, 0, seq, Method::Udp, due);
        record.t_send = Some(due);
        record.t_recv = (seq != lost).then_some(due + MILLISECOND);
        record.outcome = if seq == lost {
            Outcome::Lost
        } else {
            Outcome::Ok
        };
        record
    };
    (0..count).map(packet).collect()
}

/// A few dozen packets of the slow trial last longer than a cell.
#[test]
fn each_packet_stands_in_its_own_cell_whatever_the_rates_of_trials() {
    let runs = tempfile::tempdir().unwrap();
    let fast = every(MILLISECOND, 0, 2_560, 10_000);
    let slow = every(100 * MILLISECOND, 1, 640, 63);
    let folder = write_trials(runs.path(), &[&fast, &slow]);
    let address = serve(runs.path());
    let window = format!("GET /run/{}/window?cells=20", name(&folder));
    let (head, body) = answer(address, &window, "");
    assert!(head.starts_with("HTTP/1.0 200 "), "{head}");
    let shown: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(shown["packets"], 3_200);
    let numbers = |of: &str| shown["cells"][of].as_array().unwrap().iter();
    let lost = numbers("unanswered").position(|count| count == 1).unwrap();
    let t = numbers("t_s").nth(lost).and_then(Value::as_f64).unwrap();
    // The last packet of the slow trial's first 64.
    assert!((t - (2.559 + 6.3)).abs() < 66.5 / 20.0 / 2.0, "{t}");
    assert_eq!(numbers("t_s").len(), 20);
}

#[test]
fn a_page_is_made_anew_where_the_run_that_it_shows_beside_has_changed() {
    let runs = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let measured = write(elsewhere.path(), &packets());
    let folder = write(runs.path(), &packets());
    let beside = measured.clone();
    let address = serve_as(runs.path(), move |run| {
        let mut data = stored::in_full(run, None, "run");
        data.measured_in = Some(beside.clone());
        if !beside.exists() {
            data.problems.push("measured elsewhere".to_owned());
        }
        data
    });
    let page = format!("GET /run/{}", name(&folder));
    let lacks = || {
        let page = String::from_utf8(answer(address, &page, "").1).unwrap();
        page.contains("measured elsewhere")
    };
    assert!(!lacks());
    let away = elsewhere.path().join("away");
    std::fs::rename(&measured, &away).unwrap();
    assert!(lacks());
    std::fs::rename(&away, &measured).unwrap();
    assert!(!lacks());
}

/// What a program asks for, or the script of a page.
#[test]
fn what_is_the_matter_is_a_sentence_for_programs_and_a_page_for_people() {
    let runs = tempfile::tempdir().unwrap();
    let folder = write(runs.path(), &packets());
    let run = format!("/run/{}", name(&folder));
    let address = serve(runs.path());
    let ask = |target: &str| answer(address, &format!("GET {target}"), "");
    for (target, status, why) in [
        (
            format!("{run}/window?probe=none"),
            404,
            "The run has no probe none; it has echo.\n",
        ),
        (
            format!("{run}/window?from=never"),
            400,
            "from is a number.\n",
        ),
        (
            format!("{run}/none.csv"),
            404,
            "The run has no table none.csv.\n",
        ),
        (
            "/run/none/records.parquet".to_owned(),
            404,
            "There is no run none.\n",
        ),
        (
            "/run/none/progress".to_owned(),
            404,
            "There is no run none.\n",
        ),
    ] {
        let (head, body) = ask(&target);
        let expected = format!("HTTP/1.0 {status} ");
        assert!(head.starts_with(&expected), "{target}: {head}");
        let plain = Some("text/plain; charset=utf-8");
        assert_eq!(header(&head, "Content-Type"), plain, "{target}");
        assert_eq!(String::from_utf8_lossy(&body), why, "{target}");
    }
    for target in ["/run/none", "/none", "/compare?run=none"] {
        let (head, _) = ask(target);
        let page = Some("text/html; charset=utf-8");
        assert_eq!(header(&head, "Content-Type"), page, "{target}");
    }
}

/// Its bytes are others for a moment, as with a network's file system that fails.
#[test]
fn what_could_not_be_read_once_is_read_again() {
    let runs = tempfile::tempdir().unwrap();
    let folder = write(runs.path(), &packets());
    let address = serve(runs.path());
    let file = folder.join("records.parquet");
    let whole = std::fs::read(&file).unwrap();
    let modified = file.metadata().and_then(|facts| facts.modified()).unwrap();
    let window = format!("GET /run/{}/window", name(&folder));
    let ask = || answer(address, &window, "");
    let middle = 4..whole.len() / 2;
    let mut broken = whole.clone();
    broken[middle].fill(0);
    for (bytes, status) in [(&broken, 500), (&whole, 200)] {
        std::fs::write(&file, bytes).unwrap();
        // Nothing but its content says that it is another.
        let written = std::fs::File::options().write(true).open(&file);
        written.unwrap().set_modified(modified).unwrap();
        let (head, body) = ask();
        let expected = format!("HTTP/1.0 {status} ");
        assert!(head.starts_with(&expected), "{head}");
        if status == 200 {
            let shown: Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(shown["packets"], 2_000);
        }
    }
}
