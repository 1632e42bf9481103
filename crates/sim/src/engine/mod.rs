//! The simulation of one trial: one thread, one event after the other, until every probe is done.
//!
//! | module | what happens |
//! |---|---|
//! | `credits` | credits go back, a link at a time |
//! | `crossbars` | cells go from input buffers to output ports |
//! | `explicit` | how switches find the rates that they tell |
//! | `flow_control` | switches stop those who send to them |
//! | `rates` | switches write rates into RM cells |
//! | `shares` | how evenly the streams of a load get through |
//! | `links` | units leave ports, travel, and come to queues or hosts |
//! | `hosts` | packets go through CPUs and network cards |
//! | `probes` | probes send, reflectors answer, records become whole |
//! | `servers` | servers answer in the place of reflectors, after a think time |
//! | `request_bytes` | how long requests and replies of servers are |
//! | `visits` | probes make a connection for each request |
//! | `frames` | a tester's frames |
//! | `connections` | TCP |
//! | `loads` | packets that nobody answers |
//! | `transfers` | finite transfers, one after the other |
//! | `guarded` | what links need to lose nothing |
//! | `refusals` | what cannot be simulated |
//! | `pointless` | what has an effect that is hardly meant |
//! | `sections` | what sections of an experiment mean |
//! | `tcp_load` | what the end systems of a TCP load do |
//! | `set_up` | all of it from a trial |
//! | `outcome` | what comes of it |
//!
//! A port's queue is served only when somebody could tell: before something is put into it, when the
//! unit in front of it arrives at the far end, and at the end. Each unit is dequeued with the time at
//! which its transmission begins, in their order, so every discipline, stamp and trace is as if there
//! had been an event at each departure; but there is one event a hop, not two. (`Serving::Eager` has
//! them all; a test compares the two.) Only queues that wait for something else than the line, as those
//! with ABR, CBR, credit, flow control or a shaper do, are served by events of their own.

mod connections;
mod credits;
mod crossbars;
mod explicit;
mod flow_control;
mod frames;
mod guarded;
mod hosts;
mod links;
mod loads;
mod outcome;
mod pointless;
mod probes;
mod rates;
mod refusals;
mod request_bytes;
mod sections;
mod servers;
mod set_up;
mod shares;
mod tcp_load;
mod transfers;
mod visits;

pub use pointless::held_loads;
pub(crate) use probes::ONLY_CPU;
pub use refusals::{advice, refusals};
pub(crate) use request_bytes::negotiated;

use crate::amounts::Amounts;
use crate::cpu::Cpu;
use crate::event_set::{EventSet, NEVER};
use crate::nic::Nic;
use crate::packet::{Arena, ChannelId};
use crate::slots::{Event, Slots};
use crate::trace::Trace;
use crate::transmitter::Transmitter;
use crate::unit::Unit;
use crossbars::CellTimes;
use delaylab_model::noise::NoiseKind;
use delaylab_model::path::{Framing, Pause};
use delaylab_model::record::{Answer, Record};
use delaylab_model::refusal::Refusal;
use delaylab_model::trial::Trial;
use delaylab_model::{Nanos, Picos};
use delaylab_switch::credit::Downstream;
use delaylab_switch::explicit_rate::ExplicitRate;
use delaylab_switch::{Cause, Dropped, Switch};
use delaylab_traffic::arrival::{Arrival, Packet};
use delaylab_traffic::prober::Prober;
use delaylab_traffic::tcp;
use flow_control::Control;
use frames::FrameStream;
use servers::Server;
use shares::Shares;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
pub use transfers::Transferred;
use transfers::{Barrier, Transfers};
use visits::FreshProbe;

/// When queues are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Serving {
    /// When somebody could tell.
    #[default]
    Lazy,
    /// At every departure.
    Eager,
}

/// The far end of a port.
#[derive(Debug, Clone, Copy)]
enum Far {
    Host(u32),
    Switch,
}

/// What a port sends from.
#[derive(Debug, Clone, Copy)]
enum Near {
    Nic(u32),
    Switch { switch: u32, egress: u32 },
}

