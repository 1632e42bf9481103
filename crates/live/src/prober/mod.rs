//! Real probes on a real path.
//!
//! | module | does |
//! |---|---|
//! | [`icmp`], [`udp`], [`tcp`], [`stamp`] | the methods: sockets and formats |
//! | [`dns`], `server` | those that ask a server of any make: by datagrams, on connections |
//! | [`session`] | sets a session up with `delaylab reflect` |
//! | [`channel`], [`datagram`] | what a method is to the engine |
//! | [`socket`] | what a datagram method asks of the kernel |
//! | [`engine`] | what a probe does with its socket: sends when due, reads, drains stamps; it never waits |
//! | `own_thread` | the loop that polls the engine and waits, for a probe that has a thread |
//! | `agreement` | what both clocks have done to one-way delays |
//! | [`any_bytes`] | every reply parser, for the fuzz target |
//! | [`selfcheck`] | which stamps this host delivers |
//! | `in_host` | what the user should know of packets that hosts dropped |
//! | [`shortest`] | the shortest round trip to a target, which probes share |
//! | `arrival` | when a reply that comes in pieces arrived |
//! | `least_payload` | the shortest request of each method |
//! | [`open`], [`exchange`], [`error`] | what methods have in common |
//!
//! To add a method: one file that implements [`channel::Channel`], one line in `Probing::run_by`, and its row in the table of
//! `model::method`.

mod agreement;
pub mod any_bytes;
mod arrival;
pub mod channel;
pub mod datagram;
pub mod dns;
pub mod engine;
pub mod error;
pub mod exchange;
pub mod icmp;
mod in_host;
#[cfg(test)]
mod kernels;
pub mod least_payload;
pub mod open;
mod own_thread;
pub mod selfcheck;
mod server;
pub mod session;
pub mod shortest;
pub mod socket;
pub mod stamp;
pub mod tcp;
#[cfg(test)]
mod tests;
pub mod udp;

use crate::clocks::HostClock;
use crate::condition::guardian::Guardian;
use crate::condition::undo::Undo;
use agreement::Order;
use channel::{Channel, KeptFor};
use delaylab_kernel::privilege::{self, Capability};
use delaylab_kernel::{clock, interfaces, nic_stamping, scheduling, wait};
use delaylab_model::method::Method;
use delaylab_model::probe::{Probe, StampRequest};
use delaylab_model::record::Record;
use delaylab_model::refusal::Refusal;
use delaylab_model::stop::Stop;
use delaylab_model::trial::{Delivery, ProbeFacts, ProbeRun, RecordFacts, Residence, StampPoint};
use delaylab_model::units::{format_duration, write_duration};
use delaylab_model::world::Sink;
use delaylab_model::{MILLISECOND, Nanos};
use delaylab_traffic::prober::room::{self, Waiting};
use delaylab_traffic::prober::{Config, Expected, Prober};
use delaylab_wire::auth::Key;
use engine::{Engine, EngineConfig, EngineReport};
use error::{OpenError, RunError};
use least_payload::too_short;
use open::Settings;
use shortest::RoundTrips;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// This number of packets without a reply at the end is silence, and no chance.
const SILENT_FROM: u64 = 5;
/// From having everything ready to the first packet.
const HEAD_START: Nanos = MILLISECOND;

/// How probes are carried out, whatever they ask.
#[derive(Debug, Clone)]
pub struct Probing {
    /// The secret shared with the reflector.
    pub key: Option<Key>,
    /// The secret shared with what takes load, which may be another host.
    pub load_key: Option<Key>,
    /// Ends it early.
    pub stop: Stop,
    /// The shortest round trips, which its probes share.
    pub shortest: RoundTrips,
}

impl Probing {
    /// With this secret, until it is stopped.
    pub fn new(key: Option<Key>, stop: Stop) -> Self {
        Self {
            load_key: key.clone(),
            key,
            stop,
            shortest: RoundTrips::default(),
        }
    }

