//! What was asked for, and of which host.

use delaylab_model::Nanos;
use delaylab_model::method::Method;
use delaylab_model::probe::{DontFragment, Fill, HostCondition, Pacing, StampRequest, WaitMode};
use delaylab_model::trial::ProbeRun;
use schemars::JsonSchema;
use serde::Serialize;

/// The measuring host, as far as it shapes the result. Null: not known. No host name.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct SystemInfo {
    /// Kernel name and release.
    pub kernel: Option<String>,
    /// CPU model.
    pub cpu: Option<String>,
    /// CPUs that the prober may use.
    pub cpus: Option<u32>,
    /// The kernel's clock source.
    pub clock_source: Option<String>,
}

/// The settings as resolved.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Config<'a> {
    /// The target as named by the user.
    pub target: &'a str,
    /// The address that it resolved to.
    pub address: String,
    /// The port; null for icmp.
    pub port: Option<u16>,
    /// How it asks.
    pub method: Method,
    /// What a server is asked; null where the method asks none.
    pub request: Option<String>,
    /// Bytes behind the ICMP or UDP header, or of a TCP request.
    pub payload: u32,
    /// tcp: bytes of the reply; null is as many as the request.
    pub reply_payload: Option<u32>,
    /// DSCP on the way out, 0 to 63.
    pub dscp: u8,
    /// Name of the DSCP (RFC 2474, 2597, 3246, 5865, 8622).
    pub class: String,
    /// ECN bits on the way out.
    pub ecn: u8,
    /// TTL or hop limit on the way out; null is the kernel's default.
    pub ttl: Option<u8>,
    /// Whether routers may fragment.
    pub dont_fragment: DontFragment,
    /// What fills the payload.
    pub fill: &'a Fill,
    /// When packets are due.
    pub pacing: Pacing,
    /// Stop after this many packets; null: no limit of these.
    pub count: Option<u64>,
    /// Packets are due for this long from the start on; null: no such limit.
    pub duration_ns: Option<Nanos>,
    /// An answer later than this after its packet was sent is late.
    pub timeout_ns: Nanos,
    /// How to wait for what comes next.
    pub wait_mode: WaitMode,
    /// Which stamps to ask for.
    pub stamps: StampRequest,
    /// Packets leave by this interface; null: as the routes say.
    pub interface: Option<&'a str>,
    /// The state to put the measuring host in.
    pub host: HostCondition,
    /// Seeds the pacing and the fill.
    #[serde(serialize_with = "super::seed")]
    #[schemars(with = "String")]
    pub seed: u64,
}

impl<'a> Config<'a> {
    /// Of this trial of `target`, as the user named it.
    pub fn new(target: &'a str, run: &'a ProbeRun) -> Self {
        let probe = &run.probe;
        Self {
            target,
            address: run.target.ip().to_string(),
            port: probe.method.has_port().then_some(run.target.port()),
            method: probe.method,
            request: probe.request.as_ref().map(ToString::to_string),
            payload: probe.payload,
            reply_payload: probe.reply_payload,
            dscp: probe.dscp.code_point(),
            class: probe.dscp.to_string(),
            ecn: probe.ecn,
            ttl: probe.ttl,
            dont_fragment: probe.dont_fragment,
            fill: &probe.fill,
            pacing: probe.pacing,
            count: probe.count,
            duration_ns: probe.duration,
            timeout_ns: probe.timeout,
            wait_mode: probe.wait_mode,
            stamps: probe.stamps,
            interface: probe.interface.as_deref(),
            host: run.host,
            seed: run.seed,
        }
    }
}
