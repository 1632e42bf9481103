//! Units leave ports, travel, and come to queues or hosts.

use super::{Engine, Far, Hop, Near, Node, Port, PortSeries, Shares};
use crate::event_set::EventSet;
use crate::nic::Leaving;
use crate::packet::{Content, Packet};
use crate::slots::Event;
use crate::unit::{CELL_OF_PDU, CREDIT, END, MANAGEMENT, MARKED, TRACED, Unit};
use delaylab_model::Picos;
use delaylab_switch::{Cause, Dropped, Item};
use delaylab_topology::framing::CELL;
use delaylab_traffic::abr::ResourceManagement;

/// Mixes one word into the digest (FxHash's step).
#[inline]
pub(super) fn mix(digest: u64, word: u64) -> u64 {
    (digest.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95)
}

impl<E: EventSet> Engine<E> {
    /// The oldest unit on its way arrives at the far end of this port.
    #[inline]
    pub(super) fn arrive(&mut self, id: u32) {
        let port = &mut self.ports[id as usize];
        let Some((at, unit)) = port.pipe.pop_front() else {
            return;
        };
        let (far, ingress) = (port.far, port.ingress);
        let next = port.pipe.front().map(|&(at, _)| at);
        let (eager, free_at) = (port.eager, port.line.free_at());
        self.digest = mix(
            mix(self.digest, at),
            u64::from(id) << 32 | u64::from(unit.channel()),
        );
        self.counts.hops += 1;
        match next {
            Some(at) => self.set(Event::Arrive(id), Some(at)),
            // Only now could somebody tell that the next unit has left.
            None if !eager && self.waits(id) && self.serve(id, free_at) => {}
            None => self.set(Event::Arrive(id), None),
        }
        if unit.has(CREDIT) {
            return self.take_credit(id, unit);
        }
        match far {
            Far::Switch => {
                let unit = unit.come_by(ingress);
                let channel = &self.channels[unit.channel() as usize];
                let next = self.ways[channel.way as usize + usize::from(unit.hop())];
                self.offer(next, unit);
                if self.tells_back {
                    self.has_come(next, &unit);
                }
            }
            Far::Host(host) => self.deliver(host, unit),
        }
    }

    /// Does anything wait at this port?
    #[inline]
    fn waits(&self, id: u32) -> bool {
        match self.ports[id as usize].near {
            Near::Switch { switch, egress } => {
                let node = &self.switches[switch as usize];
                !node.switch.crossed(egress as usize).is_empty()
            }
            Near::Nic(nic) => self.nics[nic as usize].waiting() > 0,
        }
    }

    /// A unit comes to a switch's port.
    #[inline]
    fn offer(&mut self, id: u32, unit: Unit) {
        let Near::Switch { switch, egress } = self.ports[id as usize].near else {
            return;
        };
        self.catch_up(id);
        let node = &self.switches[switch as usize];
        // What other ports hold counts only where it could be too much.
        if node.shared && (node.early || !node.switch.has_room(egress as usize, &unit)) {
            self.catch_up_all(switch);
        }
        if self.switches[switch as usize].special && self.meets_more(id, unit) {
            return;
        }
        if unit.has(TRACED) {
            self.note_arrival(switch, egress, &unit);
        }
        let port = &mut self.ports[id as usize];
        let node = &mut self.switches[switch as usize];
        if node.shared && !std::mem::replace(&mut port.is_listed, true) {
            node.waiting.push(id);
        }
        node.switch
            .enqueue(self.now, egress as usize, unit, &mut self.drops);
        port.note_backlog(self.now, node, self.in_cells);
        let has_crossbar = node.crossbar.is_some();
        if !self.drops.is_empty() {
            self.note_drops(id, self.now);
        }
        if has_crossbar {
            return self.wake_crossbar(switch);
        }
        self.go(id);
    }

    /// What few switches have: a reset, and rates that are told. Does the unit end here?
    #[cold]
    #[inline(never)]
    fn meets_more(&mut self, id: u32, unit: Unit) -> bool {
        let Near::Switch { switch, egress } = self.ports[id as usize].near else {
            return false;
        };
        let node = &self.switches[switch as usize];
        let down = |(at, up): (Picos, Picos)| (at..up).contains(&self.now);
        if node.reset.is_some_and(down) {
            self.drops.push(Dropped::new(unit, Cause::Reset));
            self.note_drops(id, self.now);
            return true;
        }
        if !node.rates.is_empty() {
            self.see_rate(switch, egress, &unit);
        }
        false
    }