    /// Every field of the probe that its method cannot honour.
    pub fn refusals(&self, run: &ProbeRun) -> Vec<Refusal> {
        let mut refusals = Vec::new();
        let mut refuse = |field: &str, reason: String| {
            refusals.push(Refusal::new(field, reason));
        };
        let probe = &run.probe;
        let largest = probe.method.largest_payload(run.target.is_ipv6());
        if probe.payload > largest {
            refuse(
                "payload",
                format!("{} carries at most {largest} B", probe.method),
            );
        }
        if let Some(why) = too_short(probe.method, probe.payload, self.key.is_some()) {
            refuse("payload", why);
        }
        if probe.reply_payload.is_some() && !probe.method.is_stream() {
            let reason = format!(
                "{} replies are as long as requests: only tcp's can be set",
                probe.method
            );
            refuse("reply_payload", reason);
        }
        let waiting = waiting(probe);
        if waiting.is_too_much() {
            let reason = format!(
                "up to {} packets would wait for their replies at once, for which {} MB of memory are needed and {} MB are \
                 taken at most: use a shorter -W, or a longer interval",
                waiting.packets(),
                waiting.bytes() >> 20,
                room::MOST_BYTES >> 20
            );
            refuse("timeout", reason);
        }
        refusals
    }

    /// Carries one probe out on this thread and hands its records over.
    pub fn run(&self, run: &ProbeRun, sink: &mut dyn Sink) -> Result<ProbeFacts, RunError> {
        self.run_by(&HostClock::of_kernel(), run, sink)
    }

    /// The same, on a host with these clocks.
    pub(crate) fn run_by(
        &self,
        clock: &HostClock,
        run: &ProbeRun,
        sink: &mut dyn Sink,
    ) -> Result<ProbeFacts, RunError> {
        // 1 ns of slack: the default of 50 µs would be our own noise.
        let _ = scheduling::set_timer_slack(1);
        // Packets are due on an absolute grid, also after this process was stopped for a while.
        let _ = wait::keep_deadlines_over_stops();
        let _nic = switch_nic_stamping_on(&run.probe)?;
        let settings = Settings {
            run,
            target: run.target,
            key: self.key.as_ref(),
            clock,
            stop: &self.stop,
            shortest: &self.shortest,
        };
        match run.probe.method {
            Method::Icmp => carry_out(icmp::open(&settings)?, &settings, sink),
            Method::Udp => carry_out(udp::open(&settings)?, &settings, sink),
            Method::Tcp => carry_out(tcp::open(&settings)?, &settings, sink),
            Method::Stamp => carry_out(stamp::open(&settings)?, &settings, sink),
            Method::Dns if !run.probe.is_acknowledged() => {
                carry_out(dns::open(&settings)?, &settings, sink)
            }
            Method::TcpConnect | Method::Http | Method::Dns => {
                carry_out(server::open(&settings)?, &settings, sink)
            }
            Method::Frame => {
                let reason = "nothing answers frames: they go from port to port of a tester";
                Err(OpenError::setting("method", reason).into())
            }
        }
    }
}

/// Who sees to it that an interface stamps again as it did: one for all probes that want its stamps.
static STAMPING: Mutex<BTreeMap<String, Weak<Guardian>>> = Mutex::new(BTreeMap::new());

/// The guardian restores the NIC when the last probe drops it, or when this process dies by any means.
fn switch_nic_stamping_on(probe: &Probe) -> Result<Option<Arc<Guardian>>, OpenError> {
    if probe.stamps != StampRequest::Hardware {
        return Ok(None);
    }
    let Some(name) = &probe.interface else {
        let reason = "hardware stamps change a NIC for everyone: name it with -I";
        return Err(OpenError::setting("stamps", reason));
    };
    let mut stamping = STAMPING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(guardian) = stamping.get(name).and_then(Weak::upgrade) {
        return Ok(Some(guardian));
    }
    let switched = privilege::with(Capability::CAP_NET_ADMIN, || {
        let saved = nic_stamping::save(name)?;
        let mut guardian = Guardian::start()?;
        guardian.tell(Undo::RestoreNicStamping(saved))?;
        nic_stamping::switch_on(name)?;
        Ok(Arc::new(guardian))
    });
    if let Ok(guardian) = &switched {
        stamping.insert(name.clone(), Arc::downgrade(guardian));
    }
    switched
        .map(Some)
        .map_err(|source| OpenError::NoHardwareStamps {
            name: name.clone(),
            source,
        })
}

/// What the probe is, and how it is run.
fn configured(settings: &Settings<'_>, residence: Residence) -> (Config, EngineConfig) {
    let (run, probe) = (settings.run, settings.probe());
    let stamped = probe.stamps != StampRequest::None;
    let config = Config {
        trial: run.trial,
        probe: run.index,
        method: probe.method,
        dscp: probe.dscp.code_point(),
        ip_size: probe
            .method
            .ip_size(settings.target.is_ipv6(), probe.payload),
        target: Some(settings.target.ip()),
        pacing: probe.pacing,
        seed: run.seed,
        start: clock::monotonic() + HEAD_START,
        count: probe.count,
        duration: probe.duration,
        timeout: probe.timeout,
        expected: Expected {
            departures: stamped,
            follow_ups: residence == Residence::ToDriver,
            acks: stamped && probe.is_acknowledged(),
        },
    };
    let how = EngineConfig {
        wait_mode: probe.wait_mode,
        stamped,
        carrier: probe.method.carrier(),
        timeout: probe.timeout,
        target: settings.target,
        stop: settings.stop.clone(),
    };
    (config, how)
}

