//! `delaylab trace`.

use super::values;
use clap::Args;
use delaylab_model::Nanos;
use delaylab_model::dscp::Dscp;
use delaylab_model::method::Method;
use delaylab_model::request::DnsTransport;

/// Trace the path to a target by traffic class: hops, loss, delay, marks and labels side by side
#[derive(Debug, Args)]
#[command(after_help = "\
All packets are of one flow, which load balancers keep to one path: what differs between classes \
comes of the class. Durations and sizes carry units: 200ms, 0.2s, 56B. Ctrl-C ends the trace and \
prints what is known by then.

Examples:
  delaylab trace 192.0.2.1                          the path of best effort
  delaylab trace 192.0.2.1 --class be,ef,cs1        where the others are re-marked or leave it
  delaylab trace 192.0.2.1 --method tcp --port 443  through firewalls that let little else pass
  delaylab trace https://example.org/               to the port of a web server, with no privilege
  delaylab trace dns://192.0.2.1/example.org        to a name server, by questions
  delaylab trace 192.0.2.1:5432 --method tcp-connect  to any TCP port, with no privilege
  delaylab trace 192.0.2.1 -n -q 100 --json         a hundred packets a hop, as one JSON document")]
pub struct TraceArgs {
    /// Host name or address, or HOST:PORT; an http:// or https:// URL leads to the port of its web server, dns://SERVER/NAME (by TLS: tls://) to
    /// that of a name server
    pub target: String,

    /// Traffic classes to compare, separated by commas: be, ef, va, le, cs0 to cs7, af11 to af43, or code
    /// points. The others are compared with the first
    #[arg(
        long,
        default_value = "be",
        value_delimiter = ',',
        help_heading = "What to send"
    )]
    pub class: Vec<Dscp>,

    /// Probe method: udp and tcp to a port, icmp echo: these need a privilege, and hops tell the class that they received. With udp
    /// the target does, too. tcp-connect and http: TCP handshakes with a port; dns: questions to a name server. These need none
    /// [default: udp, or as the URL says]
    #[arg(long, value_parser = values::trace_method(), help_heading = "What to send")]
    pub method: Option<Method>,

    /// Port at the target [default: 33434; tcp, tcp-connect and http: 80; dns: 53, by TLS 853]
    #[arg(short, long, help_heading = "What to send", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,

    /// IPv4 only
    #[arg(short = '4', conflicts_with = "v6", help_heading = "What to send")]
    pub v4: bool,

    /// IPv6 only
    #[arg(short = '6', help_heading = "What to send")]
    pub v6: bool,

    /// dns: the name and the type asked for: 'example.org AAAA' [default: . NS]
    #[arg(long, value_name = "NAME TYPE", help_heading = "What to send")]
    pub question: Option<String>,

    /// dns: questions by udp, or handshakes with the port for tcp or tls [default: udp, or as the URL says]
    #[arg(long, value_parser = values::dns_transport(), help_heading = "What to send")]
    pub transport: Option<DnsTransport>,

    /// udp, icmp: payload, behind the UDP or ICMP header [default: 32B]
    #[arg(short, long, value_name = "SIZE", value_parser = values::size, help_heading = "What to send")]
    pub size: Option<u32>,

    /// ECN codepoint: not-ect, ect0, ect1, ce
    #[arg(long, default_value = "not-ect", value_parser = values::ecn, help_heading = "What to send")]
    pub ecn: u8,

    /// Send from this interface
    #[arg(short = 'I', long, value_name = "NAME", help_heading = "What to send")]
    pub interface: Option<String>,

    /// Packets to each hop of each class
    #[arg(short = 'q', long, visible_short_alias = 'c', visible_alias = "count", value_name = "N", default_value = "3", value_parser = clap::value_parser!(u32).range(1..), help_heading = "How far and how fast")]
    pub queries: u32,

    /// First hop to ask
    #[arg(short, long, visible_alias = "first-hop", value_name = "N", default_value = "1", value_parser = clap::value_parser!(u8).range(1..), help_heading = "How far and how fast")]
    pub first_ttl: u8,

    /// Last hop to ask
    #[arg(short, long, visible_alias = "max-hops", value_name = "N", default_value = "30", value_parser = clap::value_parser!(u8).range(1..=254), help_heading = "How far and how fast")]
    pub max_ttl: u8,

    /// Stop after this number of silent hops in a row
    #[arg(short = 'U', long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u8).range(1..), help_heading = "How far and how fast")]
    pub max_unknown: u8,

    /// Time from a packet to a hop to the next packet to it, whatever the class. Many routers answer no more
    /// than one packet a second
    #[arg(short, long, value_name = "TIME", default_value = "1s", value_parser = values::positive_duration, help_heading = "How far and how fast")]
    pub interval: Nanos,

    /// An answer later than this counts as lost
    #[arg(short = 'w', long, visible_short_alias = 'W', alias = "wait", value_name = "TIME", default_value = "1s", value_parser = values::positive_duration, help_heading = "How far and how fast")]
    pub timeout: Nanos,

    /// Do not resolve the names of routers
    #[arg(short, long, visible_alias = "no-dns", help_heading = "Output")]
    pub numeric: bool,

    /// Print one JSON document at the end
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}
