//! What is written is read back, and the same rows are the same bytes.

use crate::harness::*;
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt32Type};
use delaylab_model::noise::{ClockReads, NoiseEvent};
use delaylab_model::record::{Outcome, Record};
use delaylab_model::rows::Rows;
use delaylab_model::unanswered::{Outage, Unanswered};
use delaylab_store::adopt::Donor;
use delaylab_store::error::StoreError;
use delaylab_store::run::{Run, State, write_batch};
use delaylab_store::trial_row::TrialRow;
use delaylab_store::verify::verify;
use delaylab_store::writer::{NewRun, RunWriter};
use serde_json::json;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn every_field_of_every_table_comes_back() {
    let runs = tempfile::tempdir().unwrap();
    let finished = write_run(runs.path(), &[2, 0, 1], 100);
    assert_eq!(finished.warnings, Vec::<String>::new());

    let run = Run::open(&finished.folder).unwrap();
    assert_eq!(run.problems(), Vec::<String>::new());
    assert_eq!(run.state(), State::Complete);
    assert_eq!(run.name(), Some("sample"));
    assert_eq!(run.world(), Some("live"));
    assert_eq!(run.started_utc(), Some("2026-11-21T13:45:00Z"));
    assert_eq!(run.experiment(), Some(EXPERIMENT));
    assert_eq!(run.environment()["kernel"], "6.1");
    assert_eq!(run.findings(), Some(&findings()));

    let all: Vec<_> = (0..3).flat_map(|trial| records(trial, 100)).collect();
    assert_eq!(read(&run, None), all);
    assert_eq!(read(&run, Some(1)), records(1, 100));
    assert_eq!(read(&run, Some(3)), []);
    assert_eq!(run.record_count(), 600);
    let events: Vec<NoiseEvent> = (0..3).flat_map(noise).collect();
    assert_eq!(run.noise(None), events);
    assert_eq!(run.noise(Some(2)), noise(2));
    let bins: Vec<ClockReads> = (0..3).flat_map(clock_reads).collect();
    assert_eq!(run.clock_reads(None), bins);
    let all: Vec<_> = (0..3).flat_map(hops).collect();
    assert_eq!(run.hops(None), all);
    assert_eq!(run.hops(Some(1)), hops(1));
    let points: Vec<_> = (0..3).flat_map(series).collect();
    assert_eq!(run.series(None), points);
    assert_eq!(run.series(Some(1)), series(1));
    assert_eq!(run.series_values(Some(1)), series_values(1));
    assert_eq!(run.transfers(Some(1)), transfers(1));
    let names: Vec<_> = run.series_names().into_iter().collect();
    let names: Vec<_> = names
        .iter()
        .map(|n| (n.trial, &*n.series, &*n.of))
        .collect();
    let of = |trial| {
        [
            (trial, "acr", "echo"),
            (trial, "backlog", "s1→s2"),
            (trial, "backlog", "s2→s1"),
        ]
    };
    assert_eq!(names, [of(0), of(1)].concat());
}

/// Written by the first format, whose records had each stamp as a time.
#[test]
fn a_run_of_the_first_format_is_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/format-1");
    let run = Run::open(&folder).unwrap();
    assert_eq!(run.environment()["run"]["format"], 1);
    assert_eq!(read(&run, None), [records(0, 20), records(1, 20)].concat());
    run.for_each_noised(Some(1), |noised| {
        assert_eq!((noised.noise_ns, noised.noise_who), noise_of(noised.record));
    });
    let some = run.records(Some(1), &["t_rx"]).next().unwrap();
    assert_eq!(names(&some), ["trial", "t_rx"]);
    assert_eq!(run.trials().len(), 4);
    assert_eq!(run.series(Some(1)), series(1));
    // A table that came later.
    assert_eq!(run.series_values(None), vec![]);
    assert_eq!(run.transfers(None), vec![]);
    assert_eq!(run.problems(), Vec::<String>::new());
}

