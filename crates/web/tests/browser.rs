//! The page in a real browser: from disk, in a network namespace without any interface that is up,
//! every figure is drawn by the script, nothing is asked for and nothing is complained about.

use delaylab_web::html;
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use delaylab_view::run::{RunData, samples};

/// Says why a test does not run here; under `CI=true` that is a failure.
fn skip(why: &str) {
    assert!(
        std::env::var_os("CI").is_none_or(|ci| ci != "true"),
        "cannot run: {why}"
    );
    println!("skipped: {why}");
}

fn chromium() -> Option<&'static str> {
    let runs = |name: &&str| Command::new(name).arg("--version").output().is_ok();
    [
        "chromium-headless-shell",
        "chromium",
        "chromium-browser",
        "google-chrome",
    ]
    .into_iter()
    .find(runs)
}

/// May this process make a network namespace?
fn can_unshare() -> bool {
    let made = Command::new("unshare").args(["--net", "true"]).output();
    made.is_ok_and(|output| output.status.success())
}

/// A browser, and leave to run it without a network; `None` where the test is skipped.
fn browser() -> Option<&'static str> {
    let Some(browser) = chromium() else {
        skip("there is no chromium");
        return None;
    };
    if !can_unshare() {
        skip("making a network namespace takes root");
        return None;
    }
    Some(browser)
}

/// A directory that is removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("delaylab-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Opens a page and hands back its elements as they are once its script is through, and what the
/// browser logged.
fn open(browser: &str, page: &Path, profile: &Path) -> Output {
    open_as_wide(browser, page, profile, 1280)
}

/// The same in a window of this width in pixels.
fn open_as_wide(browser: &str, page: &Path, profile: &Path, width: u32) -> Output {
    let flags = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--enable-logging=stderr",
        "--v=0",
        "--virtual-time-budget=20000",
        "--dump-dom",
    ];
    Command::new("unshare")
        .args(["--net", browser])
        .args(flags)
        .arg(format!("--window-size={width},900"))
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap()
}

/// What the page's own script and policy complained about; the browser's own pages may say what they
/// like.
fn complaints(log: &str) -> Vec<&str> {
    let console = log.lines().filter(|line| line.contains(":CONSOLE"));
    console
        .filter(|line| !line.contains("source: chrome"))
        .collect()
}

#[test]
fn the_page_draws_every_figure_and_asks_for_nothing() {
    draws_every_figure("browser", |run| samples::with_few_points(run, 1));
}

/// With all their points, in `make test-all`.
mod long {
    #[test]
    fn the_page_draws_every_figure_in_full() {
        super::draws_every_figure("browser-in-full", |run| run);
    }
}

/// What is shown of each run is in its page.
fn draws_every_figure(folder: &str, shown: impl Fn(RunData) -> RunData) {
    let Some(browser) = browser() else { return };
    let scratch = Scratch::new(folder);
    for (name, run) in samples::runs() {
        let run = shown(run);
        let page = scratch.0.join(format!("{name}.html"));
        std::fs::write(&page, html::page(&run)).unwrap();
        let output = open(browser, &page, &scratch.0.join(format!("profile-{name}")));
        let (dom, log) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        let figures = delaylab_figure::every_drawing(&run).len();
        assert!(figures > 1, "{name}");
        assert_eq!(
            dom.matches("data-drawn=\"true\"").count(),
            figures,
            "{name}: {log}"
        );
        assert!(dom.matches("<svg").count() >= figures, "{name}");
        assert_eq!(complaints(&log), Vec::<&str>::new(), "{name}");
    }
}

#[test]
fn panels_below_each_other_all_keep_their_names() {
    let Some(browser) = browser() else { return };
    let scratch = Scratch::new("browser-narrow");
    let path = scratch.0.join("narrow.html");
    std::fs::write(&path, html::page(&samples::classes())).unwrap();
    let names = |width| {
        let profile = scratch.0.join(format!("profile-{width}"));
        let output = open_as_wide(browser, &path, &profile, width);
        let dom = String::from_utf8_lossy(&output.stdout).into_owned();
        let (_, figure) = dom.split_once("data-spec=\"by_probe\"").unwrap();
        let figure = figure.split("</figure>").next().unwrap();
        figure.matches(">idle</text>").count()
    };
    // One for a row of three panels; or one for each of them.
    assert_eq!([1_280, 500].map(names), [1, 3]);
}

