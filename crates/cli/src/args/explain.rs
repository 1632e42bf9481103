//! `delaylab explain`.

use super::experiment::RUNS;
use clap::Args;
use std::path::PathBuf;

/// The baseline that is no run.
pub const IDLE: &str = "idle";

/// Explain what is slow in a run and why packets were late: worst cause first, with evidence and remedy
#[derive(Debug, Args)]
#[command(after_help = "\
A combination (one level of each factor) is slow if it takes a quarter longer, and 10 us, than the best one with the same \
probe, load and state of the host. Without another one, or with `--baseline idle`, it is compared with the minimum delay of the path, \
calculated from the experiment's [path] (sim and testbed only): transmission time, propagation and the `latency` of \
switches, without any queue.

A packet is late if it took far longer than the others, also if it was answered in time (in `ping`, late means after \
the time-out): its response is longer than the median of its stream by four interquartile ranges and at least 10 us, or far \
longer than most where more than a quarter are held up. Each late packet is attributed to one cause: the stage that took \
longer than usual, and within it who had the CPU, or which queue held the packet.

Examples:
  delaylab explain                        the last run
  delaylab explain ping-192-0-2-1 -v      the newest ping of 192.0.2.1; every cause
  delaylab explain bufferbloat --baseline idle
  delaylab explain latest --json | jq '.causes[0]'")]
pub struct ExplainArgs {
    /// The run: folder, name (also without its time: the newest one), folder of runs (the newest in it), or `latest`
    #[arg(default_value = "latest")]
    pub run: String,

    /// Compare with this run; or with `idle`: the calculated minimum delay of the path, in sim and testbed only (not the case
    /// `idle` of a ping under load)
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
