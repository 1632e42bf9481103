//! Traces the path to a target.

use crate::error::RunnerError;
use crate::target;
use delaylab_live::path_trace::{PathTracing, names};
use delaylab_model::family::Family;
use delaylab_model::stop::Stop;
use delaylab_traffic::path_trace::{Packets, PathTrace, Settings};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// So long names are waited for.
const NAMES_WITHIN: Duration = Duration::from_secs(2);

/// What is wanted of a path trace.
pub struct TraceOptions {
    /// Name or address of the target.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Which of its addresses.
    pub family: Family,
    /// What the packets are.
    pub packets: Packets,
    /// Leave by this interface.
    pub interface: Option<String>,
    /// Classes, hops and pace.
    pub settings: Settings,
    /// Look up the names of routers.
    pub with_names: bool,
    /// Ends it early.
    pub stop: Stop,
}

/// A path trace whose target is resolved.
pub struct Tracing {
    tracing: PathTracing,
    with_names: bool,
}

/// A path trace that has ended.
pub struct TracedPath {
    /// The target.
    pub address: SocketAddr,
    /// What its packets were.
    pub packets: Packets,
    /// Each packet and its answer.
    pub trace: PathTrace,
    /// Names of routers.
    pub names: BTreeMap<IpAddr, String>,
}

impl Tracing {
    /// Resolves the target.
    ///
    /// # Errors
    /// It has no address.
    pub fn new(options: TraceOptions) -> Result<Self, RunnerError> {
        Ok(Self {
            tracing: PathTracing {
                target: target::lookup(&options.host, options.port, options.family)?,
                packets: options.packets,
                interface: options.interface,
                settings: options.settings,
                stop: options.stop,
            },
            with_names: options.with_names,
        })
    }

    /// Traces the path. `progress` is called after each packet.
    ///
    /// # Errors
    /// This host lacks a privilege, or a packet cannot be sent.
    pub fn run(self, progress: &mut dyn FnMut(&PathTrace)) -> Result<TracedPath, RunnerError> {
        let trace = self.tracing.run(progress)?;
        let names = match self.with_names {
            true => names::look_up(&routers(&trace), NAMES_WITHIN),
            false => BTreeMap::new(),
        };
        Ok(TracedPath {
            address: self.tracing.target,
            packets: self.tracing.packets,
            trace,
            names,
        })
    }
}

fn routers(trace: &PathTrace) -> BTreeSet<IpAddr> {
    let answers = trace.packets().iter().filter_map(|p| p.answer.as_ref());
    answers.map(|answer| answer.from).collect()
}
