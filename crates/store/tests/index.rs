//! The index of runs, and which run a word means.

use crate::harness::*;
use delaylab_model::SECOND;
use delaylab_store::index::{Entry, Index, Partial};
use delaylab_store::overview::Overview;
use delaylab_store::resolve::{latest_in, resolve_interrupted, resolve_run};
use delaylab_store::run::Run;
use delaylab_store::writer::{NewRun, RunWriter};
use rusqlite::Connection;
use serde_json::json;
use std::fs;
use std::path::Path;
use std::time::SystemTime;

const FIRST: &str = "sample-20261121T134500Z";

/// What came of each is another test's.
fn list(runs: &Path) -> Vec<Entry> {
    let entries = Index::open(runs).unwrap().list().unwrap();
    let plain = |entry: Entry| Entry {
        overview: Overview::default(),
        ..entry
    };
    entries.into_iter().map(plain).collect()
}

#[test]
fn the_index_says_what_came_of_a_run() {
    let runs = tempfile::tempdir().unwrap();
    write_run(runs.path(), &[0, 1], 10);
    let listed = || Index::open(runs.path()).unwrap().list().unwrap();
    let first = &listed()[0].overview;
    let run = Run::open(&runs.path().join(FIRST)).unwrap();
    let sum = |name: &str| -> f64 {
        let figures = run.trials().iter().flat_map(|row| &row.figures);
        let values = figures.filter(|(known, _)| known == name);
        values.filter_map(|(_, value)| *value).sum()
    };
    assert_eq!(first.sent as f64, sum("sent"));
    assert_eq!(first.lost as f64, sum("lost"));
    assert_eq!(
        first.verdicts.values().sum::<u64>(),
        findings().as_array().unwrap().len() as u64
    );
    // From the index alone, the same.
    assert_eq!(listed()[0].overview, *first);
}

#[test]
fn a_simulation_that_is_the_same_again_counts_once() {
    let runs = tempfile::tempdir().unwrap();
    let run = create(runs.path());
    for trial in [0, 1, 2] {
        let rows = [row(trial, 0), row(trial, 1)].map(|mut row| {
            row.facts.trace_hash = Some(7);
            row
        });
        begin(&run, trial, 3).finish(&rows, &noise_of).unwrap();
    }
    run.finish(&findings()).unwrap();
    let entries = Index::open(runs.path()).unwrap().list().unwrap();
    assert_eq!(entries[0].overview.sent, 2);
}

fn entry(folder: &str, partial: Option<Partial>, trials: u64, records: u64) -> Entry {
    Entry {
        folder: folder.to_owned(),
        name: Some("sample".to_owned()),
        world: Some("live".to_owned()),
        started_utc: Some("2026-11-21T13:45:00Z".to_owned()),
        partial,
        trials,
        records,
        damage: None,
        overview: Overview::default(),
    }
}

#[test]
fn the_index_follows_the_folders() {
    let runs = tempfile::tempdir().unwrap();
    write_run(runs.path(), &[0, 1], 10);
    assert_eq!(list(runs.path()), [entry(FIRST, None, 2, 40)]);

    let second = format!("{FIRST}-2");
    let partial = format!("{second}.partial");
    let writer = create(runs.path());
    write_trial(&writer, 0, 3);
    let entries = list(runs.path());
    let going = Some(Partial::InProgress);
    assert_eq!(entries[1], entry(&partial, going, 1, 6));
    write_trial(&writer, 1, 3);
    assert_eq!(list(runs.path())[1].records, 12);

    writer.finish(&findings()).unwrap();
    assert_eq!(list(runs.path())[1], entry(&second, None, 2, 12));
    fs::remove_dir_all(runs.path().join(FIRST)).unwrap();
    assert_eq!(list(runs.path()).len(), 1);

    // Its process ended before it did.
    drop(create(runs.path()));
    let entries = list(runs.path());
    let is_left = |entry: &Entry| entry.partial == Some(Partial::Interrupted);
    assert!(entries.iter().any(is_left), "{entries:?}");
}

#[test]
fn a_missing_or_broken_index_is_made_anew() {
    let runs = tempfile::tempdir().unwrap();
    write_run(runs.path(), &[0], 10);
    let good = list(runs.path());
    let path = runs.path().join(".index.sqlite");
    let whole = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    assert_eq!(list(runs.path()), good);
    for broken in [
        &b"not a database"[..],
        &whole[..whole.len() / 2],
        &whole[..100],
        &[0; 9000],
    ] {
        fs::write(&path, broken).unwrap();
        assert_eq!(list(runs.path()), good);
    }
    // A sector that was not written when the power failed.
    for sector in (0..whole.len()).step_by(512) {
        let mut torn = whole.clone();
        torn[sector..sector + 512].fill(0);
        fs::write(&path, &torn).unwrap();
        assert_eq!(list(runs.path()), good);
        assert!(is_whole(&path), "{sector}");
    }
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(list(runs.path()), good);
}

