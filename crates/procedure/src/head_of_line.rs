//! Head-of-line blocking (RFC 8239 §5): does congestion of one receiving port cost frames that go to
//! another?
//!
//! Three streams on four ports. The first sending port sends half of what a receiving port takes to each of
//! two; the second sending port fills the second of them. Nothing that goes to the first may be lost.

use crate::bench::{Bench, Offer, OfferedStream, Stop};
use crate::buffering::repeats_clause;
use crate::course::{AtSize, Steps, all_found};
use crate::report::{self, Cell, Clause, Figure, Holds, Report, Role, Table};
use crate::setup::{BuildError, Options, Setup};
use delaylab_model::Nanos;
use delaylab_model::quantity::Share;
use schemars::JsonSchema;
use serde::Serialize;

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HeadOfLine {
    /// Frames to the port that is not congested, in all repeats.
    pub sent: u64,
    /// How many of them were lost.
    pub lost: u64,
    /// Highest latency of them, in nanoseconds.
    pub highest_ns: Option<Nanos>,
    /// Frames lost on the way to the congested port: it was congested.
    pub lost_congested: u64,
    /// Loss at the port that is not congested in each repeat, 0 to 1.
    pub repeats: Vec<f64>,
}

impl HeadOfLine {
    /// The share of frames to the port that is not congested which were lost, in per cent.
    fn loss_percent(&self) -> f64 {
        100.0 * (self.lost as f64 / self.sent.max(1) as f64)
    }

    /// Is there blocking? `None` if nothing was congested.
    pub fn is_blocked(&self) -> Option<bool> {
        (self.lost_congested > 0).then_some(self.lost > 0)
    }
}

/// What its table says of each frame size.
const COLUMNS: [(&str, &str, Role); 7] = [
    ("blocking", "", Role::Result),
    ("sent to the free port", "frames", Role::Result),
    ("lost", "frames", Role::Loss),
    ("loss", "%", Role::Loss),
    ("highest latency", "ns", Role::Result),
    ("lost at the congested port", "frames", Role::Loss),
    ("repeats", "", Role::Effort),
];

/// The procedure.
#[derive(Debug, Clone, Copy)]
pub struct HeadOfLineSteps;

/// Do the streams meet as they should?
pub(crate) fn check(setup: &Setup) -> Result<(), BuildError> {
    let meets = match &setup.streams[..] {
        [free, shared, filling] => {
            let apart = free.to != shared.to && shared.from != filling.from;
            apart && free.from == shared.from && shared.to == filling.to
        }
        _ => false,
    };
    if meets {
        return Ok(());
    }
    Err(BuildError::Ports {
        procedure: "head-of-line-blocking",
        needs: "three streams on four ports: from A to C, from A to D, from B to D",
    })
}

impl Steps for HeadOfLineSteps {
    type Found = HeadOfLine;

    fn size(&self, bench: &mut Bench<'_>) -> Result<HeadOfLine, Stop> {
        let top = bench.options.top;
        // Of the receiving ports' rate: one that is slower would be congested by half of a line too, and lose at both.
        let full = bench.setup.load_of_egress(top.as_f64()).min(top);
        let full = Share(full.0.max(2));
        let half = Share(full.0 / 2);
        let mut found = HeadOfLine {
            sent: 0,
            lost: 0,
            highest_ns: None,
            lost_congested: 0,
            repeats: Vec::new(),
        };
        let repeats = bench.setup.effort.repeats;
        let trials = bench.repeats(repeats, |bench, repeat| {
            let loads = [half, half, full].into_iter().enumerate();
            let streams = loads.map(|(of, load)| OfferedStream {
                of,
                load,
                count: bench.frames_in(bench.setup.effort.trial, load),
                start: 0,
            });
            let offer = Offer::new("head of line", streams.collect());
            bench.trial(offer.repeat(repeat))
        })?;
        for trial in &trials {
            let (free, congested) = trial.streams.split_at(1);
            let lost_congested = congested.iter().map(|stream| stream.lost());
            found.lost_congested += lost_congested.sum::<u64>();
            for stream in free {
                found.sent += stream.sent;
                found.lost += stream.lost();
                found.highest_ns = found.highest_ns.max(stream.delay.map(|delay| delay.max));
                found.repeats.push(stream.loss_ratio().unwrap_or(0.0));
            }
        }
        Ok(found)
    }

    fn report(&self, _: &Setup, _: &Options, sizes: &[AtSize<HeadOfLine>]) -> Report {
        Report {
            procedure: "head-of-line-blocking".to_owned(),
            title: "Head-of-line blocking".to_owned(),
            sections: vec!["RFC 8239 §5".to_owned()],
            tables: vec![table(sizes)],
            figures: vec![figure(sizes)],
            conformance: conformance(sizes),
            notes: Vec::new(),
        }
    }
}

fn table(sizes: &[AtSize<HeadOfLine>]) -> Table {
    report::by_size("Head-of-line blocking", &COLUMNS, sizes, |found| {
        vec![
            found.is_blocked().into(),
            report::per_repeat(found.sent, found.repeats.len()),
            report::per_repeat(found.lost, found.repeats.len()),
            found.loss_percent().into(),
            found.highest_ns.into(),
            report::per_repeat(found.lost_congested, found.repeats.len()),
            Cell::Count(found.repeats.len() as u64),
        ]
    })
}

fn figure(sizes: &[AtSize<HeadOfLine>]) -> Figure {
    let figure = Figure::over_size("Loss at the free port", ("loss", "%"));
    figure.points("loss", sizes, |found| Some(found.loss_percent()))
}

fn conformance(sizes: &[AtSize<HeadOfLine>]) -> Vec<Clause> {
    let congested = all_found(sizes).all(|found| found.lost_congested > 0);
    vec![
        Clause::measured(
            "RFC 8239 §5.2",
            "groups of two sending and two receiving ports, one of which is congested",
            sizes,
            || match congested {
                true => Ok("one group".to_owned()),
                false => Err("nothing was lost at the congested port".to_owned()),
            },
        ),
        Clause::new(
            "RFC 8239 §5.2",
            "at least eight ports, and then every port",
            Holds::Shortened,
            "four ports",
        ),
        repeats_clause(sizes, |found| found.repeats.len()),
        report::figures_of_all("RFC 8239 §5.3", sizes),
    ]
}
