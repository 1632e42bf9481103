//! What a procedure offers the device: a trial as its steps describe it.

use delaylab_model::Nanos;
use delaylab_model::load::Load;
use delaylab_model::quantity::Share;

/// One stream of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OfferedStream {
    /// Which of [`Setup::streams`](crate::Setup::streams).
    pub of: usize,
    /// Share of the sending port's line rate.
    pub load: Share,
    /// Frames.
    pub count: u64,
    /// After the start of the trial.
    pub start: Nanos,
}

/// A trial as a procedure describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Offer {
    /// What it is for, as a level of factor `phase`.
    pub phase: &'static str,
    /// Which repeat, from 0.
    pub repeat: u32,
    /// What is sent.
    pub streams: Vec<OfferedStream>,
    /// Loads beside the template's.
    pub loads: Vec<Load>,
    /// Must the streams reach their rate? Else they go as fast as they can.
    pub paced: bool,
    /// Is the device reset meanwhile, as its path says? Else it is not.
    pub reset: bool,
    /// For so long at least no frame comes before the trial ends: what is beside the frames goes on until then. As long as for
    /// frames on their way, if that is longer.
    pub quiet: Nanos,
}

impl Offer {
    /// Of these streams, which must reach their rate.
    pub fn new(phase: &'static str, streams: Vec<OfferedStream>) -> Self {
        Self {
            phase,
            repeat: 0,
            streams,
            loads: Vec::new(),
            paced: true,
            reset: false,
            quiet: 0,
        }
    }

    /// The option that says how long this stream is, or how many frames it has.
    pub(crate) fn set_by(&self, stream: &OfferedStream) -> &'static str {
        match self.phase {
            "latency" => "latency",
            "burst" => "burst",
            "reset" => "reset",
            "incast" => "microburst",
            "recovery" if stream.start == 0 => "overload",
            _ => "trial",
        }
    }

    /// As this repeat.
    #[must_use]
    pub fn repeat(mut self, repeat: u32) -> Self {
        self.repeat = repeat;
        self
    }

    /// Whatever rate is reached.
    #[must_use]
    pub fn as_fast_as_can_be(mut self) -> Self {
        self.paced = false;
        self
    }
}
