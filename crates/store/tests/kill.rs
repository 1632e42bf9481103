//! A process that is killed while it records loses at most what it had not handed over yet, and the
//! run is resumed to its end.

use crate::harness::*;
use delaylab_model::noise::NoiseKind;
use delaylab_model::rows::Rows;
use delaylab_model::trial::RecordFacts;
use delaylab_store::begun::Begun;
use delaylab_store::error::StoreError;
use delaylab_store::killed::{Remedy, remedy};
use delaylab_store::resume::ResumeError;
use delaylab_store::run::{Run, State};
use delaylab_store::writer::RunWriter;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

/// Tells the recording process where to.
const RUNS: &str = "DELAYLAB_TEST_RUNS";
const TRIALS: u32 = 3;
const RECORDS: u64 = 150;

/// What runs in the process that is killed: records a run, or goes on with one.
#[test]
#[ignore = "is the process that the other test kills"]
fn records_until_it_is_killed() {
    let runs = PathBuf::from(std::env::var_os(RUNS).unwrap());
    let (run, done) = match partial(&runs) {
        Some(folder) => {
            let (run, resumed) = RunWriter::resume(&folder).unwrap();
            (run, resumed.done)
        }
        None => (create(&runs), Default::default()),
    };
    for trial in (0..TRIALS).filter(|trial| !done.contains(trial)) {
        let mut writer = run.begin_trial(trial).unwrap();
        for (at, record) in as_they_come(trial, RECORDS).iter().enumerate() {
            writer.records(&[*record]).unwrap();
            writer.sync_if_due(at as i64 * 5_000_000).unwrap();
        }
        writer.rows(Rows::Noise(&noise(trial))).unwrap();
        writer.rows(Rows::ClockReads(&clock_reads(trial))).unwrap();
        add_series_and_hops(&mut writer, trial);
        let rows = [row(trial, 0), row(trial, 1)];
        writer.finish(&rows, &noise_of).unwrap();
    }
    run.finish(&findings()).unwrap();
}

/// The run that is not finished.
fn partial(runs: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(runs).unwrap();
    let mut paths = entries.map(|entry| entry.unwrap().path());
    paths.find(|path| path.extension().is_some_and(|end| end == "partial"))
}

fn recorder(runs: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["kill::records_until_it_is_killed", "--exact", "--ignored"])
        .env(RUNS, runs)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// How long a recorder takes that nobody kills: the shortest of a few, as others may have had the CPU.
fn undisturbed() -> Duration {
    let took = (0..3).map(|_| {
        let runs = tempfile::tempdir().unwrap();
        let start = Instant::now();
        assert!(recorder(runs.path()).wait().unwrap().success());
        start.elapsed()
    });
    took.min().unwrap()
}

/// Killed at so many moments, equally far apart.
fn killed_and_resumed(kills: u32) {
    let whole = undisturbed();
    let mut killed = 0;
    for kill in 0..kills {
        let runs = tempfile::tempdir().unwrap();
        let mut process = recorder(runs.path());
        std::thread::sleep(whole * kill / kills);
        process.kill().unwrap();
        killed += u32::from(!process.wait().unwrap().success());
        check_partial(runs.path());
        if partial(runs.path()).is_some() || !finished(runs.path()).exists() {
            assert!(recorder(runs.path()).wait().unwrap().success());
        }
        check_whole(&finished(runs.path()));
    }
    assert!(
        killed > kills / 2,
        "only {killed} of {kills} were killed in time"
    );
}

#[test]
fn killed_at_any_moment_a_run_is_resumed_to_its_end() {
    killed_and_resumed(5);
}

#[test]
fn killed_again_and_again_a_run_comes_to_its_end() {
    let slice = undisturbed() / 3;
    let runs = tempfile::tempdir().unwrap();
    let mut kills = 0;
    while !finished(runs.path()).exists() {
        let mut process = recorder(runs.path());
        // Each has a little longer than the one before, so that this ends on a slow host too.
        std::thread::sleep(slice + slice * kills / 10);
        process.kill().unwrap();
        process.wait().unwrap();
        kills += 1;
    }
    check_whole(&finished(runs.path()));
}

fn finished(runs: &Path) -> PathBuf {
    runs.join("sample-20261121T134500Z")
}

