//! `delaylab serve`: the list of runs, one run, two compared, one in progress; and who is answered.

use crate::harness::scratch::Scratch;
use crate::web::chromium::{Chromium, Page};
use crate::web::reports::{SMALL, check_marks};
use crate::web::{delaylab, inaccessible};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

/// A server that ends with its test.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(directory: &Path, words: &[&str]) -> Self {
        let words = [&["serve", "--port", "0"], words].concat();
        let mut child = delaylab(directory, &words)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let address = line
            .split("http://")
            .nth(1)
            .unwrap()
            .trim()
            .trim_end_matches('/')
            .to_owned();
        Self { child, address }
    }

    /// What it answers to these lines: status line and all.
    fn ask(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn get(&self, target: &str) -> String {
        self.ask(&format!(
            "GET {target} HTTP/1.1\r\nHost: {}\r\n\r\n",
            self.address
        ))
    }

    fn json(&self, target: &str) -> Value {
        let answer = self.get(target);
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
    }
}

/// What an answer in chunks says, which must have its end (RFC 9112 §7.1).
fn whole(answer: &str) -> String {
    let mut rest = answer.split_once("\r\n\r\n").unwrap().1;
    let mut text = String::new();
    loop {
        let (length, more) = rest.split_once("\r\n").unwrap();
        let length = usize::from_str_radix(length, 16).unwrap();
        if length == 0 {
            assert_eq!(more, "\r\n");
            return text;
        }
        text += &more[..length];
        rest = more[length..].strip_prefix("\r\n").unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Two runs of the small experiment, which differ in their seed.
fn two_runs(scratch: &Scratch) -> [String; 2] {
    two_runs_of(scratch, SMALL)
}

fn two_runs_of(scratch: &Scratch, text: &str) -> [String; 2] {
    scratch.file("small.toml", text);
    for seed in ["1", "2"] {
        let output = scratch.delaylab(&[
            "run",
            "small.toml",
            "-q",
            "--no-report",
            "--seed",
            seed,
            "-o",
            "runs",
        ]);
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let mut names: Vec<_> = std::fs::read_dir(scratch.path("runs"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("small-"))
        .collect();
    names.sort();
    names.try_into().unwrap()
}

#[test]
fn runs_are_listed_found_opened_and_compared() {
    let Some(browser) = Chromium::start() else {
        return;
    };
    let scratch = Scratch::new();
    let [first, second] = two_runs(&scratch);
    let server = Server::start(&scratch.path(""), &[]);
    let page = browser.open(&format!("http://{}/", server.address));
    assert_eq!(page.count("tbody tr"), 2);
    assert_eq!(inaccessible(&page), Vec::<Value>::new());
    page.picture("runs");

    page.click("input[type=search]");
    // The name of the first may begin that of the second, with `-2` after it, when both began in one second.
    page.type_text(&second.to_uppercase());
    page.key("Enter");
    page.wait("document.querySelector('#count').textContent === '1 of 2 runs'");
    page.click("tbody a");
    page.wait("location.pathname.startsWith('/run/')");
    page.wait_drawn();
    assert_eq!(page.text("h1"), "A small one");
    assert_eq!(inaccessible(&page), Vec::<Value>::new());

    let long = "document.querySelector('figure[data-window]').dataset";
    // Time is simulated: there is no wall clock.
    let status = page.text("figure[data-window] .status");
    assert!(status.contains(" packets from 0 s to "), "{status}");
    let end = page.eval(&format!("Number({long}.to)")).as_f64().unwrap();
    page.drag("figure[data-window] .u-over", 0.25, 0.5);
    page.wait(&format!("Number({long}.from) > 0"));
    let [from, to] = ["from", "to"].map(|end| {
        page.eval(&format!("Number({long}.{end})"))
            .as_f64()
            .unwrap()
    });
    assert!(
        (from / end - 0.25).abs() < 0.02 && (to / end - 0.5).abs() < 0.02,
        "{from} to {to} of {end}"
    );
    page.picture("run-served");
    page.eval("document.querySelector('figure[data-window] .plot').focus()");
    page.key("0");
    page.wait(&format!("Number({long}.from) === 0"));

    page.click("nav a");
    page.wait("document.querySelectorAll('tbody input').length === 2");
    page.click("tbody tr:nth-child(1) input");
    page.click("tbody tr:nth-child(2) input");
    page.click("form[action='/compare'] button[type=submit]");
    page.wait("location.pathname === '/compare'");
    page.wait_drawn();
    // Two rates, three sizes: a heading and a line of each run for each.
    assert_eq!(page.count("#pairs h3"), 6);
    let lines = "figure[data-spec=both_runs] .mark-line.role-mark > *";
    assert_eq!(page.count(lines), 12);
    assert_eq!(page.count("figure[data-spec=quantile_shift]"), 1);
    // The list has the latest first; what changed is told from before to after.
    let before = page.text("header .meta:nth-of-type(2)");
    assert!(
        before.starts_with("A:") && before.contains(first.as_str()),
        "{before}"
    );
    assert!(page.text("main").contains(second.as_str()));
    assert_eq!(inaccessible(&page), Vec::<Value>::new());
    page.appear("dark", 1100);
    page.picture("compared-dark");
    assert_eq!(page.complaints(), Vec::<String>::new());
}

/// While a run is in progress the list changes all the time.
#[test]
fn a_list_that_changes_keeps_the_rows_that_do_not_and_shows_answers_that_come_late() {
    let Some(browser) = Chromium::start() else {
        return;
    };
    let scratch = Scratch::new();
    let [first, second] = two_runs_of(&scratch, &fewer());
    let server = Server::start(&scratch.path(""), &[]);
    let page = browser.open(&format!("http://{}/", server.address));
    let link = |name: &str| format!("document.querySelector(\"a[href='/run/{name}']\")");
    let row = format!("{}.closest('tr')", link(&first));
    page.eval(&format!(
        "({row}.isKnown = true, {row}.querySelector('input').click())"
    ));
    let rename = |from: &str, to: &str| {
        let [from, to] = [from, to].map(|name| scratch.path("runs").join(name));
        std::fs::rename(from, to).unwrap();
    };
    let is_listed = |name: &str| page.wait(&format!("{} !== null", link(name)));
    let kept = format!("[{row}.isKnown, {row}.querySelector('input').checked]");
    rename(&second, "second");
    is_listed("second");
    assert_eq!(page.eval(&kept), json!([true, true]));
    page.click("thead th:nth-child(2) button");
    rename("second", "a-third");
    is_listed("a-third");
    assert_eq!(page.eval(&kept), json!([true, true]));
    assert_eq!(page.count("tbody tr"), 2);
    assert_eq!(
        page.eval("document.querySelectorAll('tbody a')[0].textContent"),
        json!("a-third"),
        "it is still sorted"
    );

    page.eval(
        "(() => { const real = window.fetch; window.held = []; window.fetch = (...asked) => \
         new Promise((go) => held.push(go)).then(() => real(...asked)); })()",
    );
    rename("a-third", "fourth");
    page.wait("held.length === 1");
    rename("fourth", "fifth");
    // The page hears of it meanwhile.
    std::thread::sleep(Duration::from_secs(2));
    page.eval("held[0]()");
    is_listed("fifth");
}

/// Pages of few combinations are made sooner.
fn fewer() -> String {
    let without_rate = SMALL.replace("\"25.6Mbit/s\", ", "");
    without_rate.replace("\"512B\", ", "")
}

#[test]
fn a_run_in_progress_is_seen_to_grow_and_to_end() {
    let Some(browser) = Chromium::start() else {
        return;
    };
    let scratch = Scratch::new();
    let text = "name = \"slow\"\nworld = \"live\"\n[[probe]]\nname = \"echo\"\nmethod = \"udp\"\n\
                pacing = { every = \"10ms\" }\nduration = \"6s\"\n";
    scratch.file("slow.toml", text);
    std::fs::create_dir(scratch.path("runs")).unwrap();
    let server = Server::start(&scratch.path(""), &[]);
    let page = browser.open(&format!("http://{}/", server.address));
    assert_eq!(page.count("tbody tr"), 0);
    let mut run = delaylab(&scratch.path(""), &["run", "slow.toml", "-q"])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    page.wait("document.querySelectorAll('tbody a').length === 1");
    page.click("tbody a");
    page.wait("Number(document.querySelector('#live')?.dataset.cells) > 5");
    let before = page
        .eval("Number(document.querySelector('#live').dataset.cells)")
        .as_u64()
        .unwrap();
    page.wait(&format!(
        "Number(document.querySelector('#live').dataset.cells) > {before}"
    ));
    page.picture("live");
    page.wait(
        "!location.pathname.includes('partial') && document.querySelector('figure[data-spec]')",
    );
    assert!(run.wait().unwrap().success());
    page.wait_drawn();
    check_marks(&page, "live");
    marks_are_those_of_the_table(&server, &page);
    times_are_those_of_the_wall_clock(&server, &page);
    assert_eq!(page.complaints(), Vec::<String>::new());
}

/// The cells of a run on a real clock say when they were, and so does the page.
fn times_are_those_of_the_wall_clock(server: &Server, page: &Page<'_>) {
    let address = page.eval("location.pathname");
    let window = server.json(&format!("{}/window", address.as_str().unwrap()));
    let seconds = |what: &Value| -> Vec<f64> {
        let values = what.as_array().unwrap().iter();
        values.map(|value| value.as_f64().unwrap()).collect()
    };
    let clock = &window["clock"];
    let (t, utc) = (seconds(&clock["t_s"]), seconds(&clock["utc_s"]));
    assert_eq!(t.len(), utc.len());
    let further = utc[0] - t[0];
    for (t, utc) in t.iter().zip(&utc) {
        assert!((utc - t - further).abs() < 1e-3, "{utc} at {t}");
    }
    // It is known between packets, too.
    let end = window["end_s"].as_f64().unwrap();
    let (from, to) = (end * 0.5, end * 0.5 + 1e-6);
    let address = address.as_str().unwrap();
    let narrow = server.json(&format!("{address}/window?from={from}&to={to}"));
    let known = seconds(&narrow["clock"]["utc_s"]);
    assert!((known[0] - utc[0]).abs() < 120.0, "{narrow}");
    let rest = server.json(&format!("{address}/window?from={from}"));
    assert_eq!(
        (&rest["from_s"], &rest["to_s"]),
        (&narrow["from_s"], &window["to_s"])
    );
    let now = std::time::SystemTime::now();
    let now = now
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_secs_f64();
    assert!(
        utc.is_sorted() && (now - 120.0..now).contains(&utc[0]),
        "{now}: {utc:?}"
    );
    let long = "figure[data-window]";
    let status = page.text(&format!("{long} .status"));
    assert!(status.contains(" UTC on 20"), "{status}");
    // Close up both ends differ.
    let width = "(({ from, to }) => Number(to) - Number(from))";
    let width = format!("{width}(document.querySelector('{long}').dataset)");
    while page.eval(&width).as_f64().unwrap() > 1e-4 {
        let before = page.eval(&width);
        page.drag(&format!("{long} .u-over"), 0.4, 0.5);
        page.wait(&format!("{width} < {before}"));
    }
    let status = page.text(&format!("{long} .status"));
    let ends = status.split_once(" from ").unwrap().1;
    let (from, to) = ends.split_once(" to ").unwrap();
    assert!(!to.starts_with(&format!("{from} ")), "{status}");
}

/// What stands below the round trips over time, against the tables that it is made of.
fn marks_are_those_of_the_table(server: &Server, page: &Page<'_>) {
    let address = page.eval("location.pathname");
    let address = address.as_str().unwrap();
    let noise = server.get(&format!("{address}/noise.csv"));
    for kind in ["sentinel_gap", "slow_clock_read"] {
        let rows = noise
            .lines()
            .filter(|line| line.contains(&format!(",{kind},")));
        let lengths: Vec<i64> = rows
            .map(|row| row.split(',').nth(2).unwrap().parse().unwrap())
            .collect();
        let window = server.json(&format!("{address}/window"));
        let marks = window["marks"].as_array().unwrap();
        let own = marks.iter().filter(|mark| mark["kind"] == kind);
        let longest = own
            .clone()
            .filter_map(|mark| mark["length_ns"].as_i64())
            .max();
        let count: u64 = own.filter_map(|mark| mark["count"].as_u64()).sum();
        // Between the first packet and the last: before and after, nothing is drawn.
        assert!(count <= lengths.len() as u64, "{kind}");
        assert!(longest <= lengths.iter().copied().max(), "{kind}");
        assert_eq!(
            page.count(&format!(".marks li[data-kind={kind}]")),
            u64::from(count > 0)
        );
    }
}

/// A folder may have any name. It is shown as text, and leads to its run.
#[test]
fn whatever_a_folder_is_called_it_is_text() {
    let Some(browser) = Chromium::start() else {
        return;
    };
    let scratch = Scratch::new();
    let [first, second] = two_runs_of(&scratch, &fewer());
    let markup = "<img src=x onerror=window.hit=1>'\"&%2F";
    let long = "long-".repeat(40);
    for (old, new) in [(&first, markup), (&second, long.as_str())] {
        std::fs::rename(
            scratch.path("runs").join(old),
            scratch.path("runs").join(new),
        )
        .unwrap();
    }
    let server = Server::start(&scratch.path(""), &[]);
    let page = browser.open(&format!("http://{}/", server.address));
    for name in [markup, long.as_str()] {
        let of_name = format!(
            "[...document.querySelectorAll('tbody a')].find((a) => a.textContent === {})",
            json!(name)
        );
        page.eval(&format!("{of_name}.id = 'this-one'"));
        page.click("#this-one");
        page.wait("location.pathname.startsWith('/run/')");
        page.wait_drawn();
        assert_eq!(page.text("h1"), "A small one", "{name}");
        page.click("nav a");
        page.wait("document.querySelectorAll('tbody input').length === 2");
    }
    page.click("tbody tr:nth-child(1) input");
    page.click("tbody tr:nth-child(2) input");
    page.click("form[action='/compare'] button[type=submit]");
    page.wait("location.pathname === '/compare'");
    page.wait_drawn();
    assert!(page.text("main").contains(markup) && page.text("main").contains(&long));
    let wide =
        page.eval("document.documentElement.scrollWidth - document.documentElement.clientWidth");
    assert_eq!(wide, json!(0), "wider than its window");
    assert_eq!(page.eval("window.hit ?? 0"), json!(0));
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn tables_and_windows_hold_every_record() {
    let scratch = Scratch::new();
    let [name, _] = two_runs(&scratch);
    let server = Server::start(&scratch.path(""), &["runs"]);
    let runs = server.json("/api/runs");
    assert_eq!(runs["runs"][0]["records"], 2400);
    let csv = whole(&server.get(&format!("/run/{name}/records.csv")));
    assert!(csv.starts_with("trial,probe,seq,"), "{csv:.300}");
    let udp = csv.lines().filter(|line| line.contains(",udp,"));
    assert_eq!(udp.count(), 2400, "{csv:.600}");
    let parquet = server.get(&format!("/run/{name}/trials.parquet"));
    assert!(parquet.contains("\r\n\r\nPAR1") && parquet.ends_with("PAR1"));

    let window = |query: &str| server.json(&format!("/run/{name}/window?{query}"));
    let [few, many] = [window("cells=3"), window("cells=4000")];
    for extreme in ["max_ns", "min_ns"] {
        let of = |shown: &Value| {
            let cells = shown["cells"][extreme]
                .as_array()
                .unwrap()
                .iter()
                .filter_map(Value::as_i64);
            if extreme == "max_ns" {
                cells.max()
            } else {
                cells.min()
            }
        };
        assert!(of(&few).is_some());
        assert_eq!(of(&few), of(&many), "{extreme}");
    }
    assert_eq!(
        (&few["packets"], &many["packets"]),
        (&json!(2400), &json!(2400))
    );
    let end = few["end_s"].as_f64().unwrap();
    let halves = [
        window(&format!("from=0&to={}", end / 2.0)),
        window(&format!("from={}&to={end}", end / 2.0 + 1e-9)),
    ];
    let packets: u64 = halves
        .iter()
        .map(|half| half["packets"].as_u64().unwrap())
        .sum();
    assert_eq!(packets, 2400);
}

/// Where Landlock holds, it is said why it is not shown.
#[test]
fn a_measured_part_outside_of_the_directory_is_shown_or_said_to_be_outside() {
    let scratch = Scratch::new();
    let table = "\n[[figure]]\nid = \"medians\"\ntitle = \"Medians\"\ndraw = \"table\"\nrows = \"size\"\n\
                 values = [\"p50(round_trip)\"]\nmeasured = \"\"\n";
    scratch.file("small.toml", &format!("{SMALL}{table}"));
    for words in ["-o measured", "-o runs --measured measured/latest"] {
        let words = format!("run small.toml -q --no-report {words}");
        let output = scratch.delaylab(&Vec::from_iter(words.split(' ')));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
    }
    let name = std::fs::read_link(scratch.path("runs/latest")).unwrap();
    let server = Server::start(&scratch.path(""), &["runs"]);
    let page = server.get(&format!("/run/{}", name.display()));
    let is_shown = page.contains("measured (sim)");
    let is_told = page.contains("`delaylab serve` reads nothing outside of the directory");
    assert!(is_shown != is_told, "{page:.2000}");
}

#[test]
fn only_who_may_is_answered() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path("runs")).unwrap();
    scratch.file("secret", "0123456789abcdefghij\n");
    let server = Server::start(&scratch.path(""), &[]);
    let status = |answer: String| answer.lines().next().unwrap_or_default().to_owned();
    let page = server.get("/");
    assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
    for header in [
        "Content-Security-Policy: default-src 'none'",
        "X-Content-Type-Options: nosniff",
        "X-Frame-Options: DENY",
    ] {
        assert!(page.contains(header), "{header}");
    }
    assert_eq!(
        status(server.ask("GET / HTTP/1.1\r\nHost: rebound.example\r\n\r\n")),
        "HTTP/1.1 421 Misdirected Request"
    );
    assert_eq!(
        status(server.ask("POST / HTTP/1.1\r\n\r\n")),
        "HTTP/1.1 405 Method Not Allowed"
    );
    for path in [
        "/run/../secret",
        "/run/..%2Fsecret",
        "/run/%2e%2e",
        "/run/../secret.csv",
        "/../secret",
        "/run/.",
        "/run//etc/passwd",
    ] {
        let answer = server.get(path);
        assert_eq!(status(answer.clone()), "HTTP/1.1 404 Not Found", "{path}");
        assert!(!answer.contains("0123456789abcdef"));
    }
    let open = scratch.delaylab(&["serve", "--listen", "0.0.0.0", "--port", "0"]);
    assert_eq!(open.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&open.stderr).contains("--token-file"));

    let guarded = Server::start(&scratch.path(""), &["--token-file", "secret"]);
    assert_eq!(status(guarded.get("/")), "HTTP/1.1 401 Unauthorized");
    assert_eq!(
        status(guarded.get("/?token=0123456789abcdefghi")),
        "HTTP/1.1 401 Unauthorized"
    );
    let welcome = guarded.get("/?token=0123456789abcdefghij");
    assert!(
        welcome.starts_with("HTTP/1.1 303 ") && welcome.contains("\r\nLocation: /\r\n"),
        "{welcome}"
    );
    let with = format!(
        "GET / HTTP/1.1\r\nHost: {}\r\nCookie: delaylab-{}=0123456789abcdefghij\r\n\r\n",
        guarded.address,
        guarded.address.rsplit_once(':').unwrap().1
    );
    assert_eq!(status(guarded.ask(&with)), "HTTP/1.1 200 OK");
}
