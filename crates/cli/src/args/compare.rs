//! `delaylab compare`.

use super::experiment::RUNS;
use clap::Args;
use delaylab_lab::finding::{Limit, Measure};
use std::path::PathBuf;

/// Compare two runs: what changed, by how much, and how certain that is
#[derive(Debug, Args)]
#[command(after_help = "\
The same probes under the same levels are compared: shifts of mean and quantiles with their \
intervals, in which stage they arise, loss, and what else differs. Conditions of --fail-if:
  p99(response) > +10%      B's is more than 10 % longer than A's; +2ms: by more than 2 ms
  p99(response) > 30ms      B's own
  lost > 1%                 share of packets without an answer; lost > +1%: that much more
Statistics and selectors are those of findings: mean, sd, p50, p999, max, p99(response | wait=1ms), \
share(response > 10ms); `for each wait: p99(response) > +10%`. A condition holds if the estimate is beyond \
the bound and its interval leaves out that nothing changed.

Exit codes: 0 no condition holds, or it is undecided; 1 one holds, or with --strict is undecided; 2 what was \
typed cannot be done; 3 a run cannot be read.

Examples:
  delaylab compare before after        two folders of runs, each made by `delaylab run -o FOLDER`
  delaylab compare before latest --fail-if 'p99(response) > +10%' --fail-if 'lost > 1%'
  delaylab compare ping-192-0-2-1-20260102T030405Z latest -o changes.html    a page with a figure")]
pub struct CompareArgs {
    /// The first run: folder, name (also without its time: the newest one), folder of runs (the newest in it), or `latest`
    pub a: String,

    /// The second run, compared with the first
    pub b: String,

    /// Directory of runs
    #[arg(long, value_name = "DIR", default_value = RUNS)]
    pub runs: PathBuf,

    /// Exit with 1 if this condition holds; may be given more than once
    #[arg(long, value_name = "CONDITION", value_parser = limit)]
    pub fail_if: Vec<Limit>,

    /// Exit with 1 also if the data cannot decide whether a condition holds
    #[arg(long, requires = "fail_if")]
    pub strict: bool,

    /// Measures to compare, separated by commas [default: response, round_trip, network, host, and every
    /// stage]. The verdict is about the first
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = measure)]
    pub measure: Vec<Measure>,

    /// Write to this file: .html (a page with a figure), .json (a document), .svg (the figure); `-` writes
    /// the page to standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Reads a condition.
pub(super) fn limit(text: &str) -> Result<Limit, String> {
    Limit::parse(text).map_err(|error| format!("\n{}", error.pretty(text)))
}

fn measure(text: &str) -> Result<Measure, String> {
    let measures = || Measure::all().filter(|measure| is_of_packets(*measure));
    let found = Measure::named(text).filter(|measure| is_of_packets(*measure));
    found.ok_or_else(|| {
        let names: Vec<_> = measures().map(Measure::name).collect();
        format!("it is one of {}", names.join(", "))
    })
}

fn is_of_packets(measure: Measure) -> bool {
    !measure.is_of_flow() && !measure.is_of_trial() && measure != Measure::PeriodicCause
}
