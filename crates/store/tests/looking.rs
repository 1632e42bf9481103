//! What the server of runs reads: some rows of a table, a table as CSV, a run in progress as it grows.

use crate::harness::*;
use arrow_array::RecordBatchReader;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_schema::DataType;
use bytes::Bytes;
use delaylab_model::SECOND;
use delaylab_model::record::Record;
use delaylab_store::run::tail::{Tail, TailEvent};
use delaylab_store::run::{Run, write_batch};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::fs;
use std::path::Path;

#[test]
fn every_record_of_a_running_trial_is_handed_over_once() {
    let runs = tempfile::tempdir().unwrap();
    let run = create(runs.path());
    let mut tail = Tail::new(run.folder());
    let mut look = |expected: &[u32]| {
        let mut seen = Vec::new();
        let push = |event: TailEvent<'_>| match event {
            TailEvent::Began(trial) => assert_eq!(trial, 0),
            TailEvent::Record(record) => seen.push(*record),
        };
        assert_eq!(tail.read(push).unwrap(), expected);
        seen
    };
    assert_eq!(look(&[]), []);
    let all = as_they_come(0, 10_000);
    let (first, rest) = all.split_at(700);
    let mut trial = run.begin_trial(0).unwrap();
    let mut now = SECOND;
    let mut add = |records: &[_]| {
        trial.sync_if_due(now).unwrap();
        trial.records(records).unwrap();
        now += SECOND;
        trial.sync_if_due(now).unwrap();
    };
    add(first);
    assert_eq!(look(&[0]), first);
    assert_eq!(look(&[0]), []);
    add(rest);
    assert_eq!(look(&[0]), rest);
    trial.finish(&[row(0, 0), row(0, 1)], &noise_of).unwrap();
    assert_eq!(look(&[]), []);
    let finished = run.finish(&findings()).unwrap();
    assert!(finished.folder.exists());
    assert!(tail.read(|_| {}).is_err(), "the folder has its name by now");
}

