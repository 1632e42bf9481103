//! A run on disk with one file of any bytes, read as every reader does.

use delaylab_model::rows::Rows;
use delaylab_store::index::Index;
use delaylab_store::run::Run;
use delaylab_store::run::tail::Tail;
use delaylab_store::verify::verify;
use delaylab_store::writer::{NewRun, RunWriter};
use serde_json::json;
use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Once;
use tempfile::TempDir;

/// The first version's run in the tree: it has no manifest, so that whatever stands in it is read.
const SAMPLE: &str = "../../crates/store/tests/format-1";

thread_local! {
    static IS_READING: Cell<bool> = const { Cell::new(false) };
}

/// The libraries below panic over some damage, which `store` makes an error of. A fuzzer ends at every panic, so that
/// this one is not told of those; of others it is.
fn quietly<T>(read: impl FnOnce() -> T) -> T {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let told = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !IS_READING.get() {
                told(panic);
            }
        }));
    });
    IS_READING.set(true);
    let read = read();
    IS_READING.set(false);
    read
}

/// A folder of runs with one of them in it.
pub(crate) struct Stored {
    runs: TempDir,
    run: PathBuf,
}

impl Stored {
    /// A run without a manifest.
    pub(crate) fn sample(name: &str) -> Self {
        let runs = TempDir::new().unwrap_or_else(|error| panic!("no folder: {error}"));
        let run = runs.path().join(name);
        let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join(SAMPLE);
        let copied = copy(&sample, &run);
        copied.unwrap_or_else(|error| panic!("{}: {error}", run.display()));
        Self { runs, run }
    }

    /// Puts bytes in place of a file.
    pub(crate) fn put(&self, name: &str, bytes: &[u8]) {
        let path = self.run.join(name);
        fs::write(&path, bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }

    /// Where the run is.
    pub(crate) fn run(&self) -> &Path {
        &self.run
    }

    /// Reads all that readers do, and says whether it was opened as whole.
    pub(crate) fn read(&self) -> bool {
        quietly(|| {
            let _ = verify(&self.run);
            let _ = Index::open(self.runs.path()).and_then(|index| index.list());
            let _ = Tail::new(&self.run).read(|_| {});
            if let Ok(run) = Run::open_as_it_is(&self.run) {
                read_all(&run);
            }
            Run::open(&self.run).is_ok()
        })
    }
}

fn read_all(run: &Run) {
    let _ = (run.name(), run.world(), run.started_utc(), run.tables());
    run.for_each_noised(None, |_| {});
    run.for_each_record(Some(1), |_| {});
    run.for_each_interrupted(|_| {});
    let _ = (run.noise(None), run.clock_reads(None), run.hops(None));
    let _ = (
        run.series_names(),
        run.series(None),
        run.series_values(None),
        run.transfers(None),
    );
    let _ = (run.problems(), run.damage());
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        fs::copy(&path, to.join(path.file_name().unwrap_or_default()))?;
    }
    Ok(())
}

/// Files by their names.
pub(crate) type Files = Vec<(String, Vec<u8>)>;

/// The files of a run that was just written, with some rows under way where it is not finished; by their names.
pub(crate) fn written(is_finished: bool) -> Files {
    write(is_finished).unwrap_or_else(|error| panic!("no run: {error}"))
}

fn write(is_finished: bool) -> Result<Files, Box<dyn std::error::Error>> {
    let runs = TempDir::new()?;
    let new = NewRun {
        name: "sample",
        world: "sim",
        started: None,
        experiment: "name = \"sample\"\n",
        environment: &json!({ "kernel": "6.1" }),
    };
    let writer = RunWriter::create(runs.path(), &new)?;
    let sample = Run::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join(SAMPLE))?;
    let mut trial = writer.begin_trial(0)?;
    let mut rows = Vec::new();
    sample.for_each_record(Some(0), |record| rows.push(*record));
    trial.records(&rows)?;
    trial.rows(Rows::Noise(&sample.noise(Some(0))))?;
    trial.sync_if_due(0)?;
    trial.sync_if_due(1_000_000_000)?;
    if !is_finished {
        return Ok(files(writer.folder())?);
    }
    let told: Vec<_> = (sample.trials().iter())
        .filter(|row| row.trial == 0)
        .cloned()
        .collect();
    trial.finish(&told, &|_| (None, None))?;
    Ok(files(&writer.finish(&json!([]))?.folder)?)
}

fn files(folder: &Path) -> std::io::Result<Files> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_file() {
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            files.push((name, fs::read(&path)?));
        }
    }
    files.sort();
    Ok(files)
}
