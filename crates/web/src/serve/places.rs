//! Places for connections. Who gets one, and who gives way for it, is decided by [`delaylab_traffic::admission`];
//! here connections that give way learn of it.

use delaylab_model::Nanos;
use delaylab_traffic::admission::{Admission, Full, Limits};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Places beyond the limits: of connections that have given way while something is still made for them.
pub(super) const ENDING: usize = 64;

/// All places.
#[derive(Debug, Clone)]
pub(super) struct Places(Arc<Mutex<Taken>>);

#[derive(Debug)]
struct Taken {
    admission: Admission<u64>,
    /// Wakes the connections that have a place, to give it up.
    connections: BTreeMap<u64, Arc<Notify>>,
    next: u64,
    /// Places that were given and have not come back, those of connections that gave way included.
    given: usize,
    most: usize,
}

/// One connection's place, given back when dropped.
#[derive(Debug)]
pub(super) struct Place {
    places: Places,
    id: u64,
    gave_way: Arc<Notify>,
    is_heard: AtomicBool,
}

impl Places {
    /// None taken.
    pub(super) fn new(limits: Limits) -> Self {
        Self(Arc::new(Mutex::new(Taken {
            admission: Admission::new(limits),
            connections: BTreeMap::new(),
            next: 0,
            given: 0,
            most: limits.places.all.saturating_add(ENDING),
        })))
    }

    /// A place for a connection from this address, which has proven nothing so far.
    ///
    /// # Errors
    /// There is none, and no connection that has to give way.
    pub(super) fn take(&self, now: Nanos, from: IpAddr) -> Result<Place, Full> {
        let mut taken = self.taken();
        if taken.given >= taken.most {
            return Err(Full::All);
        }
        while let Some(id) = taken.admission.make_room(now, from)? {
            taken.end(id);
        }
        let id = taken.next;
        taken.next += 1;
        taken.given += 1;
        taken.admission.enter(now, from, id);
        let gave_way = Arc::new(Notify::new());
        taken.connections.insert(id, Arc::clone(&gave_way));
        Ok(Place {
            places: self.clone(),
            id,
            gave_way,
            is_heard: AtomicBool::new(false),
        })
    }

    /// Descriptors have run out: the oldest connection that has proven nothing gives its own back.
    pub(super) fn free_one(&self) {
        let mut taken = self.taken();
        if let Some(id) = taken.admission.give_up_one() {
            taken.end(id);
        }
    }

    /// Each change is whole, so a thread that panicked left the numbers right.
    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taken {
    fn end(&mut self, id: u64) {
        if let Some(connection) = self.connections.remove(&id) {
            // Kept for a connection that does not wait yet.
            connection.notify_one();
        }
    }
}

impl Place {
    /// The connection has proven itself: it gives way to nobody from now on.
    pub(super) fn proven(&self) {
        self.places.taken().admission.proven(self.id);
    }

    /// The connection's request is read.
    pub(super) fn heard(&self) {
        self.is_heard.store(true, Ordering::Relaxed);
    }

    /// Was it, so that an answer may have begun?
    pub(super) fn is_heard(&self) -> bool {
        self.is_heard.load(Ordering::Relaxed)
    }

    /// Ends when the connection has to give way to another one. For one caller, once.
    pub(super) async fn gave_way(&self) {
        self.gave_way.notified().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken();
        taken.admission.leave(self.id);
        taken.connections.remove(&self.id);
        taken.given -= 1;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_model::SECOND;
    use delaylab_traffic::admission::Share;
    use futures_util::FutureExt;

    fn places(all: usize) -> Places {
        Places::new(Limits {
            places: Share::of_all(all),
            unproven: Share::of_all(all),
            prove_within: SECOND,
            grace: 0,
        })
    }

    fn host(number: u8) -> IpAddr {
        IpAddr::from([10, 0, number, 1])
    }

    #[test]
    fn a_connection_that_gives_way_learns_of_it() {
        let places = places(2);
        let first = places.take(0, host(1)).unwrap();
        let second = places.take(0, host(1)).unwrap();
        assert_eq!(first.gave_way().now_or_never(), None);
        let _third = places.take(0, host(2)).unwrap();
        assert_eq!(first.gave_way().now_or_never(), Some(()));
        assert_eq!(second.gave_way().now_or_never(), None);
    }

    #[test]
    fn who_has_proven_itself_keeps_its_place_and_places_are_bounded() {
        let places = places(1);
        let place = places.take(0, host(1)).unwrap();
        place.proven();
        assert_eq!(places.take(0, host(2)).unwrap_err(), Full::All);
        drop(place);
        let held: Vec<_> = (0..200)
            .map_while(|_| places.take(0, host(2)).ok())
            .collect();
        assert_eq!(held.len(), 1 + ENDING);
        drop(held);
        assert_eq!(places.taken().given, 0);
        assert!(places.taken().admission.is_empty() && places.taken().connections.is_empty());
    }
}
