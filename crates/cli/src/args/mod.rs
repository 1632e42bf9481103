//! The command line: what can be typed, and nothing else.
//!
//! `--help`, the man page and the completions all come from these types.

pub mod bench;
pub mod calibrate;
pub mod cells;
pub mod compare;
pub mod doctor;
pub mod experiment;
pub mod explain;
mod guide;
pub mod import;
pub mod load;
pub mod ping;
pub mod reflect;
pub mod serve;
pub mod server;
pub mod testbed;
pub mod trace;
pub mod values;
pub mod verify;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use delaylab_view::json::{Listed, PUBLISHED};

/// A laboratory for network delay: measure it, divide it into stages, attribute it to causes.
#[derive(Debug, Parser)]
#[command(
    name = "delaylab",
    version,
    propagate_version = true,
    max_term_width = 100
)]
#[command(
    after_help = "Exit codes: 0 fine, 1 unreachable or a condition failed, 2 usage, 3 environment or privilege, 4 internal."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Probe a target and show where the time goes, in the hosts and in the network
    Ping(Box<ping::PingArgs>),
    /// Trace the path to a target by traffic class: hops, loss, delay, marks and labels side by side
    Trace(Box<trace::TraceArgs>),
    /// Answer probes (udp echo, tcp ping-pong, STAMP) and accept load
    Reflect(Box<reflect::ReflectArgs>),
    /// Check what this host can measure, what is missing, and how to get it
    Doctor(doctor::DoctorArgs),
    /// List the experiments that come with delaylab, and the recorded runs
    List(experiment::ListArgs),
    /// Check an experiment and show what it would do: trials, their order, the time they take
    Check(experiment::CheckArgs),
    /// Run an experiment, record it, and judge its findings
    Run(Box<experiment::RunArgs>),
    /// Resume an interrupted run
    Resume(experiment::ResumeArgs),
    /// Make one run of the shards of an experiment (`delaylab run --shard`)
    Merge(experiment::MergeArgs),
    /// Show a run: tables, an HTML page, figures
    Report(experiment::ReportArgs),
    /// Explain what is slow in a run and why packets were late: worst cause first, with evidence and remedy
    Explain(explain::ExplainArgs),
    /// Estimate what a measured path consists of: hosts, rate, buffer, discipline; and check the model
    Calibrate(calibrate::CalibrateArgs),
    /// Predict how a change would affect a measured path
    Predict(calibrate::PredictArgs),
    /// Serve runs as pages for a browser: the list, a run, a comparison, a run in progress
    Serve(serve::ServeArgs),
    /// Compare two runs: what changed, by how much, and how certain that is
    Compare(compare::CompareArgs),
    /// Check that the files of runs are as recorded
    Verify(verify::VerifyArgs),
    /// Convert what other tools measured into a run: ping, fping, irtt, sockperf, mtr, iperf3, captures
    Import(import::ImportArgs),
    /// Benchmark a device: throughput, latency, loss, bursts, buffers (RFC 2544, 9004, 8239, 9971)
    Bench(Box<bench::BenchArgs>),
    /// Detect whether a line carries packets in cells (ATM), with their overhead and rate
    Cells(Box<cells::CellsArgs>),
    /// Build a testbed of network namespaces by hand
    Testbed(testbed::TestbedArgs),
    /// Print a completion script for a shell
    Completions {
        /// For which shell.
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Print the man page (roff) of delaylab or of one of its commands
    Man {
        /// Which command; none is delaylab itself.
        command: Option<String>,
    },
    /// Print a JSON Schema of what delaylab writes
    Schema {
        /// Which document.
        #[arg(value_parser = published())]
        document: &'static Listed,
    },
}

/// The command line as it is shown and read: the help of each command ends with its page of the guide.
pub fn command() -> clap::Command {
    guide::linked(Cli::command())
}

/// What was typed. What cannot be read is said, and the process ends.
pub fn typed() -> Cli {
    let mut command = command();
    let matches = command.get_matches_mut();
    Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.format(&mut command).exit())
}

/// The command line, word by word.
pub fn supplied() -> Vec<String> {
    let words = std::env::args_os();
    words
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}

/// The name of a published schema. Help says what prints it.
fn published() -> impl TypedValueParser<Value = &'static Listed> {
    let names = PUBLISHED
        .iter()
        .map(|listed| PossibleValue::new(listed.name).help(format!("`{}`", listed.printed_by)));
    PossibleValuesParser::new(names).try_map(|name| {
        let named = PUBLISHED.iter().find(|listed| listed.name == name);
        named.ok_or("no document")
    })
}
