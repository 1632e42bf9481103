//! Rows of trials for tests.

use delaylab_model::method::Method;
use delaylab_model::plan::Factor;
use delaylab_model::probe::HostCondition;
use delaylab_model::trial::{LossDirection, ProbeFacts};
use delaylab_store::trial_row::TrialRow;

/// Of a trial with these figures.
pub(super) fn row(figures: &[(&str, u64)], loss: Option<LossDirection>) -> TrialRow {
    let figures = figures.iter();
    let figures = figures.map(|&(name, value)| (name.to_owned(), Some(value as f64)));
    TrialRow {
        trial: 0,
        probe: 0,
        probe_name: "p".to_owned(),
        method: Method::Udp,
        repeat: 0,
        position: 0,
        started_utc: None,
        duration: 0,
        host: HostCondition::Normal,
        seed: 0,
        valid: true,
        warmup: 0,
        facts: ProbeFacts {
            loss,
            ..ProbeFacts::default()
        },
        factors: Vec::<Factor>::new(),
        figures: figures.collect(),
    }
}
