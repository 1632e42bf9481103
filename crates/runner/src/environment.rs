//! What is written down of this host and of how it was asked: `environment.json`.

use crate::options::LiveOptions;
use delaylab_kernel::host_info::HostInfo;
use delaylab_live::condition::{Applied, Options, Step};
use delaylab_model::probe::HostCondition;
use delaylab_model::shard::Shard;
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
    /// How a live run reaches it.
    #[serde(skip_serializing_if = "Option::is_none")]
    live: Option<&'a LiveOptions>,
    /// This host.
    host: HostInfo,
    /// Which share of the run's trials it carries out.
    #[serde(skip_serializing_if = "Option::is_none")]
    shard: Option<Shard>,
    /// How many trials that share has.
    #[serde(skip_serializing_if = "Option::is_none")]
    shard_trials: Option<usize>,
    /// The runs that it was made of.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    merged: &'a [MergedPart],
    /// How far each condition of the experiment goes here.
    conditions: BTreeMap<&'static str, Vec<Step>>,
}

/// A run that another was made of.
#[derive(Debug, Serialize)]
pub struct MergedPart {
    /// The name of its folder.
    pub run: String,
    /// Which shard it was.
    pub shard: Option<String>,
    /// When it began.
    pub started_utc: Option<String>,
    /// The host that carried it out.
    pub host: Value,
}

/// What is noted each time that a run is resumed: what may be another than when it began.
#[derive(Debug, Serialize)]
struct ResumeNote {
    delaylab: &'static str,
    supplied: Vec<String>,
    host: HostInfo,
    conditions: BTreeMap<&'static str, Vec<Step>>,
}

/// Of a run whose trials others carry out: that it was asked for in these words, and of which shards it is made, if any.
pub(crate) fn of_gathered(supplied: Vec<String>, merged: &[MergedPart]) -> Value {
    written(&Environment {
        delaylab: env!("CARGO_PKG_VERSION"),
        supplied,
        target: None,
        live: None,
        host: HostInfo::read(),
        shard: None,
        shard_trials: None,
        merged,
        conditions: BTreeMap::new(),
    })
}

/// Of a run that was asked for in these words and puts this host into these conditions in these ways; of a shard with how many
/// trials it has.
pub(crate) fn document(
    supplied: Vec<String>,
    target: Option<&str>,
    live: Option<&LiveOptions>,
    shard: Option<(Shard, usize)>,
    conditions: &[(HostCondition, Options)],
) -> Value {
    written(&Environment {
        delaylab: env!("CARGO_PKG_VERSION"),
        supplied,
        target,
        live,
        host: HostInfo::read(),
        shard: shard.map(|(shard, _)| shard),
        shard_trials: shard.map(|(_, trials)| trials),
        merged: &[],
        conditions: all_steps(conditions),
    })
}

/// Of a run that is resumed in these words, and puts this host into these conditions in these ways.
pub(crate) fn of_resume(supplied: Vec<String>, conditions: &[(HostCondition, Options)]) -> Value {
    written(&ResumeNote {
        delaylab: env!("CARGO_PKG_VERSION"),
        supplied,
        host: HostInfo::read(),
        conditions: all_steps(conditions),
    })
}

fn written(environment: &impl Serialize) -> Value {
    serde_json::to_value(environment).unwrap_or(Value::Null)
}

fn all_steps(conditions: &[(HostCondition, Options)]) -> BTreeMap<&'static str, Vec<Step>> {
    let each = conditions.iter();
    each.map(|(condition, options)| (condition.name(), condition_steps(*condition, options)))
        .collect()
}

/// Puts this host into the condition for a moment, as its trials will, and takes it back: which of its steps hold. A stressed one
/// starts its load. Why it cannot be applied at all is said by the first trial that needs it.
fn condition_steps(condition: HostCondition, options: &Options) -> Vec<Step> {
    Applied::new(condition, options)
        .map(|applied| applied.describe().to_vec())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where a run's probes go is not asked again.
    #[test]
    fn a_resume_notes_nothing_of_the_target() {
        let note = of_resume(vec!["delaylab".to_owned()], &[]);
        assert_eq!(note["supplied"][0], "delaylab");
        assert_eq!(note.get("target"), None);
    }

    #[test]
    fn a_condition_is_recorded_as_trials_apply_it() {
        let fifo = |spins| {
            let options = Options {
                spins,
                // The process of the test stays where it is.
                cpuset: false,
                ..Options::default()
            };
            let conditions = [(HostCondition::Quiet, options)];
            let written = document(Vec::new(), None, None, None, &conditions);
            written["conditions"]["quiet"][0].to_string()
        };
        assert!(fifo(true).contains("the prober spins"), "{}", fifo(true));
        assert!(!fifo(false).contains("the prober spins"), "{}", fifo(false));
    }
}
