//! One run of some probes, and the facts a reader needs to interpret its records.

use crate::Nanos;
use crate::load::Load;
use crate::method::Responder;
use crate::noise::{CpuUse, Process, Unwatched};
use crate::path::Path;
use crate::probe::{HostCondition, Probe};
pub use crate::stamp::{Delivery, StampPoint};
use crate::unanswered::Unanswered;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// What a world is asked to carry out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trial {
    /// Its number in the run.
    pub id: u32,
    /// Where live probes go. `None` in worlds that build their path.
    pub target: Option<Target>,
    /// What is sent, all at once.
    pub probes: Vec<Probe>,
    /// What competes with them.
    pub loads: Vec<Load>,
    /// What is between the ends, in worlds that build it.
    pub path: Path,
    /// The state to put the measuring host in.
    pub host: HostCondition,
    /// Seeds the pacing and the fill.
    pub seed: u64,
}

/// Where what answers probes is, and what takes load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// In the order of [`Responder::ALL`].
    responders: [SocketAddr; Responder::ALL.len()],
    /// For load.
    pub load: LoadTarget,
}

/// What takes load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Server {
    /// `delaylab reflect --accept-load`.
    #[default]
    Reflector,
    /// `iperf3 -s`.
    Iperf3,
}

/// Where load goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadTarget {
    /// Address and port.
    pub address: SocketAddr,
    /// What listens there.
    pub server: Server,
}

impl Target {
    /// Each responder at its address.
    pub fn new(load: LoadTarget, address: impl FnMut(Responder) -> SocketAddr) -> Self {
        let responders = Responder::ALL.map(address);
        Self { responders, load }
    }

    /// Where this responder is.
    pub const fn at(&self, responder: Responder) -> SocketAddr {
        self.responders[responder as usize]
    }

    /// Where a probe's packets go; what goes one way is answered by nothing.
    pub fn address(&self, probe: &Probe) -> SocketAddr {
        let responder = probe.method.responder();
        let mut address = self.at(responder.unwrap_or(Responder::Kernel));
        if let Some(request) = &probe.request {
            address.set_port(request.port());
        }
        address
    }
}

impl Trial {
    /// Its probes that ask and are answered, each with where it goes.
    pub fn probe_runs(&self, target: Target) -> impl Iterator<Item = ProbeRun> + '_ {
        self.probes
            .iter()
            .zip(0..)
            .filter(|(probe, _)| !probe.method.is_one_way())
            .map(move |(probe, index)| ProbeRun {
                trial: self.id,
                index,
                target: target.address(probe),
                probe: probe.clone(),
                host: self.host,
                seed: self.seed.wrapping_add(u64::from(index)),
            })
    }
}

impl Trial {
    /// How long its loads are there before the first packet of its probes.
    pub fn lead(&self) -> Nanos {
        let loads = self.loads.iter().filter(|load| load.streams > 0);
        let leads = loads.filter_map(|load| load.lead);
        leads.map(|lead| lead.0).max().unwrap_or(0)
    }

    /// Does a probe go on until the run is stopped?
    pub fn is_endless(&self) -> bool {
        let endless = |probe: &Probe| probe.count.is_none() && probe.duration.is_none();
        self.probes.iter().any(endless)
    }

    /// Every stream of its loads, each with where it goes.
    pub fn stream_runs(&self, target: LoadTarget) -> impl Iterator<Item = StreamRun> + '_ {
        self.loads.iter().zip(0..).flat_map(move |(load, index)| {
            (1..=load.streams).map(move |number| StreamRun {
                trial: self.id,
                load: load.clone(),
                number,
                target: target.address,
                server: target.server,
                seed: stream_seed(self.seed, index, number),
            })
        })
    }
}

/// Streams of a trial draw apart from each other, and from its probes.
fn stream_seed(seed: u64, load: u64, number: u32) -> u64 {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    let place = ((load + 1) << 32) | u64::from(number);
    seed.wrapping_add(place.wrapping_mul(GOLDEN))
}