    /// Departures up to now, which come before arrivals.
    #[inline]
    pub(super) fn catch_up(&mut self, id: u32) {
        loop {
            let port = &self.ports[id as usize];
            let free_at = port.line.free_at();
            if port.eager || free_at > self.now || !self.waits(id) || !self.serve(id, free_at) {
                return;
            }
        }
    }

    /// Of all ports of a switch that something waits at.
    fn catch_up_all(&mut self, switch: u32) {
        let mut waiting = std::mem::take(&mut self.switches[switch as usize].waiting);
        waiting.retain(|&id| {
            self.catch_up(id);
            let waits = self.waits(id);
            self.ports[id as usize].is_listed = waits;
            waits
        });
        self.switches[switch as usize].waiting = waiting;
    }

    /// What waits in a switch is gone, and so is what its queues and rates remember; what has left is on its way.
    pub(super) fn reset(&mut self, switch: u32) {
        self.set(Event::Reset(switch), None);
        for (port, egress) in self.switches[switch as usize]
            .ports
            .clone()
            .into_iter()
            .zip(0..)
        {
            self.catch_up(port);
            let queues = &mut self.switches[switch as usize].switch;
            while let Some(unit) = queues.give_up(self.now, egress, &mut self.drops) {
                self.drops.push(Dropped::new(unit, Cause::Reset));
            }
            // What a discipline drops while it is emptied is lost by the reset, too.
            for dropped in &mut self.drops {
                dropped.cause = Cause::Reset;
            }
            self.note_drops(port, self.now);
            self.note_backlog(port, self.now);
        }
        let node = &mut self.switches[switch as usize];
        if let Some(fresh) = node.fresh.take() {
            node.switch = *fresh;
        }
        let up = node.reset.map_or(self.now, |(_, up)| up);
        for rate in &mut node.rates {
            rate.restart(up);
        }
    }

    /// At the end: every departure up to now, and what is left.
    pub fn settle(&mut self) {
        for id in 0..self.ports.len() as u32 {
            self.catch_up(id);
        }
        self.close_records();
        self.count_under_way();
    }

    /// When the last packet that there was had come to its end; the end of the trial where packets of loads are still there.
    pub(super) fn quiet_from(&self) -> Picos {
        let waits = |id: usize| self.waits(id as u32) || !self.ports[id].pipe.is_empty();
        if (0..self.ports.len()).any(waits) {
            return self.now;
        }
        let used = self.ports.iter().filter(|port| port.sent > 0);
        let arrived = used.map(|port| port.line.free_at() + port.latency);
        let read = self.shares.iter().map(Shares::last);
        arrived
            .chain(read)
            .max()
            .map_or(self.now, |at| at.min(self.now))
    }

    /// From now on what is dropped is dropped when it is, not when that is first seen.
    #[cold]
    pub(super) fn serve_at_each_departure(&mut self) {
        for id in 0..self.ports.len() as u32 {
            self.catch_up(id);
            self.ports[id as usize].eager = true;
            self.arm(id);
        }
    }

    /// Something may be able to leave at once.
    #[inline]
    pub(super) fn go(&mut self, id: u32) {
        let port = &self.ports[id as usize];
        let free = port.line.free_at() <= self.now;
        if port.eager {
            if free {
                self.serve(id, self.now);
            }
            self.arm(id);
        } else if free && self.waits(id) {
            self.serve(id, self.now);
        }
    }

    /// A port that has events of its own may send.
    pub(super) fn transmit(&mut self, id: u32) {
        self.serve(id, self.now);
        self.arm(id);
    }

    /// When an eager port may send next.
    fn arm(&mut self, id: u32) {
        let port = &self.ports[id as usize];
        let may = match port.near {
            _ if !port.credits.is_empty() => Some(0),
            Near::Nic(nic) => self.nics[nic as usize].next_event(),
            Near::Switch { switch, egress } => {
                let switch = &self.switches[switch as usize].switch;
                let waits = !switch.crossed(egress as usize).is_empty();
                waits.then(|| switch.next_event(egress as usize).unwrap_or(0))
            }
        };
        // What could leave at once has been tried: only the line or a gate holds it.
        let free_at = port.line.free_at();
        let at = may.map(|may| may.max(free_at)).filter(|&at| at > self.now);
        self.set(Event::Transmit(id), at);
    }

