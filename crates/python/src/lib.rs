//! What the Python package calls: simulations in the process of Python, and runs on disk as Arrow tables, figures and
//! documents. Everything that a user sees is in `python/delaylab`; nothing here is for others than that.
//!
//! | module | holds |
//! |---|---|
//! | `resolved` | an experiment with all choices applied |
//! | `simulate` | a simulation, or a share of one, which Ctrl-C stops |
//! | `gathered` | a run whose trials come from other processes |
//! | `packed` | the run of a share as bytes |
//! | `stored` | a run on disk |
//! | `table` | a table as an Arrow stream |
//! | `error` | errors as exceptions of the package |
//!
//! Live paths and testbeds need privileges and real time: the package starts the program for them.
#![forbid(unsafe_code)]

mod error;
mod gathered;
mod packed;
mod resolved;
mod simulate;
mod stored;
mod table;

use mimalloc::MiMalloc;
use pyo3::prelude::*;

/// Workers of Dask set `MALLOC_TRIM_THRESHOLD_`, with which the C library gives back what a trial frees, and asks the kernel for it
/// again in the next one: a third of the time of a share. Without huge pages, which it asks for by itself: a table that is handed
/// over is new memory as a whole, and to clear it took the kernel twice as long in pages of 2 MB.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// The native part of the package.
#[pymodule]
mod _delaylab {
    #[pymodule_export]
    use super::gathered::Gathered;
    #[pymodule_export]
    use super::packed::{pack, unpack};
    #[pymodule_export]
    use super::resolved::{Resolved, catalogue, file_text, resolve};
    #[pymodule_export]
    use super::simulate::{carry_out_share, simulate};
    #[pymodule_export]
    use super::stored::Stored;
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::version;
}

/// The version of delaylab.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}
