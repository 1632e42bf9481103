//! What a plan observes of a trial, whether the plan is a design or a procedure.

use delaylab_model::stream_report::StreamReport;
use delaylab_stats::frames::FrameTrial;
use delaylab_stats::summary::Summary;
use delaylab_store::trial_row::TrialRow;

/// The result of a trial, as its plan observes it.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialOutcome {
    /// For each probe: the stored row of the trial.
    pub rows: Vec<TrialRow>,
    /// One summary for each probe.
    pub summaries: Vec<Summary>,
    /// Results of the frame streams.
    pub frames: FrameTrial,
    /// Reports on the load streams, from worlds that make more than their series.
    pub streams: Vec<StreamReport>,
    /// Why not all of it could be stored, if so: see [`StopMeans::Over`](crate::run::StopMeans::Over).
    pub not_stored: Option<String>,
}
