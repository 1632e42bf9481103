//! What a comparison is to hold.

use delaylab_lab::finding::Measure;
use delaylab_stats::anatomy::Stage;

/// The same runs give the same intervals.
pub(super) const SEED: u64 = 1;

/// What a comparison is to hold.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparisonRequest {
    /// What is measured.
    pub measures: Vec<Measure>,
    /// What the verdict is about.
    pub headline: Measure,
    /// Every stage, too, and the headline at many quantiles: for pages and documents. Else of more than
    /// [`IN_FULL`](super::IN_FULL) pairs there is the headline alone.
    pub full: bool,
}

/// What a server takes, where one is asked.
pub(super) const SERVER: Measure = Measure::Stage(Stage::Server);

impl ComparisonRequest {
    /// Response, round trip, network, host, server and every stage; the verdict is about the response.
    pub fn usual() -> Self {
        use Measure::{Host, Network, Response, RoundTrip};
        Self {
            measures: vec![Response, RoundTrip, Network, Host, SERVER],
            headline: Response,
            full: false,
        }
    }
}
