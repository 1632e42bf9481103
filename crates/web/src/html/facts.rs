//! What disturbed the host, by name; the environment; how to repeat the run.

use super::section;
use super::table::{Column, Table};
use delaylab_view::run::{NoiseTotal, RunData};
use maud::{Markup, html};

/// Names that are worth a row.
const NAMES: usize = 30;

pub(super) fn noise(run: &RunData) -> Markup {
    use Column::{Figures, Words};
    let [kind, figures @ ..] = NoiseTotal::HEADS;
    let figures = figures.map(|head| (head, Figures));
    let mut table = Table::new([("who", Words), (kind, Words)].into_iter().chain(figures));
    let shown = run.noise.iter().take(NAMES);
    shown.for_each(|total| table.row(total.cells().into()));
    let more = run.noise.len().saturating_sub(NAMES);
    let body = html! {
        (table.render())
        @if more > 0 {
            p { "The " (NAMES) " that had the CPU longest; " (more) " more." }
        }
    };
    section(
        "noise",
        &format!("What else ran on {}", run.noisy_cpu()),
        body,
    )
}

pub(super) fn environment(run: &RunData) -> Markup {
    let mut table = Table::new([("", Column::Words), ("", Column::Words)]);
    for (name, value) in &run.environment {
        table.row(vec![name.clone(), value.clone()]);
    }
    section("environment", "Environment", table.render())
}

pub(super) fn repeat(run: &RunData) -> Markup {
    if run.head.repeat.is_empty() {
        return html! {};
    }
    let body = html! {
        pre tabindex="0" { code { (run.head.repeat) } }
        p {
            "Records, as Parquet, and everything else of this run are in " code { (run.head.folder) } "."
        }
    };
    section("repeat", "Repeat this run", body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_view::run::samples::waits;

    #[test]
    fn what_else_ran_is_said_as_on_the_terminal() {
        let mut run = waits();
        let one = run.noise[0].clone();
        run.noise.resize(NAMES, one.clone());
        let page = noise(&run).into_string();
        for part in ["What else ran on the prober's CPU", ">packets overlapped<"] {
            assert!(page.contains(part), "{page}");
        }
        assert!(!page.contains(" more."), "{page}");
        run.noise.extend([one.clone(), one]);
        run.head.world = "sim".to_owned();
        let page = noise(&run).into_string();
        for part in ["What else ran on the simulated CPU", "CPU longest; 2 more."] {
            assert!(page.contains(part), "{page}");
        }
    }
}
