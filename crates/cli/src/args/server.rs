//! What a server is asked.

use super::values;
use clap::Args;
use delaylab_model::request::{Close, DnsTransport};
use std::path::PathBuf;

/// Flags of `ping` for servers of any make.
#[derive(Debug, Args)]
pub struct ServerArgs {
    /// http: ask for the head of the page alone (HEAD)
    #[arg(long, help_heading = "What to ask a server")]
    pub head: bool,

    /// http, dns by TCP: a new connection for each request: the name, the TCP and the TLS handshake are part of each response
    /// [default: connections are kept]
    #[arg(long, help_heading = "What to ask a server")]
    pub fresh: bool,

    /// http: a field of the request's head, such as 'Accept-Encoding: gzip'; can be repeated
    #[arg(
        short = 'H',
        long = "header",
        value_name = "NAME: VALUE",
        help_heading = "What to ask a server"
    )]
    pub headers: Vec<String>,

    /// https: believe the authorities in this PEM file [default: those that this host trusts]
    #[arg(long, value_name = "FILE", help_heading = "What to ask a server")]
    pub cacert: Option<PathBuf>,

    /// https: do not verify certificates; the output says so
    #[arg(
        short = 'k',
        long,
        conflicts_with = "cacert",
        help_heading = "What to ask a server"
    )]
    pub insecure: bool,

    /// http: go to this address, whatever the name in the URL resolves to; also as curl has it, NAME:PORT:ADDRESS
    #[arg(long, value_name = "ADDRESS", help_heading = "What to ask a server")]
    pub resolve: Option<String>,

    /// On connections that are kept: make no handshakes beside the requests, up to ten a second, which show the network
    /// without the server
    #[arg(long, help_heading = "What to ask a server")]
    pub no_handshakes: bool,

    /// dns: the name and the type asked for: 'example.org AAAA'. '*.example.org' is another name in each question, which no
    /// cache knows
    #[arg(long, value_name = "NAME TYPE", help_heading = "What to ask a server")]
    pub question: Option<String>,

    /// dns: udp, or tcp on a connection that is kept, which tells network and server apart [default: udp]
    #[arg(long, value_parser = values::dns_transport(), help_heading = "What to ask a server")]
    pub transport: Option<DnsTransport>,

    /// tcp-connect: end each connection in order (fin) or at once (rst) [default: fin]
    #[arg(long, value_parser = values::close(), help_heading = "What to ask a server")]
    pub close: Option<Close>,
}
