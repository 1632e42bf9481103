//! Places for connections: each connection is a thread, so there are only so many.
//!
//! Who gets one, and who gives way for it, is decided by [`delaylab_traffic::admission`]; here
//! connections that give way are shut down, which wakes their threads.

use delaylab_kernel::clock;
use delaylab_traffic::admission::{Admission, Full, Limits};
use std::collections::BTreeMap;
use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Threads beyond the places: of connections that have given way and are about to end.
const ENDING: usize = 64;

/// All places.
#[derive(Debug, Clone)]
pub struct Places(Arc<Mutex<Taken>>);

#[derive(Debug)]
struct Taken {
    admission: Admission<u64>,
    connections: BTreeMap<u64, Connection>,
    next: u64,
    /// Places that were given and have not come back, those of connections that gave way included.
    given: usize,
    most: usize,
}

#[derive(Debug)]
struct Connection {
    stream: Arc<TcpStream>,
    state: Arc<State>,
}

/// What a connection and those who may end it know of it.
#[derive(Debug, Default)]
struct State {
    gave_way: Mutex<bool>,
    /// Wakes a thread that waits in [`Place::wait`].
    ended: Condvar,
    /// It has not been heard yet, so that it can still be told that it gave way.
    is_heard: AtomicBool,
}

/// One connection's place, given back when dropped.
#[derive(Debug)]
pub struct Place {
    places: Places,
    id: u64,
    state: Arc<State>,
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
    pub fn take(&self, from: IpAddr, stream: &Arc<TcpStream>) -> Result<Place, Full> {
        let now = clock::monotonic();
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
        let state = Arc::new(State::default());
        let connection = Connection {
            stream: Arc::clone(stream),
            state: Arc::clone(&state),
        };
        taken.connections.insert(id, connection);
        Ok(Place {
            places: self.clone(),
            id,
            state,
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
    /// Wakes a connection's thread, which then ends.
    fn end(&mut self, id: u64) {
        if let Some(Connection { stream, state }) = self.connections.remove(&id) {
            *state.gave_way() = true;
            state.ended.notify_all();
            let how = if state.is_heard.load(Ordering::Relaxed) {
                Shutdown::Both
            } else {
                Shutdown::Read
            };
            // An error says that it is closed already.
            let _ = stream.shutdown(how);
        }
    }
}

impl State {
    fn gave_way(&self) -> MutexGuard<'_, bool> {
        self.gave_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// The connection has proven itself: it gives way to nobody from now on.
    pub fn proven(&self) {
        self.places.taken().admission.proven(self.id);
    }

    /// The connection's request is read: if it gives way from now on, its answer is cut short.
    pub fn heard(&self) {
        // Under the lock, so that nobody who ends it looks at the same time.
        let _taken = self.places.taken();
        self.state.is_heard.store(true, Ordering::Relaxed);
    }

    /// Has the connection given way to another one?
    pub fn gave_way(&self) -> bool {
        *self.state.gave_way()
    }

    /// Waits for so long, or until the connection gives way: its thread must not outlast its place. True if it
    /// still has it.
    pub fn wait(&self, time: Duration) -> bool {
        let gave_way = self.state.gave_way();
        let waited = (self.state.ended).wait_timeout_while(gave_way, time, |gave_way| !*gave_way);
        let (gave_way, _) = waited.unwrap_or_else(PoisonError::into_inner);
        !*gave_way
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
    use std::io::Read;
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
    fn a_connection_that_gives_way_is_woken() {
        let places = places(2);
        let (first, mut its_client) = connection();
        let (other, _client) = connection();
        let place = places.take(host(1), &first).unwrap();
        place.heard();
        let _second = places.take(host(1), &other).unwrap();
        let _third = places.take(host(2), &other).unwrap();
        assert!(place.gave_way());
        assert_eq!((&*first).read(&mut [0]).unwrap(), 0);
        assert_eq!(its_client.read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn who_has_not_been_heard_can_still_be_answered() {
        use std::io::Write;
        let places = places(1);
        let (first, mut its_client) = connection();
        let place = places.take(host(1), &first).unwrap();
        let _second = places.take(host(1), &first).unwrap();
        assert!(place.gave_way());
        (&*first).write_all(b"!").unwrap();
        assert_eq!(its_client.read(&mut [0]).unwrap(), 1);
    }

    #[test]
    fn who_waits_is_woken_when_it_gives_way() {
        let places = places(1);
        let (first, _client) = connection();
        let place = places.take(host(1), &first).unwrap();
        assert!(place.wait(Duration::from_millis(1)));
        let waiting = std::thread::spawn(move || place.wait(Duration::MAX));
        let _second = places.take(host(1), &first).unwrap();
        assert!(!waiting.join().unwrap());
    }

    #[test]
    fn who_has_proven_itself_keeps_its_place_and_threads_are_bounded() {
        let places = places(1);
        let (stream, _client) = connection();
        let place = places.take(host(1), &stream).unwrap();
        place.proven();
        assert_eq!(places.take(host(2), &stream).unwrap_err(), Full::All);
        drop(place);
        let held: Vec<_> = (0..200)
            .map_while(|_| places.take(host(2), &stream).ok())
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
        let place = places.take(host(1), &stream).unwrap();
        let thread = std::thread::spawn(move || {
            let _place = place;
            std::panic::resume_unwind(Box::new("on purpose"));
        });
        assert!(thread.join().is_err());
        assert_eq!(places.taken().given, 0);
    }
}