/// Each table of a trial was a file of its own, and a trial was recorded where its rows were.
#[test]
fn a_run_that_an_older_version_began_is_read_and_resumed() {
    let runs = tempfile::tempdir().unwrap();
    let partial = begun_by_an_older_version(runs.path());
    let run = Run::open(&partial).unwrap();
    let counts = [None, Some(2)].map(|trial| read(&run, trial).len());
    assert_eq!(counts, [40, 20]);
    assert_eq!((run.trials().len(), run.hops(Some(0)).len()), (2, 40));
    let series = run.series(None);
    assert_eq!(verify(&partial).wrong, []);

    let adopting = create(runs.path());
    adopting
        .take(Donor::open(&copied(&partial, runs.path())).unwrap())
        .unwrap();
    write_trial(&adopting, 1, 10);
    let adopted = Run::open(&adopting.finish(&findings()).unwrap().folder).unwrap();
    assert_eq!(adopted.trial_count(), 3);
    assert_eq!(read(&adopted, Some(2)), read(&run, Some(2)));

    fs::write(partial.join("parts/hops-2.parquet"), "").unwrap();
    assert_eq!(verify(&partial).wrong[0].file, "parts/hops-2.parquet");
    let (writer, resumed) = RunWriter::resume(&partial).unwrap();
    assert_eq!((resumed.done.len(), resumed.damaged.len()), (1, 7));
    // Which that version would not know as recorded.
    writer.note_resumed(started(), 1, json!({})).unwrap();
    write_trial(&writer, 2, 10);
    let folder = writer.finish(&findings()).unwrap().folder;
    let run = Run::open(&folder).unwrap();
    assert_eq!(run.environment()["run"]["format"], 3);
    assert_eq!(read(&run, None).len(), 20 + 2 * 10);
    let first = series.into_iter().filter(|point| point.trial == 0);
    assert_eq!(run.series(Some(0)), first.collect::<Vec<_>>());
    assert_eq!(run.problems(), Vec::<String>::new());
}

fn copied(folder: &Path, to: &Path) -> PathBuf {
    let copy = to.join("copy.partial");
    let done = Command::new("cp")
        .arg("-r")
        .args([folder, &copy])
        .status()
        .unwrap();
    assert!(done.success());
    copy
}

#[test]
fn tables_that_a_world_does_not_have_are_not_there() {
    let runs = tempfile::tempdir().unwrap();
    let folder = write_run(runs.path(), &[2], 10).folder;
    for table in ["hops", "series", "series_values", "transfers"] {
        assert!(!folder.join(format!("{table}.parquet")).exists());
        assert!(!folder.join(format!("interrupted.{table}.arrow")).exists());
    }
    let run = Run::open(&folder).unwrap();
    assert_eq!((run.hops(None), run.series(None)), (vec![], vec![]));
    assert_eq!(run.problems(), Vec::<String>::new());
}

#[test]
fn a_simulated_trial_has_no_date() {
    let runs = tempfile::tempdir().unwrap();
    let run = create(runs.path());
    let mut simulated = row(0, 0);
    simulated.started_utc = None;
    simulated.facts.realtime_offset = 0;
    simulated.facts.simulated = Some(simulated.duration);
    let rows = [simulated];
    begin(&run, 0, 10).finish(&rows, &noise_of).unwrap();
    let run = Run::open(&run.finish(&findings()).unwrap().folder).unwrap();
    assert_eq!(run.trials(), rows);
}

#[test]
fn rows_of_trials_come_back_with_their_factors_and_figures() {
    let runs = tempfile::tempdir().unwrap();
    let finished = write_run(runs.path(), &[0, 1, 2], 1);
    let run = Run::open(&finished.folder).unwrap();
    let rows: Vec<_> = (0..3)
        .flat_map(|trial| [row(trial, 0), row(trial, 1)])
        .collect();
    assert_eq!(run.trials(), rows);
}

