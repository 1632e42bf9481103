//! Files cut anywhere, missing or full of something else: said by name, and the rest is read.

use crate::harness::*;
use delaylab_model::method::Method;
use delaylab_model::record::Record;
use delaylab_store::run::{OpenError, Run, State};
use delaylab_store::verify::{Mismatch, runs_in, verify, verify_found};
use delaylab_store::writer::{NewRun, RunWriter};
use std::fs;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

/// How many places of a file are tried.
#[derive(Clone, Copy)]
struct Places {
    /// How far in from either end.
    ends: usize,
    /// The distance between two of these.
    apart: usize,
    /// Equally far apart, in between.
    between: usize,
}

/// Parquet begins with a word, and ends with two: the footer's length, and the first word again. A place within each, or at
/// its border.
const FEW: Places = Places {
    ends: 9,
    apart: 4,
    between: 4,
};
const MANY: Places = Places {
    ends: 40,
    apart: 1,
    between: 200,
};

/// Lengths of a file of this size.
fn lengths(whole: usize, places: Places) -> impl Iterator<Item = usize> {
    let step = (whole / places.between).max(1);
    let at_end = (0..whole.min(places.ends)).step_by(places.apart);
    (at_end.clone())
        .chain((places.ends..whole).step_by(step))
        .chain(at_end.map(move |back| whole - 1 - back))
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

/// Every file below, by its path from there.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            let inner = files(&path).into_iter();
            let name = PathBuf::from(path.file_name().unwrap());
            found.extend(inner.map(|file| name.join(file)));
        } else {
            found.push(PathBuf::from(path.file_name().unwrap()));
        }
    }
    found.sort();
    found
}

/// All that is read of a run, so that each file has its say.
fn read_all(run: &Run) -> usize {
    let records = read(run, None).len();
    records + run.noise(None).len() + run.clock_reads(None).len() + run.trials().len()
}

/// The run is not opened, and the error names the file.
fn refused(folder: &Path, name: &Path) {
    let opened = Run::open(folder).map(|run| run.problems());
    let Err(OpenError::Changed { mismatch, .. }) = opened else {
        panic!("{name:?}: {opened:?}");
    };
    assert_eq!(Path::new(&mismatch.file), name);
    let found = verify(folder);
    assert_eq!(found.wrong, [mismatch]);
}

#[test]
fn a_folder_without_anything_of_a_run_is_wrong_as_a_whole() {
    let runs = tempfile::tempdir().unwrap();
    let whole = write_run(runs.path(), &[0], 20).folder;
    let empty = runs.path().join("empty-20261121T134500Z.partial");
    fs::create_dir(&empty).unwrap();
    let mut found = runs_in(runs.path()).unwrap();
    found.sort();
    assert_eq!(found, [empty.clone(), whole.clone()]);
    let verified = verify(&empty);
    assert_eq!(verified.state, State::Partial);
    assert_eq!(
        verified.wrong[0].to_string(),
        "experiment.toml: missing, and every table: nothing of a run is there"
    );
    assert_eq!(verify(&whole).wrong, []);
}

#[test]
fn a_run_that_ends_while_others_are_verified_is_not_damaged() {
    let runs = tempfile::tempdir().unwrap();
    let writer = create(runs.path());
    write_trial(&writer, 0, 20);
    let begun = runs_in(runs.path()).unwrap().remove(0);
    let whole = writer.finish(&findings()).unwrap().folder;
    let verified = verify_found(&begun).unwrap();
    assert_eq!((&verified.folder, &verified.wrong), (&whole, &vec![]));
    let error = Run::open(&begun).unwrap_err().to_string();
    assert!(
        error.contains("a run that has ended has the name without `.partial`"),
        "{error}"
    );
    fs::remove_dir_all(&whole).unwrap();
    assert_eq!(
        [begun, whole].map(|folder| verify_found(&folder)),
        [None, None]
    );
}

