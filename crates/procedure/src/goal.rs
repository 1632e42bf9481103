//! Goals of MLRsearch (RFC 9971): how much loss a load may have, in how many trials of what length.

use delaylab_model::quantity::Share;
use delaylab_model::{Nanos, SECOND};

/// What a load has to fulfil.
#[derive(Debug, Clone, PartialEq)]
pub struct Goal {
    /// Its name in reports.
    pub name: String,
    /// A trial this long or longer is of full length.
    pub final_trial: Nanos,
    /// Trials are repeated until they last this long together, unless the rest cannot matter.
    pub duration_sum: Nanos,
    /// A trial that loses more is a high-loss trial; 0 to 1.
    pub loss_ratio: f64,
    /// The share of high-loss trials that is accepted, by duration; from 0, less than 1.
    pub exceed_ratio: f64,
    /// Bounds this close are close enough, as a share of the line rate.
    pub width: Share,
}

impl Goal {
    /// The throughput of RFC 2544: 60 s without loss.
    pub fn rfc2544() -> Self {
        Self {
            name: "RFC2544".to_owned(),
            final_trial: 60 * SECOND,
            duration_sum: 60 * SECOND,
            loss_ratio: 0.0,
            exceed_ratio: 0.0,
            width: Share(5_000_000),
        }
    }

    /// Binary search with loss verification (TST 009): a trial of two may have loss.
    pub fn tst009() -> Self {
        Self {
            name: "TST009".to_owned(),
            duration_sum: 120 * SECOND,
            exceed_ratio: 0.5,
            ..Self::rfc2544()
        }
    }

    /// With trials this long, and a sum in proportion.
    #[must_use]
    pub fn with_trials_of(mut self, length: Nanos) -> Self {
        let times = self.duration_sum.div_euclid(self.final_trial.max(1)).max(1);
        self.final_trial = length.max(1);
        self.duration_sum = self.final_trial.saturating_mul(times);
        self
    }

    /// Is it RFC 2544's, with trials that are long enough?
    pub fn is_rfc2544(&self) -> bool {
        let strict = self.loss_ratio == 0.0 && self.exceed_ratio == 0.0;
        strict && self.final_trial >= 60 * SECOND
    }
}
