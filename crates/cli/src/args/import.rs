//! `delaylab import`.

use super::experiment::RUNS;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use delaylab_explain::import::{Format, Options};
use delaylab_model::{MICROSECOND, MILLISECOND, Nanos, SECOND};
use std::path::PathBuf;

/// Convert what other tools measured into a run: ping and similar tools, traceroutes, captures, any table of delays
#[derive(Debug, Args)]
#[command(after_help = "\
A file is recognised by its content. The tool's own statistics are compared with those \
of its packets, and a difference is reported. The run is a directory as any other: `delaylab report` \
shows it again. It holds what the file holds, which is seldom more than one round trip for each packet.

Examples:
  delaylab import ping.txt                                 of ping -D -O -c 100 HOST > ping.txt
  fping -D -c 100 192.0.2.1 2>&1 | delaylab import -       as it comes
  delaylab import delays.csv.gz --columns time,rtt_ms      any table, packed or not
  delaylab import trace.pcap --json                        of tcpdump -s 128 -w trace.pcap")]
pub struct ImportArgs {
    /// What the other tool wrote; `-` is standard input
    pub file: PathBuf,

    /// Format of the file [default: detected from its content]
    #[arg(long, value_name = "NAME", value_parser = format())]
    pub format: Option<&'static Format>,

    /// For a table: its columns in order, such as `time,rtt_ms`. Known are time and received (with
    /// _s, _ms, _us or _ns, or since 1970, or dates), rtt and one_way_delay (with _s, _ms, _us or _ns), seq,
    /// target, outcome, lost, ttl, size, and `-` for a column without meaning
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    pub columns: Vec<String>,

    /// For a table: unit of its delays, where no column's name says it
    #[arg(long, value_name = "UNIT")]
    pub unit: Option<Unit>,

    /// Directory in which the run is created
    #[arg(short, long, value_name = "DIR", default_value = RUNS)]
    pub output: PathBuf,

    /// Print one JSON document
    #[arg(long)]
    pub json: bool,

    /// Do not write the HTML page (`delaylab report` writes it at any time)
    #[arg(long)]
    pub no_report: bool,
}

/// What a table's delays count.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Unit {
    /// Seconds
    S,
    /// Milliseconds
    Ms,
    /// Microseconds
    Us,
    /// Nanoseconds
    Ns,
}

impl Unit {
    /// In nanoseconds.
    const fn nanos(self) -> Nanos {
        match self {
            Self::S => SECOND,
            Self::Ms => MILLISECOND,
            Self::Us => MICROSECOND,
            Self::Ns => 1,
        }
    }
}

impl ImportArgs {
    /// What the file cannot say itself.
    pub fn options(&self) -> Options {
        Options {
            format: self.format,
            columns: self.columns.clone(),
            unit: self.unit.map(Unit::nanos),
        }
    }
}

/// Every format by its word.
fn format() -> impl TypedValueParser<Value = &'static Format> {
    // clap wants names that live as long as the program.
    let names = Format::all().map(|format| &*format.word().leak());
    PossibleValuesParser::new(names).try_map(|name| Format::named(&name).ok_or("no format"))
}