    /// Begins to send the next unit at `at`, which is now or was before anybody could tell. Was there
    /// one?
    #[inline]
    fn serve(&mut self, id: u32, at: Picos) -> bool {
        let port = &mut self.ports[id as usize];
        let unit = match port.near {
            _ if !port.credits.is_empty() => {
                if !self.controls.is_empty() {
                    return self.send_pause(id, at);
                }
                self.counts.sent += 1;
                port.credits.pop_front()
            }
            Near::Switch { switch, egress } => {
                let node = &mut self.switches[switch as usize];
                let unit = node.switch.dequeue(at, egress as usize, &mut self.drops);
                port.note_backlog(at, node, self.in_cells);
                if !self.drops.is_empty() {
                    self.note_drops(id, at);
                }
                unit
            }
            Near::Nic(nic) => self.leave(nic, at),
        };
        let Some(unit) = unit else {
            return false;
        };
        if unit.has(TRACED) {
            self.note_departure(id, at, &unit);
        }
        let port = &mut self.ports[id as usize];
        if let Some(series) = &mut port.series {
            series.begins_to_send(port.line.free_at(), at);
            if unit.is_marked_here() {
                series.marks(at);
            }
        }
        let mut end = port.line.send(at, unit.bytes()) + port.latency;
        if let Some(pause) = port.pause {
            if unit.has(TRACED) && unit.has(END) {
                self.packets.get(unit.packet()).queued.0 = end;
            }
            end = pause.goes_on(end);
        }
        port.sent += 1;
        port.pipe.push_back((end, unit));
        let near = port.near;
        if port.pipe.len() == 1 {
            self.set(Event::Arrive(id), Some(end));
        }
        // The credit for it may have to wait for this very line.
        if self.tells_back {
            self.has_left(near, &unit);
        }
        true
    }

    /// A port has begun to send this, and somebody before it wants to know if it is a switch's.
    #[cold]
    #[inline(never)]
    fn has_left(&mut self, near: Near, unit: &Unit) {
        let Near::Switch { switch, .. } = near else {
            return;
        };
        if !self.controls.is_empty() {
            self.flow_changes(switch, unit.ingress(), unit.queue());
        } else if !unit.has(CREDIT) {
            self.forward(unit.channel(), unit.hop() - 1);
        }
    }

    /// A frame of flow control has come by the link of this port.
    pub(super) fn note_control(&mut self, id: u32, said: u64) {
        self.digest = mix(mix(self.digest, self.now), u64::from(id) << 32 | said);
        self.counts.hops += 1;
        self.counts.delivered += 1;
    }

    /// The next unit of a network card.
    #[inline]
    fn leave(&mut self, nic: u32, at: Picos) -> Option<Unit> {
        let leaving = self.nics[nic as usize].dequeue(at)?;
        self.counts.sent += 1;
        Some(match leaving {
            Leaving::Unit { unit, first, last } => {
                if first {
                    self.first_unit_leaves(unit.packet(), at);
                }
                if last {
                    if self.counts_queues {
                        self.last_unit_leaves(unit.packet());
                    }
                    return Some(unit.with(END));
                }
                unit
            }
            Leaving::Management(channel, rm) => self.management_cell(channel, rm),
        })
    }

    fn management_cell(&mut self, channel: u32, rm: ResourceManagement) -> Unit {
        let queue = self.channels[channel as usize].queue;
        let cell = self.lone_cell(channel, Content::Management(rm), MANAGEMENT);
        cell.in_class(queue, cell.dscp())
    }

    /// A cell that is of no packet but its own.
    pub(super) fn lone_cell(&mut self, channel: u32, content: Content, flag: u8) -> Unit {
        let packet = self.packets.add(Packet::new(channel, 0, 1, content));
        Unit::new(packet, channel, CELL as u16, flag | END)
    }

    /// A unit has come to its host.
    #[inline]
    fn deliver(&mut self, host: u32, unit: Unit) {
        self.counts.delivered += 1;
        if self.has_abr {
            self.deliver_to_abr(&unit);
        }
        if !self.forwarded.is_empty() {
            self.forward(unit.channel(), unit.hop());
        }
        let packet = self.packets.get(unit.packet());
        packet.left -= 1;
        packet.came = true;
        packet.marked |= unit.has(MARKED);
        if packet.left > 0 {
            return;
        }
        let mut lost = packet.lost;
        if unit.has(CELL_OF_PDU) {
            lost |= self.channels[unit.channel() as usize].reassemble(unit.has(END));
        }
        if lost || unit.has(MANAGEMENT) {
            self.packets.remove(unit.packet());
            return;
        }
        self.packet_arrives(host, unit.packet());
    }

