//! Reports from disk: every figure of the catalogue's experiments drawn with the marks that its table
//! asks for, filter, zoom and tables by clicks and keys, and runs that are odd.

use crate::harness::scratch::Scratch;
use crate::web::chromium::{Chromium, PATIENCE, Page, base64};
use crate::web::inaccessible;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

/// Two factors in the simulation, over in no time.
pub const SMALL: &str = r#"
name = "small"
title = "A small one"
about = "Does it make a page?"
world = "sim"

[[probe]]
name = "echo"
method = "udp"
payload = "64B"
pacing = { poisson = "1ms" }
count = 200

[path]
topology = "switch-loopback"
framing = "aal5"
rate = "155.52Mbit/s"

[sweep.rate]
set = "path.rate"
to = ["25.6Mbit/s", "155.52Mbit/s"]

[sweep.size]
set = "probe.echo.payload"
to = ["64B", "512B", "1024B"]

[design]
repeats = 2

[[finding]]
id = "1"
says = "Larger packets take longer"
check = "mean(response | size=1024B) > mean(response | size=64B)"
"#;

/// Bytes of a page at most: it is sent by mail and kept beside the run.
const LIMIT: u64 = 2_000_000;

fn is_short(path: &Path, name: &str) {
    let length = std::fs::metadata(path).unwrap().len();
    assert!(length <= LIMIT, "{name}: a page of {length} bytes");
}

fn address(path: &Path) -> String {
    format!("file://{}", path.display())
}

fn open<'a>(browser: &'a Chromium, path: &Path) -> Page<'a> {
    let page = browser.open(&address(path));
    page.wait_drawn();
    page
}

/// How many marks of a kind a figure has. Groups, axes and legends are drawn of others.
fn marks(page: &Page<'_>, figure: &str, kind: &str) -> u64 {
    page.count(&format!(
        "figure[data-spec={figure}] .mark-{kind}.role-mark > *"
    ))
}

/// The rows of a figure's table, as the page has it.
fn rows(page: &Page<'_>, figure: &str) -> Vec<Value> {
    let text = page.eval(&format!(
        "document.getElementById({})?.textContent",
        json!(format!("spec-{figure}"))
    ));
    let Some(spec) = text.as_str() else {
        return Vec::new();
    };
    let data = serde_json::from_str::<Value>(spec).unwrap()["data"].clone();
    let count = data["rows"].as_u64().unwrap() as usize;
    assert!(count > 0, "{figure} is without data");
    let columns = data["columns"].as_object().unwrap();
    let cell = |column: &Value, at: usize| match column["at"].as_array() {
        Some(places) => places.get(at).map_or(Value::Null, |place| {
            column["words"][place.as_u64().unwrap() as usize].clone()
        }),
        None => column.get(at).cloned().unwrap_or_default(),
    };
    let row = |at: usize| {
        let cells = columns
            .iter()
            .map(|(name, column)| (name.clone(), cell(column, at)));
        Value::Object(cells.collect())
    };
    (0..count).map(row).collect()
}

/// The marks that must be there, by figure: those of figures that draw a mark a row.
pub fn check_marks(page: &Page<'_>, what: &str) {
    let all = "[...document.querySelectorAll('figure[data-spec]')].map((f) => [f.dataset.spec, f.dataset.kind])";
    for figure in page.eval(all).as_array().unwrap() {
        let [name, kind] = [0, 1].map(|at| figure[at].as_str().unwrap());
        check_figure(page, name, kind, &format!("{what}: {name}"));
    }
    // The others have at least something in them.
    let empty = "[...document.querySelectorAll('figure[data-spec]')].filter((f) => !f.querySelector('.role-mark > *')).map((f) => f.dataset.spec)";
    assert_eq!(page.eval(empty), json!([]), "{what}");
}

