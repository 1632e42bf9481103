//! A simulated experiment on a disk without power in the middle of it: the run that is resumed has the bytes of the one
//! that nothing disturbed, on one thread and on several.

use crate::faulty_disk::FaultyDisk;
use delaylab_lab::experiment::{Choices, Experiment, FactorialPlan, Source};
use delaylab_lab::run::{Ending, Laboratory, Progress, StopMeans};
use delaylab_model::plan::Planned;
use delaylab_model::stop::Stop;
use delaylab_sim::world::Simulated;
use delaylab_stats::random::SplitMix;
use delaylab_store::writer::{NewRun, RunWriter};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const TEXT: &str = r#"name = "small"
world = "sim"
seed = 9
[[probe]]
name = "echo"
method = "udp"
pacing = { poisson = "2ms" }
count = 30
warmup = 2
[[load]]
name = "cross"
kind = "poisson"
rate = "4Mbit/s"
[path]
topology = "two-hosts"
rate = "10Mbit/s"
[path.switch]
latency = "5us"
[sweep]
size = { set = "probe.echo.payload", to = ["64B", "1000B"] }
[design]
repeats = 2
"#;

/// Says nothing.
struct Silent;

impl Progress for Silent {}

fn planned() -> Vec<Planned> {
    let source = Source {
        name: "small.toml".to_owned(),
        text: TEXT.to_owned(),
    };
    let experiment = Experiment::read(source).unwrap();
    let refusals = |trial: &_| delaylab_sim::refusals(trial);
    let resolved = experiment.resolve(&Choices::default(), &refusals);
    resolved.unwrap().planned
}

/// Begins the run, or takes it up, and carries it to its end.
fn carry_out(disk: &FaultyDisk, runs: &Path, threads: usize) -> PathBuf {
    let disk = Arc::new(disk.clone());
    let (writer, done) = match partial(runs) {
        Some(folder) => {
            let (writer, resumed) = RunWriter::resume_on(disk, &folder).unwrap();
            (writer, resumed.done)
        }
        None => {
            let new = NewRun {
                name: "small",
                world: "sim",
                started: None,
                experiment: TEXT,
                environment: &json!({}),
            };
            let writer = RunWriter::create_on(disk, runs, &new).unwrap();
            (writer, BTreeSet::new())
        }
    };
    let mut laboratory = Laboratory {
        world: &mut Simulated::new(threads, Stop::default()),
        writer: Some(&writer),
        done: done.len(),
        stop: &Stop::default(),
        stop_means: StopMeans::default(),
        watch: None,
    };
    let mut plan = FactorialPlan::new(planned(), &done, usize::MAX);
    let ending = laboratory.carry_out(&mut plan, &mut Silent).unwrap();
    assert_eq!(ending, Ending::Complete);
    writer.finish(&json!([])).unwrap().folder
}

fn partial(runs: &Path) -> Option<PathBuf> {
    let folder = runs.join("small-undated.partial");
    folder.is_dir().then_some(folder)
}

/// Every file of a run but what interrupted trials left; of the manifest, what it says of these files.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let kept_apart = |name: &str| name.starts_with("interrupted.") || name.starts_with("damaged-");
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let mut bytes = fs::read(entry.path()).unwrap();
        if name == "manifest.json" {
            let mut manifest: Value = serde_json::from_slice(&bytes).unwrap();
            manifest["sha256"].take();
            let listed = manifest["files"].as_object_mut().unwrap();
            listed.retain(|name, _| !kept_apart(name));
            bytes = manifest.to_string().into_bytes();
        }
        if !kept_apart(&name) {
            files.insert(name, bytes);
        }
    }
    files
}

/// So many power cuts at random moments.
fn power_cuts(count: u64) {
    let root = tempfile::tempdir().unwrap();
    let disk = FaultyDisk::new(root.path()).with_pictures();
    let whole = files(&carry_out(&disk, &root.path().join("runs"), 2));
    assert!(whole.len() > 6, "{:?}", whole.keys());
    let pictures = disk.pictures();
    let mut random = SplitMix::new(1);
    for seed in 2..2 + count {
        let at = random.below(pictures.len());
        let root = tempfile::tempdir().unwrap();
        let runs = root.path().join("runs");
        pictures[at].power_cut(seed, root.path());
        let finished = runs.join("small-undated");
        if !finished.is_dir() {
            let threads = 1 + seed as usize % 2;
            carry_out(&FaultyDisk::new(root.path()), &runs, threads);
        }
        let found = files(&finished);
        let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&found), names(&whole), "call {at}, seed {seed}");
        for (name, bytes) in &whole {
            assert!(
                found[name] == *bytes,
                "{name} differs: call {at}, seed {seed}"
            );
        }
    }
}

#[test]
fn a_simulation_that_is_resumed_after_a_power_cut_has_the_same_bytes() {
    power_cuts(12);
}

/// The same with many more, in `make test-all`.
mod long {
    use super::*;

    #[test]
    fn a_simulation_that_is_resumed_after_any_power_cut_has_the_same_bytes() {
        power_cuts(400);
    }
}
