//! A switch: a discipline at each output port, and the buffers behind them.
//!
//! An item is taken when its buffer has room; then the discipline decides when it leaves, or whether it
//! is dropped after all. The time through the switch, the links and the routes are the driver's.
//!
//! A policer drops before the buffer is asked; a shaper holds what the discipline gave until its tokens are there, and
//! until then it is held here. The buffer behind a shaper counts the bytes that the shaper counts, as the kernel does.
//!
//! With a [`crossbar`](crate::crossbar) what arrives waits at its input instead: [`Switch::cross`] takes it to the output
//! port, where one cell waits for the line at most.
//!
//! What is being transmitted was dequeued when its transmission began and is no longer held here.

use crate::buffer::{Bound, Buffer, Memory};
use crate::crossbar::Crossbar;
use crate::discard::{Discard, Discarder};
use crate::discipline::{Discipline, Queue};
use crate::flow_control::{Guards, Limits, Set};
use crate::item::{Backlog, Cause, Dropped, Item, Length};
use crate::settings::{Kind, Settings};
use crate::token_bucket::{self, Shaper, TokenBucket};
use delaylab_model::Picos;
use delaylab_model::quantity::Share;
use delaylab_stats::random::SplitMix;

/// The whole device.
#[derive(Debug, Clone)]
pub struct Switch<T> {
    ports: Vec<Port<T>>,
    buffer: Buffer,
    crossbar: Option<Box<Crossbar<T>>>,
}

#[derive(Debug, Clone)]
struct Port<T> {
    queue: Discipline<T>,
    /// What it holds: the discipline knows it too, but not at a fixed place.
    held: Backlog,
    /// What each class queue holds, where that is limited.
    queues: Option<Box<ClassQueues>>,
    /// What else is asked before the buffer, if anything.
    entry: Option<Entry>,
    /// By which length its longest queue gives way to what does not fit, if it does.
    longest_gives_way: Option<Length>,
    /// Bytes of each item that the buffer does not count, as [`token_bucket::Limits::uncounted`].
    uncounted: i64,
    policer: Option<Box<TokenBucket>>,
    shaper: Option<Box<Shaper<T>>>,
}

/// What decides about items that arrive, beside the buffer.
#[derive(Debug, Clone)]
enum Entry {
    /// Early or partial packet discard.
    Discard(Discarder),
    /// Buffers of input ports, for what flow control keeps from being lost.
    Guarded,
}

#[derive(Debug, Clone)]
struct ClassQueues {
    most: Bound,
    held: [Backlog; 256],
}

/// An item of which some bytes are not counted, or some more.
struct Counted<'a, T> {
    item: &'a T,
    less: i64,
}

impl<T: Item> Item for Counted<'_, T> {
    #[inline]
    fn bytes(&self) -> u32 {
        token_bucket::counted(self.item.bytes(), self.less)
    }

    fn flow(&self) -> u32 {
        self.item.flow()
    }

    #[inline]
    fn ingress(&self) -> u16 {
        self.item.ingress()
    }

    #[inline]
    fn queue(&self) -> u8 {
        self.item.queue()
    }
}

impl ClassQueues {
    fn new(most: Bound) -> Option<Box<Self>> {
        let held = [Backlog::default(); 256];
        (most != Bound::UNLIMITED).then(|| Box::new(Self { most, held }))
    }

    fn held(&mut self, item: &impl Item) -> &mut Backlog {
        &mut self.held[usize::from(item.queue())]
    }
}

impl<T: Item> Switch<T> {
    /// With so many output ports. Equal seeds make equal decisions.
    pub fn new(settings: &Settings, ports: usize, seed: u64) -> Self {
        let mut seeds = SplitMix::new(seed);
        let port = |seed| Port {
            queue: match settings.crossbar {
                Some(_) => Discipline::fifo(),
                None => settings.queue(seed),
            },
            held: Backlog::default(),
            queues: ClassQueues::new(settings.queue_share),
            entry: match settings.flow_control {
                Some(_) => Some(Entry::Guarded),
                None => discarder(settings).map(Entry::Discard),
            },
            longest_gives_way: settings
                .memory
                .longest_gives_way
                .then_some(settings.memory.size.length()),
            uncounted: settings.shaper.map_or(0, |limits| limits.uncounted),
            policer: settings
                .policer
                .map(|limits| Box::new(TokenBucket::new(limits))),
            shaper: settings.shaper.map(|limits| Box::new(Shaper::new(limits))),
        };
        let guards = settings
            .flow_control
            .map(|parameters| Guards::new(parameters, ports));
        Self {
            ports: (0..ports).map(|_| port(seeds.next())).collect(),
            buffer: Buffer::new(memory(settings)).with_guards(guards),
            crossbar: settings.crossbar.map(|parameters| {
                let Settings {
                    memory, discard, ..
                } = *settings;
                let queue = |seed| settings.queue(seed);
                let seed = seeds.next();
                Box::new(Crossbar::new(
                    parameters, memory, discard, ports, seed, queue,
                ))
            }),
        }
    }

