//! A run as one page: text, tables, figures and the script that draws them, and nothing from
//! elsewhere. Its policy lets the browser load nothing and run only the two scripts in it: the figures', which is packed,
//! and the one that unpacks it.
//!
//! | file | writes |
//! |---|---|
//! | `head.rs` | what was asked, the answer in a sentence, the figure and the table that show it |
//! | `calibration.rs` | a page of its own: a calibrated path, and what a change would make of it |
//! | `benchmark.rs` | what a procedure of the device benchmark found |
//! | `findings.rs` | each finding in a line; its numbers behind a click |
//! | `interval.rs` | an interval, drawn against what is claimed |
//! | `causes.rs` | why packets were late |
//! | `figures.rs` | the figures: still pictures that the script makes interactive |
//! | `still.rs`, `outline.rs` | a still picture in few bytes |
//! | `parts.rs` | figures and tables of parts of the run, as in the source |
//! | `filter.rs` | which levels are shown |
//! | `packed.rs` | a figure's data in few bytes |
//! | `trials.rs` | the trials, by level and one by one |
//! | `regression.rs` | delay of frames as a function of what was varied |
//! | `steps.rs` | whether delay rises with size in steps |
//! | `split.rs` | what the delay of frames is made of |
//! | `variation.rs` | delay variation by probe |
//! | `facts.rs` | noise by name, the environment, how to repeat the run |
//! | `comparison.rs` | what changed between two runs, as a page of its own |
//! | `served.rs` | what a page has only where a server is behind it |
//! | `table.rs` | an HTML table |
//! | `embedded.rs` | data and code in a page, and the policy's hashes |
//!
//! Pages are templates of `maud`, which escapes what stands in them. Without JavaScript everything is there but
//! tooltips and saving figures.

mod benchmark;
mod calibration;
mod causes;
mod comparison;
mod embedded;
mod facts;
mod figures;
mod filter;
mod findings;
mod head;
mod interval;
mod outline;
mod packed;
mod parts;
mod regression;
mod served;
mod split;
mod steps;
mod still;
mod table;
mod trials;
mod variation;

pub use calibration::{calibration_page, prediction_page};
pub use comparison::comparison;
pub(crate) use comparison::served_comparison;
pub(crate) use embedded::hash;
pub use served::Served;
pub(crate) use served::navigation;

use delaylab_figure::{PACKED_SCRIPT, SCRIPT, drawings};
use delaylab_view::run::RunData;
use figures::Stills;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::sync::LazyLock;

static STYLE: LazyLock<String> =
    LazyLock::new(|| include_str!("page.css").to_owned() + &table::style());
/// What unpacks the script of a page that is a file of its own.
const LOADER: &str = include_str!("loader.js");
/// That script: most of a page, and a third as long.
static PACKED: LazyLock<String> = LazyLock::new(|| embedded::base64(PACKED_SCRIPT));

/// The whole page, as a file of its own.
pub fn page(run: &RunData) -> String {
    document(title(run), sections(run, html! {}, html! {}))
}

/// A page as a file of its own, around this body: nothing is loaded.
fn document(title: &str, body: Markup) -> String {
    let policy = format!(
        "default-src 'none'; script-src '{}' '{}'; style-src '{}'; base-uri 'none'; form-action 'none'",
        hash(LOADER),
        hash(&SCRIPT),
        hash(&STYLE)
    );
    let script = html! {
        script { (PreEscaped(LOADER)) }
        script type="text/plain" id="figures-packed" { (PreEscaped(&*PACKED)) }
    };
    frame(title, &policy, body, script)
}

/// The same page from a server, with what only that can show.
pub fn served_page(run: &RunData, served: &Served) -> String {
    let after_figures = html! {
        (served::over_time(run, served))
        (served::tables(served))
    };
    let body = html! {
        (navigation())
        (sections(run, served::live(run, served), after_figures))
    };
    served_frame(title(run), body)
}

/// A page from a server, around its contents.
pub(crate) fn served_frame(title: &str, body: Markup) -> String {
    let script = html! { script src="/figures.js" {} };
    frame(title, &served_policy(), body, script)
}

/// The browser runs the server's script and no other, and asks nobody else.
pub(crate) fn served_policy() -> String {
    format!(
        "default-src 'none'; script-src 'self'; connect-src 'self'; style-src '{}'; base-uri 'none'; form-action 'self'",
        hash(&STYLE)
    )
}

/// What is said of a run, with something before and something behind its figures.
fn sections(run: &RunData, before: Markup, behind: Markup) -> Markup {
    let artist = Stills::default();
    // The one that says most stands at the top.
    let drawings = drawings(run);
    let (key, others) = match drawings.split_first() {
        Some((key, others)) => (Some(key), others),
        None => (None, &[][..]),
    };
    html! {
        (head::section(run, key, &artist))
        (before)
        (benchmark::section(run))
        (findings::section(run))
        (parts::section(run, &artist))
        (figures::section(run, others, &artist))
        (behind)
        (causes::section(run))
        @if run.figures_alone.is_none() {
            (trials::section(run))
            (variation::section(run))
        }
        (steps::section(run))
        (regression::section(run))
        (split::section(run))
        (facts::noise(run))
        (facts::environment(run))
        (facts::repeat(run))
    }
}

