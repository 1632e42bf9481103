//! Frame loss rate (RFC 2544 §26.3, RFC 1242 §3.6): loss against load, from the highest load down until
//! two trials in a row have none.

use crate::bench::{Bench, Stop};
use crate::course::{AtSize, Steps, found_by_size};
use crate::report::{self, Cell, Clause, Figure, Holds, Report, Role, Table};
use crate::setup::{Options, Setup, percent};
use crate::throughput;
use delaylab_model::SECOND;
use delaylab_model::quantity::Share;
use schemars::JsonSchema;
use serde::Serialize;

/// Loss at one load.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LossAt {
    /// Of each sending port, as a share of the line rate, 0 to 1.
    pub load: f64,
    /// Frames a second of all streams together, as they were sent; as they were asked for where the trial was invalid.
    pub fps: f64,
    /// (in − out) · 100 / in; `None` where the trial was invalid.
    pub loss_percent: Option<f64>,
    /// Why it is not known.
    pub why: Option<String>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FrameLoss {
    /// From the highest load down.
    pub points: Vec<LossAt>,
    /// Did two trials in a row pass without loss?
    pub reached_zero: bool,
}

/// What its table says of each frame size.
const COLUMNS: [(&str, &str, Role); 3] = [
    ("load", "% of line rate", Role::Result),
    ("rate", "frames/s", Role::Result),
    ("loss", "%", Role::Loss),
];

/// The procedure.
#[derive(Debug, Clone, Copy)]
pub struct FrameLossSteps;

impl Steps for FrameLossSteps {
    type Found = FrameLoss;

    fn size(&self, bench: &mut Bench<'_>) -> Result<FrameLoss, Stop> {
        let mut points = Vec::new();
        let mut without_loss = 0;
        let mut load = bench.options.top;
        let mut next = Share::WHOLE.0;
        loop {
            let offer = bench.at_load("frame loss", load, bench.setup.effort.trial);
            let mut fps = bench.fps_at(load);
            let (loss_percent, why) = match bench.trial(offer) {
                Ok(trial) => {
                    fps = throughput::sent_fps(bench, load, &trial);
                    (Some(100.0 * throughput::loss_ratio(&trial)), None)
                }
                Err(Stop::Invalid(why)) => (None, Some(why)),
                Err(stop) => return Err(stop),
            };
            without_loss = if loss_percent == Some(0.0) {
                without_loss + 1
            } else {
                0
            };
            points.push(LossAt {
                load: load.as_f64(),
                fps,
                loss_percent,
                why,
            });
            // Whole steps below the highest rate; the first trial was at `top`, which may be below some of them.
            while next >= load.0 && next > 0 {
                next = next.saturating_sub(bench.options.step.0);
            }
            if without_loss == 2 || next == 0 {
                break;
            }
            load = Share(next);
        }
        if points.iter().all(|point| point.loss_percent.is_none()) {
            let why = points.pop().and_then(|point| point.why);
            return Err(Stop::Invalid(why.unwrap_or_default()));
        }
        Ok(FrameLoss {
            points,
            reached_zero: without_loss == 2,
        })
    }

    fn report(&self, setup: &Setup, options: &Options, sizes: &[AtSize<FrameLoss>]) -> Report {
        let columns = [("reached two trials without loss", "")];
        let ends = report::by_size("Where it ended", &columns, sizes, |found| {
            vec![found.reached_zero.into()]
        });
        let mut conformance = report::clauses_of_trials(setup, sizes);
        conformance.extend([
            Clause::lasts(
                "RFC 2544 §24",
                "trials of 60 s",
                setup.effort.trial,
                60 * SECOND,
            ),
            descent(options, sizes),
        ]);
        Report {
            procedure: "frame-loss".to_owned(),
            title: "Frame loss rate".to_owned(),
            sections: vec!["RFC 2544 §26.3".to_owned(), "RFC 1242 §3.6".to_owned()],
            tables: vec![table(sizes), ends],
            figures: vec![figure(sizes)],
            conformance,
            notes: Vec::new(),
        }
    }
}

fn table(sizes: &[AtSize<FrameLoss>]) -> Table {
    report::rows_by_size("Frame loss by load", &COLUMNS, sizes, |found| {
        let row = |point: &LossAt| -> Vec<Cell> {
            let why = point.why.clone().map(|why| format!("invalid: {why}"));
            vec![
                percent(point.load).into(),
                point.fps.into(),
                point.loss_percent.into(),
                why.unwrap_or_default().into(),
            ]
        };
        found.points.iter().map(row).collect()
    })
}

fn figure(sizes: &[AtSize<FrameLoss>]) -> Figure {
    let figure = Figure::new("Frame loss rate", ("load", "% of line rate"), ("loss", "%"));
    figure.line_by_size(sizes, |found| {
        let points = found.points.iter();
        let points = points.filter_map(|p| Some((percent(p.load), p.loss_percent?)));
        points.collect::<Vec<_>>()
    })
}

/// Was it asked from the highest rate down to two trials without loss, in small steps, and answered each time?
fn descent(options: &Options, sizes: &[AtSize<FrameLoss>]) -> Clause {
    let step = percent(options.step.as_f64());
    let found = || found_by_size(sizes);
    let lossy = found().filter(|(_, found)| !found.reached_zero);
    let lossy = Vec::from_iter(lossy.map(|(size, _)| format!("{size} B")));
    let invalid = found().filter_map(|(size, found)| {
        let points = found
            .points
            .iter()
            .filter(|point| point.loss_percent.is_none());
        let loads = Vec::from_iter(points.map(|p| percent(p.load).to_string()));
        (!loads.is_empty()).then(|| format!("{} % at {size} B", loads.join(", ")))
    });
    let invalid = Vec::from_iter(invalid);
    let cut_off = options.tried_up_to();
    let holds = match cut_off {
        _ if step > 10.0 || !lossy.is_empty() || !invalid.is_empty() => Holds::No,
        Some(_) => Holds::Shortened,
        None => Holds::Yes,
    };
    let some = |what: &str, list: &[String]| {
        (!list.is_empty()).then(|| format!("{what} {}", list.join(", ")))
    };
    let mut why = vec![format!("steps of {step} %")];
    why.extend(cut_off);
    why.extend(some("not measured:", &invalid));
    why.extend(some("no two trials without loss at", &lossy));
    Clause::new(
        "RFC 2544 §26.3",
        "from the highest rate down in steps of at most 10 %, until two trials without loss",
        holds,
        why.join("; "),
    )
    .of_found(sizes)
}
