//! The filter of a page: a box for each level of each factor. Unchecked, the level is left out of every
//! figure and table that tells it from the others. The script shows it; without one it stays hidden.

use delaylab_model::plan::{Level, levels_in_words, levels_of};
use delaylab_view::run::RunData;
use delaylab_view::run::panels::{all_factors, varied};
use maud::{Markup, html};

/// More levels than this wait behind a click.
const AT_ONCE: usize = 8;

pub(super) fn form(run: &RunData) -> Markup {
    let factors: Vec<_> = run.trials.iter().map(|t| all_factors(&t.stream)).collect();
    let names = varied(factors.iter().map(Vec::as_slice));
    // Of a benchmark they are the steps of a search, which nobody chooses between.
    if names.is_empty() || run.benchmark.is_some() {
        return html! {};
    }
    html! {
        form id="filter" aria-label="Levels that are shown" hidden {
            @for name in &names { (set(name, &levels_of(name, &factors, &run.levels))) }
            button type="reset" { "Show all" }
        }
    }
}

fn set(name: &str, levels: &[Level]) -> Markup {
    let boxes = html! { @for level in levels { (checkbox(name, level)) } };
    html! {
        fieldset {
            legend { (name) }
            @if levels.len() > AT_ONCE {
                details {
                    summary { (levels.len()) " levels" }
                    (boxes)
                }
            } @else {
                (boxes)
            }
        }
    }
}

fn checkbox(name: &str, level: &Level) -> Markup {
    let part = levels_in_words(&[(name.to_owned(), level.clone())], None);
    html! {
        label {
            input type="checkbox" checked data-factor=(name) data-level=(level.label) data-part=(part);
            " " (level.label)
        }
    }
}

#[cfg(test)]
mod tests {
    use delaylab_view::run::samples::{bare, classes, waits};

    #[test]
    fn every_level_has_a_box_and_one_level_is_no_choice() {
        let form = super::form(&waits()).into_string();
        let apart = waits()
            .trials
            .iter()
            .map(|t| t.stream.factors.clone())
            .fold(std::collections::BTreeSet::new(), |mut all, factors| {
                all.extend(factors.into_iter().map(|(name, level)| (name, level.label)));
                all
            });
        assert_eq!(form.matches("<input").count(), apart.len());
        assert_eq!(super::form(&bare()).into_string(), "");
    }

    #[test]
    fn probes_are_levels_too() {
        let form = super::form(&classes()).into_string();
        assert!(form.contains("data-factor=\"probe\" data-level=\"ef\" data-part=\"probe ef\""));
    }
}
