//! What still fits: the buffers behind the queues of a switch.
//!
//! A buffer belongs to each output port, to each input port (AN3: 2000 cells a port), or is shared
//! among all output ports. A port's share of it may be limited, by a constant or by what is left of a
//! shared buffer: T = α·(B − Q).
//!
//! - A buffer is never exceeded: what does not fit as a whole is refused.
//! - A share is where refusal begins: a port that has reached it gets nothing more, so it may exceed
//!   it by part of one item. (Otherwise a share of less than a frame would pass no frame at all.)
//!
//! References: A. K. Choudhury and E. L. Hahne, "Dynamic queue length thresholds for shared-memory
//! packet switches", IEEE/ACM Trans. Networking 6(2), 1998: n saturated ports hold α·B/(1 + n·α) each.
//!
//! Validation: that figure for 1 to 8 ports and α from 1/8 to 8; no limit exceeded under random
//! traffic.

use crate::flow_control::Guards;
use crate::growing;
use crate::item::{Backlog, Item, Length};
use delaylab_model::quantity::Share;

/// The most that may be held. One that is not limited is `u64::MAX`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// Cells or packets.
    pub items: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Bound {
    /// No limit.
    pub const UNLIMITED: Self = Self {
        items: u64::MAX,
        bytes: u64::MAX,
    };

    /// So many cells or packets.
    pub const fn items(items: u64) -> Self {
        Self {
            items,
            ..Self::UNLIMITED
        }
    }

    /// So many bytes.
    pub const fn bytes(bytes: u64) -> Self {
        Self {
            bytes,
            ..Self::UNLIMITED
        }
    }

    /// What is scarce where it is the limit.
    pub const fn length(&self) -> Length {
        if self.items == u64::MAX {
            Length::Bytes
        } else {
            Length::Items
        }
    }

    /// Is there room for so many bytes more?
    #[inline]
    pub const fn has_room(&self, held: Backlog, bytes: u32) -> bool {
        held.items < self.items && held.bytes.saturating_add(bytes as u64) <= self.bytes
    }

    /// Has it been reached?
    #[inline]
    pub const fn reached(&self, held: Backlog) -> bool {
        held.items >= self.items || held.bytes >= self.bytes
    }

    /// Is this share of it held, or more? Of what is not limited, never.
    pub fn filled(&self, share: Share, held: Backlog) -> bool {
        let limited = [(self.items, held.items), (self.bytes, held.bytes)];
        let limited = limited.into_iter().filter(|(bound, _)| *bound < u64::MAX);
        limited
            .into_iter()
            .any(|(bound, held)| scaled(held, Share::WHOLE) >= scaled(bound, share))
    }

    /// Is more held?
    #[inline]
    pub const fn exceeded(&self, held: Backlog) -> bool {
        held.items > self.items || held.bytes > self.bytes
    }
}

const fn scaled(count: u64, share: Share) -> u128 {
    count as u128 * share.0 as u128
}

/// A buffer as configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// What each owner of a buffer has.
    pub size: Bound,
    /// Who they are.
    pub owner: Owner,
    /// From where on an output port gets no more of it.
    pub share: Bound,
    /// Does the longest queue of a port give way to what does not fit, or is what arrives refused?
    pub longest_gives_way: bool,
}

impl Memory {
    /// So much for each output port.
    pub const fn of_each_output(size: Bound) -> Self {
        Self {
            size,
            owner: Owner::Output,
            share: Bound::UNLIMITED,
            longest_gives_way: false,
        }
    }
}

/// Whose a buffer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// Of each output port.
    Output,
    /// Of each input port.
    Input,
    /// Of all output ports.
    Shared {
        /// α of the dynamic threshold.
        alpha: Option<Share>,
    },
    /// Of each output port; but what flow control keeps from being lost has buffers of its own, at each input port.
    Guarded,
}

/// What is held by whom.
#[derive(Debug, Clone)]
pub struct Buffer {
    memory: Memory,
    /// In a shared buffer.
    total: Backlog,
    /// By items of each input port.
    inputs: Vec<Backlog>,
    guards: Option<Box<Guards>>,
}