/// Whatever is there of a run that was killed can be read, and what is read is right.
fn check_partial(runs: &Path) {
    let Some(folder) = partial(runs) else { return };
    let run = Run::open(&folder).unwrap();
    assert_eq!(run.state(), State::Partial);
    assert_eq!(run.problems(), Vec::<String>::new());
    for trial in 0..TRIALS {
        let found = read(&run, Some(trial));
        let is_recorded = run.trials().iter().any(|row| row.trial == trial);
        if is_recorded {
            assert_eq!(found, records(trial, RECORDS));
        } else {
            assert_eq!(found, as_they_come(trial, RECORDS)[..found.len()]);
        }
    }
}

fn check_whole(folder: &Path) {
    let run = Run::open(folder).unwrap();
    let all: Vec<_> = (0..TRIALS)
        .flat_map(|trial| records(trial, RECORDS))
        .collect();
    assert_eq!(read(&run, None), all);
    assert_eq!(run.trials().len(), 2 * TRIALS as usize);
    assert_eq!(
        run.noise(None).len(),
        NoiseKind::ALL.len() * TRIALS as usize
    );
    assert_eq!(run.hops(None).len(), 12 * (TRIALS as usize - 1));
    assert_eq!(run.series(None).len(), 9 * (TRIALS as usize - 1));
    assert_eq!(run.problems(), Vec::<String>::new());
    assert!(!folder.join("parts").exists());
    run.for_each_interrupted(|apart| {
        assert_eq!(*apart, record(apart.trial, apart.probe, apart.seq));
    });
}

#[test]
fn what_was_interrupted_is_kept_apart_every_time() {
    let runs = tempfile::tempdir().unwrap();
    let writer = create(runs.path());
    write_trial(&writer, 0, 10);
    let folder = writer.folder().to_owned();
    drop(begin(&writer, 1, 10));
    drop(writer);
    for _ in 0..2 {
        let (writer, resumed) = RunWriter::resume(&folder).unwrap();
        assert_eq!(resumed.done, [0].into());
        assert_eq!(resumed.interrupted, [1].into());
        drop(begin(&writer, 1, 10));
    }
    let (writer, _) = RunWriter::resume(&folder).unwrap();
    write_trial(&writer, 1, 10);
    let run = Run::open(&writer.finish(&findings()).unwrap().folder).unwrap();
    assert_eq!(read(&run, Some(1)), records(1, 10));
    let mut apart = 0;
    run.for_each_interrupted(|_| apart += 1);
    assert_eq!(apart, 3 * 20);
}

/// How a trial began that counts whenever it ends, as that of a ping does.
fn begun() -> Begun {
    let mut begun = Begun {
        utc: 1_795_268_700_000_000_000,
        monotonic: 1_000_000_000,
        probes: Vec::new(),
        ended: None,
    };
    begun.set(1, RecordFacts::default());
    begun
}

/// The folder of a run whose process ended in its first trial, which counts with what is recorded of it.
fn left_by_a_ping(runs: &Path) -> PathBuf {
    let writer = create(runs);
    let mut trial = begin(&writer, 0, 100);
    trial.note_begun(&begun()).unwrap();
    writer.folder().to_owned()
}