    /// An item arrives for an output port. Whatever is dropped, itself or another, is put into `drops`.
    ///
    /// # Panics
    /// If there is no such port.
    #[inline]
    pub fn enqueue(&mut self, now: Picos, egress: usize, item: T, drops: &mut Vec<Dropped<T>>) {
        if let Some(crossbar) = &mut self.crossbar {
            return crossbar.enqueue(now, egress, item, drops);
        }
        let (port, buffer) = (&mut self.ports[egress], &mut self.buffer);
        if port.entry.is_none() {
            port.offer(buffer, now, item, drops);
        } else {
            port.offer_beside(buffer, now, item, drops);
        }
    }

    /// Would the buffers take this item now? Items that have left by now, and were not asked for yet,
    /// count as held: it can only be too careful.
    ///
    /// # Panics
    /// If there is no such port.
    #[inline]
    pub fn has_room(&self, egress: usize, item: &T) -> bool {
        if let Some(crossbar) = &self.crossbar {
            return crossbar.has_room(item);
        }
        let port = &self.ports[egress];
        self.buffer.admits(&port.counted(item), port.held)
    }

    /// A cell time of the crossbar: what crosses goes to the output ports at which nothing waits. Which took a cell, as bits.
    /// Without a crossbar nothing happens.
    pub fn cross(&mut self, now: Picos, drops: &mut Vec<Dropped<T>>) -> u64 {
        let Some(crossbar) = &mut self.crossbar else {
            return 0;
        };
        let mut free = 0;
        for (egress, port) in self.ports.iter().enumerate() {
            free |= u64::from(port.held.is_empty()) << egress;
        }
        let (mut crossed, mut took) = (crossbar.cross(now, free, drops), 0);
        for (egress, item) in crossed.drain(..) {
            took |= 1 << egress;
            self.ports[egress].offer(&mut self.buffer, now, item, drops);
        }
        crossbar.reuse(crossed);
        took
    }

    /// Does anything wait at the inputs of a crossbar?
    #[inline]
    pub fn waits_at_inputs(&self) -> bool {
        let crossbar = self.crossbar.as_ref();
        crossbar.is_some_and(|crossbar| crossbar.waits())
    }

    /// An output port is free: what it transmits next.
    ///
    /// # Panics
    /// If there is no such port.
    #[inline]
    pub fn dequeue(&mut self, now: Picos, egress: usize, drops: &mut Vec<Dropped<T>>) -> Option<T> {
        let (port, buffer) = (&mut self.ports[egress], &mut self.buffer);
        let before = drops.len();
        let item = port.next(now, drops);
        port.settle(buffer, item.as_ref(), &drops[before..]);
        item
    }

    /// When [`Switch::dequeue`] may next give something although it gives nothing now. None: not before
    /// something arrives, be it a credit.
    ///
    /// # Panics
    /// If there is no such port.
    #[inline]
    pub fn next_event(&self, egress: usize) -> Option<Picos> {
        let port = &self.ports[egress];
        let shaper = port.shaper.as_ref();
        let held = shaper.and_then(|shaper| shaper.next_event());
        held.or_else(|| port.queue.next_event())
    }

    /// What an output port would transmit next, whatever its shaper says: for a reset, which empties it.
    ///
    /// # Panics
    /// If there is no such port.
    pub fn give_up(&mut self, now: Picos, egress: usize, drops: &mut Vec<Dropped<T>>) -> Option<T> {
        let (port, buffer) = (&mut self.ports[egress], &mut self.buffer);
        let before = drops.len();
        let held = port.shaper.as_mut().and_then(|shaper| shaper.give_up());
        let item = held.or_else(|| port.queue.give_up(now, drops));
        port.settle(buffer, item.as_ref(), &drops[before..]);
        if item.is_some() {
            return item;
        }
        self.crossbar.as_mut()?.give_up(now, egress, drops)
    }

    /// What waits for an output port.
    ///
    /// # Panics
    /// If there is no such port.
    #[inline]
    pub fn backlog(&self, egress: usize) -> Backlog {
        let held = self.ports[egress].held;
        match &self.crossbar {
            None => held,
            Some(crossbar) => held.and(crossbar.backlog(egress)),
        }
    }

    /// What waits at an output port itself: with a crossbar what has crossed, else the same.
    ///
    /// # Panics
    /// If there is no such port.
    #[inline]
    pub fn crossed(&self, egress: usize) -> Backlog {
        self.ports[egress].held
    }

