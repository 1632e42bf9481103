//! How a trial that counts with what is recorded of it began: in `trial-7.begun.json` as long as it is under way.

use crate::disk::Disk;
use crate::durable;
use crate::error::{StoreError, arrow};
use crate::folder::{FINDINGS, Folder};
use crate::journal::{JournalReader, is_of_disk};
use crate::regular;
use delaylab_model::Nanos;
use delaylab_model::record::Record;
use delaylab_model::trial::{ProbeFacts, RecordFacts};
use jiff::{Timestamp, Unit};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io;

/// How the flaw begins of a trial that its process could not end.
pub const CUT_SHORT: &str = "cut short at ";

/// The warning of a trial whose packets are all recorded, and of which other rows, or how it ended, may not be.
pub const LACKS_OTHERS: &str =
    "not everything that was recorded together with its packets could be stored";

/// Where `environment.json` says that a run is what is recorded of it, whenever its process ends, as that of a ping is.
const AS_IT_STANDS: &str = "/live/as_it_stands";

/// How a trial began: what nothing recorded of it tells.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begun {
    /// When: nanoseconds since 1970, UTC.
    pub utc: Nanos,
    /// The same on the clock of its records.
    pub monotonic: Nanos,
    /// How the records of each probe are to be read.
    pub probes: Vec<RecordFacts>,
    /// How it ended, where it was measured to its end and all of it is recorded: only its tables are still to be made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ended>,
}

/// How a trial ended: what its records do not tell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// When, on the clock of its records.
    pub monotonic: Nanos,
    /// How many records there are of all probes.
    pub records: u64,
    /// What came of each probe.
    pub facts: Vec<ProbeFacts>,
}

impl Begun {
    /// From here on it is known how the records of this probe are to be read.
    pub fn set(&mut self, probe: u16, facts: RecordFacts) {
        let at = usize::from(probe);
        if self.probes.len() <= at {
            self.probes.resize(at + 1, RecordFacts::default());
        }
        self.probes[at] = facts;
    }

    /// The same of a trial that ended so.
    #[must_use]
    pub fn ending(self, ended: Ended) -> Self {
        Self {
            ended: Some(ended),
            ..self
        }
    }

    /// What to add to a time of its records to get UTC.
    pub const fn realtime_offset(&self) -> Nanos {
        self.utc.wrapping_sub(self.monotonic)
    }

    /// A time of its records, to the second: `2026-11-21T13:45:00Z`.
    pub fn to_the_second(&self, monotonic: Nanos) -> String {
        let utc = monotonic.wrapping_add(self.realtime_offset());
        let utc = Timestamp::from_nanosecond(utc.into()).unwrap_or(Timestamp::UNIX_EPOCH);
        utc.round(Unit::Second).unwrap_or(utc).to_string()
    }
}

/// How a trial that is under way, or was, began; `None` where it does not count before its end.
///
/// # Errors
/// That is noted, and cannot be read.
pub(crate) fn begun(folder: &Folder, trial: u32) -> Result<Option<Begun>, StoreError> {
    let path = folder.begun(trial);
    match regular::text(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StoreError::at(&path)(error)),
        Ok(text) => serde_json::from_str(&text).map_err(StoreError::table(&path)),
    }
}

/// Trials that count with what is recorded of them and were not ended.
///
/// # Errors
/// A file of such a trial cannot be read: what is in it is not known, and nothing is to be changed.
pub(crate) fn trials(folder: &Folder, done: &BTreeSet<u32>) -> Result<BTreeSet<u32>, StoreError> {
    let mut left = folder.begun_trials().map_err(StoreError::at(&folder.0))?;
    left.retain(|trial| !done.contains(trial));
    let mut counting = BTreeSet::new();
    for trial in left {
        if begun(folder, trial)?.is_some() && has_records(folder, trial)? {
            counting.insert(trial);
        }
    }
    Ok(counting)
}

fn has_records(folder: &Folder, trial: u32) -> Result<bool, StoreError> {
    let path = folder.journal::<Record>(trial);
    let reader = match JournalReader::open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        reader => reader.map_err(StoreError::at(&path))?,
    };
    for batch in reader {
        match batch {
            Ok(batch) if batch.num_rows() > 0 => return Ok(true),
            Ok(_) => {}
            Err(error) if is_of_disk(&error) => return Err(arrow(&path)(error)),
            Err(_) => break,
        }
    }
    Ok(false)
}

/// Does a run of this environment count with what is recorded of it, where these trials are done and these cut short? Then no other
/// is carried out.
pub(crate) fn counts_as_it_stands(
    environment: &Value,
    done: &BTreeSet<u32>,
    cut_short: &BTreeSet<u32>,
) -> bool {
    !cut_short.is_empty() || (is_kept(environment) && !done.is_empty())
}

/// Does the run in this folder, which is not complete, count with what is recorded of it?
///
/// # Errors
/// What is recorded cannot be read.
pub(crate) fn is_enough(folder: &Folder, environment: &Value) -> Result<bool, StoreError> {
    // All of it is in the run's tables then, and its parts may be gone: only its name is missing.
    if regular::exists(&folder.file(FINDINGS)) {
        return Ok(is_kept(environment));
    }
    let done = folder.recorded_trials();
    let done = done.map_err(StoreError::at(&folder.0))?;
    let cut_short = trials(folder, &done)?;
    Ok(counts_as_it_stands(environment, &done, &cut_short))
}

/// Is a run of this environment what is recorded of it?
pub(crate) fn is_kept(environment: &Value) -> bool {
    environment.pointer(AS_IT_STANDS) == Some(&Value::Bool(true))
}

/// Forgets how trials began, but for these.
pub(crate) fn forget_others(
    disk: &dyn Disk,
    folder: &Folder,
    kept: &BTreeSet<u32>,
) -> Result<(), StoreError> {
    let begun = folder.begun_trials().map_err(StoreError::at(&folder.0))?;
    let others = begun.difference(kept);
    others
        .map(|trial| folder.begun(*trial))
        .try_for_each(|path| durable::remove(disk, &path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_records_are_told_in_utc() {
        let begun = Begun {
            utc: 1_795_268_700_400_000_000,
            monotonic: 5_000_000_000,
            probes: Vec::new(),
            ended: None,
        };
        assert_eq!(begun.to_the_second(5_000_000_000), "2026-11-21T13:45:00Z");
        assert_eq!(begun.to_the_second(6_200_000_000), "2026-11-21T13:45:02Z");
    }
}
