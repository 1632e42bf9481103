//! A disk that fails at any call, and a power cut at any moment: what was acknowledged is there, whatever else is read is
//! right or is said to be wrong, and the run is resumed to the bytes that it would have had.
//!
//! After the tests of SQLite (an I/O error at each call in turn; a power cut that keeps any part of what was not synced)
//! and of FoundationDB (all of it from a seed, so that what failed fails again).

use crate::faulty_disk::{Call, EIO, ENOSPC, Fault, FaultyDisk, Picture};
use crate::harness::*;
use delaylab_model::record::Record;
use delaylab_model::rows::Rows;
use delaylab_stats::random::SplitMix;
use delaylab_store::error::StoreError;
use delaylab_store::index::Index;
use delaylab_store::resolve::resolve_run;
use delaylab_store::run::{OpenError, Run, State};
use delaylab_store::verify::verify;
use delaylab_store::writer::{Finished, NewRun, RunWriter};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

const TRIALS: u32 = 3;
/// Packets of each of a trial's two probes.
const COUNT: u64 = 12;
/// Packets between two calls of `sync_if_due`.
const CHUNK: usize = 8;
/// The folder of the runs, which the run makes.
const RUNS: &str = "kept/runs";

/// What was acknowledged, and after how many calls.
#[derive(Default)]
struct Journal(Vec<(u64, Ack)>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ack {
    /// The run was created.
    Created,
    /// So many of the packets of this trial were synced, in this attempt.
    Synced {
        trial: u32,
        attempt: usize,
        rows: usize,
    },
    /// The trial ended.
    Recorded(u32),
    /// The run ended.
    Finished,
}

/// Records runs, and notes what was acknowledged.
struct Recorder {
    disk: FaultyDisk,
    runs: PathBuf,
    journal: Journal,
    attempts: usize,
    /// Goes on where packets cannot be written, as long as it can.
    is_stubborn: bool,
}

impl Recorder {
    fn new(disk: FaultyDisk, root: &Path) -> Self {
        Self {
            disk,
            runs: root.join(RUNS),
            journal: Journal::default(),
            attempts: 0,
            is_stubborn: false,
        }
    }

    fn note(&mut self, ack: Ack) {
        self.journal.0.push((self.disk.calls(), ack));
    }

    /// Begins the run, or takes it up. Returns the trials that are recorded.
    fn open(&mut self) -> Result<(RunWriter, BTreeSet<u32>), String> {
        let disk = Arc::new(self.disk.clone());
        let opened = match partial(&self.runs) {
            Some(folder) => {
                let resumed = RunWriter::resume_on(disk, &folder);
                let (run, resumed) = resumed.map_err(|error| error.to_string())?;
                (run, resumed.done)
            }
            None => {
                let new = NewRun {
                    name: "sample",
                    world: "live",
                    started: Some(started()),
                    experiment: EXPERIMENT,
                    environment: &serde_json::json!({ "kernel": "6.1" }),
                };
                let created = RunWriter::create_on(disk, &self.runs, &new);
                (created.map_err(|error| error.to_string())?, BTreeSet::new())
            }
        };
        self.note(Ack::Created);
        Ok(opened)
    }

    /// Records the first so many packets of a trial, and ends it if these are all.
    fn trial(&mut self, run: &RunWriter, trial: u32, packets: usize) -> Result<(), StoreError> {
        self.attempts += 1;
        let attempt = self.attempts;
        let mut writer = run.begin_trial(trial)?;
        let records = as_they_come(trial, COUNT);
        self.unless_stubborn(writer.sync_if_due(0))?;
        self.unless_stubborn(writer.rows(Rows::Noise(&noise(trial))))?;
        for (at, chunk) in (1..).zip(records[..packets].chunks(CHUNK)) {
            let recorded = writer.records(chunk);
            let synced = recorded.and_then(|()| writer.sync_if_due(at * 500_000_000));
            if synced.is_ok() {
                let rows = packets.min(at as usize * CHUNK);
                self.note(Ack::Synced {
                    trial,
                    attempt,
                    rows,
                });
            }
            self.unless_stubborn(synced)?;
        }
        if packets < records.len() {
            return Ok(());
        }
        writer.rows(Rows::ClockReads(&clock_reads(trial)))?;
        add_series_and_hops(&mut writer, trial);
        writer.finish(&[row(trial, 0), row(trial, 1)], &noise_of)?;
        self.note(Ack::Recorded(trial));
        Ok(())
    }

    fn unless_stubborn(&self, done: Result<(), StoreError>) -> Result<(), StoreError> {
        done.or_else(|error| if self.is_stubborn { Ok(()) } else { Err(error) })
    }

    /// Records all that is left of the run, and ends it.
    fn finish_run(&mut self) -> Result<(BTreeSet<u32>, Finished), String> {
        let (run, done) = self.open()?;
        for trial in (0..TRIALS).filter(|trial| !done.contains(trial)) {
            let recorded = self.trial(&run, trial, 2 * COUNT as usize);
            recorded.map_err(|error| error.to_string())?;
        }
        let finished = run.finish(&findings()).map_err(|error| error.to_string())?;
        if finished.warnings.is_empty() {
            self.note(Ack::Finished);
        }
        Ok((done, finished))
    }

    /// The same of a run whose process ends within its second trial.
    fn with_an_interruption(&mut self) -> Result<Finished, String> {
        let (run, _) = self.open()?;
        for (trial, packets) in [(0, 2 * COUNT as usize), (1, COUNT as usize)] {
            let recorded = self.trial(&run, trial, packets);
            recorded.map_err(|error| error.to_string())?;
        }
        drop(run);
        Ok(self.finish_run()?.1)
    }

    /// What was acknowledged up to this call.
    fn acknowledged(&self, call: usize) -> Vec<Ack> {
        let before = self.journal.0.iter().filter(|(at, _)| *at <= call as u64);
        before.map(|(_, ack)| *ack).collect()
    }
}

/// A folder of its own, in memory where there is one.
fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| tempfile::tempdir().unwrap())
}

