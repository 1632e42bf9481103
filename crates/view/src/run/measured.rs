//! The measured part of a run: another run. Figures and tables that ask for it show both, each by its own name.

use super::panels::RUN;
use super::parts::{Part, PartContent};
use super::{RunData, ShownDelay, Ways};
use delaylab_lab::finding::Tabulated;
use delaylab_model::experiment::FigureSection;
use delaylab_model::plan::{Factor, Level, levels_in_words};

/// What the parts that ask for the measured part want of it, in their order.
pub(super) fn asked(data: &RunData) -> Vec<FigureSection> {
    let of_it = |part: &Part| {
        let levels = part.asked.measured.clone()?;
        Some(FigureSection {
            levels: Some(levels).filter(|text| !text.is_empty()),
            ..part.asked.clone()
        })
    };
    data.parts.iter().filter_map(of_it).collect()
}

/// Adds what the measured part has for each part that [`asked`]. What it lacks is among the problems.
pub(super) fn add(data: &mut RunData, mut measured: RunData) {
    let own = data.head.world.clone();
    let names = [own, format!("measured ({})", measured.head.world)];
    let asking = data
        .parts
        .iter_mut()
        .filter(|part| part.asked.measured.is_some());
    for (part, of_measured) in asking.zip(&mut measured.parts) {
        match (&mut part.shown, &mut of_measured.shown) {
            (Ok(PartContent::Run(own)), Ok(PartContent::Run(theirs))) => {
                put_beside(own, theirs, &names)
            }
            (Ok(PartContent::Table(own)), Ok(PartContent::Table(theirs))) => {
                widen(own, theirs, &names[1])
            }
            (_, Err(why)) => {
                let title = &part.asked.title;
                let problem = format!("\"{title}\" has nothing of the measured part: {why}");
                data.problems.push(problem);
            }
            (_, Ok(_)) => {}
        }
    }
}

/// All of both, told apart by a factor of their names.
fn put_beside(own: &mut RunData, theirs: &mut RunData, names: &[String; 2]) {
    let panels = own.panels.len();
    let places = theirs.trials.iter_mut().map(|trial| &mut trial.panel);
    let places = places.chain(theirs.groups.iter_mut().map(|group| &mut group.panel));
    places.flatten().for_each(|place| *place += panels);
    for (run, name) in [&mut *own, &mut *theirs].into_iter().zip(names) {
        let factor: Factor = (RUN.to_owned(), Level::named(name));
        for trial in &mut run.trials {
            trial.stream.factors.push(factor.clone());
        }
        for group in &mut run.groups {
            group.factors.push(factor.clone());
        }
        for panel in &mut run.panels {
            panel.factors.push(factor.clone());
            panel.label = levels_in_words(&panel.factors, None);
        }
    }
    own.trials.append(&mut theirs.trials);
    own.groups.append(&mut theirs.groups);
    own.panels.append(&mut theirs.panels);
    // Responses that are nothing but round trips here may be more there.
    if own.ways() == Ways::RoundTrip && theirs.shown == Some(ShownDelay::Response) {
        own.shown = theirs.shown;
    }
    let levels = names.iter().map(Level::named).collect();
    own.levels.push((RUN.to_owned(), levels));
}

/// The measured values in columns of their own.
fn widen(own: &mut Tabulated, theirs: &Tabulated, name: &str) {
    for (level, value) in &theirs.heads {
        let level = match level.as_str() {
            "" => name.to_owned(),
            level => format!("{name}, {level}"),
        };
        own.heads.push((level, value.clone()));
    }
    for row in &mut own.rows {
        let same = theirs.rows.iter().find(|other| other.level == row.level);
        let missing = || Err(format!("the measured part has no {}", row.level));
        let cells = match same {
            Some(same) => same.cells.clone(),
            None => theirs.heads.iter().map(|_| missing()).collect(),
        };
        row.cells.extend(cells);
    }
}

#[cfg(test)]
mod tests {
    use super::super::TrialData;
    use super::*;
    use crate::run::samples::sizes;
    use delaylab_lab::finding::Row;

    #[test]
    fn both_are_drawn_and_have_names_of_their_own() {
        let (mut own, mut theirs) = (sizes(), sizes());
        let names = ["sim", "measured (testbed)"].map(str::to_owned);
        let (trials, panels) = (own.trials.len(), own.panels.len());
        put_beside(&mut own, &mut theirs, &names);
        assert_eq!(
            (own.trials.len(), own.panels.len()),
            (2 * trials, 2 * panels)
        );
        assert!(
            own.trials[trials..]
                .iter()
                .all(|trial| trial.panel.is_none_or(|panel| panel >= panels))
        );
        let named = |trial: &TrialData| {
            let factor = trial.stream.factors.iter().find(|(name, _)| name == RUN);
            factor.map(|(_, level)| level.label.clone())
        };
        for (trials, name) in own.trials.chunks(trials).zip(names) {
            assert!(
                trials
                    .iter()
                    .all(|trial| named(trial).as_ref() == Some(&name))
            );
        }
    }

    #[test]
    fn measured_values_have_columns_of_their_own() {
        let table = |rows: &[(&str, &str)]| Tabulated {
            heads: vec![("512B".to_owned(), "p50(delay)".to_owned())],
            rows: (rows.iter())
                .map(|(level, cell)| Row {
                    level: (*level).to_owned(),
                    cells: vec![Ok((*cell).to_owned())],
                })
                .collect(),
        };
        let mut own = table(&[("50%", "1 ms"), ("100%", "2 ms")]);
        widen(
            &mut own,
            &table(&[("100%", "2.1 ms")]),
            "measured (testbed)",
        );
        assert_eq!(own.heads[1].0, "measured (testbed), 512B");
        assert_eq!(own.rows[1].cells[1], Ok("2.1 ms".to_owned()));
        assert!(own.rows[0].cells[1].is_err());
    }
}