    /// ABR end systems see every cell.
    fn deliver_to_abr(&mut self, unit: &Unit) {
        let back = self.channels[unit.channel() as usize].reverse;
        let port = self.channels[back as usize].first;
        let Near::Nic(nic) = self.ports[port as usize].near else {
            return;
        };
        let Some(abr) = self.nics[nic as usize].abr(back) else {
            return;
        };
        if !unit.has(MANAGEMENT) {
            abr.destination.on_data(unit.has(MARKED));
            return;
        }
        let Content::Management(rm) = self.packets.get(unit.packet()).content else {
            return;
        };
        if rm.backward {
            abr.source.on_backward(&rm);
            abr.note_rate(self.now);
        } else {
            abr.destination.on_forward(rm);
        }
        self.go(port);
    }

    /// Units that are not forwarded.
    #[cold]
    pub(super) fn note_drops(&mut self, port: u32, at: Picos) {
        if let Some(series) = &mut self.ports[port as usize].series {
            let drops = series.drops.value() + self.drops.len() as u64;
            series.drops.set(at, drops);
        }
        while let Some(Dropped { item, cause }) = self.drops.pop() {
            *self.counts.dropped.entry((port, cause)).or_default() += 1;
            let packet = self.packets.get(item.packet());
            packet.left -= 1;
            packet.lost = true;
            let flow = self.channels[packet.channel as usize].flow;
            let of_load = flow >= self.first_load && !item.has(MANAGEMENT);
            self.lost_load += u64::from(of_load);
            if packet.left == 0 {
                // Its last cell is among what was lost: had it come, nothing would have been left.
                let channel = &mut self.channels[packet.channel as usize];
                channel.joined |= packet.came && item.has(CELL_OF_PDU);
                self.packets.remove(item.packet());
            }
        }
    }

    pub(super) fn note_backlog(&mut self, id: u32, at: Picos) {
        let port = &mut self.ports[id as usize];
        if let Near::Switch { switch, .. } = port.near {
            port.note_backlog(at, &self.switches[switch as usize], self.in_cells);
        }
    }

    /// A probe's last unit comes to a queue.
    fn note_arrival(&mut self, switch: u32, egress: u32, unit: &Unit) {
        if unit.has(END) {
            let node = &self.switches[switch as usize];
            let backlog = node.backlog(egress, self.in_cells);
            let queued = &mut self.packets.get(unit.packet()).queued;
            // What a pause held has waited since it came.
            let came = if node.pauses { queued.0 } else { self.now };
            *queued = (came, backlog);
        }
    }

    /// A probe's last unit leaves a queue.
    fn note_departure(&mut self, id: u32, at: Picos, unit: &Unit) {
        if !unit.has(END) || matches!(self.ports[id as usize].near, Near::Nic(_)) {
            return;
        }
        let packet = self.packets.get(unit.packet());
        let (flow, seq, back) = match packet.content {
            Content::Request(echo) => (echo.flow, echo.seq, false),
            Content::Reply(echo) => (echo.flow, echo.seq, true),
            Content::Frame { flow, seq } => (flow, seq, false),
            _ => return,
        };
        let (enqueue, backlog) = packet.queued;
        self.hops.push(Hop {
            probe: flow as u16,
            seq,
            back,
            hop: u16::from(unit.hop()),
            port: id,
            enqueue,
            dequeue: at,
            backlog,
        });
    }
}

impl Node {
    /// What waits at a port: cells, or bytes of packets.
    #[inline]
    fn backlog(&self, egress: u32, in_cells: bool) -> u64 {
        let backlog = self.switch.backlog(egress as usize);
        if in_cells {
            backlog.items
        } else {
            backlog.bytes
        }
    }
}

impl Port {
    /// What waits at it in its switch, where that is kept over time.
    #[inline]
    fn note_backlog(&mut self, at: Picos, node: &Node, in_cells: bool) {
        if let (Some(series), Near::Switch { egress, .. }) = (&mut self.series, self.near) {
            series.backlog.set(at, node.backlog(egress, in_cells));
        }
    }
}

impl PortSeries {
    /// It was idle until now, or it goes on.
    #[inline]
    pub(super) fn begins_to_send(&mut self, free_at: Picos, at: Picos) {
        if at > free_at || at == 0 {
            self.utilisation.set(free_at, 0);
            self.utilisation.set(at, 1);
        }
    }

    /// A unit leaves that its queue marked.
    #[cold]
    fn marks(&mut self, at: Picos) {
        if let Some(marks) = &mut self.marks {
            marks.set(at, marks.value() + 1);
        }
    }
}
