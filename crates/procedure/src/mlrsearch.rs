//! MLRsearch (RFC 9971): for each goal the loads between which it stops being met, and the conditional
//! throughput there. Not one number: what a device carries depends on how much loss, in how many trials
//! of what length, is accepted.
//!
//! | part | holds |
//! |---|---|
//! | [`Goal`], [`Trials`] | load classification and conditional throughput, as RFC 9971's appendices define them |
//! | [`MlrsearchSteps`] | the search |

mod classify;

pub use crate::goal::Goal;
pub use classify::{Class, Measured, Trials};

use crate::bench::{Bench, Stop};
use crate::course::{AtSize, Steps, all_found};
use crate::report::{self, Cell, Clause, Figure, Holds, Report, Role};
use crate::setup::{Options, Setup, percent};
use crate::throughput;
use delaylab_model::SECOND;
use delaylab_model::quantity::Share;
use delaylab_model::units::format_duration;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// How often each goal is looked at: another goal's trials may unsettle what a first look found.
const ROUNDS: u32 = 2;

/// What was found for a goal.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct GoalResult {
    /// The goal's name.
    pub goal: String,
    /// Largest load below the upper bound at which the goal is met, as a share of the line rate. Where
    /// there is no upper bound: the highest load, if the goal is met there.
    pub lower_bound: Option<f64>,
    /// Smallest load at which it is not met.
    pub upper_bound: Option<f64>,
    /// Frames a second of all streams together at the lower bound, as they were sent.
    pub lower_bound_fps: Option<f64>,
    /// The forwarding rate that is to be expected there, in frames a second of all streams together.
    pub conditional_throughput_fps: Option<f64>,
    /// Are both bounds there, and no farther apart than the goal's width? Else the result is irregular.
    pub is_regular: bool,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Mlrsearch {
    /// For each goal, in the order of the options.
    pub goals: Vec<GoalResult>,
    /// Trials: load as a share of the line rate, loss 0 to 1.
    pub points: Vec<(f64, f64)>,
}

/// Everything measured of a frame size, by load in parts of 10⁹.
type Loads = BTreeMap<u64, Trials>;

/// The smallest upper bound, and the largest lower bound below it.
fn bounds(loads: &Loads, goal: &Goal) -> (Option<u64>, Option<u64>) {
    let of = |class| move |&(_, trials): &(&u64, &Trials)| trials.class(goal) == class;
    let upper = loads.iter().find(of(Class::Upper)).map(|(&load, _)| load);
    let below = loads.range(..upper.unwrap_or(u64::MAX));
    let lower = below.rev().find(of(Class::Lower)).map(|(&load, _)| load);
    (upper, lower)
}

/// The procedure.
#[derive(Debug, Clone, Copy)]
pub struct MlrsearchSteps;

impl Steps for MlrsearchSteps {
    type Found = Mlrsearch;

    fn size(&self, bench: &mut Bench<'_>) -> Result<Mlrsearch, Stop> {
        let mut loads = Loads::new();
        for _ in 0..ROUNDS {
            for goal in &bench.options.goals {
                while let Some(load) = next_load(bench.options, &loads, goal) {
                    measure(bench, &mut loads, load, goal)?;
                }
            }
        }
        let goals = bench.options.goals.iter();
        let points = loads.iter().flat_map(|(&load, trials)| {
            let load = Share(load).as_f64();
            trials.iter().map(move |trial| (load, trial.loss_ratio))
        });
        Ok(Mlrsearch {
            goals: goals.map(|goal| result(&loads, goal)).collect(),
            points: points.collect(),
        })
    }

    fn report(&self, setup: &Setup, options: &Options, sizes: &[AtSize<Mlrsearch>]) -> Report {
        Report {
            procedure: "mlrsearch".to_owned(),
            title: "Multiple loss ratio search".to_owned(),
            sections: vec!["RFC 9971".to_owned()],
            tables: vec![bounds_table(setup, sizes), goals_table(&options.goals)],
            figures: vec![loss_figure(sizes)],
            conformance: conformance(setup, options, sizes),
            notes: notes(options, sizes),
        }
    }
}

/// The bounds of each goal at each frame size.
fn bounds_table(setup: &Setup, sizes: &[AtSize<Mlrsearch>]) -> report::Table {
    let columns = [
        ("goal", "", Role::Result),
        ("relevant lower bound", "% of line rate", Role::Result),
        ("relevant upper bound", "% of line rate", Role::Result),
        ("relevant lower bound", "frames/s", Role::Result),
        ("conditional throughput", "frames/s", Role::Result),
        ("theoretical maximum", "frames/s", Role::Medium),
        ("result", "", Role::Result),
    ];
    let row = |goal: &GoalResult| -> Vec<Cell> {
        vec![
            goal.goal.as_str().into(),
            goal.lower_bound.map(percent).into(),
            goal.upper_bound.map(percent).into(),
            goal.lower_bound_fps.into(),
            goal.conditional_throughput_fps.into(),
            Cell::Nothing,
            if goal.is_regular {
                "regular"
            } else {
                "irregular"
            }
            .into(),
        ]
    };
    let mut table = report::rows_by_size("Bounds of the load", &columns, sizes, |found| {
        found.goals.iter().map(row).collect()
    });
    // Tables with few rows are shown on their side: the goal, which tells rows of one size apart, is their heading.
    table.columns.swap(0, 1);
    for row in &mut table.rows {
        if let Some(&Cell::Count(size)) = row.first() {
            row[6] = setup
                .theoretical_fps(u32::try_from(size).unwrap_or(u32::MAX))
                .into();
            if row[1] == Cell::Nothing {
                row[1] = format!("all, {size} B").into();
            }
        }
        row.swap(0, 1);
    }
    table
}

