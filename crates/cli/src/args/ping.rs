//! `delaylab ping`.

use super::experiment::RUNS;
use super::load::{self, LoadArg, LoadServerArgs};
use super::server::ServerArgs;
use super::values;
use crate::server_target::method_of_url;
use clap::{ArgAction, Args};
use delaylab_lab::finding::Limit;
use delaylab_model::Nanos;
use delaylab_model::dscp::Dscp;
use delaylab_model::family::Family;
use delaylab_model::method::Method;
use delaylab_model::probe::{DontFragment, Fill, HostCondition, StampRequest, WaitMode};
use delaylab_model::units::parse_duration;
use std::path::{Path, PathBuf};

/// Probe a target and show where the time goes, in the hosts and in the network
#[derive(Debug, Args)]
#[command(
    override_usage = "delaylab ping [OPTIONS] <TARGET>",
    after_help = "\
Durations and sizes carry units: 200ms, 0.2s, 56B, 9KiB. Ctrl-C ends the ping and prints the summary.

Examples:
  delaylab ping 192.0.2.1                               ping, with host and network apart
  delaylab ping 192.0.2.1 --method udp -i 10ms -c 1000  against `delaylab reflect` there
  delaylab ping 192.0.2.1 --method tcp --after-reply 0s -w 5s  one after the other
  delaylab ping https://example.org/                    a web server: network or server?
  delaylab ping 192.0.2.1 --method tcp-connect --port 443  any TCP port, by its handshake
  delaylab ping dns://192.0.2.1/example.org             a name server
  delaylab ping 192.0.2.1 --class ef -c 100 --json      one JSON document at the end
  delaylab ping 192.0.2.1 -c 100 -qq --fail-if 'lost > 1%'  one line; code 1 if more is lost
  delaylab ping 192.0.2.1 -i 20ms --tui                 watch it live
  delaylab ping 192.0.2.1 -i 20ms -w 1min --save        keep it as a run, to explain and compare
  delaylab ping 192.0.2.1 --method udp --load tcp:4     idle, then under load: which queue grows
  delaylab ping 192.0.2.1 --method udp --load rrul      the same up, down and both ways at once"
)]
pub struct PingArgs {
    /// Host name or address; an http:// or https:// URL asks a web server for it, dns://SERVER/NAME?type=AAAA (by TLS: tls://) a name server
    #[arg(required_unless_present = "save", value_name = "TARGET")]
    pub target: Option<String>,

    /// Probe method; udp, tcp and stamp need `delaylab reflect` (or, for udp, any echo server; for stamp, any STAMP or
    /// TWAMP-Light reflector) at the target, others are answered by any host or by any server of their kind
    /// [default: icmp, or as the URL says]
    #[arg(long, value_parser = values::method(), help_heading = "What to send")]
    pub method: Option<Method>,

    /// Port of the reflector [default: 8862; stamp: 862] or of the server [default: that of its protocol, as 53 for dns]
    #[arg(long, help_heading = "What to send")]
    pub port: Option<u16>,

    /// What to ask a server.
    #[command(flatten)]
    pub server: ServerArgs,

    /// IPv4 only
    #[arg(short = '4', conflicts_with = "v6", help_heading = "What to send")]
    pub v4: bool,

    /// IPv6 only
    #[arg(short = '6', help_heading = "What to send")]
    pub v6: bool,

    /// Payload, behind the ICMP or UDP header [default: 56B; stamp: 100B, with a key 188B]
    #[arg(short, long, value_name = "SIZE", value_parser = values::size, help_heading = "What to send")]
    pub size: Option<u32>,

    /// The same as the size of the whole IP packet
    #[arg(long, value_name = "SIZE", value_parser = values::size, conflicts_with = "size", help_heading = "What to send")]
    pub ip_size: Option<u32>,

    /// tcp: size of the reply, at most that of the request [default: as the request]
    #[arg(long, value_name = "SIZE", value_parser = values::size, help_heading = "What to send")]
    pub reply_size: Option<u32>,

    /// Traffic class: be, ef, va, le, cs0 to cs7, af11 to af43, or a code point
    #[arg(long, help_heading = "What to send")]
    pub class: Option<Dscp>,