#[test]
fn the_noise_that_a_record_met_stands_beside_it() {
    let runs = tempfile::tempdir().unwrap();
    let finished = write_run(runs.path(), &[0], 50);
    let run = Run::open(&finished.folder).unwrap();
    let mut met = 0;
    run.for_each_noised(None, |noised| {
        assert_eq!((noised.noise_ns, noised.noise_who), noise_of(noised.record));
        met += 1;
    });
    assert_eq!(met, 100);
}

#[test]
fn what_warms_a_stream_up_does_not_count() {
    let runs = tempfile::tempdir().unwrap();
    let finished = write_run(runs.path(), &[0, 1], 30);
    let run = Run::open(&finished.folder).unwrap();
    let mut seen = vec![Vec::new(); 2];
    let of_no_row = run.scan(Some(1), |row, record| {
        assert_eq!((row.trial, row.probe), (1, record.probe));
        seen[usize::from(row.probe)].push(record.seq);
    });
    // `row` has ten packets warm up.
    let counted: Vec<u64> = (10..30).collect();
    assert_eq!((seen, of_no_row), (vec![counted.clone(), counted], 0));
}

#[test]
fn a_row_keeps_what_became_of_packets_that_were_not_answered() {
    let runs = tempfile::tempdir().unwrap();
    let run = create(runs.path());
    let mut trial = run.begin_trial(0).unwrap();
    // Of the first probe the packets from 40 on are lost, and one of those that warm it up; of the second, none.
    let records = records(0, 90).into_iter().map(|record| {
        let answered = record.probe == 1 || (record.seq != 3 && record.seq < 40);
        let (outcome, t_recv) = match answered {
            true => (Outcome::Ok, record.t_send.map(|t_send| t_send + 100)),
            false => (Outcome::Lost, None),
        };
        Record {
            outcome,
            t_recv,
            ..record
        }
    });
    trial.records(&records.collect::<Vec<_>>()).unwrap();
    let rows = [0, 1].map(|probe| {
        let mut row = row(0, probe);
        row.facts.unanswered = None;
        row
    });
    trial.finish(&rows, &noise_of).unwrap();
    let run = Run::open(&run.finish(&findings()).unwrap().folder).unwrap();
    let kept = |row: &TrialRow| row.facts.unanswered.clone();
    let outage = Outage {
        packets: 50,
        from: 30_000_000,
        to: None,
        other: 0,
    };
    let of_first = Unanswered {
        outage: Some(outage),
        refusals: Vec::new(),
    };
    let found: Vec<_> = run.trials().iter().map(kept).collect();
    assert_eq!(found, [Some(of_first), None]);
}

#[test]
fn some_columns_of_some_trials() {
    let runs = tempfile::tempdir().unwrap();
    let finished = write_run(runs.path(), &[0, 1], 10);
    let run = Run::open(&finished.folder).unwrap();
    let batches: Vec<_> = run.records(Some(1), &["seq", "noise_who"]).collect();
    let rows: usize = batches.iter().map(|batch| batch.num_rows()).sum();
    assert_eq!(rows, 20);
    assert_eq!(names(&batches[0]), ["trial", "seq", "noise_who"]);
}

#[test]
fn a_stamp_is_a_time_whichever_other_columns_are_read() {
    let runs = tempfile::tempdir().unwrap();
    let finished = write_run(runs.path(), &[0, 1], 10);
    let run = Run::open(&finished.folder).unwrap();
    let mut batches = run.records(None, &["t_rx", "t_tx_hw"]);
    let batch = batches.next().unwrap();
    assert_eq!(names(&batch), ["t_tx_hw", "t_rx"]);
    let column = |name: &str| {
        let column = batch
            .column_by_name(name)
            .unwrap()
            .as_primitive::<Int64Type>();
        column.iter().collect::<Vec<_>>()
    };
    let expected = [records(0, 10), records(1, 10)].concat();
    let all = |stamp: fn(&Record) -> Option<i64>| expected.iter().map(stamp).collect::<Vec<_>>();
    assert_eq!(column("t_rx"), all(|record| record.t_rx));
    assert_eq!(column("t_tx_hw"), all(|record| record.t_tx_hw));
    assert_eq!(batches.count(), 0);
}

