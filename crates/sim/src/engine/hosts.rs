//! Packets go through CPUs and network cards.

use super::{Engine, Flow, Near, Noise};
use crate::cpu::{Job, Lengthened};
use crate::event_set::EventSet;
use crate::packet::{ChannelId, Content, Packet, PacketId};
use crate::slots::Event;
use crate::unit::{CELL_OF_PDU, ECT, ECT_1, LOW_LATENCY, TRACED, Unit};
use delaylab_model::Picos;
use delaylab_model::noise::{ClockReads, NoiseKind};
use delaylab_topology::framing::Wire;
use delaylab_topology::time::nanos;

/// The scheduler's tick in the noise table.
const TICK: &str = "tick";

impl<E: EventSet> Engine<E> {
    /// A packet for this channel, and the host that has to send it.
    pub(super) fn packet(
        &mut self,
        channel: ChannelId,
        ip_size: u32,
        content: Content,
    ) -> PacketId {
        let Wire { units, .. } = self.wire(ip_size);
        self.packets
            .add(Packet::new(channel, ip_size, units, content))
    }

    /// A host has something to do. It is done at once if it costs nothing.
    pub(super) fn submit(&mut self, host: u32, job: Job) {
        if self.hosts[host as usize].is_free_for(job) {
            self.begin(host, job);
        }
    }

    /// The CPU gets to a job, which may find that there is nothing left to do.
    fn begin(&mut self, host: u32, job: Job) {
        let mut next = Some(job);
        while let Some(job) = next {
            let now = self.now;
            let cpu = &mut self.hosts[host as usize];
            if let Some(cost) = cpu.wakes_up(now, job) {
                cpu.job = Some(Job::WakeUp);
                return self.set(Event::Cpu(host), Some(now + cost));
            }
            // What it makes others want of this CPU waits behind it.
            cpu.job = Some(job);
            let (job, cost) = match job {
                Job::Due(flow) => match self.probe_begins(flow) {
                    Some(packet) => (Job::Send(packet), self.packet_cost(host, packet, job)),
                    None => {
                        next = self.hosts[host as usize].next(self.now);
                        continue;
                    }
                },
                Job::Send(packet) | Job::Receive(packet) => {
                    (job, self.packet_cost(host, packet, job))
                }
                Job::Daemon(daemon) => (job, self.daemon_begins(host, daemon)),
                Job::WakeUp => (job, 0),
            };
            let cpu = &mut self.hosts[host as usize];
            cpu.job = Some(job);
            if cost > 0 {
                return self.set(Event::Cpu(host), Some(self.now + cost));
            }
            self.complete(host, job);
            next = self.hosts[host as usize].next(self.now);
        }
    }

    #[inline]
    fn packet_cost(&mut self, host: u32, packet: PacketId, job: Job) -> Picos {
        let cpu = &self.hosts[host as usize];
        if !cpu.has_costs() {
            return 0;
        }
        let bytes = self.packets.get(packet).ip_size;
        let cost = cpu.cost(bytes);
        if cpu.varies() {
            self.varied(host, packet, job, cost)
        } else {
            cost
        }
    }

    /// What a job that costs so much costs this time.
    #[inline(never)]
    fn varied(&mut self, host: u32, packet: PacketId, job: Job, cost: Picos) -> Picos {
        let reads_the_clock = match job {
            Job::Due(_) => true,
            Job::Receive(_) => self.reads_the_clock(packet),
            _ => false,
        };
        let cpu = &mut self.hosts[host as usize];
        let more = cpu.lengthened(self.now, cost, reads_the_clock);
        if host == self.measuring {
            self.note(cost, &more);
        }
        cost + more.ticks + more.clock.unwrap_or(0)
    }

    /// Is it what a prober over datagrams waits for?
    fn reads_the_clock(&mut self, packet: PacketId) -> bool {
        match self.packets.get(packet).content {
            Content::Reply(_) => true,
            Content::Request(echo) => self
                .datagrams(echo.flow)
                .is_some_and(|probe| probe.loopback),
            _ => false,
        }
    }

    /// What made work of this length longer on the measuring host.
    fn note(&mut self, cost: Picos, more: &Lengthened) {
        if more.ticks > 0 {
            self.noise.push(Noise {
                start: self.now + cost,
                length: more.ticks,
                who: TICK.to_owned(),
                kind: NoiseKind::Interrupt,
            });
        }
        let Some(read) = more.clock else {
            return;
        };
        let (from, _) = ClockReads::bin(nanos(read));
        *self.clock_reads.entry(from).or_default() += 1;
        if more.slow {
            self.noise.push(Noise {
                start: self.now,
                length: read,
                who: String::new(),
                kind: NoiseKind::SlowClockRead,
            });
        }
    }

    fn daemon_begins(&mut self, host: u32, daemon: usize) -> Picos {
        let daemon = &mut self.hosts[host as usize].daemons[daemon];
        let length = daemon.runs();
        // Noise is what the measuring host has: the first probe's.
        if host == self.measuring {
            self.noise.push(Noise {
                start: self.now,
                length,
                who: daemon.name.clone(),
                kind: NoiseKind::Scheduled,
            });
        }
        length
    }

