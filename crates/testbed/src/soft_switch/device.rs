//! One soft switch as a state machine: what it does with frames, and when.
//!
//! It keeps its own time: a frame arrives when the kernel stamped it and leaves when its last bit would
//! have left the line, whoever was late in handing it over. So a driver that is late delays the frame
//! that it is late with, and none behind it.
//!
//! ```text
//! host ─ its line ─┐                                     ┌─ line ─ propagation ─ next
//!                  ├─ latency ─ impairments ─ queue of ──┤
//! switch ──────────┘            the egress port          └─ …
//! ```
//!
//! A veth pair has no rate: the line of a host that is attached here is kept at this end.

use super::frame::{FlowKey, Frame, Mac, Read, Whose};
use super::probes::Probes;
use delaylab_model::Picos;
use delaylab_model::path::{Framing, Impair, Pause, Reset};
use delaylab_model::quantity::{Duration, Share};
use delaylab_sim::trace::{OverTime, Trace};
use delaylab_sim::transmitter::Transmitter;
use delaylab_stats::random::SplitMix;
use delaylab_switch::{Cause, Dropped, Settings, Switch};
use delaylab_topology::framing::{CELL, in_cells, wire};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Arc;

/// A frame that is held back without a word how long.
const REORDER_BY: Picos = 1_000_000_000;
/// Flows are counted from 0 again after so many: queues are found by their number.
const MOST_FLOWS: usize = 4096;

/// A port, as it is made.
#[derive(Debug, Clone, PartialEq)]
pub struct PortSettings {
    /// What its queue is called: `s1→s2`.
    pub name: Arc<str>,
    /// Bits a second.
    pub rate: u64,
    /// One way.
    pub propagation: Picos,
    /// A host is attached: the line from it is kept here too.
    pub host: bool,
}

/// A switch, as it is made.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceSettings {
    /// Its ports.
    pub ports: Vec<PortSettings>,
    /// By which port an address is reached.
    pub table: HashMap<Mac, u16>,
    /// Frames to nobody that it knows leave by every other port. Not where links form a loop.
    pub floods: bool,
    /// The queues.
    pub queues: Settings,
    /// Into which queue a DSCP belongs.
    pub queue_of: [u8; 64],
    /// How packets are put on its links.
    pub framing: Framing,
    /// Time through it, queueing apart.
    pub latency: Picos,
    /// What it does to packets.
    pub impair: Impair,
    /// When it is reset in a trial.
    pub reset: Option<Reset>,
    /// When it pauses in a trial.
    pub pause: Option<Pause>,
}

/// What a packet of a probe met in a queue here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Met {
    /// Whose packet.
    pub whose: Whose,
    /// The queue.
    pub port: Arc<str>,
    /// When it joined it, or came to the switch that then held it as it paused.
    pub enqueue: Picos,
    /// When it left it.
    pub dequeue: Picos,
    /// Bytes before it; cells where they are charged.
    pub backlog: u64,
}

/// A frame that has come to the other end of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Departure {
    /// Of which port.
    pub port: u16,
    /// When.
    pub at: Picos,
    /// The frame.
    pub bytes: Vec<u8>,
}

/// What is to be done now.
#[derive(Debug, Default)]
pub struct DeviceOutput {
    /// Frames to send.
    pub send: Vec<Departure>,
    /// What probes met.
    pub met: Vec<Met>,
}

/// What happened since it was last asked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counts {
    /// Frames that were dropped, by port and cause.
    pub dropped: BTreeMap<(Arc<str>, Cause), u64>,
    /// Ports to which frames came damaged, as the experiment asks.
    pub damaged: BTreeSet<Arc<str>>,
    /// Frames to addresses that no port leads to.
    pub unknown: u64,
}

#[derive(Debug)]
struct Port {
    settings: PortSettings,
    /// From the host that is attached.
    from_host: Transmitter,
    line: Transmitter,
    sending: Option<Frame>,
    /// When what its shaper holds may leave, where that is among the events.
    ready_at: Option<Picos>,
    backlog: Trace,
    utilisation: Trace,
}

#[derive(Debug)]
enum Event {
    /// A frame comes to the queue of this port.
    Arrives(u16, Frame),
    /// The last bit has left this port.
    Sent(u16),
    /// What this port's shaper holds may leave.
    Ready(u16),
    /// And has come to the other end.
    Leaves(u16, Vec<u8>),
    /// The switch is reset, and up again then.
    Resets(Picos),
}

