//! Places for tcp connections: each connection is a thread, so there are only so many.
//!
//! Who has not said Hello yet holds a place of few, and one address holds few of those. So nobody
//! who only connects can keep out those who measure.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Connections at once.
const ALL: usize = 256;
/// Connections at once that have not been accepted yet.
const WAITING: usize = 64;
/// The same for one address (IPv6: for one /64, which is one host's).
const WAITING_EACH: usize = 8;

/// All places.
#[derive(Debug, Default)]
pub struct Places(Mutex<Taken>);

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    waiting: HashMap<IpAddr, usize>,
}

/// One connection's place, given back when dropped.
#[derive(Debug)]
pub struct Place<'a> {
    places: &'a Places,
    /// Whose, until it is accepted.
    waits: Option<IpAddr>,
}

impl Places {
    /// A place for a connection from this address that has not been accepted yet.
    pub fn take(&self, from: IpAddr) -> Option<Place<'_>> {
        let from = one_host(from);
        let mut taken = self.taken();
        let theirs = taken.waiting.get(&from).copied().unwrap_or(0);
        let waiting: usize = taken.waiting.values().sum();
        if taken.all >= ALL || waiting >= WAITING || theirs >= WAITING_EACH {
            return None;
        }
        taken.all += 1;
        taken.waiting.insert(from, theirs + 1);
        Some(Place {
            places: self,
            waits: Some(from),
        })
    }

    /// Each change is whole, so a thread that panicked left the numbers right.
    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taken {
    fn waits_no_longer(&mut self, from: IpAddr) {
        if let Some(theirs) = self.waiting.get_mut(&from) {
            *theirs -= 1;
            if *theirs == 0 {
                self.waiting.remove(&from);
            }
        }
    }
}

impl Place<'_> {
    /// The connection is accepted: it no longer counts among those that wait.
    pub fn accepted(&mut self) {
        if let Some(from) = self.waits.take() {
            self.places.taken().waits_no_longer(from);
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.accepted();
        self.places.taken().all -= 1;
    }
}

fn one_host(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64).into(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn host(number: usize) -> IpAddr {
        IpAddr::from([10, 0, 0, number as u8])
    }

    #[test]
    fn one_address_cannot_wait_in_all_places() {
        let places = Places::default();
        let mut held: Vec<_> = (0..WAITING_EACH)
            .map(|_| places.take(host(1)).unwrap())
            .collect();
        assert!(places.take(host(1)).is_none());
        assert!(places.take(host(2)).is_some());
        held[0].accepted();
        let again = places.take(host(1));
        assert!(again.is_some() && places.take(host(1)).is_none());
        drop(again);
        assert!(places.take(host(1)).is_some());
    }

    #[test]
    fn addresses_of_one_v6_network_count_as_one() {
        let places = Places::default();
        let address = |last: u16| IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, last]);
        let held: Vec<_> = (0..9)
            .map_while(|last| places.take(address(last)))
            .collect();
        assert_eq!(held.len(), WAITING_EACH);
    }

    #[test]
    fn those_that_wait_leave_room_for_those_that_are_accepted() {
        let places = Places::default();
        let waiting: Vec<_> = (0..ALL).filter_map(|n| places.take(host(n))).collect();
        assert_eq!(waiting.len(), WAITING);
        drop(waiting);
        let accept = |mut place: Place<'static>| {
            place.accepted();
            place
        };
        let places: &'static Places = Box::leak(Box::default());
        let held: Vec<_> = (0..=ALL)
            .filter_map(|_| places.take(host(1)).map(accept))
            .collect();
        assert_eq!(held.len(), ALL);
        drop(held);
        assert_eq!(places.taken().all, 0);
        assert!(places.taken().waiting.is_empty());
    }

    #[test]
    fn a_place_comes_back_after_a_panic() {
        let places = Places::default();
        let ended = std::thread::scope(|scope| {
            let place = places.take(host(1));
            let thread = scope.spawn(move || {
                let _place = place;
                std::panic::resume_unwind(Box::new("on purpose"));
            });
            thread.join()
        });
        assert!(ended.is_err());
        assert_eq!(places.taken().all, 0);
    }
}
