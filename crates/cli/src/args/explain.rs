//! `delaylab explain`.

use super::experiment::RUNS;
use clap::Args;
use std::path::PathBuf;

/// The baseline that is no run.
pub const IDLE: &str = "idle";

/// Explain what is slow in a run and why packets were late: worst cause first, with evidence and remedy
#[derive(Debug, Args)]
#[command(after_help = "\
A combination of levels is slow if it takes a quarter longer than the best one with the same load. Without \
another one, or with `--baseline idle`, it is compared with the minimum delay of the path: transmission time, \
propagation and the `latency` of switches, without any queue.

A packet is late if its response is longer than the median of its stream by four interquartile \
ranges and at least 10 us, or far longer than most where more than a quarter are held up. Each late packet is attributed to one cause: the stage that took \
longer than usual, and within it who had the CPU, or which queue held the packet.

Examples:
  delaylab explain                        the last run
  delaylab explain runs/ping-2026 -v      every cause
  delaylab explain bufferbloat --baseline idle
  delaylab explain latest --json | jq '.causes[0]'")]
pub struct ExplainArgs {
    /// The run: directory, name, `latest`, or an experiment's name (its newest run)
    #[arg(default_value = "latest")]
    pub run: String,

    /// Compare with this run; or with `idle`, the minimum delay of the path
    #[arg(long, alias = "against", value_name = "RUN|idle")]
    pub baseline: Option<String>,

    /// Directory of runs
    #[arg(long, value_name = "DIR", default_value = RUNS)]
    pub runs: PathBuf,

    /// Show every cause and change
    #[arg(short, long, conflicts_with = "json")]
    pub verbose: bool,

    /// Print one JSON document
    #[arg(long)]
    pub json: bool,

    /// Also write to this file what a terminal would show: for programs that show it and read the document
    #[arg(long, value_name = "FILE", requires = "json", hide = true)]
    pub text_file: Option<PathBuf>,
}
