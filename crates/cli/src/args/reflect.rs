//! `delaylab reflect`.

use super::values;
use clap::builder::RangedU64ValueParser;
use clap::{Args, ValueEnum, value_parser};
use delaylab_model::Nanos;
use delaylab_model::probe::WaitMode;
use delaylab_traffic::reflector::Prefix;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;

/// Which ways load may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AcceptedLoad {
    /// From the prober to here.
    Up,
    /// That, and to the prober that asks for it.
    Both,
}

/// Answer probes (udp echo, tcp ping-pong, STAMP) and accept load
#[derive(Debug, Args)]
#[command(after_help = "\
Without a key it answers this host alone. For others, give it a key, or say --open and to whom. \
Replies are never longer than requests. Once its ports are bound it gives up every privilege.

Examples:
  delaylab reflect                                      for probes of this host to itself
  delaylab reflect --key-file lab.key                   for everybody who has the key
  delaylab reflect --open --allow 192.0.2.0/24          for a network that you trust
  delaylab reflect --key-file lab.key --accept-load     for `delaylab ping --load`, too")]
pub struct ReflectArgs {
    /// Serve on this address; may be given more than once [default: loopback, or every address with
    /// a key or --open]
    #[arg(short, long, value_name = "ADDRESS")]
    pub bind: Vec<IpAddr>,

    /// Port, or range of ports, of udp and tcp
    #[arg(short, long, value_name = "PORT[-PORT]", default_value = "8862", value_parser = ports)]
    pub port: RangeInclusive<u16>,

    /// Port of STAMP [default: 862]
    #[arg(long, value_name = "PORT", conflicts_with = "no_stamp")]
    pub stamp_port: Option<u16>,

    /// Do not serve STAMP
    #[arg(long)]
    pub no_stamp: bool,

    /// Also accept load and count it, and send load to a prober that asks for it over tcp; =up: accept only
    #[arg(long, value_name = "up", num_args = 0..=1, require_equals = true, default_missing_value = "both", hide_possible_values = true)]
    pub accept_load: Option<AcceptedLoad>,

    /// Port of load, udp and tcp [default: 8863]
    #[arg(long, value_name = "PORT", requires = "accept_load")]
    pub load_port: Option<u16>,

    /// Answer only those who have the key in this file; may be given more than once, with names. SIGHUP
    /// reads them again [env: DELAYLAB_KEY holds the key itself]
    #[arg(long, value_name = "[NAME=]FILE", conflicts_with = "open", value_parser = named_file)]
    pub key_file: Vec<NamedFile>,

    /// With a key: answer STAMP senders whatever their clocks say
    #[arg(long, conflicts_with = "no_stamp")]
    pub stamp_any_clock: bool,

    /// Answer without a key, those that --allow names
    #[arg(long, requires = "allow")]
    pub open: bool,

    /// With --open: answer these addresses; may be given more than once
    #[arg(long, value_name = "PREFIX", requires = "open", value_delimiter = ',')]
    pub allow: Vec<Prefix>,

    /// Also echo udp packets of any kind (RFC 862)
    #[arg(long, conflicts_with = "key_file")]
    pub plain_echo: bool,

    /// Limit of packets answered a second, for one network (/24 or /48)
    #[arg(
        long,
        value_name = "N",
        default_value_t = 100_000,
        value_parser = value_parser!(u64).range(1..),
        help_heading = "Limits"
    )]
    pub max_rate: u64,

    /// Limit of packets answered a second, in total
    #[arg(
        long,
        value_name = "N",
        default_value_t = 200_000,
        value_parser = value_parser!(u64).range(1..),
        help_heading = "Limits"
    )]
    pub max_total_rate: u64,

    /// Limit of the rate of answers to one network; twice that in total
    #[arg(long, value_name = "RATE", default_value = "1Gbit/s", value_parser = values::positive_rate, help_heading = "Limits")]
    pub max_bandwidth: u64,

    /// Number of sessions at once
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1024,
        value_parser = RangedU64ValueParser::<usize>::new().range(1..),
        help_heading = "Limits"
    )]
    pub max_sessions: usize,

    /// End a session after this time
    #[arg(long, value_name = "TIME", default_value = "24h", value_parser = values::positive_duration, help_heading = "Limits")]
    pub max_duration: Nanos,

    /// Answer no larger payload
    #[arg(long, value_name = "SIZE", default_value = "65535B", value_parser = values::positive_size, help_heading = "Limits")]
    pub max_size: u32,

    /// How to wait for packets: block (sleep in the kernel) or spin (poll while packets come: uses a whole CPU, and adds no
    /// wake-up delay)
    #[arg(long, value_name = "MODE", default_value = "block", value_parser = values::wait_mode())]
    pub wait_mode: WaitMode,

    /// Print errors only
    #[arg(short, long)]
    pub quiet: bool,

    /// Exit when standard input ends
    #[arg(long, hide = true)]
    pub with_input: bool,
}

/// A key's file and what the key is called: by itself, as the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedFile {
    /// The name.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
}

fn named_file(text: &str) -> Result<NamedFile, String> {
    let is_name = |name: &str| {
        let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        !name.is_empty() && name.chars().all(fits)
    };
    let (name, path) = match text.split_once('=') {
        Some((name, path)) if is_name(name) => (name.to_owned(), PathBuf::from(path)),
        _ => {
            let path = PathBuf::from(text);
            let stem = path.file_stem().map(|stem| stem.to_string_lossy());
            (stem.unwrap_or_default().into_owned(), path)
        }
    };
    if path.as_os_str().is_empty() {
        return Err(format!("`{text}` names no file"));
    }
    Ok(NamedFile { name, path })
}

/// As many ports as anybody needs to spread flows over paths.
const MOST_PORTS: u16 = 64;

fn ports(text: &str) -> Result<RangeInclusive<u16>, String> {
    let wrong =
        || format!("`{text}` is neither a port nor a range of ports: write 8862 or 8870-8879");
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let first: u16 = first.parse().map_err(|_| wrong())?;
    let last: u16 = last.parse().map_err(|_| wrong())?;
    match last.checked_sub(first) {
        None => Err(wrong()),
        Some(more) if more >= MOST_PORTS => {
            Err(format!("`{text}` is more than {MOST_PORTS} ports"))
        }
        Some(_) => Ok(first..=last),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_files_have_names() {
        let named =
            |text: &str| named_file(text).map(|file| (file.name, file.path.display().to_string()));
        let expected = |name: &str, path: &str| Ok((name.to_owned(), path.to_owned()));
        assert_eq!(named("lab.key"), expected("lab", "lab.key"));
        assert_eq!(
            named("/etc/delaylab/2026-11"),
            expected("2026-11", "/etc/delaylab/2026-11")
        );
        assert_eq!(named("new=/etc/k"), expected("new", "/etc/k"));
        assert_eq!(named("./a=b"), expected("a=b", "./a=b"));
        assert!(named("new=").is_err());
    }

    #[test]
    fn ports_and_ranges() {
        assert_eq!(ports("8862"), Ok(8862..=8862));
        assert_eq!(ports("8862-8870"), Ok(8862..=8870));
        for wrong in ["", "x", "5-", "9-8", "1-1000", "70000"] {
            assert!(ports(wrong).is_err(), "{wrong}");
        }
    }
}