fn carry_out(
    mut channel: impl Channel,
    settings: &Settings<'_>,
    sink: &mut dyn Sink,
) -> Result<ProbeFacts, RunError> {
    let (run, probe) = (settings.run, settings.probe());
    let facts = channel.facts();
    sink.begin(run.index, &facts).map_err(RunError::Sink)?;
    let mut clocks = settings.clock.watch();
    let realtime_offset = clocks.offset();
    let (config, how) = configured(settings, facts.residence);
    let mut prober = Prober::with_room(config, waiting(probe).room());
    let mut seen = StampCounter {
        sink,
        points: StampPoint::of_method(probe.method),
        stamps: vec![0; StampPoint::of_method(probe.method).len()],
        order: Order::new(facts.reflector_clock),
    };
    let interface = interface(&channel, probe);
    let began = clock::monotonic();
    let engine = Engine::new(&mut channel, &mut prober, &mut clocks, &mut seen, how);
    let (ran, ended) = own_thread::run(engine);
    // What a connection brought until it ended is a result, and why it ended is a flaw of it.
    let mut flaws = match ended {
        Ok(()) => Vec::new(),
        Err(error @ RunError::Ended { .. }) if prober.next_seq() > 0 => vec![error.to_string()],
        Err(error) => return Err(error.by_interface(interface)),
    };
    let (reflector_clock, mut warnings) = agreement::at_the_end(&seen.order, &ran.moved);
    let facts = RecordFacts {
        reflector_clock,
        ..facts
    };
    let loss = prober.loss_direction();
    warnings.extend(in_host::warnings(loss.unwrap_or_default().in_host));
    warnings.extend(loss.and_then(|loss| in_host::of_several(loss, ran.dropped_of_several)));
    warnings.extend(unstamped(channel.unstamped()));
    warnings.extend(channel.warnings());
    let lasted = clock::monotonic() - began;
    let ended = session_ended(channel.kept(), lasted, &ran);
    flaws.extend(ended.or_else(|| reflector_ended(probe.method, &ran)));
    if flaws.is_empty() {
        warnings.extend(session_may_have_ended(channel.kept(), &ran, probe.timeout));
    }
    Ok(ProbeFacts {
        records: facts,
        stamps: seen.deliveries(probe, &facts),
        realtime_offset,
        loss,
        path_mtu: ran.path_mtu,
        strays: prober.strays(),
        rejected: ran.rejected,
        negotiated: channel.negotiated(),
        resolved: channel.resolved(),
        warnings,
        flaws,
        ..ProbeFacts::default()
    })
}

/// How many of its packets can be under way at once.
fn waiting(probe: &Probe) -> Waiting {
    Waiting::at_most(&probe.pacing, probe.count, probe.duration, probe.timeout)
}

/// A reflector answers nothing more once it has ended or forgotten the session: the packets behind are not lost.
fn session_ended(kept: KeptFor, lasted: Nanos, ran: &EngineReport) -> Option<String> {
    // One that still answers questions for the session has it.
    let has_ended = |max: &Nanos| lasted > *max && ran.silent_for.is_some();
    if let Some(max) = kept.max_duration.filter(has_ended) {
        return Some(format!(
            "the reflector ends a session after {}: later packets were not lost on the way but ignored. \
             Start it with a larger --max-duration, or make shorter runs",
            write_duration(max)
        ));
    }
    let silent_for = ran.silent_for.filter(|_| ran.forgotten)?;
    Some(format!(
        "the reflector is there and no longer knows the session, of which nothing was heard in the last {}: it was restarted, \
         had forgotten it, or sees another address of this host. Packets of that time are not known to be lost on the way. Start another run to measure on",
        format_duration(silent_for)
    ))
}

/// The packets behind did come to its host. Whether a server answers is what is measured.
fn reflector_ended(method: Method, ran: &EngineReport) -> Option<String> {
    let has_reflector = method.is_one_packet() && method.has_port();
    let silent_for = ran
        .silent_for
        .filter(|_| has_reflector && ran.port_closed)?;
    Some(format!(
        "the reflector has ended: nothing was heard of it in the last {}, and its host says that nothing listens on its port any \
         more. Packets of that time are not known to be lost on the way. Start it again, and another run to measure on",
        format_duration(silent_for)
    ))
}