#[test]
fn every_table_can_be_had_as_text() {
    let runs = tempfile::tempdir().unwrap();
    let finished = write_run(runs.path(), &[0, 1], 100);
    let run = Run::open(&finished.folder).unwrap();
    let tables = [
        "trials",
        "records",
        "noise",
        "clock_reads",
        "hops",
        "series",
        "series_values",
        "transfers",
    ];
    assert_eq!(run.tables(), tables);
    for table in tables {
        let mut text = Vec::new();
        run.write_csv(table, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let heads = text.lines().next().unwrap().split(',').count();
        assert!(heads > 3 && text.lines().count() > 2, "{table}: {text}");
        assert!(run.table_file(table).unwrap().exists());
    }
    let mut text = Vec::new();
    assert!(run.write_csv("../experiment", &mut text).is_err());
    assert_eq!(run.table_file("../experiment"), None);
    run.write_csv("records", &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert_eq!(text.lines().count(), 401);
    insta::assert_snapshot!(text.lines().take(4).collect::<Vec<_>>().join("\n"));
}

/// The file in the run's folder has stamps as differences; one that is asked for has what the text has.
#[test]
fn a_table_as_parquet_is_the_same_as_text() {
    let runs = tempfile::tempdir().unwrap();
    let under_way = create(runs.path());
    write_trial(&under_way, 0, 100);
    let mut trial = under_way.begin_trial(1).unwrap();
    trial.records(&as_they_come(1, 100)).unwrap();
    trial.sync_if_due(SECOND).unwrap();
    let finished = write_run(runs.path(), &[0, 1], 100).folder;
    for folder in [under_way.folder(), &finished] {
        let run = Run::open(folder).unwrap();
        for table in run.tables() {
            let mut text = Vec::new();
            run.write_csv(table, &mut text).unwrap();
            assert_eq!(as_text(&run, table), String::from_utf8(text).unwrap());
        }
    }
    let run = Run::open(&finished).unwrap();
    assert!(run.write_parquet("../experiment", Vec::new()).is_err());
}

/// The file in the run's folder has every figure as a fraction.
#[test]
fn counts_and_times_of_a_trial_are_integers() {
    let runs = tempfile::tempdir().unwrap();
    let finished = write_run(runs.path(), &[0, 1], 100);
    let run = Run::open(&finished.folder).unwrap();
    let trials = run.table("trials", &[]).unwrap();
    let schema = trials.schema();
    let type_of = |name: &str| schema.field_with_name(name).unwrap().data_type().clone();
    assert_eq!(type_of("sent"), DataType::Int64);
    assert_eq!(type_of("response_mean_ns"), DataType::Float64);
    let sent = trials.map(|batch| {
        batch.unwrap()["sent"]
            .as_primitive::<Int64Type>()
            .values()
            .to_vec()
    });
    assert_eq!(sent.flatten().collect::<Vec<_>>(), [1, 1, 1, 1]);
}

/// What the table's Parquet file holds.
fn as_text(run: &Run, table: &str) -> String {
    let mut file = Vec::new();
    run.write_parquet(table, &mut file).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(file)).unwrap();
    let mut batches = reader.with_batch_size(1 << 20).build().unwrap();
    let all = batches.next().unwrap().unwrap();
    assert!(batches.next().is_none());
    let mut text = Vec::new();
    write_batch(&all, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// Whatever was read before, of this trial or another, with these columns or others.
#[test]
fn a_trial_has_its_rows_in_whatever_order_trials_are_read() {
    let runs = tempfile::tempdir().unwrap();
    let finished = write_run(runs.path(), &[0, 1, 2], 100);
    let run = Run::open(&finished.folder).unwrap();
    let all = read(&run, None);
    for trial in [1, 1, 0, 2, 1] {
        let few: usize = run
            .records(Some(trial), &["seq"])
            .map(|batch| batch.num_rows())
            .sum();
        let expected: Vec<_> = all
            .iter()
            .filter(|record| record.trial == trial)
            .copied()
            .collect();
        assert_eq!(read(&run, Some(trial)), expected, "{trial}");
        assert_eq!(few, expected.len(), "{trial}");
        let hops = run.hops(None).into_iter().filter(|hop| hop.trial == trial);
        assert_eq!(run.hops(Some(trial)), hops.collect::<Vec<_>>(), "{trial}");
    }
    assert_eq!(read(&run, Some(3)), []);
}

/// A run under way has a file for each trial, and more of them than a process may hold open.
#[test]
fn the_parts_of_a_run_are_opened_one_after_the_other() {
    const TRIALS: u32 = 9;
    let runs = tempfile::tempdir().unwrap();
    let writer = create(runs.path());
    for number in 0..TRIALS {
        let mut trial = writer.begin_trial(number).unwrap();
        trial.records(&as_they_come(number, 100)).unwrap();
        let rows = [row(number, 0), row(number, 1)];
        trial.finish(&rows, &noise_of).unwrap();
    }
    let run = Run::open(writer.folder()).unwrap();
    assert_eq!(run.problems(), [] as [String; 0]);
    let mut rows = 0;
    for batch in run.records(None, &[]) {
        rows += batch.num_rows() as u64;
        let open = open_files_in(run.folder());
        assert!(open <= 2, "{open} files are open at once");
    }
    assert_eq!(rows, run.record_count());
    let last = run.record_count() - 150;
    let mut some = 0;
    run.for_each_record_in(150..last, &["seq"], |_| {
        some += 1;
        assert!(some % 100 > 0 || open_files_in(run.folder()) <= 2);
    });
    assert_eq!(some, last - 150);
}

/// Also of a table that is read without its run, some parts ahead: what is wrong with one is an error when its turn comes.
#[test]
fn the_parts_of_a_table_are_opened_one_after_the_other() {
    let runs = tempfile::tempdir().unwrap();
    let writer = create(runs.path());
    // So many that they have a file of their own, of which only the first is opened at once.
    (0..3).for_each(|trial| write_trial(&writer, trial, 9_000));
    let run = Run::open(writer.folder()).unwrap();
    fs::remove_file(writer.folder().join("parts/records-2.parquet")).unwrap();
    let mut table = run.table("records", &[]).unwrap();
    let mut rows = 0;
    let why = loop {
        match table.next().unwrap() {
            Ok(batch) => rows += batch.num_rows(),
            Err(why) => break why.to_string(),
        }
    };
    assert_eq!(rows, 2 * 2 * 9_000);
    assert!(why.contains("records-2.parquet: missing"), "{why}");
}

/// A run under way may end at any moment, and its folder has another name then.
#[test]
fn what_is_gone_since_a_run_was_opened_is_an_error_and_not_no_rows() {
    let runs = tempfile::tempdir().unwrap();
    let begin = || {
        let writer = create(runs.path());
        // So many that they have a file of their own.
        write_trial(&writer, 0, 9_000);
        let run = Run::open(writer.folder()).unwrap();
        assert_eq!(read(&run, Some(0)).len(), 2 * 9_000);
        (writer, run)
    };
    let refused = |run: &Run, file: &str| {
        let why = run.table("records", &[]).err().unwrap().to_string();
        assert!(why.contains(file), "{why}");
        assert_eq!(read(run, None), []);
        assert_eq!(read(run, Some(0)), []);
        assert!(run.damage().unwrap().contains(file));
    };
    let (writer, run) = begin();
    writer.finish(&findings()).unwrap();
    refused(&run, "parts: gone since the run was opened");
    let (writer, run) = begin();
    fs::remove_file(writer.folder().join("parts/trial-0.tables")).unwrap();
    refused(&run, "parts: gone since the run was opened");
    let (writer, run) = begin();
    fs::remove_file(writer.folder().join("parts/records-0.parquet")).unwrap();
    refused(&run, "records-0.parquet: missing");
    let writer = create(runs.path());
    let _trial = writer.begin_trial(0).unwrap();
    let run = Run::open(writer.folder()).unwrap();
    assert_eq!(run.table("records", &[]).unwrap().count(), 0);
    fs::remove_dir_all(writer.folder()).unwrap();
    refused(&run, "parts: gone since the run was opened");
}

/// How many files of a folder this process holds open.
fn open_files_in(folder: &Path) -> usize {
    let descriptors = fs::read_dir("/proc/self/fd").unwrap();
    let files = descriptors.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    files.filter(|file| file.starts_with(folder)).count()
}

#[test]
fn some_rows_are_those_of_all() {
    let runs = tempfile::tempdir().unwrap();
    let finished = write_run(runs.path(), &[0, 1, 2], 100);
    let run = Run::open(&finished.folder).unwrap();
    let columns = ["trial", "probe", "seq", "t_intended", "t_recv"];
    let key = |record: &Record| {
        (
            record.trial,
            record.probe,
            record.seq,
            record.t_intended,
            record.t_recv,
        )
    };
    let all: Vec<_> = read(&run, None).iter().map(key).collect();
    assert_eq!(all.len(), 600);
    let config = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(40)
    };
    let ranges = (0_u64..700, 0_u64..700);
    let checked = TestRunner::new(config).run(&ranges, |(from, length)| {
        let mut found = Vec::new();
        run.for_each_record_in(from..from + length, &columns, |record| {
            found.push(key(record));
        });
        let expected = all.iter().skip(from as usize).take(length as usize);
        prop_assert_eq!(found, expected.copied().collect::<Vec<_>>());
        Ok(())
    });
    checked.unwrap();
}
