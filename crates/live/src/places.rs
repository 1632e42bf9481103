//! Places for connections: their number is limited, as each connection costs a thread or a task.
//!
//! Who gets one, and who gives way for it, is decided by [`delaylab_traffic::admission`]; here
//! connections that have to give way are told so, and end.

use delaylab_model::Nanos;
use delaylab_traffic::admission::{Admission, Full, Limits};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Places beyond the limits: of connections that have given way and are about to end.
pub const ENDING: usize = 64;

/// A connection that may have to give way.
pub trait Connection: Debug + Send + Sync {
    /// Has it end soon: it has lost its place.
    fn give_way(&self);
}

/// Wakes its thread, which can still answer.
impl Connection for TcpStream {
    fn give_way(&self) {
        // An error says that it is closed already.
        let _ = self.shutdown(Shutdown::Read);
    }
}

/// All places.
#[derive(Debug, Clone)]
pub struct Places(Arc<Mutex<Taken>>);

#[derive(Debug)]
struct Taken {
    admission: Admission<u64>,
    connections: BTreeMap<u64, Arc<dyn Connection>>,
    next: u64,
    /// Places that were given and have not come back, those of connections that gave way included.
    given: usize,
    most: usize,
}

/// One connection's place, given back when dropped.
#[derive(Debug)]
pub struct Place {
    places: Places,
    id: u64,
}

impl Places {
    /// None taken.
    pub fn new(limits: Limits) -> Self {
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
    pub fn take(
        &self,
        now: Nanos,
        from: IpAddr,
        connection: Arc<dyn Connection>,
    ) -> Result<Place, Full> {
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
        taken.connections.insert(id, connection);
        Ok(Place {
            places: self.clone(),
            id,
        })
    }

    /// Descriptors have run out: the oldest connection that has proven nothing gives its own back.
    pub fn free_one(&self) {
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
            connection.give_way();
        }
    }
}

impl Place {
    /// The connection has proven itself: it gives way to nobody from now on.
    pub fn proven(&self) {
        self.places.taken().admission.proven(self.id);
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
    use std::io::{Read, Write};
    use std::net::TcpListener;

    fn places(all: usize) -> Places {
        Places::new(Limits {
            places: Share::of_all(all),
            unproven: Share::of_all(all),
            prove_within: SECOND,
            grace: 0,
        })
    }

    /// Both ends of a connection.
    fn connection() -> (Arc<TcpStream>, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (Arc::new(listener.accept().unwrap().0), client)
    }

    fn host(number: u8) -> IpAddr {
        IpAddr::from([10, 0, number, 1])
    }

    #[test]
    fn a_connection_that_gives_way_is_woken_and_can_still_be_answered() {
        let places = places(2);
        let (first, mut its_client) = connection();
        let (other, _client) = connection();
        let _place = places.take(0, host(1), first.clone()).unwrap();
        let _second = places.take(0, host(1), other.clone()).unwrap();
        let _third = places.take(0, host(2), other.clone()).unwrap();
        assert_eq!((&*first).read(&mut [0]).unwrap(), 0);
        (&*first).write_all(b"!").unwrap();
        assert_eq!(its_client.read(&mut [0]).unwrap(), 1);
    }

    #[test]
    fn who_has_proven_itself_keeps_its_place_and_threads_are_bounded() {
        let places = places(1);
        let (stream, _client) = connection();
        let place = places.take(0, host(1), stream.clone()).unwrap();
        place.proven();
        assert_eq!(
            places.take(0, host(2), stream.clone()).unwrap_err(),
            Full::All
        );
        drop(place);
        let held: Vec<_> = (0..200)
            .map_while(|_| places.take(0, host(2), stream.clone()).ok())
            .collect();
        assert_eq!(held.len(), 1 + ENDING);
        drop(held);
        assert_eq!(places.taken().given, 0);
        assert!(places.taken().admission.is_empty() && places.taken().connections.is_empty());
    }

    #[test]
    fn a_place_comes_back_after_a_panic() {
        let places = places(1);
        let (stream, _client) = connection();
        let place = places.take(0, host(1), stream.clone()).unwrap();
        let thread = std::thread::spawn(move || {
            let _place = place;
            std::panic::resume_unwind(Box::new("on purpose"));
        });
        assert!(thread.join().is_err());
        assert_eq!(places.taken().given, 0);
    }
}