fn check_figure(page: &Page<'_>, figure: &str, kind: &str, what: &str) {
    let rows = rows(page, figure);
    let count = |of: &dyn Fn(&Value) -> bool| rows.iter().filter(|row| of(row)).count() as u64;
    // Lines: one for whatever is told apart.
    let apart = |keys: &[&str], of: &dyn Fn(&Value) -> bool| {
        let rows = rows.iter().filter(|row| of(row));
        let keys = rows.map(|row| {
            keys.iter()
                .map(|key| row[*key].to_string())
                .collect::<Vec<_>>()
        });
        keys.collect::<BTreeSet<_>>().len() as u64
    };
    let is = |key: &'static str, value: &'static str| move |row: &Value| row[key] == value;
    let all = |_: &Value| true;
    let expected: Vec<(&str, u64)> = match kind {
        "distribution" => {
            let beyond = count(&|row| row["overflow"] == true);
            vec![("rect", rows.len() as u64), ("text", beyond)]
        }
        "anatomy" | "clock_reads" => vec![("rect", rows.len() as u64)],
        "time_series" => {
            let below = ["gap of the CPU sentinel", "clock event"];
            let below = count(&|row| below.iter().any(|kind| row["kind"] == *kind));
            let single = count(&|row| !row["seq"].is_null());
            let lost = count(&is("kind", "unanswered"));
            let ranges = count(&is("kind", "smallest to largest"));
            let breaks = count(&is("kind", "next trial"));
            // A stroke without a length is a dot.
            let dots = count(&|row| {
                row["kind"] == "smallest to largest" && row["low_ns"] == row["high_ns"]
            });
            vec![
                ("rule", ranges + breaks),
                ("symbol", single + lost + below + dots),
            ]
        }
        "delay_against_size" => {
            let point = |row: &Value| {
                let statistic = row["statistic"].as_str();
                statistic.is_some_and(|name| name.ends_with(" of a trial"))
            };
            let lines = apart(&["panel", "group", "statistic"], &|row| !point(row));
            vec![("symbol", count(&point)), ("line", lines)]
        }
        "regression_residuals" => vec![("symbol", rows.len() as u64)],
        "steps" => {
            let found = apart(&["panel", "of"], &is("kind", "found"));
            vec![("symbol", count(&is("kind", "measured"))), ("line", found)]
        }
        "series" => {
            let lines = apart(&["kind", "panel"], &all);
            let has =
                |limit: &'static str| apart(&["kind", "panel"], &move |row| !row[limit].is_null());
            let limits = has("threshold") + has("limit");
            vec![
                ("rect", rows.len() as u64),
                ("line", lines),
                ("rule", limits),
            ]
        }
        "by_probe" => {
            let of = |measure| apart(&["panel", "probe"], &is("measure", measure));
            // Delays are drawn from either end.
            vec![("line", 2 * of("delay") + of("ipdv"))]
        }
        "cumulative" => {
            let keys = ["panel", "group"];
            let marked = |row: &Value| !row["quantile"].is_null();
            let banded = |row: &Value| !row["low"].is_null();
            vec![
                ("line", apart(&keys, &|row| !marked(row))),
                ("symbol", count(&marked)),
                ("area", apart(&keys, &banded)),
            ]
        }
        "percentiles" => {
            let panels = apart(&["panel"], &all);
            let lossy = count(&|row| row["is_lossy"] == true);
            let breaks = count(&|row| row["is_break"] == true);
            vec![
                ("line", panels),
                ("area", 2 * panels),
                ("rect", lossy),
                ("rule", breaks),
            ]
        }
        "causes" | "benchmark" => Vec::new(),
        other => panic!("{what}: nobody says how many marks {other} has"),
    };
    for (mark, number) in expected {
        assert_eq!(marks(page, figure, mark), number, "{what}: {mark}");
    }
}

/// What the simulation can carry out, and how it takes less time.
const CATALOGUE: [(&str, &[&str]); 7] = [
    (
        "packet-size-latency",
        &[
            "design.repeats=2",
            "probe.echo.count=30",
            "probe.echo.warmup=1",
        ],
    ),
    ("switch-buffer", &[]),
    (
        "wait-time-jitter",
        &["design.repeats=1", "probe.echo.count=150"],
    ),
    (
        "atm-response-time",
        &[
            "design.repeats=1",
            "sweep.streams.to=[0, 2]",
            "probe.echo.duration=500ms",
            "probe.echo.warmup=100ms",
        ],
    ),
    ("class-jitter", &["probe.*.duration=2s"]),
    ("switches-in-a-row", &[]),
    ("tcp-and-forwarding", &[]),
];