#[test]
fn a_table_of_many_files_is_read_in_their_order_up_to_what_cannot_be_read() {
    let runs = tempfile::tempdir().unwrap();
    let run = create(runs.path());
    (0..9).for_each(|trial| write_trial(&run, trial, 20));
    let columns = ["trial", "seq"].map(str::to_owned);
    let read = |run: &Run| -> (Vec<u32>, Option<String>) {
        let mut trials = Vec::new();
        for batch in run.table("records", &columns).unwrap() {
            match batch {
                Ok(batch) => {
                    let column = batch["trial"].as_primitive::<UInt32Type>();
                    trials.extend(column.values());
                }
                Err(error) => return (trials, Some(error.to_string())),
            }
        }
        (trials, None)
    };
    let folder = run.folder().to_owned();
    drop(run);
    let run = Run::open(&folder).unwrap();
    let all: Vec<u32> = (0..9).flat_map(|trial| [trial; 40]).collect();
    assert_eq!(read(&run), (all.clone(), None));

    let part = folder.join("parts/trial-5.tables");
    let whole = fs::read(&part).unwrap();
    let run = Run::open(&folder).unwrap();
    fs::write(&part, [&whole[..4], &[0xff; 400], &whole[404..]].concat()).unwrap();
    let (trials, error) = read(&run);
    assert_eq!(trials, all[..5 * 40]);
    assert!(error.unwrap().contains("trial-5.tables"));
}

/// A column that has no value is there, all null and in its place; so are the stamps that are counted from one without.
#[test]
fn a_column_without_a_value_is_there() {
    let runs = tempfile::tempdir().unwrap();
    let run = create(runs.path());
    let mut trial = run.begin_trial(0).unwrap();
    let count = 20_000;
    let without = |seq| Record {
        icmp: None,
        t_tx_hw: None,
        r_tx: None,
        ..record(0, 0, seq)
    };
    let all: Vec<Record> = (0..count).map(without).collect();
    trial.records(&all).unwrap();
    trial.finish(&[row(0, 0)], &noise_of).unwrap();
    let finished = run.finish(&findings()).unwrap();
    let run = Run::open(&finished.folder).unwrap();
    let empty = ["icmp", "t_tx_hw", "r_tx"];
    for columns in [
        &[][..],
        &empty[..1],
        &empty[1..2],
        &empty,
        &["r_tx", "t_recv"],
    ] {
        let columns: Vec<String> = columns.iter().map(|name| (*name).to_owned()).collect();
        let table = run.table("records", &columns).unwrap();
        let schema = arrow_array::RecordBatchReader::schema(&table);
        let batches: Vec<RecordBatch> = table.map(Result::unwrap).collect();
        assert!(batches.iter().all(|batch| batch.schema() == schema));
        for name in empty {
            let found = batches
                .iter()
                .filter_map(|batch| batch.column_by_name(name));
            let nulls: usize = found.map(|column| column.null_count()).sum();
            let is_asked = columns.is_empty() || columns.iter().any(|column| column == name);
            assert_eq!(
                nulls as u64,
                u64::from(is_asked) * count,
                "{name} of {columns:?}"
            );
        }
        if schema.column_with_name("t_recv").is_some() {
            let received = batches
                .iter()
                .flat_map(|batch| batch["t_recv"].as_primitive::<Int64Type>());
            assert!(received.eq(all.iter().map(|record| record.t_recv)));
        }
        let mut text = Vec::new();
        write_batch(&batches[0], &mut text).unwrap();
        let lines = text.iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(lines, batches[0].num_rows() + 1, "as CSV");
    }
}