#[test]
fn dates_of_one_year_are_sorted() {
    let Some(browser) = browser() else { return };
    let scratch = Scratch::new("browser-sorted");
    let path = scratch.0.join("sorted.html");
    let days = [
        "2026-11-27 03:56:38",
        "2026-03-01 10:00:00",
        "2026-11-27 03:54:51",
    ];
    let rows = days.map(|day| format!("<tr><td>{day}</td></tr>")).concat();
    let page = format!(
        "<!DOCTYPE html><table class=\"sortable\"><thead><tr><th>started</th></tr></thead><tbody>{rows}</tbody></table>\
         <script>{}</script><script>setTimeout(() => document.querySelector('th button').click(), 500)</script>",
        *delaylab_figure::SCRIPT
    );
    std::fs::write(&path, page).unwrap();
    let output = open(browser, &path, &scratch.0.join("profile"));
    let dom = String::from_utf8_lossy(&output.stdout);
    let places = [1, 2, 0].map(|day| dom.find(&format!("<td>{}</td>", days[day])).unwrap());
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn tables_are_saved_with_numbers_in_one_unit() {
    let Some(browser) = browser() else { return };
    let scratch = Scratch::new("browser-tables");
    let path = scratch.0.join("tables.html");
    let rows = [
        ["quiet, long", "12.3 µs", "0.5 %", "1,200"],
        ["normal", "1.25 ms", "–", "3 of 4"],
    ];
    let row = |cells: [&str; 4]| format!("<tr><td>{}</td></tr>", cells.join("</td><td>"));
    // What is saved is written into the page, byte by byte.
    let page = format!(
        "<!DOCTYPE html><meta charset=\"utf-8\"><section id=\"t\"><div class=\"wide\"><table>\
         <thead><tr><th>condition</th><th>p50</th><th>lost</th><th>packets</th></tr></thead><tbody>{}</tbody></table></div></section>\
         <script>{}</script><script>\
         URL.createObjectURL = (blob) => {{ blob.arrayBuffer().then((bytes) => {{\
           const saved = document.createElement('pre'); saved.id = blob.type;\
           saved.textContent = [...new Uint8Array(bytes)].join(' '); document.body.append(saved); }}); return 'data:,'; }};\
         setTimeout(() => document.querySelectorAll('.tools button').forEach((button) => button.click()), 500)</script>",
        rows.map(row).concat(),
        *delaylab_figure::SCRIPT
    );
    std::fs::write(&path, page).unwrap();
    let output = open(browser, &path, &scratch.0.join("profile"));
    let dom = String::from_utf8_lossy(&output.stdout);
    let saved = |kind: &str| -> Vec<u8> {
        let (_, text) = dom.split_once(&format!("<pre id=\"{kind}\">")).unwrap();
        let numbers = text.split("</pre>").next().unwrap().split(' ');
        numbers.map(|byte| byte.parse().unwrap()).collect()
    };
    let csv = "condition,p50 ns,lost percent,packets\r\n\"quiet, long\",12300,0.5,\"1,200\"\r\nnormal,1250000,,3 of 4\r\n";
    assert_eq!(String::from_utf8(saved("text/csv")).unwrap(), csv);
    let parquet = saved("application/vnd.apache.parquet").into();
    let reader = SerializedFileReader::<bytes::Bytes>::new(parquet).unwrap();
    let rows: Vec<String> = reader
        .get_row_iter(None)
        .unwrap()
        .map(|row| row.unwrap().to_string())
        .collect();
    let expected = [
        r#"{condition: "quiet, long", p50 ns: 12300.0, lost percent: 0.5, packets: "1,200"}"#,
        r#"{condition: "normal", p50 ns: 1250000.0, lost percent: null, packets: "3 of 4"}"#,
    ];
    assert_eq!(rows, expected);
}

#[test]
fn a_page_that_asks_for_something_is_caught() {
    let Some(browser) = browser() else { return };
    let scratch = Scratch::new("browser-caught");
    let page = html::page(&samples::bare());
    let asks = page.replace(
        "<main>",
        "<main><img src=\"http://127.0.0.1:9/x.png\" alt=\"\">",
    );
    let path = scratch.0.join("asks.html");
    std::fs::write(&path, asks).unwrap();
    let output = open(browser, &path, &scratch.0.join("profile"));
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(!complaints(&log).is_empty(), "{log}");
}
