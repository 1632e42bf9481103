//! Buffers at the inputs, and a crossbar from them to the outputs: AN3's way, where ASX200's has its buffers at the outputs.
//!
//! In each cell time a [`scheduler`] matches inputs with outputs, and of each pair one cell crosses: no input gives two, no
//! output takes two. An output takes a cell while nothing waits at it, so that one that is slower than the crossbar holds
//! cells back at the inputs.
//!
//! With the schedulers of virtual output queues each input has a queue for each output, which the switch's discipline
//! serves: cells for a busy output are in nobody's way. With one FIFO an input they are: the cell at its head waits for its
//! output, and the cells behind it wait too (head-of-line blocking).
//!
//! References: M. J. Karol, M. G. Hluchyj and S. P. Morgan, "Input versus output queueing on a space-division packet
//! switch", IEEE Trans. Communications 35(12), 1987; T. E. Anderson, S. S. Owicki, J. B. Saxe and C. P. Thacker,
//! "High-speed switch scheduling for local-area networks", ACM Trans. Computer Systems 11(4), 1993 (AN2, of which AN3 is
//! the successor); N. McKeown, "The iSLIP scheduling algorithm for input-queued switches", IEEE/ACM Trans. Networking
//! 7(2), 1999.
//!
//! Validation: saturated by uniform traffic, one FIFO an input passes what Karol et al. have in their Table I for 2 to 8
//! ports and 2 − √2 = 58.6 % of many; one iteration of parallel iterative matching 1 − (1 − 1/n)ⁿ, about 63 %, four of
//! it over 99 %, and iSLIP all.

pub mod scheduler;
#[cfg(test)]
mod tests;

use crate::buffer::{Buffer, Memory, Owner};
use crate::discard::{Discard, Discarder};
use crate::discipline::{Discipline, Queue};
use crate::item::{Backlog, Cause, Dropped, Item};
use delaylab_model::Picos;
use delaylab_model::path::Scheduler as Kind;
use delaylab_stats::random::SplitMix;
pub use scheduler::Parameters;
use scheduler::{Outputs, Scheduler};
use std::collections::VecDeque;

/// Most ports that are scheduled: requests are the bits of a word.
pub const MOST_PORTS: usize = 64;

/// The inputs of a switch, and the way from them.
#[derive(Debug, Clone)]
pub(crate) struct Crossbar<T> {
    inputs: Inputs<T>,
    scheduler: Scheduler,
    buffer: Buffer,
    discard: Option<Discarder>,
    /// What waits for each output.
    held: Vec<Backlog>,
    /// By output: the inputs that have something for it now, as bits.
    requests: Vec<u64>,
    waiting: u64,
    /// Empty but for its memory.
    crossed: Vec<(usize, T)>,
}

#[derive(Debug, Clone)]
enum Inputs<T> {
    /// A queue for each output, input by input.
    Virtual(Vec<Discipline<T>>),
    /// One queue an input, with the output of each item.
    Single(Vec<VecDeque<(u32, T)>>),
}

impl<T> Inputs<T> {
    /// Empty, as this scheduler needs them.
    fn new(scheduler: Kind, ports: usize, mut queue: impl FnMut() -> Discipline<T>) -> Self {
        match scheduler {
            Kind::Fifo => Self::Single((0..ports).map(|_| VecDeque::new()).collect()),
            Kind::Pim | Kind::Islip => Self::Virtual((0..ports * ports).map(|_| queue()).collect()),
        }
    }
}

impl<T: Item> Crossbar<T> {
    /// Between this number of inputs and the same of outputs. `queue`: an empty one, of what waits at an input for an output.
    pub(crate) fn new(
        parameters: Parameters,
        memory: Memory,
        discard: Discard,
        ports: usize,
        seed: u64,
        queue: impl Fn(u64) -> Discipline<T>,
    ) -> Self {
        let mut seeds = SplitMix::new(seed);
        let inputs = Inputs::new(parameters.scheduler, ports, || queue(seeds.next()));
        debug_assert_eq!(memory.owner, Owner::Input);
        Self {
            inputs,
            scheduler: Scheduler::new(parameters, ports, seeds.next()),
            buffer: Buffer::new(memory),
            discard: Discarder::new(discard),
            held: vec![Backlog::default(); ports],
            requests: vec![0; ports],
            waiting: 0,
            crossed: Vec::new(),
        }
    }

    /// Why an arriving item is discarded with the rest of what it is a part of, if it is.
    fn discarded(&mut self, item: &T) -> Option<Cause> {
        let from = self.discard.as_ref().and_then(|discard| discard.early);
        let of_buffer = |from| self.buffer.is_filled(from, item, Backlog::default());
        let is_filled = from.is_some_and(of_buffer);
        let discard = self.discard.as_mut()?;
        discard.arrives(item.flow(), item.pdu(), is_filled)
    }

