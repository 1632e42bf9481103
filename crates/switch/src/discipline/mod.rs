//! Disciplines: which item is next, which is dropped early or marked.
//!
//! To add one: a file here, and below a line in [`Kind`] and its functions, in [`Discipline`], in its macro and in
//! `Discipline::new`; its name is of [`delaylab_model::path::Discipline`]. Parameters of its own are read in `settings::read`.
//!
//! All of them but [`credit`], and [`cake`] with a rate, are work-conserving: while something is queued, `dequeue` gives
//! something (CoDel may have dropped it all). Only cake waits for a time.

pub mod cake;
pub mod codel;
pub mod credit;
pub mod drr;
pub mod dual_pi2;
pub mod fifo;
pub(crate) mod flows;
pub mod fq_codel;
mod list;
mod longest;
pub mod pausable;
pub mod per_flow;
pub mod pie;
pub mod priority;
mod queue;
pub mod red;
mod timed;
pub mod wfq;
pub mod wrr;

use crate::buffer::Bound;
use crate::flow_control::Set;
use crate::item::{Backlog, Dropped, Item, Length};
use crate::weights::Weights;
use delaylab_model::{Picos, path};
pub use queue::Queue;

/// A discipline and its parameters.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// First in, first out, marking above a threshold or not (efci).
    Fifo {
        /// Where marks are set.
        mark: Option<fifo::Mark>,
    },
    /// First in, first out, with an [`ExplicitRate`](crate::explicit_rate::ExplicitRate) beside it.
    ExplicitRate {
        /// From where on the port is congested.
        threshold: Bound,
    },
    /// A queue a flow, in turn.
    PerFlow,
    /// Strict priority by class queue.
    Priority,
    /// Weighted round robin.
    Wrr(Weights),
    /// Weighted fair queueing.
    Wfq(Weights),
    /// Deficit round robin over flows.
    Drr {
        /// Bytes a turn.
        quantum: u32,
    },
    /// Credit flow control.
    Credit(path::Credit),
    /// Random early detection.
    Red(red::Parameters),
    /// CoDel.
    CoDel(codel::Parameters),
    /// FQ-CoDel.
    FqCoDel(fq_codel::Parameters),
    /// PIE.
    Pie(pie::Parameters),
    /// CAKE.
    Cake(cake::Parameters),
    /// DualPI2.
    DualPi2(dual_pi2::Parameters),
}

impl Kind {
    /// The kind of a discipline that has no parameters. `None`: `settings::read` reads them, or it is a queue of the kernel.
    pub(crate) fn without_parameters(discipline: path::Discipline) -> Option<Self> {
        use path::Discipline as Name;
        match discipline {
            Name::Fifo => Some(Self::Fifo { mark: None }),
            Name::PerFlow => Some(Self::PerFlow),
            Name::Priority => Some(Self::Priority),
            Name::Wrr
            | Name::Wfq
            | Name::Drr
            | Name::Efci
            | Name::ExplicitRate
            | Name::Credit
            | Name::Red
            | Name::CoDel
            | Name::FqCoDel
            | Name::Pie
            | Name::DualPi2
            | Name::Cake
            | Name::KernelTbf
            | Name::KernelHtb
            | Name::KernelFqCodel
            | Name::KernelNetem => None,
        }
    }

    /// May it drop what it has held for a while?
    pub const fn drops_at_departure(&self) -> bool {
        matches!(
            self,
            Self::CoDel(_) | Self::FqCoDel(_) | Self::Cake(_) | Self::DualPi2(_)
        )
    }

    /// May it drop what arrives although it fits?
    pub const fn drops_at_arrival(&self) -> bool {
        matches!(self, Self::Red(_) | Self::Pie(_))
    }

    /// May it mark what it forwards?
    pub const fn marks(&self) -> bool {
        match self {
            Self::Fifo { mark } => mark.is_some(),
            Self::Red(_)
            | Self::CoDel(_)
            | Self::FqCoDel(_)
            | Self::Pie(_)
            | Self::Cake(_)
            | Self::DualPi2(_) => true,
            Self::ExplicitRate { .. }
            | Self::PerFlow
            | Self::Priority
            | Self::Wrr(_)
            | Self::Wfq(_)
            | Self::Drr { .. }
            | Self::Credit(_) => false,
        }
    }
}

/// One of them, dispatched without a table.
#[derive(Debug, Clone)]
pub enum Discipline<T> {
    /// First in, first out.
    Fifo(fifo::Fifo<T>),
    /// A queue a flow, in turn.
    PerFlow(per_flow::PerFlow<T>),
    /// Strict priority.
    Priority(priority::Priority<T>),
    /// Weighted round robin.
    Wrr(wrr::Wrr<T>),
    /// Weighted fair queueing.
    Wfq(wfq::Wfq<T>),
    /// Deficit round robin.
    Drr(drr::Drr<T>),
    /// Credit flow control.
    Credit(credit::Credit<T>),
    /// Random early detection.
    Red(Box<red::Red<T>>),
    /// CoDel.
    CoDel(Box<codel::CoDel<T>>),
    /// FQ-CoDel.
    FqCoDel(Box<fq_codel::FqCoDel<T>>),
    /// PIE.
    Pie(Box<pie::Pie<T>>),
    /// DualPI2.
    DualPi2(Box<dual_pi2::DualPi2<T>>),
    /// CAKE.
    Cake(Box<cake::Cake<T>>),
    /// One of the others, behind which the line may be stopped.
    Pausable(Box<pausable::Pausable<T>>),
}

