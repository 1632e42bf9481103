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
    data: OnceLock<Shown>,
    page: OnceLock<Page>,
    timeline: OnceLock<Timeline>,
}

/// What is shown of a run.
#[derive(Debug)]
struct Shown {
    data: RunData,
    /// When the run that is shown beside it had changed last.
    measured_changed: Option<SystemTime>,
}

impl Shown {
    /// Is the run that is shown beside it as it was?
    fn is_good(&self) -> bool {
        measured_changed(&self.data) == self.measured_changed
    }
}

fn measured_changed(data: &RunData) -> Option<SystemTime> {
    Run::last_changed(data.measured_in.as_ref()?)
}

/// A run's page, and by which name a browser that has it asks for it.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) text: String,
    pub(super) hash: String,
}

impl Opened {
    /// Fails where something of it cannot be read, in a sentence.
    fn read(folder: &Path, name: &str) -> Result<Self, String> {
        let run = Run::open(folder).map_err(|error| error.to_string())?;
        match run.damage() {
            Some(damage) => Err(format!("{name}: {damage}")),
            None => Ok(Self {
                run,
                name: name.to_owned(),
                data: OnceLock::new(),
                page: OnceLock::new(),
                timeline: OnceLock::new(),
            }),
        }
    }

    fn is_good(&self) -> bool {
        let shown = self.data.get();
        self.run.damage().is_none() && shown.is_none_or(Shown::is_good)
    }

    pub(super) fn data(&self, read: &dyn Fn(&Run) -> RunData) -> &RunData {
        let shown = self.data.get_or_init(|| {
            let data = read(&self.run);
            Shown {
                measured_changed: measured_changed(&data),
                data,
            }
        });
        &shown.data
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
    kept: Mutex<Vec<Arc<Slot>>>,
}

/// A place for a run as its folder was when it was asked for.
#[derive(Debug)]
struct Slot {
    name: String,
    changed: Option<SystemTime>,
    opened: OnceLock<Result<Arc<Opened>, String>>,
}

impl Slot {
    /// What could not be read once may be readable now.
    fn is_good(&self) -> bool {
        let opened = self.opened.get();
        opened.is_none_or(|opened| opened.as_ref().is_ok_and(|opened| opened.is_good()))
    }
}

impl Cache {
    /// The run in this folder, which is one of the index.
    ///
    /// # Errors
    /// Where it cannot be opened, in a sentence.
    pub(super) fn open(&self, runs: &Path, name: &str) -> Result<Arc<Opened>, String> {
        let folder = runs.join(name);
        let changed = Run::last_changed(&folder);
        self.opened_by(name, changed, || Opened::read(&folder, name))
    }

    /// All of a run is read to open it: who asks for another one does not wait for that, and who asks for the same one waits for
    /// the one who opens it.
    fn opened_by(
        &self,
        name: &str,
        changed: Option<SystemTime>,
        open: impl FnOnce() -> Result<Opened, String>,
    ) -> Result<Arc<Opened>, String> {
        let slot = self.slot(name, changed);
        let opened = slot.opened.get_or_init(|| open().map(Arc::new));
        opened.clone()
    }

    fn slot(&self, name: &str, changed: Option<SystemTime>) -> Arc<Slot> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let place = kept.iter().position(|slot| slot.name == name);
        let known = place.map(|place| kept.remove(place));
        let is_same = |slot: &Arc<Slot>| slot.changed == changed && slot.is_good();
        let slot = known.filter(is_same).unwrap_or_else(|| {
            Arc::new(Slot {
                name: name.to_owned(),
                changed,
                opened: OnceLock::new(),
            })
        });
        let surplus = (kept.len() + 1).saturating_sub(KEPT);
        kept.drain(..surplus);
        kept.push(slot.clone());
        slot
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::Duration;

    #[test]
    fn no_one_waits_for_a_run_that_another_opens() {
        const PATIENCE: Duration = Duration::from_secs(60);
        let cache = Cache::default();
        let (begin, begun) = channel();
        let (end, ended) = channel();
        let nothing = |why: &str| Err(why.to_owned());
        thread::scope(|scope| {
            let large = scope.spawn(|| {
                cache.opened_by("large", None, move || {
                    begin.send(()).unwrap();
                    ended
                        .recv_timeout(PATIENCE)
                        .map_err(|_| "in vain".to_owned())?;
                    nothing("large")
                })
            });
            begun.recv_timeout(PATIENCE).unwrap();
            let small = cache.opened_by("small", None, || nothing("small"));
            assert_eq!(small.unwrap_err(), "small");
            end.send(()).unwrap();
            assert_eq!(large.join().unwrap().unwrap_err(), "large");
        });
    }

    #[test]
    fn what_is_being_opened_is_opened_once_and_what_failed_again() {
        let cache = Cache::default();
        let [first, same] = [(), ()].map(|()| cache.slot("a", None));
        assert!(Arc::ptr_eq(&first, &same));
        let changed = Some(SystemTime::UNIX_EPOCH);
        let other = cache.slot("a", changed);
        assert!(!Arc::ptr_eq(&first, &other));
        other.opened.set(Err("unreadable".to_owned())).unwrap();
        assert!(!Arc::ptr_eq(&other, &cache.slot("a", changed)));
        assert_eq!(cache.kept.lock().unwrap().len(), 1);
    }
}
