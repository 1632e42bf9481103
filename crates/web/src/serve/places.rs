//! Places for connections, of which each is a task: one that has to give way learns of it while it waits.

use delaylab_live::places::{self, Connection};
use delaylab_model::Nanos;
use delaylab_traffic::admission::{Full, Limits};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::Notify;

pub(super) use places::ENDING;

/// All places.
#[derive(Debug, Clone)]
pub(super) struct Places(places::Places);

/// One connection's place, given back when dropped.
#[derive(Debug)]
pub(super) struct Place {
    place: places::Place,
    gave_way: Arc<GaveWay>,
    is_heard: AtomicBool,
}

/// Wakes a task that waits for it, or the one that will.
#[derive(Debug, Default)]
struct GaveWay(Notify);

impl Connection for GaveWay {
    fn give_way(&self) {
        self.0.notify_one();
    }
}

impl Places {
    /// None taken.
    pub(super) fn new(limits: Limits) -> Self {
        Self(places::Places::new(limits))
    }

    /// A place for a connection from this address, which has proven nothing so far.
    ///
    /// # Errors
    /// There is none, and no connection that has to give way.
    pub(super) fn take(&self, now: Nanos, from: IpAddr) -> Result<Place, Full> {
        let gave_way = Arc::<GaveWay>::default();
        Ok(Place {
            place: self.0.take(now, from, gave_way.clone())?,
            gave_way,
            is_heard: AtomicBool::new(false),
        })
    }

    /// Descriptors have run out: the oldest connection that has proven nothing gives its own back.
    pub(super) fn free_one(&self) {
        self.0.free_one();
    }
}

impl Place {
    /// The connection has proven itself: it gives way to nobody from now on.
    pub(super) fn proven(&self) {
        self.place.proven();
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
        self.gave_way.0.notified().await;
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
        // That they come back is tested where they are counted; here, that they do when a task ends.
        for _ in 0..2 {
            let held: Vec<_> = (0..200)
                .map_while(|_| places.take(0, host(2)).ok())
                .collect();
            assert_eq!(held.len(), 1 + ENDING);
        }
    }
}