fn drawn_with_its_marks(experiments: &[(&str, &[&str])]) {
    let Some(browser) = Chromium::start() else {
        return;
    };
    let scratch = Scratch::new();
    for &(name, fewer) in experiments {
        let words = [
            "run", name, "--world", "sim", "--quick", "-q", "--seed", "1", "-o", name,
        ];
        let sets = fewer.iter().flat_map(|set| ["--set", set]);
        let output = scratch.delaylab(&words.into_iter().chain(sets).collect::<Vec<_>>());
        let said = String::from_utf8_lossy(&output.stderr);
        let report = scratch.path(name).join("latest/report.html");
        assert!(report.exists(), "{name}: {said}");
        is_short(&report, name);
        let page = open(&browser, &report);
        assert!(page.count("figure[data-spec]") > 0, "{name}");
        check_marks(&page, name);
        for scheme in ["light", "dark"] {
            page.appear(scheme, 1100);
            assert_eq!(inaccessible(&page), Vec::<Value>::new(), "{name}, {scheme}");
            page.picture(&format!("{name}-{scheme}"));
        }
        assert_eq!(page.complaints(), Vec::<String>::new(), "{name}");
    }
}

/// One of the catalogue, which has most kinds of figures; queues are drawn by other tests here. The others in `make test-all`.
#[test]
fn figures_of_the_catalogue_are_drawn_with_their_marks() {
    let fewer = [
        "design.repeats=1",
        "probe.echo.count=100",
        "sweep.condition.to=[\"normal\"]",
    ];
    drawn_with_its_marks(&[("wait-time-jitter", &fewer[..])]);
}

/// The small run, with a figure of all its series and two tables, as an experiment may ask for.
fn with_parts() -> String {
    let table = |id: &str, values: &[&str]| {
        let values: Vec<_> = values
            .iter()
            .map(|value| format!("\"{value}(response | rate=155.52Mbit/s)\""))
            .collect();
        format!(
            "[[figure]]\nid = \"{id}\"\ntitle = \"Statistics\"\ndraw = \"table\"\nrows = \"size\"\nvalues = [{}]\n",
            values.join(", ")
        )
    };
    let few = ["min", "mean", "p50", "max"];
    let many = [
        "min", "mean", "p25", "p50", "p75", "p90", "p95", "max", "sd", "iqr",
    ];
    let all = "[[figure]]\nid = \"all\"\ntitle = \"All\"\ndraw = \"series\"\n";
    format!("{SMALL}{all}{}{}", table("few", &few), table("many", &many))
}

