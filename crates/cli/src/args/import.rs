//! `delaylab import`.

use super::experiment::RUNS;
use clap::Args;
use delaylab_explain::import::Format;
use std::path::PathBuf;

/// Make a run of what other tools measured: ping, fping, irtt, sockperf, mtr, iperf3, captures
#[derive(Debug, Args)]
#[command(after_help = "\
A file is recognised by its content. What its tool says of its own packets is held against those \
packets; where the two differ, it is said. The run is a directory as any other: `delaylab report` \
shows it again. It holds what the file holds, which is seldom more than a round trip a packet.

Examples:
  delaylab import ping.txt                                 of ping -D -O -c 100 HOST > ping.txt
  fping -D -c 100 192.0.2.1 2>&1 | delaylab import -       as it comes
  delaylab import trace.pcap --json                        of tcpdump -s 128 -w trace.pcap")]
pub struct ImportArgs {
    /// What the other tool wrote; `-` is standard input
    pub file: PathBuf,

    /// Its format, instead of the one that its content tells: capture, irtt, iperf3, mtr-json, mtr-csv,
    /// mtr-report, mtr-raw, sockperf, irtt-text, fping, ping
    #[arg(long, value_name = "NAME", value_parser = format)]
    pub format: Option<Format>,

    /// Make the run in this directory
    #[arg(short, long, value_name = "DIR", default_value = RUNS)]
    pub output: PathBuf,

    /// Print one JSON document
    #[arg(long)]
    pub json: bool,

    /// Write no page: `delaylab report` does, at any time
    #[arg(long)]
    pub no_report: bool,
}

/// A format's name as one word, for flags and names of runs.
pub fn word(format: Format) -> String {
    let words = format.name().split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    words.join("-")
}

fn format(text: &str) -> Result<Format, String> {
    let found = Format::all().find(|&format| word(format) == text || format.name() == text);
    found.ok_or_else(|| {
        let words: Vec<_> = Format::all().map(word).collect();
        format!("it is one of {}", words.join(", "))
    })
}