#[test]
fn a_trial_that_counts_as_it_stands_is_ended_with_what_is_there() {
    let runs = tempfile::tempdir().unwrap();
    let folder = left_by_a_ping(runs.path());
    // It was killed as it wrote.
    let journal = folder.join("trial-0.arrow");
    let mut torn = fs::read(&journal).unwrap();
    torn.extend_from_within(..100);
    fs::write(&journal, torn).unwrap();
    assert!(Run::open(&folder).unwrap().counts_as_it_stands());

    // A process that is killed as it ends the trial changes nothing of that.
    for _ in 0..2 {
        let (writer, resumed) = RunWriter::resume(&folder).unwrap();
        let (done, cut_short, interrupted) = ([].into(), [0].into(), [].into());
        assert_eq!(resumed.done, done);
        assert_eq!(resumed.cut_short, cut_short);
        assert_eq!(resumed.interrupted, interrupted);
        assert_eq!(writer.take_up_trial(0).unwrap().1, begun());
    }
    let (writer, _) = RunWriter::resume(&folder).unwrap();
    let (mut trial, _) = writer.take_up_trial(0).unwrap();
    let mut found = Vec::new();
    trial
        .each_record(|records| found.extend_from_slice(records))
        .unwrap();
    assert_eq!(found, as_they_come(0, 100));
    assert_eq!(trial.noise_so_far().unwrap(), noise(0));
    trial.finish(&[row(0, 0), row(0, 1)], &noise_of).unwrap();
    assert_eq!(writer.cut_short().unwrap(), [].into());
    let run = Run::open(&writer.finish(&findings()).unwrap().folder).unwrap();
    assert_eq!(read(&run, None), records(0, 100));
    assert_eq!(run.problems(), [] as [String; 0]);
    run.for_each_interrupted(|apart| panic!("{apart:?} is twice in the run"));
    let left = fs::read_dir(run.folder()).unwrap();
    let left = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(left.filter(|name| name.starts_with("trial-")).count(), 0);
}

/// Its process ended between two of its parts: no other is measured later.
#[test]
fn a_ping_counts_with_the_parts_that_it_has() {
    for (environment, is_ping) in [
        (json!({ "live": { "as_it_stands": true } }), true),
        (json!({ "live": {} }), false),
    ] {
        let runs = tempfile::tempdir().unwrap();
        let writer = create_in(runs.path(), &environment);
        let folder = writer.folder().to_owned();
        drop(writer);
        assert_eq!(Run::open(&folder).unwrap().lacks_everything(), is_ping);
        assert_eq!(remedy(&folder) == Remedy::Remove, is_ping);
        let (writer, nothing) = RunWriter::resume(&folder).unwrap();
        assert_eq!(nothing.lacks_everything(), is_ping);
        assert!(!nothing.counts_as_it_stands());
        let trial = begin(&writer, 0, 10);
        trial.finish(&[row(0, 0), row(0, 1)], &noise_of).unwrap();
        drop(writer);
        let run = Run::open(&folder).unwrap();
        assert_eq!(run.counts_as_it_stands(), is_ping);
        assert!(!run.lacks_everything());
        let expected = match is_ping {
            true => Remedy::EndAsItStands,
            false => Remedy::Continue,
        };
        assert_eq!(remedy(&folder), expected);
        let (writer, resumed) = RunWriter::resume(&folder).unwrap();
        assert_eq!(resumed.counts_as_it_stands(), is_ping);
        assert!(!resumed.lacks_everything());
        // Killed when its tables were joined, and before it had its name.
        let finished = writer.finish(&findings()).unwrap().folder;
        fs::rename(finished, &folder).unwrap();
        let run = Run::open(&folder).unwrap();
        assert_eq!(run.counts_as_it_stands(), is_ping);
        assert!(!run.lacks_everything());
        assert_eq!(remedy(&folder), expected);
    }
}

#[test]
fn what_is_behind_a_damaged_place_of_a_trial_that_counts_is_kept() {
    let runs = tempfile::tempdir().unwrap();
    let folder = left_by_a_ping(runs.path());
    let journal = folder.join("trial-0.arrow");
    let mut damaged = fs::read(&journal).unwrap();
    damaged.resize(damaged.len() + (5 << 20), 7);
    fs::write(&journal, &damaged).unwrap();

    let (writer, _) = RunWriter::resume(&folder).unwrap();
    let (trial, _) = writer.take_up_trial(0).unwrap();
    assert!(trial.is_damaged());
    trial.finish(&[row(0, 0), row(0, 1)], &noise_of).unwrap();
    let run = Run::open(&writer.finish(&findings()).unwrap().folder).unwrap();
    assert_eq!(read(&run, None), records(0, 100));
    let kept = fs::read(run.folder().join("damaged-trial-0-1.arrow")).unwrap();
    assert!(kept == damaged);
}