/// The run that is not finished.
fn partial(runs: &Path) -> Option<PathBuf> {
    folders(runs)
        .into_iter()
        .find(|path| path.extension().is_some())
}

/// The run that is.
fn whole(runs: &Path) -> Option<PathBuf> {
    folders(runs)
        .into_iter()
        .find(|path| path.extension().is_none())
}

fn folders(runs: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(runs) else {
        return Vec::new();
    };
    let entries = entries.map(|entry| entry.unwrap());
    let runs = entries.filter(|entry| {
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        entry.file_type().unwrap().is_dir() && !is_hidden
    });
    runs.map(|entry| entry.path()).collect()
}

/// Every file of a run but what interrupted trials left; of the manifest, what it says of these files.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let kept_apart = |name: &str| name.starts_with("interrupted.") || name.starts_with("damaged-");
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if kept_apart(&name) {
            continue;
        }
        let mut bytes = fs::read(entry.path()).unwrap();
        if name == "manifest.json" {
            let mut manifest: Value = serde_json::from_slice(&bytes).unwrap();
            manifest["sha256"].take();
            let listed = manifest["files"].as_object_mut().unwrap();
            listed.retain(|name, _| !kept_apart(name));
            bytes = manifest.to_string().into_bytes();
        }
        files.insert(name, bytes);
    }
    files
}

/// What a run has that nothing disturbs.
struct Undisturbed(BTreeMap<String, Vec<u8>>);

impl Undisturbed {
    fn record() -> Self {
        let root = scratch();
        let mut recorder = Recorder::new(FaultyDisk::new(root.path()), root.path());
        let (_, finished) = recorder.finish_run().unwrap();
        Self(files(&finished.folder))
    }

    /// Is this that run, with everything that shows it?
    fn check(&self, runs: &Path, finished: &Path) {
        let found = files(finished);
        let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&found), names(&self.0));
        for (name, bytes) in &self.0 {
            assert!(found[name] == *bytes, "{name} differs");
        }
        let wrong = verify(finished).wrong;
        assert_eq!(wrong, [], "{}", finished.display());
        assert_eq!(
            resolve_run("latest", runs).unwrap(),
            fs::canonicalize(finished).unwrap()
        );
        let entries = Index::open(runs).unwrap().list().unwrap();
        let known: Vec<_> = (entries.iter())
            .map(|entry| (entry.state(), entry.trials, entry.records))
            .collect();
        let packets = u64::from(TRIALS) * 2 * COUNT;
        assert_eq!(known, [(State::Complete, u64::from(TRIALS), packets)]);
    }
}