    /// TOS or traffic class byte, as ping takes it (0xb8), or a class by name
    #[arg(short = 'Q', long, value_name = "TOS", value_parser = values::tos, conflicts_with_all = ["class", "ecn"], help_heading = "What to send")]
    pub tos: Option<(Dscp, u8)>,

    /// ECN codepoint: not-ect, ect0, ect1, ce
    #[arg(long, value_parser = values::ecn, help_heading = "What to send")]
    pub ecn: Option<u8>,

    /// TTL or hop limit
    #[arg(short, long, help_heading = "What to send", value_parser = clap::value_parser!(u8).range(1..))]
    pub ttl: Option<u8>,

    /// Fragmentation: do (never), want (as the path MTU asks), dont (never set DF), probe (ignore
    /// the known path MTU)
    #[arg(short = 'M', long = "pmtudisc", value_name = "MODE", default_value = "want", hide_possible_values = true, value_parser = values::dont_fragment(), help_heading = "What to send")]
    pub dont_fragment: DontFragment,

    /// Fill the payload with these bytes (hexadecimal, repeated) [default: random bytes]
    #[arg(short, long, value_name = "HEX", value_parser = values::pattern, help_heading = "What to send")]
    pub pattern: Option<Fill>,

    /// Send from this interface
    #[arg(short = 'I', long, value_name = "NAME", help_heading = "What to send")]
    pub interface: Option<String>,

    /// Key shared with the reflector, in a file [env: DELAYLAB_KEY holds the key itself]
    #[arg(long, value_name = "FILE", help_heading = "What to send")]
    pub key_file: Option<PathBuf>,

    /// Time from the start of a packet to the start of the next; a late packet does not move those after it [default: 1s; with
    /// --load 100ms]
    #[arg(short, long, value_name = "TIME", value_parser = values::positive_duration, help_heading = "When to send")]
    pub interval: Option<Nanos>,

    /// Poisson process instead: exponential gaps with this mean
    #[arg(long, value_name = "TIME", value_parser = values::positive_duration, conflicts_with = "interval", help_heading = "When to send")]
    pub poisson: Option<Nanos>,

    /// Number of packets back to back at each interval
    #[arg(long, value_name = "N", conflicts_with = "poisson", value_parser = clap::value_parser!(u32).range(1..), help_heading = "When to send")]
    pub burst: Option<u32>,

    /// Closed loop: send the next packet this long after each reply; 0s: at once
    #[arg(long = "after-reply", alias = "wait", value_name = "TIME", value_parser = parse_duration, conflicts_with_all = ["interval", "poisson", "burst"], help_heading = "When to send")]
    pub wait: Option<Nanos>,