#[test]
fn a_trial_whose_beginning_cannot_be_read_is_not_given_up() {
    let runs = tempfile::tempdir().unwrap();
    let folder = left_by_a_ping(runs.path());
    let (begun, journal) = (
        folder.join("trial-0.begun.json"),
        folder.join("trial-0.arrow"),
    );
    fs::write(&begun, "{").unwrap();
    let recorded = fs::read(&journal).unwrap();
    let error = RunWriter::resume(&folder).unwrap_err().to_string();
    assert!(error.contains("trial-0.begun.json"), "{error}");
    assert!(fs::read(&journal).unwrap() == recorded);
    assert_eq!(fs::read(&begun).unwrap(), b"{");
}

#[test]
fn a_trial_without_a_packet_is_repeated_even_where_it_would_count() {
    let runs = tempfile::tempdir().unwrap();
    let writer = create(runs.path());
    let folder = writer.folder().to_owned();
    let mut trial = writer.begin_trial(0).unwrap();
    trial.note_begun(&begun()).unwrap();
    drop((trial, writer));
    let (writer, resumed) = RunWriter::resume(&folder).unwrap();
    assert_eq!(resumed.cut_short, [].into());
    assert_eq!(resumed.interrupted, [0].into());
    write_trial(&writer, 0, 10);
    writer.finish(&findings()).unwrap();
}

#[test]
fn a_run_says_that_it_was_taken_up_again() {
    let runs = tempfile::tempdir().unwrap();
    let writer = create(runs.path());
    write_trial(&writer, 0, 10);
    let folder = writer.folder().to_owned();
    drop(writer);
    for host in ["6.1", "6.12"] {
        let (writer, resumed) = RunWriter::resume(&folder).unwrap();
        let how = json!({ "host": { "kernel": host } });
        let when = SystemTime::UNIX_EPOCH;
        writer.note_resumed(when, resumed.done.len(), how).unwrap();
    }
    // It is as it was recorded: neither is a change of its files.
    let (writer, _) = RunWriter::resume(&folder).unwrap();
    let run = Run::open(&writer.finish(&findings()).unwrap().folder).unwrap();
    assert_eq!(run.problems(), [] as [String; 0]);
    let resumed = &run.environment()["resumed"];
    assert_eq!(
        resumed[1],
        json!({
            "host": { "kernel": "6.12" },
            "started_utc": "1970-01-01T00:00:00Z",
            "trials": 1,
        })
    );
    assert_eq!(resumed.as_array().unwrap().len(), 2);
}

#[test]
fn one_process_at_a_time_writes_a_run() {
    let runs = tempfile::tempdir().unwrap();
    let writer = create(runs.path());
    let second = RunWriter::resume(writer.folder()).map(drop);
    let busy = matches!(second, Err(ResumeError::Store(StoreError::Busy { .. })));
    assert!(busy, "{second:?}");
    let folder = writer.folder().to_owned();
    drop(writer);
    RunWriter::resume(&folder).unwrap();
}

#[test]
fn a_run_of_another_format_is_not_resumed() {
    let runs = tempfile::tempdir().unwrap();
    let writer = create(runs.path());
    write_trial(&writer, 0, 10);
    let folder = writer.folder().to_owned();
    drop(writer);
    let path = folder.join("environment.json");
    let text = fs::read_to_string(&path).unwrap();
    for format in [1, 4] {
        let other = format!("\"format\": {format}");
        fs::write(&path, text.replace("\"format\": 3", &other)).unwrap();
        let refused = RunWriter::resume(&folder).map(drop).unwrap_err();
        let said = refused.to_string();
        assert!(said.contains(&format!("is in format {format}")), "{said}");
    }
    fs::write(&path, "{").unwrap();
    let refused = RunWriter::resume(&folder).map(drop).unwrap_err();
    assert!(refused.to_string().contains("environment.json"));
    // Nothing says what it was.
    fs::remove_file(folder.join("manifest.json")).unwrap();
    RunWriter::resume(&folder).unwrap();
}

#[test]
fn a_complete_run_is_not_resumed() {
    let runs = tempfile::tempdir().unwrap();
    let folder = write_run(runs.path(), &[0], 1).folder;
    let resumed = RunWriter::resume(&folder).map(drop);
    assert!(matches!(resumed, Err(ResumeError::Complete { .. })));
}

/// The same with many more, in `make test-all`.
mod long {
    use super::*;

    #[test]
    fn killed_at_twenty_moments_a_run_is_resumed_to_its_end() {
        killed_and_resumed(20);
    }
}
