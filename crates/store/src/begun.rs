//! How a trial that counts with what is recorded of it began: in `trial-7.begun.json` as long as it is under way.

use crate::disk::Disk;
use crate::durable;
use crate::error::StoreError;
use crate::folder::Folder;
use crate::journal::JournalReader;
use crate::regular;
use delaylab_model::Nanos;
use delaylab_model::record::Record;
use delaylab_model::trial::RecordFacts;
use jiff::{Timestamp, Unit};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io;

/// How a trial began: what nothing recorded of it tells.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begun {
    /// When: nanoseconds since 1970, UTC.
    pub utc: Nanos,
    /// The same on the clock of its records.
    pub monotonic: Nanos,
    /// How the records of each probe are to be read.
    pub probes: Vec<RecordFacts>,
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
pub(crate) fn begun(folder: &Folder, trial: u32) -> Option<Begun> {
    let text = regular::text(&folder.begun(trial)).ok()?;
    serde_json::from_str(&text).ok()
}

/// Trials that count with what is recorded of them and were not ended.
pub(crate) fn trials(folder: &Folder, done: &BTreeSet<u32>) -> io::Result<BTreeSet<u32>> {
    let begun_in = folder.begun_trials()?.into_iter();
    let left = begun_in.filter(|trial| !done.contains(trial) && begun(folder, *trial).is_some());
    Ok(left.filter(|trial| has_records(folder, *trial)).collect())
}

fn has_records(folder: &Folder, trial: u32) -> bool {
    let reader = JournalReader::open(&folder.journal::<Record>(trial));
    let mut batches = reader.into_iter().flatten().map_while(Result::ok);
    batches.any(|batch| batch.num_rows() > 0)
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
        };
        assert_eq!(begun.to_the_second(5_000_000_000), "2026-11-21T13:45:00Z");
        assert_eq!(begun.to_the_second(6_200_000_000), "2026-11-21T13:45:02Z");
    }
}
