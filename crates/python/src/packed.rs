//! The run of a share as bytes, for its way through a cluster.

use crate::error::{detached, environment};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::error::Error;
use std::io;
use std::iter::successors;
use std::path::{Path, PathBuf};
use tar::{Archive, Builder};

/// All files of a folder. They are compressed already.
#[pyfunction]
pub fn pack(py: Python<'_>, folder: PathBuf) -> PyResult<Bound<'_, PyBytes>> {
    let packed = detached(py, || packed(&folder))?;
    let packed = packed.map_err(|error| failed(py, "cannot read", &folder, &error));
    Ok(PyBytes::new(py, &packed?))
}

fn packed(folder: &Path) -> io::Result<Vec<u8>> {
    let mut archive = Builder::new(Vec::new());
    archive.append_dir_all(".", folder)?;
    archive.into_inner()
}

/// Puts them into another folder; none can get out of it.
#[pyfunction]
pub fn unpack(py: Python<'_>, packed: &[u8], folder: PathBuf) -> PyResult<()> {
    let unpacked = detached(py, || {
        let mut archive = Archive::new(packed);
        archive.set_preserve_mtime(false);
        archive.unpack(&folder)
    })?;
    unpacked.map_err(|error| failed(py, "cannot write", &folder, &error))
}

/// With the reasons below it: the first says of a file that it could not be unpacked, and the last that there is no room.
fn failed(py: Python<'_>, what: &str, folder: &Path, error: &io::Error) -> PyErr {
    let first: &dyn Error = error;
    let reasons = successors(Some(first), |&error| error.source());
    let reasons: Vec<_> = reasons.map(ToString::to_string).collect();
    let folder = folder.display();
    environment(py, &format!("{what} {folder}: {}", reasons.join(": ")))
}
