//! Sessions by token: the low bits of a token are its place, the rest is random. So finding a
//! session is one look at one place, and no hash.

use delaylab_wire::control::RESERVED_TOKEN;

/// At most so many values, each with a token of its own.
#[derive(Debug)]
pub(super) struct Slots<T> {
    entries: Vec<Option<(u32, T)>>,
    max: usize,
    mask: u32,
}

impl<T> Slots<T> {
    /// Room for `max` values; a token's random part shrinks as that grows.
    pub fn new(max: usize) -> Self {
        let max = max.min(1 << 20);
        Self {
            entries: Vec::new(),
            max,
            mask: max.next_power_of_two() as u32 - 1,
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.values().count()
    }

    /// Every value.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.entries.iter().flatten().map(|(_, value)| value)
    }

    /// Every value and its token.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.entries
            .iter()
            .flatten()
            .map(|(token, value)| (*token, value))
    }

    /// Puts a value in a free place; its token has what it can of `random`. `None` if all are taken.
    pub fn insert(&mut self, random: u32, value: T) -> Option<u32> {
        let place = self.free_place()?;
        let mut token = (random & !self.mask) | place as u32;
        if token == RESERVED_TOKEN {
            token ^= 1 << 31;
        }
        self.entries[place] = Some((token, value));
        Some(token)
    }

    fn free_place(&mut self) -> Option<usize> {
        let free = self.entries.iter().position(Option::is_none);
        if free.is_none() && self.entries.len() < self.max {
            self.entries.push(None);
            return Some(self.entries.len() - 1);
        }
        free
    }

    /// The value with this token.
    pub fn get_mut(&mut self, token: u32) -> Option<&mut T> {
        match self.entries.get_mut((token & self.mask) as usize) {
            Some(Some((its, value))) if *its == token => Some(value),
            _ => None,
        }
    }

    /// Frees its place.
    pub fn remove(&mut self, token: u32) {
        if self.get_mut(token).is_some() {
            self.entries[(token & self.mask) as usize] = None;
        }
    }

    /// Is there a value with this token?
    pub fn contains(&self, token: u32) -> bool {
        let entry = self.entries.get((token & self.mask) as usize);
        matches!(entry, Some(Some((its, _))) if *its == token)
    }

    /// Frees the places of all that `keep` does not want.
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        for entry in &mut self.entries {
            if entry.as_ref().is_some_and(|(_, value)| !keep(value)) {
                *entry = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn values_are_found_by_their_whole_token_only() {
        let mut slots = Slots::new(3);
        let one = slots.insert(0xffff_ffff, 'a').unwrap();
        let two = slots.insert(0x1234_5678, 'b').unwrap();
        assert_eq!((one & 3, two & 3), (0, 1));
        assert_eq!(slots.get_mut(two), Some(&mut 'b'));
        assert_eq!(slots.get_mut(two ^ 4), None);
        assert_eq!(slots.get_mut(two | 3), None);
        slots.insert(0, 'c').unwrap();
        assert_eq!(slots.insert(0, 'd'), None);
        slots.remove(one);
        assert_eq!(slots.len(), 2);
        let again = slots.insert(0xabcd_ef00, 'e').unwrap();
        assert_eq!(again & 3, 0);
        assert_eq!(slots.get_mut(one), None);
    }

    #[test]
    fn no_token_begins_as_control_packets_do() {
        let mut slots = Slots::new(1);
        let token = slots.insert(RESERVED_TOKEN, ()).unwrap();
        assert_ne!(token, RESERVED_TOKEN);
        assert!(slots.get_mut(token).is_some());
    }
}