    /// An item arrives for an output. Not among what switches without a crossbar have inlined.
    #[cold]
    #[inline(never)]
    pub(crate) fn enqueue(
        &mut self,
        now: Picos,
        egress: usize,
        item: T,
        drops: &mut Vec<Dropped<T>>,
    ) {
        if let Some(cause) = self.discarded(&item) {
            return drops.push(Dropped { item, cause });
        }
        if !self.buffer.admits(&item, Backlog::default()) {
            if let Some(discard) = &mut self.discard {
                discard.lost(item.flow(), item.pdu());
            }
            return drops.push(Dropped::new(item, Cause::BufferFull));
        }
        self.buffer.takes(&item);
        self.held[egress].add(item.bytes());
        self.waiting += 1;
        self.put(now, egress, item, drops);
    }

    fn put(&mut self, now: Picos, egress: usize, item: T, drops: &mut Vec<Dropped<T>>) {
        let ingress = usize::from(item.ingress());
        match &mut self.inputs {
            Inputs::Virtual(queues) => {
                queues[ingress * self.held.len() + egress].enqueue(now, item, drops);
                self.requests[egress] |= 1 << ingress;
            }
            Inputs::Single(queues) => {
                queues[ingress].push_back((egress as u32, item));
                if queues[ingress].len() == 1 {
                    self.requests[egress] |= 1 << ingress;
                }
            }
        }
    }

    /// What crosses in this cell time to these outputs, which are free: outputs and items. To be given back with
    /// [`Crossbar::reuse`].
    pub(crate) fn cross(
        &mut self,
        now: Picos,
        free: Outputs,
        drops: &mut Vec<Dropped<T>>,
    ) -> Vec<(usize, T)> {
        let mut crossed = std::mem::take(&mut self.crossed);
        for number in 0..self.scheduler.pairs(&self.requests, free) {
            let (egress, ingress) = self.scheduler.pair(number);
            if let Some(item) = self.take(now, ingress, egress, drops) {
                crossed.push((egress, item));
            }
        }
        crossed
    }

    /// Its memory is for the next cell time.
    pub(crate) fn reuse(&mut self, mut crossed: Vec<(usize, T)>) {
        crossed.clear();
        self.crossed = crossed;
    }

    /// What waits longest of an output, or nearly, at any input: for a reset, which empties the switch.
    pub(crate) fn give_up(
        &mut self,
        now: Picos,
        egress: usize,
        drops: &mut Vec<Dropped<T>>,
    ) -> Option<T> {
        let item = match &mut self.inputs {
            Inputs::Virtual(_) => {
                let ingress = self.requests[egress].trailing_zeros() as usize;
                return (ingress < self.held.len())
                    .then(|| self.take(now, ingress, egress, drops))
                    .flatten();
            }
            Inputs::Single(queues) => first_for(queues, egress)?,
        };
        self.gone(egress, &item);
        if let Inputs::Single(queues) = &self.inputs {
            heads(queues, &mut self.requests);
        }
        Some(item)
    }

    fn take(
        &mut self,
        now: Picos,
        ingress: usize,
        egress: usize,
        drops: &mut Vec<Dropped<T>>,
    ) -> Option<T> {
        let bit = 1 << ingress;
        let item = match &mut self.inputs {
            Inputs::Virtual(queues) => {
                let queue = &mut queues[ingress * self.held.len() + egress];
                let item = queue.dequeue(now, drops);
                if queue.backlog().is_empty() {
                    self.requests[egress] &= !bit;
                }
                item?
            }
            Inputs::Single(queues) => {
                let (_, item) = queues[ingress].pop_front()?;
                self.requests[egress] &= !bit;
                if let Some((next, _)) = queues[ingress].front() {
                    self.requests[*next as usize] |= bit;
                }
                item
            }
        };
        self.gone(egress, &item);
        Some(item)
    }

    fn gone(&mut self, egress: usize, item: &T) {
        self.buffer.gives(item);
        self.held[egress].remove(item.bytes());
        self.waiting -= 1;
    }

    /// What waits for an output at all inputs.
    #[cold]
    #[inline(never)]
    pub(crate) fn backlog(&self, egress: usize) -> Backlog {
        self.held[egress]
    }

    /// Does anything wait at any input?
    pub(crate) const fn waits(&self) -> bool {
        self.waiting > 0
    }

    /// Would the input take this item?
    #[cold]
    #[inline(never)]
    pub(crate) fn has_room(&self, item: &T) -> bool {
        self.buffer.admits(item, Backlog::default())
    }
}

/// Takes an item for this output out of the first queue that has one.
fn first_for<T>(queues: &mut [VecDeque<(u32, T)>], egress: usize) -> Option<T> {
    queues.iter_mut().find_map(|queue| {
        let at = queue.iter().position(|(to, _)| *to as usize == egress)?;
        queue.remove(at).map(|(_, item)| item)
    })
}

/// Which input has which output's item at its head.
fn heads<T>(queues: &[VecDeque<(u32, T)>], requests: &mut [u64]) {
    requests.fill(0);
    for (queue, ingress) in queues.iter().zip(0..) {
        if let Some((egress, _)) = queue.front() {
            requests[*egress as usize] |= 1 << ingress;
        }
    }
}