/// The columns of a batch.
fn names(batch: &RecordBatch) -> Vec<&str> {
    let fields = batch.schema_ref().fields().iter();
    fields.map(|field| field.name().as_str()).collect()
}

#[test]
fn the_same_rows_are_the_same_bytes_in_any_order_of_trials() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let one = write_run(one.path(), &[0, 1, 2], 5000).folder;
    let other = write_run(other.path(), &[2, 0, 1], 5000).folder;
    for table in [
        "records",
        "trials",
        "noise",
        "clock_reads",
        "hops",
        "series",
        "series_values",
        "transfers",
    ] {
        let file = format!("{table}.parquet");
        assert_eq!(
            fs::read(one.join(&file)).unwrap(),
            fs::read(other.join(&file)).unwrap()
        );
    }
}

#[test]
fn a_run_never_takes_the_place_of_another() {
    let runs = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..3)
        .map(|_| write_run(runs.path(), &[0], 1).folder)
        .map(|folder| folder.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    let first = "sample-20261121T134500Z";
    assert_eq!(
        names,
        [first.to_owned(), format!("{first}-2"), format!("{first}-3")]
    );
    let latest = fs::canonicalize(runs.path().join("latest")).unwrap();
    assert_eq!(
        latest,
        fs::canonicalize(runs.path().join(&names[2])).unwrap()
    );
}

#[test]
fn two_runs_at_once_have_two_folders() {
    let runs = tempfile::tempdir().unwrap();
    let (one, other) = (create(runs.path()), create(runs.path()));
    assert_ne!(one.folder(), other.folder());
    for run in [one, other] {
        write_trial(&run, 0, 1);
        run.finish(&findings()).unwrap();
    }
}

#[test]
fn runs_of_one_process_that_begin_and_end_at_once_are_all_kept() {
    let runs = tempfile::tempdir().unwrap();
    let ended: Vec<_> = std::thread::scope(|scope| {
        let begun = (0..16).map(|_| {
            scope.spawn(|| {
                let run = create(runs.path());
                write_trial(&run, 0, 1);
                run.finish(&findings()).unwrap()
            })
        });
        let begun: Vec<_> = begun.collect();
        begun.into_iter().map(|run| run.join().unwrap()).collect()
    });
    let folders: BTreeSet<_> = ended.iter().map(|ended| &ended.folder).collect();
    assert_eq!(folders.len(), 16);
    for run in &ended {
        let said = run.warnings.iter();
        assert_eq!(said.filter(|said| said.contains("latest")).count(), 0);
        assert_eq!(read(&Run::open(&run.folder).unwrap(), None), records(0, 1));
    }
    let left = fs::read_dir(runs.path()).unwrap();
    let left = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let hidden: Vec<_> = left.filter(|name| name.starts_with(".sample")).collect();
    assert_eq!(hidden, [""; 0]);
}

#[test]
fn a_name_that_another_run_got_in_the_meantime_is_not_taken() {
    let runs = tempfile::tempdir().unwrap();
    let run = create(runs.path());
    let whole = run.folder().with_extension("");
    fs::create_dir(&whole).unwrap();
    fs::write(whole.join("experiment.toml"), "another one").unwrap();
    write_trial(&run, 0, 1);
    let folder = run.finish(&findings()).unwrap().folder;
    assert_eq!(
        folder.file_name().unwrap(),
        format!("{}-2", whole.file_name().unwrap().display()).as_str()
    );
    let kept = fs::read_to_string(whole.join("experiment.toml"));
    assert_eq!(kept.unwrap(), "another one");
}

#[test]
fn two_trials_may_be_recorded_at_once() {
    let runs = tempfile::tempdir().unwrap();
    let run = create(runs.path());
    std::thread::scope(|scope| {
        for trial in [0, 1] {
            let run = &run;
            scope.spawn(move || write_trial(run, trial, 10));
        }
    });
    let folder = run.finish(&findings()).unwrap().folder;
    let run = Run::open(&folder).unwrap();
    assert_eq!(read(&run, None), [records(0, 10), records(1, 10)].concat());
}

