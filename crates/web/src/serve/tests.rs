//! Against real connections over loopback: nobody keeps others out.
#![allow(clippy::unwrap_used)]

use super::*;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};

const TOKEN: &str = "0123456789abcdef";

fn server(token: Option<&str>) -> (tempfile::TempDir, SocketAddr) {
    let runs = tempfile::tempdir().unwrap();
    let token = token.map(|token| Token::from_text(token).unwrap());
    let here = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let folder = runs.path().to_owned();
    let server = Server::bind(here, token, folder, |_| panic!("there is no run")).unwrap();
    let address = server.address();
    std::thread::spawn(move || server.run());
    (runs, address)
}

fn asking(address: SocketAddr, target: &str, headers: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    let request = format!("GET {target} HTTP/1.1\r\nHost: {address}\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

fn answer(mut stream: TcpStream) -> String {
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn readers_that_never_read_keep_nobody_out() {
    let (_runs, address) = server(None);
    // Events last as long as their page, and these are never read.
    let held: Vec<_> = (0..100).map(|_| asking(address, "/changes", "")).collect();
    let page = answer(asking(address, "/", ""));
    assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
    drop(held);
}

#[test]
fn those_without_the_token_keep_nobody_out_who_has_it() {
    let (_runs, address) = server(Some(TOKEN));
    let bearer = format!("Authorization: Bearer {TOKEN}\r\n");
    let mut mine = asking(address, "/changes", &bearer);
    let mut events = [0; 12];
    mine.read_exact(&mut events).unwrap();
    assert_eq!(&events, b"HTTP/1.1 200");
    let mut silent: Vec<_> = (0..100)
        .map(|_| TcpStream::connect(address).unwrap())
        .collect();
    let page = answer(asking(address, "/", &bearer));
    assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
    // Those that gave way are told.
    let told = answer(silent.remove(0));
    assert!(told.starts_with("HTTP/1.1 503 "), "{told}");
    assert!(told.contains("Retry-After: 1\r\n"), "{told}");
    // And mine goes on.
    mine.set_nonblocking(true).unwrap();
    let end =
        std::iter::repeat_with(|| mine.read(&mut events)).find(|read| !matches!(read, Ok(1..)));
    assert_eq!(
        end.unwrap().unwrap_err().kind(),
        std::io::ErrorKind::WouldBlock
    );
}

#[test]
fn wrong_tokens_keep_nobody_out_who_has_the_right_one() {
    let (_runs, address) = server(Some(TOKEN));
    let wrong = "Authorization: Bearer 0000000000000000\r\n";
    let mut held = std::collections::VecDeque::new();
    // More than there are threads, and each waits for its answer.
    for _ in 0..200 {
        held.push_back(asking(address, "/", wrong));
        if held.len() > 40 {
            // It gave way, and its thread may end before the next comes.
            let mut gone = held.pop_front().unwrap();
            gone.set_read_timeout(Some(Duration::from_millis(50)))
                .unwrap();
            let _ = gone.read(&mut [0]);
        }
    }
    let bearer = format!("Authorization: Bearer {TOKEN}\r\n");
    let page = answer(asking(address, "/", &bearer));
    assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
}

#[test]
fn where_all_have_the_token_the_next_is_told_that_it_is_too_many() {
    let (_runs, address) = server(Some(TOKEN));
    let bearer = format!("Authorization: Bearer {TOKEN}\r\n");
    let held: Vec<_> = (0..96)
        .map(|_| {
            let mut stream = asking(address, "/changes", &bearer);
            stream.read_exact(&mut [0; 12]).unwrap();
            stream
        })
        .collect();
    let told = answer(asking(address, "/", &bearer));
    assert!(told.starts_with("HTTP/1.1 503 "), "{told}");
    drop(held);
}

#[test]
fn a_folder_of_runs_that_was_replaced_is_named_with_what_to_do() {
    let (runs, address) = server(None);
    let moved = runs.path().with_extension("moved");
    std::fs::rename(runs.path(), &moved).unwrap();
    let told = answer(asking(address, "/api/runs", ""));
    assert!(
        told.contains("No such file") && !told.contains("begin it again"),
        "{told}"
    );
    // It cannot be read, as of a process that is confined to the folder that was there.
    std::fs::write(runs.path(), "").unwrap();
    let told = answer(asking(address, "/api/runs", ""));
    assert!(told.starts_with("HTTP/1.1 500 "), "{told}");
    assert!(told.contains("begin it again"), "{told}");
    std::fs::remove_file(runs.path()).unwrap();
    std::fs::rename(&moved, runs.path()).unwrap();
    let told = answer(asking(address, "/api/runs", ""));
    assert!(told.starts_with("HTTP/1.1 200 "), "{told}");
}

#[test]
fn a_port_that_is_taken_comes_with_a_remedy() {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = taken.local_addr().unwrap();
    let server = Server::bind(address, None, PathBuf::new(), |_| panic!("there is no run"));
    let why = server.err().unwrap().to_string();
    assert!(why.contains("ss -lntp") && why.contains("--port"), "{why}");
}

#[test]
fn a_tunnel_from_another_port_is_told_which_one_is_ours() {
    let (_runs, address) = server(None);
    let mut stream = TcpStream::connect(address).unwrap();
    let request = "GET / HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    let told = answer(stream);
    let port = address.port();
    assert!(told.contains(&format!("127.0.0.1:{port} alone")), "{told}");
    assert!(
        told.contains(&format!("ssh -L {port}:127.0.0.1:{port} ")),
        "{told}"
    );
}

#[test]
fn a_wrong_token_is_refused_and_a_missing_one_asked_for() {
    let (_runs, address) = server(Some(TOKEN));
    let wrong = answer(asking(address, "/?token=0000000000000000", ""));
    assert!(wrong.contains("401 Unauthorized") && wrong.contains("the token is wrong"));
    let scheme = "\r\nWww-Authenticate: Bearer realm=\"delaylab\"";
    assert!(
        wrong.contains(&format!("{scheme}, error=\"invalid_token\"\r\n")),
        "{wrong}"
    );
    let none = answer(asking(address, "/", ""));
    assert!(none.contains("401 Unauthorized") && none.contains("the token is missing"));
    assert!(none.contains(&format!("{scheme}\r\n")), "{none}");
    let other_site = answer(asking(address, "/", "Sec-Fetch-Site: cross-site\r\n"));
    assert!(other_site.contains("403 Forbidden"), "{other_site}");
}

/// What is answered to these bytes.
fn said(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    answer(stream)
}

#[test]
fn head_is_the_head_of_what_get_says() {
    let (_runs, address) = server(None);
    let ask = |method: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        let request = format!("{method} / HTTP/1.1\r\nHost: {address}\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let answer = answer(stream);
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let without_date = head.lines().filter(|line| !line.starts_with("Date:"));
        (without_date.collect::<Vec<_>>().join("\n"), body.len())
    };
    let (get, head) = (ask("GET"), ask("HEAD"));
    assert!(get.1 > 0);
    assert_eq!(head, (get.0, 0));
}

#[test]
fn what_is_odd_is_refused() {
    let (_runs, address) = server(None);
    let host = format!("Host: {address}\r\n");
    for (request, status) in [
        (format!("POST / HTTP/1.1\r\n{host}\r\n"), "405"),
        (format!("GET http://other/ HTTP/1.1\r\n{host}\r\n"), "400"),
        (format!("GET /run/%ff HTTP/1.1\r\n{host}\r\n"), "400"),
        (format!("GET /a b HTTP/1.1\r\n{host}\r\n"), "400"),
        (format!("GET / HTTP/1.1\r\n{host}no header\r\n\r\n"), "400"),
        (format!("GET / HTTP/1.1\r\n{host}{host}\r\n"), "421"),
        ("GET / HTTP/1.1\r\n\r\n".to_owned(), "421"),
        (format!("GET /no/such/thing HTTP/1.1\r\n{host}\r\n"), "404"),
        (format!("GET /run/none HTTP/1.1\r\n{host}\r\n"), "404"),
    ] {
        let answer = said(address, &request);
        let expected = format!("HTTP/1.1 {status} ");
        assert!(answer.starts_with(&expected), "{request}: {answer}");
    }
}

#[test]
fn a_head_that_has_no_end_is_refused() {
    let (_runs, address) = server(None);
    let mut stream = TcpStream::connect(address).unwrap();
    let long = format!("GET / HTTP/1.1\r\nCookie: {}", "a".repeat(17 << 10));
    // It is refused before all of it is read.
    let _ = stream.write_all(long.as_bytes());
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 431");
}

#[test]
fn a_byte_now_and_then_keeps_no_connection_open() {
    let (_runs, address) = server(None);
    let mut slow = TcpStream::connect(address).unwrap();
    let silent = TcpStream::connect(address).unwrap();
    let started = Instant::now();
    slow.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    let mut said = [0; 12];
    while slow.read_exact(&mut said).is_err() {
        assert!(started.elapsed() < Duration::from_secs(20));
        let _ = slow.write_all(b"G");
    }
    assert_eq!(&said, b"HTTP/1.1 408");
    assert!(answer(silent).starts_with("HTTP/1.1 408 "));
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_page_with_an_older_list_hears_of_it_at_once() {
    let (_runs, address) = server(None);
    let list = answer(asking(address, "/", ""));
    let events = list.split("data-changes=\"").nth(1).unwrap();
    let events = events.split('"').next().unwrap();
    for (events, hears) in [(events, false), ("/changes?list=1", true)] {
        let mut lines = BufReader::new(asking(address, events, "")).lines();
        let lines = lines.by_ref().map(Result::unwrap);
        let lines: Vec<_> = lines
            .take_while(|line| line != ":" && line != "data: runs")
            .collect();
        assert!(
            lines.iter().any(|line| line == "X-Accel-Buffering: no"),
            "{lines:?}"
        );
        let told = lines.iter().any(|line| line == "event: changed");
        assert_eq!(told, hears, "{events}: {lines:?}");
    }
}

#[test]
fn with_the_token_one_comes_to_where_one_wanted_to_go() {
    let (_runs, address) = server(Some(TOKEN));
    for (asked, expected) in [
        (format!("/?token={TOKEN}"), "/"),
        (format!("/run/a%20b?token={TOKEN}"), "/run/a%20b"),
        (
            format!("/compare?run=a%26b&token={TOKEN}&run=c"),
            "/compare?run=a%26b&run=c",
        ),
        (format!("//other.example/?token={TOKEN}"), "/"),
        (format!("/\\other.example/?token={TOKEN}"), "/"),
    ] {
        let answer = answer(asking(address, &asked, ""));
        let location = format!("\r\nLocation: {expected}\r\n");
        assert!(answer.contains(&location), "{asked}: {answer}");
    }
}

/// A page that was hidden meanwhile asks again.
#[test]
fn a_run_in_progress_that_is_gone_was_removed() {
    let (_runs, address) = server(None);
    let gone = answer(asking(address, "/run/gone.partial/progress", ""));
    assert!(gone.contains("event: removed"), "{gone}");
    let complete = answer(asking(address, "/run/gone/progress", ""));
    assert!(complete.contains(" 404 "), "{complete}");
}
