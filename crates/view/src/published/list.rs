//! The documents of `delaylab list` and `delaylab bench list`.

use crate::json::{Measured, Published, Reasons, with_reasons};
use delaylab_store::index::Entry;
use schemars::JsonSchema;
use serde::Serialize;

/// What `delaylab list --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Document {
    /// The catalogue.
    pub experiments: Vec<Experiment>,
    /// The runs of a folder.
    pub runs: Vec<Run>,
}

/// What was asked for.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Config {
    /// The directory of runs.
    pub runs: String,
}

impl Published for Document {
    type Config = Config;
    const SCHEMA: &'static str = "delaylab/list/1";
    const TITLE: &'static str = "delaylab list";
}

/// An experiment of the catalogue.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Experiment {
    /// Its name.
    pub name: String,
    /// Its title.
    pub title: String,
    /// The worlds that carry it out.
    pub worlds: Vec<&'static str>,
}

/// A run.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Run {
    /// Its folder.
    pub folder: String,
    /// The experiment's name.
    pub name: Measured<String>,
    /// `live`, `testbed` or `sim`.
    pub world: Measured<String>,
    /// When it began.
    pub started_utc: Measured<String>,
    /// `complete` or `partial`.
    pub state: &'static str,
    /// How many trials it has.
    pub trials: u64,
    /// How many of them are not what the experiment meant, such as one whose connection ended.
    pub invalid: u64,
    /// How many packets.
    pub records: u64,
    /// The first file that is not what was recorded, and how many more are not, where that was seen without reading the tables; null: none.
    pub damage: Option<String>,
    /// Which file this user may not read: whether it is what was recorded is not known; null: none.
    pub unreadable: Option<String>,
    /// Why fields of this object are null.
    #[serde(skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
}

/// The file that says what a run is called, where it ran and when, and the one without which that is not read.
const DESCRIBED_BY: [&str; 2] = ["environment.json", "manifest.json"];

impl From<Entry> for Run {
    fn from(entry: Entry) -> Self {
        let (state, is_denied) = (entry.state().name(), entry.is_denied());
        // Nothing of a folder that this user may not look into is read, whatever file its damage names.
        let is_closed = is_denied && entry.name.is_none() && entry.world.is_none();
        let describes = |wrong: &String| DESCRIBED_BY.iter().any(|file| wrong.starts_with(file));
        // Damage of another file is no reason for what stands in this one.
        let wrong = entry.damage.clone();
        let wrong = wrong.filter(|wrong| is_closed || describes(wrong));
        let not_said = || {
            let unsaid = || format!("{} does not say it", DESCRIBED_BY[0]);
            wrong.clone().unwrap_or_else(unsaid)
        };
        let (unreadable, damage) = match is_denied {
            true => (entry.damage, None),
            false => (None, entry.damage),
        };
        with_reasons!(Self {
            folder: entry.folder,
            name: Measured::or(entry.name, not_said),
            world: Measured::or(entry.world, not_said),
            started_utc: Measured::or(entry.started_utc, not_said),
            state,
            trials: entry.trials,
            invalid: entry.overview.invalid,
            records: entry.records,
            damage,
            unreadable,
        })
    }
}

/// What `delaylab bench list --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Procedures {
    /// Every procedure.
    pub procedures: Vec<Procedure>,
}

/// What was asked for: nothing decides which procedures there are.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProceduresConfig {}

impl Published for Procedures {
    type Config = ProceduresConfig;
    const SCHEMA: &'static str = "delaylab/procedures/1";
    const TITLE: &'static str = "delaylab bench list";
}

/// A procedure of the device benchmark.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Procedure {
    /// Its name.
    pub name: &'static str,
    /// What defines it.
    pub rfc: &'static str,
    /// What it finds.
    pub about: String,
    /// What it needs of the device.
    pub needs: &'static str,
}