/// Where nothing answers any more, the path may be down or the session forgotten.
fn session_may_have_ended(kept: KeptFor, ran: &EngineReport, timeout: Nanos) -> Option<String> {
    let silent_for = ran.silent_for?;
    if ran.forgotten || ran.port_closed {
        return None;
    }
    let Some(idle) = kept.max_idle.filter(|&idle| silent_for > idle) else {
        return fell_silent(ran, silent_for, timeout);
    };
    Some(format!(
        "the reflector forgets a session of which no packet comes for {}, and nothing was heard of it in the last {}: later \
         packets may have been ignored there, and are not known to be lost on the way. Start another run to measure on",
        write_duration(idle),
        format_duration(silent_for)
    ))
}

/// After the last reply packets timed out, and then the reflector did not answer a question either. On a path that loses packets
/// that may happen to a few.
fn fell_silent(ran: &EngineReport, silent_for: Nanos, timeout: Nanos) -> Option<String> {
    let is_silent = ran.was_asked && ran.unanswered >= SILENT_FROM && silent_for > timeout;
    is_silent.then(|| {
        format!(
            "nothing was heard of the reflector in the last {}: the last {} packets were not answered, nor a question at the end. \
             The path is down, or the reflector has ended or no longer has the key. Packets of that time are not known to be lost \
             on the way",
            format_duration(silent_for),
            ran.unanswered
        )
    })
}

/// Behind a send call that failed nobody knows at once how the kernel numbers the next stamps.
fn unstamped(packets: u64) -> Option<String> {
    (packets > 0).then(|| {
        format!(
            "{packets} packets have no departure stamps: send calls failed, and it did not show at once how the kernel numbers \
             the packets behind them. For those, host and network cannot be separated"
        )
    })
}

/// By which interface packets leave. Asked before the run: of one that is gone nobody knows the name.
fn interface(channel: &impl Channel, probe: &Probe) -> Option<String> {
    probe.interface.clone().or_else(|| {
        let socket = channel.socket();
        let local = socket2::SockRef::from(&socket).local_addr().ok()?;
        interfaces::with_address(local.as_socket()?.ip())
    })
}

/// Hands records on and counts which stamps they have.
struct StampCounter<'a> {
    sink: &'a mut dyn Sink,
    points: &'static [StampPoint],
    stamps: Vec<u64>,
    order: Order,
}

impl Sink for StampCounter<'_> {
    fn begin(&mut self, probe: u16, facts: &RecordFacts) -> io::Result<()> {
        self.sink.begin(probe, facts)
    }

    fn record(&mut self, record: &Record) -> io::Result<()> {
        for (count, point) in self.stamps.iter_mut().zip(self.points) {
            *count += u64::from(record.stamp(*point).is_some());
        }
        self.order.take(record);
        self.sink.record(record)
    }

    fn pause(&mut self) -> io::Result<()> {
        self.sink.pause()
    }

    fn only_waits(&mut self) {
        self.sink.only_waits();
    }
}

impl StampCounter<'_> {
    fn deliveries(&self, probe: &Probe, facts: &RecordFacts) -> Vec<(StampPoint, Delivery)> {
        let counted = self.points.iter().zip(&self.stamps);
        counted
            .map(|(&point, &count)| (point, delivery(point, count, probe, facts)))
            .collect()
    }
}

fn delivery(point: StampPoint, count: u64, probe: &Probe, facts: &RecordFacts) -> Delivery {
    use StampPoint::{RRx, RTx, RUser, TAck, TFirst, TRx, TRxHw, TSched, TTx, TTxHw};
    if count > 0 {
        return Delivery::Delivered;
    }
    if matches!(point, TAck | TFirst) && !probe.is_acknowledged() {
        return Delivery::Unsupported;
    }
    // A handshake is no request that could be stamped.
    if probe.method.is_handshake() {
        return Delivery::Unsupported;
    }
    match (point, probe.stamps, facts.residence) {
        (RRx | RUser | RTx, _, Residence::Unknown) | (RTx, _, Residence::ToUser) => {
            Delivery::Unsupported
        }
        (TSched | TTx | TAck | TFirst | TRx, StampRequest::None, _) => Delivery::Off,
        (TTxHw | TRxHw, StampRequest::None | StampRequest::Software, _) => Delivery::Off,
        _ => Delivery::Missing,
    }
}