    /// Stop after this number of packets; with --load, in each part
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "When to send")]
    pub count: Option<u64>,

    /// Stop after this time; with --load, each part [default: with --load and without -c 10s]
    #[arg(short = 'w', long, value_name = "TIME", value_parser = values::positive_duration, help_heading = "When to send")]
    pub duration: Option<Nanos>,

    /// Time-out: a later reply counts as late; without a reply for as long again (100ms to 10s) the packet counts as lost
    #[arg(short = 'W', long, value_name = "TIME", default_value = "1s", value_parser = values::positive_duration, help_heading = "When to send")]
    pub timeout: Nanos,

    /// Random seed of gaps and fill [default: drawn and recorded]
    #[arg(long, value_name = "N", help_heading = "When to send")]
    pub seed: Option<u64>,

    /// Let load, or more than 1000 packets a second or 10 Mbit/s, leave for a target that is not this host
    #[arg(long, help_heading = "When to send")]
    pub allow_load: bool,

    /// Ping idle first, then under this load: up, down or both (four TCP streams each way), rrul (each way alone,
    /// then both at once), tcp:4, tcp:2:down, cbr:50Mbit/s:ef, poisson:10Mbit/s, on-off:20Mbit/s; may be given more
    /// than once
    #[arg(long = "load", value_name = "LOAD", value_parser = load::load_arg, conflicts_with_all = ["json_stream", "csv"], help_heading = "Load")]
    pub loads: Vec<LoadArg>,

    /// Who takes it.
    #[command(flatten)]
    pub load_server: LoadServerArgs,

    /// How to wait for send times and replies: block (sleep in the kernel) or spin (poll all the time: uses a whole CPU,
    /// and adds no wake-up delay)
    #[arg(long, value_name = "MODE", default_value = "block", value_parser = values::wait_mode(), help_heading = "How to measure")]
    pub wait_mode: WaitMode,

    /// Kernel stamps: software, none, or hardware (changes the NIC named by -I until the end)
    #[arg(long, value_name = "KIND", default_value = "software", value_parser = values::stamps(), help_heading = "How to measure")]
    pub stamps: StampRequest,

    /// State of this host: normal, quiet (as undisturbed as it allows), stressed (fully busy: a process on each CPU, memory, timers)
    #[arg(long, default_value = "normal", hide_possible_values = true, value_parser = values::condition(), help_heading = "How to measure")]
    pub condition: HostCondition,

    /// Put the time of day before each line
    #[arg(short = 'D', long, help_heading = "Output")]
    pub timestamps: bool,

    /// Print only the summary; -qq: in one line
    #[arg(short, long, action = ArgAction::Count, help_heading = "Output")]
    pub quiet: u8,

    /// Exit with 1 if this condition holds: 'p99(network) > 5ms', 'lost > 1%'; with --load, under load; may be given
    /// more than once
    #[arg(long, value_name = "CONDITION", value_parser = super::compare::limit, help_heading = "Output")]
    pub fail_if: Vec<Limit>,

    /// Print every table, with intervals
    #[arg(short, long, help_heading = "Output")]
    pub verbose: bool,

    /// Show a live view, full screen: distribution, anatomy, recent responses, excursions (q ends, ? shows keys)
    #[arg(long, conflicts_with_all = ["quiet", "json", "json_stream", "csv"], help_heading = "Output")]
    pub tui: bool,

    /// Print one JSON document at the end
    #[arg(long, conflicts_with_all = ["json_stream", "csv"], help_heading = "Output")]
    pub json: bool,

    /// Print one line of JSON a packet, as soon as its record is whole
    #[arg(long, conflicts_with = "csv", help_heading = "Output")]
    pub json_stream: bool,

    /// Print one CSV row a packet
    #[arg(long, help_heading = "Output")]
    pub csv: bool,

    /// Write to this file; the format follows its name (.json, .ndjson, .csv) unless a flag says it;
    /// - is standard output
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,

    /// Record a run as `delaylab run` does, in a folder of its own in DIR [default: runs]: explain, compare, report and
    /// serve read it
    #[arg(long, value_name = "DIR", num_args = 0..=1, help_heading = "Output")]
    pub save: Option<Option<PathBuf>>,
}

impl PingArgs {
    /// The same, where `--save` stands before the target and took it for its own.
    pub fn settled(mut self) -> Self {
        if self.target.is_none()
            && let Some(taken) = self.save.as_mut().and_then(Option::take)
        {
            self.target = Some(taken.display().to_string());
        }
        self
    }

    /// How it asks: as told, or as a URL says.
    pub fn method(&self) -> Method {
        let by_url = || method_of_url(self.target());
        self.method.or_else(by_url).unwrap_or_default()
    }

    /// Does it ask anything that knows keys: a reflector's probes, or its load beside a method that knows none?
    pub fn takes_key(&self) -> bool {
        self.method().takes_key() || !self.loads.is_empty() && self.load_server.is_reflector()
    }

    /// The host.
    pub fn target(&self) -> &str {
        self.target.as_deref().unwrap_or_default()
    }

    /// Which of its addresses are wanted.
    pub const fn family(&self) -> Family {
        values::family(self.v4, self.v6)
    }

    /// Where the run is recorded; `None`: it is not.
    pub fn runs(&self) -> Option<&Path> {
        let save = self.save.as_ref()?;
        Some(save.as_deref().unwrap_or(Path::new(RUNS)))
    }
}
