//! Files of the source tree as seeds.

use std::fs;
use std::path::{Path, PathBuf};

/// The bytes of every file of a folder, in the order of their names. `folder` is from the root of the tree.
pub(crate) fn files(folder: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(folder);
    let entries =
        fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let read = |path: PathBuf| {
        fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    paths.into_iter().map(read).collect()
}