/// A port.
struct Port {
    line: Transmitter,
    /// From the last bit's leaving to its being in the next queue: propagation, and the latency of the
    /// switch at the far end.
    latency: Picos,
    /// Of the switch that it leads to.
    pause: Option<Pause>,
    /// Credits, or what stands for a frame of flow control: they go before everything else.
    credits: VecDeque<Unit>,
    /// Units that have left, and when they arrive.
    pipe: VecDeque<(Picos, Unit)>,
    near: Near,
    far: Far,
    /// The number of this link's port at the far switch.
    ingress: u16,
    /// Served at each departure.
    eager: bool,
    /// Among its switch's `waiting`.
    is_listed: bool,
    series: Option<Box<PortSeries>>,
    sent: u64,
}

/// What a port did over time.
struct PortSeries {
    backlog: Trace,
    /// 1 while it sends.
    utilisation: Trace,
    /// How many units its queue dropped so far.
    drops: Trace,
    /// How many left it so far that it marked, where it may mark any.
    marks: Option<Trace>,
}

/// A switch, and its ports.
struct Node {
    switch: Switch<Unit>,
    ports: Vec<u32>,
    /// Beside each queue, if the switch tells sources their rate.
    rates: Vec<ExplicitRate>,
    /// The cell times of a crossbar between input buffers and these ports.
    crossbar: Option<Box<CellTimes>>,
    /// What one port holds counts for the others.
    shared: bool,
    /// It drops packets before its buffer is full.
    early: bool,
    /// Its queues may mark what they forward.
    marks: bool,
    /// It is reset, or tells sources their rate.
    special: bool,
    /// It holds what comes while it pauses.
    pauses: bool,
    /// When it is reset, and when it is up again.
    reset: Option<(Picos, Picos)>,
    /// What it is after a reset: as it was before anything came.
    fresh: Option<Box<Switch<Unit>>>,
    /// Of a shared buffer: every port that something waits at, and some where nothing does any more.
    waiting: Vec<u32>,
}

/// A one-way flow of packets; in ATM a virtual channel.
struct Channel {
    /// The first link's port.
    first: u32,
    /// Where its links begin in `ways`.
    way: u32,
    links: u8,
    /// What leads back.
    reverse: ChannelId,
    /// The flow that it is of.
    flow: u32,
    queue: u8,
    dscp: u8,
    ecn: u8,
    /// The receiver has cells of a packet whose last one was lost. By AAL5's last cell alone it knows where a packet ends
    /// (ITU-T I.363.5): it takes the next packet for the rest of this one, and both are lost.
    joined: bool,
}

impl Channel {
    /// What was left of a packet has come, with its last cell or without. Is it lost with the one before?
    const fn reassemble(&mut self, ends: bool) -> bool {
        std::mem::replace(&mut self.joined, !ends) && ends
    }
}

/// Somebody who sends.
enum Flow {
    Probe(Box<ProbeFlow>),
    TcpProbe(Box<TcpProbe>),
    Fresh(Box<FreshProbe>),
    Tcp(Box<Connection>),
    Load(Box<Load>),
    Frames(Box<FrameStream>),
}

/// What every kind of probe has.
struct Asking {
    prober: Prober,
    host: u32,
    /// A packet that is due waits for the CPU.
    waiting: bool,
    /// It sends nothing any more, and what it waits for is under way or lost.
    only_waits: bool,
    done: bool,
}

/// A probe over datagrams, and its reflector.
struct ProbeFlow {
    asking: Asking,
    out: ChannelId,
    back: ChannelId,
    ip_size: u32,
    /// The switch sends packets back: nobody reflects them.
    loopback: bool,
    /// What answers in the place of a reflector.
    server: Option<Serves>,
}

/// The server that a probe asks.
#[derive(Debug, Clone, Copy)]
struct Serves {
    /// Its number.
    server: u32,
    /// The IP packet of a datagram that replies, or the bytes of a reply on a connection.
    reply: u32,
    /// The bytes of a reply as it is read: without headers, and without TLS around it.
    plain: u32,
    /// What every reply says.
    answer: Answer,
}

/// A probe over TCP: a connection each way.
struct TcpProbe {
    asking: Asking,
    peer: u32,
    channels: [ChannelId; 2],
    /// The connections that carry its requests and its replies.
    requests: u32,
    replies: u32,
    /// Bytes of each.
    request: u64,
    reply: u64,
    asked: u64,
    answered: u64,
    stamps: VecDeque<TcpStamps>,
    /// What answers in the place of a reflector.
    server: Option<Serves>,
    /// Requests that have been acknowledged.
    acknowledged: u64,
    /// From a request's leaving its socket to its acknowledgement, the shortest.
    least_round_trip: Option<Nanos>,
}

