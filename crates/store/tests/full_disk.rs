//! Disks that are full and folders that nobody may write: said with the path and what to do, and
//! nothing recorded is lost. Root only: each test mounts a small file system of its own.

use crate::harness::*;
use delaylab_store::error::StoreError;
use delaylab_store::run::Run;
use delaylab_store::writer::RunWriter;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Tells the process inside where its file system is.
const MOUNTED: &str = "DELAYLAB_TEST_MOUNTED";

/// Runs one of the ignored tests in a mount namespace of its own, with a tmpfs of this size.
fn on_a_disk_of(size: &str, test: &str) {
    let point = tempfile::tempdir().unwrap();
    let mount = format!("mount -t tmpfs -o size={size} none \"${MOUNTED}\"");
    let script = format!("{mount} && exec \"$0\" full_disk::{test} --exact --ignored");
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", &script])
        .arg(std::env::current_exe().unwrap())
        .env(MOUNTED, point.path())
        .output();
    match output {
        Ok(output) if output.status.success() => {}
        Ok(output) if output.stdout.is_empty() => {
            let why = String::from_utf8_lossy(&output.stderr);
            skip(&format!("no file system of its own: {}", why.trim()));
        }
        Ok(output) => panic!("{}", String::from_utf8_lossy(&output.stdout)),
        Err(error) => skip(&format!("no unshare: {error}")),
    }
}

fn mounted() -> PathBuf {
    PathBuf::from(std::env::var_os(MOUNTED).unwrap())
}

fn remount(options: &str) {
    let status = Command::new("mount")
        .args(["-o", &format!("remount,{options}")])
        .arg(mounted())
        .status();
    assert!(status.unwrap().success());
}

#[test]
fn a_disk_that_fills_up_loses_nothing_that_was_recorded() {
    on_a_disk_of("600k", "fills_the_disk");
}

#[test]
#[ignore = "runs inside of the test before it"]
fn fills_the_disk() {
    let run = create(&mounted());
    write_trial(&run, 0, 100);
    let mut trial = run.begin_trial(1).unwrap();
    let mut handed_over = 0;
    let error = loop {
        let record = record(1, 0, handed_over);
        let recorded = trial.records(&[record]);
        let synced = recorded.and_then(|()| trial.sync_if_due(handed_over as i64 * 50_000_000));
        if let Err(error) = synced {
            break error;
        }
        handed_over += 1;
    };
    assert!(matches!(error, StoreError::NoRoom { .. }), "{error}");
    let message = error.to_string();
    assert!(
        message.contains("trial-1.arrow") && message.contains("-o DIR"),
        "{message}"
    );
    let folder = run.folder().to_owned();
    let known = read(&Run::open(&folder).unwrap(), Some(1));
    assert!(!known.is_empty());
    assert!(
        known.len() as u64 + 20 > handed_over,
        "{} of {handed_over}",
        known.len()
    );
    drop((trial, run));

    remount("size=20m");
    let (run, resumed) = RunWriter::resume(&folder).unwrap();
    assert_eq!(
        (resumed.done, resumed.interrupted),
        ([0].into(), [1].into())
    );
    write_trial(&run, 1, 100);
    let run = Run::open(&run.finish(&findings()).unwrap().folder).unwrap();
    assert_eq!(
        read(&run, None),
        [records(0, 100), records(1, 100)].concat()
    );
    let mut apart = Vec::new();
    run.for_each_interrupted(|record| apart.push(*record));
    assert_eq!(apart[..known.len()], known);
}

#[test]
fn a_disk_that_is_full_at_the_end_of_a_trial_keeps_the_trial() {
    on_a_disk_of("20m", "fills_the_disk_at_the_end");
}

#[test]
#[ignore = "runs inside of the test before it"]
fn fills_the_disk_at_the_end() {
    let run = create(&mounted());
    let mut trial = begin(&run, 0, 100);
    assert_eq!(trial.noise_so_far().unwrap(), noise(0));
    trial.sync_if_due(0).unwrap();
    trial.sync_if_due(1_000_000_000).unwrap();
    let ballast = mounted().join("ballast");
    let chunk = vec![0; 1 << 12];
    let mut file = fs::File::create(&ballast).unwrap();
    while std::io::Write::write_all(&mut file, &chunk).is_ok() {}

    let error = trial
        .finish(&[row(0, 0), row(0, 1)], &noise_of)
        .unwrap_err();
    assert!(matches!(error, StoreError::NoRoom { .. }), "{error}");
    let folder = run.folder().to_owned();
    drop(run);
    assert_eq!(
        read(&Run::open(&folder).unwrap(), None),
        as_they_come(0, 100)
    );

    drop(file);
    fs::remove_file(&ballast).unwrap();
    let (run, resumed) = RunWriter::resume(&folder).unwrap();
    assert_eq!((resumed.done, resumed.interrupted), ([].into(), [0].into()));
    write_trial(&run, 0, 100);
    run.finish(&findings()).unwrap();
}

#[test]
fn a_folder_that_nobody_may_write_is_said_with_what_to_do() {
    on_a_disk_of("20m", "writes_where_nobody_may");
}

#[test]
#[ignore = "runs inside of the test before it"]
fn writes_where_nobody_may() {
    let writer = create(&mounted());
    write_trial(&writer, 0, 10);
    let folder = writer.folder().to_owned();
    remount("ro");
    let error = writer.begin_trial(1).map(drop).unwrap_err();
    assert!(matches!(error, StoreError::MayNotWrite { .. }), "{error}");
    assert!(error.to_string().contains("-o DIR"));
    let error = writer.finish(&findings()).unwrap_err();
    assert!(matches!(error, StoreError::MayNotWrite { .. }), "{error}");
    assert_eq!(read(&Run::open(&folder).unwrap(), None), records(0, 10));
    let entries = delaylab_store::index::Index::open(&mounted())
        .unwrap()
        .list();
    assert_eq!(entries.unwrap().len(), 1);
}
