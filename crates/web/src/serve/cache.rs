//! Runs that were looked at lately, as they are shown: made once, dropped when their folder changes. One in
//! progress changes with each trial that is recorded.

use super::timeline::Timeline;
use crate::html::hash;
use delaylab_store::run::Run;
use delaylab_view::run::RunData;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

/// Runs that are kept.
const KEPT: usize = 4;

/// A run, and what was made of it so far.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) run: Run,
    pub(super) name: String,
    changed: Option<SystemTime>,
    data: OnceLock<RunData>,
    page: OnceLock<Page>,
    timeline: OnceLock<Timeline>,
}

/// A run's page, and by which name a browser that has it asks for it.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) text: String,
    pub(super) hash: String,
}

impl Opened {
    pub(super) fn data(&self, read: &dyn Fn(&Run) -> RunData) -> &RunData {
        self.data.get_or_init(|| read(&self.run))
    }

    pub(super) fn page(&self, make: impl FnOnce() -> String) -> &Page {
        self.page.get_or_init(|| {
            let text = make();
            let hash = hash(&text);
            Page { text, hash }
        })
    }

    pub(super) fn timeline(&self) -> &Timeline {
        self.timeline.get_or_init(|| Timeline::read(&self.run))
    }
}

/// The runs that were looked at last.
#[derive(Debug, Default)]
pub(super) struct Cache {
    /// The latest last.
    kept: Mutex<Vec<Arc<Opened>>>,
}

impl Cache {
    /// The run in this folder, which is one of the index.
    ///
    /// # Errors
    /// Where it cannot be opened, in a sentence.
    pub(super) fn open(&self, runs: &Path, name: &str) -> Result<Arc<Opened>, String> {
        let folder = runs.join(name);
        let changed = Run::last_changed(&folder);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let place = kept.iter().position(|opened| opened.name == name);
        let known = place.map(|place| kept.remove(place));
        // What could not be read once may be readable now.
        let is_good =
            |opened: &Arc<Opened>| opened.changed == changed && opened.run.damage().is_none();
        let opened = match known.filter(is_good) {
            Some(opened) => opened,
            None => {
                let run = Run::open(&folder).map_err(|error| error.to_string())?;
                if let Some(damage) = run.damage() {
                    return Err(format!("{name}: {damage}"));
                }
                Arc::new(Opened {
                    run,
                    name: name.to_owned(),
                    changed,
                    data: OnceLock::new(),
                    page: OnceLock::new(),
                    timeline: OnceLock::new(),
                })
            }
        };
        let surplus = (kept.len() + 1).saturating_sub(KEPT);
        kept.drain(..surplus);
        kept.push(opened.clone());
        Ok(opened)
    }
}
