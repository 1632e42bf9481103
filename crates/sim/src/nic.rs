//! A host's network card: cuts packets into cells and says which leaves next, and when.
//!
//! Without ATM traffic contracts all packets wait in one queue. With them each virtual channel has its
//! own, and a *gate*: a CBR channel sends one cell a slot, an ABR channel at the rate that the network
//! allows it, a credit channel what the next
//! switch has room for. Channels whose gates are open take turns, a cell each.

use crate::packet::ChannelId;
use crate::trace::Trace;
use crate::transmitter::Transmitter;
use crate::unit::Unit;
use delaylab_model::Picos;
use delaylab_switch::Item;
use delaylab_switch::credit::Upstream;
use delaylab_switch::flow_control::Set;
use delaylab_traffic::abr::{Destination, InRate, ResourceManagement, Source};
use std::collections::VecDeque;

/// When a channel, or a class queue, may send.
#[derive(Debug)]
pub enum Gate {
    /// At any time.
    Open,
    /// One unit a slot.
    Cbr(Transmitter),
    /// At the allowed cell rate.
    Abr(Box<Abr>),
    /// As the next switch has room.
    Credit(Upstream),
    /// Not before then, for packets of these class queues.
    Pausable(Set, Picos),
}

/// The ABR end system of a channel at its host: the source of what leaves by the channel, and the
/// destination of what comes by the one that leads back.
#[derive(Debug)]
pub struct Abr {
    /// Of this channel.
    pub source: Source,
    /// Of the channel that leads back.
    pub destination: Destination,
    /// The allowed cell rate over time.
    pub trace: Option<Trace>,
}

/// A packet of which some units are still to leave.
#[derive(Debug, Clone, Copy)]
struct Sending {
    unit: Unit,
    left: u32,
    /// It is the packet's first unit that is next.
    whole: bool,
}

/// A queue of packets.
#[derive(Debug)]
struct SendQueue {
    channel: ChannelId,
    gate: Gate,
    packets: VecDeque<Sending>,
}

/// What leaves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Leaving {
    /// The next unit of a packet; `first` of it, `last` of it.
    Unit {
        /// As it goes on the wire, but for the flag that marks the last.
        unit: Unit,
        /// None of the packet left before.
        first: bool,
        /// All of the packet has left.
        last: bool,
    },
    /// An RM cell of this channel.
    Management(ChannelId, ResourceManagement),
}

/// A network card.
#[derive(Debug, Default)]
pub struct Nic {
    queues: Vec<SendQueue>,
    turn: usize,
    /// Lanes are of class queues, and not of channels.
    by_class: bool,
}

impl Nic {
    /// Adds a channel with a contract.
    pub fn add(&mut self, channel: ChannelId, gate: Gate) {
        self.queues.push(SendQueue {
            channel,
            gate,
            packets: VecDeque::new(),
        });
    }

    /// Packets wait in this many class queues, each of which the switch can stop.
    pub fn with_classes(queues: u8) -> Self {
        let mut nic = Self {
            by_class: true,
            ..Self::default()
        };
        for queue in 0..queues {
            nic.add(u32::from(queue), Gate::Pausable(1 << queue, 0));
        }
        nic
    }

    /// Packets wait in one queue, which the switch can stop.
    pub fn with_pause() -> Self {
        let mut nic = Self::default();
        nic.add(0, Gate::Pausable(Set::MAX, 0));
        nic
    }

    /// The switch asks for nothing of these class queues before then.
    pub fn pause(&mut self, queues: Set, before: Picos) {
        for queue in &mut self.queues {
            if let Gate::Pausable(own, until) = &mut queue.gate
                && *own & queues != 0
            {
                *until = before;
            }
        }
    }

    /// Is every gate open, so that something leaves whenever something waits?
    pub fn is_plain(&self) -> bool {
        self.queues
            .iter()
            .all(|queue| matches!(queue.gate, Gate::Open))
    }

    /// A packet of so many units like this one.
    pub fn push(&mut self, unit: Unit, units: u32) {
        if self.queues.is_empty() {
            self.add(unit.channel(), Gate::Open);
        }
        let at = match self.queues.len() {
            1 => 0,
            _ => self.lane_of(&unit).unwrap_or(0),
        };
        self.queues[at].packets.push_back(Sending {
            unit,
            left: units,
            whole: true,
        });
    }

    fn lane_of(&self, unit: &Unit) -> Option<usize> {
        self.queue(match self.by_class {
            true => u32::from(unit.queue()),
            false => unit.channel(),
        })
    }

    fn queue(&self, channel: ChannelId) -> Option<usize> {
        match self.queues.len() {
            1 => Some(0),
            _ => self
                .queues
                .iter()
                .position(|queue| queue.channel == channel),
        }
    }