/// Whether it is what was recorded is not known.
#[test]
fn a_file_that_may_not_be_read_is_not_called_damaged() {
    let mismatch = Mismatch {
        file: "records.parquet".to_owned(),
        why: "may not be read by this user".to_owned(),
    };
    assert!(mismatch.is_denied());
    let path = PathBuf::from("runs/a");
    let said = OpenError::Changed { path, mismatch }.to_string();
    assert_eq!(
        said,
        "runs/a: records.parquet: may not be read by this user. Read the run as the user that it belongs to, or let this \
         user read its files (chmod)"
    );
}

#[test]
fn what_is_advised_of_a_changed_trial_helps() {
    let runs = tempfile::tempdir().unwrap();
    let writer = create(runs.path());
    (0..2).for_each(|trial| write_trial(&writer, trial, 20));
    let folder = writer.folder().to_owned();
    drop(writer);
    let path = folder.join("parts/trial-0.tables");
    let mut bytes = fs::read(&path).unwrap();
    bytes[100] ^= 1;
    fs::write(&path, bytes).unwrap();
    let said = Run::open(&folder).unwrap_err().to_string();
    assert!(said.contains("`delaylab resume` sets aside"), "{said}");
    assert!(!said.contains("manifest.json"), "{said}");
    let (_, resumed) = RunWriter::resume(&folder).unwrap();
    assert_eq!(resumed.damaged.len(), 1, "{:?}", resumed.damaged);
    assert_eq!(Run::open(&folder).unwrap().trial_count(), 1);
}

/// Such as a disk that answers again a moment later: a live trial cannot be had a second time.
#[test]
fn a_trial_that_the_system_cannot_read_is_not_repeated() {
    let runs = tempfile::tempdir().unwrap();
    let writer = create(runs.path());
    (0..2).for_each(|trial| write_trial(&writer, trial, 20));
    let folder = writer.folder().to_owned();
    drop(writer);
    let path = folder.join("parts/trial-0.tables");
    let away = folder.join("away");
    fs::rename(&path, &away).unwrap();
    // That cannot be opened as a file can: ENXIO.
    let socket = UnixListener::bind(&path).unwrap();
    let before = files(&folder);
    let said = RunWriter::resume(&folder).unwrap_err().to_string();
    assert!(said.contains("trial-0.tables: No such device"), "{said}");
    assert_eq!(files(&folder), before);
    drop(socket);
    fs::rename(&away, &path).unwrap();
    let (_, resumed) = RunWriter::resume(&folder).unwrap();
    assert_eq!((resumed.done.len(), resumed.damaged.len()), (2, 0));
}

#[test]
fn recorded_trials_of_a_run_in_progress_are_verified() {
    let runs = tempfile::tempdir().unwrap();
    let run = create(runs.path());
    let before = verify(run.folder());
    write_trial(&run, 0, 20);
    let after = verify(run.folder());
    assert_eq!(after.state, State::Partial);
    assert!(
        after.files.unwrap() > before.files.unwrap() + 3,
        "{after:?}"
    );
    assert!(after.bytes > before.bytes, "{after:?}");
    assert_eq!(after.wrong, []);
}

#[test]
fn every_row_of_a_run_in_progress_without_a_manifest_is_read() {
    let runs = tempfile::tempdir().unwrap();
    let folder = begun_by_an_older_version(runs.path());
    let of_older_versions = |path: &Path| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with("manifest")
    };
    for name in files(&folder).iter().filter(|name| of_older_versions(name)) {
        fs::remove_file(folder.join(name)).unwrap();
    }
    let whole = verify(&folder);
    assert_eq!((whole.files, whole.wrong), (None, vec![]));
    let part = folder.join("parts").join("records-0.parquet");
    let bytes = fs::read(&part).unwrap();
    fs::write(&part, &bytes[..bytes.len() / 2]).unwrap();
    let wrong = verify(&folder).wrong;
    assert_eq!(wrong[0].file, "parts/records-0.parquet", "{wrong:?}");
}

