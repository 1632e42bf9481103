//! Incast (RFC 8239 §6): what TCP at full rate and microbursts of UDP do to each other at one receiving
//! port.
//!
//! The first stream is the microburst; where the others enter, TCP sends as much as it gets through. One
//! sending port after the other is added.

use crate::bench::{Bench, Offer, OfferedStream, Stop};
use crate::buffering::{repeatability, repeats_clause};
use crate::course::{AtSize, Steps, all_found};
use crate::report::{self, Cell, Clause, Figure, Report, Role};
use crate::search::Spread;
use crate::setup::{Options, Setup};
use delaylab_model::Nanos;
use delaylab_model::load::{Load, LoadKind};
use delaylab_model::quantity::{Class, Share};
use delaylab_stats::frames::FrameTrial;
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;

/// What so many sending ports with TCP did.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct IncastAt {
    /// Sending ports with TCP.
    pub stateful: u64,
    /// Bits of payload a second of all of them together, over the repeats; `None` where nobody counts.
    pub goodput_bps: Option<Spread>,
    /// Least latency of the microbursts' frames, in nanoseconds.
    pub min_ns: Option<Nanos>,
    /// Mean of the repeats' mean latencies.
    pub mean_ns: Option<f64>,
    /// Highest latency.
    pub max_ns: Option<Nanos>,
    /// Frames of the microbursts that were sent, in all repeats.
    pub sent: u64,
    /// How many of them were lost.
    pub lost: u64,
    /// Repeats that these are of.
    pub repeats: usize,
    /// Why there is none.
    pub why: Option<String>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Incast {
    /// By the number of sending ports with TCP.
    pub points: Vec<IncastAt>,
}

impl Incast {
    fn measured(&self) -> impl Iterator<Item = &IncastAt> {
        self.points.iter().filter(|at| at.why.is_none())
    }
}

/// What its table says of each frame size.
const COLUMNS: [(&str, &str, Role); 8] = [
    ("sending ports with TCP", "", Role::Result),
    ("goodput", "bit/s", Role::Result),
    ("latency, min", "ns", Role::Spread),
    ("latency, mean", "ns", Role::Result),
    ("latency, max", "ns", Role::Spread),
    ("UDP sent", "frames", Role::Result),
    ("UDP lost", "frames", Role::Loss),
    ("repeats", "", Role::Effort),
];

/// The procedure.
#[derive(Debug, Clone, Copy)]
pub struct IncastSteps;

impl Steps for IncastSteps {
    type Found = Incast;

    fn size(&self, bench: &mut Bench<'_>) -> Result<Incast, Stop> {
        let mut points = Vec::new();
        for stateful in 1..bench.setup.streams.len().max(2) {
            let trials = match beside(bench, stateful) {
                Ok(trials) => Ok(trials),
                Err(Stop::Invalid(why)) => Err(why),
                Err(stop) => return Err(stop),
            };
            points.push(IncastAt::new(bench.setup, stateful, trials));
        }
        if points.iter().all(|at| at.why.is_some()) {
            let why = points.pop().and_then(|at| at.why);
            return Err(Stop::Invalid(why.unwrap_or_default()));
        }
        Ok(Incast { points })
    }

    fn report(&self, _: &Setup, options: &Options, sizes: &[AtSize<Incast>]) -> Report {
        let table = report::rows_by_size("Incast", &COLUMNS, sizes, |found| {
            found.points.iter().map(IncastAt::row).collect()
        });
        Report {
            procedure: "incast".to_owned(),
            title: "Incast: TCP with microbursts".to_owned(),
            sections: vec!["RFC 8239 §6".to_owned()],
            tables: vec![table],
            figures: figures(sizes),
            conformance: conformance(options, sizes),
            notes: Vec::new(),
        }
    }
}

fn figures(sizes: &[AtSize<Incast>]) -> Vec<Figure> {
    let ports = ("sending ports with TCP", "");
    let figure = |title, y, of: fn(&IncastAt) -> Option<f64>| {
        Figure::new(title, ports, y).line_by_size(sizes, |found| {
            let points = found.points.iter();
            let points = points.filter_map(|at| Some((at.stateful as f64, of(at)?)));
            points.collect::<Vec<_>>()
        })
    };
    vec![
        figure("TCP goodput", ("goodput", "bit/s"), |at| {
            Some(at.goodput_bps?.mean)
        }),
        figure("UDP latency", ("mean latency", "ns"), |at| at.mean_ns),
    ]
}

