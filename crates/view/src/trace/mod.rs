//! What every face of `delaylab trace` is made from.
//!
//! | module | prints |
//! |---|---|
//! | [`words`] | what was found, in sentences |
//! | [`json`] | one JSON document |

pub mod json;
pub mod words;

use delaylab_model::Nanos;
use delaylab_model::method::Method;
use delaylab_stats::quantile::Ranked;
use delaylab_traffic::path_trace::compare::{Finding, findings};
use delaylab_traffic::path_trace::hop::ClassPath;
use delaylab_traffic::path_trace::{Packets, PathTrace, Said};
use delaylab_wire::icmp_error::Reason;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

/// A path trace that has ended.
#[derive(Debug, Clone)]
pub struct Traced<'a> {
    /// The target as named by the user.
    pub target: &'a str,
    /// What that resolved to.
    pub address: SocketAddr,
    /// How it asked.
    pub method: Method,
    /// What its packets are.
    pub packets: &'a Packets,
    /// Settings and packets.
    pub trace: &'a PathTrace,
    /// Its hops.
    pub paths: Vec<ClassPath>,
    /// What they tell.
    pub findings: Vec<Finding>,
    /// Names of routers.
    pub names: &'a BTreeMap<IpAddr, String>,
    /// Was it stopped before its end?
    pub stopped: bool,
}

impl<'a> Traced<'a> {
    /// Of this path trace, to be filled in by the caller where it knows more.
    pub fn new(
        target: &'a str,
        address: SocketAddr,
        method: Method,
        packets: &'a Packets,
        trace: &'a PathTrace,
        names: &'a BTreeMap<IpAddr, String>,
    ) -> Self {
        let paths = ClassPath::of_every_class(trace);
        Self {
            target,
            address,
            method,
            packets,
            trace,
            findings: findings(&paths, trace.settings().interval),
            paths,
            names,
            stopped: false,
        }
    }

    /// Does every class come to the target?
    pub fn is_reached(&self) -> bool {
        self.paths.iter().all(ClassPath::reaches_target)
    }
}

/// The quantile of round trips; of few of them, the last is the largest.
pub fn quantile(round_trips: &[Nanos], q: f64) -> Option<Nanos> {
    Ranked::new(round_trips.to_vec()).quantile(q).copied()
}

/// What a hop or target said, as programs read it.
const fn name(said: Said) -> &'static str {
    match said {
        Said::EchoReply => "echo-reply",
        Said::Datagram => "datagram",
        Said::Open => "open",
        Said::Closed => "closed",
        Said::Replied => "answer",
        Said::Error(reason) => match reason {
            Reason::TtlExceeded => "ttl-exceeded",
            Reason::PortUnreachable => "port-unreachable",
            Reason::ProtocolUnreachable => "protocol-unreachable",
            Reason::NoRoute => "no-route",
            Reason::HostUnreachable => "host-unreachable",
            Reason::Prohibited => "prohibited",
            Reason::TooBig { .. } => "too-big",
            Reason::Other { .. } => "other",
        },
    }
}

#[cfg(any(test, feature = "samples"))]
pub mod samples;