fn cut_files_of_a_finished_run_are_named(places: Places) {
    let runs = tempfile::tempdir().unwrap();
    let folder = write_run(runs.path(), &[0, 1], 20).folder;
    let whole = read_all(&Run::open(&folder).unwrap());
    let manifest = PathBuf::from("manifest.json");
    for name in files(&folder).into_iter().filter(|name| *name != manifest) {
        let bytes = fs::read(folder.join(&name)).unwrap();
        for length in lengths(bytes.len(), places) {
            fs::write(folder.join(&name), &bytes[..length]).unwrap();
            refused(&folder, &name);
            let run = Run::open_as_it_is(&folder).unwrap();
            let read = read_all(&run);
            let problems = run.problems();
            let is_text = name.extension().is_some_and(|end| end == "toml");
            // The last byte of JSON is a line's end.
            let is_said = problems
                .iter()
                .any(|it| it.contains(name.to_str().unwrap()));
            let may_miss = is_text || length + 1 == bytes.len();
            assert!(
                is_said || may_miss,
                "{name:?} cut at {length}: {problems:?}"
            );
            assert!(problems.len() <= 1 && read <= whole, "{problems:?}");
        }
        fs::write(folder.join(&name), &bytes).unwrap();
    }
}

#[test]
fn a_cut_file_of_a_finished_run_is_named_and_the_rest_is_read() {
    cut_files_of_a_finished_run_are_named(FEW);
}

#[test]
fn a_missing_file_is_named_and_the_rest_is_read() {
    let runs = tempfile::tempdir().unwrap();
    let folder = write_run(runs.path(), &[0, 1], 20).folder;
    // Not every world has hops and series: nobody can say that they are missing.
    let optional = ["hops", "series", "series_values", "transfers"];
    let optional = optional.map(|table| PathBuf::from(format!("{table}.parquet")));
    let manifest = PathBuf::from("manifest.json");
    for name in files(&folder).into_iter().filter(|name| *name != manifest) {
        let bytes = fs::read(folder.join(&name)).unwrap();
        fs::remove_file(folder.join(&name)).unwrap();
        refused(&folder, &name);
        if optional.contains(&name) {
            fs::write(folder.join(&name), &bytes).unwrap();
            continue;
        }
        let run = Run::open_as_it_is(&folder).unwrap();
        assert!(read_all(&run) > 0);
        assert_eq!(run.problems(), [format!("{}: missing", name.display())]);
        fs::write(folder.join(&name), &bytes).unwrap();
    }
}

fn wrong_bytes_end_no_process(places: Places) {
    let runs = tempfile::tempdir().unwrap();
    let folder = write_run(runs.path(), &[0, 1], 20).folder;
    for name in files(&folder) {
        let bytes = fs::read(folder.join(&name)).unwrap();
        for (round, at) in lengths(bytes.len(), places).enumerate() {
            let mut wrong = bytes.clone();
            wrong[at] ^= 1 << (round % 8);
            fs::write(folder.join(&name), &wrong).unwrap();
            if name.extension().is_some_and(|end| end != "json") {
                refused(&folder, &name);
            }
            read_all(&Run::open_as_it_is(&folder).unwrap());
        }
        fs::write(folder.join(&name), &bytes).unwrap();
    }
}

#[test]
fn wrong_bytes_never_end_the_process() {
    wrong_bytes_end_no_process(FEW);
}

