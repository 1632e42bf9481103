//! The destination: EFCI bits into CI, forward RM cells turned round.

use super::ResourceManagement;

/// The destination of one virtual channel.
#[derive(Debug, Clone, Default)]
pub struct Destination {
    /// The EFCI bit of the last data cell, until it is told.
    congested: bool,
    waiting: Option<ResourceManagement>,
}

impl Destination {
    /// A data cell came in.
    #[inline]
    pub const fn on_data(&mut self, efci: bool) {
        self.congested = efci;
    }

    /// A forward RM cell came in: it is turned round and waits. One that still waited is overwritten;
    /// the congestion that it would have told goes with the new one.
    pub fn on_forward(&mut self, rm: ResourceManagement) {
        let untold = self.waiting.is_some_and(|old| old.congestion);
        self.waiting = Some(ResourceManagement {
            backward: true,
            notification: false,
            congestion: rm.congestion || self.congested || untold,
            ..rm
        });
        self.congested = false;
    }

    /// Does a backward RM cell wait?
    pub const fn backward_waits(&self) -> bool {
        self.waiting.is_some()
    }

    /// The backward RM cell that waits.
    pub const fn backward(&self) -> Option<ResourceManagement> {
        self.waiting
    }

    /// As [`Destination::backward`], and it is gone.
    pub const fn take_backward(&mut self) -> Option<ResourceManagement> {
        self.waiting.take()
    }
}
