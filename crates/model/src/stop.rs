//! Stopping what is under way: a handle that its owner raises and everything that takes long looks at.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Stops one activity, such as a run. Its clones are the same handle.
///
/// The first request ends it in good order; the second ends also the wait for what is under way.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicU32>);

impl Stop {
    /// Requests a stop. Safe in a signal handler: it is one atomic addition.
    pub fn ask(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// How often a stop was requested.
    pub fn times_asked(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    /// Was a stop requested?
    pub fn is_asked(&self) -> bool {
        self.times_asked() > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_are_the_same_handle_and_others_are_not() {
        let stop = Stop::default();
        let (clone, other) = (stop.clone(), Stop::default());
        clone.ask();
        clone.ask();
        assert_eq!((stop.times_asked(), other.times_asked()), (2, 0));
        assert!(stop.is_asked() && !other.is_asked());
    }
}