/// One stream of a load and where it goes: what a load generator carries out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamRun {
    /// Number of the trial in its run.
    pub trial: u32,
    /// Its load.
    pub load: Load,
    /// Which stream of the load, from 1.
    pub number: u32,
    /// Where it goes: the port for load.
    pub target: SocketAddr,
    /// What listens there.
    pub server: Server,
    /// Seeds its gaps and its fill.
    pub seed: u64,
}

impl StreamRun {
    /// What it is called in series and sentences.
    pub fn name(&self) -> String {
        self.load.stream_name(self.number)
    }
}

/// One probe and where it goes: what a prober carries out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeRun {
    /// Number of the trial in its run.
    pub trial: u32,
    /// Which probe of the trial.
    pub index: u16,
    /// Where it goes. The port is ignored by icmp.
    pub target: SocketAddr,
    /// What is sent.
    pub probe: Probe,
    /// The state to put the measuring host in.
    pub host: HostCondition,
    /// Seeds the pacing and the fill.
    pub seed: u64,
}

/// How the reflector's clock relates to the prober's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReflectorClock {
    /// No stamp comes from the reflector.
    #[default]
    None,
    /// One clock: the same kernel. `r_*` are on the prober's `CLOCK_MONOTONIC`.
    Same,
    /// Another clock that its host says is synchronised; the offset between the two is at most
    /// this. `r_*` are on the prober's `CLOCK_MONOTONIC` by way of both hosts' real time.
    Bounded {
        /// Largest error of a one-way delay.
        error_ns: Nanos,
    },
    /// Another clock: differences of `r_*` hold, differences to `t_*` do not.
    Unrelated,
}

impl ReflectorClock {
    /// What holds of both: no two trials have the same bound, and each keeps to the larger.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        use ReflectorClock::{Bounded, None, Same, Unrelated};
        match (self, other) {
            (None, _) | (_, None) => None,
            (Unrelated, _) | (_, Unrelated) => Unrelated,
            (Bounded { error_ns: one }, Bounded { error_ns: two }) => Bounded {
                error_ns: one.max(two),
            },
            (bounded, Same) | (Same, bounded) => bounded,
        }
    }
}

/// Where the residence in the reflector ends, for every record of the trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Residence {
    /// Unknown: `network` includes the reflector.
    #[default]
    Unknown,
    /// `r_rx` to `r_user`: `network` includes the reflector's send stack.
    ToUser,
    /// `r_rx` to `r_tx`: `network` is the network.
    ToDriver,
}

/// What a reader needs to know to read a probe's records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct RecordFacts {
    /// Whose clock `r_*` are.
    pub reflector_clock: ReflectorClock,
    /// Which of them bounds the residence.
    pub residence: Residence,
}

impl RecordFacts {
    /// By which records of several trials are read together: where their clocks differ, they tell apart
    /// only what all of them can.
    pub fn shared(each: impl IntoIterator<Item = RecordFacts>) -> Self {
        each.into_iter().reduce(Self::and).unwrap_or_default()
    }

    fn and(self, other: Self) -> Self {
        let [one, two] = [self, other].map(Self::known_residence);
        Self {
            reflector_clock: self.reflector_clock.and(other.reflector_clock),
            residence: if one == two { one } else { Residence::Unknown },
        }
    }

    /// A reflector without stamps has none, whatever else is said.
    pub const fn known_residence(self) -> Residence {
        match self.reflector_clock {
            ReflectorClock::None => Residence::Unknown,
            _ => self.residence,
        }
    }
}

/// In which direction packets were lost, from the reflector's own count. The parts add up to the packets that were lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LossDirection {
    /// Sent here, never counted there, and not known to be lost in a host.
    pub forward: u64,
    /// Counted there, never read here, and not known to be lost in a host.
    pub back: u64,
    /// Not known: lost after the last count that arrived, or counted there where it may have been the copy of another.
    pub unknown: u64,
    /// A reply came, longer after the time-out than replies are waited for, or after an error for the packet.
    #[serde(default)]
    pub answered_later: u64,
    /// Lost in a host, and not on the path.
    #[serde(default)]
    pub in_host: LostInHost,
}

