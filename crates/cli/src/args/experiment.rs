//! `delaylab list`, `check`, `run`, `resume` and `report`.

use super::load::LoadServerArgs;
use clap::Args;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Where runs are kept unless the user says otherwise.
pub const RUNS: &str = "runs";

/// What there is to run
#[derive(Debug, Args)]
pub struct ListArgs {
    /// List the runs in this directory, too
    #[arg(short, long, value_name = "DIR", default_value = RUNS)]
    pub output: PathBuf,

    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// What all commands know that read an experiment.
#[derive(Debug, Args)]
pub struct ChoiceArgs {
    /// Name of an experiment of the catalogue (`delaylab list`), or a file
    #[arg(value_name = "NAME|FILE")]
    pub experiment: String,

    /// Carry it out here instead of where the file says
    #[arg(long, value_parser = ["live", "testbed", "sim"])]
    pub world: Option<String>,

    /// Less of everything, as the file's section `quick` says
    #[arg(long)]
    pub quick: bool,

    /// Probe this host, in the world `live`, instead of a reflector of the run's own
    #[arg(short, long, value_name = "HOST")]
    pub target: Option<String>,

    /// Port of the target's reflector [default: 8862; stamp: 862]
    #[arg(long, requires = "target")]
    pub port: Option<u16>,

    /// Show this run as the measured part: its directory, its name, or `latest`
    #[arg(long, value_name = "RUN")]
    pub measured: Option<String>,

    /// Set one thing: probe.echo.count=50, sweep.size.to=["64B","1KiB"]; may be given more than once
    #[arg(long = "set", value_name = "PATH=VALUE", value_parser = setting)]
    pub sets: Vec<(String, String)>,

    /// Random numbers start here [default: the file's; else drawn and recorded, in sim 1]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

/// Say what an experiment would do: trials, their order, the time they take
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  delaylab check wait-time-jitter
  delaylab check my.toml --set probe.echo.count=50
  delaylab check my.toml --from latest      would it decide its findings, by what the last run measured?")]
pub struct CheckArgs {
    /// Which, and how.
    #[command(flatten)]
    pub choice: ChoiceArgs,

    /// Expect of each finding what this run of the same experiment measured: its directory, its name, or `latest`
    /// [default: the newest in the same world with the same trials, however many packets it had]
    #[arg(long, value_name = "RUN")]
    pub from: Option<String>,

    /// Where runs are
    #[arg(long, value_name = "DIR", default_value = RUNS)]
    pub runs: PathBuf,

    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Carry an experiment out, record it, judge its findings
#[derive(Debug, Args)]
#[command(after_help = "\
The run is a directory of its own, which any tool that reads Parquet can read. Ctrl-C or a crash \
leaves what was recorded; `delaylab resume` goes on from there.

Examples:
  delaylab run wait-time-jitter --quick                    against a reflector of its own
  delaylab run wait-time-jitter --quick --tui              the same, to watch
  delaylab run packet-size-latency --target 192.0.2.1      against `delaylab reflect` there
  delaylab run my.toml --set host.condition=quiet -o /data/runs")]
pub struct RunArgs {
    /// Which, and how.
    #[command(flatten)]
    pub choice: ChoiceArgs,

    /// Key shared with the target's reflector [env: DELAYLAB_KEY holds the key itself]
    #[arg(long, value_name = "FILE", requires = "target")]
    pub key_file: Option<PathBuf>,

    /// Send load, or more than 1000 packets or 10 Mbit in a second, to a host that is not this one
    #[arg(long)]
    pub allow_load: bool,

    /// Who takes load.
    #[command(flatten)]
    pub load: LoadServerArgs,

    /// sim: so many trials at once [default: one for each CPU]. What is recorded does not depend on it
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,

    /// Show the trial under way live, full screen: distribution, anatomy, responses of late, excursions
    /// (q stops, ? shows keys)
    #[arg(long, conflicts_with_all = ["quiet", "json"])]
    pub tui: bool,

    /// How it is shown.
    #[command(flatten)]
    pub shown: ShownArgs,
}

/// Where a run goes and how it is told of.
#[derive(Debug, Args)]
pub struct ShownArgs {
    /// Make the run in this directory
    #[arg(short, long, value_name = "DIR", default_value = RUNS)]
    pub output: PathBuf,

    /// Print one line of JSON a trial, and one with the findings at the end
    #[arg(long)]
    pub json: bool,

    /// No progress
    #[arg(short, long)]
    pub quiet: bool,

    /// Print the reason and every number of each finding, too
    #[arg(short, long)]
    pub verbose: bool,

    /// Write no page: `delaylab report` does, at any time
    #[arg(long)]
    pub no_report: bool,
}

/// Go on with a run that was interrupted
#[derive(Debug, Args)]
#[command(after_help = "\
Trials that are complete stay as they are. The one that was interrupted is repeated; what it had \
recorded is kept apart, in interrupted.arrow.")]
pub struct ResumeArgs {
    /// The run: its directory (NAME-TIME.partial), its name, or `latest`
    pub run: String,

    /// Port of the target's reflector [default: 8862; stamp: 862]
    #[arg(long)]
    pub port: Option<u16>,

    /// Key shared with the target's reflector [env: DELAYLAB_KEY holds the key itself]
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,

    /// Who takes load.
    #[command(flatten)]
    pub load: LoadServerArgs,

    /// sim: so many trials at once [default: one for each CPU]. What is recorded does not depend on it
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,

    /// Show the trial under way live, full screen: distribution, anatomy, responses of late, excursions
    /// (q stops, ? shows keys)
    #[arg(long, conflicts_with_all = ["quiet", "json"])]
    pub tui: bool,

    /// How it is shown.
    #[command(flatten)]
    pub shown: ShownArgs,
}

/// Show a run: tables here, an HTML page, figures
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// The run: its directory, its name, or `latest`
    #[arg(default_value = "latest")]
    pub run: String,

    /// Where runs are
    #[arg(long, value_name = "DIR", default_value = RUNS)]
    pub runs: PathBuf,

    /// Write the page here instead of into the run; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Write each figure as SVG into this directory, too
    #[arg(long, value_name = "DIR")]
    pub svg: Option<PathBuf>,

    /// Print the reason and every number of each finding, too
    #[arg(short, long)]
    pub verbose: bool,

    /// Compare with another run of the same experiment: one table of what both have, and nothing else
    #[arg(long, value_name = "RUN", conflicts_with_all = ["output", "svg"])]
    pub beside: Option<String>,
}

/// `PATH=VALUE`.
pub fn setting(text: &str) -> Result<(String, String), String> {
    let (path, value) = text.split_once('=').ok_or_else(|| {
        format!("`{text}` sets nothing: write PATH=VALUE, for example probe.echo.count=50")
    })?;
    Ok((path.trim().to_owned(), value.trim().to_owned()))
}