    /// The CPU has done what it was at.
    pub(super) fn cpu_done(&mut self, host: u32) {
        self.set(Event::Cpu(host), None);
        let Some(job) = self.hosts[host as usize].job else {
            return;
        };
        self.complete(host, job);
        if let Some(next) = self.hosts[host as usize].next(self.now) {
            self.begin(host, next);
        }
    }

    fn complete(&mut self, host: u32, job: Job) {
        match job {
            Job::Send(packet) => self.hand_down(packet),
            Job::Receive(packet) => self.receive(host, packet),
            Job::WakeUp | Job::Due(_) | Job::Daemon(_) => {}
        }
    }

    /// A daemon wants the CPU.
    pub(super) fn daemon(&mut self, host: u32) {
        let now = self.now;
        let cpu = &mut self.hosts[host as usize];
        let due = cpu
            .daemons
            .iter_mut()
            .enumerate()
            .find(|(_, daemon)| daemon.next <= now);
        let job = due.map(|(at, daemon)| {
            daemon.asks();
            Job::Daemon(at)
        });
        let next = cpu.next_daemon();
        self.set(Event::Daemon(host), next);
        if let Some(job) = job {
            self.submit(host, job);
        }
    }

    /// A packet goes to the network card.
    pub(super) fn hand_down(&mut self, id: PacketId) {
        let packet = *self.packets.get(id);
        let channel = &self.channels[packet.channel as usize];
        let first = channel.first;
        let Wire { units, bytes } = self.wire(packet.ip_size);
        let traced = matches!(
            packet.content,
            Content::Request(_) | Content::Reply(_) | Content::Frame { .. }
        );
        // Retransmissions and pure acknowledgements are not ECT (RFC 3168 §6.1.4 and §6.1.5).
        // A switch that forwards cells sees no IP header.
        let ect = !self.in_cells
            && match packet.content {
                Content::Data { segment, .. } => segment.ect,
                Content::Ack { .. } => false,
                _ => channel.ecn > 0,
            };
        let low_latency = ect && channel.ecn & ECT_1 > 0;
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        let flags = flag(traced, TRACED)
            | flag(ect, ECT)
            | flag(low_latency, LOW_LATENCY)
            | flag(self.in_cells, CELL_OF_PDU);
        let unit = Unit::new(id, packet.channel, bytes as u16, flags)
            .in_class(channel.queue, channel.dscp);
        self.handed_down(&packet);
        if let Near::Nic(nic) = self.ports[first as usize].near {
            self.catch_up(first);
            self.nics[nic as usize].push(unit, units);
            self.go(first);
        }
    }

    /// Whoever sent it may want to know.
    fn handed_down(&mut self, packet: &Packet) {
        match &packet.content {
            Content::Request(echo) => self.probe_sent(*echo),
            Content::Data { flow, segment } => self.segment_sent(*flow, segment),
            Content::Load { flow } => self.load_sent(*flow),
            _ => {}
        }
    }

    /// The network card begins to send it.
    pub(super) fn first_unit_leaves(&mut self, id: PacketId, at: Picos) {
        match self.packets.get(id).content {
            Content::Request(echo) => self.probe_leaves(echo, at),
            Content::Reply(mut echo) => {
                echo.r_tx = at;
                self.packets.get(id).content = Content::Reply(echo);
            }
            Content::Data { flow, segment } => self.segment_leaves(flow, &segment, at),
            _ => {}
        }
    }

    /// The network card sends the last of it.
    #[inline]
    pub(super) fn last_unit_leaves(&mut self, id: PacketId) {
        if let Content::Data { flow, segment } = self.packets.get(id).content {
            self.segment_left(flow, &segment);
        }
    }

    /// All of a packet has come to its host's network card.
    pub(super) fn packet_arrives(&mut self, host: u32, id: PacketId) {
        let now = self.now;
        match self.packets.get(id).content {
            Content::Request(mut echo) => {
                (echo.r_rx, echo.t_rx) = (now, now);
                self.packets.get(id).content = Content::Request(echo);
            }
            Content::Reply(mut echo) => {
                echo.t_rx = now;
                self.packets.get(id).content = Content::Reply(echo);
            }
            Content::Data { flow, segment } => self.segment_arrives(flow, &segment),
            Content::Frame { flow, seq } => {
                self.packets.remove(id);
                return self.frame_arrives(flow, seq);
            }
            _ => {}
        }
        self.submit(host, Job::Receive(id));
    }

    /// The host has it.
    fn receive(&mut self, host: u32, id: PacketId) {
        let packet = self.packets.remove(id);
        match &packet.content {
            Content::Request(echo) => self.request_read(host, *echo, &packet),
            Content::Reply(echo) => self.reply_read(*echo, &packet),
            Content::Data { flow, segment } => self.segment_read(*flow, segment, packet.marked),
            Content::Ack { flow, ack } => self.ack_read(*flow, ack),
            Content::Load { .. }
            | Content::Frame { .. }
            | Content::Management(_)
            | Content::Credit { .. } => {}
        }
    }

    /// The probe's flow of this number, if it sends datagrams.
    pub(super) fn datagrams(&mut self, flow: u32) -> Option<&mut super::ProbeFlow> {
        match &mut self.flows[flow as usize] {
            Flow::Probe(probe) => Some(probe),
            _ => None,
        }
    }
}
