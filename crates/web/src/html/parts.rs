//! Figures and tables of parts of the run, in the order of the source: as the experiment asks for them.

use super::figures::{Stills, figure};
use super::section as titled;
use super::table::{Column, Table};
use delaylab_figure::Drawing;
use delaylab_lab::finding::Tabulated;
use delaylab_model::experiment::FigureSection;
use delaylab_view::run::RunData;
use delaylab_view::run::parts::{Part, PartContent};
use delaylab_view::words::or_unknown;
use maud::{Markup, html};

/// All of them; where the run has no such part, why.
pub(super) fn section(run: &RunData, artist: &Stills) -> Markup {
    let each = html! {
        @if !run.parts.is_empty() {
            div class="gallery" {
                @for part in &run.parts {
                    div class="part" data-across[is_wide(part)] { (one(part, artist)) }
                }
            }
        }
    };
    titled("parts", "Figure by figure, as in the source", each)
}

/// A table of more columns than this stands across the page.
const COLUMNS: usize = 5;

fn is_wide(part: &Part) -> bool {
    match &part.shown {
        Ok(PartContent::Table(table)) => table.heads.len() > COLUMNS,
        _ => false,
    }
}

fn one(part: &Part, artist: &Stills) -> Markup {
    let why = match (&part.shown, Drawing::of_part(part)) {
        (Ok(PartContent::Table(table)), _) => return tabulated(&part.asked, table),
        (Ok(PartContent::Run(_)), Some(drawing)) => return figure(&drawing, artist),
        (Ok(PartContent::Run(_)), None) => "nothing in this part of the run can be drawn so",
        (Err(why), _) => why,
    };
    html! {
        h3 { (part.asked.title) }
        p class="where" { "Not drawn: " (why) "." }
    }
}

/// Of each level a row of what was found here and, where the source prints it, one of what that has.
fn tabulated(asked: &FigureSection, found: &Tabulated) -> Markup {
    let is_beside = !asked.printed.is_empty();
    let mut table = Table::new(heads(asked, found, is_beside));
    for row in &found.rows {
        let cells = row.cells.iter();
        let cells = cells.map(|cell| or_unknown(cell.as_deref().ok(), str::to_owned));
        let here = is_beside.then(|| "here".to_owned());
        let lead = [row.level.clone()].into_iter().chain(here);
        table.row(lead.chain(cells).collect());
        if let Some(printed) = asked.printed.get(&row.level) {
            let lead = ["", "source"].map(str::to_owned).into_iter();
            table.row(
                lead.chain(printed.iter().take(row.cells.len()).cloned())
                    .collect(),
            );
        }
    }
    html! {
        h3 { (asked.title) }
        (table.render())
        @if let Some(shows) = &asked.shows { p { "In the source: " (shows) } }
        (missing(found))
    }
}

fn heads(asked: &FigureSection, found: &Tabulated, is_beside: bool) -> Vec<(String, Column)> {
    let factor = asked.rows.clone().unwrap_or_default();
    let lead = [factor].into_iter().chain(is_beside.then(String::new));
    let lead = lead.map(|head| (head, Column::Words));
    let values = found.heads.iter().map(|(level, value)| {
        let head = match level.as_str() {
            "" => value.clone(),
            level => format!("{level}: {value}"),
        };
        (head, Column::Figures)
    });
    lead.chain(values).collect()
}

/// Why cells are empty, each reason once.
fn missing(table: &Tabulated) -> Markup {
    let reasons = table.rows.iter().flat_map(|row| &row.cells);
    let mut reasons: Vec<&String> = reasons.filter_map(|cell| cell.as_ref().err()).collect();
    reasons.sort_unstable();
    reasons.dedup();
    html! { @for why in reasons { p class="where" { "– " (why) "." } } }
}
