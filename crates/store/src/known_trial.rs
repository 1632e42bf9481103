//! A trial of which everything is known when it is written: an imported one. Nothing of it comes late and nothing
//! has to be saved from a crash, so that its rows go straight into its part, which takes half the time.

use crate::disk::SharedDisk;
use crate::durable;
use crate::error::StoreError;
use crate::folder::Folder;
use crate::part::{self, RecordsPart};
use crate::row_groups::MOST_THREADS;
use crate::trial_file::NewTrial;
use crate::trial_row::TrialRow;
use delaylab_model::record::Record;
use delaylab_model::series::SeriesPoint;
use delaylab_model::table::TableRow;

/// Writes one trial in the order of its files. Dropped without [`KnownTrial::finish`], it leaves nothing.
pub struct KnownTrial {
    disk: SharedDisk,
    folder: Folder,
    trial: NewTrial,
    records: RecordsPart,
    last: Option<(u16, u64)>,
}

impl KnownTrial {
    pub(crate) fn create(
        disk: &SharedDisk,
        folder: &Folder,
        trial: u32,
        packets: u64,
    ) -> Result<Self, StoreError> {
        let trial = NewTrial::new(disk, folder, trial, MOST_THREADS);
        Ok(Self {
            disk: disk.clone(),
            folder: folder.clone(),
            records: RecordsPart::create(&trial, packets)?,
            trial,
            last: None,
        })
    }

    /// Packets: one probe after the other, each in the order of its numbers.
    ///
    /// # Errors
    /// Among others: they are not in this order.
    pub fn records(&mut self, records: &[Record]) -> Result<(), StoreError> {
        for record in records {
            let place = Some((record.stream(), record.key()));
            if place < self.last {
                return Err(StoreError::Table {
                    path: self.records.path().to_owned(),
                    reason: format!(
                        "packet {} of probe {} comes after a later one",
                        record.seq, record.probe
                    ),
                });
            }
            self.last = place;
        }
        self.records.write(records, &|_| (None, None))
    }

    /// Makes the trial part of the run: its rows, one for each probe, say what came of it, its series what was over
    /// time.
    pub fn finish(mut self, rows: &[TrialRow], series: &[SeriesPoint]) -> Result<(), StoreError> {
        self.records.finish(&mut self.trial)?;
        part::write_rows(&mut self.trial, series)?;
        part::write_trial(self.trial, rows)?;
        durable::sync_folder(&*self.disk, &self.folder.parts())
    }
}
