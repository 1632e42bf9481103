//! What a server is asked.

use super::values;
use clap::Args;
use delaylab_model::request::{Close, DnsTransport, HttpVersion};
use std::path::PathBuf;

/// Flags of `ping` for servers of any make.
#[derive(Debug, Args)]
pub struct ServerArgs {
    /// http: ask for the head of the page alone (HEAD)
    #[arg(long, help_heading = "What to ask a server")]
    pub head: bool,

    /// http: 1.1, 2 (without TLS with prior knowledge), or best: by TLS, what the server chooses of both [default: 1.1;
    /// with https best]
    #[arg(long, value_name = "VERSION", value_parser = values::http_version(), help_heading = "What to ask a server")]
    pub http: Option<HttpVersion>,

    /// http, dns by TCP and TLS: a new connection for each request: the name, the TCP and the TLS handshake are part of each response
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

    /// https, dns by TLS: believe the authorities in this PEM file [default: those that this host trusts]
    #[arg(long, value_name = "FILE", help_heading = "What to ask a server")]
    pub cacert: Option<PathBuf>,

    /// https, dns by TLS: do not verify certificates; the output says so
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

    /// On connections that are kept: make no handshakes during the requests, up to ten a second, which show the network
    /// without the server
    #[arg(long, help_heading = "What to ask a server")]
    pub no_handshakes: bool,

    /// dns: the name and the type asked for: 'example.org AAAA'. '*.example.org' is another name in each question, which no
    /// cache knows
    #[arg(long, value_name = "NAME TYPE", help_heading = "What to ask a server")]
    pub question: Option<String>,

    /// dns: udp, or tcp or tls on a connection that is kept, which tells network and server apart [default: udp, or as the
    /// URL says]
    #[arg(long, value_parser = values::dns_transport(), help_heading = "What to ask a server")]
    pub transport: Option<DnsTransport>,

    /// dns by TLS: the name that the server's certificate is to have [default: the target's]
    #[arg(long, value_name = "NAME", help_heading = "What to ask a server")]
    pub tls_name: Option<String>,

    /// tcp-connect: end each connection in order (fin) or at once (rst) [default: fin]
    #[arg(long, value_parser = values::close(), help_heading = "What to ask a server")]
    pub close: Option<Close>,
}