fn loss_figure(sizes: &[AtSize<Mlrsearch>]) -> Figure {
    let figure = Figure::new(
        "Loss of each trial",
        ("load", "% of line rate"),
        ("loss", "%"),
    );
    figure.line_by_size(sizes, |found| {
        let points = found.points.iter();
        let points = points.map(|&(load, loss)| (percent(load), loss * 100.0));
        points.collect::<Vec<_>>()
    })
}

fn conformance(setup: &Setup, options: &Options, sizes: &[AtSize<Mlrsearch>]) -> Vec<Clause> {
    let compliant = options.goals.iter().any(Goal::is_rfc2544);
    let shortest = format_duration(setup.effort.trial);
    vec![
        Clause::new(
            "RFC 9971 §4",
            "classify each load by every trial there; report the relevant bounds",
            Holds::Yes,
            "trials of the final duration only",
        )
        .of_found(sizes),
        Clause::new(
            "RFC 9971 §4",
            "for RFC 2544: 60 s trials, no loss, no trial that exceeds it",
            if compliant {
                Holds::Yes
            } else {
                Holds::Shortened
            },
            format!("shortest allowed by the effort: {shortest}"),
        )
        .of_found(sizes),
        report::figures_of_all("RFC 9971 §4", sizes),
    ]
}

fn notes(options: &Options, sizes: &[AtSize<Mlrsearch>]) -> Vec<String> {
    let shortest = options.goals.iter().map(|goal| goal.final_trial).min();
    let passes = shortest.and_then(throughput::buffer_passes);
    let mut notes = Vec::from_iter(passes);
    if all_found(sizes).any(|found| found.goals.iter().any(|goal| !goal.is_regular)) {
        let note = "A result is irregular: a bound is missing or the bounds are too far apart. Where \
                    no upper bound was found, the lower bound is the highest load.";
        notes.push(note.to_owned());
    }
    notes
}

/// What the table of goals says of each.
const GOALS: [(&str, &str); 6] = [
    ("goal", ""),
    ("final trial duration", "s"),
    ("duration sum", "s"),
    ("loss ratio", "%"),
    ("exceed ratio", "%"),
    ("width", "% of line rate"),
];

fn goals_table(goals: &[Goal]) -> report::Table {
    let seconds = |ns: i64| ns as f64 / SECOND as f64;
    let row = |goal: &Goal| -> Vec<Cell> {
        vec![
            goal.name.as_str().into(),
            seconds(goal.final_trial).into(),
            seconds(goal.duration_sum).into(),
            percent(goal.loss_ratio).into(),
            percent(goal.exceed_ratio).into(),
            percent(goal.width.as_f64()).into(),
        ]
    };
    report::Table {
        title: "Search goals".to_owned(),
        columns: GOALS
            .map(|(name, unit)| report::Column::new(name, unit))
            .to_vec(),
        rows: goals.iter().map(row).collect(),
    }
}

/// Where to measure next for this goal; `None`: it is done.
fn next_load(options: &Options, loads: &Loads, goal: &Goal) -> Option<u64> {
    let highest = options.top.0;
    let lowest = goal.width.0.min(highest).max(1);
    let is_decided = |load: u64| {
        let trials = loads.get(&load);
        trials.is_some_and(|trials| trials.class(goal) != Class::Undecided)
    };
    let (upper, lower) = bounds(loads, goal);
    let next = match (upper, lower) {
        (None, _) => highest,
        (Some(upper), None) if upper <= lowest => return None,
        (Some(_), None) => lowest,
        (Some(upper), Some(lower)) if upper - lower <= goal.width.0.max(1) => return None,
        (Some(upper), Some(lower)) => lower + (upper - lower) / 2,
    };
    (!is_decided(next)).then_some(next)
}

/// Trials at a load until this goal has it decided.
fn measure(bench: &mut Bench<'_>, loads: &mut Loads, load: u64, goal: &Goal) -> Result<(), Stop> {
    loop {
        let trials = loads.entry(load).or_default();
        if trials.class(goal) != Class::Undecided {
            return Ok(());
        }
        let repeat = u32::try_from(trials.iter().count()).unwrap_or(u32::MAX);
        let offer = bench
            .at_load("search", Share(load), goal.final_trial)
            .repeat(repeat);
        let trial = bench.trial(offer)?;
        trials.push(Measured {
            duration: goal.final_trial,
            loss_ratio: throughput::loss_ratio(&trial),
            fps: throughput::sent_fps(bench, Share(load), &trial),
        });
    }
}

fn result(loads: &Loads, goal: &Goal) -> GoalResult {
    let (upper, lower) = bounds(loads, goal);
    let trials = lower.and_then(|load| loads.get(&load));
    let fps = trials.and_then(Trials::least_fps);
    let ratio = trials.and_then(|trials| trials.conditional_ratio(goal));
    let share = |load: u64| Share(load).as_f64();
    GoalResult {
        goal: goal.name.clone(),
        lower_bound: lower.map(share),
        upper_bound: upper.map(share),
        lower_bound_fps: fps,
        conditional_throughput_fps: fps.zip(ratio).map(|(fps, ratio)| fps * ratio),
        is_regular: match (upper, lower) {
            (Some(upper), Some(lower)) => upper - lower <= goal.width.0.max(1),
            _ => false,
        },
    }
}