    /// A credit came back to an output port: the next hop has forwarded so many cells of the flow in all.
    /// True: the port may have something to send now that it had not before. Nothing but the credit
    /// discipline heeds it.
    ///
    /// # Panics
    /// If there is no such port.
    pub fn credit(&mut self, egress: usize, flow: u32, forwarded: u64) -> bool {
        self.ports[egress].queue.credit(flow, forwarded)
    }

    /// An input port has these thresholds of flow control. Without flow control nothing happens.
    pub fn limit_input(&mut self, input: usize, limits: Limits) {
        if let Some(guards) = self.buffer.guards_mut() {
            guards.limit(input, limits);
        }
    }

    /// Something of a class queue came by an input port, or left again: of which groups the other end of its link is now to
    /// be told. See [`Guards::change`].
    pub fn flow_change(&mut self, input: usize, queue: u8) -> Set {
        let guards = self.buffer.guards_mut();
        guards.map_or(0, |guards| guards.change(input, queue))
    }

    /// Buffers at the input ports, with flow control.
    pub const fn guards(&self) -> Option<&Guards> {
        self.buffer.guards()
    }

    /// The other end of the link asks an output port to send nothing of these class queues before then. Without flow
    /// control nothing happens.
    ///
    /// # Panics
    /// If there is no such port.
    pub fn pause(&mut self, egress: usize, queues: Set, until: Picos) {
        self.ports[egress].queue.pause(queues, until);
    }

    /// Items of this flow come from the one host and go to the other, by small dense numbers. Nothing but cake heeds it.
    pub fn tell_hosts(&mut self, flow: u32, hosts: [u32; 2]) {
        for port in &mut self.ports {
            port.queue.tell_hosts(flow, hosts);
        }
    }

    /// How many output ports it has.
    pub const fn ports(&self) -> usize {
        self.ports.len()
    }
}

