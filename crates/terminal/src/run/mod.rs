//! A run in tables on a terminal: what `delaylab run` and `delaylab report` print.
//!
//! | file | prints |
//! |---|---|
//! | `benchmark.rs` | what a procedure of the device benchmark found |
//! | `findings.rs` | how many findings are true; of each, verdict, claim and what decided it; with `-v` reason and numbers |
//! | `figures_alone.rs` | what another tool said, where there are no packets |
//! | `trials.rs` | what came of the trials, by their levels |
//! | `variation.rs` | delay variation by probe, where there are several |
//! | `series.rs` | what was over time: queues, rates |
//! | `steps.rs` | whether delay rises with size in steps |
//! | `both_runs.rs` | two runs in one table |
//! | `noise.rs` | what else ran on the prober's CPU |
//!
//! Everything but paths is written in Unicode and put into ASCII at the very end where that is asked for.

mod benchmark;
mod both_runs;
mod figures_alone;
mod findings;
mod noise;
mod series;
mod steps;
mod trials;
mod variation;

pub use both_runs::both_runs;

use crate::style::{Paint, Style};
use crate::text::{joined, paragraph};
use delaylab_view::run::RunData;

/// The tables of the run, in lines that end in a line feed. `report` is the path of its page, where
/// there is one.
pub fn summary(run: &RunData, report: Option<&str>, style: &Style) -> String {
    let sections = [
        head(run, style),
        trials(run, style),
        noise::section(run, style),
        problems(run, style),
        benchmark::section(run, style),
        findings::section(run, style),
    ];
    // Whatever characters are in a path: those open it.
    joined([style.glyphs(joined(sections)), end(run, report)])
}

/// Of a procedure the trials are a search: what it found is enough.
fn trials(run: &RunData, style: &Style) -> String {
    if run.benchmark.is_some() {
        return String::new();
    }
    if let Some(figures) = &run.figures_alone {
        let figures = figures_alone::section(figures, style);
        return joined([figures, series::section(run, style)]);
    }
    joined([
        trials::section(run, style),
        variation::section(run, style),
        steps::section(run, style),
        series::section(run, style),
    ])
}

fn head(run: &RunData, style: &Style) -> String {
    let head = &run.head;
    let name = paragraph(
        &format!("--- {} ({}) ---", head.name, head.world),
        Paint::Bold,
        style,
    );
    let title = paragraph(&head.title, Paint::Plain, style);
    let target = head.target.iter().map(|target| format!("target: {target}"));
    let when = [head.started.clone()].into_iter().chain(head.seed_words());
    let when = when.chain(target);
    let when = when.collect::<Vec<_>>().join(", ");
    name + &title + &paragraph(&when, Paint::Dim, style)
}

fn problems(run: &RunData, style: &Style) -> String {
    let warn = |text: &str| paragraph(text, Paint::Warning, style);
    let problems = run.problems.iter().map(|problem| warn(problem));
    let skipped = run.skipped.iter();
    let skipped = skipped.map(|(what, why)| warn(&format!("skipped: {what}: {why}")));
    let notes = run.notes.iter();
    let notes = notes.map(|note| paragraph(note, Paint::Dim, style));
    problems.chain(skipped).chain(notes).collect()
}

fn end(run: &RunData, report: Option<&str>) -> String {
    let places = [
        ("Records:", Some(run.head.folder.as_str())),
        ("Report:", report),
    ];
    let places = places
        .into_iter()
        .filter_map(|(what, path)| Some((what, path?)));
    let places = places.filter(|(_, path)| !path.is_empty());
    // A path is never broken: it would not be found.
    let places = places.map(|(what, path)| format!("{what:<9}{path}\n"));
    places.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_view::run::samples::runs;

    const RICH: Style = Style {
        color: true,
        unicode: true,
        width: 110,
        verbose: false,
    };

    #[test]
    fn looks_as_agreed() {
        for (name, run) in runs() {
            let report = Some("runs/latest/report.html");
            insta::assert_snapshot!(format!("{name}_plain"), summary(&run, None, &Style::PLAIN));
            insta::assert_snapshot!(format!("{name}_rich"), summary(&run, report, &RICH));
            let in_full = Style {
                verbose: true,
                ..Style::PLAIN
            };
            let findings = in_full.glyphs(findings::section(&run, &in_full));
            if !findings.is_empty() {
                insta::assert_snapshot!(format!("{name}_findings_in_full"), findings);
            }
        }
    }

    #[test]
    fn a_path_is_what_it_is_in_every_locale() {
        for (name, mut run) in runs() {
            run.head.folder = "/srv/jürgen/5µs → 漢".to_owned();
            let page = format!("{}/report.html", run.head.folder);
            let text = summary(&run, Some(&page), &Style::PLAIN);
            let end = format!("\nRecords: {}\nReport:  {page}\n", run.head.folder);
            assert!(text.ends_with(&end), "{name}: {text}");
        }
    }

    #[test]
    fn plain_is_ascii_and_keeps_to_its_width() {
        for (name, run) in runs() {
            let text = summary(&run, None, &Style::PLAIN);
            crate::text::assert_plain(name, &text);
        }
    }
}