/// The device.
#[derive(Debug)]
pub struct Device {
    switch: Switch<Frame>,
    ports: Vec<Port>,
    settings: DeviceSettings,
    /// By their time, and those of one time in the order in which they were made.
    events: BTreeMap<(Picos, u64), Event>,
    next_number: u64,
    flows: HashMap<FlowKey, u32>,
    hosts: HashMap<IpAddr, u32>,
    seed: u64,
    random: SplitMix,
    now: Picos,
    /// From when on it is traced.
    traced_from: Picos,
    /// When a frame last moved.
    moved_at: Picos,
    /// What was traced, where that has ended.
    traced: Option<Vec<PortTraces>>,
    drops: Vec<Dropped<Frame>>,
    counts: Counts,
    /// After a reset it is down until then.
    up_at: Picos,
}

impl Device {
    /// At time zero, with nothing in it. The seed is for what happens by chance.
    pub fn new(settings: DeviceSettings, seed: u64) -> Self {
        let port = |port: &PortSettings| Port {
            from_host: Transmitter::new(port.rate),
            line: Transmitter::new(port.rate),
            sending: None,
            ready_at: None,
            backlog: Trace::new(0),
            utilisation: Trace::new(0),
            settings: port.clone(),
        };
        Self {
            switch: Switch::new(&settings.queues, settings.ports.len(), seed),
            ports: settings.ports.iter().map(port).collect(),
            events: BTreeMap::new(),
            next_number: 0,
            flows: HashMap::new(),
            hosts: HashMap::new(),
            seed,
            random: SplitMix::new(seed),
            now: 0,
            traced_from: 0,
            moved_at: 0,
            traced: None,
            drops: Vec::new(),
            counts: Counts::default(),
            up_at: 0,
            settings,
        }
    }

    /// When it next has something to do.
    pub fn next(&self) -> Option<Picos> {
        self.events.keys().next().map(|&(at, _)| at)
    }

    /// A frame arrived by this port. One that is stamped earlier than what was already done here counts
    /// from then on.
    pub fn receive(&mut self, stamp: Picos, ingress: u16, bytes: &[u8], probes: &mut Probes) {
        let read = Read::new(bytes);
        let wire_bytes = wire(self.settings.framing, read.ip_size).total_bytes();
        let flow = self.flow(&read);
        let queue = self.settings.queue_of[usize::from(read.code_point())];
        let mut frame = Frame::new(bytes, &read, wire_bytes, flow, queue, ingress);
        frame.whose = probes.whose(&read, bytes);
        let stamp = stamp.max(self.now);
        let port = &mut self.ports[usize::from(ingress)];
        let mut at = stamp + self.settings.latency;
        if port.settings.host {
            let begins = stamp.max(port.from_host.free_at());
            let whole = port.from_host.send(begins, wire_bytes) + port.settings.propagation;
            at = whole + self.settings.latency;
        }
        let came = at;
        let at = self.after_pause(came);
        frame.held = at - came;
        let known = self.known_port(bytes);
        for egress in self.egress(ingress, known) {
            let mut frame = frame.clone();
            // What is flooded beside it is no packet of a probe on its way.
            frame.whose = frame
                .whose
                .filter(|_| known.is_none_or(|known| known == egress));
            self.impaired(at, egress, frame);
        }
    }

    /// Where the table says that a frame is to go.
    fn known_port(&self, bytes: &[u8]) -> Option<u16> {
        let to: &Mac = bytes.first_chunk()?;
        self.settings.table.get(to).copied()
    }

    /// When a frame that arrives at this time goes on.
    fn after_pause(&self, at: Picos) -> Picos {
        let began = self.traced_from;
        let goes_on = |pause: Pause| began + pause.goes_on(at.saturating_sub(began));
        self.settings.pause.map_or(at, goes_on)
    }

    fn flow(&mut self, read: &Read) -> u32 {
        let Some(key) = read.key else {
            return 0;
        };
        if self.flows.len() >= MOST_FLOWS && !self.flows.contains_key(&key) {
            self.flows.clear();
            self.hosts.clear();
        }
        if let Some(flow) = self.flows.get(&key) {
            return *flow;
        }
        let flow = self.flows.len() as u32 + 1;
        self.flows.insert(key, flow);
        let hosts = [key.from.0, key.to.0].map(|host| self.host(host));
        self.switch.tell_hosts(flow, hosts);
        flow
    }

    fn host(&mut self, address: IpAddr) -> u32 {
        let next = self.hosts.len() as u32;
        *self.hosts.entry(address).or_insert(next)
    }

    /// By which ports a frame leaves.
    fn egress(&mut self, ingress: u16, known: Option<u16>) -> Vec<u16> {
        let floods = self.by_chance(self.settings.impair.flood);
        let all = || (0..self.ports.len() as u16).filter(|&port| port != ingress);
        match known {
            // A neighbour has flooded what the host by this port has got.
            Some(port) if !floods && port == ingress => Vec::new(),
            Some(port) if !floods => vec![port],
            None if !self.settings.floods => {
                self.counts.unknown += 1;
                Vec::new()
            }
            _ => all().collect(),
        }
    }

