//! What every discipline does.

use crate::item::{Backlog, Dropped, Item, Length};
use delaylab_model::Picos;

/// What each discipline does. Room was checked before (see [`crate::buffer`]).
pub trait Queue<T: Item> {
    /// Takes an item. It may drop this one or another.
    fn enqueue(&mut self, now: Picos, item: T, drops: &mut Vec<Dropped<T>>);

    /// Gives the item that is next. It may drop others before it.
    fn dequeue(&mut self, now: Picos, drops: &mut Vec<Dropped<T>>) -> Option<T>;

    /// Gives the item that is next, whatever it would wait for.
    fn give_up(&mut self, now: Picos, drops: &mut Vec<Dropped<T>>) -> Option<T> {
        self.dequeue(now, drops)
    }

    /// When `dequeue` may next give something although it gives nothing now. None: not before something
    /// arrives, be it a credit.
    fn next_event(&self) -> Option<Picos> {
        None
    }

    /// What it holds.
    fn backlog(&self) -> Backlog;

    /// Gives up an item of a longer queue, because the buffer has no room for this one. None: this one is to be refused. Which
    /// queue is longer is measured in what the buffer is limited in.
    fn give_way(&mut self, _arrival: &T, _length: Length) -> Option<T> {
        None
    }

    /// An item was refused for want of room.
    fn overflow(&mut self, _now: Picos) {}
}
