//! `delaylab list`, `check`, `run`, `resume` and `report`.

use super::load::LoadServerArgs;
use super::values;
pub use crate::output::RUNS;
use clap::Args;
use delaylab_model::experiment::WorldName;
use delaylab_model::shard::Shard;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// List the experiments that come with delaylab, and the recorded runs
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Also list the runs in this directory
    #[arg(long, alias = "output", short_alias = 'o', value_name = "DIR", default_value = RUNS)]
    pub runs: PathBuf,

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

    /// World to run it in [default: the file's]
    #[arg(long, value_parser = values::world())]
    pub world: Option<WorldName>,

    /// Shorter run for a first look, by the file's section `quick`
    #[arg(long)]
    pub quick: bool,

    /// Probe this host; implies `--world live` [default: in world `live` a reflector that the run starts itself]
    #[arg(short, long, value_name = "HOST")]
    pub target: Option<String>,

    /// Port of the target's reflector [default: 8862; stamp: 862]
    #[arg(long, requires = "target")]
    pub port: Option<u16>,

    /// Show the results of this earlier run as measured values in the new run's figures and tables, for example next
    /// to simulated ones: folder, name (also without its time: the newest one), or `latest`
    #[arg(long, value_name = "RUN")]
    pub measured: Option<String>,

    /// Set a value: probe.echo.count=50, sweep.size.to=["64B","1KiB"]; may be given more than once
    #[arg(long = "set", value_name = "PATH=VALUE", value_parser = setting)]
    pub sets: Vec<(String, String)>,

    /// Random seed [default: the file's; otherwise drawn and recorded, in sim 1]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

/// Check an experiment and show what it would do: trials, their order, the time they take
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

    /// Forecast the findings from this run of the same experiment: folder, name (also without its time: the newest one), or
    /// `latest` [default: the newest in the same world with the same trials, whatever its number of packets]
    #[arg(long, value_name = "RUN")]
    pub from: Option<String>,

    /// Directory of runs
    #[arg(long, value_name = "DIR", default_value = RUNS)]
    pub runs: PathBuf,

    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Run an experiment, record it, and judge its findings
#[derive(Debug, Args)]
#[command(after_help = "\
The run is a directory of its own, which any tool that reads Parquet can read. Ctrl-C or a crash \
leaves what was recorded; `delaylab resume latest` continues from there.

Examples:
  delaylab run wait-time-jitter --quick                    against a reflector of its own
  delaylab run wait-time-jitter --quick --tui              the same, to watch
  delaylab run packet-size-latency --target 192.0.2.1      against `delaylab reflect` there
  delaylab run my.toml --set host.condition=quiet -o /data/runs
  delaylab run my.toml --world sim --shard 3/16            one of 16 processes, on any machine")]
pub struct RunArgs {
    /// Which, and how.
    #[command(flatten)]
    pub choice: ChoiceArgs,

    /// Key shared with the target's reflector [env: DELAYLAB_KEY holds the key itself]
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,

    /// Send load, or more than 1000 packets or 10 Mbit in a second, to a host that is not this one
    #[arg(long)]
    pub allow_load: bool,

    /// Who takes load.
    #[command(flatten)]
    pub load: LoadServerArgs,

    /// In sim: number of trials at once [default: one for each CPU]; results do not depend on it
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,

    /// In sim: carry out only this share of the trials, the third of 16 as 3/16, here or on another machine;
    /// `delaylab merge` makes one run of all
    #[arg(long, value_name = "N/SHARDS")]
    pub shard: Option<Shard>,

    /// Show the current trial live, full screen: distribution, anatomy, recent responses, excursions (q stops,
    /// ? shows keys)
    #[arg(long, conflicts_with_all = ["quiet", "json"])]
    pub tui: bool,

    /// How it is shown.
    #[command(flatten)]
    pub shown: ShownArgs,
}

/// Where a run goes and how it is told of.
#[derive(Debug, Args)]
pub struct ShownArgs {
    /// Directory in which the run is created
    #[arg(short, long, value_name = "DIR", default_value = RUNS)]
    pub output: PathBuf,

    /// Print a line of JSON for each probe of each trial, and one for the run with its findings
    #[arg(long)]
    pub json: bool,

    /// Show no progress; tables are printed
    #[arg(short, long)]
    pub quiet: bool,

    /// Also print the reason and every number of each finding
    #[arg(short, long)]
    pub verbose: bool,

    /// Do not write the HTML page (`delaylab report` writes it at any time)
    #[arg(long)]
    pub no_report: bool,
}

impl ShownArgs {
    /// Of a run that is one step of what its command does.
    pub fn of_a_step(output: PathBuf, quiet: bool, no_report: bool) -> Self {
        Self {
            output,
            json: false,
            quiet,
            verbose: false,
            no_report,
        }
    }
}

