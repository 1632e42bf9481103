//! `delaylab cells`.

use super::experiment::RUNS;
use super::values;
use clap::Args;
use delaylab_model::Nanos;
use delaylab_model::method::Method;
use delaylab_model::units::parse_duration;
use std::num::NonZeroU32;
use std::path::PathBuf;

/// Detect whether a line carries packets in cells (ATM), with their overhead and rate
#[derive(Debug, Args)]
#[command(after_help = "\
Packets of every size over a few cells are sent in random order, one after the other. On a line of \
ATM cells delay rises by a step at each 48 bytes; where the steps begin tells what is added to a \
packet. That is what a shaper in front of a DSL line must know (tc-stab(8), tc-cake(8)).

Examples:
  delaylab cells 192.0.2.1                     a minute of pings, to the other end of the line
  delaylab cells 192.0.2.1 --duration 10min    where the noise is high
  delaylab cells 192.0.2.1 --method udp        against `delaylab reflect` there: each direction")]
pub struct CellsArgs {
    /// Host name or address: at the other end of the line, and close to it
    pub target: String,

    /// Probe method; udp needs `delaylab reflect` at the target, and tells the directions apart
    #[arg(long, default_value = "icmp", value_parser = values::cells_method(), help_heading = "What to send")]
    pub method: Method,

    /// Port of the reflector [default: 8862]
    #[arg(long, help_heading = "What to send")]
    pub port: Option<u16>,

    /// Smallest IP packet [default: 46B, over IPv6 60B; udp: 72B, with a key 88B, over IPv6 20B more]
    #[arg(long, value_name = "SIZE", value_parser = values::size, help_heading = "What to send")]
    pub min_size: Option<u32>,

    /// Largest IP packet [default: five cells more]
    #[arg(long, value_name = "SIZE", value_parser = values::size, help_heading = "What to send")]
    pub max_size: Option<u32>,

    /// Key shared with the reflector, in a file [env: DELAYLAB_KEY holds the key itself]
    #[arg(long, value_name = "FILE", help_heading = "What to send")]
    pub key_file: Option<PathBuf>,

    /// Duration of sending, all sizes together
    #[arg(short = 'w', long, value_name = "TIME", default_value = "1min", value_parser = values::positive_duration, help_heading = "When to send")]
    pub duration: Nanos,

    /// Number of packets of each size instead, sent in two rounds (an odd number is rounded up)
    #[arg(
        short,
        long,
        value_name = "N",
        conflicts_with = "duration",
        help_heading = "When to send"
    )]
    pub count: Option<NonZeroU32>,

    /// Send the next packet this long after each reply
    #[arg(long = "after-reply", alias = "wait", value_name = "TIME", default_value = "1ms", value_parser = parse_duration, help_heading = "When to send")]
    pub wait: Nanos,

    /// Random seed [default: drawn and recorded]
    #[arg(long, value_name = "N", help_heading = "When to send")]
    pub seed: Option<u64>,

    /// Let more than 1000 packets a second leave for a target that is not this host
    #[arg(long, help_heading = "When to send")]
    pub allow_load: bool,

    /// Print the experiment as a file for `delaylab run`, and exit
    #[arg(long, help_heading = "Output")]
    pub show_experiment: bool,

    /// Directory in which the run is created
    #[arg(short, long, value_name = "DIR", default_value = RUNS, help_heading = "Output")]
    pub output: PathBuf,

    /// Print one JSON document
    #[arg(long, help_heading = "Output")]
    pub json: bool,

    /// Show no progress
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,

    /// Do not write the HTML page (`delaylab report` writes it at any time)
    #[arg(long, help_heading = "Output")]
    pub no_report: bool,
}