/// What is done with a page; what it saves goes into the directory.
type Check = fn(&Page<'_>, &Scratch);

/// A browser, a run and its page take longer than all that is clicked and typed there: they are made once. Each check
/// begins with the page as it was written; those that change its width come last.
#[test]
fn a_page_does_what_is_clicked_and_typed() {
    let Some(browser) = Chromium::start() else {
        return;
    };
    let scratch = Scratch::new();
    let report = scratch.report("small", &with_parts());
    let page = browser.open("about:blank");
    page.save_into(&scratch.path(""));
    let checks: [(&str, Check); 7] = [
        ("filter", a_level_is_filtered_out_of_every_figure_and_table),
        ("zoom", a_figure_zooms_by_button_key_and_drag),
        ("series", every_kind_of_series_zooms_at_once),
        ("saved figure", a_figure_is_saved_as_svg_and_png),
        ("trials", trials_are_sorted_and_found),
        ("answer", a_page_begins_with_its_answer),
        ("tables", tables_of_parts_fit_the_page),
    ];
    for (name, check) in checks {
        println!("{name}");
        // By another page: what is loaded again may keep what was typed.
        page.go("about:blank");
        page.go(&address(&report));
        page.wait("location.protocol === 'file:'");
        page.wait_drawn();
        check(&page, &scratch);
        assert_eq!(page.complaints(), Vec::<String>::new(), "{name}");
    }
}

fn a_level_is_filtered_out_of_every_figure_and_table(page: &Page<'_>, _: &Scratch) {
    let bins = marks(page, "distribution", "rect");
    let shown =
        "[...document.querySelectorAll('#trials tbody tr')].filter((row) => !row.hidden).length";
    let all = page.eval(shown).as_u64().unwrap();
    page.click("#filter input[data-factor=rate][data-level='25.6Mbit/s']");
    page.wait("[...document.querySelectorAll('figure[data-spec=distribution] text')].every((t) => !t.textContent.includes('25.6'))");
    assert!(marks(page, "distribution", "rect") < bins);
    assert_eq!(page.eval(shown).as_u64().unwrap() * 2, all);
    let summary = page.eval("[...document.querySelectorAll('#summary tbody tr')].filter((row) => !row.hidden).map((row) => row.textContent).join()");
    let summary = summary.as_str().unwrap();
    assert!(
        summary.contains("155.52") && !summary.contains("25.6"),
        "{summary}"
    );
    let kept = page.eval("[...document.querySelectorAll('#trials tbody tr')].filter((row) => !row.hidden).every((row) => row.textContent.includes('155.52'))");
    assert_eq!(kept, json!(true));
    // By keys, and back.
    page.eval("document.querySelector('#filter input[data-level=\"155.52Mbit/s\"]').focus()");
    page.key(" ");
    page.wait("document.querySelector('figure[data-spec=distribution] .drawing').textContent.includes('leaves nothing')");
    page.click("#filter button");
    page.wait("document.querySelector('figure[data-spec=distribution] svg')");
    assert_eq!(marks(page, "distribution", "rect"), bins);
    // Sizes are the axis of this figure: it shows all, and says so.
    let note = "document.querySelector('figure[data-spec=delay_against_size] .untold')";
    assert_eq!(page.eval(&format!("{note}.hidden")), json!(true));
    page.click("#filter input[data-factor=size][data-level='1024B']");
    page.wait(&format!("!{note}.hidden"));
    assert_eq!(
        page.eval(&format!("{note}.textContent")),
        json!("The filter by size does not change this figure.")
    );
    page.wait("document.querySelector('figure[data-spec=distribution] .untold').hidden");
}

fn a_figure_zooms_by_button_key_and_drag(page: &Page<'_>, _: &Scratch) {
    // A label that stays is drawn before those that are new.
    let expression = "[...document.querySelectorAll('figure[data-spec=time_series] .role-axis-label text')]\
                      .map((t) => t.textContent).sort().join()";
    let labels = |page: &Page<'_>| page.eval(expression);
    let whole = labels(page);
    page.click("figure[data-spec=time_series] .tools button[title='Zoom in']");
    page.wait("document.querySelector('figure[data-spec=time_series]').dataset.zoomed === 'true'");
    let near = labels(page);
    assert_ne!(near, whole);
    page.eval("document.querySelector('figure[data-spec=time_series] .drawing').focus()");
    page.key("ArrowRight");
    let aside = labels(page);
    assert_ne!(aside, near);
    page.key("0");
    assert_eq!(labels(page), whole);
    page.drag(
        "figure[data-spec=time_series] .role-scope .background",
        0.6,
        0.4,
    );
    page.wait(&format!("{expression} !== {whole}"));
}

/// Of whatever kind a series is, it is drawn over the same time.
fn every_kind_of_series_zooms_at_once(page: &Page<'_>, _: &Scratch) {
    let begins = "[...document.querySelectorAll('figure[data-spec=part-all] [aria-label^=X-axis] .role-axis-label text')]\
                  .filter((t) => Number(t.textContent) === 0).length";
    assert!(page.eval(begins).as_u64().unwrap() > 1);
    page.click("figure[data-spec=part-all] .tools button[title='Zoom in']");
    page.wait(&format!("{begins} === 0"));
    page.click("figure[data-spec=part-all] .tools button[title='Show all']");
    page.wait(&format!("{begins} > 1"));
}

/// Round trips and IPDV have axes of their own, and none is left without a tick.
#[test]
fn distributions_beside_each_other_zoom_each_on_its_axis() {
    let Some(browser) = Chromium::start() else {
        return;
    };
    let scratch = Scratch::new();
    let (echo, rest) = SMALL.split_once("[path]").unwrap();
    let other = echo.split_once("[[probe]]").unwrap().1;
    let other = other.replace("\"echo\"", "\"other\"");
    let two = format!("{echo}[[probe]]{other}[path]{rest}");
    // One rate: as many panels as without the other probe.
    let two = two.replace("\"25.6Mbit/s\", ", "");
    let page = open(&browser, &scratch.report("small", &two));
    let axes = "[...document.querySelectorAll('figure[data-spec=by_probe] [aria-label^=X-axis]')]\
                .map((axis) => [...axis.querySelectorAll('.role-axis-label text')]\
                .map((label) => label.textContent).sort().join())\
                .filter((labels) => labels !== '').sort()";
    let whole = page.eval(axes);
    assert!(whole.as_array().unwrap().len() >= 3, "{whole}");
    for _ in 0..3 {
        page.click("figure[data-spec=by_probe] .tools button[title='Zoom in']");
    }
    page.wait(&format!(
        "JSON.stringify({axes}) !== JSON.stringify({whole})"
    ));
    let near = page.eval(axes);
    let near = near.as_array().unwrap();
    assert_eq!(near.len(), whole.as_array().unwrap().len(), "{near:?}");
    for axis in near {
        assert!(
            !whole.as_array().unwrap().contains(axis),
            "{axis} of {whole}"
        );
    }
    page.click("figure[data-spec=by_probe] .tools button[title='Show all']");
    page.wait(&format!(
        "JSON.stringify({axes}) === JSON.stringify({whole})"
    ));
    assert_eq!(page.complaints(), Vec::<String>::new());
}

/// What a picture is not: white all over. Of how many of its pixels that can be said.
const COLOURED: &str = "async (base64) => {
    const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
    const picture = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
    const canvas = new OffscreenCanvas(picture.width, picture.height).getContext('2d');
    canvas.drawImage(picture, 0, 0);
    const values = canvas.getImageData(0, 0, picture.width, picture.height).data;
    return [picture.width, values.filter((value, at) => at % 4 === 0 && value < 250).length];
}";

