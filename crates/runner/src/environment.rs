//! What is written down of this host and of how it was asked: `environment.json`.

use delaylab_kernel::host_info::HostInfo;
use delaylab_live::condition::{Applied, Measure, Options};
use delaylab_model::probe::HostCondition;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// Everything that a reader needs to judge how far a run can be compared with another.
#[derive(Debug, Serialize)]
struct Environment<'a> {
    /// The program that measured.
    delaylab: &'static str,
    /// The command line, word by word.
    supplied: Vec<String>,
    /// Where live probes went.
    target: Option<&'a str>,
    /// This host.
    host: HostInfo,
    /// How far each condition of the experiment goes here.
    conditions: BTreeMap<&'static str, Vec<Measure>>,
}

/// Of a run that was asked for in these words and puts this host into these conditions.
pub fn document(
    supplied: Vec<String>,
    target: Option<&str>,
    conditions: &[HostCondition],
) -> Value {
    let environment = Environment {
        delaylab: env!("CARGO_PKG_VERSION"),
        supplied,
        target,
        host: HostInfo::read(),
        conditions: conditions
            .iter()
            .map(|&condition| (condition.name(), measures(condition)))
            .collect(),
    };
    serde_json::to_value(environment).unwrap_or(Value::Null)
}

/// Tries the condition out. Why it cannot be applied at all is said by the first trial that needs it.
fn measures(condition: HostCondition) -> Vec<Measure> {
    Applied::new(condition, &Options::default())
        .map(|applied| applied.describe().to_vec())
        .unwrap_or_default()
}
