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
pub mod import;
pub mod load;
pub mod ping;
pub mod reflect;
pub mod serve;
pub mod testbed;
pub mod trace;
pub mod values;
pub mod verify;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Parser, Subcommand};
use delaylab_view::json::{Listed, PUBLISHED};

/// A laboratory for network delay: measure it, take it apart, say whose fault it is.
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
    /// Probe a target and say where the time goes, host and network apart
    Ping(Box<ping::PingArgs>),
    /// Trace the path to a target by traffic class: hops, loss, delay, marks and labels side by side
    Trace(Box<trace::TraceArgs>),
    /// Answer probes: udp echo, tcp ping-pong and STAMP; take load
    Reflect(Box<reflect::ReflectArgs>),
    /// Say what this host can measure, what it lacks and how to get it
    Doctor(doctor::DoctorArgs),
    /// List the experiments that come with delaylab, and the runs that there are
    List(experiment::ListArgs),
    /// Say what an experiment would do: its trials, their order, the time they take
    Check(experiment::CheckArgs),
    /// Carry an experiment out, record it, judge its findings
    Run(Box<experiment::RunArgs>),
    /// Go on with a run that was interrupted
    Resume(experiment::ResumeArgs),
    /// Show a run: tables, an HTML page, figures
    Report(experiment::ReportArgs),
    /// Say why packets of a run were late: worst cause first, with its evidence and what to do
    Explain(explain::ExplainArgs),
    /// Find out what a measured path is made of: hosts, rate, buffer, discipline; and check its model
    Calibrate(calibrate::CalibrateArgs),
    /// Say what a change would make of a measured path
    Predict(calibrate::PredictArgs),
    /// Look at runs in a browser: as they appear, one, two compared, one in progress
    Serve(serve::ServeArgs),
    /// Say what changed between two runs, by how much and how sure that is
    Compare(compare::CompareArgs),
    /// Check that the files of runs are what was recorded
    Verify(verify::VerifyArgs),
    /// Make a run of what other tools measured: ping, fping, irtt, sockperf, mtr, iperf3, captures
    Import(import::ImportArgs),
    /// Benchmark a device: throughput, latency, loss, bursts, buffers (RFC 2544, 9004, 8239, 9971)
    Bench(Box<bench::BenchArgs>),
    /// Say whether a line carries packets in cells (ATM), their overhead and rate
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
