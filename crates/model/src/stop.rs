//! Stopping what is under way: a handle that its owner raises and everything that takes long looks at.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Stops one activity, such as a run. Its clones are the same handle.
///
/// The first request ends it in good order; the second ends also the wait for what is under way.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    asked: Arc<AtomicU32>,
    /// That of the whole of which this is a part.
    whole: Option<Arc<Stop>>,
}

impl Stop {
    /// Of a part of what this stops: it is stopped with it, or alone.
    pub fn of_a_part(&self) -> Self {
        Self {
            asked: Arc::default(),
            whole: Some(Arc::new(self.clone())),
        }
    }

    /// Requests a stop. Safe in a signal handler: it is one atomic addition.
    pub fn ask(&self) {
        self.asked.fetch_add(1, Ordering::Relaxed);
    }

    /// How often a stop was requested.
    pub fn times_asked(&self) -> u32 {
        let of_whole = self.whole.as_ref().map_or(0, |whole| whole.times_asked());
        self.asked.load(Ordering::Relaxed) + of_whole
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

    #[test]
    fn a_part_is_stopped_with_the_whole_or_alone() {
        let whole = Stop::default();
        let (one, other) = (whole.of_a_part(), whole.of_a_part());
        one.ask();
        assert!(one.is_asked() && !other.is_asked() && !whole.is_asked());
        whole.ask();
        assert_eq!((one.times_asked(), other.times_asked()), (2, 1));
    }
}
