//! Switches that tell ABR sources their rate: what passes through a port on its way out decides what is
//! written into RM cells on their way back.

use super::Engine;
use crate::event_set::EventSet;
use crate::packet::Content;
use crate::unit::{MANAGEMENT, Unit};

impl<E: EventSet> Engine<E> {
    /// A cell comes to a switch with explicit rates.
    pub(super) fn see_rate(&mut self, switch: u32, egress: u32, unit: &Unit) {
        let now = self.now;
        let rates = &mut self.switches[switch as usize].rates;
        rates[egress as usize].cell(now, unit.channel());
        if !unit.has(MANAGEMENT) {
            return;
        }
        let Content::Management(mut rm) = self.packets.get(unit.packet()).content else {
            return;
        };
        if !rm.backward {
            return rates[egress as usize].forward_rm(now, unit.channel(), rm.current_rate);
        }
        let forward = self.channels[unit.channel() as usize].reverse;
        let Some(egress) = self.forward_egress(switch, forward, unit.hop()) else {
            return;
        };
        let node = &mut self.switches[switch as usize];
        let backlog = node.switch.backlog(egress);
        let rate = &mut node.rates[egress];
        rm.explicit_rate =
            rate.backward_rm(now, forward, rm.current_rate, rm.explicit_rate, backlog);
        self.packets.get(unit.packet()).content = Content::Management(rm);
    }

    /// By which port of this switch the channel leaves whose cells come back here, so many links from
    /// their end. `None`: it takes another way.
    fn forward_egress(&mut self, switch: u32, channel: u32, hop: u8) -> Option<usize> {
        let channel = &self.channels[channel as usize];
        let link = channel.links.checked_sub(hop)?;
        let port = self.ways[channel.way as usize + usize::from(link)];
        let node = &self.switches[switch as usize];
        let egress = node.ports.iter().position(|&own| own == port)?;
        // Its queue is what it is now.
        self.catch_up(port);
        Some(egress)
    }
}