macro_rules! each {
    ($discipline:expr, $queue:ident => $call:expr) => {
        match $discipline {
            Discipline::Fifo($queue) => $call,
            Discipline::PerFlow($queue) => $call,
            Discipline::Priority($queue) => $call,
            Discipline::Wrr($queue) => $call,
            Discipline::Wfq($queue) => $call,
            Discipline::Drr($queue) => $call,
            Discipline::Credit($queue) => $call,
            Discipline::Red($queue) => $call,
            Discipline::CoDel($queue) => $call,
            Discipline::FqCoDel($queue) => $call,
            Discipline::Pie($queue) => $call,
            Discipline::DualPi2($queue) => $call,
            Discipline::Cake($queue) => $call,
            Discipline::Pausable($queue) => $call,
        }
    };
}

impl<T: Item> Discipline<T> {
    /// An empty queue. What it holds at most is the buffer's to say, but for FQ-CoDel and CAKE, which keep to `limit`
    /// themselves.
    pub fn new(kind: &Kind, limit: Bound, seed: u64) -> Self {
        match kind {
            Kind::Fifo { mark } => Self::Fifo(fifo::Fifo::new(*mark)),
            Kind::ExplicitRate { .. } => Self::Fifo(fifo::Fifo::new(None)),
            Kind::PerFlow => Self::PerFlow(per_flow::PerFlow::default()),
            Kind::Priority => Self::Priority(priority::Priority::default()),
            Kind::Wrr(weights) => Self::Wrr(wrr::Wrr::new(weights.clone())),
            Kind::Wfq(weights) => Self::Wfq(wfq::Wfq::new(weights.clone())),
            Kind::Drr { quantum } => Self::Drr(drr::Drr::new(*quantum)),
            Kind::Credit(credit) => Self::Credit(credit::Credit::new(*credit)),
            Kind::Red(red) => Self::Red(Box::new(red::Red::new(*red, seed))),
            Kind::CoDel(codel) => Self::CoDel(Box::new(codel::CoDel::new(*codel))),
            Kind::FqCoDel(fq) => Self::FqCoDel(Box::new(fq_codel::FqCoDel::new(*fq, limit, seed))),
            Kind::Cake(cake) => Self::Cake(Box::new(cake::Cake::new(*cake, limit, seed))),
            Kind::Pie(pie) => Self::Pie(Box::new(pie::Pie::new(*pie, seed))),
            Kind::DualPi2(dual) => Self::DualPi2(Box::new(dual_pi2::DualPi2::new(*dual, seed))),
        }
    }

    /// This queue of that kind, behind which the line may be stopped.
    #[must_use]
    pub fn pausable(self, kind: &Kind) -> Self {
        Self::Pausable(Box::new(pausable::Pausable::new(self, kind)))
    }

    /// See [`crate::Switch::tell_hosts`].
    pub fn tell_hosts(&mut self, flow: u32, hosts: [u32; 2]) {
        if let Self::Cake(queue) = self {
            queue.tell_hosts(flow, hosts);
        }
    }

    /// See [`crate::Switch::pause`].
    pub fn pause(&mut self, queues: Set, until: Picos) {
        if let Self::Pausable(queue) = self {
            queue.pause(queues, until);
        }
    }

    /// What it holds of these class queues, where it may be stopped.
    pub fn held_of(&self, queues: Set) -> Backlog {
        match self {
            Self::Pausable(queue) => queue.held(queues),
            _ => Backlog::default(),
        }
    }

    /// A plain queue.
    pub fn fifo() -> Self {
        Self::Fifo(fifo::Fifo::new(None))
    }

    /// See [`crate::Switch::credit`].
    pub fn credit(&mut self, flow: u32, forwarded: u64) -> bool {
        match self {
            Self::Credit(queue) => queue.credit(flow, forwarded),
            _ => false,
        }
    }
}

// The two that simulations of 10⁹ cells spend their time in are inlined; all of them together would
// cost these two more than a call costs the others.
impl<T: Item> Queue<T> for Discipline<T> {
    #[inline]
    fn enqueue(&mut self, now: Picos, item: T, drops: &mut Vec<Dropped<T>>) {
        match self {
            Self::Fifo(queue) => queue.enqueue(now, item, drops),
            Self::PerFlow(queue) => queue.enqueue(now, item, drops),
            _ => self.enqueue_other(now, item, drops),
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Picos, drops: &mut Vec<Dropped<T>>) -> Option<T> {
        match self {
            Self::Fifo(queue) => queue.dequeue(now, drops),
            Self::PerFlow(queue) => queue.dequeue(now, drops),
            _ => self.dequeue_other(now, drops),
        }
    }

    #[inline]
    fn next_event(&self) -> Option<Picos> {
        each!(self, queue => queue.next_event())
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        each!(self, queue => queue.backlog())
    }

    fn give_up(&mut self, now: Picos, drops: &mut Vec<Dropped<T>>) -> Option<T> {
        each!(self, queue => queue.give_up(now, drops))
    }

    fn give_way(&mut self, arrival: &T, length: Length) -> Option<T> {
        each!(self, queue => queue.give_way(arrival, length))
    }

    fn overflow(&mut self, now: Picos) {
        each!(self, queue => queue.overflow(now));
    }
}

impl<T: Item> Discipline<T> {
    #[inline(never)]
    fn enqueue_other(&mut self, now: Picos, item: T, drops: &mut Vec<Dropped<T>>) {
        each!(self, queue => queue.enqueue(now, item, drops));
    }

    #[inline(never)]
    fn dequeue_other(&mut self, now: Picos, drops: &mut Vec<Dropped<T>>) -> Option<T> {
        each!(self, queue => queue.dequeue(now, drops))
    }
}
