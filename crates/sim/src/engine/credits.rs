//! Credit flow control (N23): what a node has forwarded goes back to the node before it, a link at a time.
//! Credits are cells: they take their time on the line, before everything else that waits for it.

use super::{Engine, Near};
use crate::event_set::EventSet;
use crate::packet::{ChannelId, Content};
use crate::unit::{CREDIT, Unit};
use delaylab_topology::network::other_end;

impl<E: EventSet> Engine<E> {
    /// A cell that came by link number `link` of its channel has been forwarded.
    #[inline]
    pub(super) fn forward(&mut self, channel: ChannelId, link: u8) {
        let at = self.channels[channel as usize].way as usize + usize::from(link);
        if let Some(forwarded) = self.forwarded[at].forward() {
            self.give_credit(channel, other_end(self.ways[at]), forwarded);
        }
    }

    fn give_credit(&mut self, channel: ChannelId, port: u32, forwarded: u64) {
        let cell = self.lone_cell(channel, Content::Credit { channel, forwarded }, CREDIT);
        self.ports[port as usize].credits.push_back(cell);
        self.go(port);
    }

    /// A credit has come by this port's link: the port at the other end may send more.
    pub(super) fn take_credit(&mut self, port: u32, unit: Unit) {
        self.counts.delivered += 1;
        let Content::Credit { channel, forwarded } = self.packets.remove(unit.packet()).content
        else {
            return;
        };
        let port = other_end(port);
        match self.ports[port as usize].near {
            Near::Nic(nic) => self.nics[nic as usize].credit(channel, forwarded),
            Near::Switch { switch, egress } => {
                let switch = &mut self.switches[switch as usize].switch;
                switch.credit(egress as usize, channel, forwarded);
            }
        }
        self.go(port);
    }
}