impl Flow {
    /// What a probe of any kind has.
    fn asking(&mut self) -> Option<&mut Asking> {
        match self {
            Flow::Probe(probe) => Some(&mut probe.asking),
            Flow::TcpProbe(probe) => Some(&mut probe.asking),
            Flow::Fresh(probe) => Some(&mut probe.asking),
            Flow::Tcp(_) | Flow::Load(_) | Flow::Frames(_) => None,
        }
    }

    /// The connection, if it is one.
    fn connection(&self) -> Option<&Connection> {
        match self {
            Flow::Tcp(connection) => Some(connection),
            _ => None,
        }
    }
}

/// What is known of a request that is not answered yet.
#[derive(Default, Clone, Copy)]
struct TcpStamps {
    sched: Option<Nanos>,
    t_first: Option<Nanos>,
    r_rx: Option<Nanos>,
    r_user: Option<Nanos>,
    r_tx: Option<Nanos>,
    t_rx: Option<Nanos>,
}

/// A TCP connection in one direction.
struct Connection {
    sender: tcp::Sender,
    receiver: tcp::Receiver,
    data: ChannelId,
    acks: ChannelId,
    from: u32,
    to: u32,
    /// Bytes of IP and TCP headers.
    headers: u32,
    /// A segment is on its way to the network card.
    sending: bool,
    /// Bytes that wait for the host's line, as far as somebody counts them.
    queued: u64,
    /// No more left the socket because of them.
    throttled: bool,
    starts: Picos,
    /// The probe that it belongs to.
    probe: Option<(u32, bool)>,
    /// The load that it is a stream of, and which.
    stream: Option<(u32, u32)>,
    cwnd: Option<Trace>,
    /// Bytes that the receiver's application has, and when they came.
    delivered: u64,
    goodput: Option<Amounts>,
    transfers: Option<Box<Transfers>>,
    /// The smoothed round-trip time in nanoseconds, from its first measurement on.
    srtt: Option<Trace>,
}

/// Packets at times of their own.
struct Load {
    arrivals: Arrival,
    host: u32,
    channel: ChannelId,
    next: Option<Packet>,
    /// A packet waits for the CPU: the next is not sent before it.
    waiting: bool,
    /// The next has become due meanwhile.
    late: bool,
}

/// What one probe's packet met at one hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hop {
    /// Of the probe.
    pub probe: u16,
    /// Of the packet.
    pub seq: u64,
    /// On its way back?
    pub back: bool,
    /// Links behind it.
    pub hop: u16,
    /// The port whose queue it was in.
    pub port: u32,
    /// When its last unit came to the queue, or to the switch that then held it as it paused.
    pub enqueue: Picos,
    /// When that began to leave.
    pub dequeue: Picos,
    /// Cells in the queue before it, or bytes.
    pub backlog: u64,
}

/// Units and what became of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Events.
    pub events: u64,
    /// Units that arrived at the end of a link.
    pub hops: u64,
    /// Units that hosts put on links.
    pub sent: u64,
    /// Units that hosts took from links.
    pub delivered: u64,
    /// Units in queues and on links at the end.
    pub under_way: u64,
    /// Units dropped, by port and cause.
    pub dropped: BTreeMap<(u32, Cause), u64>,
}

/// Ports and flows whose series are kept. More would be more than anyone looks at.
const MOST_SERIES: usize = 64;