fn conformance(options: &Options, sizes: &[AtSize<Incast>]) -> Vec<Clause> {
    let burst = options.microburst.max(1);
    let is_counted = |found: &Incast| found.points.iter().any(|at| at.goodput_bps.is_some());
    let is_counted = all_found(sizes).any(is_counted);
    let counted = |how: String| match is_counted {
        true => Ok(how),
        false => Err("what TCP carried was not counted".to_owned()),
    };
    vec![
        Clause::measured(
            "RFC 8239 §6.2",
            "TCP at the highest rate from one port or more, a microburst of UDP from another, \
             to one receiving port",
            sizes,
            || counted(format!("bursts of {burst} frames at line rate")),
        ),
        Clause::measured(
            "RFC 8239 §6.3",
            "report goodput and latency",
            sizes,
            || counted("both".to_owned()),
        ),
        repeatability(sizes, |found| {
            let of = |at: &IncastAt| match (&at.why, at.goodput_bps) {
                (Some(_), _) => Err("no figures of a number of ports"),
                (None, None) => Err("what TCP carried was not counted"),
                (None, goodput) => Spread::agree(goodput),
            };
            found.points.iter().map(of).collect()
        }),
        repeats_clause(sizes, |found| {
            found.measured().map(|at| at.repeats).min().unwrap_or(0)
        }),
        report::figures_of_all("RFC 8239 §6.3", sizes),
    ]
}

/// Microbursts in the middle of TCP from these ports, which sends as long as a trial at one load lasts.
fn beside<'a>(bench: &mut Bench<'a>, stateful: usize) -> Result<Vec<Cow<'a, FrameTrial>>, Stop> {
    bench.repeats(bench.setup.effort.repeats, |bench, repeat| {
        let half = bench.setup.effort.trial / 2;
        let burst = OfferedStream {
            of: 0,
            load: Share::WHOLE,
            count: bench.options.microburst.max(1),
            start: half,
        };
        let mut offer = Offer::new("incast", vec![burst]).repeat(repeat);
        offer = offer.as_fast_as_can_be();
        offer.quiet = half;
        offer.loads = (1..=stateful).map(|of| tcp(bench.setup, of)).collect();
        bench.trial(offer)
    })
}

impl IncastAt {
    fn new(
        setup: &Setup,
        stateful: usize,
        trials: Result<Vec<Cow<'_, FrameTrial>>, String>,
    ) -> Self {
        let (trials, why) = match trials {
            Ok(trials) => (trials, None),
            Err(why) => (Vec::new(), Some(why)),
        };
        // Beside the loads that are always there.
        let names: Vec<_> = (1..=stateful).map(|of| tcp_name(setup, of)).collect();
        let goodput = trials.iter().filter_map(|trial| goodput(trial, &names));
        let streams = || trials.iter().flat_map(|trial| &trial.streams);
        let delays = || streams().filter_map(|stream| stream.delay);
        Self {
            stateful: stateful as u64,
            goodput_bps: Spread::new(goodput),
            min_ns: delays().map(|delay| delay.min).min(),
            mean_ns: Spread::new(delays().map(|delay| delay.mean)).map(|mean| mean.mean),
            max_ns: delays().map(|delay| delay.max).max(),
            sent: streams().map(|stream| stream.sent).sum(),
            lost: streams().map(|stream| stream.lost()).sum(),
            repeats: trials.len(),
            why,
        }
    }

    fn row(&self) -> Vec<Cell> {
        let mean = |count| {
            let is_measured = self.why.is_none();
            is_measured.then(|| report::per_repeat(count, self.repeats))
        };
        let why = self.why.as_ref().map(|why| format!("invalid: {why}"));
        vec![
            self.stateful.into(),
            self.goodput_bps.map(|goodput| goodput.mean).into(),
            self.min_ns.into(),
            self.mean_ns.into(),
            self.max_ns.into(),
            mean(self.sent).into(),
            mean(self.lost).into(),
            Cell::Count(self.repeats as u64),
            why.unwrap_or_default().into(),
        ]
    }
}

/// What TCP of these names carried in a trial, in bit/s; `None` where it was not counted.
fn goodput(trial: &FrameTrial, names: &[String]) -> Option<f64> {
    let of_tcp = trial.goodput_bps.iter();
    let of_tcp = of_tcp.filter(|(name, _)| names.iter().any(|tcp| **tcp == **name));
    of_tcp.map(|(_, bps)| *bps).reduce(|a, b| a + b)
}

fn tcp_name(setup: &Setup, of: usize) -> String {
    format!("tcp {}", setup.name(of))
}

/// TCP where a stream enters and leaves.
fn tcp(setup: &Setup, of: usize) -> Load {
    let probe = setup.streams.get(of);
    Load {
        class: probe.map_or_else(Class::default, |probe| Class(probe.dscp)),
        from: probe.and_then(|probe| probe.from.clone()),
        to: probe.and_then(|probe| probe.to.clone()),
        ..Load::new(tcp_name(setup, of), LoadKind::Tcp)
    }
}