/// How often each packet is there of trials that have not ended: in journals, and kept apart.
#[derive(Default)]
struct Copies(BTreeMap<(u32, u16, u64), usize>);

impl Copies {
    fn new(run: &Run) -> Self {
        let mut copies = Self::default();
        run.for_each_interrupted(|record| copies.add(record));
        let done = recorded(run);
        for trial in (0..TRIALS).filter(|trial| !done.contains(trial)) {
            run.for_each_record(Some(trial), |record| copies.add(record));
        }
        copies
    }

    fn add(&mut self, found: &Record) {
        assert_eq!(*found, record(found.trial, found.probe, found.seq));
        *self
            .0
            .entry((found.trial, found.probe, found.seq))
            .or_default() += 1;
    }

    /// Is everything there that was synced? Of a trial that was done, its last attempt is in its parts.
    fn check(&self, acked: &[Ack], done: &BTreeSet<u32>) {
        for trial in 0..TRIALS {
            let mut synced: BTreeMap<usize, usize> = BTreeMap::new();
            for ack in acked {
                if let Ack::Synced {
                    trial: of,
                    attempt,
                    rows,
                } = *ack
                    && of == trial
                {
                    synced.insert(attempt, rows);
                }
            }
            for (at, record) in as_they_come(trial, COUNT).iter().enumerate() {
                let due = synced.values().filter(|rows| **rows > at).count();
                let due = due.saturating_sub(usize::from(done.contains(&trial)));
                let key = (record.trial, record.probe, record.seq);
                let found = self.0.get(&key).copied().unwrap_or(0);
                assert!(
                    found >= due,
                    "{found} copies of {key:?}, and {due} were synced"
                );
            }
        }
    }
}

fn recorded(run: &Run) -> BTreeSet<u32> {
    run.trials().iter().map(|row| row.trial).collect()
}