    /// The ABR end system of this channel.
    pub fn abr(&mut self, channel: ChannelId) -> Option<&mut Abr> {
        let at = self.queue(channel)?;
        match &mut self.queues[at].gate {
            Gate::Abr(abr) => Some(abr),
            _ => None,
        }
    }

    /// The next switch has forwarded so many cells of this channel.
    pub fn credit(&mut self, channel: ChannelId, forwarded: u64) {
        let queue = self.queue(channel).map(|at| &mut self.queues[at]);
        if let Some(SendQueue {
            gate: Gate::Credit(upstream),
            ..
        }) = queue
        {
            upstream.receive(forwarded);
        }
    }

    /// Every ABR end system, with its channel.
    pub fn all_abr(&mut self) -> impl Iterator<Item = (ChannelId, &mut Abr)> {
        self.queues
            .iter_mut()
            .filter_map(|queue| match &mut queue.gate {
                Gate::Abr(abr) => Some((queue.channel, &mut **abr)),
                _ => None,
            })
    }

    /// Packets of which something is still to leave.
    pub fn waiting(&self) -> usize {
        self.queues.iter().map(|queue| queue.packets.len()).sum()
    }

    /// What leaves at `now`.
    #[inline]
    pub fn dequeue(&mut self, now: Picos) -> Option<Leaving> {
        let queues = self.queues.len();
        for _ in 0..queues {
            let at = self.turn;
            // One queue sends packet by packet, several take turns.
            self.turn = if at + 1 == queues { 0 } else { at + 1 };
            if let Some(leaving) = self.queues[at].dequeue(now) {
                return Some(leaving);
            }
        }
        None
    }

    /// When something may leave although nothing may now.
    pub fn next_event(&self) -> Option<Picos> {
        self.queues.iter().filter_map(SendQueue::next_event).min()
    }
}

impl SendQueue {
    #[inline]
    fn dequeue(&mut self, now: Picos) -> Option<Leaving> {
        match &mut self.gate {
            Gate::Cbr(slots) => {
                let bytes = self.packets.front()?.unit.bytes();
                if slots.free_at() > now {
                    return None;
                }
                slots.send(now, bytes);
                self.next_unit()
            }
            Gate::Abr(_) => self.dequeue_abr(now),
            Gate::Credit(upstream) if self.packets.is_empty() || upstream.credit() == 0 => None,
            Gate::Credit(upstream) => {
                upstream.send();
                self.next_unit()
            }
            Gate::Pausable(_, until) if *until > now => None,
            Gate::Open | Gate::Pausable(..) => self.next_unit(),
        }
    }

    #[inline]
    fn next_unit(&mut self) -> Option<Leaving> {
        let sending = self.packets.front_mut()?;
        sending.left -= 1;
        let leaving = Leaving::Unit {
            unit: sending.unit,
            first: std::mem::replace(&mut sending.whole, false),
            last: sending.left == 0,
        };
        if sending.left == 0 {
            self.packets.pop_front();
        }
        Some(leaving)
    }

    fn dequeue_abr(&mut self, now: Picos) -> Option<Leaving> {
        let Gate::Abr(abr) = &mut self.gate else {
            return None;
        };
        let channel = self.channel;
        if abr.source.next_send() <= now {
            let backward = abr.destination.backward();
            let leaves = abr.source.send(now, !self.packets.is_empty(), backward);
            // To send may cut the rate, too.
            abr.note_rate(now);
            match leaves {
                Some(InRate::Data) => return self.next_unit(),
                Some(InRate::ForwardRm(rm)) => return Some(Leaving::Management(channel, rm)),
                Some(InRate::BackwardRm(rm)) => {
                    abr.destination.take_backward();
                    return Some(Leaving::Management(channel, rm));
                }
                None => {}
            }
        }
        if self.packets.is_empty() {
            return None;
        }
        let rm = abr.source.out_of_rate(now)?;
        Some(Leaving::Management(channel, rm))
    }

    fn next_event(&self) -> Option<Picos> {
        let waits = !self.packets.is_empty();
        match &self.gate {
            Gate::Open => waits.then_some(0),
            Gate::Cbr(slots) => waits.then(|| slots.free_at()),
            Gate::Abr(abr) => {
                let has = waits || abr.destination.backward_waits();
                let in_rate = has.then(|| abr.source.next_send());
                let out_of_rate = abr.source.next_out_of_rate().filter(|_| waits);
                in_rate.into_iter().chain(out_of_rate).min()
            }
            Gate::Credit(upstream) => (waits && upstream.credit() > 0).then_some(0),
            Gate::Pausable(_, until) => waits.then_some(*until),
        }
    }
}

impl Abr {
    /// Its rate may have changed.
    pub fn note_rate(&mut self, now: Picos) {
        let rate = self.source.acr();
        if let Some(trace) = &mut self.trace {
            trace.set(now, rate.round() as u64);
        }
    }
}
