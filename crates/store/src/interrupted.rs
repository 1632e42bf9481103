//! What interrupted trials leave is kept apart from what the run goes on to record.

use crate::disk::Disk;
use crate::durable;
use crate::error::StoreError;
use crate::folder::Folder;
use crate::table::{Row, every_table};
use std::collections::BTreeSet;

/// Leaves of each trial either its parts or, if it has not ended, its rows as they came, set apart.
/// Returns the trials that are recorded, and those that were set apart now.
pub(crate) fn settle(
    disk: &dyn Disk,
    folder: &Folder,
) -> Result<(BTreeSet<u32>, BTreeSet<u32>), StoreError> {
    let done: BTreeSet<u32> = folder
        .recorded_trials()
        .map_err(StoreError::at(&folder.parts()))?;
    let apart = every_table!(R => settle_table::<R>(disk, folder, &done)?);
    Ok((done, apart.into_iter().flatten().collect()))
}

fn settle_table<R: Row>(
    disk: &dyn Disk,
    folder: &Folder,
    done: &BTreeSet<u32>,
) -> Result<BTreeSet<u32>, StoreError> {
    drop_leftovers::<R>(disk, folder, done)?;
    set_apart::<R>(disk, folder)
}

/// Removes what a trial that was stopped at its very end has twice.
fn drop_leftovers<R: Row>(
    disk: &dyn Disk,
    folder: &Folder,
    done: &BTreeSet<u32>,
) -> Result<(), StoreError> {
    let journals = folder.journals::<R>().map_err(StoreError::at(&folder.0))?;
    let parts = folder.parts_of(R::TABLE)?;
    let journals = journals.iter().filter(|(trial, _)| done.contains(trial));
    let parts = parts.iter().filter(|(trial, _)| !done.contains(trial));
    for (_, path) in journals.chain(parts) {
        durable::remove(disk, path)?;
    }
    Ok(())
}

fn set_apart<R: Row>(disk: &dyn Disk, folder: &Folder) -> Result<BTreeSet<u32>, StoreError> {
    let journals = folder.journals::<R>().map_err(StoreError::at(&folder.0))?;
    for (&trial, journal) in &journals {
        let attempts = 1..;
        let mut free = attempts.map(|attempt| folder.interrupted_part::<R>(trial, attempt));
        let Some(apart) = free.find(|path| !path.exists()) else {
            continue;
        };
        durable::rename(disk, journal, &apart)?;
    }
    Ok(journals.into_keys().collect())
}
