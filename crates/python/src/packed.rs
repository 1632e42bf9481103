//! The run of a share as bytes, for its way through a cluster.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::io;
use std::path::{Path, PathBuf};
use tar::{Archive, Builder};

/// All files of a folder. They are compressed already.
#[pyfunction]
pub fn pack(py: Python<'_>, folder: PathBuf) -> PyResult<Bound<'_, PyBytes>> {
    let packed = py.detach(|| packed(&folder))?;
    Ok(PyBytes::new(py, &packed))
}

fn packed(folder: &Path) -> io::Result<Vec<u8>> {
    let mut archive = Builder::new(Vec::new());
    archive.append_dir_all(".", folder)?;
    archive.into_inner()
}

/// Puts them into another folder; none can get out of it.
#[pyfunction]
pub fn unpack(py: Python<'_>, packed: &[u8], folder: PathBuf) -> PyResult<()> {
    py.detach(|| {
        let mut archive = Archive::new(packed);
        archive.set_preserve_mtime(false);
        archive.unpack(&folder)
    })?;
    Ok(())
}
