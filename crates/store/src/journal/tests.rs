#![allow(clippy::unwrap_used)]

use super::*;
use crate::disk::RealDisk;
use delaylab_model::method::Method;
use delaylab_model::record::Record;
use std::fs::OpenOptions;

/// A journal in a folder of its own.
fn journal() -> (tempfile::TempDir, Journal<Record>) {
    let folder = tempfile::tempdir().unwrap();
    let journal = journal_in(folder.path(), Journaling::AsTheyCome);
    (folder, journal)
}

fn journal_in(folder: &Path, when: Journaling) -> Journal<Record> {
    Journal::create(&RealDisk::shared(), folder.join("trial-0.arrow"), when).unwrap()
}

fn records(numbers: std::ops::Range<u64>) -> Vec<Record> {
    numbers
        .map(|seq| Record::due(0, 0, seq, Method::Udp, seq as i64))
        .collect()
}

fn read(path: &Path) -> Vec<u64> {
    let mut all = Vec::new();
    let mut rows: Vec<Record> = Vec::new();
    for batch in JournalReader::open(path).unwrap() {
        table::read_into(&batch.unwrap(), &mut rows).unwrap();
        all.extend(rows.iter().map(|row| row.seq));
    }
    all
}

/// A file that cannot be written to.
fn read_only(path: &Path) -> Box<dyn DiskFile> {
    Box::new(File::open(path).unwrap())
}

/// The same file, writable again.
fn writable(path: &Path) -> Box<dyn DiskFile> {
    Box::new(OpenOptions::new().write(true).open(path).unwrap())
}

#[test]
fn rows_of_a_first_write_that_fails_are_there_after_the_next() {
    let (_folder, mut journal) = journal();
    let path = journal.path().to_owned();
    journal.file = Some(read_only(&path));
    journal.push(&records(0..10)).unwrap();
    assert!(journal.flush().is_err());
    assert!(journal.flush().is_err(), "it fails until it is written");
    journal.file = Some(writable(&path));
    journal.push(&records(10..20)).unwrap();
    journal.sync().unwrap();
    assert_eq!(read(&path), (0..20).collect::<Vec<_>>());
}

#[test]
fn rows_of_a_later_write_that_fails_are_there_once() {
    let (_folder, mut journal) = journal();
    let path = journal.path().to_owned();
    journal.push(&records(0..10)).unwrap();
    journal.sync().unwrap();
    journal.file = Some(read_only(&path));
    journal.push(&records(10..20)).unwrap();
    assert!(journal.sync().is_err());
    assert_eq!(read(&path), (0..10).collect::<Vec<_>>());
    journal.file = Some(writable(&path));
    drop(journal);
    assert_eq!(read(&path), (0..20).collect::<Vec<_>>());
}

#[test]
fn what_a_torn_write_left_is_written_over() {
    let (_folder, mut journal) = journal();
    let path = journal.path().to_owned();
    journal.push(&records(0..10)).unwrap();
    journal.file = Some(read_only(&path));
    assert!(journal.flush().is_err());
    // As where the disk took some of it, and the file could not be cut.
    std::fs::write(&path, vec![0xff; 300]).unwrap();
    journal.file = Some(writable(&path));
    journal.flush().unwrap();
    assert_eq!(read(&path), (0..10).collect::<Vec<_>>());
}

/// From places so far apart, and nearer by where one write ends and the next begins.
fn zeros_in_place_of_rows_are_no_rows(apart: usize) {
    let (_folder, mut journal) = journal();
    let path = journal.path().to_owned();
    let mut ends = Vec::new();
    for numbers in [1..11, 11..21] {
        journal.push(&records(numbers)).unwrap();
        journal.sync().unwrap();
        ends.push(std::fs::metadata(&path).unwrap().len() as usize);
    }
    let whole = std::fs::read(&path).unwrap();
    let all: Vec<u64> = (1..21).collect();
    assert_eq!(read(&path), all);
    let expected = records(1..21);
    let is_border = |from: usize| ends.iter().any(|end| from.abs_diff(*end) <= 64);
    for from in (0..whole.len()).step_by(8) {
        if !from.is_multiple_of(apart) && !is_border(from) {
            continue;
        }
        for to in [whole.len(), (from + 512).min(whole.len())] {
            let mut torn = whole.clone();
            torn[from..to].fill(0);
            std::fs::write(&path, &torn).unwrap();
            let found = whole_rows(&path);
            assert_eq!(found, expected[..found.len()], "{from}..{to}");
        }
    }
}

#[test]
fn zeros_that_a_power_cut_left_in_place_of_rows_are_no_rows() {
    zeros_in_place_of_rows_are_no_rows(40);
}

/// From everywhere, in `make test-all`.
mod long {
    #[test]
    fn zeros_that_a_power_cut_left_anywhere_are_no_rows() {
        super::zeros_in_place_of_rows_are_no_rows(8);
    }
}

/// The rows up to where the file is torn.
fn whole_rows(path: &Path) -> Vec<Record> {
    let mut all = Vec::new();
    let mut rows: Vec<Record> = Vec::new();
    for batch in JournalReader::open(path).unwrap().map_while(Result::ok) {
        if table::read_into(&batch, &mut rows).is_ok() {
            all.append(&mut rows);
        }
    }
    all
}

#[test]
fn few_rows_of_a_repeatable_trial_are_on_disk_only_where_it_breaks_off() {
    let folder = tempfile::tempdir().unwrap();
    let all = |journal: &mut Journal<Record>| {
        let mut all = Vec::new();
        let visited = journal.each_batch(|rows| {
            all.extend(rows.iter().map(|row| row.seq));
            Ok(())
        });
        visited.unwrap();
        all
    };
    let mut journal = journal_in(folder.path(), Journaling::WhenMany);
    let path = journal.path().to_owned();
    journal.push(&records(0..10)).unwrap();
    journal.sync_if_due(0).unwrap();
    journal.sync_if_due(10 * SYNC_EVERY).unwrap();
    assert_eq!(all(&mut journal), (0..10).collect::<Vec<_>>());
    assert!(!path.exists(), "few rows are in memory");
    drop(journal);
    assert_eq!(read(&path), (0..10).collect::<Vec<_>>());
    std::fs::remove_file(&path).unwrap();

    let mut journal = journal_in(folder.path(), Journaling::WhenMany);
    journal.push(&records(0..10_000)).unwrap();
    assert!(path.exists(), "many are not");
    assert_eq!(all(&mut journal), (0..10_000).collect::<Vec<_>>());
    journal.remove().unwrap();
    drop(journal);
    assert!(
        !path.exists(),
        "rows that are elsewhere are not written again"
    );
}