fn a_figure_is_saved_as_svg_and_png(page: &Page<'_>, scratch: &Scratch) {
    let drawn = marks(page, "delay_against_size", "symbol");
    page.click("figure[data-spec=delay_against_size] button[title='Save this figure as SVG']");
    let svg = String::from_utf8(arrived(&scratch.path("delay_against_size.svg"))).unwrap();
    let points = svg.split("mark-symbol role-mark").nth(1).unwrap();
    let points = points.split("</g>").next().unwrap();
    assert_eq!(points.matches("<path").count() as u64, drawn);

    page.click("figure[data-spec=delay_against_size] button[title='Save this figure as PNG']");
    let png = arrived(&scratch.path("delay_against_size.png"));
    let found = page.eval(&format!("({COLOURED})({})", json!(base64(&png))));
    assert!(
        found[0].as_u64() > Some(1000) && found[1].as_u64() > Some(5_000),
        "{found}"
    );
}

/// A file that a browser saves, when it is whole: till then it has another name.
fn arrived(path: &Path) -> Vec<u8> {
    let begin = Instant::now();
    loop {
        match std::fs::read(path) {
            Ok(bytes) if !bytes.is_empty() => return bytes,
            _ => assert!(
                begin.elapsed() < PATIENCE,
                "never saved: {}",
                path.display()
            ),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn trials_are_sorted_and_found(page: &Page<'_>, _: &Scratch) {
    page.click("#trials details summary");
    let column = |name: &str| {
        page.eval(&format!(
            "(() => {{ const table = document.querySelector('#trials details table'); \
             const at = [...table.tHead.rows[0].cells].findIndex((c) => c.textContent === {}); \
             return [...table.tBodies[0].rows].filter((r) => !r.hidden).map((r) => r.cells[at].textContent); }})()",
            json!(name)
        ))
    };
    page.eval("[...document.querySelectorAll('#trials details th button')].find((b) => b.textContent === 'trial').id = 'by-trial'");
    page.click("#by-trial");
    let ascending: Vec<String> = (0..12).map(|n| n.to_string()).collect();
    assert_eq!(column("trial"), json!(ascending));
    page.key("Enter");
    let descending: Vec<String> = (0..12).rev().map(|n| n.to_string()).collect();
    assert_eq!(column("trial"), json!(descending));
    page.click("#trials input[type=search]");
    page.type_text("1024B");
    assert_eq!(column("size"), json!(["1024B", "1024B", "1024B", "1024B"]));
}

/// A run that differs from the small one in this.
fn odd(changes: &[(&str, &str)]) -> String {
    changes.iter().fold(SMALL.to_owned(), |text, (old, new)| {
        assert!(text.contains(old), "{old}");
        text.replace(old, new)
    })
}

/// Runs that nobody expects, by name: without an answer, with one packet, and of 24 trials whose texts are long and markup.
fn odd_runs() -> Vec<(&'static str, String)> {
    let markup = "</script><script>window.hit = 1</script><img src=x onerror='window.hit = 1'>";
    let long = "A very long name without any blank in it "
        .repeat(6)
        .replace(' ', "-");
    let without_sweeps = |text: &str| text.split("[sweep").next().unwrap().to_owned();
    vec![
        (
            "silent",
            odd(&[("count = 200", "count = 20\ntimeout = \"1us\"")]),
        ),
        (
            "single",
            without_sweeps(&odd(&[("count = 200", "count = 1")])),
        ),
        (
            "hostile",
            odd(&[
                ("repeats = 2", "repeats = 4"),
                ("count = 200", "count = 20"),
                (
                    "title = \"A small one\"",
                    &format!("title = '''{long}{markup}'''"),
                ),
                ("Larger packets take longer", &long),
                (
                    "Does it make a page?",
                    "<b>bold</b> & <script>window.hit = 1</script>",
                ),
            ]),
        ),
    ]
}

fn drawn_or_explained(runs: Vec<(&str, String)>) {
    let Some(browser) = Chromium::start() else {
        return;
    };
    let scratch = Scratch::new();
    for (name, text) in runs {
        let page = open(&browser, &scratch.report(name, &text));
        page.appear("light", 1100);
        assert!(page.text("main").len() > 200, "{name}");
        assert_eq!(page.eval("window.hit ?? 0"), json!(0), "{name}");
        let wide = page
            .eval("document.documentElement.scrollWidth - document.documentElement.clientWidth");
        assert_eq!(wide, json!(0), "{name}: wider than its window");
        assert!(!page.text("main").contains("NaN"), "{name}");
        assert_eq!(page.complaints(), Vec::<String>::new(), "{name}");
        page.picture(&format!("odd-{name}"));
    }
}

#[test]
fn odd_runs_are_drawn_or_explained() {
    drawn_or_explained(odd_runs());
}

/// Drawings, tables at the top and texts, each with how far it reaches beyond the window.
const BEYOND: &str = "(() => {
    const shown = document.querySelectorAll('figure svg, #summary td, #summary th, .finding p, .interval, h1, .answer');
    const width = document.documentElement.clientWidth;
    return [...shown].map((one) => [one.tagName, one.getBoundingClientRect().right - width])
        .filter(([, beyond]) => beyond > 0.5);
})()";

/// Heads of tables break their lines, and a table of many columns stands across the page.
fn tables_of_parts_fit_the_page(page: &Page<'_>, _: &Scratch) {
    for width in [1400, 2500] {
        page.appear("light", width);
        let hidden = "[...document.querySelectorAll('#parts .wide')].map((box) => box.scrollWidth - box.clientWidth)";
        assert_eq!(page.eval(hidden), json!([0, 0]), "{width}");
        page.picture(&format!("parts-{width}"));
    }
}

/// The first thing is the answer, then a figure and a table that show it, then findings in a line each.
fn a_page_begins_with_its_answer(page: &Page<'_>, scratch: &Scratch) {
    page.appear("light", 1400);
    let top = |what: &str| {
        let script =
            format!("document.querySelector('{what}').getBoundingClientRect().top + scrollY");
        page.eval(&script).as_f64().unwrap()
    };
    let order = [
        "h1",
        ".answer",
        ".top figure",
        ".finding",
        "#figures",
        "#why",
        "#environment",
    ];
    let places: Vec<f64> = order.iter().map(|what| top(what)).collect();
    assert!(places.is_sorted(), "{places:?}");
    assert!(top("#summary table") < 900.0);
    assert_eq!(
        page.count(".finding"),
        page.count(".finding details:not([open])")
    );
    assert_eq!(
        page.count(".finding svg.interval circle"),
        page.count(".finding")
    );
    assert!(page.count("figure[data-spec=cumulative] .mark-line.role-mark > *") > 1);
    assert!(page.count("figure[data-spec=percentiles] .mark-area.role-mark > *") > 1);

    page.click("#summary button[title$='as LaTeX']");
    let latex = String::from_utf8(arrived(&scratch.path("summary.tex"))).unwrap();
    let rows = page.count("#summary tbody tr") as usize;
    assert_eq!(latex.matches("\\\\\n").count(), rows + 1, "{latex}");
    page.click("figure[data-spec=cumulative] button[title='Save this figure as Vega-Lite']");
    let spec: Value =
        serde_json::from_slice(&arrived(&scratch.path("cumulative.vl.json"))).unwrap();
    let subtitle = spec["title"]["subtitle"].as_str().unwrap();
    assert!(subtitle.starts_with("small · "), "{subtitle}");
    page.eval(
        "window.print = () => { window.sheets = document.querySelectorAll('.sheet svg').length; }",
    );
    page.click("figure[data-spec=cumulative] button[title='Save this figure as PDF']");
    page.wait("window.sheets === 1");
    page.eval("window.dispatchEvent(new Event('afterprint'))");
    assert_eq!(page.count(".sheet"), 0);
    assert!(!spec["data"]["values"].as_array().unwrap().is_empty());
}

/// The same with many more, in `make test-all`.
mod long {
    use super::*;

    #[test]
    fn a_run_of_504_trials_is_drawn() {
        let many = odd(&[
            ("repeats = 2", "repeats = 84"),
            ("count = 200", "count = 5"),
        ]);
        drawn_or_explained(vec![("many", many)]);
    }

    #[test]
    fn every_figure_of_the_catalogue_is_drawn_with_its_marks() {
        drawn_with_its_marks(&CATALOGUE);
    }

    /// What `report --svg` writes is drawn by our script in an engine of ours; here by the browser, from the file.
    #[test]
    fn figures_in_files_are_documents_that_a_browser_draws() {
        let Some(browser) = Chromium::start() else {
            return;
        };
        let scratch = Scratch::new();
        let text = format!(
            "{SMALL}\n[[figure]]\nid = \"slow\"\ntitle = \"The slow line\"\ndraw = \"distribution\"\n\
             where = \"rate=25.6Mbit/s\"\n"
        );
        let page = open(&browser, &scratch.report("small", &text));
        let run = scratch.path("small/latest");
        let written = scratch.delaylab(&["report", &run.to_string_lossy(), "--svg", "figures"]);
        assert!(
            written.status.success(),
            "{}",
            String::from_utf8_lossy(&written.stderr)
        );
        let files = std::fs::read_dir(scratch.path("figures")).unwrap();
        let files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
        assert_eq!(files.len() as u64, page.count("figure[data-spec]"));
        assert!(files.contains(&scratch.path("figures/part-slow.svg")));
        for file in files {
            let drawn = browser.open(&address(&file));
            let name = file.display();
            assert_eq!(
                drawn.eval("document.documentElement.nodeName"),
                "svg",
                "{name}"
            );
            assert_eq!(drawn.count("parsererror"), 0, "{name}");
            let found = page.eval(&format!("({COLOURED})({})", json!(drawn.seen())));
            assert!(found[1].as_u64() > Some(2_000), "{name}: {found}");
            assert_eq!(drawn.complaints(), Vec::<String>::new(), "{name}");
        }
    }

    /// What the simulation has not: causes, what reading the clock costs, and what a procedure draws.
    #[test]
    fn what_a_real_host_and_a_procedure_show_is_drawn() {
        let Some(browser) = Chromium::start() else {
            return;
        };
        let scratch = Scratch::new();
        let live = [
            "run",
            "wait-time-jitter",
            "--quick",
            "-q",
            "--seed",
            "1",
            "-o",
            "live",
            "--set",
            "design.repeats=1",
            "--set",
            "probe.echo.count=150",
            "--set",
            "sweep.wait.to=[\"0ms\"]",
        ];
        let bench = [
            "bench",
            "throughput",
            "--world",
            "sim",
            "--quick",
            "-q",
            "-o",
            "bench",
        ];
        for (words, kinds) in [
            (&live[..], &["clock_reads", "anatomy"][..]),
            (&bench, &["benchmark"]),
        ] {
            let output = scratch.delaylab(words);
            let said = String::from_utf8_lossy(&output.stderr);
            let page =
                scratch.path(words[words.iter().position(|word| *word == "-o").unwrap() + 1]);
            let page = page.join("latest/report.html");
            assert!(page.exists(), "{words:?}: {said}");
            let page = open(&browser, &page);
            for kind in kinds {
                assert!(
                    page.count(&format!("figure[data-kind={kind}]")) > 0,
                    "{words:?}: no {kind}"
                );
            }
            check_marks(&page, words[1]);
            assert_eq!(page.complaints(), Vec::<String>::new(), "{words:?}");
            page.picture(words[1]);
        }
    }

    /// As many panels, lines and rows as a page shows, and figures of parts of the run besides.
    #[test]
    fn a_page_of_many_combinations_is_below_its_limit() {
        let mut text = odd(&[
            ("count = 200", "count = 100"),
            (
                "\"25.6Mbit/s\",",
                "\"10Mbit/s\", \"25.6Mbit/s\", \"51.84Mbit/s\", \"100Mbit/s\", \"622.08Mbit/s\",",
            ),
            (
                "\"64B\", \"512B\",",
                "\"64B\", \"128B\", \"256B\", \"512B\", \"1400B\",",
            ),
        ]);
        text += "[[probe]]\nname = \"other\"\nmethod = \"udp\"\npacing = { poisson = \"2ms\" }\ncount = 50\n\
             [sweep.other]\nset = \"probe.other.payload\"\nto = [\"64B\", \"256B\", \"512B\", \"1024B\"]\n";
        let kinds = [
            "series",
            "time_series",
            "by_probe",
            "delay_against_size",
            "distribution",
            "anatomy",
        ];
        for kind in kinds {
            text += &format!(
                "[[figure]]\nid = \"{kind}\"\ntitle = \"A part\"\ndraw = \"{kind}\"\nwhere = \"other=64B\"\n"
            );
        }
        let scratch = Scratch::new();
        let report = scratch.report("combinations", &text);
        let page = std::fs::read_to_string(&report).unwrap();
        for kind in kinds {
            assert!(
                page.contains(&format!("data-spec=\"part-{kind}\"")),
                "{kind}"
            );
        }
        is_short(&report, "combinations");
    }

    #[test]
    fn a_page_fits_its_window() {
        let Some(browser) = Chromium::start() else {
            return;
        };
        let scratch = Scratch::new();
        let page = open(&browser, &scratch.report("small", SMALL));
        let columns = "new Set([...document.querySelectorAll('#figures figure')]\
                   .map((figure) => Math.round(figure.getBoundingClientRect().left))).size";
        for (width, abreast) in [(400, 1), (1400, 2), (2500, 2)] {
            for mode in ["light", "dark"] {
                page.appear(mode, width);
                let is_narrow = format!(
                    "[...document.querySelectorAll('figure[data-spec]')]\
                 .every((figure) => figure.hasAttribute('data-narrow') === {})",
                    width == 400
                );
                page.wait(&is_narrow);
                page.wait_drawn();
                assert_eq!(page.eval(BEYOND), json!([]), "{width} {mode}");
                assert_eq!(page.eval(columns), json!(abreast), "{width} {mode}");
                assert_eq!(inaccessible(&page), Vec::<Value>::new(), "{width} {mode}");
                page.picture(&format!("page-{width}-{mode}"));
            }
        }
        assert_eq!(page.complaints(), Vec::<String>::new());
    }
}
