//! Shards: unfinished runs that carry out a share of a run's trials, and wait to be merged once these are recorded.

use crate::folder::Folder;
use delaylab_model::record::Record;
use serde_json::Value;
use std::io;

/// Is this, by its environment, a shard?
pub(crate) fn is_one(environment: &Value) -> bool {
    !environment["shard"].is_null()
}

/// Is it one whose trials are all recorded? Older versions did not say how many there are: then it is one of which no trial
/// is under way.
pub(crate) fn is_whole(folder: &Folder, environment: &Value) -> io::Result<bool> {
    if !is_one(environment) {
        return Ok(false);
    }
    let recorded = folder.recorded_trials()?;
    Ok(match environment["shard_trials"].as_u64() {
        Some(trials) => recorded.len() as u64 >= trials,
        None => {
            let begun = folder.journals::<Record>()?;
            begun.keys().all(|trial| recorded.contains(trial))
        }
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;
    use std::fs;

    #[test]
    fn a_shard_is_whole_when_its_trials_are_recorded() {
        let runs = tempfile::tempdir().unwrap();
        let folder = Folder(runs.path().to_owned());
        fs::create_dir(folder.parts()).unwrap();
        let is = |environment: &Value| is_whole(&folder, environment).unwrap();
        let new = json!({ "shard": "2/3", "shard_trials": 2 });
        let older = json!({ "shard": "2/3" });
        assert!(!is(&new) && is(&json!({ "shard": "11/11", "shard_trials": 0 })));
        fs::write(folder.journal::<Record>(4), "").unwrap();
        fs::write(folder.trial_file(1), "").unwrap();
        assert!(!is(&new) && !is(&older));
        fs::write(folder.trial_file(4), "").unwrap();
        assert!(is(&new) && is(&older) && !is(&json!({})));
    }
}
