//! What interrupted trials leave is kept apart from what the run goes on to record.

use crate::begun;
use crate::disk::Disk;
use crate::durable;
use crate::error::StoreError;
use crate::folder::Folder;
use crate::table::{Row, every_table};
use std::collections::BTreeSet;

/// What became of the trials of a run that was stopped.
pub(crate) struct Settled {
    /// They are recorded.
    pub(crate) done: BTreeSet<u32>,
    /// They count with what is recorded of them, and are to be ended: their rows are where they were.
    pub(crate) cut_short: BTreeSet<u32>,
    /// Their rows were set apart now.
    pub(crate) interrupted: BTreeSet<u32>,
}

impl Settled {
    /// Of a run whose trials have all ended.
    pub(crate) fn all_done(done: BTreeSet<u32>) -> Self {
        Self {
            done,
            cut_short: BTreeSet::new(),
            interrupted: BTreeSet::new(),
        }
    }
}

/// Leaves of each trial either its parts or, if it has not ended, its rows as they came, set apart.
pub(crate) fn settle(disk: &dyn Disk, folder: &Folder) -> Result<Settled, StoreError> {
    settle_but(disk, folder, |_| Ok(BTreeSet::new()))
}

/// The same, but for trials that count with what is recorded of them.
pub(crate) fn settle_but_cut_short(
    disk: &dyn Disk,
    folder: &Folder,
) -> Result<Settled, StoreError> {
    settle_but(disk, folder, |done| begun::trials(folder, done))
}

fn settle_but(
    disk: &dyn Disk,
    folder: &Folder,
    cut_short: impl Fn(&BTreeSet<u32>) -> Result<BTreeSet<u32>, StoreError>,
) -> Result<Settled, StoreError> {
    let done: BTreeSet<u32> = folder
        .recorded_trials()
        .map_err(StoreError::at(&folder.parts()))?;
    let cut_short = cut_short(&done)?;
    let apart = every_table!(R => settle_table::<R>(disk, folder, &done, &cut_short)?);
    begun::forget_others(disk, folder, &cut_short)?;
    Ok(Settled {
        done,
        cut_short,
        interrupted: apart.into_iter().flatten().collect(),
    })
}

fn settle_table<R: Row>(
    disk: &dyn Disk,
    folder: &Folder,
    done: &BTreeSet<u32>,
    cut_short: &BTreeSet<u32>,
) -> Result<BTreeSet<u32>, StoreError> {
    drop_leftovers::<R>(disk, folder, done)?;
    set_apart::<R>(disk, folder, cut_short)
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

fn set_apart<R: Row>(
    disk: &dyn Disk,
    folder: &Folder,
    cut_short: &BTreeSet<u32>,
) -> Result<BTreeSet<u32>, StoreError> {
    let mut journals = folder.journals::<R>().map_err(StoreError::at(&folder.0))?;
    journals.retain(|trial, _| !cut_short.contains(trial));
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
