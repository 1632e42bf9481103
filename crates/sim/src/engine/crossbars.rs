//! Switches with buffers at their inputs: a cell time after the other, cells cross to the output ports.
//!
//! The crossbar is as fast as the fastest of its ports. A cell time begins when the one before is over and something waits at
//! an input; a cell that comes to an empty switch crosses at once.

use super::Engine;
use crate::event_set::EventSet;
use crate::slots::Event;
use crate::transmitter::Transmitter;
use delaylab_model::Picos;
use delaylab_topology::framing::CELL;

/// Cell times of a crossbar.
#[derive(Debug)]
pub(super) struct CellTimes {
    clock: Transmitter,
    /// The next one is set.
    runs: bool,
}

impl CellTimes {
    /// At so many bit/s.
    pub(super) fn new(rate: u64) -> Self {
        Self {
            clock: Transmitter::new(rate),
            runs: false,
        }
    }

    fn next(&self, now: Picos) -> Picos {
        self.clock.free_at().max(now)
    }
}

impl<E: EventSet> Engine<E> {
    /// Something waits at an input.
    #[cold]
    #[inline(never)]
    pub(super) fn wake_crossbar(&mut self, switch: u32) {
        let now = self.now;
        let crossbar = self.switches[switch as usize].crossbar.as_mut();
        let Some(crossbar) = crossbar.filter(|crossbar| !crossbar.runs) else {
            return;
        };
        crossbar.runs = true;
        let next = crossbar.next(now);
        self.set(Event::Cross(switch), Some(next));
    }

    /// A cell time of the crossbar of a switch.
    #[inline(never)]
    pub(super) fn cross(&mut self, switch: u32) {
        let (at, now) = (switch as usize, self.now);
        let ports = self.switches[at].ports.len();
        for egress in 0..ports {
            let port = self.switches[at].ports[egress];
            self.catch_up(port);
        }
        let took = self.switches[at].switch.cross(now, &mut self.drops);
        for egress in 0..ports {
            if took >> egress & 1 == 1 {
                let port = self.switches[at].ports[egress];
                self.go(port);
            }
        }
        let node = &mut self.switches[at];
        let waits = node.switch.waits_at_inputs();
        let next = node.crossbar.as_mut().and_then(|crossbar| {
            crossbar.clock.send(now, CELL);
            crossbar.runs = waits;
            waits.then(|| crossbar.clock.free_at())
        });
        self.set(Event::Cross(switch), next);
    }
}