/// Packets that reached a host and were dropped there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LostInHost {
    /// The receive buffer of the reflector's socket was full, and only this probe sent there. Where others did, whose packets
    /// were dropped is not known (`unknown`).
    pub reflector_buffer: u64,
    /// The reflector refused to answer more than its limits allow.
    pub reflector_limit: u64,
    /// Replies for which the prober's own receive buffer had no room.
    pub own_buffer: u64,
}

impl LostInHost {
    /// All of them.
    pub const fn total(&self) -> u64 {
        self.reflector_buffer + self.reflector_limit + self.own_buffer
    }
}

/// What was negotiated on a connection to a server. Null: nothing of the kind was.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Negotiated {
    /// Version of HTTP: `1.1`, `2`.
    pub http: Option<String>,
    /// Version of TLS: `1.2`, `1.3`.
    pub tls: Option<String>,
    /// Cipher suite, as IANA names it.
    pub cipher: Option<String>,
    /// The protocol that the server chose by TLS (ALPN, RFC 7301).
    pub alpn: Option<String>,
}

/// For people: `HTTP/2, TLS 1.3 (TLS_AES_256_GCM_SHA384), ALPN h2`.
impl fmt::Display for Negotiated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let http = self.http.as_ref().map(|version| format!("HTTP/{version}"));
        let cipher = self.cipher.as_ref().map(|cipher| format!(" ({cipher})"));
        let cipher = cipher.unwrap_or_default();
        let tls = self.tls.as_ref();
        let tls = tls.map(|version| format!("TLS {version}{cipher}"));
        let alpn = self.alpn.as_ref().map(|chosen| format!("ALPN {chosen}"));
        let said: Vec<_> = [http, tls, alpn].into_iter().flatten().collect();
        f.write_str(&said.join(", "))
    }
}

/// How late the switches of a testbed handed frames on: from when a frame was to leave until it was given to the interface. It
/// is part of each delay that was measured across them, and no part of the path that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SwitchLateness {
    /// How many frames were handed on in the trial.
    pub frames: u64,
    /// Half of them were no later than this.
    pub p50_ns: Nanos,
    /// 99 of 100 were no later than this.
    pub p99_ns: Nanos,
    /// None was later than this; null where an older version recorded the trial.
    #[serde(default)]
    pub max_ns: Option<Nanos>,
}

/// What came of one probe of a trial, beside its records.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ProbeFacts {
    /// How to read the records.
    pub records: RecordFacts,
    /// Each stamp as delivered.
    pub stamps: Vec<(StampPoint, Delivery)>,
    /// `CLOCK_REALTIME − CLOCK_MONOTONIC` at the start of the trial.
    pub realtime_offset: Nanos,
    /// Direction of loss, where the reflector counts.
    pub loss: Option<LossDirection>,
    /// What became of the packets that were not answered; `None` where all were, or where it was not kept. Worlds leave it to
    /// what records the trial.
    pub unanswered: Option<Unanswered>,
    /// MTU of the path as this host knew it at the end, in bytes of an IP packet; `None` where nobody asked.
    pub path_mtu: Option<u32>,
    /// Replies that came after their record had been closed, or that belong to no packet.
    pub strays: u64,
    /// Packets that arrived and were not replies to this probe (malformed, wrong key, wrong token).
    pub rejected: u64,
    /// Which sources of noise were watched meanwhile. None: nobody can say what disturbed it.
    pub noise_sources: Vec<String>,
    /// Of each CPU, in the order of time: when they were not. A run keeps that records in them have no noise.
    pub unwatched: Vec<Unwatched>,
    /// CPU time of processes on the prober's host, the largest first; empty where nobody counted.
    pub ran: Vec<CpuUse>,
    /// Whose the threads are that had a CPU instead; empty where nobody looked.
    pub processes: Vec<Process>,
    /// What was negotiated with the server, once for all connections that have the same; empty where there is nothing to
    /// negotiate.
    pub negotiated: Vec<Negotiated>,
    /// dns: the addresses that the name has, once for all answers that have the same; empty where none was asked for or told.
    pub resolved: Vec<Vec<IpAddr>>,
    /// Sentences the user should read before trusting the figures.
    pub warnings: Vec<String>,
    /// Why the trial is not what its experiment meant, as sentences. None: it is valid.
    pub flaws: Vec<String>,
    /// Cells or packets of the load that were lost, in all of the trial; `None` where nobody counts.
    pub lost_load: Option<u64>,
    /// Digest of the simulator's events in all of the trial, where the world has one.
    pub trace_hash: Option<u64>,
    /// How late the testbed's switches handed frames on in the trial, those of its loads too; `None` where there are none.
    pub switch_lateness: Option<SwitchLateness>,
    /// How long the trial was on a clock that is not this host's; see [`crate::world::Clock`].
    pub simulated: Option<Nanos>,
}