    fn by_chance(&mut self, share: Share) -> bool {
        share > Share(0) && self.random.uniform() < share.as_f64()
    }

    /// What becomes of a frame on its way to the queue.
    fn impaired(&mut self, at: Picos, egress: u16, mut frame: Frame) {
        let impair = self.settings.impair;
        if self.by_chance(impair.loss) {
            self.drops.push(dropped(frame, Cause::Asked));
            return self.account(egress);
        }
        if self.by_chance(impair.corrupt)
            && let Some(last) = frame.bytes.last_mut()
        {
            *last ^= 1;
            let port = &self.ports[usize::from(egress)].settings;
            self.counts.damaged.insert(port.name.clone());
        }
        let by = impair.reorder_by.map_or(REORDER_BY, Duration::picos);
        let late = if self.by_chance(impair.reorder) {
            by
        } else {
            0
        };
        let copy = self.by_chance(impair.duplicate).then(|| {
            let mut copy = frame.clone();
            copy.whose = None;
            copy
        });
        for frame in std::iter::once(frame).chain(copy) {
            self.at(at + late, Event::Arrives(egress, frame));
        }
    }

    fn at(&mut self, at: Picos, event: Event) {
        self.events.insert((at, self.next_number), event);
        self.next_number += 1;
    }

    /// Everything that happens until `now`.
    pub fn advance(&mut self, now: Picos, due: &mut DeviceOutput) {
        while let Some(entry) = self.events.first_entry() {
            let (at, _) = *entry.key();
            if at > now {
                break;
            }
            let event = entry.remove();
            self.now = at;
            if !matches!(event, Event::Resets(_)) {
                self.moved_at = at;
            }
            match event {
                Event::Arrives(egress, frame) => self.arrives(egress, frame, due),
                Event::Sent(egress) => self.sent(egress, due),
                Event::Ready(egress) => self.ready(egress, due),
                Event::Leaves(egress, bytes) => due.send.push(Departure {
                    port: egress,
                    at,
                    bytes,
                }),
                Event::Resets(up_at) => self.reset(up_at),
            }
        }
        self.now = self.now.max(now);
    }

    /// What waits and what is being sent is gone, and so is what its queues remember; what propagates arrives.
    fn reset(&mut self, up_at: Picos) {
        self.up_at = up_at;
        // No line is busy any more, and no transmission will end.
        self.events
            .retain(|_, event| !matches!(event, Event::Sent(_) | Event::Ready(_)));
        for egress in 0..self.ports.len() as u16 {
            self.reset_port(egress);
        }
        self.switch = Switch::new(&self.settings.queues, self.ports.len(), self.seed);
        // The new one knows no flow and no host.
        self.flows.clear();
        self.hosts.clear();
    }

    fn arrives(&mut self, egress: u16, mut frame: Frame, due: &mut DeviceOutput) {
        let port = usize::from(egress);
        if self.now < self.up_at {
            self.drops.push(dropped(frame, Cause::Reset));
            return self.account(egress);
        }
        let came = self.now - frame.held;
        frame.joined = (came, self.counted(self.switch.backlog(port).bytes));
        self.switch.enqueue(self.now, port, frame, &mut self.drops);
        self.account(egress);
        if self.ports[port].sending.is_none() {
            self.begin(egress, due);
        }
        self.trace(port);
    }

    fn reset_port(&mut self, egress: u16) {
        let at = usize::from(egress);
        let port = &mut self.ports[at];
        port.line = Transmitter::new(port.settings.rate);
        port.utilisation.set(self.now - self.traced_from, 0);
        port.ready_at = None;
        let lost = port.sending.take();
        self.drops
            .extend(lost.map(|frame| dropped(frame, Cause::Reset)));
        while let Some(frame) = self.switch.give_up(self.now, at, &mut self.drops) {
            self.drops.push(dropped(frame, Cause::Reset));
        }
        self.account(egress);
        self.trace(at);
    }

    /// The line is free: the next frame begins.
    fn begin(&mut self, egress: u16, due: &mut DeviceOutput) {
        let at = usize::from(egress);
        let next = self.switch.dequeue(self.now, at, &mut self.drops);
        self.account(egress);
        let port = &mut self.ports[at];
        let since = self.now - self.traced_from;
        port.utilisation.set(since, u64::from(next.is_some()));
        let Some(frame) = next else {
            return self.wait(egress);
        };
        if let Some(whose) = frame.whose {
            due.met.push(Met {
                whose,
                port: port.settings.name.clone(),
                enqueue: frame.joined.0,
                dequeue: self.now,
                backlog: frame.joined.1,
            });
        }
        let sent = port
            .line
            .send(self.now.max(port.line.free_at()), frame.wire);
        port.sending = Some(frame);
        self.at(sent, Event::Sent(egress));
    }

