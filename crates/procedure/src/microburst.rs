//! Microbursts (RFC 8239 §4, RFC 8238 §6): the largest burst that two or more sending ports can throw
//! at one receiving port, at full intensity, without loss.

use crate::back_to_back::{Bursts, Search, at_line_rate, at_the_cap};
use crate::bench::{Bench, Stop};
use crate::buffering::{repeatability, repeats_clause};
use crate::course::{AtSize, Steps, all_found};
use crate::report::{self, Cell, Clause, Figure, Report, Role, Table};
use crate::setup::{Options, Setup};
use delaylab_model::quantity::Share;
use schemars::JsonSchema;
use serde::Serialize;

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Microburst {
    /// The largest bursts, in frames of all streams together.
    #[serde(flatten)]
    pub bursts: Bursts,
    /// The same in bytes.
    pub bytes: Option<f64>,
    /// Frames of each sending stream.
    pub frames_a_stream: Option<f64>,
    /// Relative standard deviation of the repeats.
    pub relative_sd: Option<f64>,
}

/// What its table says of each frame size.
const COLUMNS: [(&str, &str, Role); 7] = [
    ("burst, max", "frames", Role::Result),
    ("burst, max", "B", Role::Result),
    ("of each stream", "frames", Role::Result),
    ("relative sd of the burst", "%", Role::Spread),
    ("repeats", "", Role::Effort),
    ("repeats at the longest burst", "", Role::Effort),
    ("burst rate reached", "frames/s", Role::Result),
];

/// The procedure.
#[derive(Debug, Clone, Copy)]
pub struct MicroburstSteps;

impl Steps for MicroburstSteps {
    type Found = Microburst;

    fn size(&self, bench: &mut Bench<'_>) -> Result<Microburst, Stop> {
        let loads = bench.all_at(Share::WHOLE);
        let search = Search::at_full_rate(bench, &loads);
        let bursts = search.bursts(bench, bench.setup.effort.repeats, |_, _| ())?;
        let frames = bursts.frames;
        Ok(Microburst {
            bytes: frames.map(|frames| frames.mean * f64::from(bench.size)),
            frames_a_stream: frames.map(|frames| frames.mean / loads.len() as f64),
            relative_sd: frames.and_then(|frames| frames.relative_sd()),
            bursts,
        })
    }

    fn report(&self, _: &Setup, _: &Options, sizes: &[AtSize<Microburst>]) -> Report {
        Report {
            procedure: "microburst".to_owned(),
            title: "Microbursts".to_owned(),
            sections: vec!["RFC 8239 §4".to_owned(), "RFC 8238 §6".to_owned()],
            tables: vec![table(sizes)],
            figures: vec![figure(sizes)],
            conformance: conformance(sizes),
            notes: at_the_cap(all_found(sizes).map(|found| &found.bursts)),
        }
    }
}

fn table(sizes: &[AtSize<Microburst>]) -> Table {
    report::by_size("Microburst without loss", &COLUMNS, sizes, |found| {
        vec![
            found.bursts.frames.map(|frames| frames.mean).into(),
            found.bytes.into(),
            found.frames_a_stream.into(),
            found.relative_sd.map(|sd| sd * 100.0).into(),
            Cell::Count(found.bursts.repeats.len() as u64),
            found.bursts.count_at_cap(),
            found.bursts.achieved_fps.into(),
        ]
    })
}

fn figure(sizes: &[AtSize<Microburst>]) -> Figure {
    let figure = Figure::over_size("Microburst", ("largest burst", "B"));
    figure.points("largest burst", sizes, |found| found.bytes)
}

fn conformance(sizes: &[AtSize<Microburst>]) -> Vec<Clause> {
    vec![
        at_line_rate(
            (
                "RFC 8239 §4.2",
                "two or more sending ports to one receiving port, at an intensity of 100 %",
            ),
            sizes,
            |found| found.bursts.rate(),
        ),
        repeatability(sizes, |found| vec![found.bursts.agree()]),
        repeats_clause(sizes, |found| found.bursts.repeats.len()),
        report::figures_of_all("RFC 8239 §4.3", sizes),
    ]
}
