//! The shortest round trip to each target, of all connections that the probes of a trial make to it.
//!
//! What the network takes at least bounds what a server takes at most. Of a connection that is kept the kernel has one
//! handshake for it, and that may have been held up: by an address that was looked up, by a path that woke up.

use delaylab_model::Nanos;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// One for each target, for as long as a probe is under way to it.
#[derive(Debug, Clone, Default)]
pub struct RoundTrips(Arc<Mutex<BTreeMap<IpAddr, Weak<Shortest>>>>);

impl RoundTrips {
    /// Those to this target.
    pub(super) fn to(&self, target: IpAddr) -> Arc<Shortest> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, shortest| shortest.strong_count() > 0);
        let shared = known.get(&target).and_then(Weak::upgrade);
        shared.unwrap_or_else(|| {
            let shortest = Arc::new(Shortest(AtomicI64::new(Nanos::MAX)));
            known.insert(target, Arc::downgrade(&shortest));
            shortest
        })
    }
}

/// The shortest so far.
#[derive(Debug)]
pub(super) struct Shortest(AtomicI64);

impl Shortest {
    /// A handshake took so long.
    pub(super) fn note(&self, round_trip: Nanos) {
        self.0.fetch_min(round_trip, Ordering::Relaxed);
    }

    /// This round trip, or a shorter one.
    pub(super) fn or(&self, round_trip: Nanos) -> Nanos {
        self.0.load(Ordering::Relaxed).min(round_trip)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_to_one_target_share_the_shortest_while_they_are_under_way() {
        let trips = RoundTrips::default();
        let [here, there] = [[127, 0, 0, 1], [127, 0, 0, 2]].map(IpAddr::from);
        let first = trips.to(here);
        first.note(300);
        first.note(400);
        assert_eq!(trips.to(here).or(900), 300);
        assert_eq!(trips.to(here).or(200), 200);
        assert_eq!(trips.to(there).or(900), 900);
        // The next trial may have another path.
        drop(first);
        assert_eq!(trips.to(here).or(900), 900);
    }
}
