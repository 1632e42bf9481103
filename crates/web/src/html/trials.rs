//! The trials: by the levels that the figures tell apart, and one by one.

use super::section as titled;
use super::table::{Column, Table};
use delaylab_model::shell::quoted;
use delaylab_view::run::columns::Columns;
use delaylab_view::run::groups::{Apart, WORST};
use delaylab_view::run::{RunData, TrialData};
use delaylab_view::words::plural;
use maud::{Markup, html};

/// Trials one by one at most: a page of thousands is slow, and nobody reads it.
const ROWS: usize = 300;

pub(super) fn section(run: &RunData) -> Markup {
    let apart = run.apart(false);
    let columns = Columns::new(run, &apart);
    let (shown, count) = (apart.rows.len(), run.trials.len());
    let body = html! {
        (together(&apart, columns))
        @if apart.left_out > 0 {
            p {
                "These are the " (shown) " of " (shown + apart.left_out)
                " combinations with the " (WORST) "."
            }
        }
        @if count > shown {
            details {
                summary { "All " (one_by_one(count, run.count_trials())) " one by one" }
                (trials(run, columns))
            }
        }
    };
    titled("trials", "Trials", body)
}

/// `18 trials`, or `36 probes of 18 trials`: a row is a probe of a trial.
fn one_by_one(rows: usize, trials: usize) -> String {
    let trials_in_words = plural(trials as u64, "trial");
    match rows == trials {
        true => trials_in_words,
        false => format!("{rows} probes of {trials_in_words}"),
    }
}

fn together(apart: &Apart<'_>, columns: Columns) -> Markup {
    let mut table = table(apart.heads.iter().copied(), &["trials"], columns).sortable();
    for (levels, trials, summary) in &apart.rows {
        let levels = levels.iter().map(|level| (*level).to_owned());
        let head = levels.chain([trials.to_string()]);
        table.row(head.chain(columns.cells(summary)).collect());
    }
    table.render()
}

fn trials(run: &RunData, columns: Columns) -> Markup {
    let first = run.trials.first().into_iter();
    let factors = first.flat_map(|trial| trial.stream.levels());
    let names = factors.map(|(name, _)| name.as_str());
    let mut table = table(names, &["trial", "probe", "repeat"], columns).searchable();
    let row = |trial: &TrialData| {
        let stream = &trial.stream;
        let repeat = stream.repeat + 1;
        let which = [
            stream.trial.to_string(),
            stream.name.clone(),
            repeat.to_string(),
        ];
        let levels = stream.levels().map(|(_, level)| level.label.clone());
        let head = levels.chain(which);
        head.chain(columns.cells(&trial.summary)).collect()
    };
    let shown = run.trials.iter().take(ROWS);
    shown.for_each(|trial| table.row(row(trial)));
    html! {
        (table.render())
        @if run.trials.len() > ROWS {
            p {
                "The first " (ROWS) "; all of them: " code {
                    "delaylab report " (quoted(&run.head.folder)) " --table trials -o trials.csv"
                } "."
            }
        }
    }
}

/// With a column for each factor, then for these counts, then for what came of it.
fn table<'a>(
    factors: impl Iterator<Item = &'a str>,
    counts: &[&'a str],
    columns: Columns,
) -> Table {
    let factors = factors.map(|name| (name, Column::Words));
    let heads = columns.heads();
    let figures = counts
        .iter()
        .copied()
        .chain(heads.iter().map(String::as_str));
    let figures = figures.map(|head| (head, Column::Figures));
    Table::new(factors.chain(figures))
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_view::run::samples::classes;

    #[test]
    fn rows_are_counted_as_what_they_are() {
        assert_eq!(one_by_one(18, 18), "18 trials");
        assert_eq!(one_by_one(36, 18), "36 probes of 18 trials");
    }

    #[test]
    fn the_command_that_has_them_all_can_be_pasted() {
        let mut run = classes();
        run.head.folder = "runs/of two".to_owned();
        let again = run.trials.clone();
        while run.trials.len() <= ROWS {
            run.trials.extend(again.iter().cloned());
        }
        let page = section(&run).into_string();
        assert!(
            page.contains("delaylab report 'runs/of two' --table"),
            "{page}"
        );
    }
}