fn is_whole(index: &Path) -> bool {
    let database = Connection::open(index).unwrap();
    let found = database.query_row("PRAGMA quick_check", [], |row| row.get::<_, String>(0));
    found.unwrap() == "ok"
}

#[test]
fn of_a_run_in_progress_only_what_is_new_is_written() {
    let runs = tempfile::tempdir().unwrap();
    let writer = create(runs.path());
    write_trial(&writer, 0, 3);
    let index = Index::open(runs.path()).unwrap();
    let file = runs.path().join(".index.sqlite");
    let written = || fs::metadata(&file).unwrap().modified().unwrap();
    let long_ago = SystemTime::UNIX_EPOCH;
    let opened = fs::File::options().write(true).open(&file).unwrap();
    opened.set_modified(long_ago).unwrap();
    let index = index.again().unwrap();
    assert_eq!(written(), long_ago);
    write_trial(&writer, 1, 3);
    let index = index.again().unwrap();
    assert_eq!(index.list().unwrap()[0].records, 12);
    assert!(written() > long_ago);
}

/// A journal may be as long as a disk, and who measures on this host is not to be disturbed by its list.
#[test]
fn of_trials_under_way_nothing_is_read() {
    let runs = tempfile::tempdir().unwrap();
    let writer = create(runs.path());
    write_trial(&writer, 0, 3);
    let mut trial = begin(&writer, 1, 50);
    for now in [SECOND, 3 * SECOND] {
        trial.sync_if_due(now).unwrap();
    }
    let run = Run::open(writer.folder()).unwrap();
    assert_eq!(run.record_count(), 6 + 100);
    assert_eq!(list(runs.path())[0].records, 6);
}

#[test]
fn a_run_in_progress_that_has_not_changed_is_not_looked_at_again() {
    let runs = tempfile::tempdir().unwrap();
    let writer = create(runs.path());
    write_trial(&writer, 0, 3);
    let folder = writer.folder().to_owned();
    let environment = folder.join("environment.json");
    let text = fs::read_to_string(&environment).unwrap();
    // Its folder says nothing of this change, which shows whether the file is read.
    let call = |name: &str| {
        let other = text.replace("\"sample\"", &format!("\"{name}\""));
        assert_ne!(other, text);
        fs::write(&environment, other).unwrap();
    };
    let said = |index: &Index| {
        let entry = index.list().unwrap().remove(0);
        (entry.name.unwrap_or_default(), entry.partial)
    };
    let expected = |name: &str, partial| (name.to_owned(), Some(partial));
    let index = Index::open(runs.path()).unwrap();
    // Another trial may end at the time that is that of the last one as far as the file system tells.
    call("second");
    let index = index.again().unwrap();
    assert_eq!(said(&index), expected("second", Partial::InProgress));
    for folder in [folder.join("parts"), folder.clone()] {
        let folder = fs::File::open(folder).unwrap();
        folder.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    }
    let index = index.again().unwrap();
    call("third");
    let index = index.again().unwrap();
    assert_eq!(said(&index), expected("second", Partial::InProgress));
    // Its process ends, and no file says so.
    drop(writer);
    let index = index.again().unwrap();
    assert_eq!(said(&index), expected("third", Partial::Interrupted));
    call("fourth");
    let index = index.again().unwrap();
    assert_eq!(said(&index), expected("third", Partial::Interrupted));
}

#[test]
fn a_shard_that_was_killed_is_interrupted() {
    let runs = tempfile::tempdir().unwrap();
    let new = NewRun {
        name: "sample-shard-1-of-2",
        world: "sim",
        started: Some(started()),
        experiment: EXPERIMENT,
        environment: &json!({ "shard": "1/2", "shard_trials": 2 }),
    };
    for (trials, partial) in [(1, Partial::Interrupted), (2, Partial::Shard)] {
        let writer = RunWriter::create(runs.path(), &new).unwrap();
        (0..trials).for_each(|trial| write_trial(&writer, trial, 3));
        drop(writer);
        let entry = list(runs.path()).pop().unwrap();
        assert_eq!(entry.partial, Some(partial), "{trials} trials of 2");
    }
}

