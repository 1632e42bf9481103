//! `delaylab calibrate` and `delaylab predict`.

use super::experiment::{RUNS, setting};
use clap::Args;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Estimate what a measured path consists of: hosts, rate, buffer, discipline; and check the model
#[derive(Debug, Args)]
#[command(after_help = "\
Of a run with trials without load and trials whose probes overflow a buffer (`delaylab run calibration` \
is one): what the hosts cost a packet and a byte, the bottleneck's rate, whether a link, a shaper or a \
policer has it, its buffer and discipline, and what the run does not identify. The model is an experiment for the world sim; it is run, and both distributions are \
compared. All of it goes into a new folder in the run, RUN/models/NAME-model-TIME; nothing measured changes.

Examples:
  delaylab run calibration --quick && delaylab calibrate latest
  delaylab calibrate latest --json
  delaylab calibrate latest --strict        1 unless all that the model needs is identified")]
pub struct CalibrateArgs {
    /// Which run, and how it is shown.
    #[command(flatten)]
    pub of: MeasuredRunArgs,
}

/// Predict how a change would affect a measured path
#[derive(Debug, Args)]
#[command(after_help = "\
Calibrates the run, changes its model and simulates both. The change is simulated nine times, each time with \
other packets and another path that the calibration allows: their median is predicted. The range has what a \
new run of the same length shows, 95 times of 100; how far the model was off before the change is in it.
Only what the run had can be changed. For another flow, add it to a copy of the model.toml that \
`calibrate` wrote, run that, and `compare` it with the model's run.

Examples:
  delaylab predict latest --set path.switch.discipline=fq-codel
  delaylab predict latest --set path.rate=20Mbit/s --set path.switch.buffer=30kB
  delaylab predict latest --set path.switch.shaper.rate=8Mbit/s \\
      --set path.switch.shaper.burst=15kB
  delaylab predict latest --set probe.flood.pacing.load=8%")]
pub struct PredictArgs {
    /// Which run, and how it is shown.
    #[command(flatten)]
    pub of: MeasuredRunArgs,

    /// Set a value of the model: a dotted path and a value, as in an experiment
    #[arg(long = "set", value_name = "PATH=VALUE", value_parser = setting, required = true)]
    pub sets: Vec<(String, String)>,
}

/// A run, and how what is found is shown.
#[derive(Debug, Args)]
pub struct MeasuredRunArgs {
    /// The run: folder, name (also without its time: the newest one), folder of runs (the newest in it), or `latest`
    pub run: String,

    /// Directory of runs
    #[arg(long, value_name = "DIR", default_value = RUNS)]
    pub runs: PathBuf,

    /// Print one JSON document
    #[arg(long)]
    pub json: bool,

    /// Also write to this file what a terminal would show: for programs that show it and read the document
    #[arg(long, value_name = "FILE", requires = "json", hide = true)]
    pub text_file: Option<PathBuf>,

    /// Exit with 1 if the model assumes something that the run does not identify
    #[arg(long)]
    pub strict: bool,

    /// Show no progress
    #[arg(short, long)]
    pub quiet: bool,

    /// Number of the model's trials at once [default: one for each CPU]; results do not depend on it
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
}
