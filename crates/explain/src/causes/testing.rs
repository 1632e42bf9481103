//! Rows of trials, and causes, for tests.

use super::roles::Role;
use super::{Cause, Worst};
use delaylab_model::method::Method;
use delaylab_model::plan::Factor;
use delaylab_model::probe::HostCondition;
use delaylab_model::trial::{LossDirection, ProbeFacts};
use delaylab_stats::attribution::LateCause;
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

/// Each packet is an event; `lost_ms` is of all together.
pub(super) fn cause(what: LateCause, packets: u64, lost_ms: f64) -> Cause {
    Cause {
        what,
        packets,
        events: packets,
        excess_ns: lost_ms * 1e6,
        worst: Worst::default(),
        stages: Vec::new(),
        stopped: 0,
        role: Role::Other,
        process: None,
        shares_name: false,
        driven: None,
        rhythm: None,
        evidence: Vec::new(),
        remedy: String::new(),
    }
}
