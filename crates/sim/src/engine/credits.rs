//! Credit flow control (N23): what a node has forwarded goes back to the node before it, a link at a time.
//! Credits are cells: they take their time on the line, before everything else that waits for it.

use super::{Engine, Near};
use crate::event_set::EventSet;
use crate::network::{CELL, other_end};
use crate::packet::{CREDIT, ChannelId, Content, END, Packet, Unit};

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
        let packet = self.packets.add(Packet {
            channel,
            ip_size: 0,
            left: 1,
            lost: false,
            marked: false,
            content: Content::Credit { channel, forwarded },
            queued: (0, 0),
        });
        self.ports[port as usize].credits.push_back(Unit {
            packet,
            channel,
            bytes: CELL as u16,
            ingress: 0,
            hop: 0,
            queue: 0,
            flags: CREDIT | END,
        });
        self.go(port);
    }

    /// A credit has come by this port's link: the port at the other end may send more.
    pub(super) fn take_credit(&mut self, port: u32, unit: Unit) {
        self.counts.delivered += 1;
        let Content::Credit { channel, forwarded } = self.packets.remove(unit.packet).content
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