/// Resume an interrupted run
#[derive(Debug, Args)]
#[command(mut_arg("output", |output| output.help("Directory of runs, in which it is looked for by name: the run stays where it is")))]
#[command(after_help = "\
Trials that are complete stay as they are. The one that was interrupted is repeated; what it had \
recorded is kept apart, in interrupted.arrow. Packets and load go where they went when the run began.

A ping, and a probe that runs until it is stopped, are not repeated: what they recorded becomes a complete run.")]
pub struct ResumeArgs {
    /// The run: folder (NAME-TIME.partial), name (also without its time: the newest one), or `latest`, the one that was
    /// interrupted last
    pub run: String,

    /// Port of the target's reflector [default: 8862; stamp: 862]
    #[arg(long)]
    pub port: Option<u16>,

    /// Key shared with the target's reflector [env: DELAYLAB_KEY holds the key itself]
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,

    /// Send load, or more than 1000 packets or 10 Mbit in a second, to a host that is not this one, where this was not
    /// allowed when the run began
    #[arg(long)]
    pub allow_load: bool,

    /// Who takes load.
    #[command(flatten)]
    pub load: LoadServerArgs,

    /// In sim: number of trials at once [default: one for each CPU]; results do not depend on it
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,

    /// Show the current trial live, full screen: distribution, anatomy, recent responses, excursions (q stops,
    /// ? shows keys)
    #[arg(long, conflicts_with_all = ["quiet", "json"])]
    pub tui: bool,

    /// How it is shown.
    #[command(flatten)]
    pub shown: ShownArgs,
}

/// Make one run of the shards of an experiment (`delaylab run --shard`)
#[derive(Debug, Args)]
#[command(mut_arg("output", |output| output.help("Directory in which the run is created, and shards are looked for by name")))]
#[command(after_help = "\
The run is the same, byte for byte in every table, as if one process had carried out all trials. The shards stay as \
they are. A trial may be in more than one of them, as where a shard was killed and run again. Where the tables cannot be \
joined, as on a full disk, the run is left unfinished, and `delaylab resume` finishes it.

Examples:
  delaylab merge runs/my-shard-*
  delaylab merge /shared/my-shard-* -o runs")]
pub struct MergeArgs {
    /// The shards: folders (NAME-shard-N-of-SHARDS-TIME.partial) or names (also without their time: the newest one)
    #[arg(required = true, value_name = "RUN")]
    pub shards: Vec<String>,

    /// How it is shown.
    #[command(flatten)]
    pub shown: ShownArgs,
}

/// Show a run: tables, an HTML page, figures
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  delaylab report                                       the last run; its page is in its directory
  delaylab report latest --figure cumulative -o x.pdf   one figure, for a paper
  delaylab report latest --table summary -o x.tex       one table, the same way
  delaylab report latest --table records -o x.csv       every packet")]
pub struct ReportArgs {
    /// The run: folder, name (also without its time: the newest one), folder of runs (the newest in it), or `latest`
    #[arg(default_value = "latest")]
    pub run: String,

    /// Directory of runs
    #[arg(long, value_name = "DIR", default_value = RUNS)]
    pub runs: PathBuf,

    /// Write the page here instead of into the run, and tables of a device benchmark next to it (FILE.benchmark.md); with --figure or --table, that; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Write this figure and nothing else: to FILE.svg, .png, .pdf, or .json (Vega-Lite with its data)
    #[arg(long, value_name = "NAME", conflicts_with_all = ["table", "svg", "compare_with"])]
    pub figure: Option<String>,

    /// Write this table and nothing else: to FILE.csv, .parquet, or .tex (LaTeX). `summary`, `findings`, or what was recorded, as trials and records
    #[arg(long, value_name = "NAME", conflicts_with_all = ["svg", "compare_with"])]
    pub table: Option<String>,

    /// Also write each figure as SVG into this directory
    #[arg(long, value_name = "DIR")]
    pub svg: Option<PathBuf>,

    /// Also print the reason and every number of each finding
    #[arg(short, long)]
    pub verbose: bool,

    /// Show this run and another run of the same experiment in one table, and nothing else (`delaylab compare` says
    /// whether they differ)
    #[arg(long, alias = "beside", value_name = "RUN", conflicts_with_all = ["output", "svg"])]
    pub compare_with: Option<String>,
}

/// `PATH=VALUE`.
pub fn setting(text: &str) -> Result<(String, String), String> {
    let (path, value) = text.split_once('=').ok_or_else(|| {
        format!("`{text}` sets nothing: write PATH=VALUE, for example probe.echo.count=50")
    })?;
    Ok((path.trim().to_owned(), value.trim().to_owned()))
}
