//! Probe methods: how a probe asks for its answer, and all that follows from that alone, in one table.
//!
//! What a method does is said by the worlds: `live::prober` opens it, and the testbed's switch knows its packets
//! (`testbed::soft_switch::probes`). In simulation methods are a packet there and a packet back, or bytes on connections of TCP.

use crate::headers;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The largest tcp request: one megabyte is beyond any interactive exchange.
pub const MAX_TCP_PAYLOAD: u32 = 1 << 20;

/// How a probe asks for its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// ICMP echo (RFC 792, RFC 4443).
    #[default]
    Icmp,
    /// UDP echo: delaylab's reflector, or any RFC 862 server.
    Udp,
    /// Request and response on one open TCP connection.
    Tcp,
    /// STAMP (RFC 8762, RFC 8972); also TWAMP-Light reflectors.
    Stamp,
    /// Signed Ethernet frames from one port of a tester to another (RFC 2544): one way, nothing answers.
    Frame,
    /// A TCP handshake with any host: its connection is closed as soon as it is answered.
    #[serde(rename = "tcp-connect")]
    TcpConnect,
    /// A request to any web server (RFC 9110), with or without TLS.
    Http,
    /// A question to any name server (RFC 1035).
    Dns,
}

/// What carries the packets of a method, by its name in messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    /// ICMP and ICMPv6: no ports.
    Icmp,
    /// UDP: a packet for each request.
    Udp,
    /// TCP: the kernel cuts requests into packets, and sends again what is lost.
    Tcp,
}

/// What answers at the far end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Responder {
    /// The kernel of any host.
    Kernel,
    /// The echo port of a reflector.
    Echo,
    /// A STAMP or TWAMP-Light reflector.
    Stamp,
    /// A server of any make, which knows nothing of delaylab: what it is asked is in [`crate::request::Request`].
    Server,
    /// The kernel of a host where such a server listens, which is asked for nothing.
    Listener,
}

impl Responder {
    /// All of them.
    pub const ALL: [Responder; 5] = [
        Responder::Kernel,
        Responder::Echo,
        Responder::Stamp,
        Responder::Server,
        Responder::Listener,
    ];

    /// The port on which it listens where no other is asked for; 0: it has none, or the request says it.
    pub const fn usual_port(self) -> u16 {
        match self {
            Responder::Kernel | Responder::Server | Responder::Listener => 0,
            Responder::Echo => 8862,
            // RFC 8762 §4.1.
            Responder::Stamp => 862,
        }
    }
}

/// One row of the table.
struct Facts {
    name: &'static str,
    carrier: Carrier,
    /// `None`: packets go one way.
    responder: Option<Responder>,
    /// Bytes of a request where none are asked for, as `ping` has them.
    payload: u32,
    /// The same with a key; `None`: the method knows no keys.
    with_key: Option<u32>,
    /// Can a path be traced by it?
    traces: bool,
    /// Schemes of the URLs that its target may be.
    schemes: &'static [&'static str],
    /// Fields of a `[[probe]]` that say what is asked.
    fields: &'static [&'static str],
}

impl Method {
    /// Every method, in the order that help texts list them.
    pub const ALL: [Method; 8] = [
        Method::Icmp,
        Method::Udp,
        Method::Tcp,
        Method::Stamp,
        Method::Frame,
        Method::TcpConnect,
        Method::Http,
        Method::Dns,
    ];

    const fn facts(self) -> Facts {
        match self {
            Method::Icmp => Facts {
                name: "icmp",
                carrier: Carrier::Icmp,
                responder: Some(Responder::Kernel),
                payload: 56,
                with_key: None,
                traces: true,
                schemes: &[],
                fields: &[],
            },
            Method::Udp => Facts {
                name: "udp",
                carrier: Carrier::Udp,
                responder: Some(Responder::Echo),
                payload: 56,
                // A tag of 16 bytes, and all stamps.
                with_key: Some(56 + 16),
                traces: true,
                schemes: &[],
                fields: &[],
            },
            Method::Tcp => Facts {
                name: "tcp",
                carrier: Carrier::Tcp,
                responder: Some(Responder::Echo),
                payload: 56,
                with_key: Some(56 + 16),
                traces: true,
                schemes: &[],
                fields: &[],
            },
            Method::Stamp => Facts {
                name: "stamp",
                carrier: Carrier::Udp,
                responder: Some(Responder::Stamp),
                // A base packet with every extension that tells more of the delay.
                payload: 100,
                with_key: Some(188),
                traces: false,
                schemes: &[],
                fields: &[],
            },
            Method::Frame => Facts {
                name: "frame",
                carrier: Carrier::Udp,
                responder: None,
                payload: 0,
                with_key: None,
                traces: false,
                schemes: &[],
                fields: &[],
            },
            Method::TcpConnect => Facts {
                name: "tcp-connect",
                carrier: Carrier::Tcp,
                responder: Some(Responder::Listener),
                payload: 0,
                with_key: None,
                traces: true,
                schemes: &[],
                fields: &["port", "close"],
            },
            Method::Http => Facts {
                name: "http",
                carrier: Carrier::Tcp,
                responder: Some(Responder::Server),
                payload: 0,
                with_key: None,
                traces: true,
                schemes: &["http", "https"],
                fields: &[
                    "url", "verb", "http", "fresh", "headers", "ca_file", "insecure",
                ],
            },
            Method::Dns => Facts {
                name: "dns",
                carrier: Carrier::Udp,
                responder: Some(Responder::Server),
                payload: 0,
                with_key: None,
                traces: true,
                schemes: &["dns", "dns+tls", "tls"],
                fields: &[
                    "question",
                    "transport",
                    "fresh",
                    "port",
                    "tls_name",
                    "ca_file",
                    "insecure",
                ],
            },
        }
    }

