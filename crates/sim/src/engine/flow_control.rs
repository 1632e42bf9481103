//! Pauses between neighbours (PAUSE, PFC): a switch whose input buffer passes XOFF stops the port at the other end of the link.
//!
//! A PFC frame goes before everything else that waits for its line, but not before what is being sent. It says how things are
//! when it leaves, of every priority. Propagation and the response of the other end later it takes effect there: nothing
//! more of the priority is begun, until its time is over or a frame says otherwise. While there is need, a frame asks again
//! at half the time.

use super::{Engine, Near};
use crate::event_set::EventSet;
use crate::slots::Event;
use crate::trace::Trace;
use crate::unit::{CREDIT, Unit};
use delaylab_model::Picos;
use delaylab_switch::Item;
use delaylab_switch::flow_control::{FRAME, Set};
use delaylab_topology::network::{PortId, other_end};
use std::collections::VecDeque;
use std::sync::Arc;

/// Flow control at a port.
#[derive(Debug)]
pub(super) struct Control {
    /// How long a pause lasts that this port asks for.
    lasts: Picos,
    /// From the last bit's leaving to its effect at the other end.
    delay: Picos,
    /// Groups of which the other end is to be told.
    pending: Set,
    /// What frames on their way say, and when they take effect.
    pipe: VecDeque<(Picos, PauseFrame)>,
    /// How this port was paused itself.
    pub(super) paused: Vec<Paused>,
}

/// What a frame says.
#[derive(Debug, Clone, Copy)]
struct PauseFrame {
    stop: Set,
    go: Set,
}

/// Pauses of class queues of a port over time.
#[derive(Debug)]
pub(super) struct Paused {
    /// The port's name, and the priority's where there are several.
    name: Arc<str>,
    queues: Set,
    /// 1 while it is.
    trace: Trace,
    until: Picos,
}

impl Control {
    /// Of a port that asks for pauses of this length.
    pub(super) fn new(lasts: Picos, delay: Picos, paused: Vec<Paused>) -> Self {
        Self {
            lasts,
            delay,
            pending: 0,
            pipe: VecDeque::new(),
            paused,
        }
    }

    /// PFC frames on their way.
    pub(super) fn under_way(&self) -> usize {
        self.pipe.len()
    }
}

impl Paused {
    pub(super) fn new(name: Arc<str>, queues: Set) -> Self {
        Self {
            name,
            queues,
            trace: Trace::new(0),
            until: 0,
        }
    }

    /// The port's name, and the priority's where there are several.
    pub(super) fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// From now until then, or no longer.
    fn set(&mut self, now: Picos, until: Picos) {
        self.lapse(now);
        self.trace.set(now, u64::from(until > now));
        self.until = until;
    }

    /// It may have ended by itself.
    fn lapse(&mut self, now: Picos) {
        if (1..=now).contains(&self.until) {
            self.trace.set(self.until, 0);
            self.until = 0;
        }
    }

    /// The whole of it, with its name.
    pub(super) fn finish(mut self, end: Picos) -> (Arc<str>, Trace) {
        self.lapse(end);
        (self.name, self.trace)
    }
}

impl<E: EventSet> Engine<E> {
    /// A unit has come to this port of a switch, where somebody before it wants to know.
    #[cold]
    #[inline(never)]
    pub(super) fn has_come(&mut self, id: PortId, unit: &Unit) {
        let near = self.ports[id as usize].near;
        if let (false, Near::Switch { switch, .. }) = (self.controls.is_empty(), near) {
            self.flow_changes(switch, unit.ingress(), unit.queue());
        }
    }

    /// What an input of a switch holds has changed.
    pub(super) fn flow_changes(&mut self, switch: u32, input: u16, queue: u8) {
        let node = &mut self.switches[switch as usize];
        let changed = node.switch.flow_change(usize::from(input), queue);
        if changed != 0 {
            let port = node.ports[usize::from(input)];
            self.tell(port, changed);
        }
    }

    /// The other end of this port's link is to be told of these groups.
    fn tell(&mut self, id: PortId, groups: Set) {
        self.controls[id as usize].pending |= groups;
        let credits = &mut self.ports[id as usize].credits;
        if credits.is_empty() {
            credits.push_back(Unit::new(u32::MAX, u32::MAX, FRAME as u16, CREDIT));
        }
        self.go(id);
    }

    /// The frame that waits at this port leaves.
    #[cold]
    #[inline(never)]
    pub(super) fn send_pause(&mut self, id: PortId, at: Picos) -> bool {
        let port = &mut self.ports[id as usize];
        port.credits.pop_front();
        let Near::Switch { switch, egress } = port.near else {
            return false;
        };
        let Some(guards) = self.switches[switch as usize].switch.guards() else {
            return false;
        };
        let stopped = guards.stopped(egress as usize);
        let control = &mut self.controls[id as usize];
        let pending = std::mem::take(&mut control.pending);
        let told = PauseFrame {
            stop: guards.parameters().queues(stopped),
            go: guards.parameters().queues(pending & !stopped),
        };
        if let Some(series) = &mut port.series {
            series.begins_to_send(port.line.free_at(), at);
        }
        let takes_effect = port.line.send(at, FRAME) + control.delay;
        port.sent += 1;
        self.counts.sent += 1;
        control.pipe.push_back((takes_effect, told));
        let first = control.pipe.len() == 1;
        let again = (stopped != 0).then_some(at + control.lasts / 2);
        if first {
            self.set(Event::Control(id), Some(takes_effect));
        }
        self.set(Event::Refresh(id), again);
        true
    }

    /// The oldest frame on its way from this port takes effect at the other end.
    #[cold]
    #[inline(never)]
    pub(super) fn told(&mut self, id: PortId) {
        let control = &mut self.controls[id as usize];
        let Some((_, told)) = control.pipe.pop_front() else {
            return;
        };
        let (next, lasts) = (control.pipe.front().map(|&(at, _)| at), control.lasts);
        self.set(Event::Control(id), next);
        self.note_control(id, u64::from(told.stop) << 8 | u64::from(told.go));
        let (other, now) = (other_end(id), self.now);
        for (queues, until) in [(told.stop, now + lasts), (told.go, 0)] {
            match self.ports[other as usize].near {
                Near::Nic(nic) => self.nics[nic as usize].pause(queues, until),
                Near::Switch { switch, egress } => {
                    let switch = &mut self.switches[switch as usize].switch;
                    switch.pause(egress as usize, queues, until);
                }
            }
            for paused in &mut self.controls[other as usize].paused {
                if paused.queues & queues != 0 {
                    paused.set(now, until);
                }
            }
        }
        self.go(other);
    }

    /// The pause that this port asked for is half over, and needed still.
    #[cold]
    #[inline(never)]
    pub(super) fn refresh(&mut self, id: PortId) {
        self.set(Event::Refresh(id), None);
        self.tell(id, 0);
    }
}
