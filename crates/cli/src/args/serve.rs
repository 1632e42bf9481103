//! `delaylab serve`.

use super::experiment::RUNS;
use clap::Args;
use std::net::IpAddr;
use std::path::PathBuf;

/// Serve runs as pages for a browser: the list, a run, a comparison, a run in progress
#[derive(Debug, Args)]
#[command(after_help = "\
It serves this host alone, on http://127.0.0.1:8864/. Nothing is loaded from elsewhere, and \
nothing can be changed. On an address that other hosts can reach it asks for a token, which its \
file holds; without TLS, that is for networks that you trust.

Examples:
  delaylab serve                                      the runs in ./runs
  delaylab serve /data/runs --port 9000
  delaylab serve --listen 192.0.2.7 --token-file t    then open http://192.0.2.7:8864/?token=TOKEN")]
pub struct ServeArgs {
    /// Directory of runs
    #[arg(value_name = "DIR", default_value = RUNS)]
    pub runs: PathBuf,

    /// Port; 0 takes one that is free
    #[arg(short, long, value_name = "PORT", default_value_t = 8864)]
    pub port: u16,

    /// Serve on this address; any but a loopback address asks for a token
    #[arg(short, long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub listen: IpAddr,

    /// Answer only those who have the token in this file: at least 16 letters, digits, - and _
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
}