/// Whatever is there of a run that is not finished is right, or is said to be wrong.
fn check_partial(folder: &Path, acked: &[Ack]) {
    let run = match Run::open(folder) {
        Ok(run) => run,
        Err(OpenError::Changed { mismatch, .. }) => {
            // A trial that was about to end: the next resume repeats it.
            let is_acked = |trial: u32| acked.contains(&Ack::Recorded(trial));
            let is_of = |trial: u32| {
                let ends = [format!("-{trial}.parquet"), format!("-{trial}.json")];
                ends.iter().any(|end| mismatch.file.ends_with(end))
            };
            let about = (0..TRIALS).find(|trial| is_of(*trial));
            assert!(about.is_some_and(|trial| !is_acked(trial)), "{mismatch}");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    assert_eq!(run.problems(), Vec::<String>::new());
    assert_eq!(run.experiment(), Some(EXPERIMENT));
    let done = recorded(&run);
    for trial in 0..TRIALS {
        let found = read(&run, Some(trial));
        if done.contains(&trial) {
            assert_eq!(found, records(trial, COUNT));
            assert_eq!(run.noise(Some(trial)), noise(trial));
            assert_eq!(run.clock_reads(Some(trial)), clock_reads(trial));
            assert_eq!(run.hops(Some(trial)), hops(trial));
            assert_eq!(run.series(Some(trial)), series(trial));
            assert_eq!(run.transfers(Some(trial)), transfers(trial));
        } else {
            assert!(!acked.contains(&Ack::Recorded(trial)), "trial {trial}");
            assert_eq!(found, as_they_come(trial, COUNT)[..found.len()]);
            let events = run.noise(Some(trial));
            assert_eq!(events, noise(trial)[..events.len()]);
        }
    }
    Copies::new(&run).check(acked, &done);
}

/// Looks at what a disaster left in a folder, and carries the run on to its end.
fn check_and_resume(root: &Path, acked: &[Ack], undisturbed: &Undisturbed) {
    let runs = root.join(RUNS);
    assert!(folders(&runs).len() <= 1, "{:?}", folders(&runs));
    if let Some(folder) = whole(&runs) {
        if acked.contains(&Ack::Finished) {
            let latest = fs::read_link(runs.join("latest")).unwrap();
            assert_eq!(runs.join(latest), folder);
        }
        return undisturbed.check(&runs, &folder);
    }
    assert!(!acked.contains(&Ack::Finished), "the run is gone");
    if let Some(folder) = partial(&runs) {
        check_partial(&folder, acked);
    } else {
        assert!(!acked.contains(&Ack::Created), "the run is gone");
    }
    let mut recorder = Recorder::new(FaultyDisk::new(root), root);
    let (done, finished) = recorder.finish_run().unwrap();
    for ack in acked {
        if let Ack::Recorded(trial) = ack {
            assert!(done.contains(trial), "trial {trial} is to be repeated");
        }
    }
    undisturbed.check(&runs, &finished.folder);
    Copies::new(&Run::open(&finished.folder).unwrap()).check(acked, &done);
}

/// A power cut in this moment, of which the seed says what is left. Where it fails, the output says of which.
fn cut(
    picture: &Picture,
    seed: u64,
    what: &str,
    check: impl FnOnce(&Path) + std::panic::UnwindSafe,
) {
    let root = scratch();
    picture.power_cut(seed, root.path());
    let Call { name, path } = &picture.next;
    let checked = std::panic::catch_unwind(|| check(root.path()));
    if let Err(panic) = checked {
        println!("{what}, before {name} of {}, seed {seed}", path.display());
        std::panic::resume_unwind(panic);
    }
}

/// Cuts the power at one call in `every`, with each of the seeds, or `in_turn` with the next of them.
fn power_cuts(every: usize, seeds: u64, in_turn: bool) {
    let undisturbed = Undisturbed::record();
    let root = scratch();
    let disk = FaultyDisk::new(root.path()).with_pictures();
    let mut recorder = Recorder::new(disk.clone(), root.path());
    recorder.with_an_interruption().unwrap();
    let pictures = disk.pictures();
    println!("{} calls", pictures.len());
    for (call, picture) in pictures.iter().enumerate() {
        if call % every != 0 && call + 1 != pictures.len() {
            continue;
        }
        let acked = recorder.acknowledged(call);
        let first = call as u64 * 1000;
        let all = [0, 1]
            .into_iter()
            .chain((2..seeds).map(|seed| first + seed));
        let next = (call / every) as u64 % seeds;
        let chosen = |number: u64| !in_turn || number == next;
        for (_, seed) in (0..).zip(all).filter(|(number, _)| chosen(*number)) {
            cut(picture, seed, &format!("call {call}"), |root| {
                check_and_resume(root, &acked, &undisturbed);
            });
        }
    }
}

#[test]
fn after_a_power_cut_what_was_acknowledged_is_there_and_the_run_ends_the_same() {
    power_cuts(13, 3, true);
}

/// Every fault in every so-manieth call, and a power cut somewhere after it.
fn failing_calls(every: usize, is_stubborn: bool) {
    let undisturbed = Undisturbed::record();
    let mut random = SplitMix::new(7);
    let all = {
        let root = scratch();
        let disk = FaultyDisk::new(root.path());
        let mut recorder = Recorder::new(disk.clone(), root.path());
        recorder.with_an_interruption().unwrap();
        disk.calls()
    };
    let faults = [
        Fault::Short,
        Fault::Fails(EIO),
        Fault::FailsHalfway(ENOSPC),
        Fault::IsFull,
    ];
    for (at, fault) in (0..all).flat_map(|call| faults.map(|fault| (call, fault))) {
        let kind = faults.iter().position(|it| *it == fault).unwrap();
        if !(at as usize + kind).is_multiple_of(every) {
            continue;
        }
        let root = scratch();
        let disk = FaultyDisk::new(root.path()).with_pictures();
        let disk = disk.with_fault(at, fault);
        let mut recorder = Recorder::new(disk.clone(), root.path());
        recorder.is_stubborn = is_stubborn;
        println!("{fault:?} in call {at}");
        let ended = recorder.with_an_interruption();
        let struck = disk.struck();
        disk.mend();
        check_ending(&ended, fault, struck.as_ref(), is_stubborn);
        let pictures = disk.pictures();
        let after = at as usize + random.below(pictures.len() - at as usize);
        let acked = recorder.acknowledged(after);
        let seed = random.next();
        cut(
            &pictures[after],
            seed,
            &format!("{fault:?}, then call {after}"),
            |root| {
                check_and_resume(root, &acked, &undisturbed);
            },
        );
        // Without a power cut, and with all that was acknowledged.
        let acked = recorder.acknowledged(usize::MAX);
        drop(recorder);
        check_and_resume(root.path(), &acked, &undisturbed);
    }
}

/// An error says which file could not be written, and a full disk that it is full.
fn check_ending(
    ended: &Result<Finished, String>,
    fault: Fault,
    struck: Option<&Call>,
    is_stubborn: bool,
) {
    let Some(Call { name, path }) = struck else {
        return assert!(ended.is_ok(), "{ended:?}");
    };
    let file = path.file_name().unwrap().to_string_lossy();
    let file = file.strip_suffix(".unfinished").unwrap_or(&file);
    match ended {
        Err(error) => {
            // Where all calls fail from one on, or the first that failed did not matter, it may be about a later one.
            let may_be_later = fault == Fault::IsFull || is_stubborn;
            assert!(
                error.contains(file) || (may_be_later && error.contains("kept")),
                "{name} of {file}: {error}"
            );
            let is_full = matches!(fault, Fault::IsFull | Fault::FailsHalfway(ENOSPC));
            assert_eq!(
                error.contains("no room to write"),
                is_full,
                "{name} of {file}: {error}"
            );
            assert_ne!(fault, Fault::Short);
        }
        Ok(finished) => {
            // What is hidden, and what is above the runs, may be there or not; without links, a part is copied.
            let is_hidden = file.starts_with('.') || !path.to_string_lossy().contains("kept");
            let is_said = finished
                .warnings
                .iter()
                .any(|warning| warning.contains("latest"));
            let is_small = is_hidden || is_said || is_stubborn || *name == "hard_link";
            assert!(
                fault == Fault::Short || is_small,
                "{name} of {file} was passed over"
            );
        }
    }
}

#[test]
fn an_error_names_its_file_and_what_was_acknowledged_is_there() {
    failing_calls(127, false);
}

#[test]
fn a_trial_that_goes_on_after_an_error_is_whole_or_says_that_it_is_not() {
    failing_calls(167, true);
}

/// Times of a clock that jumps back and forth, with a second of time between them.
const JUMPS: [i64; 6] = [
    0,
    3_600,
    7,
    -5,
    i64::MAX / 1_000_000_000,
    i64::MIN / 1_000_000_000,
];

#[test]
fn packets_are_synced_whatever_the_clock_does() {
    for jump in JUMPS.map(|seconds| seconds * 1_000_000_000) {
        let root = scratch();
        let disk = FaultyDisk::new(root.path()).with_pictures();
        let mut recorder = Recorder::new(disk.clone(), root.path());
        let (run, _) = recorder.open().unwrap();
        let mut writer = run.begin_trial(0).unwrap();
        let records = as_they_come(0, COUNT);
        writer.sync_if_due(5_000_000_000).unwrap();
        writer.records(&records[..5]).unwrap();
        writer.sync_if_due(jump).unwrap();
        writer.records(&records[5..9]).unwrap();
        writer
            .sync_if_due(jump.saturating_add(600_000_000))
            .unwrap();
        writer
            .sync_if_due(jump.wrapping_add(1_200_000_000))
            .unwrap();
        let pictures = disk.pictures();
        cut(
            pictures.last().unwrap(),
            1,
            &format!("jump to {jump}"),
            |root| {
                let folder = partial(&root.join(RUNS)).unwrap();
                let found = read(&Run::open(&folder).unwrap(), Some(0));
                assert_eq!(found, records[..9]);
            },
        );
    }
}

/// A run that began then.
fn begun_at(runs: &Path, seconds: i64) -> RunWriter {
    let from_1970 = Duration::from_secs(seconds.unsigned_abs());
    let started = if seconds < 0 {
        SystemTime::UNIX_EPOCH - from_1970
    } else {
        SystemTime::UNIX_EPOCH + from_1970
    };
    let new = NewRun {
        name: "sample",
        world: "live",
        started: Some(started),
        experiment: EXPERIMENT,
        environment: &serde_json::json!({}),
    };
    RunWriter::create(runs, &new).unwrap()
}

#[test]
fn runs_of_a_clock_that_jumps_are_all_kept_and_the_last_to_end_is_the_latest() {
    let root = scratch();
    let runs = root.path();
    // It stands still, is set back and forth, and to before 1970.
    let times = [
        1_000_000_000_i64,
        1_000_000_000,
        999_999_999,
        2_000_000_000,
        1_000_000_000,
        -86_400,
        -86_400,
    ];
    let mut ended: Vec<(PathBuf, u64)> = Vec::new();
    for (count, time) in (1..).zip(times) {
        let run = begun_at(runs, time);
        write_trial(&run, 0, count);
        let folder = run.finish(&findings()).unwrap().folder;
        assert_eq!(
            resolve_run("latest", runs).unwrap(),
            fs::canonicalize(&folder).unwrap()
        );
        assert!(ended.iter().all(|(other, _)| *other != folder));
        ended.push((folder, 2 * count));
        for (folder, records) in &ended {
            assert_eq!(Run::open(folder).unwrap().record_count(), *records);
        }
        let known = Index::open(runs).unwrap().list().unwrap();
        let mut known: Vec<_> = (known.iter())
            .map(|entry| (runs.join(&entry.folder), entry.records))
            .collect();
        known.sort();
        let mut all = ended.clone();
        all.sort();
        assert_eq!(known, all);
    }
}

#[test]
fn of_runs_that_began_in_one_second_the_last_is_the_newest() {
    let root = scratch();
    let mut names = Vec::new();
    for _ in 0..11 {
        let run = begun_at(root.path(), 1_000_000_000);
        let name = run.folder().file_name().unwrap().to_owned();
        names.push(name.into_string().unwrap());
    }
    assert!(names[10].ends_with("-11.partial"), "{names:?}");
    let known = Index::open(root.path()).unwrap().list().unwrap();
    let known: Vec<_> = known.into_iter().map(|entry| entry.folder).collect();
    assert_eq!(known, names);
    for asked in ["latest", "sample"] {
        let found = resolve_run(asked, root.path()).unwrap();
        assert_eq!(found.file_name().unwrap(), names[10].as_str());
    }
}

/// Files change, and the clock says that they did long ago, or will.
#[test]
fn the_index_follows_folders_whatever_the_time_of_their_change() {
    let root = scratch();
    let folder = write_run(root.path(), &[0], 1).folder;
    let set = |seconds: i64| {
        let from_1970 = Duration::from_secs(seconds.unsigned_abs());
        let time = match seconds < 0 {
            true => SystemTime::UNIX_EPOCH - from_1970,
            false => SystemTime::UNIX_EPOCH + from_1970,
        };
        fs::File::open(&folder).unwrap().set_modified(time).unwrap();
    };
    let damage = || {
        Index::open(root.path())
            .unwrap()
            .list()
            .unwrap()
            .remove(0)
            .damage
    };
    let environment = folder.join("environment.json");
    let text = fs::read(&environment).unwrap();
    for (at, seconds) in (0..).zip([4_000_000_000, 1, -10, -5]) {
        let is_right = at % 2 == 1;
        fs::write(&environment, if is_right { &text[..] } else { b"{}" }).unwrap();
        set(seconds);
        assert_eq!(damage().is_none(), is_right, "{seconds}");
    }
}

/// The same with many more, in `make test-all`.
mod long {
    use super::*;

    #[test]
    fn after_a_power_cut_at_any_call_what_was_acknowledged_is_there_and_the_run_ends_the_same() {
        power_cuts(1, 12, false);
    }

    #[test]
    fn an_error_in_any_call_names_its_file_and_what_was_acknowledged_is_there() {
        failing_calls(1, false);
    }

    #[test]
    fn a_trial_that_goes_on_after_an_error_in_any_call_is_whole_or_says_that_it_is_not() {
        failing_calls(1, true);
    }
}