    /// Those that ask and are answered.
    pub fn asking() -> impl Iterator<Item = Method> {
        Self::ALL.into_iter().filter(|method| !method.is_one_way())
    }

    /// The name in flags, files and records.
    pub const fn name(self) -> &'static str {
        self.facts().name
    }

    /// What carries its packets.
    pub const fn carrier(self) -> Carrier {
        self.facts().carrier
    }

    /// What answers; `None` where packets go one way.
    pub const fn responder(self) -> Option<Responder> {
        self.facts().responder
    }

    /// Do packets go from one port of a tester to another, and nothing comes back?
    pub const fn is_one_way(self) -> bool {
        self.responder().is_none()
    }

    /// Are requests bytes on a connection? Then replies may be shorter, the size of packets is the kernel's, and none
    /// is seen to be dropped.
    pub const fn is_stream(self) -> bool {
        matches!(self.carrier(), Carrier::Tcp)
    }

    /// Does it ask a server of any make? Then what is asked is its request, and nothing can be told of the far end but by
    /// what comes from there.
    pub const fn asks_server(self) -> bool {
        self.is_request() || self.is_handshake()
    }

    /// Does it ask a server of any make for something?
    pub const fn is_request(self) -> bool {
        matches!(self.responder(), Some(Responder::Server))
    }

    /// Is the handshake of a connection to a server all of it: neither a request nor a reply follows?
    pub const fn is_handshake(self) -> bool {
        matches!(self.responder(), Some(Responder::Listener))
    }

    /// Is each request one packet, of the size and with the marks that its probe asks for?
    pub const fn is_one_packet(self) -> bool {
        !self.is_stream() && !self.asks_server()
    }

    /// Can a path be traced by it?
    pub const fn traces(self) -> bool {
        self.facts().traces
    }

    /// Schemes of the URLs that its target may be, in lower case.
    pub const fn schemes(self) -> &'static [&'static str] {
        self.facts().schemes
    }

    /// Does this field of a `[[probe]]` say what it asks?
    pub fn has_field(self, field: &str) -> bool {
        self.facts().fields.contains(&field)
    }

    /// Does it go to a port?
    pub const fn has_port(self) -> bool {
        !matches!(self.carrier(), Carrier::Icmp)
    }

    /// Can packets be signed with a key?
    pub const fn takes_key(self) -> bool {
        self.facts().with_key.is_some()
    }

    /// Bytes of a request where none are asked for.
    pub fn payload(self, with_key: bool) -> u32 {
        let facts = self.facts();
        let with_key = facts.with_key.filter(|_| with_key);
        with_key.unwrap_or(facts.payload)
    }

    /// The largest payload of a request: of packets, what 65,535 bytes of IP hold.
    pub fn largest_payload(self, v6: bool) -> u32 {
        match self.carrier() {
            Carrier::Tcp => MAX_TCP_PAYLOAD,
            // The length in an IPv6 header does not count the header.
            Carrier::Icmp | Carrier::Udp if v6 => 65_535 - headers::DATAGRAM,
            Carrier::Icmp | Carrier::Udp => 65_535 - headers::of_datagrams(false),
        }
    }

    /// Bytes of the IP packet that carries this payload. `None` where the kernel cuts it into packets, or where the request is no payload.
    pub fn ip_size(self, v6: bool, payload: u32) -> Option<u32> {
        self.is_one_packet()
            .then_some(headers::of_datagrams(v6) + payload)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for Carrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Carrier::Icmp => "icmp",
            Carrier::Udp => "udp",
            Carrier::Tcp => "tcp",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_is_listed_once_and_named_as_in_files() {
        for (at, method) in Method::ALL.into_iter().enumerate() {
            assert_eq!(method as usize, at);
            let written = toml::Value::try_from(method);
            assert_eq!(written.ok(), Some(method.name().into()));
        }
        for (at, responder) in Responder::ALL.into_iter().enumerate() {
            assert_eq!(responder as usize, at);
        }
    }

    #[test]
    fn the_largest_packet_is_the_largest_of_ip() {
        for method in Method::asking().filter(|method| method.ip_size(false, 0).is_some()) {
            let size = |v6| method.ip_size(v6, method.largest_payload(v6));
            assert_eq!([false, true].map(size), [Some(65_535), Some(65_535 + 40)]);
        }
    }
}
