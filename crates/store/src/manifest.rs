//! `manifest.json`: what each file of a run holds, so that a reader of the run knows that it is what was recorded.
//!
//! A run has it from its beginning, with its texts in it; when the parts are joined, the tables and the findings are
//! added. Each recorded trial has one of its tables, at the end of `parts/trial-7.tables`. What can be made again at any time, such as
//! `report.html`, is in none. A manifest holds its own digest, too.

use crate::digest::FileFacts;
use crate::disk::Disk;
use crate::durable;
use crate::error::StoreError;
use crate::folder::{ENVIRONMENT, EXPERIMENT, FINDINGS, Folder, MANIFEST, TRIALS};
use crate::mismatch::Mismatch;
use crate::regular;
use crate::table::{Row, every_table};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::path::Path;

/// Name and version of its shape.
pub const SCHEMA: &str = "delaylab/manifest/1";

/// What the files of a run, or of one of its trials, hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    schema: String,
    /// How many trials the tables have; of a run that is not finished, not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) trials: Option<u64>,
    /// By their names.
    pub(crate) files: BTreeMap<String, FileFacts>,
    /// Of a trial: those that are in its own file, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) within: Vec<String>,
    /// Of all that stands above.
    sha256: String,
}

impl Manifest {
    /// Of no file.
    pub(crate) fn new() -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            trials: None,
            files: BTreeMap::new(),
            within: Vec::new(),
            sha256: String::new(),
        }
    }

    /// Adds a file by its name.
    pub(crate) fn add(&mut self, path: &Path, facts: FileFacts) {
        if let Some(name) = path.file_name() {
            let name = name.to_string_lossy().into_owned();
            self.files.insert(name, facts);
        }
    }

    /// The same of a table that follows the others in a trial's own file.
    pub(crate) fn add_within(&mut self, path: &Path, facts: FileFacts) {
        self.add(path, facts);
        let name = path.file_name().unwrap_or_default();
        self.within.push(name.to_string_lossy().into_owned());
    }

    /// Reads one; `None` where there is none.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn read(path: &Path) -> Result<Option<Self>, String> {
        let text = match regular::text(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.to_string()),
        };
        Self::from_json(&text).map(Some)
    }

    /// Reads one.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn from_json(text: &str) -> Result<Self, String> {
        let read: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if read.schema != SCHEMA {
            let schema: String = read.schema.chars().take(40).collect();
            return Err(format!(
                "its schema is {schema:?}, and this version reads {SCHEMA}"
            ));
        }
        if read.sha256 != read.own_digest() {
            return Err("its content has changed since it was written".to_owned());
        }
        Ok(read)
    }

    /// As it is written.
    pub(crate) fn into_json(mut self) -> serde_json::Result<String> {
        self.sha256 = self.own_digest();
        Ok(format!("{}\n", serde_json::to_string_pretty(&self)?))
    }

    /// Writes it, whole or not at all.
    pub(crate) fn write(self, disk: &dyn Disk, path: &Path) -> Result<(), StoreError> {
        let text = self.into_json().map_err(StoreError::table(path))?;
        durable::write(disk, path, text.as_bytes())
    }

    /// The digest of one that was read.
    pub(crate) fn digest(&self) -> &str {
        &self.sha256
    }

    fn own_digest(&self) -> String {
        let mut all = format!("{}\n{:?}\n", self.schema, self.trials);
        for (name, facts) in &self.files {
            let FileFacts {
                bytes,
                sha256,
                rows,
            } = facts;
            // Into a string: it cannot fail.
            let _ = writeln!(all, "{name:?} {bytes} {sha256:?} {rows:?}");
        }
        for name in &self.within {
            let _ = writeln!(all, "within {name:?}");
        }
        FileFacts::of_bytes(all.as_bytes()).sha256
    }

    /// What is wrong with one of its files; `None` where it is as it was recorded, or is not listed.
    pub(crate) fn mismatch(&self, folder: &Path, name: &str) -> Option<Mismatch> {
        self.mismatch_by(differs, folder, name)
    }

    fn mismatch_by(&self, differs: Differs, folder: &Path, name: &str) -> Option<Mismatch> {
        let recorded = self.files.get(name)?;
        let why = match differs(&folder.join(name), recorded) {
            Ok(None) => return None,
            Ok(Some(why)) => why,
            Err(error) if error.kind() == io::ErrorKind::NotFound => "missing".to_owned(),
            Err(error) => error.to_string(),
        };
        Some(Mismatch {
            file: name.to_owned(),
            why,
        })
    }

    /// What is wrong with each of its files.
    pub(crate) fn mismatches<'a>(
        &'a self,
        folder: &'a Path,
    ) -> impl Iterator<Item = Mismatch> + 'a {
        let names = self.files.keys();
        names.filter_map(|name| self.mismatch(folder, name))
    }

    /// The files that are missing or have another length, without a look at what is in them.
    pub(crate) fn mismatches_in_length<'a>(
        &'a self,
        folder: &'a Path,
    ) -> impl Iterator<Item = Mismatch> + 'a {
        let names = self.files.keys();
        names.filter_map(|name| self.mismatch_by(differs_in_length, folder, name))
    }

    /// What a finished run has and should not: files that its readers would read, and that were not recorded.
    pub(crate) fn strangers<'a>(
        &'a self,
        folder: &'a Folder,
    ) -> impl Iterator<Item = Mismatch> + 'a {
        let unlisted = read_by_name(folder).into_iter();
        let unlisted = unlisted.filter(|name| !self.files.contains_key(name));
        unlisted.map(|file| Mismatch {
            file,
            why: "is there, and was not recorded".to_owned(),
        })
    }
}

/// Every file that readers of a finished run know by its name and that is there, but for the manifest.
pub(crate) fn read_by_name(folder: &Folder) -> Vec<String> {
    let mut names: Vec<String> = [EXPERIMENT, ENVIRONMENT, FINDINGS]
        .map(str::to_owned)
        .into();
    names.push(format!("{TRIALS}.parquet"));
    every_table!(R => {
        names.push(format!("{}.parquet", R::TABLE));
        names.extend(folder.interrupted::<R>().file_name().map(|name| name.to_string_lossy().into_owned()));
    });
    names.retain(|name| regular::exists(&folder.file(name)));
    names
}

/// How a file differs from what was recorded.
type Differs = fn(&Path, &FileFacts) -> io::Result<Option<String>>;

fn differs_in_length(path: &Path, recorded: &FileFacts) -> io::Result<Option<String>> {
    let bytes = regular::open(path)?.metadata()?.len();
    let differs = bytes != recorded.bytes;
    Ok(differs.then(|| format!("has {bytes} bytes of {} that were recorded", recorded.bytes)))
}

fn differs(path: &Path, recorded: &FileFacts) -> io::Result<Option<String>> {
    if let Some(why) = differs_in_length(path, recorded)? {
        return Ok(Some(why));
    }
    let found = FileFacts::of_open_file(regular::open(path)?)?;
    let changed = !found.is_same(recorded);
    Ok(changed.then(|| "its content has changed since it was recorded (SHA-256)".to_owned()))
}

/// The manifest of a run's folder; `None` where it has none.
pub(crate) fn of_run(folder: &Folder) -> Result<Option<Manifest>, Mismatch> {
    let damaged = |why| Mismatch {
        file: MANIFEST.to_owned(),
        why,
    };
    Manifest::read(&folder.file(MANIFEST)).map_err(damaged)
}

#[cfg(test)]
mod tests;