fn frame(title: &str, policy: &str, body: Markup, script: Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(&*STYLE)) }
            }
            body {
                main { (body) }
                (script)
            }
        }
    };
    page.into_string()
}

/// The experiment's title, or at least its name.
fn title(run: &RunData) -> &str {
    if run.head.title.is_empty() {
        &run.head.name
    } else {
        &run.head.title
    }
}

/// A section with its heading; nothing, where there is nothing in it.
fn section(id: &str, heading: &str, body: Markup) -> Markup {
    html! {
        @if !body.0.is_empty() {
            section id=(id) {
                h2 { (heading) }
                (body)
            }
        }
    }
}

/// What casts doubt on the figures; nothing, where nothing does.
fn problems(items: Vec<String>) -> Markup {
    html! {
        @if !items.is_empty() {
            aside class="problems" {
                h2 { "Before you trust the figures" }
                ul { @for item in &items { li { (item) } } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_view::run::samples::{runs, waits, with_few_points};

    /// Two panels of waits, without what its experiment asks for.
    fn two_panels() -> RunData {
        let mut run = with_few_points(waits(), 2);
        run.parts.clear();
        run
    }

    #[test]
    fn a_benchmark_answers_for_the_device_and_not_for_its_search() {
        let mut run = two_panels();
        let first = |page: &str| {
            let answers = page.split("class=\"answer\">").nth(1);
            let answer = answers.and_then(|text| text.split("</p>").next());
            answer.unwrap_or_default().to_owned()
        };
        let plain = page(&run);
        let explained = first(&plain);
        assert!(plain.contains("<form id=\"filter\""));
        run.benchmark = Some(delaylab_procedure::Report {
            procedure: "throughput".to_owned(),
            title: "Throughput".to_owned(),
            sections: Vec::new(),
            tables: Vec::new(),
            figures: Vec::new(),
            conformance: Vec::new(),
            notes: Vec::new(),
        });
        let of_device = page(&run);
        assert_ne!(first(&of_device), explained);
        assert!(of_device.contains(&explained), "it is said further below");
        assert!(!of_device.contains("<form id=\"filter\""));
    }

    #[test]
    fn what_people_wrote_is_text_and_never_markup() {
        let hostile = "</script><script>alert(1)</script>\"'&";
        let mut run = two_panels();
        run.head.title = hostile.to_owned();
        run.head.about = hostile.to_owned();
        run.problems = vec![hostile.to_owned()];
        run.environment = vec![(hostile.to_owned(), hostile.to_owned())];
        run.findings[0].says = hostile.to_owned();
        run.findings[0].evidence[0].what = hostile.to_owned();
        run.noise[0].who = hostile.to_owned();
        run.panels[0].label = hostile.to_owned();
        let page = page(&run);
        assert!(!page.contains("alert(1)</script>"));
        assert_eq!(
            page.matches("</script>").count(),
            page.matches("<script").count()
        );
    }

    /// A page without elements of this name.
    fn without(page: &str, name: &str) -> String {
        let (begin, end) = (format!("<{name}"), format!("</{name}>"));
        let mut pieces = page.split(&begin);
        let first = pieces.next().unwrap_or_default().to_owned();
        let behind = |piece: &str| {
            let behind = piece.rsplit_once(&end);
            behind.map_or(String::new(), |(_, behind)| behind.to_owned())
        };
        pieces.fold(first, |kept, piece| kept + &behind(piece))
    }

    #[test]
    fn the_page_says_all_as_agreed_and_asks_for_nothing() {
        for (name, run) in runs() {
            let page = page(&run);
            // What a picture clips is in the picture.
            let outside = page.split("<script>").next().unwrap_or_default();
            let outside = outside.replace("url(#", "");
            for address in [
                "src=", "href=", "url(", "@import", "<link", "<img", " style=",
            ] {
                assert!(!outside.contains(address), "{name}: {address}");
            }
            assert!(
                outside.contains(&html! { (run.head.repeat) }.into_string()),
                "{name}"
            );
            let body = page.split_once("<main>").map_or("", |(_, body)| body);
            let body = body.split("<script>").next().unwrap_or_default();
            let words = without(&without(body, "svg"), "script");
            // In lines, so that a difference can be read.
            let blocks = [
                "header", "h1", "h2", "h3", "p", "li", "section", "aside", "article", "summary",
            ];
            let words = blocks.iter().fold(words, |words, block| {
                let end = format!("</{block}>");
                words.replace(&end, &format!("{end}\n"))
            });
            // A row has no end tag.
            let words = words.replace("<tr", "\n<tr");
            insta::assert_snapshot!(format!("{name}_page"), words);
        }
    }
}