/// A run with a file that is not what was recorded has no verdicts, losses and delays in the list.
#[test]
fn a_changed_or_missing_file_is_said_of_its_run() {
    let runs = tempfile::tempdir().unwrap();
    let run = write_run(runs.path(), &[0, 1], 10).folder;
    type Harm = fn(&Path);
    let harms: [(&str, Harm); 3] = [
        ("findings.json", |path| {
            let text = fs::read_to_string(path).unwrap();
            fs::write(path, text.replace("holds", "false")).unwrap();
        }),
        ("trials.parquet", |path| {
            let bytes: Vec<u8> = fs::read(path).unwrap().into_iter().rev().collect();
            fs::write(path, bytes).unwrap();
        }),
        ("records.parquet", |path| fs::remove_file(path).unwrap()),
    ];
    for (file, harm) in harms {
        let path = run.join(file);
        let whole = fs::read(&path).unwrap();
        harm(&path);
        fs::remove_file(runs.path().join(".index.sqlite")).unwrap();
        let listed = Index::open(runs.path()).unwrap().list().unwrap();
        let damage = listed[0].damage.as_deref().unwrap_or_default();
        assert!(damage.starts_with(file), "{file}: {damage}");
        assert_eq!(listed[0].name.as_deref(), Some("sample"));
        assert_eq!(listed[0].overview, Overview::default());
        // Restored in its place, which may change no folder.
        fs::write(&path, whole).unwrap();
        assert_eq!(list(runs.path())[0].damage, None, "{file}");
    }
}

#[test]
fn how_many_more_files_are_damaged_is_said() {
    let runs = tempfile::tempdir().unwrap();
    let run = write_run(runs.path(), &[0, 1], 10).folder;
    let damage = |missing: &str| {
        fs::remove_file(run.join(missing)).unwrap();
        list(runs.path()).remove(0).damage
    };
    for (missing, says) in [
        ("records.parquet", "records.parquet: missing"),
        ("trials.parquet", "trials.parquet: missing; and 1 more file"),
        ("findings.json", "findings.json: missing; and 2 more files"),
        (
            "environment.json",
            "environment.json: missing; and 3 more files",
        ),
    ] {
        assert_eq!(damage(missing).as_deref(), Some(says));
    }
}

#[test]
fn folders_that_are_no_runs_are_left_out() {
    let runs = tempfile::tempdir().unwrap();
    fs::create_dir(runs.path().join("notes")).unwrap();
    fs::write(runs.path().join("file"), "").unwrap();
    assert_eq!(list(runs.path()), []);
    assert!(Index::open(&runs.path().join("nowhere")).is_err());
}

#[test]
fn a_run_is_found_by_name_by_latest_and_by_path() {
    let runs = tempfile::tempdir().unwrap();
    let runs = fs::canonicalize(runs.path()).unwrap();
    let first = write_run(&runs, &[0], 1).folder;
    let partial = create(&runs).folder().to_owned();
    let find = |asked: &str| resolve_run(asked, &runs).unwrap();
    assert_eq!(find(FIRST), first);
    assert_eq!(find("latest"), first);
    assert_eq!(find(first.to_str().unwrap()), first);
    assert_eq!(find(&format!("{FIRST}-2")), partial);
    assert_eq!(find(&format!("{FIRST}-2.partial")), partial);
    let (name, _) = FIRST.rsplit_once('-').unwrap();
    assert_eq!(find(name), partial);
    // Notes with the name of the experiment are no run of it.
    fs::create_dir(runs.join(name)).unwrap();
    assert_eq!(find(name), partial);
    fs::create_dir(runs.join("notes")).unwrap();
    assert_eq!(find("notes"), runs.join("notes"));

    fs::remove_file(runs.join("latest")).unwrap();
    assert_eq!(find("latest"), partial);
}

#[test]
fn the_latest_to_resume_is_the_one_that_was_interrupted() {
    let runs = tempfile::tempdir().unwrap();
    let runs = fs::canonicalize(runs.path()).unwrap();
    let partial = create(&runs).folder().to_owned();
    let ended = write_run(&runs, &[0], 1).folder;
    let find = |asked: &str| resolve_interrupted(asked, &runs).unwrap();
    assert_eq!(find("latest"), partial);
    let path = ended.to_str().unwrap();
    assert_eq!(find(path), ended);
    fs::remove_dir_all(partial).unwrap();
    assert_eq!(find("latest"), ended);
}

#[test]
fn a_folder_of_runs_stands_for_the_run_that_ended_last_in_it() {
    let runs = tempfile::tempdir().unwrap();
    let runs = fs::canonicalize(runs.path()).unwrap();
    assert_eq!(latest_in(&runs), None);
    let run = write_run(&runs, &[0], 1).folder;
    assert_eq!(latest_in(&runs), Some(run.clone()));
    assert_eq!(latest_in(&run), None);
}

#[test]
fn what_is_not_there_is_said_with_what_is() {
    let runs = tempfile::tempdir().unwrap();
    let error = |asked: &str| resolve_run(asked, runs.path()).unwrap_err().to_string();
    assert!(error("latest").contains("There is none yet"));
    write_run(runs.path(), &[0], 1);
    assert!(
        error("nothing-like-it").contains(FIRST),
        "{}",
        error("nothing-like-it")
    );
    let begin = &FIRST[..3];
    assert!(
        error(begin).ends_with(&format!("Named alike: {FIRST}")),
        "{}",
        error(begin)
    );
}