/// Each file is cut at this number of eight places, which take turns.
fn a_run_that_was_cut_is_resumed(places: usize) {
    let runs = tempfile::tempdir().unwrap();
    let writer = create(runs.path());
    write_trial(&writer, 0, 20);
    drop(begin(&writer, 1, 20));
    let before = runs.path().join("before");
    copy(writer.folder(), &before);
    drop(writer);
    let mut turn = 0;
    for name in files(&before) {
        let bytes = fs::read(before.join(&name)).unwrap();
        let whole = bytes.len();
        let lengths = [
            0,
            whole / 3,
            whole - 1,
            100,
            whole - 9,
            1,
            whole / 2,
            whole.saturating_sub(100),
        ];
        for _ in 0..places {
            let length = lengths[turn % lengths.len()];
            turn += 1;
            let partial = runs.path().join(format!("cut-{length}.partial"));
            copy(&before, &partial);
            fs::write(partial.join(&name), &bytes[..length.min(whole)]).unwrap();
            // Without the line's end, the manifest says the same.
            let texts = ["experiment.toml", "environment.json", "manifest.json"];
            let is_text = texts.contains(&name.to_str().unwrap());
            let says_the_same = name == Path::new("manifest.json") && length + 1 == whole;
            if is_text && length < whole && !says_the_same {
                let error = RunWriter::resume(&partial).map(drop).unwrap_err();
                assert!(
                    error.to_string().contains(name.to_str().unwrap()),
                    "{error}"
                );
                fs::remove_dir_all(partial).unwrap();
                continue;
            }
            let finished = resume_and_finish(&partial);
            fs::remove_dir_all(finished).unwrap();
        }
    }
}

#[test]
fn a_run_that_was_cut_anywhere_is_resumed_to_its_end() {
    a_run_that_was_cut_is_resumed(3);
}

fn resume_and_finish(partial: &Path) -> PathBuf {
    let (writer, resumed) = RunWriter::resume(partial).unwrap();
    assert_eq!(resumed.experiment, EXPERIMENT);
    assert_eq!(resumed.done.is_empty(), !resumed.damaged.is_empty());
    for trial in (0..2).filter(|trial| !resumed.done.contains(trial)) {
        write_trial(&writer, trial, 20);
    }
    let folder = writer.finish(&findings()).unwrap().folder;
    let run = Run::open(&folder).unwrap();
    let all: Vec<_> = (0..2).flat_map(|trial| records(trial, 20)).collect();
    assert_eq!(read(&run, None), all);
    assert_eq!(run.trials().len(), 4);
    folder
}