/// Ports that a reason names one by one.
const NAMED_PORTS: usize = 4;

/// Where a trial dropped packets or cells, and why: one of its warnings. Worlds write it and readers of a run find it again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dropped<'a> {
    /// `packets` or `cells`.
    pub what: &'a str,
    /// At which port, as in `s1→s2`.
    pub port: &'a str,
    /// Why, as in [`Dropped::FULL`].
    pub why: &'a str,
}

impl<'a> Dropped<'a> {
    /// Why: there was no room left.
    pub const FULL: &'static str = "the buffer was full";
    /// Why: a queue of the kernel had no room left, or lost them in another way that it does not tell apart.
    pub const KERNEL: &'static str = "the kernel's queue";
    /// Why: the queue discipline chose them, to keep the queue short. That is what it is for, and no warning.
    pub const CHOSEN: [&'static str; 6] = [
        "random early detection",
        "CoDel",
        "PIE",
        "DualPI2",
        "COBALT",
        "early packet discard",
    ];

    /// Why: the experiment asks for it. No queue is the reason.
    pub const ASKED: &'static str = "`impair.loss` asks for it";
    /// The same of packets that were changed on their way, which hosts do not take then.
    pub const DAMAGED: &'static str = "`impair.corrupt` asks for it";

    /// Is this what the queue discipline or the experiment is for?
    pub fn is_chosen(&self) -> bool {
        self.is_configured() || Self::CHOSEN.contains(&self.why)
    }

    /// Does the experiment ask for it?
    pub fn is_configured(&self) -> bool {
        [Self::ASKED, Self::DAMAGED].contains(&self.why)
    }

    /// As the reason why packets were lost.
    pub fn reason(&self) -> String {
        let Self { port, why, .. } = self;
        reason(&format!("the queue of {port}"), why)
    }

    /// As reasons why packets were lost, the ports of each together.
    pub fn reasons(all: impl IntoIterator<Item = Self>) -> Vec<String> {
        let mut ports_of = BTreeMap::<&str, BTreeSet<&str>>::new();
        for Self { port, why, .. } in all {
            ports_of.entry(why).or_default().insert(port);
        }
        let of = |(why, ports): (&str, BTreeSet<&str>)| {
            let ports: Vec<&str> = ports.into_iter().collect();
            let queues = match ports.as_slice() {
                [port] => format!("the queue of {port}"),
                few if few.len() <= NAMED_PORTS => format!("the queues of {}", few.join(", ")),
                many => format!("the queues of {} ports", many.len()),
            };
            reason(&queues, why)
        };
        let mut reasons: Vec<String> = ports_of.into_iter().map(of).collect();
        reasons.sort();
        reasons
    }

    /// The warning.
    pub fn sentence(&self) -> String {
        let Self { what, port, why } = self;
        match self.why == Self::DAMAGED {
            true => format!("{what} were damaged at {port}: {why}"),
            false => format!("{what} were dropped at {port}: {why}"),
        }
    }

    /// What such a warning says; `None` where it is another one.
    pub fn read(warning: &'a str) -> Option<Self> {
        let verbs = [" were dropped at ", " were damaged at "];
        let (what, rest) = verbs.iter().find_map(|verb| warning.split_once(verb))?;
        let (port, why) = rest.split_once(": ")?;
        Some(Self { what, port, why })
    }
}