impl Buffer {
    /// An empty one.
    pub const fn new(memory: Memory) -> Self {
        Self {
            memory,
            total: Backlog { items: 0, bytes: 0 },
            inputs: Vec::new(),
            guards: None,
        }
    }

    /// Is there room for the item at an output port that holds `port`?
    #[inline]
    pub fn admits<T: Item>(&self, item: &T, port: Backlog) -> bool {
        let held = self.held_for(item, port);
        self.memory.size.has_room(held, item.bytes())
            && !self.memory.share.reached(port)
            && self.below_dynamic_threshold(Share::WHOLE, port)
    }

    /// Is this share of what [`Buffer::admits`] would leave to the port held, or more?
    pub fn is_filled<T: Item>(&self, share: Share, item: &T, port: Backlog) -> bool {
        self.memory.size.filled(share, self.held_for(item, port))
            || self.memory.share.filled(share, port)
            || !self.below_dynamic_threshold(share, port)
    }

    /// What is held of the buffer that the item would be put into.
    #[inline]
    fn held_for<T: Item>(&self, item: &T, port: Backlog) -> Backlog {
        match self.memory.owner {
            Owner::Shared { .. } => self.total,
            Owner::Input => self.input(item.ingress()),
            _ => port,
        }
    }

    fn input(&self, port: u16) -> Backlog {
        let held = self.inputs.get(usize::from(port));
        held.copied().unwrap_or_default()
    }

    #[inline]
    fn below_dynamic_threshold(&self, share: Share, port: Backlog) -> bool {
        match self.memory.owner {
            Owner::Shared { alpha: Some(alpha) } => {
                let part = scaled(alpha.0, share) / u128::from(Share::WHOLE.0);
                self.below(part, port)
            }
            _ => true,
        }
    }

    /// q < α·(B − Q), in the unit of B; α in parts of [`Share::WHOLE`].
    fn below(&self, alpha: u128, port: Backlog) -> bool {
        let size = self.memory.size;
        let (held, free) = if size.items == u64::MAX {
            (port.bytes, size.bytes - self.total.bytes)
        } else {
            (port.items, size.items - self.total.items)
        };
        scaled(held, Share::WHOLE) < alpha * u128::from(free)
    }

    /// The item was put into a queue.
    #[inline]
    pub fn takes<T: Item>(&mut self, item: &T) {
        match self.memory.owner {
            Owner::Output => {}
            Owner::Shared { .. } => self.total.add(item.bytes()),
            _ => self.takes_at_input(item),
        }
    }

    /// Buffers of the input ports, out of the way of the others.
    #[inline(never)]
    fn takes_at_input<T: Item>(&mut self, item: &T) {
        if self.memory.owner == Owner::Input {
            self.take_from(item.ingress(), item.bytes());
        } else if let Some(guards) = &mut self.guards {
            guards.takes(item);
        }
    }

    #[inline(never)]
    fn gives_at_input<T: Item>(&mut self, item: &T) {
        if self.memory.owner == Owner::Input {
            self.inputs[usize::from(item.ingress())].remove(item.bytes());
        } else if let Some(guards) = &mut self.guards {
            guards.gives(item);
        }
    }

    /// The same with buffers at the input ports for what is not to be lost.
    #[must_use]
    pub fn with_guards(mut self, guards: Option<Guards>) -> Self {
        self.guards = guards.map(Box::new);
        self
    }

    /// Buffers at the input ports for what is not to be lost.
    pub const fn guards(&self) -> Option<&Guards> {
        match &self.guards {
            Some(guards) => Some(guards),
            None => None,
        }
    }

    /// The same.
    pub fn guards_mut(&mut self) -> Option<&mut Guards> {
        self.guards.as_deref_mut()
    }

    fn take_from(&mut self, port: u16, bytes: u32) {
        growing::at(&mut self.inputs, port.into(), Backlog::default()).add(bytes);
    }

    /// The item left its queue, forwarded or dropped.
    #[inline]
    pub fn gives<T: Item>(&mut self, item: &T) {
        match self.memory.owner {
            Owner::Output => {}
            Owner::Shared { .. } => self.total.remove(item.bytes()),
            _ => self.gives_at_input(item),
        }
    }
}
