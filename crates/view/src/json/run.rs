//! `delaylab run --json`: a line for each probe of each trial, as soon as it is recorded, and one at the end. Results of a
//! trial have the names of a ping's document.

use super::{Head, Levels, Measured, Published, Reasons, Results, levels, some_seed, with_reasons};
use crate::run::RunData;
use delaylab_lab::finding::Judged;
use delaylab_model::method::Method;
use delaylab_model::shard::Shard;
use delaylab_stats::summary::Summary;
use delaylab_store::trial_row::TrialRow;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// A line.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum Line<'a> {
    /// A probe of a trial.
    Trial(Box<Trial<'a>>),
    /// The run, which is over.
    Run(Box<Run<'a>>),
    /// A shard, whose trials are all recorded.
    Shard(Box<ShardOver<'a>>),
}

impl<'a> Published for Line<'a> {
    type Config = Config<'a>;
    const SCHEMA: &'static str = "delaylab/run/5";
    const TITLE: &'static str = "a line of delaylab run --json";
}

/// A probe of a trial that is recorded.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Trial<'a> {
    /// The trial's number.
    trial: u32,
    /// The probe's name.
    probe: &'a str,
    /// How it asks.
    method: Method,
    /// Which repeat of its combination.
    repeat: u32,
    /// Its levels, by factor.
    factors: Levels<'a>,
    /// The same fields as in a ping's document. Sizes and pacing are in the run's `experiment.toml`.
    #[serde(flatten)]
    results: Results<'a>,
    /// How many trials are still to come: with a stop rule at most; null where nothing tells.
    remaining: Option<usize>,
}

/// A share of a run's trials that is recorded.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ShardOver<'a> {
    /// Which host carried it out, and what for.
    #[serde(flatten)]
    head: Head<'a, Config<'a>>,
    /// Which one of how many: `3/16`.
    #[schemars(with = "String")]
    shard: Shard,
    /// How many trials it has.
    trials: usize,
    /// Where it is.
    folder: &'a str,
}

/// A run that is over.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Run<'a> {
    /// Which host carried it out, and what for.
    #[serde(flatten)]
    head: Head<'a, Config<'a>>,
    /// Where it is.
    folder: &'a str,
    /// How many findings came to each verdict.
    tally: BTreeMap<String, usize>,
    /// Each finding and its verdict.
    findings: &'a [Judged],
    /// The page, if there is one.
    report: Measured<&'a str>,
    /// What to check before trusting the figures.
    warnings: &'a [String],
    /// What a procedure of the device benchmark found; null in other runs.
    benchmark: Option<&'a delaylab_procedure::Report>,
    /// Why fields of this object are null.
    #[serde(skip_serializing_if = "Reasons::is_empty")]
    reasons: Reasons,
}

/// What was carried out.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Config<'a> {
    /// The experiment's name.
    pub name: &'a str,
    /// Its title.
    pub title: &'a str,
    /// live, testbed or sim.
    pub world: &'a str,
    /// Where live probes went; null in other worlds.
    pub target: Option<&'a str>,
    /// Seed of the order, the pacing and the fill; null where the run does not say it.
    #[serde(serialize_with = "some_seed")]
    #[schemars(with = "Option<String>")]
    pub seed: Option<u64>,
}

impl<'a> Config<'a> {
    /// Of a run that is over.
    pub fn new(data: &'a RunData) -> Self {
        let head = &data.head;
        Self {
            name: &head.name,
            title: &head.title,
            world: &head.world,
            target: head.target.as_deref(),
            seed: head.seed,
        }
    }
}

impl<'a> Line<'a> {
    /// Of a probe of a trial, after which `remaining` trials are still to come.
    pub fn trial(row: &'a TrialRow, summary: &Summary, remaining: Option<usize>) -> Self {
        let trial = Trial {
            trial: row.trial,
            probe: &row.probe_name,
            method: row.method,
            repeat: row.repeat,
            factors: levels(&row.factors),
            results: Results::new(summary, &row.facts),
            remaining,
        };
        Self::Trial(Box::new(trial))
    }

    /// Of a shard that is recorded in this folder.
    pub fn shard(head: Head<'a, Config<'a>>, shard: Shard, trials: usize, folder: &'a str) -> Self {
        Self::Shard(Box::new(ShardOver {
            head,
            shard,
            trials,
            folder,
        }))
    }

    /// Of a run that is over.
    pub fn run(
        head: Head<'a, Config<'a>>,
        data: &'a RunData,
        judged: &'a [Judged],
        report: Measured<&'a str>,
    ) -> Self {
        let mut tally = BTreeMap::new();
        for verdict in delaylab_lab::finding::Verdict::ALL {
            let of_it = judged.iter().filter(|it| it.verdict == verdict);
            tally.insert(verdict.id(), of_it.count());
        }
        let run = with_reasons!(Run {
            head,
            folder: &data.head.folder,
            tally,
            findings: judged,
            report,
            warnings: &data.problems,
            benchmark: data.benchmark.as_ref(),
        });
        Self::Run(Box::new(run))
    }
}
