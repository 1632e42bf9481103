//! Packets that nobody answers.

use super::{Engine, Flow};
use crate::cpu::Job;
use crate::event_set::EventSet;
use crate::packet::Content;
use crate::slots::Event;
use delaylab_traffic::arrival::Packet;

impl<E: EventSet> Engine<E> {
    /// The load's next packet is due. One at a time waits for the CPU: a process that does not get as
    /// much of it as it wants sends late.
    pub(super) fn load(&mut self, flow: u32) {
        let Flow::Load(load) = &mut self.flows[flow as usize] else {
            return;
        };
        if load.waiting {
            load.late = true;
            return self.set(Event::Application(flow), None);
        }
        let due = load.next;
        load.next = load.arrivals.next();
        load.waiting = due.is_some();
        let (host, channel, now) = (load.host, load.channel, self.now);
        let at = load.next.map(|packet| packet.at.max(now));
        self.set(Event::Application(flow), at);
        if let Some(Packet { bytes, .. }) = due {
            let packet = self.packet(channel, bytes, Content::Load { flow });
            self.submit(host, Job::Send(packet));
        }
    }

    /// A packet of the load has gone down to the network card.
    pub(super) fn load_sent(&mut self, flow: u32) {
        let now = self.now;
        let Flow::Load(load) = &mut self.flows[flow as usize] else {
            return;
        };
        load.waiting = false;
        if std::mem::take(&mut load.late) {
            self.set(Event::Application(flow), Some(now));
        }
    }
}
