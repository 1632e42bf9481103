//! What a comparison is to hold.

use delaylab_lab::finding::Measure;
use delaylab_stats::anatomy::Stage;

/// The same runs give the same intervals.
pub(super) const SEED: u64 = 1;

/// What a comparison is to hold.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparisonRequest {
    /// What is measured. Of many pairs the headline alone, unless these are chosen or `full` is asked for: see
    /// [`Comparison::is_overview`](super::Comparison::is_overview).
    pub measures: Vec<Measure>,
    /// The measures were chosen, rather than the usual ones: all of them are compared, however many pairs there are.
    pub are_chosen: bool,
    /// What the verdict is about.
    pub headline: Measure,
    /// Every stage, too, and the headline at many quantiles: for pages and documents.
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
            are_chosen: false,
            headline: Response,
            full: false,
        }
    }
}
