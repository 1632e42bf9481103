//! Packets that nobody answers.

use super::{Engine, Flow};
use crate::cpu::Job;
use crate::event_set::EventSet;
use crate::slots::Event;
use crate::unit::Content;
use delaylab_traffic::arrival::Packet;

impl<E: EventSet> Engine<E> {
    /// The load's next packet is due.
    pub(super) fn load(&mut self, flow: u32) {
        let Flow::Load(load) = &mut self.flows[flow as usize] else {
            return;
        };
        let due = load.next;
        load.next = load.arrivals.next();
        let (host, channel) = (load.host, load.channel);
        let at = load.next.map(|packet| packet.at);
        self.set(Event::Application(flow), at);
        if let Some(Packet { bytes, .. }) = due {
            let packet = self.packet(channel, bytes, Content::Load { flow });
            self.submit(host, Job::Send(packet));
        }
    }
}