/// Of a run that was interrupted: it is not taken up, and the error names the file; or a trial is repeated, and the tables
/// are those of the whole run.
fn flipped_bits_of_an_interrupted_run(flips: usize) {
    let runs = tempfile::tempdir().unwrap();
    let whole = write_run(runs.path(), &[0, 1, 2], 20).folder;
    let writer = create(runs.path());
    write_trial(&writer, 0, 20);
    write_trial(&writer, 1, 20);
    let before = runs.path().join("before");
    copy(writer.folder(), &before);
    drop(writer);
    let names = files(&before);
    let tables: Vec<_> = files(&whole)
        .into_iter()
        .filter(|name| name.extension().is_some_and(|end| end == "parquet"))
        .collect();
    for flip in 0..flips {
        let name = &names[flip % names.len()];
        let partial = runs.path().join(format!("flip-{flip}.partial"));
        copy(&before, &partial);
        let mut bytes = fs::read(partial.join(name)).unwrap();
        let bit = (flip * 7919 + flip / names.len() * 104_729) % (bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        fs::write(partial.join(name), bytes).unwrap();
        let (writer, resumed) = match RunWriter::resume(&partial) {
            Ok(resumed) => resumed,
            Err(error) => {
                assert!(
                    error.to_string().contains(name.to_str().unwrap()),
                    "{error}"
                );
                fs::remove_dir_all(partial).unwrap();
                continue;
            }
        };
        assert!(
            name.starts_with("parts") || name == Path::new("manifest.json"),
            "{name:?}"
        );
        for trial in (0..3).filter(|trial| !resumed.done.contains(trial)) {
            write_trial(&writer, trial, 20);
        }
        let folder = writer.finish(&findings()).unwrap().folder;
        for table in &tables {
            let [found, expected] = [&folder, &whole].map(|run| fs::read(run.join(table)).unwrap());
            assert!(found == expected, "bit {bit} of {name:?}: {table:?}");
        }
        fs::remove_dir_all(folder).unwrap();
    }
}

#[test]
fn a_flipped_bit_of_an_interrupted_run_costs_a_trial_at_most() {
    flipped_bits_of_an_interrupted_run(24);
}

/// Whatever bit of a finished run is another: it is refused by the file's name, or all that is read is the same.
fn flipped_bits_of_a_finished_run(flips: usize) {
    let runs = tempfile::tempdir().unwrap();
    let folder = write_run(runs.path(), &[0, 1], 20).folder;
    let names = files(&folder);
    let all = |run: &Run| {
        let tables = (
            run.noise(None),
            run.clock_reads(None),
            run.hops(None),
            run.series(None),
        );
        let others = (
            run.series_values(None),
            run.transfers(None),
            run.trials().to_vec(),
        );
        let texts = (
            run.experiment().map(str::to_owned),
            run.environment().clone(),
        );
        format!(
            "{:?}",
            (read(run, None), tables, others, texts, run.findings())
        )
    };
    let whole = all(&Run::open(&folder).unwrap());
    let mut same = 0;
    for flip in 0..flips {
        let name = &names[flip % names.len()];
        let path = folder.join(name);
        let bytes = fs::read(&path).unwrap();
        let bit = (flip * 7919 + flip / names.len() * 104_729) % (bytes.len() * 8);
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        fs::write(&path, flipped).unwrap();
        match Run::open(&folder) {
            Ok(run) => {
                assert_eq!(name, Path::new("manifest.json"), "bit {bit}");
                assert!(all(&run) == whole, "bit {bit} of {name:?}");
                same += 1;
            }
            Err(error) => assert!(
                error.to_string().contains(name.to_str().unwrap()),
                "{error}"
            ),
        }
        fs::write(&path, &bytes).unwrap();
    }
    assert!(same < flips / names.len());
}

#[test]
fn a_flipped_bit_of_a_finished_run_is_said_or_changes_nothing() {
    flipped_bits_of_a_finished_run(400);
}

#[test]
fn a_torn_batch_costs_no_row_before_it() {
    let runs = tempfile::tempdir().unwrap();
    let writer = create(runs.path());
    let mut trial = writer.begin_trial(0).unwrap();
    let all = as_they_come(0, 4);
    let journal = writer.folder().join("trial-0.arrow");
    let mut ends = vec![(0, 0)];
    trial.sync_if_due(-1_000_000_000).unwrap();
    for (at, record) in all.iter().enumerate() {
        trial.records(&[*record]).unwrap();
        trial.sync_if_due(at as i64 * 1_000_000_000).unwrap();
        ends.push((fs::metadata(&journal).unwrap().len() as usize, at + 1));
    }
    let bytes = fs::read(&journal).unwrap();
    let near_ends = ends
        .iter()
        .flat_map(|(end, _)| end.saturating_sub(9)..end + 9);
    for length in near_ends
        .chain(lengths(bytes.len(), MANY))
        .filter(|it| *it <= bytes.len())
    {
        fs::write(&journal, &bytes[..length]).unwrap();
        let run = Run::open(writer.folder()).unwrap();
        let whole = ends.iter().rev().find(|(end, _)| *end <= length).unwrap().1;
        assert_eq!(read(&run, None), all[..whole]);
        assert_eq!(run.problems(), Vec::<String>::new());
    }
}

#[test]
fn damage_in_one_trial_costs_no_row_of_another() {
    let runs = tempfile::tempdir().unwrap();
    let run = create(runs.path());
    // The least number with which the next trial has a row group of its own. What they say is not read again.
    let many = (0..1 << 16).map(|seq| Record::due(0, 0, seq, Method::Udp, seq as i64));
    let mut first = run.begin_trial(0).unwrap();
    first.records(&many.collect::<Vec<_>>()).unwrap();
    first.finish(&[row(0, 0), row(0, 1)], &noise_of).unwrap();
    write_trial(&run, 1, 200);
    let folder = run.finish(&findings()).unwrap().folder;
    let path = folder.join("records.parquet");
    let mut bytes = fs::read(&path).unwrap();
    bytes[4..1000].fill(0xff);
    fs::write(&path, bytes).unwrap();
    let run = Run::open_as_it_is(&folder).unwrap();
    assert!(read(&run, Some(1)) == records(1, 200));
    assert_eq!(run.problems(), Vec::<String>::new());
    assert!(read(&run, None) == records(1, 200));
    let problems = run.problems();
    assert!(
        problems.len() == 1 && problems[0].starts_with("records.parquet: "),
        "{problems:?}"
    );
}

#[test]
fn a_later_format_is_read_with_a_warning() {
    let runs = tempfile::tempdir().unwrap();
    let folder = write_run(runs.path(), &[0], 10).folder;
    let path = folder.join("environment.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"format\": 3", "\"format\": 4")).unwrap();
    fs::remove_file(folder.join("manifest.json")).unwrap();
    let run = Run::open(&folder).unwrap();
    assert_eq!(read(&run, None), records(0, 10));
    assert!(run.problems()[0].contains("later version"));
}