/// Why packets were lost at these queues.
fn reason(queues: &str, why: &str) -> String {
    match why {
        Dropped::ASKED => {
            format!("packets were lost on the way to {queues}, as `impair.loss` asks")
        }
        Dropped::DAMAGED => {
            format!("packets were damaged on the way to {queues}, as `impair.corrupt` asks")
        }
        _ => format!("{queues} dropped packets ({why})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::Method;
    use crate::request::{Close, Request};
    use std::net::{Ipv6Addr, SocketAddrV6};

    #[test]
    fn a_probe_goes_where_what_answers_it_is() {
        // Of a link: without the number of the interface it leads nowhere.
        let host = "fe80::1".parse().unwrap_or(Ipv6Addr::LOCALHOST);
        let at = |port| SocketAddr::V6(SocketAddrV6::new(host, port, 0, 7));
        let load = LoadTarget {
            address: at(8863),
            server: Server::default(),
        };
        let target = Target::new(load, |responder| at(responder.usual_port()));
        for (method, port) in [
            (Method::Icmp, 0),
            (Method::Udp, 8862),
            (Method::Tcp, 8862),
            (Method::Stamp, 862),
        ] {
            assert_eq!(
                target.address(&Probe::new("", method)),
                at(port),
                "{method}"
            );
        }
        let mut probe = Probe::new("", Method::TcpConnect);
        let close = Close::default();
        probe.request = Some(Request::Connect { port: 443, close });
        assert_eq!(target.address(&probe), at(443));
    }

    #[test]
    fn what_was_dropped_is_read_from_its_warning() {
        let dropped = Dropped {
            what: "packets",
            port: "s1→b1",
            why: Dropped::FULL,
        };
        assert_eq!(Dropped::read(&dropped.sentence()), Some(dropped));
        assert_eq!(Dropped::read("noise: 3 events were only counted"), None);
        let says = "the queue of s1→b1 dropped packets (the buffer was full)";
        assert_eq!(dropped.reason(), says);
        let asked = Dropped {
            why: Dropped::ASKED,
            ..dropped
        };
        assert!(asked.is_chosen() && !dropped.is_chosen());
        assert!(!asked.reason().contains("dropped"));
        let damaged = Dropped {
            why: Dropped::DAMAGED,
            ..dropped
        };
        assert_eq!(
            damaged.sentence(),
            "packets were damaged at s1→b1: `impair.corrupt` asks for it"
        );
        assert_eq!(Dropped::read(&damaged.sentence()), Some(damaged));
        assert!(damaged.is_configured());
    }

    #[test]
    fn queues_that_drop_for_the_same_reason_are_said_together() {
        let at = |why| {
            move |port| Dropped {
                what: "packets",
                port,
                why,
            }
        };
        let [few, many] = [&["b", "a", "a"][..], &["a", "b", "c", "d", "e"]];
        let full = few.iter().copied().map(at(Dropped::FULL));
        let asked = many.iter().copied().map(at(Dropped::ASKED));
        assert_eq!(
            Dropped::reasons(full.chain(asked)),
            [
                "packets were lost on the way to the queues of 5 ports, as `impair.loss` asks",
                "the queues of a, b dropped packets (the buffer was full)"
            ]
        );
    }

    #[test]
    fn trials_share_what_all_of_them_tell() {
        let within = |error_ns| ReflectorClock::Bounded { error_ns };
        let of = |clock| RecordFacts {
            reflector_clock: clock,
            residence: Residence::ToDriver,
        };
        for (one, other, both) in [
            (within(1), within(2), within(2)),
            (ReflectorClock::Same, within(2), within(2)),
            (
                within(1),
                ReflectorClock::Unrelated,
                ReflectorClock::Unrelated,
            ),
            (
                ReflectorClock::Same,
                ReflectorClock::None,
                ReflectorClock::None,
            ),
            (
                ReflectorClock::Unrelated,
                ReflectorClock::None,
                ReflectorClock::None,
            ),
        ] {
            for pair in [[one, other], [other, one]] {
                let shared = RecordFacts::shared(pair.map(of));
                assert_eq!(shared.reflector_clock, both);
                assert_eq!(shared.known_residence(), of(both).known_residence());
            }
        }
        let to_user = RecordFacts {
            residence: Residence::ToUser,
            ..of(within(1))
        };
        let neither = RecordFacts::shared([to_user, of(within(1))]);
        assert_eq!(neither.residence, Residence::Unknown);
        assert_eq!(RecordFacts::shared([]), RecordFacts::default());
    }
}
