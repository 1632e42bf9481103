//! Tables of a run, each read as every other, too.

use crate::stored::Stored;
use crate::tree;

/// Checks one input.
pub fn check(data: &[u8]) {
    for name in ["records.parquet", "trials.parquet", "series.parquet"] {
        let stored = Stored::sample("sample");
        stored.put(name, data);
        stored.read();
    }
}

/// Valid inputs: the tables of a run.
pub fn seeds() -> Vec<Vec<u8>> {
    let files = tree::files("crates/store/tests/format-1").into_iter();
    files.filter(|bytes| bytes.starts_with(b"PAR1")).collect()
}