#[test]
fn a_run_is_read_while_it_is_written() {
    let runs = tempfile::tempdir().unwrap();
    let writer = create(runs.path());
    write_trial(&writer, 0, 10);
    let mut trial = begin(&writer, 1, 10);
    trial.sync_if_due(0).unwrap();
    trial.sync_if_due(1_000_000_000).unwrap();

    let run = Run::open(writer.folder()).unwrap();
    assert_eq!(run.problems(), Vec::<String>::new());
    assert_eq!(run.state(), State::Partial);
    assert_eq!(run.findings(), None);
    assert_eq!(run.trials(), [row(0, 0), row(0, 1)]);
    assert_eq!(read(&run, Some(0)), records(0, 10));
    assert_eq!(read(&run, Some(1)), as_they_come(1, 10));
    assert_eq!(run.record_count(), 40);
}

#[test]
fn rows_wait_at_most_half_a_second() {
    let runs = tempfile::tempdir().unwrap();
    let run = create(runs.path());
    let mut trial = run.begin_trial(0).unwrap();
    let on_disk = || Run::open(run.folder()).unwrap().record_count();
    trial.sync_if_due(5_000_000_000).unwrap();
    trial.records(&[record(0, 0, 0)]).unwrap();
    trial.sync_if_due(5_499_999_999).unwrap();
    assert_eq!(on_disk(), 0);
    trial.sync_if_due(5_500_000_000).unwrap();
    assert_eq!(on_disk(), 1);
}

#[test]
fn the_noise_so_far_is_in_order() {
    let runs = tempfile::tempdir().unwrap();
    let run = create(runs.path());
    let mut trial = run.begin_trial(0).unwrap();
    let mut events = noise(0);
    events.reverse();
    trial.rows(Rows::Noise(&events)).unwrap();
    assert_eq!(trial.noise_so_far().unwrap(), noise(0));
}

#[test]
fn a_trial_is_recorded_once() {
    let runs = tempfile::tempdir().unwrap();
    let run = create(runs.path());
    write_trial(&run, 3, 1);
    let again = run.begin_trial(3).map(drop);
    assert!(matches!(again, Err(StoreError::Recorded { trial: 3, .. })));
}

#[test]
fn a_trial_that_fails_leaves_its_rows_apart() {
    let runs = tempfile::tempdir().unwrap();
    let run = create(runs.path());
    write_trial(&run, 0, 10);
    drop(begin(&run, 1, 10));
    let folder = run.finish(&findings()).unwrap().folder;
    let run = Run::open(&folder).unwrap();
    assert_eq!(read(&run, None), records(0, 10));
    let mut apart = Vec::new();
    run.for_each_interrupted(|record| apart.push(*record));
    assert_eq!(apart, as_they_come(1, 10));
    assert!(folder.join("interrupted.noise.arrow").exists());
}

#[test]
fn a_name_that_would_lead_elsewhere_is_refused() {
    let runs = tempfile::tempdir().unwrap();
    for name in ["", "..", "a/b", ".hidden", "a b"] {
        let new = NewRun {
            name,
            world: "live",
            started: Some(started()),
            experiment: EXPERIMENT,
            environment: &json!({}),
        };
        let refused = RunWriter::create(runs.path(), &new);
        assert!(matches!(refused, Err(StoreError::Name { .. })), "{name}");
    }
    assert_eq!(fs::read_dir(runs.path()).unwrap().count(), 0);
}

