#![allow(clippy::unwrap_used)]

use super::*;
use crate::disk::RealDisk;
use std::fs;

fn written(folder: &Path) -> Manifest {
    let mut manifest = Manifest::new();
    for (name, text) in [("experiment.toml", "a = 1\n"), ("records.parquet", "rows")] {
        fs::write(folder.join(name), text).unwrap();
        let facts = FileFacts::of_file(&folder.join(name)).unwrap();
        manifest.add(Path::new(name), facts.with_rows(2));
    }
    manifest
        .clone()
        .write(&*RealDisk::shared(), &folder.join(MANIFEST))
        .unwrap();
    manifest
}

#[test]
fn what_was_written_is_read_and_matches() {
    let folder = tempfile::tempdir().unwrap();
    let manifest = written(folder.path());
    let read = Manifest::read(&folder.path().join(MANIFEST))
        .unwrap()
        .unwrap();
    assert_eq!(read.files, manifest.files);
    assert_eq!(read.mismatches(folder.path()).count(), 0);
}

/// As `sha256sum` has it.
#[test]
fn digests_are_those_of_the_standard() {
    let empty = FileFacts::of_bytes(b"");
    let known = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(empty.sha256, known);
}

#[test]
fn every_bit_of_a_manifest_matters_or_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let manifest = written(folder.path());
    let path = folder.path().join(MANIFEST);
    let bytes = fs::read(&path).unwrap();
    let mut refused = 0;
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        fs::write(&path, flipped).unwrap();
        match Manifest::read(&path) {
            Err(_) => refused += 1,
            Ok(read) => assert_eq!(read.unwrap().files, manifest.files, "bit {bit}"),
        }
    }
    assert!(refused > bytes.len() * 7);
}

#[test]
fn what_is_wrong_is_said_by_file() {
    let folder = tempfile::tempdir().unwrap();
    let manifest = written(folder.path());
    let said = |name| manifest.mismatch(folder.path(), name).unwrap().to_string();
    fs::write(folder.path().join("records.parquet"), "rowt").unwrap();
    assert!(said("records.parquet").starts_with("records.parquet: its content has changed"));
    fs::write(folder.path().join("records.parquet"), "ro").unwrap();
    assert_eq!(
        said("records.parquet"),
        "records.parquet: has 2 bytes of 4 that were recorded"
    );
    fs::remove_file(folder.path().join("experiment.toml")).unwrap();
    assert_eq!(said("experiment.toml"), "experiment.toml: missing");
    std::os::unix::fs::symlink("/dev/zero", folder.path().join("experiment.toml")).unwrap();
    assert!(said("experiment.toml").contains("a link"));
}