#[test]
fn a_folder_that_is_no_run_is_refused() {
    let empty = tempfile::tempdir().unwrap();
    let opened = Run::open(empty.path());
    assert!(matches!(opened, Err(OpenError::NotARun { .. })));
    let opened = Run::open(&empty.path().join("nowhere"));
    assert!(matches!(opened, Err(OpenError::Folder { .. })));
}

/// The same at many more places, in `make test-all`.
mod long {
    use super::*;

    #[test]
    fn a_file_that_is_cut_at_many_places_is_named_and_the_rest_is_read() {
        cut_files_of_a_finished_run_are_named(MANY);
    }

    #[test]
    fn a_run_that_was_cut_at_every_place_is_resumed_to_its_end() {
        a_run_that_was_cut_is_resumed(8);
    }

    #[test]
    fn ten_thousand_flipped_bits_are_said_or_change_nothing() {
        flipped_bits_of_a_finished_run(10_000);
    }

    #[test]
    fn a_thousand_flipped_bits_of_an_interrupted_run_cost_a_trial_at_most() {
        flipped_bits_of_an_interrupted_run(1_000);
    }

    #[test]
    fn wrong_bytes_at_many_places_never_end_the_process() {
        wrong_bytes_end_no_process(MANY);
    }
}

/// Each trial of a procedure is chosen by what those before it gave: after one that is repeated, all are.
#[test]
fn what_came_after_a_damaged_trial_of_a_procedure_is_repeated() {
    for (experiment, done) in [
        ("name = \"sample\"\n", vec![0, 2, 3]),
        ("[design.procedure]\nname = \"throughput\"\n", vec![0]),
    ] {
        let runs = tempfile::tempdir().unwrap();
        let new = NewRun {
            name: "sample",
            world: "live",
            started: Some(started()),
            experiment,
            environment: &serde_json::json!({}),
        };
        let writer = RunWriter::create(runs.path(), &new).unwrap();
        (0..4).for_each(|trial| write_trial(&writer, trial, 2));
        let folder = writer.folder().to_owned();
        drop(writer);
        fs::write(folder.join("parts/trial-1.tables"), "").unwrap();
        let (_, resumed) = RunWriter::resume(&folder).unwrap();
        assert_eq!(resumed.done.into_iter().collect::<Vec<_>>(), done);
        assert!(!resumed.damaged.is_empty());
    }
}
