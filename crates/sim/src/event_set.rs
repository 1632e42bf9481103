//! The event set: when each thing that can happen next happens.
//!
//! Everything that can happen has a *slot* of its own: a transmitter, a pipe, a CPU, a timer. A slot
//! has at most one time, so the set never grows with the packets under way, and to move or take back
//! an event is to write its slot: no cancelled events lie about. Two at the same time happen in the
//! order of their slots, whatever order they were set in (`slots.rs` puts departures first).

use delaylab_model::Picos;

/// A slot's number.
pub type Slot = u32;

/// A slot that waits for nothing.
pub const NEVER: Picos = Picos::MAX;

/// Times in slots, earliest first.
pub trait EventSet {
    /// With so many slots, all of which wait for nothing.
    fn new(slots: usize) -> Self;
    /// The slot's time from now on; [`NEVER`] takes it back.
    fn set(&mut self, slot: Slot, at: Picos);
    /// The earliest time and the first slot that has it; [`NEVER`] if none waits.
    fn next(&self) -> (Picos, Slot);
}

/// A winner tree over the slots (Knuth, The Art of Computer Programming 3, 5.4.1).
///
/// To set a slot takes one comparison a level, without a branch that could be mispredicted. It holds as
/// many nodes as slots, whatever is under way.
#[derive(Debug)]
pub struct Tournament {
    /// The winner of `2i` and `2i + 1` is at `i`; leaves from half on.
    nodes: Vec<Key>,
}

/// A time above a slot's number: of two, the smaller wins.
type Key = u128;

const SLOT_BITS: u32 = Slot::BITS;

#[inline]
const fn key(at: Picos, slot: Slot) -> Key {
    (at as Key) << SLOT_BITS | slot as Key
}

impl EventSet for Tournament {
    fn new(slots: usize) -> Self {
        let leaves = slots.next_power_of_two().max(2);
        let mut nodes = vec![Key::MAX; 2 * leaves];
        for (node, slot) in nodes[leaves..].iter_mut().zip(0..) {
            *node = key(NEVER, slot);
        }
        for i in (1..leaves).rev() {
            nodes[i] = nodes[2 * i].min(nodes[2 * i + 1]);
        }
        Self { nodes }
    }

    #[inline]
    fn set(&mut self, slot: Slot, at: Picos) {
        let mut i = self.nodes.len() / 2 + slot as usize;
        // The winner so far stays in a register: only those that it meets are read.
        let mut winner = key(at, slot);
        // Most timers are set to what they are.
        if std::mem::replace(&mut self.nodes[i], winner) == winner {
            return;
        }
        while i > 1 {
            winner = winner.min(self.nodes[i ^ 1]);
            i /= 2;
            self.nodes[i] = winner;
        }
    }

    #[inline]
    fn next(&self) -> (Picos, Slot) {
        let first = self.nodes[1];
        ((first >> SLOT_BITS) as Picos, first as Slot)
    }
}

/// The reference that [`Tournament`] is compared with: an ordered set of (time, slot).
#[derive(Debug)]
pub struct Ordered {
    set: std::collections::BTreeSet<(Picos, Slot)>,
    at: Vec<Picos>,
}

impl EventSet for Ordered {
    fn new(slots: usize) -> Self {
        Self {
            set: std::collections::BTreeSet::new(),
            at: vec![NEVER; slots],
        }
    }

    fn set(&mut self, slot: Slot, at: Picos) {
        let was = std::mem::replace(&mut self.at[slot as usize], at);
        self.set.remove(&(was, slot));
        if at != NEVER {
            self.set.insert((at, slot));
        }
    }

    fn next(&self) -> (Picos, Slot) {
        self.set.first().copied().unwrap_or((NEVER, 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_waits_at_first() {
        assert_eq!(Tournament::new(5).next().0, NEVER);
        assert_eq!(Ordered::new(5).next().0, NEVER);
    }

    #[test]
    fn the_first_slot_wins_a_tie() {
        let mut set = Tournament::new(7);
        for slot in [5, 2, 6, 3] {
            set.set(slot, 10);
        }
        assert_eq!(set.next(), (10, 2));
        set.set(2, NEVER);
        assert_eq!(set.next(), (10, 3));
    }

    proptest! {
        #[test]
        fn both_sets_agree(slots in 1_usize..40, moves in prop::collection::vec((any::<u32>(), 0_u64..50), 1..300)) {
            let (mut fast, mut plain) = (Tournament::new(slots), Ordered::new(slots));
            for (slot, at) in moves {
                let slot = slot % slots as u32;
                let at = if at >= 45 { NEVER } else { at };
                fast.set(slot, at);
                plain.set(slot, at);
                let (a, b) = (fast.next(), plain.next());
                prop_assert_eq!(a.0, b.0);
                prop_assert!(a.0 == NEVER || a.1 == b.1);
            }
        }
    }
}
