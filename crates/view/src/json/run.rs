//! `delaylab run --json`: a line for each probe of each trial, as soon as it is recorded, and one at the end. What came of a
//! trial has the names of a ping's document.

use super::{Results, SystemInfo, schema_of, write_line};
use crate::run::RunData;
use delaylab_lab::finding::Judged;
use delaylab_model::plan::Factor;
use delaylab_model::record::Method;
use delaylab_stats::summary::Summary;
use delaylab_store::trial_row::TrialRow;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Name and version of the lines' shape.
pub const SCHEMA: &str = "delaylab/run/2";

/// A line.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "a line of delaylab run --json")]
pub struct Line<'a> {
    /// Name and version of this shape.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str,
    #[serde(flatten)]
    what: What<'a>,
}

/// What a line is of.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase", tag = "kind")]
enum What<'a> {
    /// A probe of a trial.
    Trial(Box<Trial<'a>>),
    /// The run, which is over.
    Run(Box<Run<'a>>),
}

/// A probe of a trial that is recorded.
#[derive(Debug, Serialize, JsonSchema)]
struct Trial<'a> {
    /// The trial's number.
    trial: u32,
    /// The probe's name.
    probe: &'a str,
    /// How it asks.
    method: Method,
    /// Which repeat of its combination.
    repeat: u32,
    /// Its levels, by factor.
    factors: BTreeMap<&'a str, &'a str>,
    /// The same fields as in a ping's document. Sizes and pacing are in the run's `experiment.toml`.
    #[serde(flatten)]
    results: Results<'a>,
    /// Why the trial is not what its experiment meant. None: it is valid.
    flaws: &'a [String],
}

/// A run that is over.
#[derive(Debug, Serialize, JsonSchema)]
struct Run<'a> {
    /// Version of delaylab.
    version: &'a str,
    /// The measuring host.
    system_info: &'a SystemInfo,
    /// What was carried out.
    config: Config<'a>,
    /// The command line as typed.
    supplied: &'a [String],
    /// Where it is.
    folder: &'a str,
    /// How many findings came to each verdict.
    tally: BTreeMap<String, usize>,
    /// Each finding and what came of it.
    findings: &'a [Judged],
    /// The page, if there is one.
    report: Option<&'a str>,
    /// What could not be read of it.
    problems: &'a [String],
    /// What a procedure of the device benchmark found.
    benchmark: Option<&'a delaylab_procedure::Report>,
}

/// What was carried out.
#[derive(Debug, Serialize, JsonSchema)]
struct Config<'a> {
    /// The experiment's name.
    name: &'a str,
    /// Its title.
    title: &'a str,
    /// live, testbed or sim.
    world: &'a str,
    /// Where live probes went.
    target: Option<&'a str>,
    /// Of the order, the pacing and the fill.
    seed: Option<u64>,
}

/// Factors and the labels of their levels.
pub fn factors(factors: &[Factor]) -> BTreeMap<&str, &str> {
    let labels = factors.iter();
    labels
        .map(|(name, level)| (name.as_str(), level.label.as_str()))
        .collect()
}

impl<'a> Line<'a> {
    /// Of a probe of a trial.
    pub fn trial(row: &'a TrialRow, summary: &Summary) -> Self {
        let trial = Trial {
            trial: row.trial,
            probe: &row.probe_name,
            method: row.method,
            repeat: row.repeat,
            factors: factors(&row.factors),
            results: Results::new(summary, &row.facts, &[]),
            flaws: &row.facts.flaws,
        };
        Self::new(What::Trial(Box::new(trial)))
    }

    /// Of a run that is over, which this host measured when these words asked for it.
    pub fn run(
        data: &'a RunData,
        judged: &'a [Judged],
        report: Option<&'a str>,
        system_info: &'a SystemInfo,
        supplied: &'a [String],
    ) -> Self {
        let mut tally = BTreeMap::new();
        for verdict in delaylab_lab::finding::Verdict::ALL {
            let of_it = judged.iter().filter(|it| it.verdict == verdict);
            tally.insert(verdict.name().replace(' ', "_"), of_it.count());
        }
        let head = &data.head;
        let run = Run {
            version: env!("CARGO_PKG_VERSION"),
            system_info,
            config: Config {
                name: &head.name,
                title: &head.title,
                world: &head.world,
                target: head.target.as_deref(),
                seed: head.seed,
            },
            supplied,
            folder: &head.folder,
            tally,
            findings: judged,
            report,
            problems: &data.problems,
            benchmark: data.benchmark.as_ref(),
        };
        Self::new(What::Run(Box::new(run)))
    }

    const fn new(what: What<'a>) -> Self {
        Self {
            schema: SCHEMA,
            what,
        }
    }

    /// Writes the line and a line feed.
    pub fn write(&self, out: impl Write) -> io::Result<()> {
        write_line(self, out)
    }
}

/// The JSON Schema (draft 2020-12) of [`Line`].
pub fn schema() -> serde_json::Value {
    schema_of::<Line<'_>>()
}
