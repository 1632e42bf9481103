//! `delaylab bench`.

use super::experiment::ShownArgs;
use super::values;
use clap::{Args, Subcommand};
use delaylab_model::dscp::Dscp;
use delaylab_model::experiment::WorldName;
use std::num::NonZeroUsize;

/// Benchmark a device: throughput, latency, loss, bursts, buffers (RFC 2544, 9004, 8239, 9971)
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    arg_required_else_help = true,
    after_help = "\
Without --port the device is one that delaylab builds: a soft switch between namespaces (testbed), \
or a simulated one (sim). A run is a directory as any other: `delaylab resume` continues it, and \
`delaylab report` shows it again. What is left out is as the RFC asks, which takes hours; --quick \
takes a minute or two, and the report says that it does not conform.

Examples:
  delaylab bench list
  delaylab bench throughput --quick
  delaylab bench buffer-time --size 64B,512B --egress-rate 10Mbit/s --buffer 64KiB --quick
  delaylab bench latency --world sim --set path.switch.latency=12us
  delaylab bench throughput --port eth1 --port eth2 --rate 1Gbit/s --set design.procedure.trial=13s"
)]
pub struct BenchArgs {
    /// Say what there is.
    #[command(subcommand)]
    pub command: Option<BenchCommand>,

    /// What to carry out.
    #[command(flatten)]
    pub procedure: ProcedureArgs,
}

/// Beside the procedures.
#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// List the procedures, two lines each
    List {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
}

/// A procedure, its device and how to search.
#[derive(Debug, Args)]
pub struct ProcedureArgs {
    /// Which procedure: `delaylab bench list` has them
    #[arg(value_name = "PROCEDURE")]
    pub name: Option<String>,

    /// Where the device is [default: testbed; with --port: live]
    #[arg(long, value_parser = values::world())]
    pub world: Option<WorldName>,

    /// An interface of this host that the device is at. The last one receives; may be given more than once
    #[arg(long = "port", value_name = "INTERFACE")]
    pub ports: Vec<String>,

    /// Frame sizes with the frame check sequence [default: those of RFC 2544, section 9.1]
    #[arg(long = "size", value_name = "SIZE", value_delimiter = ',')]
    pub sizes: Vec<String>,

    /// Line rate of the ports that send [default: 100Mbit/s; live: none, give it]
    #[arg(long, value_name = "RATE")]
    pub rate: Option<String>,

    /// Line rate of the port that receives [default: 10Mbit/s; live: as --rate]
    #[arg(long, value_name = "RATE")]
    pub egress_rate: Option<String>,

    /// Ports that send; not of head-of-line-blocking [default: as many as the procedure needs]
    #[arg(long, value_name = "N", conflicts_with = "ports")]
    pub senders: Option<NonZeroUsize>,

    /// Discipline of the device: fifo, red, codel, kernel-tbf and others [default: fifo]
    #[arg(long, value_name = "DISCIPLINE", conflicts_with = "ports")]
    pub device: Option<String>,

    /// Buffer of the device [default: 64KiB]
    #[arg(long, value_name = "SIZE", conflicts_with = "ports")]
    pub buffer: Option<String>,

    /// Traffic class of the frames
    #[arg(long, value_name = "CLASS")]
    pub class: Option<Dscp>,

    /// Tag the frames with this VLAN (802.1Q)
    #[arg(long, value_name = "ID")]
    pub vlan: Option<u16>,

    /// IPv6 in the frames
    #[arg(short = '6', long)]
    pub ipv6: bool,

    /// Shorter run for a first look: short trials, few repeats
    #[arg(long)]
    pub quick: bool,

    /// Set a value of the experiment: path.switch.latency=12us, design.procedure.trial=10s
    #[arg(long = "set", value_name = "PATH=VALUE", value_parser = super::experiment::setting)]
    pub sets: Vec<(String, String)>,

    /// Random seed [default: drawn and recorded; in sim 1]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// Print the experiment as a file for `delaylab run`, and exit
    #[arg(long)]
    pub show_experiment: bool,

    /// How it is shown.
    #[command(flatten)]
    pub shown: ShownArgs,
}
