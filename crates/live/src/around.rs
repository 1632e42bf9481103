//! What is around the probes of a trial and sees more of the path than they do, as the switches of a testbed.

/// What is to know when a trial is measured.
pub trait Around: Sync {
    /// Loads and probes are about to begin.
    fn begins(&self) {}
    /// The last probe has sent everything and only waits for what is as good as lost; loads are about to end. Called by a probe's
    /// own thread, which it is not to hold up.
    fn ends(&self) {}
}

/// Nothing is.
impl Around for () {}