impl<T: Item> Port<T> {
    /// The item as the buffer counts it.
    #[inline]
    const fn counted<'a>(&self, item: &'a T) -> Counted<'a, T> {
        let less = self.uncounted;
        Counted { item, less }
    }

    /// Does the policer let it pass?
    #[inline]
    fn conforms(&mut self, now: Picos, item: &T) -> bool {
        let policer = self.policer.as_mut();
        policer.is_none_or(|policer| policer.take(now, item).is_ok())
    }

    /// What the discipline gives, if the shaper lets it pass.
    #[inline]
    fn next(&mut self, now: Picos, drops: &mut Vec<Dropped<T>>) -> Option<T> {
        let queue = &mut self.queue;
        match &mut self.shaper {
            None => queue.dequeue(now, drops),
            Some(shaper) => shaper.dequeue(now, drops, |drops| queue.dequeue(now, drops)),
        }
    }

    /// Puts an item into its queue if its buffer has room. Was it kept?
    #[inline]
    fn offer(
        &mut self,
        buffer: &mut Buffer,
        now: Picos,
        item: T,
        drops: &mut Vec<Dropped<T>>,
    ) -> bool {
        if !self.conforms(now, &item) {
            drops.push(Dropped::new(item, Cause::Policer));
            return false;
        }
        if !buffer.admits(&self.counted(&item), self.held) && !self.make_room(buffer, &item, drops)
        {
            self.refuse(now, item, drops);
            return false;
        }
        self.keep(buffer, now, item, drops)
    }

    /// Drops items of longer queues until this one fits. Does it?
    #[cold]
    fn make_room(&mut self, buffer: &mut Buffer, item: &T, drops: &mut Vec<Dropped<T>>) -> bool {
        let Some(length) = self.longest_gives_way else {
            return false;
        };
        while !buffer.admits(&self.counted(item), self.held) {
            let Some(longest) = self.queue.give_way(item, length) else {
                return false;
            };
            self.gives(buffer, &longest);
            drops.push(Dropped::new(longest, Cause::BufferFull));
        }
        true
    }

    /// Puts an item into its queue for which the buffer has room. Was it kept?
    #[inline]
    fn keep(
        &mut self,
        buffer: &mut Buffer,
        now: Picos,
        item: T,
        drops: &mut Vec<Dropped<T>>,
    ) -> bool {
        let bytes = self.counted(&item).bytes();
        if let Some(queues) = &mut self.queues {
            let most = queues.most;
            let held = queues.held(&item);
            if !most.has_room(*held, bytes) {
                self.refuse(now, item, drops);
                return false;
            }
            held.add(bytes);
        }
        self.held.add(bytes);
        buffer.takes(&self.counted(&item));
        let before = drops.len();
        self.queue.enqueue(now, item, drops);
        drops.len() == before || self.account(buffer, &drops[before..])
    }

    const fn discard(&mut self) -> Option<&mut Discarder> {
        match &mut self.entry {
            Some(Entry::Discard(discard)) => Some(discard),
            _ => None,
        }
    }

    /// These left its queue: an item to be sent, and what was dropped meanwhile.
    #[inline]
    fn settle(&mut self, buffer: &mut Buffer, item: Option<&T>, drops: &[Dropped<T>]) {
        if !drops.is_empty() {
            self.account(buffer, drops);
        }
        if let Some(item) = item {
            self.gives(buffer, item);
        }
    }

    /// It holds this no longer.
    #[inline]
    fn gives(&mut self, buffer: &mut Buffer, item: &T) {
        let counted = self.counted(item);
        let bytes = counted.bytes();
        buffer.gives(&counted);
        self.held.remove(bytes);
        if let Some(queues) = &mut self.queues {
            queues.held(item).remove(bytes);
        }
    }

    #[cold]
    fn refuse(&mut self, now: Picos, item: T, drops: &mut Vec<Dropped<T>>) {
        self.queue.overflow(now);
        drops.push(Dropped::new(item, Cause::BufferFull));
    }

    /// The discipline dropped these. Was what arrived kept?
    #[cold]
    fn account(&mut self, buffer: &mut Buffer, drops: &[Dropped<T>]) -> bool {
        for dropped in drops {
            self.gives(buffer, &dropped.item);
        }
        // RED and PIE drop what arrives; FQ-CoDel may make room by dropping what is queued.
        let arrival = |drop: &Dropped<T>| matches!(drop.cause, Cause::Red | Cause::Pie);
        !drops.iter().any(arrival)
    }

    /// What is offered where more than the buffer decides.
    #[inline(never)]
    fn offer_beside(
        &mut self,
        buffer: &mut Buffer,
        now: Picos,
        item: T,
        drops: &mut Vec<Dropped<T>>,
    ) {
        match self.entry {
            Some(Entry::Guarded) => self.offer_guarded(buffer, now, item, drops),
            _ => self.offer_whole(buffer, now, item, drops),
        }
    }

    /// The same with flow control: what is not to be lost has room at its input port, the rest at this one.
    fn offer_guarded(
        &mut self,
        buffer: &mut Buffer,
        now: Picos,
        item: T,
        drops: &mut Vec<Dropped<T>>,
    ) {
        let Some(guards) = buffer.guards() else {
            return;
        };
        if guards.is_lossless(item.queue()) {
            if guards.admits(&item) {
                self.keep(buffer, now, item, drops);
            } else {
                drops.push(Dropped::new(item, Cause::Headroom));
            }
            return;
        }
        let lossy = !guards.parameters().lossless;
        let held = self.queue.held_of(lossy);
        if buffer.admits(&item, held) {
            self.keep(buffer, now, item, drops);
        } else {
            self.refuse(now, item, drops);
        }
    }

    /// Is this share of what it may hold held, or more?
    fn is_filled(&mut self, buffer: &Buffer, share: Share, item: &T) -> bool {
        let counted = self.counted(item);
        let of_queue = |queues: &mut Box<ClassQueues>| {
            let held = *queues.held(item);
            queues.most.filled(share, held)
        };
        buffer.is_filled(share, &counted, self.held) || self.queues.as_mut().is_some_and(of_queue)
    }

    /// The same with early or partial packet discard.
    fn offer_whole(
        &mut self,
        buffer: &mut Buffer,
        now: Picos,
        item: T,
        drops: &mut Vec<Dropped<T>>,
    ) {
        let (flow, pdu) = (item.flow(), item.pdu());
        let from = self.discard().and_then(|discard| discard.early);
        let is_filled = from.is_some_and(|from| self.is_filled(buffer, from, &item));
        let discard = self.discard();
        if let Some(cause) = discard.and_then(|discard| discard.arrives(flow, pdu, is_filled)) {
            drops.push(Dropped { item, cause });
            return;
        }
        let kept = self.offer(buffer, now, item, drops);
        if let (false, Some(discard)) = (kept, self.discard()) {
            discard.lost(flow, pdu);
        }
    }
}

fn discarder(settings: &Settings) -> Option<Discarder> {
    Discarder::new(match settings.crossbar {
        Some(_) => Discard::Cells,
        None => settings.discard,
    })
}

/// FQ-CoDel and CAKE keep to the limit themselves, because they drop something else than what arrives; a crossbar at the inputs.
const fn memory(settings: &Settings) -> Memory {
    match settings.kind {
        _ if settings.crossbar.is_some() => Memory::of_each_output(Bound::UNLIMITED),
        Kind::FqCoDel(_) | Kind::Cake(_) => Memory::of_each_output(Bound::UNLIMITED),
        _ => settings.memory,
    }
}