    /// A shaper holds what is next until then.
    fn wait(&mut self, egress: u16) {
        let at = self.switch.next_event(usize::from(egress));
        let port = &mut self.ports[usize::from(egress)];
        if let Some(at) = at.filter(|&at| port.ready_at != Some(at)) {
            port.ready_at = Some(at);
            self.at(at, Event::Ready(egress));
        }
    }

    fn ready(&mut self, egress: u16, due: &mut DeviceOutput) {
        let at = usize::from(egress);
        let port = &mut self.ports[at];
        port.ready_at = None;
        if port.sending.is_none() {
            self.begin(egress, due);
        }
        self.trace(at);
    }

    fn sent(&mut self, egress: u16, due: &mut DeviceOutput) {
        let at = usize::from(egress);
        let port = &mut self.ports[at];
        let propagation = port.settings.propagation;
        if let Some(frame) = port.sending.take() {
            self.at(self.now + propagation, Event::Leaves(egress, frame.bytes));
        }
        self.begin(egress, due);
        self.trace(at);
    }

    fn account(&mut self, egress: u16) {
        for dropped in self.drops.drain(..) {
            let name = self.ports[usize::from(egress)].settings.name.clone();
            *self
                .counts
                .dropped
                .entry((name, dropped.cause))
                .or_default() += 1;
        }
    }

    fn counted(&self, bytes: u64) -> u64 {
        if in_cells(self.settings.framing) {
            bytes / u64::from(CELL)
        } else {
            bytes
        }
    }

    fn trace(&mut self, port: usize) {
        let backlog = self.counted(self.switch.backlog(port).bytes);
        let since = self.now - self.traced_from;
        self.ports[port].backlog.set(since, backlog);
    }

    /// From now on is another trial: traces and counts begin anew.
    pub fn begin_trial(&mut self) {
        self.traced_from = self.now;
        self.moved_at = self.now;
        self.traced = None;
        self.counts = Counts::default();
        if let Some(reset) = self.settings.reset {
            let at = self.now + reset.at.picos();
            self.at(at, Event::Resets(at + reset.lasts.picos()));
        }
        for at in 0..self.ports.len() {
            let backlog = self.counted(self.switch.backlog(at).bytes);
            let port = &mut self.ports[at];
            port.backlog = Trace::new(backlog);
            port.utilisation = Trace::new(u64::from(port.sending.is_some()));
        }
    }

    /// Since when nothing has been under way here; `None` where something is.
    pub fn quiet_from(&self) -> Option<Picos> {
        let mut events = self.events.values();
        // What waits in a queue waits for one of them, too.
        let is_quiet = events.all(|event| matches!(event, Event::Resets(_)));
        is_quiet.then_some(self.moved_at)
    }

    /// Traces end then, or now; a second time changes nothing.
    pub fn cut(&mut self, at: Option<Picos>) {
        let end = at.unwrap_or(self.now).max(self.traced_from);
        let length = end - self.traced_from;
        let end = |trace: &mut Trace| std::mem::replace(trace, Trace::new(0)).finish(length);
        let take = |port: &mut Port| PortTraces {
            port: port.settings.name.clone(),
            backlog: end(&mut port.backlog),
            utilisation: end(&mut port.utilisation),
        };
        let ports = &mut self.ports;
        self.traced
            .get_or_insert_with(|| ports.iter_mut().map(take).collect());
    }

    /// Backlog and utilisation of each port since [`Self::begin_trial`] until [`Self::cut`], in times since then, and what was dropped.
    pub fn end_trial(&mut self) -> TrialTraces {
        self.cut(None);
        TrialTraces {
            began: self.traced_from,
            ports: self.traced.take().unwrap_or_default(),
            counts: std::mem::take(&mut self.counts),
        }
    }
}

const fn dropped(item: Frame, cause: Cause) -> Dropped<Frame> {
    Dropped { item, cause }
}

/// What a device saw of a trial.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialTraces {
    /// When it began: times of points are since then.
    pub began: Picos,
    /// Each port's.
    pub ports: Vec<PortTraces>,
    /// What became of frames.
    pub counts: Counts,
}

/// What was traced at a port.
#[derive(Debug, Clone, PartialEq)]
pub struct PortTraces {
    /// Which port.
    pub port: Arc<str>,
    /// Bytes that waited; cells where they are charged.
    pub backlog: OverTime,
    /// Was the line busy?
    pub utilisation: OverTime,
}

#[cfg(test)]
mod tests;