/// A simulation.
pub struct Engine<E> {
    now: Picos,
    events: E,
    slots: Slots,
    ports: Vec<Port>,
    switches: Vec<Node>,
    nics: Vec<Nic>,
    /// Of each host.
    hosts: Vec<Cpu>,
    servers: Vec<Server>,
    channels: Vec<Channel>,
    /// The ports of every channel's links, one channel after the other.
    ways: Vec<u32>,
    /// Beside `ways`: what the far end of each link has forwarded of the channel. Empty without credits.
    forwarded: Vec<Downstream>,
    /// Of each port; empty without flow control.
    controls: Vec<Control>,
    /// Somebody before a switch wants to know what has left it: for credits, or flow control.
    tells_back: bool,
    packets: Arena,
    flows: Vec<Flow>,
    drops: Vec<Dropped<Unit>>,
    in_cells: bool,
    has_abr: bool,
    /// Connections wait for what they have at their hosts' lines.
    counts_queues: bool,
    framing: Framing,
    probes_left: usize,
    /// Those of them that may still send, or of which that is not known.
    probes_sending: usize,
    /// None may.
    only_waits: bool,
    /// When a tester's frame last arrived, of whichever stream.
    last_frame: Picos,
    /// Of every arrival at the end of a link.
    digest: u64,
    /// Of every record that was taken.
    digest_of_records: u64,
    /// What happened.
    pub counts: Counts,
    records: Vec<Record>,
    hops: Vec<Hop>,
    /// The host of the first probe.
    measuring: u32,
    noise: Vec<Noise>,
    /// What clock reads of the measuring host cost, by the least cost of the bin.
    clock_reads: BTreeMap<Nanos, u64>,
    /// Flows from here on are loads.
    first_load: u32,
    lost_load: u64,
    /// Of each load: what its TCP streams got through together.
    goodputs: Vec<Option<Amounts>>,
    /// Of each load: the streams that wait for each other.
    barriers: Vec<Option<Barrier>>,
    load_names: Vec<Arc<str>>,
    /// Of each load: how evenly its streams get through.
    shares: Vec<Shares>,
    /// Of each port, as in `s1→s2`; of each flow.
    port_names: Vec<Arc<str>>,
    flow_names: Vec<Arc<str>>,
}

/// How far [`Engine::run`] got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineProgress {
    /// So many events as it was allowed.
    Slice,
    /// Every probe is done.
    Done,
    /// Nothing is to come, and a probe is not done.
    Still,
}

/// Something kept the measuring host's CPU from a packet, or could have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Noise {
    /// When it began.
    pub start: Picos,
    /// How long it lasted.
    pub length: Picos,
    /// Which daemon; empty for a clock read.
    pub who: String,
    /// What it was.
    pub kind: NoiseKind,
}

impl<E: EventSet> Engine<E> {
    /// The trial at time zero.
    ///
    /// # Errors
    /// The first field that cannot be simulated.
    pub fn new(trial: &Trial, serving: Serving) -> Result<Self, Refusal> {
        match refusals(trial).into_iter().next() {
            Some(refusal) => Err(refusal),
            None => set_up::engine(trial, serving),
        }
    }

    /// Until every probe is done, or for so many events.
    pub fn run(&mut self, events: u64) -> EngineProgress {
        for _ in 0..events {
            if self.probes_sending == 0 && self.probes_left > 0 {
                self.nothing_is_sent();
            }
            if self.probes_left == 0 {
                return EngineProgress::Done;
            }
            let (at, slot) = self.events.next();
            if at == NEVER {
                return EngineProgress::Still;
            }
            debug_assert!(at >= self.now, "time goes back");
            self.now = at;
            self.counts.events += 1;
            match self.slots.event(slot) {
                Event::Arrive(port) => self.arrive(port),
                Event::Transmit(port) => self.transmit(port),
                Event::Cross(switch) => self.cross(switch),
                Event::Cpu(host) => self.cpu_done(host),
                Event::Daemon(host) => self.daemon(host),
                Event::Retransmit(flow) => self.retransmit(flow),
                Event::DelayedAck(flow) => self.delayed_ack(flow),
                Event::Application(flow) => self.application(flow),
                Event::Reset(switch) => self.reset(switch),
                Event::Control(port) => self.told(port),
                Event::Refresh(port) => self.refresh(port),
                Event::Server(server) => self.server_replies(server),
            }
        }
        EngineProgress::Slice
    }

    /// The time of the last event.
    pub fn now(&self) -> Picos {
        self.now
    }

    #[inline]
    fn set(&mut self, event: Event, at: Option<Picos>) {
        self.events.set(self.slots.slot(event), at.unwrap_or(NEVER));
    }

    fn application(&mut self, flow: u32) {
        match self.flows[flow as usize] {
            Flow::Probe(_) | Flow::TcpProbe(_) | Flow::Fresh(_) => self.probe(flow),
            Flow::Tcp(_) => self.pump(flow),
            Flow::Load(_) => self.load(flow),
            Flow::Frames(_) => self.frame(flow),
        }
    }
}