#[test]
fn two_columns_of_one_name_are_refused_before_anything_is_lost() {
    let runs = tempfile::tempdir().unwrap();
    let run = create(runs.path());
    let mut clash = row(0, 0);
    clash.figures.push(("seed".to_owned(), None));
    let refused = begin(&run, 0, 10).finish(&[clash], &noise_of);
    assert!(
        matches!(refused, Err(StoreError::Table { .. })),
        "{refused:?}"
    );
    assert_eq!(read(&Run::open(run.folder()).unwrap(), None).len(), 20);
    // The run may go on without that trial.
    write_trial(&run, 1, 10);
    let run = Run::open(&run.finish(&findings()).unwrap().folder).unwrap();
    assert_eq!(read(&run, None), records(1, 10));
    let mut apart = 0;
    run.for_each_interrupted(|_| apart += 1);
    assert_eq!(apart, 20);
}

#[test]
fn a_trial_that_is_known_is_read_back_as_one_that_was_recorded() {
    // Few rows are copied into their table, many become it as they are.
    for count in [50, 5_000] {
        let runs = tempfile::tempdir().unwrap();
        let run = create(runs.path());
        let all = records(0, count);
        let mut trial = run.known_trial(0, all.len() as u64).unwrap();
        all.chunks(999)
            .for_each(|some| trial.records(some).unwrap());
        let mut points = series(0);
        points.reverse();
        trial.finish(&[row(0, 0), row(0, 1)], &points).unwrap();
        let again = run.known_trial(0, 1).map(drop);
        assert!(matches!(again, Err(StoreError::Recorded { .. })));
        let folder = run.finish(&findings()).unwrap().folder;
        let run = Run::open(&folder).unwrap();
        assert_eq!(run.problems(), Vec::<String>::new());
        assert_eq!(run.state(), State::Complete);
        assert_eq!(read(&run, None), all);
        assert_eq!(run.series(None), series(0));
        assert_eq!(run.trials(), [row(0, 0), row(0, 1)]);
        assert!(!folder.join("parts").exists());
    }
}

#[test]
fn a_known_trial_is_written_in_order_or_not_at_all() {
    let runs = tempfile::tempdir().unwrap();
    let run = create(runs.path());
    let mut trial = run.known_trial(0, 2).unwrap();
    let refused = trial.records(&[record(0, 0, 1), record(0, 0, 0)]);
    assert!(
        refused
            .unwrap_err()
            .to_string()
            .contains("packet 0 of probe 0")
    );
    drop(trial);
    assert_eq!(Run::open(run.folder()).unwrap().record_count(), 0);
}

/// What processes of a sweep had recorded goes with it: a run that is resumed begins those trials anew.
#[test]
fn what_a_killed_process_was_to_take_over_is_removed_when_its_run_is_resumed() {
    let runs = tempfile::tempdir().unwrap();
    let run = create(runs.path());
    let partial = run.folder().to_owned();
    let share = partial.join(".shares-a.unfinished");
    fs::create_dir(&share).unwrap();
    fs::write(share.join("records-0.parquet"), "0").unwrap();
    fs::write(partial.join("findings.json.unfinished"), "0").unwrap();
    drop(run);
    RunWriter::resume(&partial).unwrap();
    let left = fs::read_dir(&partial).unwrap();
    let left = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(!left.into_iter().any(|name| name.ends_with("unfinished")));
}

/// Joining that was stopped when the only part had become the table is done again.
#[test]
fn a_part_that_became_the_table_before_a_stop_still_is_it() {
    let runs = tempfile::tempdir().unwrap();
    let run = create(runs.path());
    write_trial(&run, 0, 9_000);
    let part = run.folder().join("parts/records-0.parquet");
    fs::hard_link(part, run.folder().join("records.parquet")).unwrap();
    let folder = run.finish(&findings()).unwrap().folder;
    assert_eq!(read(&Run::open(&folder).unwrap(), None), records(0, 9_000));
    let left = fs::read_dir(&folder).unwrap();
    let left = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let left: Vec<String> = left.filter(|name| name.contains("unfinished")).collect();
    assert_eq!(left, Vec::<String>::new());
}
