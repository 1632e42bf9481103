//! What there is to see at one moment.

use super::log_bins::LogBins;
use super::strip::Column;
use delaylab_model::Nanos;
use delaylab_stats::excursion::Excursion;
use delaylab_stats::summary::{AnatomyAt, Counts};

/// A measurement at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    /// What is measured: `ping 192.0.2.1`.
    pub(super) title: String,
    /// How: method and size of a ping, levels of a trial.
    pub(super) detail: String,
    /// How far an experiment is.
    pub(super) progress: Option<Progress>,
    /// Since it began.
    pub(super) elapsed: Nanos,
    /// Which of how many probes this is, from 1.
    pub(super) probe: (usize, usize),
    /// What came of it.
    pub(super) seen: ProbeView,
}

/// How far an experiment is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Trials that are over.
    pub done: usize,
    /// Of so many, where anybody can say.
    pub of: Option<usize>,
    /// How long it will still take, where anybody can say.
    pub left: Option<Nanos>,
}

/// What came of a probe so far.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct ProbeView {
    pub(super) name: String,
    pub(super) counts: Counts,
    /// Packets a second.
    pub(super) rate: Option<f64>,
    pub(super) distribution: Option<Distribution>,
    pub(super) anatomy: Vec<AnatomyAt>,
    /// How long a column is.
    pub(super) column: Nanos,
    pub(super) columns: Vec<Column>,
    pub(super) excursions: Excursions,
    /// When the first packet was due: offsets are counted from here.
    pub(super) start: Nanos,
}

/// The responses so far; quantiles within [`delaylab_stats::loglinear::RELATIVE_ERROR`].
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Distribution {
    pub(super) min: Nanos,
    pub(super) p50: Nanos,
    pub(super) p90: Option<Nanos>,
    pub(super) p99: Option<Nanos>,
    pub(super) max: Nanos,
    /// From the least to the longest.
    pub(super) bins: LogBins,
}

/// Packets that took far longer than the others.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Excursions {
    /// Beyond what response; `None`: too few to tell.
    pub(super) bound: Option<Nanos>,
    pub(super) count: u64,
    /// So many times: those that were under way together are one event.
    pub(super) events: u64,
    /// Latest first.
    pub(super) latest: Vec<Event>,
}

/// Packets that were late together.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Event {
    /// The worst of them.
    pub(super) worst: Excursion,
    /// How many, of those that are kept.
    pub(super) packets: usize,
}
