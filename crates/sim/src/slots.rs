//! Which slot of the event set is whose. What happens at the same picosecond happens in this order:
//! departures before arrivals, arrivals before what crossbars and hosts make of them. Drops and EFCI marks depend on
//! it.

use crate::event_set::Slot;

/// Something that can happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A port may send its next unit.
    Transmit(u32),
    /// A port's oldest unit under way arrives at the other end.
    Arrive(u32),
    /// The crossbar of a switch may move cells.
    Cross(u32),
    /// A host's CPU has done its job.
    Cpu(u32),
    /// A daemon of a host wants its CPU.
    Daemon(u32),
    /// The retransmission timer of a connection.
    Retransmit(u32),
    /// The delayed acknowledgement of a connection.
    DelayedAck(u32),
    /// A flow's application has something to do.
    Application(u32),
    /// A switch is reset.
    Reset(u32),
    /// A frame of flow control that a port sent takes effect at the other end.
    Control(u32),
    /// A port asks for a pause again.
    Refresh(u32),
    /// A server's next reply is ready.
    Server(u32),
}

/// How many there are of each.
#[derive(Debug, Clone, Copy)]
pub struct Slots {
    pub(crate) ports: u32,
    pub(crate) hosts: u32,
    pub(crate) flows: u32,
    pub(crate) switches: u32,
    /// Ports with flow control: all or none.
    pub(crate) controls: u32,
    pub(crate) servers: u32,
}

impl Slots {
    /// All together.
    pub const fn count(&self) -> usize {
        let controls = 2 * self.controls;
        let others = controls + self.servers;
        (2 * self.ports + 2 * self.hosts + 3 * self.flows + 2 * self.switches + others) as usize
    }

    /// Where this event's time is kept.
    #[inline]
    pub const fn slot(&self, event: Event) -> Slot {
        let crossbars = 2 * self.ports;
        let hosts = crossbars + self.switches;
        let flows = hosts + 2 * self.hosts;
        match event {
            Event::Transmit(port) => port,
            Event::Arrive(port) => self.ports + port,
            Event::Cross(switch) => crossbars + switch,
            Event::Cpu(host) => hosts + host,
            Event::Daemon(host) => hosts + self.hosts + host,
            Event::Retransmit(flow) => flows + flow,
            Event::DelayedAck(flow) => flows + self.flows + flow,
            Event::Application(flow) => flows + 2 * self.flows + flow,
            Event::Reset(switch) => flows + 3 * self.flows + switch,
            Event::Control(port) => flows + 3 * self.flows + self.switches + port,
            Event::Refresh(port) => flows + 3 * self.flows + self.switches + self.controls + port,
            Event::Server(server) => {
                flows + 3 * self.flows + self.switches + 2 * self.controls + server
            }
        }
    }

    /// Of those after the flows.
    const fn last(&self, slot: Slot) -> Event {
        if slot < self.switches {
            return Event::Reset(slot);
        }
        let slot = slot - self.switches;
        if slot < self.controls {
            return Event::Control(slot);
        }
        let slot = slot - self.controls;
        if slot < self.controls {
            Event::Refresh(slot)
        } else {
            Event::Server(slot - self.controls)
        }
    }

    /// Whose this slot is.
    #[inline]
    pub const fn event(&self, slot: Slot) -> Event {
        if slot < self.ports {
            return Event::Transmit(slot);
        }
        let slot = slot - self.ports;
        if slot < self.ports {
            return Event::Arrive(slot);
        }
        let slot = slot - self.ports;
        if slot < self.switches {
            return Event::Cross(slot);
        }
        let slot = slot - self.switches;
        if slot < self.hosts {
            return Event::Cpu(slot);
        }
        let slot = slot - self.hosts;
        if slot < self.hosts {
            return Event::Daemon(slot);
        }
        let slot = slot - self.hosts;
        if slot >= 3 * self.flows {
            return self.last(slot - 3 * self.flows);
        }
        match slot / self.flows {
            0 => Event::Retransmit(slot),
            1 => Event::DelayedAck(slot - self.flows),
            _ => Event::Application(slot - 2 * self.flows),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slot_is_one_event() {
        let slots = Slots {
            ports: 3,
            hosts: 2,
            flows: 4,
            switches: 2,
            controls: 3,
            servers: 2,
        };
        for slot in 0..slots.count() as u32 {
            assert_eq!(slots.slot(slots.event(slot)), slot);
        }
    }
}
